//! [`Theme`]: the styles of what is drawn.

use ratatui_core::style::{Color, Modifier, Style};

/// The styles of what is drawn. No meaning is in a colour alone.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Theme {
    pub(crate) plain: Style,
    /// Names of columns and titles.
    pub(crate) head: Style,
    /// The chosen row.
    pub(crate) chosen: Style,
    /// The chosen cell of the chosen row.
    pub(crate) cell: Style,
    /// Hints.
    pub(crate) quiet: Style,
    /// Errors.
    pub(crate) bad: Style,
    /// The line of a chart.
    pub(crate) line: Style,
}

impl Theme {
    /// Returns styles without colours.
    pub(crate) fn plain() -> Theme {
        let plain = Style::new();
        Theme {
            plain,
            head: plain.add_modifier(Modifier::BOLD),
            chosen: plain.add_modifier(Modifier::REVERSED),
            cell: plain.add_modifier(Modifier::BOLD | Modifier::UNDERLINED),
            quiet: plain,
            bad: plain.add_modifier(Modifier::BOLD),
            line: plain,
        }
    }

    /// Returns styles with the colours of the terminal, unless the variable `NO_COLOR` is set.
    pub(crate) fn of_terminal() -> Theme {
        let plain = Theme::plain();
        if std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()) {
            return plain;
        }
        Theme {
            head: plain.head.fg(Color::Cyan),
            quiet: plain.quiet.add_modifier(Modifier::DIM),
            bad: plain.bad.fg(Color::Red),
            line: plain.line.fg(Color::Cyan),
            ..plain
        }
    }
}
