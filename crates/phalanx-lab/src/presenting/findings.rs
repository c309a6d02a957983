//! What the tables show, in sentences made from their figures.

use crate::measuring::removal::{COUNTS, Order, Way};
use crate::measuring::simulation::{FRAME, Layout as World, Simulation};
use crate::measuring::{footprint, placement, removal, speed};
use crate::presenting::figures::{bytes, listed, percent, significant, span, thousands};
use phalanx_store::memory::Layout;

/// Closer than this, runs do not tell two contenders apart.
const BAND: f64 = 1.05;

/// Who is ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Faster,
    Level,
    Slower,
}

impl Verdict {
    pub(crate) fn of(ratio: f64) -> Verdict {
        if ratio > BAND {
            Verdict::Faster
        } else if ratio < 1.0 / BAND {
            Verdict::Slower
        } else {
            Verdict::Level
        }
    }

    fn word(self) -> &'static str {
        match self {
            Verdict::Faster => "ahead",
            Verdict::Level => "level",
            Verdict::Slower => "behind",
        }
    }
}

/// `2.10 times as fast as the map`, `level with the map`, `1.30 times slower than the map`.
pub(crate) fn compared(ratio: f64, other: &str) -> String {
    match Verdict::of(ratio) {
        Verdict::Faster => format!("{} times as fast as {other}", significant(ratio)),
        Verdict::Level => format!("level with {other}"),
        Verdict::Slower => format!("{} times slower than {other}", significant(1.0 / ratio)),
    }
}

pub(crate) fn speed(rows: &[speed::StoreSpeed]) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let of = |verdict: Verdict| rows.iter().filter(|row| Verdict::of(row.ratio) == verdict).collect::<Vec<_>>();
    for verdict in [Verdict::Faster, Verdict::Level, Verdict::Slower] {
        let rows = of(verdict);
        if !rows.is_empty() {
            let each: Vec<String> = rows.iter().map(|row| told(row.name, row.ratio)).collect();
            out.push(format!("The packed store is {} in: {}.", against_map(verdict), each.join("; ")));
        }
    }

    let differing: Vec<String> = rows
        .iter()
        .filter(|row| Verdict::of(row.ratio) != Verdict::of(row.reference_ratio))
        .map(|row| {
            let (there, here) = (Verdict::of(row.reference_ratio).word(), Verdict::of(row.ratio).word());
            format!("{} ({there} there, {here} here)", row.name)
        })
        .collect();
    if differing.is_empty() {
        out.push(format!("All {} rows come out on the same side as in the reference.", rows.len()));
    } else {
        out.push(format!(
            "{} of {} rows come out on the same side as in the reference; the others: {}.",
            rows.len() - differing.len(),
            rows.len(),
            differing.join("; ")
        ));
    }
    let beside: Vec<String> = [Verdict::Faster, Verdict::Level, Verdict::Slower]
        .into_iter()
        .filter_map(|verdict| {
            let rows: Vec<&speed::StoreSpeed> =
                rows.iter().filter(|row| Verdict::of(row.packed / row.slot) == verdict).collect();
            let each: Vec<String> = rows.iter().map(|row| told(row.name, row.packed / row.slot)).collect();
            (!each.is_empty()).then(|| format!("{} in {}", verdict.word(), each.join("; ")))
        })
        .collect();
    out.push(format!("Beside the packed store, the slot store is {}.", listed(&beside)));
    out.push(speed::HASHING.to_string());
    out
}

/// A row by name, with its ratio where there is a difference to tell.
fn told(name: &str, ratio: f64) -> String {
    match Verdict::of(ratio) {
        Verdict::Level => name.to_string(),
        _ => format!("{name} ({} times)", significant(ratio.max(1.0 / ratio))),
    }
}

fn against_map(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Faster => "faster than the map",
        Verdict::Level => "level with the map",
        Verdict::Slower => "slower than the map",
    }
}

