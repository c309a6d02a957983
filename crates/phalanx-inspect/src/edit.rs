//! Edits, and how they are taken back.

use crate::refusal::conflict;
use crate::response::{Response, concat};
use crate::state::State;
#[cfg(feature = "snapshot")]
use crate::user_code::{Defect, UserCode};
use crate::value::short_name;
use phalanx::reflect::{FieldPath, ScalarValue, ShownColumn, TextQuery};
use phalanx::{ComponentId, Entity, World};
#[cfg(feature = "snapshot")]
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The number of edits that can be taken back.
const UNDO_LIMIT: usize = 1000;

/// How an edit is taken back.
#[derive(Debug)]
pub(crate) enum Undo {
    /// A field had this value.
    Field { entity: Entity, path: FieldPath, old: ScalarValue },
    /// A component had this value in JSON.
    #[cfg(feature = "snapshot")]
    Value { entity: Entity, component: Named, old: String },
    /// A component was inserted.
    Inserted { entity: Entity, component: Named },
    /// An entity had this name.
    Name { entity: Entity, old: Option<String> },
    /// Components or entities were removed after this frame was captured.
    Structure { frame: u64, what: &'static str },
}

/// A component that is found again only in a world where the id has this name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Named {
    id: ComponentId,
    name: &'static str,
}

impl Named {
    fn new(world: &World, id: ComponentId) -> Named {
        Named { id, name: world.components().info(id).name() }
    }

    /// Returns the id. The program may have replaced the world since the edit.
    fn find(self, world: &World) -> Result<ComponentId, Response> {
        let found = world.components().iter().nth(self.id.index()).filter(|(_, info)| info.name() == self.name);
        found.map(|(id, _)| id).ok_or_else(|| impossible("the edit was made in another world"))
    }
}

type Done = Result<Response, Response>;

/// The longest value in JSON that is edited, in bytes.
#[cfg(feature = "snapshot")]
const JSON_LIMIT: usize = 1 << 20;

/// Answers that something is not possible.
fn impossible(message: impl core::fmt::Display) -> Response {
    Response::error(409, message)
}

/// Finds a component by any unique ending of its name.
fn find_component(world: &World, name: &str) -> Result<ComponentId, Response> {
    if let Some((id, _)) = world.components().iter().find(|(_, info)| info.name() == name) {
        return Ok(id);
    }
    let quote = if name.contains('`') { "" } else { "`" };
    let quoted = concat(["?", quote, name, quote])?;
    let bound = TextQuery::parse(&quoted).and_then(|query| query.bind(world));
    let bound = bound.map_err(|error| crate::scan::query_error(&error))?;
    match bound.columns() {
        [ShownColumn::Component(id)] => Ok(*id),
        [ShownColumn::Field(path)] if path.as_str().is_empty() => Ok(path.component()),
        _ => Err(Response::error(400, "this is not a component")),
    }
}

fn alive(world: &World, entity: Entity) -> Result<(), Response> {
    match world.contains(entity) {
        true => Ok(()),
        false => Err(Response::error(404, format_args!("{entity} is not alive"))),
    }
}

impl State {
    /// Reserves capacity for an inverse, before something is changed.
    fn reserve_undo(&mut self) -> Result<(), Response> {
        match self.undo.len() < UNDO_LIMIT {
            true => self.undo.try_reserve(1).map_err(|_| Response::out_of_memory()),
            false => Ok(()),
        }
    }

    /// Adds an inverse, for which capacity is reserved. The oldest one is dropped if there are too many.
    fn push_undo(&mut self, undo: Undo) {
        if self.undo.len() == UNDO_LIMIT {
            self.undo.remove(0);
        }
        self.undo.push(undo);
    }

