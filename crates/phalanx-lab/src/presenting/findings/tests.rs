use super::*;

/// Runs that agree.
fn steady(nanos: f64) -> Summary {
    Summary::of(&[nanos; 5]).unwrap()
}

/// Runs around a median, and how far they lie from it.
fn noisy(nanos: f64, share: f64) -> Summary {
    Summary::of(&[nanos * (1.0 - share), nanos, nanos * (1.0 + share)]).unwrap()
}

fn speed_row(name: &'static str, nanos: [f64; 4]) -> speed::StoreSpeed {
    let [packed, slot, siphash, foldhash] = nanos.map(steady);
    speed::StoreSpeed { name, per: "value", packed, slot, siphash, foldhash }
}

#[test]
fn speed_sentences_follow_the_figures() {
    let text = speed(&[speed_row("iteration", [1.0, 1.0, 3.0, 2.0]), speed_row("access", [1.0, 1.5, 2.0, 0.5])]);
    assert!(text[0].contains("SipHash: faster in all 2 scenarios (2.00× to 3.00×)."), "{}", text[0]);
    assert!(
        text[1].ends_with("foldhash, a fast hasher: faster in iteration (2.00×); slower in access (2.00×)."),
        "{}",
        text[1]
    );
    assert!(text[2].ends_with("with SipHash: faster in all 2 scenarios (1.50× to 4.00×)."), "{}", text[2]);
    assert!(text[3].ends_with("packed store: level in iteration; slower in access (1.50×)."), "{}", text[3]);
    assert_eq!(text.len(), 4);
    assert!(speed(&[]).is_empty());
}

fn removal_rows(time: impl Fn(Way, Order, usize) -> Summary) -> Vec<RemovalTime> {
    let mut rows = Vec::new();
    for count in COUNTS {
        for order in Order::ALL {
            for way in Way::ALL {
                rows.push(RemovalTime { way, order, count, time: time(way, order, count), estimated_from: None });
            }
        }
    }
    rows
}

/// The sentence that begins so.
fn sentence<'a>(text: &'a [String], start: &str) -> &'a str {
    text.iter().find(|sentence| sentence.starts_with(start)).unwrap_or_else(|| panic!("{start} is not in {text:#?}"))
}

#[test]
fn removal_sentences_follow_the_figures() {
    let rows = removal_rows(|way, order, count| {
        let (n, place) = (count as f64, order as usize);
        steady(match way {
            Way::Shift => n * n * [0.001, 1.0, 0.5][place],
            Way::Swap => n * [1.0, 2.0, 3.0][place],
            // Deferred removal wins in random order only.
            Way::Deferred => n * [2.0, 4.0, 1.5][place],
        })
    });
    let text = removal(&rows);
    let emptying = sentence(&text, "Emptying a set of 250,000");
    assert!(emptying.contains("750 µs by swapping, 375 µs by deferred removal and 31.3 s by shifting"), "{emptying}");
    assert!(emptying.ends_with("swapping is 41,700 times as fast as shifting."), "{emptying}");
    assert!(sentence(&text, "For 25 times").contains("shift takes 625× as long (n to the power of 2.0)"), "{text:#?}");
    let deferred = sentence(&text, "Deferred removal, which keeps the order, against swapping");
    assert!(deferred.contains("faster in random 10,000, random 100,000 and random 250,000 (2.00×)"), "{deferred}");
    assert!(deferred.ends_with("slower in 6 of 9 cases (2.00×)."), "{deferred}");
    // A shorter tail makes shifting from the end as quick as anything: the claim about shifting is not made for it.
    let shifting = sentence(&text, "Deferred removal against shifting");
    assert!(shifting.contains("faster in all 9 cases"), "{shifting}");
    assert_eq!(
        sentence(&text, "Swapping in reverse order against linear"),
        "Swapping in reverse order against linear order: faster at all 3 counts (2.00×)."
    );
    assert!(!text.iter().any(|sentence| sentence.contains("stimated")), "{text:#?}");
}

