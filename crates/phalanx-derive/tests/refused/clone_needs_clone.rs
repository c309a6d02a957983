use phalanx_store::Soa;

struct Opaque;

#[derive(Soa)]
struct Row {
    opaque: Opaque,
}

fn main() {
    let rows: Soa<Row> = Soa::new();
    let _ = rows.clone();
}
