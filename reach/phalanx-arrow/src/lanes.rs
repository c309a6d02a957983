//! Memory of worlds as Arrow arrays: lent where the layout allows it, and gathered where not. All unsafe code of the crate.
//!
//! # Invariants
//!
//! - A [`FieldColumn`] has a value of its shape in each row, a stride apart, borrowed for as long as the column. Only
//!   [`reflect`](phalanx::reflect) makes them.
//! - What the shape of a value says is true, since [`Reflect`](phalanx::reflect::Reflect) is an unsafe trait.
//! - A [`Lender`] shares a world that no other code can change until all shares are gone. Nothing in it that is not opaque has interior
//!   mutability, by the contract of `Reflect`, and lanes move only while a world is borrowed exclusively. So the memory of
//!   its columns is constant, and lives until the last buffer over it is dropped.
#![allow(unsafe_code)]

use crate::shapes::{Fixed, fixed, has_data, inner};
use arrow_array::builder::BooleanBufferBuilder;
use arrow_array::types::*;
use arrow_array::*;
use arrow_buffer::{Buffer, MutableBuffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, Fields};
use phalanx::reflect::{Choice, FieldColumn, Kind, Scalar, Shape, TextFn};
use phalanx::{Entity, World};
use std::marker::PhantomData;
use std::ops::Range;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

/// A world that does not change while it is shared.
#[derive(Clone)]
pub(crate) struct Lender(Arc<AssertUnwindSafe<World>>);

impl Lender {
    pub(crate) fn new(world: World) -> Lender {
        Lender(Arc::new(AssertUnwindSafe(world)))
    }

    pub(crate) fn world(&self) -> &World {
        &self.0
    }

    /// Returns the number of shares, with those of buffers.
    pub(crate) fn shares(&self) -> usize {
        Arc::strong_count(&self.0)
    }

    /// Returns the world, if this is the only share.
    pub(crate) fn into_world(self) -> Result<World, Lender> {
        Arc::try_unwrap(self.0).map(|world| world.0).map_err(Lender)
    }

    /// Calls a function with the world, which can lend columns there.
    pub(crate) fn scope<R>(&self, f: impl for<'w> FnOnce(Scope<'w>) -> R) -> R {
        f(Scope { lender: self, brand: PhantomData })
    }
}

/// A shared world whose columns can be lent: [`Lender::scope`].
///
/// The lifetime belongs to one call, and is invariant. So a column with this lifetime is one of this world. It could only be another
/// one if that were borrowed forever, and thus never changed.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'w> {
    lender: &'w Lender,
    brand: PhantomData<fn(&'w ()) -> &'w ()>,
}

impl<'w> Scope<'w> {
    pub(crate) fn world(self) -> &'w World {
        self.lender.world()
    }

    /// Returns some rows of a column as an array over the memory of the world, if that is laid out as Arrow asks.
    ///
    /// # Panics
    ///
    /// Panics if the column does not have the rows.
    pub(crate) fn lend(self, column: &FieldColumn<'w>, rows: Range<usize>) -> Option<ArrayRef> {
        assert!(rows.start <= rows.end && rows.end <= column.len(), "rows that a column does not have");
        let fixed = fixed(column.shape())?;
        if column.stride() != column.shape().size {
            return None;
        }
        let len = rows.len() * column.stride();
        // SAFETY: the column is one of the world, by its lifetime. The rows exist, one after another, and have no padding, because
        // they are numbers. The owner keeps the world, which is not changed meanwhile.
        let buffer = unsafe {
            let first = column.ptr().add(rows.start * column.stride());
            Buffer::from_custom_allocation(first, len, self.lender.0.clone())
        };
        Some(fixed_array(column.shape(), fixed, buffer, rows.len()))
    }
}

/// Returns an array of numbers over their bytes, as lists if the shape is that of an array.
fn fixed_array(shape: &'static Shape, fixed: Fixed, bytes: Buffer, rows: usize) -> ArrayRef {
    match shape.inner().kind {
        Kind::Array(element, len) => {
            let values = fixed_array(element, fixed, bytes, rows * len);
            list_array(values, len, rows)
        }
        _ => number_array(fixed.scalar, bytes, rows),
    }
}

fn list_array(values: ArrayRef, len: usize, rows: usize) -> ArrayRef {
    let field = Arc::new(Field::new_list_field(values.data_type().clone(), false));
    match FixedSizeListArray::try_new_with_length(field, len as i32, values, None, rows) {
        Ok(list) => Arc::new(list),
        Err(error) => unreachable!("the values are those of the lists: {error}"),
    }
}

