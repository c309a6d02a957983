//! Edits of values whose type is not known at compile time.
#![allow(unsafe_code)]

use super::place::{ComponentRow, follows_shape};
use super::{FieldPath, Kind, Scalar, ScalarValue, Shape};
use crate::component::{ComponentId, ComponentInfo, ReflectedInfo};
use crate::error::StructuralError;
use crate::world::{EntityMut, World};
use core::alloc::Layout;
use core::fmt;
use core::ptr::NonNull;
use phalanx_store::{AllocError, Entity};

/// Why a field is not set.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum EditError {
    /// The entity does not have the component, or the path is that of another one.
    Missing,
    /// The component is not [plain](crate::Plain), so that not all combinations of fields are values of it.
    NotPlain,
    /// The field is not a scalar and not an enum without fields.
    NotScalar,
    /// The value is not one of the field's type.
    NotAValue,
    /// The world refused the new value.
    Refused(StructuralError),
}

impl fmt::Display for EditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EditError::Missing => f.write_str("the entity does not have the component"),
            EditError::NotPlain => f.write_str("the component is not `#[component(plain)]`"),
            EditError::NotScalar => f.write_str("the field is not a scalar"),
            EditError::NotAValue => f.write_str("this is not a value of the field's type"),
            EditError::Refused(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for EditError {}

impl From<StructuralError> for EditError {
    fn from(error: StructuralError) -> Self {
        EditError::Refused(error)
    }
}

impl From<AllocError> for EditError {
    fn from(error: AllocError) -> Self {
        EditError::Refused(error.into())
    }
}

impl ScalarValue {
    /// Reads a value of a type from text. Variants are named, and an entity is written as `42v7`.
    ///
    /// Returns `None` if the shape is not that of a scalar or an enum without fields, or if the text is not a value of it.
    pub fn parse(shape: &'static Shape, text: &str) -> Option<ScalarValue> {
        let text = text.trim();
        Some(match shape.inner().kind {
            Kind::Choice(choice) => {
                let named = choice.variants.iter().find(|(name, _)| *name == text);
                let (name, number) =
                    named.or_else(|| choice.variants.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)))?;
                ScalarValue::Choice(*number, name)
            }
            Kind::Scalar(scalar) => match scalar {
                Scalar::U8 | Scalar::U16 | Scalar::U32 | Scalar::U64 | Scalar::U128 | Scalar::Usize => {
                    ScalarValue::Unsigned(text.parse().ok()?)
                }
                Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::I64 | Scalar::I128 | Scalar::Isize => {
                    ScalarValue::Signed(text.parse().ok()?)
                }
                Scalar::F32 => ScalarValue::F32(text.parse().ok()?),
                Scalar::F64 => ScalarValue::F64(text.parse().ok()?),
                Scalar::Bool => ScalarValue::Bool(text.parse().ok()?),
                Scalar::Char => {
                    let quoted = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
                    ScalarValue::Char(quoted.unwrap_or(text).parse().ok()?)
                }
                Scalar::Entity => {
                    let (index, generation) = text.split_once('v')?;
                    let (index, generation): (u32, u32) = (index.parse().ok()?, generation.parse().ok()?);
                    ScalarValue::Entity(Entity::from_bits(u64::from(generation) << 32 | u64::from(index))?)
                }
            },
            _ => return None,
        })
    }

    /// Returns the bytes of the value as one of a type, if it is in the range of that.
    fn encode(self, shape: &Shape) -> Option<([u8; 16], usize)> {
        let mut bytes = [0; 16];
        let mut put = |value: &[u8]| {
            bytes[..value.len()].copy_from_slice(value);
            Some(value.len())
        };
        macro_rules! integer {
            ($number:expr; $($scalar:ident $t:ty),*) => {
                match shape.kind {
                    $( Kind::Scalar(Scalar::$scalar) => put(&<$t>::try_from($number).ok()?.to_ne_bytes()), )*
                    _ => None,
                }
            };
        }
        let len = match (self, shape.kind) {
            (ScalarValue::Unsigned(number), _) => {
                integer!(number; U8 u8, U16 u16, U32 u32, U64 u64, U128 u128, Usize usize)
            }
            (ScalarValue::Signed(number), _) => {
                integer!(number; I8 i8, I16 i16, I32 i32, I64 i64, I128 i128, Isize isize)
            }
            (ScalarValue::F32(number), Kind::Scalar(Scalar::F32)) => put(&number.to_ne_bytes()),
            (ScalarValue::F64(number), Kind::Scalar(Scalar::F64)) => put(&number.to_ne_bytes()),
            (ScalarValue::Bool(value), Kind::Scalar(Scalar::Bool)) => put(&[u8::from(value)]),
            (ScalarValue::Char(value), Kind::Scalar(Scalar::Char)) => put(&u32::from(value).to_ne_bytes()),
            (ScalarValue::Entity(entity), Kind::Scalar(Scalar::Entity)) => put(entity_bytes(&entity)),
            (ScalarValue::Choice(number, _), Kind::Choice(choice)) if choice.name(number).is_some() => match shape.size
            {
                // The upper bytes are those of the sign, or do not exist in the type.
                1 => put(&(number as u8).to_ne_bytes()),
                2 => put(&(number as u16).to_ne_bytes()),
                4 => put(&(number as u32).to_ne_bytes()),
                8 => put(&number.to_ne_bytes()),
                _ => None,
            },
            _ => None,
        };
        len.filter(|len| *len == shape.size).map(|len| (bytes, len))
    }
}

