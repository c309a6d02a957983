//! `phalanx advise`: which layout, and why.

use crate::args::AdviseArgs;
use crate::measuring::cost::{Access, cost};
use crate::measuring::footprint;
use crate::measuring::layouts::compiled_size;
use crate::measuring::stats::Verdict;
use crate::measuring::timing::Effort;
use crate::measuring::trial::{self, Trial, Work};
use crate::presenting::figures::{bytes, percent, significant, thousands, times};
use crate::presenting::findings::compared;
use crate::presenting::text::table;
use crate::{Failure, print};
use phalanx_store::memory::{Layout, Model};
use serde::Serialize;
use std::time::Duration;

/// Layouts that make handles of their own, and those keyed by entities: what a user can choose between.
const OWN: [Layout; 2] = [Layout::Packed, Layout::Slot];
const KEYED: [Layout; 2] = [Layout::Sparse, Layout::Linear];

/// The most bytes that a measurement may build, over all layouts.
const MOST_MEASURED: u64 = 1 << 30;

/// What is known of one layout.
#[derive(Clone, Copy, Debug, Serialize)]
struct Choice {
    #[serde(serialize_with = "footprint::layout_name")]
    layout: Layout,
    container: &'static str,
    bytes: u64,
    /// Estimated, in units of the fastest layout.
    relative_time: f64,
}

/// The answer.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Advice {
    size: u64,
    entities: u64,
    utilisation: f64,
    live: u64,
    access: Access,
    churn: f64,
    layouts: [Choice; 4],
    #[serde(serialize_with = "footprint::layout_name")]
    cheapest: Layout,
    #[serde(serialize_with = "footprint::layout_name")]
    fastest: Layout,
    #[serde(serialize_with = "footprint::layout_name")]
    cheapest_by_entity: Layout,
    #[serde(serialize_with = "footprint::layout_name")]
    fastest_by_entity: Layout,
    /// Bytes by the textbook formulas.
    paper_sparse: u64,
    paper_linear: u64,
    reasons: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    measured: Option<Measured>,
}

/// The advice, tried.
#[derive(Clone, Debug, Serialize)]
struct Measured {
    /// The size that was measured: the next one that is compiled in.
    size: u64,
    trials: Vec<Trial>,
    verdict: Vec<String>,
}

/// Does what the arguments ask.
pub(crate) fn run(args: &AdviseArgs) -> Result<(), Failure> {
    if args.table {
        return print(&crate::presenting::grid::show(args.json)?);
    }
    if args.demo {
        return print(&crate::commands::drill::show(args.json)?);
    }
    // The parser requires all three unless there is `--table` or `--demo`.
    let (Some(size), Some(entities), Some(utilisation)) = (args.size, args.entities, args.utilisation) else {
        return Err(wrong("expected --size, --entities and --utilisation".to_string()));
    };
    let model = Model::new(size, entities, utilisation).map_err(|error| wrong(error.to_string()))?;
    let work = Work { access: args.access, churn: args.churn };
    let mut advice = advise(&model, work);
    if args.measure {
        advice.measured = Some(measure(&advice, &model, work)?);
    }
    if args.json {
        print(&serde_json::to_string_pretty(&advice).map_err(|error| Failure { sentence: error.to_string(), code: 1 })?)
    } else {
        print(advice.text().trim_end())
    }
}

fn wrong(sentence: String) -> Failure {
    Failure { sentence, code: 2 }
}

fn advise(model: &Model, work: Work) -> Advice {
    let costs = Layout::ALL.map(|layout| cost(model, layout, work.access, work.churn));
    let least = costs.into_iter().fold(f64::INFINITY, f64::min).max(f64::MIN_POSITIVE);
    let layouts = Layout::ALL.map(|layout| Choice {
        layout,
        container: layout.container(),
        bytes: model.bytes(layout),
        relative_time: costs[layout as usize] / least,
    });
    let fastest = |among: &[Layout; 2]| {
        if costs[among[1] as usize] < costs[among[0] as usize] { among[1] } else { among[0] }
    };
    let (own, keyed) = (fastest(&OWN), fastest(&KEYED));
    let mut advice = Advice {
        size: model.size(),
        entities: model.entities(),
        utilisation: model.utilisation(),
        live: model.live(),
        access: work.access,
        churn: work.churn,
        layouts,
        cheapest: model.best(),
        fastest: if costs[keyed as usize] < costs[own as usize] { keyed } else { own },
        cheapest_by_entity: model.best_of(&KEYED).unwrap_or(Layout::Sparse),
        fastest_by_entity: keyed,
        paper_sparse: model.textbook_sparse(),
        paper_linear: model.textbook_linear(),
        reasons: Vec::new(),
        measured: None,
    };
    advice.reasons = reasons(&advice, model, own);
    advice
}

