//! Signals: the changes of a world, dispatched to listeners and observers, and listed by collectors and readers.
//!
//! ```
//! use phalanx::{Component, World};
//!
//! #[derive(Component)]
//! struct Health(i32);
//! #[derive(Component)]
//! struct Grave(i32);
//!
//! let mut world = World::new();
//! world.on_set::<Health>(|set, _, commands| {
//!     if set.new.0 <= 0 {
//!         commands.insert(set.entity, Grave(set.new.0));
//!     }
//! });
//! let hero = world.spawn(Health(10));
//! world.insert(hero, Health(-2)).unwrap();
//! assert!(world.has::<Grave>(hero));
//! ```
//!
//! # When listeners run
//!
//! An operation is one call that changes the world, such as [`World::spawn`], [`World::spawn_batch`] or [`World::clear`], or
//! one segment of [commands](crate::CommandBuffer). Its listeners run when all of its changes are made, and before the displaced
//! values are dropped. They see the world as it is after the operation, and the displaced values by reference.
//! An operation that returns an error calls no listener.
//!
//! [`World::on_add`], [`on_set`](World::on_set), [`on_remove`](World::on_remove), [`on_spawn`](World::on_spawn) and
//! [`on_despawn`](World::on_despawn) connect a listener of all entities. [`World::listen`] has the other kinds:
//!
//! | listener | by |
//! |---|---|
//! | of one entity, or of several | [`ListenerBuilder::entity`] |
//! | that is called once | [`ListenerBuilder::once`] |
//! | that is also called with what exists | [`ListenerBuilder::existing`] |
//! | of replaced values, with the old one and the new one | [`ListenerBuilder::on_replace`] |
//! | of several components, by one function | [`ListenerBuilder::components`] |
//! | of components that are known by id | [`ListenerBuilder::component_ids`] |
//! | of rows that enter or leave a query | [`ListenerBuilder::observe`] |
//!
//! # Order
//!
//! 1. Entities come in the order of the operation: that of the bundles, of the given list, or of the commands.
//!    [`World::clear`] and [`World::transfer_all`] go by index. Changes of all entities that pass a filter go by table and row.
//! 2. The events of one row come in the order `spawned`, `added` and `set`, `unlinked` and `linked`, `removed`, `despawned`. Extra
//!    rows of a new entity follow its main row, and those of a despawned entity precede it. Both are in the order of their creation.
//! 3. Within each of these steps, listeners are called in the order in which they were connected, for whatever component and
//!    entity. A listener of several components is called with them in their order, then the next listener follows.
//! 4. The [observers](#observers-of-queries) of a row are called after all other events of the row: after those of its last
//!    change, if an operation changes it several times. First come the queries that it leaves, then those that it enters, each
//!    in the order of connection. Then the next row follows.
//!
//! [Links](crate::relation) are ordered like this:
//!
//! - An entity that gets another target is `unlinked` from the old one, then `linked` to the new one.
//! - A despawned entity is preceded by the `unlinked` of its links: first of the entities that are linked to it, in their order,
//!   then its own. An entity that gets its target instead (`"reparent"`) is `linked` in its turn.
//! - Entities that are despawned because of their target come before it, one after another. Of a tree the leaves come first, each
//!   with its `unlinked`, its `removed` and its `despawned`.
//! - Where several entities are cloned or moved together, all `linked` come after the events of these entities. All `unlinked`
//!   come before them when they are moved to another world, and in [`World::clear`].
//!
//! So the order depends only on the operation and on the order of connections. It does not depend on which component was
//! used first.
//!
//! An entity that was [reserved](World::reserve_entity) is spawned by the next operation, before the operation's own changes.
//! So are those of [`CommandBuffer::spawn_with`](crate::CommandBuffer::spawn_with).
//!
//! # Events
//!
//! - `added`: a row has a component that it did not have. The row was spawned, cloned, moved from another world or merged from
//!   a snapshot with it, or the component was inserted.
//! - `set`: a component was replaced by an insertion or by [`replace`](World::replace), or changed by [`patch`](World::patch).
//! - `removed`: a row lost a component by a removal, a despawn, or a move to another world.
//! - `linked` and `unlinked`: an entity got a target in a relation, or lost it. These are connected by
//!   [`RelationsMut::on_link`](crate::relation::RelationsMut::on_link) and
//!   [`on_unlink`](crate::relation::RelationsMut::on_unlink). Moving a source within the order of its target is not an event.
//! - `spawned` and `despawned`: for entities only, not for extra rows.
//!
//! Writing through `&mut` access, by [`get_mut`](World::get_mut) or by a query, is not an event. Neither is the drop of the
//! world. Each command of a segment has its own events, with the value that it inserted, even if a later command has
//! replaced that value. The world that listeners see is the one after the whole segment.
//!
//! # Observers of queries
//!
//! [`World::observe`] connects functions to a query, with [`on_enter`](ObserverBuilder::on_enter) and
//! [`on_leave`](ObserverBuilder::on_leave). They are listeners, and everything on this page holds for them too.
//!
//! - A row *enters* a query if it matches after an operation and did not match before it. It *leaves* if it matched before and
//!   does not match after. Its observers are called once for an operation.
//! - What happens between the beginning and the end of an operation does not count. A row whose component is removed and inserted
//!   again within one segment of commands neither leaves nor enters. Neither does an entity that is spawned and despawned within one
//!   segment.
//! - Rows are those that the query visits: main rows, and [extra rows](crate::query#extra-rows) if it asks for them. A row that is
//!   removed and added again under the same key is another row.
//! - The item of `on_enter` has the values after the operation. The item of `on_leave` has the values before it, for every term:
//!   removed and replaced values are not dropped yet, and the others have not changed.
//! - Queries must depend on nothing but the components that a row has. [`Changed`](crate::Changed), [`Added`](crate::Added) and filters
//!   of other crates are refused by a panic.
//!
//! A rollback has no events, and neither has `Registry::merge_silent`. A row that matches by one of these may leave without having
//! entered.
//!
//! An observer is called only when a row may have begun or ceased to match. Each change of a row that concerns a component of
//! the query costs a lookup for each observer. Replacing a value calls no observer.
//!
//! # Changes by listeners
//!
//! A listener has shared access to the world, so that nothing changes during a dispatch. It records its changes as commands.
//! These are applied in the order of recording when the outermost operation is complete and its displaced values are dropped;
//! for [`apply`](crate::CommandBuffer::apply), when all segments are. They may call listeners again, whose commands follow
//! all that are recorded by then. Two listeners that answer each other without end never return.
//!
//! A recorded command that cannot be executed is skipped. [`World::take_signal_errors`] returns its error.
//!
//! Listeners are connected and disconnected by commands too: [`CommandBuffer::queue`](crate::CommandBuffer::queue) and
//! [`CommandBuffer::disconnect`](crate::CommandBuffer::disconnect). So a listener that disconnects itself is still called for the
//! remaining events of the operation. One that is called [once](ListenerBuilder::once) is not.
//!
//! # Panics
//!
//! If a listener panics, the changes of the operation stay. The remaining events of the operation call no listener. The commands
//! that listeners have recorded during the operation are dropped; entities that they have reserved stay, without components.
//! Then the displaced values are dropped, and the panic continues. Collectors have collected everything, also
//! [values](CollectorBuilder::keep_values). All listeners stay
//! connected, but for one that is called once: it is dropped in the next operation.
//!
//! If the destructor of a displaced value panics, the commands of the listeners are applied at the end of the next operation.
//! If a value in a dropped command panics too, that panic is ignored, and the panic of the listener continues.
//!
//! # Which world
//!
//! Listeners, collectors and readers belong to one world, and stay when it is compacted. A clone of the world has none, and
//! neither has one that was loaded.
//!
//! # Back in time
//!
//! Listeners and collectors stay when a world goes [back in time](crate::timeline). The rollback itself has no events, so no row
//! enters or leaves a query by it. Afterwards a collector holds what it held at the checkpoint or frame, without what was drained
//! since. What it has collected since is removed. The same holds for [readers](ChangeReader). A [delta](World::apply_delta) does not
//! say which time it discards, so it empties all collectors and readers.

pub(crate) mod apply_scope;
mod change_reader;
mod collector;
mod component_listener;
mod deferred;
mod dispatch;
mod event;
mod existing;
mod listener;
mod listener_builder;
mod listeners;
mod observer;
mod observers;
mod value_collector;

pub use crate::journal::{Change, Collector, PastValue};
pub use change_reader::ChangeReader;
pub use collector::CollectorBuilder;
pub use component_listener::{ComponentEvent, ComponentListenerBuilder};
pub(crate) use dispatch::{DispatchOutcome, Dispatcher, dispatch_catch, dispatch_direct};
pub use event::{Added, Despawned, DespawnedRow, Entered, Left, Removed, Replaced, Set, Spawned};
pub use listener::ListenerId;
pub use listener_builder::ListenerBuilder;
pub use observer::ObserverBuilder;
pub(crate) use observers::Observers;
pub use value_collector::ValueCollector;

#[cfg(doc)]
use crate::world::World;
