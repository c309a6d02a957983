//! `phalanx parse`: programs of the language of `phalanx-syntax`, read, checked, shown and measured.

use crate::Failure;
use crate::args::ParseArgs;
use phalanx_syntax::ori::{Ast, parse};
use phalanx_syntax::{Kind as _, Lines, Texts as _, Value};
use serde_json::{Map, json};
use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// The ending of programs that are looked for in directories.
const ENDING: &str = "ori";

/// The most errors of one program that are shown.
const SHOWN: usize = 20;

pub(crate) fn run(args: &ParseArgs) -> Result<(), Failure> {
    let mut files = Vec::new();
    for path in &args.files {
        find(path, &mut files)?;
    }
    if files.is_empty() {
        return Err(Failure { sentence: format!("no program (*.{ENDING}) was found"), code: 1 });
    }
    let walked = files.len() > args.files.len();
    let read = read_all(&files, args, walked);
    let mut total = Figures::default();
    let mut failed = 0;
    let mut values = Vec::new();
    for outcome in read {
        let Outcome { mut text, errors, figures, json } = outcome;
        eprint!("{errors}");
        failed += usize::from(!errors.is_empty());
        total.add(&figures);
        values.extend(json);
        if text.ends_with('\n') {
            text.pop();
        }
        if !text.is_empty() {
            crate::print(&text)?;
        }
    }
    if args.json {
        let value = json!({ "programs": values, "total": total.json() });
        crate::print(&format!("{value:#}"))?;
    } else if args.stats && files.len() > 1 {
        crate::print(&total.text(&format!("{} programs", files.len())))?;
    } else if !(args.stats || args.tree || args.dump) && failed == 0 {
        crate::print(&format!("{} without errors", programs(files.len())))?;
    }
    match failed {
        0 => Ok(()),
        _ => Err(Failure { sentence: format!("{failed} of {} with errors", programs(files.len())), code: 1 }),
    }
}

fn programs(count: usize) -> String {
    format!("{count} program{}", if count == 1 { "" } else { "s" })
}

/// The programs at a path: itself, or all in a directory, in the order of their names.
fn find(path: &Path, files: &mut Vec<PathBuf>) -> Result<(), Failure> {
    if path.as_os_str() == "-" || !path.is_dir() {
        files.push(path.to_path_buf());
        return Ok(());
    }
    // Links are not followed, so that no directory is walked twice.
    let mut pending = vec![path.to_path_buf()];
    let first = files.len();
    while let Some(dir) = pending.pop() {
        let cannot = |error| Failure { sentence: format!("{} cannot be read: {error}", dir.display()), code: 1 };
        for entry in std::fs::read_dir(&dir).map_err(cannot)? {
            let entry = entry.map_err(cannot)?;
            let kind = entry.file_type().map_err(cannot)?;
            if kind.is_dir() {
                pending.push(entry.path());
            } else if kind.is_file() && entry.path().extension().is_some_and(|ending| ending == ENDING) {
                files.push(entry.path());
            }
        }
    }
    files[first..].sort();
    Ok(())
}

/// What became of one program.
#[derive(Default)]
struct Outcome {
    text: String,
    errors: String,
    figures: Figures,
    json: Option<serde_json::Value>,
}

/// Reads all programs on all cores; the outcomes are in the order of the files.
fn read_all(files: &[PathBuf], args: &ParseArgs, walked: bool) -> Vec<Outcome> {
    let bar =
        if walked { crate::demo::progress(files.len() as u64, "parsing") } else { indicatif::ProgressBar::hidden() };
    let workers = std::thread::available_parallelism().map_or(1, usize::from).min(files.len());
    let next = AtomicUsize::new(0);
    let outcomes = Mutex::new(Vec::with_capacity(files.len()));
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some((at, file)) = take(&next, files) {
                    let outcome = read_one(file, args, files.len() > 1);
                    outcomes.lock().unwrap_or_else(PoisonError::into_inner).push((at, outcome));
                    bar.inc(1);
                }
            });
        }
    });
    bar.finish_and_clear();
    let mut outcomes = outcomes.into_inner().unwrap_or_else(PoisonError::into_inner);
    outcomes.sort_by_key(|(at, _)| *at);
    outcomes.into_iter().map(|(_, outcome)| outcome).collect()
}

fn take<'a>(next: &AtomicUsize, files: &'a [PathBuf]) -> Option<(usize, &'a PathBuf)> {
    let at = next.fetch_add(1, Ordering::Relaxed);
    files.get(at).map(|file| (at, file))
}

fn source_of(file: &Path) -> std::io::Result<Vec<u8>> {
    if file.as_os_str() != "-" {
        return std::fs::read(file);
    }
    let mut source = Vec::new();
    std::io::stdin().read_to_end(&mut source)?;
    Ok(source)
}

