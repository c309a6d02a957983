//! The program as users meet it: exit codes, sentences, and what goes where.

use std::path::PathBuf;
use std::process::{Command, Output};

fn phalanx(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_phalanx")).args(args).output().expect("the program starts")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("text")
}

/// A path that belongs to this test alone.
fn scratch(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

#[test]
fn wrong_arguments_say_what_was_expected() {
    let advise = |size: &str, entities: &str, utilisation: &str| {
        phalanx(&["advise", "--size", size, "--entities", entities, "--utilisation", utilisation])
    };
    for (output, expected) in [
        (advise("8", "1000", "1.5"), "from 0 to 1, such as 0.3"),
        (advise("8", "1000", "-0.5"), "from 0 to 1, such as 0.3"),
        (advise("8", "1000", "most"), "from 0 to 1, such as 0.3"),
        (advise("8", "0", "0.5"), "a number of entities from 1 to 1000000000"),
        (advise("8", "1e6", "0.5"), "a number of entities from 1 to 1000000000"),
        (advise("huge", "10", "0.5"), "a size in bytes from 0 to 1048576"),
        (phalanx(&["advise", "--size", "8"]), "required"),
        (phalanx(&["advise", "--size", "8", "--table"]), "cannot be used with"),
        (phalanx(&["advise", "--demo", "--table"]), "cannot be used with"),
        (phalanx(&["advise", "--demo", "--size", "8"]), "cannot be used with"),
        (phalanx(&["advise", "--demo", "--access", "random"]), "cannot be used with"),
        (phalanx(&["advise", "--demo", "now"]), "unexpected argument"),
        (phalanx(&["demo"]), "unrecognized subcommand"),
        (phalanx(&["measure", "--fast"]), "unexpected argument"),
        (phalanx(&["--frames", "0"]), "a number of frames from 1"),
        (phalanx(&["--frames", "some"]), "a number of frames from 1"),
        (phalanx(&["--frames"]), "a value is required"),
        (phalanx(&["--entities", "8"]), "a number of entities from 9 to 10000000"),
        (phalanx(&["--entities", "1e9"]), "a number of entities from 9 to 10000000"),
        (phalanx(&["--fps", "-1"]), "unexpected argument"),
        (phalanx(&["--fps", "1001"]), "0..=1000"),
        (phalanx(&["--timeline", "much"]), "invalid digit"),
        (phalanx(&["--no-inspector", "--address", "127.0.0.1:0"]), "cannot be used with"),
        (phalanx(&["--frames", "1", "measure"]), "cannot be used with"),
        (phalanx(&["--full"]), "unexpected argument"),
        (phalanx(&["--frames", "1", "--address", "0.0.0.0:0"]), "can be reached by other machines"),
        (phalanx(&["--frames", "1", "--address", "here"]), "the inspector cannot listen at here: "),
        (
            phalanx(&["advise", "--size", "8", "--entities", "9", "--utilisation", "1", "--access", "sideways"]),
            "iterate, random, mixed",
        ),
        (
            phalanx(&["advise", "--size", "1024", "--entities", "10_000_000", "--utilisation", "1", "--measure"]),
            "ask for fewer entities",
        ),
    ] {
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn a_world_runs_for_a_number_of_frames() {
    let output = phalanx(&["--frames", "40", "--fps", "0", "--entities", "300", "--address", "127.0.0.1:0"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    // The address at once, and a summary at the start and at the end.
    assert!(stderr(&output).contains("http://127.0.0.1:") && stderr(&output).contains("/#key="), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.starts_with("Phalanx ") && text.matches("  frame     ").count() == 2, "{text}");
    assert!(text.contains("Done after 40 frames in "), "{text}");
    for word in ["a battle at sea: 49 red, 49 blue and 50 green ships", "systems ", "entities ", "frame ", "memory "] {
        assert!(text.contains(word), "{word} is missing:\n{text}");
    }
    // No frames are left out if there are few.
    let few = phalanx(&["--frames", "3", "--no-inspector"]);
    assert!(few.status.success() && few.stderr.is_empty() && stdout(&few).contains("Done after 3 frames"));
}

#[test]
fn without_a_terminal_it_ends_by_itself() {
    let output = phalanx(&["--json", "--fps", "0", "--entities", "300", "--no-inspector"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("nothing but JSON on standard output");
    assert_eq!((json["frames"].as_u64(), json["systems"].as_u64()), (Some(120), Some(12)));
    assert!(json["entities"].as_u64().is_some_and(|count| count >= 300), "{json}");
    assert!(json["median_frame"].as_u64() <= json["slow_frame"].as_u64() && json["median_frame"].is_u64(), "{json}");
    assert!(json["world_bytes"].as_u64().is_some_and(|bytes| bytes > 10_000), "{json}");
}

#[test]
#[cfg(unix)]
fn signals_stop_it_cleanly() {
    use std::io::{BufRead, BufReader, Read};
    use std::process::Stdio;
    let folder = scratch("runtime");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    for signal in ["-INT", "-TERM"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_phalanx"));
        command.args(["--frames", "100000000", "--entities", "100", "--address", "127.0.0.1:0"]);
        command.env("XDG_RUNTIME_DIR", &folder).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("the program starts");
        let mut out = BufReader::new(child.stdout.take().expect("it has an output"));
        let mut text = String::new();
        // It runs once the summary is there.
        while !text.contains("memory ") {
            assert!(out.read_line(&mut text).expect("text") > 0, "it ended: {text}");
        }
        let files = || std::fs::read_dir(folder.join("phalanx")).expect("it was made").count();
        assert_eq!(files(), 1, "other programs find it");
        let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().expect("a shell tool");
        assert!(sent.success());
        out.read_to_string(&mut text).expect("text");
        assert_eq!(child.wait().expect("it ends").code(), Some(0), "{text}");
        assert!(text.contains("Stopped after "), "{text}");
        assert_eq!(files(), 0, "nothing is left behind");
    }
}

#[test]
fn without_a_port_it_says_so() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let mut held = vec![taken.local_addr().expect("an address").port()];
    // The program tries the next nine, too.
    let others: Vec<_> = (1..=9)
        .filter_map(|step| std::net::TcpListener::bind(("127.0.0.1", held[0].checked_add(step)?)).ok())
        .collect();
    held.extend(others.iter().filter_map(|listener| Some(listener.local_addr().ok()?.port())));
    let address = format!("127.0.0.1:{}", held[0]);
    let output = phalanx(&["--frames", "2", "--entities", "100", "--address", &address]);
    // Other programs may hold ports, but they may also end meanwhile.
    if output.status.code() == Some(1) {
        let message = stderr(&output);
        assert!(
            message.starts_with(&format!("error: the inspector cannot listen at {address} and the next nine ports: "))
        );
        assert!(message.lines().count() == 1 && output.stdout.is_empty(), "{message}");
    } else {
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert!(held.len() < 10, "all ports were held, and it found one: {}", stderr(&output));
    }
}

#[test]
#[cfg(unix)]
fn a_runtime_folder_that_cannot_be_written_is_a_note() {
    let file = scratch("not-a-folder");
    std::fs::write(&file, "").expect("a file");
    let mut command = Command::new(env!("CARGO_BIN_EXE_phalanx"));
    command.args(["--frames", "2", "--entities", "100", "--address", "127.0.0.1:0"]).env("XDG_RUNTIME_DIR", &file);
    let output = command.output().expect("the program starts");
    assert_eq!(output.status.code(), Some(0));
    assert!(
        stderr(&output).contains("note: ") && stderr(&output).contains("cannot be written to"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_path_that_cannot_be_written_is_one_sentence() {
    let path = scratch("no/such/folder/report.html");
    let output = phalanx(&["measure", "--out", path.to_str().expect("text")]);
    assert_eq!(output.status.code(), Some(1));
    let message = stderr(&output);
    assert!(message.starts_with("error: the report cannot be written to ") && message.contains("report.html"));
    assert_eq!(message.trim_end().lines().count(), 1, "{message}");
    assert!(output.stdout.is_empty());
}

#[test]
fn advice_names_layouts_and_reasons() {
    let output =
        phalanx(&["advise", "--size", "24", "--entities", "10_000", "--utilisation", "0.3", "--access", "iterate"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output);
    for word in ["packed", "slot", "sparse", "linear", "cheapest", "fastest", "3,000 of 10,000 entities"] {
        assert!(text.contains(word), "{word} is missing:\n{text}");
    }
}

#[test]
fn advice_as_json() {
    let args = ["advise", "--size", "24", "--entities", "10000", "--utilisation", "0.3", "--churn", "0.1", "--json"];
    let json: serde_json::Value = serde_json::from_slice(&phalanx(&args).stdout).expect("JSON");
    assert_eq!(json["live"], 3000);
    assert_eq!(json["layouts"].as_array().map(Vec::len), Some(4));
    assert_eq!(json["layouts"][2]["container"], "SparseSet");
    assert!(json["measured"].is_null());
}

#[test]
fn measured_advice_says_where_it_is_wrong() {
    let args =
        ["advise", "--size", "20", "--entities", "2000", "--utilisation", "0.5", "--access", "random", "--measure"];
    let text = stdout(&phalanx(&args));
    assert!(text.contains("Measured on this machine with values of 24 bytes"), "{text}");
    assert_eq!(text.matches("the measurement agrees").count() + text.matches("the measurement disagrees").count(), 2);
}

#[test]
fn the_table_marks_every_cell() {
    let text = stdout(&phalanx(&["advise", "--table"]));
    for kind in [" textbook ", " real "] {
        let rows = text.lines().filter(|line| line.contains(kind) && !line.contains("·"));
        let marks = rows.flat_map(str::split_whitespace).filter(|word| *word == "s" || *word == "L").count();
        assert_eq!(marks, 160, "{text}");
    }
    assert!(text.contains("By the textbook, ") && text.contains("By the real containers, "), "{text}");
    let json: serde_json::Value =
        serde_json::from_slice(&phalanx(&["advise", "--table", "--json"]).stdout).expect("JSON");
    assert_eq!(json[2]["cells"][0]["textbook"]["linear"], 24125);
    let real = |at: usize, side: &str| json[2]["cells"][at]["real"][side].as_u64().expect("bytes");
    assert!(real(9, "sparse") > 24_000 && real(0, "linear") > 24_000 && real(0, "sparse") < real(9, "sparse"));
}

#[test]
fn a_small_world_reports_what_is_in_the_wrong_place() {
    let output = phalanx(&["advise", "--demo"]);
    assert!(output.status.success() && output.stderr.is_empty(), "{}", stderr(&output));
    let text = stdout(&output);
    for line in
        ["Burning should be pool: ", "Velocity should be table: ", "Armour should be linear: ", "Stunned stays pool: "]
    {
        assert!(text.contains(line), "{line} is missing:\n{text}");
    }
    let json: serde_json::Value =
        serde_json::from_slice(&phalanx(&["advise", "--demo", "--json"]).stdout).expect("JSON");
    let components = json["components"].as_array().expect("components");
    assert_eq!(components.len(), 7);
    let burning = components.iter().find(|c| c["name"].as_str().is_some_and(|name| name.ends_with("Burning")));
    let burning = burning.expect("it is there");
    assert_eq!((burning["placement"].as_str(), burning["advice"].as_str()), (Some("table"), Some("pool")));
    assert!(burning["reason"].as_str().is_some_and(|reason| !reason.is_empty()));
}

#[test]
fn measurements_are_reported_everywhere() {
    let path = scratch("report.html");
    let output = phalanx(&["measure", "--json", "--out", path.to_str().expect("text")]);
    assert!(output.status.success(), "{}", stderr(&output));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("nothing but JSON on standard output");
    assert_eq!(json["speed"]["rows"].as_array().map(Vec::len), Some(5));
    assert_eq!(json["removal"]["rows"].as_array().map(Vec::len), Some(27));
    assert_eq!(json["memory"]["rows"].as_array().map(Vec::len), Some(18));
    assert_eq!(json["world"]["rows"].as_array().map(Vec::len), Some(20));
    assert_eq!(json["world"]["kinds"].as_array().map(Vec::len), Some(6));
    assert_eq!(json["world"]["memory"].as_array().map(Vec::len), Some(2));
    assert_eq!(json["placement"]["rows"].as_array().map(Vec::len), Some(8));
    assert!(stderr(&output).contains("report.html"));
    assert_eq!(json["quick"], true);
    let conditions = &json["conditions"];
    assert!(conditions["date"].as_str().is_some_and(|date| date.starts_with("20") && date.ends_with(" UTC")));
    assert!(
        conditions["compiler"].as_str().is_some_and(|it| it.starts_with("rustc 1.")) || cfg!(not(target_os = "linux"))
    );
    assert!(conditions["load_before"].is_number() || cfg!(not(target_os = "linux")));
    // An estimate says what it comes from, and is marked on the page.
    let rows = json["removal"]["rows"].as_array().expect("rows");
    let estimates = rows.iter().filter(|row| row["estimated_from"].is_u64()).count();
    assert!(rows.iter().all(|row| (row["time"]["runs"] == 0) == row["estimated_from"].is_u64()));
    for hasher in ["siphash", "foldhash"] {
        assert!(json["speed"]["rows"][0][hasher]["median"].as_f64().is_some_and(|nanos| nanos > 0.0));
    }

    let page = std::fs::read_to_string(&path).expect("the report is there");
    assert_self_contained(&page);
    assert_well_formed(&page);
    for section in ["speed", "removal", "memory", "world", "placement"] {
        for finding in json[section]["findings"].as_array().expect("sentences") {
            let sentence = finding.as_str().expect("text");
            assert!(page.contains(&sentence.replace('\'', "&#39;")), "the page lacks: {sentence}");
        }
    }
    assert_eq!(page.matches("<tr>").count(), 5 + 27 + 18 + 10 + 8 + 5);
    assert_eq!(page.matches(">estimate from ").count(), estimates);
    for word in ["SipHash", "foldhash", "UTC; rustc", "load ", "commit "] {
        assert!(page.contains(word) || cfg!(not(target_os = "linux")), "the page lacks {word}");
    }
    for word in ["the source", "reference"] {
        assert!(!page.contains(word), "the page has {word}");
    }
}

/// Nothing in the page makes a browser load anything.
fn assert_self_contained(page: &str) {
    for load in ["http:", "https:", "//", "src=", "href=", "url(", "@import", "<script", "<link", "<iframe", "<img"] {
        assert!(!page.contains(load), "the page has {load}");
    }
}

/// The page is XML but for its first line, and has five pictures.
fn assert_well_formed(page: &str) {
    let body = page.strip_prefix("<!doctype html>\n").expect("a document type");
    let tree = roxmltree::Document::parse(body).expect("well-formed markup");
    let pictures: Vec<_> = tree.descendants().filter(|node| node.has_tag_name("svg")).collect();
    assert_eq!(pictures.len(), 5);
    for picture in pictures {
        assert!(picture.attribute("aria-label").is_some());
        for node in picture.descendants() {
            for attribute in node.attributes() {
                assert!(!attribute.value().contains("NaN") && !attribute.value().contains("inf"), "{node:?}");
            }
        }
    }
}

/// Runs the program with something on its standard input.
fn phalanx_with(args: &[&str], input: &[u8]) -> Output {
    use std::io::Write;
    use std::process::Stdio;
    let mut command = Command::new(env!("CARGO_BIN_EXE_phalanx"));
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    child.stdin.take().expect("it has an input").write_all(input).expect("it reads");
    child.wait_with_output().expect("it ends")
}

#[test]
fn programs_are_parsed_from_standard_input() {
    let source = b"@double (x: int) -> int = x * 2\n";
    let tree = phalanx_with(&["parse", "-", "--tree"], source);
    assert_eq!(tree.status.code(), Some(0), "{}", stderr(&tree));
    assert!(stdout(&tree).starts_with("Module 0..32\n  items: Function 0..31 name=`double`\n"), "{}", stdout(&tree));
    assert!(tree.stderr.is_empty());

    let dump = phalanx_with(&["parse", "-", "--dump"], source);
    assert_eq!(stdout(&dump).lines().count(), 8, "{}", stdout(&dump));
    assert!(stdout(&dump).contains("BinMul"), "{}", stdout(&dump));

    let stats = stdout(&phalanx_with(&["parse", "--stats", "-"], source));
    for word in ["bytes", "tokens", "nodes", "bytes per node", "tree bytes per source byte", "time"] {
        assert!(stats.contains(word), "{stats}");
    }
    assert_eq!(stdout(&phalanx_with(&["parse", "-"], source)), "1 program without errors\n");
}

#[test]
fn parsed_programs_are_json() {
    let output = phalanx_with(&["parse", "--json", "-"], b"$x = [1, 2, 3]");
    let value: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    let program = &value["programs"][0];
    assert_eq!(program["figures"]["bytes"], 14);
    assert_eq!(program["nodes"][0]["kind"], "Module");
    assert_eq!(program["errors"].as_array().map(Vec::len), Some(0));
    let list = program["nodes"].as_array().and_then(|nodes| nodes.iter().find(|node| node["kind"] == "ListMany"));
    assert_eq!(list.map(|list| list["fields"]["elements"].clone()), Some(serde_json::json!([1, 2, 3])));

    let output = phalanx_with(&["parse", "--stats", "--json", "-"], b"$x = [1, 2, 3]");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let value: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    assert_eq!(value["programs"][0]["figures"]["nodes"], program["figures"]["nodes"]);
    assert!(value["programs"][0].get("nodes").is_none());
    for wrong in [["parse", "--tree", "--json", "x"], ["parse", "--dump", "--json", "x"]] {
        assert_eq!(phalanx(&wrong).status.code(), Some(2));
    }
}

#[test]
fn errors_of_programs_are_shown_with_their_lines() {
    let output = phalanx_with(&["parse", "-"], b"$x = 1\n$y = [1 2]\n");
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty());
    assert_eq!(
        stderr(&output),
        "standard input:2:9: expected `,` or `]`, found an integer\n  |\n2 | $y = [1 2]\n  |         ^\n\
         error: 1 of 1 program with errors\n"
    );
    for wrong in [&["parse"][..], &["parse", "--tree", "--dump", "x"]] {
        assert_eq!(phalanx(wrong).status.code(), Some(2));
    }
    let missing = phalanx(&["parse", "no/such/program.ori"]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(stderr(&missing).contains("cannot be read"), "{}", stderr(&missing));
}

#[test]
fn directories_of_programs_are_walked_in_order() {
    let dir = scratch("programs");
    let inner = dir.join("inner");
    std::fs::create_dir_all(&inner).expect("a folder");
    for number in 0..40 {
        std::fs::write(inner.join(format!("p{number:02}.ori")), format!("$n = {number}\n")).expect("a file");
    }
    std::fs::write(dir.join("wrong.ori"), "$n = \n").expect("a file");
    std::fs::write(dir.join("other.txt"), "no program").expect("a file");
    let output = phalanx(&["parse", "--tree", dir.to_str().expect("text")]);
    assert_eq!(output.status.code(), Some(1));
    let values: Vec<String> =
        stdout(&output).lines().filter_map(|line| line.split("value=").nth(1).map(str::to_string)).collect();
    assert_eq!(values, (0..40).map(|number| number.to_string()).collect::<Vec<_>>());
    assert!(stderr(&output).contains("wrong.ori:1:5: expected an expression"), "{}", stderr(&output));
    assert!(stderr(&output).ends_with("error: 1 of 41 programs with errors\n"), "{}", stderr(&output));
}

/// A folder whose path is longer than the system takes is unreadable for every user.
#[test]
#[cfg(unix)]
fn folders_that_cannot_be_read_are_reported_and_passed_over() {
    let dir = scratch("unreadable");
    let _ = std::fs::remove_dir_all(&dir);
    // Each half of the path can be named, the whole cannot.
    let deep = |root: &str| (0..15).fold(dir.join(root), |path, _| path.join("x".repeat(200)));
    std::fs::create_dir_all(deep("a")).expect("folders");
    std::fs::create_dir_all(deep("b")).expect("folders");
    std::fs::rename(dir.join("b"), deep("a").join("b")).expect("a deeper folder");
    std::fs::write(dir.join("good.ori"), "$n = 1\n").expect("a file");
    std::fs::write(dir.join("wrong.ori"), "$n = \n").expect("a file");
    for more in [&["--tree"][..], &["--json"], &["--stats", "--json"]] {
        let output = phalanx(&[&["parse", dir.to_str().expect("text")], more].concat());
        assert_eq!(output.status.code(), Some(1));
        let errors = stderr(&output);
        assert_eq!(errors.lines().filter(|line| line.contains("cannot be read: ")).count(), 1, "{errors}");
        assert!(errors.contains("wrong.ori:1:5: expected an expression"), "{errors}");
        assert!(errors.ends_with("error: 1 of 2 programs with errors; 1 folder could not be read\n"), "{errors}");
        assert!(stdout(&output).contains("good.ori"), "{}", stdout(&output));
    }
    std::fs::remove_file(dir.join("wrong.ori")).expect("it is there");
    let output = phalanx(&["parse", dir.to_str().expect("text")]);
    assert_eq!((output.status.code(), &*stdout(&output)), (Some(1), "1 program without errors\n"));
    std::fs::remove_dir_all(&dir).expect("it is there");
}

#[test]
fn a_world_that_is_not_there_leaves_no_report() {
    let path = |name: &str| scratch(name).to_str().expect("text").to_string();
    let (missing, report) = (path("no-such-world.phalanx"), path("never.html"));
    let _ = std::fs::remove_file(&report);
    let output = phalanx(&["measure", "--out", &report, "--load", &missing]);
    assert_eq!(output.status.code(), Some(1));
    let sentence = stderr(&output);
    assert!(sentence.starts_with(&format!("error: {missing} cannot be opened: ")), "{sentence}");
    assert!(sentence.contains("No such file") || cfg!(not(unix)), "{sentence}");
    assert!(sentence.lines().count() == 1 && output.stdout.is_empty());
    assert!(!std::path::Path::new(&report).exists());
}

#[test]
fn worlds_are_saved_looked_into_compared_and_loaded() {
    let path = |name: &str| scratch(name).to_str().expect("text").to_string();
    let (world, again, report) = (path("world.phalanx"), path("again.phalanx"), path("saved.html"));
    let measure = |more: &[&str]| phalanx(&[&["measure", "--json", "--out", &*report], more].concat());
    let output = measure(&["--save", &world]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("entities saved to "), "{}", stderr(&output));
    let output = phalanx(&["snapshot", "info", &world]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    // Whether an npc is stunned depends on the number of frames, and that on the time they took.
    for word in ["position", "velocity", "plain", "tabl", "checksum"] {
        assert!(stdout(&output).contains(word), "{word} in {}", stdout(&output));
    }
    // Components are listed in the order of their names, each with as many values as its tables have rows.
    let (cells, text) =
        (|line: &str| line.split('|').map(|cell| cell.trim().to_string()).collect::<Vec<_>>(), stdout(&output));
    let number = |cell: &str| cell.replace(',', "").parse::<u64>().unwrap_or(0);
    let rows = |head: &str| -> Vec<Vec<String>> {
        let lines = text.lines().skip_while(|line| !line.starts_with(head)).skip(2);
        lines.take_while(|line| line.starts_with('|')).map(cells).collect()
    };
    let (components, tables) = (rows("| component"), rows("| table"));
    assert!(components.len() > 5 && components.is_sorted_by_key(|row| row[1].clone()), "{text}");
    for component in &components {
        let of_tables = tables.iter().filter(|table| table[5].split(" + ").any(|name| name == component[1]));
        assert_eq!(
            number(&component[5]),
            of_tables.map(|table| number(&table[3])).sum::<u64>(),
            "{component:?} in {text}"
        );
    }
    assert_eq!(stdout(&phalanx(&["snapshot", "diff", &world, &world])), "No difference.\n");
    let output = measure(&["--load", &world, "--save", &again]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let output = phalanx(&["snapshot", "diff", &world, &again]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).ends_with(".\n") && stderr(&output).is_empty(), "{}", stdout(&output));
    let fields = stdout(&output).lines().filter(|line| line.contains(" in the first and ")).count();
    assert!(fields > 1, "{}", stdout(&output));

    // Bad files are one sentence, wrong arguments another code.
    let bad = path("bad.phalanx");
    let mut bytes = std::fs::read(&world).expect("it was saved");
    bytes.truncate(100_000);
    std::fs::write(&bad, &bytes).expect("room for it");
    for (output, code, word) in [
        (phalanx(&["snapshot", "info", &bad]), 1, "ends too early"),
        (phalanx(&["snapshot", "diff", &world, &bad]), 1, "ends too early"),
        (phalanx(&["snapshot", "info", &report]), 1, "not a snapshot"),
        (phalanx(&["snapshot", "info", &path("missing.phalanx")]), 1, "cannot be opened"),
        (measure(&["--load", &bad]), 1, "cannot be loaded"),
        (phalanx(&["snapshot"]), 2, "Usage"),
        (phalanx(&["snapshot", "diff", &world]), 2, "required"),
        (phalanx(&["snapshot", "look", &world]), 2, "unrecognized subcommand"),
    ] {
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
        assert!(stderr(&output).contains(word) && output.stdout.is_empty(), "{}", stderr(&output));
        assert!(code == 2 || stderr(&output).lines().count() == 1, "{}", stderr(&output));
    }
}
