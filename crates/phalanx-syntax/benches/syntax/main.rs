//! Lexing, parsing and counting, each target of the crate with its figure.
//!
//! `cargo bench -p phalanx-syntax`, with a directory of programs in `PHALANX_ORI_CORPUS` or without; then a program is made
//! up. `-- --misses` also counts cache misses, under valgrind. Figures are minima over
//! interleaved rounds.
#![allow(missing_docs, unreachable_pub, missing_debug_implementations)]

mod contenders;
mod corpus;
mod misses;

use contenders::{Arena, Boxed};
use phalanx_syntax::ori::{Kind, Parser, Tokens, lex};
use phalanx_syntax::{BYTES_PER_NODE, Tree};
use std::hint::black_box;
use std::time::Instant;

/// The nodes over which kinds are counted.
const MILLION: usize = 1_000_000;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    if let Some(at) = args.iter().position(|arg| arg == "--probe") {
        misses::probe(&args[at + 1], args[at + 2].parse().expect("how often"));
        return;
    }
    let (from, sources) = corpus::load();
    let bytes: usize = sources.iter().map(Vec::len).sum();
    println!("{from}: {} programs, {:.2} MB\n", sources.len(), bytes as f64 / 1e6);
    let mut targets = Targets(Vec::new());
    front_end(&sources, bytes, &mut targets);
    counting(&sources, &mut targets);
    if args.iter().any(|arg| arg == "--misses") {
        misses::compare(&mut targets);
    }
    println!("\ntargets");
    targets.0.iter().for_each(|line| println!("  {line}"));
}

/// Each target with its figure.
struct Targets(Vec<String>);

impl Targets {
    fn at_least(&mut self, what: &str, figure: f64, least: f64, unit: &str) {
        self.say(what, figure, "at least", least, unit, figure >= least);
    }

    fn at_most(&mut self, what: &str, figure: f64, most: f64, unit: &str) {
        self.say(what, figure, "at most", most, unit, figure <= most);
    }

    fn say(&mut self, what: &str, figure: f64, sense: &str, bound: f64, unit: &str, met: bool) {
        let verdict = if met { "met" } else { "MISSED" };
        self.0.push(format!("{verdict:<6} {what}: {figure:.2} {unit}, {sense} {bound} wanted"));
    }
}

/// The least time of each contender, in seconds, over rounds in which each is run once.
fn least<const N: usize>(rounds: usize, contenders: [&mut dyn FnMut(); N]) -> [f64; N] {
    let mut best = [f64::INFINITY; N];
    for round in 0..rounds {
        for place in 0..N {
            let at = (round + place) % N;
            let start = Instant::now();
            contenders[at]();
            best[at] = best[at].min(start.elapsed().as_secs_f64());
        }
    }
    best
}

