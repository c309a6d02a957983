//! What a group is of: components that are owned, observed, excluded.
#![allow(unsafe_code)]

use crate::bundle::{Bundle, all_tuples};
use crate::change_detection::{RunTicks, Tick};
use crate::component::Component;
use crate::layout::Layout;
use crate::query::Without;
use crate::sparse::SparseStorage;
use crate::world::World;
use core::fmt;
use core::marker::PhantomData;

/// Components whose pools the group owns: its members come first in each, in the same order.
pub struct Owned<T>(PhantomData<fn() -> T>);

/// Components that members have, in pools or linear stores that stay as they are.
pub struct Observed<T>(PhantomData<fn() -> T>);

impl<T> fmt::Debug for Owned<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Owned")
    }
}
impl<T> fmt::Debug for Observed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Observed")
    }
}

/// What a group is of. One of these, where `O`, `V` and `X` are components or tuples of them:
///
/// | the group | yields |
/// |---|---|
/// | [`Owned<O>`], `(Owned<O>, Without<X>)` | what `O` yields |
/// | `(Owned<O>, Observed<V>)`, `(Owned<O>, Observed<V>, Without<X>)` | a pair |
/// | [`Observed<V>`], `(Observed<V>, Without<X>)` | what `V` yields |
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say what a group is of",
    note = "a group is `Owned<…>`, `Observed<…>` or both, and `Without<…>` after them, as a tuple in this order"
)]
pub trait GroupSpec: sealed::Sealed + 'static {
    /// What is owned.
    type Owned: Members;
    /// What is observed.
    type Observed: Members;
    /// What members do not have.
    type Excluded: Members;
    /// What a reader sees of a member.
    type Item<'a>;
    /// What a writer sees of a member.
    type ItemMut<'a>;
    /// An item of its parts.
    #[doc(hidden)]
    fn item<'a>(
        owned: <Self::Owned as Members>::Refs<'a>,
        observed: <Self::Observed as Members>::Refs<'a>,
    ) -> Self::Item<'a>;
    /// An item of its parts.
    #[doc(hidden)]
    fn item_mut<'a>(
        owned: <Self::Owned as Members>::Muts<'a>,
        observed: <Self::Observed as Members>::Muts<'a>,
    ) -> Self::ItemMut<'a>;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! spec {
    ($([$($name:ident)*] $spec:ty: $owned:ty, $observed:ty, $excluded:ty, $a:lifetime $refs:ty, $muts:ty, |$x:ident, $y:ident| $item:expr;)*) => {$(
        impl<$($name: Members),*> sealed::Sealed for $spec {}
        impl<$($name: Members),*> GroupSpec for $spec {
            type Owned = $owned;
            type Observed = $observed;
            type Excluded = $excluded;
            type Item<$a> = $refs;
            type ItemMut<$a> = $muts;
            #[inline(always)]
            fn item<$a>(
                $x: <Self::Owned as Members>::Refs<$a>,
                $y: <Self::Observed as Members>::Refs<$a>,
            ) -> Self::Item<$a> {
                $item
            }
            #[inline(always)]
            fn item_mut<$a>(
                $x: <Self::Owned as Members>::Muts<$a>,
                $y: <Self::Observed as Members>::Muts<$a>,
            ) -> Self::ItemMut<$a> {
                $item
            }
        }
    )*};
}
spec! {
    [O] Owned<O>: O, (), (), 'a O::Refs<'a>, O::Muts<'a>, |owned, _observed| owned;
    [O X] (Owned<O>, Without<X>): O, (), X, 'a O::Refs<'a>, O::Muts<'a>, |owned, _observed| owned;
    [V] Observed<V>: (), V, (), 'a V::Refs<'a>, V::Muts<'a>, |_owned, observed| observed;
    [V X] (Observed<V>, Without<X>): (), V, X, 'a V::Refs<'a>, V::Muts<'a>, |_owned, observed| observed;
    [O V] (Owned<O>, Observed<V>): O, V, (),
        'a (O::Refs<'a>, V::Refs<'a>), (O::Muts<'a>, V::Muts<'a>), |owned, observed| (owned, observed);
    [O V X] (Owned<O>, Observed<V>, Without<X>): O, V, X,
        'a (O::Refs<'a>, V::Refs<'a>), (O::Muts<'a>, V::Muts<'a>), |owned, observed| (owned, observed);
}

