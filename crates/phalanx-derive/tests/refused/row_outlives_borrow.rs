use phalanx_store::Soa;

#[derive(Soa)]
struct Point {
    x: f32,
}

fn main() {
    let mut points: Soa<Point> = Soa::new();
    let row = points.get(0);
    points.push(Point { x: 1.0 });
    drop(row);

    let lanes = points.lanes();
    points.clear();
    drop(lanes);
}
