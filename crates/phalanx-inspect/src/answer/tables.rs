//! Tables, sparse stores and groups, with their bytes.

use crate::json::Json;
use crate::request::Moment;
use crate::response::Response;
use crate::state::State;
use crate::value::short_name;
use phalanx::{ComponentId, World};

/// The number of tables that are listed, the largest first.
const TABLE_LIMIT: usize = 500;

pub(super) fn answer(state: &mut State, world: &World, at: Moment) -> Response {
    if let Err(response) = state.history.prepare(world, at) {
        return response;
    }
    let Some(world) = state.history.world_at(world, at) else {
        return Response::error(410, "this moment is not there any more");
    };
    let mut tables = Vec::new();
    for (at, table) in world.tables().enumerate() {
        if tables.try_reserve(1).is_err() {
            return Response::out_of_memory();
        }
        tables.push((core::cmp::Reverse(table.len()), at, table));
    }
    // A stable sort would allocate.
    tables.sort_unstable_by_key(|(len, at, _)| (*len, *at));
    let memory = match world.try_memory() {
        Ok(memory) => memory,
        Err(_) => return Response::out_of_memory(),
    };
    Response::object(|json| {
        json.key("frame").number(state.frame);
        json.key("bytes").number(memory.total() as u64);
        json.key("parts").object(|json| {
            let tables = memory.tables.iter().map(|table| table.total()).sum::<usize>();
            let sparse = memory.sparse.iter().map(|sparse| sparse.total()).sum::<usize>();
            for (name, bytes) in [
                ("entities", memory.entities),
                ("locations", memory.locations),
                ("tables", tables),
                ("sparse stores", sparse),
                ("presence and groups", memory.masks),
                ("extra rows", memory.rows),
                ("names", memory.names),
                ("listeners", memory.signals),
            ] {
                json.key(name).number(bytes as u64);
            }
        });
        json.key("count").number(tables.len() as u64);
        json.key("tables").list(|json| {
            for (_, _, table) in tables.iter().take(TABLE_LIMIT) {
                let Ok(memory) = table.try_memory() else { return json.fail() };
                json.object(|json| {
                    json.key("rows").number(table.len() as u64);
                    json.key("capacity").number(table.capacity() as u64);
                    json.key("extra").bool(table.is_extra());
                    json.key("bytes").number(memory.total() as u64);
                    json.key("entityBytes").number(memory.entities as u64);
                    json.key("columns").list(|json| {
                        for id in table.components() {
                            let bytes = table.column_bytes(id).unwrap_or(0);
                            json.object(|json| {
                                write_component(world, id, json);
                                json.key("bytes").number(bytes as u64);
                            });
                        }
                        for id in world.components().zero_sized().iter().filter(|id| table.signature().has(*id)) {
                            json.object(|json| {
                                write_component(world, id, json);
                                json.key("bytes").number(0);
                            });
                        }
                    });
                });
            }
        });
        json.key("stores").list(|json| {
            for store in world.sparse_stores() {
                let memory = store.memory();
                json.object(|json| {
                    write_component(world, store.component(), json);
                    json.key("layout").text(if store.kind() == phalanx::layout::Kind::Pool {
                        "pool"
                    } else {
                        "linear"
                    });
                    json.key("rows").number(store.len() as u64);
                    json.key("capacity").number(memory.capacity as u64);
                    json.key("bytes").number(memory.total() as u64);
                    json.key("valueBytes").number(memory.values as u64);
                    json.key("keyBytes").number((memory.keys + memory.index) as u64);
                });
            }
        });
    })
}

fn write_component(world: &World, id: ComponentId, json: &mut Json) {
    let name = world.components().info(id).name();
    json.key("name").text(name);
    json.key("short").text(short_name(name));
}

pub(super) fn groups(world: &World) -> Response {
    Response::object(|json| {
        json.key("groups").list(|json| {
            for group in world.groups() {
                let list = |json: &mut Json, ids: &mut dyn Iterator<Item = ComponentId>| {
                    json.list(|json| ids.for_each(|id| json.text(short_name(world.components().info(id).name()))));
                };
                json.object(|json| {
                    json.key("name").text(group.name());
                    json.key("members").number(group.entities().len() as u64);
                    list(json.key("owned"), &mut group.owned());
                    list(json.key("required"), &mut group.required());
                    list(json.key("excluded"), &mut group.excluded());
                    json.key("first").list(|json| group.entities().iter().take(20).for_each(|e| json.display(e)));
                });
            }
        });
    })
}
