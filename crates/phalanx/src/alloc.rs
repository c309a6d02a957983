//! Memory that may not be had, for what the standard library makes only by aborting.
#![allow(unsafe_code)]

use core::alloc::Layout;
use core::hash::{BuildHasher, Hash};
use phalanx_store::AllocError;
use std::collections::HashMap;

/// The error of a list or map that found no room for so many. (The standard library does not say how much it asked for.)
#[cold]
fn refused<T>(count: usize) -> AllocError {
    match Layout::array::<T>(count) {
        Ok(layout) => AllocError::OutOfMemory { bytes: layout.size(), align: layout.align() },
        Err(_) => AllocError::CapacityOverflow,
    }
}

/// An empty list with room. Once it is full, it becomes a boxed slice without another allocation.
pub(crate) fn try_vec<T>(room: usize) -> Result<Vec<T>, AllocError> {
    let mut list = Vec::new();
    list.try_reserve_exact(room).map_err(|_| refused::<T>(room))?;
    Ok(list)
}

/// Makes room for so many more in a list.
pub(crate) fn try_reserve<T>(list: &mut Vec<T>, additional: usize) -> Result<(), AllocError> {
    list.try_reserve(additional).map_err(|_| refused::<T>(additional))
}

/// Makes room in a list for a place at this position.
pub(crate) fn try_reserve_at<T>(list: &mut Vec<T>, position: usize) -> Result<(), AllocError> {
    try_reserve(list, (position + 1).saturating_sub(list.len()))
}

/// Makes room for so many more in a map.
pub(crate) fn try_reserve_map<K: Eq + Hash, V, S: BuildHasher>(
    map: &mut HashMap<K, V, S>,
    additional: usize,
) -> Result<(), AllocError> {
    map.try_reserve(additional).map_err(|_| refused::<(K, V)>(additional))
}

/// A copy of a map. What order it would be walked in is not the original's.
pub(crate) fn try_clone_map<K: Copy + Eq + Hash, V: Copy, S: BuildHasher + Default>(
    map: &HashMap<K, V, S>,
) -> Result<HashMap<K, V, S>, AllocError> {
    let mut copy = HashMap::default();
    try_reserve_map(&mut copy, map.len())?;
    copy.extend(map);
    Ok(copy)
}

/// A copy of a list.
pub(crate) fn try_clone_slice<T: Copy>(list: &[T]) -> Result<Vec<T>, AllocError> {
    let mut copy = try_vec(list.len())?;
    copy.extend_from_slice(list);
    Ok(copy)
}

/// A value in a block of its own. It is dropped if there is none.
pub(crate) fn try_box<T>(value: T) -> Result<Box<T>, AllocError> {
    let mut list = try_vec(1)?;
    list.push(value);
    // SAFETY: the block of a slice of one value is the block of the value.
    Ok(unsafe { Box::from_raw(Box::into_raw(list.into_boxed_slice()).cast::<T>()) })
}

/// What a form without an error makes of a lack of memory.
#[track_caller]
pub(crate) fn unwrap_alloc<T>(result: Result<T, AllocError>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => alloc_failed(error),
    }
}

/// Aborts as Rust's collections do if memory is exhausted, and panics if too much was asked for.
#[track_caller]
pub(crate) fn alloc_failed(error: AllocError) -> ! {
    if let AllocError::OutOfMemory { bytes, align } = error
        && let Ok(layout) = core::alloc::Layout::from_size_align(bytes, align)
    {
        std::alloc::handle_alloc_error(layout);
    }
    panic!("{error}")
}
