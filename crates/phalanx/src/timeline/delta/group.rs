//! The groups of a delta.

use super::DeltaError;
use super::canonical::GroupForm;
use super::numbering::Numbering;
use super::reader::Reader;
use crate::alloc::try_vec;
use crate::sort::sort_short;
use crate::sparse::{SavedGroup, SparseStorages};

/// A group of a delta, with the serial number and position of the same group in the first state.
pub(super) type DeltaGroup = (Option<(u64, u32)>, GroupForm);

/// Reads the groups of a delta: their components and members.
pub(super) fn try_read_groups(old: &[GroupForm], input: &mut Reader<'_>) -> Result<Vec<DeltaGroup>, DeltaError> {
    let count = input.count(20)?;
    let mut groups = try_vec(count)?;
    for _ in 0..count {
        let was = input.flag()?;
        let lists = [input.u32s()?, input.u32s()?, input.u32s()?];
        let known = old.binary_search_by(|old| old.lists.cmp(&lists)).ok().map(|at| &old[at]).filter(|_| was);
        if was && known.is_none() {
            return Err(DeltaError::Damaged { what: "a group that the first state does not have" });
        }
        let known = known.map(|known| (known.serial, known.position));
        groups.push((known, GroupForm { lists, members: input.u32s()?, serial: 0, position: 0 }));
    }
    Ok(groups)
}

/// Returns the groups with numbers of sparse storages. A group of the first state keeps its position; others get free ones.
pub(super) fn try_sketch_groups(
    groups: Vec<DeltaGroup>,
    numbering: &Numbering,
    sparse: &SparseStorages,
) -> Result<Vec<SavedGroup>, DeltaError> {
    let mut taken = try_vec(groups.len())?;
    taken.extend(groups.iter().filter_map(|(known, _)| known.map(|(_, position)| position)));
    sort_short(&mut taken);
    let mut free = (0..).filter(|position| taken.binary_search(position).is_err());
    let mut sketches = try_vec(groups.len())?;
    for (known, group) in groups {
        let mut lists = [const { Vec::new() }; 3];
        for (list, numbers) in lists.iter_mut().zip(&group.lists) {
            *list = try_vec(numbers.len())?;
            for number in numbers {
                let Some(storage) = numbering.id(*number).and_then(|id| sparse.storage_id(id)) else {
                    return Err(DeltaError::Damaged { what: "a group of a component without a storage" });
                };
                list.push(storage);
            }
            sort_short(list);
        }
        let place = known.map(|(_, position)| position).or_else(|| free.next()).unwrap_or(u32::MAX);
        let serial = known.map(|(serial, _)| serial);
        sketches.push(SavedGroup {
            name: "a group of a delta",
            number: place,
            serial,
            sparse: lists,
            members: group.members,
        });
    }
    Ok(sketches)
}
