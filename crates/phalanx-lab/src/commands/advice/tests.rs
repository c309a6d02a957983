use super::*;
use crate::measuring::stats::Summary;

fn ask(size: u64, entities: u64, utilisation: f64, access: Access, churn: f64) -> Advice {
    advise(&Model::new(size, entities, utilisation).unwrap(), Work { access, churn })
}

#[test]
fn rare_values_want_a_sparse_set() {
    let advice = ask(64, 1_000_000, 0.01, Access::Iterate, 0.0);
    assert_eq!((advice.cheapest_by_entity, advice.fastest_by_entity), (Layout::Sparse, Layout::Sparse));
    assert!(advice.reasons.iter().any(|r| r.contains("For values hung on entities: take SparseSet")), "{advice:#?}");
    assert!(advice.reasons.iter().any(|r| r.ends_with("1 % is below it.")), "{advice:#?}");
}

#[test]
fn common_small_values_want_a_linear_store() {
    let advice = ask(8, 100_000, 0.98, Access::Random, 0.0);
    assert_eq!((advice.cheapest_by_entity, advice.fastest_by_entity), (Layout::Linear, Layout::Linear));
    assert!(advice.reasons.iter().any(|r| r.contains("take LinearStore")), "{advice:#?}");
}

#[test]
fn reading_wants_slots_and_iterating_packing() {
    assert_eq!(ask(32, 100_000, 0.5, Access::Iterate, 0.0).fastest, Layout::Packed);
    assert_eq!(ask(32, 100_000, 0.5, Access::Random, 0.0).fastest, Layout::Slot);
}

#[test]
fn the_fastest_has_time_one() {
    for access in [Access::Iterate, Access::Random, Access::Mixed] {
        let advice = ask(24, 50_000, 0.3, access, 0.1);
        assert_eq!(advice.layouts[advice.fastest as usize].relative_time, 1.0);
        assert!(advice.layouts.iter().all(|choice| choice.relative_time >= 1.0));
        assert_eq!(
            advice.layouts.map(|choice| choice.bytes).into_iter().min(),
            Some(advice.layouts[advice.cheapest as usize].bytes)
        );
    }
}

#[test]
fn nothing_to_store_is_no_reason_to_panic() {
    let advice = ask(0, 1, 0.0, Access::Mixed, 1.0);
    assert!(advice.text().contains("0 of 1 entities"));
    assert!(advice.layouts.iter().all(|choice| choice.relative_time.is_finite()), "{advice:#?}");
}

#[test]
fn sides_change_at_the_break_even() {
    let even = break_even(&Model::new(32, 100_000, 0.5).unwrap()).unwrap();
    // live·(32 + 8) + 8·N = N·(32 + 4) + N / 8
    assert!((even - 28.125 / 40.0).abs() < 0.002, "{even}");
    // A flag alone is always cheaper in the linear store, but for the very rarest.
    assert!(break_even(&Model::new(0, 100_000, 0.5).unwrap()).is_none_or(|even| even < 0.05));
}

#[test]
fn disagreement_is_said() {
    let advice = ask(32, 100_000, 0.95, Access::Random, 0.0);
    let time = |nanos: f64| Summary::of(&[nanos; 5]).unwrap();
    let trials =
        |nanos: [f64; 4]| Layout::ALL.map(|layout| Trial { layout, time: time(nanos[layout as usize]) }).to_vec();
    let borne_out = verdict(&advice, &trials([3.0, 1.0, 3.0, 1.0]));
    assert!(borne_out.iter().all(|s| s.contains("agrees with the advice")), "{borne_out:?}");
    let contradicted = verdict(&advice, &trials([1.0, 3.0, 1.0, 1.01]));
    assert_eq!(
        contradicted[0],
        "With handles of its own, the measurement disagrees: the advice had SlotStore ahead, but here PackedStore is 3.00 times as fast as SlotStore."
    );
    assert!(contradicted[1].ends_with("but here SparseSet is level with LinearStore."), "{contradicted:?}");
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let refuse = |size, entities, utilisation| {
        let model = Model::new(size, entities, utilisation).unwrap();
        let work = Work { access: Access::Iterate, churn: 0.0 };
        measure(&advise(&model, work), &model, work).unwrap_err()
    };
    let large = refuse(1024, 10_000_000, 0.5);
    assert!(large.code == 2 && large.sentence.contains("ask for fewer entities"), "{}", large.sentence);
    let empty = refuse(8, 10, 0.0);
    assert!(empty.code == 2 && empty.sentence.contains("at least one value"), "{}", empty.sentence);
}
