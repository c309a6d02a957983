//! [`Guard`]: checks messages before ggrs sees them.
//!
//! ggrs reads the inputs of a message without bounds: a run length may claim any number of bytes, and an input may claim any
//! frame. Both end in a panic or an abort. The fields of a [`Message`] are private, so that the bytes are read twice: once as
//! a [`WireMessage`], which has the same fields and is checked, and once as a [`Message`].

use ggrs::Message;
use serde::{Deserialize, Serialize};

/// The number of bytes that the inputs of a message have at most, when they are decoded.
const MOST_INPUT_BYTES: usize = 1 << 16;
/// The number of inputs that a message has at most. ggrs keeps as many.
const MOST_INPUTS: usize = 128;
/// The number of players of a session, at most.
const MOST_PLAYERS: usize = 64;
/// By how many frames the inputs of a peer may be ahead of ours. The queue of ggrs has 128 inputs.
const MOST_AHEAD: i32 = 64;

/// The fields of a message of ggrs, in the same order.
#[derive(Debug, Serialize, Deserialize)]
struct WireMessage {
    magic: u16,
    body: WireBody,
}

#[derive(Debug, Serialize, Deserialize)]
enum WireBody {
    SyncRequest(u32),
    SyncReply(u32),
    Input(WireInput),
    InputAck(i32),
    QualityReport(i16, u128),
    QualityReply(u128),
    ChecksumReport(u128, i32),
    KeepAlive,
}

#[derive(Debug, Serialize, Deserialize)]
struct WireInput {
    /// For each player, whether it is disconnected, and the last frame of its inputs.
    players: Vec<(bool, i32)>,
    is_disconnect: bool,
    start: i32,
    acknowledged: i32,
    bytes: Vec<u8>,
}

/// Checks the messages of a peer.
#[derive(Debug)]
pub(crate) struct Guard {
    /// The last frame whose input was sent to the peer.
    sent: i32,
}

impl Default for Guard {
    fn default() -> Self {
        Guard { sent: -1 }
    }
}

impl Guard {
    /// Reads a message. Returns `None` if it is not one that a peer sends.
    pub(crate) fn read(&mut self, bytes: &[u8]) -> Option<Message> {
        let (wire, rest) = postcard::take_from_bytes::<WireMessage>(bytes).ok()?;
        if !rest.is_empty() || !self.accepts(&wire.body) {
            return None;
        }
        postcard::from_bytes(bytes).ok()
    }

    /// Notes a message that is sent to the peer.
    pub(crate) fn sent(&mut self, bytes: &[u8]) {
        if let Ok(WireMessage { body: WireBody::Input(input), .. }) = postcard::from_bytes(bytes) {
            let count = count_inputs(&input.bytes).unwrap_or(0) as i32;
            self.sent = self.sent.max(input.start.saturating_add(count).saturating_sub(1));
        }
    }

    fn accepts(&self, body: &WireBody) -> bool {
        // A peer is ahead by at most the frames that it predicts and its input delay.
        let latest = self.sent.saturating_add(MOST_AHEAD);
        match body {
            WireBody::Input(input) => {
                let Some(count) = count_inputs(&input.bytes) else { return false };
                let is_recent = |frame: i32| (-1..=latest).contains(&frame);
                input.players.len() <= MOST_PLAYERS
                    && input.players.iter().all(|(_, last)| is_recent(*last))
                    && input.start >= 0
                    && is_recent(input.start.saturating_add(count as i32).saturating_sub(1))
                    && is_recent(input.acknowledged)
            }
            WireBody::InputAck(frame) => (-1..=latest).contains(frame),
            WireBody::ChecksumReport(_, frame) => (0..=latest).contains(frame),
            WireBody::SyncRequest(_)
            | WireBody::SyncReply(_)
            | WireBody::QualityReport(..)
            | WireBody::QualityReply(_)
            | WireBody::KeepAlive => true,
        }
    }
}

