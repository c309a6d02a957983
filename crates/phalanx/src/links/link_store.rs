//! [`LinkView`] and [`LinkStore`]: the records of one relation, how they are walked, and how links change.

use super::{Link, NONE, OnDespawn, RelationInfo};

/// The depth of slots that are about to lose all their links. Nothing relies on it, so it is not kept.
const DOOMED: u32 = u32::MAX;

/// The depth of doomed slots that [`LinkStore::doom_all`] has not come to yet.
const PENDING: u32 = u32::MAX - 1;

/// The number of records between one that is read by a walk and one that is prefetched.
const AHEAD: u32 = 8;

/// The records of one relation, by slot. The implementations say how a record is read.
pub(crate) trait LinkView {
    /// Returns the record of a slot.
    fn get(&self, slot: u32) -> Link;

    /// Hints that the record of a slot is needed soon. There may be none.
    #[inline(always)]
    fn prefetch(&self, _slot: u32) {}

    /// Returns the slot after another one among those below `root`: sources follow their target.
    fn next_below(&self, root: u32, slot: u32) -> Option<u32> {
        let link = self.get(slot);
        if link.first != NONE { Some(link.first) } else { self.next_beside(root, slot) }
    }

    /// Returns the slot after another one and all below it, among those below `root`.
    fn next_beside(&self, root: u32, mut slot: u32) -> Option<u32> {
        while slot != root {
            let link = self.get(slot);
            if link.next != NONE {
                return Some(link.next);
            }
            slot = link.target;
        }
        None
    }

    /// Returns the first slot below another one that has no sources, or that one, and its record.
    #[inline(always)]
    fn first_leaf(&self, mut slot: u32) -> (u32, Link) {
        loop {
            // Each record leads to the next, so that waiting for memory adds up. Entities that were spawned together are often
            // visited together.
            self.prefetch(slot.wrapping_add(AHEAD));
            let link = self.get(slot);
            match link.first {
                NONE => return (slot, link),
                first => slot = first,
            }
        }
    }

    /// Returns `true` if `slot` is `target` or above it, in a tree.
    fn is_above(&self, slot: u32, target: u32) -> bool {
        let (link, mut at) = (self.get(slot), target);
        // An entity without sources is above none.
        if slot == target || link.first == NONE {
            return slot == target;
        }
        let steps = self.get(target).depth.saturating_sub(link.depth);
        (0..steps).for_each(|_| at = self.get(at).target);
        at == slot
    }
}

/// The records of one relation, by slot, for writing. The provided functions keep the lists and the depths.
pub(crate) trait LinkStore: LinkView {
    /// Changes the record of a slot. It is added if there is none, and removed if it is empty then. Capacity for it is reserved
    /// before.
    fn update<T>(&mut self, slot: u32, change: impl FnOnce(&mut Link) -> T) -> T;

    /// Changes the record of a slot, which is not empty then. It is added if there is none. Capacity for it is reserved before.
    #[inline(always)]
    fn update_kept<T>(&mut self, slot: u32, change: impl FnOnce(&mut Link) -> T) -> T {
        self.update(slot, change)
    }

    /// Changes the record of a slot that has sources. It is removed if it is empty then.
    #[inline(always)]
    fn update_target(&mut self, slot: u32, change: impl FnOnce(&mut Link)) {
        self.update(slot, change);
    }

    /// Adds the record of a slot without one. Capacity for it is reserved before.
    #[inline(always)]
    fn insert(&mut self, slot: u32, link: Link) {
        self.update(slot, |own| *own = link);
    }

    /// Removes the record of a slot. No other record names the slot, or all that do are removed too.
    #[inline(always)]
    fn remove(&mut self, slot: u32) {
        self.update(slot, |link| *link = Link::EMPTY);
    }

    /// Changes the record of a slot that has a target, and keeps it.
    #[inline(always)]
    fn update_source(&mut self, slot: u32, change: impl FnOnce(&mut Link)) {
        self.update(slot, change);
    }

