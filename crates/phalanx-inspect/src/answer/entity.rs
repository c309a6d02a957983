//! All values of an entity.

use crate::json::Json;
use crate::request::Moment;
use crate::response::Response;
use crate::state::{Links, Options, State};
use crate::user_code::UserCode;
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
    let State { history, options, code, frame, .. } = state;
    let Some(world) = history.world_at(world, at) else {
        return Response::error(410, "this moment is not there any more");
    };
    let Ok(found) = world.entity(entity) else {
        return Response::error(404, format_args!("{entity} is not alive"));
    };
    let path = match world.try_path(entity) {
        Ok(path) => path,
        Err(_) => return Response::out_of_memory(),
    };
    let is_fixed = options.is_read_only || at != Moment::Now;
    Response::object(|json| {
        json.key("frame").number(*frame);
        json.key("at").display(at);
        json.key("entity").display(entity);
        json.key("name").maybe_text(found.name().map(|name| name.as_str()));
        json.key("path").maybe_text(path.as_deref());
        json.key("components").list(|json| {
            for id in found.component_ids() {
                if let Ok(value) = found.value(id) {
                    json.object(|json| {
                        write_component(options, world, (id, value), Some(entity), is_fixed, code, json)
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
                                    write_component(options, world, (id, value), None, true, code, json)
                                });
                            }
                        }
                    });
                });
            }
        });
        json.key("relations").list(|json| {
            for (name, links) in &options.relations {
                let Some(Links { target, sources, is_whole }) = links(world, entity) else { return json.fail() };
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
    options: &Options,
    world: &World,
    (id, value): (ComponentId, Value<'_>),
    entity: Option<Entity>,
    is_fixed: bool,
    code: &mut UserCode,
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
    write_value(value, info.name(), Style::of(info), VALUE_LIMIT, code, json);
    json.key("fields");
    write_fields(value, info.name(), VALUE_LIMIT, code, json);
    let Ok(by_json) = json_of(options, world, entity, id, code) else { return json.fail() };
    json.key("json").maybe_text(by_json.as_deref());
    json.key("editable").bool(!is_fixed && info.is_plain());
    let why = match (is_fixed, info.is_plain(), by_json.is_some()) {
        (true, _, _) => Some("this view is read-only"),
        (false, true, _) | (false, false, true) => None,
        (false, false, false) => Some("not `#[component(plain)]`, so that its fields may depend on each other"),
    };
    json.key("why").maybe_text(why);
}

/// Returns a value as JSON if the registry knows how, and it is not too long. Fails if allocation does.
#[cfg(feature = "snapshot")]
fn json_of(
    options: &Options,
    world: &World,
    entity: Option<Entity>,
    id: ComponentId,
    code: &mut UserCode,
) -> Result<Option<String>, Response> {
    match entity {
        Some(entity) => options.value_as_json(world, entity, id, VALUE_LIMIT, code),
        None => Ok(None),
    }
}

#[cfg(not(feature = "snapshot"))]
fn json_of(
    _: &Options,
    _: &World,
    _: Option<Entity>,
    _: ComponentId,
    _: &mut UserCode,
) -> Result<Option<String>, Response> {
    Ok(None)
}
