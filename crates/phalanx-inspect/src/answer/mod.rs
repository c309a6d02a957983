//! One function for each page.

mod components;
mod entity;
#[cfg(feature = "snapshot")]
mod snapshot;
mod systems;
mod tables;
mod time;
mod world;

use crate::request::Request;
use crate::response::Response;
use crate::state::State;
use phalanx::World;

/// Answers a request that takes no scan.
pub(crate) fn answer(state: &mut State, world: &mut World, request: Request) -> Response {
    let done = match request {
        Request::World => return world::answer(state, world),
        Request::Entity { entity, at } => return entity::answer(state, world, entity, at),
        Request::Tables { at } => return tables::answer(state, world, at),
        Request::Components => return components::answer(state, world),
        Request::Resources => return world::resources(state, world),
        Request::Groups => return tables::groups(world),
        Request::Systems => return systems::answer(state),
        Request::Plots { since } => return time::plots(state, since),
        Request::Snapshot => snapshot(state, world),
        Request::Load { name, bytes } => load(state, name, &bytes),
        Request::Edit { entity, component, field, value } => state.edit(world, entity, &component, &field, &value),
        Request::Insert { entity, component, value } => state.insert(world, entity, &component, value.as_deref()),
        Request::Remove { entity, component } => state.remove(world, entity, &component),
        Request::Despawn { entities } => state.despawn(world, &entities),
        Request::Rename { entity, name } => state.rename(world, entity, name.as_deref()),
        Request::Undo => state.undo(world),
        Request::Act { name } => state.act(world, &name),
        request => time::control(state, world, request),
    };
    done.unwrap_or_else(|response| response)
}

#[cfg(feature = "snapshot")]
use snapshot::{load, snapshot};

#[cfg(not(feature = "snapshot"))]
fn snapshot(_: &State, _: &World) -> Result<Response, Response> {
    Err(Response::error(409, "snapshots need the feature `snapshot` of phalanx-inspect, and a registry"))
}

#[cfg(not(feature = "snapshot"))]
fn load(_: &mut State, _: String, _: &[u8]) -> Result<Response, Response> {
    Err(Response::error(409, "snapshots need the feature `snapshot` of phalanx-inspect, and a registry"))
}