    /// Removes a source from the list of its target, and returns its record, which is not changed.
    #[inline(always)]
    fn take_out(&mut self, source: u32) -> Link {
        let link = self.get(source);
        let Link { target, prev, next, .. } = link;
        if target == NONE {
            return link;
        }
        if prev != NONE {
            self.update_source(prev, |link| link.next = next);
        }
        if next != NONE {
            self.update_source(next, |link| link.prev = prev);
        }
        self.update_target(target, |link| {
            if prev == NONE {
                link.first = next;
            }
            if next == NONE {
                link.last = prev;
            }
            link.count -= 1;
        });
        link
    }

    /// Adds a source to the list of a target: before one of its sources, or as the last. Returns the sources before and after it,
    /// and the depth of the target.
    #[inline(always)]
    fn put_in(&mut self, source: u32, target: u32, before: Option<u32>) -> (u32, u32, u32) {
        let next = before.unwrap_or(NONE);
        let mut prev = before.map_or(NONE, |before| self.get(before).prev);
        let above = self.update_kept(target, |link| {
            if next == NONE {
                prev = link.last;
                link.last = source;
            }
            if prev == NONE {
                link.first = source;
            }
            link.count += 1;
            link.depth
        });
        if prev != NONE {
            self.update_source(prev, |link| link.next = source);
        }
        if next != NONE {
            self.update_source(next, |link| link.prev = source);
        }
        (prev, next, above)
    }

    /// Links a slot without a record to a target, after the other sources of that target.
    #[inline(always)]
    fn link_new(&mut self, source: u32, target: u32, is_tree: bool) {
        let (prev, next, above) = self.put_in(source, target, None);
        let depth = if is_tree { above + 1 } else { 0 };
        self.insert(source, Link { target, prev, next, depth, ..Link::EMPTY });
    }

    /// Links a source to a target: before one of its sources, or as the last. If it has another target, it is unlinked from it.
    /// Returns the target that it had, or none.
    ///
    /// With `IS_LEAF`, it has no sources, and nothing is [doomed](LinkStore::doom).
    #[inline(always)]
    fn link<const IS_LEAF: bool>(&mut self, source: u32, target: u32, before: Option<u32>, is_tree: bool) -> u32 {
        let own = self.take_out(source);
        let (prev, next, above) = self.put_in(source, target, before);
        let depth = match is_tree {
            false => 0,
            // A doomed target gives the source away, which gets its depth then.
            true if !IS_LEAF && (above == DOOMED || own.depth == DOOMED) => own.depth,
            true => above + 1,
        };
        if !IS_LEAF && own.first != NONE {
            self.set_depth(source, depth);
        }
        self.update_kept(source, |link| (link.target, link.prev, link.next, link.depth) = (target, prev, next, depth));
        own.target
    }

    /// Unlinks a slot without sources from its target. Does nothing without a target. Returns the target, or none.
    #[inline(always)]
    fn unlink_leaf(&mut self, source: u32) -> u32 {
        let own = self.take_out(source);
        if own.target != NONE {
            self.remove(source);
        }
        own.target
    }

    /// Unlinks a source from its target. Does nothing without a target. Returns the target, or none.
    #[inline]
    fn unlink(&mut self, source: u32) -> u32 {
        if self.get(source).first == NONE {
            return self.unlink_leaf(source);
        }
        let own = self.take_out(source);
        if own.target == NONE {
            return NONE;
        }
        self.set_depth(source, 0);
        let depth = if own.depth == DOOMED { DOOMED } else { 0 };
        self.update_kept(source, |link| *link = Link { target: NONE, prev: NONE, next: NONE, depth, ..*link });
        own.target
    }

    /// Declares that a slot is about to lose all its links, so that depths below it are not kept until it has.
    #[inline]
    fn doom(&mut self, slot: u32) {
        if !self.get(slot).is_empty() {
            self.update(slot, |link| link.depth = DOOMED);
        }
    }

