//! Ensembles in one process and in several, which compete, are killed and take over.

use phalanx::snapshot::Registry;
use phalanx::{Component, Plain, World};
use phalanx_arrow::{Recorder, Recording};
use phalanx_ensemble::{Ensemble, EnsembleError, Options, Run, RunState};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

#[derive(Component, Clone, Copy)]
#[component(plain)]
struct Position {
    x: f32,
    y: f32,
}

#[derive(Clone, Copy, Plain)]
struct Random(u64);

impl Random {
    fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 40) as f32 / (1 << 23) as f32 - 1.0
    }
}

fn registry() -> Registry {
    let mut registry = Registry::new();
    registry.plain::<Position>("position").unwrap();
    registry.plain_resource::<Random>("random").unwrap();
    registry
}

/// Some walkers, which are recorded. A pause after each frame makes the run as long as a test needs.
fn walk(run: Run, pause: Duration) {
    let registry = registry();
    let speed: f32 = run.parameter("speed");
    let (mut world, mut recorder) = match Recorder::resume(run.folder(), &registry).unwrap() {
        Some((world, recorder)) => (world, recorder.start().unwrap()),
        None => {
            let mut world = World::new();
            world.insert_resource(Random(run.seed()));
            world.spawn_batch((0..20).map(|_| Position { x: 0.0, y: 0.0 }));
            let recorder = Recorder::create(run.folder(), &registry).seed(run.seed()).parameter("speed", speed);
            (world, recorder.keyframes(10).start().unwrap())
        }
    };
    if recorder.next_frame() > 0 {
        // What a test looks for: the run was continued, and not begun again.
        let mark = run.folder().with_file_name(format!("{}.continued", run.name()));
        std::fs::write(mark, recorder.next_frame().to_string()).unwrap();
    }
    for _ in recorder.next_frame()..60 {
        recorder.frame(&mut world).unwrap();
        let mut random = *world.resource::<Random>().unwrap();
        world.query_mut::<&mut Position>().for_each(|position| {
            position.x += speed * random.next();
            position.y += speed * random.next();
        });
        *world.resource_mut::<Random>().unwrap() = random;
        std::thread::sleep(pause);
    }
    recorder.finish().unwrap();
    let distance: f64 = world.query::<&Position>().iter().map(|at| f64::from(at.x.hypot(at.y))).sum();
    run.set_result("distance", distance);
}

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("phalanx-ensemble-{name}-{}-{number}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        Folder(folder)
    }

    /// Returns the files of all runs with their bytes.
    fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        fn visit(folder: &Path, root: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                let path = entry.path();
                match path.is_dir() {
                    true => visit(&path, root, files),
                    false => drop(files.insert(path.strip_prefix(root).unwrap().into(), std::fs::read(&path).unwrap())),
                }
            }
        }
        let mut files = BTreeMap::new();
        visit(&self.0, &self.0, &mut files);
        files.retain(|path, _| path.to_string_lossy().starts_with("run="));
        files
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn ensemble(folder: &Path) -> Ensemble {
    let ensemble = Ensemble::new(folder).grid("speed", [0.5, 1.0]).seeds(0..4);
    ensemble.claims(Duration::from_millis(100), Duration::from_secs(2))
}

fn quiet(jobs: usize) -> Options {
    let mut options = Options::default();
    (options.jobs, options.quiet) = (jobs, true);
    options
}

