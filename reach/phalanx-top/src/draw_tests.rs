//! Each view in a terminal of 80 columns and 24 lines, without colours.

use crate::app::App;
use crate::draw::{draw, list_rows, visible_rows};
use crate::link::{Ask, Told};
use crate::program::Program;
use crate::sheet::lines_of;
use crate::theme::Theme;
use crate::view::View;
use ratatui_core::backend::TestBackend;
use ratatui_core::style::Color;
use ratatui_core::terminal::Terminal;
use ratatui_crossterm::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde_json::{Value, json};

fn program() -> Program {
    let address = std::net::SocketAddr::from(([127, 0, 0, 1], 7171));
    Program { name: "arena".into(), process: Some(7), address, key: "0".repeat(32) }
}

fn world() -> Value {
    json!({
        "name": "arena", "frame": 1234, "entities": 2000, "paused": false, "held": false, "readOnly": false, "undo": 1,
        "timeline": { "first": 635, "last": 1234, "capacity": 600, "bytes": 200_000 }, "timelineFault": null,
        "copies": [{ "number": 1, "frame": 900, "entities": 1990 }], "actions": ["spawn 100"], "plots": ["alive"]
    })
}

/// Draws an app, and returns the lines.
fn picture_of(app: &mut App, width: u16, height: u16) -> String {
    app.rows = list_rows(height);
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    let drawn = terminal
        .draw(|frame| {
            if let Some(cursor) = draw(app, &program(), frame.buffer_mut(), &Theme::plain()) {
                frame.set_cursor_position(cursor);
            }
        })
        .unwrap();
    // Without colours, whatever is shown.
    assert!(drawn.buffer.content().iter().all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset));
    lines_of(drawn.buffer)
}

/// Shows a view with an answer, and returns the lines.
fn view_of(view: View, route: &str, answer: Value) -> String {
    let mut app = App::new(view, String::new(), None);
    app.told(Told::Look(vec![("world".into(), Ok(world())), (route.into(), Ok(answer))]));
    picture_of(&mut app, 80, 24)
}

fn has(picture: &str, parts: &[&str]) {
    assert_eq!(picture.lines().count(), 24);
    assert!(picture.starts_with("arena frame 1,234 · 2,000 entities · running · 127.0.0.1:7171\n"), "{picture}");
    let tabs = "1Entities 2Tables 3Components 4Resources 5Groups 6Systems 7Time 8Compare 9Charts";
    assert_eq!(picture.lines().nth(1), Some(tabs));
    for part in parts {
        assert!(picture.contains(part), "{part}:\n{picture}");
    }
}

fn entities_answer(from: u64) -> Value {
    let rows: Vec<Value> = (from..from + 17)
        .map(|at| json!([format!("{at}v0"), if at == 3 { Some("ann\u{1b}[2J") } else { None }, "12.5", "Red"]))
        .collect();
    json!({
        "from": from, "rows": rows, "total": 2000, "sorted": false, "torn": false, "steps": 1, "cost": 31.0,
        "columns": [{ "name": "Health.hp", "component": "a::Health", "field": "hp", "kind": "number" }, { "name": "Team", "component": "a::Team", "kind": "other" }]
    })
}

fn press(app: &mut App, code: KeyCode) {
    let visible = visible_rows(app, 24);
    app.key(KeyEvent::new(code, KeyModifiers::NONE), visible);
}

fn type_in(app: &mut App, text: &str) {
    text.chars().for_each(|c| press(app, KeyCode::Char(c)));
}

#[test]
fn entities() {
    let picture = view_of(View::Entities, "entities?", entities_answer(0));
    has(
        &picture,
        &[
            "/ all entities",
            "2,000 entities · 31 µs of loop time",
            "Entity  Name",
            "Health.hp  Team",
            "     12.5  Red",
            "16v0",
            "ann\\u{1b}[2J",
        ],
    );
}

