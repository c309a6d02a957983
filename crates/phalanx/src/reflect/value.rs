//! [`Value`]: one value of a component, or a part of it.

use super::field_path::FieldPath;
use super::place::{ComponentRow, Place};
use super::shown::{SHOWN_LIMIT, ShowError, Shown, show_within};
use super::{FieldColumn, Kind, ScalarValue, Shape};
use crate::component::{ComponentId, ComponentInfo};
use crate::error::ComponentError;
#[cfg(feature = "snapshot")]
use crate::world::World;
use crate::world::{EntityRef, RowRef};
use core::fmt;
#[cfg(feature = "snapshot")]
use phalanx_store::Entity;

/// One value of a component, or a part of it, whose type is not known at compile time.
///
/// [`EntityRef::value`] returns it. Its fields are read by name, and nothing has to be registered.
///
/// ```
/// use phalanx::reflect::ScalarValue;
/// use phalanx::{Component, World};
///
/// #[derive(Component, Debug)]
/// struct Body {
///     at: [f32; 2],
///     mass: u32,
///     label: String,
/// }
///
/// let mut world = World::new();
/// let e = world.spawn(Body { at: [1.0, 2.5], mass: 7, label: "moon".into() });
/// let body = world.entity(e)?.value(world.component_id::<Body>().unwrap())?;
/// assert_eq!(body.get("mass").unwrap().scalar(), Some(ScalarValue::Unsigned(7)));
/// assert_eq!(body.get("at.1").unwrap().scalar(), Some(ScalarValue::F32(2.5)));
/// assert_eq!(body.get("label").unwrap().text(), Some("moon"));
/// assert_eq!(body.to_string(), r#"{ at: [1.0, 2.5], mass: 7, label: "moon" }"#);
/// assert_eq!(body.debug()?.text, r#"Body { at: [1.0, 2.5], mass: 7, label: "moon" }"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy)]
pub struct Value<'w>(Source<'w>);

#[derive(Clone, Copy)]
enum Source<'w> {
    Component(ComponentRow<'w>),
    Part(Place<'w>),
}

impl<'w> Value<'w> {
    pub(super) fn of_component(row: ComponentRow<'w>) -> Value<'w> {
        Value(Source::Component(row))
    }

    /// Returns the component of an entity or extra row, if it is alive and has it.
    #[cfg(feature = "snapshot")]
    pub(crate) fn of_slot(world: &'w World, slot: Entity, id: ComponentId) -> Option<Value<'w>> {
        ComponentRow::of_slot(&world.storage, slot, id).map(Value::of_component)
    }

    pub(super) fn of_part(place: Place<'w>) -> Value<'w> {
        Value(Source::Part(place))
    }

    /// Returns the place of the value, if its fields are known.
    fn place(&self) -> Option<Place<'w>> {
        match self.0 {
            Source::Component(row) => row.place(),
            Source::Part(place) => Some(place),
        }
    }

    /// Returns the place behind all newtypes.
    fn inner(&self) -> Option<Place<'w>> {
        let mut place = self.place()?;
        while let Kind::Struct([_]) = place.shape().kind {
            place = place.part(0)?;
        }
        Some(place)
    }

    /// Returns the component, unless this is a part of its value.
    pub fn component(&self) -> Option<&'w ComponentInfo> {
        match self.0 {
            Source::Component(row) => Some(row.info()),
            Source::Part(_) => None,
        }
    }

    /// Returns the shape of the value, if it is known.
    pub fn shape(&self) -> Option<&'static Shape> {
        match self.0 {
            Source::Component(row) => row.info().shape(),
            Source::Part(place) => Some(place.shape()),
        }
    }

    /// Returns the fields of a struct with their names, in the order of their declaration. Other values have none.
    pub fn fields(&self) -> impl ExactSizeIterator<Item = (&'static str, Value<'w>)> + use<'w> {
        let place = self.place();
        let fields = place.map_or(&[][..], |place| place.shape().fields());
        fields.iter().enumerate().map(move |(at, field)| match place.and_then(|place| place.part(at)) {
            Some(part) => (field.name, Value::of_part(part)),
            None => unreachable!("the place has the fields of its shape"),
        })
    }

    /// Returns the elements of an array. Other values have none.
    pub fn elements(&self) -> impl Iterator<Item = Value<'w>> + use<'w> {
        let place = self.inner();
        let len = match place.map(|place| place.shape().kind) {
            Some(Kind::Array(_, len)) => len,
            _ => 0,
        };
        (0..len).filter_map(move |at| place?.part(at).map(Value::of_part))
    }

    /// Returns the value at a [path](FieldPath), such as `at.x`. An empty path leads to the value itself.
    ///
    /// This searches for the names. For many values, find a [`FieldPath`] once.
    pub fn get(&self, path: &str) -> Option<Value<'w>> {
        if path.is_empty() {
            return Some(*self);
        }
        let place = path.split('.').try_fold(self.place()?, |place, name| match place.shape().kind {
            Kind::Array(..) => place.part(name.parse().ok()?),
            _ => place.part(place.shape().fields().iter().position(|field| field.name == name)?),
        });
        place.map(Value::of_part)
    }

    /// Returns the value at a path of its component. Returns `None` if the path is that of another component, or if this is a
    /// part of a value.
    pub fn at(&self, path: &FieldPath) -> Option<Value<'w>> {
        match self.0 {
            Source::Component(row) => path.follow(row),
            Source::Part(_) => None,
        }
    }

    /// Returns the value of a scalar or of an enum without fields, also within newtypes.
    pub fn scalar(&self) -> Option<ScalarValue> {
        self.inner()?.scalar()
    }

    /// Returns the text, if the value is one, also within newtypes.
    pub fn text(&self) -> Option<&'w str> {
        self.inner()?.text()
    }

    /// Returns the value as a column of one row, behind all newtypes. Returns `None` if its shape is not known, or if it is split
    /// into lanes.
    ///
    /// ```
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new();
    /// let e = world.spawn(Health(7));
    /// let column = world.entity(e)?.value(world.component_id::<Health>().unwrap())?.column().unwrap();
    /// assert_eq!((column.len(), column.get(0).unwrap().to_string()), (1, "7".into()));
    /// # Ok::<(), phalanx::ComponentError>(())
    /// ```
    pub fn column(&self) -> Option<FieldColumn<'w>> {
        self.inner().and_then(FieldColumn::of_place)
    }

    /// Returns the bytes of a component that is [plain](crate::Plain) and not split into lanes.
    pub fn bytes(&self) -> Option<&'w [u8]> {
        match self.0 {
            Source::Component(row) => row.bytes(),
            Source::Part(_) => None,
        }
    }

    /// Formats the value by the `Debug` of its type, up to [`SHOWN_LIMIT`] bytes.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`debug_within`](Value::debug_within).
    pub fn debug(&self) -> Result<Shown, ShowError> {
        self.debug_within(SHOWN_LIMIT)
    }

    /// Formats the value by the `Debug` of its type, up to a limit in bytes.
    ///
    /// The code of the type may panic: that is caught. It may write without end: it gets an error when the text is full, and if it
    /// goes on writing, it is unwound. Code that neither returns nor writes is not stopped, and neither is code that writes while
    /// a panic unwinds. Where panics abort, none of this is caught.
    ///
    /// # Errors
    ///
    /// - [`ShowError::NotDebug`] if the type does not implement `Debug`, or its shape is not known.
    /// - [`ShowError::Panicked`] and [`ShowError::Failed`] if the code of the type panics or returns an error.
    /// - [`ShowError::Alloc`] if allocation fails.
    pub fn debug_within(&self, limit: usize) -> Result<Shown, ShowError> {
        show_within(limit, |f| match self.0 {
            Source::Component(row) => row.show(f),
            Source::Part(place) => place.show(f),
        })
    }

    /// Formats the value by its fields, up to a limit in bytes. This calls no code of the user.
    ///
    /// # Errors
    ///
    /// [`ShowError::Alloc`] if allocation fails.
    pub fn fields_within(&self, limit: usize) -> Result<Shown, ShowError> {
        show_within(limit, |f| Some(fmt::Display::fmt(self, f)))
    }
}

