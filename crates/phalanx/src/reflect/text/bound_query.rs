//! [`BoundQuery`]: a text query for one world.

use super::error::TextQueryError;
use super::filter::{Filter, FilterContext};
use super::ranking::{Ranking, SortKey};
use super::scan::{Cursor, Scan};
use crate::alloc::try_reserve;
use crate::change_detection::{RunTicks, Tick};
use crate::component::ComponentId;
use crate::query::DynamicQuery;
use crate::query::dynamic_scan::ScanDriver;
use crate::reflect::FieldPath;
use crate::world::World;
use core::fmt;
use phalanx_store::{AllocError, Entity};

/// A text query for one world: [`TextQuery::bind`](super::TextQuery::bind).
///
/// It can be used as long as the world exists, whatever happens in it. It visits main rows, not [extra rows](crate::Key).
#[derive(Debug)]
pub struct BoundQuery {
    pub(super) query: DynamicQuery,
    pub(super) filter: Filter,
    pub(super) columns: Vec<ShownColumn>,
    pub(super) sort: Option<SortKey>,
    pub(super) limit: Option<usize>,
    /// The only entity that can match, if one is named.
    pub(super) only: Option<Entity>,
    pub(super) since: Option<Tick>,
}

/// A column that a text query shows: [`BoundQuery::columns`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ShownColumn {
    /// The name of the entity.
    Name,
    /// A whole component.
    Component(ComponentId),
    /// A field of a component.
    Field(FieldPath),
}

impl ShownColumn {
    /// Returns the component, unless it is the name of the entity.
    pub fn component(&self) -> Option<ComponentId> {
        match self {
            ShownColumn::Name => None,
            ShownColumn::Component(id) => Some(*id),
            ShownColumn::Field(path) => Some(path.component()),
        }
    }

    /// Like `clone`, but returns an error if allocation fails.
    ///
    /// # Errors
    ///
    /// Returns an error if allocation fails.
    pub fn try_clone(&self) -> Result<ShownColumn, AllocError> {
        Ok(match self {
            ShownColumn::Name => ShownColumn::Name,
            ShownColumn::Component(id) => ShownColumn::Component(*id),
            ShownColumn::Field(path) => ShownColumn::Field(path.try_clone()?),
        })
    }

    pub(super) fn is_same(&self, other: &ShownColumn) -> bool {
        match (self, other) {
            (ShownColumn::Name, ShownColumn::Name) => true,
            (ShownColumn::Component(a), ShownColumn::Component(b)) => a == b,
            (ShownColumn::Field(a), ShownColumn::Field(b)) => {
                (a.component(), a.as_str()) == (b.component(), b.as_str())
            }
            _ => false,
        }
    }
}

impl BoundQuery {
    /// Returns the columns that the query shows, in the order in which it names them: all components and fields that it asks for
    /// or marks with `?`, without those in parentheses and after `!`.
    pub fn columns(&self) -> &[ShownColumn] {
        &self.columns
    }

    /// Returns the number of rows after `limit`, if the query has one.
    pub fn limit(&self) -> Option<usize> {
        self.limit
    }

    /// Returns `true` if the query has an order of its own, by `sort`.
    pub fn is_sorted(&self) -> bool {
        self.sort.is_some()
    }

    /// Makes `changed(…)` and `added(…)` match what happened after a tick. Without it, they match what happened since
    /// [`World::clear_trackers`].
    #[must_use]
    pub fn since(mut self, tick: Tick) -> BoundQuery {
        self.since = Some(tick);
        self
    }

