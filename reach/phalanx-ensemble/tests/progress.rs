//! What is printed while an ensemble runs: a bar on a terminal, and lines otherwise.
#![cfg(unix)]

use phalanx_ensemble::{Ensemble, Options, Run};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

const RUNS: u64 = 6;

fn new_folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("phalanx-progress-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

/// What the processes of the tests execute: some runs, of which one fails.
#[test]
fn a_process() {
    let Some(folder) = std::env::var_os("PHALANX_PROGRESS") else { return };
    let model = |run: Run| {
        std::thread::sleep(Duration::from_millis(250));
        if run.seed() == 3 { Err("it has no food") } else { Ok(()) }
    };
    let summary = Ensemble::new(folder).seeds(0..RUNS).run(&Options::default(), model).unwrap();
    assert_eq!((summary.done as u64, summary.failed.len()), (RUNS - 1, 1));
}

fn program(folder: &PathBuf) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "a_process", "--nocapture"]).env("PHALANX_PROGRESS", folder).stdout(Stdio::null());
    command
}

#[test]
fn a_terminal_shows_a_bar_with_the_rate_and_the_time_that_is_left() {
    let user = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&user).unwrap();
    unlockpt(&user).unwrap();
    let name = ptsname(&user, Vec::new()).unwrap().into_string().unwrap();
    let device = File::options().read(true).write(true).open(name).unwrap();
    tcsetwinsize(&device, Winsize { ws_row: 24, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
    let folder = new_folder("terminal");
    let mut command = program(&folder);
    let mut child = command.stderr(device.try_clone().unwrap()).env("TERM", "xterm-256color").spawn().unwrap();
    drop((command, device));
    let (mut output, mut piece, mut user) = (Vec::new(), [0; 4096], File::from(user));
    // Reading fails when no process has the terminal any more.
    while let Ok(count @ 1..) = user.read(&mut piece) {
        output.extend_from_slice(&piece[..count]);
    }
    assert!(child.wait().unwrap().success());
    let text = String::from_utf8_lossy(&output).replace('\r', "\n");
    let bars: Vec<_> = text.split("runs ").skip(1).filter_map(|bar| bar.lines().next()).collect();
    let with = |part: &str| bars.iter().any(|bar| bar.contains(part));
    assert!(with(&format!("0/{RUNS}")) && with(&format!("4/{RUNS}")), "{text}");
    assert!(bars.iter().any(|bar| bar.contains("█") && bar.contains("░")), "{text}");
    assert!(with(" a second") && with("s left") && with("? left") && with("seed-1"), "{text}");
    assert!(bars.iter().all(|bar| bar.chars().count() < 100), "{text}");
    assert!(text.contains("failed seed-3: it has no food"), "{text}");
    assert!(!text.contains("done seed"), "{text}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn without_a_terminal_there_is_a_line_for_each_run() {
    let folder = new_folder("lines");
    let output = program(&folder).stderr(Stdio::piped()).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    let lines: Vec<_> = text.lines().filter(|line| line.contains("seed-")).collect();
    assert_eq!(lines.len() as u64, RUNS, "{text}");
    assert!(lines[0].starts_with(&format!("done seed-0 (1 of {RUNS}, ")), "{text}");
    assert!(lines[0].contains(" a second, ") && lines[0].ends_with(" s left)"), "{text}");
    assert_eq!(lines[3], "failed seed-3: it has no food");
    assert!(!text.contains('\u{1b}') && !text.contains('\r'), "{text}");
    std::fs::remove_dir_all(folder).unwrap();
}
