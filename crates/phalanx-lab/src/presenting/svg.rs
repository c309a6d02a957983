//! Drawing in SVG: shapes, text and scales. Colours come from the page's style sheet, by class.

use std::fmt::Write;

/// Text as it may stand in SVG and HTML.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(c),
        }
    }
    out
}

/// Which side of its point a text is on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// What stands at a point. Contenders differ in it, not in their colours alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    Dot,
    Diamond,
    Square,
    Triangle,
}

impl Mark {
    pub(crate) const ALL: [Mark; 4] = [Mark::Dot, Mark::Diamond, Mark::Square, Mark::Triangle];

    /// The same in a line of text.
    pub(crate) fn sign(self) -> char {
        match self {
            Mark::Dot => '●',
            Mark::Diamond => '◆',
            Mark::Square => '■',
            Mark::Triangle => '▲',
        }
    }
}

/// A drawing under way.
#[derive(Debug)]
pub(crate) struct Svg {
    width: f64,
    height: f64,
    label: String,
    body: String,
}

impl Svg {
    /// An empty drawing; `label` is what those hear who do not see it.
    pub(crate) fn new(width: f64, height: f64, label: &str) -> Svg {
        Svg { width, height, label: escape(label), body: String::new() }
    }

    pub(crate) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let ((x1, y1), (x2, y2)) = (from, to);
        self.put(format_args!("<line class=\"{class}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>"));
    }

    pub(crate) fn polyline(&mut self, class: &str, points: &[(f64, f64)]) {
        let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        self.put(format_args!("<polyline class=\"{class}\" points=\"{}\"/>", points.join(" ")));
    }

    /// Draws a mark; `title` shows when the pointer rests on it.
    pub(crate) fn mark(&mut self, class: &str, mark: Mark, at: (f64, f64), radius: f64, title: &str) {
        let ((x, y), r, title) = (at, radius, escape(title));
        let corners = match mark {
            Mark::Dot => {
                let circle = format!("<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{r}\">");
                return self.put(format_args!("{circle}<title>{title}</title></circle>"));
            }
            Mark::Diamond => vec![(x - r, y), (x, y - r), (x + r, y), (x, y + r)],
            Mark::Square => vec![(x - r, y - r), (x + r, y - r), (x + r, y + r), (x - r, y + r)],
            Mark::Triangle => vec![(x, y - r), (x + r, y + r), (x - r, y + r)],
        };
        let corners: Vec<String> = corners.iter().map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
        self.put(format_args!("<path class=\"{class}\" d=\"M{}Z\"><title>{title}</title></path>", corners.join("L")));
    }

    pub(crate) fn text(&mut self, class: &str, at: (f64, f64), anchor: Anchor, text: &str) {
        let ((x, y), text) = (at, escape(text));
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        self.put(format_args!(
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>"
        ));
    }

    pub(crate) fn finish(self) -> String {
        let Svg { width, height, label, body } = self;
        format!("<svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{label}\">\n{body}</svg>\n")
    }

    fn put(&mut self, shape: std::fmt::Arguments<'_>) {
        // Writing to a string does not fail.
        _ = writeln!(self.body, "{shape}");
    }
}

/// A logarithmic scale from values to places on the page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogScale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl LogScale {
    /// `low` is drawn at `from` and `high` at `to`; both are positive and differ.
    pub(crate) fn new((low, high): (f64, f64), (from, to): (f64, f64)) -> LogScale {
        LogScale { low: low.ln(), high: high.ln(), from, to }
    }

    pub(crate) fn at(self, value: f64) -> f64 {
        let share = (value.max(f64::MIN_POSITIVE).ln() - self.low) / (self.high - self.low);
        // What lies outside is drawn at the edge rather than off the page.
        self.from + (self.to - self.from) * share.clamp(0.0, 1.0)
    }
}

/// The decades that enclose the values: `(10, 1000)` for 20 and 300. At least one decade.
pub(crate) fn decades(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) = values
        .filter(|v| v.is_finite() && *v > 0.0)
        .fold((f64::INFINITY, 0.0_f64), |(low, high), v| (low.min(v), high.max(v)));
    if high == 0.0 {
        return (1.0, 10.0);
    }
    let (from, to) = (low.log10().floor(), high.log10().ceil());
    (10_f64.powf(from), 10_f64.powf(to.max(from + 1.0)))
}

/// Moves labels apart: places at least `gap` from each other, each as near to its own as that allows, in any order.
pub(crate) fn apart(wanted: &[f64], gap: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|&a, &b| wanted[a].total_cmp(&wanted[b]));
    // Neighbours that would touch form a block, centred on the mean of what its members wanted.
    let mut blocks: Vec<(f64, usize)> = Vec::new();
    for &who in &order {
        blocks.push((wanted[who], 1));
        while let [.., (low, n), (high, m)] = blocks[..] {
            if high - low >= gap * (n + m) as f64 / 2.0 {
                break;
            }
            let centre = (low * n as f64 + high * m as f64) / (n + m) as f64;
            blocks.truncate(blocks.len() - 2);
            blocks.push((centre, n + m));
        }
    }
    let places =
        blocks.iter().flat_map(|&(centre, n)| (0..n).map(move |i| centre + (i as f64 - (n - 1) as f64 / 2.0) * gap));
    let mut out = vec![0.0; wanted.len()];
    for (&who, place) in order.iter().zip(places) {
        out[who] = place;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawings_are_well_formed() {
        let mut svg = Svg::new(100.0, 50.0, "a < b & \"c\"");
        svg.line("grid", (0.0, 1.0), (2.0, 3.0));
        svg.polyline("c0", &[(0.0, 0.0), (1.0, 1.0)]);
        Mark::ALL.into_iter().for_each(|mark| svg.mark("c0", mark, (1.0, 1.0), 4.0, "<it's>"));
        svg.text("label", (1.0, 2.0), Anchor::End, "1 & 2");
        let text = svg.finish();
        let tree = roxmltree::Document::parse(&text).unwrap();
        assert_eq!(tree.root_element().attribute("aria-label"), Some("a < b & \"c\""));
        assert_eq!(tree.root_element().children().filter(|n| n.is_element()).count(), 7);
    }

    #[test]
    fn scales_and_decades() {
        let scale = LogScale::new((1.0, 100.0), (0.0, 200.0));
        assert_eq!([1.0, 10.0, 100.0, 1e9, 0.0].map(|v| scale.at(v).round()), [0.0, 100.0, 200.0, 200.0, 0.0]);
        assert_eq!(decades([20.0, 300.0].into_iter()), (10.0, 1000.0));
        assert_eq!(decades([10.0].into_iter()), (10.0, 100.0));
        assert_eq!(decades(std::iter::empty()), (1.0, 10.0));
    }

    #[test]
    fn labels_do_not_touch() {
        assert_eq!(apart(&[10.0, 50.0], 14.0), [10.0, 50.0]);
        assert_eq!(apart(&[20.0, 20.0, 20.0], 10.0), [10.0, 20.0, 30.0]);
        let places = apart(&[30.0, 10.0, 12.0, 29.0], 8.0);
        let mut sorted = places.clone();
        sorted.sort_by(f64::total_cmp);
        assert!(sorted.windows(2).all(|pair| pair[1] - pair[0] > 7.99), "{places:?}");
        assert!(places[1] < places[2] && places[3] < places[0]);
    }
}
