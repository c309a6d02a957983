//! All values of an entity.

use crate::json::Json;
use crate::request::Moment;
use crate::response::Response;
use crate::state::State;
use crate::value::{Style, short_name, write_fields, write_value};
use phalanx::reflect::Value;
use phalanx::{ComponentId, Entity, World};

/// The length of a value on the page of an entity, in bytes.
const VALUE_LIMIT: usize = 64 << 10;

/// The number of extra rows that are shown.
const ROW_LIMIT: usize = 200;

pub(super) fn answer(state: &mut State, world: &World, entity: Entity, at: Moment) -> Response {
    if let Err(response) = state.history.prepare(world, at) {
        return response;
    }
    let mut panicked = core::mem::take(&mut state.panicked);
    let response = match state.history.world_at(world, at) {
        Some(world) => write(state, world, entity, at, &mut panicked),
        None => Response::error(410, "this moment is not there any more"),
    };
    state.panicked = panicked;
    response
}

fn write(state: &State, world: &World, entity: Entity, at: Moment, panicked: &mut Vec<ComponentId>) -> Response {
    let Ok(found) = world.entity(entity) else {
        return Response::error(404, format_args!("{entity} is not alive"));
    };
    let is_fixed = state.options.is_read_only || at != Moment::Now;
    Response::object(|json| {
        json.key("frame").number(state.frame);
        json.key("at").display(at);
        json.key("entity").display(entity);
        json.key("name").maybe_text(found.name().map(|name| name.as_str()));
        json.key("path").maybe_text(world.path(entity).as_deref());
        json.key("components").list(|json| {
            for id in found.component_ids() {
                if let Ok(value) = found.value(id) {
                    json.object(|json| {
                        write_component(state, world, (id, value), Some(entity), is_fixed, panicked, json)
                    });
                }
            }
        });
        json.key("rows").list(|json| {
            for (key, row) in world.rows(entity).into_iter().flatten().skip(1).take(ROW_LIMIT) {
                let Ok(row) = world.row(row) else { continue };
                json.object(|json| {
                    json.key("about")
                        .maybe_text(key.component.map(|id| short_name(world.components().info(id).name())));
                    json.key("role").number(key.role.0.into());
                    json.key("components").list(|json| {
                        for id in row.component_ids() {
                            if let Some(value) = row.value(id) {
                                json.object(|json| {
                                    write_component(state, world, (id, value), None, true, panicked, json)
                                });
                            }
                        }
                    });
                });
            }
        });
        json.key("relations").list(|json| {
            for (name, links) in &state.options.relations {
                let (target, sources, is_whole) = links(world, entity);
                if target.is_none() && sources.is_empty() {
                    continue;
                }
                json.object(|json| {
                    let link = |json: &mut Json, entity: Entity| {
                        json.list(|json| {
                            json.display(entity);
                            let name = world.entity(entity).ok().and_then(|found| found.name());
                            json.maybe_text(name.map(|name| name.as_str()));
                        });
                    };
                    json.key("name").text(name);
                    json.key("target");
                    match target {
                        Some(target) => link(json, target),
                        None => json.null(),
                    }
                    json.key("sources").list(|json| sources.iter().for_each(|source| link(json, *source)));
                    json.key("whole").bool(is_whole);
                });
            }
        });
        json.key("missing").list(|json| {
            for (id, info) in world.components().iter() {
                if !is_fixed && info.is_plain() && !info.is_internal() && !found.has_by_id(id) {
                    json.text(info.name());
                }
            }
        });
    })
}

fn write_component(
    state: &State,
    world: &World,
    (id, value): (ComponentId, Value<'_>),
    entity: Option<Entity>,
    is_fixed: bool,
    panicked: &mut Vec<ComponentId>,
    json: &mut Json,
) {
    let info = world.components().info(id);
    json.key("name").text(info.name());
    json.key("short").text(short_name(info.name()));
    json.key("layout").text(match info.kind() {
        phalanx::layout::Kind::Pool => "pool",
        phalanx::layout::Kind::Linear => "linear",
        phalanx::layout::Kind::Table if info.lanes().len() > 1 => "soa",
        phalanx::layout::Kind::Table => "table",
    });
    json.key("value");
    write_value(value, id, Style::of(info), VALUE_LIMIT, panicked, json);
    json.key("fields");
    write_fields(value, id, VALUE_LIMIT, panicked, json);
    let by_json = json_of(state, world, entity, id);
    json.key("json").maybe_text(by_json.as_deref());
    json.key("editable").bool(!is_fixed && info.is_plain());
    let why = match (is_fixed, info.is_plain(), by_json.is_some()) {
        (true, _, _) => Some("this view is read-only"),
        (false, true, _) | (false, false, true) => None,
        (false, false, false) => Some("not `#[component(plain)]`, so that its fields may depend on each other"),
    };
    json.key("why").maybe_text(why);
}

#[cfg(feature = "snapshot")]
fn json_of(state: &State, world: &World, entity: Option<Entity>, id: ComponentId) -> Option<String> {
    entity.and_then(|entity| state.value_as_json(world, entity, id)).filter(|text| text.len() <= VALUE_LIMIT)
}

#[cfg(not(feature = "snapshot"))]
fn json_of(_: &State, _: &World, _: Option<Entity>, _: ComponentId) -> Option<String> {
    None
}
