//! [`Walk`]: finds what differs between the states of two machines.
//!
//! The player with the lower number asks, the other one answers. They go from frames to components, to arrays, to chunks and to
//! rows. A question has the sums of one level, and its answer those of the next level. So there are three questions, and little is
//! sent however large the world is.
//!
//! Both pin the frame when it is first asked for. A pinned frame does not change, so that all answers are about the same state.

use crate::clock::Clock;
use crate::message::{Answer, ArraySum, Finding, FoundPlace, OwnerSum, OwnerSums, Question, Row, WireKey, part_number};
use phalanx::timeline::{ArrayPart, Checkpoint, StateArray};
use phalanx_rollback::Rollback;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

/// The number of frames that are compared, at most.
const MOST_FRAMES: u64 = 1024;
/// The number of bytes of the rows of an answer, at most.
const MOST_ROW_BYTES: usize = 1 << 20;
/// The number of questions that are answered in a second, at most.
const MOST_QUESTIONS: u32 = 64;
/// The time after which a walk without an answer ends.
const PATIENCE: Duration = Duration::from_secs(10);

/// A walk in progress, and what is needed to answer.
#[derive(Debug)]
pub(crate) struct Walk {
    clock: Clock,
    lead: Option<Lead>,
    /// The frame that a peer has asked about.
    pinned: Option<Pinned>,
    /// The questions of this second, and when it began.
    questions: (Duration, u32),
}

/// A frame that is kept for a walk.
#[derive(Debug)]
pub(crate) struct Pinned {
    pub(crate) frame: u64,
    state: Checkpoint,
    own: OwnerSums,
}

/// What the side that asks knows.
#[derive(Debug)]
struct Lead {
    peer: SocketAddr,
    last_answer: Duration,
    question: Question,
    finding: Finding,
    state: Option<Checkpoint>,
    /// The name of the component or resource that differs first.
    name: String,
}

/// What happens after an answer.
#[derive(Debug)]
pub(crate) enum Next {
    Ask(Question),
    Found(Box<Finding>),
    Nothing,
}

impl Walk {
    pub(crate) fn new(clock: Clock) -> Walk {
        Walk { clock, lead: None, pinned: None, questions: (Duration::ZERO, 0) }
    }

    /// Begins to ask a peer about a frame that differs. Returns `None` if a walk is in progress.
    pub(crate) fn begin(&mut self, peer: SocketAddr, frame: u64, game: &Rollback, confirmed: u64) -> Option<Question> {
        if self.lead.is_some() {
            return None;
        }
        let (last, sums) = frame_sums(game, frame.min(confirmed));
        let question = Question::Frames { last, sums };
        let finding = Finding {
            players: [0; 2],
            is_complete: false,
            frame,
            last_equal: None,
            differing: Vec::new(),
            compared: 0,
            uncovered: Vec::new(),
            unrestored: Vec::new(),
            place: None,
        };
        let last_answer = self.clock.now();
        self.lead =
            Some(Lead { peer, last_answer, question: question.clone(), finding, state: None, name: String::new() });
        Some(question)
    }

    /// Ends a walk whose peer does not answer. Returns the peer, and what was found so far.
    pub(crate) fn give_up(&mut self) -> Option<(SocketAddr, Finding)> {
        let now = self.clock.now();
        let lead = self.lead.take_if(|lead| lead.last_answer + PATIENCE < now)?;
        Some((lead.peer, lead.finding))
    }

