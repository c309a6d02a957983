//! [`View`]: what can be looked at, and answers of the program as [`Sheet`]s.

use crate::sheet::{Head, Sheet};
use crate::text::{bytes, count, micros, printable, short};
use serde_json::Value;

/// What can be looked at, as the pages of the inspector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum View {
    #[default]
    Entities,
    Tables,
    Components,
    Resources,
    Groups,
    Systems,
    Time,
    Compare,
    Charts,
}

impl View {
    /// All views, in the order of their keys.
    pub(crate) const ALL: [View; 9] = [
        View::Entities,
        View::Tables,
        View::Components,
        View::Resources,
        View::Groups,
        View::Systems,
        View::Time,
        View::Compare,
        View::Charts,
    ];

    pub(crate) fn name(self) -> &'static str {
        ["Entities", "Tables", "Components", "Resources", "Groups", "Systems", "Time", "Compare", "Charts"]
            [self as usize]
    }

    pub(crate) fn by_name(name: &str) -> Option<View> {
        View::ALL.into_iter().find(|view| view.name().eq_ignore_ascii_case(name))
    }
}

/// Returns the text of a member, as it can be printed. What is missing is empty.
pub(crate) fn text(value: &Value, name: &str) -> String {
    cell(value.get(name).unwrap_or(&Value::Null))
}

/// Returns a value as text that can be printed. Null is empty.
pub(crate) fn cell(value: &Value) -> String {
    match value {
        Value::String(text) => printable(text),
        Value::Null => String::new(),
        other => printable(&other.to_string()),
    }
}

pub(crate) fn number(value: &Value, name: &str) -> u64 {
    value.get(name).and_then(Value::as_u64).unwrap_or(0)
}

fn float(value: &Value, name: &str) -> f64 {
    value.get(name).and_then(Value::as_f64).unwrap_or(0.0)
}

pub(crate) fn is_true(value: &Value, name: &str) -> bool {
    value.get(name).and_then(Value::as_bool).unwrap_or(false)
}

pub(crate) fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn joined(values: &[Value]) -> String {
    let texts: Vec<String> = values.iter().map(cell).collect();
    if texts.is_empty() { "–".into() } else { texts.join(", ") }
}

fn share(used: u64, all: u64) -> String {
    let part = if all == 0 { 100.0 } else { used as f64 * 100.0 / all as f64 };
    format!("{part:.0} %")
}

