//! [`App`]: what is looked at, and what the program said about it. It neither draws nor waits.

use crate::client::Fault;
use crate::link::{Ask, Told};
use crate::prompt::{Prompt, Purpose};
use crate::sheet::{Sheet, Window};
use crate::text::encode;
use crate::view::{View, is_true, list, number, sheet_of, text};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// How many frames back a comparison can start.
const BACK: [u64; 5] = [1, 10, 60, 300, 600];

/// What is looked at, and what the program said about it.
#[derive(Debug, Default)]
pub(crate) struct App {
    pub(crate) view: View,
    /// The frame that is looked at, or now.
    pub(crate) at: Option<u64>,
    /// The answer of `world`.
    pub(crate) world: Value,
    /// The last answer of each view.
    answers: [Value; View::ALL.len()],
    /// Why a view has no answer.
    refusals: [Option<String>; View::ALL.len()],
    pub(crate) windows: [Window; View::ALL.len()],
    pub(crate) query: String,
    /// The error of the query.
    pub(crate) query_error: Option<String>,
    /// The number of matches, if it was counted.
    pub(crate) total: Option<u64>,
    is_counted: bool,
    pub(crate) picked: BTreeSet<String>,
    /// The entity that is open, its answer, and what is chosen in it.
    pub(crate) entity: Option<String>,
    pub(crate) entity_answer: Value,
    pub(crate) entity_window: Window,
    /// Which moments are compared.
    pub(crate) compared: [usize; 2],
    is_compare_due: bool,
    pub(crate) prompt: Option<Prompt>,
    pub(crate) confirm: Option<Confirm>,
    pub(crate) is_helping: bool,
    /// Names of components and fields, for completion.
    pub(crate) names: Vec<String>,
    /// What went wrong with the last request.
    pub(crate) failure: Option<String>,
    /// What came of the last change, and whether that is an error.
    pub(crate) message: Option<(String, bool)>,
    /// The number of rows that fit into the list of entities.
    pub(crate) rows: usize,
    /// The loop time of the last answer, in microseconds.
    pub(crate) cost: f64,
    /// What is to be asked.
    pub(crate) outbox: Vec<Ask>,
    /// Whether the program is to be asked at once.
    pub(crate) is_due: bool,
    pub(crate) is_over: bool,
}

/// A question before something that cannot be taken back.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Confirm {
    pub(crate) question: String,
    pub(crate) ask: Ask,
}

/// A moment that can be compared.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Choice {
    pub(crate) name: String,
    pub(crate) value: String,
}

impl App {
    pub(crate) fn new(view: View, query: String, entity: Option<String>) -> App {
        // Some rows are asked for before the list is first drawn.
        App { view, query, entity, rows: 16, compared: [1, 0], is_compare_due: true, is_due: true, ..App::default() }
    }

    pub(crate) fn is_read_only(&self) -> bool {
        is_true(&self.world, "readOnly")
    }

    pub(crate) fn window(&self) -> &Window {
        if self.entity.is_some() { &self.entity_window } else { &self.windows[self.view as usize] }
    }

    pub(crate) fn window_mut(&mut self) -> &mut Window {
        if self.entity.is_some() { &mut self.entity_window } else { &mut self.windows[self.view as usize] }
    }

    /// Returns the last answer of the present view.
    pub(crate) fn answer(&self) -> &Value {
        match self.view {
            View::Time => &self.world,
            view => &self.answers[view as usize],
        }
    }

    /// Returns the present view as a sheet. That of entities is only the part that was asked for.
    pub(crate) fn sheet(&self) -> Sheet {
        match (&self.refusals[self.view as usize], self.answer()) {
            (Some(reason), _) => Sheet::note(reason.clone()),
            (None, Value::Null) => Sheet::note("…"),
            (None, answer) => sheet_of(self.view, answer),
        }
    }

    /// Returns the number of rows of the present view.
    pub(crate) fn row_count(&self) -> usize {
        if self.entity.is_some() {
            return crate::entity_sheet::entity_sheet(&self.entity_answer).0.rows.len();
        }
        match self.view {
            View::Entities => {
                let answer = self.answer();
                let listed = number(answer, "from") + list(answer, "rows").len() as u64;
                let total = answer.get("total").and_then(Value::as_u64).or(self.total);
                let most = if is_true(answer, "sorted") { 10_000 } else { u64::MAX };
                // If the number is not known, one more row lets the user go on.
                total.unwrap_or(listed + 1).max(if total.is_some() { 0 } else { listed }).min(most) as usize
            }
            _ => self.sheet().rows.len(),
        }
    }

