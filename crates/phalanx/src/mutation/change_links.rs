//! The commits that change links: [`Storage::link`], [`Storage::unlink`] and [`Storage::cut_links`].

use super::link_overlay::LinkOverlay;
use super::link_plan::{LinkPlan, Position};
use super::reserve::Reserved;
use crate::error::RelationError;
use crate::journal::Event;
use crate::links::{LinkChange, LinkStore, LinkView, NONE, OnDespawn, RelationInfo};
use crate::storage::Storage;
use phalanx_store::{AllocError, Entity};

impl Storage {
    /// Reserves the capacity for linking two slots, and for the journal entries.
    #[inline]
    pub(crate) fn reserve_link(&mut self, relation: u32, source: u32, target: u32) -> Result<Reserved, AllocError> {
        // Records may move even if this fails.
        self.restructured();
        self.sparse.try_reserve_link(relation, source.max(target))?;
        self.reserve_entries(2)?;
        Ok(Reserved::NOTHING)
    }

    /// Returns how a source gets a target, both of which are alive.
    #[inline]
    pub(crate) fn plan_link(
        &self,
        relation: u32,
        source: Entity,
        target: Entity,
        position: Position,
    ) -> Result<LinkPlan, RelationError> {
        let Some(info) = &self.sparse.get(relation).relation else { unreachable!("the storage of a relation") };
        let entity = |slot| self.slot(slot).filter(|_| slot != NONE);
        LinkPlan::new(&self.sparse.links(Some(relation)), info, source, target, position, entity)
    }

    /// Links a slot to a target: before one of the sources of that target, or as the last. If the slot has another target, it
    /// is unlinked from it.
    ///
    /// Both are alive, and the link makes no cycle in a tree.
    #[inline]
    pub(crate) fn link(&mut self, _: Reserved, relation: u32, source: Entity, target: u32, before: Option<u32>) {
        let mut links = self.sparse.links_mut(relation);
        let is_tree = links.is_tree();
        let old = links.get(source.index()).target;
        links.link(source.index(), target, before, is_tree);
        if old != target {
            self.record_link_change(relation, source, old, target);
        }
    }

    /// Unlinks a slot from its target. Does nothing if it has none. Capacity for a journal entry is reserved before.
    pub(crate) fn unlink(&mut self, relation: u32, source: Entity) {
        // Records may be removed, which timelines and the drivers of queries depend on.
        self.restructured();
        let mut links = self.sparse.links_mut(relation);
        let target = links.get(source.index()).target;
        links.unlink(source.index());
        self.record_link_change(relation, source, target, NONE);
    }

    /// Declares that entities are about to lose all their links, in whatever order. Without this, each link of a tree that is cut
    /// changes the depths of all below it.
    pub(crate) fn doom(&mut self, entities: &[Entity]) {
        if entities.len() < 2 || !self.sparse.needs_doom() {
            return;
        }
        for at in 0..self.sparse.relation_count() {
            let (relation, info) = self.sparse.relation(at);
            if info.is_tree() {
                let mut links = self.sparse.links_mut(relation);
                entities.iter().for_each(|entity| links.doom(entity.index()));
            }
        }
    }

    /// Removes all links of a slot whose row is about to be removed. Its sources are unlinked, or linked to its own target if
    /// the relation says so. Capacity for the journal entries is reserved before.
    pub(crate) fn cut_links(&mut self, slot: Entity) {
        for at in 0..self.sparse.relation_count() {
            let (relation, info) = self.sparse.relation(at);
            while let Some(LinkChange { source, old, new }) =
                self.sparse.links_mut(relation).cut_next(slot.index(), &info)
            {
                if let Some(source) = self.slot(source) {
                    self.record_link_change(relation, source, old, new);
                }
            }
        }
    }

    /// Records that a slot has another target.
    #[inline]
    fn record_link_change(&mut self, relation: u32, source: Entity, old: u32, new: u32) {
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
        let mut links = LinkOverlay::default();
        links.try_doom(self, entities)?;
        entities.iter().try_fold(0, |entries, entity| Ok(entries + links.try_cut(self, entity.index())?))
    }
}
