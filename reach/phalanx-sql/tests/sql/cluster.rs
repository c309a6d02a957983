//! Queries on clusters: in this process, and of real processes on loopback addresses.

use crate::program::program;
use crate::runs::{Folder, PARTS, write_run, write_runs};
use phalanx::World;
use phalanx_arrow::FrozenWorld;
use phalanx_sql::cluster::{Cluster, Exposed, SchedulerOptions, serve_scheduler};
use phalanx_sql::{Rows, Session, SqlError};
use std::io::{BufRead, BufReader};
use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};

/// Queries with all that is split over machines in a way of its own.
const QUERIES: [&str; 12] = [
    "select * from position where run = 3 and frame = 2",
    "select count(*), sum(x), min(y), max(y) from position",
    "select run, frame, sum(x), count(*) from position where y > 0 group by run, frame",
    "select run, avg(x) from position group by run order by run",
    "select speed, model, count(distinct run), max(x) from position group by speed, model order by speed, model",
    "select run, frame, entity, x from position where x > 40 order by x desc, run, frame, entity limit 17",
    "select a.run, count(*) from position a join position b on a.run = b.run and a.frame = b.frame and a.entity = b.entity + 1
     where a.x < b.x group by a.run",
    "select p.run, r.seed, sum(p.x) from position p join runs r on p.run = r.run where r.finished group by p.run, r.seed",
    "select count(*) from position where frame = (select max(frame) from position)",
    "select run, frame, rank() over (partition by run order by total desc, frame) from
     (select run, frame, sum(x) as total from position group by run, frame)",
    "select distinct model from position where run in (select run from runs where seed > 2) union all select 'none'",
    "select run, x from position where run = 99",
];

