use phalanx_store::Soa;

#[derive(Soa)]
struct Point {
    x: f32,
}

fn main() {
    let mut points: Soa<Point> = Soa::new();
    let mut kept = Vec::new();
    points.retain(|row| {
        kept.push(row);
        true
    });
    points.sort_by_key(|row| row.x.to_bits() as u64);
    let mut first = None;
    points.sort_by(|a, b| {
        first = Some(a);
        a.x.total_cmp(b.x)
    });
}
