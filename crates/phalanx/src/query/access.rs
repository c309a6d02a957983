//! What a query touches, and which queries can run together.
#![allow(unsafe_code)]

use super::{Filtered, QueryData, QueryFilter, ReadOnlyQueryData};
use crate::change_detection::Track;
use crate::component::{Component, ComponentId, Components};
use crate::layout::Layout;
use core::any::TypeId;
use core::fmt;

/// The components that a query reads and writes, the relations whose links it reads, and what is certain of its rows.
#[derive(Clone, Debug, Default)]
pub struct Access {
    touched: Vec<Touch>,
    /// Components that are read of any row: of rows that a filter rejects, of rows that terms find elsewhere, and whole columns
    /// whose tick is read.
    read_anywhere: Vec<TypeId>,
    /// Set if all components but these may be read, of any row.
    reads_all_but: Option<Vec<TypeId>>,
    /// Whether everything else in the world may be read, too.
    reads_world: bool,
    /// Whether filters of users test other rows than the visited one. They may read change ticks of any component.
    tests_elsewhere: bool,
    /// Relations whose links are read. Links are changed only in a world that is borrowed exclusively, so they cause no conflict.
    relations: Vec<(TypeId, &'static str)>,
    rows: RowConditions,
    conflict: Option<&'static str>,
}

#[derive(Clone, Copy, Debug)]
struct Touch {
    key: TypeId,
    name: &'static str,
    writes: bool,
    /// How changes are tracked.
    track: Track,
    /// Whether it is read of other rows than the visited one.
    elsewhere: bool,
}

/// What is certain of every row that passes a filter.
#[doc(hidden)]
#[derive(Clone, Debug, Default)]
pub struct RowConditions {
    required: Vec<TypeId>,
    excluded: Vec<TypeId>,
    /// Whether it is known which change ticks the filter reads. That is so for the filters of this crate only.
    is_known: bool,
}

impl RowConditions {
    pub(super) fn require<C: Component>(&mut self) {
        self.is_known = true;
        self.required.push(TypeId::of::<C>());
    }

    pub(super) fn exclude<C: Component>(&mut self) {
        self.is_known = true;
        self.excluded.push(TypeId::of::<C>());
    }

    /// States that nothing else is certain.
    pub(crate) fn know_nothing_more(&mut self) {
        self.is_known = true;
    }

    /// Returns what is certain if all of these filters pass a row.
    pub(super) fn all(members: impl IntoIterator<Item = RowConditions>) -> RowConditions {
        let mut all = RowConditions { is_known: true, ..Default::default() };
        for member in members {
            all.required.extend(member.required);
            all.excluded.extend(member.excluded);
            all.is_known &= member.is_known;
        }
        all
    }

    /// Returns what is certain if one of these filters passes a row.
    pub(super) fn any(members: impl IntoIterator<Item = RowConditions>) -> RowConditions {
        let is_known = members.into_iter().all(|member| member.is_known);
        RowConditions { is_known, ..Default::default() }
    }

    pub(super) fn of<F: QueryFilter>() -> RowConditions {
        let mut rows = RowConditions::default();
        // SAFETY: these are the conditions of `F` itself.
        unsafe { F::conditions(&mut rows) };
        rows
    }

    /// Returns `true` if no row can pass both filters.
    fn exclude_each_other(&self, other: &RowConditions) -> bool {
        let is_excluded = |required: &[TypeId], excluded: &[TypeId]| required.iter().any(|key| excluded.contains(key));
        is_excluded(&self.required, &other.excluded) || is_excluded(&other.required, &self.excluded)
    }
}

/// The error of a query that would alias: it writes a component and names it another time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AliasError {
    /// The type of the query.
    pub query: &'static str,
    /// The name of the component.
    pub component: &'static str,
}

impl fmt::Display for AliasError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the query {} would alias: it writes {} and names it twice", self.query, self.component)
    }
}

impl core::error::Error for AliasError {}

impl Access {
    /// Returns what a query touches.
    ///
    /// # Panics
    ///
    /// Panics if the query writes a component that it names another time.
    #[track_caller]
    pub fn of<D: QueryData>() -> Access {
        match Access::try_of::<D>() {
            Ok(access) => access,
            Err(error) => panic!("{error}"),
        }
    }

    /// Like [`of`](Access::of), but returns an error if the query would alias.
    ///
    /// # Errors
    ///
    /// Returns [`AliasError`] if the query writes a component that it names another time.
    pub fn try_of<D: QueryData>() -> Result<Access, AliasError> {
        Access::try_of_filtered::<D, ()>()
    }

