//! The loop of the program: keys, answers, and at most 20 pictures in a second.

use crate::app::App;
use crate::args::Args;
use crate::client::Client;
use crate::draw::{draw, list_rows, visible_rows};
use crate::link::{Ask, Link, Told};
use crate::program::Program;
use crate::terminal::Screen;
use crate::theme::Theme;
use ratatui_crossterm::crossterm::event::{self, Event, KeyEventKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The time between two pictures.
const PICTURE_TIME: Duration = Duration::from_millis(50);

/// The time between two looks at the program.
const LOOK_TIME: Duration = Duration::from_millis(100);

/// The longest time between two looks.
const LONGEST_TIME: Duration = Duration::from_secs(5);

/// Returns how long to wait after an answer, so that answers take at most about 1 % of the loop of the program.
fn pause_after(app: &App) -> Duration {
    if app.failure.is_some() {
        return Duration::from_secs(1);
    }
    Duration::from_micros((app.cost.clamp(0.0, 1e6) * 100.0) as u64).clamp(LOOK_TIME, LONGEST_TIME)
}

/// Shows a program until the user quits.
pub(crate) fn run(program: Program, args: &Args) -> Result<(), String> {
    let link = Link::start(Client::new(&program)).map_err(|error| error.to_string())?;
    let ended = Arc::new(AtomicBool::new(false));
    #[cfg(unix)]
    for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP, signal_hook::consts::SIGINT] {
        signal_hook::flag::register(signal, ended.clone()).map_err(|error| error.to_string())?;
    }
    let theme = Theme::of_terminal();
    let mut app = App::new(args.view.unwrap_or_default(), args.query.clone(), args.entity.clone());
    let mut screen = Screen::enter().map_err(|error| format!("the terminal cannot be used: {error}"))?;
    let result = show(&mut app, &program, &link, &mut screen, &theme, &ended);
    drop(screen);
    result.map_err(|error| format!("the terminal failed: {error}"))
}

fn show(
    app: &mut App,
    program: &Program,
    link: &Link,
    screen: &mut Screen,
    theme: &Theme,
    ended: &AtomicBool,
) -> std::io::Result<()> {
    let (mut is_looking, mut next_look, mut is_stale) = (false, Instant::now(), true);
    while !app.is_over && !ended.load(Ordering::Relaxed) {
        let height = screen.terminal.size()?.height;
        app.rows = list_rows(height);
        while let Some(told) = link.told() {
            if let Told::Look(_) = told {
                is_looking = false;
            }
            app.told(told);
            next_look = Instant::now() + pause_after(app);
            is_stale = true;
        }
        for ask in app.outbox.drain(..) {
            if !link.ask(ask) {
                app.message = Some(("the program has not answered yet".into(), true));
            }
        }
        // One look at a time, so that a slow program is not asked more than it answers.
        if !is_looking && (app.is_due || Instant::now() >= next_look) {
            app.is_due = false;
            is_looking = link.ask(Ask::Look(app.routes()));
        }
        if is_stale {
            screen.terminal.draw(|frame| {
                if let Some(cursor) = draw(app, program, frame.buffer_mut(), theme) {
                    frame.set_cursor_position(cursor);
                }
            })?;
            is_stale = false;
        }
        let end = Instant::now() + PICTURE_TIME;
        while event::poll(end.saturating_duration_since(Instant::now()))? {
            match event::read()? {
                Event::Key(key) if key.kind != KeyEventKind::Release => {
                    app.key(key, visible_rows(app, height));
                    is_stale = true;
                }
                Event::Resize(..) => (is_stale, app.is_due) = (true, true),
                _ => {}
            }
            if app.is_over || Instant::now() >= end {
                break;
            }
        }
    }
    Ok(())
}