#[test]
fn one_entity() {
    let mut app = App::new(View::Entities, String::new(), Some("3v0".into()));
    let answer = json!({
        "entity": "3v0", "name": "ann", "path": "camp/ann", "missing": ["a::Burning"],
        "components": [
            { "name": "a::Health", "short": "Health", "value": "…", "editable": true, "why": null, "json": null,
              "fields": [{ "path": "hp", "kind": "number", "type": "u32", "value": "90" }, { "path": "max", "kind": "number", "type": "u32", "value": "90" }] },
            { "name": "a::Title", "short": "Title", "value": "Scout", "fields": [], "editable": false, "why": "not plain", "json": null }
        ],
        "relations": [{ "name": "ChildOf", "target": ["0v0", "camp"], "sources": [], "whole": true }], "rows": []
    });
    app.told(Told::Look(vec![("world".into(), Ok(world())), ("entity/3v0".into(), Ok(answer))]));
    app.entity_window.row = Some(0);
    has(
        &picture_of(&mut app, 80, 24),
        &[
            "3v0 ann · camp/ann",
            "Health     hp      90",
            "           max     90",
            "Title              Scout",
            "ChildOf    target  0v0 camp",
        ],
    );
    // A field is edited, one that cannot be is not, and a link is followed.
    press(&mut app, KeyCode::Char('e'));
    assert!(picture_of(&mut app, 80, 24).contains("hp of 3v0: 90"));
    press(&mut app, KeyCode::Backspace);
    type_in(&mut app, "1");
    press(&mut app, KeyCode::Enter);
    let body = json!({ "entity": "3v0", "component": "a::Health", "field": "hp", "value": "91" });
    assert_eq!(app.outbox.drain(..).collect::<Vec<_>>(), [Ask::Change("edit", body)]);
    press(&mut app, KeyCode::Down);
    press(&mut app, KeyCode::Down);
    press(&mut app, KeyCode::Char('e'));
    assert!(picture_of(&mut app, 80, 24).contains("! not plain"));
    press(&mut app, KeyCode::Char('r'));
    assert!(picture_of(&mut app, 80, 24).contains("Remove Title from 3v0? y/n"));
    press(&mut app, KeyCode::Char('n'));
    assert!(app.outbox.is_empty());
    press(&mut app, KeyCode::Down);
    press(&mut app, KeyCode::Enter);
    assert_eq!(app.entity.as_deref(), Some("0v0"));
}

#[test]
fn tables() {
    let answer = json!({
        "bytes": 300_000, "count": 1, "parts": { "entities": 16_000, "tables": 284_000, "names": 0 },
        "tables": [{ "rows": 1996, "capacity": 2048, "extra": false, "bytes": 120_000, "entityBytes": 16_384,
            "columns": [{ "short": "Health", "bytes": 16_384 }, { "short": "Team", "bytes": 2048 }] }],
        "stores": [{ "short": "Burning", "layout": "pool", "rows": 100, "capacity": 128, "bytes": 9000 }]
    });
    let picture = view_of(View::Tables, "tables", answer);
    has(
        &picture,
        &[
            "293 KiB in all · 1 table · 1 sparse store",
            "tables 277 KiB",
            "table  1,996     2,048  97 %",
            "Health 16.0 KiB, Team",
            "pool     100       128  78 %",
        ],
    );
}

#[test]
fn components() {
    let answer = json!({ "counted": false, "components": [{ "name": "a::Health", "short": "Health", "layout": "table", "size": 8, "values": 2000,
        "share": 1.0, "bytes": 16_384, "advice": "table", "reason": "", "fields": [{ "path": "hp", "type": "u32" }] }] });
    has(
        &view_of(View::Components, "components", answer),
        &["Accesses are not counted", "Health     table    2,000  100.0 %   8 B  16.0 KiB  keep"],
    );
}

