use phalanx_store::Soa;

struct Plain {
    x: f32,
}

fn main() {
    let mut rows = Soa::new();
    rows.push(Plain { x: 1.0 });
}