/// Formats a value by its fields, without code of the user. What is not known is `_`.
impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(place) = self.inner() else { return f.write_str("_") };
        if let Some(scalar) = place.scalar() {
            return write!(f, "{scalar}");
        }
        if let Some(text) = place.text() {
            return write!(f, "{text:?}");
        }
        let inner = Value::of_part(place);
        match place.shape().kind {
            Kind::Struct([]) => f.write_str("()"),
            Kind::Struct(fields) => {
                // The names of a tuple are its numbers.
                let is_tuple = fields[0].name == "0";
                f.write_str(if is_tuple { "(" } else { "{ " })?;
                for (at, (name, value)) in inner.fields().enumerate() {
                    f.write_str(if at == 0 { "" } else { ", " })?;
                    if is_tuple { write!(f, "{value}")? } else { write!(f, "{name}: {value}")? }
                }
                f.write_str(if is_tuple { ")" } else { " }" })
            }
            Kind::Array(..) => {
                f.write_str("[")?;
                for (at, value) in inner.elements().enumerate() {
                    f.write_str(if at == 0 { "" } else { ", " })?;
                    write!(f, "{value}")?;
                }
                f.write_str("]")
            }
            _ => f.write_str("_"),
        }
    }
}

impl fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Value({self})")
    }
}

impl<'w> EntityRef<'w> {
    /// Returns a component as a [`Value`], by its id.
    ///
    /// # Errors
    ///
    /// [`ComponentError::MissingComponent`] if the entity does not have the component.
    pub fn value(&self, id: ComponentId) -> Result<Value<'w>, ComponentError> {
        let row = ComponentRow::of_slot(&self.world.storage, self.entity, id);
        row.map(Value::of_component).ok_or_else(|| {
            let info = self.world.storage.components.iter().nth(id.index());
            let component = info.map_or("an unknown component", |(_, info)| info.name());
            ComponentError::MissingComponent { entity: self.entity, component }
        })
    }
}

impl<'w> RowRef<'w> {
    /// Returns a component as a [`Value`], by its id. Returns `None` if the row does not have it.
    pub fn value(&self, id: ComponentId) -> Option<Value<'w>> {
        ComponentRow::of_slot(&self.world().storage, self.id().0, id).map(Value::of_component)
    }
}