/// Returns a number and a noun.
pub(crate) fn plural(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

/// Returns the answer of a program as a sheet: for all views but those of one entity, of time and of charts.
pub(crate) fn sheet_of(view: View, answer: &Value) -> Sheet {
    match view {
        View::Entities => entities(answer),
        View::Tables => tables(answer),
        View::Components => components(answer),
        View::Resources => resources(answer),
        View::Groups => groups(answer),
        View::Systems => systems(answer),
        View::Compare => compare(answer),
        View::Time => time(answer),
        View::Charts => charts(answer),
    }
}

/// Returns the list of entities. Picked rows are marked by the caller.
fn entities(answer: &Value) -> Sheet {
    let mut sheet = Sheet::new(&[("Entity", false), ("Name", false)]);
    for column in list(answer, "columns") {
        let is_number = text(column, "kind") == "number";
        sheet.head.push(Head { name: text(column, "name"), is_number });
    }
    let rows = list(answer, "rows").iter().filter_map(Value::as_array);
    sheet.rows = rows.map(|row| row.iter().map(cell).collect()).collect();
    sheet
}

/// Describes a list of entities in a line. `total` is the number of matches, if it is known otherwise.
pub(crate) fn summary(answer: &Value, total: Option<u64>) -> String {
    let listed = number(answer, "from") + list(answer, "rows").len() as u64;
    let total = answer.get("total").and_then(Value::as_u64).or(total);
    let mut parts = vec![match total {
        Some(total) => plural(total, "entity", "entities"),
        None => format!("at least {}", plural(listed, "entity", "entities")),
    }];
    if is_true(answer, "sorted") && total.is_some_and(|total| total > 10_000) {
        parts.push("the first 10,000 are listed".into());
    }
    if is_true(answer, "torn") {
        parts.push("the world changed during the scan".into());
    }
    let steps = number(answer, "steps");
    let frames = if steps > 1 { format!(" in {steps} frames") } else { String::new() };
    parts.push(format!("{} of loop time{frames}", micros(float(answer, "cost"))));
    parts.join(" · ")
}

fn tables(answer: &Value) -> Sheet {
    let mut sheet = Sheet::new(&[
        ("Kind", false),
        ("Rows", true),
        ("Capacity", true),
        ("Used", true),
        ("Bytes", true),
        ("Components", false),
    ]);
    let (tables, stores) = (list(answer, "tables"), list(answer, "stores"));
    sheet.lead.push(format!(
        "{} in all · {} · {}",
        bytes(number(answer, "bytes")),
        plural(number(answer, "count"), "table", "tables"),
        plural(stores.len() as u64, "sparse store", "sparse stores"),
    ));
    let parts = answer.get("parts").and_then(Value::as_object);
    let parts = parts.into_iter().flatten().filter(|(_, size)| size.as_u64() != Some(0));
    let parts: Vec<_> =
        parts.map(|(name, size)| format!("{} {}", printable(name), bytes(size.as_u64().unwrap_or(0)))).collect();
    sheet.lead.push(parts.join(" · "));
    let mut add = |kind: String, one: &Value, components: String| {
        let (rows, capacity) = (number(one, "rows"), number(one, "capacity"));
        let size = bytes(number(one, "bytes"));
        sheet.rows.push(vec![kind, count(rows), count(capacity), share(rows, capacity), size, components]);
    };
    for table in tables {
        let kind = if is_true(table, "extra") { "extra rows" } else { "table" };
        let columns: Vec<_> = list(table, "columns")
            .iter()
            .map(|one| format!("{} {}", text(one, "short"), bytes(number(one, "bytes"))))
            .collect();
        add(kind.into(), table, if columns.is_empty() { "–".into() } else { columns.join(", ") });
    }
    for store in stores {
        add(text(store, "layout"), store, text(store, "short"));
    }
    sheet
}

fn components(answer: &Value) -> Sheet {
    let mut sheet = Sheet::new(&[
        ("Component", false),
        ("Layout", false),
        ("Values", true),
        ("Share", true),
        ("Size", true),
        ("Bytes", true),
        ("Advice", false),
        ("Fields", false),
    ]);
    sheet.lead.push(match is_true(answer, "counted") {
        true => "Accesses are counted: advice considers them.".into(),
        false => "Accesses are not counted. World::set_access_counting(true) does so, for better advice.".into(),
    });
    for one in list(answer, "components") {
        let (layout, advice) = (text(one, "layout"), text(one, "advice"));
        let advice = if advice == layout { "keep".into() } else { format!("{advice}: {}", text(one, "reason")) };
        let fields: Vec<_> = list(one, "fields")
            .iter()
            .map(|field| {
                let path = text(field, "path");
                format!("{}: {}", if path.is_empty() { "value" } else { &path }, text(field, "type"))
            })
            .collect();
        let share = format!("{:.1} %", float(one, "share") * 100.0);
        sheet.rows.push(vec![
            text(one, "short"),
            layout,
            count(number(one, "values")),
            share,
            format!("{} B", number(one, "size")),
            bytes(number(one, "bytes")),
            advice,
            fields.join(", "),
        ]);
    }
    sheet
}

fn resources(answer: &Value) -> Sheet {
    let mut sheet = Sheet::new(&[("Resource", false), ("Value", false)]);
    for one in list(answer, "resources") {
        let mut name = text(one, "short");
        match one.get("value").and_then(Value::as_str) {
            Some(value) => {
                for line in value.lines() {
                    sheet.rows.push(vec![core::mem::take(&mut name), printable(line)]);
                }
            }
            None => {
                let hint = format!("(not shown: add .resource::<{name}>() to the builder)");
                sheet.rows.push(vec![name, hint]);
            }
        }
    }
    if sheet.rows.is_empty() { Sheet::note("The world has no resources.") } else { sheet }
}

fn groups(answer: &Value) -> Sheet {
    let mut sheet = Sheet::new(&[
        ("Owned", false),
        ("Required", false),
        ("Excluded", false),
        ("Members", true),
        ("First members", false),
    ]);
    for one in list(answer, "groups") {
        let first = list(one, "first");
        sheet.rows.push(vec![
            joined(list(one, "owned")),
            joined(list(one, "required")),
            joined(list(one, "excluded")),
            count(number(one, "members")),
            joined(&first[..first.len().min(8)]),
        ]);
    }
    if sheet.rows.is_empty() { Sheet::note("The world has no groups.") } else { sheet }
}

fn systems(answer: &Value) -> Sheet {
    let mut sheet = Sheet::new(&[
        ("System", false),
        ("Stage", true),
        ("Thread", true),
        ("Start", true),
        ("Time", true),
        ("Waited", false),
    ]);
    sheet.lead.push(format!(
        "The last run took {}. Systems on the critical path have a *.",
        micros(float(answer, "duration"))
    ));
    for one in list(answer, "systems") {
        let mark = if is_true(one, "critical") { "* " } else { "  " };
        let waited = one.get("waited").filter(|waited| !waited.is_null()).map_or("–".into(), |waited| {
            let for_system = text(waited, "for");
            let reason = if for_system.is_empty() { String::new() } else { format!(" for {for_system}") };
            format!("{}{reason}", micros(float(waited, "time")))
        });
        let (start, end) = (float(one, "start"), float(one, "end"));
        sheet.rows.push(vec![
            format!("{mark}{}", text(one, "name")),
            number(one, "stage").to_string(),
            number(one, "thread").to_string(),
            micros(start),
            micros(end - start),
            waited,
        ]);
    }
    sheet
}

fn compare(answer: &Value) -> Sheet {
    let mut sheet =
        Sheet::new(&[("Entity", false), ("What", false), ("Component", false), ("Before", false), ("After", false)]);
    let [spawned, despawned, changed] = ["spawned", "despawned", "changed"].map(|name| number(answer, name));
    let torn = if is_true(answer, "torn") { " · the world changed meanwhile" } else { "" };
    let [before, after] = ["before", "after"].map(|name| text(answer, name).replacen('-', " ", 1));
    sheet.lead.push(match spawned + despawned + changed {
        0 => format!("Between {before} and {after}: nothing differs{torn}"),
        _ => format!(
            "Between {before} and {after}: {} spawned · {} despawned · {} changed{torn}",
            count(spawned),
            count(despawned),
            count(changed)
        ),
    });
    let parts: Vec<_> = list(answer, "components")
        .iter()
        .map(|one| format!("{} {}", text(one, "name"), count(number(one, "count"))))
        .collect();
    if !parts.is_empty() {
        sheet.lead.push(format!("By component: {}", parts.join(", ")));
    }
    for one in list(answer, "differences") {
        let field = text(one, "field");
        let dot = if field.is_empty() { "" } else { "." };
        let component = format!("{}{dot}{field}", text(one, "component"));
        sheet.rows.push(vec![
            text(one, "entity"),
            text(one, "what"),
            component,
            text(one, "before"),
            text(one, "after"),
        ]);
    }
    sheet
}

/// Returns the view of time, of the answer `world`.
fn time(world: &Value) -> Sheet {
    let mut sheet = Sheet::default();
    let state = match (is_true(world, "held"), is_true(world, "paused")) {
        (true, _) => "paused",
        (false, true) => "paused, after the frames that were asked for",
        (false, false) => "running",
    };
    sheet.lead.push(format!("The program is {state}, after frame {}.", count(number(world, "frame"))));
    match world.get("timeline").filter(|line| !line.is_null()) {
        Some(line) => sheet.lead.push(format!(
            "Frames {} to {} are kept, in {}.",
            count(number(line, "first")),
            count(number(line, "last")),
            bytes(number(line, "bytes"))
        )),
        None => {
            let fault = text(world, "timelineFault");
            sheet.lead.push("There is no timeline: .timeline(600) of the builder keeps the last 600 frames.".into());
            if !fault.is_empty() {
                sheet.lead.push(format!("It has ended: {fault}"));
            }
        }
    }
    for copy in list(world, "copies") {
        let (number, frame, entities) = (number(copy, "number"), number(copy, "frame"), number(copy, "entities"));
        let file = text(copy, "file");
        let of = if file.is_empty() { format!("of frame {}", count(frame)) } else { format!("of the file {file}") };
        sheet.lead.push(format!("Copy {number} {of}: {}.", plural(entities, "entity", "entities")));
    }
    let actions = list(world, "actions");
    if !actions.is_empty() {
        sheet.lead.push(format!("Actions: {}", joined(actions)));
    }
    sheet
}

/// Returns the last, least and greatest values of all plots.
fn charts(answer: &Value) -> Sheet {
    let mut sheet = Sheet::new(&[("Value", false), ("Last", true), ("Least", true), ("Most", true), ("Frames", true)]);
    for plot in list(answer, "plots") {
        let values = values_of(plot);
        let (least, most) = range_of(&values);
        let last = values.last().copied().unwrap_or(f64::NAN);
        sheet.rows.push(vec![text(plot, "name"), short(last), short(least), short(most), count(values.len() as u64)]);
    }
    if sheet.rows.is_empty() {
        Sheet::note("No values are charted: .plot(\"alive\", …) of the builder adds one.")
    } else {
        sheet
    }
}

/// Returns the values of a plot. What is not a number is NaN.
pub(crate) fn values_of(plot: &Value) -> Vec<f64> {
    list(plot, "values").iter().map(|value| value.as_f64().unwrap_or(f64::NAN)).collect()
}

/// Returns the least and the greatest of some values.
pub(crate) fn range_of(values: &[f64]) -> (f64, f64) {
    let known = values.iter().copied().filter(|value| value.is_finite());
    known.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), value| (least.min(value), most.max(value)))
}