fn number_array(scalar: Scalar, bytes: Buffer, rows: usize) -> ArrayRef {
    fn of<T: ArrowPrimitiveType>(bytes: Buffer, rows: usize) -> ArrayRef {
        Arc::new(PrimitiveArray::<T>::new(ScalarBuffer::new(bytes, 0, rows), None))
    }
    match scalar {
        Scalar::U8 => of::<UInt8Type>(bytes, rows),
        Scalar::U16 => of::<UInt16Type>(bytes, rows),
        Scalar::U32 | Scalar::Char => of::<UInt32Type>(bytes, rows),
        Scalar::U64 | Scalar::Entity => of::<UInt64Type>(bytes, rows),
        Scalar::I8 => of::<Int8Type>(bytes, rows),
        Scalar::I16 => of::<Int16Type>(bytes, rows),
        Scalar::I32 => of::<Int32Type>(bytes, rows),
        Scalar::I64 => of::<Int64Type>(bytes, rows),
        Scalar::F32 => of::<Float32Type>(bytes, rows),
        Scalar::F64 => of::<Float64Type>(bytes, rows),
        Scalar::Usize if size_of::<usize>() == 8 => of::<UInt64Type>(bytes, rows),
        Scalar::Isize if size_of::<isize>() == 8 => of::<Int64Type>(bytes, rows),
        Scalar::Usize => of::<UInt32Type>(bytes, rows),
        Scalar::Isize => of::<Int32Type>(bytes, rows),
        _ => Arc::new(FixedSizeBinaryArray::new(16, bytes, None)),
    }
}

/// The number of rows of a block. What belongs to them is in the cache while the columns of a component are gathered.
pub(crate) const BLOCK: usize = 1024;

/// Values of one shape, copied from columns.
pub(crate) struct Gather {
    shape: &'static Shape,
    node: Node,
    rows: usize,
    /// A bit for each row, from the first null on.
    valid: Option<BooleanBufferBuilder>,
    overflow: bool,
}

enum Node {
    /// Numbers, or arrays of them: their bytes, with the number of bytes in a row.
    Fixed(Fixed, MutableBuffer),
    Bool(BooleanBufferBuilder),
    Entity(Vec<u64>),
    Choice(Choice, Vec<i32>),
    Text(TextFn, Vec<i32>, Vec<u8>),
    /// The fields with their offsets and names.
    Struct(Vec<(usize, String, Node)>),
    List(Elements),
}

/// The elements of arrays.
struct Elements {
    node: Box<Node>,
    /// The number of elements in a row.
    len: usize,
    /// The size of an element.
    size: usize,
    /// Where the value is within an element.
    offset: usize,
}

/// Rows of values: the address of the first, the distance between two, and their number.
#[derive(Clone, Copy)]
struct Rows {
    first: *const u8,
    stride: usize,
    len: usize,
}

impl Rows {
    /// Returns the addresses of the rows.
    ///
    /// # Safety
    ///
    /// There is a value in each row.
    unsafe fn addresses(self) -> impl Iterator<Item = *const u8> {
        // SAFETY: the rows are within one allocation, by the caller's contract.
        (0..self.len).map(move |row| unsafe { self.first.add(row * self.stride) })
    }
}

impl Gather {
    /// Creates an empty list of values. Returns `None` if the shape has a part that is not known, or no data at all.
    pub(crate) fn new(shape: &'static Shape) -> Option<Gather> {
        Some(Gather { shape, node: Node::new(shape)?, rows: 0, valid: None, overflow: false })
    }

    /// Reserves capacity for more rows.
    pub(crate) fn reserve(&mut self, rows: usize) {
        self.node.reserve(rows);
    }

    /// Adds rows of a column.
    ///
    /// # Panics
    ///
    /// Panics if the column does not have the rows, or values of another shape.
    pub(crate) fn push(&mut self, column: &FieldColumn<'_>, rows: Range<usize>) {
        assert!(rows.start <= rows.end && rows.end <= column.len(), "rows that a column does not have");
        assert!(std::ptr::eq(column.shape(), self.shape), "values of another shape");
        let (first, stride, len) = (column.ptr().as_ptr(), column.stride(), rows.len());
        // SAFETY: the rows exist, and have values of the shape, which are borrowed.
        unsafe { self.push_rows(Rows { first: first.add(rows.start * stride), stride, len }) };
    }

