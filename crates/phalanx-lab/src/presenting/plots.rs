//! The five pictures of the report.

use crate::measuring::removal::{COUNTS, Order, Way};
use crate::measuring::simulation::Simulation;
use crate::measuring::{footprint, placement as places, removal, speed};
use crate::presenting::chart::{Axis, Frame, Series, panel};
use crate::presenting::figures::{bytes, percent, span, thousands, times};
use crate::presenting::svg::{Anchor, LogScale, Svg, decades};
use crate::presenting::text::side_by_side;
use phalanx_store::memory::Layout;

const WIDTH: f64 = 960.0;

/// The colour class of a layout, the same in every picture.
pub(crate) fn layout_colour(layout: Layout) -> &'static str {
    match layout {
        Layout::Packed => "c0",
        Layout::Slot => "c1",
        Layout::Sparse => "c2",
        Layout::Linear => "c3",
    }
}

/// The colour class of a way to remove.
pub(crate) fn way_colour(way: Way) -> &'static str {
    match way {
        Way::Swap => "c0",
        Way::Shift => "c1",
        Way::Deferred => "c2",
    }
}

/// How many times as fast as the map: a dot for the packed store, a diamond for the slot store, a ring for the reference.
pub(crate) fn speed(rows: &[speed::StoreSpeed]) -> String {
    const ROW: f64 = 50.0;
    const TOP: f64 = 34.0;
    let (left, right) = (180.0, WIDTH - 130.0);
    let bottom = TOP + ROW * rows.len() as f64;
    let mut svg = Svg::new(WIDTH, bottom + 30.0, "How many times as fast as the map each store is, by scenario");
    let ratios = rows.iter().flat_map(|row| [row.ratio, row.slot_ratio, row.reference_ratio]);
    let (low, high) = ratios.fold((0.8_f64, 2.0_f64), |(low, high), r| (low.min(r), high.max(r)));
    let range = (2_f64.powf(low.log2().floor()), 2_f64.powf(high.log2().ceil()));
    let across = LogScale::new(range, (left, right));

    let mut tick = range.0;
    while tick <= range.1 * 1.01 {
        let class = if (tick - 1.0).abs() < 1e-9 { "axis" } else { "grid" };
        svg.line(class, (across.at(tick), TOP), (across.at(tick), bottom));
        let words = if tick < 1.0 { format!("1/{:.0}", 1.0 / tick) } else { format!("{tick:.0}×") };
        svg.text("tick", (across.at(tick), bottom + 20.0), Anchor::Middle, &words);
        tick *= 2.0;
    }
    svg.text("tick", (across.at(1.0) + 8.0, TOP - 12.0), Anchor::Start, "faster than the map →");
    svg.text("tick", (WIDTH, TOP - 12.0), Anchor::End, "reference");
    for (index, row) in rows.iter().enumerate() {
        let y = TOP + ROW * (index as f64 + 0.5);
        svg.text("row", (0.0, y + 4.0), Anchor::Start, row.name);
        svg.line("stem c0", (across.at(1.0), y), (across.at(row.ratio), y));
        let reference = times(row.reference_ratio);
        svg.dot("hollow quiet", (across.at(row.reference_ratio), y), 5.0, &format!("reference: {reference}"));
        svg.diamond("mark c1", (across.at(row.slot_ratio), y), 5.5, &format!("slot store: {}", times(row.slot_ratio)));
        svg.dot("dot c0", (across.at(row.ratio), y), 6.5, &format!("packed store: {}", times(row.ratio)));
        svg.text("name c0", (across.at(row.ratio), y - 12.0), Anchor::Middle, &times(row.ratio));
        svg.text("tick", (WIDTH, y + 4.0), Anchor::End, &reference);
    }
    svg.finish()
}

