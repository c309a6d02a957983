//! [`FieldPath`]: the way from a component to one of its fields.
#![allow(unsafe_code)]

use super::place::{ComponentRow, FieldColumn, PathStep, Place, follows_shape};
use super::{Kind, ScalarValue, Shape, StoreRef, TableRef, Value};
use crate::alloc::{try_clone_slice, try_collect, try_push, try_text};
use crate::component::{ComponentId, ComponentInfo, Components};
use core::any::TypeId;
use core::fmt;
use phalanx_store::AllocError;

/// The way from a component to one of its fields, found once and used for many values.
///
/// A path is a list of names, with dots between them: `at.x`. The element of an array is named by its number. A newtype is looked
/// through: the path of the number in `struct Health(u32)` is empty, or `0`.
///
/// ```
/// use phalanx::reflect::{FieldPath, Reflect, ScalarValue};
/// use phalanx::{Component, World};
///
/// #[derive(Reflect)]
/// struct Point {
///     x: f32,
///     y: f32,
/// }
/// #[derive(Component)]
/// #[component(layout = "pool")]
/// struct Route {
///     points: [Point; 2],
/// }
///
/// let mut world = World::new();
/// let e = world.spawn(Route { points: [Point { x: 1.0, y: 2.0 }, Point { x: 3.0, y: 4.0 }] });
/// let id = world.component_id::<Route>().unwrap();
/// let path = FieldPath::new(world.components(), id, "points.1.x")?;
/// assert_eq!(world.entity(e)?.value(id)?.at(&path).and_then(|value| value.scalar()), Some(ScalarValue::F32(3.0)));
/// assert!(FieldPath::new(world.components(), id, "points.2.x").is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct FieldPath {
    id: ComponentId,
    type_id: Option<TypeId>,
    text: String,
    /// The positions of the parts on the way.
    steps: Vec<usize>,
    lane: usize,
    offset: usize,
    shape: &'static Shape,
    /// Whether the value at the end is a row that is split into lanes.
    is_split: bool,
}

/// Why there is no field at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FieldError {
    /// The fields of the component are not known.
    Opaque {
        /// The component.
        component: &'static str,
    },
    /// There is no field of this name.
    NoSuchField {
        /// The name.
        name: String,
        /// The names that there are, if the value is a struct.
        fields: Vec<&'static str>,
    },
    /// The world has no component with this id.
    NoSuchComponent {
        /// The id.
        id: ComponentId,
    },
    /// Allocation failed.
    Alloc(AllocError),
}

