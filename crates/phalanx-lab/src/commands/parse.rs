//! `phalanx parse`: programs of the language of `phalanx-syntax`, read, checked, shown and measured.

mod json;

use crate::Failure;
use crate::args::ParseArgs;
use phalanx_syntax::Lines;
use phalanx_syntax::ori::{Ast, parse};
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
    let mut found = Found::default();
    args.files.iter().for_each(|path| found.search(path));
    found.unreadable.iter().for_each(|line| eprintln!("{line}"));
    let Found { files, unreadable } = found;
    let lost = match unreadable.len() {
        0 => String::new(),
        1 => "; 1 folder could not be read".to_string(),
        many => format!("; {many} folders could not be read"),
    };
    if files.is_empty() {
        return Err(Failure { sentence: format!("no program (*.{ENDING}) was found{lost}"), code: 1 });
    }
    let failed = if args.json { print_json(&files, args.stats)? } else { print_text(&files, args)? };
    match failed > 0 || !unreadable.is_empty() {
        false => Ok(()),
        true => Err(Failure { sentence: format!("{failed} of {} with errors{lost}", programs(files.len())), code: 1 }),
    }
}

/// Prints what was asked for in words, and returns how many programs have errors.
fn print_text(files: &[PathBuf], args: &ParseArgs) -> Result<usize, Failure> {
    let walked = files.len() > args.files.len();
    let mut total = Figures::default();
    let mut failed = 0;
    for Outcome { mut text, errors, figures } in read_all(files, args, walked) {
        eprint!("{errors}");
        failed += usize::from(!errors.is_empty());
        total.add(&figures);
        if text.ends_with('\n') {
            text.pop();
        }
        if !text.is_empty() {
            crate::print(&text)?;
        }
    }
    if args.stats && files.len() > 1 {
        crate::print(&total.text(&format!("{} programs", files.len())))?;
    } else if !(args.stats || args.tree || args.dump) && failed == 0 {
        crate::print(&format!("{} without errors", programs(files.len())))?;
    }
    Ok(failed)
}

/// Prints all programs as JSON, and returns how many have errors.
fn print_json(files: &[PathBuf], only_figures: bool) -> Result<usize, Failure> {
    let document = json::Document::new(files, only_figures, |errors| eprint!("{errors}"));
    let done = json::write(&document, std::io::stdout().lock());
    match done {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(crate::unwritable(&error)),
        _ => Ok(document.failed()),
    }
}

fn programs(count: usize) -> String {
    format!("{count} program{}", if count == 1 { "" } else { "s" })
}

/// The programs that were found, and the folders that could not be read.
#[derive(Default)]
struct Found {
    files: Vec<PathBuf>,
    /// A line for each.
    unreadable: Vec<String>,
}

impl Found {
    /// Adds the programs at a path: itself, or all in a directory, in the order of their names.
    fn search(&mut self, path: &Path) {
        if path.as_os_str() == "-" || !path.is_dir() {
            self.files.push(path.to_path_buf());
            return;
        }
        // Links are not followed, so that no directory is walked twice.
        let mut pending = vec![path.to_path_buf()];
        let (first, first_line) = (self.files.len(), self.unreadable.len());
        while let Some(dir) = pending.pop() {
            if let Err(error) = self.list(&dir, &mut pending) {
                self.unreadable.push(format!("{} cannot be read: {error}", dir.display()));
            }
        }
        self.files[first..].sort();
        self.unreadable[first_line..].sort();
    }

    /// Adds the programs of a directory, and tells which directories are in it.
    fn list(&mut self, dir: &Path, pending: &mut Vec<PathBuf>) -> std::io::Result<()> {
        for entry in std::fs::read_dir(dir)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() {
                pending.push(entry.path());
            } else if kind.is_file() && entry.path().extension().is_some_and(|ending| ending == ENDING) {
                self.files.push(entry.path());
            }
        }
        Ok(())
    }
}

/// What became of one program.
#[derive(Default)]
struct Outcome {
    text: String,
    errors: String,
    figures: Figures,
}

/// Reads all programs on all cores; the outcomes are in the order of the files.
fn read_all(files: &[PathBuf], args: &ParseArgs, walked: bool) -> Vec<Outcome> {
    let bar = if walked {
        crate::presenting::progress::progress(files.len() as u64, "parsing")
    } else {
        indicatif::ProgressBar::hidden()
    };
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

fn name_of(file: &Path) -> String {
    if file.as_os_str() == "-" { "standard input".to_string() } else { file.display().to_string() }
}

/// Reads and parses a program, and hands it to a function together with its lines and figures.
///
/// Returns what is wrong with it, as text, beside what the function returns. There is nothing else if it cannot be read.
fn parse_one<R>(file: &Path, see: impl FnOnce(&Ast<'_>, &Lines, &Figures) -> R) -> (String, Option<R>) {
    let name = name_of(file);
    let source = match source_of(file) {
        Ok(source) => source,
        Err(error) => return (format!("{name}: cannot be read: {error}\n"), None),
    };
    let start = Instant::now();
    let ast = match parse(&source) {
        Ok(ast) => ast,
        Err(full) => return (format!("{name}: {full}\n"), None),
    };
    let figures = Figures::of(&ast, start.elapsed().as_secs_f64());
    let lines = Lines::new(&source);
    let shown = ast.errors.iter().take(SHOWN);
    let mut errors: String = shown.map(|error| error.show(&name, &source, &lines).to_string()).collect();
    if ast.errors.len() > SHOWN {
        let _ = writeln!(errors, "{name}: and {} more", ast.errors.len() - SHOWN);
    }
    (errors, Some(see(&ast, &lines, &figures)))
}

fn read_one(file: &Path, args: &ParseArgs, several: bool) -> Outcome {
    let (errors, seen) = parse_one(file, |ast, _, figures| {
        let mut text = String::new();
        if several && (args.tree || args.dump) {
            let _ = writeln!(text, "// {}", name_of(file));
        }
        if args.tree {
            let _ = write!(text, "{}", ast.tree.outline(ast));
        } else if args.dump {
            let _ = write!(text, "{}", ast.tree.dump());
        } else if args.stats {
            text = figures.text(&name_of(file));
        }
        (text, *figures)
    });
    let (text, figures) = seen.unwrap_or_default();
    Outcome { text, errors, figures }
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
}
