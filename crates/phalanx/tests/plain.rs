//! Plain data: what is, what is derived, and bytes that are checked.
#![allow(missing_docs)]

use phalanx::store::{EntityPool, Handle, Soa};
use phalanx::timeline::{DeltaError, Timeline, delta};
use phalanx::{Component, Entity, Plain, World};
use std::marker::PhantomData;
use std::num::{NonZero, Wrapping};

#[derive(Plain, Clone, Copy, Debug, PartialEq)]
#[repr(i16)]
enum Gait {
    Walk = -2,
    Run = 500,
    Crawl,
}

#[derive(Plain, Clone, Copy, Debug, PartialEq)]
struct Flags {
    seen: bool,
    lucky: [bool; 3],
}

#[derive(Plain, Clone, Copy, Debug, PartialEq)]
struct Pair<T, const N: usize> {
    both: [T; N],
    kind: PhantomData<Flags>,
}

#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(plain)]
struct Walker {
    leader: Entity,
    letter: char,
    flags: Flags,
    gaits: [Gait; 2],
    pair: Pair<NonZero<u16>, 2>,
    rest: Option<NonZero<u32>>,
    count: Wrapping<u32>,
}

#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(plain)]
struct Target(Entity);

#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(layout = "pool", plain)]
struct Generic<T>(T, Entity);

#[derive(Component, Soa, Clone, Copy, Debug, PartialEq)]
#[soa(crate = "phalanx::store")]
#[component(layout = "soa", plain)]
struct Aim {
    on: bool,
    at: Entity,
    parts: [Gait; 3],
}

fn entity(index: u32, generation: u32) -> Entity {
    Entity::from_bits(u64::from(generation) << 32 | u64::from(index)).unwrap()
}

fn walker() -> Walker {
    let one = NonZero::new(0x0101).unwrap();
    Walker {
        leader: entity(0x0304, 0x0506),
        letter: 'x',
        flags: Flags { seen: true, lucky: [false, true, false] },
        gaits: [Gait::Run, Gait::Walk],
        pair: Pair { both: [one; 2], kind: PhantomData },
        rest: None,
        count: Wrapping(3),
    }
}

fn bytes_of<T: Plain>(value: &T) -> Vec<u8> {
    let _ = T::ANY_BYTES;
    // SAFETY: plain data has no padding.
    #[allow(unsafe_code)]
    unsafe { std::slice::from_raw_parts((&raw const *value).cast::<u8>(), size_of::<T>()) }.to_vec()
}

/// Whether bytes at a place of a struct are a value, decided without the check under test.
fn field<T: Plain, const N: usize>(bytes: &[u8], offset: usize, is: impl Fn([u8; N]) -> bool) -> bool {
    assert_eq!(size_of::<T>() % N, 0);
    bytes[offset..offset + size_of::<T>()].chunks(N).all(|part| is(part.try_into().unwrap()))
}

#[test]
fn a_derived_check_accepts_exactly_the_values() {
    const { assert!(!Walker::ANY_BYTES) };
    let honest = |bytes: &[u8]| {
        let at = std::mem::offset_of!(Walker, leader);
        let half = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap());
        let leader = half(at) != 0 && half(at + 4) < 1 << 30;
        let gait = |bytes| [-2, 500, 501].contains(&i16::from_ne_bytes(bytes));
        leader
            && field::<char, 4>(bytes, std::mem::offset_of!(Walker, letter), |bytes| {
                char::from_u32(u32::from_ne_bytes(bytes)).is_some()
            })
            && field::<Flags, 1>(bytes, std::mem::offset_of!(Walker, flags), |[byte]| byte < 2)
            && field::<[Gait; 2], 2>(bytes, std::mem::offset_of!(Walker, gaits), gait)
            && field::<[u16; 2], 2>(bytes, std::mem::offset_of!(Walker, pair), |bytes| bytes != [0, 0])
    };
    let base = bytes_of(&walker());
    assert!(Walker::is_valid(&base));
    let (mut accepted, mut refused) = (0, 0);
    for at in 0..base.len() {
        for value in 0..=255 {
            for neighbour in [None, Some(0), Some(0xff), Some(0x40)] {
                let mut bytes = base.clone();
                bytes[at] = value;
                if let Some(neighbour) = neighbour {
                    bytes[at ^ 1] = neighbour;
                }
                assert_eq!(Walker::is_valid(&bytes), honest(&bytes), "{at} {value} {neighbour:?}");
                *if honest(&bytes) { &mut accepted } else { &mut refused } += 1;
            }
        }
    }
    assert!(accepted > 5000 && refused > 5000, "{accepted} {refused}");
    assert!(!Walker::is_valid(&base[1..]) && !Walker::is_valid(&[]));
}

