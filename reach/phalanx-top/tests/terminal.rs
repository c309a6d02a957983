//! The program in a real terminal: it draws, obeys keys, and leaves the terminal as it was.
#![cfg(unix)]

use phalanx::{Component, World};
use phalanx_inspect::{Flow, Inspector};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};
use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

#[path = "../src/terminal.rs"]
#[expect(dead_code, reason = "only entering it is tested here")]
mod screen;

#[derive(Component, Clone, Copy, Debug)]
#[component(plain)]
struct Health {
    hp: u32,
}

/// What is seen in a terminal: the cursor is moved, the screen cleared, and characters written.
struct Picture {
    cells: [[char; 80]; 24],
    row: usize,
    column: usize,
    /// A sequence that has not come to its end.
    rest: String,
}

impl Picture {
    fn write(&mut self, text: &str) {
        let text = core::mem::take(&mut self.rest) + text;
        let mut left = text.as_str();
        while let Some(c) = left.chars().next() {
            if c != '\u{1b}' {
                if let Some(cell) = self.cells.get_mut(self.row).and_then(|line| line.get_mut(self.column)) {
                    *cell = c;
                }
                self.column += 1;
                left = &left[c.len_utf8()..];
                continue;
            }
            let Some(end) = left.find(|c: char| c.is_ascii_alphabetic()) else {
                self.rest = left.to_owned();
                return;
            };
            let (sequence, after) = left.split_at(end + 1);
            match sequence.strip_prefix("\u{1b}[").and_then(|sequence| sequence.strip_suffix('H')) {
                Some(at) => {
                    let mut numbers = at.split(';').map(|number| number.parse::<usize>().unwrap_or(1) - 1);
                    (self.row, self.column) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
                }
                None if sequence.ends_with('J') || sequence.ends_with("1049h") => self.cells = [[' '; 80]; 24],
                None => {}
            }
            left = after;
        }
    }

    fn text(&self) -> String {
        self.cells.iter().map(|line| line.iter().collect::<String>() + "\n").collect()
    }
}

/// A terminal of 80 columns and 24 lines, with a program in it.
struct Terminal {
    child: Child,
    user: File,
    /// The side of the program, kept open so that its modes can be read.
    device: File,
    output: Receiver<Vec<u8>>,
    picture: Picture,
}

impl Terminal {
    fn open(mut command: Command) -> Terminal {
        let user = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&user).unwrap();
        unlockpt(&user).unwrap();
        let name = ptsname(&user, Vec::new()).unwrap().into_string().unwrap();
        let device = File::options().read(true).write(true).open(name).unwrap();
        tcsetwinsize(&device, Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
        let end = || Stdio::from(device.try_clone().unwrap());
        let child = command.stdin(end()).stdout(end()).stderr(end()).env("TERM", "xterm-256color").spawn().unwrap();
        let user = File::from(user);
        let (mut reader, (sender, output)) = (user.try_clone().unwrap(), channel());
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count) = reader.read(&mut buffer) {
                if count == 0 || sender.send(buffer[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        let picture = Picture { cells: [[' '; 80]; 24], row: 0, column: 0, rest: String::new() };
        Terminal { child, user, device, output, picture }
    }

    fn is_raw(&self) -> bool {
        !tcgetattr(&self.device).unwrap().local_modes.contains(LocalModes::ICANON)
    }

    fn press(&mut self, keys: &str) {
        self.user.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits until a text is seen.
    fn wait_for(&mut self, text: &str) {
        let end = Instant::now() + Duration::from_secs(20);
        while !self.picture.text().contains(text) {
            let left = end.saturating_duration_since(Instant::now());
            match self.output.recv_timeout(left) {
                Ok(bytes) => self.picture.write(&String::from_utf8_lossy(&bytes)),
                Err(_) => panic!("{text} is not seen:\n{}", self.picture.text()),
            }
        }
    }

    /// Returns all that was written and not looked at.
    fn rest(&mut self) -> String {
        let mut all = String::new();
        while let Ok(bytes) = self.output.recv_timeout(Duration::from_millis(300)) {
            all.push_str(&String::from_utf8_lossy(&bytes));
        }
        all
    }

    fn wait(&mut self) -> ExitStatus {
        let end = Instant::now() + Duration::from_secs(20);
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < end, "the program does not end");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn keys_are_obeyed_and_the_terminal_is_restored() {
    let mut inspector = Inspector::builder().name("arena").address("127.0.0.1:0").timeline(60).quiet().serve().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_phalanx-top"));
    command.arg(inspector.url().unwrap()).env("NO_COLOR", "1");
    let (sender, receiver) = channel();
    let user = std::thread::spawn(move || {
        let mut terminal = Terminal::open(command);
        terminal.wait_for("100 entities");
        assert!(terminal.is_raw());
        terminal.press("/Health.hp < 3\r");
        terminal.wait_for("3 entities");
        terminal.press("2");
        terminal.wait_for("sparse store");
        terminal.press("p");
        terminal.wait_for("PAUSED");
        terminal.press("1\r");
        terminal.wait_for("Field");
        terminal.press("e\u{15}77\r");
        terminal.wait_for("was 0, and is 77");
        terminal.press("q");
        assert!(terminal.wait().success());
        assert!(!terminal.is_raw(), "the terminal is as it was");
        assert!(terminal.rest().contains("\u{1b}[?1049l"));
        sender.send(()).unwrap();
    });
    let mut world = World::new();
    let first = world.spawn(Health { hp: 0 });
    world.spawn_batch((1..100).map(|hp| Health { hp }));
    let mut is_paused = false;
    while receiver.try_recv().is_err() && !user.is_finished() {
        is_paused |= inspector.update(&mut world) == Flow::Hold;
        std::thread::sleep(Duration::from_millis(1));
    }
    user.join().unwrap();
    assert!(is_paused);
    assert_eq!(world.get::<Health>(first).unwrap().hp, 77);
}

#[test]
fn a_signal_ends_the_program_and_restores_the_terminal() {
    // Nothing is at the address: the program says so, and goes on.
    let mut command = Command::new(env!("CARGO_BIN_EXE_phalanx-top"));
    command.arg("127.0.0.1:1#key=00000000000000000000000000000001");
    let mut terminal = Terminal::open(command);
    terminal.wait_for("does not answer");
    assert!(terminal.is_raw());
    let process = rustix::process::Pid::from_child(&terminal.child);
    rustix::process::kill_process(process, rustix::process::Signal::TERM).unwrap();
    assert!(terminal.wait().success());
    assert!(!terminal.is_raw());
}

#[test]
fn a_panic_restores_the_terminal_before_its_message() {
    const NAME: &str = "a_panic_restores_the_terminal_before_its_message";
    if std::env::var_os("PHALANX_TOP_PANIC").is_some() {
        let _screen = screen::Screen::enter().unwrap();
        panic!("on purpose");
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([NAME, "--exact", "--nocapture"]).env("PHALANX_TOP_PANIC", "1");
    let mut terminal = Terminal::open(command);
    assert!(!terminal.wait().success());
    assert!(!terminal.is_raw());
    let all = terminal.rest();
    let (left, message) = (all.find("\u{1b}[?1049l"), all.find("on purpose"));
    assert!(left.is_some() && left < message, "{all:?}");
}
