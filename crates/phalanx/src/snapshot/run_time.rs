//! Components of run time: saved by a name, a layout, and what is said of their bytes.
#![allow(unsafe_code)]

use super::coded::{read_each, write_each};
use super::column::{Column, Made, Source, extend_by_row, put_next_with, read_lanes, write_lanes};
use super::error::{CodecError, LoadError, RegistryError, SaveError};
use super::frame::{In, Out};
use super::readable::Readable;
use super::registry::{Entry, Origin, Registry, Schema};
use crate::storage::table::{ALIGNED_FOR_ALL, row_ptr};
use crate::world::ComponentDescriptor;
use core::fmt;
use phalanx_store::raw::Lane;

/// A way to write values of a component of run time, and to read them back, given their addresses.
pub trait RawCodec: Send + Sync + 'static {
    /// The codec's name, of at most 63 bytes. A column that was written by a codec of another name is refused.
    fn name(&self) -> &'static str;

    /// Appends a value.
    ///
    /// # Errors
    ///
    /// If the value has no encoded form.
    ///
    /// # Safety
    ///
    /// There is a value of the component, which is not written meanwhile.
    unsafe fn encode(&self, value: *const u8, bytes: &mut Vec<u8>) -> Result<(), CodecError>;

    /// Reads a value from the front of the bytes, leaves the rest, and writes the value to its place. The bytes may be
    /// anybody's.
    ///
    /// # Errors
    ///
    /// If they are no value; then there is none in the place.
    ///
    /// # Safety
    ///
    /// There is room for a value of the component, aligned for it, in which none lives.
    unsafe fn decode(&self, place: *mut u8, bytes: &mut &[u8]) -> Result<(), CodecError>;

    /// Whether equal values are equal bytes.
    fn is_canonical(&self) -> bool {
        true
    }
}

/// Values as they are in memory; the number of lanes.
struct PlainBytes(usize);

impl Column for PlainBytes {
    fn codec(&self) -> &'static str {
        "plain"
    }
    fn is_canonical(&self) -> bool {
        true
    }
    fn is_plain(&self) -> bool {
        true
    }
    unsafe fn write(&self, _: &'static str, sources: &[Source<'_>], out: &mut Out<'_>) -> Result<(), SaveError> {
        // SAFETY: the caller's promise; who registered it has promised that there is no padding.
        unsafe { write_lanes(self.0, sources, out) }
    }
    unsafe fn encode(&self, lanes: *const Lane, row: u32, bytes: &mut Vec<u8>) -> Result<(), CodecError> {
        // SAFETY: as above.
        unsafe { extend_by_row(self.0, lanes, row, bytes) }
    }
    unsafe fn read(&self, _: &'static str, made: &mut Made<'_>, input: &mut In<'_>) -> Result<(), LoadError> {
        read_lanes(self.0, made, input)?;
        // SAFETY: the rows of all lanes were read, and any bytes are values.
        unsafe { made.all_there() };
        Ok(())
    }
}

/// Values one by one, in blocks of bytes; whether they have a lane.
struct RawCoded<K>(K, bool);

impl<K> RawCoded<K> {
    /// The address of a value.
    ///
    /// # Safety
    ///
    /// The lanes are the component's, and the row is within their capacity.
    unsafe fn at(&self, lanes: *const Lane, row: u32) -> *const u8 {
        match self.1 {
            // SAFETY: the caller's promise.
            true => unsafe { row_ptr(&*lanes, row) },
            false => core::ptr::without_provenance(ALIGNED_FOR_ALL.get()),
        }
    }
}

impl<K: RawCodec> Column for RawCoded<K> {
    fn codec(&self) -> &'static str {
        self.0.name()
    }
    fn is_canonical(&self) -> bool {
        self.0.is_canonical()
    }
    fn is_plain(&self) -> bool {
        false
    }
    unsafe fn write(&self, name: &'static str, sources: &[Source<'_>], out: &mut Out<'_>) -> Result<(), SaveError> {
        write_each(name, sources, out, |lanes, row, bytes| {
            // SAFETY: the caller's promise: there is a value.
            unsafe { self.0.encode(self.at(lanes, row), bytes) }
        })
    }
    unsafe fn encode(&self, lanes: *const Lane, row: u32, bytes: &mut Vec<u8>) -> Result<(), CodecError> {
        // SAFETY: as above.
        unsafe { self.0.encode(self.at(lanes, row), bytes) }
    }
    unsafe fn read(&self, name: &'static str, made: &mut Made<'_>, input: &mut In<'_>) -> Result<(), LoadError> {
        let mut rows = made.places();
        read_each(name, made.wanted(), input, |bytes, _| match rows.next() {
            // SAFETY: the next row of this component, whose codec writes a value or fails.
            Some(row) => unsafe { put_next_with(made, row, |place| self.0.decode(place, bytes)) },
            None => unreachable!("no more values are read than there are rows"),
        })
    }
}

fn fields(text: &str, is_plain: bool) -> u64 {
    super::checksum(u64::from(is_plain && cfg!(target_endian = "big")), text.as_bytes())
}