#[test]
fn resources_and_groups() {
    let answer = json!({ "resources": [{ "short": "Weather", "value": "Weather {\n    rain: false,\n}" }, { "short": "Hidden", "value": null }] });
    has(
        &view_of(View::Resources, "resources", answer),
        &["Weather   Weather {", "              rain: false,", "Hidden    (not shown: add .resource::<Hidden>()"],
    );
    let answer = json!({ "groups": [{ "owned": ["Burning"], "required": [], "excluded": [], "members": 100, "first": ["1v0", "2v0"] }] });
    has(&view_of(View::Groups, "groups", answer), &["Burning  –         –             100  1v0, 2v0"]);
    has(&view_of(View::Groups, "groups", json!({ "groups": [] })), &["The world has no groups."]);
}

#[test]
fn systems() {
    let answer = json!({ "duration": 1500.0, "systems": [{ "name": "game::fall", "stage": 0, "thread": 1, "start": 2.0, "end": 702.0, "critical": true,
        "waited": { "time": 3.0, "for": "game::heal" } }] });
    has(
        &view_of(View::Systems, "systems", answer),
        &["The last run took 1.5 ms.", "* game::fall      0       1   2 µs  700 µs  3 µs for game::heal"],
    );
}

#[test]
fn time_and_its_keys() {
    let mut app = App::new(View::Time, String::new(), None);
    app.told(Told::Look(vec![("world".into(), Ok(world()))]));
    let picture = picture_of(&mut app, 80, 24);
    has(
        &picture,
        &[
            "The program is running, after frame 1,234.",
            "Frames 635 to 1,234 are kept",
            "Copy 1 of frame 900",
            "Actions: spawn 100",
            "─●┤",
            "now",
        ],
    );
    press(&mut app, KeyCode::Char('p'));
    press(&mut app, KeyCode::Char('n'));
    assert_eq!(
        app.outbox.drain(..).collect::<Vec<_>>(),
        [Ask::Change("pause", json!({})), Ask::Change("step", json!({ "frames": 1 }))]
    );
    (0..30).for_each(|_| press(&mut app, KeyCode::Left));
    let picture = picture_of(&mut app, 80, 24);
    assert!(
        picture.contains("LOOKING AT frame 1,204, 30 back") && picture.contains("frame 1,204, 30 frames back"),
        "{picture}"
    );
    press(&mut app, KeyCode::Char('g'));
    assert!(picture_of(&mut app, 80, 24).contains("Return the world to frame 1204?"));
    press(&mut app, KeyCode::Char('y'));
    assert_eq!(app.outbox, [Ask::Change("rewind", json!({ "frame": 1204 }))]);
    press(&mut app, KeyCode::Esc);
    assert_eq!(app.at, None);
}

#[test]
fn compare() {
    let answer = json!({ "before": "frame-1233", "after": "now", "spawned": 1, "despawned": 0, "changed": 2, "torn": false, "components": [{ "name": "Position", "count": 2 }],
        "differences": [{ "entity": "3v0", "what": "changed", "component": "Position", "field": "x", "before": "1.0", "after": "2.0" }] });
    let picture = view_of(View::Compare, "compare?", answer);
    has(
        &picture,
        &[
            "Before: ◂ 1 frame back ▸   After: now",
            "Between frame 1233 and now: 1 spawned · 0 despawned · 2 changed",
            "By component: Position 2",
            "3v0     changed  Position.x  1.0     2.0",
        ],
    );
}

#[test]
fn charts() {
    let values: Vec<Value> = (0..200).map(|at| json!(at % 50)).chain([Value::Null]).collect();
    let answer = json!({ "frame": 1234, "first": 1035, "plots": [{ "name": "alive", "values": values }, { "name": "none", "values": [] }] });
    has(&view_of(View::Charts, "plots", answer), &["alive  –  (0 to 49)", "▁", "█", "none  –  (– to –)"]);
}

