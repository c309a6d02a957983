//! The implementations of [`Bundle`] for components, for optional components and for tuples.
//!
//! [`Bundle`] has one blanket implementation for all, so that an error names the member that is not a bundle. With one for
//! each, the compiler would try all, and name only the tuple.
#![allow(unsafe_code)]

use super::{AddComponent, Bundle, BundleGuard, BundlePtr, VisitSingle};
use crate::change_detection::RunTicks;
use crate::component::{Component, ComponentId, Components};
use crate::layout::{Kind, Layout};
use phalanx_store::AllocError;

/// Selects the implementation of [`Parts`]. Tuples have it even if their members are not bundles.
pub trait Form {
    type Form;
}

/// The items of [`Bundle`], for `T`.
///
/// # Safety
///
/// The contract is that of [`Bundle`].
pub unsafe trait Parts<T> {
    const LEN: usize;
    const SPARSE: usize;
    const OPTIONAL: usize;
    const REQUIRES: bool;
    fn ids(components: &mut Components, ids: &mut Vec<ComponentId>) -> Result<(), AllocError>;
    fn known_ids(components: &Components, ids: &mut Vec<ComponentId>);
    fn optional(first: usize, each: &mut dyn FnMut(usize));
    fn present(bundle: &T) -> u64;
    fn add_to<A: AddComponent>(bundle: T, to: &mut A);
    unsafe fn write(bundle: T, ptr: BundlePtr);
    unsafe fn read(ptr: BundlePtr) -> T;
    #[inline(always)]
    unsafe fn visit_single<V: VisitSingle>(_: *const T, _: V) -> Option<V::Output> {
        None
    }
}

/// A single component.
#[derive(Debug)]
pub enum One {}

/// A component that may be absent.
#[derive(Debug)]
pub enum Maybe {}

/// A tuple of bundles.
#[derive(Debug)]
pub enum Tuple {}

