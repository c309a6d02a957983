//! Bundles: components that come together.
#![allow(unsafe_code)]

use crate::component::{Component, ComponentId, Components};
use crate::layout::Layout;
use phalanx_store::AllocError;
use phalanx_store::raw::Lane;

/// Components that are given to an entity together: a component, or a tuple of bundles of up to 15.
///
/// # Safety
///
/// [`ids`](Bundle::ids), unless it fails, pushes exactly `LEN` ids, and [`write`](Bundle::write) and [`read`](Bundle::read) handle exactly
/// those components, in the same order.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a bundle",
    label = "neither a component nor a tuple of bundles",
    note = "add `#[derive(Component)]` to the type; tuples may have up to 15 members, which may be tuples"
)]
pub unsafe trait Bundle: Sized + Send + Sync + 'static {
    /// How many components there are.
    const LEN: usize;

    /// Pushes their ids, in order, given to those that have none. The list has room for `LEN` more.
    ///
    /// # Errors
    ///
    /// If memory for what is known of a component cannot be had. Those before it keep their ids.
    fn ids(components: &mut Components, ids: &mut Vec<ComponentId>) -> Result<(), AllocError>;

    /// Their ids, in order, as far as they have any.
    fn known_ids(components: &Components, ids: &mut Vec<ComponentId>);

    /// Moves the values into a row.
    ///
    /// # Safety
    ///
    /// For each component, `places` has the number of its first lane among `lanes`; the row is within their capacity, and
    /// nothing lives there.
    unsafe fn write(self, lanes: *mut Lane, places: *const u16, row: usize);

    /// Moves the values out of a row.
    ///
    /// # Safety
    ///
    /// For each component, `places` has the number of its first lane among `lanes`; the row is initialised there, and
    /// counts as moved out from now on.
    unsafe fn read(lanes: *mut Lane, places: *const u16, row: usize) -> Self;
}

// SAFETY: one component.
unsafe impl<C: Component> Bundle for C {
    const LEN: usize = 1;

    fn ids(components: &mut Components, ids: &mut Vec<ComponentId>) -> Result<(), AllocError> {
        ids.push(components.register::<C>()?);
        Ok(())
    }

    fn known_ids(components: &Components, ids: &mut Vec<ComponentId>) {
        ids.push(components.id::<C>());
    }

    #[inline(always)]
    unsafe fn write(self, lanes: *mut Lane, places: *const u16, row: usize) {
        // SAFETY: the caller's promise.
        unsafe { C::Layout::write(C::Layout::ptr(lanes.add(*places as usize)), row, self) };
    }

    #[inline(always)]
    unsafe fn read(lanes: *mut Lane, places: *const u16, row: usize) -> Self {
        // SAFETY: the caller's promise.
        unsafe { C::Layout::read(C::Layout::ptr(lanes.add(*places as usize)), row) }
    }
}

macro_rules! tuple_bundle {
    ($($name:ident)*) => {
        // SAFETY: each member handles its own components, at the places after those of the members before it.
        unsafe impl<$($name: Bundle),*> Bundle for ($($name,)*) {
            const LEN: usize = 0 $(+ $name::LEN)*;

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
            unsafe fn write(self, lanes: *mut Lane, mut places: *const u16, row: usize) {
                let ($($name,)*) = self;
                // SAFETY: the caller's promise, for each member in turn.
                $(unsafe {
                    $name.write(lanes, places, row);
                    places = places.add($name::LEN);
                })*
            }

            #[allow(unused_variables, unused_mut, unused_assignments, non_snake_case, clippy::unused_unit)]
            #[inline(always)]
            unsafe fn read(lanes: *mut Lane, mut places: *const u16, row: usize) -> Self {
                // SAFETY: the caller's promise, for each member in turn.
                $(let $name = unsafe {
                    let value = $name::read(lanes, places, row);
                    places = places.add($name::LEN);
                    value
                };)*
                ($($name,)*)
            }
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
