//! What writes cannot be copied.
use phalanx::query::{Chunks, Iter};
use phalanx::{Component, Query, ViewMut};

#[derive(Component)]
struct Age(u32);

fn cloned<T: Clone>() {}

fn main() {
    cloned::<Iter<'static, 'static, &'static mut Age>>();
    cloned::<Chunks<'static, 'static, &'static mut Age>>();
    cloned::<Query<'static, 'static, &'static mut Age>>();
    cloned::<ViewMut<'static, Age>>();
    let _ = Age(1).0;
}
