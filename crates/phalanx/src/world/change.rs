//! Changing what an entity has, and ending entities.
#![allow(unsafe_code)]

use super::{Location, World};
use crate::bundle::{Bundle, Place};
use crate::component::Component;
use crate::error::{ChangeError, NoSuchEntity};
use crate::layout::Layout;
use crate::room::{had, try_list};
use crate::signal::{Notified, Spot};
use crate::table::swap_row;
use crate::track::Look;
use crate::world::spawn::{infallible, raise};
use core::mem::ManuallyDrop;
use phalanx_store::Entity;
use phalanx_store::raw::Lane;

impl World {
    /// Gives components to an entity; those that it has already are replaced, and their old values dropped.
    ///
    /// # Errors
    ///
    /// If the entity is not alive; the bundle is dropped, and nothing else happens.
    ///
    /// # Panics
    ///
    /// If the bundle names a component twice.
    #[inline(always)]
    #[track_caller]
    pub fn insert<B: Bundle>(&mut self, entity: Entity, bundle: B) -> Result<(), NoSuchEntity> {
        match self.try_insert(entity, bundle) {
            Ok(()) => Ok(()),
            Err(ChangeError::NoSuchEntity(error)) => Err(error),
            Err(error) => raise(error),
        }
    }

    /// Gives components to an entity; those that it has already are replaced, and their old values dropped.
    ///
    /// # Errors
    ///
    /// If the entity is not alive, the bundle names a component twice, or memory cannot be had; the bundle is dropped,
    /// and nothing else happens.
    #[inline(always)]
    pub fn try_insert<B: Bundle>(&mut self, entity: Entity, bundle: B) -> Result<(), ChangeError> {
        if const { B::LEN != 1 || B::SIDES != 1 } {
            return self.insert_long(entity, bundle);
        }
        let bundle = ManuallyDrop::new(bundle);
        // SAFETY: the bundle is moved out once, here or below.
        match unsafe { B::put_short(&raw const *bundle, self, entity) } {
            true => Ok(()),
            false => self.insert_long(entity, ManuallyDrop::into_inner(bundle)),
        }
    }

    /// As [`try_insert`](World::try_insert), where there is no short way.
    #[inline(never)]
    fn insert_long<B: Bundle>(&mut self, entity: Entity, bundle: B) -> Result<(), ChangeError> {
        let plan = self.plan::<B>()?;
        self.flush()?;
        let from = self.locate(entity)?;
        self.edge(plan, from.table, true)?;
        let edge = self.edge_of(plan, from.table, true);
        // SAFETY: the entity is at `from`, and the edge is one of that table for this bundle.
        unsafe { self.follow(entity, from, edge, |place| bundle.write(place)) }
    }

