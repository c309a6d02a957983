//! [`Ref`] and [`Mut`]: access to a value, with the ticks at which it was added and changed.
#![allow(unsafe_code)]

use super::{ComponentTicks, RunTicks, Tick, TicksMut, TracksAdditions, TracksChanges};
use crate::component::Component;
use crate::layout::Layout;
use core::borrow::Borrow;
use core::fmt;
use core::ops::{Deref, DerefMut};

/// Implements what handles tell of their ticks.
macro_rules! reads_ticks {
    ($name:ident) => {
        impl<T: ?Sized> $name<'_, T> {
            /// Returns `true` if the value was added since the previous [run](crate::change_detection#ticks-and-runs).
            ///
            /// Without a run it is `true` for values that were added since
            /// [`World::clear_trackers`](crate::World::clear_trackers).
            #[inline]
            pub fn is_added(&self) -> bool {
                self.run.is_new(self.ticks.added())
            }

            /// Returns `true` if the value was added or changed since the previous
            /// [run](crate::change_detection#ticks-and-runs), or through this handle.
            #[inline]
            pub fn is_changed(&self) -> bool {
                self.run.is_new(self.ticks.changed())
            }

            /// Returns the tick at which the value was added.
            pub fn added(&self) -> $crate::change_detection::Tick {
                self.ticks.added()
            }

            /// Returns the tick at which the value was last added or changed.
            #[doc(alias = "last_changed_tick")]
            pub fn last_changed(&self) -> $crate::change_detection::Tick {
                self.ticks.changed()
            }
        }
    };
}
pub(crate) use reads_ticks;

/// Implements what handles do that record changes.
macro_rules! sets_ticks {
    ($name:ident) => {
        impl<'a, T: ?Sized> $name<'a, T> {
            /// Records a change of the value.
            #[inline(always)]
            pub fn set_changed(&mut self) {
                self.ticks.set_changed(self.run.now);
            }

            /// Returns the value mutably, without recording a change.
            #[inline(always)]
            pub fn bypass_change_detection(&mut self) -> &mut T {
                self.value
            }

            /// Records a change, and returns the value for as long as the world is borrowed.
            pub fn into_inner(mut self) -> &'a mut T {
                self.set_changed();
                self.value
            }

            /// Returns a handle of a part of the value. Only a write to that part records a change, of the whole value.
            ///
            /// The function gets the value mutably, so that it can return a part of it. What it writes is not recorded.
            #[doc(alias = "map")]
            #[doc(alias = "MappedMutexGuard")]
            pub fn map_unchanged<U: ?Sized>(self, part: impl FnOnce(&mut T) -> &mut U) -> $crate::Mut<'a, U> {
                $crate::Mut::new(part(self.value), self.ticks, self.run)
            }

            /// Returns a handle of a part of the value, like `map_unchanged`, if the value has that part.
            #[doc(alias = "try_map_unchanged")]
            pub fn filter_map_unchanged<U: ?Sized>(
                self,
                part: impl FnOnce(&mut T) -> Option<&mut U>,
            ) -> Option<$crate::Mut<'a, U>> {
                Some($crate::Mut::new(part(self.value)?, self.ticks, self.run))
            }
        }

        impl<T> $name<'_, T> {
            /// Replaces the value and records a change, if the new value is not equal to the present one. Returns `true` if it
            /// did.
            ///
            /// The value that is not needed is dropped.
            pub fn set_if_neq(&mut self, value: T) -> bool
            where
                T: PartialEq,
            {
                self.replace_if_neq(value).is_some()
            }

            /// Replaces the value and records a change, if the new value is not equal to the present one. Returns the old value
            /// if it did.
            pub fn replace_if_neq(&mut self, value: T) -> Option<T>
            where
                T: PartialEq,
            {
                // The comparison is user code. If it panics, nothing has changed.
                if *self.value == value {
                    return None;
                }
                self.set_changed();
                Some(core::mem::replace(self.value, value))
            }
        }

        impl<T: ?Sized> Deref for $name<'_, T> {
            type Target = T;
            #[inline(always)]
            fn deref(&self) -> &T {
                self.value
            }
        }

        impl<T: ?Sized> DerefMut for $name<'_, T> {
            #[inline(always)]
            fn deref_mut(&mut self) -> &mut T {
                self.set_changed();
                self.value
            }
        }

        impl<T: fmt::Debug + ?Sized> fmt::Debug for $name<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.value.fmt(f)
            }
        }
    };
}
pub(crate) use sets_ticks;