#[test]
fn entities_that_no_pool_can_issue_are_not_valid() {
    let bits = [0, 1, 7, 0x3fff_ffff, 0x4000_0000, 0x4000_0001, 0x7fff_ffff, 0x8000_0000, 0xbfff_ffff, u32::MAX];
    for position in bits {
        for generation in bits {
            let mut bytes = [0; 8];
            bytes[..4].copy_from_slice(&position.to_ne_bytes());
            bytes[4..].copy_from_slice(&generation.to_ne_bytes());
            let known = position.checked_sub(1).map(|index| u64::from(generation) << 32 | u64::from(index));
            let expected = known.and_then(Entity::from_bits);
            assert_eq!(Entity::is_valid(&bytes), expected.is_some(), "{position:x} {generation:x}");
            assert_eq!(Handle::<u8>::is_valid(&bytes), expected.is_some());
            if let Some(entity) = expected {
                assert_eq!(bytes_of(&entity), bytes);
            }
        }
    }
}

#[test]
fn any_bytes_are_values_of_numbers_only() {
    const { assert!(u8::ANY_BYTES && f64::ANY_BYTES && <[[i32; 3]; 2]>::ANY_BYTES && <()>::ANY_BYTES) };
    const { assert!(<Option<NonZero<u8>>>::ANY_BYTES && <Wrapping<u8>>::ANY_BYTES && <Pair<u8, 3>>::ANY_BYTES) };
    const { assert!(!bool::ANY_BYTES && !char::ANY_BYTES && !Entity::ANY_BYTES && !<[bool; 2]>::ANY_BYTES) };
    const { assert!(!<NonZero<u8>>::ANY_BYTES && !Gait::ANY_BYTES && !<Pair<bool, 3>>::ANY_BYTES) };
    assert!(<[bool; 0]>::is_valid(&[]) && !<[bool; 2]>::is_valid(&[1, 2]) && <[bool; 2]>::is_valid(&[1, 0]));
}

#[test]
fn a_delta_carries_entities_and_whatever_else_is_plain() {
    let mut here = World::new();
    let [a, b] = [here.spawn_empty(), here.spawn_empty()];
    here.register_component::<Walker>();
    here.register_component::<Target>();
    here.register_component::<Generic<[Flags; 2]>>();
    here.register_component::<Aim>();
    let mut there = here.try_clone().unwrap();
    let before = here.checkpoint().unwrap();
    let flags = [Flags { seen: true, lucky: [true; 3] }; 2];
    here.insert(a, (walker(), Target(b), Generic([flags; 2], a))).unwrap();
    here.insert(b, (Target(a), Aim { on: true, at: a, parts: [Gait::Crawl; 3] }, Generic(flags, b))).unwrap();
    let bytes = delta(&before, &here.checkpoint().unwrap()).unwrap();
    there.register_component::<Generic<[[Flags; 2]; 2]>>();
    there.apply_delta(&bytes).unwrap();
    there.validate().unwrap();
    assert_eq!(there.get::<Walker>(a), Ok(&walker()));
    assert_eq!(there.get::<Target>(a), Ok(&Target(b)));
    assert_eq!(there.get::<Generic<[[Flags; 2]; 2]>>(a), Ok(&Generic([flags; 2], a)));
    assert_eq!(there.get::<Generic<[Flags; 2]>>(b), Ok(&Generic(flags, b)));
    assert_eq!(there.get::<Aim>(b), Ok(Aim { on: true, at: a, parts: [Gait::Crawl; 3] }));
}

