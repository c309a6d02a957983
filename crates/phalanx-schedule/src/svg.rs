//! [`Svg`]: a drawing made of boxes, lines and text.

use core::fmt::Write;

/// A drawing.
pub(crate) struct Svg {
    body: String,
    width: f64,
    height: f64,
}

const COLOURS: [&str; 6] = ["#8ecae6", "#b7e4c7", "#ffd6a5", "#d0bfff", "#ffadad", "#e9ecef"];

/// Returns text with the characters that XML reserves written as entities.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

impl Svg {
    pub(crate) fn new(width: f64, height: f64) -> Svg {
        Svg { body: String::new(), width, height }
    }

    /// Draws a box in the colour of a stage.
    pub(crate) fn bar(&mut self, [x, y, width, height]: [f64; 4], stage: usize, is_outlined: bool, title: &str) {
        let fill = COLOURS[stage % COLOURS.len()];
        let stroke = if is_outlined { "#c1121f" } else { "#495057" };
        let thick = if is_outlined { 2 } else { 1 };
        let _ = write!(
            self.body,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"3\" fill=\"{fill}\" \
             stroke=\"{stroke}\" stroke-width=\"{thick}\"><title>{}</title></rect>",
            escape(title)
        );
    }

    /// Writes text. The anchor is `start`, `middle` or `end`.
    pub(crate) fn text(&mut self, x: f64, y: f64, text: &str, anchor: &str) {
        let text = escape(text);
        let _ = write!(self.body, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>");
    }

    /// Draws an arrow with a title.
    pub(crate) fn arrow(&mut self, [x1, y1]: [f64; 2], [x2, y2]: [f64; 2], is_dashed: bool, title: &str) {
        let dash = if is_dashed { " stroke-dasharray=\"4 3\"" } else { "" };
        let bend = (y2 - y1) / 2.0;
        let _ = write!(
            self.body,
            "<path d=\"M{x1:.1} {y1:.1} C{x1:.1} {:.1} {x2:.1} {:.1} {x2:.1} {y2:.1}\" fill=\"none\" stroke=\"#495057\"{dash} \
             marker-end=\"url(#arrow)\"><title>{}</title></path>",
            y1 + bend,
            y2 - bend,
            escape(title)
        );
    }

    /// Returns the drawing.
    pub(crate) fn finish(self) -> String {
        let Svg { body, width, height } = self;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"sans-serif\" \
             font-size=\"12\"><defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" \
             markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"#495057\"/></marker></defs>\
             <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>{body}</svg>\n"
        )
    }
}