    /// Sets a field, or a whole component in JSON.
    pub(crate) fn edit(
        &mut self,
        world: &mut World,
        entity: Entity,
        component: &str,
        field: &str,
        value: &str,
    ) -> Done {
        alive(world, entity)?;
        let id = find_component(world, component)?;
        let info = world.components().info(id);
        let name = short_name(info.name());
        self.reserve_undo()?;
        #[cfg(feature = "snapshot")]
        if field.is_empty()
            && let Some(old) = self.options.value_as_json(world, entity, id, JSON_LIMIT, &mut self.code)?
        {
            let set = self.insert_json(world, entity, id, value);
            // After a panic of a listener, the value is set.
            let mut is_unchanged = || {
                let now = self.options.value_as_json(world, entity, id, JSON_LIMIT, &mut self.code);
                matches!(now, Ok(Some(now)) if now == old)
            };
            if set.is_ok() || !is_unchanged() {
                self.push_undo(Undo::Value { entity, component: Named::new(world, id), old });
            }
            return set.map(|()| Response::done(format_args!("{name} of {entity} is set")));
        }
        let path = FieldPath::new(world.components(), id, field).map_err(conflict)?;
        let Some(value) = ScalarValue::parse(path.shape(), value) else {
            let kind = crate::value::TypeText(path.shape());
            return Err(Response::error(400, format_args!("`{value}` is not a value of type {kind}")));
        };
        let old = world.entity_mut(entity).map_err(conflict)?.set_field(&path, value).map_err(conflict)?;
        self.push_undo(Undo::Field { entity, path, old });
        let dot = if field.is_empty() { "" } else { "." };
        Ok(Response::done(format_args!("{name}{dot}{field} of {entity} was {old}, and is {value}")))
    }

    /// Inserts a component that the entity does not have.
    pub(crate) fn insert(&mut self, world: &mut World, entity: Entity, component: &str, value: Option<&str>) -> Done {
        alive(world, entity)?;
        let id = find_component(world, component)?;
        let name = short_name(world.components().info(id).name());
        self.reserve_undo()?;
        if world.entity(entity).is_ok_and(|found| found.has_by_id(id)) {
            return Err(impossible(format_args!("{entity} has {name} already")));
        }
        match value {
            None => world.entity_mut(entity).map_err(conflict)?.insert_zeroed(id).map_err(conflict)?,
            #[cfg(feature = "snapshot")]
            Some(value) => {
                let inserted = self.insert_json(world, entity, id, value);
                // After a panic of a listener, the component is inserted.
                if inserted.is_err() && world.entity(entity).is_ok_and(|found| found.has_by_id(id)) {
                    self.push_undo(Undo::Inserted { entity, component: Named::new(world, id) });
                }
                inserted?;
            }
            #[cfg(not(feature = "snapshot"))]
            Some(_) => return Err(impossible("values in JSON need the feature `snapshot` and a registry")),
        }
        self.push_undo(Undo::Inserted { entity, component: Named::new(world, id) });
        Ok(Response::done(format_args!("{entity} has {name}")))
    }

    /// Removes a component.
    pub(crate) fn remove(&mut self, world: &mut World, entity: Entity, component: &str) -> Done {
        alive(world, entity)?;
        let id = find_component(world, component)?;
        let name = short_name(world.components().info(id).name());
        self.reserve_undo()?;
        let removed = world.entity_mut(entity).map_err(conflict)?.try_remove_by_ids(&[id]).map_err(conflict)?;
        if !removed {
            return Err(impossible(format_args!("{entity} does not have {name}")));
        }
        self.push_undo(Undo::Structure { frame: self.frame, what: "the removal" });
        Ok(Response::done(format_args!("{name} is removed from {entity}")))
    }

    /// Despawns entities. Those that are not alive are ignored.
    pub(crate) fn despawn(&mut self, world: &mut World, entities: &[Entity]) -> Done {
        self.reserve_undo()?;
        let count = world.try_despawn_batch(entities).map_err(conflict)?;
        if count == 0 {
            return Err(Response::error(404, "none of the entities is alive"));
        }
        self.push_undo(Undo::Structure { frame: self.frame, what: "the despawn" });
        Ok(Response::done(format_args!("despawned: {count}")))
    }

