//! [`DesyncReport`]: what differs between two machines.

use crate::message::{Finding, FoundPlace, Row, part_of};
use phalanx::reflect::{FieldPath, ScalarValue};
use phalanx::timeline::ArrayPart;
use phalanx::{ComponentId, Entity, World};
use std::fmt;
use std::path::PathBuf;

/// What differs between the worlds of two players in a frame that both have confirmed.
///
/// The two players have equal reports. Values are given in the order of the players.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct DesyncReport {
    /// The first frame that differs, as far as both have kept it.
    pub frame: u64,
    /// The last frame that was equal, if it is still known.
    pub last_equal: Option<u64>,
    /// The two players. A spectator has the number after that of the last player.
    pub players: [usize; 2],
    /// Whether both players have compared everything. A player may not have the frame any more, or not answer.
    pub is_complete: bool,
    /// The type names of the components and resources that differ. Entities and rows have the name `entities`.
    pub differing: Vec<String>,
    /// The number of components and resources that were compared.
    pub compared: usize,
    /// The type names of components and kept resources that were not compared, because they are not plain.
    pub uncovered: Vec<String>,
    /// The type names of resources that a rollback does not restore. The cause may be one of them.
    pub unrestored: Vec<String>,
    /// What differs first, or `None` if the arrays are equal: then groups, the order of tables or extra rows differ.
    pub first: Option<FirstDifference>,
    /// The file that this player has written, if it writes any.
    pub file: Option<PathBuf>,
}

/// The first row that differs.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FirstDifference {
    /// What kind of array differs, if both programs know it.
    pub part: Option<ArrayPart>,
    /// The type name of the component or resource, or what else differs.
    pub name: String,
    /// The entity, if both players have the same one in the row.
    pub entity: Option<Entity>,
    /// The type names of the components of the table, if there is one.
    pub table: Vec<String>,
    /// The row of the table or storage.
    pub row: u32,
    /// The field that differs first, if it is known: the names of the field and of those around it.
    pub field: Option<String>,
    /// The values of the field, if it is a number, `bool`, `char` or entity.
    pub values: Option<[ScalarValue; 2]>,
    /// The bytes of the row. `None` says that a player does not have it.
    pub bytes: [Option<Vec<u8>>; 2],
    /// The number of chunks of 128 rows of the array that differ.
    pub chunks: usize,
}

impl DesyncReport {
    /// Makes a report of a finding. The world is the one of this machine.
    pub(crate) fn new(finding: Finding, world: &World, file: Option<PathBuf>) -> DesyncReport {
        let players = finding.players.map(|player| player as usize);
        let is_swapped = players[0] > players[1];
        let first = finding.place.map(|place| FirstDifference::new(place, is_swapped, world));
        DesyncReport {
            frame: finding.frame,
            last_equal: finding.last_equal,
            players: if is_swapped { [players[1], players[0]] } else { players },
            is_complete: finding.is_complete,
            differing: finding.differing,
            compared: finding.compared as usize,
            uncovered: finding.uncovered,
            unrestored: finding.unrestored,
            first,
            file,
        }
    }
}

impl FirstDifference {
    fn new(place: FoundPlace, is_swapped: bool, world: &World) -> FirstDifference {
        let mut rows = place.values;
        if is_swapped {
            rows.swap(0, 1);
        }
        let entity_of = |row: &Option<Row>| row.as_ref().and_then(|row| Entity::from_bits(row.entity?));
        let entity = entity_of(&rows[0]).filter(|entity| entity_of(&rows[1]).is_none_or(|other| other == *entity));
        let entity = entity.or_else(|| entity_of(&rows[1]).filter(|_| entity_of(&rows[0]).is_none()));
        let bytes = rows.map(|row| row.map(|row| row.bytes));
        let part = part_of(place.key.part);
        let field = match &bytes {
            [Some(a), Some(b)] if part == Some(ArrayPart::Values) => {
                field_of(&place.name, place.key.lane, [a, b], world)
            }
            _ => None,
        };
        let (field, values) = field.map_or((None, None), |(field, values)| (Some(field), values));
        FirstDifference {
            part,
            name: name_of(part, place.name),
            entity,
            table: place.table,
            row: place.row,
            field,
            values,
            bytes,
            chunks: place.chunks_differing as usize,
        }
    }
}

