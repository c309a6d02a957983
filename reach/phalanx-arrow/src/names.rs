//! The names of tables and columns.

use phalanx::snapshot::Registry;
use phalanx::system::ShortName;
use phalanx::{ComponentId, World};
use std::collections::BTreeMap;

/// The column of entities.
pub const ENTITY: &str = "entity";

/// The column of a component that is one value, such as `struct Health(u32)`.
pub const VALUE: &str = "value";

/// The names that columns of recordings and their folders have.
const RESERVED: [&str; 5] = [ENTITY, "frame", "run", "component", "seed"];

/// Returns the name of the column of a field.
///
/// A field of a tuple has an underscore before its number, and a field with a reserved name has one after it. So a query in SQL
/// needs no quotes.
pub(crate) fn column(field: &str) -> String {
    let field = field.strip_prefix("r#").unwrap_or(field);
    match field.bytes().next() {
        Some(b'0'..=b'9') => format!("_{field}"),
        _ if RESERVED.contains(&field.trim_end_matches('_')) => format!("{field}_"),
        _ => field.to_owned(),
    }
}

/// Turns a name into one of lower-case letters, digits and underscores: `HealthBar<u8>` into `health_bar_u8`.
pub(crate) fn snake_case(name: &str) -> String {
    let (mut text, mut before) = (String::with_capacity(name.len() + 4), None);
    let mut letters = name.chars().peekable();
    while let Some(letter) = letters.next() {
        if !letter.is_alphanumeric() {
            before = None;
            if !text.is_empty() && !text.ends_with('_') {
                text.push('_');
            }
            continue;
        }
        // `HealthBar` has a border before `B`, and `HTTPServer` before `S`.
        let is_first_of_word = letter.is_uppercase()
            && before.is_some_and(|before: char| {
                !before.is_uppercase() || letters.peek().is_some_and(|next| next.is_lowercase())
            });
        if is_first_of_word && !text.ends_with('_') {
            text.push('_');
        }
        text.extend(letter.to_lowercase());
        before = Some(letter);
    }
    text.truncate(text.trim_end_matches('_').len());
    match text.bytes().next() {
        None | Some(b'0'..=b'9') => format!("_{text}"),
        _ => text,
    }
}

/// Returns the components of a world with the names of their tables, in alphabetical order.
///
/// The name is that of the registry, or else that of the type without modules, in lower case with underscores. If several types
/// would have the same name, they have those of their modules before it. Components of relations and names have no table.
pub(crate) fn tables(world: &World, registry: Option<&Registry>) -> Vec<(String, ComponentId)> {
    let mut names: BTreeMap<String, Vec<(&str, ComponentId)>> = BTreeMap::new();
    let components = world.components().iter().skip(1).filter(|(_, info)| !info.is_internal());
    for (id, info) in components {
        let name = match registry.and_then(|registry| registry.name_of(info)) {
            Some(name) => snake_case(name),
            None => snake_case(&ShortName(info.name()).to_string()),
        };
        names.entry(name).or_default().push((info.name(), id));
    }
    let mut tables: BTreeMap<String, ComponentId> = BTreeMap::new();
    let (single, several): (Vec<_>, Vec<_>) = names.into_iter().partition(|(_, list)| list.len() == 1);
    tables.extend(single.into_iter().map(|(name, list)| (name, list[0].1)));
    for (full, id) in several.into_iter().flat_map(|(_, list)| list) {
        let name = snake_case(full);
        let numbered = (2..).map(|n| format!("{name}_{n}"));
        let free = [name.clone()].into_iter().chain(numbered).find(|name| !tables.contains_key(name));
        tables.extend(free.map(|name| (name, id)));
    }
    tables.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::{column, snake_case};

    #[test]
    fn names_need_no_quotes() {
        for (name, expected) in [
            ("Health", "health"),
            ("HealthBar", "health_bar"),
            ("HTTPServer", "http_server"),
            ("Named<Base, Stat>", "named_base_stat"),
            ("game::Health2D", "game_health2_d"),
            ("odd name!", "odd_name"),
            ("2d", "_2d"),
            ("", "_"),
        ] {
            assert_eq!(snake_case(name), expected);
        }
        for (field, expected) in
            [("x", "x"), ("0", "_0"), ("r#type", "type"), ("entity", "entity_"), ("entity_", "entity__"), ("_", "_")]
        {
            assert_eq!(column(field), expected);
        }
    }
}