    /// Carries out an edge that brings components: reserves, commits, and ends what they displace or the edge leaves
    /// behind.
    ///
    /// # Safety
    ///
    /// The entity is at `from`, and the edge is one of that table. Given a place of its target where nothing lives, `write`
    /// moves values into all components of the target that do not come along, and into all sides that get one. It may
    /// panic (taking a soa value apart is code of its type): then nothing has happened.
    #[inline(always)]
    pub(crate) unsafe fn follow(
        &mut self,
        entity: Entity,
        from: Location,
        edge: *const crate::plan::Edge,
        write: impl FnOnce(Place),
    ) -> Result<(), ChangeError> {
        // SAFETY: edges are boxed, and made only while resolving.
        let (target, left, places) = unsafe { ((*edge).target, &(*edge).left, (*edge).places.as_ptr()) };
        // SAFETY: as above.
        let (puts, takes) = unsafe { (&(*edge).puts, &(*edge).takes) };
        // A row beyond the last, in either case: for the move, or for the new values until they trade places.
        if target != from.table || !left.is_empty() {
            self.reserve_table(target, 1)?;
        }
        let has_sides = !(puts.is_empty() && takes.is_empty());
        if has_sides {
            // Values may move, even if one of several stores cannot grow.
            self.restructured();
            self.sides.try_reserve(entity.index(), puts, takes)?;
        }
        if self.signals.is_active() {
            // SAFETY: as above.
            self.reserve_edge_notes(unsafe { &*edge })?;
        }
        let place = self.place(target, places, self.tables[target as usize].len);
        if target == from.table {
            // SAFETY: the tail is within the capacity and nobody's; the new values are written there, trade places with
            // the old ones, and the old ones are nobody's then, and end. The same goes for the sides.
            unsafe {
                write(place);
                let table = &self.tables[target as usize];
                let tail = table.len;
                for column in left {
                    for lane in column.first..column.first + column.lanes {
                        let lane = &*table.lanes().add(lane as usize);
                        let (a, b) = (crate::table::row_ptr(lane, from.row), crate::table::row_ptr(lane, tail));
                        swap_row(a, b, lane.row_size());
                    }
                }
                table.mark(from.row, left);
                if table.tracked {
                    table.keep_added(from.row, left, (table, tail));
                }
                if has_sides {
                    self.sides.commit(entity, puts, takes);
                    self.restructured();
                }
                if self.signals.is_active() {
                    self.end_noted(entity, from, edge);
                    return Ok(());
                }
                let _ends = self.sides.ends();
                self.tables[target as usize].drop_row(tail, left);
            }
            return Ok(());
        }
        // SAFETY: the entity is there, and there is room in the target. The bundle's lanes of the new row are written while
        // it is beyond the last: taking a soa value apart is code of its type, which may panic, and then nothing happened.
        // The old values are at the source's tail after the move, nobody's, and end.
        unsafe {
            write(place);
            self.cross(entity, from, edge);
            if has_sides {
                self.sides.commit(entity, puts, takes);
            }
            if self.signals.is_active() {
                self.end_noted(entity, from, edge);
                return Ok(());
            }
            let _ends = self.sides.ends();
            let source = &self.tables[from.table as usize];
            source.drop_row(source.len, left);
        }
        Ok(())
    }

    /// Ends an operation that was an edge followed by one slot: tells listeners of it, and ends what stayed behind.
    ///
    /// # Safety
    ///
    /// The edge is there, and was followed just now. What it left behind lies at the tail of the table at `from`, and where
    /// the sides have retired it; room for the notes was made.
    #[cold]
    #[inline(never)]
    unsafe fn end_noted(&mut self, slot: Entity, from: Location, edge: *const crate::plan::Edge) {
        // SAFETY: the edge is there, by the caller's promise.
        self.note_edge(slot, from.table, unsafe { &*edge });
        let notified = self.notify();
        {
            let _ends = self.sides.ends();
            let source = &self.tables[from.table as usize];
            // SAFETY: the edge is there still: listeners see a shared world, and destructors none. Each value ends once, by
            // the caller's promise.
            unsafe { source.drop_row(source.len, &(*edge).left) };
        }
        // Commands of listeners may free the edge: nothing refers to it any more.
        self.complete(notified);
    }

    /// Takes components from an entity and drops them; those that it does not have are no error. Whether it had any.
    ///
    /// # Errors
    ///
    /// If the entity is not alive.
    ///
    /// # Panics
    ///
    /// If the bundle names a component twice.
    #[inline(always)]
    #[track_caller]
    pub fn remove<B: Bundle>(&mut self, entity: Entity) -> Result<bool, NoSuchEntity> {
        match self.try_remove::<B>(entity) {
            Ok(removed) => Ok(removed),
            Err(ChangeError::NoSuchEntity(error)) => Err(error),
            Err(error) => raise(error),
        }
    }

    /// Takes components from an entity and drops them; those that it does not have are no error. Whether it had any.
    ///
    /// # Errors
    ///
    /// If the entity is not alive, the bundle names a component twice, or memory cannot be had; nothing happens then.
    #[inline(always)]
    pub fn try_remove<B: Bundle>(&mut self, entity: Entity) -> Result<bool, ChangeError> {
        match B::drop_short(self, entity) {
            Some(had) => Ok(had),
            None => self.remove_long::<B>(entity),
        }
    }

