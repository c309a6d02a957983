//! Draws what is looked at.

use crate::app::App;
use crate::entity_sheet::entity_sheet;
use crate::keys::KEYS;
use crate::program::Program;
use crate::sheet::{Sheet, Window, put, width};
use crate::text::{count, printable, short};
use crate::theme::Theme;
use crate::view::{View, is_true, list, number, plural, range_of, summary, text, values_of};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::{Position, Rect};

/// The lines above and below a view.
const FRAME_LINES: u16 = 4;

/// The lines above the rows of the list of entities, within the view.
const LIST_LINES: u16 = 3;

/// Returns the number of rows of the list of entities that fit into a terminal.
pub(crate) fn list_rows(height: u16) -> usize {
    usize::from(height.saturating_sub(FRAME_LINES + LIST_LINES)).max(1)
}

/// Returns the number of rows that fit below the lines of a view.
pub(crate) fn visible_rows(app: &App, height: u16) -> usize {
    let above = match (&app.entity, app.view) {
        (Some(_), _) => entity_sheet(&app.entity_answer).0.lines_above(),
        (None, View::Entities) => usize::from(LIST_LINES),
        (None, View::Compare) => app.sheet().lines_above() + 1,
        (None, _) => app.sheet().lines_above(),
    };
    usize::from(height.saturating_sub(FRAME_LINES)).saturating_sub(above).max(1)
}

/// Draws everything. Returns where the cursor is, if something is typed.
pub(crate) fn draw(app: &App, program: &Program, buffer: &mut Buffer, theme: &Theme) -> Option<Position> {
    let area = buffer.area;
    let line = |y: u16| Rect::new(area.x, area.y + y, area.width, 1);
    if area.height < FRAME_LINES + 1 || area.width < 20 {
        put(buffer, area, area.x, area.y, "too small", usize::from(area.width), theme.plain);
        return None;
    }
    draw_status(app, program, buffer, line(0), theme);
    draw_tabs(app, buffer, line(1), theme);
    let body = Rect::new(area.x, area.y + 2, area.width, area.height - FRAME_LINES);
    if app.is_helping {
        draw_help(buffer, body, theme);
    } else if app.entity.is_some() {
        draw_entity(app, buffer, body, theme);
    } else {
        draw_view(app, buffer, body, theme);
    }
    let cursor = draw_message(app, buffer, line(area.height - 2), theme);
    draw_hints(app, buffer, line(area.height - 1), theme);
    cursor
}

fn draw_status(app: &App, program: &Program, buffer: &mut Buffer, area: Rect, theme: &Theme) {
    let world = &app.world;
    let name = if world.is_null() { printable(&program.name) } else { text(world, "name") };
    let mut parts = Vec::new();
    if !world.is_null() {
        parts.push(format!("frame {}", count(number(world, "frame"))));
        parts.push(plural(number(world, "entities"), "entity", "entities"));
        parts.push(if is_true(world, "paused") { "PAUSED".into() } else { "running".into() });
    }
    if app.is_read_only() {
        parts.push("read-only".into());
    }
    if let Some(frame) = app.at {
        let back = number(world, "frame").saturating_sub(frame);
        parts.push(format!("LOOKING AT frame {}, {back} back", count(frame)));
    }
    parts.push(format!("{}", program.address));
    put(buffer, area, area.x, area.y, &name, 20, theme.head);
    let x = area.x + width(&name).min(20) as u16 + 1;
    put(buffer, area, x, area.y, &parts.join(" · "), usize::from(area.width), theme.plain);
}

/// Draws the names of the views. At 80 columns they just fit.
fn draw_tabs(app: &App, buffer: &mut Buffer, area: Rect, theme: &Theme) {
    let mut x = area.x;
    for (at, view) in View::ALL.into_iter().enumerate() {
        let label = format!("{}{}", at + 1, view.name());
        let style = if view == app.view { theme.chosen } else { theme.quiet };
        put(buffer, area, x, area.y, &label, label.len(), style);
        x = x.saturating_add(label.len() as u16 + 1);
    }
}

