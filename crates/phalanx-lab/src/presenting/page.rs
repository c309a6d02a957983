//! The report as one HTML page that needs nothing beside itself.

use crate::measuring::placement as places;
use crate::measuring::removal::{Order, Way};
use crate::measuring::simulation::{self, FRAME};
use crate::measuring::speed::CONTENDERS;
use crate::measuring::stats::{Summary, Verdict};
use crate::presenting::figures::{percent, rough_times, span, thousands, times};
use crate::presenting::plots::{self, COLOURS};
use crate::presenting::report::Report;
use crate::presenting::sheet::{self, Sheet};
use crate::presenting::svg::{Mark, escape};
use phalanx_store::memory::Layout;

const STYLE: &str = include_str!("page.css");

/// The whole page.
pub(crate) fn page(report: &Report) -> String {
    let mut out = String::new();
    out.push_str("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n");
    out.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n");
    out.push_str(&format!(
        "<title>Phalanx on this machine</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n"
    ));
    out.push_str("<h1>Phalanx on this machine</h1>\n");
    for line in [report.machine.describe(), report.conditions.describe()] {
        out.push_str(&format!("<p class=\"lead\">{}</p>\n", escape(&line)));
    }
    for caveat in report.caveats() {
        out.push_str(&format!("<p class=\"caveat\"><b>Note:</b> {}</p>\n", escape(&caveat)));
    }
    if let Some(noise) = report.noise() {
        out.push_str(&format!("<p class=\"about\">{}</p>\n", escape(&noise)));
    }
    out.push_str(&headlines(report));
    out.push_str(&speed(report));
    out.push_str(&removal(report));
    out.push_str(&memory(report));
    out.push_str(&world(report));
    out.push_str(&placement(report));
    out.push_str(&format!(
        "<footer>Phalanx {}; measured in {} by <code>phalanx measure{}</code>.</footer>\n</main>\n</body>\n</html>\n",
        escape(report.version),
        span(report.seconds * 1e9),
        if report.quick { "" } else { " --full" }
    ));
    out
}

/// One figure of each section, large.
fn headlines(report: &Report) -> String {
    let mut out = String::from("<div class=\"headlines\">\n");
    let mut headline = |figure: String, words: String| {
        // A line must not end between a number and its sign.
        let words = words.replace(" %", "\u{a0}%");
        out.push_str(&format!(
            "<div class=\"headline\"><b>{}</b><span>{}</span></div>\n",
            escape(&figure),
            escape(&words)
        ));
    };
    let rows = &report.speed.rows;
    if !rows.is_empty() {
        let mean = |map: fn(&crate::measuring::speed::StoreSpeed) -> Summary| {
            let logarithms = rows.iter().map(|row| row.packed.against(&map(row)).ratio.ln());
            times((logarithms.sum::<f64>() / rows.len() as f64).exp())
        };
        let words = format!(
            "as fast as std's map with SipHash, and {} as fast as with foldhash: the packed store, geometric mean of {} scenarios",
            mean(|row| row.foldhash),
            rows.len()
        );
        headline(mean(|row| row.siphash), words);
    }
    let rows = &report.removal.rows;
    let random =
        |way| rows.iter().filter(move |row| row.order == Order::Random && row.way == way).max_by_key(|row| row.count);
    if let (Some(shift), Some(deferred)) = (random(Way::Shift), random(Way::Deferred)) {
        let slower = deferred.time.against(&shift.time);
        let (figure, about) = match (slower.verdict, slower.is_estimate) {
            (Verdict::Level, _) => ("level".to_string(), ""),
            (_, true) => (rough_times(slower.ratio), "(estimated) "),
            (_, false) => (times(slower.ratio), ""),
        };
        let words = format!(
            "{about}as long for shifting as for deferred removal: both keep the order, emptying a set of {} at random",
            thousands(shift.count as u64)
        );
        headline(figure, words);
    }
    // The row in which picking the wrong layout costs most.
    let spread = |row: &crate::measuring::footprint::MemoryUse| {
        let held = row.layouts.map(|footprint| footprint.measured);
        held.into_iter().max().unwrap_or(0) as f64 / held.into_iter().min().unwrap_or(1).max(1) as f64
    };
    if let Some(row) = report.memory.rows.iter().max_by(|a, b| spread(a).total_cmp(&spread(b))) {
        let words = format!(
            "as many bytes in the dearest layout as in the cheapest: values of {} bytes on {} of {} entities",
            row.size,
            percent(row.utilisation),
            thousands(row.entities)
        );
        headline(times(spread(row)), words);
    }
    let frame = |layout| report.world.row(layout, FRAME).map(|row| row.time.median);
    if let (Some(structs), Some(lanes)) = (frame(simulation::Layout::Table), frame(simulation::Layout::Soa)) {
        let words =
            format!("a frame of a world with {} entities of six kinds", thousands(report.world.entities as u64));
        headline(span(structs.min(lanes)), words);
    }
    out.push_str("</div>\n");
    out
}

/// The parts of a section: what it is about, a picture, sentences and a table.
struct Section<'a> {
    title: &'a str,
    about: String,
    plot: String,
    caption: String,
    findings: &'a [String],
    sheet: Sheet,
}

