//! Errors of registering, saving and loading.

use core::fmt;
use phalanx_store::{AllocError, Entity};
use std::io;

/// The maximal length of the name of a component or resource, in bytes.
pub const LONGEST_NAME: usize = 63;

/// The name of a component or resource in a snapshot, stored inline.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Name {
    len: u8,
    bytes: [u8; LONGEST_NAME],
}

impl Name {
    /// Creates a name, truncated to [`LONGEST_NAME`] bytes.
    pub(crate) fn new(text: &str) -> Name {
        let mut len = text.len().min(LONGEST_NAME);
        while !text.is_char_boundary(len) {
            len -= 1;
        }
        let mut bytes = [0; LONGEST_NAME];
        bytes[..len].copy_from_slice(&text.as_bytes()[..len]);
        Name { len: len as u8, bytes }
    }

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        core::str::from_utf8(&self.bytes[..usize::from(self.len)]).unwrap_or("?")
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An error of a codec: a sentence that says why a value cannot be encoded or decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodecError(pub &'static str);

impl CodecError {
    /// The error of a codec that could not allocate.
    pub const ALLOC: CodecError = CodecError("allocation failed");
}

impl fmt::Display for CodecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl core::error::Error for CodecError {}

/// The error for bytes that are not a plain value.
pub(super) const INVALID: CodecError = CodecError("its bytes are not a value of its type");

/// The reason why a value was not decoded.
pub(super) enum NotDecoded {
    Codec(CodecError),
    Alloc(AllocError),
}

impl From<CodecError> for NotDecoded {
    fn from(error: CodecError) -> Self {
        NotDecoded::Codec(error)
    }
}

impl From<AllocError> for NotDecoded {
    fn from(error: AllocError) -> Self {
        NotDecoded::Alloc(error)
    }
}

/// An error of registering a component or resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegistryError {
    /// The name is registered for another type.
    NameTaken {
        /// The name.
        name: &'static str,
        /// The type that has the name.
        by: &'static str,
    },
    /// The type is registered already.
    TypeTwice {
        /// The type.
        type_name: &'static str,
        /// The name that it is registered under.
        name: &'static str,
    },
    /// A name is empty or longer than [`LONGEST_NAME`] bytes.
    BadName {
        /// The name.
        name: &'static str,
    },
}

impl fmt::Display for RegistryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RegistryError::NameTaken { name, by } => write!(f, "the name {name} is that of {by} already"),
            RegistryError::TypeTwice { type_name, name } => write!(f, "{type_name} is registered already, as {name}"),
            RegistryError::BadName { name } => {
                write!(f, "the name {name:?} is empty, or longer than {LONGEST_NAME} bytes")
            }
        }
    }
}

impl core::error::Error for RegistryError {}

/// An error of saving a world, of a checksum, or of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SaveError {
    /// An entity has a component that is not registered.
    Unregistered {
        /// The component.
        component: &'static str,
    },
    /// A [`Part`](super::Part) names a component that is not registered.
    UnknownName {
        /// The name.
        name: &'static str,
    },
    /// Two entities of a [`Part`](super::Part) would have the same [name](crate::Name), because links to their parents are left
    /// out.
    NameTaken {
        /// One of them.
        entity: Entity,
        /// The other one.
        holder: Entity,
    },
    /// A value has no encoded form.
    Codec {
        /// The name of the component or resource.
        name: &'static str,
        /// The error of the codec.
        error: CodecError,
    },
    /// A checksum or comparison includes a component whose equal values may have different bytes.
    NotCanonical {
        /// The name of the component or resource.
        name: &'static str,
    },
    /// A component or resource has no readable form.
    NotReadable {
        /// The name of the component or resource.
        name: &'static str,
    },
    /// The writer failed.
    Io(io::ErrorKind),
    /// Allocation failed.
    Alloc(AllocError),
}

impl fmt::Display for SaveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SaveError::Unregistered { component } => write!(f, "{component} is not registered and would be lost"),
            SaveError::UnknownName { name } => write!(f, "{name} is not registered"),
            SaveError::NameTaken { entity, holder } => write!(f, "{entity} and {holder} would have the same name"),
            SaveError::Codec { name, error } => write!(f, "a value of {name} cannot be written: {error}"),
            SaveError::NotCanonical { name } => write!(f, "equal values of {name} need not be equal bytes"),
            SaveError::NotReadable { name } => write!(f, "{name} has no readable form"),
            SaveError::Io(kind) => write!(f, "the snapshot cannot be written: {kind}"),
            SaveError::Alloc(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for SaveError {}

impl From<AllocError> for SaveError {
    fn from(error: AllocError) -> Self {
        SaveError::Alloc(error)
    }
}

impl From<io::Error> for SaveError {
    fn from(error: io::Error) -> Self {
        SaveError::Io(error.kind())
    }
}

/// An error of loading a world, with its position in the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadError {
    /// The section, by its four letters.
    pub section: [u8; 4],
    /// The number of bytes of the input that were read.
    pub offset: u64,
    /// What is wrong.
    pub problem: Problem,
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let section = core::str::from_utf8(&self.section).unwrap_or("????");
        write!(f, "{} (section {}, byte {})", self.problem, section.trim_end().escape_default(), self.offset)
    }
}

