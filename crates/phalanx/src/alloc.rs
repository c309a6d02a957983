//! Fallible allocation, for collections whose standard interface aborts when memory is exhausted.
#![allow(unsafe_code)]

use core::alloc::Layout;
use core::hash::{BuildHasher, Hash};
use phalanx_store::AllocError;
use std::collections::HashMap;

/// Returns the error of a collection that could not reserve `count` elements of a layout.
///
/// The standard library does not say how many bytes it requested, so they are computed from `count`. The function is not
/// generic, so that it is compiled once.
#[cold]
fn alloc_error(element: Layout, count: usize) -> AllocError {
    match element.size().checked_mul(count).and_then(|bytes| Layout::from_size_align(bytes, element.align()).ok()) {
        Some(layout) => AllocError::OutOfMemory { bytes: layout.size(), align: layout.align() },
        None => AllocError::CapacityOverflow,
    }
}

/// Creates an empty list with exactly this capacity. When it is full, it becomes a boxed slice without an allocation.
pub(crate) fn try_vec<T>(capacity: usize) -> Result<Vec<T>, AllocError> {
    let layout = Layout::array::<T>(capacity).map_err(|_| AllocError::CapacityOverflow)?;
    if layout.size() == 0 {
        return Ok(Vec::new());
    }
    // Not by way of a vector's own growth, which costs about as much as the allocation.
    // SAFETY: the size is not zero.
    let block = unsafe { std::alloc::alloc(layout) };
    if block.is_null() {
        return Err(alloc_error(Layout::new::<T>(), capacity));
    }
    // SAFETY: the block was allocated with the layout of `capacity` elements, none of which is in use.
    Ok(unsafe { Vec::from_raw_parts(block.cast::<T>(), 0, capacity) })
}

/// Reserves capacity for `additional` more elements of a list.
pub(crate) fn try_reserve<T>(list: &mut Vec<T>, additional: usize) -> Result<(), AllocError> {
    list.try_reserve(additional).map_err(|_| alloc_error(Layout::new::<T>(), additional))
}

/// Reserves capacity for `additional` more bytes of a text.
#[cfg(feature = "reflect")]
pub(crate) fn try_reserve_text(text: &mut String, additional: usize) -> Result<(), AllocError> {
    text.try_reserve(additional).map_err(|_| alloc_error(Layout::new::<u8>(), additional))
}

/// Copies a text.
#[cfg(feature = "reflect")]
pub(crate) fn try_text(text: &str) -> Result<String, AllocError> {
    let mut copy = String::new();
    try_reserve_text(&mut copy, text.len())?;
    copy.push_str(text);
    Ok(copy)
}

/// Formats a text.
pub(crate) fn try_format(arguments: core::fmt::Arguments<'_>) -> Result<String, AllocError> {
    /// A text that remembers why it was not written.
    struct Text(String, Result<(), AllocError>);
    impl core::fmt::Write for Text {
        fn write_str(&mut self, text: &str) -> core::fmt::Result {
            if self.0.try_reserve(text.len()).is_err() {
                self.1 = Err(alloc_error(Layout::new::<u8>(), text.len()));
                return Err(core::fmt::Error);
            }
            self.0.push_str(text);
            Ok(())
        }
    }
    let mut text = Text(String::new(), Ok(()));
    // The only other errors are those of values, whose texts then end there.
    let _ = core::fmt::Write::write_fmt(&mut text, arguments);
    text.1.map(|()| text.0)
}

/// Adds an element to a list.
pub(crate) fn try_push<T>(list: &mut Vec<T>, element: T) -> Result<(), AllocError> {
    try_reserve(list, 1)?;
    list.push(element);
    Ok(())
}

/// Collects elements into a list, which grows as they come.
pub(crate) fn try_collect<T, E: From<AllocError>>(elements: impl Iterator<Item = Result<T, E>>) -> Result<Vec<T>, E> {
    let mut list = Vec::new();
    for element in elements {
        try_push(&mut list, element?)?;
    }
    Ok(list)
}

/// Reserves capacity in a list for an element at this position.
pub(crate) fn try_reserve_at<T>(list: &mut Vec<T>, position: usize) -> Result<(), AllocError> {
    try_reserve(list, (position + 1).saturating_sub(list.len()))
}

/// Reserves capacity for `additional` more entries of a map.
pub(crate) fn try_reserve_map<K: Eq + Hash, V, S: BuildHasher>(
    map: &mut HashMap<K, V, S>,
    additional: usize,
) -> Result<(), AllocError> {
    map.try_reserve(additional).map_err(|_| alloc_error(Layout::new::<(K, V)>(), additional))
}

/// Copies a map. The order of iteration may differ.
pub(crate) fn try_clone_map<K: Copy + Eq + Hash, V: Copy, S: BuildHasher + Default>(
    map: &HashMap<K, V, S>,
) -> Result<HashMap<K, V, S>, AllocError> {
    let mut copy = HashMap::default();
    try_reserve_map(&mut copy, map.len())?;
    copy.extend(map);
    Ok(copy)
}

/// Copies a slice into a list.
pub(crate) fn try_clone_slice<T: Copy>(list: &[T]) -> Result<Vec<T>, AllocError> {
    let mut copy = try_vec(list.len())?;
    copy.extend_from_slice(list);
    Ok(copy)
}

/// Moves a value into a box. It is dropped if allocation fails.
pub(crate) fn try_box<T>(value: T) -> Result<Box<T>, AllocError> {
    let mut list = try_vec(1)?;
    list.push(value);
    // SAFETY: a slice of one value has the layout of the value, so the block can be owned as that of the value.
    Ok(unsafe { Box::from_raw(Box::into_raw(list.into_boxed_slice()).cast::<T>()) })
}

/// Unwraps the result of a fallible allocation. Calls [`alloc_failed`] on failure.
#[track_caller]
pub(crate) fn unwrap_alloc<T>(result: Result<T, AllocError>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => alloc_failed(error),
    }
}

/// Calls `handle_alloc_error` if memory is exhausted. Panics if the capacity overflows, like the standard collections.
#[track_caller]
pub(crate) fn alloc_failed(error: AllocError) -> ! {
    if let AllocError::OutOfMemory { bytes, align } = error
        && let Ok(layout) = core::alloc::Layout::from_size_align(bytes, align)
    {
        std::alloc::handle_alloc_error(layout);
    }
    panic!("{error}")
}
