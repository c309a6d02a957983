//! Checks of links: of the invariants, and of links that come from a file or a delta.

use super::Storage;
use crate::links::{Link, LinkView, NONE, RelationInfo, RelationKind};

impl Storage {
    /// Checks the links of all relations.
    pub(crate) fn validate_links(&self) -> Result<(), &'static str> {
        self.sparse.relations().try_for_each(|(relation, info)| self.validate_relation(relation, info))
    }

    /// Checks the links of one relation, in time linear in their number.
    fn validate_relation(&self, relation: u32, info: &RelationInfo) -> Result<(), &'static str> {
        let links = self.sparse.links(Some(relation));
        let (mut sources, mut listed) = (0, 0);
        for slot in links.slots() {
            let link = links.get(slot);
            if self.slot(slot).is_none_or(|entity| entity.is_row()) {
                return Err("a link of an entity that is not alive");
            }
            if link.is_empty() {
                return Err("a record without links");
            }
            sources += usize::from(link.target != NONE);
            if link.target == NONE && (link.prev, link.next, link.depth) != (NONE, NONE, 0) {
                return Err("a record without a target that has neighbours or a depth");
            }
            if info.kind == RelationKind::OneToOne && link.count > 1 {
                return Err("a target of a one-to-one relation with several sources");
            }
            listed += self.validate_sources(&links, slot, link, info)?;
        }
        // Each source is in the list of its target, and no list has a source of another target. So none is listed twice.
        if sources == listed { Ok(()) } else { Err("a source that its target does not list") }
    }

    /// Checks the list of the sources of a slot. Returns their number.
    fn validate_sources(
        &self,
        links: &impl LinkView,
        slot: u32,
        link: Link,
        info: &RelationInfo,
    ) -> Result<usize, &'static str> {
        let (mut source, mut prev, mut count) = (link.first, NONE, 0);
        while source != NONE {
            let next = links.get(source);
            if next.target != slot || next.prev != prev || source == slot || count == link.count {
                return Err("a list of sources that is not whole");
            }
            let depth = if info.is_tree() { link.depth.wrapping_add(1) } else { 0 };
            if next.depth != depth {
                return Err("a depth that is not that of the target and one");
            }
            count += 1;
            (prev, source) = (source, next.next);
        }
        if (link.last, link.count) != (prev, count) {
            return Err("a list of sources that is miscounted, or has another end");
        }
        Ok(count as usize)
    }
}
