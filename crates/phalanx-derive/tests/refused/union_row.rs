use phalanx_store::Soa;

#[derive(Soa)]
union Bits {
    float: f32,
    word: u32,
}

fn main() {}
