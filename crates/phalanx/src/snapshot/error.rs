//! What can go wrong when worlds are saved and loaded.

use core::fmt;
use phalanx_store::AllocError;
use std::io;

/// The longest name of a component or resource in a snapshot, in bytes.
pub const LONGEST_NAME: usize = 63;

/// The name of a component or resource as a snapshot has it: at most [`LONGEST_NAME`] bytes, in place.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Name {
    len: u8,
    bytes: [u8; LONGEST_NAME],
}

impl Name {
    /// The name in a string, cut off where it is too long.
    pub(crate) fn new(text: &str) -> Name {
        let mut len = text.len().min(LONGEST_NAME);
        while !text.is_char_boundary(len) {
            len -= 1;
        }
        let mut bytes = [0; LONGEST_NAME];
        bytes[..len].copy_from_slice(&text.as_bytes()[..len]);
        Name { len: len as u8, bytes }
    }

    /// The name.
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

/// Why a value has no encoded form, or bytes are no value: a sentence of the codec's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodecError(pub &'static str);

impl fmt::Display for CodecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl core::error::Error for CodecError {}

/// Why bytes are no plain value.
pub(super) const INVALID: CodecError = CodecError("its bytes are not a value of its type");

/// Why a value was not read.
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

/// Why a component or resource cannot be registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegistryError {
    /// The name is another's already.
    NameTaken {
        /// The name.
        name: &'static str,
        /// The type that has it.
        by: &'static str,
    },
    /// The type is registered already.
    TypeTwice {
        /// The type.
        type_name: &'static str,
        /// The name that it has.
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

/// Why a world was not saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SaveError {
    /// An entity has a component that is not registered.
    Unregistered {
        /// The component.
        component: &'static str,
    },
    /// A part was to have a component of a name that is not registered.
    UnknownName {
        /// The name.
        name: &'static str,
    },
    /// A value has no encoded form.
    Codec {
        /// The name of the component or resource.
        name: &'static str,
        /// What its codec says.
        error: CodecError,
    },
    /// A component whose values have no canonical form is in the way of a checksum or a comparison.
    NotCanonical {
        /// The name of the component or resource.
        name: &'static str,
    },
    /// A component cannot be written in readable form: its codec is not serde.
    NotReadable {
        /// The name of the component or resource.
        name: &'static str,
    },
    /// The writer has failed.
    Io(io::ErrorKind),
    /// There is no memory for it.
    Alloc(AllocError),
}

impl fmt::Display for SaveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SaveError::Unregistered { component } => write!(f, "{component} is not registered and would be lost"),
            SaveError::UnknownName { name } => write!(f, "{name} is not registered"),
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

/// Why a world was not loaded, and where in the input that was found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadError {
    /// The section, by its four letters.
    pub section: [u8; 4],
    /// How many bytes of the input had been read.
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

/// What is wrong with a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// It does not begin as snapshots do.
    NotASnapshot,
    /// The format has a version that this library does not read.
    Version {
        /// The version of the file.
        found: u32,
        /// The version that this library reads.
        supported: u32,
    },
    /// It ends too early.
    Truncated,
    /// There is something after its end.
    Trailing,
    /// Bytes were damaged: a frame's checksum does not fit.
    Checksum,
    /// A frame is longer than frames are.
    FrameTooLong {
        /// The length that it declares.
        len: u32,
    },
    /// A section is longer or shorter than it says, or than its contents.
    SectionLength,
    /// A section where another was expected.
    Section {
        /// Its four letters.
        found: [u8; 4],
    },
    /// Something that cannot be: a sentence says what.
    Invalid(&'static str),
    /// A number that is too large, or not what others say it must be.
    Count {
        /// What is counted.
        what: &'static str,
        /// The number.
        found: u64,
        /// What it must be, or the most that it can be.
        expected: u64,
    },
    /// Something is wrong with a slot.
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
    /// A name that comes twice.
    RepeatedName {
        /// The name.
        name: Name,
    },
    /// A component or resource was saved with another schema than it is registered with.
    Schema {
        /// Its name.
        name: &'static str,
        /// In what they differ.
        what: &'static str,
        /// What the snapshot has.
        found: u64,
        /// What is registered.
        expected: u64,
    },
    /// It was saved in a version that nothing was registered for.
    OldVersion {
        /// The name of the component or resource.
        name: &'static str,
        /// The version.
        found: u32,
        /// The version that is registered.
        expected: u32,
    },
    /// Bytes that are no value.
    Value {
        /// The name of the component or resource.
        name: &'static str,
        /// Which of the values of its column.
        row: u32,
        /// What the codec says.
        error: CodecError,
    },
    /// What was loaded cannot join the world that is there.
    Merge(crate::ChangeError),
    /// The reader has failed.
    Io(io::ErrorKind),
    /// There is no memory for it.
    Alloc(AllocError),
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::NotASnapshot => f.write_str("this is no snapshot of a world"),
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
