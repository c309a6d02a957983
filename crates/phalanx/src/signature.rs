//! [`Signature`]: which components a table's rows have.

use crate::ComponentId;
use crate::alloc::{try_clone_slice, try_reserve_at, try_vec, unwrap_alloc};
use core::fmt;
use core::hash::{Hash, Hasher};
use phalanx_store::AllocError;

/// Words that a signature has without a block of its own: 256 components.
const INLINE: usize = 4;

/// A set of component ids.
///
/// The place of a component among those that carry data is its *rank*: how many data-carrying components of the set have
/// a lower id. Components without data are told by a second set, the `void` ones.
///
/// ```
/// use phalanx::{ComponentId, Signature};
///
/// let [position, enemy, mass] = [1, 5, 9].map(ComponentId::from_index);
/// let signature = Signature::of([position, enemy, mass]);
/// let void = Signature::of([enemy]);
/// assert!(signature.has(enemy) && signature.contains(&void));
/// assert_eq!(signature.count(&void), 2);
/// assert_eq!(signature.index_of(mass, &void), Some(1));
/// assert_eq!(signature.index_of(enemy, &void), None);
/// ```
#[derive(Clone, Default)]
pub struct Signature {
    inline: [u64; INLINE],
    /// The words after the inline ones; the last is not zero.
    more: Vec<u64>,
}

impl Signature {
    /// The empty set.
    pub const EMPTY: Signature = Signature { inline: [0; INLINE], more: Vec::new() };

    /// The set of these components.
    pub fn of(ids: impl IntoIterator<Item = ComponentId>) -> Signature {
        unwrap_alloc(Signature::try_of(ids))
    }

    /// The set of these components.
    pub(crate) fn try_of(ids: impl IntoIterator<Item = ComponentId>) -> Result<Signature, AllocError> {
        let mut set = Signature::EMPTY;
        ids.into_iter().try_for_each(|id| set.try_insert(id))?;
        Ok(set)
    }

    /// A copy.
    pub(crate) fn try_clone(&self) -> Result<Signature, AllocError> {
        Ok(Signature { inline: self.inline, more: try_clone_slice(&self.more)? })
    }

    fn word(&self, at: usize) -> u64 {
        match at.checked_sub(INLINE) {
            None => self.inline[at],
            Some(at) => self.more.get(at).copied().unwrap_or(0),
        }
    }

    fn words(&self) -> usize {
        INLINE + self.more.len()
    }

    /// Adds a component.
    pub fn insert(&mut self, id: ComponentId) {
        unwrap_alloc(self.try_insert(id));
    }

    /// Adds a component, or nothing happens.
    pub(crate) fn try_insert(&mut self, id: ComponentId) -> Result<(), AllocError> {
        let (at, bit) = (id.index() / 64, 1 << (id.index() % 64));
        match at.checked_sub(INLINE) {
            None => self.inline[at] |= bit,
            Some(at) => {
                if self.more.len() <= at {
                    try_reserve_at(&mut self.more, at)?;
                    self.more.resize(at + 1, 0);
                }
                self.more[at] |= bit;
            }
        }
        Ok(())
    }

    /// Takes a component away.
    pub fn remove(&mut self, id: ComponentId) {
        let (at, bit) = (id.index() / 64, 1 << (id.index() % 64));
        match at.checked_sub(INLINE) {
            None => self.inline[at] &= !bit,
            Some(at) => {
                if let Some(word) = self.more.get_mut(at) {
                    *word &= !bit;
                }
                self.trim();
            }
        }
    }

    fn trim(&mut self) {
        while self.more.last() == Some(&0) {
            self.more.pop();
        }
    }

    /// Whether the component is in the set.
    pub fn has(&self, id: ComponentId) -> bool {
        self.word(id.index() / 64) & 1 << (id.index() % 64) != 0
    }

    /// Whether all of `other` is in the set.
    pub fn contains(&self, other: &Signature) -> bool {
        (0..other.words()).all(|at| other.word(at) & !self.word(at) == 0)
    }

    /// Whether the sets have a component in common.
    pub fn intersects(&self, other: &Signature) -> bool {
        (0..other.words()).any(|at| other.word(at) & self.word(at) != 0)
    }

    /// The set with this component.
    #[must_use]
    pub fn with(&self, id: ComponentId) -> Signature {
        let mut set = self.clone();
        set.insert(id);
        set
    }

