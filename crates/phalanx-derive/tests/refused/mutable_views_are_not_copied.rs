use phalanx_store::Soa;

#[derive(Soa)]
struct Point {
    x: f32,
}

fn main() {
    let mut points: Soa<Point> = Soa::new();
    let slice = points.as_mut_slice();
    drop((slice, slice));
    let lanes = points.lanes_mut();
    let again = points.lanes_mut();
    drop((lanes, again));
}