/// Returns what a part is called in a report.
fn name_of(part: Option<ArrayPart>, name: String) -> String {
    match part {
        Some(ArrayPart::Entities) => "live entities".into(),
        Some(ArrayPart::FreeSlots) => "free slots".into(),
        Some(ArrayPart::Rows) => "rows of a table".into(),
        _ => name,
    }
}

/// Returns the first field in which two values differ, and its values.
fn field_of(
    name: &str,
    lane: u32,
    [first, second]: [&[u8]; 2],
    world: &World,
) -> Option<(String, Option<[ScalarValue; 2]>)> {
    let offset = first.iter().zip(second).position(|(a, b)| a != b)?;
    let component: ComponentId = world.components().iter().find(|(_, info)| info.name() == name)?.0;
    let path = FieldPath::at_byte(world.components(), component, lane as usize, offset).ok()?;
    let values = path.read(first).zip(path.read(second)).map(|(first, second)| [first, second]);
    Some((path.as_str().into(), values))
}

/// Writes bytes as hexadecimal numbers, at most 64 of them.
struct Hex<'a>(Option<&'a [u8]>);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(bytes) = self.0 else { return write!(f, "absent") };
        for (at, byte) in bytes.iter().take(64).enumerate() {
            write!(f, "{}{byte:02x}", if at > 0 && at % 4 == 0 { " " } else { "" })?;
        }
        if bytes.len() > 64 { write!(f, " ...") } else { Ok(()) }
    }
}

impl fmt::Display for DesyncReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b] = self.players;
        writeln!(f, "frame {}, players {a} and {b} differ:", self.frame)?;
        match &self.first {
            Some(first) => {
                write!(f, "  ")?;
                if let Some(entity) = first.entity {
                    write!(f, "entity {entity} ")?;
                }
                if first.part == Some(ArrayPart::Keys) {
                    write!(f, "has or lacks ")?;
                }
                write!(f, "{}", first.name)?;
                if let Some(field) = first.field.as_ref().filter(|field| !field.is_empty()) {
                    write!(f, ".{field}")?;
                }
                if let Some([ours, theirs]) = &first.values {
                    write!(f, "  {ours} / {theirs}")?;
                }
                let [ours, theirs] = first.bytes.each_ref().map(|bytes| Hex(bytes.as_deref()));
                writeln!(f, "\n  row {}, bytes {ours} / {theirs}", first.row)?;
                if !first.table.is_empty() {
                    writeln!(f, "  table of {}", first.table.join(", "))?;
                }
                writeln!(
                    f,
                    "  in {} chunks of the array, and {} of {} components",
                    first.chunks,
                    self.differing.len(),
                    self.compared
                )?;
            }
            None if self.is_complete => writeln!(f, "  the order of tables, groups or extra rows")?,
            None => writeln!(f, "  where is not known: a player does not have the frame any more, or does not answer")?,
        }
        match self.last_equal {
            Some(frame) => writeln!(f, "  last equal: frame {frame}")?,
            None => writeln!(f, "  last equal: not known, the frames before are not kept")?,
        }
        let lists = [
            ("differing", &self.differing),
            ("not compared", &self.uncovered),
            ("resources that are not restored", &self.unrestored),
        ];
        for (what, list) in lists.iter().filter(|(_, list)| !list.is_empty()) {
            writeln!(f, "  {what}: {}", list.join(", "))?;
        }
        match &self.file {
            Some(file) => writeln!(f, "  written to {}", file.display()),
            None => Ok(()),
        }
    }
}

impl std::error::Error for DesyncReport {}
