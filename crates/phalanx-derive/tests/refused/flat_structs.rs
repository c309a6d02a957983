use phalanx_store::Flat;

#[derive(Flat, Clone, Copy)]
struct NoRepr {
    x: f32,
}

#[derive(Flat, Clone, Copy)]
#[repr(C)]
struct Mixed {
    x: f32,
    y: u32,
}

#[derive(Flat, Clone, Copy)]
#[repr(C, align(16))]
struct Padded {
    x: f32,
}

fn main() {}
