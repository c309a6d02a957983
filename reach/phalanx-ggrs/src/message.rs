//! [`PeerMessage`]: what peers tell each other beside inputs.

use phalanx::timeline::{ArrayKey, ArrayPart};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;

/// A message of the channel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum PeerMessage {
    /// The sums of a frame differ. The sender asks the receiver to find out where.
    Suspect { frame: u64 },
    /// A question about a frame.
    Ask(Question),
    /// The answer to the last question.
    Answer(Answer),
    /// What was found. The receiver reports it, too.
    Found(Finding),
    /// The sender asks to take part.
    Join { as_spectator: bool },
    /// The sender does not let the receiver take part.
    Refused,
    /// All stop at this frame. The next session has the given number.
    Pause { frame: u64, session: u32 },
    /// The sender has stopped at a frame, which is confirmed and has this sum.
    Paused { frame: u64, sum: u64 },
    /// A world, saved at a frame with this sum.
    Snapshot { frame: u64, sum: u64, bytes: Vec<u8> },
    /// The sender has loaded a snapshot. This is the sum that it has got.
    Loaded { frame: u64, sum: u64 },
    /// All start the session with this number at a frame, with these players.
    Start { frame: u64, session: u32, players: Vec<Place> },
    /// The confirmed inputs of frames from a number on, each in the encoding of inputs, and the sum of the frame after the last.
    Inputs { first: u64, inputs: Vec<Vec<u8>>, sum: Option<u64> },
}

/// Where a player is, as the sender of the message sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Place {
    Sender,
    Receiver,
    At(SocketAddr),
}

/// A question about the state of a frame. It has the sums of the one who asks, so that the answer goes down by two levels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Question {
    /// Which frame differs first? The sums are those of confirmed frames, of which the last is `last`.
    Frames { last: u64, sums: Vec<u64> },
    /// Which array of a component or resource differs first?
    Arrays { part: u8, owner: u64, arrays: Vec<ArraySum> },
    /// What are the rows of a chunk?
    Rows { array: WireKey, chunk: u32 },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Answer {
    /// The frame is not kept any more, or there is no such array.
    Unknown,
    /// The frames are equal.
    Equal,
    /// The first frame that differs, the last one that is equal, and the sums of its components and resources.
    Owners {
        frame: u64,
        last_equal: Option<u64>,
        sums: OwnerSums,
    },
    /// The first array that differs, as both have it, and the sums of its chunks.
    Chunks {
        array: ArraySum,
        chunks: Vec<u64>,
    },
    Rows(Vec<Row>),
}

/// The sums of the components and resources of a frame.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OwnerSums {
    pub(crate) owners: Vec<OwnerSum>,
    /// The names of what is not compared.
    pub(crate) uncovered: Vec<String>,
    /// The names of the resources that a rollback does not restore.
    pub(crate) unrestored: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OwnerSum {
    pub(crate) part: u8,
    pub(crate) owner: u64,
    pub(crate) name: String,
    pub(crate) sum: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ArraySum {
    pub(crate) key: WireKey,
    /// The names of the components of the table.
    pub(crate) table: Vec<String>,
    pub(crate) rows: u32,
    pub(crate) sum: u64,
}

/// A row of a chunk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Row {
    /// The bits of the entity, if it has one.
    pub(crate) entity: Option<u64>,
    pub(crate) bytes: Vec<u8>,
}

/// An [`ArrayKey`] as numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct WireKey {
    pub(crate) part: u8,
    pub(crate) owner: u64,
    pub(crate) table: u64,
    pub(crate) lane: u32,
}

impl From<ArrayKey> for WireKey {
    fn from(key: ArrayKey) -> Self {
        WireKey { part: part_number(key.part), owner: key.owner, table: key.table, lane: key.lane }
    }
}

/// Returns the number of a part on the wire.
pub(crate) fn part_number(part: ArrayPart) -> u8 {
    match part {
        ArrayPart::Entities => 0,
        ArrayPart::FreeSlots => 1,
        ArrayPart::Rows => 2,
        ArrayPart::Keys => 3,
        ArrayPart::Values => 4,
        ArrayPart::Resource => 5,
        _ => u8::MAX,
    }
}

/// Returns the part with a number on the wire.
pub(crate) fn part_of(number: u8) -> Option<ArrayPart> {
    let parts = [
        ArrayPart::Entities,
        ArrayPart::FreeSlots,
        ArrayPart::Rows,
        ArrayPart::Keys,
        ArrayPart::Values,
        ArrayPart::Resource,
    ];
    parts.into_iter().find(|part| part_number(*part) == number)
}

/// What a walk has found. The first side is the one that asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Finding {
    /// The numbers of the players of both sides.
    pub(crate) players: [u32; 2],
    /// Whether all questions were answered.
    pub(crate) is_complete: bool,
    pub(crate) frame: u64,
    pub(crate) last_equal: Option<u64>,
    /// The names of the components and resources that differ.
    pub(crate) differing: Vec<String>,
    pub(crate) compared: u32,
    pub(crate) uncovered: Vec<String>,
    pub(crate) unrestored: Vec<String>,
    pub(crate) place: Option<FoundPlace>,
}

/// Where the first difference is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct FoundPlace {
    pub(crate) key: WireKey,
    pub(crate) name: String,
    pub(crate) table: Vec<String>,
    /// The numbers of rows of both sides.
    pub(crate) rows: [u32; 2],
    pub(crate) chunks_differing: u32,
    pub(crate) row: u32,
    /// The row of both sides.
    pub(crate) values: [Option<Row>; 2],
}

impl PeerMessage {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        postcard::to_allocvec(self).unwrap_or_default()
    }

    /// Reads a message. Returns `None` if the bytes are not one.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<PeerMessage> {
        match postcard::take_from_bytes(bytes) {
            Ok((message, [])) => Some(message),
            _ => None,
        }
    }
}

impl Finding {
    /// Removes what a peer should not be able to print: control characters, and texts without end.
    pub(crate) fn cleaned(mut self) -> Finding {
        let clean = |text: &mut String| {
            *text = text.chars().filter(|c| !c.is_control()).take(256).collect();
        };
        for list in [&mut self.differing, &mut self.uncovered, &mut self.unrestored] {
            list.truncate(256);
            list.iter_mut().for_each(clean);
        }
        if let Some(place) = &mut self.place {
            clean(&mut place.name);
            place.table.truncate(256);
            place.table.iter_mut().for_each(clean);
        }
        self
    }
}