    fn at_argument(&self, first: char) -> String {
        self.at.map_or(String::new(), |frame| format!("{first}at=frame-{frame}"))
    }

    /// Returns the routes that show what is looked at.
    pub(crate) fn routes(&mut self) -> Vec<String> {
        let mut routes = vec!["world".to_owned()];
        if self.names.is_empty() || self.view == View::Components {
            routes.push("components".into());
        }
        if let Some(entity) = &self.entity {
            routes.push(format!("entity/{entity}{}", self.at_argument('?')));
            return routes;
        }
        match self.view {
            View::Entities => {
                let (query, at, from) = (encode(&self.query), self.at_argument('&'), self.windows[0].top);
                routes.push(format!("entities?q={query}&from={from}&count={}{at}", self.rows.clamp(1, 1000)));
                let is_open = self.answer().get("total").is_some_and(Value::is_null);
                if is_open && !self.is_counted {
                    self.is_counted = true;
                    routes.push(format!("count?q={query}{at}"));
                }
            }
            View::Tables => routes.push(format!("tables{}", self.at_argument('?'))),
            View::Resources => routes.push("resources".into()),
            View::Groups => routes.push("groups".into()),
            View::Systems => routes.push("systems".into()),
            View::Charts => routes.push("plots".into()),
            View::Compare if self.is_compare_due && !self.world.is_null() => {
                self.is_compare_due = false;
                let choices = self.choices();
                let [before, after] = self.compared.map(|at| choices[at.min(choices.len() - 1)].value.clone());
                routes.push(format!("compare?before={before}&after={after}&limit=500"));
            }
            View::Components | View::Time | View::Compare => {}
        }
        routes
    }

    /// Returns the moments that can be compared. The first is now.
    pub(crate) fn choices(&self) -> Vec<Choice> {
        let mut choices = vec![Choice { name: "now".into(), value: "now".into() }];
        let line = self.world.get("timeline").filter(|line| !line.is_null());
        let (first, last) = line.map_or((0, 0), |line| (number(line, "first"), number(line, "last")));
        // Frames end while the user reads: the oldest are not offered.
        for back in BACK.into_iter().filter(|back| last >= first + back + if *back > 1 { 30 } else { 0 }) {
            let name = if back == 1 { "1 frame back".into() } else { format!("{back} frames back") };
            choices.push(Choice { name, value: format!("back-{back}") });
        }
        for copy in list(&self.world, "copies") {
            let (number, file) = (number(copy, "number"), text(copy, "file"));
            let name = if file.is_empty() { format!("copy {number}") } else { format!("copy {number} ({file})") };
            choices.push(Choice { name, value: format!("copy-{number}") });
        }
        choices
    }

    /// Takes in what came back.
    pub(crate) fn told(&mut self, told: Told) {
        match told {
            Told::Look(answers) => {
                self.failure = None;
                for (route, answer) in answers {
                    self.looked(&route, answer);
                }
            }
            Told::Change(Ok(answer)) => {
                self.message = answer.get("done").map(|done| (crate::view::cell(done), false));
                self.is_due = true;
            }
            Told::Change(Err(fault)) => self.message = Some((fault.to_string(), true)),
        }
    }