fn reasons(advice: &Advice, model: &Model, fastest_own: Layout) -> Vec<String> {
    let reached = if advice.cheapest.is_primary() {
        "; it creates its own handles, so each reference to a value takes 8 bytes"
    } else {
        ", and is reached by the entity itself"
    };
    let mut out = vec![format!(
        "{} of {} entities have a value of {} bytes. {} holds the least, {}{reached}.",
        thousands(advice.live),
        thousands(advice.entities),
        advice.size,
        advice.cheapest.container(),
        bytes(model.bytes(advice.cheapest))
    )];

    let (sparse, linear) = (model.bytes(Layout::Sparse), model.bytes(Layout::Linear));
    let empty = (advice.entities - advice.live) * (advice.size + 4);
    let index = sparse.saturating_sub(advice.live * (advice.size + 4));
    out.push(format!(
        "Reached by entity, {} is the cheaper: LinearStore pays {} for empty places, SparseSet {} for keys and index.",
        advice.cheapest_by_entity.container(),
        bytes(empty),
        bytes(index)
    ));
    if let Some(even) = break_even(model) {
        let side = if linear < sparse { "above" } else { "below" };
        out.push(format!(
            "The two hold the same at a utilisation of about {}; {} is {side} it.",
            percent(even),
            percent(advice.utilisation)
        ));
    }

    let paper = if advice.paper_sparse < advice.paper_linear { Layout::Sparse } else { Layout::Linear };
    out.push(format!(
        "On paper, with four-byte indices and no generations, a sparse set holds {} and a linear store {}: {}.",
        bytes(advice.paper_sparse),
        bytes(advice.paper_linear),
        if paper == advice.cheapest_by_entity { "the same choice" } else { "the other choice" }
    ));

    let time = |layout: Layout| advice.layouts[layout as usize].relative_time;
    for (fastest, other, whose) in [
        (fastest_own, OWN[usize::from(fastest_own == OWN[0])], "With handles of its own"),
        (advice.fastest_by_entity, KEYED[usize::from(advice.fastest_by_entity == KEYED[0])], "Reached by entity"),
    ] {
        let ahead = time(other) / time(fastest);
        let how = match Verdict::of(ahead) {
            Verdict::Level => {
                let holes = if fastest_own == fastest && advice.access.iterates() {
                    ", as long as what leaves is replaced: SlotStore must walk around holes, PackedStore has none"
                } else {
                    ""
                };
                format!("{} and {} should be level{holes}", fastest.container(), other.container())
            }
            _ => format!(
                "{} should be the faster {}, about {} times as fast as {}: {}",
                fastest.container(),
                advice.access.words(),
                significant(ahead),
                other.container(),
                why(fastest, advice)
            ),
        };
        out.push(format!("{whose}, {how}."));
    }

    for (among, whose) in [(OWN, "a store with its own handles"), (KEYED, "values hung on entities")] {
        let cheapest = model.best_of(&among).unwrap_or(among[0]);
        let fastest = if among == OWN { fastest_own } else { advice.fastest_by_entity };
        if Verdict::of(time(cheapest) / time(fastest)) == Verdict::Level {
            out.push(format!("For {whose}: take {}, the cheaper and not the slower of the two.", cheapest.container()));
        } else {
            out.push(format!(
                "For {whose}: {} for speed (estimated {}), {} for memory ({} less).",
                fastest.container(),
                times(time(cheapest) / time(fastest)),
                cheapest.container(),
                percent(1.0 - model.bytes(cheapest) as f64 / model.bytes(fastest).max(1) as f64)
            ));
        }
    }
    out
}

/// Why a layout is ahead at this work.
fn why(layout: Layout, advice: &Advice) -> &'static str {
    match (layout, advice.access, advice.churn > 0.0) {
        (Layout::Packed | Layout::Sparse, ..) => "its values lie side by side, so a pass reads nothing but values",
        (Layout::Slot | Layout::Linear, Access::Iterate, true) => "replacing a value moves no other",
        (Layout::Slot | Layout::Linear, Access::Iterate, false) => "nearly every place is in use",
        (Layout::Slot | Layout::Linear, ..) => "the key says where the value is, so nothing is looked up on the way",
    }
}

