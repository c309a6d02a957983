//! [`EntityLog`]: which entities were born, moved and ended between two frames.

use super::entity_lists::EntityList;
use super::error::RecordError;
use super::run_file::RunFile;
use crate::names::ENTITY;
use arrow_array::builder::StringDictionaryBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, UInt64Type};
use arrow_array::{ArrayRef, RecordBatch, StringArray, UInt32Array, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use phalanx::Entity;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Display;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// The folder of the files.
pub(super) const FOLDER: &str = "entity";

/// What has happened to an entity since the frame that was recorded before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// Nothing: in the first frame of a part, all entities have a row.
    Alive,
    Born,
    /// It is in the table of another archetype.
    Moved,
    Ended,
}

impl Event {
    fn name(self) -> &'static str {
        match self {
            Event::Alive => "alive",
            Event::Born => "born",
            Event::Moved => "moved",
            Event::Ended => "ended",
        }
    }
}

/// Where an entity was last seen.
#[derive(Clone, Copy, Debug)]
struct Seen {
    entity: Option<Entity>,
    archetype: u32,
    /// The frame in which its table was last looked through.
    frame: Option<u32>,
}

/// The entities of the last frame.
#[derive(Default)]
pub(super) struct EntityLog {
    /// By the index of the entity.
    seen: Vec<Seen>,
    names: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, u32>,
    lists: BTreeMap<u32, EntityList>,
    /// The entities, what happened, and the archetype: the rows of a frame.
    rows: Vec<(u64, Event, u32)>,
}

/// Returns the columns of the files.
pub(super) fn schema() -> SchemaRef {
    let text = || DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    Arc::new(Schema::new(vec![
        Field::new("frame", DataType::UInt32, false),
        Field::new(ENTITY, DataType::UInt64, false),
        Field::new("event", text(), false),
        Field::new("archetype", text(), false),
    ]))
}

