//! [`Bundle`]: several components that are inserted or removed together.
#![allow(unsafe_code)]

mod form;
mod required;

pub(crate) use form::all_tuples;
pub(crate) use required::{Required, WrittenRequired};

use crate::change_detection::Clock;
use crate::component::{Component, ComponentId, Components};
use crate::layout::Kind;
use core::marker::PhantomData;
use phalanx_store::AllocError;
use phalanx_store::raw::Lane;

/// The destination or source of a bundle's values: a row of a table, and a row of each sparse storage.
///
/// A pointer is *valid for* a list of components if the following holds while it is used.
///
/// - `columns` has an entry for each of the components, in their order.
/// - The entry of a table component is the number of its first lane, counted from `lanes`. `row` is within the capacity of
///   these lanes.
/// - The entry of a sparse component is the number of its [`SparsePtr`], counted from `sparse`.
/// - The entry of an optional component that is not there is [`ABSENT`].
/// - `clock` points to the clock of the world.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct BundlePtr {
    /// The first lane of the table.
    pub(crate) lanes: *mut Lane,
    pub(crate) row: usize,
    /// For each component in order: the number of its first lane, or its number in `sparse`.
    pub(crate) columns: *const u16,
    pub(crate) sparse: *const SparsePtr,
    /// The source of change ticks. It is read only if a component is tracked.
    pub(crate) clock: *const Clock,
}

/// The column of an optional component that a bundle does not have. No table has as many lanes.
pub(crate) const ABSENT: u16 = u16::MAX;

/// A row in the lanes of a sparse storage.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SparsePtr {
    pub(crate) lane: *mut Lane,
    pub(crate) row: usize,
}

impl BundlePtr {
    /// Returns the pointer without the first `count` components. It is valid for those that are left.
    #[inline(always)]
    #[must_use]
    pub fn skip(self, count: usize) -> BundlePtr {
        BundlePtr { columns: self.columns.wrapping_add(count), ..self }
    }

    /// Returns `true` if the first component is an optional one that is not there.
    ///
    /// # Safety
    ///
    /// The pointer is valid for at least one component.
    #[inline(always)]
    unsafe fn is_absent(self) -> bool {
        // SAFETY: `columns` has an entry, by the caller's contract.
        unsafe { *self.columns == ABSENT }
    }

    /// Returns the first lane and the row of a component, given its number in the bundle and its storage.
    ///
    /// # Safety
    ///
    /// The pointer is valid for more than `at` components, and the one at that number is stored as `kind` says.
    #[inline(always)]
    pub(crate) unsafe fn lane(self, at: usize, kind: Kind) -> (*mut Lane, usize) {
        // SAFETY: `columns` has an entry at this number, and the entry is a number in `lanes` or `sparse`, as `kind` says:
        // both by the caller's contract.
        unsafe {
            let number = *self.columns.add(at) as usize;
            match kind {
                Kind::Table => (self.lanes.add(number), self.row),
                Kind::Pool | Kind::Linear => {
                    let SparsePtr { lane, row } = *self.sparse.add(number);
                    (lane, row)
                }
            }
        }
    }
}

/// Drops the values of a bundle at their location, unless they are read or released first.
///
/// Splitting or joining a soa value is user code and may panic. This guard keeps the other members of the bundle from
/// leaking then.
#[derive(Debug)]
pub struct BundleGuard<B: Bundle> {
    ptr: BundlePtr,
    bundle: PhantomData<B>,
}

impl<B: Bundle> BundleGuard<B> {
    /// Creates a guard of the values at `ptr`.
    ///
    /// # Safety
    ///
    /// The pointer is valid for the components of `B`. Their values are initialised, and nothing else uses them while the
    /// guard lives.
    #[inline(always)]
    pub unsafe fn new(ptr: BundlePtr) -> BundleGuard<B> {
        BundleGuard { ptr, bundle: PhantomData }
    }

