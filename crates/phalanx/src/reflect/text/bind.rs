//! [`Binder`]: from the syntax tree to a query for one world.

use super::bound_query::{BoundQuery, ShownColumn};
use super::comparison::{Comparison, TextComparison};
use super::error::{TextQueryError, TextQueryProblem};
use super::filter::Filter;
use super::names::{find_component, nearest};
use super::ranking::SortKey;
use super::syntax::{Path, Syntax, Target, Term};
use crate::alloc::{try_box, try_collect, try_format, try_push, try_reserve_text, try_text};
use crate::change_detection::Track;
use crate::component::ComponentId;
use crate::query::{DynamicError, DynamicQuery};
use crate::reflect::{FieldError, FieldPath, Kind};
use crate::world::World;
use phalanx_store::Entity;

type Result<T> = core::result::Result<T, TextQueryError>;

pub(super) struct Binder<'a> {
    world: &'a World,
    /// Further names of components.
    names: &'a [(&'a str, ComponentId)],
}

/// What a path leads to.
enum Named {
    /// The name of the entity.
    Name,
    Component(ComponentId),
}

impl<'a> Binder<'a> {
    pub(super) fn new(world: &'a World, names: &'a [(&'a str, ComponentId)]) -> Binder<'a> {
        Binder { world, names }
    }

    pub(super) fn bind(&self, syntax: &Syntax) -> Result<BoundQuery> {
        let (mut columns, mut filters, mut only) = (Vec::new(), Vec::new(), None);
        for term in &syntax.terms {
            if let Some(column) = self.column(term)?
                && !columns.iter().any(|other: &ShownColumn| other.is_same(&column))
            {
                try_push(&mut columns, column)?;
            }
            if let Some(filter) = self.filter(term)? {
                if let Filter::Is(entity) = filter {
                    only = Some(entity);
                }
                try_push(&mut filters, filter)?;
            }
        }
        let mut query = DynamicQuery::builder();
        let mut left = Vec::new();
        for filter in filters {
            if !filter.narrow(&mut query)? {
                try_push(&mut left, filter)?;
            }
        }
        let query = match query.build(self.world) {
            Ok(query) => query,
            Err(DynamicError::Alloc(error)) => return Err(error.into()),
            Err(error) => unreachable!("the components are the world's, and are only read: {error}"),
        };
        let sort = match &syntax.sort {
            None => None,
            Some((path, descends)) => Some(SortKey { field: self.sort_field(path)?, descends: *descends }),
        };
        Ok(BoundQuery { query, filter: Filter::All(left), columns, sort, limit: syntax.limit, only, since: None })
    }

    /// Returns what a name stands for.
    fn named(&self, path: &Path) -> Result<Named> {
        match find_component(&self.world.storage.components, self.names, &path.name, path.at) {
            Ok(id) => Ok(Named::Component(id)),
            Err(error) => match error.problem() {
                TextQueryProblem::NoSuchComponent { .. }
                    if path.name == "Name" && !path.is_quoted && path.fields.is_empty() =>
                {
                    Ok(Named::Name)
                }
                _ => Err(error),
            },
        }
    }

    /// Returns the component of a path, which is not the name of the entity.
    fn component(&self, path: &Path) -> Result<ComponentId> {
        find_component(&self.world.storage.components, self.names, &path.name, path.at)
    }

    /// Returns the field that a path leads to.
    fn field(&self, id: ComponentId, path: &Path) -> Result<FieldPath> {
        let components = &self.world.storage.components;
        let mut text = String::new();
        for (at, name) in &path.fields {
            try_reserve_text(&mut text, name.len() + 1)?;
            text.push_str(if text.is_empty() { "" } else { "." });
            text.push_str(name);
            if name.is_empty() || name.contains('.') {
                let problem = TextQueryProblem::NoSuchField { name: try_text(name)?, nearest: None };
                return Err(TextQueryError::new(*at, problem));
            }
            // Each part is looked for, so that the error has its position.
            match FieldPath::new(components, id, &text) {
                Err(FieldError::NoSuchField { fields, .. }) => {
                    let nearest = nearest(name, fields.iter().copied())?;
                    let problem = TextQueryProblem::NoSuchField { name: try_text(name)?, nearest };
                    return Err(TextQueryError::new(*at, problem));
                }
                Err(FieldError::Alloc(error)) => return Err(error.into()),
                Ok(_) | Err(_) => {}
            }
        }
        match FieldPath::new(components, id, &text) {
            Ok(path) => Ok(path),
            Err(FieldError::Alloc(error)) => Err(error.into()),
            Err(_) => {
                let at = path.fields.first().map_or(path.at, |(at, _)| *at);
                let component = try_text(components.info(id).name())?;
                Err(TextQueryError::new(at, TextQueryProblem::Opaque { component }))
            }
        }
    }

    /// Returns the field to sort by, or `None` for the name of the entity.
    fn sort_field(&self, path: &Path) -> Result<Option<FieldPath>> {
        let Named::Component(id) = self.named(path)? else { return Ok(None) };
        let field = self.field(id, path)?;
        match field.shape().kind {
            Kind::Scalar(_) | Kind::Choice(_) | Kind::Text(_) => Ok(Some(field)),
            _ => {
                let (at, name) = path.fields.last().map_or((path.at, &path.name), |(at, name)| (*at, name));
                let found = try_format(format_args!("`{name}`"));
                Err(TextQueryError::not_comparable(at, "a scalar or a text to sort by", found))
            }
        }
    }

    /// Returns the column that a term of the outermost list shows.
    fn column(&self, term: &Term) -> Result<Option<ShownColumn>> {
        let path = match term {
            Term::Show(path) | Term::Present(path) | Term::Compare(path, ..) => path,
            Term::Changed(path) | Term::Added(path) => {
                return Ok(Some(ShownColumn::Component(self.component(path)?)));
            }
            _ => return Ok(None),
        };
        Ok(Some(match self.named(path)? {
            Named::Name => ShownColumn::Name,
            Named::Component(id) if path.fields.is_empty() => ShownColumn::Component(id),
            Named::Component(id) => ShownColumn::Field(self.field(id, path)?),
        }))
    }

    /// Returns the condition of a term. What is only shown has none.
    fn filter(&self, term: &Term) -> Result<Option<Filter>> {
        Ok(Some(match term {
            Term::Show(_) => return Ok(None),
            Term::Present(path) => match self.named(path)? {
                Named::Name => Filter::Name(None),
                Named::Component(id) => {
                    if !path.fields.is_empty() {
                        self.field(id, path)?;
                    }
                    Filter::Present(id)
                }
            },
            Term::Compare(path, operator, at, literal) => match self.named(path)? {
                Named::Name => Filter::Name(Some(TextComparison::new(*operator, literal, *at)?)),
                Named::Component(id) => {
                    let field = self.field(id, path)?;
                    let operator_at = path.fields.last().map_or(path.at, |(at, _)| *at);
                    let test = Comparison::new(field.shape(), *operator, (*at, literal), operator_at)?;
                    Filter::Field(field, test)
                }
            },
            Term::Not(inner) => Filter::Not(try_box(self.filter(inner)?.unwrap_or(Filter::All(Vec::new())))?),
            Term::Any(lists) => {
                let each = lists.iter().map(|list| {
                    let filters = list.iter().filter_map(|term| self.filter(term).transpose());
                    Ok::<_, TextQueryError>(Filter::All(try_collect(filters)?))
                });
                Filter::Any(try_collect(each)?)
            }
            Term::Changed(path) => Filter::Changed(self.tracked(path, false)?),
            Term::Added(path) => Filter::Added(self.tracked(path, true)?),
            Term::Parent(is_equal, target) => {
                let filter = Filter::Parent(match target {
                    Target::Nothing => None,
                    target => Some(self.entity(target)?),
                });
                if *is_equal { filter } else { Filter::Not(try_box(filter)?) }
            }
            Term::Below(target) => Filter::Below(self.entity(target)?),
            Term::Is(entity) => Filter::Is(*entity),
        }))
    }

    /// Returns a component whose changes are tracked, or whose additions are.
    fn tracked(&self, path: &Path, additions: bool) -> Result<ComponentId> {
        let id = self.component(path)?;
        let info = self.world.storage.components.info(id);
        match info.track() {
            Track::Row => Ok(id),
            Track::Column if !additions => Ok(id),
            _ => {
                let component = try_text(info.name())?;
                Err(TextQueryError::new(path.at, TextQueryProblem::NotTracked { component }))
            }
        }
    }

    fn entity(&self, target: &Target) -> Result<Entity> {
        match target {
            Target::Entity(entity) => Ok(*entity),
            Target::Path(at, path) => match self.world.find(path) {
                Some(entity) => Ok(entity),
                None => Err(TextQueryError::new(*at, TextQueryProblem::NoSuchEntity { path: try_text(path)? })),
            },
            Target::Nothing => unreachable!("only parents may be none"),
        }
    }
}
