use phalanx::{Component, Entity, Plain};

#[derive(Component, Clone, Copy)]
#[component(plain)]
struct Padded(u8, u32);

#[derive(Component, Clone, Copy)]
#[component(plain)]
struct Optional(Option<Entity>);

#[derive(Component, Clone, Copy)]
#[component(plain)]
enum Sizeless {
    A,
    B,
}

#[derive(Plain, Clone, Copy)]
#[repr(u8)]
enum Filled {
    A(u8),
    B,
}

#[derive(Plain, Clone, Copy)]
union Either {
    a: u8,
    b: bool,
}

#[derive(phalanx::store::Soa, Component, Clone, Copy)]
#[soa(crate = "phalanx::store")]
#[component(layout = "soa", plain)]
struct Lanes {
    a: u8,
    b: (u8, u32),
}

fn main() {}