    /// The set without this component.
    #[must_use]
    pub fn without(&self, id: ComponentId) -> Signature {
        let mut set = self.clone();
        set.remove(id);
        set
    }

    fn combine(&self, other: &Signature, f: impl Fn(u64, u64) -> u64) -> Result<Signature, AllocError> {
        let mut set = Signature::EMPTY;
        for at in 0..INLINE {
            set.inline[at] = f(self.inline[at], other.inline[at]);
        }
        let more = self.more.len().max(other.more.len());
        set.more = try_vec(more)?;
        set.more.extend((INLINE..INLINE + more).map(|at| f(self.word(at), other.word(at))));
        set.trim();
        Ok(set)
    }

    /// What is in one of the sets.
    #[must_use]
    pub fn merge(&self, other: &Signature) -> Signature {
        unwrap_alloc(self.try_merge(other))
    }

    pub(crate) fn try_merge(&self, other: &Signature) -> Result<Signature, AllocError> {
        self.combine(other, |a, b| a | b)
    }

    /// What is in both sets.
    #[must_use]
    pub fn intersection(&self, other: &Signature) -> Signature {
        unwrap_alloc(self.combine(other, |a, b| a & b))
    }

    /// What is in this set and not in the other.
    #[must_use]
    pub fn difference(&self, other: &Signature) -> Signature {
        unwrap_alloc(self.try_difference(other))
    }

    pub(crate) fn try_difference(&self, other: &Signature) -> Result<Signature, AllocError> {
        self.combine(other, |a, b| a & !b)
    }

    /// The components, by ascending id.
    pub fn iter(&self) -> impl Iterator<Item = ComponentId> + '_ {
        (0..self.words()).flat_map(|at| {
            let mut word = self.word(at);
            core::iter::from_fn(move || {
                if word == 0 {
                    return None;
                }
                let bit = word.trailing_zeros() as usize;
                word &= word - 1;
                Some(ComponentId::from_index((at * 64 + bit) as u32))
            })
        })
    }

    /// How many components there are, with data or without.
    pub fn len(&self) -> usize {
        (0..self.words()).map(|at| self.word(at).count_ones() as usize).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.inline == [0; INLINE] && self.more.is_empty()
    }

    /// How many components carry data, that is, are not among the `void` ones.
    pub fn count(&self, void: &Signature) -> usize {
        (0..self.words()).map(|at| (self.word(at) & !void.word(at)).count_ones() as usize).sum()
    }

    /// The rank of a component: how many data-carrying components have a lower id.
    ///
    /// # Panics
    ///
    /// If the component is not in the set, or carries no data.
    #[track_caller]
    pub fn index(&self, id: ComponentId, void: &Signature) -> usize {
        match self.index_of(id, void) {
            Some(rank) => rank,
            None => panic!("{id:?} has no column in {self:?}"),
        }
    }

    /// The rank of a component, if it is in the set and carries data.
    pub fn index_of(&self, id: ComponentId, void: &Signature) -> Option<usize> {
        if !self.has(id) || void.has(id) {
            return None;
        }
        let (last, bit) = (id.index() / 64, id.index() % 64);
        let below: u32 = (0..last).map(|at| (self.word(at) & !void.word(at)).count_ones()).sum();
        let here = self.word(last) & !void.word(last) & ((1 << bit) - 1);
        Some((below + here.count_ones()) as usize)
    }
}

impl PartialEq for Signature {
    fn eq(&self, other: &Self) -> bool {
        #[cfg(test)]
        compared::note();
        self.inline == other.inline && self.more == other.more
    }
}

impl Eq for Signature {}

impl Hash for Signature {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.inline.hash(state);
        self.more.hash(state);
    }
}

impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(|id| id.index())).finish()
    }
}

impl FromIterator<ComponentId> for Signature {
    fn from_iter<I: IntoIterator<Item = ComponentId>>(ids: I) -> Self {
        Signature::of(ids)
    }
}

/// How many signatures were compared, for tests of how often that is.
#[cfg(test)]
pub(crate) mod compared {
    use std::cell::Cell;

    thread_local! {
        static COUNT: Cell<u64> = const { Cell::new(0) };
    }

    pub(crate) fn note() {
        COUNT.set(COUNT.get() + 1);
    }

    /// How many were compared by this thread while a function ran.
    pub(crate) fn during(f: impl FnOnce()) -> u64 {
        let before = COUNT.get();
        f();
        COUNT.get() - before
    }
}
