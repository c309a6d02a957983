//! The program against a real inspector: what it prints for scripts.

use phalanx::{Component, World};
use phalanx_inspect::Inspector;
use serde_json::Value;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

#[derive(Component, Clone, Copy, Debug)]
#[component(plain)]
struct Health {
    hp: u32,
}

#[derive(Component, Debug)]
struct Title(String);

/// Runs a program with an inspector, and a test beside it.
fn with_program(test: impl FnOnce(&str) + Send) {
    let mut inspector = Inspector::builder()
        .name("top\u{1b}[2J")
        .address("127.0.0.1:0")
        .plot("alive", |world| world.len() as f64)
        .quiet()
        .serve()
        .unwrap();
    let url = inspector.url().unwrap();
    let is_done = AtomicBool::new(false);
    struct Done<'a>(&'a AtomicBool);
    impl Drop for Done<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    std::thread::scope(|scope| {
        let tester = scope.spawn(|| {
            let _done = Done(&is_done);
            test(&url);
        });
        let mut world = World::new();
        world.spawn_batch((0..100).map(|hp| Health { hp }));
        world.spawn(Title("evil \u{202e}txt\u{1b}[31m".into()));
        while !is_done.load(Ordering::Relaxed) {
            inspector.update(&mut world);
            std::thread::sleep(Duration::from_millis(1));
        }
        if let Err(panic) = tester.join() {
            std::panic::resume_unwind(panic);
        }
    });
}

fn top(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_phalanx-top"));
    command.args(arguments).env_remove("PHALANX_KEY").env_remove("XDG_RUNTIME_DIR");
    command.output().unwrap()
}

fn json(arguments: &[&str]) -> Value {
    let output = top(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn text(arguments: &[&str]) -> String {
    let output = top(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn each_view_is_printed_as_json_and_as_text() {
    with_program(|url| {
        let answer = json(&[url, "--once", "--json", "--query", "Health.hp < 10"]);
        assert_eq!(answer["world"]["entities"], 101);
        assert_eq!((&answer["view"], answer["answer"]["rows"].as_array().unwrap().len()), (&"entities".into(), 10));
        let entity = answer["answer"]["rows"][3][0].as_str().unwrap().to_owned();
        let answer = json(&[url, "--json", "--entity", &entity]);
        assert_eq!(answer["answer"]["components"][0]["fields"][0]["value"], "3");
        for (view, member) in [
            ("tables", "tables"),
            ("components", "components"),
            ("resources", "resources"),
            ("groups", "groups"),
            ("time", "frame"),
            ("compare", "differences"),
            ("charts", "plots"),
        ] {
            let answer = json(&[url, "--once", "--json", "--view", view]);
            assert!(!answer["answer"][member].is_null(), "{view}: {answer}");
            assert!(!text(&[url, "--once", "--view", view]).trim().is_empty(), "{view}");
        }
        let shown = text(&[url, "--once", "--query", "Health.hp >= 98"]);
        assert!(shown.contains("2 entities") && shown.contains("Health.hp") && shown.contains("99"), "{shown}");
        assert!(text(&[url, "--entity", &entity]).contains("Health"));
    });
}

#[test]
fn hostile_texts_do_not_reach_the_terminal() {
    with_program(|url| {
        for arguments in
            [&[url, "--once", "--query", "Title"][..], &[url, "--json", "--query", "Title"], &[url, "--view", "time"]]
        {
            let shown = text(arguments);
            assert!(!shown.contains('\u{1b}') && !shown.contains('\u{202e}'), "{shown:?}");
        }
        let answer = json(&[url, "--json", "--query", "Title"]);
        assert_eq!(answer["answer"]["rows"][0][2], "evil \u{202e}txt\u{1b}[31m");
    });
}

#[test]
fn an_error_is_a_sentence_and_a_code() {
    with_program(|url| {
        let address = url.strip_prefix("http://").unwrap().split('/').next().unwrap();
        let wrong_key = format!("{address}#key=00000000000000000000000000000001");
        for (arguments, part) in [
            (&[url, "--once", "--query", "Helth"][..], "Health"),
            (&[url, "--once", "--view", "systems"], "schedule"),
            (&[url, "--once", "--entity", "4000000v1"], "not alive"),
            (&[address, "--once"], "the key"),
            (&[&wrong_key, "--once"], "another run"),
            (&["127.0.0.1:1#key=00000000000000000000000000000001", "--once"], "does not answer"),
            (&["7", "--once"], "no inspector"),
            (&["--wrong"], "--help"),
        ] {
            let output = top(arguments);
            let error = String::from_utf8(output.stderr).unwrap();
            assert!(!output.status.success() && error.contains(part), "{arguments:?}: {error}");
            assert!(error.starts_with("phalanx-top: ") && error.lines().count() == 1, "{error}");
        }
    });
}

#[test]
fn running_programs_are_listed_without_their_keys() {
    let folder = std::env::temp_dir().join(format!("phalanx-top-once-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("phalanx")).unwrap();
    with_program(|url| {
        let (address, key) = url.strip_prefix("http://").unwrap().split_once("/#key=").unwrap();
        let process = std::process::id();
        let file = format!(r#"{{"name":"game","process":{process},"address":"{address}","key":"{key}"}}"#);
        std::fs::write(folder.join(format!("phalanx/{process}-1.json")), file).unwrap();
        let run = |arguments: &[&str]| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_phalanx-top"));
            let output = command.args(arguments).env("XDG_RUNTIME_DIR", &folder).output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8(output.stdout).unwrap()
        };
        let listed = run(&[]);
        assert!(listed.contains("game") && listed.contains(address) && !listed.contains(key), "{listed}");
        let listed: Value = serde_json::from_str(&run(&["--json"])).unwrap();
        assert_eq!((&listed["programs"][0]["process"], &listed["programs"][0]["key"]), (&process.into(), &Value::Null));
        for target in [process.to_string(), address.to_owned()] {
            let answer: Value = serde_json::from_str(&run(&[&target, "--json"])).unwrap();
            assert_eq!(answer["world"]["entities"], 101);
        }
    });
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(text(&[]), "no program with an inspector is running\n");
}