impl EntityLog {
    /// Reads the entities that there were at the end of the last part.
    pub(super) fn resume(folder: &Path, run: &RunFile) -> Result<EntityLog, RecordError> {
        let mut log = EntityLog::default();
        let is_own = |file: &str| file.strip_prefix(FOLDER).is_some_and(|rest| rest.starts_with('/'));
        let Some(part) = run.parts.iter().filter(|part| is_own(&part.file)).max_by_key(|part| part.first) else {
            return Ok(log);
        };
        let path = folder.join(&part.file);
        let file = File::open(&path).map_err(RecordError::file("read", &path))?;
        let damaged = |error: &dyn Display| RecordError::damaged(&path, error);
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).and_then(|builder| builder.build());
        let mut alive: HashMap<u64, Arc<str>> = HashMap::new();
        for batch in reader.map_err(|error| damaged(&error))? {
            let batch = batch.map_err(|error| damaged(&error))?;
            if batch.schema().fields() != schema().fields() {
                return Err(damaged(&"it has other columns"));
            }
            let entities = batch.column(1).as_primitive::<UInt64Type>();
            let text = |column: usize| batch.column(column).as_dictionary::<Int32Type>().downcast_dict::<StringArray>();
            let Some((events, archetypes)) = text(2).zip(text(3)) else { return Err(damaged(&"texts are missing")) };
            let rows = entities.values().iter().zip(events.into_iter().zip(archetypes));
            for (entity, (event, archetype)) in rows {
                match event {
                    Some("ended") => drop(alive.remove(entity)),
                    _ => drop(alive.insert(*entity, archetype.unwrap_or_default().into())),
                }
            }
        }
        let mut lists: BTreeMap<u32, Vec<Entity>> = BTreeMap::new();
        for (bits, archetype) in alive {
            let Some(entity) = Entity::from_bits(bits) else {
                return Err(damaged(&"a number is not that of an entity"));
            };
            let number = log.number(&archetype);
            *log.seen_mut(entity) = Seen { entity: Some(entity), archetype: number, frame: None };
            lists.entry(number).or_default().push(entity);
        }
        log.lists = lists.into_iter().map(|(number, list)| (number, Arc::new(list))).collect();
        Ok(log)
    }

    fn number(&mut self, archetype: &Arc<str>) -> u32 {
        if let Some(number) = self.numbers.get(archetype) {
            return *number;
        }
        let number = self.names.len() as u32;
        self.names.push(archetype.clone());
        self.numbers.insert(archetype.clone(), number);
        number
    }

    fn seen_mut(&mut self, entity: Entity) -> &mut Seen {
        let index = entity.index() as usize;
        if index >= self.seen.len() {
            self.seen.resize(index + 1, Seen { entity: None, archetype: 0, frame: None });
        }
        &mut self.seen[index]
    }

    /// Compares the entities of all tables with those of the frame before. Returns the rows of the frame, if there are any.
    pub(super) fn frame(
        &mut self,
        frame: u32,
        tables: Vec<(Arc<str>, EntityList)>,
        is_first_of_part: bool,
    ) -> Result<Option<RecordBatch>, RecordError> {
        let mut lists: BTreeMap<u32, EntityList> = BTreeMap::new();
        for (archetype, list) in tables {
            let number = self.number(&archetype);
            // Several tables have one name if they differ in components without tables.
            match lists.get_mut(&number) {
                None => drop(lists.insert(number, list)),
                Some(before) => *before = Arc::new(before.iter().chain(list.iter()).copied().collect()),
            }
        }
        let before = std::mem::take(&mut self.lists);
        let is_changed = |number: &u32, list: &EntityList| before.get(number).is_none_or(|before| before != list);
        self.rows.clear();
        for (number, list) in lists.iter().filter(|(number, list)| is_changed(number, list)) {
            list.iter().for_each(|entity| self.look(*entity, *number, frame));
        }
        for (number, list) in before.iter().filter(|(number, list)| lists.get(number).is_none_or(|now| now != *list)) {
            list.iter().for_each(|entity| self.miss(*entity, *number, frame));
        }
        self.rows.sort_unstable_by_key(|(entity, ..)| *entity);
        if is_first_of_part {
            let events = self.rows.len();
            for (number, list) in &lists {
                for entity in list.iter() {
                    let bits = entity.to_bits();
                    if self.rows[..events].binary_search_by_key(&bits, |(entity, ..)| *entity).is_err() {
                        self.rows.push((bits, Event::Alive, *number));
                    }
                }
            }
            self.rows.sort_unstable_by_key(|(entity, ..)| *entity);
        }
        self.lists = lists;
        if self.rows.is_empty() { Ok(None) } else { self.batch(frame).map(Some) }
    }

    /// Notes an entity of a table that has changed.
    fn look(&mut self, entity: Entity, archetype: u32, frame: u32) {
        let seen =
            std::mem::replace(self.seen_mut(entity), Seen { entity: Some(entity), archetype, frame: Some(frame) });
        match seen.entity {
            Some(before) if before == entity => {
                if seen.archetype != archetype {
                    self.rows.push((entity.to_bits(), Event::Moved, archetype));
                }
            }
            before => {
                if let Some(before) = before {
                    self.rows.push((before.to_bits(), Event::Ended, seen.archetype));
                }
                self.rows.push((entity.to_bits(), Event::Born, archetype));
            }
        }
    }

    /// Notes that an entity which was in a table has ended, unless it was seen in this frame.
    fn miss(&mut self, entity: Entity, archetype: u32, frame: u32) {
        let seen = self.seen_mut(entity);
        if seen.entity == Some(entity) && seen.frame != Some(frame) {
            seen.entity = None;
            self.rows.push((entity.to_bits(), Event::Ended, archetype));
        }
    }

    fn batch(&self, frame: u32) -> Result<RecordBatch, RecordError> {
        let mut events = StringDictionaryBuilder::<Int32Type>::new();
        let mut archetypes = StringDictionaryBuilder::<Int32Type>::new();
        for (_, event, archetype) in &self.rows {
            events.append_value(event.name());
            archetypes.append_value(&self.names[*archetype as usize]);
        }
        let columns: Vec<ArrayRef> = vec![
            Arc::new(UInt32Array::from(vec![frame; self.rows.len()])),
            Arc::new(UInt64Array::from_iter_values(self.rows.iter().map(|(entity, ..)| *entity))),
            Arc::new(events.finish()),
            Arc::new(archetypes.finish()),
        ];
        let wrong = |error| RecordError::World { frame: frame.into(), problem: format!("{error}") };
        RecordBatch::try_new(schema(), columns).map_err(wrong)
    }
}
