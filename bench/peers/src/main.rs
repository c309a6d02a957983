//! Phalanx side by side with other libraries.
mod data;
mod ecs;
mod harness;
mod memory;

fn main() {
    phalanx_testkit::bench::settle_allocator();
    let effort = harness::Effort { budget: std::time::Duration::from_secs_f64(0.3), passes: 1, most_rounds: 200 };
    for w in ecs::all() {
        let t = std::time::Instant::now();
        let (mut rows, disagree) = harness::run(&w, effort);
        rows.sort_by(|a, b| a.min.total_cmp(&b.min));
        println!("{} {:?} {disagree:?}", w.name, t.elapsed());
        for r in rows {
            println!("   {:30} {:.3} {:.3} {}", r.label, r.min, r.median, r.samples);
        }
    }
}