    fn looked(&mut self, route: &str, answer: Result<Value, Fault>) {
        let name = route.split(['?', '/']).next().unwrap_or("");
        let view = match name {
            "entities" => View::Entities,
            "tables" => View::Tables,
            "components" => View::Components,
            "resources" => View::Resources,
            "groups" => View::Groups,
            "systems" => View::Systems,
            "plots" => View::Charts,
            "compare" => View::Compare,
            _ => View::Time,
        };
        match answer {
            Ok(answer) => {
                if let Some(cost) = answer.get("cost").and_then(Value::as_f64) {
                    self.cost = cost;
                }
                match name {
                    "world" => self.world = answer,
                    "entity" => self.entity_answer = answer,
                    // The query may be another one by now.
                    "count" if route.starts_with(&format!("count?q={}", encode(&self.query))) => {
                        self.total = answer.get("total").and_then(Value::as_u64);
                    }
                    "count" => {}
                    _ => {
                        if name == "components" {
                            self.names = names_of(&answer);
                        }
                        if name == "entities" {
                            self.query_error = None;
                        }
                        self.refusals[view as usize] = None;
                        self.answers[view as usize] = answer;
                    }
                }
            }
            // The moment that was looked at is gone.
            Err(Fault::Refused(410, _)) if self.at.is_some() => self.at = None,
            Err(Fault::Refused(404, _)) if name == "entity" => {
                let entity = self.entity.take().unwrap_or_default();
                self.entity_answer = Value::Null;
                self.message = Some((format!("{entity} is not alive"), true));
            }
            Err(fault @ Fault::Refused(400, _)) if name == "entities" => {
                self.query_error = Some(fault.to_string());
                self.answers[0] = Value::Null;
            }
            Err(Fault::Refused(400, _)) if name == "count" => {}
            Err(fault @ Fault::Refused(400 | 409 | 410, _))
                if name != "world" && name != "count" && name != "entity" =>
            {
                self.refusals[view as usize] = Some(fault.to_string());
            }
            Err(fault) => self.failure = Some(fault.to_string()),
        }
    }

    // --- what keys do

    pub(crate) fn open_view(&mut self, view: View) {
        (self.view, self.entity, self.is_due) = (view, None, true);
        self.is_compare_due |= view == View::Compare;
    }

    pub(crate) fn open_entity(&mut self, entity: String) {
        if crate::args::is_entity(&entity) {
            (self.entity, self.entity_answer) = (Some(entity), Value::Null);
            (self.entity_window, self.is_due) = (Window { row: Some(0), ..Window::default() }, true);
        }
    }

    pub(crate) fn close_entity(&mut self) {
        (self.entity, self.entity_answer, self.is_due) = (None, Value::Null, true);
    }

    pub(crate) fn set_query(&mut self, query: String) {
        if query != self.query {
            (self.query, self.total, self.is_counted) = (query, None, false);
            (self.windows[0], self.query_error) = (Window::default(), None);
            self.picked.clear();
            self.is_due = true;
        }
    }

    /// Compares again.
    pub(crate) fn compare(&mut self) {
        (self.is_compare_due, self.is_due) = (true, true);
    }

    /// Looks at a frame of the timeline, some frames before or after the present one.
    pub(crate) fn look_by(&mut self, frames: i64) {
        let Some(line) = self.world.get("timeline").filter(|line| !line.is_null()) else {
            self.message = Some(("there is no timeline".into(), true));
            return;
        };
        let (first, last) = (number(line, "first"), number(line, "last"));
        let frame = self.at.unwrap_or(last).saturating_add_signed(frames).clamp(first, last);
        // The last frame is the world as it is, unless the program goes on.
        self.at = if frame == last && frames > 0 { None } else { Some(frame) };
        self.is_due = true;
    }

    /// Moves the chosen row, and shows it within a number of rows.
    pub(crate) fn move_to(&mut self, row: usize, visible: usize) {
        let count = self.row_count();
        let is_list = self.entity.is_none() && self.view == View::Entities;
        let window = self.window_mut();
        let row = row.min(count.saturating_sub(1));
        let visible = visible.max(1);
        let top = window.top;
        window.row = Some(row);
        window.top = window.top.min(row).max((row + 1).saturating_sub(visible));
        if is_list && window.top != top {
            self.is_due = true;
        }
    }

    /// Returns the entity in the chosen row of the list.
    pub(crate) fn chosen_entity(&self) -> Option<String> {
        let row = self.chosen_row()?;
        row.first().and_then(Value::as_str).map(str::to_owned)
    }

    fn chosen_row(&self) -> Option<&Vec<Value>> {
        let answer = &self.answers[0];
        let at = (self.windows[0].row.unwrap_or(0) as u64).checked_sub(number(answer, "from"))?;
        list(answer, "rows").get(usize::try_from(at).ok()?)?.as_array()
    }

