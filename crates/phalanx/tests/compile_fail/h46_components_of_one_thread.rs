//! A component goes where its world goes, and is read from wherever that is shared.
use phalanx::Component;
use std::cell::Cell;
use std::rc::Rc;
use std::sync::MutexGuard;

#[derive(Component)]
struct Counter(Rc<u32>);

#[derive(Component)]
struct Flag(Cell<bool>);

#[derive(Component)]
struct Address(*const u8);

#[derive(Component)]
struct Lock(MutexGuard<'static, u32>);

fn main() {}