    /// As [`try_remove`](World::try_remove), where there is no short way.
    #[inline(never)]
    fn remove_long<B: Bundle>(&mut self, entity: Entity) -> Result<bool, ChangeError> {
        let plan = self.plan::<B>()?;
        self.flush()?;
        let from = self.locate(entity)?;
        self.edge(plan, from.table, false)?;
        let edge = self.edge_of(plan, from.table, false);
        // SAFETY: edges are boxed, and made only while resolving.
        unsafe { self.follow_away(entity, from, edge) }
    }

    /// Carries out an edge that only takes components, and ends them. Whether there were any.
    ///
    /// # Safety
    ///
    /// The entity is at `from`, and the edge is one of that table, which brings nothing.
    pub(crate) unsafe fn follow_away(
        &mut self,
        entity: Entity,
        from: Location,
        edge: *const crate::plan::Edge,
    ) -> Result<bool, ChangeError> {
        // SAFETY: edges are boxed, or the caller's, and made only while resolving.
        let (target, left, takes) = unsafe { ((*edge).target, &(*edge).left, &(*edge).takes) };
        self.sides.try_reserve(entity.index(), &[], takes)?;
        if self.signals.is_active() {
            // SAFETY: as above.
            self.reserve_edge_notes(unsafe { &*edge })?;
        }
        if target != from.table {
            self.reserve_table(target, 1)?;
            // SAFETY: the entity is there, and there is room in the target, which has no lanes but those that went along.
            unsafe { self.cross(entity, from, edge) };
        }
        // SAFETY: reserved above, and nothing is put.
        unsafe { self.sides.commit(entity, &[], takes) };
        let taken = target != from.table || !self.sides.retired.is_empty();
        if taken {
            self.restructured();
        }
        if self.signals.is_active() {
            // SAFETY: followed just now; without a move nothing was left behind in the table.
            unsafe { self.end_noted(entity, from, edge) };
            return Ok(taken);
        }
        let _ends = self.sides.ends();
        if target != from.table {
            let source = &self.tables[from.table as usize];
            // SAFETY: the old values are at the source's tail, nobody's, and end.
            unsafe { source.drop_row(source.len, left) };
        }
        Ok(taken)
    }

    /// Takes components from an entity and returns them: all of the bundle, or nothing happens.
    ///
    /// ```
    /// use phalanx::{ChangeError, Component, World};
    ///
    /// #[derive(Component, Debug, PartialEq)]
    /// struct Purse(u32);
    ///
    /// let mut world = World::new();
    /// let thief = world.spawn(Purse(3));
    /// assert_eq!(world.take::<Purse>(thief)?, Purse(3));
    /// assert!(matches!(world.take::<Purse>(thief), Err(ChangeError::Missing { .. })));
    /// assert!(world.contains(thief));
    /// # Ok::<(), ChangeError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the entity is not alive or does not have all of the components, the bundle names one twice, or memory cannot
    /// be had; nothing happens then.
    pub fn take<B: Bundle>(&mut self, entity: Entity) -> Result<B, ChangeError> {
        let plan = self.plan::<B>()?;
        self.flush()?;
        let from = self.locate(entity)?;
        let table = &self.tables[from.table as usize];
        let missing = self.plans.get(plan).ids.iter().find(|id| match self.sides.of(**id) {
            None => !table.signature.has(**id),
            Some(side) => side.row(entity.index()).is_none(),
        });
        if let Some(id) = missing {
            return Err(ChangeError::Missing { entity, component: self.components.info(*id).name() });
        }
        self.edge(plan, from.table, false)?;
        let edge = self.edge_of(plan, from.table, false);
        // SAFETY: the entity is there, and the edge is one of that table that takes the bundle, all of which it has.
        unsafe { self.take_along(entity, from, edge) }
    }

