//! The game in Phalanx.

use crate::{BACK, Side};
use phalanx::timeline::Timeline;
use phalanx::{Component, World};

#[derive(Component, Clone, Copy)]
#[component(plain)]
struct Foo(i32);
#[derive(Component, Clone, Copy)]
#[component(plain)]
struct Bar(i32);
#[derive(Component, Clone, Copy)]
#[component(plain)]
struct Baz(i32);

pub(crate) struct Game {
    world: World,
    timeline: Timeline,
}

impl Game {
    pub(crate) fn new(types: usize, entities: i32) -> Game {
        let mut world = World::new();
        for n in 0..entities {
            world.spawn(Foo(n));
            if types == 3 {
                world.spawn(Bar(n));
                world.spawn(Baz(n));
            }
        }
        Game { world, timeline: Timeline::with_sums(BACK) }
    }
}

impl Side for Game {
    fn advance(&mut self) {
        self.world.query_mut::<&mut Foo>().for_each(|foo| foo.0 += 1);
        self.world.query_mut::<&mut Bar>().for_each(|bar| bar.0 -= 1);
        self.world.query_mut::<&mut Baz>().for_each(|baz| baz.0 += 1);
    }

    fn save(&mut self) {
        self.timeline.capture(&mut self.world).expect("the world can be captured");
    }

    fn load(&mut self) {
        self.timeline.rewind(&mut self.world, BACK).expect("there are as many frames");
    }

    fn total(&mut self) -> i64 {
        let foos = self.world.query::<&Foo>().iter().map(|foo| i64::from(foo.0)).sum::<i64>();
        let bars = self.world.query::<&Bar>().iter().map(|bar| i64::from(bar.0)).sum::<i64>();
        foos - bars + self.world.query::<&Baz>().iter().map(|baz| i64::from(baz.0)).sum::<i64>()
    }
}