    /// Declares that slots are about to lose all their links like [`doom`](LinkStore::doom), in a tree that gives the sources of each
    /// to its own target. All below them get the depths that they will have.
    ///
    /// Otherwise a slot that stays could change its depth, and those below it, with each of its ancestors that goes. `list` is
    /// emptied, and gets an element for each slot at most.
    fn doom_all(&mut self, slots: impl Iterator<Item = u32>, list: &mut Vec<(u32, u32)>) {
        list.clear();
        for slot in slots {
            let link = self.get(slot);
            if !link.is_empty() {
                list.push((link.depth, slot));
                self.update(slot, |link| link.depth = PENDING);
            }
        }
        // The highest first: they come to those below them.
        list.sort_unstable();
        for &(depth, slot) in list.iter() {
            if self.get(slot).depth == PENDING {
                self.settle_below(slot, depth);
            }
        }
    }

    /// Sets the depths of all below a doomed slot without doomed slots above it, which has this depth.
    fn settle_below(&mut self, root: u32, depth: u32) {
        self.update(root, |link| link.depth = DOOMED);
        // A doomed slot has the depth that its sources will have.
        let is_kept = |link: &Link| u32::from(link.depth != DOOMED);
        let (mut slot, mut depth) = (root, depth);
        loop {
            let mut link = self.get(slot);
            if link.first != NONE {
                depth += is_kept(&link);
                slot = link.first;
            } else {
                while slot != root && link.next == NONE {
                    slot = link.target;
                    link = self.get(slot);
                    depth -= is_kept(&link);
                }
                if slot == root {
                    return;
                }
                slot = link.next;
            }
            self.update_source(slot, |link| link.depth = if link.depth == PENDING { DOOMED } else { depth });
        }
    }

    /// Removes one link of a slot that is despawned: of its first source, or its own if it has no sources. Sources are
    /// unlinked, or linked to its own target if the relation says so. Returns what has changed.
    fn cut_next(&mut self, slot: u32, info: &RelationInfo) -> Option<LinkChange> {
        let Link { target, first, .. } = self.get(slot);
        if first == NONE {
            self.unlink(slot);
            return (target != NONE).then_some(LinkChange { source: slot, old: target, new: NONE });
        }
        let moves = info.on_despawn == OnDespawn::Reparent && target != first;
        let new = if moves { target } else { NONE };
        match new {
            NONE => _ = self.unlink(first),
            target => _ = self.link::<false>(first, target, Some(slot), info.is_tree()),
        }
        Some(LinkChange { source: first, old: slot, new })
    }

    /// Moves a source to the end of the list of its target. Does nothing without a target.
    fn move_to_end(&mut self, source: u32) {
        let Link { target, prev, next, .. } = self.get(source);
        if target == NONE || next == NONE {
            return;
        }
        let last = self.get(target).last;
        self.update(next, |link| link.prev = prev);
        if prev != NONE {
            self.update(prev, |link| link.next = next);
        }
        self.update(last, |link| link.next = source);
        self.update(target, |link| {
            if prev == NONE {
                link.first = next;
            }
            link.last = source;
        });
        self.update(source, |link| (link.prev, link.next) = (last, NONE));
    }

    /// Sets the depth of a slot, and changes the depths of all below it likewise. What is below doomed slots gets its depth later.
    #[inline(never)]
    fn set_depth(&mut self, root: u32, depth: u32) {
        let link = self.get(root);
        if link.depth == depth || link.depth == DOOMED {
            return;
        }
        let change = depth.wrapping_sub(link.depth);
        self.update(root, |link| link.depth = depth);
        let mut next = self.next_below(root, root);
        while let Some(slot) = next {
            if self.get(slot).depth == DOOMED {
                next = self.next_beside(root, slot);
            } else {
                self.update_source(slot, |link| link.depth = link.depth.wrapping_add(change));
                next = self.next_below(root, slot);
            }
        }
    }
}

/// A source that lost its target, and may have got another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkChange {
    pub(crate) source: u32,
    pub(crate) old: u32,
    pub(crate) new: u32,
}