impl From<AllocError> for FieldError {
    fn from(error: AllocError) -> Self {
        FieldError::Alloc(error)
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FieldError::Opaque { component } => write!(f, "the fields of {component} are not known"),
            FieldError::NoSuchField { name, fields } if fields.is_empty() => write!(f, "there is no field `{name}`"),
            FieldError::NoSuchField { name, fields } => {
                write!(f, "there is no field `{name}`: the fields are ")?;
                fields.iter().enumerate().try_for_each(|(at, field)| {
                    f.write_str(if at == 0 { "" } else { ", " })?;
                    f.write_str(field)
                })
            }
            FieldError::NoSuchComponent { id } => write!(f, "the world has no {id:?}"),
            FieldError::Alloc(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for FieldError {}

impl FieldPath {
    /// Finds a field of a component. An empty path leads to the whole component.
    ///
    /// # Errors
    ///
    /// - [`FieldError::NoSuchComponent`] if there is no component with the id.
    /// - [`FieldError::Opaque`] if the fields of the component are not known.
    /// - [`FieldError::NoSuchField`] if a part of the path does not exist.
    /// - [`FieldError::Alloc`] if allocation fails.
    pub fn new(components: &Components, id: ComponentId, path: &str) -> Result<FieldPath, FieldError> {
        let info = components.iter().nth(id.index()).map(|(_, info)| info);
        let info = info.filter(|_| !components.is_hidden(id)).ok_or(FieldError::NoSuchComponent { id })?;
        let opaque = FieldError::Opaque { component: info.name() };
        let Some(reflected) = info.reflected else { return Err(opaque) };
        if !follows_shape(info, reflected) {
            return Err(opaque);
        }
        let mut is_split = !info.has_address;
        let (mut shape, mut lane, mut offset, mut steps) = (reflected.shape, 0, 0, Vec::new());
        let mut follow = |shape: &mut &'static Shape, at: usize| {
            let Some(step) = PathStep::of(shape, at) else { return Ok(false) };
            try_push(&mut steps, at)?;
            if is_split {
                lane += step.lanes.start;
                is_split = step.is_nested;
            } else {
                offset += step.offset;
            }
            *shape = step.shape;
            Ok::<_, AllocError>(true)
        };
        for name in path.split('.').filter(|_| !path.is_empty()) {
            let at = match shape.kind {
                Kind::Array(..) => name.parse().ok(),
                _ => shape.fields().iter().position(|field| field.name == name),
            };
            let is_found = match at {
                Some(at) => follow(&mut shape, at)?,
                None => false,
            };
            if !is_found {
                let fields = try_collect(shape.fields().iter().map(|field| Ok::<_, AllocError>(field.name)))?;
                return Err(FieldError::NoSuchField { name: try_text(name)?, fields });
            }
        }
        while let Kind::Struct([_]) = shape.kind {
            follow(&mut shape, 0)?;
        }
        Ok(FieldPath { id, type_id: info.type_id, text: try_text(path)?, steps, lane, offset, shape, is_split })
    }

    /// Like `clone`, but returns an error if allocation fails.
    ///
    /// # Errors
    ///
    /// Returns an error if allocation fails.
    pub fn try_clone(&self) -> Result<FieldPath, AllocError> {
        Ok(FieldPath { text: try_text(&self.text)?, steps: try_clone_slice(&self.steps)?, ..*self })
    }

    /// Finds the innermost field that has a byte of a component, for example one at which two values differ.
    ///
    /// `lane` is 0, or the number of the lane if the component is split into lanes. Bytes between fields belong to the struct
    /// around them.
    ///
    /// ```
    /// use phalanx::reflect::{FieldPath, ScalarValue};
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Health {
    ///     hp: [u32; 2],
    /// }
    ///
    /// let mut world = World::new();
    /// let id = world.register_component::<Health>();
    /// let path = FieldPath::at_byte(world.components(), id, 0, 5)?;
    /// assert_eq!(path.as_str(), "hp.1");
    /// let bytes = [7_u32, 8].map(u32::to_ne_bytes);
    /// assert_eq!(path.read(bytes.as_flattened()), Some(ScalarValue::Unsigned(8)));
    /// # Ok::<(), phalanx::reflect::FieldError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`FieldError::NoSuchComponent`] if there is no component with the id.
    /// - [`FieldError::Opaque`] if the fields of the component are not known.
    pub fn at_byte(
        components: &Components,
        id: ComponentId,
        mut lane: usize,
        mut offset: usize,
    ) -> Result<FieldPath, FieldError> {
        let mut found = FieldPath::new(components, id, "")?;
        let info = components.info(id);
        let Some(reflected) = info.reflected else { return Ok(found) };
        let (mut shape, mut is_split, mut text) = (reflected.shape, !info.has_address, String::new());
        loop {
            let count = match shape.kind {
                Kind::Array(_, len) => len,
                _ => shape.fields().len(),
            };
            let is_part = |step: &PathStep| match is_split {
                true => step.lanes.contains(&lane),
                false => (step.offset..step.offset + step.shape.size).contains(&offset),
            };
            let part = (0..count).find_map(|at| Some(at).zip(PathStep::of(shape, at).filter(is_part)));
            let Some((at, step)) = part else { return Ok(found) };
            if !text.is_empty() {
                text.push('.');
            }
            match shape.fields().get(at) {
                Some(field) => text.push_str(field.name),
                None => text.push_str(&at.to_string()),
            }
            match is_split {
                true => (lane, is_split) = (lane - step.lanes.start, step.is_nested),
                false => offset -= step.offset,
            }
            shape = step.shape;
            found = FieldPath::new(components, id, &text)?;
        }
    }

    /// Reads a scalar field from the bytes of its lane: those of one value of the component, if that is not split into lanes.
    ///
    /// Returns `None` if the field is not a scalar, or if the bytes are not those of one.
    pub fn read(&self, lane: &[u8]) -> Option<ScalarValue> {
        let Kind::Scalar(scalar) = self.shape.kind else { return None };
        ScalarValue::from_bytes(scalar, lane.get(self.offset..self.offset + self.shape.size)?)
    }

    /// Returns the component.
    pub fn component(&self) -> ComponentId {
        self.id
    }

    /// Returns the path, as it was given.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the shape of the field.
    pub fn shape(&self) -> &'static Shape {
        self.shape
    }

    /// Returns `true` if the field is a struct whose fields are in lanes of their own.
    pub fn is_split(&self) -> bool {
        self.is_split
    }

    /// Returns the field in all rows of a table. Returns `None` if the table does not have the component, or the field is a
    /// struct whose fields are in lanes of their own.
    pub fn column<'w>(&self, table: &TableRef<'w>) -> Option<FieldColumn<'w>> {
        let (storage, table) = table.parts();
        let is_of = |(_, info)| self.is_of(info);
        if self.is_split || !storage.components.iter().nth(self.id.index()).is_some_and(is_of) {
            return None;
        }
        // SAFETY: the component is that of the path, since types are equal. Its lanes and offsets follow from its type.
        unsafe { FieldColumn::in_table(table, self.id, (self.lane, self.offset, self.shape)) }
    }

