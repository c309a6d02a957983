//! Finds components and fields by the names that a query has for them.

use super::error::{TextQueryError, TextQueryProblem};
use crate::component::{ComponentId, Components};

/// Returns `true` if a name is an ending of a whole name: all of it, or what is after a `::` outside of brackets, or after a
/// character that is not one of a name.
fn is_ending(name: &str, whole: &str) -> bool {
    let Some(before) = whole.strip_suffix(name) else { return false };
    let mut depth = 0_i32;
    before.chars().for_each(|c| match c {
        '<' | '(' | '[' => depth += 1,
        '>' | ')' | ']' => depth -= 1,
        _ => {}
    });
    depth == 0 && before.chars().next_back().is_none_or(|c| !c.is_alphanumeric() && c != '_')
}

/// Returns the last part of a name: what is after the last `::` outside of brackets.
fn last_part(whole: &str) -> &str {
    let end = whole.find('<').unwrap_or(whole.len());
    let start = whole[..end].rfind("::").map_or(0, |at| at + 2);
    &whole[start..]
}

/// Finds the component of a name. `others` are further names of components.
pub(super) fn find_component(
    components: &Components,
    others: &[(&str, ComponentId)],
    name: &str,
    at: usize,
) -> Result<ComponentId, TextQueryError> {
    // An id that no component has here is that of another world.
    let is_known = |id: &ComponentId| id.index() < components.len() && !components.is_hidden(*id);
    let known = || {
        let own = components.iter().map(|(id, info)| (info.name(), id));
        others.iter().copied().chain(own).filter(|(_, id)| is_known(id))
    };
    // A whole name counts before an ending.
    for is_match in [|name: &str, whole: &str| name == whole, is_ending] {
        let mut found: Option<(&str, ComponentId)> = None;
        for (whole, id) in known().filter(|(whole, _)| is_match(name, whole)) {
            match found {
                Some((other, first)) if first != id => {
                    let (name, candidates) = (name.into(), [other.into(), whole.into()]);
                    return Err(TextQueryError::new(at, TextQueryProblem::Ambiguous { name, candidates }));
                }
                _ => found = found.or(Some((whole, id))),
            }
        }
        if let Some((_, id)) = found {
            return Ok(id);
        }
    }
    let nearest = nearest(name, known().map(|(whole, _)| last_part(whole)));
    Err(TextQueryError::new(at, TextQueryProblem::NoSuchComponent { name: name.into(), nearest }))
}

/// Returns the name that differs least from another one, if one is similar.
pub(super) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    // Long names would take long, and are not typed by hand.
    const LONGEST: usize = 64;
    let most = name.chars().count() / 3 + 1;
    let near = known.filter(|other| other.len() <= LONGEST && name.len() <= LONGEST);
    let ranked = near.map(|other| (distance(&name.to_lowercase(), &other.to_lowercase()), other));
    let best = ranked.min_by(|a, b| a.0.cmp(&b.0).then_with(|| a.1.cmp(b.1)));
    best.filter(|(distance, _)| *distance <= most).map(|(_, other)| other.into())
}

/// Returns how many characters must be inserted, removed, replaced or exchanged with the next to get from one text to another.
fn distance(a: &str, b: &str) -> usize {
    let [a, b]: [Vec<char>; 2] = [a, b].map(|text| text.chars().collect());
    let (mut older, mut old, mut row) = (vec![0; b.len() + 1], vec![0; b.len() + 1], (0..=b.len()).collect::<Vec<_>>());
    for (at, c) in a.iter().enumerate() {
        core::mem::swap(&mut older, &mut old);
        core::mem::swap(&mut old, &mut row);
        row[0] = at + 1;
        for (column, other) in b.iter().enumerate() {
            let replaced = old[column] + usize::from(c != other);
            row[column + 1] = replaced.min(old[column + 1] + 1).min(row[column] + 1);
            if at > 0 && column > 0 && *c == b[column - 1] && a[at - 1] == *other {
                row[column + 1] = row[column + 1].min(older[column - 1] + 1);
            }
        }
    }
    row[b.len()]
}
