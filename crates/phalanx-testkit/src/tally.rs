//! Values that are counted, and that panic or lie on order.
//!
//! A [`Counted`] holds a plain `&'static` to its tally's arena instead of a counted pointer: code
//! under test that drops a value twice must not corrupt the very thing that finds it out, and a
//! value must not allocate while allocations fail. Hence a fixed set of arenas, handed out and
//! taken back; an epoch tells values that outlived their tally.

use core::cmp::Ordering;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::sync::atomic::Ordering::SeqCst;
use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64};

use crate::rng::mix;
use crate::{Dial, panics};

const ARENAS: usize = 32;
const VALUES: usize = 1 << 18;

const LIVE: u8 = 1;
const DROPPED: u8 = 2;

struct Arena {
    taken: AtomicBool,
    epoch: AtomicU32,
    made: AtomicU32,
    dropped: AtomicU32,
    twice: AtomicU32,
    misaligned: AtomicU32,
    dials: [Dial; Site::ALL.len()],
    /// Zero when comparisons and hashes are honest, else the state they are drawn from.
    lies: AtomicU64,
    states: [AtomicU8; VALUES],
}

// All zero, so it costs no memory until it is used.
static ARENAS_ALL: [Arena; ARENAS] = [const {
    Arena {
        taken: AtomicBool::new(false),
        epoch: AtomicU32::new(0),
        made: AtomicU32::new(0),
        dropped: AtomicU32::new(0),
        twice: AtomicU32::new(0),
        misaligned: AtomicU32::new(0),
        dials: [const { Dial::off() }; Site::ALL.len()],
        lies: AtomicU64::new(0),
        states: [const { AtomicU8::new(0) }; VALUES],
    }
}; ARENAS];

/// Where user code runs and can be told to panic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Site {
    /// The destructor of a [`Counted`]. Held back while the thread is panicking, as it would abort.
    Drop,
    /// `Counted::clone`.
    Clone,
    /// `==`, `<` and `cmp` of [`Counted`].
    Compare,
    /// `Counted::hash`.
    Hash,
    /// [`Tally::callback`], for closures and iterators of the test.
    Callback,
}

impl Site {
    /// Every site, to loop over.
    pub const ALL: [Site; 5] = [Site::Drop, Site::Clone, Site::Compare, Site::Hash, Site::Callback];

    const fn name(self) -> &'static str {
        match self {
            Site::Drop => "drop",
            Site::Clone => "clone",
            Site::Compare => "compare",
            Site::Hash => "hash",
            Site::Callback => "callback",
        }
    }
}

/// A count of values: how many were made, and that each is dropped at most once.
///
/// ```
/// use phalanx_testkit::Tally;
///
/// let tally = Tally::new();
/// let values = vec![tally.value(1), tally.value(2)];
/// assert_eq!((tally.made(), tally.live()), (2, 2));
/// drop(values);
/// tally.assert_no_leaks();
/// ```
///
/// Dropping the tally asserts that no value was dropped twice; that all were dropped is asked for
/// with [`assert_no_leaks`](Self::assert_no_leaks).
pub struct Tally(&'static Arena);

impl Tally {
    /// Creates a tally. Does not allocate.
    ///
    /// # Panics
    /// Panics if 32 tallies are alive already.
    #[expect(clippy::new_without_default, reason = "a tally is a scope, not a value to fill in")]
    pub fn new() -> Self {
        let free = |arena: &&Arena| arena.taken.compare_exchange(false, true, SeqCst, SeqCst).is_ok();
        let Some(arena) = ARENAS_ALL.iter().find(free) else { panic!("more than {ARENAS} tallies alive at once") };
        arena.epoch.fetch_add(1, SeqCst);
        let used = (arena.made.load(SeqCst) as usize).min(VALUES);
        arena.states[..used].iter().for_each(|state| state.store(0, SeqCst));
        for count in [&arena.made, &arena.dropped, &arena.twice, &arena.misaligned] {
            count.store(0, SeqCst);
        }
        arena.dials.iter().for_each(|dial| dial.set(0));
        arena.lies.store(0, SeqCst);
        Self(arena)
    }

    /// Creates a value that compares, orders and hashes by `key`.
    ///
    /// # Panics
    /// Panics if the tally has created 262,144 values already.
    pub fn value(&self, key: u32) -> Counted {
        Counted::make(self.0, self.0.epoch.load(SeqCst), key)
    }

    /// Returns an iterator that creates values with the keys `0..count`.
    pub fn values(&self, count: u32) -> impl ExactSizeIterator<Item = Counted> {
        (0..count).map(|key| self.value(key))
    }

    /// Returns the number of values created, clones included.
    pub fn made(&self) -> u32 {
        self.0.made.load(SeqCst)
    }

    /// Returns the number of different values dropped.
    pub fn dropped(&self) -> u32 {
        self.0.dropped.load(SeqCst)
    }

    /// Returns the number of values created and not dropped.
    pub fn live(&self) -> u32 {
        self.made() - self.dropped()
    }

    /// Returns the number of drops of a value that was already dropped, or never created.
    pub fn double_drops(&self) -> u32 {
        self.0.twice.load(SeqCst)
    }

    /// Requests a panic at the `n`-th event at `site` from here; none, if `n` is zero.
    pub fn arm(&self, site: Site, n: u64) {
        self.0.dials[site as usize].set(n);
    }

    /// Cancels the request and returns whether the panic happened.
    pub fn disarm(&self, site: Site) -> bool {
        self.0.dials[site as usize].stop()
    }

    /// Counts an event at [`Site::Callback`]: call it in closures and iterators given to the code
    /// under test.
    ///
    /// # Panics
    /// Panics if [`arm`](Self::arm) requested it.
    pub fn callback(&self) {
        self.0.dials[Site::Callback as usize].tick_or_panic(Site::Callback.name());
    }

    /// Makes `==`, `cmp` and `hash` return random results from here on, determined by `seed`.
    pub fn lie(&self, seed: u64) {
        self.0.lies.store(seed | 1, SeqCst);
    }

    /// Makes comparisons and hashes correct again.
    pub fn be_honest(&self) {
        self.0.lies.store(0, SeqCst);
    }

    /// Asserts that no value was dropped twice or dropped at a misaligned address.
    ///
    /// # Panics
    /// Panics if one was.
    #[track_caller]
    pub fn assert_sound(&self) {
        let twice = self.double_drops();
        assert!(twice == 0, "{twice} drops of values that were dropped before or never made");
        let misaligned = self.0.misaligned.load(SeqCst);
        assert!(misaligned == 0, "{misaligned} values were dropped at a misaligned address");
    }

    /// Asserts that every value was dropped exactly once.
    ///
    /// # Panics
    /// Panics if one was dropped twice or not at all.
    #[track_caller]
    pub fn assert_no_leaks(&self) {
        self.assert_sound();
        let live = self.live();
        if live > 0 {
            let states = &self.0.states[..self.made() as usize];
            let ids: Vec<usize> = (0..states.len()).filter(|&id| states[id].load(SeqCst) == LIVE).take(8).collect();
            panic!("{live} of {} values were never dropped, the first with ids {ids:?}", self.made());
        }
    }
}

impl Drop for Tally {
    fn drop(&mut self) {
        let twice = self.double_drops();
        self.0.taken.store(false, SeqCst);
        if !std::thread::panicking() {
            assert!(twice == 0, "{twice} drops of values that were dropped before or never made");
        }
    }
}

impl fmt::Debug for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tally")
            .field("made", &self.made())
            .field("dropped", &self.dropped())
            .field("double_drops", &self.double_drops())
            .finish()
    }
}