/// Which place is the quickest for what, and what it costs to be in another.
pub(crate) fn placement(rows: &[placement::WorkTime]) -> Vec<String> {
    let mut out = Vec::new();
    for (at, place) in placement::PLACES.iter().enumerate() {
        let told = rows.iter().filter_map(|row| {
            let nanos = row.nanos();
            let level = nanos.iter().all(|other| *other / nanos[at] >= 1.0 / BAND);
            let most = nanos.iter().fold(0.0_f64, |most, other| most.max(*other));
            let worst = placement::name(placement::PLACES[nanos.iter().position(|other| *other == most)?]);
            let ahead = format!("{} ({} to {} ns, the {worst})", row.work, significant(nanos[at]), significant(most));
            (level && Verdict::of(most / nanos[at]) == Verdict::Faster).then_some(ahead)
        });
        let told: Vec<String> = told.collect();
        let name = placement::name(*place);
        if told.is_empty() {
            out.push(format!("The {name} is the quickest at nothing here."));
        } else {
            out.push(format!("The {name} is the quickest, or level with it, at {}.", told.join("; ")));
        }
    }
    let find = |work: &str| rows.iter().find(|row| row.work.starts_with(work));
    if let (Some(give), Some(take), Some(join)) = (find("inserting"), find("removing"), find("iterating over it with"))
    {
        let (change, walk) = (give.table + take.table - give.pool - take.pool, join.pool - join.table);
        if change > 0.0 && walk > 0.0 {
            out.push(format!(
                "A pool pays for itself where a value is inserted and removed at least once for every {} rows that are \
                 iterated together with a table.",
                significant(change / walk)
            ));
        }
    }
    out
}

pub(crate) fn removal(rows: &[removal::RemovalTime]) -> Vec<String> {
    let row = |way: Way, order: Order, count: usize| {
        rows.iter().find(|row| (row.way, row.order, row.count) == (way, order, count))
    };
    let [least, _, most] = COUNTS;
    let mut out = Vec::new();

    if let (Some(swap), Some(shift)) = (row(Way::Swap, Order::Random, most), row(Way::Shift, Order::Random, most)) {
        let about = if shift.is_estimated() { "an estimated " } else { "" };
        let verdict = match swap.is_level_with(shift) {
            true => "the difference is within the noise".to_string(),
            false => format!("swapping is {about}{}", compared(shift.mean() / swap.mean(), "shifting")),
        };
        out.push(format!(
            "Emptying a set of {} in random order takes {} by swapping and {about}{} by shifting: {verdict}.",
            thousands(most as u64),
            span(swap.mean()),
            span(shift.mean()),
        ));
    }

    let growth: Vec<String> = Way::ALL
        .iter()
        .filter_map(|&way| {
            let (small, large) = (row(way, Order::Random, least)?, row(way, Order::Random, most)?);
            if small.is_level_with(large) {
                return Some(format!("{way} takes as long within the noise"));
            }
            let ratio = large.mean() / small.mean();
            let exponent = ratio.ln() / (most as f64 / least as f64).ln();
            let about = if large.is_estimated() || small.is_estimated() { "an estimated " } else { "" };
            Some(format!(
                "{way} takes {about}{} times as long (as n to the power of {exponent:.1})",
                significant(ratio)
            ))
        })
        .collect();
    if !growth.is_empty() {
        out.push(format!("For {} times the values in random order, {}.", most / least, listed(&growth)));
    }

    let pairs: Vec<(&removal::RemovalTime, &removal::RemovalTime)> = Order::ALL
        .iter()
        .flat_map(|&order| COUNTS.map(|count| (order, count)))
        .filter_map(|(order, count)| Some((row(Way::Deferred, order, count)?, row(Way::Swap, order, count)?)))
        .collect();
    let apart = pairs.iter().filter(|(deferred, swap)| !deferred.is_level_with(swap));
    let ratios: Vec<f64> = apart.map(|(deferred, swap)| deferred.mean() / swap.mean()).collect();
    let level = pairs.len() - ratios.len();
    if ratios.is_empty() && level > 0 {
        out.push(format!(
            "Deferred removal keeps the order too; in all {level} pairs its difference from swapping is within the noise."
        ));
    } else if !ratios.is_empty() {
        let middle = (ratios.iter().map(|r| r.ln()).sum::<f64>() / ratios.len() as f64).exp();
        let (low, high) = ratios.iter().fold((f64::INFINITY, 0.0_f64), |(l, h), &r| (l.min(r), h.max(r)));
        let noise = match level {
            0 => String::new(),
            _ => format!("; in {level} more the difference is within the noise"),
        };
        out.push(format!(
            "Deferred removal keeps the order too, and takes {} times as long as swapping on average ({} to {} times over {} pairs{noise}).",
            significant(middle),
            significant(low),
            significant(high),
            ratios.len()
        ));
    }

    out.extend(observation("in shifting, reverse order is the quickest and linear the slowest", |count| {
        let [reverse, linear, random] = Order::ALL.map(|order| row(Way::Shift, order, count));
        Some(Answer::of(&[(reverse?, random?), (random?, linear?)]))
    }));
    out.extend(observation("in swapping, random order is the slowest", |count| {
        let [reverse, linear, random] = Order::ALL.map(|order| row(Way::Swap, order, count));
        Some(Answer::of(&[(linear?, random?), (reverse?, random?)]))
    }));

    let unrun: Vec<String> = rows
        .iter()
        .filter(|row| row.is_estimated())
        .map(|row| format!("{} {} {}", row.way, row.order, thousands(row.count as u64)))
        .collect();
    if !unrun.is_empty() {
        out.push(format!(
            "Not run for want of time, but scaled up from a smaller run by the square: {}.",
            listed(&unrun)
        ));
    }
    out
}

