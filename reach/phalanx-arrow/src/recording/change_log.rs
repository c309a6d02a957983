//! [`ChangeLog`]: which rows of a component differ from those of the frame before.

use super::capture::CapturePlan;
use crate::names::ENTITY;
use arrow_array::builder::StringDictionaryBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray};
use arrow_buffer::Buffer;
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema, SchemaRef};
use arrow_select::interleave::interleave;
use std::cmp::Ordering;
use std::sync::Arc;

/// What has happened to a row since the frame that was recorded before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    /// It is in the first frame of a part, which has all rows.
    State,
    Added,
    Changed,
    /// It is gone. The row has its last values.
    Removed,
}

impl Op {
    fn name(self) -> &'static str {
        match self {
            Op::State => "state",
            Op::Added => "added",
            Op::Changed => "changed",
            Op::Removed => "removed",
        }
    }
}

/// The rows of a component in the last frame, in the order of their entities.
pub(super) struct ChangeLog {
    plan: Arc<CapturePlan>,
    last: RecordBatch,
}

/// Returns the columns of a file of changes: the frame, the entity, the operation, and the fields.
pub(super) fn schema(full: &Schema) -> SchemaRef {
    let mut name = "op".to_owned();
    while full.column_with_name(&name).is_some() {
        name.push('_');
    }
    let text = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    let mut fields: Vec<FieldRef> = full.fields().iter().cloned().collect();
    let after_entity = fields.iter().position(|field| field.name() == ENTITY).map_or(0, |at| at + 1);
    fields.insert(after_entity, Arc::new(Field::new(name, text, false)));
    Arc::new(Schema::new_with_metadata(fields, full.metadata().clone()))
}

impl ChangeLog {
    /// Begins with the rows of the first frame of a part. Returns these rows, too.
    pub(super) fn new(
        plan: &Arc<CapturePlan>,
        now: RecordBatch,
        is_first_of_part: bool,
    ) -> Result<(ChangeLog, RecordBatch), ArrowError> {
        let op = if is_first_of_part { Op::State } else { Op::Added };
        let rows: Vec<_> = (0..now.num_rows()).map(|row| (op, 0, row)).collect();
        let batch = changed_rows(plan, [&now, &now], &rows)?;
        Ok((ChangeLog { plan: plan.clone(), last: now }, batch))
    }

    /// Returns the rows that differ from the last frame, if there are any.
    pub(super) fn frame(&mut self, now: RecordBatch) -> Result<Option<RecordBatch>, ArrowError> {
        let rows = compare(&self.last, &now);
        let batch = match rows.is_empty() {
            true => None,
            false => Some(changed_rows(&self.plan, [&self.last, &now], &rows)?),
        };
        self.last = now;
        Ok(batch)
    }

    /// Returns the rows of a frame in which the component has none, if it had some.
    pub(super) fn end(self) -> Result<Option<RecordBatch>, ArrowError> {
        let rows: Vec<_> = (0..self.last.num_rows()).map(|row| (Op::Removed, 0, row)).collect();
        if rows.is_empty() { Ok(None) } else { changed_rows(&self.plan, [&self.last, &self.last], &rows).map(Some) }
    }

    pub(super) fn plan(&self) -> &CapturePlan {
        &self.plan
    }
}

/// Returns the rows that differ, in the order of their entities: what happened, and which row of which batch has the values.
fn compare(last: &RecordBatch, now: &RecordBatch) -> Vec<(Op, usize, usize)> {
    let [before, after] = [last, now].map(|batch| batch.column(0).as_primitive::<UInt64Type>().values().as_ref());
    let mut pairs = Pairs { before: Vec::new(), after: Vec::new() };
    let mut rows = Vec::new();
    let (mut old, mut new) = (0, 0);
    while let (Some(a), Some(b)) = (before.get(old), after.get(new)) {
        match a.cmp(b) {
            Ordering::Less => {
                rows.push((Op::Removed, 0, old));
                old += 1;
            }
            Ordering::Greater => {
                rows.push((Op::Added, 1, new));
                new += 1;
            }
            Ordering::Equal => {
                pairs.before.push(old);
                pairs.after.push(new);
                (old, new) = (old + 1, new + 1);
            }
        }
    }
    rows.extend((old..before.len()).map(|row| (Op::Removed, 0, row)));
    rows.extend((new..after.len()).map(|row| (Op::Added, 1, row)));
    let mut differ = vec![false; pairs.before.len()];
    for (last, now) in last.columns().iter().zip(now.columns()).skip(1) {
        mark(last, now, &pairs, &mut differ);
    }
    let changed = pairs.after.iter().zip(&differ).filter(|(_, differs)| **differs);
    rows.extend(changed.map(|(row, _)| (Op::Changed, 1, *row)));
    rows.sort_unstable_by_key(|(_, batch, row)| if *batch == 0 { before[*row] } else { after[*row] });
    rows
}

/// Rows that belong to the same entity in two batches.
struct Pairs {
    before: Vec<usize>,
    after: Vec<usize>,
}