    /// Answers a question of a peer about a frame. Frames after `confirmed` may still change, and are not told.
    pub(crate) fn answer(&mut self, question: &Question, game: &Rollback, confirmed: u64) -> Option<Answer> {
        let now = self.clock.now();
        if self.questions.0 + Duration::from_secs(1) < now {
            self.questions = (now, 0);
        }
        self.questions.1 += 1;
        if self.questions.1 > MOST_QUESTIONS {
            return None;
        }
        if let Question::Frames { last, sums } = question {
            let (found, last_equal) = first_difference(*last, sums, game, confirmed);
            let Some(frame) = found else {
                return Some(if last_equal == Some(*last) { Answer::Equal } else { Answer::Unknown });
            };
            if self.pinned.as_ref().is_none_or(|pinned| pinned.frame != frame) {
                self.pinned = Pinned::new(frame, game);
            }
            let owners = |pinned: &Pinned| Answer::Owners { frame, last_equal, sums: pinned.own.clone() };
            return Some(self.pinned.as_ref().map_or(Answer::Unknown, owners));
        }
        Some(self.pinned.as_ref().map_or(Answer::Unknown, |pinned| answer_state(question, &pinned.state)))
    }

    /// Returns the frame that a peer is asked about, once it is known.
    pub(crate) fn asked_frame(&self) -> Option<u64> {
        self.lead.as_ref().filter(|lead| lead.state.is_some()).map(|lead| lead.finding.frame)
    }

    /// Returns the frame that a peer has asked about.
    pub(crate) fn pinned_frame(&self) -> Option<u64> {
        self.pinned.as_ref().map(|pinned| pinned.frame)
    }

    /// Takes an answer of a peer to the last question.
    pub(crate) fn take_answer(&mut self, from: SocketAddr, answer: Answer, game: &Rollback, confirmed: u64) -> Next {
        let Some(lead) = self.lead.as_mut().filter(|lead| lead.peer == from) else { return Next::Nothing };
        lead.last_answer = self.clock.now();
        let next = lead.next(answer, game, confirmed);
        match &next {
            Next::Ask(question) => lead.question = question.clone(),
            Next::Found(_) | Next::Nothing => self.lead = None,
        }
        next
    }
}

impl Pinned {
    /// Keeps a frame. Returns `None` if the timeline does not have it any more.
    fn new(frame: u64, game: &Rollback) -> Option<Pinned> {
        let state = game.pin(frame).ok()?;
        let own = owner_sums(&state, game, frame);
        Some(Pinned { frame, state, own })
    }
}

/// Returns the sums of all components and resources.
fn owner_sums(state: &Checkpoint, game: &Rollback, frame: u64) -> OwnerSums {
    let mut owners: BTreeMap<(u8, u64), OwnerSum> = BTreeMap::new();
    for array in state.arrays() {
        let key = array.key();
        let part = part_number(key.part);
        let entry = owners.entry((part, key.owner)).or_insert_with(|| OwnerSum {
            part,
            owner: key.owner,
            name: owner_name(&array).into(),
            sum: 0,
        });
        entry.sum = entry.sum.wrapping_add(array.sum());
    }
    let strings = |names: &[&str]| names.iter().map(|name| String::from(*name)).collect();
    OwnerSums {
        owners: owners.into_values().collect(),
        uncovered: game.sums_of(frame).map_or(Vec::new(), |sums| strings(sums.uncovered())),
        unrestored: strings(&game.unrestored()),
    }
}