fn draw_view(app: &App, buffer: &mut Buffer, area: Rect, theme: &Theme) {
    let window = *app.window();
    match app.view {
        View::Entities => draw_list(app, buffer, area, theme),
        View::Charts => draw_charts(app, buffer, area, theme),
        View::Time => {
            app.sheet().draw(buffer, area, window, theme);
            draw_timeline(app, buffer, area, app.sheet().lines_above() as u16 + 1, theme);
        }
        View::Compare => {
            let choices = app.choices();
            let [before, after] = app.compared.map(|at| choices[at.min(choices.len() - 1)].name.clone());
            let line = format!("Before: ◂ {before} ▸   After: {after}");
            put(buffer, area, area.x, area.y, &line, usize::from(area.width), theme.head);
            let rest = Rect::new(area.x, area.y + 1, area.width, area.height.saturating_sub(1));
            app.sheet().draw(buffer, rest, window, theme);
        }
        _ => app.sheet().draw(buffer, area, window, theme),
    }
}

fn draw_list(app: &App, buffer: &mut Buffer, area: Rect, theme: &Theme) {
    let query = if app.query.is_empty() { "all entities".into() } else { printable(&app.query) };
    put(buffer, area, area.x, area.y, &format!("/ {query}"), usize::from(area.width), theme.head);
    let answer = app.answer();
    let (line, style) = match (&app.query_error, answer.is_null()) {
        (Some(error), _) => (error.clone(), theme.bad),
        (None, true) => ("…".into(), theme.plain),
        (None, false) => {
            let picked = if app.picked.is_empty() { String::new() } else { format!("{} picked · ", app.picked.len()) };
            (picked + &summary(answer, app.total), theme.quiet)
        }
    };
    put(buffer, area, area.x, area.y + 1, &line, usize::from(area.width), style);
    if answer.is_null() {
        return;
    }
    let mut sheet = app.sheet();
    for row in &mut sheet.rows {
        if row.first().is_some_and(|entity| app.picked.contains(entity)) {
            row[0].insert(0, '+');
        }
    }
    // The rows are those that were asked for. The user may have moved on.
    let (window, from) = (app.windows[0], number(answer, "from") as usize);
    let known = core::mem::take(&mut sheet.rows);
    let visible = usize::from(area.height).saturating_sub(usize::from(LIST_LINES));
    for number in window.top..(window.top + visible).min(app.row_count()) {
        let row = number.checked_sub(from).and_then(|at| known.get(at).cloned());
        sheet.rows.push(row.unwrap_or_else(|| vec!["…".into()]));
    }
    let row = window.row.unwrap_or(0).checked_sub(window.top);
    let rest = Rect::new(area.x, area.y + 2, area.width, area.height.saturating_sub(2));
    sheet.draw(buffer, rest, Window { top: 0, row, column: window.column }, theme);
}

fn draw_entity(app: &App, buffer: &mut Buffer, area: Rect, theme: &Theme) {
    match app.entity_answer.is_null() {
        true => Sheet::note("…").draw(buffer, area, Window::default(), theme),
        false => entity_sheet(&app.entity_answer).0.draw(buffer, area, app.entity_window, theme),
    }
}

/// Draws a bar of the frames that are kept, with a mark at the one that is looked at.
fn draw_timeline(app: &App, buffer: &mut Buffer, area: Rect, below: u16, theme: &Theme) {
    let Some(line) = app.world.get("timeline").filter(|line| !line.is_null()) else { return };
    let (first, last) = (number(line, "first"), number(line, "last"));
    let (y, wide) = (area.y + below, usize::from(area.width).saturating_sub(2));
    if y + 1 >= area.bottom() || wide == 0 {
        return;
    }
    let at = app.at.unwrap_or(last).clamp(first, last);
    let position = ((at - first) as f64 / (last - first).max(1) as f64 * (wide - 1) as f64).round() as usize;
    let bar: String = (0..wide).map(|column| if column == position { '●' } else { '─' }).collect();
    put(buffer, area, area.x, y, &format!("├{bar}┤"), wide + 2, theme.line);
    let label = match app.at {
        Some(frame) => format!(
            "frame {}, {} back",
            count(frame),
            plural(number(&app.world, "frame").saturating_sub(frame), "frame", "frames")
        ),
        None => "now".into(),
    };
    put(buffer, area, area.x, y + 1, &label, usize::from(area.width), theme.plain);
}

