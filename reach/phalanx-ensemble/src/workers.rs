//! [`Workers`]: threads that take runs and execute them.

use crate::claims::{Claimed, Claims};
use crate::ensemble::{Ensemble, RunState, Summary};
use crate::error::EnsembleError;
use crate::options::Options;
use crate::outcome::{Outcome, RunResult};
use crate::progress::Progress;
use crate::run::Run;
use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::time::Duration;

/// How long a worker waits for the runs of other processes before it looks again.
const PAUSE: Duration = Duration::from_millis(100);

/// The state of a run in this process.
#[derive(Clone, Debug, PartialEq)]
enum Status {
    Open,
    /// A worker of this process has it.
    Here,
    Ended(Option<String>),
}

/// Threads that take runs and execute them.
pub(crate) struct Workers<'e> {
    ensemble: &'e Ensemble,
    options: &'e Options,
    runs: Vec<Run>,
    claims: Claims,
    status: Mutex<Vec<Status>>,
    done_here: Mutex<usize>,
}

/// What came of trying to claim a run.
enum Attempt {
    Mine,
    /// Another process works on it.
    Taken,
    /// It has ended, with an error if it has failed.
    Ended(Option<String>),
}

/// What a worker does next.
enum Next {
    Execute(usize),
    Wait,
    Stop,
}

