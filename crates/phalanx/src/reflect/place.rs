//! [`Place`] and [`FieldColumn`]: where values lie. All dereferences of [`reflect`](super) are here.
//!
//! # Invariants
//!
//! - The address of a [`Place::Part`] is that of a value of its shape, which is borrowed for `'w`.
//! - The lanes of a [`Place::Split`] are those of the fields of its shape, each field one, or those of a nested row. The row is in
//!   use, and is borrowed for `'w`.
//! - The rows of a [`FieldColumn`] have values of its shape, a stride apart, which are borrowed for `'w`.
//!
//! They hold because [`Reflect`](super::Reflect) is an unsafe trait, and lanes are taken from the storage of a component together
//! with its properties.
#![allow(unsafe_code)]

use super::scalar_value::{ScalarType, ScalarValue, by_scalar};
use super::{Field, Kind, Scalar, Shape};
use crate::change_detection::{RunTicks, Tick, Track, column_tick, ticks_at};
use crate::component::{ComponentId, ComponentInfo, ReflectedInfo};
use crate::sparse::SparseStorage;
use crate::storage::Storage;
use crate::storage::table::Table;
use core::fmt;
use core::marker::PhantomData;
use core::ops::Range;
use core::ptr::NonNull;
use phalanx_store::Entity;
use phalanx_store::raw::Lane;

/// The lanes of a component, and a row in them that is in use.
#[derive(Clone, Copy)]
pub(super) struct ComponentRow<'w> {
    info: &'w ComponentInfo,
    lanes: &'w [Lane],
    row: u32,
}

impl<'w> ComponentRow<'w> {
    /// Returns the value of a row of a table, if the table has the component and the row.
    pub(super) fn in_table(storage: &'w Storage, table: &'w Table, id: ComponentId, row: u32) -> Option<Self> {
        let column = table.column(id).filter(|_| row < table.len)?;
        Some(ComponentRow { info: storage.components.info(id), lanes: table.lanes_of(column), row })
    }

    /// Returns the value of a slot in a sparse storage, if it has one.
    pub(super) fn in_sparse(storage: &'w Storage, sparse: &'w SparseStorage, slot: u32) -> Option<Self> {
        let row = sparse.row(slot)?;
        Some(ComponentRow { info: storage.components.info(sparse.id), lanes: sparse.values().lanes(), row })
    }

    /// Returns the value of an entity or extra row, if it is alive and has the component.
    pub(super) fn of_slot(storage: &'w Storage, slot: Entity, id: ComponentId) -> Option<Self> {
        if id.index() >= storage.components.len() || storage.components.is_hidden(id) {
            return None;
        }
        let at = storage.find_location(slot)?;
        match storage.sparse.of(id) {
            Some(sparse) => ComponentRow::in_sparse(storage, sparse, slot.index()),
            None => ComponentRow::in_table(storage, storage.tables.get(at.table as usize)?, id, at.row),
        }
    }

