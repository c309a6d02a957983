//! Edits, and how they are taken back.

use crate::response::Response;
use crate::state::State;
use crate::value::short_name;
use phalanx::reflect::{FieldPath, ScalarValue, ShownColumn, TextQuery};
use phalanx::{ComponentId, Entity, World};

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
        found.map(|(id, _)| id).ok_or_else(|| conflict("the edit was made in another world"))
    }
}

type Done = Result<Response, Response>;

fn conflict(error: impl core::fmt::Display) -> Response {
    Response::error(409, error)
}

/// Finds a component by any unique ending of its name.
fn find_component(world: &World, name: &str) -> Result<ComponentId, Response> {
    if let Some((id, _)) = world.components().iter().find(|(_, info)| info.name() == name) {
        return Ok(id);
    }
    let quoted = if name.contains('`') { format!("?{name}") } else { format!("?`{name}`") };
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
    fn push_undo(&mut self, undo: Undo) {
        if self.undo.len() == UNDO_LIMIT {
            self.undo.remove(0);
        }
        if self.undo.try_reserve(1).is_ok() {
            self.undo.push(undo);
        }
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
        #[cfg(feature = "snapshot")]
        if field.is_empty()
            && let Some(old) = self.value_as_json(world, entity, id)
        {
            let set = self.insert_json(world, entity, id, value);
            // After a panic of a listener, the value is set.
            if set.is_ok() || self.value_as_json(world, entity, id).is_some_and(|now| now != old) {
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
        if world.entity(entity).is_ok_and(|found| found.has_by_id(id)) {
            return Err(conflict(format_args!("{entity} has {name} already")));
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
            Some(_) => return Err(conflict("values in JSON need the feature `snapshot` and a registry")),
        }
        self.push_undo(Undo::Inserted { entity, component: Named::new(world, id) });
        Ok(Response::done(format_args!("{entity} has {name}")))
    }

    /// Removes a component.
    pub(crate) fn remove(&mut self, world: &mut World, entity: Entity, component: &str) -> Done {
        alive(world, entity)?;
        let id = find_component(world, component)?;
        let name = short_name(world.components().info(id).name());
        let removed = world.entity_mut(entity).map_err(conflict)?.try_remove_by_ids(&[id]).map_err(conflict)?;
        if !removed {
            return Err(conflict(format_args!("{entity} does not have {name}")));
        }
        self.push_undo(Undo::Structure { frame: self.frame, what: "the removal" });
        Ok(Response::done(format_args!("{name} is removed from {entity}")))
    }

    /// Despawns entities. Those that are not alive are ignored.
    pub(crate) fn despawn(&mut self, world: &mut World, entities: &[Entity]) -> Done {
        let count = world.despawn_batch(entities.iter().copied());
        if count == 0 {
            return Err(Response::error(404, "none of the entities is alive"));
        }
        self.push_undo(Undo::Structure { frame: self.frame, what: "the despawn" });
        Ok(Response::done(format_args!("despawned: {count}")))
    }

    /// Sets or removes the name of an entity.
    pub(crate) fn rename(&mut self, world: &mut World, entity: Entity, name: Option<&str>) -> Done {
        alive(world, entity)?;
        let mut found = world.entity_mut(entity).map_err(conflict)?;
        let old = found.name().map(|name| name.as_str().to_owned());
        match name.filter(|name| !name.is_empty()) {
            Some(name) => drop(found.set_name(name).map_err(conflict)?),
            None => drop(found.remove_name().map_err(conflict)?),
        }
        self.push_undo(Undo::Name { entity, old });
        Ok(Response::done(format_args!("the name of {entity} is changed")))
    }

    /// Takes the last edit back.
    pub(crate) fn undo(&mut self, world: &mut World) -> Done {
        let Some(undo) = self.undo.pop() else { return Err(conflict("there is nothing to take back")) };
        match undo {
            Undo::Field { entity, path, old } => {
                alive(world, entity)?;
                world.entity_mut(entity).map_err(conflict)?.set_field(&path, old).map_err(conflict)?;
                let name = short_name(world.components().info(path.component()).name());
                let dot = if path.as_str().is_empty() { "" } else { "." };
                Ok(Response::done(format_args!("{name}{dot}{} of {entity} is {old} again", path.as_str())))
            }
            #[cfg(feature = "snapshot")]
            Undo::Value { entity, component, old } => {
                alive(world, entity)?;
                let id = component.find(world)?;
                self.insert_json(world, entity, id, &old)?;
                let name = short_name(world.components().info(id).name());
                Ok(Response::done(format_args!("{name} of {entity} has its earlier value")))
            }
            Undo::Inserted { entity, component } => {
                alive(world, entity)?;
                let id = component.find(world)?;
                world.entity_mut(entity).map_err(conflict)?.try_remove_by_ids(&[id]).map_err(conflict)?;
                let name = short_name(world.components().info(id).name());
                Ok(Response::done(format_args!("{name} is removed from {entity}")))
            }
            Undo::Name { entity, old } => {
                alive(world, entity)?;
                let mut found = world.entity_mut(entity).map_err(conflict)?;
                match &old {
                    Some(name) => drop(found.set_name(name).map_err(conflict)?),
                    None => drop(found.remove_name().map_err(conflict)?),
                }
                Ok(Response::done(format_args!("{entity} has its earlier name")))
            }
            Undo::Structure { frame, what } => {
                if self.history.timeline.is_none() {
                    return Err(conflict(format_args!("{what} can only be taken back with a timeline")));
                }
                if frame != self.frame || self.history.captured != frame {
                    return Err(conflict(format_args!(
                        "{what} can only be taken back in a pause: it was made in frame {frame}, which the page of time may return to"
                    )));
                }
                self.history.rewind(world, frame)?;
                // What was edited since the frame was captured is taken back with it.
                self.undo.clear();
                Ok(Response::done(format_args!("the world is as it was at the end of frame {frame}")))
            }
        }
    }

    /// Runs an action of the program.
    pub(crate) fn act(&mut self, world: &mut World, name: &str) -> Done {
        let Some((name, run)) = self.options.actions.iter_mut().find(|(other, _)| other == name) else {
            return Err(Response::error(404, "the program has no action of this name"));
        };
        run(world);
        let response = Response::done(format_args!("{name}: done"));
        self.push_undo(Undo::Structure { frame: self.frame, what: "the action" });
        Ok(response)
    }
}

#[cfg(feature = "snapshot")]
impl State {
    /// Returns the registry, and the name of a component in it.
    fn registered(&self, world: &World, id: ComponentId) -> Option<(&phalanx::snapshot::Registry, &'static str)> {
        let registry = self.options.registry.as_ref()?;
        Some((registry, registry.name_of(world.components().info(id))?))
    }

    /// Returns a value as JSON, if the registry knows how.
    pub(crate) fn value_as_json(&self, world: &World, entity: Entity, id: ComponentId) -> Option<String> {
        let (registry, name) = self.registered(world, id)?;
        // The code of the user may panic.
        let write = || serde_json::to_string(&registry.value(world, entity, name).ok()?).ok();
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(write)).ok().flatten()
    }

    fn insert_json(&self, world: &mut World, entity: Entity, id: ComponentId, value: &str) -> Result<(), Response> {
        let Some((registry, name)) = self.registered(world, id) else {
            return Err(conflict("the registry does not know the component"));
        };
        // A value takes what belongs to it, and ignores the rest of the text. So the whole text is read first.
        serde_json::from_str::<serde_json::Value>(value).map_err(|error| Response::error(400, error))?;
        let mut deserializer = serde_json::Deserializer::from_str(value);
        let insert = || registry.insert_value(world, entity, name, &mut deserializer);
        // The code of the type runs before anything changes, and listeners run after it.
        match std::panic::catch_unwind(std::panic::AssertUnwindSafe(insert)) {
            Ok(inserted) => inserted.map_err(|error| Response::error(400, error)),
            Err(_) => Err(Response::error(500, "the code that reads the value panicked, or a listener did")),
        }
    }
}