#[test]
fn entities_in_plain_components_come_back_by_their_bytes() {
    let mut world = World::new();
    let all: Vec<Entity> = (0..300).map(|_| world.spawn_empty()).collect();
    for (n, e) in all.iter().enumerate() {
        world.insert(*e, (Target(all[n / 2]), Aim { on: n % 2 == 0, at: *e, parts: [Gait::Run; 3] })).unwrap();
    }
    let mut timeline = Timeline::new(4);
    timeline.capture(&mut world).unwrap();
    let whole = timeline.memory();
    world.get_mut::<Target>(all[7]).unwrap().0 = all[299];
    timeline.capture(&mut world).unwrap();
    assert!(timeline.memory() - whole < 4096, "a chunk of 128 rows, not all of them");
    world.query_mut::<&mut Aim>().for_each(|aim| *aim.on = false);
    timeline.capture(&mut world).unwrap();
    timeline.validate(&world).unwrap();
    timeline.rewind(&mut world, 1).unwrap();
    assert_eq!(world.get::<Target>(all[7]), Ok(&Target(all[299])));
    assert!(world.get::<Aim>(all[4]).unwrap().on);
    timeline.rewind(&mut world, 1).unwrap();
    assert_eq!(world.get::<Target>(all[7]), Ok(&Target(all[3])));
    world.validate().unwrap();
}

#[test]
fn plain_components_are_copied_without_being_asked_to_be_cloned() {
    let mut world = World::new();
    let mut pool = EntityPool::new();
    let e = world.spawn((Target(pool.alloc()), walker()));
    let copy = world.try_clone().unwrap();
    assert_eq!(copy.get::<Walker>(e), Ok(&walker()));
    assert_eq!(copy.get::<Target>(e), world.get::<Target>(e));
}

/// Components of one name in two builds.
trait Build {
    type Place: Component;
    type Lanes: Component;
    fn both() -> (Self::Place, Self::Lanes);
}
enum Ours {}
enum Theirs {}
macro_rules! build {
    ($name:ident: $first:ident, $second:ident) => {
        const _: () = {
            #[derive(Component, Clone, Copy)]
            #[component(plain)]
            struct Place {
                $first: u32,
                $second: u32,
            }
            #[derive(Component, Soa, Clone, Copy)]
            #[soa(crate = "phalanx::store")]
            #[component(layout = "soa")]
            struct Lanes {
                $first: u32,
                $second: u32,
            }
            impl Build for $name {
                type Place = Place;
                type Lanes = Lanes;
                fn both() -> (Place, Lanes) {
                    (Place { x: 1, y: 2 }, Lanes { x: 1, y: 2 })
                }
            }
        };
    };
}
build!(Ours: x, y);
build!(Theirs: y, x);

#[test]
fn a_delta_of_a_component_with_other_fields_is_refused() {
    fn check<Here: Component, There: Component>(value: Here) {
        assert_eq!(std::any::type_name::<Here>(), std::any::type_name::<There>(), "otherwise this tests nothing");
        let mut here = World::new();
        here.register_component::<Here>();
        let mut same = here.try_clone().unwrap();
        let before = here.checkpoint().unwrap();
        here.spawn(value);
        let bytes = delta(&before, &here.checkpoint().unwrap()).unwrap();
        same.apply_delta(&bytes).unwrap();
        let mut other = World::new();
        other.register_component::<There>();
        assert_eq!(other.apply_delta(&bytes), Err(DeltaError::OtherComponents));
    }
    let (place, lanes) = Ours::both();
    check::<_, <Theirs as Build>::Place>(place);
    check::<_, <Theirs as Build>::Lanes>(lanes);
    let (place, lanes) = Theirs::both();
    check::<_, <Ours as Build>::Place>(place);
    check::<_, <Ours as Build>::Lanes>(lanes);
}