/// Components of a group: one, or a tuple of them.
///
/// # Safety
///
/// What is [found](Members::find) is where the values of the bundle's components are, and the other functions touch nothing
/// but the values they are told of.
pub unsafe trait Members: Bundle {
    /// What a reader sees.
    type Refs<'a>;
    /// What a writer sees.
    type Muts<'a>;
    /// The values of all members, where they are owned.
    type Slices<'a>;
    /// The values of all members, for writing.
    type SlicesMut<'a>;
    /// Where the values are.
    #[doc(hidden)]
    type Found<'w>: Copy;

    /// Where the values are, if there may be any.
    #[doc(hidden)]
    fn find(world: &World) -> Option<Self::Found<'_>>;

    /// The values at a row of all stores.
    ///
    /// # Safety
    ///
    /// They are there, and not written while the items live.
    #[doc(hidden)]
    unsafe fn refs<'w>(found: Self::Found<'w>, row: usize) -> Self::Refs<'w>;

    /// The values at a row of all stores, for writing.
    ///
    /// # Safety
    ///
    /// They are there, and not used otherwise while the items live.
    #[doc(hidden)]
    unsafe fn muts<'w>(found: Self::Found<'w>, row: usize) -> Self::Muts<'w>;

    /// The values of a slot.
    ///
    /// # Safety
    ///
    /// It has them, and they are not written while the items live.
    #[doc(hidden)]
    unsafe fn refs_of<'w>(found: Self::Found<'w>, slot: u32) -> Self::Refs<'w>;

    /// The values of a slot, for writing.
    ///
    /// # Safety
    ///
    /// It has them, and they are not used otherwise while the items live.
    #[doc(hidden)]
    unsafe fn muts_of<'w>(found: Self::Found<'w>, slot: u32) -> Self::Muts<'w>;

    /// The first values of all stores.
    ///
    /// # Safety
    ///
    /// So many are there, and they are not written while the slices live.
    #[doc(hidden)]
    unsafe fn slices<'w>(found: Self::Found<'w>, len: usize) -> Self::Slices<'w>;

    /// The first values of all stores, for writing.
    ///
    /// # Safety
    ///
    /// So many are there, and they are not used otherwise while the slices live.
    #[doc(hidden)]
    unsafe fn slices_mut<'w>(found: Self::Found<'w>, len: usize) -> Self::SlicesMut<'w>;
}

/// Where the values of a component are.
pub struct Found<'w, C: Component> {
    side: &'w SparseStorage,
    ptr: <C::Layout as Layout<C>>::Ptr,
    now: Tick,
}

impl<C: Component> Clone for Found<'_, C> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<C: Component> Copy for Found<'_, C> {}

impl<C: Component> fmt::Debug for Found<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Found({})", core::any::type_name::<C>())
    }
}

impl<C: Component> Found<'_, C> {
    #[inline(always)]
    fn row(&self, slot: u32) -> usize {
        match self.side.row(slot) {
            Some(row) => row as usize,
            None => unreachable!("members have what their group requires"),
        }
    }
}

// SAFETY: one component, in the store of its side.
unsafe impl<C: Component> Members for C {
    type Refs<'a> = <C::Layout as Layout<C>>::Ref<'a>;
    type Muts<'a> = <C::Layout as Layout<C>>::Mut<'a>;
    type Slices<'a> = <C::Layout as Layout<C>>::Slice<'a>;
    type SlicesMut<'a> = <C::Layout as Layout<C>>::SliceMut<'a>;
    type Found<'w> = Found<'w, C>;

