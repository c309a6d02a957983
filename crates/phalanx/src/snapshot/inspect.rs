//! [`inspect`]: summarises a snapshot without its types.

use super::error::{LoadError, Problem};
use super::format::{COMPONENTS, END, GROUPS, OPTIONAL, RESOURCE, ROWS, SLOTS, SPARSE, TABLE, TICKS};
use super::reader::{Reader, Source};
use super::saver::{HOLE, try_push};
use crate::alloc::try_reserve;
use std::io::Read;

/// A component of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComponentSummary {
    /// The name of the component.
    pub name: String,
    /// The layout of its storage: `table`, `pool` or `linear`.
    pub layout: &'static str,
    /// The name of its codec.
    pub codec: String,
    /// Its version.
    pub version: u32,
    /// A checksum of its schema: name, layout, codec, version, lanes and fields.
    pub schema: u64,
    /// The number of values.
    pub values: u64,
}

/// A table of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableSummary {
    /// Its components, as numbers in [`Inspection::components`].
    pub components: Vec<u32>,
    /// Whether its rows are extra rows.
    pub extra: bool,
    /// The number of rows.
    pub rows: u32,
    /// The number of bytes of its section.
    pub bytes: u64,
}

/// The summary of a snapshot. See [`inspect`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inspection {
    /// The components, by number.
    pub components: Vec<ComponentSummary>,
    /// The tables, in visiting order.
    pub tables: Vec<TableSummary>,
    /// The names of the resources, and the numbers of bytes of their values.
    pub resources: Vec<(String, u64)>,
    /// The number of groups.
    pub groups: u32,
    /// The number of slots, live or dead.
    pub slots: u32,
    /// The number of live entities.
    pub entities: u32,
    /// The number of extra rows.
    pub extra_rows: u32,
    /// The number of free slots.
    pub free: u32,
    /// The number of slots that have used all their generations.
    pub retired: u32,
    /// The sections, by their four letters, and the numbers of bytes of their contents.
    pub sections: Vec<([u8; 4], u64)>,
    /// The number of bytes of the snapshot.
    pub bytes: u64,
    /// Whether the snapshot has [change ticks](crate::change_detection). Without them, all values are new.
    pub has_times: bool,
    /// The checksum of everything but [change ticks](crate::change_detection). It equals
    /// [`Registry::checksum`](super::Registry::checksum) of the world.
    pub checksum: u64,
}

/// Reads a snapshot without knowing its types, and returns its names, counts and sizes.
///
/// The checksums are verified. The contents are not validated.
///
/// # Errors
///
/// Returns a [`LoadError`] if the input is not a snapshot, is damaged, cannot be read, or if allocation fails.
pub fn inspect(mut reader: impl Read) -> Result<Inspection, LoadError> {
    let mut input = Reader::new(Source::Reader(&mut reader))?;
    let mut found = Inspection::default();
    loop {
        let so_far = input.chain();
        input.next_section()?;
        if matches!(input.kind, TICKS | END) && !found.has_times {
            found.checksum = so_far;
        }
        match input.kind {
            COMPONENTS => components(&mut input, &mut found)?,
            SLOTS => slots(&mut input, &mut found)?,
            TABLE => table(&mut input, &mut found)?,
            ROWS => input.skip()?,
            GROUPS => {
                found.groups = input.u32()?;
                input.skip()?;
            }
            SPARSE => storage(&mut input, &mut found)?,
            RESOURCE => {
                let name = text(&mut input)?;
                let codec = text(&mut input)?;
                input.u32()?;
                let start = found.resources.len();
                input.check(try_push(&mut found.resources, (name, 0)))?;
                input.skip()?;
                let head = (2 + found.resources[start].0.len() + codec.len() + 4) as u64;
                found.resources[start].1 = input.section_bytes().saturating_sub(head);
            }
            TICKS => {
                found.has_times = true;
                input.skip()?;
            }
            END => {}
            other if input.flags & OPTIONAL == 0 => return Err(input.error(Problem::Section { found: other })),
            _ => input.skip()?,
        }
        input.end_section()?;
        input.check(try_push(&mut found.sections, (input.kind, input.section_bytes())))?;
        if input.kind == END {
            input.end()?;
            found.bytes = input.offset();
            return Ok(found);
        }
    }
}

