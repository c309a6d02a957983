//! What writes cannot be copied.
use phalanx::query::{Chunks, Iter};
use phalanx::{Component, ComponentViewMut, Query};

#[derive(Component)]
struct Age(u32);

fn cloned<T: Clone>() {}

fn main() {
    cloned::<Iter<'static, 'static, &'static mut Age>>();
    cloned::<Chunks<'static, 'static, &'static mut Age>>();
    cloned::<Query<'static, 'static, &'static mut Age>>();
    cloned::<ComponentViewMut<'static, Age>>();
    let _ = Age(1).0;
}
