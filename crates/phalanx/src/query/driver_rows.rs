//! [`DriverRows`]: the rows of a driver, taken from both ends in spans.
#![allow(unsafe_code)]

use super::QueryData;
use super::span::Span;
use super::table_ref::{next_table, previous_table};
use crate::component::ComponentId;
use crate::layout::Kind;
use crate::sparse::{LinearStorage, SparseSet, Store};
use crate::world::World;
use core::marker::PhantomData;
use core::ptr::NonNull;
use phalanx_store::Entity;

/// The number of linear stores whose bits are combined.
const MOST: usize = 8;

/// The rows of a driver that are to come, from both ends.
#[derive(Clone, Copy)]
pub(super) enum DriverRows<'w, 's> {
    Tables {
        /// The matching tables to come. Without a list they are found on the way.
        list: Option<&'s [u32]>,
        /// The tables that were found last, from the front and from the back.
        found: [Option<u32>; 2],
    },
    /// The slots of a pool without holes, the members of a group, or the rows of one table, from a position on.
    Keys {
        keys: &'w [Entity],
        next: usize,
        table: u32,
    },
    /// A pool of which some positions are skipped: holes, and extra rows that the query does not visit.
    Holed {
        pool: &'w SparseSet,
        next: u32,
        /// The end of the positions to visit.
        end: u32,
        skips_rows: bool,
    },
    Linear {
        /// Required stores, the driver among them.
        stores: [Option<&'w LinearStorage>; MOST],
        /// The next word.
        next: usize,
        /// The end of the words to visit. All stores have the words before it.
        end: usize,
        /// Whether extra rows are skipped.
        skips_rows: bool,
    },
    Nothing,
}

/// The table of rows that are positions of a store.
pub(super) const NO_TABLE: u32 = u32::MAX;

/// Rows of a driver that are to come.
#[derive(Clone, Copy)]
pub(super) struct Rows<'w> {
    pub(super) span: Span,
    /// The slots of the rows: that of row `n` is `n` slots after this. Without them, rows are the indices of slots.
    pub(super) keys: Option<NonNull<Entity>>,
    /// The table of the rows, or [`NO_TABLE`].
    pub(super) table: u32,
    slots: PhantomData<&'w [Entity]>,
}

impl<'w> Rows<'w> {
    pub(super) const EMPTY: Rows<'static> = Rows { span: Span::EMPTY, keys: None, table: NO_TABLE, slots: PhantomData };

    /// Returns the rows of these slots, of which the first is row `first`.
    fn of_keys(keys: &'w [Entity], first: usize, table: u32) -> Self {
        // The address may lie outside of the slots: only those of the rows are read.
        let Some(row_0) = NonNull::new(keys.as_ptr().wrapping_sub(first).cast_mut()) else {
            unreachable!("the slots of a store or table begin with that of row 0")
        };
        Rows { span: Span::of_rows(first..first + keys.len()), keys: Some(row_0), table, slots: PhantomData }
    }

    /// Returns rows that are the indices of slots.
    fn of_indices(span: Span) -> Self {
        Rows { span, keys: None, table: NO_TABLE, slots: PhantomData }
    }
}

/// Returns the slot of a row, given that of row 0.
///
/// # Safety
///
/// The row was one of [`Rows`] with these slots, which are borrowed.
#[inline(always)]
pub(super) unsafe fn key_of(keys: NonNull<Entity>, row: usize) -> Entity {
    // SAFETY: the slots of all rows are there, and the row was one of them, by the caller's contract.
    unsafe { *keys.as_ptr().wrapping_add(row) }
}

