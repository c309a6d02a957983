//! [`Codec`]: encodes values as bytes.

use super::bounded::Bounded;
use super::budget::Budget;
use super::error::CodecError;
use crate::alloc::try_reserve;
use postcard::de_flavors::{Flavor, Slice};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Encodes values of a component or resource as bytes, and decodes them.
///
/// ```
/// use phalanx::snapshot::{Codec, CodecError, Registry};
/// use phalanx::{Component, World};
///
/// #[derive(Component, Debug, PartialEq)]
/// struct Label(&'static str);
///
/// struct Labels;
/// impl Codec<Label> for Labels {
///     fn name(&self) -> &'static str {
///         "labels"
///     }
///     fn encode(&self, value: &Label, bytes: &mut Vec<u8>) -> Result<(), CodecError> {
///         bytes.push(if value.0 == "red" { 1 } else { 0 });
///         Ok(())
///     }
///     fn decode(&self, bytes: &mut &[u8]) -> Result<Label, CodecError> {
///         let (first, rest) = bytes.split_first().ok_or(CodecError("no byte is left"))?;
///         *bytes = rest;
///         match first {
///             0 => Ok(Label("none")),
///             1 => Ok(Label("red")),
///             _ => Err(CodecError("no such label")),
///         }
///     }
/// }
///
/// let mut registry = Registry::new();
/// registry.codec("label", Labels)?;
/// let mut world = World::new();
/// let e = world.spawn(Label("red"));
/// let mut file = Vec::new();
/// registry.save(&world, &mut file)?;
/// assert_eq!(registry.load(&*file)?.get::<Label>(e)?, &Label("red"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Codec<C>: Send + Sync + 'static {
    /// Returns the name of the codec, of at most 63 bytes. Loading rejects a column that was written by a codec of another
    /// name.
    fn name(&self) -> &'static str;

    /// Appends the encoded form of a value to `bytes`.
    ///
    /// # Errors
    ///
    /// Returns an error if the value has no encoded form.
    fn encode(&self, value: &C, bytes: &mut Vec<u8>) -> Result<(), CodecError>;

    /// Decodes a value from the front of `bytes`, and advances them. The bytes may come from an untrusted source.
    ///
    /// # Errors
    ///
    /// Returns an error if the bytes are not a value.
    fn decode(&self, bytes: &mut &[u8]) -> Result<C, CodecError>;

    /// Decodes a value like [`decode`](Codec::decode), within the budget of a load.
    ///
    /// Loading calls this function. The default implementation calls `decode`. A codec that calls another one implements it
    /// to pass the budget: without that, [`Serde`] bounds each value by itself, not all values together.
    ///
    /// # Errors
    ///
    /// Returns an error if the bytes are not a value, or the budget is exceeded.
    fn decode_within(&self, bytes: &mut &[u8], budget: &Budget) -> Result<C, CodecError> {
        let _ = budget;
        self.decode(bytes)
    }

    /// Returns `true` if equal values have equal bytes. This is not so if a value has a hash map with a random seed.
    fn is_canonical(&self) -> bool {
        true
    }
}

/// Appends bytes to a list.
pub(super) fn try_extend(list: &mut Vec<u8>, bytes: &[u8]) -> Result<(), CodecError> {
    try_reserve(list, bytes.len()).map_err(|_| CodecError::ALLOC)?;
    list.extend_from_slice(bytes);
    Ok(())
}

/// Encodes values by serde, in the format of `postcard`: numbers of variable length, fields in order and without names.
///
/// Decoding rejects values that are nested more than 128 levels deep. It also rejects values with too many parts that take
/// no bytes, such as a list of millions of units: see [`Budget`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Serde;

impl<C: Serialize + DeserializeOwned> Codec<C> for Serde {
    fn name(&self) -> &'static str {
        "serde"
    }

    fn encode(&self, value: &C, bytes: &mut Vec<u8>) -> Result<(), CodecError> {
        /// Appends bytes to a list, and fails if allocation fails.
        struct Room<'a>(&'a mut Vec<u8>);
        impl postcard::ser_flavors::Flavor for Room<'_> {
            type Output = ();
            fn try_extend(&mut self, bytes: &[u8]) -> postcard::Result<()> {
                try_extend(self.0, bytes).map_err(|_| postcard::Error::SerializeBufferFull)
            }
            fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
                self.try_extend(&[byte])
            }
            fn finalize(self) -> postcard::Result<()> {
                Ok(())
            }
        }
        postcard::serialize_with_flavor(value, Room(bytes)).map_err(|error| match error {
            postcard::Error::SerializeBufferFull => CodecError::ALLOC,
            _ => CodecError("its serializer refused"),
        })
    }

    fn decode(&self, bytes: &mut &[u8]) -> Result<C, CodecError> {
        self.decode_within(bytes, &Budget::of_value())
    }

    fn decode_within(&self, bytes: &mut &[u8], budget: &Budget) -> Result<C, CodecError> {
        let before = budget.taken();
        let mut deserializer = postcard::Deserializer::from_flavor(Counted(Slice::new(bytes), budget));
        let value = C::deserialize(Bounded::new(&mut deserializer, budget));
        let value = value.map_err(|error| match error {
            _ if budget.is_overdrawn() => CodecError("it has too many parts that take no bytes"),
            postcard::Error::DeserializeUnexpectedEnd => CodecError("the bytes end too early"),
            postcard::Error::DeserializeBadVarint => CodecError("a number that is too long"),
            postcard::Error::DeserializeBadUtf8 => CodecError("a text that is not UTF-8"),
            postcard::Error::DeserializeBadBool | postcard::Error::DeserializeBadOption => {
                CodecError("a byte that is neither 0 nor 1")
            }
            postcard::Error::DeserializeBadEnum => CodecError("a variant that does not exist"),
            _ => CodecError("its deserializer refused, or it is nested too deeply"),
        })?;
        *bytes = &bytes[(budget.taken() - before) as usize..];
        Ok(value)
    }
}

/// Input bytes that are counted by a budget.
struct Counted<'de>(Slice<'de>, &'de Budget);

impl<'de> Flavor<'de> for Counted<'de> {
    type Remainder = ();
    type Source = &'de [u8];

    fn pop(&mut self) -> postcard::Result<u8> {
        let byte = self.0.pop()?;
        self.1.take(1);
        Ok(byte)
    }
    fn size_hint(&self) -> Option<usize> {
        self.0.size_hint()
    }
    fn try_take_n(&mut self, count: usize) -> postcard::Result<&'de [u8]> {
        let bytes = self.0.try_take_n(count)?;
        self.1.take(count);
        Ok(bytes)
    }
    fn finalize(self) -> postcard::Result<()> {
        Ok(())
    }
}