    /// Adds rows.
    ///
    /// # Safety
    ///
    /// There is a value of the shape in each row.
    unsafe fn push_rows(&mut self, rows: Rows) {
        // SAFETY: there are values of the shape, by the caller's contract.
        self.overflow |= !unsafe { self.node.push(rows) };
        self.rows += rows.len;
        if let Some(valid) = &mut self.valid {
            valid.append_n(rows.len, true);
        }
    }

    /// Adds a row without a value.
    pub(crate) fn push_null(&mut self) {
        let rows = self.rows;
        let valid = self.valid.get_or_insert_with(|| {
            let mut valid = BooleanBufferBuilder::new(rows + 1);
            valid.append_n(rows, true);
            valid
        });
        valid.append(false);
        self.node.push_default();
        self.rows += 1;
    }

    /// Returns the array. Returns `None` if a column of texts has more bytes than an `i32` can count.
    pub(crate) fn finish(self) -> Option<ArrayRef> {
        let nulls = self.valid.map(|mut valid| NullBuffer::new(valid.finish()));
        (!self.overflow).then(|| self.node.finish(self.rows, nulls))
    }
}

impl Node {
    fn new(shape: &'static Shape) -> Option<Node> {
        if let Some(fixed) = fixed(shape) {
            return Some(Node::Fixed(fixed, MutableBuffer::new(0)));
        }
        match shape.kind {
            Kind::Scalar(Scalar::Bool) => Some(Node::Bool(BooleanBufferBuilder::new(0))),
            Kind::Scalar(Scalar::Entity) => Some(Node::Entity(Vec::new())),
            Kind::Choice(choice) => Some(Node::Choice(choice, Vec::new())),
            Kind::Text(text) => Some(Node::Text(text, vec![0], Vec::new())),
            Kind::Struct(fields) => {
                let mut nodes = Vec::new();
                for field in fields.iter().filter(|field| has_data(field.shape)) {
                    let (offset, shape) = inner(field.shape);
                    nodes.push((field.offset + offset, crate::names::column(field.name), Node::new(shape)?));
                }
                (!nodes.is_empty()).then_some(Node::Struct(nodes))
            }
            Kind::Array(element, len) if len > 0 && i32::try_from(len).is_ok() => {
                let (offset, shape) = inner(element);
                Some(Node::List(Elements { offset, size: element.size, len, node: Box::new(Node::new(shape)?) }))
            }
            _ => None,
        }
    }

    fn reserve(&mut self, rows: usize) {
        match self {
            Node::Fixed(fixed, bytes) => bytes.reserve(rows * fixed.bytes),
            Node::Bool(bits) => bits.reserve(rows),
            Node::Entity(list) => list.reserve(rows),
            Node::Choice(_, list) | Node::Text(_, list, _) => list.reserve(rows),
            Node::Struct(fields) => fields.iter_mut().for_each(|(_, _, node)| node.reserve(rows)),
            Node::List(elements) => elements.node.reserve(rows * elements.len),
        }
    }

    /// Adds rows. Returns `false` if texts have become too long.
    ///
    /// # Safety
    ///
    /// There is a value of the node's shape in each row.
    unsafe fn push(&mut self, rows: Rows) -> bool {
        // SAFETY: there are values in the rows, by the caller's contract. The offsets of fields and elements are those of the
        // shape.
        unsafe {
            match self {
                Node::Fixed(fixed, bytes) => push_fixed(bytes, fixed.bytes, rows),
                Node::Bool(bits) => rows.addresses().for_each(|at| bits.append(at.cast::<bool>().read())),
                Node::Entity(list) => list.extend(rows.addresses().map(|at| at.cast::<Entity>().read().to_bits())),
                Node::Choice(choice, keys) => keys.extend(rows.addresses().map(|at| {
                    let number = (choice.read)(at);
                    let key = choice.variants.iter().position(|(_, other)| *other == number);
                    key.map_or(0, |key| key as i32)
                })),
                Node::Text(read, offsets, bytes) => {
                    for at in rows.addresses() {
                        bytes.extend_from_slice((*read(at)).as_bytes());
                        let Ok(end) = i32::try_from(bytes.len()) else { return false };
                        offsets.push(end);
                    }
                }
                Node::Struct(fields) => {
                    let mut done = 0;
                    while done < rows.len {
                        let len = BLOCK.min(rows.len - done);
                        let first = rows.first.add(done * rows.stride);
                        for (offset, _, node) in &mut *fields {
                            if !node.push(Rows { first: first.add(*offset), stride: rows.stride, len }) {
                                return false;
                            }
                        }
                        done += len;
                    }
                }
                Node::List(Elements { node, len, size, offset }) => {
                    if rows.stride == *len * *size {
                        let first = rows.first.add(*offset);
                        return node.push(Rows { first, stride: *size, len: rows.len * *len });
                    }
                    for first in rows.addresses() {
                        if !node.push(Rows { first: first.add(*offset), stride: *size, len: *len }) {
                            return false;
                        }
                    }
                }
            }
        }
        true
    }

