//! [`Requirement`]: a component that another component requires, and how it is created.
#![allow(unsafe_code)]

use super::{Component, ComponentId, Components, DropFn, WriteFn};
use crate::change_detection::{Clock, RunTicks};
use crate::layout::{Kind, Layout};
use core::alloc::Layout as MemoryLayout;
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
    /// A `fn() -> C`.
    make: fn(),
    /// The functions of `C`.
    vtable: &'static RequirementVtable,
}

/// The functions of a required component.
struct RequirementVtable {
    type_id: fn() -> TypeId,
    name: fn() -> &'static str,
    register: fn(&mut Components) -> Result<ComponentId, AllocError>,
    kind: Kind,
    layout: MemoryLayout,
    /// Calls the `make` of the requirement, and moves the value into a row of lanes.
    write: unsafe fn(fn(), *mut Lane, usize, *const Clock),
    /// Calls the `make` of the requirement, and moves the value to an address.
    create: unsafe fn(fn(), *mut u8),
    /// Moves a value from an address into a row of lanes.
    write_made: WriteFn,
    /// Drops a value at an address.
    drop_made: DropFn,
    /// Drops a value in a row of lanes.
    drop: unsafe fn(*mut Lane, usize),
}

impl Requirement {
    /// Creates the requirement of a component, whose values the function creates.
    ///
    /// The requirements of the component are evaluated too. So requirements that form a cycle do not compile.
    pub const fn new<C: Component>(make: fn() -> C) -> Requirement {
        // A cycle is found when this constant is evaluated.
        let _ = C::REQUIRES.len();
        // SAFETY: function pointers have the same representation. It is called only as what it was.
        let make = unsafe { core::mem::transmute::<fn() -> C, fn()>(make) };
        let vtable = &const {
            RequirementVtable {
                type_id: TypeId::of::<C>,
                name: core::any::type_name::<C>,
                register: Components::register::<C>,
                kind: C::Layout::KIND,
                layout: MemoryLayout::new::<C>(),
                write: make_in_lanes::<C>,
                create: make_at::<C>,
                write_made: crate::layout::write_value::<C>,
                drop_made: drop_at::<C>,
                drop: Requirement::drop_value::<C>,
            }
        };
        Requirement { make, vtable }
    }

    /// Returns the name of the required component.
    pub fn name(&self) -> &'static str {
        (self.vtable.name)()
    }

    /// Returns the type of the required component.
    pub fn type_id(&self) -> TypeId {
        (self.vtable.type_id)()
    }

    /// Returns where the component is stored.
    #[inline(always)]
    pub(crate) fn kind(&self) -> Kind {
        self.vtable.kind
    }

    /// Returns the layout of a value.
    pub(crate) fn layout(&self) -> MemoryLayout {
        self.vtable.layout
    }

    /// Returns the id of the component, which is registered if it is not known.
    pub(crate) fn register(&self, components: &mut Components) -> Result<ComponentId, AllocError> {
        (self.vtable.register)(components)
    }

    /// Creates a value, and moves it into a row of the component's lanes.
    ///
    /// # Safety
    ///
    /// The lanes are those of the component. The row is within their capacity, and no value is there. `clock` points to a clock.
    #[inline]
    pub(crate) unsafe fn write(&self, lanes: *mut Lane, row: usize, clock: *const Clock) {
        // SAFETY: the function takes the `make` that it was stored with. The rest is the caller's contract.
        unsafe { (self.vtable.write)(self.make, lanes, row, clock) };
    }

    /// Creates a value, and moves it to an address.
    ///
    /// # Safety
    ///
    /// The address is valid for writes of a value of this [layout](Requirement::layout).
    pub(crate) unsafe fn create(&self, at: *mut u8) {
        // SAFETY: the function takes the `make` that it was stored with. The rest is the caller's contract.
        unsafe { (self.vtable.create)(self.make, at) };
    }

    /// Moves a value from an address into a row of the component's lanes.
    ///
    /// # Safety
    ///
    /// A value of the component is at the address, and counts as moved out from now on. The rest is as for
    /// [`write`](Requirement::write).
    pub(crate) unsafe fn write_made(&self, lanes: *mut Lane, row: usize, value: *const u8, clock: *const Clock) {
        // SAFETY: the contract is the same.
        unsafe { (self.vtable.write_made)(lanes, row, value, clock) };
    }

    /// Drops a value at an address.
    ///
    /// # Safety
    ///
    /// A value of the component is at the address, and counts as moved out from now on.
    pub(crate) unsafe fn drop_made(&self, value: *mut u8) {
        // SAFETY: the contract is the same.
        unsafe { (self.vtable.drop_made)(value) };
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
        unsafe { (self.vtable.drop)(lanes, row) };
    }
}

/// Creates a value, and moves it into a row of its lanes.
///
/// # Safety
///
/// `make` is a `fn() -> C`. The lanes are those of `C`, the row is within their capacity, and no value is there. `clock` points
/// to a clock.
unsafe fn make_in_lanes<C: Component>(make: fn(), lanes: *mut Lane, row: usize, clock: *const Clock) {
    // SAFETY: the function is a `fn() -> C`. The lanes are those of `C` with a vacant row, and there is a clock: all by the
    // caller's contract.
    unsafe {
        let value = core::mem::transmute::<fn(), fn() -> C>(make)();
        C::Layout::write(C::Layout::ptr(lanes, RunTicks::of::<C>(clock)), row, value);
    }
}

/// Creates a value, and moves it to an address.
///
/// # Safety
///
/// `make` is a `fn() -> C`, and the address is valid for writes of a `C`.
unsafe fn make_at<C: Component>(make: fn(), at: *mut u8) {
    // SAFETY: the function is a `fn() -> C`, and the address is valid for a `C`, by the caller's contract.
    unsafe { at.cast::<C>().write(core::mem::transmute::<fn(), fn() -> C>(make)()) };
}

/// Drops a value at an address.
///
/// # Safety
///
/// The address is that of a `C`, which is given up.
unsafe fn drop_at<C: Component>(value: *mut u8) {
    // SAFETY: the address is that of a `C` that the caller gives up.
    unsafe { value.cast::<C>().drop_in_place() };
}

impl fmt::Debug for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Requirement").field(&self.name()).finish()
    }
}