    #[inline]
    fn find(world: &World) -> Option<Found<'_, C>> {
        let side = world.storage.sparse.of(world.storage.components.id::<C>())?;
        // SAFETY: the lanes of the side are the component's.
        unsafe {
            let look = RunTicks::of::<C>(&raw const world.storage.sparse.clock);
            Some(Found { side, now: look.now, ptr: C::Layout::ptr(side.values().lane(), look) })
        }
    }

    #[inline(always)]
    unsafe fn refs<'w>(found: Self::Found<'w>, row: usize) -> Self::Refs<'w> {
        // SAFETY: the caller's promise.
        unsafe { C::Layout::get(found.ptr, row) }
    }

    #[inline(always)]
    unsafe fn muts<'w>(found: Self::Found<'w>, row: usize) -> Self::Muts<'w> {
        // SAFETY: the caller's promise.
        unsafe {
            C::Layout::touch(found.side.values().lane(), found.now);
            C::Layout::get_mut(found.ptr, row)
        }
    }

    #[inline(always)]
    unsafe fn refs_of<'w>(found: Self::Found<'w>, slot: u32) -> Self::Refs<'w> {
        // SAFETY: the caller's promise.
        unsafe { C::Layout::get(found.ptr, found.row(slot)) }
    }

    #[inline(always)]
    unsafe fn muts_of<'w>(found: Self::Found<'w>, slot: u32) -> Self::Muts<'w> {
        // SAFETY: the caller's promise.
        unsafe {
            C::Layout::touch(found.side.values().lane(), found.now);
            C::Layout::get_mut(found.ptr, found.row(slot))
        }
    }

    #[inline(always)]
    unsafe fn slices<'w>(found: Self::Found<'w>, len: usize) -> Self::Slices<'w> {
        // SAFETY: the caller's promise.
        unsafe { C::Layout::slice(found.ptr, len) }
    }

    #[inline(always)]
    unsafe fn slices_mut<'w>(found: Self::Found<'w>, len: usize) -> Self::SlicesMut<'w> {
        // SAFETY: the caller's promise.
        unsafe {
            C::Layout::touch(found.side.values().lane(), found.now);
            C::Layout::slice_mut(found.ptr, len)
        }
    }
}

macro_rules! tuple_members {
    ($($name:ident)*) => {
        // SAFETY: each member handles its own components.
        #[allow(unused_variables, non_snake_case, clippy::unused_unit)]
        unsafe impl<$($name: Members),*> Members for ($($name,)*) {
            type Refs<'a> = ($($name::Refs<'a>,)*);
            type Muts<'a> = ($($name::Muts<'a>,)*);
            type Slices<'a> = ($($name::Slices<'a>,)*);
            type SlicesMut<'a> = ($($name::SlicesMut<'a>,)*);
            type Found<'w> = ($($name::Found<'w>,)*);

            #[inline]
            fn find(world: &World) -> Option<Self::Found<'_>> {
                Some(($($name::find(world)?,)*))
            }

            #[inline(always)]
            unsafe fn refs<'w>(found: Self::Found<'w>, row: usize) -> Self::Refs<'w> {
                let ($($name,)*) = found;
                // SAFETY: the caller's promise, for each in turn.
                ($(unsafe { $name::refs($name, row) },)*)
            }

            #[inline(always)]
            unsafe fn muts<'w>(found: Self::Found<'w>, row: usize) -> Self::Muts<'w> {
                let ($($name,)*) = found;
                // SAFETY: the caller's promise, for each in turn.
                ($(unsafe { $name::muts($name, row) },)*)
            }

            #[inline(always)]
            unsafe fn refs_of<'w>(found: Self::Found<'w>, slot: u32) -> Self::Refs<'w> {
                let ($($name,)*) = found;
                // SAFETY: the caller's promise, for each in turn.
                ($(unsafe { $name::refs_of($name, slot) },)*)
            }

            #[inline(always)]
            unsafe fn muts_of<'w>(found: Self::Found<'w>, slot: u32) -> Self::Muts<'w> {
                let ($($name,)*) = found;
                // SAFETY: the caller's promise, for each in turn.
                ($(unsafe { $name::muts_of($name, slot) },)*)
            }

            #[inline(always)]
            unsafe fn slices<'w>(found: Self::Found<'w>, len: usize) -> Self::Slices<'w> {
                let ($($name,)*) = found;
                // SAFETY: the caller's promise, for each in turn.
                ($(unsafe { $name::slices($name, len) },)*)
            }

            #[inline(always)]
            unsafe fn slices_mut<'w>(found: Self::Found<'w>, len: usize) -> Self::SlicesMut<'w> {
                let ($($name,)*) = found;
                // SAFETY: the caller's promise, for each in turn.
                ($(unsafe { $name::slices_mut($name, len) },)*)
            }
        }
    };
}
all_tuples!(tuple_members);
