//! The game in bevy_ggrs, built as its own benchmark builds it.

use crate::{BACK, Side};
use bevy::MinimalPlugins;
use bevy::prelude::*;
use bevy_ggrs::prelude::*;
use bevy_ggrs::{AdvanceWorld, LoadWorld, RollbackFrameCount, SaveWorld, SnapshotPlugin};

#[derive(Component, Clone, Copy)]
struct Foo(i32);
#[derive(Component, Clone, Copy)]
struct Bar(i32);
#[derive(Component, Clone, Copy)]
struct Baz(i32);

fn increment_foos(mut foos: Query<&mut Foo>) {
    for mut foo in &mut foos {
        foo.0 += 1;
    }
}

fn decrement_bars(mut bars: Query<&mut Bar>) {
    for mut bar in &mut bars {
        bar.0 -= 1;
    }
}

fn increment_bazs(mut bazs: Query<&mut Baz>) {
    for mut baz in &mut bazs {
        baz.0 += 1;
    }
}

pub(crate) struct Game {
    app: App,
    frame: i32,
}

impl Game {
    pub(crate) fn new(types: usize, entities: i32) -> Game {
        let mut app = App::new();
        app.add_plugins((MinimalPlugins, SnapshotPlugin));
        app.add_systems(AdvanceWorld, increment_foos);
        app.rollback_component_with_copy::<Foo>();
        if types == 3 {
            app.add_systems(AdvanceWorld, (decrement_bars, increment_bazs));
            app.rollback_component_with_copy::<Bar>();
            app.rollback_component_with_copy::<Baz>();
        }
        app.update();
        for n in 0..entities {
            app.world_mut().spawn((Foo(n), Rollback));
            if types == 3 {
                app.world_mut().spawn((Bar(n), Rollback));
                app.world_mut().spawn((Baz(n), Rollback));
            }
        }
        Game { app, frame: 0 }
    }
}

impl Side for Game {
    fn advance(&mut self) {
        self.app.world_mut().run_schedule(AdvanceWorld);
        self.frame += 1;
        self.app.insert_resource(RollbackFrameCount(self.frame));
    }

    fn save(&mut self) {
        self.app.world_mut().run_schedule(SaveWorld);
    }

    fn load(&mut self) {
        self.frame -= BACK as i32;
        self.app.insert_resource(RollbackFrameCount(self.frame));
        self.app.world_mut().run_schedule(LoadWorld);
    }

    fn total(&mut self) -> i64 {
        let world = self.app.world_mut();
        let foos = world.query::<&Foo>().iter(world).map(|foo| i64::from(foo.0)).sum::<i64>();
        let bars = world.query::<&Bar>().iter(world).map(|bar| i64::from(bar.0)).sum::<i64>();
        foos - bars + world.query::<&Baz>().iter(world).map(|baz| i64::from(baz.0)).sum::<i64>()
    }
}
