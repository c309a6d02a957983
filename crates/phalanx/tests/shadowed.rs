//! Derives compile where the user has names of the standard library for something else.

use phalanx::World;

/// Names that hide those of the standard library.
#[allow(dead_code, non_camel_case_types, non_snake_case, unreachable_pub, clippy::wrong_self_convention)]
mod names {
    macro_rules! types {
        ($($name:ident)*) => { $(pub struct $name {})* };
    }
    types! {
        bool char f32 f64 i8 i16 i32 i64 i128 isize str u8 u16 u32 u64 u128 usize
        Option Result Vec Box String Self_ Formatter PhantomData Entity Place Component Bundle World Shape Kind Field Probe
    }

    macro_rules! traits {
        ($($name:ident)*) => { $(pub trait $name {})* };
    }
    traits! {
        AsMut AsRef Clone Copy Debug Default DoubleEndedIterator Drop Eq ExactSizeIterator Extend Fn FnMut FnOnce From Hash
        Into IntoIterator Iterator Ord PartialEq PartialOrd Send Sized Sync ToOwned ToString TryFrom TryInto Query Plain
        MapEntities Layout SoaRow Flat Reflect Unprobed
    }

    macro_rules! functions {
        ($($name:ident)*) => { $(pub fn $name() {})* };
    }
    functions! { Some None Ok Err drop size_of align_of offset_of }

    /// Methods that are found before those that borrow.
    pub trait Methods: ::core::marker::Sized {
        fn as_ref(self) {}
        fn cast(self) {}
        fn clone(self) {}
        fn debug_struct(self) {}
        fn debug_tuple(self) {}
        fn default(self) {}
        fn eq(self) {}
        fn field(self) {}
        fn finish(self) {}
        fn fmt(self) {}
        fn from_ne_bytes(self) {}
        fn into(self) {}
        fn iter(self) {}
        fn len(self) {}
        fn map(self) {}
        fn map_entities(self) {}
        fn push(self) {}
        fn skip(self) {}
        fn try_from(self) {}
        fn write_str(self) {}
    }
    impl<T> Methods for T {}
}

macro_rules! hide {
    ($d:tt $($name:ident)*) => { $(
        #[allow(unused_macros)]
        macro_rules! $name { ($d($d _t:tt)*) => { compile_error!("a derive calls a macro of the user") } }
    )* };
}

#[allow(dead_code, unreachable_pub, unused_imports)]
mod hidden {
    use super::names::*;

    hide! { $
        assert assert_eq assert_ne concat debug_assert debug_assert_eq format format_args line matches offset_of panic
        stringify todo unimplemented unreachable vec write writeln
    }

    mod alloc {}
    mod core {}
    mod phalanx {}
    mod phalanx_derive {}
    mod phalanx_store {}
    mod std {}

    type Number = ::core::primitive::u32;
    type Byte = ::core::primitive::u8;

    #[derive(::phalanx::Component)]
    pub struct Bare;

