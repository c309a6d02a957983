use phalanx_store::Soa;

#[derive(Soa)]
#[soa(name = "Other")]
struct Named {
    #[soa(flatten)]
    x: f32,
}

fn main() {}