    /// Sets or removes the name of an entity.
    pub(crate) fn rename(&mut self, world: &mut World, entity: Entity, name: Option<&str>) -> Done {
        alive(world, entity)?;
        self.reserve_undo()?;
        let mut found = world.entity_mut(entity).map_err(conflict)?;
        let old = found.name().map(|name| concat([name.as_str()])).transpose()?;
        match name.filter(|name| !name.is_empty()) {
            Some(name) => drop(found.set_name(name).map_err(conflict)?),
            None => drop(found.remove_name().map_err(conflict)?),
        }
        self.push_undo(Undo::Name { entity, old });
        Ok(Response::done(format_args!("the name of {entity} is changed")))
    }

    /// Takes the last edit back. An inverse that is not possible is dropped; one that fails for want of memory stays.
    pub(crate) fn undo(&mut self, world: &mut World) -> Done {
        let Some(undo) = self.undo.pop() else { return Err(impossible("there is nothing to take back")) };
        let done = self.take_back(world, &undo);
        match &done {
            Err(response) if response.status == 507 => self.undo.push(undo),
            // What was edited since the frame was captured is taken back with it.
            Ok(_) if matches!(undo, Undo::Structure { .. }) => self.undo.clear(),
            _ => {}
        }
        done
    }

    fn take_back(&mut self, world: &mut World, undo: &Undo) -> Done {
        match undo {
            Undo::Field { entity, path, old } => {
                let entity = *entity;
                alive(world, entity)?;
                world.entity_mut(entity).map_err(conflict)?.set_field(path, *old).map_err(conflict)?;
                let name = short_name(world.components().info(path.component()).name());
                let dot = if path.as_str().is_empty() { "" } else { "." };
                Ok(Response::done(format_args!("{name}{dot}{} of {entity} is {old} again", path.as_str())))
            }
            #[cfg(feature = "snapshot")]
            Undo::Value { entity, component, old } => {
                let entity = *entity;
                alive(world, entity)?;
                let id = component.find(world)?;
                self.insert_json(world, entity, id, old)?;
                let name = short_name(world.components().info(id).name());
                Ok(Response::done(format_args!("{name} of {entity} has its earlier value")))
            }
            Undo::Inserted { entity, component } => {
                let entity = *entity;
                alive(world, entity)?;
                let id = component.find(world)?;
                world.entity_mut(entity).map_err(conflict)?.try_remove_by_ids(&[id]).map_err(conflict)?;
                let name = short_name(world.components().info(id).name());
                Ok(Response::done(format_args!("{name} is removed from {entity}")))
            }
            Undo::Name { entity, old } => {
                let entity = *entity;
                alive(world, entity)?;
                let mut found = world.entity_mut(entity).map_err(conflict)?;
                match old {
                    Some(name) => drop(found.set_name(name).map_err(conflict)?),
                    None => drop(found.remove_name().map_err(conflict)?),
                }
                Ok(Response::done(format_args!("{entity} has its earlier name")))
            }
            Undo::Structure { frame, what } => {
                let frame = *frame;
                if self.history.timeline.is_none() {
                    return Err(impossible(format_args!("{what} can only be taken back with a timeline")));
                }
                if frame != self.frame || self.history.captured != frame {
                    return Err(impossible(format_args!(
                        "{what} can only be taken back in a pause: it was made in frame {frame}, which the page of time may return to"
                    )));
                }
                self.history.rewind(world, frame)?;
                Ok(Response::done(format_args!("the world is as it was at the end of frame {frame}")))
            }
        }
    }

    /// Runs an action of the program.
    pub(crate) fn act(&mut self, world: &mut World, name: &str) -> Done {
        self.reserve_undo()?;
        let Some((name, run)) = self.options.actions.iter_mut().find(|(other, _)| other == name) else {
            return Err(Response::error(404, "the program has no action of this name"));
        };
        self.code.watch("an action", || run(world));
        let response = Response::done(format_args!("{name}: done"));
        self.push_undo(Undo::Structure { frame: self.frame, what: "the action" });
        Ok(response)
    }
}

#[cfg(feature = "snapshot")]
impl crate::state::Options {
    /// Returns the registry, and the name of a component in it.
    fn registered(&self, world: &World, id: ComponentId) -> Option<(&phalanx::snapshot::Registry, &'static str)> {
        let registry = self.registry.as_ref()?;
        Some((registry, registry.name_of(world.components().info(id))?))
    }