fn read_one(file: &Path, args: &ParseArgs, several: bool) -> Outcome {
    let name = if file.as_os_str() == "-" { "standard input".to_string() } else { file.display().to_string() };
    let failed = |what: String| Outcome { errors: format!("{name}: {what}\n"), ..Outcome::default() };
    let source = match source_of(file) {
        Ok(source) => source,
        Err(error) => return failed(format!("cannot be read: {error}")),
    };
    let start = Instant::now();
    let ast = match parse(&source) {
        Ok(ast) => ast,
        Err(full) => return failed(full.to_string()),
    };
    let figures = Figures::of(&ast, start.elapsed().as_secs_f64());
    let lines = Lines::new(&source);
    let shown = ast.errors.iter().take(SHOWN);
    let mut errors: String = shown.map(|error| error.show(&name, &source, &lines).to_string()).collect();
    if ast.errors.len() > SHOWN {
        let _ = writeln!(errors, "{name}: and {} more", ast.errors.len() - SHOWN);
    }
    let mut text = String::new();
    if several && (args.tree || args.dump) {
        let _ = writeln!(text, "// {name}");
    }
    if args.tree {
        let _ = write!(text, "{}", ast.tree.outline(&ast));
    } else if args.dump {
        let _ = write!(text, "{}", ast.tree.dump());
    } else if args.stats {
        text = figures.text(&name);
    }
    let json = args.json.then(|| program_json(&name, &ast, &lines, &figures));
    Outcome { text, errors, figures, json }
}

/// What `--stats` tells.
#[derive(Clone, Copy, Debug, Default)]
struct Figures {
    bytes: usize,
    tokens: usize,
    nodes: usize,
    extra: usize,
    tree: usize,
    seconds: f64,
}

impl Figures {
    fn of(ast: &Ast<'_>, seconds: f64) -> Figures {
        let (tree, extra) = (ast.tree.bytes(), ast.tree.extra_len());
        // The end of the file is a token of the lexer's, not of the program's.
        let tokens = ast.tokens.len().saturating_sub(1);
        Figures { bytes: ast.source.len(), tokens, nodes: ast.tree.len(), extra, tree, seconds }
    }

    fn add(&mut self, other: &Figures) {
        self.bytes += other.bytes;
        self.tokens += other.tokens;
        self.nodes += other.nodes;
        self.extra += other.extra;
        self.tree += other.tree;
        self.seconds += other.seconds;
    }

    fn per_node(&self) -> f64 {
        self.tree as f64 / self.nodes.max(1) as f64
    }

    fn per_byte(&self) -> f64 {
        self.tree as f64 / self.bytes.max(1) as f64
    }

    fn text(&self, name: &str) -> String {
        let Figures { bytes, tokens, nodes, extra, tree, seconds } = self;
        let speed = *bytes as f64 / seconds.max(1e-9) / 1e6;
        format!(
            "{name}\n  bytes                     {bytes:>12}\n  tokens                    {tokens:>12}\n  nodes                     \
             {nodes:>12}\n  words of extra            {extra:>12}\n  tree bytes                {tree:>12}\n  bytes per node            \
             {:>12.2}\n  tree bytes per source byte{:>12.3}\n  time                      {:>9.3} ms ({speed:.0} MB/s, lexing and parsing)",
            self.per_node(),
            self.per_byte(),
            seconds * 1e3,
        )
    }

    fn json(&self) -> serde_json::Value {
        json!({
            "bytes": self.bytes,
            "tokens": self.tokens,
            "nodes": self.nodes,
            "extra_words": self.extra,
            "tree_bytes": self.tree,
            "bytes_per_node": self.per_node(),
            "tree_bytes_per_source_byte": self.per_byte(),
            "seconds": self.seconds,
        })
    }
}

/// A program as JSON: figures, errors, and the nodes in the order they were made; children are their numbers. It is
/// flat, as trees may be deeper than readers of JSON allow.
fn program_json(name: &str, ast: &Ast<'_>, lines: &Lines, figures: &Figures) -> serde_json::Value {
    let error = |error: &phalanx_syntax::SyntaxError| {
        let place = lines.place(ast.source, error.span.start);
        json!({
            "line": place.line,
            "column": place.column,
            "start": error.span.start,
            "end": error.span.end,
            "message": error.to_string(),
        })
    };
    let node = |id: phalanx_syntax::NodeId| {
        let mut fields = Map::new();
        for (info, value) in ast.tree.fields(id) {
            let value = match value {
                Ok(Value::Node(node)) => json!(node.map(|node| node.index())),
                Ok(Value::List(list)) => json!(list.iter().map(|node| node.index()).collect::<Vec<_>>()),
                Ok(Value::Name(text)) => json!(text.map(|text| ast.name(text))),
                Ok(Value::Token(token)) => json!(token.index()),
                Ok(Value::Word(word)) => json!(word),
                Ok(Value::Char(char)) => json!(char),
                Ok(Value::Wide(wide)) => json!(wide),
                Ok(Value::Real(real)) => json!(real),
                Ok(_) | Err(_) => serde_json::Value::Null,
            };
            fields.insert(info.name.to_string(), value);
        }
        let span = ast.tree.span(id);
        json!({ "kind": ast.tree.kind(id).name(), "start": span.start, "end": span.end, "fields": fields })
    };
    json!({
        "file": name,
        "figures": figures.json(),
        "errors": ast.errors.iter().map(error).collect::<Vec<_>>(),
        "nodes": ast.tree.ids().map(node).collect::<Vec<_>>(),
    })
}
