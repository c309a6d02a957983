//! [`CompareTask`]: what differs between two moments, found in steps.

use crate::budget::Budget;
use crate::json::Json;
use crate::request::Moment;
use crate::response::{ANSWER_LIMIT, Response};
use crate::state::State;
use crate::value::{Style, short_name, write_value};
use phalanx::reflect::{Kind, Value};
use phalanx::{ComponentId, Entity, EntityRef, World};

/// The number of entities between two looks at the clock.
const ENTITIES_PER_LOOK: usize = 32;

/// The length of a value in a comparison, in bytes.
const VALUE_LIMIT: usize = 256;

/// What differs between two moments, found in steps.
///
/// Worlds of one program give a component the same id, because copies and frames are made of the world.
#[derive(Debug)]
pub(crate) struct CompareTask {
    at: [Moment; 2],
    limit: usize,
    /// The entities of both worlds, sorted.
    entities: Vec<Entity>,
    next: usize,
    /// The text of the list.
    found: Json,
    listed: usize,
    counts: [usize; 3],
    /// The number of differences by component.
    by_component: Vec<usize>,
    steps: u64,
}

impl CompareTask {
    pub(crate) fn new(
        state: &mut State,
        world: &World,
        at: [Moment; 2],
        limit: usize,
    ) -> Result<CompareTask, Response> {
        if let [Moment::Frame(a), Moment::Frame(b)] = at
            && a != b
        {
            return Err(Response::error(
                400,
                "one of the two is the world now, or a copy: keep a copy of a frame first",
            ));
        }
        let mut entities = Vec::new();
        for moment in at {
            state.history.prepare(world, moment)?;
            let Some(world) = state.history.world_at(world, moment) else {
                return Err(Response::error(410, "a moment is not there any more"));
            };
            if entities.try_reserve(world.len()).is_err() {
                return Err(Response::out_of_memory());
            }
            entities.extend(world.iter());
        }
        entities.sort_unstable_by_key(|entity: &Entity| entity.to_bits().rotate_left(32));
        entities.dedup();
        let mut by_component = Vec::new();
        let components = world.components().iter().map(|(id, _)| id.index() + 1).max().unwrap_or(0);
        if by_component.try_reserve(components).is_err() {
            return Err(Response::out_of_memory());
        }
        by_component.resize(components, 0);
        let mut found = Json::new(ANSWER_LIMIT / 2);
        found.open_list();
        Ok(CompareTask { at, limit, entities, next: 0, found, listed: 0, counts: [0; 3], by_component, steps: 0 })
    }

    /// Goes on. Returns the answer at the end.
    pub(crate) fn proceed(&mut self, state: &mut State, world: &World, budget: &Budget) -> Option<Response> {
        self.steps += 1;
        let State { history, panicked, frame, .. } = state;
        let worlds = self.at.map(|moment| history.world_at(world, moment));
        let [Some(before), Some(after)] = worlds else {
            return Some(Response::error(410, "a moment is not there any more"));
        };
        while self.next < self.entities.len() {
            let end = (self.next + ENTITIES_PER_LOOK).min(self.entities.len());
            for at in self.next..end {
                self.compare(self.entities[at], before, after, panicked);
            }
            self.next = end;
            if self.next < self.entities.len() && budget.is_over() {
                return None;
            }
        }
        let found = core::mem::replace(&mut self.found, Json::new(0));
        let mut json = Json::new(ANSWER_LIMIT);
        json.object(|json| {
            json.key("frame").number(*frame);
            json.key("before").display(self.at[0]);
            json.key("after").display(self.at[1]);
            json.key("spawned").number(self.counts[0] as u64);
            json.key("despawned").number(self.counts[1] as u64);
            json.key("changed").number(self.counts[2] as u64);
            json.key("listed").number(self.listed as u64);
            json.key("torn").bool(self.steps > 1 && self.at.contains(&Moment::Now));
            json.key("components").list(|json| {
                for (id, info) in world.components().iter() {
                    let count = self.by_component.get(id.index()).copied().unwrap_or(0);
                    if count > 0 {
                        json.object(|json| {
                            json.key("name").text(short_name(info.name()));
                            json.key("count").number(count as u64);
                        });
                    }
                }
            });
            json.key("differences").raw_list(found);
        });
        Some(Response::from_json(json))
    }