    /// Returns the field in the values of a sparse set or linear storage, without those of extra rows. There is a column for each run
    /// of rows without a gap, in the order of [`StoreRef::entities`].
    ///
    /// A sparse set without holes and extra rows is one run. Returns no column if the store is that of another component, or
    /// the field is a struct whose fields are in lanes of their own.
    ///
    /// ```
    /// use phalanx::reflect::FieldPath;
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// #[component(layout = "linear")]
    /// struct Age(u32);
    ///
    /// let mut world = World::new();
    /// let entities: Vec<_> = (0..10).map(|age| world.spawn(Age(age))).collect();
    /// world.despawn(entities[4])?;
    /// let age = FieldPath::new(world.components(), world.component_id::<Age>().unwrap(), "")?;
    /// let store = world.sparse_stores().next().unwrap();
    /// assert!(age.store_columns(&store).map(|column| column.len()).eq([4, 5]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn store_columns<'w>(&self, store: &StoreRef<'w>) -> impl Iterator<Item = FieldColumn<'w>> + use<'w> {
        let (storage, sparse) = store.parts();
        let is_of = !self.is_split && sparse.id == self.id && self.is_of(storage.components.info(self.id));
        let part = (self.lane, self.offset, self.shape);
        store.runs().take_while(move |_| is_of).filter_map(move |rows| {
            // SAFETY: the component is that of the path, since types are equal. Its lanes and offsets follow from its type. The
            // rows of a run have values.
            unsafe { FieldColumn::in_lanes(sparse.values().lanes(), rows, part) }
        })
    }

    /// Returns the lane of the field, its offset in that, and its offset in a value of the component, whose shape is given. Returns
    /// `None` if the field is split into lanes.
    pub(super) fn offsets(&self, root: &'static Shape) -> Option<(usize, usize, usize)> {
        let (mut shape, mut offset) = (root, 0);
        for at in &self.steps {
            let step = PathStep::of(shape, *at)?;
            offset += step.offset;
            shape = step.shape;
        }
        (!self.is_split).then_some((self.lane, self.offset, offset))
    }

    /// Returns `true` if the path begins at the component with these properties.
    pub(super) fn is_of(&self, info: &ComponentInfo) -> bool {
        self.type_id.is_some() && info.type_id == self.type_id
    }

    /// Returns the field in a value of the component.
    pub(super) fn follow<'w>(&self, row: ComponentRow<'w>) -> Option<Value<'w>> {
        if !self.is_split {
            return self.place(row).map(Value::of_part);
        }
        let place = row.place().filter(|_| self.is_of(row.info()))?;
        self.steps.iter().try_fold(place, |place, at| place.part(*at)).map(Value::of_part)
    }

    /// Returns the place of the field in a value of the component. Returns `None` if it is split into lanes.
    pub(super) fn place<'w>(&self, row: ComponentRow<'w>) -> Option<Place<'w>> {
        if !self.is_of(row.info()) || self.is_split {
            return None;
        }
        // SAFETY: the component is that of the path, since types are equal. Its lanes and offsets follow from its type.
        unsafe { row.field(self.lane, self.offset, self.shape) }
    }
}
