//! The five pictures of the report.

use crate::measuring::removal::{COUNTS, Order, Way};
use crate::measuring::simulation::Simulation;
use crate::measuring::stats::Summary;
use crate::measuring::{footprint, placement as places, removal, speed};
use crate::presenting::chart::{Axis, Frame, Point, Series, panel};
use crate::presenting::figures::{bytes, percent, range, rough_span, span, thousands, tick_span};
use crate::presenting::sheet::side_by_side;
use crate::presenting::svg::{Anchor, LogScale, Mark, Svg, decades};
use phalanx_store::memory::Layout;

const WIDTH: f64 = 960.0;

/// The colour classes, in the order of [`Mark::ALL`]. A contender has the same number in both.
pub(crate) const COLOURS: [&str; 4] = ["c0", "c1", "c2", "c3"];

/// A row of a picture: its name, and the times of the contenders in it.
struct Row<'a> {
    name: &'a str,
    times: Vec<(&'a str, Summary)>,
}

/// Draws a mark for the median of each contender in each row, on a logarithmic axis, with a line over the middle half of its runs.
fn rows(label: &str, left: f64, rows: &[Row<'_>]) -> String {
    const ROW: f64 = 38.0;
    const TOP: f64 = 14.0;
    let right = WIDTH - 40.0;
    let bottom = TOP + ROW * rows.len() as f64;
    let mut svg = Svg::new(WIDTH, bottom + 30.0, label);
    let scale = decades(rows.iter().flat_map(|row| row.times.iter().map(|(_, time)| time.median)));
    let across = LogScale::new(scale, (left, right));
    for tick in powers(scale) {
        svg.line("grid", (across.at(tick), TOP), (across.at(tick), bottom));
        svg.text("tick", (across.at(tick), bottom + 20.0), Anchor::Middle, &tick_span(tick));
    }
    for (index, row) in rows.iter().enumerate() {
        let y = TOP + ROW * (index as f64 + 0.5);
        svg.text("row", (0.0, y + 4.0), Anchor::Start, row.name);
        svg.line("grid", (left, y), (right, y));
        for (who, (name, time)) in row.times.iter().enumerate() {
            let colour = COLOURS[who];
            // Level contenders would hide each other.
            let y = y + (who as f64 - (row.times.len() - 1) as f64 / 2.0) * 6.0;
            svg.line(&format!("stem {colour}"), (across.at(time.low), y), (across.at(time.high), y));
            let title = format!("{name}: {} (middle half {})", span(time.median), range(time.low, time.high));
            svg.mark(&format!("mark {colour}"), Mark::ALL[who], (across.at(time.median), y), 5.0, &title);
        }
    }
    svg.finish()
}

/// Nanoseconds of each scenario, by store or map.
pub(crate) fn speed(all: &[speed::StoreSpeed]) -> String {
    let all: Vec<Row<'_>> = all
        .iter()
        .map(|row| Row { name: row.name, times: speed::CONTENDERS.into_iter().zip(row.times()).collect() })
        .collect();
    rows("Time of each scenario, by store or map", 180.0, &all)
}

/// The time of each system in a frame, by layout.
pub(crate) fn world(simulation: &Simulation) -> String {
    let all: Vec<Row<'_>> = side_by_side(simulation)
        .map(|pair| Row { name: pair[0].system, times: pair.map(|row| (row.layout.name(), row.time)).to_vec() })
        .collect();
    rows("Time of each system in a frame, by layout", 180.0, &all)
}

/// Nanoseconds of each kind of work, by place.
pub(crate) fn placement(all: &[places::WorkTime]) -> String {
    let names = places::PLACES.map(places::name);
    let all: Vec<Row<'_>> =
        all.iter().map(|row| Row { name: row.work, times: names.into_iter().zip(row.times()).collect() }).collect();
    rows("Time of each kind of work, by where the component is kept", 250.0, &all)
}

/// The time to remove everything, a panel for each order, a line for each way; estimates dashed and hollow.
pub(crate) fn removal(rows: &[removal::RemovalTime]) -> String {
    let mut svg = Svg::new(WIDTH, 360.0, "Time to remove every element, by order, way and count");
    let range = decades(rows.iter().map(|row| row.time.median));
    let y = Axis { range, ticks: powers(range).map(|value| (value, tick_span(value))).collect() };
    let (first, last) = (COUNTS[0] as f64, COUNTS[COUNTS.len() - 1] as f64);
    let x = Axis {
        range: (first * 0.9, last * 1.1),
        ticks: COUNTS.map(|count| (count as f64, format!("{}k", count / 1000))).to_vec(),
    };
    for (index, order) in Order::ALL.into_iter().enumerate() {
        let frame = Frame { left: 66.0 + 302.0 * index as f64, top: 44.0, width: 198.0, height: 270.0 };
        let line = |way: Way| {
            let of_way = rows.iter().filter(|row| (row.way, row.order) == (way, order));
            let points = of_way.map(|row| {
                let (is_estimate, median) = (row.time.is_estimate(), row.time.median);
                let time = if is_estimate { format!("{}, estimated", rough_span(median)) } else { span(median) };
                let title = format!("{way}, {} values: {time}", thousands(row.count as u64));
                Point { at: (row.count as f64, median), is_estimate, title }
            });
            let (colour, mark) = (COLOURS[way as usize], Mark::ALL[way as usize]);
            Series { label: way.to_string(), colour, mark, faint: false, points: points.collect() }
        };
        panel(&mut svg, frame, &format!("{order} order"), &x, &y, index == 0, &Way::ALL.map(line));
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
            let line = |faint, label: &str, value: fn(footprint::Footprint) -> u64| Series {
                label: label.to_string(),
                colour: COLOURS[layout as usize],
                mark: Mark::ALL[layout as usize],
                faint,
                points: rows
                    .iter()
                    .filter(|row| value(row.of(layout)) > 0)
                    .map(|row| {
                        let count = value(row.of(layout));
                        let title = format!("{layout}, {}: {}", percent(row.utilisation), bytes(count));
                        Point { at: (row.utilisation, count as f64), is_estimate: false, title }
                    })
                    .collect(),
            };
            // Where the model is right, its line would only hide the other.
            if rows.iter().any(|row| row.of(layout).model != row.of(layout).measured) {
                series.push(line(true, "", |f| f.model));
            }
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

/// The powers of ten in a range.
fn powers((low, high): (f64, f64)) -> impl Iterator<Item = f64> {
    let (from, to) = (low.log10().round() as i32, high.log10().round() as i32);
    (from..=to).map(|power| 10_f64.powi(power))
}