    fn compare(&mut self, entity: Entity, before: &World, after: &World, panicked: &mut Vec<ComponentId>) {
        match (before.entity(entity), after.entity(entity)) {
            (Ok(a), Ok(b)) => self.compare_values(a, b, panicked),
            (Err(_), Ok(_)) => self.list(0, entity, "spawned"),
            (Ok(_), Err(_)) => self.list(1, entity, "despawned"),
            (Err(_), Err(_)) => {}
        }
    }

    fn list(&mut self, count: usize, entity: Entity, what: &str) {
        self.counts[count] += 1;
        if self.listed < self.limit {
            self.listed += 1;
            self.found.object(|json| {
                json.key("entity").display(entity);
                json.key("what").text(what);
            });
        }
    }

    fn compare_values(&mut self, a: EntityRef<'_>, b: EntityRef<'_>, panicked: &mut Vec<ComponentId>) {
        let mut differs = false;
        // The later of the two worlds knows more components. It may be either of them.
        let [first, second] = [a, b].map(|entity| entity.world().components());
        let components = if first.len() > second.len() { first } else { second };
        for (id, info) in components.iter() {
            let values = (a.value(id).ok(), b.value(id).ok());
            let (what, values) = match values {
                (None, None) => continue,
                (Some(value), None) => ("removed", [Some(value), None]),
                (None, Some(value)) => ("inserted", [None, Some(value)]),
                (Some(old), Some(new)) if is_same(old, new) => continue,
                (Some(old), Some(new)) => ("changed", [Some(old), Some(new)]),
            };
            differs = true;
            if let Some(count) = self.by_component.get_mut(id.index()) {
                *count += 1;
            }
            if self.listed == self.limit {
                continue;
            }
            self.listed += 1;
            self.found.object(|json| {
                json.key("entity").display(b.id());
                json.key("component").text(short_name(info.name()));
                json.key("what").text(what);
                let style = Style::of(info);
                // The first field that differs says more than a long value does.
                let field = match values {
                    [Some(old), Some(new)] => first_difference(old, new),
                    _ => None,
                };
                json.key("field").maybe_text(field.map(|(name, _, _)| name));
                let (values, style) = match field {
                    Some((_, old, new)) => ([Some(old), Some(new)], old.shape().map_or(style, Style::of_shape)),
                    None => (values, style),
                };
                for (name, value) in ["before", "after"].iter().zip(values) {
                    json.key(name);
                    match value {
                        Some(value) => write_value(value, id, style, VALUE_LIMIT, panicked, json),
                        None => json.null(),
                    }
                }
            });
        }
        self.counts[2] += usize::from(differs);
    }
}

/// Returns the only field of a struct in which two values differ.
fn first_difference<'a, 'b>(a: Value<'a>, b: Value<'b>) -> Option<(&'static str, Value<'a>, Value<'b>)> {
    let mut different = a.fields().zip(b.fields()).filter(|((_, a), (_, b))| !is_same(*a, *b));
    let ((name, old), (_, new)) = different.next()?;
    different.next().is_none().then_some((name, old, new))
}

/// Returns `true` if two values of one type are the same, as far as can be known.
///
/// What has neither known fields nor `Debug` counts as the same.
fn is_same(a: Value<'_>, b: Value<'_>) -> bool {
    if let (Some(a), Some(b)) = (a.bytes(), b.bytes()) {
        return a == b;
    }
    let Some(shape) = a.shape() else { return true };
    match shape.kind {
        // An array can have any number of values without bytes.
        _ if shape.size == 0 => true,
        Kind::Scalar(_) | Kind::Choice(_) => match (a.scalar(), b.scalar()) {
            (Some(a), Some(b)) => a.is_same(&b),
            _ => true,
        },
        Kind::Text(_) => a.text() == b.text(),
        Kind::Struct(_) => a.fields().zip(b.fields()).all(|((_, a), (_, b))| is_same(a, b)),
        Kind::Array(..) => a.elements().zip(b.elements()).all(|(a, b)| is_same(a, b)),
        _ => match (a.debug_within(4096), b.debug_within(4096)) {
            (Ok(a), Ok(b)) => a.text == b.text,
            _ => true,
        },
    }
}
