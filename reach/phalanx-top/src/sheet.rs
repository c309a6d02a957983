//! [`Sheet`]: a table of texts, and how it is drawn.

use crate::theme::Theme;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;
use ratatui_core::text::Span;

/// The widest column that is not the last.
const COLUMN_LIMIT: usize = 36;

/// A table of texts, with some lines above it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Sheet {
    pub(crate) lead: Vec<String>,
    pub(crate) head: Vec<Head>,
    pub(crate) rows: Vec<Vec<String>>,
}

/// The head of a column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Head {
    pub(crate) name: String,
    /// Whether the column is set flush right.
    pub(crate) is_number: bool,
}

/// Which part of a sheet is drawn, and what is chosen in it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Window {
    /// The first row that is drawn.
    pub(crate) top: usize,
    /// The chosen row.
    pub(crate) row: Option<usize>,
    /// The chosen column.
    pub(crate) column: Option<usize>,
}

/// Returns the number of columns of the terminal that a text takes.
pub(crate) fn width(text: &str) -> usize {
    Span::raw(text).width()
}

/// Writes a text that is cut at a width, with an ellipsis.
pub(crate) fn put(buffer: &mut Buffer, area: Rect, x: u16, y: u16, text: &str, most: usize, style: Style) {
    let most = most.min(usize::from(area.right().saturating_sub(x)));
    if most == 0 || y >= area.bottom() {
        return;
    }
    if width(text) <= most {
        buffer.set_stringn(x, y, text, most, style);
    } else {
        let (end, _) = buffer.set_stringn(x, y, text, most - 1, style);
        buffer.set_stringn(end, y, "…", 1, style);
    }
}

impl Sheet {
    pub(crate) fn new(head: &[(&str, bool)]) -> Sheet {
        let head = head.iter().map(|(name, is_number)| Head { name: (*name).into(), is_number: *is_number });
        Sheet { head: head.collect(), ..Sheet::default() }
    }

    /// Creates a sheet with one line of text.
    pub(crate) fn note(text: impl Into<String>) -> Sheet {
        Sheet { lead: vec![text.into()], ..Sheet::default() }
    }

    /// Returns the number of lines above the rows.
    pub(crate) fn lines_above(&self) -> usize {
        self.lead.len() + usize::from(!self.head.is_empty())
    }

    /// Returns the widths of the columns.
    fn widths(&self, rows: &[Vec<String>]) -> Vec<usize> {
        let mut widths: Vec<usize> = self.head.iter().map(|head| width(&head.name)).collect();
        for row in rows {
            for (most, cell) in widths.iter_mut().zip(row) {
                *most = (*most).max(width(cell));
            }
        }
        let last = widths.len().saturating_sub(1);
        widths.iter_mut().take(last).for_each(|width| *width = (*width).min(COLUMN_LIMIT));
        widths
    }

    /// Draws the sheet. The first column stays; others move so that the chosen one is seen.
    pub(crate) fn draw(&self, buffer: &mut Buffer, area: Rect, window: Window, theme: &Theme) {
        let mut y = area.y;
        for line in &self.lead {
            put(buffer, area, area.x, y, line, usize::from(area.width), theme.plain);
            y += 1;
        }
        if self.head.is_empty() || y >= area.bottom() {
            return;
        }
        let left = usize::from(area.bottom() - y).saturating_sub(1);
        let from = window.top.min(self.rows.len());
        let shown = &self.rows[from..(from + left).min(self.rows.len())];
        let widths = self.widths(shown);
        let first = first_column(&widths, window.column.unwrap_or(0), usize::from(area.width));
        let draw_row =
            |buffer: &mut Buffer, y: u16, cells: &mut dyn Iterator<Item = &str>, style: Style, row: Option<usize>| {
                let mut x = area.x;
                for (at, cell) in cells.enumerate() {
                    if (at > 0 && at < first) || x >= area.right() || at >= widths.len() {
                        continue;
                    }
                    let is_chosen = row.is_some() && row == window.row && window.column == Some(at);
                    let style = if is_chosen { theme.cell } else { style };
                    let room = widths[at].min(usize::from(area.right() - x));
                    let indent = if self.head[at].is_number { room.saturating_sub(width(cell)) } else { 0 };
                    put(buffer, area, x + indent as u16, y, cell, room - indent, style);
                    x = x.saturating_add(room as u16).saturating_add(2);
                }
            };
        draw_row(buffer, y, &mut self.head.iter().map(|head| head.name.as_str()), theme.head, None);
        for (at, row) in shown.iter().enumerate() {
            let (number, y) = (from + at, y + 1 + at as u16);
            let style = if window.row == Some(number) { theme.chosen } else { theme.plain };
            draw_row(buffer, y, &mut row.iter().map(String::as_str), style, Some(number));
            if window.row == Some(number) {
                buffer.set_style(Rect::new(area.x, y, area.width, 1), theme.chosen);
            }
        }
    }

