//! A plot of means with their ranges, as SVG.

use std::fmt::Write;

/// What a parameter led to: its value, and the least, mean and greatest outcome.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Point {
    pub(crate) at: f64,
    pub(crate) low: f64,
    pub(crate) mean: f64,
    pub(crate) high: f64,
}

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 400.0;
const MARGIN: f64 = 56.0;

/// Draws the points. Outcomes are from 0 to 1.
pub(crate) fn svg(points: &[Point], title: &str, across: &str, up: &str) -> String {
    let least = points.iter().map(|point| point.at).fold(f64::INFINITY, f64::min).min(0.0);
    let most = points.iter().map(|point| point.at).fold(f64::NEG_INFINITY, f64::max).max(least + 1e-9);
    let x = |at: f64| MARGIN + (at - least) / (most - least) * (WIDTH - 1.5 * MARGIN);
    let y = |outcome: f64| HEIGHT - MARGIN - outcome * (HEIGHT - 2.0 * MARGIN);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"{}\" y=\"24\" text-anchor=\"middle\" font-size=\"15\">{title}</text>\n\
         <text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{across}</text>\n\
         <text transform=\"translate(16 {}) rotate(-90)\" text-anchor=\"middle\">{up}</text>\n",
        WIDTH / 2.0,
        WIDTH / 2.0,
        HEIGHT - 12.0,
        HEIGHT / 2.0,
    );
    for tenth in (0..=10).step_by(2) {
        let outcome = f64::from(tenth) / 10.0;
        let (left, right, at) = (x(least), x(most), y(outcome));
        let _ = writeln!(text, "<path d=\"M{left:.1} {at:.1}H{right:.1}\" stroke=\"#ddd\"/>");
        let _ = writeln!(
            text,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{outcome:.1}</text>",
            left - 6.0,
            at + 4.0
        );
    }
    for point in points {
        let (at, bottom) = (x(point.at), HEIGHT - MARGIN + 18.0);
        let _ = writeln!(
            text,
            "<path d=\"M{at:.1} {:.1}V{:.1}\" stroke=\"#9ab\" stroke-width=\"3\"/>",
            y(point.low),
            y(point.high)
        );
        let _ = writeln!(text, "<text x=\"{at:.1}\" y=\"{bottom:.1}\" text-anchor=\"middle\">{}</text>", point.at);
    }
    let line: Vec<String> = points.iter().map(|point| format!("{:.1} {:.1}", x(point.at), y(point.mean))).collect();
    let _ = writeln!(text, "<path d=\"M{}\" fill=\"none\" stroke=\"#147\" stroke-width=\"2\"/>", line.join("L"));
    for point in points {
        let _ = writeln!(text, "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"4\" fill=\"#147\"/>", x(point.at), y(point.mean));
    }
    text.push_str("</svg>\n");
    text
}