#[test]
fn claims_fail_where_the_figures_say_so() {
    let rows = removal_rows(|way, order, count| match (way, order) {
        (Way::Swap, Order::Reverse) if count > 10_000 => steady(3.0 * count as f64),
        (Way::Swap, Order::Random) => steady(0.5 * count as f64),
        _ => steady(count as f64),
    });
    let text = removal(&rows);
    assert_eq!(
        sentence(&text, "Swapping in reverse order"),
        "Swapping in reverse order against linear order: level at 10,000; slower at 100,000 and 250,000 (3.00×)."
    );
    assert_eq!(
        sentence(&text, "Swapping in linear order"),
        "Swapping in linear order against random order: slower at all 3 counts (2.00×)."
    );
}

#[test]
fn differences_within_the_noise_are_level() {
    let median = |way: Way, count: usize| if way == Way::Deferred { 0.68 } else { 1.0 } * count as f64;
    let text = removal(&removal_rows(|way, _, count| noisy(median(way, count), 0.9)));
    assert!(sentence(&text, "Emptying").ends_with("swapping is level with shifting."), "{text:#?}");
    assert!(sentence(&text, "Deferred removal, which").ends_with("does not: level in all 9 cases."), "{text:#?}");
    assert!(sentence(&text, "Swapping in reverse").ends_with("level at all 3 counts."), "{text:#?}");
    // The same medians, in runs that agree.
    let text = removal(&removal_rows(|way, _, count| noisy(median(way, count), 0.01)));
    assert!(sentence(&text, "Deferred removal, which").ends_with("faster in all 9 cases (1.47×)."), "{text:#?}");
    // Runs that lie far apart, but not as far as the medians, are apart by a doubtful factor.
    let text = removal(&removal_rows(|way, _, _| noisy(if way == Way::Deferred { 1.0 } else { 9.0 }, 0.8)));
    let doubtful = "faster in all 9 cases (9.00×, some in noisy runs).";
    assert!(sentence(&text, "Deferred removal, which").ends_with(doubtful), "{text:#?}");
    // One interrupted run changes no claim.
    let disturbed = |nanos: f64| Summary::of(&[nanos, nanos, nanos, nanos, nanos * 1000.0]).unwrap();
    let text = removal(&removal_rows(|way, _, count| disturbed(median(way, count))));
    assert!(sentence(&text, "Deferred removal, which").ends_with("faster in all 9 cases (1.47×)."), "{text:#?}");
}

#[test]
fn what_rests_on_an_estimate_says_so() {
    let mut rows = removal_rows(|way, _, count| steady(if way == Way::Shift { count.pow(2) } else { count } as f64));
    for row in rows.iter_mut().filter(|row| row.way == Way::Shift && row.count == COUNTS[2]) {
        (row.time, row.estimated_from) = (Summary::estimate(row.time.median), Some(10_000));
    }
    let text = removal(&rows);
    assert!(sentence(&text, "Emptying").contains("an estimated 63 s by shifting"), "{text:#?}");
    assert!(
        sentence(&text, "Emptying").ends_with("swapping is an estimated 250,000 times as fast as shifting."),
        "{text:#?}"
    );
    assert!(sentence(&text, "For 25 times").contains("shift is expected to take about 630× as long"), "{text:#?}");
    assert!(sentence(&text, "Deferred removal against shifting").contains("(≈ 10,000× to 250,000×)"), "{text:#?}");
    let unrun = sentence(&text, "Estimated, not run (marked ≈): ");
    assert!(unrun.contains("shift reverse 250,000, shift linear 250,000 and shift random 250,000."), "{unrun}");
    // The table marks them, too.
    let sheet = crate::presenting::sheet::removal(&rows);
    let marked: Vec<_> = sheet.rows.iter().filter(|row| row[3].text.starts_with("≈ ")).collect();
    assert_eq!(marked.len(), 3);
    assert!(
        marked.iter().all(|row| row[5].text.starts_with("≈ ") && row[6].text == "estimate from 10,000"),
        "{marked:?}"
    );
}