    /// Returns the properties of the component.
    pub(super) fn info(&self) -> &'w ComponentInfo {
        self.info
    }

    /// Returns the lanes without those of change ticks.
    fn value_lanes(&self) -> &'w [Lane] {
        &self.lanes[..self.info.value_lanes()]
    }

    /// Returns the place of the value, if its shape is known.
    pub(super) fn place(&self) -> Option<Place<'w>> {
        let reflected = self.info.reflected?;
        let (shape, lanes, row) = (reflected.shape, self.value_lanes(), self.row);
        if !self.info.has_address {
            return follows_shape(self.info, reflected).then_some(Place::Split { shape, lanes, row });
        }
        let ptr = match lanes.first() {
            Some(lane) => NonNull::new(lane.row(row))?,
            // A value without a size has no lane: any aligned address will do.
            None => NonNull::without_provenance(core::num::NonZero::new(shape.align)?),
        };
        Some(Place::Part { shape, ptr, world: PhantomData })
    }

    /// Returns the place of a field.
    ///
    /// # Safety
    ///
    /// The lane and the offset are those of a field of this shape in values of the component.
    pub(super) unsafe fn field(&self, lane: usize, offset: usize, shape: &'static Shape) -> Option<Place<'w>> {
        let ptr = match self.value_lanes().get(lane) {
            // SAFETY: the offset is within a row of the lane, by the caller's contract.
            Some(lane) => unsafe { NonNull::new(lane.row(self.row))?.add(offset) },
            // The component has no data, so that any aligned address will do.
            None => NonNull::without_provenance(core::num::NonZero::new(shape.align)?),
        };
        Some(Place::Part { shape, ptr, world: PhantomData })
    }

    /// Returns the ticks at which the value was added and changed. Only changes are known if they are tracked by column.
    pub(super) fn ticks(&self) -> Option<(Option<Tick>, Tick)> {
        let lane = self.lanes.last()?;
        match self.info.track {
            Track::None => None,
            Track::Column => Some((None, column_tick(lane, RunTicks::READ))),
            Track::Row => {
                // SAFETY: they are the lanes of the component, and the row is in use. No query writes while the world is borrowed.
                let ticks = unsafe { ticks_at(self.lanes, self.row as usize) };
                Some((Some(ticks.added()), ticks.changed()))
            }
        }
    }

    /// Formats the value by `Debug`. Returns `None` if its type does not implement it.
    pub(super) fn show(&self, f: &mut fmt::Formatter<'_>) -> Option<fmt::Result> {
        let reflected = self.info.reflected?;
        let show = reflected.shape.show?;
        let mut result = Ok(());
        // SAFETY: the lanes are the component's, and the row is in use and borrowed. The function of the shape is for values of
        // the component, by the contract of `Reflect`, and is called with the address of one.
        unsafe { (reflected.with)(self.lanes.as_ptr(), self.row as usize, &mut |value| result = show(value, f)) };
        Some(result)
    }

    /// Copies a plain value to an address, where there is memory for it.
    ///
    /// # Safety
    ///
    /// The address is valid for writing as many bytes as a value of the component has, and is not within a world.
    ///
    /// # Panics
    ///
    /// Panics if the component is not plain, or its shape is not known.
    pub(super) unsafe fn copy_to(&self, to: NonNull<u8>) {
        let Some(reflected) = self.info.reflected.filter(|_| self.info.is_plain()) else {
            panic!("only plain values of a known shape are copied");
        };
        // SAFETY: the lanes are the component's, and the row is in use and borrowed. The address that is given is that of a
        // value, which has the size of the shape. The other one is valid for that, by the caller's contract.
        unsafe {
            let copy = &mut |value: *const u8| core::ptr::copy_nonoverlapping(value, to.as_ptr(), reflected.shape.size);
            (reflected.with)(self.lanes.as_ptr(), self.row as usize, copy);
        }
    }

    /// Returns the bytes of a value that is plain and not split into lanes.
    pub(super) fn bytes(&self) -> Option<&'w [u8]> {
        if !self.info.is_plain() || !self.info.has_address {
            return None;
        }
        let Some(lane) = self.value_lanes().first() else { return Some(&[]) };
        // SAFETY: the row is in use and borrowed, and plain values have no padding.
        Some(unsafe { core::slice::from_raw_parts(lane.row(self.row), lane.row_size()) })
    }
}

/// Returns `true` if a component has its values in one lane, or if its lanes are the fields of its shape.
///
/// A row that is split by hand may have any lanes.
pub(super) fn follows_shape(info: &ComponentInfo, reflected: &ReflectedInfo) -> bool {
    info.has_address || (reflected.has_lanes)() && lane_count(reflected.shape) == Some(info.value_lanes())
}

/// Returns the number of lanes of a row with this shape. Returns `None` if a nested row is not a struct whose shape is known.
fn lane_count(shape: &Shape) -> Option<usize> {
    let Kind::Struct(fields) = shape.kind else { return None };
    fields.iter().try_fold(0, |sum, field| Some(sum + lanes_of(field)?))
}

/// Returns the number of lanes of a field.
fn lanes_of(field: &Field) -> Option<usize> {
    if field.is_nested { lane_count(field.shape) } else { Some(1) }
}

/// Where a value lies.
#[derive(Clone, Copy)]
pub(super) enum Place<'w> {
    /// At an address.
    Part { shape: &'static Shape, ptr: NonNull<u8>, world: PhantomData<&'w [Lane]> },
    /// Split into lanes.
    Split { shape: &'static Shape, lanes: &'w [Lane], row: u32 },
}