impl<'e> Workers<'e> {
    pub(crate) fn new(ensemble: &'e Ensemble, options: &'e Options) -> Result<Workers<'e>, EnsembleError> {
        let is_wanted = |(at, _): &(usize, Run)| options.shard.is_none_or(|shard| shard.has(*at));
        let runs: Vec<_> = ensemble.runs()?.into_iter().enumerate().filter(is_wanted).map(|(_, run)| run).collect();
        let claims = Claims::new(ensemble.own_folder(), ensemble.times())?;
        let mut status = Vec::with_capacity(runs.len());
        for run in &runs {
            if options.retry && matches!(ensemble.state(run)?, RunState::Failed(_)) {
                let path = ensemble.failed_path(run);
                std::fs::remove_file(&path).map_err(EnsembleError::file("remove", &path))?;
            }
            status.push(ended(ensemble.state(run)?).map_or(Status::Open, Status::Ended));
        }
        Ok(Workers { ensemble, options, runs, claims, status: Mutex::new(status), done_here: Mutex::default() })
    }

    fn status(&self) -> MutexGuard<'_, Vec<Status>> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ended_count(&self) -> usize {
        self.status().iter().filter(|status| matches!(status, Status::Ended(_))).count()
    }

    pub(crate) fn run<R: RunResult>(self, model: &(impl Fn(Run) -> R + Sync)) -> Result<Summary, EnsembleError> {
        note_panics();
        let progress = Progress::new(self.runs.len(), self.ended_count(), self.options.quiet);
        let (done, failed) = (AtomicBool::new(false), Mutex::new(None));
        std::thread::scope(|scope| {
            scope.spawn(|| self.claims.renew_until(&done));
            let work = || {
                if let Err(error) = self.work(model, &progress, &done) {
                    done.store(true, Ordering::Relaxed);
                    failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                }
            };
            let jobs = self.options.jobs.clamp(1, self.runs.len().max(1));
            let workers: Vec<_> = (0..jobs).map(|_| scope.spawn(work)).collect();
            workers.into_iter().for_each(|worker| drop(worker.join()));
            done.store(true, Ordering::Relaxed);
        });
        progress.finish();
        if let Some(error) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(error);
        }
        let done_here = *self.done_here.lock().unwrap_or_else(PoisonError::into_inner);
        let mut summary = Summary { done_here, ..Summary::default() };
        for (run, status) in self.runs.iter().zip(self.status().iter()) {
            match status {
                Status::Ended(Some(error)) => summary.failed.push((run.name.clone(), error.clone())),
                Status::Ended(None) => summary.done += 1,
                Status::Open | Status::Here => {}
            }
        }
        Ok(summary)
    }

    fn work<R: RunResult>(
        &self,
        model: &(impl Fn(Run) -> R + Sync),
        progress: &Progress,
        stop: &AtomicBool,
    ) -> Result<(), EnsembleError> {
        while !stop.load(Ordering::Relaxed) {
            match self.next(progress)? {
                Next::Execute(at) => self.execute(at, model, progress)?,
                Next::Wait => std::thread::sleep(PAUSE),
                Next::Stop => break,
            }
        }
        Ok(())
    }

    /// Finds a run that no process works on, and claims it.
    fn next(&self, progress: &Progress) -> Result<Next, EnsembleError> {
        let mut is_open = false;
        for (at, run) in self.runs.iter().enumerate() {
            {
                let mut status = self.status();
                if status[at] != Status::Open {
                    continue;
                }
                status[at] = Status::Here;
            }
            is_open = true;
            let claimed = self.claim(run);
            let mut status = self.status();
            match claimed {
                Ok(Attempt::Mine) => return Ok(Next::Execute(at)),
                // Another process has ended it.
                Ok(Attempt::Ended(error)) => {
                    status[at] = Status::Ended(error.clone());
                    drop(status);
                    progress.ended(&run.name, error.as_deref(), self.ended_count(), self.done_here());
                }
                Ok(Attempt::Taken) => status[at] = Status::Open,
                Err(error) => {
                    status[at] = Status::Open;
                    return Err(error);
                }
            }
        }
        Ok(if is_open { Next::Wait } else { Next::Stop })
    }

    fn done_here(&self) -> usize {
        *self.done_here.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Claims a run, unless it has ended or another process works on it.
    fn claim(&self, run: &Run) -> Result<Attempt, EnsembleError> {
        if let Some(error) = ended(self.ensemble.state(run)?) {
            return Ok(Attempt::Ended(error));
        }
        match self.claims.claim(&run.name, &run.lost)? {
            Claimed::Taken => Ok(Attempt::Taken),
            Claimed::Mine => match ended(self.ensemble.state(run)?) {
                // It has ended between the two looks.
                Some(error) => {
                    self.claims.release(&run.name)?;
                    Ok(Attempt::Ended(error))
                }
                None => Ok(Attempt::Mine),
            },
        }
    }

    fn execute<R: RunResult>(
        &self,
        at: usize,
        model: &(impl Fn(Run) -> R + Sync),
        progress: &Progress,
    ) -> Result<(), EnsembleError> {
        let run = &self.runs[at];
        std::fs::create_dir_all(&run.folder).map_err(EnsembleError::file("create", &run.folder))?;
        let result = catch_unwind(AssertUnwindSafe(|| model(run.clone()).into_error()));
        let error = result.unwrap_or_else(|payload| Some(panic_text(payload)));
        let outcome = Outcome {
            run: run.name.clone(),
            seed: run.seed,
            parameters: run.parameters.clone(),
            results: run.results.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            error: error.clone(),
        };
        if run.is_lost() {
            self.claims.release(&run.name)?;
            self.status()[at] = Status::Open;
            return Ok(());
        }
        let written = match &error {
            None => outcome.write(&run.folder.join("outcome.json")),
            Some(_) => outcome.write(&self.ensemble.failed_path(run)),
        };
        self.claims.release(&run.name)?;
        written?;
        self.status()[at] = Status::Ended(error.clone());
        *self.done_here.lock().unwrap_or_else(PoisonError::into_inner) += usize::from(error.is_none());
        progress.ended(&run.name, error.as_deref(), self.ended_count(), self.done_here());
        Ok(())
    }
}

/// Returns what a run has ended with, if it has.
fn ended(state: RunState) -> Option<Option<String>> {
    match state {
        RunState::Open => None,
        RunState::Done(_) => Some(None),
        RunState::Failed(outcome) => Some(Some(outcome.error.unwrap_or_default())),
    }
}

thread_local! {
    /// Where the last panic of this thread was, and what it said.
    static LAST_PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Keeps the place of panics, which their payload does not have.
fn note_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let text = info.payload_as_str().unwrap_or("a value that is not a text");
            let place = info.location().map(|place| format!(" at {}:{}", place.file(), place.line()));
            LAST_PANIC.set(Some(format!("panicked{}: {text}", place.unwrap_or_default())));
            before(info);
        }));
    });
}

fn panic_text(payload: Box<dyn Any + Send>) -> String {
    let text = LAST_PANIC.take().unwrap_or_else(|| "panicked".to_owned());
    // The payload is the model's, whose destructor may panic, too.
    let _ = catch_unwind(AssertUnwindSafe(|| drop(payload)));
    text
}