    fn scanner<'w>(&self, world: &'w World) -> Result<Scan<'_, 'w>, TextQueryError> {
        if !self.query.is_of(world) {
            return Err(TextQueryError::another_world());
        }
        let ticks = match self.since {
            None => world.storage.run_ticks(),
            since => RunTicks { now: world.change_tick(), since, own: false },
        };
        Ok(Scan { query: self, context: FilterContext { world, ticks } })
    }

    /// Returns `true` if an entity is alive and matches.
    ///
    /// # Errors
    ///
    /// Returns a [`TextQueryError`] if the query was bound to another world.
    pub fn matches(&self, world: &World, entity: Entity) -> Result<bool, TextQueryError> {
        let scan = self.scanner(world)?;
        Ok(world.contains(entity) && !entity.is_row() && scan.matches(entity))
    }

    /// Returns the matching entities: in the order of `sort`, or else in the [order](crate::query#order) of queries, and no more
    /// than `limit`.
    ///
    /// # Errors
    ///
    /// Returns a [`TextQueryError`] if the query was bound to another world. With `sort`, also if allocation fails.
    pub fn iter<'q, 'w>(&'q self, world: &'w World) -> Result<Matches<'q, 'w>, TextQueryError> {
        let cursor = self.cursor(world)?;
        let scan = self.scanner(world)?;
        let mut matches = Matches { scan, cursor, taken: Vec::new(), next: 0 };
        if self.sort.is_some() {
            let mut ranking = self.ranking(self.limit.unwrap_or(usize::MAX));
            self.visit(world, |entity| ranking.add(world, entity))?;
            (matches.taken, matches.cursor.is_done) = (ranking.finish()?, true);
        }
        Ok(matches)
    }

    /// Returns the number of matching entities, whatever `limit` is.
    ///
    /// # Errors
    ///
    /// Returns a [`TextQueryError`] if the query was bound to another world.
    pub fn count(&self, world: &World) -> Result<usize, TextQueryError> {
        self.scanner(world)?;
        if self.is_by_table(world) {
            return Ok(self.table_lens(world).sum());
        }
        let mut count = 0;
        self.visit(world, |_| count += 1)?;
        Ok(count)
    }

    /// Returns `count` matching entities from the one with number `from` on.
    ///
    /// If the query asks only for components in tables, this takes time for the tables, and not for the rows before. Otherwise
    /// all rows before are tested.
    ///
    /// # Errors
    ///
    /// Returns a [`TextQueryError`] if the query was bound to another world, or if allocation fails.
    pub fn page(&self, world: &World, from: usize, count: usize) -> Result<Vec<Entity>, TextQueryError> {
        self.scanner(world)?;
        let count = count.min(self.limit.map_or(usize::MAX, |limit| limit.saturating_sub(from)));
        if self.sort.is_some() {
            let mut ranking = self.ranking(from.saturating_add(count));
            self.visit(world, |entity| ranking.add(world, entity))?;
            let mut list = ranking.finish()?;
            list.drain(..from.min(list.len()));
            return Ok(list);
        }
        let (mut list, mut skipped) = (Vec::new(), from);
        if self.is_by_table(world) {
            for (_, table) in world.storage.tables_in_order() {
                if !self.query.matches_table(&table.signature) {
                    continue;
                }
                let slots = table.slots().get(skipped..).unwrap_or(&[]);
                skipped = skipped.saturating_sub(table.len as usize);
                let slots = &slots[..slots.len().min(count - list.len())];
                try_reserve(&mut list, slots.len())?;
                list.extend_from_slice(slots);
            }
            return Ok(list);
        }
        let mut failed = Ok(());
        let each = |entity| {
            if skipped > 0 {
                skipped -= 1;
            } else if list.len() < count && failed.is_ok() {
                failed = try_reserve(&mut list, 1);
                if failed.is_ok() {
                    list.push(entity);
                }
            }
            list.len() < count && failed.is_ok()
        };
        if count > 0 {
            self.visit_while(world, each)?;
        }
        failed?;
        Ok(list)
    }

    /// Returns a cursor before the first row, for [`scan`](BoundQuery::scan).
    ///
    /// # Errors
    ///
    /// Returns a [`TextQueryError`] if the query was bound to another world.
    pub fn cursor(&self, world: &World) -> Result<Cursor, TextQueryError> {
        self.scanner(world)?;
        Ok(Cursor::new(self, world))
    }

    /// Goes on with a scan: looks at about `max_rows` rows from a cursor on, and calls a function with each entity that matches.
    ///
    /// Rows are looked at in steps of up to 64, so that there may be up to 63 more. `sort` has no effect: a
    /// [`Ranking`](BoundQuery::ranking) sorts what a scan finds. Without `sort`, a scan ends after `limit` matches.
    ///
    /// ```
    /// use phalanx::reflect::TextQuery;
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Age(u32);
    ///
    /// let mut world = World::new();
    /// world.spawn_batch((0..1000).map(Age));
    /// let query = TextQuery::parse("Age >= 900")?.bind(&world)?;
    /// let (mut cursor, mut found) = (query.cursor(&world)?, 0);
    /// while !cursor.is_done() {
    ///     query.scan(&world, &mut cursor, 128, |_| found += 1)?; // a frame may pass between two calls
    /// }
    /// assert_eq!((found, cursor.is_torn()), (100, false));
    /// # Ok::<(), phalanx::reflect::TextQueryError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns a [`TextQueryError`] if the query or the cursor is that of another world.
    pub fn scan(
        &self,
        world: &World,
        cursor: &mut Cursor,
        max_rows: usize,
        each: impl FnMut(Entity),
    ) -> Result<(), TextQueryError> {
        let scan = self.scanner(world)?;
        if !cursor.is_of(world) {
            return Err(TextQueryError::another_world());
        }
        let most = if self.sort.is_some() { None } else { self.limit };
        scan.step(cursor, max_rows as u64, most, each);
        Ok(())
    }

    /// Returns a list that keeps the best `count` rows, by the order of the query.
    ///
    /// If allocation fails, [`Ranking::finish`] returns the error.
    pub fn ranking(&self, count: usize) -> Ranking {
        Ranking::new(self.sort.as_ref(), count)
    }

    /// Calls a function with all entities that match, in the order of queries.
    fn visit(&self, world: &World, mut each: impl FnMut(Entity)) -> Result<(), TextQueryError> {
        self.visit_while(world, |entity| {
            each(entity);
            true
        })
    }

    /// Like [`visit`](BoundQuery::visit), but stops when the function returns `false`.
    fn visit_while(&self, world: &World, mut each: impl FnMut(Entity) -> bool) -> Result<(), TextQueryError> {
        let scan = self.scanner(world)?;
        match self.only {
            Some(entity) if self.matches(world, entity)? => drop(each(entity)),
            Some(_) => {}
            None => scan.run(&mut Cursor::new(self, world), u64::MAX, each),
        }
        Ok(())
    }

    /// Returns `true` if all rows of a matching table match, and tables are what is scanned. Then [`count`](BoundQuery::count) and
    /// [`page`](BoundQuery::page) take time for the tables, and not for the rows.
    pub fn is_by_table(&self, world: &World) -> bool {
        let is_trivial = matches!(&self.filter, Filter::All(list) if list.is_empty());
        is_trivial && !self.query.tests_rows() && self.query.scan_driver(world) == ScanDriver::Tables
    }

    fn table_lens<'a>(&'a self, world: &'a World) -> impl Iterator<Item = usize> + 'a {
        let matching = world.storage.tables_in_order().filter(|(_, table)| self.query.matches_table(&table.signature));
        matching.map(|(_, table)| table.len as usize)
    }
}