impl<'w> Place<'w> {
    /// Returns the shape of the value.
    pub(super) fn shape(self) -> &'static Shape {
        match self {
            Place::Part { shape, .. } | Place::Split { shape, .. } => shape,
        }
    }

    /// Returns a field of a struct by its position, or an element of an array.
    pub(super) fn part(self, at: usize) -> Option<Place<'w>> {
        let step = PathStep::of(self.shape(), at)?;
        match self {
            Place::Part { ptr, world, .. } => {
                // SAFETY: the part is within the value, by the contract of `Reflect`.
                let ptr = unsafe { ptr.add(step.offset) };
                Some(Place::Part { shape: step.shape, ptr, world })
            }
            Place::Split { lanes, row, .. } => {
                let lanes = &lanes[step.lanes.clone()];
                if step.is_nested {
                    return Some(Place::Split { shape: step.shape, lanes, row });
                }
                let lane = lanes.first().filter(|lane| lane.row_size() == step.shape.size)?;
                Some(Place::Part { shape: step.shape, ptr: NonNull::new(lane.row(row))?, world: PhantomData })
            }
        }
    }

    /// Returns the address of the value, unless it is split into lanes.
    fn ptr(self) -> Option<NonNull<u8>> {
        match self {
            Place::Part { ptr, .. } => Some(ptr),
            Place::Split { .. } => None,
        }
    }

    /// Returns the value of a scalar, or of an enum without fields.
    pub(super) fn scalar(self) -> Option<ScalarValue> {
        let ptr = self.ptr()?;
        match self.shape().kind {
            // SAFETY: a value of the scalar type is there, aligned and borrowed.
            Kind::Scalar(scalar) => Some(unsafe { by_scalar!(scalar, T => read::<T>(ptr)) }),
            Kind::Choice(choice) => {
                // SAFETY: a value of the shape's type is there, aligned and borrowed.
                let number = unsafe { (choice.read)(ptr.as_ptr()) };
                Some(ScalarValue::Choice(number, choice.name(number).unwrap_or("?")))
            }
            _ => None,
        }
    }

    /// Returns the text of a value that is one.
    pub(super) fn text(self) -> Option<&'w str> {
        let (Kind::Text(read), ptr) = (self.shape().kind, self.ptr()?) else { return None };
        // SAFETY: a value of the shape's type is there, borrowed for `'w`, so that its text is valid as long.
        Some(unsafe { &*read(ptr.as_ptr()) })
    }

    /// Formats the value by `Debug`. Returns `None` if its type does not implement it, or it is split into lanes.
    pub(super) fn show(self, f: &mut fmt::Formatter<'_>) -> Option<fmt::Result> {
        let (show, ptr) = (self.shape().show?, self.ptr()?);
        // SAFETY: a value of the shape's type is there, aligned and borrowed.
        Some(unsafe { show(ptr.as_ptr(), f) })
    }
}

/// Returns the scalar at an address.
///
/// # Safety
///
/// A value of `T` is there, aligned, and is not written during the call.
unsafe fn read<T: ScalarType>(ptr: NonNull<u8>) -> ScalarValue {
    // SAFETY: there is a value, by the caller's contract.
    unsafe { ptr.cast::<T>().read() }.value()
}

/// The way from a value to a part of it.
pub(super) struct PathStep {
    pub(super) shape: &'static Shape,
    pub(super) offset: usize,
    /// The lanes of the part, if the value is split.
    pub(super) lanes: Range<usize>,
    pub(super) is_nested: bool,
}

impl PathStep {
    /// Returns the way to a field of a struct by its position, or to an element of an array.
    pub(super) fn of(shape: &Shape, at: usize) -> Option<PathStep> {
        match shape.kind {
            Kind::Struct(fields) => {
                let field = fields.get(at)?;
                let first = fields[..at].iter().map(|field| lanes_of(field).unwrap_or(0)).sum();
                let lanes = first..first + lanes_of(field).unwrap_or(0);
                Some(PathStep { shape: field.shape, offset: field.offset, lanes, is_nested: field.is_nested })
            }
            Kind::Array(element, len) => (at < len).then(|| PathStep {
                shape: element,
                offset: at * element.size,
                lanes: 0..0,
                is_nested: false,
            }),
            _ => None,
        }
    }
}

/// One field of many rows, a stride apart: [`FieldPath::column`](super::FieldPath::column),
/// [`FieldPath::store_columns`](super::FieldPath::store_columns).
///
/// ```
/// use phalanx::reflect::FieldPath;
/// use phalanx::{Component, World};
///
/// #[derive(Component)]
/// struct Health {
///     hp: u32,
///     most: u32,
/// }
///
/// let mut world = World::new();
/// world.spawn_batch((0..10).map(|hp| Health { hp, most: 10 }));
/// let hp = FieldPath::new(world.components(), world.component_id::<Health>().unwrap(), "hp")?;
/// let sum: f64 = world.tables().flat_map(|table| hp.column(&table)).map(|column| {
///     (0..column.len()).filter_map(|row| column.get(row)?.as_f64()).sum::<f64>()
/// }).sum();
/// assert_eq!(sum, 45.0);
/// # Ok::<(), phalanx::reflect::FieldError>(())
/// ```
#[derive(Clone, Copy)]
pub struct FieldColumn<'w> {
    first: NonNull<u8>,
    stride: usize,
    len: usize,
    shape: &'static Shape,
    world: PhantomData<&'w [Lane]>,
}