/// Mutable access to a value of a row-tracked component. Dereferencing it mutably sets the change tick of the value.
///
/// ```
/// use phalanx::{Component, World};
///
/// #[derive(Component)]
/// #[component(track = "row")]
/// struct Health(i32);
///
/// let mut world = World::new();
/// let e = world.spawn(Health(10));
/// world.clear_trackers();
/// let mut health = world.get_mut::<Health>(e).unwrap();
/// health.bypass_change_detection().0 = 9; // no change is recorded
/// assert!(health.0 == 9 && !health.is_changed());
/// health.0 = 8;
/// assert!(health.is_changed() && !health.is_added());
/// ```
///
/// [`set_if_neq`](Mut::set_if_neq) records a change only if there is one, and
/// [`map_unchanged`](Mut::map_unchanged) returns a part of the value:
///
/// ```
/// use phalanx::{Component, Mut, World};
///
/// #[derive(Component, PartialEq)]
/// #[component(track = "row")]
/// struct Place {
///     level: u32,
///     at: [f32; 2],
/// }
///
/// fn clamp(mut at: Mut<[f32; 2]>) {
///     if at[0] < 0.0 {
///         at[0] = 0.0;
///     }
/// }
///
/// let mut world = World::new();
/// let e = world.spawn(Place { level: 1, at: [-1.0, 2.0] });
/// world.clear_trackers();
/// let mut place = world.get_mut::<Place>(e)?;
/// assert!(!place.set_if_neq(Place { level: 1, at: [-1.0, 2.0] }));
/// assert!(!place.is_changed());
/// clamp(place.map_unchanged(|place| &mut place.at));
/// assert!(world.get_ref::<Place>(e)?.is_changed());
/// # Ok::<(), phalanx::ComponentError>(())
/// ```
#[doc(alias = "DetectChangesMut")]
#[doc(alias = "Tracked")]
pub struct Mut<'a, T: ?Sized> {
    value: &'a mut T,
    ticks: TicksMut<'a>,
    run: RunTicks,
}

reads_ticks!(Mut);
sets_ticks!(Mut);

impl<'a, T: ?Sized> Mut<'a, T> {
    /// Creates a handle of a value that has these ticks.
    #[inline(always)]
    pub(crate) fn new(value: &'a mut T, ticks: TicksMut<'a>, run: RunTicks) -> Mut<'a, T> {
        Mut { value, ticks, run }
    }

    /// Returns a handle that lives shorter. No change is recorded.
    pub fn reborrow(&mut self) -> Mut<'_, T> {
        Mut { value: self.value, ticks: self.ticks.reborrow(), run: self.run }
    }
}

