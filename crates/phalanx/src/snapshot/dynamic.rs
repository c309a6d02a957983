//! Registration of dynamic components: [`RawCodec`] and [`RegisteredDynamic`].
#![allow(unsafe_code)]

use super::codec::try_extend;
use super::coded::{read_each, write_each};
use super::column::Column;
use super::column_builder::ColumnBuilder;
use super::column_rows::{ColumnRows, ValueRef};
use super::error::{CodecError, LoadError, RegistryError, SaveError};
use super::readable::Readable;
use super::reader::Reader;
use super::registry::{Entry, Origin, Registry, Schema};
use super::writer::Writer;
use crate::alloc::unwrap_alloc;
use crate::component::ComponentInfo;
use crate::world::ComponentDescriptor;
use core::fmt;

/// Encodes values of a dynamic component as bytes, and decodes them, given their addresses.
pub trait RawCodec: Send + Sync + 'static {
    /// Returns the name of the codec, of at most 63 bytes. Loading rejects a column that was written by a codec of another
    /// name.
    fn name(&self) -> &'static str;

    /// Appends the encoded form of a value to `bytes`.
    ///
    /// # Errors
    ///
    /// Returns an error if the value has no encoded form.
    ///
    /// # Safety
    ///
    /// `value` points to a value of the component, which is not written meanwhile.
    unsafe fn encode(&self, value: *const u8, bytes: &mut Vec<u8>) -> Result<(), CodecError>;

    /// Decodes a value from the front of `bytes`, advances them, and writes the value to `target`. The bytes may come from
    /// an untrusted source.
    ///
    /// # Errors
    ///
    /// Returns an error if the bytes are not a value. Then no value was written.
    ///
    /// # Safety
    ///
    /// `target` is valid for writes of a value of the component, and aligned for it.
    unsafe fn decode(&self, target: *mut u8, bytes: &mut &[u8]) -> Result<(), CodecError>;

    /// Returns `true` if equal values have equal bytes.
    fn is_canonical(&self) -> bool {
        true
    }
}

/// Values of a run-time component that are written as they are in memory.
struct PlainBytes(ComponentInfo);

impl PlainBytes {
    /// Returns the bytes of the values in some rows, lane by lane.
    fn bytes<'a>(&self, source: ColumnRows<'a>, lane: usize) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        source.check_run_time(&self.0);
        // SAFETY: values of the component have no padding, by the contract of `Registry::dynamic`.
        unsafe { source.lane_bytes(lane) }
    }
}

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
    fn write(&self, _: &'static str, sources: &[ColumnRows<'_>], out: &mut Writer<'_>) -> Result<(), SaveError> {
        for lane in 0..self.0.lanes.len() {
            for source in sources {
                self.bytes(*source, lane).try_for_each(|bytes| out.put(bytes))?;
            }
        }
        Ok(())
    }
    fn encode(&self, source: ColumnRows<'_>, bytes: &mut Vec<u8>) -> Result<(), CodecError> {
        let mut lanes = (0..self.0.lanes.len()).flat_map(|lane| self.bytes(source, lane));
        lanes.try_for_each(|lane| try_extend(bytes, lane))
    }
    fn read(&self, _: &'static str, builder: &mut ColumnBuilder<'_>, input: &mut Reader<'_>) -> Result<(), LoadError> {
        // SAFETY: any bytes are a value, by the contract of `Registry::dynamic`.
        unsafe { builder.of_run_time(&self.0).read_plain(input) }
    }
}

/// Values of a run-time component that a codec encodes one by one, in blocks of bytes.
struct RawCoded<K>(K, ComponentInfo);

impl<K: RawCodec> RawCoded<K> {
    fn encode_value(&self, value: ValueRef<'_>, bytes: &mut Vec<u8>) -> Result<(), CodecError> {
        // SAFETY: the address is that of a value of the component, which is not written meanwhile.
        unsafe { self.0.encode(value.address(&self.1), bytes) }
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
    fn write(&self, name: &'static str, sources: &[ColumnRows<'_>], out: &mut Writer<'_>) -> Result<(), SaveError> {
        write_each(name, sources.iter().copied(), out, |value, bytes| self.encode_value(value, bytes))
    }
    fn encode(&self, source: ColumnRows<'_>, bytes: &mut Vec<u8>) -> Result<(), CodecError> {
        source.values().try_for_each(|value| self.encode_value(value, bytes))
    }
    fn read(
        &self,
        name: &'static str,
        builder: &mut ColumnBuilder<'_>,
        input: &mut Reader<'_>,
    ) -> Result<(), LoadError> {
        let mut builder = builder.of_run_time(&self.1);
        read_each(name, builder.len(), input, |bytes, _| {
            // SAFETY: the codec writes a value or fails, by the contract of `Registry::dynamic_codec`.
            unsafe { builder.push_with(|target| self.0.decode(target, bytes)) }
        })
    }
}