/// Starts this test program again, as a process that works on an ensemble.
fn start(folder: &Folder, pause: u64, jobs: usize) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_process", "--test-threads=1", "--nocapture"])
        .env("PHALANX_ENSEMBLE", &folder.0)
        .env("PHALANX_PAUSE", pause.to_string())
        .env("PHALANX_JOBS", jobs.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// What the processes of other tests execute.
#[test]
fn a_process() {
    let Some(folder) = std::env::var_os("PHALANX_ENSEMBLE") else { return };
    let number = |name: &str| std::env::var(name).unwrap().parse::<u64>().unwrap();
    let pause = Duration::from_micros(number("PHALANX_PAUSE"));
    let options = quiet(number("PHALANX_JOBS") as usize);
    let summary = ensemble(Path::new(&folder)).run(&options, |run| walk(run, pause)).unwrap();
    println!("here: {}", summary.done_here);
}

/// Returns how many runs a process has done, when it has ended.
fn done_by(child: Child) -> usize {
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let line = text.lines().find_map(|line| line.split_once("here: ")).unwrap();
    line.1.trim().parse().unwrap()
}

fn reference() -> BTreeMap<PathBuf, Vec<u8>> {
    let folder = Folder::new("reference");
    let summary = ensemble(&folder.0).run(&quiet(1), |run| walk(run, Duration::ZERO)).unwrap();
    assert_eq!((summary.done, summary.done_here, summary.failed.len()), (8, 8, 0));
    folder.files()
}

#[test]
fn any_number_of_jobs_writes_the_same_bytes() {
    let one = reference();
    let folder = Folder::new("two");
    ensemble(&folder.0).run(&quiet(2), |run| walk(run, Duration::ZERO)).unwrap();
    assert!(one == folder.files() && one.len() > 8 * 8);
    // What is done is not done again.
    let again = ensemble(&folder.0).run(&quiet(2), |_| -> () { panic!("it is done") }).unwrap();
    assert_eq!((again.done, again.done_here), (8, 0));
    let states = ensemble(&folder.0).states().unwrap();
    for (run, state) in states {
        let RunState::Done(outcome) = state else { panic!("{} is not done", run.name()) };
        assert_eq!((outcome.seed, &outcome.parameters), (run.seed(), run.parameters()));
        assert!(outcome.results["distance"].as_f64().unwrap() > 0.0);
        Recording::open(run.folder()).unwrap().verify().unwrap();
    }
}

#[test]
fn two_processes_share_the_runs() {
    let folder = Folder::new("compete");
    let children = [start(&folder, 2000, 1), start(&folder, 2000, 1)];
    let done = children.map(done_by);
    assert_eq!(done[0] + done[1], 8, "{done:?}");
    assert!(done[0] > 0 && done[1] > 0, "{done:?}");
    assert_eq!(folder.files(), reference());
}

#[test]
fn runs_of_a_killed_process_are_taken_over_from_their_keyframes() {
    let folder = Folder::new("killed");
    let mut child = start(&folder, 20_000, 2);
    // Kill it when it has written some keyframes.
    let begin = Instant::now();
    let has_keyframes = || {
        let files = folder.files();
        files.keys().filter(|path| path.to_string_lossy().contains("0000000020.phx")).count() == 2
    };
    while !has_keyframes() {
        assert!(begin.elapsed() < Duration::from_secs(60), "no keyframe was written");
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(done_by(start(&folder, 0, 2)), 8);
    let continued = std::fs::read_dir(&folder.0).unwrap().flatten();
    let continued: Vec<u64> = continued
        .filter(|entry| entry.path().extension().is_some_and(|extension| extension == "continued"))
        .map(|entry| std::fs::read_to_string(entry.path()).unwrap().parse().unwrap())
        .collect();
    // The keyframe counts when `run.json` names it, which comes last.
    assert!(continued.len() == 2 && continued.iter().all(|frame| *frame >= 10), "{continued:?}");
    assert_eq!(folder.files(), reference());
}

/// A process of another machine is not seen: its claims are taken over when they have not been renewed for some time.
#[test]
fn claims_that_are_not_renewed_are_taken_over() {
    let folder = Folder::new("stale");
    let claims = folder.0.join(".ensemble");
    std::fs::create_dir_all(&claims).unwrap();
    let names: Vec<_> = ensemble(&folder.0).runs().unwrap().iter().map(|run| run.name().to_owned()).collect();
    let foreign = r#"{"host":"elsewhere","process":1,"started":1,"number":1,"beat":1}"#;
    std::fs::write(claims.join(format!("{}.claim", names[0])), foreign).unwrap();
    std::fs::write(claims.join(format!("{}.claim", names[1])), "not a claim").unwrap();
    let begin = Instant::now();
    let summary = ensemble(&folder.0).run(&quiet(1), |run| walk(run, Duration::ZERO)).unwrap();
    assert!(begin.elapsed() >= Duration::from_secs(2), "a claim was taken over too early");
    assert_eq!(summary.done, 8);
    assert!(std::fs::read_dir(claims).unwrap().flatten().all(|entry| entry.file_name() == "lock"));
}

#[test]
fn failed_runs_are_listed_and_repeated_when_asked() {
    let folder = Folder::new("failed");
    let model = |run: Run| -> Result<(), String> {
        match run.seed() {
            1 => panic!("seed {} does not walk", run.seed()),
            2 => Err("no memory".into()),
            _ => Ok(()),
        }
    };
    let summary = ensemble(&folder.0).run(&quiet(2), model).unwrap();
    assert_eq!((summary.done, summary.failed.len()), (4, 4));
    let (name, error) = &summary.failed[0];
    assert_eq!(name, "speed-0.5_seed-1");
    assert!(error.starts_with("panicked at ") && error.ends_with(": seed 1 does not walk"), "{error}");
    assert!(error.contains("ensembles.rs:"), "{error}");
    assert_eq!(summary.failed[1], ("speed-0.5_seed-2".into(), "no memory".into()));
    // Failed runs stay so, until they are to be repeated.
    let again = ensemble(&folder.0).run(&quiet(1), |_| ()).unwrap();
    assert_eq!((again.done, again.done_here, again.failed.len()), (4, 0, 4));
    let mut options = quiet(1);
    options.retry = true;
    let repeated = ensemble(&folder.0).run(&options, |_| ()).unwrap();
    assert_eq!((repeated.done, repeated.done_here, repeated.failed.len()), (8, 4, 0));
}

#[test]
fn shards_have_all_runs_once() {
    let folder = Folder::new("shards");
    let mut done = 0;
    for number in 1..=3 {
        let arguments = [format!("--shard={number}/3"), "--quiet".into()];
        let options = Options::parse(arguments, |_| None).unwrap();
        done += ensemble(&folder.0).run(&options, |_| ()).unwrap().done_here;
    }
    assert_eq!(done, 8);
    for wrong in ["--shard=0/3", "--shard=4/3", "--shard=1", "--jobs=0", "--jobs=x", "--job", "--jobs"] {
        assert!(Options::parse([wrong.to_owned()], |_| None).is_err(), "{wrong}");
    }
    let slurm = |name: &str| (name == "SLURM_ARRAY_TASK_ID").then(|| "x".to_owned());
    assert!(Options::parse([], slurm).is_err());
}

#[test]
fn names_are_unique_and_files_that_are_damaged_are_named() {
    let folder = Folder::new("names");
    let twice = Ensemble::new(&folder.0).grid("a", ["x y", "x/y"]);
    assert!(matches!(twice.runs(), Err(EnsembleError::SameName { name }) if name == "a-x-y_seed-0"));
    let long = Ensemble::new(&folder.0).grid("a", ["x".repeat(500), "x".repeat(501)]);
    assert!(long.runs().unwrap().iter().all(|run| run.name().len() <= 120));
    let run = ensemble(&folder.0).runs().unwrap().remove(0);
    std::fs::create_dir_all(run.folder()).unwrap();
    std::fs::write(run.folder().join("outcome.json"), "{").unwrap();
    let error = ensemble(&folder.0).run(&quiet(1), |_| ()).unwrap_err();
    assert!(error.to_string().contains("outcome.json is damaged"), "{error}");
}

#[test]
fn models_without_a_recorder_continue_from_their_keyframes() {
    let (folder, registry) = (Folder::new("keyframes"), registry());
    let model = |run: Run| -> Result<(), EnsembleError> {
        let (mut world, first) = run.resume(&registry)?.unwrap_or_else(|| (World::new(), 0));
        for frame in first..10 {
            run.keyframe(&registry, &world, frame)?;
            world.spawn(Position { x: frame as f32, y: 0.0 });
            assert!(first > 0 || frame < 5, "killed");
        }
        run.set_result("entities", world.len());
        Ok(())
    };
    let one = Ensemble::new(&folder.0);
    assert_eq!(one.run(&quiet(1), model).unwrap().failed.len(), 1);
    let mut options = quiet(1);
    options.retry = true;
    assert_eq!(one.run(&options, model).unwrap().done, 1);
    let RunState::Done(outcome) = &one.states().unwrap()[0].1 else { panic!("it is done") };
    assert_eq!(outcome.results["entities"], 10);
}
