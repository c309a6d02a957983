//! What the tables show, in sentences made from their figures.
//!
//! Each claim compares medians, and is made only beyond the noise: within it, the sentence says *level*.

use crate::measuring::removal::{COUNTS, Order, RemovalTime, Way};
use crate::measuring::simulation::{FRAME, Layout as World, Simulation};
use crate::measuring::stats::{Comparison, Summary, Verdict};
use crate::measuring::{footprint, placement, speed};
use crate::presenting::figures::{
    bytes, listed, percent, rough_span, rough_times, significant, span, thousands, times,
};
use phalanx_store::memory::Layout;

/// `2.10 times as fast as the map`, `level with the map`, `1.30 times slower than the map`.
pub(crate) fn compared(comparison: Comparison, other: &str) -> String {
    let factor = match comparison.is_estimate {
        true => format!("an estimated {}", rough_times(comparison.factor()).trim_matches(['≈', ' ', '×'])),
        false => significant(comparison.factor()),
    };
    let doubt = if comparison.is_noisy { ", in noisy runs" } else { "" };
    match comparison.verdict {
        Verdict::Faster => format!("{factor} times as fast as {other}{doubt}"),
        Verdict::Level => format!("level with {other}"),
        Verdict::Slower => format!("{factor} times slower than {other}{doubt}"),
    }
}

/// A median in a sentence, marked if it is an estimate.
fn told(time: &Summary) -> String {
    match time.is_estimate() {
        true => format!("an estimated {}", rough_span(time.median).replace("≈ ", "")),
        false => span(time.median),
    }
}

/// Says where the first of two contenders is faster than the second, level with it, and slower, as in
/// `faster in all 9 cases (1.20× to 2.10×)`.
///
/// Each case has a name, which stands after `at`; `noun` names them all. The cases of the largest part are counted, those of the
/// others are named. `None` if there are no cases.
fn cases(at: &str, noun: &str, cases: &[(String, Comparison)]) -> Option<String> {
    let part = |verdict: Verdict| cases.iter().filter(|(_, case)| case.verdict == verdict).collect::<Vec<_>>();
    let largest = Verdict::ALL.map(|verdict| part(verdict).len()).into_iter().max().filter(|most| *most > 0)?;
    let mut parts = Vec::new();
    for verdict in Verdict::ALL {
        let part = part(verdict);
        if part.is_empty() {
            continue;
        }
        let names: Vec<&str> = part.iter().map(|(name, _)| name.as_str()).collect();
        let which = match part.len() {
            all if all == cases.len() && all > 1 => format!("{at} all {all} {noun}"),
            count if count == largest && count > 3 => format!("{at} {count} of {} {noun}", cases.len()),
            _ => format!("{at} {}", listed(&names)),
        };
        let words = match verdict {
            Verdict::Faster => "faster",
            Verdict::Level => "level",
            Verdict::Slower => "slower",
        };
        parts.push(match verdict {
            Verdict::Level => format!("{words} {which}"),
            _ => format!("{words} {which} ({})", factors(&part)),
        });
    }
    Some(parts.join("; "))
}

/// The least and the largest of some factors, marked if one rests on an estimate or on noisy runs.
fn factors(part: &[&(String, Comparison)]) -> String {
    let is_estimate = part.iter().any(|(_, case)| case.is_estimate);
    let show = |factor: f64| if is_estimate { rough_times(factor) } else { times(factor) };
    let all = part.iter().map(|(_, case)| case.factor());
    let (low, high) = all.fold((f64::INFINITY, 0.0_f64), |(low, high), factor| (low.min(factor), high.max(factor)));
    let (low, high) = (show(low), show(high));
    let doubt = if part.iter().any(|(_, case)| case.is_noisy) { ", some in noisy runs" } else { "" };
    let factors = if low == high { low } else { format!("{low} to {}", high.trim_start_matches("≈ ")) };
    factors + doubt
}

pub(crate) fn speed(rows: &[speed::StoreSpeed]) -> Vec<String> {
    type Pick = fn(&speed::StoreSpeed) -> Summary;
    let pairs: [(&str, Pick, Pick); 4] = [
        ("The packed store against std's map, which hashes with SipHash", |row| row.packed, |row| row.siphash),
        ("The packed store against the same map with foldhash, a fast hasher", |row| row.packed, |row| row.foldhash),
        ("The map with foldhash against the map with SipHash", |row| row.foldhash, |row| row.siphash),
        ("The slot store against the packed store", |row| row.slot, |row| row.packed),
    ];
    let sentence = |(what, one, other): (&str, Pick, Pick)| {
        let all: Vec<_> = rows.iter().map(|row| (row.name.to_string(), one(row).against(&other(row)))).collect();
        Some(format!("{what}: {}.", cases("in", "scenarios", &all)?))
    };
    pairs.into_iter().filter_map(sentence).collect()
}