    /// Moves the values out.
    #[inline(always)]
    pub fn read(self) -> B {
        let ptr = self.ptr;
        core::mem::forget(self);
        // SAFETY: the pointer is valid for `B` and the values are initialised, by the contract of `new`. They are moved out
        // once: the guard is forgotten.
        unsafe { B::read(ptr) }
    }

    /// Leaves the values at their location.
    #[inline(always)]
    pub fn release(self) {
        core::mem::forget(self);
    }
}

impl<B: Bundle> Drop for BundleGuard<B> {
    #[inline]
    fn drop(&mut self) {
        if core::mem::needs_drop::<B>() {
            // SAFETY: the pointer is valid for `B` and the values are initialised, by the contract of `new`. They are moved
            // out once: guards that are read or released are forgotten.
            drop(unsafe { B::read(self.ptr) });
        }
    }
}

/// Components that are inserted together: one component, an optional one, a tuple of up to 12 bundles, or a struct with
/// `derive(Bundle)`.
///
/// ```
/// use phalanx::{Bundle, Component, World};
///
/// #[derive(Component)]
/// struct Hull(u32);
/// #[derive(Component)]
/// struct Speed(f32);
/// #[derive(Component)]
/// struct Name(&'static str);
///
/// #[derive(Bundle)]
/// struct Ship {
///     hull: Hull,
///     speed: Speed,
/// }
///
/// let mut world = World::new();
/// let ship = world.spawn((Name("Argo"), Ship { hull: Hull(9), speed: Speed(2.0) }));
/// assert_eq!(world.get::<Hull>(ship).unwrap().0, 9);
/// let (name, speed) = world.take::<(Name, Speed)>(ship).unwrap();
/// assert_eq!((name.0, speed.0), ("Argo", 2.0));
/// ```
///
/// # Optional members
///
/// A member may be the [`Option`] of a component. `None` inserts nothing, and leaves a component that the entity has.
/// [`remove`](crate::World::remove) removes optional members too, and [`take`](crate::World::take) takes those that there are.
/// The archetype of a bundle has only the components that are there. A bundle has at most 64 optional members.
///
/// ```
/// use phalanx::{Bundle, Component, World};
///
/// #[derive(Component)]
/// struct Hull(u32);
/// #[derive(Component)]
/// struct Cargo(&'static str);
///
/// #[derive(Bundle)]
/// struct Ship {
///     hull: Hull,
///     cargo: Option<Cargo>,
/// }
///
/// let mut world = World::new();
/// let [empty, loaded] = [None, Some(Cargo("wine"))].map(|cargo| world.spawn(Ship { hull: Hull(9), cargo }));
/// assert!(!world.has::<Cargo>(empty) && world.has::<Cargo>(loaded));
/// let ship = world.take::<Ship>(empty).unwrap();
/// assert!(ship.hull.0 == 9 && ship.cargo.is_none());
/// ```
///
/// Components that are known only at run time are inserted by a [`BundleBuilder`](crate::BundleBuilder).
///
/// # Safety
///
/// - `ids`, unless it fails, pushes exactly `LEN` ids. `write` and `read` access exactly those components, in the same order.
///   They skip optional components that are not there.
/// - `optional` passes `OPTIONAL` positions among the components, in ascending order. `present` has a bit for each of them, in
///   this order: whether `write` writes the component.
/// - `REQUIRES` is true if a component requires others.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a bundle",
    label = "neither a component nor a bundle of components",
    note = "add `#[derive(Component)]` or `#[derive(Bundle)]` to `{Self}`, or to a struct of your own that holds it",
    note = "a tuple of up to 12 bundles is a bundle; longer ones are nested: `((A, B), (C, D))`"
)]
pub unsafe trait Bundle: Sized + Send + Sync + 'static {
    /// The number of components.
    const LEN: usize;

    /// The number of components in sparse storage.
    const SPARSE: usize;

    /// The number of optional components.
    #[doc(hidden)]
    const OPTIONAL: usize;

    /// Whether a component [requires](Component#required-components) others.
    #[doc(hidden)]
    const REQUIRES: bool;

    /// Pushes the ids of the components in order, and registers the components that have none.
    ///
    /// The list has capacity for `LEN` more ids.
    ///
    /// # Errors
    ///
    /// Returns an error if allocation fails. Components that were registered before it stay registered.
    #[doc(hidden)]
    fn ids(components: &mut Components, ids: &mut Vec<ComponentId>) -> Result<(), AllocError>;

    /// Pushes the ids of the components in order, and an unknown id for each component that is not registered.
    #[doc(hidden)]
    fn known_ids(components: &Components, ids: &mut Vec<ComponentId>);

    /// Passes the position of each optional component to a function, counted from `first`.
    #[doc(hidden)]
    fn optional(first: usize, each: &mut dyn FnMut(usize));

    /// Returns a bit for each optional component: whether it is there.
    #[doc(hidden)]
    fn present(&self) -> u64;

    /// Passes the components that are there to a function, in order.
    #[doc(hidden)]
    fn add_to<A: AddComponent>(self, to: &mut A);

    /// Moves the values to `ptr`.
    ///
    /// # Safety
    ///
    /// The pointer is valid for the components of the bundle, in their order, and no values are there. Of the optional components,
    /// exactly those that are not there are [`ABSENT`].
    #[doc(hidden)]
    unsafe fn write(self, ptr: BundlePtr);

    /// Moves the values out of `ptr`.
    ///
    /// # Safety
    ///
    /// The pointer is valid for the components of the bundle, in their order. Their values are initialised, and count as moved
    /// out from now on.
    #[doc(hidden)]
    unsafe fn read(ptr: BundlePtr) -> Self;

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

    /// Calls [`BundleGuard::new`]. Derives call this function, so that errors about a field point at its type.
    ///
    /// # Safety
    ///
    /// The pointer is valid for the components of the bundle. Their values are initialised, and nothing else uses them while
    /// the guard lives.
    #[doc(hidden)]
    #[inline(always)]
    unsafe fn guard(ptr: BundlePtr) -> BundleGuard<Self> {
        // SAFETY: the contract is that of `new`.
        unsafe { BundleGuard::new(ptr) }
    }

    /// Calls [`BundleGuard::release`].
    #[doc(hidden)]
    #[inline(always)]
    fn release_guard(guard: BundleGuard<Self>) {
        guard.release();
    }

    /// Calls [`BundleGuard::read`].
    #[doc(hidden)]
    #[inline(always)]
    fn read_guard(guard: BundleGuard<Self>) -> Self {
        guard.read()
    }
}

