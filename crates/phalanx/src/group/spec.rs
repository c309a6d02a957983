//! [`GroupSpec`]: the components that a group owns, observes and excludes.
#![allow(unsafe_code)]

use crate::bundle::{Bundle, all_tuples};
use crate::change_detection::{RunTicks, Tick};
use crate::component::Component;
use crate::layout::{Kind, Layout};
use crate::query::Without;
use crate::sparse::{SparseStorage, Store};
use crate::world::World;
use core::fmt;
use core::marker::PhantomData;
use phalanx_store::Entity;
use phalanx_store::index::SparseLookup;

/// Components whose sparse sets the group owns: its members come first in each, in the same order.
pub struct Owned<T>(PhantomData<fn() -> T>);

/// Components that members have, in sparse sets or linear storages that the group does not reorder.
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

/// The components of a group. It is one of these, where `O`, `V` and `X` are components or tuples of them:
///
/// | the group | yields |
/// |---|---|
/// | [`Owned<O>`], `(Owned<O>, Without<X>)` | what `O` yields |
/// | `(Owned<O>, Observed<V>)`, `(Owned<O>, Observed<V>, Without<X>)` | a pair |
/// | [`Observed<V>`], `(Observed<V>, Without<X>)` | what `V` yields |
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not name the components of a group",
    note = "a group is `Owned<…>`, `Observed<…>` or both, and `Without<…>` after them, as a tuple in this order"
)]
pub trait GroupSpec: sealed::Sealed + 'static {
    /// The owned components.
    type Owned: Members;
    /// The observed components.
    type Observed: Members;
    /// The excluded components.
    type Excluded: Members;
    /// The values of a member, for reading.
    type Item<'a>;
    /// The values of a member, for writing.
    type ItemMut<'a>;
    /// Combines the owned and the observed values of a member.
    #[doc(hidden)]
    fn item<'a>(
        owned: <Self::Owned as Members>::Refs<'a>,
        observed: <Self::Observed as Members>::Refs<'a>,
    ) -> Self::Item<'a>;
    /// Combines the owned and the observed values of a member.
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

/// A member of a group, by which its values are found.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub enum Member {
    /// The position in the group, which is that of its values.
    Position(usize),
    /// The position in the group, which is that of its values in aligned storages, and the index of its slot.
    Slot(usize, u32),
}

/// Components of a group: one, or a tuple of them.
///
/// # Safety
///
/// [`find`](Members::find) returns where the values of the bundle's components are. The other functions use only the
/// values that their arguments name.
pub unsafe trait Members: Bundle {
    /// The values of a member, for reading.
    type Refs<'a>;
    /// The values of a member, for writing.
    type Muts<'a>;
    /// The values of all members, if they are owned.
    type Slices<'a>;
    /// The values of all members for writing, if they are owned.
    type SlicesMut<'a>;
    /// Where the values are.
    #[doc(hidden)]
    type Found<'w>: Copy;

    /// Returns where the values are, if all components have storages.
    #[doc(hidden)]
    fn find(world: &World) -> Option<Self::Found<'_>>;

    /// Finds the storages that are *aligned*: these slots, of the members from position `first` on, are at the same positions.
    ///
    /// A storage that was not aligned for the members before stays so. Linear storages never are.
    #[doc(hidden)]
    fn align<'w>(found: Self::Found<'w>, slots: &[Entity], first: usize) -> Self::Found<'w>;

    /// Returns `true` if a storage is aligned, or with `ALL`, if each is.
    #[doc(hidden)]
    fn is_aligned<const ALL: bool>(found: Self::Found<'_>) -> bool;

    /// Returns the values of a member in all storages.
    ///
    /// # Safety
    ///
    /// A position is in use in all storages, and a slot has a value in each. The member is one of those for which aligned storages
    /// are. The values are not written while the items live.
    #[doc(hidden)]
    unsafe fn refs<'w>(found: Self::Found<'w>, member: Member) -> Self::Refs<'w>;

    /// Returns the values of a member in all storages, for writing.
    ///
    /// # Safety
    ///
    /// A position is in use in all storages, and a slot has a value in each. The member is one of those for which aligned storages
    /// are. The values are not used otherwise while the items live.
    #[doc(hidden)]
    unsafe fn muts<'w>(found: Self::Found<'w>, member: Member) -> Self::Muts<'w>;

    /// Returns the first `len` values of all storages.
    ///
    /// # Safety
    ///
    /// The rows are in use, and not written while the slices live.
    #[doc(hidden)]
    unsafe fn slices<'w>(found: Self::Found<'w>, len: usize) -> Self::Slices<'w>;

    /// Returns the first `len` values of all storages, for writing.
    ///
    /// # Safety
    ///
    /// The rows are in use, and not used otherwise while the slices live.
    #[doc(hidden)]
    unsafe fn slices_mut<'w>(found: Self::Found<'w>, len: usize) -> Self::SlicesMut<'w>;
}

/// Where the values of a component are.
pub struct Found<'w, C: Component> {
    storage: &'w SparseStorage,
    /// The rows of slots, in a sparse set.
    rows: Option<SparseLookup<'w, Entity>>,
    /// Whether members are at their positions in the group. It is so only in a sparse set.
    is_aligned: bool,
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
    /// Returns the row of a member's value.
    ///
    /// # Safety
    ///
    /// A slot has a value. The member is one of those for which the storage is aligned, if it is.
    #[inline(always)]
    unsafe fn row_of(&self, member: Member) -> usize {
        match member {
            Member::Position(at) => at,
            Member::Slot(at, _) if self.is_aligned => at,
            // The values of a linear storage are at their slots.
            Member::Slot(_, slot) if C::Layout::KIND == Kind::Linear => slot as usize,
            // SAFETY: a component of a group that is not in a linear storage is in a sparse set, so it has rows. They lead to
            // the value of the slot, which has one by the caller's contract.
            Member::Slot(_, slot) => unsafe { self.rows.unwrap_unchecked().position_unchecked(slot) as usize },
        }
    }
}

