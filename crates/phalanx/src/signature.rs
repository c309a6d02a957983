//! [`Signature`]: the set of components of an archetype.

use crate::ComponentId;
use crate::alloc::{try_clone_slice, try_reserve_at, try_vec, unwrap_alloc};
use core::fmt;
use core::hash::{Hash, Hasher};
use phalanx_store::AllocError;

/// The number of words without an allocation, for 256 components.
const INLINE: usize = 4;

/// A set of component ids, such as the components of an archetype.
///
/// The *index* of a component is its position among the components of the set that have data, by ascending id. The components
/// without data are given as a second set, `zero_sized`; a world has it as [`Components::zero_sized`](crate::Components::zero_sized).
///
/// ```
/// use phalanx::{ComponentId, Signature};
///
/// let [position, enemy, mass] = [1, 5, 9].map(ComponentId::from_index);
/// let signature = Signature::of([position, enemy, mass]);
/// let zero_sized = Signature::of([enemy]);
/// assert!(signature.has(enemy) && signature.contains(&zero_sized));
/// assert_eq!(signature.count(&zero_sized), 2);
/// assert_eq!(signature.index_of(mass, &zero_sized), Some(1));
/// assert_eq!(signature.index_of(enemy, &zero_sized), None);
/// ```
#[derive(Clone, Default)]
pub struct Signature {
    inline: [u64; INLINE],
    /// The words after the inline ones. The last is not zero.
    more: Vec<u64>,
}

impl Signature {
    /// The empty set.
    pub const EMPTY: Signature = Signature { inline: [0; INLINE], more: Vec::new() };

    /// Creates the set of these components.
    pub fn of(ids: impl IntoIterator<Item = ComponentId>) -> Signature {
        unwrap_alloc(Signature::try_of(ids))
    }

    /// Like [`of`](Signature::of), but returns an error if allocation fails.
    pub(crate) fn try_of(ids: impl IntoIterator<Item = ComponentId>) -> Result<Signature, AllocError> {
        let mut set = Signature::EMPTY;
        ids.into_iter().try_for_each(|id| set.try_insert(id))?;
        Ok(set)
    }

    /// Like `clone`, but returns an error if allocation fails.
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

    /// Like [`insert`](Signature::insert), but returns an error if allocation fails. Then the set is unchanged.
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

    /// Removes a component.
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

    /// Returns `true` if the component is in the set.
    pub fn has(&self, id: ComponentId) -> bool {
        self.word(id.index() / 64) & 1 << (id.index() % 64) != 0
    }

    /// Returns `true` if all components of `other` are in the set.
    pub fn contains(&self, other: &Signature) -> bool {
        (0..other.words()).all(|at| other.word(at) & !self.word(at) == 0)
    }

    /// Returns `true` if the sets have a component in common.
    pub fn intersects(&self, other: &Signature) -> bool {
        (0..other.words()).any(|at| other.word(at) & self.word(at) != 0)
    }

    /// Returns a copy of the set with this component.
    #[must_use]
    pub fn with(&self, id: ComponentId) -> Signature {
        let mut set = self.clone();
        set.insert(id);
        set
    }

    /// Returns a copy of the set without this component.
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

    /// Returns the union of the sets.
    #[doc(alias = "union")]
    #[must_use]
    pub fn merge(&self, other: &Signature) -> Signature {
        unwrap_alloc(self.try_merge(other))
    }

    /// Like [`merge`](Signature::merge), but returns an error if allocation fails.
    pub(crate) fn try_merge(&self, other: &Signature) -> Result<Signature, AllocError> {
        self.combine(other, |a, b| a | b)
    }

    /// Returns the components that are in both sets.
    #[must_use]
    pub fn intersection(&self, other: &Signature) -> Signature {
        unwrap_alloc(self.combine(other, |a, b| a & b))
    }

    /// Returns the components that are in this set and not in the other.
    #[must_use]
    pub fn difference(&self, other: &Signature) -> Signature {
        unwrap_alloc(self.try_difference(other))
    }

    /// Like [`difference`](Signature::difference), but returns an error if allocation fails.
    pub(crate) fn try_difference(&self, other: &Signature) -> Result<Signature, AllocError> {
        self.combine(other, |a, b| a & !b)
    }

    /// Returns an iterator over the components, by ascending id.
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

    /// Returns the number of components, with and without data.
    pub fn len(&self) -> usize {
        // Counting the bits of a word takes a dozen instructions, and most words have none.
        let words = (0..self.words()).map(|at| self.word(at)).filter(|word| *word != 0);
        words.map(|word| word.count_ones() as usize).sum()
    }

    /// Returns `true` if the set is empty.
    pub fn is_empty(&self) -> bool {
        self.inline == [0; INLINE] && self.more.is_empty()
    }

    /// Returns the number of components with data, that is, those that are not in `zero_sized`.
    pub fn count(&self, zero_sized: &Signature) -> usize {
        (0..self.words()).map(|at| (self.word(at) & !zero_sized.word(at)).count_ones() as usize).sum()
    }

    /// Returns the index of a component: the number of components with data and a lower id.
    ///
    /// # Panics
    ///
    /// Panics if the component is not in the set, or has no data.
    #[track_caller]
    pub fn index(&self, id: ComponentId, zero_sized: &Signature) -> usize {
        match self.index_of(id, zero_sized) {
            Some(index) => index,
            None => panic!("{id:?} has no column in {self:?}"),
        }
    }

    /// Returns the index of a component, if it is in the set and has data.
    pub fn index_of(&self, id: ComponentId, zero_sized: &Signature) -> Option<usize> {
        if !self.has(id) || zero_sized.has(id) {
            return None;
        }
        let (last, bit) = (id.index() / 64, id.index() % 64);
        let below: u32 = (0..last).map(|at| (self.word(at) & !zero_sized.word(at)).count_ones()).sum();
        let here = self.word(last) & !zero_sized.word(last) & ((1 << bit) - 1);
        Some((below + here.count_ones()) as usize)
    }
}

impl PartialEq for Signature {
    fn eq(&self, other: &Self) -> bool {
        #[cfg(test)]
        compared::increment();
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

/// Counts comparisons of signatures, for tests.
#[cfg(test)]
pub(crate) mod compared {
    use std::cell::Cell;

    thread_local! {
        static COUNT: Cell<u64> = const { Cell::new(0) };
    }

    pub(crate) fn increment() {
        COUNT.set(COUNT.get() + 1);
    }

    /// Returns the number of comparisons by this thread while `f` ran.
    pub(crate) fn during(f: impl FnOnce()) -> u64 {
        let before = COUNT.get();
        f();
        COUNT.get() - before
    }
}
