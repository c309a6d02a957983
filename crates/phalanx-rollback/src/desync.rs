//! [`Desync`]: two simulations of a frame that differ.

use core::fmt;
use phalanx::World;
use phalanx::reflect::{FieldPath, ScalarValue};
use phalanx::timeline::{Checkpoint, Difference, FrameSums, differences};

/// The number of differences that a report has at most.
const MOST: usize = 64;

/// Two simulations of one frame that differ: what differs first, and since when.
#[derive(Clone, Debug)]
pub struct Desync {
    /// The first frame that differs.
    pub frame: u64,
    /// The last frame that was equal.
    pub last_equal: u64,
    /// What differs, by entity; at most 64 differences.
    pub differences: Vec<Difference>,
    /// The field that differs first, if the first difference is one of values whose fields are known.
    pub field: Option<FieldDifference>,
    /// The components and resources whose sums differ.
    pub differing: Vec<&'static str>,
    /// The number of components that were compared.
    pub components: usize,
    /// Components and kept resources that were not compared, because they are not plain.
    pub uncovered: Vec<&'static str>,
    /// Resources that a rollback does not restore. The cause may be one of them.
    pub unrestored: Vec<&'static str>,
    /// The systems that may write what differs first, if the schedule is known.
    pub writers: Vec<String>,
}

impl Desync {
    /// Compares two simulations of a frame. The world has their components.
    pub(crate) fn new(
        frame: u64,
        states: [(&Checkpoint, &FrameSums); 2],
        world: &World,
        unrestored: Vec<&'static str>,
    ) -> Desync {
        let [(first, first_sums), (second, second_sums)] = states;
        let differences = differences(first, second, MOST);
        Desync {
            frame,
            last_equal: frame.saturating_sub(1),
            field: differences.first().and_then(|difference| FieldDifference::of(difference, world)),
            differences,
            differing: first_sums.differing(second_sums),
            components: first_sums.components().len().max(second_sums.components().len()),
            uncovered: first_sums.uncovered().to_vec(),
            unrestored,
            writers: Vec::new(),
        }
    }

    /// Adds the systems of a schedule that may write what differs first.
    #[cfg(feature = "schedule")]
    pub fn add_writers(&mut self, schedule: &phalanx_schedule::Schedule) {
        if let Some(name) = self.differences.first().and_then(Difference::name) {
            self.writers.extend(schedule.writers(name).map(String::from));
        }
    }
}

/// A field of a component that differs.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldDifference {
    /// The names of the field and of those around it, with dots between them.
    pub path: String,
    /// Its values in both simulations, if it is a number, `bool`, `char` or an entity.
    pub values: Option<[ScalarValue; 2]>,
}

impl FieldDifference {
    fn of(difference: &Difference, world: &World) -> Option<FieldDifference> {
        let Difference::Value { component, lane, offset, bytes, .. } = difference else { return None };
        let path = FieldPath::at_byte(world.components(), *component, *lane, *offset).ok()?;
        let [first, second] = bytes.each_ref().map(|bytes| path.read(bytes));
        let values = first.zip(second).map(|(first, second)| [first, second]);
        Some(FieldDifference { path: path.as_str().into(), values })
    }
}

impl fmt::Display for FieldDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "field {}", self.path)?;
        match &self.values {
            Some([first, second]) => write!(f, ": {first} / {second}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Desync {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "frame {}, first run and second run differ:", self.frame)?;
        if let Some(first) = self.differences.first() {
            write!(f, "  {first}")?;
            if let Some(field) = &self.field {
                write!(f, "\n  {field}")?;
            }
            let more = if self.differences.len() == MOST { " or more" } else { "" };
            writeln!(
                f,
                "\n  first of {}{more}, in {} of {} components",
                self.differences.len(),
                self.differing.len(),
                self.components
            )?;
        }
        writeln!(f, "  last equal: frame {}", self.last_equal)?;
        let lists = [
            ("differing", &self.differing),
            ("not compared", &self.uncovered),
            ("resources that are not restored", &self.unrestored),
        ];
        for (what, list) in lists.iter().filter(|(_, list)| !list.is_empty()) {
            writeln!(f, "  {what}: {}", list.join(", "))?;
        }
        match self.writers.is_empty() {
            true => Ok(()),
            false => writeln!(f, "  written by: {}", self.writers.join(", ")),
        }
    }
}

impl core::error::Error for Desync {}