/// Read-only access to a value of a tracked component, with change flags. It is a term of queries, and what the term yields.
///
/// The flags are relative to the previous [run](crate::change_detection#ticks-and-runs) of the query. Unlike the filter
/// [`Changed`](crate::Changed), the term matches all values, changed or not.
///
/// ```
/// use phalanx::{Component, Entity, QueryState, Ref, World};
///
/// #[derive(Component)]
/// #[component(track = "row")]
/// struct Health(i32);
///
/// let mut world = World::new();
/// let [ann, bob] = [world.spawn(Health(10)), world.spawn(Health(5))];
/// let mut healths = QueryState::<(Entity, Ref<Health>)>::new();
/// assert!(healths.iter(&world).all(|(_, health)| health.is_added()));
///
/// world.get_mut::<Health>(bob)?.0 -= 1;
/// for (entity, health) in healths.iter(&world) {
///     assert_eq!(health.is_changed(), entity == bob);
///     assert!(!health.is_added() && health.0 > 0);
/// }
/// # Ok::<(), phalanx::ComponentError>(())
/// ```
///
/// With `track = "column"` the tick is that of the whole column: `is_changed` is `true` if any value of it may have changed.
/// It is not known when a value was added, so `is_added` does not compile:
///
/// ```compile_fail,E0599
/// use phalanx::{Component, Ref, World};
///
/// #[derive(Component)]
/// #[component(track = "column")]
/// struct Health(i32);
///
/// World::new().query::<Ref<Health>>().iter().any(|health| health.is_added());
/// ```
///
/// For a component that is not tracked, the term does not compile:
///
/// ```compile_fail,E0277
/// use phalanx::{Component, Ref, World};
///
/// #[derive(Component)]
/// struct Health(i32);
///
/// World::new().query::<Ref<Health>>().len();
/// ```
///
/// It dereferences to the value. [`into_inner`](Ref::into_inner) returns what the term `&C` yields.
#[doc(alias = "DetectChanges")]
#[doc(alias = "Tracked")]
pub struct Ref<'w, C: Component> {
    value: <C::Layout as Layout<C>>::Ref<'w>,
    ticks: ComponentTicks,
    run: RunTicks,
}

impl<'w, C: Component> Ref<'w, C>
where
    C::Layout: TracksChanges<C>,
{
    /// Creates a handle of the value at a row.
    ///
    /// # Safety
    ///
    /// The row is in use, and nothing writes it for `'w`. `ptr` is that of the component's lanes, with the ticks of the run.
    #[inline(always)]
    pub(crate) unsafe fn new(ptr: <C::Layout as Layout<C>>::Ptr, row: usize) -> Ref<'w, C> {
        // SAFETY: the row is in use and is not written for `'w`, by the caller's contract.
        unsafe {
            let (ticks, run) = C::Layout::ticks(ptr, row);
            Ref { value: C::Layout::get(ptr, row), ticks, run }
        }
    }

    /// Returns the value, for as long as the world is borrowed: what the term `&C` yields.
    pub fn into_inner(self) -> <C::Layout as Layout<C>>::Ref<'w> {
        self.value
    }

    /// Returns `true` if the value was added or changed since the previous run of the query.
    ///
    /// With `track = "column"` it is `true` if any value of the column may have changed.
    #[inline]
    pub fn is_changed(&self) -> bool {
        self.run.is_new(self.ticks.changed)
    }

    /// Returns the tick at which the value was last added or changed, or with `track = "column"`, the column.
    #[doc(alias = "last_changed_tick")]
    pub fn last_changed(&self) -> Tick {
        self.ticks.changed
    }
}

impl<C: Component> Ref<'_, C>
where
    C::Layout: TracksAdditions<C>,
{
    /// Returns `true` if the value was added since the previous run of the query.
    #[inline]
    pub fn is_added(&self) -> bool {
        self.run.is_new(self.ticks.added)
    }

    /// Returns the tick at which the value was added.
    pub fn added(&self) -> Tick {
        self.ticks.added
    }
}

impl<'w, C: Component> Clone for Ref<'w, C>
where
    <C::Layout as Layout<C>>::Ref<'w>: Copy,
{
    fn clone(&self) -> Self {
        *self
    }
}
impl<'w, C: Component> Copy for Ref<'w, C> where <C::Layout as Layout<C>>::Ref<'w>: Copy {}

impl<'w, C: Component> Deref for Ref<'w, C>
where
    <C::Layout as Layout<C>>::Ref<'w>: Borrow<C>,
{
    type Target = C;
    #[inline(always)]
    fn deref(&self) -> &C {
        self.value.borrow()
    }
}

impl<'w, C: Component> fmt::Debug for Ref<'w, C>
where
    <C::Layout as Layout<C>>::Ref<'w>: fmt::Debug,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}