/// Whether something that the reference figures show holds here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Yes,
    No,
    /// It is a matter of differences within the noise.
    Noise,
}

impl Answer {
    /// Whether the first of each pair is quicker than the second.
    fn of(pairs: &[(&removal::RemovalTime, &removal::RemovalTime)]) -> Answer {
        let is_level = |(a, b): &(&removal::RemovalTime, &removal::RemovalTime)| a.is_level_with(b);
        if pairs.iter().any(|pair| pair.0.mean() > pair.1.mean() && !is_level(pair)) {
            Answer::No
        } else if pairs.iter().any(is_level) {
            Answer::Noise
        } else {
            Answer::Yes
        }
    }
}

/// Says whether something that the reference figures show holds here, count by count.
fn observation(what: &str, holds: impl Fn(usize) -> Option<Answer>) -> Option<String> {
    let answers: Vec<(usize, Answer)> = COUNTS.iter().filter_map(|&count| Some((count, holds(count)?))).collect();
    let with = |answer: Answer| -> Vec<String> {
        answers.iter().filter(|a| a.1 == answer).map(|a| thousands(a.0 as u64)).collect()
    };
    let (failing, noisy) = (with(Answer::No), with(Answer::Noise));
    let all = |some: &[String]| some.len() == answers.len();
    let noise = match noisy.is_empty() {
        true => String::new(),
        false => format!("; at {} the differences are within the noise", listed(&noisy)),
    };
    if answers.is_empty() {
        None
    } else if all(&noisy) {
        Some(format!("In the reference, {what}; here the differences are within the noise at every count."))
    } else if failing.is_empty() {
        Some(format!("As in the reference, {what}{noise}."))
    } else if all(&failing) {
        Some(format!("In the reference, {what}; here not at any count."))
    } else {
        Some(format!("In the reference, {what}; here not at {}{noise}.", listed(&failing)))
    }
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
    let frame = |layout| simulation.row(layout, FRAME).map(|row| row.time.min);
    if let (Some(structs), Some(lanes)) = (frame(World::Table), frame(World::Soa)) {
        out.push(format!(
            "A frame of {} entities takes {} with structs in tables and {} with lanes.",
            thousands(simulation.entities as u64),
            span(structs),
            span(lanes)
        ));
    }
    let median = |layout| simulation.row(layout, FRAME).map(|row| row.time.median);
    if let (Some(structs), Some(lanes)) = (median(World::Table), median(World::Soa)) {
        out.push(format!(
            "On this machine, with whatever else it does, half of the frames take up to {} with structs and {} with lanes.",
            span(structs),
            span(lanes)
        ));
    }
    for (system, what) in [("motion", "Moving all that moves"), ("extent", "Reading one field of all positions")] {
        let rows = World::ALL.map(|layout| simulation.row(layout, system));
        if let [Some(structs), Some(lanes)] = rows {
            let ratio = structs.time.min / lanes.time.min;
            let entities = thousands(structs.entities as u64);
            out.push(format!("{what} ({entities} entities), lanes are {}.", compared(ratio, "structs")));
        }
    }
    if let (Some(bullets), Some(stunned)) =
        (simulation.row(World::Table, "bullets"), simulation.row(World::Table, "stunning"))
    {
        out.push(format!(
            "Despawning an entity and spawning another takes {}, inserting or removing a component {}.",
            span(bullets.time.min / bullets.entities.max(1) as f64),
            span(stunned.time.min / stunned.entities.max(1) as f64)
        ));
    }
    for memory in &simulation.memory {
        let beyond = (memory.held - memory.components.min(memory.held)) as f64 / simulation.entities.max(1) as f64;
        out.push(format!(
            "The world in layout {} holds {}, of which {} are components: {} bytes an entity beyond them, room to grow included.",
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
