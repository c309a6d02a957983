//! Values that watch over their own lives and misbehave on demand.
#![allow(dead_code)]

use phalanx_store::Soa;
use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

thread_local! {
    static LIVE: RefCell<HashSet<u64>> = RefCell::default();
    static NEXT: Cell<u64> = const { Cell::new(0) };
    static TOKENS: Cell<i64> = const { Cell::new(0) };
    static BROKEN: Cell<bool> = const { Cell::new(false) };
    static DROP_FUSE: Cell<Option<usize>> = const { Cell::new(None) };
    static CALL_FUSE: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Counts down, and panics (without the hook's noise) when the count is over. A second panic in flight would abort.
fn burn(fuse: &'static std::thread::LocalKey<Cell<Option<usize>>>) {
    match fuse.get() {
        Some(0) => {
            fuse.set(None);
            resume_unwind(Box::new("fuse"));
        }
        Some(n) => fuse.set(Some(n - 1)),
        None => {}
    }
}

/// Called by closures, iterators and `Clone`: panics at the call that was armed.
pub(crate) fn call() {
    burn(&CALL_FUSE);
}

/// A value with an identity: dropping it twice is noticed.
#[derive(Debug)]
pub(crate) struct Tracked {
    id: u64,
    pub(crate) value: u32,
}

impl Tracked {
    pub(crate) fn new(value: u32) -> Tracked {
        let id = NEXT.replace(NEXT.get() + 1);
        LIVE.with_borrow_mut(|live| live.insert(id));
        Tracked { id, value }
    }
}

impl Clone for Tracked {
    fn clone(&self) -> Tracked {
        call();
        Tracked::new(self.value)
    }
}

impl PartialEq for Tracked {
    fn eq(&self, other: &Tracked) -> bool {
        self.value == other.value
    }
}

impl Drop for Tracked {
    fn drop(&mut self) {
        if !LIVE.with_borrow_mut(|live| live.remove(&self.id)) {
            BROKEN.set(true);
        }
        burn(&DROP_FUSE);
    }
}

/// The same without a size: it can only be counted.
#[derive(Debug)]
pub(crate) struct Token;

impl Token {
    pub(crate) fn new() -> Token {
        TOKENS.set(TOKENS.get() + 1);
        Token
    }
}

impl Clone for Token {
    fn clone(&self) -> Token {
        call();
        Token::new()
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        TOKENS.set(TOKENS.get() - 1);
        burn(&DROP_FUSE);
    }
}

/// A row of watched values in several lanes.
#[derive(Soa, Debug, Clone)]
pub(crate) struct Watched {
    pub(crate) first: Tracked,
    pub(crate) token: Token,
    pub(crate) plain: u32,
    #[soa(nested)]
    pub(crate) inner: Inner,
}

#[derive(Soa, Debug, Clone)]
pub(crate) struct Inner {
    pub(crate) second: Tracked,
    pub(crate) third: Tracked,
}

impl Watched {
    pub(crate) fn new(value: u32) -> Watched {
        Watched {
            first: Tracked::new(value),
            token: Token::new(),
            plain: value,
            inner: Inner { second: Tracked::new(value), third: Tracked::new(value) },
        }
    }
}

pub(crate) fn rows(count: u32) -> Soa<Watched> {
    (0..count).map(Watched::new).collect()
}

/// The rows' numbers, after checking that every lane agrees on them.
pub(crate) fn values(soa: &Soa<Watched>) -> Vec<u32> {
    soa.validate().unwrap();
    soa.iter()
        .map(|row| {
            let value = *row.plain;
            assert_eq!([row.first.value, row.inner.second.value, row.inner.third.value], [value; 3]);
            value
        })
        .collect()
}

/// What is armed in a trial.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fuse {
    Drop,
    Call,
}

/// Runs `operation` on a fresh array with a fuse burning down at its `k`-th use, for each `k` until it is not used up.
/// After each trial the array must be whole and usable, and in the end everything is dropped once: none twice, none never.
pub(crate) fn trials(fuse: Fuse, count: u32, operation: impl Fn(&mut Soa<Watched>), after: impl Fn(&[u32], usize)) {
    for k in 0.. {
        let mut soa = rows(count);
        let key = match fuse {
            Fuse::Drop => &DROP_FUSE,
            Fuse::Call => &CALL_FUSE,
        };
        key.set(Some(k));
        let outcome = catch_unwind(AssertUnwindSafe(|| operation(&mut soa)));
        let spent = key.take().is_none();
        assert_eq!(spent, outcome.is_err(), "trial {k}: a panic was swallowed, or is not ours");
        after(&values(&soa), k);
        soa.push(Watched::new(77));
        assert_eq!(values(&soa).last(), Some(&77), "trial {k}");
        drop(soa);
        assert_settled();
        if !spent {
            return;
        }
    }
}

/// Everything that was made has been dropped once.
pub(crate) fn assert_settled() {
    assert!(!BROKEN.get(), "dropped twice");
    assert_eq!(LIVE.with_borrow(HashSet::len), 0, "not dropped");
    assert_eq!(TOKENS.get(), 0, "values without a size are dropped as often as made");
}

/// Something was lost on purpose: start over.
pub(crate) fn forget_the_lost() {
    assert!(!BROKEN.get(), "dropped twice");
    LIVE.with_borrow_mut(HashSet::clear);
    TOKENS.set(0);
}

/// Whether `work` came to its end with the `k`-th call panicking.
pub(crate) fn with_call_fuse(k: usize, work: impl FnOnce()) -> bool {
    CALL_FUSE.set(Some(k));
    let outcome = catch_unwind(AssertUnwindSafe(work));
    assert_eq!(CALL_FUSE.take().is_none(), outcome.is_err(), "a panic was swallowed, or is not ours");
    outcome.is_ok()
}
