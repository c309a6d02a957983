//! Deltas: the difference between two states of a world, as bytes.
//!
//! # Format
//!
//! Numbers are little-endian. A delta has these parts:
//!
//! 1. A head, and the checksum of the first state.
//! 2. The fingerprints of the components of both states, in [canonical](canonical) order. Their positions name the
//!    components in the other parts.
//! 3. The arrays of the second state in canonical form, with its tables in visiting order. Each array has its number of
//!    rows, and the runs of rows that differ from the array of the first state. A table or sparse storage that the first state
//!    does not have differs from an empty one.
//! 4. The groups: whether each was there, its components, and the members of a group that owns nothing.
//! 5. The plain [resources](crate::ResourcesMut::keep_plain) and events that differ, by fingerprint: whether each is there, and
//!    its bytes.
//! 6. A checksum of all bytes before it.
//!
//! Of a tracked component there is also what happened to its values: which were added, and which were changed. The times of
//! these changes are not part of the delta: in the world that applies it, they happen then.
//!
//! # Untrusted input
//!
//! An array cannot grow by more rows than there are bytes for. The second state is [validated](super::image) before a world
//! is restored from it, and groups are computed from the components of their members. The checksums do not protect
//! against forgery, and nothing relies on them.
#![allow(unsafe_code)]

mod canonical;
mod group;
mod numbering;
mod past_ticks;
mod reader;
#[cfg(all(test, feature = "derive"))]
mod tests;
mod writer;

use super::Checkpoint;
use super::error::DeltaError;
use super::image::{ComponentImage, Image};
use super::kept_state::KeptState;
use super::rollback_report::RollbackReport;
use crate::alloc::try_vec;
use crate::checksum::Sum;
use crate::resources::ReadError;
use crate::sort::sort_short;
use crate::sparse::max_group_steps;
use crate::storage::Storage;
use crate::world::World;
use canonical::{Canonical, checksum};
use group::{try_read_groups, try_sketch_groups};
use numbering::Numbering;
use past_ticks::PastTicks;
use reader::{Reader, StateReader, TRUNCATED};
use writer::Writer;

/// The head of all deltas. It identifies the format and the byte order of values.
const HEAD: [u8; 8] = if cfg!(target_endian = "little") { *b"PHXDLT3L" } else { *b"PHXDLT3B" };

/// Returns the difference between two states of a world as bytes.
///
/// [`World::apply_delta`] brings a world that is in the first state to the second. Resources are part of a
/// delta if they are [plain and kept](crate::ResourcesMut::keep_plain), and [events](crate::event) if they are plain.
///
/// ```
/// use phalanx::timeline::delta;
/// use phalanx::{Component, World};
///
/// #[derive(Component, Clone, Copy, Debug, PartialEq)]
/// #[component(plain)]
/// struct Health(u32);
///
/// let mut here = World::new();
/// let hero = here.spawn(Health(10));
/// let mut there = here.try_clone().unwrap();
///
/// let before = here.checkpoint()?;
/// here.get_mut::<Health>(hero)?.0 = 9;
/// let bytes = delta(&before, &here.checkpoint()?)?;
///
/// there.apply_delta(&bytes)?;
/// assert_eq!(there.get::<Health>(hero)?, &Health(9));
/// // It fails a second time: the world is no longer in the first state.
/// assert!(there.apply_delta(&bytes).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// - [`DeltaError::Foreign`] if the states are of different worlds.
/// - [`DeltaError::NotPlain`] if a component that has values is not plain data.
/// - [`DeltaError::TooMany`] if the number of reserved entities exceeds that of slots by more than 65,536.
/// - [`DeltaError::OtherComponents`] if two components of the world have the same name and layout.
/// - [`DeltaError::Alloc`] if allocation fails.
#[doc(alias = "diff")]
pub fn delta(base: &Checkpoint, target: &Checkpoint) -> Result<Vec<u8>, DeltaError> {
    try_delta((&base.image, &base.kept), (&target.image, &target.kept), false)
}