fn fields(text: &str, is_plain: bool) -> u64 {
    super::checksum(u64::from(is_plain && cfg!(target_endian = "big")), text.as_bytes())
}

impl Registry {
    /// Registers a [dynamic component](crate::World::register_component) that is saved as it is in memory.
    ///
    /// Its name is that of the descriptor. In a world it is the component with the same name, layout and destructor. A
    /// loaded world has it registered: [`Components::find`](crate::Components::find) returns its id, and so does
    /// registering it again.
    ///
    /// In [readable form](Registry::serialize) a value is a list of bytes. A [merge](Registry::merge) does not remap
    /// entities in a value, because the library does not know them.
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
    /// registry.save(&world, &mut file)?;
    ///
    /// let copy = registry.load(&*file)?;
    /// let id = copy.components().find("mod:Fuel").unwrap();
    /// let found = copy.entity(ship)?.get_by_id(id)?;
    /// // SAFETY: the value is there while the world is not changed.
    /// assert_eq!(unsafe { found.cast::<f64>().read() }, 40.5);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`RegistryError::NameTaken`] if the name is registered already.
    /// - [`RegistryError::BadName`] if it is empty or too long.
    ///
    /// # Safety
    ///
    /// The contract of [`World::register_component`](crate::World::register_component) holds. No byte of a value is
    /// padding. Any bytes of its size are a value, because a file may come from an untrusted source.
    pub unsafe fn dynamic(&mut self, descriptor: ComponentDescriptor) -> Result<RegisteredDynamic<'_>, RegistryError> {
        let entry = self.add_dynamic(descriptor, |info| Box::new(PlainBytes(info)))?;
        let Origin::RunTime(info) = &entry.origin else { unreachable!("a run-time component was added") };
        let Some(size) = info.lanes.first().map(|lane| lane.size()) else {
            entry.readable = Some(Readable::unit());
            return Ok(RegisteredDynamic { entry });
        };
        let (of_shown, of_parsed) = (PlainBytes(unwrap_alloc(info.try_clone())), unwrap_alloc(info.try_clone()));
        entry.readable = Some(Readable {
            show: Box::new(move |source, see| {
                of_shown.bytes(source, 0).flat_map(|run| run.chunks_exact(size)).for_each(|value| see(&value));
            }),
            parse: Box::new(move |builder, deserializer| {
                let bytes: Vec<u8> = erased_serde::deserialize(deserializer)?;
                if bytes.len() != size {
                    return Err(serde::de::Error::custom(format_args!(
                        "{} bytes where {size} are a value",
                        bytes.len()
                    )));
                }
                // SAFETY: any bytes of the size are a value, by the contract of `Registry::dynamic`. The target is one.
                let done = unsafe {
                    builder.of_run_time(&of_parsed).push_with(|target| {
                        target.copy_from_nonoverlapping(bytes.as_ptr(), size);
                        Ok(())
                    })
                };
                done.map_err(|_| serde::de::Error::custom("allocation failed"))
            }),
            insert: None,
        });
        Ok(RegisteredDynamic { entry })
    }

    /// Registers a [dynamic component](crate::World::register_component) that is saved by a codec. It has no readable form.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`dynamic`](Registry::dynamic).
    ///
    /// # Safety
    ///
    /// The contract of [`World::register_component`](crate::World::register_component) holds. For any bytes, the codec
    /// writes a value of the component or fails. If it fails, it leaves nothing that needs a drop.
    pub unsafe fn dynamic_codec(
        &mut self,
        descriptor: ComponentDescriptor,
        codec: impl RawCodec,
    ) -> Result<RegisteredDynamic<'_>, RegistryError> {
        let entry = self.add_dynamic(descriptor, |info| Box::new(RawCoded(codec, info)))?;
        Ok(RegisteredDynamic { entry })
    }

    fn add_dynamic(
        &mut self,
        descriptor: ComponentDescriptor,
        column: impl FnOnce(ComponentInfo) -> Box<dyn Column>,
    ) -> Result<&mut Entry, RegistryError> {
        let info = descriptor.into_info();
        let (name, kind, column) = (info.name, info.kind, column(unwrap_alloc(info.try_clone())));
        let lanes = if column.is_plain() { info.lanes.to_vec() } else { Vec::new() };
        let schema = Schema { lanes, fields: fields("", column.is_plain()) };
        self.add_entry(name, name, Origin::RunTime(info), kind, schema, column)
    }
}

/// A dynamic component that was just registered, to set its options.
pub struct RegisteredDynamic<'r> {
    entry: &'r mut Entry,
}

impl RegisteredDynamic<'_> {
    /// Sets the version of the component, which is 0 by default. Loading rejects other versions.
    pub fn version(self, version: u32) -> Self {
        self.entry.version = version;
        self
    }

    /// Sets a description of the bytes, in any words. Loading rejects a column that was saved with another description.
    pub fn fields(self, text: &str) -> Self {
        self.entry.schema.fields = fields(text, self.entry.column.is_plain());
        self
    }

    /// Declares that equal values may have different bytes.
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