/// A bundle that is written by a function which could be called more often.
pub(crate) struct WriteOnce<B>(Option<B>);

impl<B: Bundle> WriteOnce<B> {
    /// Takes a bundle.
    pub(crate) fn new(bundle: B) -> WriteOnce<B> {
        WriteOnce(Some(bundle))
    }

    /// Moves the values to `ptr`. It is called at most once.
    ///
    /// # Safety
    ///
    /// The contract is that of [`Bundle::write`].
    pub(crate) unsafe fn write(&mut self, ptr: BundlePtr) {
        match self.0.take() {
            // SAFETY: the contract is the same.
            Some(bundle) => unsafe { bundle.write(ptr) },
            None => unreachable!("a bundle is written once"),
        }
    }
}

/// A function over the type of a component, for [`Bundle::visit_single`].
#[doc(hidden)]
pub trait VisitSingle {
    /// The result of the visit.
    type Output;

    /// Visits the component.
    ///
    /// # Safety
    ///
    /// The implementation says what it requires of the pointer.
    unsafe fn visit<C: Component>(self, component: *const C) -> Self::Output;
}

/// A function over components of any type, for [`Bundle::add_to`].
#[doc(hidden)]
pub trait AddComponent {
    /// Receives a component.
    fn add_component<C: Component>(&mut self, component: C);
}
