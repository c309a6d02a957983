//! Inserts those components of a bundle that an entity does not have.
#![allow(unsafe_code)]

use super::{EntityMut, World};
use crate::alloc::try_vec;
use crate::bundle::Bundle;
use crate::error::{StructuralError, infallible};
use crate::mutation::stash::{DropStash, Stash};
use crate::mutation::{InPlace, Reserved};
use crate::signal::dispatch_catch;
use phalanx_store::Entity;

impl EntityMut<'_> {
    /// Inserts those components of `bundle` that the entity does not have, in one archetype move. The others are dropped, and the
    /// entity keeps the values that it has.
    ///
    /// ```
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Health(u32);
    /// #[derive(Component)]
    /// struct Armour(u32);
    ///
    /// let mut world = World::new();
    /// let e = world.spawn(Health(3));
    /// world.entity_mut(e)?.insert_if_new((Health(100), Armour(5)));
    /// assert_eq!(world.get::<Health>(e).unwrap().0, 3);
    /// assert_eq!(world.get::<Armour>(e).unwrap().0, 5);
    /// # Ok::<(), phalanx::NoSuchEntity>(())
    /// ```
    ///
    /// To make a value only if it is needed, there is [`entry`](EntityMut::entry).
    ///
    /// # Panics
    ///
    /// If the bundle contains a component twice.
    #[doc(alias = "try_emplace")]
    #[doc(alias = "get_or_emplace")]
    #[track_caller]
    pub fn insert_if_new<B: Bundle>(&mut self, bundle: B) -> &mut Self {
        infallible(self.try_insert_if_new(bundle));
        self
    }

    /// Inserts components that are missing, like [`insert_if_new`](EntityMut::insert_if_new), but returns every error.
    ///
    /// # Errors
    ///
    /// - [`StructuralError::Duplicate`] if the bundle contains a component twice.
    /// - [`StructuralError::Alloc`] if allocation fails.
    ///
    /// On error the bundle is dropped, and nothing else changes.
    pub fn try_insert_if_new<B: Bundle>(&mut self, bundle: B) -> Result<(), StructuralError> {
        insert_new(self.world, self.entity, bundle)
    }
}

fn insert_new<B: Bundle>(world: &mut World, entity: Entity, bundle: B) -> Result<(), StructuralError> {
    let bundle_id = world.bundle_id::<B>()?;
    world.storage.flush()?;
    let from = world.storage.try_location(entity)?;
    let ids = &world.bundles.get(bundle_id).ids;
    match ids.iter().filter(|id| world.storage.has(entity, **id)).count() {
        0 => return world.try_insert(entity, bundle),
        count if count == ids.len() => return Ok(()),
        _ => {}
    }
    let World { bundles, storage, .. } = &mut *world;
    let info = bundles.get(bundle_id);
    let (slot, present) = (entity.index(), &storage.tables[from.table as usize].signature);
    let (goal, new) = (present.try_merge(&info.signature)?, info.signature.try_difference(present)?);
    let target = storage.table_of(&goal)?;
    let columns = storage.bundle_columns(target, &info.ids)?;
    // All values of the entity come along. Those of the bundle that it has already are written like the others, and moved out
    // before the commit.
    let mut edge = storage.edge_between(from.table, target, &new, columns)?;
    let mut sparse_inserts = try_vec(info.sparse.len())?;
    sparse_inserts.extend(info.sparse.iter().filter(|number| storage.sparse.get(**number).row(slot).is_none()));
    edge.sparse_inserts = sparse_inserts.into();
    let mut unused = try_vec(info.ids.len())?;
    let is_unused = |id: &&_| !new.has(**id);
    unused.extend(
        info.ids.iter().filter(is_unused).filter_map(|id| storage.tables[target as usize].column(*id).copied()),
    );
    let mut stash = Stash::default();
    stash.begin();
    stash.expect_row(storage, &unused)?;
    stash.expect_present(storage, slot, &info.sparse)?;
    stash.try_reserve()?;
    storage.reserve_table(target, 1)?;
    // Values may move even if this fails.
    storage.restructured();
    storage.sparse.try_reserve::<false>(slot, &info.sparse, &[])?;
    storage.reserve_edge_entries(&edge)?;
    let tail = storage.tables[target as usize].len;
    // Values that are not used are dropped last.
    let mut ending = DropStash::new(&mut stash);
    // SAFETY: there is capacity for a row beyond the last and for a value in each sparse storage, to which the pointer leads, and
    // no values are there. Those that the entity has already were expected by the stash, and are moved out. The others are those
    // that the edge inserts, the entity is at `from`, and everything is reserved.
    unsafe {
        bundle.write(storage.bundle_ptr(target, edge.columns.as_ptr(), tail));
        ending.stash().take(storage, &storage.tables[target as usize], tail, &unused);
        for (at, &number) in info.sparse.iter().enumerate() {
            let (sparse, written) = (storage.sparse.get(number), *storage.sparse.insert_ptrs().add(at));
            if sparse.row(slot).is_some() {
                ending.stash().take_unused(sparse, written.row as u32);
            }
        }
        storage.move_row(Reserved::new(), entity, from, &edge, &mut InPlace);
    }
    let outcome = dispatch_catch!(world);
    ending.run();
    drop(ending);
    outcome.finish(world);
    Ok(())
}
