//! [`Walk`]: finds what differs between the states of two machines.
//!
//! The player with the lower number asks, the other one answers. The questions go from frames to components, arrays, chunks and
//! rows. Each answer has the sums of the next level only, so that little is sent however large the world is.
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
}

/// What happens after an answer.
#[derive(Debug)]
pub(crate) enum Next {
    Ask(Question),
    Found(Finding),
    Nothing,
}

impl Walk {
    pub(crate) fn new(clock: Clock) -> Walk {
        Walk { clock, lead: None, pinned: None, questions: (Duration::ZERO, 0) }
    }

    /// Begins to ask a peer about a frame that differs. Returns `None` if a walk is in progress.
    pub(crate) fn begin(&mut self, peer: SocketAddr, frame: u64) -> Option<Question> {
        if self.lead.is_some() {
            return None;
        }
        let question = Question::Frames { last: frame };
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
        self.lead = Some(Lead { peer, last_answer, question: question.clone(), finding, state: None });
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
        match question {
            Question::Frames { last } => {
                let last = (*last).min(confirmed).min(game.frame());
                let first = game.oldest().max(last.saturating_sub(MOST_FRAMES - 1));
                let sums = (first..=last).map_while(|frame| Some(game.sums_of(frame)?.world())).collect();
                return Some(Answer::Frames { last, sums });
            }
            Question::Owners { frame } if *frame <= confirmed => {
                if self.pinned.as_ref().is_none_or(|pinned| pinned.frame != *frame) {
                    self.pinned = Pinned::new(*frame, game);
                }
                let answer = self.pinned.as_ref().map(|pinned| Answer::Owners(pinned.own.clone()));
                return Some(answer.unwrap_or(Answer::NotKept));
            }
            _ => {}
        }
        let Some(pinned) = &self.pinned else { return Some(Answer::NotKept) };
        Some(answer_state(question, &pinned.state))
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

/// Answers a question about a state.
fn answer_state(question: &Question, state: &Checkpoint) -> Answer {
    let arrays = state.arrays();
    let find = |key: &WireKey| arrays.iter().find(|array| WireKey::from(array.key()) == *key);
    match question {
        Question::Frames { .. } | Question::Owners { .. } => Answer::NotKept,
        Question::Arrays { part, owner } => Answer::Arrays(array_sums(&arrays, *part, *owner)),
        Question::Chunks { array } => Answer::Chunks(find(array).map_or(Vec::new(), chunk_sums)),
        Question::Rows { array, chunk } => Answer::Rows(find(array).map_or(Vec::new(), |array| rows(array, *chunk))),
    }
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
            (Question::Frames { last: suspected }, Answer::Frames { last, sums }) => {
                let question = self.take_frames(last, &sums, game, confirmed);
                if question.is_none() && self.finding.last_equal == Some(suspected) {
                    // The frame is equal after all.
                    return Next::Nothing;
                }
                question
            }
            (Question::Owners { .. }, Answer::Owners(theirs)) => {
                let question = self.take_owners(theirs, game);
                // If nothing differs here, it is the order of something that has no array.
                self.finding.is_complete = question.is_none();
                question
            }
            (Question::Arrays { part, owner }, Answer::Arrays(theirs)) => self.take_arrays(part, owner, &theirs),
            (Question::Chunks { array }, Answer::Chunks(theirs)) => self.take_chunks(array, &theirs),
            (Question::Rows { array, chunk }, Answer::Rows(theirs)) => {
                self.take_rows(array, chunk, theirs);
                None
            }
            // The peer does not have the frame any more, or answers something else.
            _ => None,
        };
        match question {
            Some(question) => Next::Ask(question),
            None => Next::Found(self.finding.clone()),
        }
    }