/// Returns the bytes of an entity.
fn entity_bytes(entity: &Entity) -> &[u8] {
    // SAFETY: an entity has no padding.
    unsafe { core::slice::from_raw_parts(core::ptr::from_ref(entity).cast(), size_of::<Entity>()) }
}

/// Memory for a value of a component.
struct ValueBuffer {
    ptr: NonNull<u8>,
    layout: Layout,
}

impl ValueBuffer {
    /// Allocates zeros.
    fn try_new(shape: &Shape) -> Result<ValueBuffer, AllocError> {
        let failed = AllocError::OutOfMemory { bytes: shape.size, align: shape.align };
        let layout = Layout::from_size_align(shape.size, shape.align).map_err(|_| AllocError::CapacityOverflow)?;
        let ptr = match layout.size() {
            0 => core::num::NonZero::new(layout.align()).map(NonNull::without_provenance),
            // SAFETY: the size is not zero.
            _ => NonNull::new(unsafe { std::alloc::alloc_zeroed(layout) }),
        };
        ptr.map(|ptr| ValueBuffer { ptr, layout }).ok_or(failed)
    }
}

impl Drop for ValueBuffer {
    fn drop(&mut self) {
        if self.layout.size() > 0 {
            // SAFETY: it was allocated with this layout. A value in it has no destructor, or was moved out.
            unsafe { std::alloc::dealloc(self.ptr.as_ptr(), self.layout) };
        }
    }
}

/// Returns `true` if bytes are a value in a lane of a component.
fn is_valid(info: &ComponentInfo, lane: usize, bytes: &[u8]) -> bool {
    info.bytes.valid.is_none_or(|valid| valid(lane, bytes))
}

/// Adds the offset of each lane of a row, in a value of this shape.
fn lane_offsets(shape: &'static Shape, base: usize, offsets: &mut Vec<usize>) -> Result<(), AllocError> {
    for field in shape.fields() {
        if field.is_nested {
            lane_offsets(field.shape, base + field.offset, offsets)?;
        } else {
            crate::alloc::try_reserve(offsets, 1)?;
            offsets.push(base + field.offset);
        }
    }
    Ok(())
}

/// Checks that bytes are a value of a plain component, laid out as its shape.
fn check_bytes(info: &ComponentInfo, bytes: &[u8]) -> Result<&'static ReflectedInfo, EditError> {
    let reflected = info.reflected.filter(|reflected| info.is_plain() && follows_shape(info, reflected));
    let Some(reflected) = reflected else { return Err(EditError::NotPlain) };
    let mut offsets = Vec::new();
    match info.has_address {
        // There is one lane, or none.
        true => {
            crate::alloc::try_reserve(&mut offsets, info.value_lanes())?;
            offsets.resize(info.value_lanes(), 0);
        }
        false => lane_offsets(reflected.shape, 0, &mut offsets)?,
    }
    let lanes = &info.lanes()[..info.value_lanes()];
    if bytes.len() != reflected.shape.size || lanes.len() != offsets.len() {
        return Err(EditError::NotAValue);
    }
    for (lane, (layout, offset)) in lanes.iter().zip(offsets).enumerate() {
        let part = bytes.get(offset..offset + layout.size()).ok_or(EditError::NotAValue)?;
        if !is_valid(info, lane, part) {
            return Err(EditError::NotAValue);
        }
    }
    Ok(reflected)
}

