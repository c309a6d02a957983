use phalanx_store::Soa;

#[derive(Soa)]
struct Slice {
    id: u32,
    rest: [u8],
}

#[derive(Soa)]
struct Text(u32, str);

#[derive(Soa)]
struct Object {
    id: u32,
    value: dyn Send,
}

fn main() {}