// SAFETY: the contract of `Parts` is that of `Bundle`.
unsafe impl<T: Form + Send + Sync + 'static> Bundle for T
where
    T::Form: Parts<T>,
{
    const LEN: usize = <T::Form as Parts<T>>::LEN;
    const SPARSE: usize = <T::Form as Parts<T>>::SPARSE;
    const OPTIONAL: usize = <T::Form as Parts<T>>::OPTIONAL;
    const REQUIRES: bool = <T::Form as Parts<T>>::REQUIRES;

    #[inline(always)]
    fn ids(components: &mut Components, ids: &mut Vec<ComponentId>) -> Result<(), AllocError> {
        T::Form::ids(components, ids)
    }

    #[inline(always)]
    fn known_ids(components: &Components, ids: &mut Vec<ComponentId>) {
        T::Form::known_ids(components, ids);
    }

    fn optional(first: usize, each: &mut dyn FnMut(usize)) {
        T::Form::optional(first, each);
    }

    #[inline(always)]
    fn present(&self) -> u64 {
        T::Form::present(self)
    }

    #[inline(always)]
    fn add_to<A: AddComponent>(self, to: &mut A) {
        T::Form::add_to(self, to);
    }

    #[inline(always)]
    unsafe fn write(self, ptr: BundlePtr) {
        // SAFETY: the contract is the same.
        unsafe { T::Form::write(self, ptr) };
    }

    #[inline(always)]
    unsafe fn read(ptr: BundlePtr) -> Self {
        // SAFETY: the contract is the same.
        unsafe { T::Form::read(ptr) }
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
    const OPTIONAL: usize = 0;
    const REQUIRES: bool = !C::REQUIRES.is_empty();

    fn ids(components: &mut Components, ids: &mut Vec<ComponentId>) -> Result<(), AllocError> {
        ids.push(components.register::<C>()?);
        Ok(())
    }

    fn known_ids(components: &Components, ids: &mut Vec<ComponentId>) {
        ids.push(components.id::<C>());
    }

    fn optional(_: usize, _: &mut dyn FnMut(usize)) {}

    #[inline(always)]
    fn present(_: &C) -> u64 {
        0
    }

    #[inline(always)]
    fn add_to<A: AddComponent>(value: C, to: &mut A) {
        to.add_component(value);
    }

    #[inline(always)]
    unsafe fn write(value: C, ptr: BundlePtr) {
        // SAFETY: the pointer is valid for `C`, so the lanes are the component's, the row is within their capacity, and there
        // is a clock. No value is there. Both by the caller's contract.
        unsafe {
            let (lane, row) = ptr.lane(0, C::Layout::KIND);
            C::Layout::write(C::Layout::ptr(lane, RunTicks::of::<C>(ptr.clock)), row, value);
        }
    }

    #[inline(always)]
    unsafe fn read(ptr: BundlePtr) -> C {
        // SAFETY: the pointer is valid for `C`, so the lanes are the component's. The row is initialised and counts as moved
        // out. Both by the caller's contract.
        unsafe {
            let (lane, row) = ptr.lane(0, C::Layout::KIND);
            C::Layout::read(C::Layout::ptr(lane, RunTicks::READ), row)
        }
    }

    #[inline(always)]
    unsafe fn visit_single<V: VisitSingle>(component: *const C, visitor: V) -> Option<V::Output> {
        // SAFETY: the pointer is what the visitor asks for.
        Some(unsafe { visitor.visit(component) })
    }
}

impl<C> Form for Option<C> {
    type Form = Maybe;
}

// SAFETY: one component, which is optional.
unsafe impl<C: Component> Parts<Option<C>> for Maybe {
    const LEN: usize = 1;
    const SPARSE: usize = <One as Parts<C>>::SPARSE;
    const OPTIONAL: usize = 1;
    const REQUIRES: bool = <One as Parts<C>>::REQUIRES;

    fn ids(components: &mut Components, ids: &mut Vec<ComponentId>) -> Result<(), AllocError> {
        <One as Parts<C>>::ids(components, ids)
    }

    fn known_ids(components: &Components, ids: &mut Vec<ComponentId>) {
        <One as Parts<C>>::known_ids(components, ids);
    }

    fn optional(first: usize, each: &mut dyn FnMut(usize)) {
        each(first);
    }

    #[inline(always)]
    fn present(value: &Option<C>) -> u64 {
        u64::from(value.is_some())
    }

    #[inline(always)]
    fn add_to<A: AddComponent>(value: Option<C>, to: &mut A) {
        if let Some(value) = value {
            to.add_component(value);
        }
    }

    #[inline(always)]
    unsafe fn write(value: Option<C>, ptr: BundlePtr) {
        if let Some(value) = value {
            // SAFETY: the component is there, so the pointer is valid for it, and no value is there, by the caller's contract.
            unsafe { One::write(value, ptr) };
        }
    }

    #[inline(always)]
    unsafe fn read(ptr: BundlePtr) -> Option<C> {
        // SAFETY: the pointer is valid for the component, and its value is initialised if it is there, by the caller's contract.
        unsafe { if ptr.is_absent() { None } else { Some(One::read(ptr)) } }
    }
}

/// Implements `visit_single` for tuples of one member, by visiting the member.
macro_rules! tuple_visit {
    ($name:ident) => {
        #[inline(always)]
        unsafe fn visit_single<V: VisitSingle>(bundle: *const ($name,), visitor: V) -> Option<V::Output> {
            // SAFETY: the pointer is what the visitor asks for, and so is a pointer to the only member.
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

        // SAFETY: each member handles its own components. Their columns follow those of the members before it.
        unsafe impl<$($name: Bundle),*> Parts<($($name,)*)> for Tuple {
            const LEN: usize = 0 $(+ $name::LEN)*;
            const SPARSE: usize = 0 $(+ $name::SPARSE)*;
            const OPTIONAL: usize = 0 $(+ $name::OPTIONAL)*;
            const REQUIRES: bool = false $(|| $name::REQUIRES)*;

            #[allow(unused_variables)]
            fn ids(components: &mut Components, ids: &mut Vec<ComponentId>) -> Result<(), AllocError> {
                $($name::ids(components, ids)?;)*
                Ok(())
            }

            #[allow(unused_variables)]
            fn known_ids(components: &Components, ids: &mut Vec<ComponentId>) {
                $($name::known_ids(components, ids);)*
            }

            #[allow(unused_variables, unused_mut, unused_assignments)]
            fn optional(mut first: usize, each: &mut dyn FnMut(usize)) {
                $(
                    $name::optional(first, each);
                    first += $name::LEN;
                )*
            }

            #[allow(unused_variables, unused_mut, unused_assignments, non_snake_case)]
            #[inline(always)]
            fn present(bundle: &($($name,)*)) -> u64 {
                let ($($name,)*) = bundle;
                let (mut bits, mut shift) = (0, 0);
                $(
                    if $name::OPTIONAL > 0 {
                        bits |= $name.present() << shift;
                        shift += $name::OPTIONAL;
                    }
                )*
                bits
            }

            #[allow(unused_variables, non_snake_case)]
            #[inline(always)]
            fn add_to<Add: AddComponent>(bundle: ($($name,)*), to: &mut Add) {
                let ($($name,)*) = bundle;
                $($name.add_to(to);)*
            }

            #[allow(unused_variables, unused_mut, unused_assignments, non_snake_case)]
            #[inline(always)]
            unsafe fn write(bundle: ($($name,)*), mut ptr: BundlePtr) {
                let ($($name,)*) = bundle;
                $(
                    // SAFETY: the pointer is valid for this member and those that follow, and no values are there, by the
                    // caller's contract. The guard drops the written values if a later member panics.
                    let $name = unsafe {
                        $name.write(ptr);
                        BundleGuard::<$name>::new(ptr)
                    };
                    ptr = ptr.skip($name::LEN);
                )*
                $($name.release();)*
            }

            #[allow(unused_variables, unused_mut, unused_assignments, non_snake_case, clippy::unused_unit)]
            #[inline(always)]
            unsafe fn read(mut ptr: BundlePtr) -> ($($name,)*) {
                $(
                    // SAFETY: the pointer is valid for this member and those that follow, and their values are initialised, by
                    // the caller's contract. The guard drops them if a member before it panics.
                    let $name = unsafe { BundleGuard::<$name>::new(ptr) };
                    ptr = ptr.skip($name::LEN);
                )*
                $(let $name = $name.read();)*
                ($($name,)*)
            }

            tuple_visit!($($name)*);
        }
    };
}

/// Calls a macro with every list of up to 12 names. The time to compile the crate grows with the third power of this limit.
macro_rules! all_tuples {
    ($macro:ident) => {
        all_tuples!(@ $macro [] A B C D E F G H I J K L);
    };
    (@ $macro:ident [$($done:ident)*] $next:ident $($rest:ident)*) => {
        $macro!($($done)*);
        all_tuples!(@ $macro [$($done)* $next] $($rest)*);
    };
    (@ $macro:ident [$($done:ident)*]) => { $macro!($($done)*); };
}
pub(crate) use all_tuples;

all_tuples!(tuple_bundle);
