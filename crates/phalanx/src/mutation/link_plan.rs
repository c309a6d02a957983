//! [`LinkPlan`]: a link that is possible, and where it goes in the list of its target.

use crate::error::RelationError;
use crate::links::{LinkView, NONE, RelationInfo, RelationKind};
use phalanx_store::Entity;

/// Where a link goes among those of its target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Position {
    /// Before all others.
    First,
    /// After all others. A source that is linked to the target already stays where it is.
    #[default]
    Last,
    /// Before another source of the target.
    Before(Entity),
    /// After another source of the target.
    After(Entity),
}

/// A link that is possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LinkPlan {
    /// The source is where it should be.
    Nothing,
    /// The source goes before this source of the target, or is the last.
    Before(Option<u32>),
}

impl LinkPlan {
    /// Returns how a source gets a target, both of which are alive.
    ///
    /// # Errors
    ///
    /// [`RelationError::Cycle`], [`RelationError::Occupied`] and [`RelationError::NotSource`]. `entity` returns the entity at a
    /// slot.
    #[inline]
    pub(crate) fn new(
        links: &impl LinkView,
        info: &RelationInfo,
        source: Entity,
        target: Entity,
        position: Position,
        entity: impl Fn(u32) -> Option<Entity>,
    ) -> Result<LinkPlan, RelationError> {
        let is_cycle = match info.kind {
            RelationKind::Tree => links.is_above(source.index(), target.index()),
            _ => source == target,
        };
        if is_cycle {
            return Err(RelationError::Cycle { relation: info.name(), source, target });
        }
        let link = links.get(target.index());
        if info.kind == RelationKind::OneToOne
            && link.first != source.index()
            && let Some(by) = entity(link.first)
        {
            return Err(RelationError::Occupied { relation: info.name(), target, by });
        }
        let own = links.get(source.index());
        let is_source = own.target == target.index();
        let before = match position {
            Position::Last if is_source => return Ok(LinkPlan::Nothing),
            Position::Last => NONE,
            Position::First => link.first,
            Position::Before(other) | Position::After(other) => {
                let beside = links.get(other.index());
                if entity(other.index()) != Some(other) || beside.target != target.index() {
                    return Err(RelationError::NotSource { relation: info.name(), entity: other, target });
                }
                if matches!(position, Position::Before(_)) { other.index() } else { beside.next }
            }
        };
        // The source may be where it should be, or the one that it should be before.
        if is_source && (before == source.index() || before == own.next) {
            return Ok(LinkPlan::Nothing);
        }
        Ok(LinkPlan::Before(Some(before).filter(|before| *before != NONE)))
    }
}