#[test]
fn places_are_told_by_what_they_are_quickest_at() {
    let row = |work, nanos: [f64; 3]| {
        let [table, pool, linear] = nanos.map(steady);
        placement::WorkTime { work, per: "entity", count: 1, table, pool, linear }
    };
    let rows = [
        row("inserting it", [60.0, 20.0, 40.0]),
        row("removing it", [40.0, 20.0, 20.0]),
        row("iterating over it with a table", [1.0, 4.0, 2.0]),
    ];
    let text = placement(&rows);
    assert!(text[0].starts_with("The table is the quickest, or level with it, at iterating"), "{}", text[0]);
    assert!(text[0].contains("(1.00 ns; the pool 4.00 ns)"), "{}", text[0]);
    assert!(text[1].contains("inserting it (20.0 ns; the table 60.0 ns); removing it"), "{}", text[1]);
    assert!(text[2].contains("at removing it") && !text[2].contains("inserting"), "{}", text[2]);
    assert!(text[3].contains("for every 20.0 rows"), "{}", text[3]);
    assert_eq!(placement(&rows[2..])[1], "The pool is ahead at nothing here.");
    // Within the noise no place is ahead, and no pool pays for itself.
    let mut level = rows;
    for row in &mut level {
        [row.table, row.pool, row.linear] = row.times().map(|time| noisy(time.median, 1.9));
    }
    let text = placement(&level);
    assert!(
        text.len() == 3 && text.iter().all(|sentence| sentence.ends_with("is ahead at nothing here.")),
        "{text:#?}"
    );
    let sheet = crate::presenting::sheet::placement(&level);
    assert!(sheet.rows.iter().all(|row| row[5].text == "level" && row[2].is_best), "{sheet:?}");
}

fn memory_row(utilisation: f64, measured: [u64; 4], model: [u64; 4]) -> footprint::MemoryUse {
    let footprint = |layout: Layout| footprint::Footprint {
        layout,
        model: model[layout as usize],
        measured: measured[layout as usize],
        values: 1,
    };
    footprint::MemoryUse { size: 8, entities: 100, utilisation, layouts: Layout::ALL.map(footprint) }
}

#[test]
fn memory_sentences_follow_the_bytes() {
    // Packed, slot, sparse, linear.
    let rows =
        [memory_row(0.1, [40, 30, 50, 90], [40, 30, 50, 90]), memory_row(0.9, [95, 92, 99, 90], [95, 92, 99, 90])];
    let text = memory(&rows);
    assert_eq!(
        text[0],
        "At 8 bytes a value, the cheapest keyed by entities is SparseSet up to 10 %, then LinearStore."
    );
    assert_eq!(text[1], "At 8 bytes a value, the cheapest of all four is SlotStore up to 10 %, then LinearStore.");
    assert_eq!(text[2], "Every container holds exactly the bytes that the model says.");
    // Other bytes, other sentences.
    let rows = [memory_row(0.1, [20, 30, 50, 50], [20, 30, 40, 50])];
    let text = memory(&rows);
    assert_eq!(text[0], "At 8 bytes a value, the cheapest keyed by entities is SparseSet at every utilisation.");
    assert_eq!(text[1], "At 8 bytes a value, the cheapest of all four is PackedStore at every utilisation.");
    assert!(
        text[2].contains("to within 25 %; the widest miss is SparseSet at 8 bytes and 10 % utilisation"),
        "{}",
        text[2]
    );
    let sheet = crate::presenting::sheet::memory(&[memory_row(0.5, [9, 7, 7, 8], [9, 7, 7, 8])]);
    assert_eq!((&*sheet.rows[0][7].text, &*sheet.rows[0][8].text), ("slot and sparse", "nothing"));
    assert_eq!(sheet.rows[0].iter().filter(|cell| cell.is_best).count(), 2);
}

#[test]
fn estimates_are_hollow_in_the_picture() {
    let mut rows = removal_rows(|_, _, count| steady(count as f64));
    let plain = crate::presenting::plots::removal(&rows);
    assert!(!plain.contains("hollow") && !plain.contains("faint") && !plain.contains("estimated"), "{plain}");
    let last = rows.last_mut().expect("27 rows");
    (last.time, last.estimated_from) = (Summary::estimate(last.time.median), Some(10_000));
    let marked = crate::presenting::plots::removal(&rows);
    assert_eq!(marked.matches("class=\"hollow").count(), 1, "{marked}");
    assert_eq!(marked.matches("class=\"line faint").count(), 1, "{marked}");
    assert_eq!(marked.matches(", estimated</title>").count(), 1, "{marked}");
}

#[test]
fn winners_are_told_as_runs() {
    let (s, l) = (Layout::Sparse, Layout::Linear);
    assert_eq!(runs([(0.1, s), (0.5, s), (0.9, l)].into_iter()), "SparseSet up to 50 %, then LinearStore");
    assert_eq!(runs([(0.1, l), (0.5, l)].into_iter()), "LinearStore at every utilisation");
}
