//! The commits that change links: [`Storage::link`], [`Storage::unlink`] and [`Storage::cut_links`].

use super::link_overlay::LinkOverlay;
use super::link_plan::{LinkPlan, Position};
use super::reserve::Reserved;
use crate::alloc::try_reserve;
use crate::error::RelationError;
use crate::journal::Event;
use crate::links::{LinkChange, LinkStore, LinkView, NONE, OnDespawn, RelationInfo};
use crate::sparse::LinkRecordsMut;
use crate::storage::Storage;
use phalanx_store::{AllocError, Entity};

/// Slots that lose their links, by depth, while [`Storage::doom`] sorts them.
#[derive(Debug, Default)]
pub(crate) struct DoomedList(pub(super) Vec<(u32, u32)>);

impl DoomedList {
    /// Returns the bytes held from the allocator.
    pub(crate) fn bytes(&self) -> usize {
        self.0.capacity() * size_of::<(u32, u32)>()
    }

    /// Reserves capacity for entities that are despawned together, if a tree gives the sources of one to another one.
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails.
    pub(crate) fn try_reserve(&mut self, storage: &Storage, entities: &[Entity]) -> Result<(), AllocError> {
        let reparents = |(_, info): (u32, &RelationInfo)| info.is_tree() && info.on_despawn == OnDespawn::Reparent;
        if entities.len() < 2 || !storage.sparse.relations().any(reparents) {
            return Ok(());
        }
        self.0.clear();
        try_reserve(&mut self.0, entities.len())
    }
}

impl Storage {
    /// Reserves the capacity for linking two slots, and for the journal entries.
    #[inline(always)]
    pub(crate) fn reserve_link(&mut self, relation: u32, source: u32, target: u32) -> Result<Reserved, AllocError> {
        let slot = source.max(target);
        if self.journal.is_active() || !self.sparse.covers_link(relation, slot) {
            self.reserve_link_slow(relation, slot)?;
        }
        Ok(Reserved::NOTHING)
    }

    #[cold]
    #[inline(never)]
    fn reserve_link_slow(&mut self, relation: u32, slot: u32) -> Result<(), AllocError> {
        // Records may move even if this fails.
        self.restructured();
        self.sparse.try_reserve_link(relation, slot)?;
        self.reserve_entries(2)
    }

    /// Links an entity to a target, both of which are alive, if that is possible.
    ///
    /// `info` is that of the relation. It is given by the caller, who knows it at compile time.
    ///
    /// # Errors
    ///
    /// Those of [`LinkPlan::new`], and [`RelationError::Alloc`] if allocation fails. Nothing has changed then.
    #[inline(always)]
    pub(crate) fn try_link(
        &mut self,
        relation: u32,
        info: &RelationInfo,
        source: Entity,
        target: Entity,
        position: Position,
    ) -> Result<(), RelationError> {
        let slots = (source.index(), target.index());
        let Storage { sparse, entities, tables, journal, names, .. } = self;
        // The common case by itself: nothing is recorded, nothing grows, there are no names, and no other depth changes.
        if !(journal.is_active() || info.has_names && names.is_some())
            && let Some((mut links, changes)) = sparse.ready_links(relation, slots.0.max(slots.1))
            && links.get(slots.0).first == NONE
        {
            let entity = |slot| Storage::slot_at(entities, tables, slot).filter(|_| slot != NONE);
            if let LinkPlan::Before(before) = LinkPlan::new(&links, info, source, target, position, entity)? {
                links.link::<true>(slots.0, slots.1, before, info.is_tree());
                changes.count(&links);
                self.restructured();
            }
            return Ok(());
        }
        self.try_link_slow(relation, source, target, position)
    }

    #[inline(never)]
    fn try_link_slow(
        &mut self,
        relation: u32,
        source: Entity,
        target: Entity,
        position: Position,
    ) -> Result<(), RelationError> {
        let Some(info) = &self.sparse.get(relation).relation else { unreachable!("the storage of a relation") };
        let entity = |slot| self.slot(slot).filter(|_| slot != NONE);
        let plan = LinkPlan::new(&self.sparse.links(Some(relation)), info, source, target, position, entity)?;
        if let LinkPlan::Before(before) = plan {
            if info.has_names && self.names.is_some() {
                self.claim_name(relation, source, target.index())?;
            }
            let reserved = self.reserve_link(relation, source.index(), target.index())?;
            self.link(reserved, relation, source, target.index(), before);
        }
        Ok(())
    }