    /// Carries out an edge that takes a bundle, and returns it.
    ///
    /// # Safety
    ///
    /// The entity is at `from`, and the edge is one of that table, whose places are the bundle's there.
    #[inline(always)]
    pub(super) unsafe fn take_along<B: Bundle>(
        &mut self,
        entity: Entity,
        from: Location,
        edge: *const crate::plan::Edge,
    ) -> Result<B, ChangeError> {
        // SAFETY: edges are boxed, and made only while resolving.
        let (target, places, takes) = unsafe { ((*edge).target, (*edge).places.as_ptr(), &(*edge).takes) };
        self.sides.try_reserve(entity.index(), &[], takes)?;
        let active = self.signals.is_active();
        if active {
            // SAFETY: as above.
            self.reserve_edge_notes(unsafe { &*edge })?;
        }
        if target != from.table {
            self.reserve_table(target, 1)?;
            // SAFETY: the entity is there, and there is room in the target.
            unsafe { self.cross(entity, from, edge) };
        }
        if B::SIDES > 0 {
            // SAFETY: reserved above, and nothing is put.
            unsafe { self.sides.commit(entity, &[], takes) };
            self.restructured();
        }
        let mut notified = Notified::NOBODY;
        if active {
            // SAFETY: as above.
            self.note_edge(entity, from.table, unsafe { &*edge });
            notified = self.notify();
        }
        let sides = self.sides.places_of_retired();
        self.sides.retired.clear();
        let (source, clock) = (&self.tables[from.table as usize], &raw const self.sides.clock);
        // SAFETY: the values are at the source's tail and where those of the sides were retired to, nobody's, and are
        // moved out. (An empty bundle has none.)
        let taken = unsafe { B::read(Place { lanes: source.lanes(), places, row: source.len as usize, sides, clock }) };
        if active {
            self.complete(notified);
        }
        Ok(taken)
    }

    /// Puts another value in the place of a component's, and returns the old one.
    ///
    /// # Errors
    ///
    /// If the entity is not alive or does not have the component; the value is dropped then.
    #[track_caller]
    pub fn replace<C: Component>(&mut self, entity: Entity, value: C) -> Result<C, crate::error::ComponentError> {
        had(self.flush());
        let (lane, row) = self.find::<C>(entity)?;
        if self.signals.is_active() {
            return Ok(self.replace_noted(entity, value));
        }
        // SAFETY: the lane is the component's and the row is in use.
        Ok(unsafe { self.exchange_value(lane, row, value) })
    }

    /// Puts a value in the place of another, which is returned.
    ///
    /// # Safety
    ///
    /// The lane is the component's, and the row is in use.
    #[inline(always)]
    unsafe fn exchange_value<C: Component>(&mut self, lane: *const Lane, row: usize, value: C) -> C {
        // SAFETY: the caller's promise: the old value is moved out, the new one moved in.
        unsafe {
            crate::layout::mark_row::<C>(lane, row);
            C::Layout::replace(C::Layout::ptr(lane, Look::of::<C>(&raw const self.sides.clock)), row, value)
        }
    }

    /// As [`replace`](World::replace), of a component that is there; and tells listeners.
    #[cold]
    #[inline(never)]
    #[track_caller]
    fn replace_noted<C: Component>(&mut self, entity: Entity, value: C) -> C {
        had(self.reserve_notes(1));
        let Ok((lane, row)) = self.find::<C>(entity) else { unreachable!("found before") };
        // SAFETY: as above.
        let old = unsafe { self.exchange_value(lane, row, value) };
        self.note_set(entity, self.components.id::<C>(), Spot::Value((&raw const old).cast()));
        self.announce();
        old
    }

    /// Ends an entity and drops its components.
    ///
    /// # Errors
    ///
    /// If it is not alive.
    #[inline]
    #[track_caller]
    pub fn despawn(&mut self, entity: Entity) -> Result<(), NoSuchEntity> {
        match self.try_despawn(entity) {
            Ok(()) => Ok(()),
            Err(ChangeError::NoSuchEntity(error)) => Err(error),
            Err(error) => raise(error),
        }
    }