    /// Finds the first frame that differs.
    fn take_frames(&mut self, last: u64, theirs: &[u64], game: &Rollback, confirmed: u64) -> Option<Question> {
        let first = (last + 1).checked_sub(theirs.len() as u64)?;
        let both = (first..).zip(theirs).filter(|(frame, _)| *frame <= confirmed);
        let mut both = both.filter_map(|(frame, sum)| Some((frame, game.sums_of(frame)?.world() == *sum)));
        let (mut last_equal, mut differing) = (None, None);
        for (frame, is_equal) in &mut both {
            match is_equal {
                true => last_equal = Some(frame),
                false => {
                    differing = Some(frame);
                    break;
                }
            }
        }
        self.finding.last_equal = last_equal;
        self.finding.frame = differing?;
        self.state = game.pin(self.finding.frame).ok();
        self.state.as_ref()?;
        Some(Question::Owners { frame: self.finding.frame })
    }

    /// Finds the components and resources that differ.
    fn take_owners(&mut self, theirs: OwnerSums, game: &Rollback) -> Option<Question> {
        let ours = owner_sums(self.state.as_ref()?, game, self.finding.frame);
        let merge = |ours: &[String], theirs: &[String]| {
            let mut names: Vec<_> = ours.iter().chain(theirs).cloned().collect();
            names.sort_unstable();
            names.dedup();
            names
        };
        self.finding.uncovered = merge(&ours.uncovered, &theirs.uncovered);
        self.finding.unrestored = merge(&ours.unrestored, &theirs.unrestored);
        let mut sums: BTreeMap<(u8, u64), (String, [Option<u64>; 2])> = BTreeMap::new();
        for (side, list) in [ours.owners, theirs.owners].into_iter().enumerate() {
            for owner in list {
                sums.entry((owner.part, owner.owner)).or_insert((owner.name, [None; 2])).1[side] = Some(owner.sum);
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
        let ((part, owner), _) = sums.into_iter().next()?;
        Some(Question::Arrays { part, owner })
    }

    /// Finds the first array that differs.
    fn take_arrays(&mut self, part: u8, owner: u64, theirs: &[ArraySum]) -> Option<Question> {
        let arrays = self.state.as_ref()?.arrays();
        let ours = array_sums(&arrays, part, owner);
        let keys = ours.iter().chain(theirs).map(|array| array.key);
        let of = |list: &[ArraySum], key: WireKey| list.iter().find(|array| array.key == key).cloned();
        let differs = |key: &WireKey| {
            let sums = [of(&ours, *key), of(theirs, *key)].map(|array| array.map(|array| (array.rows, array.sum)));
            sums[0] != sums[1]
        };
        let key = keys.filter(differs).min()?;
        let (ours, theirs) = (of(&ours, key), of(theirs, key));
        let either = ours.as_ref().or(theirs.as_ref())?;
        let own = arrays.iter().find(|array| WireKey::from(array.key()) == key);
        let known = arrays.iter().find(|array| array.key().owner == owner);
        self.finding.place = Some(FoundPlace {
            key,
            name: own.or(known).map_or_else(String::new, |array| array.name().into()),
            table: either.table.clone(),
            rows: [&ours, &theirs].map(|array| array.as_ref().map_or(0, |array| array.rows)),
            chunks_differing: 0,
            row: 0,
            values: [None, None],
        });
        Some(Question::Chunks { array: key })
    }

    /// Finds the first chunk that differs.
    fn take_chunks(&mut self, key: WireKey, theirs: &[u64]) -> Option<Question> {
        let arrays = self.state.as_ref()?.arrays();
        let own = arrays.iter().find(|array| WireKey::from(array.key()) == key);
        let ours = own.map_or(Vec::new(), chunk_sums);
        let count = ours.len().max(theirs.len());
        let mut differing = (0..count).filter(|chunk| ours.get(*chunk) != theirs.get(*chunk));
        let chunk = differing.next()? as u32;
        self.finding.place.as_mut()?.chunks_differing = 1 + differing.count() as u32;
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