/// Which place is the quickest for what, and what it costs to be in another.
pub(crate) fn placement(rows: &[placement::WorkTime]) -> Vec<String> {
    let mut out = Vec::new();
    for (at, place) in placement::PLACES.iter().enumerate() {
        let told = rows.iter().filter(|row| row.quickest().contains(&at)).filter_map(|row| {
            let times = row.times();
            let worst = (0..times.len()).max_by(|a, b| times[*a].median.total_cmp(&times[*b].median))?;
            let ahead = times[at].against(&times[worst]);
            let (name, low, high) = (placement::name(placement::PLACES[worst]), times[at].median, times[worst].median);
            let told = format!("{} ({} ns; the {name} {} ns)", row.work, significant(low), significant(high));
            (ahead.verdict == Verdict::Faster).then_some(told)
        });
        let told: Vec<String> = told.collect();
        let name = placement::name(*place);
        if told.is_empty() {
            out.push(format!("The {name} is ahead at nothing here."));
        } else {
            out.push(format!("The {name} is the quickest, or level with it, at {}.", told.join("; ")));
        }
    }
    let find = |work: &str| rows.iter().find(|row| row.work.starts_with(work));
    if let (Some(give), Some(take), Some(join)) = (find("inserting"), find("removing"), find("iterating over it with"))
    {
        let is_ahead = |one: &Summary, other: &Summary| one.against(other).verdict == Verdict::Faster;
        let change = give.table.median + take.table.median - give.pool.median - take.pool.median;
        let walk = join.pool.median - join.table.median;
        if is_ahead(&give.pool, &give.table) && is_ahead(&join.table, &join.pool) && change > 0.0 {
            out.push(format!(
                "A pool pays for itself where a value is inserted and removed at least once for every {} rows that are \
                 iterated together with a table.",
                significant(change / walk)
            ));
        }
    }
    out
}

pub(crate) fn removal(rows: &[RemovalTime]) -> Vec<String> {
    let row = |way: Way, order: Order, count: usize| {
        rows.iter().find(|row| (row.way, row.order, row.count) == (way, order, count))
    };
    let [least, _, most] = COUNTS;
    let mut out = Vec::new();

    let random = Way::ALL.map(|way| row(way, Order::Random, most));
    if let [Some(swap), Some(shift), Some(deferred)] = random {
        out.push(format!(
            "Emptying a set of {} in random order takes {} by swapping, {} by deferred removal and {} by shifting: swapping is {}.",
            thousands(most as u64),
            told(&swap.time),
            told(&deferred.time),
            told(&shift.time),
            compared(swap.time.against(&shift.time), "shifting")
        ));
    }

    let growth: Vec<String> = Way::ALL
        .iter()
        .filter_map(|&way| {
            let (small, large) = (row(way, Order::Random, least)?, row(way, Order::Random, most)?);
            let slower = small.time.against(&large.time);
            let exponent = |ratio: f64| format!("{:.1}", ratio.ln() / (most as f64 / least as f64).ln());
            let [low, high] = [large.time.low / small.time.high, large.time.high / small.time.low].map(exponent);
            let power = if low == high { low } else { format!("{low} to {high}") };
            Some(match slower.verdict {
                Verdict::Level => format!("{way} takes as long within the noise"),
                // The estimate was scaled by the square, so that a power would say nothing.
                _ if slower.is_estimate => {
                    format!("{way} is expected to take {} as long", rough_times(slower.ratio).replace("≈ ", "about "))
                }
                _ => format!("{way} takes {} as long (n to the power of {power})", times(slower.ratio)),
            })
        })
        .collect();
    if !growth.is_empty() {
        out.push(format!("For {} times the values in random order, {}.", most / least, listed(&growth)));
    }

    for (what, one, other) in [
        ("Deferred removal, which keeps the order, against swapping, which does not", Way::Deferred, Way::Swap),
        ("Deferred removal against shifting, which keeps the order too", Way::Deferred, Way::Shift),
    ] {
        let pairs = COUNTS.iter().flat_map(|&count| Order::ALL.map(|order| (order, count)));
        let all: Vec<_> = pairs
            .filter_map(|(order, count)| {
                let (one, other) = (row(one, order, count)?, row(other, order, count)?);
                Some((format!("{order} {}", thousands(count as u64)), one.time.against(&other.time)))
            })
            .collect();
        out.extend(cases("in", "cases", &all).map(|cases| format!("{what}: {cases}.")));
    }

    for (way, one, other) in [
        (Way::Swap, Order::Reverse, Order::Linear),
        (Way::Swap, Order::Linear, Order::Random),
        (Way::Shift, Order::Reverse, Order::Random),
        (Way::Shift, Order::Random, Order::Linear),
        (Way::Deferred, Order::Linear, Order::Reverse),
    ] {
        let name = match way {
            Way::Swap => "Swapping",
            Way::Shift => "Shifting",
            Way::Deferred => "Deferred removal",
        };
        let all: Vec<_> = COUNTS
            .iter()
            .filter_map(|&count| {
                let (one, other) = (row(way, one, count)?, row(way, other, count)?);
                Some((thousands(count as u64), one.time.against(&other.time)))
            })
            .collect();
        out.extend(
            cases("at", "counts", &all).map(|cases| format!("{name} in {one} order against {other} order: {cases}.")),
        );
    }

    let unrun: Vec<String> = rows
        .iter()
        .filter(|row| row.time.is_estimate())
        .map(|row| format!("{} {} {}", row.way, row.order, thousands(row.count as u64)))
        .collect();
    if !unrun.is_empty() {
        out.push(format!(
            "Estimated, not run (marked ≈): {}. They are scaled up from a smaller run by the square, and may be off by a factor of \
             two. With --full they are run.",
            listed(&unrun)
        ));
    }
    out
}