    /// Links a slot to a target: before one of the sources of that target, or as the last. If the slot has another target, it
    /// is unlinked from it.
    ///
    /// Both are alive, and the link makes no cycle in a tree.
    #[inline(never)]
    pub(crate) fn link(&mut self, _: Reserved, relation: u32, source: Entity, target: u32, before: Option<u32>) {
        let mut links = self.sparse.links_mut(relation);
        let is_tree = links.is_tree();
        let old = links.link::<false>(source.index(), target, before, is_tree);
        self.restructured();
        self.record_link_change(relation, source, old, target);
    }

    /// Links a slot that is about to be allocated to a target, after the other sources of that target. Nothing is recorded.
    ///
    /// The target is alive. `is_tree` is given by the caller, who knows it at compile time.
    ///
    /// # Errors
    ///
    /// [`AllocError`] if allocation fails. Nothing has changed then.
    #[inline(always)]
    pub(crate) fn try_link_new(
        &mut self,
        relation: u32,
        is_tree: bool,
        source: u32,
        target: u32,
    ) -> Result<(), AllocError> {
        match self.sparse.ready_links(relation, source.max(target)) {
            Some((mut links, changes)) => {
                links.link_new(source, target, is_tree);
                changes.count(&links);
                Ok(())
            }
            None => self.try_link_new_slow(relation, source, target),
        }
    }

    #[cold]
    #[inline(never)]
    fn try_link_new_slow(&mut self, relation: u32, source: u32, target: u32) -> Result<(), AllocError> {
        self.reserve_link_slow(relation, source.max(target))?;
        let mut links = self.sparse.links_mut(relation);
        let is_tree = links.is_tree();
        links.link_new(source, target, is_tree);
        Ok(())
    }

    /// Unlinks a slot from its target. Does nothing if it has none. Capacity for a journal entry is reserved before.
    pub(crate) fn unlink(&mut self, relation: u32, source: Entity) {
        // Records may be removed, which timelines and the drivers of queries depend on.
        self.restructured();
        let target = self.sparse.links_mut(relation).unlink(source.index());
        self.record_link_change(relation, source, target, NONE);
    }

    /// Declares that entities are about to be despawned, and so to lose all their links in whatever order. Without this, each link
    /// of a tree that is cut changes the depths of all below it.
    ///
    /// The list has the [capacity](DoomedList::try_reserve) for the entities.
    pub(crate) fn doom(&mut self, entities: &[Entity], list: &mut DoomedList) {
        self.doom_with(entities, |links, slots, info| match info.on_despawn {
            OnDespawn::Reparent => links.doom_all(slots, &mut list.0),
            _ => slots.for_each(|slot| links.doom(slot)),
        });
    }

    /// Declares that entities are about to be moved to another world, and so to lose all their links in whatever order, like
    /// [`doom`](Storage::doom).
    pub(crate) fn doom_moved(&mut self, entities: &[Entity]) {
        self.doom_with(entities, |links, slots, _| slots.for_each(|slot| links.doom(slot)));
    }