impl ComponentInfo {
    /// Checks that bytes are a value of a [plain](crate::Plain) component, laid out as its [shape](ComponentInfo::shape) says.
    ///
    /// # Errors
    ///
    /// - [`EditError::NotPlain`] if the component is not plain, or its shape is not known.
    /// - [`EditError::NotAValue`] if the bytes are not a value of it.
    /// - [`EditError::Refused`] if allocation fails.
    pub fn check_bytes(&self, bytes: &[u8]) -> Result<(), EditError> {
        check_bytes(self, bytes).map(drop)
    }
}

impl ValueBuffer {
    /// Copies the bytes of a plain value, if they are one.
    fn try_of_bytes(info: &ComponentInfo, bytes: &[u8]) -> Result<ValueBuffer, EditError> {
        let reflected = check_bytes(info, bytes)?;
        let buffer = ValueBuffer::try_new(reflected.shape)?;
        // SAFETY: the buffer has the size of the shape, which is the number of bytes.
        unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), buffer.ptr.as_ptr(), bytes.len()) };
        Ok(buffer)
    }
}

impl World {
    /// Spawns an entity with [plain](crate::Plain) components, each given as the bytes of a value, and returns it.
    ///
    /// The bytes are laid out as [`ComponentInfo::shape`] says, also for a component that is split into lanes. What lies between
    /// fields does not matter.
    ///
    /// ```
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component, Clone, Copy, Debug, PartialEq)]
    /// #[component(plain)]
    /// struct Health(u32, bool, [u8; 3]);
    ///
    /// let mut world = World::new();
    /// let id = world.register_component::<Health>();
    /// let shape = world.components().info(id).shape().unwrap();
    /// let mut bytes = [0; 8];
    /// bytes[shape.fields()[0].offset..][..4].copy_from_slice(&7_u32.to_ne_bytes());
    /// bytes[shape.fields()[1].offset] = 1;
    /// let e = world.spawn_bytes(&[(id, &bytes)])?;
    /// assert_eq!(world.get::<Health>(e).unwrap(), &Health(7, true, [0; 3]));
    ///
    /// bytes[shape.fields()[1].offset] = 2; // not a bool
    /// assert!(world.spawn_bytes(&[(id, &bytes)]).is_err());
    /// # Ok::<(), phalanx::reflect::EditError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`EditError::NotPlain`] if a component is not plain, its shape is not known, or it is hidden or unknown.
    /// - [`EditError::NotAValue`] if bytes are not a value of their component.
    /// - [`EditError::Refused`] if a component occurs twice, or allocation fails.
    ///
    /// On error nothing has changed.
    pub fn spawn_bytes(&mut self, values: &[(ComponentId, &[u8])]) -> Result<Entity, EditError> {
        let components = &self.storage.components;
        let mut buffers = crate::alloc::try_vec(values.len())?;
        for (id, bytes) in values {
            if id.index() >= components.len() || components.is_hidden(*id) {
                return Err(EditError::NotPlain);
            }
            buffers.push((*id, ValueBuffer::try_of_bytes(components.info(*id), bytes)?));
        }
        let mut addresses = crate::alloc::try_vec(values.len())?;
        addresses.extend(buffers.iter().map(|(id, buffer)| (*id, buffer.ptr)));
        // SAFETY: each buffer has a value of its component, which is plain: it has no destructor.
        Ok(unsafe { self.spawn_by_ids(&addresses)? })
    }
}

