//! Bundles: components that come together.
#![allow(unsafe_code)]

use crate::change_detection::{Clock, RunTicks};
use crate::component::{Component, ComponentId, Components};
use crate::layout::{Kind, Layout};
use core::marker::PhantomData;
use phalanx_store::AllocError;
use phalanx_store::raw::Lane;

/// Where the values of a bundle go to, or come from: a row of a table, and a row beside it for each component that is not
/// kept in tables.
#[derive(Clone, Copy, Debug)]
pub struct BundlePtr {
    /// The first lane of the table.
    pub(crate) lanes: *mut Lane,
    pub(crate) row: usize,
    /// For each component in order: the number of its first lane, or its number in `sparse`.
    pub(crate) places: *const u16,
    pub(crate) sparse: *const SparsePtr,
    /// What tells when values come there: asked by those who keep it.
    pub(crate) clock: *const Clock,
}

/// A row of a component's own lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SparsePtr {
    pub(crate) lane: *mut Lane,
    pub(crate) row: usize,
}

impl BundlePtr {
    /// The place without the first `count` components.
    ///
    /// # Safety
    ///
    /// It is one for so many components at least.
    #[inline(always)]
    #[must_use]
    pub unsafe fn skip(self, count: usize) -> BundlePtr {
        // SAFETY: the caller's promise.
        BundlePtr { places: unsafe { self.places.add(count) }, ..self }
    }

    /// The first lane and the row of the component at this number, which is kept so.
    ///
    /// # Safety
    ///
    /// The place is one for such a component at that number.
    #[inline(always)]
    pub(crate) unsafe fn lane(self, at: usize, kind: Kind) -> (*mut Lane, usize) {
        // SAFETY: the caller's promise.
        unsafe {
            let number = *self.places.add(at) as usize;
            match kind {
                Kind::Table => (self.lanes.add(number), self.row),
                Kind::Pool | Kind::Linear => {
                    let side = *self.sparse.add(number);
                    (side.lane, side.row)
                }
            }
        }
    }
}

/// The values of a bundle in their place, which are dropped with this.
///
/// Taking a soa value apart, or putting it together, is code of its type and may panic. The other members of the bundle must
/// not leak then.
#[derive(Debug)]
pub struct Placed<B: Bundle> {
    place: BundlePtr,
    bundle: PhantomData<B>,
}

impl<B: Bundle> Placed<B> {
    /// # Safety
    ///
    /// The place is one for `B`, its values are there, and nothing else uses them while this lives.
    #[inline(always)]
    pub unsafe fn new(place: BundlePtr) -> Placed<B> {
        Placed { place, bundle: PhantomData }
    }

    /// Moves the values out.
    #[inline(always)]
    pub fn take(self) -> B {
        let place = self.place;
        core::mem::forget(self);
        // SAFETY: the values are there, by the promise of `new`, and are moved out once.
        unsafe { B::read(place) }
    }

    /// Leaves the values where they are.
    #[inline(always)]
    pub fn leave(self) {
        core::mem::forget(self);
    }
}

impl<B: Bundle> Drop for Placed<B> {
    #[inline]
    fn drop(&mut self) {
        if core::mem::needs_drop::<B>() {
            // SAFETY: the values are there, by the promise of `new`, and are moved out once.
            drop(unsafe { B::read(self.place) });
        }
    }
}