    /// As [`despawn`](World::despawn).
    ///
    /// Memory is needed for rows of entities that were [reserved](World::reserve_entity), for the ends of extra rows, and
    /// for what [listeners and collectors](crate::signal) are told; otherwise none is.
    ///
    /// # Errors
    ///
    /// If it is not alive, or memory cannot be had; nothing happens then.
    #[inline(always)]
    pub fn try_despawn(&mut self, entity: Entity) -> Result<(), ChangeError> {
        self.sides.announce_end(entity.index());
        self.flush()?;
        let Location { table, row } = self.locate(entity)?;
        if self.rows.owns(entity.index()) || self.signals.is_active() {
            return Ok(self.end_entities(&[entity], false).map(|_| ())?);
        }
        self.entities.release(entity);
        if self.counting {
            self.note_ended(table, 1);
        }
        if !self.sides.is_empty() {
            self.sides.end_all(entity);
        }
        let table_ref = &mut self.tables[table as usize];
        // SAFETY: the row is in use, and the flags are those of its lanes. What needs an end lies at the tail then,
        // nobody's, and ends.
        unsafe {
            let tracked = table_ref.tracked;
            if let Some(moved) = table_ref.close(row, &self.ends[table as usize]) {
                self.entities.places().at(moved.index()).write(Location { table, row });
            }
            self.restructured();
            if tracked {
                self.mark_gone(table);
            }
            let _ends = self.sides.ends();
            let table_ref = &self.tables[table as usize];
            table_ref.drop_row(table_ref.len, &table_ref.columns);
        }
        Ok(())
    }

    /// Ends entities, in order. How many of them were alive; one that comes twice counts once.
    ///
    /// Where a lack of memory is to be an error, [`try_despawn`](World::try_despawn) ends them one by one. While there are
    /// [listeners or collectors](crate::signal) the iterator is walked to its end before the first of them ends.
    #[track_caller]
    pub fn despawn_batch(&mut self, entities: impl IntoIterator<Item = Entity>) -> usize {
        if self.signals.is_active() {
            // All are told as one: so the iterator has said who they are before the first ends.
            let mut list = Vec::new();
            entities.into_iter().for_each(|entity| list.push(entity));
            return had(self.flush().and_then(|()| self.end_entities(&list, false)));
        }
        // Not `filter` and `count`, which trust the iterator's hint.
        entities.into_iter().fold(0, |ended, entity| ended + usize::from(self.despawn(entity).is_ok()))
    }

    /// Ends all entities. Tables and what is known of components stay.
    #[track_caller]
    pub fn clear(&mut self) {
        infallible(self.try_clear());
    }

    /// As [`clear`](World::clear).
    ///
    /// # Errors
    ///
    /// If memory cannot be had; nothing happens then.
    pub fn try_clear(&mut self) -> Result<(), ChangeError> {
        self.flush()?;
        if self.signals.is_active() {
            let mut entities = try_list(self.len())?;
            entities.extend(self.iter());
            return Ok(self.end_entities(&entities, true).map(|_| ())?);
        }
        let mut lens = try_list(self.tables.len())?;
        if self.counting {
            self.note_all_ended();
        }
        self.entities.clear();
        self.rows.clear();
        self.restructured();
        /// Ends the rows that the tables have given up, all of them, even if one panics.
        struct Rows<'a> {
            tables: core::slice::Iter<'a, crate::table::Table>,
            lens: &'a [u32],
            now: Option<(&'a crate::table::Table, core::ops::Range<u32>)>,
        }
        impl Rows<'_> {
            fn run(&mut self) {
                loop {
                    if let Some((table, rows)) = &mut self.now
                        && let Some(row) = rows.next()
                    {
                        // SAFETY: the row was initialised, and the table has given it up.
                        unsafe { table.drop_row(row, &table.columns) };
                        continue;
                    }
                    let (Some(table), Some((len, lens))) = (self.tables.next(), self.lens.split_first()) else {
                        return;
                    };
                    (self.lens, self.now) = (lens, Some((table, 0..*len)));
                }
            }
        }
        impl Drop for Rows<'_> {
            fn drop(&mut self) {
                self.run();
            }
        }
        (0..self.tables.len() as u32).for_each(|table| self.mark_gone(table));
        lens.extend(self.tables.iter_mut().map(|t| core::mem::replace(&mut t.len, 0)));
        let _cleared = self.sides.clear();
        Rows { tables: self.tables.iter(), lens: &lens, now: None }.run();
        Ok(())
    }
}