impl EntityMut<'_> {
    /// Sets a field of a [plain](crate::Plain) component, and returns the old value.
    ///
    /// The value of the component is replaced, so that listeners, change ticks and groups see it. Fields of other components cannot
    /// be set, because the fields of a type may depend on each other.
    ///
    /// ```
    /// use phalanx::reflect::{FieldPath, ScalarValue};
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component, Clone, Copy, Debug, PartialEq)]
    /// #[component(plain)]
    /// struct Health {
    ///     hp: u32,
    ///     armour: [u8; 4],
    /// }
    ///
    /// let mut world = World::new();
    /// let e = world.spawn(Health { hp: 7, armour: [1, 2, 3, 4] });
    /// let id = world.component_id::<Health>().unwrap();
    /// let path = FieldPath::new(world.components(), id, "armour.2")?;
    /// let value = ScalarValue::parse(path.shape(), "200").unwrap();
    /// assert_eq!(world.entity_mut(e)?.set_field(&path, value)?, ScalarValue::Unsigned(3));
    /// assert_eq!(*world.get::<Health>(e)?, Health { hp: 7, armour: [1, 2, 200, 4] });
    /// assert!(world.entity_mut(e)?.set_field(&path, ScalarValue::Unsigned(256)).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`EditError::Missing`] if the entity does not have the component.
    /// - [`EditError::NotPlain`] if the component is not plain.
    /// - [`EditError::NotScalar`] and [`EditError::NotAValue`] if the field or the value is another one.
    /// - [`EditError::Refused`] if the insertion fails.
    ///
    /// On error nothing has changed.
    pub fn set_field(&mut self, path: &FieldPath, value: ScalarValue) -> Result<ScalarValue, EditError> {
        let (entity, id) = (self.id(), path.component());
        let row = ComponentRow::of_slot(&self.world.storage, entity, id).ok_or(EditError::Missing)?;
        let info = row.info();
        if !path.is_of(info) {
            return Err(EditError::Missing);
        }
        if !info.is_plain() {
            return Err(EditError::NotPlain);
        }
        let reflected = info.reflected.ok_or(EditError::NotScalar)?;
        let old = path.place(row).and_then(|place| place.scalar()).ok_or(EditError::NotScalar)?;
        let (bytes, len) = value.encode(path.shape()).ok_or(EditError::NotAValue)?;
        let (lane, in_lane, in_value) = path.offsets(reflected.shape).ok_or(EditError::NotScalar)?;
        let lane_size = info.value_layouts().get(lane).ok_or(EditError::NotScalar)?.size();
        let buffer = ValueBuffer::try_new(reflected.shape)?;
        // SAFETY: the buffer has the size of the shape, and is not within a world.
        unsafe { row.copy_to(buffer.ptr) };
        // SAFETY: the field is within the value, because its offset is that of the shape. It has as many bytes.
        unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), buffer.ptr.add(in_value).as_ptr(), len) };
        // SAFETY: what the lane has of the value begins `in_lane` bytes before the field, and is within the value. It is plain, so that
        // all its bytes are initialised.
        let changed = unsafe { core::slice::from_raw_parts(buffer.ptr.add(in_value - in_lane).as_ptr(), lane_size) };
        if !is_valid(info, lane, changed) {
            return Err(EditError::NotAValue);
        }
        // SAFETY: what the lane of the field has of the value was checked, and the rest is that of a value. So the buffer has a value
        // of the component. It is plain, and has no destructor.
        unsafe { self.insert_by_ids(&[(id, buffer.ptr)])? };
        Ok(old)
    }

    /// Inserts a [plain](crate::Plain) component whose bytes are all zero.
    ///
    /// # Errors
    ///
    /// - [`EditError::NotPlain`] if the component is not plain, its shape or its lanes are not known, or it is hidden or unknown.
    /// - [`EditError::NotAValue`] if zeros are not a value of it.
    /// - [`EditError::Refused`] if the insertion fails.
    ///
    /// On error nothing has changed.
    pub fn insert_zeroed(&mut self, id: ComponentId) -> Result<(), EditError> {
        let components = &self.world.storage.components;
        if id.index() >= components.len() || components.is_hidden(id) {
            return Err(EditError::NotPlain);
        }
        let info = components.info(id);
        let reflected = info.reflected.filter(|reflected| info.is_plain() && follows_shape(info, reflected));
        let Some(reflected) = reflected else { return Err(EditError::NotPlain) };
        for (lane, layout) in info.value_layouts().iter().enumerate() {
            let mut zeros = crate::alloc::try_vec(layout.size())?;
            zeros.resize(layout.size(), 0);
            if !is_valid(info, lane, &zeros) {
                return Err(EditError::NotAValue);
            }
        }
        let buffer = ValueBuffer::try_new(reflected.shape)?;
        // SAFETY: zeros are valid in each lane. The lanes are the value or its fields, so that the buffer has a value of the
        // component. It is plain, and has no destructor.
        unsafe { self.insert_by_ids(&[(id, buffer.ptr)])? };
        Ok(())
    }
}