/// Returns the number of inputs in the bytes of a message, or `None` if they cannot be decoded within bounds.
///
/// The bytes are runs: a variable-length number, whose lowest bit tells whether the run is one of equal bytes. Decoded, each
/// input has its length in two bytes before it.
fn count_inputs(bytes: &[u8]) -> Option<usize> {
    let mut decoded: Vec<u8> = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let number = read_number(&mut rest)?;
        let is_equal = number & 1 == 1;
        let len = usize::try_from(number >> if is_equal { 2 } else { 1 }).ok()?;
        if len > MOST_INPUT_BYTES - decoded.len() {
            return None;
        }
        if is_equal {
            decoded.resize(decoded.len() + len, if number & 2 == 2 { 255 } else { 0 });
        } else {
            let (run, tail) = rest.split_at_checked(len)?;
            decoded.extend_from_slice(run);
            rest = tail;
        }
    }
    let (mut rest, mut count) = (decoded.as_slice(), 0);
    while let Some((len, tail)) = rest.split_first_chunk::<2>() {
        rest = tail.get(usize::from(u16::from_le_bytes(*len))..)?;
        count += 1;
    }
    (rest.is_empty() && count <= MOST_INPUTS).then_some(count)
}

/// Reads a number of seven bits a byte, of which the last has its highest bit clear.
fn read_number(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..63).step_by(7) {
        let (byte, tail) = rest.split_first()?;
        *rest = tail;
        number |= u64::from(byte & 127) << shift;
        if byte & 128 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(body: WireBody) -> Vec<u8> {
        postcard::to_allocvec(&WireMessage { magic: 7, body }).unwrap()
    }

    fn input(start: i32, bytes: &[u8]) -> WireBody {
        let players = vec![(false, 0); 2];
        WireBody::Input(WireInput { players, is_disconnect: false, start, acknowledged: -1, bytes: bytes.into() })
    }

    /// One input of one byte: a run of three different bytes.
    const ONE: [u8; 4] = [3 << 1, 1, 0, 9];

    #[test]
    fn the_fields_are_those_of_a_message() {
        let bodies = [
            WireBody::SyncRequest(1),
            WireBody::SyncReply(2),
            input(3, &ONE),
            WireBody::InputAck(4),
            WireBody::QualityReport(-5, 1 << 100),
            WireBody::QualityReply(6),
            WireBody::ChecksumReport(u128::MAX, 7),
            WireBody::KeepAlive,
        ];
        let names = [
            "SyncRequest",
            "SyncReply",
            "Input",
            "InputAck",
            "QualityReport",
            "QualityReply",
            "ChecksumReport",
            "KeepAlive",
        ];
        for (body, name) in bodies.into_iter().zip(names) {
            let bytes = bytes(body);
            let message = Guard::default().read(&bytes).unwrap();
            assert!(format!("{message:?}").contains(&format!("body: {name}")), "{message:?}");
            assert_eq!(postcard::to_allocvec(&message).unwrap(), bytes);
        }
    }

    #[test]
    fn inputs_without_bounds_are_rejected() {
        let mut guard = Guard::default();
        // A run of 2^60 equal bytes.
        let mut run = vec![0x81];
        run.extend([0x80; 7]);
        run.push(0x40);
        for forged in [run.as_slice(), &[0xFF; 12], &[200 << 1 | 1; 1], &[5 << 1, 1], &[2 << 1, 1, 0], &[0x80]] {
            assert!(guard.read(&bytes(input(0, forged))).is_none(), "{forged:?}");
        }
        for start in [-1, i32::MIN, i32::MAX, 65] {
            assert!(guard.read(&bytes(input(start, &ONE))).is_none(), "{start}");
        }
        assert!(guard.read(&bytes(input(63, &ONE))).is_some());
        for frame in [i32::MIN, i32::MAX, 64] {
            assert!(guard.read(&bytes(WireBody::InputAck(frame))).is_none());
            assert!(guard.read(&bytes(WireBody::ChecksumReport(0, frame))).is_none());
        }
        // What is recent depends on what was sent.
        guard.sent(&bytes(input(1000, &ONE)));
        assert!(guard.read(&bytes(input(1064, &ONE))).is_some());
        assert!(guard.read(&bytes(input(1065, &ONE))).is_none());
        assert!(guard.read(&bytes(WireBody::ChecksumReport(0, 990))).is_some());
    }

    #[test]
    fn mutated_messages_are_rejected_or_read() {
        let valid = [bytes(input(3, &ONE)), bytes(WireBody::QualityReport(-5, 1 << 100)), bytes(WireBody::InputAck(4))];
        let mut guard = Guard::default();
        for valid in &valid {
            for at in 0..valid.len() {
                for change in 1..=255 {
                    let mut forged = valid.clone();
                    forged[at] ^= change;
                    guard.read(&forged);
                }
                guard.read(&valid[..at]);
            }
        }
    }
}