impl Scan<'_, '_> {
    /// Goes on from a cursor, and stops after `most` matches in all.
    pub(super) fn step(&self, cursor: &mut Cursor, max_rows: u64, most: Option<usize>, mut each: impl FnMut(Entity)) {
        cursor.resume(self.context.world);
        let most = most.unwrap_or(usize::MAX);
        let mut found = cursor.found;
        if !cursor.is_done && found < most {
            if let Some(entity) = self.query.only {
                let world = self.context.world;
                if world.contains(entity) && !entity.is_row() && self.matches(entity) {
                    found += 1;
                    each(entity);
                }
                cursor.is_done = true;
            } else {
                self.run(cursor, max_rows, |entity| {
                    found += 1;
                    each(entity);
                    found < most
                });
            }
        }
        cursor.found = found;
        cursor.is_done |= found >= most;
    }
}

/// The matching entities of a text query: [`BoundQuery::iter`].
pub struct Matches<'q, 'w> {
    scan: Scan<'q, 'w>,
    cursor: Cursor,
    /// Entities that were found and not returned.
    taken: Vec<Entity>,
    next: usize,
}

impl Iterator for Matches<'_, '_> {
    type Item = Entity;

    fn next(&mut self) -> Option<Entity> {
        while self.next == self.taken.len() {
            if self.cursor.is_done {
                return None;
            }
            (self.next, self.taken) = (0, core::mem::take(&mut self.taken));
            self.taken.clear();
            let taken = &mut self.taken;
            self.scan.step(&mut self.cursor, 64, self.scan.query.limit, |entity| taken.push(entity));
        }
        self.next += 1;
        self.taken.get(self.next - 1).copied()
    }
}

impl fmt::Debug for Matches<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Matches({} found)", self.cursor.found())
    }
}