/// Returns the difference between two states. `derived` says that the first was made from the second, so that arrays differ in
/// [restored](Image::try_clone_at) chunks only.
pub(super) fn try_delta(
    (base, base_kept): (&Image, &KeptState),
    (target, target_kept): (&Image, &KeptState),
    derived: bool,
) -> Result<Vec<u8>, DeltaError> {
    let resources = [base_kept.resources.try_bytes()?, target_kept.resources.try_bytes()?];
    if base.registry_id != target.registry_id {
        return Err(DeltaError::Foreign);
    }
    // Components keep their ids, so that the later state has the components of both.
    let components = if base.components.len() > target.components.len() { base } else { target }.components.as_slice();
    for image in [base, target] {
        check_plain(image, components)?;
        check_reserved(image)?;
    }
    let numbering = Numbering::try_new(&[base, target], components)?;
    let info = |number: u32| &components[numbering.ids()[number as usize].index()];
    let fingerprints = || numbering.ids().iter().map(|id| components[id.index()].fingerprint);
    let mut sorted = try_vec(numbering.ids().len())?;
    sorted.extend(fingerprints());
    sort_short(&mut sorted);
    if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(DeltaError::OtherComponents);
    }
    let (old, new) = (Canonical::try_new(base, &numbering)?, Canonical::try_new(target, &numbering)?);
    let past = PastTicks::try_new(&old)?;
    let mut out = Writer(Vec::new(), derived);
    out.bytes(&HEAD)?;
    out.u64(checksum(base, components)?)?;
    out.u32(numbering.ids().len() as u32)?;
    fingerprints().try_for_each(|fingerprint| out.u64(fingerprint))?;
    out.array(Some(&base.words), &target.words)?;
    out.array(Some(&base.free_list), &target.free_list)?;
    target.reserved.iter().try_for_each(|count| out.u32(*count))?;
    out.u32(new.tables.len() as u32)?;
    for table in &new.tables {
        out.table(table, old.table(table.is_extra, &table.components), &past, info)?;
    }
    out.u32(new.sparse.len() as u32)?;
    for sparse in &new.sparse {
        out.sparse(sparse, old.sparse(sparse.number), &past, info(sparse.number))?;
    }
    out.u32(new.groups.len() as u32)?;
    for group in &new.groups {
        let was = old.groups.iter().any(|old| old.serial == group.serial);
        out.u32(u32::from(was))?;
        group.lists.iter().chain([&group.members]).try_for_each(|list| out.u32s(list))?;
    }
    out.resources(&resources[0], &resources[1])?;
    let sum = sum_of(&out.0);
    out.u64(sum)?;
    Ok(out.0)
}

/// Returns the checksum of the bytes of a delta.
fn sum_of(bytes: &[u8]) -> u64 {
    let mut sum = Sum::default();
    sum.update(bytes);
    sum.finish()
}

/// Checks that all components that have values are plain.
fn check_plain(image: &Image, components: &[ComponentImage]) -> Result<(), DeltaError> {
    let tables = image.tables.iter().filter(|table| table.slots.rows() > 0).flat_map(|table| table.signature.iter());
    let sparse = image.sparse.iter().filter(|sparse| sparse.keys.rows() > 0).map(|sparse| sparse.id);
    let others = tables.chain(sparse).map(|id| &components[id.index()]).filter(|info| !info.is_plain);
    match others.min_by_key(|info| info.rank) {
        Some(info) => Err(DeltaError::NotPlain { component: info.name }),
        None => Ok(()),
    }
}

/// Checks that not too many entities are reserved.
fn check_reserved(image: &Image) -> Result<(), DeltaError> {
    /// The number of reserved entities that is allowed beside that of slots.
    const MOST: u64 = 1 << 16;
    let [reserved, pending] = image.reserved.map(u64::from);
    match reserved + pending > u64::from(image.words.rows()) + MOST {
        true => Err(DeltaError::TooMany { what: "reserved entities" }),
        false => Ok(()),
    }
}

