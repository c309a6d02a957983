//! The components that the cases are made of.

use phalanx::store::soa::{Leaf, SoaRow, Views};
use phalanx::{Component, Entity, World};
use phalanx_testkit::{Align64, Align4096, Aligned, Counted, Dial, Tally};

#[derive(Component, Clone, Copy, Debug, PartialEq)]
pub(crate) struct Position(pub(crate) f32);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
pub(crate) struct Velocity(pub(crate) f64);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
pub(crate) struct Tag;

macro_rules! counted {
    ($($name:ident)*) => {$(
        #[derive(Component, Debug)]
        pub(crate) struct $name(pub(crate) Counted);
        impl $name {
            pub(crate) fn new(tally: &Tally, key: u32) -> Self {
                $name(tally.value(key))
            }
        }
    )*};
}
counted!(A B C D);

#[derive(Component, Debug)]
pub(crate) struct Wide(pub(crate) Aligned<Align64>);
#[derive(Component, Debug)]
pub(crate) struct Page(pub(crate) Aligned<Align4096>);

/// A value that holds a reference, so that one formed from unwritten memory crashes.
#[derive(Component, Clone, Copy, Debug)]
pub(crate) struct Name(pub(crate) &'static str);

#[derive(phalanx::store::Soa, Component, Clone, Copy, Debug, PartialEq)]
#[soa(crate = "phalanx::store")]
#[component(layout = "soa")]
pub(crate) struct Spin {
    pub(crate) axis: u8,
    pub(crate) speed: f64,
}

/// A soa component written by hand, whose taking apart and putting together panic on order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rude(pub(crate) &'static Dial, pub(crate) &'static str);

impl Component for Rude {
    type Layout = phalanx::layout::Soa;
}

impl<'a> Views<'a> for Rude {
    type Ref = &'a &'static str;
    type Mut = &'a mut &'static str;
    type Lanes = &'a [&'static str];
    type LanesMut = &'a mut [&'static str];
}

impl SoaRow for Rude {
    type Shape = (Leaf<&'static Dial>, Leaf<&'static str>);
    type Columns = Vec<&'static str>;
    const NAME: &'static str = "Rude";
    const FIELDS: &'static [&'static str] = &[];

    fn split(self) -> (&'static Dial, &'static str) {
        self.0.tick_or_panic("callback");
        (self.0, self.1)
    }
    fn join((dial, text): (&'static Dial, &'static str)) -> Self {
        dial.tick_or_panic("callback");
        Rude(dial, text)
    }
    fn as_row(&self) -> &&'static str {
        &self.1
    }
    fn as_row_mut(&mut self) -> &mut &'static str {
        &mut self.1
    }
    fn split_row<'a>(text: &'a &'static str) -> (&'a &'static Dial, &'a &'static str)
    where
        Self: 'a,
    {
        static OFF: Dial = Dial::off();
        static NONE: &Dial = &OFF;
        (&NONE, text)
    }
    fn row<'a>((_, text): (&'a &'static Dial, &'a &'static str)) -> &'a &'static str
    where
        Self: 'a,
    {
        text
    }
    fn row_mut<'a>((_, text): (&'a mut &'static Dial, &'a mut &'static str)) -> &'a mut &'static str
    where
        Self: 'a,
    {
        text
    }
    fn lanes<'a>((_, texts): (&'a [&'static Dial], &'a [&'static str])) -> &'a [&'static str]
    where
        Self: 'a,
    {
        texts
    }
    fn lanes_mut<'a>((_, texts): (&'a mut [&'static Dial], &'a mut [&'static str])) -> &'a mut [&'static str]
    where
        Self: 'a,
    {
        texts
    }
    fn split_lanes<'a>(texts: &'a [&'static str]) -> (&'a [&'static Dial], &'a [&'static str])
    where
        Self: 'a,
    {
        (&[], texts)
    }
    fn join_columns((_, texts): (Vec<&'static Dial>, Vec<&'static str>)) -> Vec<&'static str> {
        texts
    }
    fn split_columns(texts: Vec<&'static str>) -> (Vec<&'static Dial>, Vec<&'static str>) {
        (Vec::new(), texts)
    }
}

/// Entities in the order in which a query visits them, with the names of what they have.
pub(crate) fn structure(world: &World) -> Vec<(Entity, Vec<&'static str>)> {
    world.query::<Entity>().iter().map(|e| (e, world.entity(e).unwrap().component_names().collect())).collect()
}