    /// Returns a value as JSON, if the registry knows how and it is not too long. Fails if allocation does.
    pub(crate) fn value_as_json(
        &self,
        world: &World,
        entity: Entity,
        id: ComponentId,
        limit: usize,
        code: &mut UserCode,
    ) -> Result<Option<String>, Response> {
        let name = world.components().info(id).name();
        let Some((registry, registered)) = self.registered(world, id) else { return Ok(None) };
        if code.defect_of(name).is_some() || code.is_spent() {
            return Ok(None);
        }
        let mut text = JsonText { bytes: Vec::new(), limit, has_failed: false };
        // The code of the user may panic.
        let write = || {
            let value = registry.value(world, entity, registered).ok()?;
            serde_json::to_writer(&mut text, &value).ok()
        };
        let written = code.call(name, || catch_unwind(AssertUnwindSafe(write)));
        match written {
            _ if text.has_failed => Err(Response::out_of_memory()),
            Ok(written) => Ok(written.and_then(|()| String::from_utf8(text.bytes).ok())),
            Err(_) => {
                code.add(name, Defect::Panicked);
                Ok(None)
            }
        }
    }
}

/// A text of limited length that code of the user writes.
#[cfg(feature = "snapshot")]
struct JsonText {
    bytes: Vec<u8>,
    limit: usize,
    has_failed: bool,
}

#[cfg(feature = "snapshot")]
impl std::io::Write for JsonText {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if bytes.len() > self.limit - self.bytes.len() {
            return Err(std::io::ErrorKind::FileTooLarge.into());
        }
        // An error would be boxed, and there is no memory.
        self.has_failed |= self.bytes.try_reserve(bytes.len()).is_err();
        if !self.has_failed {
            self.bytes.extend_from_slice(bytes);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Returns the length of the first value in a JSON text, of which brackets and quotes are read only.
#[cfg(feature = "snapshot")]
fn json_len(text: &str) -> usize {
    let (mut depth, mut is_string, mut is_escaped) = (0_usize, false, false);
    let bytes = text.trim_ascii_start();
    let start = text.len() - bytes.len();
    for (at, byte) in bytes.bytes().enumerate() {
        let is_last = match byte {
            _ if is_escaped => {
                is_escaped = false;
                false
            }
            b'\\' if is_string => {
                is_escaped = true;
                false
            }
            b'"' => {
                is_string = !is_string;
                !is_string && depth == 0
            }
            _ if is_string => false,
            b'[' | b'{' => {
                depth += 1;
                false
            }
            b']' | b'}' if depth > 0 => {
                depth -= 1;
                depth == 0
            }
            _ => false,
        };
        let is_word = depth == 0 && !is_string && !is_last;
        if is_word && !(byte.is_ascii_alphanumeric() || b"+-.".contains(&byte)) {
            return start + at;
        }
        if is_last {
            return start + at + 1;
        }
    }
    text.len()
}

#[cfg(feature = "snapshot")]
impl State {
    fn insert_json(&mut self, world: &mut World, entity: Entity, id: ComponentId, value: &str) -> Result<(), Response> {
        let Some((registry, registered)) = self.options.registered(world, id) else {
            return Err(impossible("the registry does not know the component"));
        };
        let name = world.components().info(id).name();
        // A value takes what belongs to it, and ignores the rest of the text.
        if !value[json_len(value)..].trim_ascii().is_empty() {
            return Err(Response::error(400, "there is more text after the value"));
        }
        let mut deserializer = serde_json::Deserializer::from_str(value);
        let insert = || registry.insert_value(world, entity, registered, &mut deserializer);
        // The code of the type runs before anything changes, and listeners run after it.
        match self.code.call(name, || catch_unwind(AssertUnwindSafe(insert))) {
            Ok(inserted) => inserted.map_err(|error| Response::refusal(400, error)),
            Err(_) => Err(Response::error(500, "the code that reads the value panicked, or a listener did")),
        }
    }
}