    /// Returns what a query with a filter touches.
    ///
    /// # Errors
    ///
    /// Returns [`AliasError`] if the query writes a component that it names another time.
    pub fn try_of_filtered<D: QueryData, F: QueryFilter>() -> Result<Access, AliasError> {
        let mut access = Access::try_of_data::<D>()?;
        access.filter::<D, F>();
        let mut data = RowConditions::all([]);
        // Otherwise the members of an item are made one after another, and some of them before a row is found not to match.
        if Filtered::<D, F>::IS_DENSE {
            // SAFETY: these are the conditions of `D` itself.
            unsafe { D::conditions(&mut data) };
        }
        access.rows = RowConditions::all([access.rows, data, RowConditions::of::<F>()]);
        access.checked::<D>()
    }

    /// Returns what data touch, without what is certain of their rows.
    ///
    /// # Errors
    ///
    /// Returns [`AliasError`] if the data write a component that they name another time.
    pub(super) fn try_of_data<D: QueryData>() -> Result<Access, AliasError> {
        let mut access = Access { rows: RowConditions::all([]), ..Default::default() };
        D::access(&mut access);
        access.checked::<D>()
    }

    /// Returns what data touch, without what is certain of their rows.
    ///
    /// # Panics
    ///
    /// Panics if the data write a component that they name another time.
    #[track_caller]
    pub(crate) fn of_data<D: QueryData>() -> Access {
        match Access::try_of_data::<D>() {
            Ok(access) => access,
            Err(error) => panic!("{error}"),
        }
    }

    fn checked<D: QueryData>(self) -> Result<Access, AliasError> {
        match self.conflict {
            None => Ok(self),
            Some(component) => Err(AliasError { query: core::any::type_name::<D>(), component }),
        }
    }

    pub(crate) fn touch<C: Component>(&mut self, writes: bool) {
        let track = C::Layout::TRACK;
        self.add(Touch { key: TypeId::of::<C>(), name: core::any::type_name::<C>(), writes, track, elsewhere: false });
    }

    /// Adds a component whose values and change ticks are read. The tick of a column is shared by rows that are not visited.
    pub(crate) fn touch_ticks<C: Component>(&mut self) {
        self.touch::<C>(false);
        if C::Layout::TRACK == Track::Column {
            self.read_anywhere.push(TypeId::of::<C>());
        }
    }

