//! [`Column`]: a column of a list of entities.

use crate::json::Json;
use crate::response::{Response, concat};
use crate::user_code::UserCode;
use crate::value::{Style, kind_of, short_name, write_value};
use phalanx::reflect::{BoundQuery, ShownColumn, TextQuery, TextQueryProblem};
use phalanx::{ComponentId, Entity, World};

/// The number of columns that a list can have.
const COLUMN_LIMIT: usize = 64;

/// The number of columns of a list whose query names none.
const DEFAULT_COLUMNS: usize = 6;

/// The length of a value in a list, in bytes.
const CELL_LIMIT: usize = 256;

/// A column of a list of entities.
#[derive(Debug)]
pub(crate) struct Column {
    shown: ShownColumn,
    style: Style,
}

impl Column {
    fn new(world: &World, shown: ShownColumn) -> Column {
        let style = match &shown {
            ShownColumn::Name => Style::Fields,
            ShownColumn::Field(path) => Style::of_shape(path.shape()),
            ShownColumn::Component(id) => Style::of(world.components().info(*id)),
            _ => Style::Unknown,
        };
        Column { shown, style }
    }

    /// Finds columns by their names, or takes those of a query.
    pub(crate) fn find(world: &World, query: &BoundQuery, names: &[String]) -> Result<Vec<Column>, Response> {
        let mut columns = Vec::new();
        let mut add = |shown: ShownColumn| {
            if columns.len() == COLUMN_LIMIT {
                return Err(Response::error(400, format_args!("a list has at most {COLUMN_LIMIT} columns")));
            }
            if columns.try_reserve(1).is_err() {
                return Err(Response::out_of_memory());
            }
            columns.push(Column::new(world, shown));
            Ok(())
        };
        let mut copy = |shown: &ShownColumn| add(shown.try_clone().map_err(|_| Response::out_of_memory())?);
        for name in names {
            let query = column_query(name)?;
            let bound = TextQuery::parse(&query).and_then(|query| query.bind(world));
            let bound = bound.map_err(|error| match error.problem() {
                TextQueryProblem::Alloc(_) => Response::out_of_memory(),
                _ => Response::error(400, format_args!("the column `{name}`: {error}")),
            })?;
            bound.columns().iter().try_for_each(&mut copy)?;
        }
        if names.is_empty() && !query.columns().is_empty() {
            query.columns().iter().try_for_each(&mut copy)?;
        } else if names.is_empty() {
            for id in frequent_components(world).into_iter().flatten() {
                copy(&ShownColumn::Component(id))?;
            }
        }
        Ok(columns)
    }

    /// Writes name, kind and component.
    pub(crate) fn write_head(&self, world: &World, json: &mut Json) {
        let component = self.shown.component().map(|id| world.components().info(id));
        json.object(|json| {
            match (&self.shown, component) {
                (ShownColumn::Field(path), Some(info)) => {
                    json.key("name").display(format_args!("{}.{}", short_name(info.name()), path.as_str()));
                    json.key("field").text(path.as_str());
                }
                (_, Some(info)) => json.key("name").text(short_name(info.name())),
                (_, None) => json.key("name").text("Name"),
            }
            json.key("component").maybe_text(component.map(|info| info.name()));
            json.key("kind").text(match &self.shown {
                ShownColumn::Field(path) => kind_of(Some(path.shape())),
                ShownColumn::Component(id) if world.components().info(*id).is_zero_sized() => "tag",
                ShownColumn::Component(id) => kind_of(world.components().info(*id).shape()),
                _ => "text",
            });
        });
    }

    /// Writes the value of an entity, or null.
    pub(crate) fn write_cell(&self, world: &World, entity: Entity, code: &mut UserCode, json: &mut Json) {
        let Ok(found) = world.entity(entity) else { return json.null() };
        let Some(id) = self.shown.component() else {
            return json.maybe_text(found.name().map(|name| name.as_str()));
        };
        let Ok(value) = found.value(id) else { return json.null() };
        let name = world.components().info(id).name();
        match &self.shown {
            ShownColumn::Field(path) => match value.at(path) {
                Some(part) => write_value(part, name, self.style, CELL_LIMIT, code, json),
                None => json.null(),
            },
            _ => write_value(value, name, self.style, CELL_LIMIT, code, json),
        }
    }
}

/// Returns the query that shows a column of this name. The name is put in backquotes, unless it is a plain one or has some.
fn column_query(name: &str) -> Result<String, Response> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b':' | b'`');
    let quote = if name.contains('`') || name.bytes().all(is_plain) { "" } else { "`" };
    concat(["?", quote, name, quote])
}

/// Returns the components that most rows of tables have.
fn frequent_components(world: &World) -> [Option<ComponentId>; DEFAULT_COLUMNS] {
    let mut best: [Option<(usize, ComponentId)>; DEFAULT_COLUMNS] = [None; DEFAULT_COLUMNS];
    for (id, info) in world.components().iter() {
        if info.is_zero_sized() || info.is_internal() {
            continue;
        }
        let rows =
            world.tables().filter(|table| !table.is_extra() && table.signature().has(id)).map(|table| table.len());
        let sparse = world.sparse_stores().find(|store| store.component() == id).map_or(0, |store| store.len());
        let mut next = Some((rows.sum::<usize>() + sparse, id)).filter(|(count, _)| *count > 0);
        for place in &mut best {
            let is_better = match (&next, &place) {
                (Some((count, _)), Some((other, _))) => count > other,
                (Some(_), None) => true,
                (None, _) => false,
            };
            if is_better {
                core::mem::swap(place, &mut next);
            }
        }
    }
    best.map(|found| found.map(|(_, id)| id))
}