pub(crate) fn memory(rows: &[footprint::MemoryUse]) -> Vec<String> {
    const KEYED: [Layout; 2] = [Layout::Sparse, Layout::Linear];
    let mut out = Vec::new();
    let mut sizes: Vec<u64> = rows.iter().map(|row| row.size).collect();
    sizes.dedup();
    for size in sizes {
        let rows: Vec<&footprint::MemoryUse> = rows.iter().filter(|row| row.size == size).collect();
        for (among, whose) in [(&KEYED[..], "keyed by entities"), (&Layout::ALL[..], "of all four")] {
            let cheapest = runs(rows.iter().filter_map(|row| Some((row.utilisation, row.cheapest(among)?))));
            out.push(format!("At {size} bytes a value, the cheapest {whose} is {cheapest}."));
        }
    }
    let worst = rows
        .iter()
        .flat_map(|row| row.layouts.iter().map(move |f| (row, f)))
        .filter(|(_, f)| f.model > 0)
        .max_by(|a, b| deviation(a.1).abs().total_cmp(&deviation(b.1).abs()));
    if let Some((row, worst)) = worst {
        if worst.model == worst.measured {
            out.push("Every container holds exactly the bytes that the model says.".to_string());
        } else {
            out.push(format!(
                "The containers hold what the model says to within {}; the widest miss is {} at {} bytes and {} utilisation ({} held, {} modelled).",
                percent(deviation(worst).abs()),
                worst.layout.container(),
                row.size,
                percent(row.utilisation),
                thousands(worst.measured),
                thousands(worst.model)
            ));
        }
    }
    out
}

/// By what share of the model a container holds more.
pub(crate) fn deviation(footprint: &footprint::Footprint) -> f64 {
    footprint.measured as f64 / footprint.model as f64 - 1.0
}

/// `the sparse set up to 50 %, then the linear store`, from winners by ascending utilisation.
fn runs(winners: impl Iterator<Item = (f64, Layout)>) -> String {
    let mut spans: Vec<(Layout, f64)> = Vec::new();
    for (utilisation, layout) in winners {
        match spans.last_mut() {
            Some((last, until)) if *last == layout => *until = utilisation,
            _ => spans.push((layout, utilisation)),
        }
    }
    match &spans[..] {
        [] => "unknown".to_string(),
        [(only, _)] => format!("{} at every utilisation", only.container()),
        [most @ .., (last, _)] => {
            let most: Vec<String> = most
                .iter()
                .map(|(layout, until)| format!("{} up to {}", layout.container(), percent(*until)))
                .collect();
            format!("{}, then {}", most.join(", "), last.container())
        }
    }
}

/// What the frames of a world show.
pub(crate) fn simulation(simulation: &Simulation) -> Vec<String> {
    let mut out = Vec::new();
    let frame = |layout| simulation.row(layout, FRAME).map(|row| row.time);
    if let (Some(structs), Some(lanes)) = (frame(World::Table), frame(World::Soa)) {
        out.push(format!(
            "A frame of {} entities takes {} with structs in tables and {} with lanes: lanes are {}.",
            thousands(simulation.entities as u64),
            span(structs.median),
            span(lanes.median),
            compared(lanes.against(&structs), "structs")
        ));
    }
    for (system, what) in [("motion", "Moving all that moves"), ("extent", "Reading one field of all positions")] {
        let rows = World::ALL.map(|layout| simulation.row(layout, system));
        if let [Some(structs), Some(lanes)] = rows {
            let entities = thousands(structs.entities as u64);
            let verdict = compared(lanes.time.against(&structs.time), "structs");
            out.push(format!("{what} ({entities} entities), lanes are {verdict}."));
        }
    }
    if let (Some(bullets), Some(stunned)) =
        (simulation.row(World::Table, "bullets"), simulation.row(World::Table, "stunning"))
    {
        out.push(format!(
            "Despawning an entity and spawning another takes {}, inserting or removing a component {}.",
            span(bullets.time.per(bullets.entities.max(1) as f64).median),
            span(stunned.time.per(stunned.entities.max(1) as f64).median)
        ));
    }
    for memory in &simulation.memory {
        let beyond = (memory.held - memory.components.min(memory.held)) as f64 / simulation.entities.max(1) as f64;
        out.push(format!(
            "The world in layout {} holds {}, of which {} are components: {} bytes an entity beyond them, unused capacity included.",
            memory.layout.name(),
            bytes(memory.held as u64),
            bytes(memory.components as u64),
            significant(beyond)
        ));
    }
    out
}

#[cfg(test)]
mod tests;
