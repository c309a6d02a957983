//! What keys do.

use crate::app::{App, Confirm};
use crate::entity_sheet::{EntityLine, entity_sheet};
use crate::link::Ask;
use crate::prompt::{Prompt, Purpose, Typed};
use crate::view::{View, cell, is_true, list};
use ratatui_crossterm::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde_json::{Value, json};

/// The keys with what they do, for the list of keys.
pub(crate) const KEYS: [(&str, &str); 21] = [
    ("/", "query; Tab completes names"),
    ("1 … 9", "views"),
    ("↑ ↓ PgUp PgDn Home End", "rows"),
    ("← →", "cells; frames in Time; moments in Compare"),
    ("Enter", "open an entity or link; compare"),
    ("Esc", "back to the list"),
    ("e", "edit the cell or field"),
    ("s", "sort by the column of the cell"),
    ("Space", "pick a row"),
    ("d", "despawn what is picked, chosen or open"),
    ("a", "add a component to the open entity"),
    ("r", "remove the chosen component"),
    ("m", "name the open entity"),
    ("[ ]", "frame before, frame after"),
    ("p", "pause, go on"),
    ("n", "next frame"),
    ("u", "take the last edit back"),
    ("g", "return the world to the frame that is looked at"),
    ("k", "keep a copy of the world, to compare"),
    ("x", "run an action of the program"),
    ("q", "quit"),
];