fn owner_name(array: &StateArray<'_>) -> &'static str {
    match array.key().part {
        ArrayPart::Entities | ArrayPart::FreeSlots | ArrayPart::Rows => "entities",
        _ => array.name(),
    }
}

/// Returns the sums of the kept frames up to one, and the number of the last.
///
/// The older half of the frames is left out: they would be dropped before the answer arrives.
fn frame_sums(game: &Rollback, last: u64) -> (u64, Vec<u64>) {
    let last = last.min(game.frame());
    let recent = game.oldest() + (game.frame() - game.oldest()) / 2;
    let first = recent.min(last).max(last.saturating_sub(MOST_FRAMES - 1));
    (last, (first..=last).map_while(|frame| Some(game.sums_of(frame)?.world())).collect())
}

/// Compares the sums of frames, of which the last is `last`. Returns the first frame that differs, and the last equal one before.
fn first_difference(last: u64, theirs: &[u64], game: &Rollback, confirmed: u64) -> (Option<u64>, Option<u64>) {
    let Some(first) = last.checked_add(1).and_then(|end| end.checked_sub(theirs.len() as u64)) else {
        return (None, None);
    };
    let mut last_equal = None;
    for (frame, sum) in (first..).zip(theirs).filter(|(frame, _)| *frame <= confirmed) {
        match game.sums_of(frame).map(|sums| sums.world() == *sum) {
            Some(true) => last_equal = Some(frame),
            Some(false) => return (Some(frame), last_equal),
            None => {}
        }
    }
    (None, last_equal)
}

/// Answers a question about a state.
fn answer_state(question: &Question, state: &Checkpoint) -> Answer {
    let arrays = state.arrays();
    let find = |key: &WireKey| arrays.iter().find(|array| WireKey::from(array.key()) == *key);
    match question {
        Question::Frames { .. } => Answer::Unknown,
        Question::Arrays { part, owner, arrays: theirs } => {
            let ours = array_sums(&arrays, *part, *owner);
            let Some(key) = first_differing(&ours, theirs) else { return Answer::Unknown };
            let own = ours.into_iter().find(|array| array.key == key);
            let array = own.unwrap_or(ArraySum { key, table: Vec::new(), rows: 0, sum: 0 });
            Answer::Chunks { chunks: find(&key).map_or(Vec::new(), chunk_sums), array }
        }
        Question::Rows { array, chunk } => Answer::Rows(find(array).map_or(Vec::new(), |array| rows(array, *chunk))),
    }
}

/// Returns the key of the first array that differs or that one side does not have.
fn first_differing(ours: &[ArraySum], theirs: &[ArraySum]) -> Option<WireKey> {
    let of = |list: &[ArraySum], key: WireKey| {
        list.iter().find(|array| array.key == key).map(|array| (array.rows, array.sum))
    };
    let keys = ours.iter().chain(theirs).map(|array| array.key);
    keys.filter(|key| of(ours, *key) != of(theirs, *key)).min()
}

fn array_sums(arrays: &[StateArray<'_>], part: u8, owner: u64) -> Vec<ArraySum> {
    let own = arrays.iter().filter(|array| part_number(array.key().part) == part && array.key().owner == owner);
    let sum = |array: &StateArray<'_>| ArraySum {
        key: array.key().into(),
        table: array.table().iter().map(|name| String::from(*name)).collect(),
        rows: array.rows(),
        sum: array.sum(),
    };
    own.map(sum).collect()
}

fn chunk_sums(array: &StateArray<'_>) -> Vec<u64> {
    (0..array.chunks()).map(|chunk| array.chunk_sum(chunk)).collect()
}

/// Returns the rows of a chunk, as many as fit.
fn rows(array: &StateArray<'_>, chunk: u32) -> Vec<Row> {
    let most = MOST_ROW_BYTES / array.row_size().max(1);
    let row = |row: u32| Row {
        entity: array.entity(row).map(|entity| entity.to_bits()),
        bytes: array.row(row).unwrap_or_default().to_vec(),
    };
    array.rows_of(chunk).take(most).map(row).collect()
}

impl Lead {
    /// Takes an answer.
    fn next(&mut self, answer: Answer, game: &Rollback, confirmed: u64) -> Next {
        let question = match (self.question.clone(), answer) {
            (Question::Frames { .. }, Answer::Equal) => return Next::Nothing,
            (Question::Frames { .. }, Answer::Owners { frame, last_equal, sums }) if frame <= confirmed => {
                (self.finding.frame, self.finding.last_equal) = (frame, last_equal);
                self.state = game.pin(frame).ok();
                self.take_owners(sums, game)
            }
            (Question::Arrays { part, owner, .. }, Answer::Chunks { array, chunks }) => {
                self.take_chunks(part, owner, array, &chunks)
            }
            (Question::Rows { array, chunk }, Answer::Rows(theirs)) => {
                self.take_rows(array, chunk, theirs);
                None
            }
            // The peer does not have the frame any more, or answers something else.
            _ => None,
        };
        match question {
            Some(question) => Next::Ask(question),
            None => Next::Found(Box::new(self.finding.clone())),
        }
    }

    /// Finds the components and resources that differ.
    fn take_owners(&mut self, theirs: OwnerSums, game: &Rollback) -> Option<Question> {
        let state = self.state.as_ref()?;
        let ours = owner_sums(state, game, self.finding.frame);
        let merge = |ours: &[String], theirs: &[String]| {
            let mut names: Vec<_> = ours.iter().chain(theirs).cloned().collect();
            names.sort_unstable();
            names.dedup();
            names
        };
        self.finding.uncovered = merge(&ours.uncovered, &theirs.uncovered);
        self.finding.unrestored = merge(&ours.unrestored, &theirs.unrestored);
        let mut sums = BTreeMap::new();
        for (side, list) in [ours.owners, theirs.owners].into_iter().enumerate() {
            for owner in list {
                let (_, both) = sums.entry((owner.part, owner.owner)).or_insert((owner.name, [None; 2]));
                both[side] = Some(owner.sum);
            }
        }
        let mut names: Vec<_> = sums.values().map(|(name, _)| name.clone()).collect();
        names.sort_unstable();
        names.dedup();
        self.finding.compared = names.len() as u32;
        sums.retain(|_, (_, [ours, theirs])| ours != theirs);
        self.finding.differing = sums.values().map(|(name, _)| name.clone()).collect();
        self.finding.differing.sort_unstable();
        self.finding.differing.dedup();
        let Some(((part, owner), (name, _))) = sums.into_iter().next() else {
            // It is the order of something that has no array.
            self.finding.is_complete = true;
            return None;
        };
        self.name = name;
        Some(Question::Arrays { part, owner, arrays: array_sums(&state.arrays(), part, owner) })
    }

    /// Takes the first array that differs, and finds its first chunk that does.
    fn take_chunks(&mut self, part: u8, owner: u64, theirs: ArraySum, their_chunks: &[u64]) -> Option<Question> {
        let key = theirs.key;
        if (key.part, key.owner) != (part, owner) {
            return None;
        }
        let arrays = self.state.as_ref()?.arrays();
        let own = arrays.iter().find(|array| WireKey::from(array.key()) == key);
        let our_chunks = own.map_or(Vec::new(), chunk_sums);
        let count = our_chunks.len().max(their_chunks.len());
        let mut differing = (0..count).filter(|chunk| our_chunks.get(*chunk) != their_chunks.get(*chunk));
        let chunk = differing.next()? as u32;
        let names = |array: &StateArray<'_>| array.table().iter().map(|name| String::from(*name)).collect();
        self.finding.place = Some(FoundPlace {
            key,
            name: self.name.clone(),
            table: own.map_or(theirs.table, names),
            rows: [own.map_or(0, StateArray::rows), theirs.rows],
            chunks_differing: 1 + differing.count() as u32,
            row: 0,
            values: [None, None],
        });
        Some(Question::Rows { array: key, chunk })
    }

    /// Finds the first row that differs.
    fn take_rows(&mut self, key: WireKey, chunk: u32, theirs: Vec<Row>) {
        let Some(state) = &self.state else { return };
        let arrays = state.arrays();
        let ours =
            arrays.iter().find(|array| WireKey::from(array.key()) == key).map_or(Vec::new(), |own| rows(own, chunk));
        let Some(place) = &mut self.finding.place else { return };
        let count = ours.len().max(theirs.len());
        let bytes = |list: &[Row], at: usize| list.get(at).map(|row| row.bytes.clone());
        if let Some(at) = (0..count).find(|at| bytes(&ours, *at) != bytes(&theirs, *at)) {
            place.row = chunk.saturating_mul(StateArray::CHUNK).saturating_add(at as u32);
            place.values = [ours.get(at).cloned(), theirs.get(at).cloned()];
            self.finding.is_complete = true;
        }
    }
}
