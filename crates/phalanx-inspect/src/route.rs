//! Paths and bodies of HTTP, as [`Request`]s.

use crate::request::{EntitiesRequest, Moment, Request};
use crate::response::Response;
use core::fmt::Display;
use phalanx::Entity;
use serde_json::Value;

/// The number of entities that one request can despawn.
const DESPAWN_LIMIT: usize = 10_000;

impl Request {
    /// Reads a request: the path after `/api/1/`, the query string, and the body of a `POST`.
    ///
    /// # Errors
    ///
    /// Returns the answer to a request that is not one.
    pub fn parse(path: &str, query: &str, body: Option<&[u8]>) -> Result<Request, Response> {
        match body {
            None => read(path, &Arguments::parse(query)?),
            Some(body) if path == "load" => load(&Arguments::parse(query)?, body),
            Some(_) if !query.is_empty() => Err(Response::error(400, "this POST has no query string")),
            Some(body) => change(path, body),
        }
    }
}

/// Reads a snapshot, whose body is that of the file.
fn load(arguments: &Arguments, body: &[u8]) -> Result<Request, Response> {
    arguments.check("load")?;
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(body.len()).map_err(|_| Response::out_of_memory())?;
    bytes.extend_from_slice(body);
    Ok(Request::Load { name: arguments.text("name"), bytes })
}

fn unknown(path: &str) -> Response {
    Response::error(404, format_args!("there is no route `{}`", path.escape_default()))
}

fn bad(message: impl Display) -> Response {
    Response::error(400, message)
}

/// Reads an entity: `42v7`.
pub(crate) fn parse_entity(text: &str) -> Option<Entity> {
    let (index, generation) = text.split_once('v')?;
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse::<u32>().ok())?;
    Entity::from_bits(u64::from(digits(generation)?) << 32 | u64::from(digits(index)?))
        .filter(|entity| !entity.is_row())
}

fn entity_of(text: &str) -> Result<Entity, Response> {
    parse_entity(text).ok_or_else(|| bad("an entity is written as `42v7`"))
}

fn read(path: &str, arguments: &Arguments) -> Result<Request, Response> {
    let mut words = path.split('/');
    let (first, second, third) = (words.next().unwrap_or(""), words.next(), words.next());
    let request = match (first, second, third) {
        ("world", None, None) => Request::World,
        ("entities", None, None) => Request::Entities(EntitiesRequest {
            query: arguments.text("q"),
            from: arguments.number("from", 0)?,
            count: arguments.number("count", 100)?.min(1000),
            columns: arguments.all("column"),
            exact: arguments.number::<u8>("exact", 0)? != 0,
            at: arguments.moment("at")?,
        }),
        ("count", None, None) => Request::Count { query: arguments.text("q"), at: arguments.moment("at")? },
        ("entity", Some(entity), None) => Request::Entity { entity: entity_of(entity)?, at: arguments.moment("at")? },
        ("tables", None, None) => Request::Tables { at: arguments.moment("at")? },
        ("components", None, None) => Request::Components,
        ("resources", None, None) => Request::Resources,
        ("groups", None, None) => Request::Groups,
        ("systems", None, None) => Request::Systems,
        ("plots", None, None) => Request::Plots { since: arguments.number("since", 0)? },
        ("compare", None, None) => Request::Compare {
            before: arguments.moment("before")?,
            after: arguments.moment("after")?,
            limit: arguments.number("limit", 200)?.min(2000),
        },
        ("snapshot", None, None) => Request::Snapshot,
        _ => return Err(unknown(path)),
    };
    arguments.check(first)?;
    Ok(request)
}

/// Returns the arguments of a route.
fn known(route: &str) -> &'static [&'static str] {
    match route {
        "entities" => &["q", "from", "count", "column", "exact", "at"],
        "count" => &["q", "at"],
        "entity" | "tables" => &["at"],
        "plots" => &["since"],
        "compare" => &["before", "after", "limit"],
        "load" => &["name"],
        _ => &[],
    }
}

fn change(path: &str, body: &[u8]) -> Result<Request, Response> {
    let value: Value = match body {
        [] => Value::Null,
        _ => serde_json::from_slice(body).map_err(|error| bad(format_args!("the body is not JSON: {error}")))?,
    };
    let text = |name: &str| match value.get(name) {
        Some(Value::String(text)) => Ok(text.clone()),
        _ => Err(bad(format_args!("`{name}` is missing, or is not a string"))),
    };
    let maybe = |name: &str| match value.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(_) => text(name).map(Some),
    };
    let number = |name: &str| {
        let found = value.get(name).and_then(Value::as_u64);
        found.ok_or_else(|| bad(format_args!("`{name}` is missing, or is not a whole number")))
    };
    let small = |name: &str| u32::try_from(number(name)?).map_err(|_| bad(format_args!("`{name}` is too large")));
    let entity = || entity_of(&text("entity")?);
    Ok(match path {
        "edit" => Request::Edit {
            entity: entity()?,
            component: text("component")?,
            field: text("field")?,
            value: text("value")?,
        },
        "insert" => Request::Insert { entity: entity()?, component: text("component")?, value: maybe("value")? },
        "remove" => Request::Remove { entity: entity()?, component: text("component")? },
        "despawn" => {
            let Some(Value::Array(list)) = value.get("entities") else {
                return Err(bad("`entities` is missing, or is not a list"));
            };
            if list.len() > DESPAWN_LIMIT {
                return Err(bad(format_args!("at most {DESPAWN_LIMIT} entities are despawned at once")));
            }
            let entities =
                list.iter().map(|entity| entity_of(entity.as_str().unwrap_or(""))).collect::<Result<_, _>>()?;
            Request::Despawn { entities }
        }
        "rename" => Request::Rename { entity: entity()?, name: maybe("name")? },
        "undo" => Request::Undo,
        "pause" => Request::Pause,
        "resume" => Request::Resume,
        "step" => Request::Step { frames: small("frames")?.clamp(1, 100_000) },
        "rewind" => Request::Rewind { frame: number("frame")? },
        "keep" => Request::Keep,
        "forget" => Request::Forget { copy: small("copy")? },
        "act" => Request::Act { name: text("name")? },
        _ => return Err(unknown(path)),
    })
}

