use super::*;
use crate::measuring::removal::Outcome;
use crate::measuring::stats::Summary;

fn speed_row(name: &'static str, ratio: f64, reference_ratio: f64) -> speed::StoreSpeed {
    speed::StoreSpeed {
        name,
        per: "value",
        packed: 1.0,
        slot: 1.0,
        map: ratio,
        rounds: 1,
        ratio,
        slot_ratio: ratio,
        reference_ratio,
    }
}

#[test]
fn speed_sentences_follow_the_figures() {
    let won = speed(&[speed_row("iteration", 3.0, 1.5), speed_row("access", 2.0, 0.75)]);
    assert_eq!(won[0], "The packed store is faster than the map in: iteration (3.00 times); access (2.00 times).");
    assert_eq!(
        won[1],
        "1 of 2 rows come out on the same side as in the reference; the others: access (behind there, ahead here)."
    );
    let lost = speed(&[speed_row("iteration", 0.5, 1.5), speed_row("access", 1.01, 0.75)]);
    assert_eq!(lost[0], "The packed store is level with the map in: access.");
    assert_eq!(lost[1], "The packed store is slower than the map in: iteration (2.00 times).");
    assert!(lost[2].starts_with("0 of 2"));
    let same = speed(&[speed_row("iteration", 1.3, 1.5)]);
    assert_eq!(same[1], "All 1 rows come out on the same side as in the reference.");
}

fn removal_rows(mean: impl Fn(Way, Order, usize) -> f64) -> Vec<removal::RemovalTime> {
    let mut rows = Vec::new();
    for count in COUNTS {
        for order in Order::ALL {
            for way in Way::ALL {
                let outcome = Outcome::Measured(Summary::of(&[mean(way, order, count)]).unwrap());
                rows.push(removal::RemovalTime { way, order, count, outcome, reference_mean: None });
            }
        }
    }
    rows
}

#[test]
fn removal_sentences_follow_the_figures() {
    let rows = removal_rows(|way, order, count| {
        let n = count as f64;
        let order = order as usize as f64;
        match way {
            Way::Shift => n * n * [0.001, 1.0, 0.5][order as usize],
            Way::Swap => n * (1.0 + order),
            Way::Deferred => n * (1.0 + order) * 2.0,
        }
    });
    let text = removal(&rows);
    assert!(text[0].contains("750 µs by swapping") && text[0].contains("31.2 s by shifting"), "{}", text[0]);
    assert!(text[1].contains("shift takes 625 times as long (as n to the power of 2.0)"), "{}", text[1]);
    assert!(text[2].contains("takes 2.00 times as long as swapping"), "{}", text[2]);
    assert_eq!(text[3], "As in the reference, in shifting, reverse order is the quickest and linear the slowest.");
    assert_eq!(text[4], "As in the reference, in swapping, random order is the slowest.");
    assert_eq!(text.len(), 5);
}

#[test]
fn observations_can_fail() {
    let rows = removal_rows(|_, order, count| {
        let place = order as usize as f64;
        if count > 10_000 { 4.0 - place } else { 1.0 + place }
    });
    let text = removal(&rows);
    assert_eq!(text[4], "In the reference, in swapping, random order is the slowest; here not at 100,000 and 250,000.");
}

/// Runs around a mean, and how far they lie from it.
fn noisy(rows: &mut [removal::RemovalTime], share: f64) {
    for row in rows {
        let mean = row.mean();
        row.outcome = Outcome::Measured(Summary::of(&[mean * (1.0 - share), mean * (1.0 + share)]).unwrap());
    }
}

#[test]
fn differences_within_the_noise_have_no_ratio() {
    let mut rows = removal_rows(|way, _, count| if way == Way::Deferred { 0.68 } else { 1.0 } * count as f64);
    noisy(&mut rows, 2.0);
    let text = removal(&rows);
    assert!(text[0].ends_with("by shifting: the difference is within the noise."), "{}", text[0]);
    assert!(text[2].ends_with("in all 9 pairs its difference from swapping is within the noise."), "{}", text[2]);
    assert!(text[4].ends_with("here the differences are within the noise at every count."), "{}", text[4]);
    assert!(
        rows.iter().filter(|r| r.way == Way::Deferred).all(|r| crate::presenting::text::to_swap(&rows, r) == "noise")
    );
    // The same means, in runs that agree.
    noisy(&mut rows, 0.01);
    let text = removal(&rows);
    assert!(text[2].contains("takes 0.68 times as long as swapping"), "{}", text[2]);
    // And in some of them.
    noisy(&mut rows[..9], 2.0);
    let text = removal(&rows);
    assert!(text[2].contains("over 6 pairs; in 3 more the difference is within the noise"), "{}", text[2]);
}

#[test]
fn what_rests_on_an_estimate_says_so() {
    let mut rows = removal_rows(|way, _, count| if way == Way::Shift { count.pow(2) } else { count } as f64);
    for row in rows.iter_mut().filter(|row| row.way == Way::Shift && row.count == COUNTS[2]) {
        row.outcome = Outcome::Estimated { mean: row.mean(), from: 25_000 };
    }
    let text = removal(&rows);
    assert!(text[0].contains("an estimated 62.5 s by shifting: swapping is an estimated 250,000 times"), "{}", text[0]);
    assert!(text[1].contains("shift takes an estimated 625 times as long"), "{}", text[1]);
}

#[test]
fn places_are_told_by_what_they_are_quickest_at() {
    let row = |work, table, pool, linear| placement::WorkTime {
        work,
        per: "entity",
        count: 1,
        table,
        pool,
        linear,
        rounds: 1,
    };
    let rows = [
        row("inserting it", 60.0, 20.0, 40.0),
        row("removing it", 40.0, 20.0, 20.0),
        row("iterating over it with a table", 1.0, 4.0, 2.0),
    ];
    let text = placement(&rows);
    assert!(text[0].starts_with("The table is the quickest, or level with it, at iterating"), "{}", text[0]);
    assert!(text[0].contains("(1.00 to 4.00 ns, the pool)"), "{}", text[0]);
    assert!(text[1].contains("inserting it (20.0 to 60.0 ns, the table); removing it"), "{}", text[1]);
    assert!(text[2].contains("at removing it") && !text[2].contains("inserting"), "{}", text[2]);
    assert!(text[3].contains("for every 20.0 rows"), "{}", text[3]);
    assert_eq!(placement(&rows[2..])[1], "The pool is the quickest at nothing here.");
}

#[test]
fn winners_are_told_as_runs() {
    let (s, l) = (Layout::Sparse, Layout::Linear);
    assert_eq!(runs([(0.1, s), (0.5, s), (0.9, l)].into_iter()), "SparseSet up to 50 %, then LinearStore");
    assert_eq!(runs([(0.1, l), (0.5, l)].into_iter()), "LinearStore at every utilisation");
}
