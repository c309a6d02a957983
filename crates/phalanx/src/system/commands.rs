//! [`Commands`]: structural changes that a system records.
#![allow(unsafe_code)]

use super::{Outcome, ParamSetup, RunContext, SystemParam};
use crate::bundle::Bundle;
use crate::commands::CommandBuffer;
use crate::rows::Key;
use crate::world::World;
use core::fmt;
use phalanx_store::Entity;

/// Records structural changes of the world, which are applied after the system has run.
///
/// A schedule applies them when the systems that run at the same time are done, in the order of the systems. A command that
/// cannot be executed by then is skipped and reported: see [`CommandBuffer::apply`].
///
/// ```
/// use phalanx::system::{Commands, IntoSystem};
/// use phalanx::{Component, Entity, Query, World};
///
/// #[derive(Component)]
/// struct Fuse(u32);
/// #[derive(Component)]
/// struct Smoke;
///
/// fn burn(mut fuses: Query<(Entity, &mut Fuse)>, mut commands: Commands) {
///     for (bomb, fuse) in fuses.iter_mut() {
///         fuse.0 -= 1;
///         if fuse.0 == 0 {
///             commands.despawn(bomb);
///             commands.spawn(Smoke);
///         }
///     }
/// }
///
/// let mut world = World::new();
/// let bomb = world.spawn(Fuse(1));
/// world.run_system(&mut burn.into_system());
/// assert!(!world.contains(bomb));
/// assert_eq!(world.query::<&Smoke>().len(), 1);
/// ```
pub struct Commands<'w, 's> {
    world: &'w World,
    context: RunContext<'w>,
    buffer: &'s mut CommandBuffer,
}

impl Commands<'_, '_> {
    /// Records the spawn of an entity with a bundle, and returns the entity. Later commands can name it.
    ///
    /// The entity is alive when the commands are applied.
    ///
    /// # Panics
    ///
    /// Panics if all indices of entities are in use.
    #[track_caller]
    pub fn spawn<B: Bundle>(&mut self, bundle: B) -> Entity {
        let entity = self.context.reserve_entity(self.world);
        self.buffer.spawn_as(self.world, entity, bundle);
        entity
    }

    /// Records the spawn of an entity with a bundle. The entity is allocated when the command is executed.
    ///
    /// This is faster than [`spawn`](Commands::spawn), and never waits for another system.
    #[doc(alias = "spawn_batch")]
    pub fn spawn_later<B: Bundle>(&mut self, bundle: B) {
        self.buffer.spawn(bundle);
    }

    /// Records [`World::insert`].
    pub fn insert<B: Bundle>(&mut self, entity: Entity, bundle: B) {
        self.buffer.insert(entity, bundle);
    }

    /// Records [`World::remove`].
    pub fn remove<B: Bundle>(&mut self, entity: Entity) {
        self.buffer.remove::<B>(entity);
    }

    /// Records [`World::despawn`].
    pub fn despawn(&mut self, entity: Entity) {
        self.buffer.despawn(entity);
    }

    /// Records [`World::add_row`].
    pub fn add_row<B: Bundle>(&mut self, key: Key, bundle: B) {
        self.buffer.add_row(key, bundle);
    }

    /// Records [`World::remove_row`].
    pub fn remove_row(&mut self, key: Key) {
        self.buffer.remove_row(key);
    }

    /// Records [`World::insert_resource`]. The old resource is dropped.
    pub fn insert_resource<R: Send + Sync + 'static>(&mut self, resource: R) {
        self.queue(move |world| drop(world.insert_resource(resource)));
    }

    /// Records a closure, which is called with the world. It ends a [segment](CommandBuffer#segments).
    pub fn queue<F: FnOnce(&mut World) + Send + 'static>(&mut self, closure: F) {
        self.buffer.queue(closure);
    }

    /// Moves all commands of a buffer to the end of these commands.
    ///
    /// # Panics
    ///
    /// Panics if the buffer has reserved entities of another world.
    #[track_caller]
    pub fn append(&mut self, buffer: &mut CommandBuffer) {
        self.buffer.append(buffer);
    }

    /// Returns the buffer that the commands are recorded in.
    pub fn buffer(&mut self) -> &mut CommandBuffer {
        self.buffer
    }
}

impl fmt::Debug for Commands<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.buffer.fmt(f)
    }
}

// SAFETY: it touches nothing but its state, and reserves entities, which is possible through a shared world.
unsafe impl SystemParam for Commands<'_, '_> {
    type State = CommandBuffer;
    type Item<'w, 's> = Commands<'w, 's>;

    fn init(_: &mut World, setup: &mut ParamSetup<'_>) -> CommandBuffer {
        setup.access.add_commands();
        CommandBuffer::new()
    }

    fn update(state: &mut CommandBuffer, _: &mut World) {
        state.clear();
    }

    #[inline(always)]
    unsafe fn get<'w, 's>(
        state: &'s mut CommandBuffer,
        world: &'w World,
        context: &RunContext<'w>,
    ) -> Commands<'w, 's> {
        Commands { world, context: *context, buffer: state }
    }

    #[inline(always)]
    fn apply(state: &mut CommandBuffer, world: &mut World, outcome: &mut Outcome) {
        if !state.is_blank() {
            outcome.add(state.apply(world));
        }
    }

    fn discard(state: &mut CommandBuffer, world: &mut World) {
        // Entities that spawns have reserved are despawned.
        state.finish(world);
    }
}