    /// Adds a row of zeros, which stands for no value.
    fn push_default(&mut self) {
        match self {
            Node::Fixed(fixed, bytes) => bytes.extend_zeros(fixed.bytes),
            Node::Bool(bits) => bits.append(false),
            Node::Entity(list) => list.push(0),
            Node::Choice(_, list) => list.push(0),
            Node::Text(_, offsets, _) => offsets.push(offsets.last().copied().unwrap_or(0)),
            Node::Struct(fields) => fields.iter_mut().for_each(|(_, _, node)| node.push_default()),
            Node::List(elements) => (0..elements.len).for_each(|_| elements.node.push_default()),
        }
    }

    fn finish(self, rows: usize, nulls: Option<NullBuffer>) -> ArrayRef {
        let array: ArrayRef = match self {
            Node::Fixed(fixed, bytes) => fixed_array(fixed.shape, fixed, bytes.into(), rows),
            Node::Bool(mut bits) => Arc::new(BooleanArray::new(bits.finish(), None)),
            Node::Entity(list) => Arc::new(UInt64Array::new(list.into(), None)),
            Node::Choice(choice, keys) => {
                let names = StringArray::from_iter_values(choice.variants.iter().map(|(name, _)| *name));
                match DictionaryArray::<Int32Type>::try_new(Int32Array::new(keys.into(), None), Arc::new(names)) {
                    Ok(array) => Arc::new(array),
                    Err(error) => unreachable!("a key is the position of a variant: {error}"),
                }
            }
            Node::Text(_, offsets, bytes) => {
                let offsets = OffsetBuffer::new(offsets.into());
                // SAFETY: the bytes of each row were a text, and the offsets are where they begin and end.
                Arc::new(unsafe { StringArray::new_unchecked(offsets, bytes.into(), None) })
            }
            Node::Struct(nodes) => {
                let (mut fields, mut arrays) = (Vec::new(), Vec::new());
                for (_, name, node) in nodes {
                    let array = node.finish(rows, None);
                    fields.push(Field::new(name, array.data_type().clone(), false));
                    arrays.push(array);
                }
                Arc::new(StructArray::new(Fields::from(fields), arrays, None))
            }
            Node::List(Elements { node, len, .. }) => list_array(node.finish(rows * len, None), len, rows),
        };
        let Some(nulls) = nulls else { return array };
        match array.to_data().into_builder().nulls(Some(nulls)).build() {
            Ok(data) => make_array(data),
            Err(error) => unreachable!("there is a bit for each row: {error}"),
        }
    }
}

/// Adds rows of `width` bytes.
///
/// # Safety
///
/// Each row has this number of initialised bytes.
unsafe fn push_fixed(bytes: &mut MutableBuffer, width: usize, rows: Rows) {
    /// Copies rows of a type that is as wide.
    ///
    /// # Safety
    ///
    /// There is a value in each row, and memory for all of them at `to`. Neither need be aligned.
    unsafe fn copy<T: Copy>(to: *mut u8, rows: Rows) {
        let to = to.cast::<T>();
        for row in 0..rows.len {
            // SAFETY: there is a value, and memory for it, by the caller's contract.
            unsafe { to.add(row).write_unaligned(rows.first.add(row * rows.stride).cast::<T>().read_unaligned()) };
        }
    }
    let (len, more) = (bytes.len(), rows.len * width);
    bytes.reserve(more);
    // SAFETY: there is memory for the rows, and they have as many bytes, by the caller's contract. All of the bytes are written
    // before they are counted.
    unsafe {
        let to = bytes.as_mut_ptr().add(len);
        match width {
            _ if rows.stride == width => std::ptr::copy_nonoverlapping(rows.first, to, more),
            1 => copy::<u8>(to, rows),
            2 => copy::<u16>(to, rows),
            4 => copy::<u32>(to, rows),
            8 => copy::<u64>(to, rows),
            12 => copy::<[u32; 3]>(to, rows),
            16 => copy::<[u64; 2]>(to, rows),
            _ => rows.addresses().enumerate().for_each(|(row, from)| {
                std::ptr::copy_nonoverlapping(from, to.add(row * width), width);
            }),
        }
        bytes.set_len(len + more);
    }
}