#[test]
fn the_list_is_used_by_keys() {
    let mut app = App::new(View::Entities, "Health".into(), None);
    app.rows = 17;
    app.told(Told::Look(vec![("world".into(), Ok(world())), ("entities?".into(), Ok(entities_answer(0)))]));
    (0..2).for_each(|_| press(&mut app, KeyCode::Right));
    press(&mut app, KeyCode::Char('s'));
    assert_eq!(app.query, "Health sort Health.hp");
    app.told(Told::Look(vec![("entities?".into(), Ok(entities_answer(0)))]));
    (0..2).for_each(|_| press(&mut app, KeyCode::Right));
    press(&mut app, KeyCode::Char('e'));
    assert!(picture_of(&mut app, 80, 24).contains("Health.hp of 0v0: 12.5"));
    press(&mut app, KeyCode::Esc);
    press(&mut app, KeyCode::Char(' '));
    press(&mut app, KeyCode::Char(' '));
    let picture = picture_of(&mut app, 80, 24);
    assert!(picture.contains("+0v0") && picture.contains("+1v0") && picture.contains("2 picked"), "{picture}");
    press(&mut app, KeyCode::Char('d'));
    assert!(picture_of(&mut app, 80, 24).contains("Despawn 2 entities? y/n"));
    press(&mut app, KeyCode::Char('y'));
    assert_eq!(
        app.outbox.drain(..).collect::<Vec<_>>(),
        [Ask::Change("despawn", json!({ "entities": ["0v0", "1v0"] }))]
    );
    press(&mut app, KeyCode::End);
    let picture = picture_of(&mut app, 80, 24);
    assert!(picture.contains('…') && !picture.contains("16v0"), "rows that are not there yet:\n{picture}");
    app.told(Told::Look(vec![("entities?".into(), Ok(entities_answer(1983)))]));
    assert!(picture_of(&mut app, 80, 24).contains("1999v0"));
    press(&mut app, KeyCode::Enter);
    assert_eq!(app.entity.as_deref(), Some("1999v0"));
    press(&mut app, KeyCode::Esc);
    press(&mut app, KeyCode::Char('/'));
    type_in(&mut app, "x");
    press(&mut app, KeyCode::Enter);
    assert_eq!(app.query, "Health sort Health.hpx");
    press(&mut app, KeyCode::Char('?'));
    assert!(picture_of(&mut app, 80, 26).contains("take the last edit back"));
    press(&mut app, KeyCode::Char('q'));
    press(&mut app, KeyCode::Char('q'));
    assert!(app.is_over);
}

#[test]
fn a_read_only_program_and_the_past_are_not_changed() {
    for is_past in [false, true] {
        let mut app = App::new(View::Entities, String::new(), None);
        let mut world = world();
        world["readOnly"] = (!is_past).into();
        app.told(Told::Look(vec![("world".into(), Ok(world)), ("entities?".into(), Ok(entities_answer(0)))]));
        app.at = is_past.then_some(700);
        app.windows[0].column = Some(2);
        for key in ['e', 'd', 'x'] {
            press(&mut app, KeyCode::Char(key));
            assert!(app.message.as_ref().is_some_and(|(_, is_error)| *is_error), "{key}");
            assert!(app.prompt.is_none() && app.confirm.is_none() && app.outbox.is_empty(), "{key}");
        }
    }
}

#[test]
fn any_size_of_a_terminal_is_drawn() {
    for (width, height) in [(1, 1), (19, 4), (20, 5), (40, 10), (79, 23), (300, 100)] {
        for view in View::ALL {
            let mut app = App::new(view, String::new(), None);
            picture_of(&mut app, width, height);
            app.told(Told::Look(vec![("world".into(), Ok(world())), ("entities?".into(), Ok(entities_answer(0)))]));
            picture_of(&mut app, width, height);
            app.is_helping = true;
            picture_of(&mut app, width, height);
        }
    }
}
