//! [`Claims`]: which process works on which run.
//!
//! A claim is a file that names its process, with a number that grows. Whether to take over the claim of another process is
//! decided under a lock of the operating system, which is gone when its process is. So no two processes decide at the same time, and
//! no process that was killed blocks the others.

use crate::error::EnsembleError;
use crate::outcome::write_whole;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How often a claim is renewed, and after what time without renewal it counts as given up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) renew: Duration,
    pub(crate) give_up: Duration,
}

impl Default for Times {
    fn default() -> Self {
        Times { renew: Duration::from_secs(5), give_up: Duration::from_secs(30) }
    }
}

/// What a claim says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Claim {
    host: String,
    process: u32,
    /// When the process started, in the units of its system, so that a number that is used again is recognised.
    started: Option<u64>,
    /// Distinguishes the claims of one process.
    number: u64,
    /// Grows with each renewal.
    beat: u64,
}

/// The claims in a folder.
pub(crate) struct Claims {
    folder: PathBuf,
    times: Times,
    me: Claim,
    next: AtomicU64,
    /// The claims of others as they were last seen, and when they were first seen so.
    seen: Mutex<HashMap<String, (Vec<u8>, Instant)>>,
    held: Mutex<HashMap<String, (Claim, Arc<AtomicBool>)>>,
}

/// What came of trying to claim a run.
#[derive(Debug)]
pub(crate) enum Claimed {
    Mine,
    /// Another process works on it.
    Taken,
}

impl Claims {
    pub(crate) fn new(folder: PathBuf, times: Times) -> Result<Claims, EnsembleError> {
        fs::create_dir_all(&folder).map_err(EnsembleError::file("create", &folder))?;
        let process = std::process::id();
        let me = Claim { host: host(), process, started: start_of(process), number: 0, beat: 0 };
        let (seen, held) = (Mutex::default(), Mutex::default());
        Ok(Claims { folder, times, me, next: AtomicU64::new(1), seen, held })
    }

    fn path(&self, run: &str) -> PathBuf {
        self.folder.join(format!("{run}.claim"))
    }

    fn held(&self) -> MutexGuard<'_, HashMap<String, (Claim, Arc<AtomicBool>)>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the folder against other processes, until the file is dropped.
    fn lock(&self) -> Result<File, EnsembleError> {
        let path = self.folder.join("lock");
        let file = File::options().create(true).truncate(false).write(true).open(&path);
        let file = file.map_err(EnsembleError::file("open", &path))?;
        match file.lock() {
            // A file system without locks: claims alone have to do.
            Err(error) if error.kind() == std::io::ErrorKind::Unsupported => {}
            result => result.map_err(EnsembleError::file("lock", &path))?,
        }
        Ok(file)
    }

    /// Claims a run, unless another process works on it. The flag is set if the claim is lost later.
    pub(crate) fn claim(&self, run: &str, lost: &Arc<AtomicBool>) -> Result<Claimed, EnsembleError> {
        let _lock = self.lock()?;
        let path = self.path(run);
        match fs::read(&path) {
            Ok(bytes) if !self.is_given_up(run, &bytes) => return Ok(Claimed::Taken),
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(EnsembleError::file("read", &path)(error)),
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let claim = Claim { number, ..self.me.clone() };
        write_claim(&path, &claim)?;
        lost.store(false, Ordering::Relaxed);
        self.held().insert(run.to_owned(), (claim, lost.clone()));
        Ok(Claimed::Mine)
    }

    /// Returns `true` if a claim is that of a process that is gone, or was not renewed for long.
    fn is_given_up(&self, run: &str, bytes: &[u8]) -> bool {
        if let Ok(claim) = serde_json::from_slice::<Claim>(bytes) {
            if self.held().contains_key(run) {
                return false;
            }
            if claim.host == self.me.host && is_gone(&claim) {
                return true;
            }
        }
        // Only the clock of this process is used: those of machines may differ.
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        match seen.get(run) {
            Some((before, since)) if *before == bytes => since.elapsed() >= self.times.give_up,
            _ => {
                seen.insert(run.to_owned(), (bytes.to_owned(), Instant::now()));
                false
            }
        }
    }

    /// Gives a claim up. Returns `false` if it was lost before.
    pub(crate) fn release(&self, run: &str) -> Result<bool, EnsembleError> {
        let _lock = self.lock()?;
        let Some((claim, lost)) = self.held().remove(run) else { return Ok(false) };
        let path = self.path(run);
        let is_mine = !lost.load(Ordering::Relaxed) && is_same(&path, &claim);
        if is_mine {
            fs::remove_file(&path).map_err(EnsembleError::file("remove", &path))?;
        }
        Ok(is_mine)
    }

    /// Renews all claims of this process from time to time, until the flag is set.
    pub(crate) fn renew_until(&self, done: &AtomicBool) {
        let step = self.times.renew.min(Duration::from_millis(50));
        let mut last = Instant::now();
        while !done.load(Ordering::Relaxed) {
            std::thread::sleep(step);
            if last.elapsed() >= self.times.renew {
                last = Instant::now();
                self.renew();
            }
        }
    }

    fn renew(&self) {
        // What cannot be renewed now may be renewed next time.
        let Ok(_lock) = self.lock() else { return };
        for (run, (claim, lost)) in self.held().iter_mut() {
            let path = self.path(run);
            if !is_same(&path, claim) {
                lost.store(true, Ordering::Relaxed);
                continue;
            }
            let renewed = Claim { beat: claim.beat + 1, ..claim.clone() };
            if write_claim(&path, &renewed).is_ok() {
                *claim = renewed;
            }
        }
    }
}

/// Returns `true` if the file has this claim.
fn is_same(path: &Path, claim: &Claim) -> bool {
    fs::read(path).ok().and_then(|bytes| serde_json::from_slice::<Claim>(&bytes).ok()).as_ref() == Some(claim)
}

fn write_claim(path: &Path, claim: &Claim) -> Result<(), EnsembleError> {
    let text = serde_json::to_vec(claim)
        .map_err(|error| EnsembleError::Damaged { path: path.to_owned(), problem: error.to_string() })?;
    write_whole(path, &text)
}

/// Returns the name of the machine.
fn host() -> String {
    let named = fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let named = named.or_else(|| std::env::var("HOSTNAME").ok()).or_else(|| std::env::var("COMPUTERNAME").ok());
    // Containers may have the same name, but not the same list of processes.
    let space = fs::read_link("/proc/self/ns/pid").map(|link| link.display().to_string()).unwrap_or_default();
    format!("{} {space}", named.unwrap_or_default().trim())
}

/// Returns when a process started, if that can be found out here.
fn start_of(process: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name of the program is in parentheses, and may have blanks.
    text.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

/// Returns `true` if the process of a claim on this machine is known to be gone.
fn is_gone(claim: &Claim) -> bool {
    Path::new("/proc/self/stat").exists() && claim.started.is_some() && start_of(claim.process) != claim.started
}
