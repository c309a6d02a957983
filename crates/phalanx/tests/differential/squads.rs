//! The groups and queries of the differential test.

use super::kinds::{Extra, Heard, Kind, Late, Line, Mark, Mini, Pool, Quick, Seen, Small, Table, Tag};
use core::cmp::Reverse;
use phalanx::group::{GroupError, GroupSpec, Observed, Owned};
use phalanx::query::{AllRows, ExtraRows};
use phalanx::store::Entity;
use phalanx::{Has, Or, PoolMut, Removal, StructuralError, With, Without, World};
use std::sync::Arc;

/// A group: whom it is of, and what can be done with it.
pub(crate) struct Squad {
    pub(crate) required: &'static [usize],
    pub(crate) excluded: &'static [usize],
    pub(crate) make: fn(&mut World) -> Result<(), GroupError>,
    pub(crate) end: fn(&mut World) -> bool,
    pub(crate) members: fn(&mut World) -> Vec<Entity>,
    pub(crate) sort: fn(&mut World),
}

/// Where the values of a member lie: descending, that is another order, and the same whenever it is asked for.
#[allow(unsafe_code)]
fn address<I>(item: &I) -> usize {
    assert!(size_of::<I>() >= size_of::<usize>(), "an item is made of references");
    // SAFETY: a reference is as large as an address, and has one.
    unsafe { core::mem::transmute_copy(item) }
}

const fn squad<S: GroupSpec>(required: &'static [usize], excluded: &'static [usize]) -> Squad {
    Squad {
        required,
        excluded,
        make: |world| world.create_group::<S>().map(drop),
        end: |world| {
            let group = world.create_group::<S>().expect("the group is there");
            world.remove_group(group)
        },
        members: |world| {
            let group = world.create_group::<S>().expect("the group is there");
            group.entities(world).collect()
        },
        sort: |world| {
            let group = world.create_group::<S>().expect("the group is there");
            group.sort_by_key(world, |item| Reverse(address(&item)));
        },
    }
}

pub(crate) const SQUADS: &[Squad] = &[
    squad::<Owned<(Pool, Quick)>>(&[Pool::NUMBER, Quick::NUMBER], &[]),
    squad::<Owned<(Pool, Quick, Extra)>>(&[Pool::NUMBER, Quick::NUMBER, Extra::NUMBER], &[]),
    squad::<(Observed<(Pool, Line)>, Without<Mark>)>(&[Pool::NUMBER, Line::NUMBER], &[Mark::NUMBER]),
    squad::<(Owned<Mark>, Observed<Late>, Without<Mini>)>(&[Mark::NUMBER, Late::NUMBER], &[Mini::NUMBER]),
    squad::<Owned<(Late, Extra)>>(&[Late::NUMBER, Extra::NUMBER], &[]),
    squad::<Observed<(Seen, Extra)>>(&[Seen::NUMBER, Extra::NUMBER], &[]),
];

/// A query: whom it finds, and how they are asked for.
pub(crate) struct Search {
    pub(crate) finds: fn(&[Option<u32>]) -> bool,
    /// Of main rows, of extra rows, of all.
    pub(crate) ways: [Ways; 3],
}

/// The entities whose rows a query finds, through a shared world and through an exclusive one.
pub(crate) struct Ways {
    pub(crate) shared: fn(&World) -> Vec<Entity>,
    pub(crate) exclusive: fn(&mut World) -> Vec<Entity>,
    /// Observes it under a number.
    pub(crate) observe: fn(&mut World, usize, &Arc<Heard>),
}

macro_rules! ways {
    ($query:ty, $filter:ty) => {
        Ways {
            shared: |world| world.query_filtered::<(Entity, $query), $filter>().iter().map(|(e, _)| e).collect(),
            exclusive: |world| {
                let mut found = Vec::new();
                world.query_filtered_mut::<(Entity, $query), $filter>().for_each(|(e, _)| found.push(e));
                found
            },
            observe: |world, number, heard| {
                let (enter, leave) = (heard.clone(), heard.clone());
                world.observe::<(Entity, $query), $filter>().on_enter(move |event, world, _| {
                    assert!(world.contains(event.entity) && event.item.0 == event.entity);
                    enter.note_match(number, true, event.key());
                });
                world.observe::<(Entity, $query), $filter>().on_leave(move |event, _, _| {
                    assert_eq!(event.item.0, event.entity);
                    leave.note_match(number, false, event.key());
                });
            },
        }
    };
}

macro_rules! searches {
    ($($query:ty, $filter:ty => |$bag:ident| $finds:expr;)*) => {
        pub(crate) const SEARCHES: &[Search] = &[$(Search {
            finds: |$bag| $finds,
            ways: [ways!($query, $filter), ways!($query, (ExtraRows, $filter)), ways!($query, (AllRows, $filter))],
        }),*];
    };
}

searches! {
    (&Pool, &Quick), () => |bag| bag[4].is_some() && bag[5].is_some();
    &Pool, () => |bag| bag[4].is_some();
    (&Small, &Pool), () => |bag| bag[1].is_some() && bag[4].is_some();
    &Line, Without<Mark> => |bag| bag[9].is_some() && bag[6].is_none();
    (&Mini, Option<&Mark>, Has<Late>), () => |bag| bag[10].is_some();
    (), Or<(With<Late>, With<Tag>)> => |bag| bag[8].is_some() || bag[2].is_some();
    (&Table, &Line, &Late), Without<Tag> => |bag| {
        bag[0].is_some() && bag[9].is_some() && bag[8].is_some() && bag[2].is_none()
    };
    Or<(&Extra, &Small)>, With<Seen> => |bag| (bag[7].is_some() || bag[1].is_some()) && bag[11].is_some();
}

/// Another way to remove from the pool that no group owns for long; whether it was allowed.
pub(crate) fn removal(world: &mut World, choice: usize) -> bool {
    world.pool_mut::<Late>().set_removal([Removal::Swap, Removal::Ordered, Removal::Deferred][choice]).is_ok()
}

/// Something that changes the order of pools and nothing else.
pub(crate) fn reorder(world: &mut World, choice: usize) {
    fn by_key<C: Kind<Layout = phalanx::layout::Pool>>(mut pool: PoolMut<'_, C>) {
        let _ = pool.sort_by_index();
    }
    match choice {
        0 => by_key(world.pool_mut::<Late>()),
        1 => by_key(world.pool_mut::<Extra>()),
        2 => drop(world.pool_mut::<Extra>().sort_like::<Pool>()),
        3 => drop(world.pool_mut::<Late>().compact(3)),
        _ => drop(world.pool_mut::<Late>().compact(usize::MAX)),
    }
}

/// Entities that are despawned together, by what their rows have.
pub(crate) struct Cull {
    pub(crate) run: fn(&mut World) -> Result<usize, StructuralError>,
    pub(crate) finds: fn(&[Option<u32>]) -> bool,
    /// Whether extra rows count as well as main rows.
    pub(crate) extra: bool,
}

pub(crate) const CULLS: &[Cull] = &[
    Cull {
        run: World::try_despawn_where::<(With<Small>, Without<Pool>)>,
        finds: |bag| bag[1].is_some() && bag[4].is_none(),
        extra: false,
    },
    Cull { run: World::try_despawn_where::<With<Tag>>, finds: |bag| bag[2].is_some(), extra: false },
    Cull {
        run: World::try_despawn_where::<(AllRows, With<Mini>, With<Mark>)>,
        finds: |bag| bag[10].is_some() && bag[6].is_some(),
        extra: true,
    },
];
