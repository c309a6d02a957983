use phalanx_store::Soa;

#[derive(Soa)]
struct Descriptor {
    number: u32,
}

impl Drop for Descriptor {
    fn drop(&mut self) {}
}

fn main() {}