/// A value of a [`Tally`].
///
/// It holds a reference and so has a niche: formed from unwritten memory it crashes. Reading one
/// that was dropped panics.
pub struct Counted {
    arena: &'static Arena,
    epoch: u32,
    id: u32,
    key: u32,
}

impl Counted {
    fn make(arena: &'static Arena, epoch: u32, key: u32) -> Self {
        let id = arena.made.fetch_add(1, SeqCst);
        let Some(state) = arena.states.get(id as usize) else {
            arena.made.fetch_sub(1, SeqCst);
            panic!("a tally makes at most {VALUES} values");
        };
        state.store(LIVE, SeqCst);
        Self { arena, epoch, id, key }
    }

    /// Returns the key of the value.
    ///
    /// # Panics
    /// Panics if the value was dropped.
    pub fn key(&self) -> u32 {
        self.assert_live();
        self.key
    }

    /// Sets the key of the value.
    ///
    /// # Panics
    /// Panics if the value was dropped.
    pub fn set_key(&mut self, key: u32) {
        self.assert_live();
        self.key = key;
    }

    /// Returns the number of the value in its tally. A clone has its own number.
    pub fn id(&self) -> u32 {
        self.id
    }

    pub(crate) fn note_misaligned(&self) {
        self.arena.misaligned.fetch_add(1, SeqCst);
    }

    fn outlived_its_tally(&self) -> bool {
        self.arena.epoch.load(SeqCst) != self.epoch
    }

    fn assert_live(&self) {
        let live = self.outlived_its_tally() || self.arena.states[self.id as usize].load(SeqCst) == LIVE;
        assert!(live, "value {} was used after it was dropped", self.id);
    }

    /// Counts an event at `site` and draws a lie, if lies were ordered.
    fn event(&self, site: Site) -> Option<u64> {
        self.assert_live();
        self.arena.dials[site as usize].tick_or_panic(site.name());
        let step = |state: u64| (state != 0).then(|| state.wrapping_add(2));
        self.arena.lies.fetch_update(SeqCst, SeqCst, step).ok().map(mix)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        if self.outlived_its_tally() {
            return;
        }
        match self.arena.states.get(self.id as usize) {
            Some(state) if state.compare_exchange(LIVE, DROPPED, SeqCst, SeqCst).is_ok() => {
                self.arena.dropped.fetch_add(1, SeqCst);
            }
            // Recorded rather than panicked: the caller is already broken, the verdict comes last.
            _ => {
                self.arena.twice.fetch_add(1, SeqCst);
                return;
            }
        }
        if !std::thread::panicking() && self.arena.dials[Site::Drop as usize].tick() {
            panics::inject(Site::Drop.name());
        }
    }
}

impl Clone for Counted {
    fn clone(&self) -> Self {
        self.event(Site::Clone);
        Self::make(self.arena, self.epoch, self.key)
    }
}

impl PartialEq for Counted {
    fn eq(&self, other: &Self) -> bool {
        match self.event(Site::Compare) {
            None => self.key() == other.key(),
            Some(lie) => lie % 2 == 0,
        }
    }
}

impl Eq for Counted {}

impl PartialOrd for Counted {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Counted {
    fn cmp(&self, other: &Self) -> Ordering {
        match self.event(Site::Compare) {
            None => self.key().cmp(&other.key()),
            Some(lie) => [Ordering::Less, Ordering::Equal, Ordering::Greater][(lie % 3) as usize],
        }
    }
}

impl Hash for Counted {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self.event(Site::Hash) {
            None => self.key().hash(state),
            Some(lie) => lie.hash(state),
        }
    }
}

impl fmt::Debug for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Counted({}, id {})", self.key, self.id)
    }
}