/// Returns the type of the arrays that [`Gather`] makes of a shape. Returns `None` if a part of it is not known, or it has no data.
pub(crate) fn data_type(shape: &'static Shape) -> Option<DataType> {
    let node = Node::new(inner(shape).1)?;
    Some(node.finish(0, None).data_type().clone())
}

/// The alignment of copied rows.
#[cfg(feature = "recording")]
const RAW_ALIGN: usize = 64;

/// Rows that were copied as they lie in memory, to be gathered later and on another thread.
#[cfg(feature = "recording")]
#[derive(Default)]
pub(crate) struct RawRows {
    /// What is between fields need not be initialised, so this is never read as bytes.
    memory: MutableBuffer,
    shape: Option<&'static Shape>,
    stride: usize,
    len: usize,
}

#[cfg(feature = "recording")]
impl RawRows {
    /// Returns `true` if values of a shape can be copied so: they are numbers, enums and entities, without pointers.
    pub(crate) fn takes(shape: &'static Shape) -> bool {
        fn is_flat(shape: &'static Shape) -> bool {
            match shape.kind {
                Kind::Scalar(_) | Kind::Choice(_) => true,
                Kind::Struct(fields) => fields.iter().all(|field| is_flat(field.shape)),
                Kind::Array(element, _) => is_flat(element),
                _ => false,
            }
        }
        shape.align <= RAW_ALIGN && is_flat(shape)
    }

    /// Removes all rows, and keeps the memory.
    pub(crate) fn clear(&mut self) {
        (self.shape, self.len) = (None, 0);
    }

    /// Returns the number of bytes that there is memory for.
    pub(crate) fn capacity(&self) -> usize {
        self.memory.capacity()
    }

    /// Makes sure that there is memory for this number of bytes in all.
    pub(crate) fn reserve(&mut self, bytes: usize) {
        if bytes > self.memory.capacity() {
            self.grow(bytes);
        }
    }

    /// Returns the number of bytes that the rows take.
    fn bytes(&self) -> usize {
        self.len * self.stride
    }

    /// Adds all rows of a column.
    ///
    /// # Panics
    ///
    /// Panics if the rows before have another shape, or the shape is not one that this [takes](RawRows::takes).
    pub(crate) fn push(&mut self, column: &FieldColumn<'_>) {
        let (len, size, stride) = (column.len(), column.shape().size, column.stride());
        match self.shape {
            None => {
                assert!(RawRows::takes(column.shape()), "values that cannot be copied");
                (self.shape, self.stride) = (Some(column.shape()), stride);
            }
            Some(shape) => {
                assert!(std::ptr::eq(shape, column.shape()) && self.stride == stride, "values of another shape");
            }
        }
        if len == 0 || stride == 0 {
            self.len += len;
            return;
        }
        let needed = (self.len + len) * stride;
        if needed > self.memory.capacity() {
            self.grow(needed);
        }
        // SAFETY: the rows are borrowed, and end with the last value. There is memory for as many, elsewhere. Copying does not
        // read what is not initialised.
        unsafe {
            let to = self.memory.as_mut_ptr().add(self.len * stride);
            std::ptr::copy_nonoverlapping(column.ptr().as_ptr(), to, (len - 1) * stride + size);
        }
        self.len += len;
    }

    fn grow(&mut self, needed: usize) {
        let mut memory = MutableBuffer::with_capacity(needed.max(self.memory.capacity() * 2));
        // SAFETY: both have memory for the rows that there are, and are not the same. The rest is not read.
        unsafe { std::ptr::copy_nonoverlapping(self.memory.as_ptr(), memory.as_mut_ptr(), self.bytes()) };
        self.memory = memory;
        assert_eq!(self.memory.as_ptr().align_offset(RAW_ALIGN), 0, "memory is aligned for all values");
    }

    /// Returns the rows as an array. Returns `None` if there are none, so that their type is not known.
    pub(crate) fn gather(&self) -> Option<ArrayRef> {
        let mut gather = Gather::new(self.shape?)?;
        gather.reserve(self.len);
        // SAFETY: there is a copy of a value of the shape in each row. It has neither pointers nor a destructor, and memory as well
        // as the distance of rows are aligned for it.
        unsafe { gather.push_rows(Rows { first: self.memory.as_ptr(), stride: self.stride, len: self.len }) };
        gather.finish()
    }
}

/// Returns the bytes of an entity in memory.
pub(crate) fn entity_bytes(entity: Entity) -> [u8; size_of::<Entity>()] {
    // SAFETY: an entity is plain data: it has no padding.
    unsafe { std::mem::transmute(entity) }
}