    /// Adds a relation whose links are read.
    pub(crate) fn read_links<R: 'static>(&mut self) {
        self.add_links((TypeId::of::<R>(), core::any::type_name::<R>()));
    }

    /// Adds what data read of other rows than the visited one. What is certain of the visited rows is not certain of these.
    pub(crate) fn read_elsewhere<D: ReadOnlyQueryData>(&mut self) {
        let mut other = Access { rows: RowConditions::all([]), ..Default::default() };
        D::access(&mut other);
        for touch in other.touched {
            self.read_anywhere.push(touch.key);
            self.add(Touch { elsewhere: true, ..touch });
        }
        self.read_anywhere.extend(other.read_anywhere);
        if let Some(except) = other.reads_all_but {
            self.read_all_but(except);
        }
        self.reads_world |= other.reads_world;
        self.rows.is_known &= other.rows.is_known;
        self.test_elsewhere(!other.rows.is_known || other.tests_elsewhere);
        other.relations.into_iter().for_each(|relation| self.add_links(relation));
    }

    /// Adds that filters of users test other rows. None of these may be written meanwhile, if its ticks are tracked by row.
    fn test_elsewhere(&mut self, tests_elsewhere: bool) {
        self.tests_elsewhere |= tests_elsewhere;
        let written = self.touched.iter().find(|touch| touch.writes && touch.track == Track::Row);
        if let Some(written) = written.filter(|_| self.tests_elsewhere) {
            self.conflict.get_or_insert(written.name);
        }
    }

    /// Adds what two alternatives touch. One of them makes the item of a row, so both may touch the same component, and
    /// write it.
    ///
    /// It is a conflict if one writes what the other reads of other rows, as these may be of the first.
    pub(super) fn touch_either<A: QueryData, B: QueryData>(&mut self) {
        let alternative = |touch: fn(&mut Access)| {
            let mut access = Access { rows: RowConditions::all([]), ..Default::default() };
            touch(&mut access);
            access
        };
        let mut touched: Vec<Touch> = Vec::new();
        for access in [alternative(A::access), alternative(B::access)] {
            for touch in access.touched {
                match touched.iter_mut().find(|other| other.key == touch.key && other.elsewhere == touch.elsewhere) {
                    Some(other) => other.writes |= touch.writes,
                    None => touched.push(touch),
                }
            }
            self.read_anywhere.extend(access.read_anywhere);
            if let Some(except) = access.reads_all_but {
                self.read_all_but(except);
            }
            self.reads_world |= access.reads_world;
            self.rows.is_known &= access.rows.is_known;
            self.test_elsewhere(access.tests_elsewhere);
            access.relations.into_iter().for_each(|relation| self.add_links(relation));
            self.conflict = self.conflict.or(access.conflict);
        }
        touched.into_iter().for_each(|touch| self.add(touch));
    }

    /// Adds all components of all rows, except those that these data write.
    pub(super) fn read_unwritten<D: QueryData>(&mut self) {
        let mut own = Access::default();
        D::access(&mut own);
        self.read_all_but(own.touched.iter().filter(|touch| touch.writes).map(|touch| touch.key).collect());
    }

    /// Adds everything in the world, which is read.
    pub(super) fn read_world(&mut self) {
        self.reads_world = true;
        self.read_all_but(Vec::new());
    }

    fn read_all_but(&mut self, mut except: Vec<TypeId>) {
        if let Some(other) = &self.reads_all_but {
            except.retain(|key| other.contains(key));
        }
        if let Some(written) = self.touched.iter().find(|touch| touch.writes && !except.contains(&touch.key)) {
            self.conflict.get_or_insert(written.name);
        }
        self.reads_all_but = Some(except);
    }

    /// Returns `true` if a component is among those that are read without being named.
    fn reads_unnamed(&self, key: TypeId) -> bool {
        self.reads_all_but.as_ref().is_some_and(|except| !except.contains(&key))
    }

    /// Returns `true` if the query may read everything in the world.
    pub(crate) fn reads_world(&self) -> bool {
        self.reads_world
    }

    /// Returns `true` if a filter of a user may read change ticks of any component.
    pub(crate) fn has_foreign_filter(&self) -> bool {
        !self.rows.is_known
    }

    /// Returns `true` if a component is written.
    pub(super) fn writes_type(&self, key: TypeId) -> bool {
        self.touched.iter().any(|touch| touch.writes && touch.key == key)
    }

    fn add_links(&mut self, relation: (TypeId, &'static str)) {
        if !self.relations.contains(&relation) {
            self.relations.push(relation);
        }
    }

    fn add(&mut self, touch: Touch) {
        let is_named = self.touched.iter().any(|other| other.key == touch.key && (other.writes || touch.writes));
        let is_tested = self.tests_elsewhere && touch.track == Track::Row;
        if is_named || touch.writes && (is_tested || self.reads_unnamed(touch.key)) {
            self.conflict.get_or_insert(touch.name);
        }
        self.touched.push(touch);
    }

    /// Returns the ids of the components that are written.
    pub(crate) fn written<'a>(&'a self, components: &'a Components) -> impl Iterator<Item = ComponentId> + 'a {
        let written = self.touched.iter().filter(|touch| touch.writes);
        written.map(|touch| components.id_of_type(touch.key)).filter(|id| *id != ComponentId::UNKNOWN)
    }

    /// Adds what a filter of these data reads.
    pub(crate) fn filter<D: QueryData, F: QueryFilter>(&mut self) {
        let (mut own, mut filter) = (Access::default(), Access::default());
        D::access(&mut own);
        F::access(&mut filter);
        self.rows.is_known &= RowConditions::of::<F>().is_known;
        for &touch in &filter.touched {
            self.read_anywhere.push(touch.key);
            // The filter reads the ticks of a row before the query makes its item, so the two do not alias.
            if own.touched.iter().all(|other| other.key != touch.key) {
                self.add(Touch { writes: false, ..touch });
            }
        }
        filter.relations.into_iter().for_each(|relation| self.add_links(relation));
    }

    /// Returns the types of the components of visited rows, each once.
    pub(crate) fn types(&self) -> impl Iterator<Item = TypeId> + '_ {
        let visited = || self.touched.iter().filter(|touch| !touch.elsewhere).map(|touch| touch.key);
        let is_first = move |at: usize, key: TypeId| visited().take(at).all(|other| other != key);
        visited().enumerate().filter(move |(at, key)| is_first(*at, *key)).map(|(_, key)| key)
    }

    /// Returns the relations whose links are read, with their names.
    pub(crate) fn relation_keys(&self) -> impl Iterator<Item = (TypeId, &'static str)> + '_ {
        self.relations.iter().copied()
    }

    /// Returns everything that is touched, with its name and whether it is written.
    pub(crate) fn keys(&self) -> impl Iterator<Item = (TypeId, bool, &'static str)> + '_ {
        self.touched.iter().map(|touch| (touch.key, touch.writes, touch.name))
    }

    /// Returns the names of the components that are written.
    pub fn writes(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.touched.iter().filter(|touch| touch.writes).map(|touch| touch.name)
    }

    /// Returns the names of the components that are only read. A query that [reads all](Access::reads_all) does not name them.
    pub fn reads(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.touched.iter().filter(|touch| !touch.writes).map(|touch| touch.name)
    }

    /// Returns `true` if the query may read any component that it does not write, by the term
    /// [`EntityRef`](crate::EntityRef) or [`WithTable`](super::WithTable).
    pub fn reads_all(&self) -> bool {
        self.reads_all_but.is_some()
    }

    /// Returns the names of the [relations](crate::relation) whose links are read.
    pub fn relations(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.relations.iter().map(|(_, name)| *name)
    }

    /// Returns `true` if two queries can run at once.
    ///
    /// That is so if neither writes what the other touches. It is also so if the filter of one has `With<T>` and that of
    /// the other `Without<T>`: then no row is visited by both. In a query of table components only, a term `&T` or `&mut T`
    /// counts as `With<T>`.
    ///
    /// These conflict, whatever their filters:
    ///
    /// - two queries that write a component with `track = "column"`, because rows share its change tick;
    /// - a query that writes a tracked component and one that filters by its changes, or that has a
    ///   [filter of your own](QueryFilter), which may do so too;
    /// - a query that writes a component and one that reads it of related entities, by
    ///   [`Related`](crate::relation::Related) or [`Up`](crate::relation::Up);
    /// - a query that writes and one with the term [`EntityRef`](crate::EntityRef) or [`WithTable`](super::WithTable).
    ///
    /// ```
    /// use phalanx::query::Access;
    /// use phalanx::{Component, With, Without};
    ///
    /// #[derive(Component)]
    /// struct A;
    /// #[derive(Component)]
    /// struct B;
    ///
    /// assert!(Access::of::<(&mut A, &B)>().is_disjoint(&Access::of::<&B>()));
    /// assert!(!Access::of::<(&mut A, &B)>().is_disjoint(&Access::of::<&A>()));
    ///
    /// let with = Access::try_of_filtered::<&mut A, With<B>>()?;
    /// assert!(with.is_disjoint(&Access::try_of_filtered::<&mut A, Without<B>>()?));
    /// # Ok::<(), phalanx::query::AliasError>(())
    /// ```
    pub fn is_disjoint(&self, other: &Access) -> bool {
        self.conflict_with(other).is_none()
    }

    /// Returns a component that keeps two queries from running at once.
    pub(crate) fn conflict_with(&self, other: &Access) -> Option<&'static str> {
        // Filters read change ticks of rows that they reject, and some terms read other rows than the visited one. So it does
        // not help that the visited rows differ. A filter of a user may read ticks of any component. Those of columns are
        // atomic, but what it reads would depend on which query is faster.
        let anywhere = |reads: &Access, writes: &Access| {
            let clashes = |touch: &&Touch| {
                let is_read = || reads.read_anywhere.contains(&touch.key) || reads.reads_unnamed(touch.key);
                touch.writes && (is_read() || reads.has_foreign_filter() && touch.track != Track::None)
            };
            writes.touched.iter().find(clashes).map(|touch| touch.name)
        };
        let data = || {
            let clashes = |a: &Touch, b: &Touch| a.key == b.key && (a.writes || b.writes);
            // Both set the change tick of a column, which rows share that only one of them visits.
            let share_tick = |a: &Touch, b: &Touch| a.track == Track::Column && a.writes && b.writes;
            let are_other_rows = self.rows.exclude_each_other(&other.rows);
            let clash = |a: &Touch, b: &Touch| clashes(a, b) && (!are_other_rows || share_tick(a, b));
            let found = self.touched.iter().find(|a| other.touched.iter().any(|b| clash(a, b)));
            found.map(|touch| touch.name)
        };
        anywhere(self, other).or_else(|| anywhere(other, self)).or_else(data)
    }
}