    #[cfg(feature = "reflect")]
    #[derive(::phalanx::reflect::Reflect)]
    pub struct Reflected<T: 'static> {
        pub number: Number,
        pub other: T,
    }

    #[cfg(feature = "reflect")]
    #[derive(::phalanx::reflect::Reflect)]
    pub enum Choice {
        A,
        B = 4,
    }

    #[derive(::phalanx::Component, ::core::clone::Clone)]
    #[component(layout = "table", clone, track = "row", crate = "::phalanx")]
    pub struct Cloned<T>(pub T)
    where
        T: ::core::clone::Clone;

    #[derive(::phalanx::Component, ::core::clone::Clone, ::core::marker::Copy)]
    #[component(layout = "pool", plain, entities, track = "column")]
    pub struct Link {
        pub to: ::phalanx::Entity,
        #[entities(skip)]
        pub weight: Number,
        #[entities(skip)]
        pub kind: Kind,
        #[entities(skip)]
        pub rest: [Byte; 3],
    }

    fn visit(value: &mut Seen, each: &mut dyn ::core::ops::FnMut(&mut ::phalanx::Entity)) {
        each(&mut value.0);
    }

    #[derive(::phalanx::Component)]
    #[component(layout = "linear", entities = "visit")]
    pub struct Seen(pub ::phalanx::Entity);

    #[derive(::phalanx::Component, ::core::clone::Clone, ::core::marker::Copy)]
    #[component(plain)]
    pub struct Pair<A, B>(pub A, pub B);

    #[derive(::phalanx::Plain, ::core::clone::Clone, ::core::marker::Copy)]
    #[repr(u8)]
    pub enum Kind {
        Near,
        Far = 7,
    }

    #[derive(::phalanx::Plain, ::core::clone::Clone, ::core::marker::Copy)]
    #[plain(crate = "::phalanx")]
    pub struct Inner<T> {
        pub value: T,
    }

    #[derive(::phalanx::MapEntities)]
    #[entities(crate = "::phalanx")]
    pub enum Goal<T> {
        At(::phalanx::Entity),
        Other { inner: T },
        Nowhere,
    }

    #[derive(::phalanx::MapEntities)]
    pub enum Never {}

    #[derive(
        ::phalanx::Component,
        ::phalanx::store::Soa,
        ::core::clone::Clone,
        ::core::marker::Copy,
        ::core::fmt::Debug,
        ::core::cmp::PartialEq,
        ::core::default::Default,
    )]
    #[soa(crate = "::phalanx::store")]
    #[component(layout = "soa", track = "column", plain)]
    pub struct Lanes {
        pub x: Number,
        #[soa(nested)]
        pub point: Point,
        pub r#type: Number,
    }

    #[derive(
        ::phalanx::store::Soa,
        ::phalanx::store::Flat,
        ::core::clone::Clone,
        ::core::marker::Copy,
        ::core::fmt::Debug,
        ::core::cmp::PartialEq,
        ::core::default::Default,
    )]
    #[soa(crate = "::phalanx::store")]
    #[repr(C)]
    pub struct Point(pub Number, pub Number);

    #[derive(::phalanx::store::Soa)]
    #[soa(crate = "::phalanx::store")]
    pub struct Unit;

    #[derive(::phalanx::store::Soa)]
    #[soa(crate = "::phalanx::store")]
    pub struct Generic<'a, T: 'a, const N: ::core::primitive::usize>
    where
        T: ::core::clone::Clone,
    {
        pub values: [T; N],
        pub whole: &'a T,
    }

    #[derive(::phalanx::Bundle)]
    pub struct Both {
        pub bare: Bare,
        pub inner: Boxed<Number>,
    }

    #[derive(::phalanx::Bundle)]
    #[bundle(crate = "::phalanx")]
    pub struct Boxed<T>(pub Cloned<T>, pub Link)
    where
        T: ::core::clone::Clone + ::core::marker::Send + ::core::marker::Sync;

    #[derive(::phalanx::QueryData)]
    pub enum OneOf<'a, T>
    where
        T: ::phalanx::Component,
    {
        First(&'a mut Cloned<Number>, &'a T),
        Second { r#type: &'a T, entity: ::phalanx::Entity },
        Either,
    }

    #[derive(::phalanx::QueryData)]
    pub struct Reads<'a, T>
    where
        T: ::phalanx::Component,
    {
        pub value: &'a T,
        pub entity: ::phalanx::Entity,
        pub has: ::phalanx::Has<Bare>,
    }

    #[derive(::phalanx::QueryData)]
    #[query(crate = "::phalanx")]
    pub struct Writes {
        pub link: &'static mut Link,
        pub r#type: ::core::option::Option<&'static Bare>,
        pub reads: Reads<'static, Cloned<Number>>,
    }
}

#[test]
fn derives_do_what_they_say_where_names_are_hidden() {
    use hidden::{Bare, Both, Boxed, Cloned, Kind, Lanes, Link, Point, Writes};
    let mut world = World::new();
    let to = world.spawn(Bare);
    let link = Link { to, weight: 3, kind: Kind::Far, rest: [0; 3] };
    let entity = world.spawn(Both { bare: Bare, inner: Boxed(Cloned(7_u32), link) });
    let mut seen = 0;
    for item in world.query_mut::<Writes>().iter_mut() {
        assert_eq!((item.link.weight, item.reads.value.0, item.reads.entity), (3, 7, entity));
        assert!(item.r#type.is_some() && item.reads.has);
        seen += 1;
    }
    assert_eq!(seen, 1);
    let lanes = Lanes { x: 1, point: Point(2, 3), r#type: 4 };
    let rows = world.spawn(lanes);
    let item = world.get::<Lanes>(rows).unwrap();
    assert_eq!(format!("{item:?}"), "Lanes { x: 1, point: Point(2, 3), type: 4 }");
    assert_eq!(phalanx::store::soa::flat(&[lanes.point]), [2, 3]);
}
