//! [`CapturedTable`]: the values of a component in one frame, copied for the thread that writes.

use super::change_log;
use super::entity_lists::{EntityList, EntityLists, ListedTable};
use crate::component_table::{ComponentColumns, Origin, Part, Source, push_text};
use crate::error::TableError;
use crate::lanes::{Gather, RawRows};
use arrow_array::builder::StringBuilder;
use arrow_array::{ArrayRef, RecordBatch, StructArray, UInt32Array, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use phalanx::reflect::{FieldPath, Kind};
use phalanx::snapshot::Registry;
use phalanx::{ComponentId, World};
use std::sync::Arc;

/// How a component is captured.
pub(super) struct CapturePlan {
    /// The name of the table.
    pub(super) name: String,
    columns: ComponentColumns,
    /// The fields that are copied. One may be the whole component, if that is in one piece.
    paths: Vec<FieldPath>,
    is_whole: bool,
    /// The columns of a file: the frame, and those of a batch. A file of changes has one more.
    schema: SchemaRef,
    has_changes: bool,
}

impl CapturePlan {
    pub(super) fn new(
        world: &World,
        registry: &Registry,
        name: String,
        id: ComponentId,
        has_changes: bool,
    ) -> Result<Self, TableError> {
        let columns = ComponentColumns::new(world, Some(registry), id)?;
        let whole = FieldPath::new(world.components(), id, "").ok().filter(|path| {
            let is_field = |source: &Source| matches!(source, Source::Field(_));
            !path.is_split() && RawRows::takes(path.shape()) && columns.sources.iter().all(is_field)
        });
        let whole = whole.filter(|_| !columns.sources.is_empty());
        let is_whole = whole.is_some();
        let mut paths: Vec<_> = whole.into_iter().collect();
        if !is_whole {
            columns.sources.iter().for_each(|source| leaves(source, &mut paths));
        }
        let frame = Arc::new(Field::new("frame", DataType::UInt32, false));
        let fields: Vec<_> = [frame].into_iter().chain(columns.schema.fields().iter().cloned()).collect();
        let full = Schema::new_with_metadata(fields, columns.schema.metadata().clone());
        let schema = if has_changes { change_log::schema(&full) } else { Arc::new(full) };
        Ok(CapturePlan { name, columns, paths, is_whole, schema, has_changes })
    }

    /// Returns the folder of the files.
    pub(super) fn folder(&self) -> String {
        format!("{}={}", if self.has_changes { "changes" } else { "component" }, self.name)
    }

    /// Returns the columns of a file.
    pub(super) fn file_schema(&self) -> &SchemaRef {
        &self.schema
    }

    pub(super) fn component(&self) -> ComponentId {
        self.columns.id
    }
}

/// Finds the fields of which a column consists, in the order in which the column is assembled of them.
fn leaves(source: &Source, paths: &mut Vec<FieldPath>) {
    match source {
        Source::Field(path) => paths.push(path.clone()),
        Source::Split(fields) => fields.iter().for_each(|(_, source)| leaves(source, paths)),
        Source::Json(_) => {}
    }
}

/// The values of a component in one frame.
pub(super) struct CapturedTable {
    plan: Arc<CapturePlan>,
    entities: Vec<EntityList>,
    pieces: Vec<Piece>,
    json: Vec<ArrayRef>,
}

enum Piece {
    /// Rows as they lie in memory.
    Raw(RawRows),
    Array(ArrayRef),
}

/// Memory that is used again for the next frames.
#[derive(Default)]
pub(super) struct Spares {
    rows: Vec<RawRows>,
}

impl Spares {
    /// Takes the memory of a table that was written.
    pub(super) fn put(&mut self, table: CapturedTable) {
        for piece in table.pieces {
            if let Piece::Raw(rows) = piece {
                self.rows.push(rows);
            }
        }
    }

    /// Returns the smallest memory that is large enough, or else the largest.
    fn rows(&mut self, bytes: usize) -> RawRows {
        let fits = |at: &usize| self.rows[*at].capacity() >= bytes;
        let best = (0..self.rows.len()).filter(fits).min_by_key(|at| self.rows[*at].capacity());
        let best = best.or_else(|| (0..self.rows.len()).max_by_key(|at| self.rows[*at].capacity()));
        let mut rows = best.map(|at| self.rows.swap_remove(at)).unwrap_or_default();
        rows.clear();
        rows
    }
}

impl CapturedTable {
    /// Copies the values of a component. Returns `None` if no entity has it.
    pub(super) fn new(
        world: &World,
        registry: &Registry,
        plan: &Arc<CapturePlan>,
        tables: &[ListedTable<'_>],
        lists: &mut EntityLists,
        spares: &mut Spares,
    ) -> Result<Option<CapturedTable>, TableError> {
        let id = plan.component();
        let mut parts = Vec::new();
        let mut entities = Vec::new();
        match world.sparse_stores().find(|store| store.component() == id) {
            Some(store) => {
                entities.push(lists.store(&store));
                parts.push(Part::Store(store));
            }
            None => {
                for listed in tables.iter().filter(|listed| listed.table.signature().has(id)) {
                    entities.push(listed.entities.clone());
                    parts.push(Part::Table(listed.table));
                }
            }
        }
        let count: usize = entities.iter().map(|list| list.len()).sum();
        if count == 0 {
            return Ok(None);
        }
        let mut pieces = Vec::with_capacity(plan.paths.len());
        for path in &plan.paths {
            let columns = parts.iter().flat_map(|part| part.columns(path));
            if RawRows::takes(path.shape()) {
                let mut rows = spares.rows(count * path.shape().size);
                rows.reserve(count * path.shape().size);
                columns.for_each(|column| rows.push(&column));
                pieces.push(Piece::Raw(rows));
            } else {
                let mut gather = Gather::new(path.shape()).ok_or_else(|| too_long(plan, path))?;
                columns.for_each(|column| gather.push(&column, 0..column.len()));
                pieces.push(Piece::Array(gather.finish().ok_or_else(|| too_long(plan, path))?));
            }
        }
        let origin = Origin { world, registry: Some(registry), frozen: None };
        let mut json: Vec<ArrayRef> = Vec::new();
        for source in &plan.columns.sources {
            if let Source::Json(path) = source {
                let mut texts = StringBuilder::new();
                for entity in entities.iter().flat_map(|list| list.iter()) {
                    push_text(&mut texts, plan.columns.json(&origin, *entity, path)?.as_deref(), &path.join("."))?;
                }
                json.push(Arc::new(texts.finish()));
            }
        }
        Ok(Some(CapturedTable { plan: plan.clone(), entities, pieces, json }))
    }

    pub(super) fn plan(&self) -> &Arc<CapturePlan> {
        &self.plan
    }

    /// Returns the rows in the order of their entities.
    pub(super) fn batch(&self) -> Result<RecordBatch, TableError> {
        let mut arrays: Vec<Option<ArrayRef>> = Vec::new();
        for piece in &self.pieces {
            match piece {
                Piece::Raw(rows) => arrays.push(rows.gather()),
                Piece::Array(array) => arrays.push(Some(array.clone())),
            }
        }
        let is_struct = |path: &FieldPath| matches!(path.shape().kind, Kind::Struct(_));
        if self.plan.is_whole && self.plan.paths.iter().any(is_struct) {
            let whole = arrays.pop().flatten();
            let parts = whole.as_ref().and_then(|whole| whole.as_any().downcast_ref::<StructArray>());
            arrays = parts.map_or(&[][..], |parts| parts.columns()).iter().map(|part| Some(part.clone())).collect();
        }
        let (mut arrays, mut json) = (arrays.into_iter(), self.json.iter().cloned());
        let entities: Vec<u64> =
            self.entities.iter().flat_map(|list| list.iter()).map(|entity| entity.to_bits()).collect();
        let order = (!entities.is_sorted()).then(|| {
            let mut order: Vec<u32> = (0..entities.len() as u32).collect();
            order.sort_unstable_by_key(|at| entities[*at as usize]);
            UInt32Array::new(order.into(), None)
        });
        let mut columns: Vec<ArrayRef> = vec![Arc::new(UInt64Array::new(entities.into(), None))];
        for (at, source) in self.plan.columns.sources.iter().enumerate() {
            let array = match source {
                Source::Json(_) => json.next(),
                source => source.assemble(&mut arrays),
            };
            columns.push(
                array.ok_or_else(|| crate::component_table::too_long(self.plan.columns.schema.field(at + 1).name()))?,
            );
        }
        if let Some(order) = order {
            for column in &mut columns {
                *column = arrow_select::take::take(column, &order, None)?;
            }
        }
        Ok(RecordBatch::try_new(self.plan.columns.schema.clone(), columns)?)
    }
}

fn too_long(plan: &CapturePlan, path: &FieldPath) -> TableError {
    crate::component_table::too_long(&format!("{}.{}", plan.name, path.as_str()))
}