// SAFETY: `find` returns the lanes of the component's storage. The other functions use the named rows of these lanes.
unsafe impl<C: Component> Members for C {
    type Refs<'a> = <C::Layout as Layout<C>>::Ref<'a>;
    type Muts<'a> = <C::Layout as Layout<C>>::Mut<'a>;
    type Slices<'a> = <C::Layout as Layout<C>>::Slice<'a>;
    type SlicesMut<'a> = <C::Layout as Layout<C>>::SliceMut<'a>;
    type Found<'w> = Found<'w, C>;

    #[inline]
    fn find(world: &World) -> Option<Found<'_, C>> {
        let storage = world.storage.sparse.of(world.storage.components.id::<C>())?;
        let rows = match &storage.store {
            Store::Pool(set) => Some(set.dense.index().lookup()),
            Store::Linear(_) => None,
        };
        // SAFETY: the clock is borrowed with the world, and the lanes of the storage are those of the component.
        unsafe {
            let ticks = RunTicks::of::<C>(&raw const world.storage.sparse.clock);
            Some(Found {
                storage,
                rows,
                is_aligned: false,
                now: ticks.now,
                ptr: C::Layout::ptr(storage.values().lane(), ticks),
            })
        }
    }

    #[inline]
    fn align<'w>(mut found: Self::Found<'w>, slots: &[Entity], first: usize) -> Self::Found<'w> {
        let keys = match &found.storage.store {
            Store::Pool(set) if found.is_aligned || first == 0 => set.dense.keys(),
            _ => None,
        };
        let keys = keys.and_then(|keys| keys.get(first..first + slots.len()));
        found.is_aligned = keys.is_some_and(|keys| are_same(keys, slots));
        found
    }

    #[inline(always)]
    fn is_aligned<const ALL: bool>(found: Self::Found<'_>) -> bool {
        found.is_aligned
    }

    #[inline(always)]
    unsafe fn refs<'w>(found: Self::Found<'w>, member: Member) -> Self::Refs<'w> {
        // SAFETY: a slot has a value, whose row is in use, and so is a position, by the caller's contract. It is not written, by
        // the same.
        unsafe { C::Layout::get(found.ptr, found.row_of(member)) }
    }

    #[inline(always)]
    unsafe fn muts<'w>(found: Self::Found<'w>, member: Member) -> Self::Muts<'w> {
        // SAFETY: the lanes are those of the component. A slot has a value, whose row is in use, and so is a position, by the
        // caller's contract. It is not used otherwise, by the same.
        unsafe {
            C::Layout::touch(found.storage.values().lane(), found.now);
            C::Layout::get_mut(found.ptr, found.row_of(member))
        }
    }

    #[inline(always)]
    unsafe fn slices<'w>(found: Self::Found<'w>, len: usize) -> Self::Slices<'w> {
        // SAFETY: the rows are in use and not written, by the caller's contract.
        unsafe { C::Layout::slice(found.ptr, len) }
    }

    #[inline(always)]
    unsafe fn slices_mut<'w>(found: Self::Found<'w>, len: usize) -> Self::SlicesMut<'w> {
        // SAFETY: the lanes are those of the component. The rows are in use and not used otherwise, by the caller's
        // contract.
        unsafe {
            C::Layout::touch(found.storage.values().lane(), found.now);
            C::Layout::slice_mut(found.ptr, len)
        }
    }
}

/// Returns `true` if two lists have the same slots. They are compared as memory, which is faster than one by one.
fn are_same(a: &[Entity], b: &[Entity]) -> bool {
    const { assert!(size_of::<Entity>() == size_of::<u64>() && align_of::<Entity>() >= align_of::<u64>()) };
    // SAFETY: a slot is two initialised integers. It has the size of one of 64 bits and at least its alignment, as just asserted.
    let bits = |list: &[Entity]| unsafe { core::slice::from_raw_parts(list.as_ptr().cast::<u64>(), list.len()) };
    bits(a) == bits(b)
}

macro_rules! tuple_members {
    (@function [$($name:ident)*] $function:ident($argument:ident: $type:ty) -> $output:ident) => {
        #[inline(always)]
        unsafe fn $function<'w>(found: Self::Found<'w>, $argument: $type) -> Self::$output<'w> {
            let ($($name,)*) = found;
            // SAFETY: the caller's contract holds for the values of each element.
            ($(unsafe { $name::$function($name, $argument) },)*)
        }
    };
    ($($name:ident)*) => {
        // SAFETY: each element finds and uses the values of its own components.
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

            #[inline]
            fn align<'w>(found: Self::Found<'w>, slots: &[Entity], first: usize) -> Self::Found<'w> {
                let ($($name,)*) = found;
                ($($name::align($name, slots, first),)*)
            }

            #[inline(always)]
            fn is_aligned<const ALL: bool>(found: Self::Found<'_>) -> bool {
                let ($($name,)*) = found;
                match ALL {
                    true => true $(&& $name::is_aligned::<ALL>($name))*,
                    false => false $(|| $name::is_aligned::<ALL>($name))*,
                }
            }

            tuple_members!(@function [$($name)*] refs(member: Member) -> Refs);
            tuple_members!(@function [$($name)*] muts(member: Member) -> Muts);
            tuple_members!(@function [$($name)*] slices(len: usize) -> Slices);
            tuple_members!(@function [$($name)*] slices_mut(len: usize) -> SlicesMut);
        }
    };
}
all_tuples!(tuple_members);