impl World {
    /// Brings the world from the first state of a [`delta`] to the second.
    ///
    /// The world need not be a copy of the one that the delta was made of. It must be in the same state, and know the
    /// components that the delta names, in any order of registration. Call [`register_component`](World::register_component) for a component that no
    /// entity has had yet.
    ///
    /// Afterwards entities, rows, storages, groups and their orders are exactly those of the second state. In
    /// [tracked](crate::change_detection) components, values that the delta adds or changes count as added and changed now.
    /// All other values keep their change ticks.
    ///
    /// Other resources, listeners and component ids stay unchanged. Events that are not plain are discarded. A delta calls no
    /// listener. A delta may lead to an older state,
    /// so it empties all [collectors](crate::signal#back-in-time): drain them before.
    ///
    /// # Errors
    ///
    /// - [`DeltaError::OtherBase`] if the world is not in the first state.
    /// - [`DeltaError::OtherComponents`] if it does not know a component of the delta.
    /// - [`DeltaError::OtherResources`] if it does not keep a resource or events of the delta.
    /// - [`DeltaError::NotPlain`] if a component is not plain data.
    /// - [`DeltaError::InvalidValue`] if bytes are not a value of their component.
    /// - [`DeltaError::Damaged`] if the bytes are not a delta of this version and byte order, or are damaged.
    /// - [`DeltaError::TooMany`] if the number of reserved entities exceeds that of slots by more than 65,536.
    /// - [`DeltaError::Alloc`] if allocation fails.
    ///
    /// On error the world is unchanged.
    #[doc(alias = "patch")]
    pub fn apply_delta(&mut self, bytes: &[u8]) -> Result<(), DeltaError> {
        // A fuzzer does not find checksums.
        try_apply(self, bytes, !cfg!(fuzzing), None)
    }

    /// Applies a delta as [`apply_delta`](World::apply_delta) does, and returns which entities that removed and restored.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`apply_delta`](World::apply_delta).
    pub fn apply_delta_with_report(&mut self, bytes: &[u8]) -> Result<RollbackReport, DeltaError> {
        let mut report = RollbackReport::default();
        try_apply(self, bytes, !cfg!(fuzzing), Some(&mut report))?;
        Ok(report)
    }
}

/// Applies a delta. Checksums are compared if `summed` is set.
fn try_apply(
    world: &mut World,
    bytes: &[u8],
    summed: bool,
    report: Option<&mut RollbackReport>,
) -> Result<(), DeltaError> {
    let base = Image::try_new(world)?;
    check_plain(&base, &base.components)?;
    check_reserved(&base)?;
    let delta_len = bytes.len() as u64;
    let (bytes, sum) = bytes.split_last_chunk::<8>().ok_or(TRUNCATED)?;
    let mut input = Reader(bytes);
    if input.bytes(8)? != HEAD {
        return Err(DeltaError::Damaged { what: "not a delta of this version and byte order" });
    }
    if summed && sum_of(bytes) != u64::from_le_bytes(*sum) {
        return Err(DeltaError::Damaged { what: "the checksum does not match" });
    }
    let start = input.u64()?;
    if summed && start != checksum(&base, &base.components)? {
        return Err(DeltaError::OtherBase);
    }
    let components = &world.storage.components;
    let numbering = Numbering::try_read(&base.components, components, &mut input)?;
    let old = Canonical::try_new(&base, &numbering)?;
    let past = PastTicks::try_new(&old)?;
    let (numbering, now) = (&numbering, world.storage.tick());
    let mut reader = StateReader { components, numbering, old: &old, past: &past, now, input: &mut input };
    let image = reader.read()?;
    let groups = try_read_groups(&old.groups, &mut input)?;
    let resources = match world.resources.try_read(&input.resources()?, now)? {
        Ok(resources) => resources,
        Err(ReadError::Unknown) => return Err(DeltaError::OtherResources),
        Err(ReadError::Invalid(resource)) => return Err(DeltaError::InvalidValue { component: resource }),
    };
    if !input.0.is_empty() {
        return Err(DeltaError::Damaged { what: "bytes after the end" });
    }
    check_reserved(&image)?;
    image.validate(components)?;
    // SAFETY: the image was validated against these components.
    let mut restored = unsafe { image.try_restore(world)? };
    let checked = restored.storage.validate_links().and_then(|()| restored.storage.validate_names());
    checked.map_err(|what| DeltaError::Damaged { what })?;
    restored.storage.sparse.clock = world.storage.sparse.clock.try_carry()?;
    let sketches = try_sketch_groups(groups, numbering, &restored.storage.sparse)?;
    let (entities, tables) = (&restored.storage.entities, &restored.storage.tables);
    let slot = |index| Storage::slot_at(entities, tables, index);
    // A slot takes about 16 bytes of a state.
    let most = max_group_steps(delta_len + 16 * entities.slot_count() as u64);
    restored.storage.sparse.try_regroup(sketches, &world.storage.sparse, components, most, slot)?;
    drop(KeptState::of_delta(resources).try_swap(world, restored, report)?);
    Ok(())
}