    /// Returns why nothing can be changed, if that is so.
    pub(crate) fn refuse_change(&mut self) -> bool {
        let reason = match (self.is_read_only(), self.at) {
            (true, _) => "the inspector is read-only",
            (_, Some(_)) => "an earlier frame can only be looked at",
            _ => return false,
        };
        self.message = Some((reason.into(), true));
        true
    }

    /// Starts to edit the chosen cell of the list.
    pub(crate) fn edit_cell(&mut self) {
        let column = self.windows[0].column.unwrap_or(0);
        let columns = list(&self.answers[0], "columns");
        let Some((head, row)) = column.checked_sub(2).and_then(|at| columns.get(at)).zip(self.chosen_row()) else {
            self.message = Some(("choose a cell with a value, by ← and →".into(), true));
            return;
        };
        let (Some(component), Some(entity), Some(value)) = (
            head.get("component").and_then(Value::as_str),
            row.first().and_then(Value::as_str),
            row.get(column).and_then(Value::as_str),
        ) else {
            self.message = Some(("the entity does not have this value".into(), true));
            return;
        };
        let field = head.get("field").and_then(Value::as_str).unwrap_or("");
        let label = format!("{} of {entity}", text(head, "name"));
        let purpose = Purpose::Edit { entity: entity.into(), component: component.into(), field: field.into() };
        let prompt = Prompt::new(purpose, label, value);
        if !self.refuse_change() {
            self.prompt = Some(prompt);
        }
    }

    /// Sorts by the chosen column: first ascending, then descending, then not at all.
    pub(crate) fn sort(&mut self) {
        let column = self.windows[0].column.unwrap_or(0);
        let columns = list(&self.answers[0], "columns");
        let name = match column {
            0 => return,
            1 => "Name".to_owned(),
            column => match columns.get(column - 2) {
                Some(head) => text(head, "name"),
                None => return,
            },
        };
        let (head, sort) = split_query(&self.query);
        let order = match sort {
            _ if sort == format!("sort {name}") => format!("sort {name} desc"),
            _ if sort == format!("sort {name} desc") => String::new(),
            _ => format!("sort {name}"),
        };
        let query = format!("{head} {order}").trim().to_owned();
        self.set_query(query);
    }

    /// Asks before entities are despawned: those that are picked, or the chosen one.
    pub(crate) fn despawn(&mut self) {
        if self.refuse_change() {
            return;
        }
        let one = self.entity.clone().or_else(|| self.chosen_entity());
        let entities: Vec<String> = match self.entity.is_none() && !self.picked.is_empty() {
            true => self.picked.iter().cloned().collect(),
            false => one.into_iter().collect(),
        };
        let question = match &entities[..] {
            [] => return,
            [entity] => format!("Despawn {entity}?"),
            many => format!("Despawn {} entities?", many.len()),
        };
        self.confirm = Some(Confirm { question, ask: Ask::Change("despawn", json!({ "entities": entities })) });
    }

    /// Carries out what was typed.
    pub(crate) fn take_prompt(&mut self, prompt: Prompt) {
        let typed = prompt.text;
        let ask = match prompt.purpose {
            Purpose::Query => return self.set_query(typed),
            Purpose::Edit { entity, component, field } => {
                Ask::Change("edit", json!({ "entity": entity, "component": component, "field": field, "value": typed }))
            }
            Purpose::Insert { entity } => Ask::Change("insert", json!({ "entity": entity, "component": typed })),
            Purpose::Rename { entity } => {
                let name = Some(typed).filter(|name| !name.is_empty());
                Ask::Change("rename", json!({ "entity": entity, "name": name }))
            }
            Purpose::Action => Ask::Change("act", json!({ "name": typed })),
        };
        self.outbox.push(ask);
    }
}

/// Splits a query before its `sort` or `limit`, which are not within quotes.
pub(crate) fn split_query(query: &str) -> (&str, &str) {
    let (mut quote, mut escaped, mut before) = (None, false, ' ');
    for (at, c) in query.char_indices() {
        match quote {
            Some(_) if escaped => escaped = false,
            Some('"') if c == '\\' => escaped = true,
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if c == '"' || c == '`' => quote = Some(c),
            None if before.is_whitespace() || before == ')' || before == ',' => {
                let word = query[at..].split(|c: char| !c.is_alphanumeric() && c != '_').next();
                if matches!(word, Some("sort" | "limit")) {
                    return (query[..at].trim(), query[at..].trim());
                }
            }
            None => {}
        }
        before = c;
    }
    (query.trim(), "")
}