impl Registry {
    /// Saves a component of [run time](crate::World::register_component_with_descriptor) as it is in memory. Its name is that of the
    /// descriptor; worlds know it by the same name, layout and destructor. A world that is loaded knows it without further ado:
    /// [`Components::find`](crate::Components::find) leads to its id, and registering it again gives that id.
    ///
    /// In [readable form](crate::World::serialize) a value is a list of bytes. Entities in a value mean nothing to the library:
    /// they stay as they are when it is [merged](crate::World::merge).
    ///
    /// ```
    /// use core::alloc::Layout;
    /// use core::ptr::NonNull;
    /// use phalanx::layout::Kind;
    /// use phalanx::snapshot::Registry;
    /// use phalanx::{ComponentDescriptor, World};
    ///
    /// // What a script says of a component of its own.
    /// let fuel = ComponentDescriptor {
    ///     name: "mod:Fuel".into(),
    ///     layout: Layout::new::<f64>(),
    ///     kind: Kind::Table,
    ///     drop: None,
    ///     clone: None,
    /// };
    /// let mut registry = Registry::new();
    /// // SAFETY: numbers can be sent and shared, and have no destructor; all their bytes are in use, and any are a number.
    /// unsafe { registry.dynamic(fuel.clone())?.fields("litres: f64") };
    ///
    /// let mut world = World::new();
    /// // SAFETY: as above.
    /// let id = unsafe { world.register_component_with_descriptor(fuel) };
    /// let ship = world.spawn_empty();
    /// let mut litres = 40.5_f64;
    /// // SAFETY: a value of the component.
    /// unsafe { world.entity_mut(ship)?.insert_by_id(id, NonNull::from(&mut litres).cast()) };
    /// let mut file = Vec::new();
    /// world.save(&registry, &mut file)?;
    ///
    /// let copy = World::load(&registry, &*file)?;
    /// let id = copy.components().find("mod:Fuel").unwrap();
    /// let found = copy.entity(ship)?.get_by_id(id)?;
    /// // SAFETY: the value is there while the world is not changed.
    /// assert_eq!(unsafe { found.cast::<f64>().read() }, 40.5);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the name is taken, empty or too long.
    ///
    /// # Safety
    ///
    /// As for [`World::register_component_with_descriptor`](crate::World::register_component_with_descriptor). No byte of a value is padding, and any bytes of
    /// its size are a value: a file may be anybody's.
    pub unsafe fn dynamic(&mut self, descriptor: ComponentDescriptor) -> Result<RegisteredDynamic<'_>, RegistryError> {
        let entry = self.add_dynamic(descriptor, |lanes| Box::new(PlainBytes(lanes)))?;
        entry.readable = Some(Readable {
            show: |lanes, row, see| {
                // SAFETY: the caller's promise: the lane is the component's, and the row is in use.
                let bytes = unsafe {
                    let lane = &*lanes;
                    core::slice::from_raw_parts(row_ptr(lane, row), lane.row_size())
                };
                see(&bytes);
            },
            parse: |made, row, deserializer| {
                let bytes: Vec<u8> = erased_serde::deserialize(deserializer)?;
                // SAFETY: the component has a lane.
                let size = unsafe { (*made.lane()).row_size() };
                if bytes.len() != size {
                    return Err(serde::de::Error::custom(format_args!(
                        "{} bytes where {size} are a value",
                        bytes.len()
                    )));
                }
                // SAFETY: the next row, by the caller's promise; any bytes of its size are a value.
                let done = unsafe {
                    put_next_with(made, row, |place| {
                        place.copy_from_nonoverlapping(bytes.as_ptr(), size);
                        Ok(())
                    })
                };
                done.map_err(|_| serde::de::Error::custom("there is no memory for it"))
            },
        });
        if entry.schema.lanes.is_empty() {
            entry.readable = Some(Readable {
                show: |_, _, see| see(&()),
                parse: |_, _, deserializer| erased_serde::deserialize::<()>(deserializer),
            });
        }
        Ok(RegisteredDynamic { entry })
    }

    /// Saves a component of [run time](crate::World::register_component_with_descriptor) by a codec. It has no readable form.
    ///
    /// # Errors
    ///
    /// As [`dynamic`](Registry::dynamic).
    ///
    /// # Safety
    ///
    /// As for [`World::register_component_with_descriptor`](crate::World::register_component_with_descriptor). The codec, if it does not fail, writes a value of
    /// the component, whatever the bytes; if it fails, nothing that needs an end.
    pub unsafe fn dynamic_codec(
        &mut self,
        descriptor: ComponentDescriptor,
        codec: impl RawCodec,
    ) -> Result<RegisteredDynamic<'_>, RegistryError> {
        let entry = self.add_dynamic(descriptor, |lanes| Box::new(RawCoded(codec, lanes > 0)))?;
        Ok(RegisteredDynamic { entry })
    }

    fn add_dynamic(
        &mut self,
        descriptor: ComponentDescriptor,
        column: impl FnOnce(usize) -> Box<dyn Column>,
    ) -> Result<&mut Entry, RegistryError> {
        let info = descriptor.into_info();
        let (name, kind, column) = (info.name, info.kind, column(info.lanes.len()));
        let lanes = if column.is_plain() { info.lanes.to_vec() } else { Vec::new() };
        let schema = Schema { lanes, fields: fields("", column.is_plain()) };
        self.add_entry(name, name, Origin::RunTime(info), kind, schema, column)
    }
}

/// A component of run time that was just registered, and what else is to be said of it.
pub struct RegisteredDynamic<'r> {
    entry: &'r mut Entry,
}

impl RegisteredDynamic<'_> {
    /// The present version of the component, 0 unless it is said. Others are refused.
    pub fn version(self, version: u32) -> Self {
        self.entry.version = version;
        self
    }

    /// What the bytes mean, in any words: a snapshot of a component that was registered with others is refused.
    pub fn fields(self, text: &str) -> Self {
        self.entry.schema.fields = fields(text, self.entry.column.is_plain());
        self
    }

    /// Says that equal values need not be equal bytes.
    pub fn not_canonical(self) -> Self {
        self.entry.canonical = false;
        self
    }
}

impl fmt::Debug for RegisteredDynamic<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RegisteredDynamic({})", self.entry.name)
    }
}