    #[inline(always)]
    fn doom_with(
        &mut self,
        entities: &[Entity],
        mut doom: impl FnMut(&mut LinkRecordsMut<'_>, &mut dyn Iterator<Item = u32>, &RelationInfo),
    ) {
        if entities.len() < 2 || !self.sparse.needs_doom() {
            return;
        }
        for at in 0..self.sparse.relation_count() {
            let (relation, info) = self.sparse.relation(at);
            if info.is_tree() {
                let slots = &mut entities.iter().map(|entity| entity.index());
                doom(&mut self.sparse.links_mut(relation), slots, &info);
            }
        }
    }

    /// Removes all links of a slot whose row is about to be removed. Its sources are unlinked, or linked to its own target if
    /// the relation says so. Capacity for the journal entries is reserved before.
    pub(crate) fn cut_links(&mut self, slot: Entity) {
        for at in 0..self.sparse.relation_count() {
            let (relation, info) = self.sparse.relation(at);
            // The common case costs a look-up, and counts as no change.
            if self.sparse.links(Some(relation)).get(slot.index()).is_empty() {
                continue;
            }
            while let Some(LinkChange { source, old, new }) =
                self.sparse.links_mut(relation).cut_next(slot.index(), &info)
            {
                if self.journal.is_active()
                    && let Some(source) = self.slot(source)
                {
                    self.record_link_change(relation, source, old, new);
                }
            }
        }
    }

    /// Removes the links of a slot, if it has no sources. Returns `false` if it has, and nothing has changed then. Nothing is
    /// recorded.
    #[inline(always)]
    pub(crate) fn try_cut_leaf(&mut self, slot: u32) -> bool {
        let count = self.sparse.relation_count();
        // All but the last are asked first. The last is asked when its records are found for writing.
        let has_sources = |at| self.sparse.links(Some(self.sparse.relation_id(at))).get(slot).first != NONE;
        if (1..count).map(|at| at - 1).any(has_sources) {
            return false;
        }
        for at in (0..count).rev() {
            let relation = self.sparse.relation_id(at);
            // The common case by itself: no dirty bits are kept.
            if let Some((mut links, changes)) = self.sparse.ready_links(relation, slot) {
                // The neighbours in the list are mostly those that were spawned before and after it.
                links.prefetch(slot.wrapping_sub(1));
                links.prefetch(slot.wrapping_add(1));
                if links.get(slot).first != NONE {
                    return false;
                }
                if links.unlink_leaf(slot) != NONE {
                    changes.count(&links);
                }
                continue;
            }
            let link = self.sparse.links(Some(relation)).get(slot);
            if link.first != NONE {
                return false;
            }
            if link.target != NONE {
                self.sparse.links_mut(relation).unlink(slot);
            }
        }
        true
    }

    /// Records that a slot has another target, if it has.
    #[inline(always)]
    fn record_link_change(&mut self, relation: u32, source: Entity, old: u32, new: u32) {
        if self.journal.is_active() && old != new {
            self.record_link_events(relation, source, old, new);
        }
    }

    #[cold]
    #[inline(never)]
    fn record_link_events(&mut self, relation: u32, source: Entity, old: u32, new: u32) {
        for (event, target) in [(Event::Unlinked, old), (Event::Linked, new)] {
            if target != NONE {
                self.record_link(event, relation, source, target);
            }
        }
    }

    /// Removes all links of all slots. Capacity for the journal entries is reserved before.
    pub(crate) fn cut_all_links(&mut self) {
        for at in 0..self.sparse.relation_count() {
            let (relation, _) = self.sparse.relation(at);
            let mut next = 0;
            // The next slot is found again each time, because recording borrows the storage.
            while let Some(slot) = self.sparse.links(Some(relation)).next_slot(next) {
                next = slot + 1;
                let target = self.sparse.links(Some(relation)).get(slot).target;
                if let Some(source) = self.slot(slot).filter(|_| target != NONE) {
                    self.record_link(Event::Unlinked, relation, source, target);
                }
            }
            self.sparse.links_mut(relation).clear();
        }
    }

    /// Returns the greatest number of journal entries when the row of a slot is removed with its links.
    pub(crate) fn link_entries_of(&self, slot: u32) -> usize {
        let counts = self.sparse.relations().map(|(relation, _)| {
            let link = self.sparse.links(Some(relation)).get(slot);
            1 + 2 * link.count as usize
        });
        counts.sum()
    }

    /// Returns the greatest number of journal entries when the links of entities are cut one after another, if a relation gives
    /// the sources of one of them to another one. Returns 0 if there is no such relation, or nothing is recorded.
    pub(crate) fn try_reparent_entries(&self, entities: &[Entity]) -> Result<usize, AllocError> {
        let reparents = |(_, info): (u32, &RelationInfo)| info.on_despawn == OnDespawn::Reparent;
        if !self.journal.is_active() || !self.sparse.relations().any(reparents) {
            return Ok(0);
        }
        let (mut links, mut list) = (LinkOverlay::default(), DoomedList::default());
        links.try_doom(self, entities, &mut list)?;
        entities.iter().try_fold(0, |entries, entity| Ok(entries + links.try_cut(self, entity.index())?))
    }
}
