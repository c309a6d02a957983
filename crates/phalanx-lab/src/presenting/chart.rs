//! A panel of lines on two logarithmic axes, each line labelled at its end.

use crate::presenting::svg::{Anchor, LogScale, Mark, Svg, apart};

/// One line of a panel.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    /// At the end of the line; empty for a line that explains itself.
    pub(crate) label: String,
    /// The class of its colour.
    pub(crate) colour: &'static str,
    pub(crate) mark: Mark,
    /// Whether it is only there to compare with: dashed, with hollow marks.
    pub(crate) faint: bool,
    pub(crate) points: Vec<Point>,
}

/// A point of a line.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    pub(crate) at: (f64, f64),
    /// Whether it was not measured: its mark is hollow, and the line to it is dashed.
    pub(crate) is_estimate: bool,
    /// What to say of it.
    pub(crate) title: String,
}

/// An axis: the values at its ends, and where to draw a line with which words.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    pub(crate) range: (f64, f64),
    pub(crate) ticks: Vec<(f64, String)>,
}

/// Where a panel is on the page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

const LABEL_GAP: f64 = 15.0;

/// Draws a panel. `with_y` is off for panels that share the axis of their neighbour on the left.
pub(crate) fn panel(svg: &mut Svg, frame: Frame, title: &str, x: &Axis, y: &Axis, with_y: bool, series: &[Series]) {
    let Frame { left, top, width, height } = frame;
    let (right, bottom) = (left + width, top + height);
    let across = LogScale::new(x.range, (left, right));
    let up = LogScale::new(y.range, (bottom, top));

    svg.text("title", (left, top - 14.0), Anchor::Start, title);
    for (value, words) in &y.ticks {
        let at = up.at(*value);
        svg.line("grid", (left, at), (right, at));
        if with_y {
            svg.text("tick", (left - 8.0, at + 4.0), Anchor::End, words);
        }
    }
    for (value, words) in &x.ticks {
        let at = across.at(*value);
        svg.line("axis", (at, bottom), (at, bottom + 5.0));
        svg.text("tick", (at, bottom + 19.0), Anchor::Middle, words);
    }
    svg.line("axis", (left, bottom), (right, bottom));

    // Faint lines first: what was measured lies over what it is compared with.
    for faint in [true, false] {
        for line in series.iter().filter(|line| line.faint == faint) {
            let points: Vec<(f64, f64)> = line.points.iter().map(|p| (across.at(p.at.0), up.at(p.at.1))).collect();
            for (ends, pair) in points.windows(2).zip(line.points.windows(2)) {
                let stroke = if faint || pair[1].is_estimate { "line faint" } else { "line" };
                svg.polyline(&format!("{stroke} {}", line.colour), ends);
            }
            for (&at, point) in points.iter().zip(&line.points) {
                let (class, radius) = match faint || point.is_estimate {
                    true => ("hollow", 3.5),
                    false => ("mark", 4.5),
                };
                svg.mark(&format!("{class} {}", line.colour), line.mark, at, radius, &point.title);
            }
        }
    }

    let labelled: Vec<(&Series, f64)> = series
        .iter()
        .filter(|line| !line.label.is_empty())
        .filter_map(|line| line.points.last().map(|last| (line, up.at(last.at.1))))
        .collect();
    let wanted: Vec<f64> = labelled.iter().map(|(_, at)| *at).collect();
    for ((line, _), at) in labelled.iter().zip(apart(&wanted, LABEL_GAP)) {
        svg.text(
            &format!("name {}", line.colour),
            (right + 10.0, at + 4.0),
            Anchor::Start,
            &format!("{} {}", line.mark.sign(), line.label),
        );
    }
}
