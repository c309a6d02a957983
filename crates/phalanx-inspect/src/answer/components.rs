//! The components, their fields, and the layout report.

use crate::json::Json;
use crate::response::Response;
use crate::state::State;
use crate::value::{TypeText, kind_of, short_name};
use phalanx::World;
use phalanx::reflect::{Kind, Shape};

/// The number of fields that are listed for a component.
const FIELD_LIMIT: usize = 64;

pub(super) fn answer(state: &mut State, world: &World) -> Response {
    // The counts are those of the program: they are looked at, and not started again.
    let report = match world.try_peek_layout_report() {
        Ok(report) => report,
        Err(_) => return Response::out_of_memory(),
    };
    Response::object(|json| {
        json.key("frame").number(state.frame);
        json.key("counted").bool(report.counted);
        json.key("components").list(|json| {
            for found in &report.components {
                let info = world.components().info(found.id);
                if info.is_internal() {
                    continue;
                }
                json.object(|json| {
                    json.key("name").text(found.name);
                    json.key("short").text(short_name(found.name));
                    json.key("layout").text(found.placement.name());
                    json.key("size").number(found.size as u64);
                    json.key("values").number(found.values as u64);
                    json.key("share").float(found.utilisation);
                    json.key("bytes").number(found.bytes as u64);
                    json.key("plain").bool(info.is_plain());
                    json.key("debug").bool(info.is_debug());
                    json.key("tracked").display(format_args!("{:?}", info.track()));
                    json.key("visited").number(found.visited);
                    json.key("adds").number(found.adds);
                    json.key("removes").number(found.removes);
                    json.key("advice").text(found.advice.placement.name());
                    json.key("reason").text(&found.advice.reason);
                    json.key("bytesAs").object(|json| {
                        let bytes = &found.bytes_as;
                        for (name, bytes) in
                            [("table", bytes.table), ("soa", bytes.soa), ("pool", bytes.pool), ("linear", bytes.linear)]
                        {
                            json.key(name).number(bytes);
                        }
                    });
                    json.key("fields").list(|json| {
                        if let Some(shape) = info.shape() {
                            write_fields(shape, json);
                        }
                    });
                });
            }
        });
    })
}

/// Writes the fields of a type, with those of structs in it after a dot.
fn write_fields(shape: &'static Shape, json: &mut Json) {
    let mut left = FIELD_LIMIT;
    for field in shape.fields() {
        let inner = field.shape.fields();
        if inner.len() > 1 {
            for part in inner {
                write_field(&[field.name, part.name], part.shape, &mut left, json);
            }
        } else {
            write_field(&[field.name], field.shape, &mut left, json);
        }
    }
    // A component that is one value by itself, such as an enum.
    if shape.fields().is_empty() && !matches!(shape.kind, Kind::Struct(_) | Kind::Opaque) {
        write_field(&[], shape, &mut left, json);
    }
}

fn write_field(names: &[&str], shape: &'static Shape, left: &mut usize, json: &mut Json) {
    if *left == 0 {
        return;
    }
    *left -= 1;
    json.object(|json| {
        match names {
            [first, second] => json.key("path").display(format_args!("{first}.{second}")),
            [first] => json.key("path").text(first),
            _ => json.key("path").text(""),
        }
        json.key("kind").text(kind_of(Some(shape)));
        json.key("type").display(TypeText(shape));
        if let Kind::Choice(choice) = shape.inner().kind {
            json.key("choices").list(|json| choice.variants.iter().for_each(|(name, _)| json.text(name)));
        }
    });
}
