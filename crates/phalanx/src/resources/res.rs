//! [`Res`] and [`ResMut`]: access to a resource, with the ticks at which it was inserted and changed.

use crate::change_detection::{RunTicks, TicksMut, TicksRef, reads_ticks, sets_ticks};
use core::fmt;
use core::ops::{Deref, DerefMut};

/// A resource that a system reads.
///
/// A system whose resource is missing panics, with the name of the resource. `Option<Res<R>>` is `None` then.
///
/// It tells whether the resource was inserted or changed since the previous run of the system. In the first run it is new:
///
/// ```
/// use phalanx::World;
/// use phalanx::system::{IntoSystem, Res, ResMut};
///
/// struct Score(u32);
///
/// let mut world = World::new();
/// world.insert_resource(Score(1));
/// let mut draws = (|score: Res<Score>| score.is_changed()).into_system();
/// assert!(world.run_system(&mut draws));
/// assert!(!world.run_system(&mut draws));
/// world.run_system(&mut (|mut score: ResMut<Score>| score.0 += 1).into_system());
/// assert!(world.run_system(&mut draws));
/// ```
///
/// [`World::resource_ref`](crate::World::resource_ref) returns the same handle. It tells what has happened since
/// [`World::clear_trackers`](crate::World::clear_trackers).
///
/// A resource that replaces another one is changed, and not added. A rollback restores the ticks of resources that are
/// [kept](crate::ResourcesMut::keep). Other resources keep their value, so if they were changed since, they are changed when the
/// world goes back in time. A resource that was loaded from a snapshot, or that another world has moved here, is new.
#[doc(alias = "DetectChanges")]
#[doc(alias = "UniqueView")]
pub struct Res<'w, R: ?Sized> {
    value: &'w R,
    ticks: TicksRef<'w>,
    run: RunTicks,
}

/// A resource that a system writes.
///
/// A system whose resource is missing panics, with the name of the resource. `Option<ResMut<R>>` is `None` then.
///
/// Dereferencing it mutably records a change. [`set_if_neq`](ResMut::set_if_neq) compares first:
///
/// ```
/// use phalanx::World;
///
/// #[derive(PartialEq)]
/// struct Volume(u8);
///
/// let mut world = World::new();
/// world.insert_resource(Volume(7));
/// world.clear_trackers();
/// let mut volume = world.resource_mut::<Volume>()?;
/// assert!(!volume.set_if_neq(Volume(7)) && !volume.is_changed());
/// assert!(volume.set_if_neq(Volume(8)) && volume.is_changed());
/// # Ok::<(), phalanx::NoSuchResource>(())
/// ```
#[doc(alias = "DetectChangesMut")]
#[doc(alias = "UniqueViewMut")]
pub struct ResMut<'w, R: ?Sized> {
    value: &'w mut R,
    ticks: TicksMut<'w>,
    run: RunTicks,
}

reads_ticks!(Res);
reads_ticks!(ResMut);
sets_ticks!(ResMut);

impl<'w, R: ?Sized> Res<'w, R> {
    /// Creates a handle of a resource that has these ticks.
    #[inline(always)]
    pub(crate) fn new(value: &'w R, ticks: TicksRef<'w>, run: RunTicks) -> Res<'w, R> {
        Res { value, ticks, run }
    }

    /// Returns the resource, for as long as the world is borrowed.
    pub fn into_inner(self) -> &'w R {
        self.value
    }
}

impl<'w, R: ?Sized> ResMut<'w, R> {
    /// Creates a handle of a resource that has these ticks.
    #[inline(always)]
    pub(crate) fn new(value: &'w mut R, ticks: TicksMut<'w>, run: RunTicks) -> ResMut<'w, R> {
        ResMut { value, ticks, run }
    }
}

impl<R: ?Sized> Clone for Res<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<R: ?Sized> Copy for Res<'_, R> {}

impl<R: ?Sized> Deref for Res<'_, R> {
    type Target = R;

    #[inline(always)]
    fn deref(&self) -> &R {
        self.value
    }
}

impl<R: fmt::Debug + ?Sized> fmt::Debug for Res<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}