impl Pairs {
    fn iter(&self) -> impl Iterator<Item = (usize, usize)> {
        self.before.iter().copied().zip(self.after.iter().copied())
    }
}

/// Marks the pairs whose values differ. Floats are compared by their bits.
fn mark(last: &ArrayRef, now: &ArrayRef, pairs: &Pairs, differ: &mut [bool]) {
    if let (Some(a), Some(b)) = (Bytes::of(last), Bytes::of(now)) {
        return a.mark(&b, pairs, differ);
    }
    match last.data_type() {
        DataType::Struct(_) => {
            for (last, now) in last.as_struct().columns().iter().zip(now.as_struct().columns()) {
                mark(last, now, pairs, differ);
            }
        }
        DataType::FixedSizeList(_, len) => {
            let len = *len as usize;
            let (last, now) = (last.as_fixed_size_list().values(), now.as_fixed_size_list().values());
            for at in 0..len {
                let element = |rows: &Vec<usize>| rows.iter().map(|row| row * len + at).collect();
                let elements = Pairs { before: element(&pairs.before), after: element(&pairs.after) };
                mark(last, now, &elements, differ);
            }
        }
        DataType::Boolean => {
            let (last, now) = (last.as_boolean(), now.as_boolean());
            mark_by(pairs, differ, |a, b| last.value(a) != now.value(b));
        }
        DataType::Dictionary(..) => {
            let (last, now) = (last.as_dictionary::<Int32Type>(), now.as_dictionary::<Int32Type>());
            let [keys, new_keys] = [last, now].map(|array| array.keys().values());
            let (names, new_names) = (last.values().as_string::<i32>(), now.values().as_string::<i32>());
            mark_by(pairs, differ, |a, b| names.value(keys[a] as usize) != new_names.value(new_keys[b] as usize));
        }
        _ => {
            let (last, now) = (last.as_string::<i32>(), now.as_string::<i32>());
            mark_by(pairs, differ, |a, b| text(last, a) != text(now, b));
        }
    }
}

fn text(array: &StringArray, row: usize) -> Option<&str> {
    array.is_valid(row).then(|| array.value(row))
}

fn mark_by(pairs: &Pairs, differ: &mut [bool], is_other: impl Fn(usize, usize) -> bool) {
    for ((before, after), differs) in pairs.iter().zip(differ) {
        *differs |= is_other(before, after);
    }
}

/// The bytes of an array whose values are numbers, or lists of a fixed number of them.
struct Bytes {
    bytes: Buffer,
    width: usize,
}

impl Bytes {
    fn of(array: &ArrayRef) -> Option<Bytes> {
        match array.data_type() {
            DataType::FixedSizeList(_, len) => {
                let elements = Bytes::of(array.as_fixed_size_list().values())?;
                Some(Bytes { width: elements.width * *len as usize, ..elements })
            }
            DataType::FixedSizeBinary(width) => {
                let bytes = array.as_fixed_size_binary().values().clone();
                Some(Bytes { bytes, width: *width as usize })
            }
            other => {
                let width = other.primitive_width()?;
                let data = array.to_data();
                let bytes = data.buffers().first()?.slice_with_length(data.offset() * width, data.len() * width);
                Some(Bytes { bytes, width })
            }
        }
    }

    fn mark(&self, other: &Bytes, pairs: &Pairs, differ: &mut [bool]) {
        match self.width {
            1 => self.mark_wide::<1>(other, pairs, differ),
            2 => self.mark_wide::<2>(other, pairs, differ),
            4 => self.mark_wide::<4>(other, pairs, differ),
            8 => self.mark_wide::<8>(other, pairs, differ),
            12 => self.mark_wide::<12>(other, pairs, differ),
            16 => self.mark_wide::<16>(other, pairs, differ),
            width => {
                mark_by(pairs, differ, |a, b| self.bytes[a * width..][..width] != other.bytes[b * width..][..width])
            }
        }
    }

    fn mark_wide<const W: usize>(&self, other: &Bytes, pairs: &Pairs, differ: &mut [bool]) {
        let (last, now) = (self.bytes.as_chunks::<W>().0, other.bytes.as_chunks::<W>().0);
        mark_by(pairs, differ, |a, b| last[a] != now[b]);
    }
}

/// Returns rows of two batches with their operations: the columns of a file but for that of the frame.
fn changed_rows(
    plan: &CapturePlan,
    batches: [&RecordBatch; 2],
    rows: &[(Op, usize, usize)],
) -> Result<RecordBatch, ArrowError> {
    let indices: Vec<_> = rows.iter().map(|(_, batch, row)| (*batch, *row)).collect();
    let mut ops = StringDictionaryBuilder::<Int32Type>::new();
    rows.iter().for_each(|(op, ..)| drop(ops.append(op.name())));
    let mut columns = Vec::with_capacity(batches[0].num_columns() + 1);
    for column in 0..batches[0].num_columns() {
        columns.push(interleave(&batches.map(|batch| batch.column(column).as_ref()), &indices)?);
    }
    columns.insert(1, Arc::new(ops.finish()));
    let fields: Vec<FieldRef> = plan.file_schema().fields().iter().skip(1).cloned().collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
}