/// Components that are given to an entity together: a component, or a tuple of bundles of up to 15.
///
/// # Safety
///
/// [`ids`](Bundle::ids), unless it fails, pushes exactly `LEN` ids, and [`write`](Bundle::write) and [`read`](Bundle::read) handle exactly
/// those components, in the same order.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a bundle",
    label = "neither a component nor a bundle of components",
    note = "add `#[derive(Component)]` or `#[derive(Bundle)]` to `{Self}`, or to a struct of your own that holds it",
    note = "a tuple of up to 15 bundles is a bundle; longer ones are nested: `((A, B), (C, D))`"
)]
pub unsafe trait Bundle: Sized + Send + Sync + 'static {
    /// How many components there are.
    const LEN: usize;

    /// How many of them are not kept in tables.
    const SPARSE: usize;

    /// Pushes their ids, in order, given to those that have none. The list has room for `LEN` more.
    ///
    /// # Errors
    ///
    /// If memory for what is known of a component cannot be had. Those before it keep their ids.
    fn ids(components: &mut Components, ids: &mut Vec<ComponentId>) -> Result<(), AllocError>;

    /// Their ids, in order, as far as they have any.
    fn known_ids(components: &Components, ids: &mut Vec<ComponentId>);

    /// Moves the values in.
    ///
    /// # Safety
    ///
    /// The place is one for these components, in their order, and nothing lives there.
    unsafe fn write(self, place: BundlePtr);

    /// Moves the values out.
    ///
    /// # Safety
    ///
    /// The place is one for these components, in their order; values are there, and count as moved out from now on.
    unsafe fn read(place: BundlePtr) -> Self;

    /// Calls a visitor with the component, if the bundle is just one component. Returns `None` otherwise.
    ///
    /// # Safety
    ///
    /// The pointer is what the visitor asks for. It may be dangling if the visitor does not read through it.
    #[doc(hidden)]
    #[inline(always)]
    unsafe fn visit_single<V: VisitSingle>(_: *const Self, _: V) -> Option<V::Output> {
        None
    }

    /// Calls [`Placed::new`]. Derives call this one, so that errors about a field point at its type.
    ///
    /// # Safety
    ///
    /// As there.
    #[doc(hidden)]
    #[inline(always)]
    unsafe fn placed(place: BundlePtr) -> Placed<Self> {
        // SAFETY: the caller's promise.
        unsafe { Placed::new(place) }
    }

    /// Calls [`Placed::leave`].
    #[doc(hidden)]
    #[inline(always)]
    fn leave(placed: Placed<Self>) {
        placed.leave();
    }

    /// Calls [`Placed::take`].
    #[doc(hidden)]
    #[inline(always)]
    fn take(placed: Placed<Self>) -> Self {
        placed.take()
    }
}

/// Works on the only component of a bundle, whose type it is given.
#[doc(hidden)]
pub trait VisitSingle {
    /// What comes of it.
    type Output;

    /// Visits the component.
    ///
    /// # Safety
    ///
    /// The implementation says what it asks of the pointer.
    unsafe fn visit<C: Component>(self, component: *const C) -> Self::Output;
}

/// The ways in which types of this crate are bundles.
///
/// [`Bundle`] has one implementation for components and tuples, which leads to the member that is at fault. With one for
/// each, the compiler would try both, and name only the tuple.
mod form {
    use super::{AllocError, BundlePtr, ComponentId, Components, VisitSingle};

    /// Chooses the implementation of [`Parts`]. Tuples have it whatever their members are.
    pub trait Form {
        type Form;
    }

    /// What [`Bundle`](super::Bundle) does, for `T`.
    ///
    /// # Safety
    ///
    /// As for [`Bundle`](super::Bundle).
    pub unsafe trait Parts<T> {
        const LEN: usize;
        const SPARSE: usize;
        fn ids(components: &mut Components, ids: &mut Vec<ComponentId>) -> Result<(), AllocError>;
        fn known_ids(components: &Components, ids: &mut Vec<ComponentId>);
        unsafe fn write(bundle: T, place: BundlePtr);
        unsafe fn read(place: BundlePtr) -> T;
        #[inline(always)]
        unsafe fn visit_single<V: VisitSingle>(_: *const T, _: V) -> Option<V::Output> {
            None
        }
    }

    /// A component by itself.
    #[derive(Debug)]
    pub enum One {}

    /// A tuple of bundles.
    #[derive(Debug)]
    pub enum Tuple {}
}
use form::{Form, One, Parts, Tuple};

// SAFETY: the promises of `Parts` are the same.
unsafe impl<T: Form + Send + Sync + 'static> Bundle for T
where
    T::Form: Parts<T>,
{
    const LEN: usize = <T::Form as Parts<T>>::LEN;
    const SPARSE: usize = <T::Form as Parts<T>>::SPARSE;

    #[inline(always)]
    fn ids(components: &mut Components, ids: &mut Vec<ComponentId>) -> Result<(), AllocError> {
        T::Form::ids(components, ids)
    }

    #[inline(always)]
    fn known_ids(components: &Components, ids: &mut Vec<ComponentId>) {
        T::Form::known_ids(components, ids);
    }

    #[inline(always)]
    unsafe fn write(self, place: BundlePtr) {
        // SAFETY: the caller's promise.
        unsafe { T::Form::write(self, place) };
    }

    #[inline(always)]
    unsafe fn read(place: BundlePtr) -> Self {
        // SAFETY: the caller's promise.
        unsafe { T::Form::read(place) }
    }

    #[inline(always)]
    unsafe fn visit_single<V: VisitSingle>(bundle: *const Self, visitor: V) -> Option<V::Output> {
        // SAFETY: the pointer is what the visitor asks for.
        unsafe { T::Form::visit_single(bundle, visitor) }
    }
}

impl<C: Component> Form for C {
    type Form = One;
}

