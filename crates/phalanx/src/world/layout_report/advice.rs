//! Chooses the layout that suits the counted accesses.
//!
//! Each kind of access has a price in each layout, in nanoseconds, from `phalanx demo` on the machine of the README. There half of
//! 100,000 entities had the component, beside 72 bytes in tables. Only the ratio of the prices matters, and only where it is
//! clear.

use super::{Advice, ComponentReport, Placement};

/// The prices of accesses in a layout.
struct Prices {
    placement: Placement,
    /// One insert and one remove.
    change: f64,
    /// A row of an iteration over it alone.
    alone: f64,
    /// A row of an iteration over it and a table component.
    together: f64,
    /// A lookup by entity.
    by_entity: f64,
}

const PRICES: [Prices; 3] = [
    Prices { placement: Placement::Table, change: 114.0, alone: 1.0, together: 0.8, by_entity: 4.0 },
    Prices { placement: Placement::Pool, change: 21.0, alone: 1.0, together: 5.1, by_entity: 4.8 },
    Prices { placement: Placement::Linear, change: 13.0, alone: 1.0, together: 2.4, by_entity: 3.3 },
];

/// The share of the present cost that another layout must save.
const WORTH: f64 = 0.15;

/// The share of the slots that must have a component for which a linear storage is advised. Its positions grow with the world, and
/// iterations skip the empty ones.
const MOST: f64 = 0.5;

/// Returns the cost of a component's accesses by kind: changes, rows alone, rows together, lookups.
fn costs(report: &ComponentReport, prices: &Prices) -> [f64; 4] {
    let alone = report.visited - report.together;
    // A tenth of a value for each gap: 64 bits are tested at once, but more cache lines are read.
    let gaps = match prices.placement {
        Placement::Linear if report.values > 0 => 0.9 + 0.1 / report.utilisation.max(1e-3),
        _ => 1.0,
    };
    [
        report.taken as f64 * prices.change,
        alone as f64 * prices.alone * gaps,
        report.together as f64 * prices.together,
        report.by_entity.unwrap_or(0) as f64 * prices.by_entity,
    ]
}

/// Returns the advice for a component.
pub(super) fn advise(report: &ComponentReport, counted: bool) -> Advice {
    let stay = |reason: &str| Advice { placement: report.placement, reason: reason.to_string() };
    if !counted {
        return stay("accesses were not counted");
    }
    if report.taken + report.visited + report.by_entity.unwrap_or(0) == 0 {
        return stay("nothing was done with it");
    }
    let of = |prices: &Prices| costs(report, prices);
    let total = |prices: &Prices| of(prices).iter().sum::<f64>();
    let now = match report.placement {
        // Columns of fields are a table, except to lookups, which join the fields.
        Placement::Table | Placement::Soa => &PRICES[0],
        Placement::Pool => &PRICES[1],
        Placement::Linear => &PRICES[2],
    };
    let fits = |prices: &&Prices| prices.placement != Placement::Linear || report.utilisation >= MOST;
    let best = PRICES.iter().filter(fits).min_by(|a, b| total(a).total_cmp(&total(b))).unwrap_or(now);
    if total(best) > total(now) * (1.0 - WORTH) {
        return settled(report, of(now));
    }
    let savings: [f64; 4] = core::array::from_fn(|at| of(now)[at] - of(best)[at]);
    let why = match greatest(savings) {
        0 => match now.placement {
            Placement::Table => {
                format!("it was removed {} times from entities that stay, and each time a row moved", report.taken)
            }
            _ => format!("it was removed {} times from entities that stay, and nothing else moves there", report.taken),
        },
        1 => format!("{} values were visited alone, and there they are contiguous", report.visited - report.together),
        2 => match best.placement {
            Placement::Table => {
                format!(
                    "{} rows were visited together with other components, and there they have the same order",
                    report.together
                )
            }
            _ => format!(
                "{} rows were visited together with other components, and there no index is read",
                report.together
            ),
        },
        _ => format!(
            "it was looked up {} times by entity, and {:.0} % of the slots have it: no index is read there",
            report.by_entity.unwrap_or(0),
            100.0 * report.utilisation
        ),
    };
    Advice { placement: best.placement, reason: why }
}

/// Returns the advice to keep the layout, with a reason by the greatest cost.
fn settled(report: &ComponentReport, costs: [f64; 4]) -> Advice {
    let looked_up = greatest(costs) == 3;
    if report.placement == Placement::Soa && looked_up {
        let reason =
            "it is looked up by entity more than it is iterated, and each look-up joins its fields".to_string();
        return Advice { placement: Placement::Table, reason };
    }
    let reason = match (greatest(costs), report.placement) {
        (0, _) => "it is inserted and removed, and that is cheap there",
        (1 | 2, Placement::Table) => {
            "it is iterated, in the order of the other components; soa, if loops read single fields"
        }
        (1 | 2, Placement::Soa) => "it is iterated, a lane for each field",
        (1 | 2, _) => "it is iterated, and no other layout is much better",
        _ => "it is looked up by entity, and no other layout is much better",
    };
    Advice { placement: report.placement, reason: reason.to_string() }
}

/// Returns the index of the greatest figure.
fn greatest(figures: [f64; 4]) -> usize {
    (0..4).max_by(|a, b| figures[*a].total_cmp(&figures[*b])).unwrap_or(0)
}