/// The arguments of a query string.
struct Arguments(Vec<(String, String)>);

impl Arguments {
    fn parse(query: &str) -> Result<Arguments, Response> {
        let decode = |text: &str| decode(text).ok_or_else(|| bad("the query string is not encoded as it should be"));
        let pair = |part: &str| {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            Ok((decode(name)?, decode(value)?))
        };
        query.split('&').filter(|part| !part.is_empty()).map(pair).collect::<Result<_, _>>().map(Arguments)
    }

    /// Refuses arguments that a route does not have.
    fn check(&self, route: &str) -> Result<(), Response> {
        match self.0.iter().find(|(name, _)| !known(route).contains(&name.as_str())) {
            Some((name, _)) => Err(bad(format_args!("`{route}` has no argument `{}`", name.escape_default()))),
            None => Ok(()),
        }
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    fn text(&self, name: &str) -> String {
        self.get(name).unwrap_or("").to_owned()
    }

    fn all(&self, name: &str) -> Vec<String> {
        self.0.iter().filter(|(other, _)| other == name).map(|(_, value)| value.clone()).collect()
    }

    fn number<T: core::str::FromStr>(&self, name: &str, default: T) -> Result<T, Response> {
        match self.get(name) {
            None => Ok(default),
            Some(text) => text.parse().map_err(|_| bad(format_args!("`{name}` is not a whole number in its range"))),
        }
    }

    fn moment(&self, name: &str) -> Result<Moment, Response> {
        self.get(name).map_or(Ok(Moment::Now), |text| text.parse().map_err(bad))
    }
}

/// Decodes percent signs and plus signs. Returns `None` if the result is not UTF-8.
fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                (digit()? << 4 | digit()?) as u8
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::parse_entity;
    use crate::request::{Moment, Request};

    fn status(path: &str, query: &str, body: Option<&str>) -> u16 {
        Request::parse(path, query, body.map(str::as_bytes)).map_or_else(|answer| answer.status, |_| 200)
    }

    #[test]
    fn arguments_are_decoded() {
        let request = Request::parse("count", "q=Health.hp+%3C%2010%2C+%C3%A4&at=frame-7", None).unwrap();
        assert_eq!(request, Request::Count { query: "Health.hp < 10, ä".into(), at: Moment::Frame(7) });
    }

    #[test]
    fn what_is_not_a_request_is_refused() {
        assert_eq!(status("entity/3v1", "", None), 200);
        for path in
            ["entity/", "entity/3", "entity/3v", "entity/v1", "entity/3v1v1", "entity/-3v1", "entity/4294967295v0"]
        {
            assert_eq!(status(path, "", None), 400, "{path}");
        }
        for path in ["", "worlds", "world/", "entity", "entity/3v1/x", "../world"] {
            assert_eq!(status(path, "", None), 404, "{path}");
        }
        for query in ["x=1", "q=%ff", "q=%4", "at=never", "from=-1", "from=1e3", "count=99999999999999999999"] {
            assert_eq!(status("entities", query, None), 400, "{query}");
        }
        assert_eq!(status("pause", "", Some("")), 200);
        assert_eq!(status("pause", "x=1", Some("")), 400);
        assert_eq!(status("load", "name=a%20b", Some("any bytes")), 200);
        assert_eq!(status("load", "path=%2Fetc", Some("")), 400);
        assert_eq!(status("world", "", Some("{}")), 404);
        for (path, body) in [
            ("edit", "{}"),
            ("edit", "["),
            ("step", r#"{"frames":4294967296}"#),
            ("despawn", r#"{"entities":["1v1",7]}"#),
            ("rename", r#"{"entity":"1v1","name":7}"#),
        ] {
            assert_eq!(status(path, "", Some(body)), 400, "{path} {body}");
        }
    }

    #[test]
    fn an_entity_is_its_text() {
        let entity = parse_entity("42v7").unwrap();
        assert_eq!((entity.index(), entity.generation(), entity.to_string().as_str()), (42, 7, "42v7"));
        assert_eq!(parse_entity("1v2147483648"), None);
    }
}
