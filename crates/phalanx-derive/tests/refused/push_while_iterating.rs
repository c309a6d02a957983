use phalanx_store::Soa;

#[derive(Soa)]
struct Point {
    x: f32,
}

fn push(points: &mut Soa<Point>) {
    for row in &*points {
        points.push(Point { x: *row.x });
    }
}

fn measure(points: &mut Soa<Point>) {
    for row in &mut *points {
        *row.x += points.len() as f32;
    }
}

fn feed_itself(points: &mut Soa<Point>) {
    points.extend(points.drain(..));
}

fn main() {}