impl Section<'_> {
    fn html(&self) -> String {
        let Section { title, about, plot, caption, findings, sheet } = self;
        let findings: String = findings.iter().map(|finding| format!("<li>{}</li>\n", escape(finding))).collect();
        // What scrolls can be reached by keys, and says that it scrolls where the page is narrow.
        let scroll = |what: &str, inner: &str| {
            format!(
                "<p class=\"hint\">The {what} scrolls sideways →</p>\n<div class=\"scroll\" role=\"region\" tabindex=\"0\" \
                 aria-label=\"{title}: {what}\">\n{inner}</div>\n"
            )
        };
        format!(
            "<section>\n<h2>{title}</h2>\n<p class=\"about\">{about}</p>\n<figure>\n{}<figcaption>{caption}</figcaption>\n</figure>\n\
             <ul>\n{findings}</ul>\n{}</section>\n",
            scroll("picture", plot),
            scroll("table", &table(sheet))
        )
    }
}

/// Names contenders by their marks.
fn legend(names: &[&str]) -> String {
    let marks = names.iter().zip(Mark::ALL).zip(COLOURS);
    let each =
        marks.map(|((name, mark), colour)| format!("<i class=\"{colour}\">{}</i> {}", mark.sign(), escape(name)));
    each.collect::<Vec<_>>().join(", ")
}

fn speed(report: &Report) -> String {
    Section {
        title: "Stores against maps",
        about: "A store gives stable handles; a map under counted keys is what it takes to have them without one. Std's map \
                hashes with SipHash, which withstands hostile keys. Foldhash is faster, and is the hasher to compare with where keys \
                can be trusted."
            .into(),
        plot: plots::speed(&report.speed.rows),
        caption: format!(
            "Nanoseconds for each value, read or replacement: {}. Lines span the middle half of the rounds. Logarithmic.",
            legend(&CONTENDERS)
        ),
        findings: &report.speed.findings,
        sheet: sheet::speed(&report.speed.rows),
    }
    .html()
}

fn removal(report: &Report) -> String {
    Section {
        title: "Removing everything, three ways",
        about: "The time to remove every value of a sparse set one by one. Figures with ≈ were estimated.".into(),
        plot: plots::removal(&report.removal.rows),
        caption: format!(
            "{}. Swapping moves the last value into the gap, shifting moves up all behind it, deferred removal marks, and closes all \
             gaps in one pass. Hollow marks with dashed lines are estimates. Both axes logarithmic.",
            legend(&Way::ALL.map(Way::name))
        ),
        findings: &report.removal.findings,
        sheet: sheet::removal(&report.removal.rows),
    }
    .html()
}

fn memory(report: &Report) -> String {
    Section {
        title: "Memory by layout",
        about: "The bytes that real containers hold from the allocator, and by how much the model of <code>phalanx advise</code> \
                is off."
            .into(),
        plot: plots::memory(&report.memory.rows),
        caption: format!(
            "{}. Hollow marks with dashed lines, where they differ: the model. Both axes logarithmic.",
            legend(&Layout::ALL.map(Layout::name))
        ),
        findings: &report.memory.findings,
        sheet: sheet::memory(&report.memory.rows),
    }
    .html()
}

fn world(report: &Report) -> String {
    let world = &report.world;
    let kinds: Vec<String> =
        world.kinds.iter().map(|k| format!("{} {}s", thousands(k.entities as u64), k.name)).collect();
    Section {
        title: "A world at work",
        about: format!(
            "{} entities: {}. Frames of the two layouts are interleaved. M/s are millions of entities a second.",
            thousands(world.entities as u64),
            escape(&kinds.join(", "))
        ),
        plot: plots::world(world),
        caption: format!(
            "The time of each system in a frame, with position, velocity and acceleration as {}. Lines span the middle half of the \
             frames. Logarithmic.",
            legend(&["structs in a table", "lanes of a field each (soa)"])
        ),
        findings: &world.findings,
        sheet: sheet::world(world),
    }
    .html()
}

fn placement(report: &Report) -> String {
    Section {
        title: "One component in three places",
        about: format!(
            "A component of 16 bytes that half of {} entities have, beside {} bytes of others in tables, kept in tables, too, \
             in a pool or in a linear store. The quickest, and what is level with it, is bold, and named in a column.",
            thousands(places::ENTITIES as u64),
            places::BODY
        ),
        plot: plots::placement(&report.placement.rows),
        caption: format!(
            "Nanoseconds for each, with the component in {}. Lines span the middle half of the rounds. Logarithmic.",
            legend(&places::PLACES.map(places::name))
        ),
        findings: &report.placement.findings,
        sheet: sheet::placement(&report.placement.rows),
    }
    .html()
}

fn table(sheet: &Sheet) -> String {
    let class = |index: usize, is_best: bool| match (index < sheet.words, is_best) {
        (true, _) => " class=\"word\"",
        (false, true) => " class=\"best\"",
        (false, false) => "",
    };
    let mut out = String::from("<table>\n<thead><tr>");
    for (index, name) in sheet.header.iter().enumerate() {
        out.push_str(&format!("<th scope=\"col\"{}>{}</th>", class(index, false), escape(name)));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in &sheet.rows {
        out.push_str("<tr>");
        for (index, cell) in row.iter().enumerate() {
            out.push_str(&format!("<td{}>{}</td>", class(index, cell.is_best), escape(&cell.text)));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table>\n");
    out
}