// SAFETY: it reads what a shared world holds, which is `Sync`, and nothing else.
unsafe impl Send for FieldColumn<'_> {}
// SAFETY: as above.
unsafe impl Sync for FieldColumn<'_> {}

impl<'w> FieldColumn<'w> {
    /// Returns a field of the component with these properties, in a table.
    ///
    /// # Safety
    ///
    /// The lane and the offset are those of a field of this shape in values of the component.
    pub(super) unsafe fn in_table(
        table: &'w Table,
        id: ComponentId,
        (lane, offset, shape): (usize, usize, &'static Shape),
    ) -> Option<FieldColumn<'w>> {
        let lanes = table.lanes_of(table.column(id)?);
        // SAFETY: the rows of a table are in use. The lane and the offset are the field's, by the caller's contract.
        unsafe { FieldColumn::in_lanes(lanes, 0..table.len, (lane, offset, shape)) }
    }

    /// Returns a field in some rows of the lanes of a component.
    ///
    /// # Safety
    ///
    /// - The lanes are borrowed for `'w`, and the rows are in use.
    /// - The lane and the offset are those of a field of this shape in values of the component.
    pub(super) unsafe fn in_lanes(
        lanes: &'w [Lane],
        rows: Range<u32>,
        (lane, offset, shape): (usize, usize, &'static Shape),
    ) -> Option<FieldColumn<'w>> {
        let len = rows.len();
        let Some(lane) = lanes.get(lane) else {
            // The component has no data, so that any aligned address will do.
            let first = NonNull::without_provenance(core::num::NonZero::new(shape.align)?);
            return Some(FieldColumn { first, stride: 0, len, shape, world: PhantomData });
        };
        // SAFETY: the offset is within a row of the lane, by the caller's contract. Without rows the lane may have no memory, and
        // the address is not used.
        let first = if len == 0 { lane.ptr() } else { unsafe { NonNull::new(lane.row(rows.start))?.add(offset) } };
        Some(FieldColumn { first, stride: lane.row_size(), len, shape, world: PhantomData })
    }

    /// Returns the value at a place as a column of one row, unless it is split into lanes.
    pub(super) fn of_place(place: Place<'w>) -> Option<FieldColumn<'w>> {
        let (first, shape) = (place.ptr()?, place.shape());
        Some(FieldColumn { first, stride: shape.size, len: 1, shape, world: PhantomData })
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns `true` if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the shape of the field.
    pub fn shape(&self) -> &'static Shape {
        self.shape
    }

    /// Returns the address of the field in the first row. In row `n` it is `n` strides behind.
    pub fn ptr(&self) -> NonNull<u8> {
        self.first
    }

    /// Returns the distance from a row to the next, in bytes. If it is the size of the field, the column is an array.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// Returns the value at a row, if the field is a scalar or an enum without fields.
    pub fn get(&self, row: usize) -> Option<ScalarValue> {
        self.place(row)?.scalar()
    }

    /// Returns the text at a row, if the field is a text.
    pub fn text(&self, row: usize) -> Option<&'w str> {
        self.place(row)?.text()
    }

    pub(super) fn place(&self, row: usize) -> Option<Place<'w>> {
        // SAFETY: the row is checked, so that the address is within the lane.
        let ptr = unsafe { (row < self.len).then(|| self.first.add(row * self.stride))? };
        Some(Place::Part { shape: self.shape, ptr, world: PhantomData })
    }

    /// Tests the scalars of up to 64 rows, and returns a bit for each. Returns zero if the field is of another type.
    ///
    /// # Panics
    ///
    /// Panics if a row does not exist, or there are more than 64.
    pub(super) fn test<T: ScalarType>(&self, rows: Range<usize>, test: impl Fn(T) -> bool) -> u64 {
        assert!(rows.end <= self.len && rows.len() <= 64, "rows that a column does not have");
        match self.shape.kind {
            Kind::Scalar(scalar) if scalar == T::SCALAR => {}
            _ => return 0,
        }
        let mut bits = 0;
        for (bit, row) in rows.enumerate() {
            // SAFETY: the row is one of the column, whose values are of type `T`, as was checked.
            let value = unsafe { self.first.add(row * self.stride).cast::<T>().read() };
            bits |= u64::from(test(value)) << bit;
        }
        bits
    }
}

impl fmt::Debug for FieldColumn<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FieldColumn({} rows, stride {})", self.len, self.stride)
    }
}