impl core::error::Error for LoadError {}

/// The reason why a snapshot was rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// The input does not begin with the head of a snapshot.
    NotASnapshot,
    /// The format has a version that this library does not read.
    Version {
        /// The version of the file.
        found: u32,
        /// The version that this library reads.
        supported: u32,
    },
    /// The input is truncated.
    Truncated,
    /// The input continues after the end of the snapshot.
    Trailing,
    /// The input is damaged: the checksum of a frame does not match.
    Checksum,
    /// A frame is too long.
    FrameTooLong {
        /// The declared length.
        len: u32,
    },
    /// A section is longer or shorter than it declares, or than its contents.
    SectionLength,
    /// An unknown section, or one that is out of order.
    Section {
        /// Its four letters.
        found: [u8; 4],
    },
    /// The contents are invalid. The sentence says what is wrong.
    Invalid(&'static str),
    /// A count is too large, or contradicts another one.
    Count {
        /// What is counted.
        what: &'static str,
        /// The count in the snapshot.
        found: u64,
        /// The expected count, or the maximum.
        expected: u64,
    },
    /// A slot is invalid.
    Slot {
        /// The slot.
        slot: u32,
        /// What is wrong.
        what: &'static str,
    },
    /// A name that is not registered.
    UnknownName {
        /// The name.
        name: Name,
    },
    /// A name that occurs twice.
    RepeatedName {
        /// The name.
        name: Name,
    },
    /// A component or resource was saved with another schema than it is registered with.
    Schema {
        /// The name of the component or resource.
        name: &'static str,
        /// The part of the schema that differs.
        what: &'static str,
        /// The value in the snapshot.
        found: u64,
        /// The registered value.
        expected: u64,
    },
    /// A component or resource has a version without a migration.
    OldVersion {
        /// The name of the component or resource.
        name: &'static str,
        /// The version in the snapshot.
        found: u32,
        /// The registered version.
        expected: u32,
    },
    /// Bytes are not a value.
    Value {
        /// The name of the component or resource.
        name: &'static str,
        /// The position of the value in its column.
        row: u32,
        /// The error of the codec.
        error: CodecError,
    },
    /// The loaded world cannot be merged into the other.
    Merge(crate::StructuralError),
    /// The reader failed.
    Io(io::ErrorKind),
    /// Allocation failed.
    Alloc(AllocError),
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::NotASnapshot => f.write_str("the input is not a snapshot of a world"),
            Problem::Version { found, supported } => {
                write!(f, "the snapshot has format version {found}; this library reads version {supported}")
            }
            Problem::Truncated => f.write_str("the snapshot ends too early"),
            Problem::Trailing => f.write_str("there is something after the end of the snapshot"),
            Problem::Checksum => f.write_str("bytes are damaged: the checksum does not fit"),
            Problem::FrameTooLong { len } => write!(f, "a frame of {len} bytes, which is too long"),
            Problem::SectionLength => f.write_str("a section is longer or shorter than what it must hold"),
            Problem::Section { found } => {
                let found = core::str::from_utf8(found).unwrap_or("????");
                write!(f, "the section {} is not known, or not in its place", found.trim_end().escape_default())
            }
            Problem::Invalid(what) => f.write_str(what),
            Problem::Count { what, found, expected } => {
                write!(f, "{what}: {found}, where {expected} is right or the most")
            }
            Problem::Slot { slot, what } => write!(f, "slot {slot} {what}"),
            Problem::UnknownName { name } => write!(f, "{name} is not registered"),
            Problem::RepeatedName { name } => write!(f, "{name} comes twice"),
            Problem::Schema { name, what, found, expected } => {
                write!(f, "the {what} of {name} is {found:#x} in the snapshot and {expected:#x} here")
            }
            Problem::OldVersion { name, found, expected } => {
                write!(f, "{name} is of version {found}, which leads to version {expected} by no migration")
            }
            Problem::Value { name, row, error } => write!(f, "value {row} of {name} cannot be read: {error}"),
            Problem::Merge(error) => error.fmt(f),
            Problem::Io(kind) => write!(f, "the snapshot cannot be read: {kind}"),
            Problem::Alloc(error) => error.fmt(f),
        }
    }
}

impl From<AllocError> for Problem {
    fn from(error: AllocError) -> Self {
        Problem::Alloc(error)
    }
}

impl From<phalanx_store::RestoreError> for Problem {
    fn from(error: phalanx_store::RestoreError) -> Self {
        match error {
            phalanx_store::RestoreError::Slot { slot, what } => Problem::Slot { slot, what },
            phalanx_store::RestoreError::Whole(what) => Problem::Invalid(what),
            phalanx_store::RestoreError::Alloc(error) => Problem::Alloc(error),
        }
    }
}
