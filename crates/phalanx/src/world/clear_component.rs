//! Components that live for a moment: events, requests, marks of one frame.

use super::World;
use crate::component::Component;
use crate::error::ChangeError;
use crate::error::infallible;
use crate::query::{AllRows, With};

impl World {
    /// Removes a component from every row, main or [extra](crate::Key), and drops its values. Returns how many there were.
    ///
    /// It is for components that live for a moment, such as events.
    ///
    /// In a pool or a linear store, if nobody listens to anything and no group names the component, only what its own store
    /// keeps is looked at: no entity is, and no row moves. Otherwise it is as
    /// [`remove_batch::<(AllRows, With<C>), C>`](World::remove_batch).
    ///
    /// ```
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// #[component(layout = "pool")]
    /// struct Damaged(u32);
    ///
    /// let mut world = World::new();
    /// let [ann, bob] = [world.spawn_empty(), world.spawn_empty()];
    /// world.insert(ann, Damaged(3))?;
    /// world.insert(bob, Damaged(4))?;
    /// assert_eq!(world.query::<&Damaged>().iter().map(|damage| damage.0).sum::<u32>(), 7);
    /// assert_eq!(world.clear_component::<Damaged>(), 2); // the frame is over
    /// assert!(!world.has::<Damaged>(ann));
    /// # Ok::<(), phalanx::NoSuchEntity>(())
    /// ```
    #[track_caller]
    pub fn clear_component<C: Component>(&mut self) -> usize {
        infallible(self.try_clear_component::<C>())
    }

    /// As [`clear_component`](World::clear_component).
    ///
    /// # Errors
    ///
    /// If memory cannot be had; nothing happens then.
    pub fn try_clear_component<C: Component>(&mut self) -> Result<usize, ChangeError> {
        let id = self.storage.components.id::<C>();
        if let Some(side) = self.storage.sparse.storage_id(id)
            && !self.storage.journal.is_active()
        {
            let count = self.storage.sparse.get(side).len() as usize;
            self.storage.restructured();
            if self.storage.sparse.clear_storage(side) {
                return Ok(count);
            }
        }
        self.try_remove_batch::<(AllRows, With<C>), C>()
    }
}
