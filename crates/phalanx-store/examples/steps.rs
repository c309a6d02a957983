//! What insert and each kind of removal do to the arrays of a `PackedStore`, drawn step by step:
//! `cargo run -p phalanx-store --example steps [picture.svg]`.
//!
//! The picture is made of what the store itself reports: `position` of a handle, and `key_at` of a position.

use phalanx_store::{Handle, PackedStore};
use std::fmt::Write;

const CELL: usize = 54;
const LEFT: usize = 150;
const STEP: usize = 118;

/// A store of letters, with all handles that it has issued, and the pictures of its steps so far.
#[derive(Default)]
struct Story {
    store: PackedStore<char>,
    handles: Vec<Handle<char>>,
    svg: String,
    steps: usize,
}

impl Story {
    fn insert(&mut self, value: char) -> Handle<char> {
        let handle = self.store.insert(value);
        self.handles.push(handle);
        handle
    }

    /// Returns the live handle of a slot, or the last one that was issued for it.
    fn of_slot(&self, slot: usize) -> Handle<char> {
        let of_slot = || self.handles.iter().rev().filter(|handle| handle.index() as usize == slot);
        *of_slot().find(|handle| self.store.contains(**handle)).or(of_slot().next()).expect("slots are used in order")
    }

    /// Draws the arrays as they are now, and prints them.
    fn show(&mut self, title: &str, note: &str) {
        let top = self.steps * STEP;
        self.steps += 1;
        let slots = self.handles.iter().map(|handle| handle.index() as usize + 1).max().unwrap_or(0);
        let positions = self.store.len() + self.store.holes();
        let mut svg = String::new();
        let mut text = |x: usize, y: usize, class: &str, content: &str| {
            writeln!(svg, "<text x=\"{x}\" y=\"{y}\" class=\"{class}\">{content}</text>").unwrap();
        };
        text(16, top + 30, "title", title);
        text(16, top + 50, "note", note);
        text(LEFT + 72, top + 30, "note", "slots");
        text(LEFT + 72, top + 90, "note", "values");
        let x = |n: usize| LEFT + 130 + n * CELL;
        let mut line = format!("{title:<22} slots ");
        for slot in 0..slots {
            let handle = self.of_slot(slot);
            let position = self.store.position(handle);
            let (class, generation) = match position {
                Some(_) => ("full", handle.generation()),
                None => ("free", handle.generation() + 1),
            };
            let place = position.map_or("–".to_string(), |position| position.to_string());
            writeln!(svg, "<rect x=\"{}\" y=\"{}\" class=\"{class}\"/>", x(slot), top + 12).unwrap();
            writeln!(svg, "<text x=\"{}\" y=\"{}\" class=\"cell\">{place}</text>", x(slot) + CELL / 2 - 2, top + 31)
                .unwrap();
            writeln!(svg, "<text x=\"{}\" y=\"{}\" class=\"small\">v{generation}</text>", x(slot) + 36, top + 23)
                .unwrap();
            if let Some(position) = position {
                let (from, to) = (x(slot) + CELL / 2 - 3, x(position) + CELL / 2 - 3);
                writeln!(svg, "<path d=\"M{from} {} L{to} {}\" class=\"arrow\"/>", top + 40, top + 69).unwrap();
            }
            write!(line, "{place}v{generation} ").unwrap();
        }
        line.push_str("  values ");
        for position in 0..positions {
            let key = self.store.key_at(position);
            let class = if key.is_some() { "value" } else { "hole" };
            writeln!(svg, "<rect x=\"{}\" y=\"{}\" class=\"{class}\"/>", x(position), top + 70).unwrap();
            let content = key.map_or('·', |key| self.store[key]);
            writeln!(
                svg,
                "<text x=\"{}\" y=\"{}\" class=\"cell\">{content}</text>",
                x(position) + CELL / 2 - 2,
                top + 90
            )
            .unwrap();
            if let Some(key) = key {
                writeln!(
                    svg,
                    "<text x=\"{}\" y=\"{}\" class=\"small\">{}</text>",
                    x(position) + 40,
                    top + 81,
                    key.index()
                )
                .unwrap();
            }
            write!(line, "{content} ").unwrap();
        }
        println!("{line}");
        self.svg.push_str(&svg);
    }

    fn finish(self) -> String {
        let (width, height) = (LEFT + 130 + 5 * CELL + 10, self.steps * STEP + 30);
        let style = "text{font-family:sans-serif;fill:#222}.title{font-size:15px;font-weight:600}.note{font-size:12px;fill:#667}\
            .cell{font-size:14px;text-anchor:middle}.small{font-size:9px;fill:#667;text-anchor:middle}\
            rect{width:48px;height:28px;rx:4px;stroke:#99a}.full{fill:#dbe7fb}.free{fill:#fff;stroke-dasharray:3}\
            .value{fill:#dff0d8}.hole{fill:#f6e0e0;stroke-dasharray:3}.arrow{stroke:#667;fill:none}.back{fill:#fff;stroke:none}";
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\">\n\
             <style>{style}</style>\n<path d=\"M0 0H{width}V{height}H0Z\" class=\"back\"/>\n{}\
             <text x=\"16\" y=\"{}\" class=\"note\">A slot has the position of its value, and a generation. A value knows its slot.</text>\n</svg>\n",
            self.svg,
            height - 12
        )
    }
}

fn main() -> std::io::Result<()> {
    let mut story = Story::default();
    let a = story.insert('a');
    let b = story.insert('b');
    story.insert('c');
    story.insert('d');
    story.show("insert a, b, c, d", "a slot and a value each");
    assert_eq!(story.store.swap_remove(b), Some('b'));
    story.show("swap_remove(b)", "the last value takes the place");
    let e = story.insert('e');
    assert!(e.index() == b.index() && e != b);
    story.show("insert e", "slot 1 again, generation 1");
    assert_eq!(story.store.get(b), None, "the old handle is stale");
    assert_eq!(story.store.shift_remove(a), Some('a'));
    story.show("shift_remove(a)", "later values move down by one");
    let f = story.insert('f');
    story.show("insert f", "slot 0 again, at the end");
    assert!(story.store.remove_in_place(e));
    story.show("remove_in_place(e)", "a hole; nothing moves");
    story.store.compact();
    story.show("compact()", "all holes are closed at once");
    assert_eq!(story.store.as_slice(), ['d', 'c', 'f']);
    assert_eq!(story.store[f], 'f');

    let path = match std::env::args_os().nth(1) {
        Some(path) => path.into(),
        None => std::env::temp_dir().join("phalanx-steps.svg"),
    };
    std::fs::write(&path, story.finish())?;
    println!("{}", path.display());
    Ok(())
}