/// The time to remove everything, a panel for each order, a line for each way; reference figures dashed.
pub(crate) fn removal(rows: &[removal::RemovalTime]) -> String {
    let mut svg = Svg::new(WIDTH, 360.0, "Time to remove every element, by order, way and count");
    let times = rows.iter().flat_map(|row| [Some(row.mean()), row.reference_mean]).flatten();
    let range = decades(times);
    let ticks = powers(range).map(|value| (value, span(value).replace(".00", "").replace(".0 ", " "))).collect();
    let y = Axis { range, ticks };
    let (first, last) = (COUNTS[0] as f64, COUNTS[COUNTS.len() - 1] as f64);
    let x = Axis {
        range: (first * 0.9, last * 1.1),
        ticks: COUNTS.map(|count| (count as f64, format!("{}k", count / 1000))).to_vec(),
    };
    for (index, order) in Order::ALL.into_iter().enumerate() {
        let frame = Frame { left: 66.0 + 302.0 * index as f64, top: 44.0, width: 210.0, height: 270.0 };
        let mut series = Vec::new();
        for way in Way::ALL {
            let rows = || rows.iter().filter(move |row| (row.way, row.order) == (way, order));
            let reference: Vec<_> = rows()
                .filter_map(|row| {
                    Some((
                        row.count as f64,
                        row.reference_mean?,
                        format!("reference, {way}: {}", span(row.reference_mean?)),
                    ))
                })
                .collect();
            if !reference.is_empty() {
                series.push(Series { label: String::new(), colour: way_colour(way), faint: true, points: reference });
            }
            let points = rows()
                .map(|row| {
                    let title =
                        format!("{way}, {} values: {} ({})", thousands(row.count as u64), span(row.mean()), row.note());
                    (row.count as f64, row.mean(), title)
                })
                .collect();
            series.push(Series { label: way.to_string(), colour: way_colour(way), faint: false, points });
        }
        panel(&mut svg, frame, &format!("{order} order"), &x, &y, index == 0, &series);
    }
    svg.finish()
}

/// Bytes by utilisation, a panel for each size; dots are containers, dashed lines the model.
pub(crate) fn memory(rows: &[footprint::MemoryUse]) -> String {
    let mut sizes: Vec<u64> = rows.iter().map(|row| row.size).collect();
    sizes.dedup();
    let mut svg = Svg::new(WIDTH, 370.0, "Bytes that each container holds, by utilisation and size of the value");
    let range = decades(rows.iter().flat_map(|row| row.layouts.iter().map(|f| f.measured as f64)));
    let y = Axis {
        range,
        ticks: powers(range).map(|value| (value, bytes(value as u64).replace(".00", "").replace(".0 ", " "))).collect(),
    };
    let pitch = (WIDTH - 66.0) / sizes.len().max(1) as f64;
    for (index, size) in sizes.into_iter().enumerate() {
        let rows: Vec<_> = rows.iter().filter(|row| row.size == size).collect();
        let entities = rows.first().map_or(0, |row| row.entities);
        let low = rows.iter().map(|row| row.utilisation).fold(1.0, f64::min);
        let ticks = [0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0];
        let x = Axis {
            range: (low.min(0.5) * 0.9, 1.1),
            ticks: ticks.into_iter().filter(|&u| u >= low).map(|u| (u, percent(u))).collect(),
        };
        let frame = Frame { left: 66.0 + pitch * index as f64, top: 44.0, width: pitch - 92.0, height: 270.0 };
        let mut series = Vec::new();
        for layout in Layout::ALL {
            let colour = layout_colour(layout);
            let line = |faint, label: &str, value: fn(footprint::Footprint) -> u64| Series {
                label: label.to_string(),
                colour,
                faint,
                points: rows
                    .iter()
                    .filter(|row| value(row.of(layout)) > 0)
                    .map(|row| {
                        let count = value(row.of(layout));
                        (
                            row.utilisation,
                            count as f64,
                            format!("{layout}, {}: {}", percent(row.utilisation), bytes(count)),
                        )
                    })
                    .collect(),
            };
            series.push(line(true, "", |f| f.model));
            series.push(line(false, layout.name(), |f| f.measured));
        }
        panel(
            &mut svg,
            frame,
            &format!("values of {size} bytes, {} entities", thousands(entities)),
            &x,
            &y,
            index == 0,
            &series,
        );
        svg.text(
            "tick",
            (frame.left + frame.width / 2.0, 356.0),
            Anchor::Middle,
            "share of entities that have a value",
        );
    }
    svg.finish()
}