/// Returns the names of components and their fields, as they are written in queries.
fn names_of(answer: &Value) -> Vec<String> {
    let components = list(answer, "components");
    let mut names = Vec::new();
    for one in components {
        let short = text(one, "short");
        let is_unique = components.iter().filter(|other| text(other, "short") == short).count() == 1;
        let name = if is_unique { short } else { text(one, "name") };
        let is_plain = name.split("::").all(|part| {
            part.starts_with(|c: char| c.is_alphabetic() || c == '_')
                && part.chars().all(|c| c.is_alphanumeric() || c == '_')
        });
        let name = if is_plain { name } else { format!("`{name}`") };
        for field in list(one, "fields") {
            let path = text(field, "path");
            if !path.is_empty() {
                names.push(format!("{name}.{path}"));
            }
        }
        names.push(name);
    }
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_split_before_its_order() {
        for (query, expected) in [
            ("Health sort Health.hp desc", ("Health", "sort Health.hp desc")),
            ("sort Name", ("", "sort Name")),
            ("Title ~ \"a sort \\\" limit\", `sort me`", ("Title ~ \"a sort \\\" limit\", `sort me`", "")),
            ("Resort, sorted limit 5", ("Resort, sorted", "limit 5")),
            ("", ("", "")),
        ] {
            assert_eq!(split_query(query), expected, "{query}");
        }
    }

    #[test]
    fn a_list_is_asked_for_where_it_is_looked_at() {
        let mut app = App::new(View::Entities, "Health.hp < 10".into(), None);
        app.rows = 20;
        assert_eq!(app.routes()[1..], ["components", "entities?q=Health.hp%20%3C%2010&from=0&count=20"]);
        let rows: Vec<Value> = (0..20).map(|at| json!([format!("{at}v0"), null, "1"])).collect();
        let answer = json!({ "from": 0, "rows": rows, "total": null, "columns": [] });
        app.told(Told::Look(vec![("entities?".into(), Ok(answer))]));
        assert_eq!(app.routes().last().unwrap(), "count?q=Health.hp%20%3C%2010");
        app.told(Told::Look(vec![("count?q=Health.hp%20%3C%2010".into(), Ok(json!({ "total": 500, "cost": 70.0 })))]));
        assert_eq!((app.row_count(), app.cost), (500, 70.0));
        app.is_due = false;
        app.move_to(499, 20);
        assert_eq!((app.windows[0].top, app.is_due), (480, true));
        assert!(app.routes().iter().any(|route| route.contains("from=480&count=20")));
        app.at = Some(7);
        assert!(app.routes().iter().any(|route| route.ends_with("&at=frame-7")));
    }

    #[test]
    fn errors_go_where_they_belong() {
        let mut app = App::new(View::Systems, String::new(), None);
        let refused = |status, error: &str| Err(Fault::Refused(status, json!({ "error": error })));
        app.told(Told::Look(vec![("systems".into(), refused(409, "no run yet"))]));
        assert_eq!((app.sheet().lead, &app.failure), (vec!["no run yet".to_owned()], &None));
        app.told(Told::Look(vec![("world".into(), Err(Fault::Unreachable("gone".into())))]));
        assert!(app.failure.as_ref().unwrap().contains("gone"));
        app.at = Some(3);
        app.told(Told::Look(vec![("tables?at=frame-3".into(), refused(410, "gone"))]));
        assert_eq!((app.at, &app.failure), (None, &None));
        app.view = View::Entities;
        app.told(Told::Look(vec![("entities?q=x".into(), refused(400, "at 0: there is no component `x`"))]));
        assert!(app.query_error.as_ref().unwrap().contains("no component"));
        app.open_entity("7v1".into());
        app.told(Told::Look(vec![("entity/7v1".into(), refused(404, "x"))]));
        assert_eq!(app.entity, None);
        app.told(Told::Change(refused(409, "not plain")));
        assert_eq!(app.message, Some(("not plain".into(), true)));
    }
}