impl App {
    /// Handles a key. `visible` is the number of rows that fit.
    pub(crate) fn key(&mut self, key: KeyEvent, visible: usize) {
        if self.is_helping {
            self.is_helping = false;
            return;
        }
        if let Some(confirm) = self.confirm.take() {
            match key.code {
                KeyCode::Char('y' | 'Y') => self.outbox.push(confirm.ask),
                KeyCode::Char('n' | 'N') | KeyCode::Esc => {}
                _ => self.confirm = Some(confirm),
            }
            return;
        }
        if let Some(mut prompt) = self.prompt.take() {
            let names = match &prompt.purpose {
                Purpose::Query => core::mem::take(&mut self.names),
                Purpose::Insert { .. } => list(&self.entity_answer, "missing").iter().map(cell).collect(),
                Purpose::Action => list(&self.world, "actions").iter().map(cell).collect(),
                _ => Vec::new(),
            };
            let typed = prompt.key(key, &names);
            if prompt.purpose == Purpose::Query {
                self.names = names;
            }
            match typed {
                Typed::Goes => self.prompt = Some(prompt),
                Typed::Taken => self.take_prompt(prompt),
                Typed::Dropped => {}
            }
            return;
        }
        self.message = None;
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            self.is_over |= key.code == KeyCode::Char('c');
            return;
        }
        self.command(key.code, visible);
    }

    fn command(&mut self, code: KeyCode, visible: usize) {
        let row = self.window().row.unwrap_or(0);
        match code {
            KeyCode::Char('q') => self.is_over = true,
            KeyCode::Char('?') => self.is_helping = true,
            KeyCode::Char('/') => {
                self.open_view(View::Entities);
                self.prompt = Some(Prompt::new(Purpose::Query, "query", self.query.clone()));
            }
            KeyCode::Char(digit @ '1'..='9') => self.open_view(View::ALL[digit as usize - '1' as usize]),
            KeyCode::Up => self.move_to(row.saturating_sub(1), visible),
            KeyCode::Down => self.move_to(row + 1, visible),
            KeyCode::PageUp => self.move_to(row.saturating_sub(visible), visible),
            KeyCode::PageDown => self.move_to(row.saturating_add(visible), visible),
            KeyCode::Home => self.move_to(0, visible),
            KeyCode::End => self.move_to(usize::MAX - 1, visible),
            KeyCode::Left => self.aside(-1),
            KeyCode::Right => self.aside(1),
            KeyCode::Enter => self.enter(),
            KeyCode::Esc | KeyCode::Backspace => {
                if self.entity.is_some() {
                    self.close_entity();
                } else if self.at.is_some() {
                    (self.at, self.is_due) = (None, true);
                }
            }
            KeyCode::Char('[') => self.look_by(-1),
            KeyCode::Char(']') => self.look_by(1),
            KeyCode::Char('p') => {
                let route = if is_true(&self.world, "paused") { "resume" } else { "pause" };
                self.outbox.push(Ask::Change(route, json!({})));
            }
            KeyCode::Char('n') => self.outbox.push(Ask::Change("step", json!({ "frames": 1 }))),
            KeyCode::Char('u') => self.outbox.push(Ask::Change("undo", json!({}))),
            KeyCode::Char('k') => self.outbox.push(Ask::Change("keep", json!({}))),
            KeyCode::Char('g') => self.return_to_frame(),
            KeyCode::Char('d') if self.entity.is_some() || self.view == View::Entities => self.despawn(),
            KeyCode::Char('x') if !self.refuse_change() => {
                if list(&self.world, "actions").is_empty() {
                    self.message = Some(("the program has no actions".into(), true));
                } else {
                    self.prompt = Some(Prompt::new(Purpose::Action, "action (Tab completes)", ""));
                }
            }
            code if self.entity.is_some() => self.entity_command(code),
            KeyCode::Char('e') if self.view == View::Entities => self.edit_cell(),
            KeyCode::Char('s') if self.view == View::Entities => self.sort(),
            KeyCode::Char(' ') if self.view == View::Entities => {
                if let Some(entity) = self.chosen_entity()
                    && !self.picked.remove(&entity)
                {
                    self.picked.insert(entity);
                }
                self.move_to(row + 1, visible);
            }
            _ => {}
        }
    }

    /// Moves to another cell, frame or moment.
    fn aside(&mut self, step: isize) {
        match self.view {
            _ if self.entity.is_some() => {}
            View::Time => self.look_by(step as i64),
            View::Compare => {
                let count = self.choices().len();
                self.compared[0] = self.compared[0].min(count - 1).saturating_add_signed(step).min(count - 1);
                self.compare();
            }
            view => {
                let columns = if self.sheet().head.is_empty() { 1 } else { self.sheet().head.len() };
                let window = &mut self.windows[view as usize];
                window.column = Some(window.column.unwrap_or(0).saturating_add_signed(step).min(columns - 1));
                window.row = window.row.or(Some(0));
            }
        }
    }

    fn enter(&mut self) {
        if self.entity.is_some() {
            let (_, lines) = entity_sheet(&self.entity_answer);
            if let Some(EntityLine::Link(entity)) = lines.get(self.entity_window.row.unwrap_or(0)) {
                self.open_entity(entity.clone());
            }
            return;
        }
        let row = self.window().row.unwrap_or(0);
        let chosen = |name: &str, key: &str| list(self.answer(), name).get(row)?.get(key)?.as_str().map(str::to_owned);
        match self.view {
            View::Entities => {
                if let Some(entity) = self.chosen_entity() {
                    self.open_entity(entity);
                }
            }
            View::Components => {
                if let Some(name) = chosen("components", "short") {
                    self.set_query(name);
                    self.open_view(View::Entities);
                }
            }
            View::Compare if self.window().row.is_some() => {
                if let Some(entity) = chosen("differences", "entity") {
                    self.open_entity(entity);
                }
            }
            View::Compare => self.compare(),
            _ => {}
        }
    }

    fn entity_command(&mut self, code: KeyCode) {
        let Some(entity) = self.entity.clone() else { return };
        let (_, lines) = entity_sheet(&self.entity_answer);
        let line = lines.get(self.entity_window.row.unwrap_or(0)).cloned();
        if !matches!(code, KeyCode::Char('e' | 'a' | 'r' | 'm')) || self.refuse_change() {
            return;
        }
        match (code, line) {
            (KeyCode::Char('e'), Some(EntityLine::Field { component, path, value, why: None })) => {
                let label = if path.is_empty() { format!("value of {entity}") } else { format!("{path} of {entity}") };
                let purpose = Purpose::Edit { entity, component, field: path };
                self.prompt = Some(Prompt::new(purpose, label, value));
            }
            (KeyCode::Char('e'), Some(EntityLine::Field { why: Some(why), .. })) => self.message = Some((why, true)),
            (KeyCode::Char('a'), _) => {
                let label = "component to insert, with zeros (Tab completes)";
                self.prompt = Some(Prompt::new(Purpose::Insert { entity }, label, ""));
            }
            (KeyCode::Char('r'), Some(EntityLine::Field { component, .. })) => {
                let short = component.rsplit("::").next().unwrap_or(&component).to_owned();
                let question = format!("Remove {} from {entity}?", crate::text::printable(&short));
                let ask = Ask::Change("remove", json!({ "entity": entity, "component": component }));
                self.confirm = Some(Confirm { question, ask });
            }
            (KeyCode::Char('m'), _) => {
                let name = self.entity_answer.get("name").and_then(Value::as_str).unwrap_or("").to_owned();
                self.prompt = Some(Prompt::new(Purpose::Rename { entity }, "name", name));
            }
            _ => self.message = Some(("choose a field".into(), true)),
        }
    }

    /// Asks before the world returns to the frame that is looked at.
    fn return_to_frame(&mut self) {
        let Some(frame) = self.at else {
            self.message = Some(("look at an earlier frame first, by [".into(), true));
            return;
        };
        if self.is_read_only() {
            self.refuse_change();
            return;
        }
        let question = format!("Return the world to frame {frame}? Later frames and handles are lost.");
        self.confirm = Some(Confirm { question, ask: Ask::Change("rewind", json!({ "frame": frame })) });
    }
}