    /// Writes the sheet as lines, for a terminal of a width.
    pub(crate) fn to_text(&self, columns: u16) -> String {
        let lines = (self.lines_above() + self.rows.len()).min(usize::from(u16::MAX)) as u16;
        let area = Rect::new(0, 0, columns, lines.max(1));
        let mut buffer = Buffer::empty(area);
        self.draw(&mut buffer, area, Window::default(), &Theme::plain());
        lines_of(&buffer)
    }
}

/// Returns the first column after column 0 that is drawn, so that the chosen one is seen.
fn first_column(widths: &[usize], chosen: usize, room: usize) -> usize {
    let fixed = widths.first().map_or(0, |width| width + 2);
    let mut first = 1;
    while first < chosen
        && fixed + widths[first..=chosen.min(widths.len() - 1)].iter().map(|width| width + 2).sum::<usize>() > room + 2
    {
        first += 1;
    }
    first
}

/// Returns what is in a buffer, without blanks at the ends of lines.
pub(crate) fn lines_of(buffer: &Buffer) -> String {
    let area = buffer.area;
    let mut text = String::new();
    for y in area.top()..area.bottom() {
        let mut line = String::new();
        let mut x = area.left();
        while x < area.right() {
            let symbol = buffer[(x, y)].symbol();
            line.push_str(symbol);
            // A wide character is followed by a cell that is not shown.
            x += width(symbol).max(1) as u16;
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sheet() -> Sheet {
        let mut sheet = Sheet::new(&[("Name", false), ("Rows", true), ("Text", false)]);
        sheet.lead.push("Two rows".into());
        sheet.rows =
            vec![vec!["a".into(), "7".into(), "x".repeat(50)], vec!["世界".into(), "1,000".into(), "y".into()]];
        sheet
    }

    #[test]
    fn columns_are_aligned_and_cut() {
        let expected = "Two rows\nName   Rows  Text\na         7  xxxxxxxxxxx…\n世界  1,000  y\n";
        assert_eq!(sheet().to_text(25), expected);
        assert_eq!(sheet().to_text(3).lines().count(), 4);
    }

    #[test]
    fn the_chosen_column_is_seen() {
        let mut sheet = Sheet::new(&[("First", false), ("b", false), ("c", false), ("d", false)]);
        sheet.rows = vec![vec!["first".into(), "b".repeat(30), "c".repeat(30), "last".into()]];
        let area = Rect::new(0, 0, 40, 3);
        for (column, part) in [(1, "bbb"), (2, "ccc"), (3, "last")] {
            let mut buffer = Buffer::empty(area);
            let window = Window { row: Some(0), column: Some(column), ..Window::default() };
            sheet.draw(&mut buffer, area, window, &Theme::plain());
            let text = lines_of(&buffer);
            assert!(text.contains(part) && text.contains("first"), "{text}");
        }
    }
}