// SAFETY: one component.
unsafe impl<C: Component> Parts<C> for One {
    const LEN: usize = 1;
    const SPARSE: usize = !matches!(C::Layout::KIND, Kind::Table) as usize;

    fn ids(components: &mut Components, ids: &mut Vec<ComponentId>) -> Result<(), AllocError> {
        ids.push(components.register::<C>()?);
        Ok(())
    }

    fn known_ids(components: &Components, ids: &mut Vec<ComponentId>) {
        ids.push(components.id::<C>());
    }

    #[inline(always)]
    unsafe fn write(value: C, place: BundlePtr) {
        // SAFETY: the caller's promise.
        unsafe {
            let (lane, row) = place.lane(0, C::Layout::KIND);
            C::Layout::write(C::Layout::ptr(lane, RunTicks::of::<C>(place.clock)), row, value);
        }
    }

    #[inline(always)]
    unsafe fn read(place: BundlePtr) -> C {
        // SAFETY: the caller's promise.
        unsafe {
            let (lane, row) = place.lane(0, C::Layout::KIND);
            C::Layout::read(C::Layout::ptr(lane, RunTicks::READ), row)
        }
    }

    #[inline(always)]
    unsafe fn visit_single<V: VisitSingle>(component: *const C, visitor: V) -> Option<V::Output> {
        // SAFETY: the pointer is what the visitor asks for.
        Some(unsafe { visitor.visit(component) })
    }
}

/// A tuple of one member is visited as its member.
macro_rules! tuple_visit {
    ($name:ident) => {
        #[inline(always)]
        unsafe fn visit_single<V: VisitSingle>(bundle: *const ($name,), visitor: V) -> Option<V::Output> {
            // SAFETY: the pointer is what the visitor asks for, and the member is all that there is.
            unsafe { $name::visit_single(&raw const (*bundle).0, visitor) }
        }
    };
    ($($name:ident)*) => {};
}

macro_rules! tuple_bundle {
    ($($name:ident)*) => {
        impl<$($name),*> Form for ($($name,)*) {
            type Form = Tuple;
        }

        // SAFETY: each member handles its own components, at the places after those of the members before it.
        unsafe impl<$($name: Bundle),*> Parts<($($name,)*)> for Tuple {
            const LEN: usize = 0 $(+ $name::LEN)*;
            const SPARSE: usize = 0 $(+ $name::SPARSE)*;

            #[allow(unused_variables)]
            fn ids(components: &mut Components, ids: &mut Vec<ComponentId>) -> Result<(), AllocError> {
                $($name::ids(components, ids)?;)*
                Ok(())
            }

            #[allow(unused_variables)]
            fn known_ids(components: &Components, ids: &mut Vec<ComponentId>) {
                $($name::known_ids(components, ids);)*
            }

            #[allow(unused_variables, unused_mut, unused_assignments, non_snake_case)]
            #[inline(always)]
            unsafe fn write(bundle: ($($name,)*), mut place: BundlePtr) {
                let ($($name,)*) = bundle;
                $(
                    // SAFETY: the caller's promise, for each member in turn. Its values are dropped if a later one panics.
                    let $name = unsafe {
                        $name.write(place);
                        Placed::<$name>::new(place)
                    };
                    // SAFETY: the place is one for the members that follow.
                    place = unsafe { place.skip($name::LEN) };
                )*
                $($name.leave();)*
            }

            #[allow(unused_variables, unused_mut, unused_assignments, non_snake_case, clippy::unused_unit)]
            #[inline(always)]
            unsafe fn read(mut place: BundlePtr) -> ($($name,)*) {
                $(
                    // SAFETY: the caller's promise, for each member in turn. Its values are dropped if one before panics.
                    let $name = unsafe { Placed::<$name>::new(place) };
                    // SAFETY: the place is one for the members that follow.
                    place = unsafe { place.skip($name::LEN) };
                )*
                $(let $name = $name.take();)*
                ($($name,)*)
            }

            tuple_visit!($($name)*);
        }
    };
}

/// Calls a macro with every list of names up to 15.
macro_rules! all_tuples {
    ($macro:ident) => {
        all_tuples!(@ $macro [] A B C D E F G H I J K L M N O);
    };
    (@ $macro:ident [$($done:ident)*] $next:ident $($rest:ident)*) => {
        $macro!($($done)*);
        all_tuples!(@ $macro [$($done)* $next] $($rest)*);
    };
    (@ $macro:ident [$($done:ident)*]) => { $macro!($($done)*); };
}
pub(crate) use all_tuples;

all_tuples!(tuple_bundle);
