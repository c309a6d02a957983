use phalanx_store::Soa;

#[derive(Soa)]
enum Shape {
    Circle { radius: f32 },
    Square { side: f32 },
}

fn main() {}
