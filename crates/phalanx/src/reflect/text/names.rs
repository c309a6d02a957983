//! Finds components and fields by the names that a query has for them.

use super::error::{TextQueryError, TextQueryProblem};
use crate::alloc::try_text;
use crate::component::{ComponentId, Components};
use phalanx_store::AllocError;

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
                    let (name, candidates) = (try_text(name)?, [try_text(other)?, try_text(whole)?]);
                    return Err(TextQueryError::new(at, TextQueryProblem::Ambiguous { name, candidates }));
                }
                _ => found = found.or(Some((whole, id))),
            }
        }
        if let Some((_, id)) = found {
            return Ok(id);
        }
    }
    let nearest = nearest(name, known().map(|(whole, _)| last_part(whole)))?;
    Err(TextQueryError::new(at, TextQueryProblem::NoSuchComponent { name: try_text(name)?, nearest }))
}

/// Returns the name that differs least from another one, if one is similar.
pub(super) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Result<Option<String>, AllocError> {
    let most = name.chars().count() / 3 + 1;
    let near = known.filter(|other| other.len() <= LONGEST && name.len() <= LONGEST);
    let ranked = near.map(|other| (distance(name, other), other));
    let best = ranked.min_by(|a, b| a.0.cmp(&b.0).then_with(|| a.1.cmp(b.1)));
    best.filter(|(distance, _)| *distance <= most).map(|(_, other)| try_text(other)).transpose()
}

/// The longest name that is compared with others, in bytes. Long names would take long, and are not typed by hand.
const LONGEST: usize = 64;

/// Writes the characters of a text in lower case into a list, and returns their number.
fn lower_case(text: &str, list: &mut [char; LONGEST]) -> usize {
    let lower = text.chars().flat_map(char::to_lowercase);
    list.iter_mut().zip(lower).map(|(place, c)| *place = c).count()
}

/// Returns how many characters must be inserted, removed, replaced or exchanged with the next to get from one text to another.
/// Upper and lower case do not matter.
fn distance(a: &str, b: &str) -> usize {
    let mut lists = [['\0'; LONGEST]; 2];
    let [in_a, in_b] = &mut lists;
    let (a_len, b_len) = (lower_case(a, in_a), lower_case(b, in_b));
    let (a, b) = (&in_a[..a_len], &in_b[..b_len]);
    let (mut older, mut old, mut row) = ([0; LONGEST + 1], [0; LONGEST + 1], core::array::from_fn(|at| at));
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
