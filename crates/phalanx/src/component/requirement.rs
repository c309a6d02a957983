//! [`Requirement`]: a component that another component requires, and how it is created.
#![allow(unsafe_code)]

use super::{Component, ComponentId, Components};
use crate::change_detection::{Clock, RunTicks};
use crate::layout::{Kind, Layout};
use core::any::TypeId;
use core::fmt;
use phalanx_store::AllocError;
use phalanx_store::raw::Lane;

/// A component that another component requires, and the function that creates its value: an element of
/// [`Component::REQUIRES`].
///
/// `#[component(requires(…))]` creates the list. See [required components](Component#required-components).
///
/// ```
/// use phalanx::{Component, ComponentInfo, World};
///
/// #[derive(Component, Default)]
/// struct Position(f32, f32);
///
/// #[derive(Component)]
/// #[component(requires(Position))]
/// struct Ship;
///
/// let mut world = World::new();
/// let ship = world.register_component::<Ship>();
/// let required: Vec<_> = world.components().info(ship).requires().iter().map(|one| one.name()).collect();
/// assert_eq!(required, [std::any::type_name::<Position>()]);
/// ```
#[derive(Clone, Copy)]
pub struct Requirement {
    type_id: fn() -> TypeId,
    name: fn() -> &'static str,
    pub(crate) register: fn(&mut Components) -> Result<ComponentId, AllocError>,
    pub(crate) kind: Kind,
    /// A `fn() -> C`.
    make: fn(),
    /// The function that takes `make`.
    write: unsafe fn(fn(), *mut Lane, usize, *const Clock),
    drop: unsafe fn(*mut Lane, usize),
}

impl Requirement {
    /// Creates the requirement of a component, whose values the function creates.
    ///
    /// The requirements of the component are evaluated too. So requirements that form a cycle do not compile.
    pub const fn new<C: Component>(make: fn() -> C) -> Requirement {
        // A cycle is found when this constant is evaluated.
        let _ = C::REQUIRES.len();
        Requirement {
            type_id: TypeId::of::<C>,
            name: core::any::type_name::<C>,
            register: Components::register::<C>,
            kind: C::Layout::KIND,
            // SAFETY: function pointers have the same representation. It is called only as what it was.
            make: unsafe { core::mem::transmute::<fn() -> C, fn()>(make) },
            write: write_made::<C>,
            drop: Requirement::drop_value::<C>,
        }
    }

    /// Returns the name of the required component.
    pub fn name(&self) -> &'static str {
        (self.name)()
    }

    /// Returns the type of the required component.
    pub fn type_id(&self) -> TypeId {
        (self.type_id)()
    }

    /// Creates a value, and moves it into a row of the component's lanes.
    ///
    /// # Safety
    ///
    /// The lanes are those of the component. The row is within their capacity, and no value is there. `clock` points to a clock.
    #[inline]
    pub(crate) unsafe fn write(&self, lanes: *mut Lane, row: usize, clock: *const Clock) {
        // SAFETY: the function takes the `make` that it was stored with. The rest is the caller's contract.
        unsafe { (self.write)(self.make, lanes, row, clock) };
    }

    /// Drops the value at a row of its lanes.
    ///
    /// # Safety
    ///
    /// The lanes are those of `C`. The row is initialised, and counts as moved out from now on.
    pub(crate) unsafe fn drop_value<C: Component>(lanes: *mut Lane, row: usize) {
        // SAFETY: the lanes are those of `C`, and the row is initialised and moved out once, by the caller's contract.
        drop(unsafe { C::Layout::read(C::Layout::ptr(lanes, RunTicks::READ), row) });
    }

    /// Drops the value at a row.
    ///
    /// # Safety
    ///
    /// The lanes are those of the component. The row is initialised, and counts as moved out from now on.
    pub(crate) unsafe fn drop(&self, lanes: *mut Lane, row: usize) {
        // SAFETY: the contract is the same.
        unsafe { (self.drop)(lanes, row) };
    }
}

/// Creates a value, and moves it into a row of its lanes.
///
/// # Safety
///
/// `make` is a `fn() -> C`. The lanes are those of `C`, the row is within their capacity, and no value is there. `clock` points
/// to a clock.
unsafe fn write_made<C: Component>(make: fn(), lanes: *mut Lane, row: usize, clock: *const Clock) {
    // SAFETY: the function is a `fn() -> C`. The lanes are those of `C` with a vacant row, and there is a clock: all by the
    // caller's contract.
    unsafe {
        let value = core::mem::transmute::<fn(), fn() -> C>(make)();
        C::Layout::write(C::Layout::ptr(lanes, RunTicks::of::<C>(clock)), row, value);
    }
}

impl fmt::Debug for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Requirement").field(&self.name()).finish()
    }
}