/// The time of each system in a frame: a dot for structs in a table, a diamond for lanes.
pub(crate) fn world(simulation: &Simulation) -> String {
    const ROW: f64 = 38.0;
    const TOP: f64 = 14.0;
    let rows: Vec<_> = side_by_side(simulation).collect();
    let (left, right) = (180.0, WIDTH - 40.0);
    let bottom = TOP + ROW * rows.len() as f64;
    let mut svg = Svg::new(WIDTH, bottom + 30.0, "Time of each system in a frame, by layout");
    let range = decades(rows.iter().flatten().map(|row| row.time.min));
    let across = LogScale::new(range, (left, right));
    for tick in powers(range) {
        svg.line("grid", (across.at(tick), TOP), (across.at(tick), bottom));
        let words = span(tick).replace(".00", "").replace(".0 ", " ");
        svg.text("tick", (across.at(tick), bottom + 20.0), Anchor::Middle, &words);
    }
    for (index, [structs, lanes]) in rows.iter().enumerate() {
        let y = TOP + ROW * (index as f64 + 0.5);
        let at = |row: &crate::measuring::simulation::SystemTime| (across.at(row.time.min), y);
        svg.text("row", (0.0, y + 4.0), Anchor::Start, structs.system);
        svg.line("stem c2", at(structs), at(lanes));
        let title = |row: &crate::measuring::simulation::SystemTime| {
            format!("{}: {}, {} entities", row.layout.name(), span(row.time.min), thousands(row.entities as u64))
        };
        svg.diamond("mark c2", at(lanes), 5.5, &title(lanes));
        svg.dot("dot c0", at(structs), 6.0, &title(structs));
    }
    svg.finish()
}

/// Nanoseconds of each kind of work: a dot for the table, a diamond for the pool, a dot for the linear store.
pub(crate) fn placement(rows: &[places::WorkTime]) -> String {
    const ROW: f64 = 38.0;
    const TOP: f64 = 14.0;
    let (left, right) = (250.0, WIDTH - 40.0);
    let bottom = TOP + ROW * rows.len() as f64;
    let mut svg = Svg::new(WIDTH, bottom + 30.0, "Time of each kind of work, by where the component is kept");
    let range = decades(rows.iter().flat_map(places::WorkTime::nanos));
    let across = LogScale::new(range, (left, right));
    for tick in powers(range) {
        svg.line("grid", (across.at(tick), TOP), (across.at(tick), bottom));
        let words = span(tick).replace(".00", "").replace(".0 ", " ");
        svg.text("tick", (across.at(tick), bottom + 20.0), Anchor::Middle, &words);
    }
    for (index, row) in rows.iter().enumerate() {
        let y = TOP + ROW * (index as f64 + 0.5);
        let nanos = row.nanos();
        let (least, most) = nanos.iter().fold((f64::INFINITY, 0.0_f64), |(l, m), n| (l.min(*n), m.max(*n)));
        svg.text("row", (0.0, y + 4.0), Anchor::Start, row.work);
        svg.line("stem c1", (across.at(least), y), (across.at(most), y));
        for (place, nanos) in places::PLACES.iter().zip(nanos) {
            let title = format!("{place}: {} for each {}", span(nanos), row.per);
            match place {
                phalanx::report::Placement::Pool => svg.diamond("mark c2", (across.at(nanos), y), 5.5, &title),
                phalanx::report::Placement::Linear => svg.dot("dot c3", (across.at(nanos), y), 6.0, &title),
                _ => svg.dot("dot c0", (across.at(nanos), y), 6.0, &title),
            }
        }
    }
    svg.finish()
}

/// The powers of ten in a range.
fn powers((low, high): (f64, f64)) -> impl Iterator<Item = f64> {
    let (from, to) = (low.log10().round() as i32, high.log10().round() as i32);
    (from..=to).map(|power| 10_f64.powi(power))
}