fn front_end(sources: &[Vec<u8>], bytes: usize, targets: &mut Targets) {
    let tokens: Vec<Tokens> = sources.iter().map(|source| lex(source).unwrap().0).collect();
    let parse = |(source, tokens): (&Vec<u8>, &Tokens)| Parser::new(tokens, source).unwrap().finish().unwrap();
    let [pass, lexed, parsed] = least(
        60,
        [
            &mut || {
                let lines: usize = sources.iter().map(|source| memchr::memchr_iter(b'\n', source).count()).sum();
                black_box(lines);
            },
            &mut || sources.iter().for_each(|source| drop(black_box(lex(source).unwrap()))),
            &mut || sources.iter().zip(&tokens).for_each(|both| drop(black_box(parse(both)))),
        ],
    );
    let speed = |seconds: f64| bytes as f64 / seconds / 1e6;
    println!("memchr   {:>8.0} MB/s", speed(pass));
    println!("lex      {:>8.0} MB/s   {:>6.1} times a memchr pass", speed(lexed), lexed / pass);
    println!("parse    {:>8.0} MB/s   {:>6.1} times a memchr pass", speed(parsed), parsed / pass);
    targets.at_least("lexing", speed(lexed), 250.0, "MB/s");
    targets.at_least("tokens to tree", speed(parsed), 150.0, "MB/s");

    let (mut nodes, mut extra, mut count, mut errors, mut token_bytes) = (0, 0, 0, 0, 0);
    for both in sources.iter().zip(&tokens) {
        let parsed = parse(both);
        nodes += parsed.tree.len();
        extra += parsed.tree.extra_len();
        errors += usize::from(!parsed.errors.is_empty());
        count += both.1.len();
        token_bytes += both.1.bytes();
    }
    let tree = nodes * BYTES_PER_NODE + extra * 4;
    println!("\n{count} tokens, {nodes} nodes, {extra} words of extra; {errors} programs with errors");
    println!(
        "bytes of source a token {:.2}, a node {:.2}, a word of extra {:.2}",
        ratio(bytes, count),
        ratio(bytes, nodes),
        ratio(bytes, extra)
    );
    println!("tree bytes a node {:.2}, with extra {:.2}", BYTES_PER_NODE as f64, ratio(tree, nodes));
    println!("tree {tree} bytes, tokens {token_bytes} bytes");
    let saved = |bytes: usize| 100.0 * (1.0 - bytes as f64 / (nodes * contenders::ARENA_NODE) as f64);
    println!(
        "saved against nodes of {} bytes: {:.1} % a node, {:.1} % with extra on one side and none on the other",
        contenders::ARENA_NODE,
        saved(nodes * BYTES_PER_NODE),
        saved(tree),
    );
    targets.at_most("bytes a node", BYTES_PER_NODE as f64, 17.0, "bytes");
    targets.at_most("tree bytes per source byte", ratio(tree, bytes), 2.5, "");
}

fn ratio(a: usize, b: usize) -> f64 {
    a as f64 / b.max(1) as f64
}

/// Returns a tree of at least this many nodes: the programs in sequence, repeated as needed.
fn large(sources: &[Vec<u8>], nodes: usize) -> Tree<Kind> {
    let mut all = Tree::new();
    for source in sources.iter().cycle() {
        let tokens = lex(source).unwrap().0;
        let tree = Parser::new(&tokens, source).unwrap().finish().unwrap().tree;
        all.append(&tree, &mut ()).unwrap();
        if all.len() >= nodes {
            break;
        }
    }
    all
}

fn counting(sources: &[Vec<u8>], targets: &mut Targets) {
    let tree = large(sources, MILLION);
    let arena = Arena::of(&tree);
    let boxed = Boxed::forest(&tree);
    let column: Vec<u8> = tree.kinds().iter().map(|&kind| kind as u8).collect();
    let kind = Kind::Ident;
    let expected = tree.count_kind(kind);
    assert_eq!(arena.count(kind), expected);
    assert_eq!(Boxed::count(&boxed, kind), expected);
    assert_eq!(contenders::count_bytes(&column, kind as u8), expected);
    let mut count_tree = || _ = black_box(black_box(&tree).count_kind(black_box(kind)));
    let mut count_bytes = || _ = black_box(contenders::count_bytes(black_box(&column), black_box(kind as u8)));
    let mut count_arena = || _ = black_box(black_box(&arena).count(black_box(kind)));
    let mut count_boxes = || _ = black_box(Boxed::count(black_box(&boxed), black_box(kind)));
    // By themselves: the large ones would empty the caches before one of the two, and always the same one.
    let [soa, bytes] = least(2_000, [&mut count_tree, &mut count_bytes]);
    let [cold, rows, boxes] = least(100, [&mut count_tree, &mut count_arena, &mut count_boxes]);
    println!("\ncounting one kind over {} nodes ({expected} of it)", tree.len());
    for (name, seconds) in
        [("tree", soa), ("byte vector", bytes), ("tree, cold", cold), ("arena", rows), ("boxes", boxes)]
    {
        println!("  {name:<12} {:>9.1} µs   {:>6.2} times the tree", seconds * 1e6, seconds / soa);
    }
    let (tree_bytes, arena_bytes, boxed_bytes) = (tree.bytes(), arena.bytes(), Boxed::bytes(&boxed));
    println!("  bytes: tree {tree_bytes} with extra, arena {arena_bytes} with the same extra, boxes {boxed_bytes}");
    targets.at_least("counting, against boxes", boxes / cold, 20.0, "times as fast");
    targets.at_most("counting, against a byte vector", soa / bytes, 1.1, "times its time");
}
