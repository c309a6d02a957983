//! [`UserCode`]: calls of code that belongs to the program, such as `Debug`.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long code may run. Code that takes longer is not called again.
pub(crate) const PATIENCE: Duration = Duration::from_millis(250);

/// How long all code together may run for a part of an answer that is made in one go.
const ANSWER_TIME: Duration = Duration::from_millis(100);

/// The code that runs at present, shared with the thread of the server.
///
/// Code that does not return cannot be interrupted. But the server still answers, and can say which code it waits for.
#[derive(Debug, Default)]
pub(crate) struct RunningCode(Mutex<Option<(&'static str, Instant)>>);

impl RunningCode {
    fn set(&self, running: Option<(&'static str, Instant)>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = running;
    }

    /// Returns what runs, and for how long.
    #[cfg(feature = "serve")]
    pub(crate) fn get(&self) -> Option<(&'static str, Duration)> {
        let running = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        running.map(|(name, since)| (name, since.elapsed()))
    }
}

/// Says that code is not running any more, when it is dropped: also if the code panicked.
struct Running<'a>(&'a RunningCode);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.set(None);
    }
}

/// Why code is not called again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Defect {
    Panicked,
    Slow,
}

impl Defect {
    /// Returns what is shown instead of a value.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Defect::Panicked => "(its Debug panicked)",
            Defect::Slow => "(its Debug took too long)",
        }
    }
}

/// Calls of code that belongs to the program, by the name of its type. Code that panicked or took long is not called again.
#[derive(Debug, Default)]
pub(crate) struct UserCode {
    defects: Vec<(&'static str, Defect)>,
    running: Arc<RunningCode>,
    /// How long code has run for the present part of an answer.
    spent: Duration,
}

impl UserCode {
    /// Returns what the thread of the server looks at.
    #[cfg(feature = "serve")]
    pub(crate) fn running(&self) -> Arc<RunningCode> {
        self.running.clone()
    }

    /// Begins a part of an answer.
    pub(crate) fn begin(&mut self) {
        self.spent = Duration::ZERO;
    }

    /// Returns why the code of a type is not called again, if that is so.
    pub(crate) fn defect_of(&self, name: &'static str) -> Option<Defect> {
        self.defects.iter().find(|(other, _)| *other == name).map(|(_, defect)| *defect)
    }

    /// Returns `true` if all code together took too long for one answer.
    pub(crate) fn is_spent(&self) -> bool {
        self.spent > ANSWER_TIME
    }

    /// Calls code that may take as long as it likes. Returns the time that it took, too.
    pub(crate) fn watch<R>(&self, name: &'static str, code: impl FnOnce() -> R) -> (R, Duration) {
        let start = Instant::now();
        self.running.set(Some((name, start)));
        let running = Running(&self.running);
        let result = code();
        drop(running);
        (result, start.elapsed())
    }

    /// Calls the code of a type.
    pub(crate) fn call<R>(&mut self, name: &'static str, code: impl FnOnce() -> R) -> R {
        let (result, time) = self.watch(name, code);
        self.spent += time;
        if time > PATIENCE {
            self.add(name, Defect::Slow);
        }
        result
    }

    /// Remembers that the code of a type is not to be called again.
    pub(crate) fn add(&mut self, name: &'static str, defect: Defect) {
        // Without memory it is called again, and found again.
        if self.defect_of(name).is_none() && self.defects.try_reserve(1).is_ok() {
            self.defects.push((name, defect));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Defect, UserCode};
    use std::time::Duration;

    #[test]
    fn slow_code_is_not_called_again_and_panics_end_a_call() {
        let mut code = UserCode::default();
        assert_eq!(code.call("quick", || 7), 7);
        assert!(code.defect_of("quick").is_none() && !code.is_spent());
        code.call("slow", || std::thread::sleep(Duration::from_millis(260)));
        assert_eq!(code.defect_of("slow"), Some(Defect::Slow));
        assert!(code.is_spent());
        code.begin();
        assert!(!code.is_spent());
        let panicked = phalanx_testkit::catch(|| code.call("panics", || panic!("on purpose")));
        assert!(panicked.is_err() && code.running.0.lock().unwrap().is_none());
    }
}