/// The cells of an answer as text, in order, so that answers can be compared.
fn lines(rows: &Rows) -> Vec<String> {
    let text = rows.to_string();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_in_this_process_gives_the_same_rows() {
    let folder = write_runs(8, 6, 40);
    let here = Session::recordings(folder.path()).unwrap();
    let cluster = Cluster::here(2, 2).await.unwrap();
    let there = Session::recordings(folder.path()).unwrap().on(cluster).unwrap();
    for sql in QUERIES {
        let expected = lines(&here.query(sql).await.unwrap());
        let asked = tokio::time::timeout(Duration::from_secs(60), there.query(sql)).await;
        let got = asked.unwrap_or_else(|_| panic!("no answer: {sql}")).unwrap_or_else(|error| panic!("{sql}: {error}"));
        assert_eq!(lines(&got), expected, "{sql}");
    }
    // What describes the session is answered here.
    assert_eq!(there.query("show tables").await.unwrap().len(), here.query("show tables").await.unwrap().len());
    assert!(!there.query("explain select sum(x) from position").await.unwrap().is_empty());
    let error = there.query("select zz from position").await.unwrap_err();
    assert!(matches!(error, SqlError::NoSuchColumn { .. }), "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_repeats_the_rows_of_changes() {
    let folder = Folder::new();
    for run in 0..4 {
        crate::changes::record(folder.path(), run, u64::from(run), 1, true);
    }
    let here = Session::recordings(folder.path()).unwrap();
    let cluster = Cluster::here(2, 2).await.unwrap();
    let there = Session::recordings(folder.path()).unwrap().on(cluster).unwrap();
    for sql in [
        "select run, frame, count(*), sum(hp) from health group by run, frame",
        "select frame, entity, since from burning where run = 2",
        "select count(*) from health_changes where op = 'removed'",
        "select run, event, count(*) from entities group by run, event",
        "select a.run, count(*) from keyframes a join health b on a.run = b.run and a.frame = b.frame group by a.run",
    ] {
        let expected = lines(&here.query(sql).await.unwrap());
        let asked = tokio::time::timeout(Duration::from_secs(60), there.query(sql)).await;
        let got = asked.unwrap_or_else(|_| panic!("no answer: {sql}")).unwrap_or_else(|error| panic!("{sql}: {error}"));
        assert_eq!(lines(&got), expected, "{sql}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_files_are_named_from_a_cluster() {
    let folder = write_runs(2, 6, 400);
    let path = folder.path().join("run=1").join(PARTS[1]);
    let mut bytes = std::fs::read(&path).unwrap();
    let end = bytes.len() / 3;
    bytes[4..end].fill(0xff);
    std::fs::write(&path, bytes).unwrap();
    let cluster = Cluster::here(1, 2).await.unwrap();
    let session = Session::recordings(folder.path()).unwrap().on(cluster).unwrap();
    let error =
        session.query("select run, sum(x), sum(frame), sum(entity) from position group by run").await.unwrap_err();
    assert!(matches!(&error, SqlError::Broken { path: named, .. } if *named == path), "{error:?}");
}

#[tokio::test]
async fn what_cannot_be_sent_is_refused() {
    let refused = serve_scheduler(SchedulerOptions::new(([0, 0, 0, 0], 0).into()), |_| panic!("it listens")).await;
    assert!(matches!(&refused, Err(SqlError::Cluster(reason)) if reason.contains("0.0.0.0")), "{refused:?}");
    assert_eq!(Exposed::default(), Exposed::No);
    for address in ["df://127.0.0.1:1", "127.0.0.1:1", "df://", "df://a b", "df://127.0.0.1:99999"] {
        let error = Cluster::connect(address).await.unwrap_err();
        assert!(matches!(&error, SqlError::Cluster(reason) if reason.contains(address)), "{error}");
    }
    let cluster = Cluster::here(1, 1).await.unwrap();
    let session = Session::over(&FrozenWorld::new(World::new())).unwrap();
    assert!(matches!(session.on(cluster), Err(SqlError::NotRecorded)));
}

/// Processes that end with the test.
struct Processes {
    address: String,
    scheduler: Child,
    executors: Vec<Child>,
    /// The work folders: a killed executor does not remove its own.
    folder: Folder,
}

impl Processes {
    fn start(executors: usize, cores: usize) -> Processes {
        let (scheduler, address) = start(&["scheduler", "--listen", "127.0.0.1:0", "--executor-timeout", "7"]);
        let mut processes =
            Processes { address: address.clone(), scheduler, executors: Vec::new(), folder: Folder::new() };
        for number in 0..executors {
            let work = processes.folder.path().join(number.to_string());
            let (work, cores) = (work.to_str().unwrap(), cores.to_string());
            let (child, _) = start(&["executor", "--scheduler", &address, "--cores", &cores, "--work-dir", work]);
            processes.executors.push(child);
        }
        processes
    }

    fn ask(&self, folder: &Folder, sql: &str) -> Output {
        let address = format!("df://{}", self.address);
        let arguments = ["--quiet", "--timeout", "120", "--cluster", &address];
        program().args(arguments).arg(folder.path()).arg(sql).stdin(Stdio::null()).output().unwrap()
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        for child in self.executors.iter_mut().chain([&mut self.scheduler]) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Starts a role, and returns its address, which it prints when it listens.
fn start(arguments: &[&str]) -> (Child, String) {
    let mut child = program().args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim_end().rsplit(' ').next().unwrap().to_owned();
    assert!(address.starts_with("127.0.0.1:"), "{line}");
    (child, address)
}

fn sorted(output: &Output) -> Vec<String> {
    assert!(output.status.success(), "{output:?}");
    let mut lines: Vec<String> = String::from_utf8(output.stdout.clone()).unwrap().lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

fn ask_here(folder: &Folder, sql: &str) -> Output {
    program().arg("--quiet").arg(folder.path()).arg(sql).stdin(Stdio::null()).output().unwrap()
}

#[test]
fn processes_give_the_same_rows_and_listen_on_loopback_only() {
    let folder = write_runs(8, 6, 40);
    let processes = Processes::start(2, 1);
    for sql in QUERIES {
        assert_eq!(sorted(&processes.ask(&folder, sql)), sorted(&ask_here(&folder, sql)), "{sql}");
    }
    #[cfg(target_os = "linux")]
    {
        let listening =
            [&processes.scheduler, &processes.executors[0], &processes.executors[1]].map(listening_addresses);
        assert!(listening.iter().all(|addresses| addresses.len() == 1), "{listening:?}");
        // 127.0.0.1, as the kernel writes it.
        assert!(listening.iter().flatten().all(|address| address.starts_with("0100007F:")), "{listening:?}");
    }
    let wrong = processes.ask(&folder, "select * from postion");
    assert_eq!(wrong.status.code(), Some(1));
}

/// Returns the local addresses that a process listens on.
#[cfg(target_os = "linux")]
fn listening_addresses(child: &Child) -> Vec<String> {
    let sockets: Vec<String> = std::fs::read_dir(format!("/proc/{}/fd", child.id()))
        .unwrap()
        .filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok())
        .filter_map(|link| Some(link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned()))
        .collect();
    let mut addresses = Vec::new();
    for table in ["tcp", "tcp6", "udp", "udp6"] {
        let text = std::fs::read_to_string(format!("/proc/{}/net/{table}", child.id())).unwrap_or_default();
        for line in text.lines().skip(1) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let is_listening = fields[3] == "0A" || table.starts_with("udp");
            if is_listening && sockets.iter().any(|socket| socket == fields[9]) {
                addresses.push(fields[1].to_owned());
            }
        }
    }
    addresses
}

#[test]
fn an_executor_that_is_killed_gives_the_answer_or_an_error() {
    let folder = Folder::new();
    for run in 0..6 {
        write_run(folder.path(), run, 40, 100);
    }
    // Long enough to be killed in the middle: each run has four thousand rows with a hundred different values.
    let sql = "select a.run, count(*), sum(a.y * b.y) from position a join position b on a.run = b.run and a.x = b.x
               join position c on c.run = b.run and c.x = b.x and c.frame < 12 group by a.run";
    let expected = sorted(&ask_here(&folder, sql));
    let mut outcomes = Vec::new();
    for delay in [50, 400, 1200] {
        let mut processes = Processes::start(2, 1);
        let address = format!("df://{}", processes.address);
        let child = program()
            .args(["--quiet", "--timeout", "120", "--cluster", &address])
            .arg(folder.path())
            .arg(sql)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(delay));
        processes.executors[0].kill().unwrap();
        let began = Instant::now();
        let output = child.wait_with_output().unwrap();
        match output.status.code() {
            Some(0) => assert_eq!(sorted(&output), expected, "after {delay} ms"),
            Some(1) => assert!(!output.stderr.is_empty() && output.stdout.is_empty(), "after {delay} ms: {output:?}"),
            other => panic!("after {delay} ms: {other:?}"),
        }
        outcomes.push((delay, output.status.code(), began.elapsed()));
        // The other one still answers.
        let next = processes.ask(&folder, "select count(*) as n from position");
        assert_eq!(sorted(&next), ["24000", "n"], "after {delay} ms: {outcomes:?}");
    }
    println!("{outcomes:?}");
}

#[test]
fn all_executors_killed_is_an_error() {
    let folder = write_runs(2, 6, 40);
    let mut processes = Processes::start(1, 1);
    assert_eq!(sorted(&processes.ask(&folder, "select count(*) as n from position")), ["480", "n"]);
    processes.executors[0].kill().unwrap();
    processes.executors[0].wait().unwrap();
    let output = program()
        .args(["--timeout", "15", "--cluster", &format!("df://{}", processes.address)])
        .arg(folder.path())
        .arg("select run, sum(x) from position group by run")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
}
