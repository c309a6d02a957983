//! Panics made on purpose: their payload, catching them, and keeping them quiet.

use core::any::Any;
use core::cell::{Cell, RefCell};
use core::fmt;
use std::panic::{self, AssertUnwindSafe, Location};
use std::sync::Once;

thread_local! {
    static QUIET: Cell<u32> = const { Cell::new(0) };
    /// The file and the line of the last panic, while a caller asks for it.
    static LOCATION: RefCell<Option<(String, u32)>> = const { RefCell::new(None) };
    static LOCATING: Cell<bool> = const { Cell::new(false) };
}

/// The payload of a panic that this crate injected.
///
/// It lets a sweep distinguish the panic that it caused from a failed assertion in the code under
/// test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Injected {
    /// What was happening: `"drop"`, `"clone"`, `"compare"`, `"hash"` or `"callback"`.
    pub site: &'static str,
}

/// A panic that [`catch`] caught.
pub struct Caught(Box<dyn Any + Send>);

impl Caught {
    /// Returns the injected panic, if it is one.
    pub fn injected(&self) -> Option<Injected> {
        self.0.downcast_ref::<Injected>().copied()
    }

    /// Returns `true` if its payload is of this type.
    pub fn is<P: Any>(&self) -> bool {
        self.0.is::<P>()
    }

    /// Returns the panic's message, or an empty text if its payload is not text.
    pub fn message(&self) -> &str {
        if let Some(text) = self.0.downcast_ref::<&'static str>() {
            text
        } else if let Some(text) = self.0.downcast_ref::<String>() {
            text
        } else {
            ""
        }
    }

    /// Resumes the panic.
    pub fn resume(self) -> ! {
        panic::resume_unwind(self.0)
    }
}

impl fmt::Debug for Caught {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.injected() {
            Some(injected) => injected.fmt(f),
            None => f.debug_tuple("Caught").field(&self.message()).finish(),
        }
    }
}

pub(crate) fn inject(site: &'static str) -> ! {
    // A panic allocates, and what it allocates is not what an order to fail was meant for.
    crate::meter::stop_refusing();
    panic::panic_any(Injected { site })
}

pub(crate) fn install_hook() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let loud = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if LOCATING.get() {
                let location = info.location().map(|at| (at.file().to_owned(), at.line()));
                LOCATION.with(|last| *last.borrow_mut() = location);
            }
            if QUIET.get() == 0 {
                loud(info);
            }
        }));
    });
}

/// Runs `f` without printing panics of this thread. Other threads print theirs.
pub fn quiet_panics<R>(f: impl FnOnce() -> R) -> R {
    struct Loud;
    impl Drop for Loud {
        fn drop(&mut self) {
            QUIET.set(QUIET.get() - 1);
        }
    }
    install_hook();
    QUIET.set(QUIET.get() + 1);
    let _loud = Loud;
    f()
}

/// Runs `f` without printing panics, and catches its panic.
///
/// # Errors
/// Returns the panic, if there was one.
pub fn catch<R>(f: impl FnOnce() -> R) -> Result<R, Caught> {
    quiet_panics(|| panic::catch_unwind(AssertUnwindSafe(f))).map_err(Caught)
}

/// How many lines a call may be broken into.
const LINES: u32 = 10;

/// Runs `f`, which must panic, and checks that the panic's message names the place of this call: its file, and its line or
/// one of the next few, over which the call may be broken.
///
/// # Panics
/// Panics if `f` does not panic, or if the message names another place.
#[track_caller]
pub fn panics_here<R>(f: impl FnOnce() -> R) {
    let here = Location::caller();
    LOCATING.set(true);
    let caught = catch(f);
    LOCATING.set(false);
    let found = LOCATION.with(|last| last.borrow_mut().take());
    match (caught, found) {
        (Ok(_), _) => panic!("there was no panic"),
        (Err(_), Some((file, line))) if file == here.file() && (here.line()..here.line() + LINES).contains(&line) => {}
        (Err(caught), found) => panic!("the panic {:?} names {found:?}", caught.message()),
    }
}
