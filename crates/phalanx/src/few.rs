//! [`Few`]: a short list.

use crate::alloc::try_vec;
use core::ops::Deref;
use phalanx_store::AllocError;

/// A list that does not grow. It has a block of its own only if it has several elements, and is not static.
#[derive(Clone, Debug)]
pub(crate) enum Few<T: 'static> {
    One(T),
    List(Box<[T]>),
    Fixed(&'static [T]),
}

impl<T> Few<T> {
    /// Creates a list of `len` elements: those that `fill` passes on.
    pub(crate) fn try_new(len: usize, fill: impl FnOnce(&mut dyn FnMut(T))) -> Result<Few<T>, AllocError> {
        let (mut one, mut list) = (None, try_vec(if len > 1 { len } else { 0 })?);
        fill(&mut |element| if len > 1 { list.push(element) } else { one = Some(element) });
        let few = one.map_or_else(|| Few::List(list.into()), Few::One);
        debug_assert_eq!(few.len(), len);
        Ok(few)
    }
}

impl<T: Copy> Few<T> {
    /// Copies a slice.
    pub(crate) fn try_copy(list: &[T]) -> Result<Few<T>, AllocError> {
        Few::try_new(list.len(), |push| list.iter().for_each(|element| push(*element)))
    }
}

impl<T> From<Vec<T>> for Few<T> {
    fn from(mut list: Vec<T>) -> Few<T> {
        match list.len() {
            1 => list.pop().map_or_else(|| Few::List(Box::default()), Few::One),
            _ => Few::List(list.into()),
        }
    }
}

impl<T: PartialEq> PartialEq for Few<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T> Deref for Few<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        match self {
            Few::One(element) => core::slice::from_ref(element),
            Few::List(list) => list,
            Few::Fixed(list) => list,
        }
    }
}