/// Draws a line for each plot, and its values as columns of blocks below.
fn draw_charts(app: &App, buffer: &mut Buffer, area: Rect, theme: &Theme) {
    let plots = list(app.answer(), "plots");
    if plots.is_empty() {
        return app.sheet().draw(buffer, area, Window::default(), theme);
    }
    let high = (area.height / plots.len() as u16).clamp(3, 8);
    for (at, plot) in plots.iter().enumerate() {
        let top = area.y + at as u16 * high;
        if top + 2 > area.bottom() {
            break;
        }
        let values = values_of(plot);
        // The newest values, as many as there are columns.
        let values = &values[values.len().saturating_sub(usize::from(area.width))..];
        let (least, most) = range_of(values);
        let last = short(values.last().copied().unwrap_or(f64::NAN));
        let label = format!("{}  {last}  ({} to {})", text(plot, "name"), short(least), short(most));
        put(buffer, area, area.x, top, &label, usize::from(area.width), theme.head);
        let lines = (high - 2).min(area.bottom() - top - 1).max(1);
        draw_columns(values, (least, most), buffer, Rect::new(area.x, top + 1, area.width, lines), theme);
    }
}

/// Draws values as columns of blocks. There are at most as many as columns of the terminal.
fn draw_columns(values: &[f64], (least, most): (f64, f64), buffer: &mut Buffer, area: Rect, theme: &Theme) {
    const BLOCKS: [&str; 9] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
    let eighths = f64::from(area.height) * 8.0;
    for (at, value) in values.iter().enumerate() {
        let part = if most > least { (value - least) / (most - least) } else { 0.5 };
        // The least value is one eighth high, so that it is seen. What is not a number is left out.
        let filled = if part.is_finite() { (1.0 + part * (eighths - 1.0)).round() as u16 } else { 0 };
        for line in 0..area.height {
            let rest = filled.saturating_sub((area.height - 1 - line) * 8).min(8);
            let x = area.x + at as u16;
            buffer.set_stringn(x, area.y + line, BLOCKS[usize::from(rest)], 1, theme.line);
        }
    }
}

fn draw_help(buffer: &mut Buffer, area: Rect, theme: &Theme) {
    let mut sheet = Sheet::new(&[("Key", false), ("", false)]);
    sheet.rows = KEYS.iter().map(|(key, text)| vec![(*key).into(), (*text).into()]).collect();
    sheet.draw(buffer, area, Window::default(), theme);
}

/// Draws what is typed or asked, or else the last message.
fn draw_message(app: &App, buffer: &mut Buffer, area: Rect, theme: &Theme) -> Option<Position> {
    let wide = usize::from(area.width);
    if let Some(prompt) = &app.prompt {
        let label = format!("{}: ", prompt.label);
        put(buffer, area, area.x, area.y, &label, wide, theme.head);
        let x = (area.x + width(&label) as u16).min(area.right());
        let room = usize::from(area.right() - x).saturating_sub(1);
        // The part before the cursor is seen, as far as it fits.
        let before = printable(&prompt.text[..prompt.cursor]);
        let skipped = width(&before).saturating_sub(room);
        let text: String = printable(&prompt.text).chars().skip(skipped).collect();
        put(buffer, area, x, area.y, &text, room + 1, theme.plain);
        return Some(Position::new(x + (width(&before) - skipped) as u16, area.y));
    }
    let (text, style) = match (&app.confirm, &app.failure, &app.message) {
        (Some(confirm), _, _) => (format!("{} y/n", confirm.question), theme.bad),
        (None, _, Some((message, true))) => (format!("! {message}"), theme.bad),
        (None, Some(failure), _) => (format!("! {failure}"), theme.bad),
        (None, None, Some((message, false))) => (message.clone(), theme.plain),
        (None, None, None) => return None,
    };
    put(buffer, area, area.x, area.y, &text, wide, style);
    None
}

fn draw_hints(app: &App, buffer: &mut Buffer, area: Rect, theme: &Theme) {
    let hints = match (&app.entity, app.view) {
        (Some(_), _) => "Esc back  e edit  a add  r remove  m name  d despawn  u undo  p pause  ? keys  q",
        (None, View::Entities) => "/ query  Enter open  e edit  s sort  Space pick  u undo  p pause  ? keys  q quit",
        (None, View::Time) => "p pause  n next frame  ← → frames  Esc now  g return  k copy  x act  ? keys  q",
        (None, View::Compare) => "← → before  Enter compare  k keep a copy  p pause  ? keys  q quit",
        (None, _) => "1-9 views  ↑ ↓ rows  ← → columns  p pause  n next frame  ? keys  q quit",
    };
    put(buffer, area, area.x, area.y, hints, usize::from(area.width), theme.quiet);
}
