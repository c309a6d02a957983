//! [`EntityLine`]: the lines of the view of one entity.

use crate::sheet::Sheet;
use crate::view::{is_true, list, number, text};
use serde_json::Value;

/// What a line of the view of one entity is about.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum EntityLine {
    /// A field of a component: whole name, path, value, and whether it can be edited.
    Field { component: String, path: String, value: String, why: Option<String> },
    /// Another entity.
    Link(String),
    /// Something that can only be read.
    Fixed,
}

/// Returns the lines of an entity, and what each is about.
pub(crate) fn entity_sheet(answer: &Value) -> (Sheet, Vec<EntityLine>) {
    let mut sheet = Sheet::new(&[("Component", false), ("Field", false), ("Value", false)]);
    let mut lines = Vec::new();
    let (name, path) = (text(answer, "name"), text(answer, "path"));
    let path = if path == name || path.is_empty() { String::new() } else { format!(" · {path}") };
    sheet.lead.push(format!("{} {name}{path}", text(answer, "entity")).trim_end().to_owned());
    for component in list(answer, "components") {
        add_component(&mut sheet, &mut lines, component, "", false);
    }
    for relation in list(answer, "relations") {
        let name = text(relation, "name");
        let mut link = |what: &str, to: &Value| {
            let parts: Vec<String> = to.as_array().into_iter().flatten().map(crate::view::cell).collect();
            sheet.rows.push(vec![name.clone(), what.into(), parts.join(" ").trim_end().to_owned()]);
            lines.push(EntityLine::Link(parts.first().cloned().unwrap_or_default()));
        };
        if let Some(target) = relation.get("target").filter(|target| !target.is_null()) {
            link("target", target);
        }
        list(relation, "sources").iter().for_each(|source| link("source", source));
        if !is_true(relation, "whole") {
            sheet.rows.push(vec![name.clone(), "source".into(), "and more".into()]);
            lines.push(EntityLine::Fixed);
        }
    }
    for row in list(answer, "rows") {
        let (about, role) = (text(row, "about"), number(row, "role"));
        let mut title = String::from("row");
        if !about.is_empty() {
            title.push_str(&format!(" about {about}"));
        }
        if role != 0 {
            title.push_str(&format!(" role {role}"));
        }
        for component in list(row, "components") {
            add_component(&mut sheet, &mut lines, component, &title, true);
        }
    }
    if sheet.rows.is_empty() {
        sheet.lead.push("This entity has no components.".into());
    }
    (sheet, lines)
}

fn add_component(sheet: &mut Sheet, lines: &mut Vec<EntityLine>, component: &Value, row: &str, is_fixed: bool) {
    let mut short = text(component, "short");
    if !row.is_empty() {
        short = format!("{row}: {short}");
    }
    // The name as it is, because it goes back to the program.
    let name = component.get("name").and_then(Value::as_str).unwrap_or("").to_owned();
    let raw = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).unwrap_or("").to_owned();
    let why = match (is_fixed, is_true(component, "editable")) {
        (true, _) => Some("extra rows are read-only here".to_owned()),
        (false, true) => None,
        (false, false) => Some(text(component, "why")).filter(|why| !why.is_empty()).or(Some("it is read-only".into())),
    };
    let fields = list(component, "fields");
    if fields.is_empty() {
        sheet.rows.push(vec![short, String::new(), text(component, "value")]);
        let json = component.get("json").and_then(Value::as_str).filter(|_| !is_fixed);
        lines.push(EntityLine::Field {
            component: name,
            path: String::new(),
            value: json.map_or_else(|| raw(component, "value"), str::to_owned),
            // A value in JSON is edited as a whole.
            why: if json.is_some() { None } else { why.or(Some("it has no fields".into())) },
        });
        return;
    }
    for field in fields {
        let (path, kind) = (text(field, "path"), text(field, "kind"));
        let label = if path.is_empty() || (path == "0" && fields.len() == 1) { "value" } else { &path };
        sheet.rows.push(vec![core::mem::take(&mut short), label.into(), text(field, "value")]);
        let is_text = kind == "other" || text(field, "type") == "text";
        lines.push(match kind.as_str() {
            "entity" if why.is_some() => EntityLine::Link(raw(field, "value")),
            _ => EntityLine::Field {
                component: name.clone(),
                path: raw(field, "path"),
                value: raw(field, "value"),
                why: why.clone().or_else(|| is_text.then(|| "a text cannot be edited in place".to_owned())),
            },
        });
    }
}
