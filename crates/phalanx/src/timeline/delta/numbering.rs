//! [`Numbering`]: the numbers by which a delta names components.

use super::DeltaError;
use super::reader::Reader;
use crate::alloc::try_vec;
use crate::component::{ComponentId, Components};
use crate::sort::{sort_short, sort_short_by_key};
use crate::timeline::image::{ByteArray, ComponentImage, Image};
use phalanx_store::AllocError;

/// The absence of a number.
const NONE: u32 = u32::MAX;

/// Components, numbered in canonical order. The reserved component of extra rows has no number.
#[derive(Debug)]
pub(super) struct Numbering {
    ids: Vec<ComponentId>,
    /// The number of each component, by id.
    numbers: Vec<u32>,
}

impl Numbering {
    /// Numbers the components that are part of some states. `components` are the components of all of them.
    pub(super) fn try_new(images: &[&Image], components: &[ComponentImage]) -> Result<Numbering, AllocError> {
        let is_used = try_find_used(images, components.len())?;
        let mut ids = try_vec(is_used.iter().filter(|is_used| **is_used).count())?;
        let used = (0..).map(ComponentId::from_index).zip(is_used).filter(|(_, is_used)| *is_used);
        ids.extend(used.map(|(id, _)| id));
        sort_short_by_key(&mut ids, |id| components[id.index()].rank);
        Numbering::try_from_ids(ids, components.len())
    }

    /// Reads the fingerprints of components, and numbers these.
    ///
    /// # Errors
    ///
    /// - [`DeltaError::OtherComponents`] if a fingerprint is unknown or ambiguous.
    /// - [`DeltaError::Damaged`] if they are not in canonical order.
    pub(super) fn try_read(
        known: &[ComponentImage],
        components: &Components,
        input: &mut Reader<'_>,
    ) -> Result<Numbering, DeltaError> {
        let mut by_fingerprint = try_vec(known.len())?;
        by_fingerprint.extend((0..).zip(known).skip(1).map(|(id, known)| (known.fingerprint, id)));
        sort_short(&mut by_fingerprint);
        let count = input.count(8)?;
        let mut ids: Vec<ComponentId> = try_vec(count)?;
        for _ in 0..count {
            let fingerprint = input.u64()?;
            let first = by_fingerprint.partition_point(|(other, _)| *other < fingerprint);
            let mut same = by_fingerprint[first..].iter().take_while(|(other, _)| *other == fingerprint);
            let (Some(&(_, id)), None) = (same.next(), same.next()) else { return Err(DeltaError::OtherComponents) };
            let id = ComponentId::from_index(id);
            if ids.last().is_some_and(|last| components.rank(*last) >= components.rank(id)) {
                return Err(DeltaError::Damaged { what: "components that are not in canonical order" });
            }
            ids.push(id);
        }
        Ok(Numbering::try_from_ids(ids, known.len())?)
    }

    /// Numbers components that are in canonical order, with ids below `count`.
    fn try_from_ids(ids: Vec<ComponentId>, count: usize) -> Result<Numbering, AllocError> {
        let mut numbers = try_vec(count)?;
        numbers.resize(count, NONE);
        for (number, id) in (0..).zip(&ids) {
            numbers[id.index()] = number;
        }
        Ok(Numbering { ids, numbers })
    }

    /// Returns which components are part of some states, by id.
    pub(super) fn try_find_used(&self, images: &[&Image]) -> Result<Vec<bool>, AllocError> {
        try_find_used(images, self.numbers.len())
    }

    /// Returns the components, by number.
    pub(super) fn ids(&self) -> &[ComponentId] {
        &self.ids
    }

    /// Returns the number of a component.
    pub(super) fn number(&self, id: ComponentId) -> Option<u32> {
        self.numbers.get(id.index()).copied().filter(|number| *number != NONE)
    }

    /// Returns the component with a number.
    pub(super) fn id(&self, number: u32) -> Option<ComponentId> {
        self.ids.get(number as usize).copied()
    }

    /// Replaces the component ids in labels of extra rows by numbers, counted from one.
    pub(super) fn try_number_labels(&self, labels: &ByteArray) -> Result<Option<ByteArray>, AllocError> {
        labels.try_map_first(|id| match id {
            0 => Some(0),
            id => self.number(ComponentId::from_index(id)).map(|number| number + 1),
        })
    }

    /// Replaces the numbers in labels of extra rows by component ids, if all of them are known.
    pub(super) fn try_resolve_labels(&self, labels: &ByteArray) -> Result<Option<ByteArray>, AllocError> {
        labels.try_map_first(|number| match number {
            0 => Some(0),
            number => self.id(number - 1).map(|id| id.index() as u32),
        })
    }
}

fn try_find_used(images: &[&Image], count: usize) -> Result<Vec<bool>, AllocError> {
    let mut is_used = try_vec(count)?;
    is_used.resize(count, false);
    for image in images {
        image.for_each_used(|id| is_used[id.index()] = true);
    }
    Ok(is_used)
}