fn text(input: &mut Reader<'_>) -> Result<String, LoadError> {
    let mut buffer = [0; 255];
    let (name, mut bytes) = (input.name(&mut buffer)?, Vec::new());
    input.check(try_reserve(&mut bytes, name.len()))?;
    bytes.extend_from_slice(name.as_bytes());
    String::from_utf8(bytes).or_else(|_| input.invalid("a name that is not UTF-8"))
}

fn layout(input: &Reader<'_>, kind: u8) -> Result<&'static str, LoadError> {
    match kind {
        0 => Ok("table"),
        1 => Ok("pool"),
        2 => Ok("linear"),
        _ => input.invalid("a component that is kept in a way that is not known"),
    }
}

fn components(input: &mut Reader<'_>, found: &mut Inspection) -> Result<(), LoadError> {
    for _ in 0..input.u32()? {
        let name = text(input)?;
        let kind = input.u8()?;
        let (layout, codec, version) = (layout(input, kind)?, text(input)?, input.u32()?);
        let mut schema = super::checksum(input.u64()?, name.as_bytes());
        schema = super::checksum(schema, codec.as_bytes());
        schema = super::checksum(schema, &[kind, version as u8, (version >> 8) as u8, (version >> 16) as u8]);
        for _ in 0..input.u32()? {
            schema = super::checksum(schema, &input.u64()?.to_le_bytes());
        }
        let summary = ComponentSummary { name, layout, codec, version, schema, values: 0 };
        input.check(try_push(&mut found.components, summary))?;
    }
    Ok(())
}

fn slots(input: &mut Reader<'_>, found: &mut Inspection) -> Result<(), LoadError> {
    found.slots = input.u32()?;
    let (mut entities, mut rows, mut retired) = (0, 0, 0);
    input.u32s(found.slots, |_, words| {
        for &word in words {
            retired += u32::from(word == u32::MAX);
            rows += u32::from(word >> 30 == 1);
            entities += u32::from(word >> 30 == 0);
        }
        Ok(())
    })?;
    (found.entities, found.extra_rows, found.retired) = (entities, rows, retired);
    found.free = input.u32()?;
    input.skip()
}

/// Returns the component with a number.
fn component<'a>(
    input: &Reader<'_>,
    found: &'a mut Inspection,
    number: u32,
) -> Result<&'a mut ComponentSummary, LoadError> {
    match found.components.get_mut(number as usize) {
        Some(component) => Ok(component),
        None => input.invalid("a component that there is not"),
    }
}

fn table(input: &mut Reader<'_>, found: &mut Inspection) -> Result<(), LoadError> {
    let (extra, count) = (input.u8()? != 0, input.u32()?);
    let mut components = Vec::new();
    input.u32s(count, |input, numbers| {
        input.check(try_reserve(&mut components, numbers.len()))?;
        components.extend_from_slice(numbers);
        Ok(())
    })?;
    let rows = input.u32()?;
    for &number in &components {
        component(input, found, number)?.values += u64::from(rows);
    }
    input.skip()?;
    let summary = TableSummary { components, extra, rows, bytes: input.section_bytes() };
    input.check(try_push(&mut found.tables, summary))
}

fn storage(input: &mut Reader<'_>, found: &mut Inspection) -> Result<(), LoadError> {
    let number = input.u32()?;
    let mut values = 0;
    match component(input, found, number)?.layout {
        "pool" => {
            input.u8()?;
            let positions = input.u32()?;
            input.u32s(positions, |_, keys| {
                values += keys.iter().filter(|key| **key != HOLE).count() as u64;
                Ok(())
            })?;
        }
        _ => {
            for _ in 0..input.u32()? {
                values += u64::from(input.u64()?.count_ones());
            }
        }
    }
    component(input, found, number)?.values += values;
    input.skip()
}