impl<'w> DriverRows<'w, '_> {
    /// Takes the next rows, from the front or the back. There is at least one, or the source is exhausted.
    // Out of line, and called with a copy of the source: so no part of the iterator has its address taken, and a loop over rows
    // keeps all of it in registers.
    #[inline(never)]
    pub(super) fn take_rows<Q: QueryData, const BACK: bool>(
        &mut self,
        world: &'w World,
        state: &Q::State,
    ) -> Option<Rows<'w>> {
        match self {
            DriverRows::Keys { keys, next, table } => {
                let rows = Rows::of_keys(&keys[*next..], *next, *table);
                let is_empty = *next == keys.len();
                *next = keys.len();
                (!is_empty).then_some(rows)
            }
            DriverRows::Holed { pool, next, end, skips_rows } => {
                let is_skipped = |key: &Entity| *skips_rows && key.is_row();
                while *next < *end {
                    if BACK {
                        let keys = pool.dense.keys_before(*end);
                        let keys = &keys[keys.len() - keys.len().min((*end - *next) as usize)..];
                        let visited = keys.iter().rev().take_while(|key| !is_skipped(key)).count();
                        *end -= visited.max(1) as u32;
                        if visited > 0 {
                            return Some(Rows::of_keys(&keys[keys.len() - visited..], *end as usize, NO_TABLE));
                        }
                    } else {
                        let keys = pool.dense.keys_from(*next);
                        let keys = &keys[..keys.len().min((*end - *next) as usize)];
                        let visited = keys.iter().take_while(|key| !is_skipped(key)).count();
                        let first = *next as usize;
                        *next += visited.max(1) as u32;
                        if visited > 0 {
                            return Some(Rows::of_keys(&keys[..visited], first, NO_TABLE));
                        }
                    }
                }
                None
            }
            DriverRows::Linear { stores, next, end, skips_rows } => {
                while *next < *end {
                    let at = if BACK { *end - 1 } else { *next };
                    if BACK {
                        *end -= 1;
                    } else {
                        *next += 1;
                    }
                    let mut bits = word(stores, at);
                    if *skips_rows {
                        bits = main_rows(world, at, bits);
                    }
                    if bits == u64::MAX && !BACK && !*skips_rows {
                        while *next < *end && word(stores, *next) == u64::MAX {
                            *next += 1;
                        }
                        return Some(Rows::of_indices(Span::of_rows(at * 64..*next * 64)));
                    }
                    if bits != 0 {
                        return Some(Rows::of_indices(Span::of_bits(at * 64, bits)));
                    }
                }
                None
            }
            DriverRows::Tables { list, found } => loop {
                let table = match (&mut *list, BACK) {
                    (Some(list), false) => *list.split_off_first()?,
                    (Some(list), true) => *list.split_off_last()?,
                    (None, _) => {
                        let next = if BACK { previous_table::<Q> } else { next_table::<Q> }(world, state, *found);
                        found[usize::from(BACK)] = next;
                        if next.is_none() {
                            *list = Some(&[]);
                        }
                        next?
                    }
                };
                let slots = world.storage.tables[table as usize].slots();
                if !slots.is_empty() {
                    return Some(Rows::of_keys(slots, 0, table));
                }
            },
            DriverRows::Nothing => None,
        }
    }
}

/// Returns the linear stores that all items are in, the driver first, up to [`MOST`], and the numbers of their components.
pub(super) fn linear_stores<'w, Q: QueryData>(
    world: &'w World,
    state: &Q::State,
    driver: u32,
    linear: &'w LinearStorage,
) -> ([Option<&'w LinearStorage>; MOST], [u32; MOST]) {
    let (mut stores, mut owned, mut count) = ([None; MOST], [driver; MOST], 1);
    stores[0] = Some(linear);
    let mut each = |id: ComponentId, kind: Kind| {
        if let Some(number) = world.storage.sparse.storage_id(id)
            && let Store::Linear(linear) = &world.storage.sparse.get(number).store
            && kind == Kind::Linear
            && count < MOST
            && !owned[..count].contains(&number)
        {
            (stores[count], owned[count]) = (Some(linear), number);
            count += 1;
        }
    };
    Q::required(state, &mut each);
    (stores, owned)
}

/// Returns the bits of a word that all stores have.
#[inline(always)]
fn word(stores: &[Option<&LinearStorage>; MOST], at: usize) -> u64 {
    let mut all = u64::MAX;
    for store in stores {
        let Some(store) = store else { break };
        all &= store.words().get(at).copied().unwrap_or(0);
    }
    all
}

/// Returns the bits of a word without those of extra rows. All bits are those of slots in use.
fn main_rows(world: &World, at: usize, bits: u64) -> u64 {
    let (mut left, mut main) = (bits, 0);
    while left != 0 {
        let bit = left & left.wrapping_neg();
        left ^= bit;
        // If no entity is at the slot, it is an extra row.
        if world.storage.entities.get(at as u32 * 64 + bit.trailing_zeros()).is_some() {
            main |= bit;
        }
    }
    main
}
