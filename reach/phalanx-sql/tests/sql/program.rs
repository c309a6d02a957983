//! The program, as a user runs it.

use crate::runs::{Folder, PARTS, write_run, write_runs};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Output, Stdio};

pub(crate) fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_phalanx-sql"))
}

fn run(arguments: &[&str]) -> Output {
    program().args(arguments).stdin(Stdio::null()).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn done(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    text(&output.stdout)
}

#[test]
fn answers_come_in_all_formats() {
    let folder = write_runs(3, 4, 2);
    let path = folder.path().to_str().unwrap();
    let sql = "select run, count(*) as n, model from position group by run, model order by run";
    let ask = |format: &str| run(&["--format", format, path, sql]);
    let csv = "run,n,model\n0,8,m0\n1,8,m1\n2,8,m0\n";
    assert_eq!(done(&ask("csv")), csv);
    assert_eq!(done(&run(&[path, sql])), csv, "a pipe gets csv");
    assert_eq!(
        done(&ask("json")),
        "[{\"run\":0,\"n\":8,\"model\":\"m0\"},{\"run\":1,\"n\":8,\"model\":\"m1\"},{\"run\":2,\"n\":8,\"model\":\"m0\"}]\n"
    );
    assert_eq!(done(&ask("jsonl")).lines().nth(1).unwrap(), "{\"run\":1,\"n\":8,\"model\":\"m1\"}");
    let table = done(&ask("table"));
    assert!(table.contains("| run | n | model |") && table.contains("| 1   | 8 | m1    |"), "{table}");
    assert!(ask("parquet").stdout.starts_with(b"PAR1"));

    // No rows are an answer, too.
    let none = "select run, x from position where run = 99";
    assert_eq!(done(&run(&[path, none])), "run,x\n");
    assert_eq!(done(&run(&["--format", "json", path, none])), "[]\n");
    assert_eq!(done(&run(&["--format", "jsonl", path, none])), "");
}

#[test]
fn lists_and_structs_become_text_in_csv() {
    let folder = write_runs(1, 2, 2);
    let path = folder.path().to_str().unwrap();
    let sql = "select array_agg(frame order by frame) as frames, struct(1, 'a') as pair from position where entity = 0";
    assert_eq!(done(&run(&[path, sql])), "frames,pair\n\"[0, 1]\",\"{c0: 1, c1: a}\"\n");
}

#[test]
fn a_file_appears_when_it_is_whole() {
    let folder = write_runs(3, 4, 2);
    let path = folder.path().to_str().unwrap();
    let out = folder.path().join("answer.parquet");
    done(&run(&["--out", out.to_str().unwrap(), path, "select run, x from position"]));
    assert!(fs::read(&out).unwrap().starts_with(b"PAR1"));
    let csv = folder.path().join("answer.csv");
    done(&run(&["--out", csv.to_str().unwrap(), path, "select run from runs order by run"]));
    assert_eq!(fs::read_to_string(&csv).unwrap(), "run\n0\n1\n2\n");

    // A query that fails leaves the old file alone, and nothing beside it.
    let failed = run(&["--out", csv.to_str().unwrap(), path, "select 1 / (run - 1) from runs"]);
    assert_eq!(failed.status.code(), Some(1));
    assert_eq!(fs::read_to_string(&csv).unwrap(), "run\n0\n1\n2\n");
    let names: Vec<String> =
        fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    assert!(!names.iter().any(|name| name.contains("partial")), "{names:?}");
    let nowhere = run(&["--out", "/nowhere/answer.csv", path, "select 1"]);
    assert_eq!(nowhere.status.code(), Some(1));
    assert!(text(&nowhere.stderr).contains("/nowhere/answer.csv"));
}

#[test]
fn mistakes_have_exit_codes_and_reasons() {
    let folder = write_runs(1, 2, 2);
    let path = folder.path().to_str().unwrap();
    for (arguments, code, reason) in [
        (vec![path, "select * from postion"], 1, "did you mean `position`?"),
        (vec![path, "select z from position where run = 0"], 1, "no column `z`"),
        (vec![path, "selct"], 1, "selct"),
        (vec![path, "drop table position"], 1, "only read"),
        (vec!["/nowhere", "select 1"], 1, "/nowhere"),
        (vec![path], 2, "query"),
        (vec![], 2, "folder"),
        (vec![path, "select 1", "--fromat"], 2, "--fromat"),
        (vec![path, "select 1", "--format", "xml"], 2, "xml"),
    ] {
        let output = run(&arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {output:?}");
        assert!(text(&output.stderr).contains(reason), "{arguments:?}: {output:?}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
    let help = done(&run(&["--help"]));
    assert!(help.contains("--cluster") && help.lines().all(|line| line.len() <= 120));
}

#[test]
fn broken_files_are_an_error_or_a_note() {
    let folder = Folder::new();
    let broken = write_run(folder.path(), 0, 4, 3).join(PARTS[0]);
    write_run(folder.path(), 1, 4, 3);
    let bytes = fs::read(&broken).unwrap();
    fs::write(&broken, &bytes[..bytes.len() / 2]).unwrap();
    let path = folder.path().to_str().unwrap();
    let sql = "select count(*) from position";
    let output = run(&[path, sql]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains(broken.to_str().unwrap()), "{output:?}");
    let skipped = run(&["--skip-broken", path, sql]);
    assert_eq!(done(&skipped), "count(*)\n18\n");
    assert!(text(&skipped.stderr).contains(broken.to_str().unwrap()));
    let quiet = run(&["--skip-broken", "--quiet", path, sql]);
    assert!(quiet.stderr.is_empty(), "{quiet:?}");
}

#[test]
fn tables_are_listed() {
    let folder = write_runs(1, 2, 2);
    let listed = done(&run(&[folder.path().to_str().unwrap(), "--tables"]));
    assert!(listed.contains("position (frame UInt32, entity UInt64, x Float32, y Float32, run UInt64,"), "{listed}");
    assert!(listed.contains("runs (run UInt64, seed UInt64, finished Boolean"), "{listed}");
}

#[test]
fn a_query_is_read_from_standard_input() {
    let folder = write_runs(1, 2, 2);
    let mut child = program().arg(folder.path()).arg("-").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"select count(*) as n from runs").unwrap();
    assert_eq!(done(&child.wait_with_output().unwrap()), "n\n1\n");
}

#[test]
fn a_reader_may_close_the_pipe() {
    let folder = write_runs(4, 200, 300);
    let sql = "select a.x, a.y, a.entity, a.frame from position a";
    for format in ["csv", "jsonl", "json"] {
        let mut child = program()
            .args(["--format", format])
            .arg(folder.path())
            .arg(sql)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut reader = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        if format == "json" {
            line = String::from_utf8(reader.fill_buf().unwrap().to_vec()).unwrap();
        } else {
            reader.read_line(&mut line).unwrap();
        }
        assert!(!line.is_empty());
        drop(reader);
        let mut complaint = String::new();
        child.stderr.take().unwrap().read_to_string(&mut complaint).unwrap();
        assert!(child.wait().unwrap().success(), "{format}: {complaint}");
        assert!(complaint.is_empty(), "{format}: {complaint}");
    }
}

#[test]
fn long_tables_are_cut_and_endless_queries_end() {
    let folder = write_runs(1, 100, 30);
    let path = folder.path().to_str().unwrap();
    let cut = run(&["--format", "table", path, "select frame from position"]);
    assert_eq!(done(&cut).lines().count(), 1000 + 4);
    assert!(text(&cut.stderr).contains("first 1000 rows"));
    let whole = run(&["--format", "table", "--rows", "0", path, "select frame from position"]);
    assert_eq!(done(&whole).lines().count(), 3000 + 4);
    let few = run(&["--rows", "2", path, "select frame from position"]);
    assert_eq!(done(&few).lines().count(), 3);

    let endless = "with recursive n(v) as (select 1 union all select v from n) select count(*) from n";
    let output = run(&["--timeout", "1", path, endless]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("within 1 s"), "{output:?}");
}