/// The utilisation at which the sparse set stops being cheaper than the linear store, if there is one.
fn break_even(model: &Model) -> Option<f64> {
    let sparse_wins = |utilisation: f64| {
        let model = Model::new(model.size(), model.entities(), utilisation).ok()?;
        Some(model.bytes(Layout::Sparse) < model.bytes(Layout::Linear))
    };
    // Pages cost in steps, so the last change of sides is the one that is meant.
    let steps = 1000;
    let last = (0..=steps).rev().map(|step| step as f64 / steps as f64).find(|&u| sparse_wins(u) == Some(true))?;
    (last > 0.0 && last < 1.0).then_some(last)
}

fn measure(advice: &Advice, model: &Model, work: Work) -> Result<Measured, Failure> {
    let size = compiled_size(model.size());
    let model = Model::new(size, model.entities(), model.utilisation()).map_err(|error| wrong(error.to_string()))?;
    let total: u64 = Layout::ALL.iter().map(|&layout| model.bytes(layout)).sum();
    if total > MOST_MEASURED {
        return Err(wrong(format!(
            "--measure would build {} of containers, and {} is the most: ask for fewer entities or smaller values",
            bytes(total),
            bytes(MOST_MEASURED)
        )));
    }
    if model.live() == 0 {
        return Err(wrong(
            "--measure needs at least one value: ask for a larger utilisation or more entities".to_string(),
        ));
    }
    let bar = crate::presenting::progress::progress(1, "measuring the layouts");
    let trials = trial::measure(&model, work, Effort { least: 5, most: 500, share: Duration::from_secs(2) });
    bar.finish_and_clear();
    let verdict = verdict(advice, &trials);
    Ok(Measured { size, trials, verdict })
}

/// Where the measurement bears the advice out, and where it does not.
fn verdict(advice: &Advice, trials: &[Trial]) -> Vec<String> {
    let measured = |layout: Layout| trials.iter().find(|trial| trial.layout == layout).map(|trial| trial.time);
    let time = |layout: Layout| advice.layouts[layout as usize].relative_time;
    [(OWN, "With handles of its own"), (KEYED, "Reached by entity")]
        .into_iter()
        .filter_map(|([one, other], whose)| {
            let measured = measured(one)?.against(&measured(other)?);
            let (expected, found) = (Verdict::of(time(other) / time(one)), measured.verdict);
            let fact = format!("{} is {}", one.container(), compared(measured, other.container()));
            let said = match expected {
                Verdict::Faster => format!("{} ahead", one.container()),
                Verdict::Slower => format!("{} ahead", other.container()),
                Verdict::Level => "the two level".to_string(),
            };
            Some(if expected == found {
                format!("{whose}, the measurement agrees with the advice: {fact}.")
            } else {
                format!("{whose}, the measurement disagrees: the advice had {said}, but here {fact}.")
            })
        })
        .collect()
}

impl Advice {
    fn text(&self) -> String {
        let mut header = vec!["layout", "container", "bytes", "a value", "estimated time"];
        if self.measured.is_some() {
            header.push("measured ns");
        }
        let mut table = table(&header, 2);
        for option in &self.layouts {
            let mut marks = String::new();
            if option.layout == self.cheapest {
                marks.push_str(" (cheapest)");
            }
            if option.layout == self.fastest {
                marks.push_str(" (fastest)");
            }
            let mut cells = vec![
                option.layout.to_string(),
                format!("{}{marks}", option.container),
                thousands(option.bytes),
                if self.live == 0 { "–".to_string() } else { significant(option.bytes as f64 / self.live as f64) },
                times(option.relative_time),
            ];
            if let Some(measured) = &self.measured {
                let trial = measured.trials.iter().find(|trial| trial.layout == option.layout);
                cells.push(trial.map_or("–".to_string(), |trial| significant(trial.time.median)));
            }
            table.add_row(cells);
        }
        let churn =
            if self.churn > 0.0 { format!(", {} replaced in each pass", percent(self.churn)) } else { String::new() };
        let mut out = format!(
            "{} bytes, {} entities, utilisation {}, {}{churn}\n{table}\n",
            self.size,
            thousands(self.entities),
            percent(self.utilisation),
            self.access.words()
        );
        for reason in &self.reasons {
            out.push_str(&format!("  · {reason}\n"));
        }
        if let Some(measured) = &self.measured {
            let size = if measured.size == self.size {
                String::new()
            } else {
                format!(" with values of {} bytes", measured.size)
            };
            out.push_str(&format!("Measured on this machine{size}, nanoseconds for a value in a pass:\n"));
            for sentence in &measured.verdict {
                out.push_str(&format!("  · {sentence}\n"));
            }
        }
        out
    }
}

#[cfg(test)]
mod tests;
