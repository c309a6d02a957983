//! Walking an iterator in every way that it offers, against the list that it stands for.

use core::fmt::Debug;

/// Consumes the iterator as the plan says and compares; lengths are looked at on the way.
pub fn walk<T, I>(mut it: I, expected: &[T], plan: u32)
where
    T: PartialEq + Debug,
    I: DoubleEndedIterator<Item = T> + ExactSizeIterator,
{
    let (mut front, mut back) = (0, expected.len());
    assert_eq!(it.len(), back, "length at the start");
    // By `next` alone, by `next_back` alone, by neither, by a mixture that stops somewhere, by a mixture to the end; and
    // past the end where it is reached.
    let steps = match plan % 8 {
        0 | 1 | 6 | 7 => expected.len() + 2,
        2 | 3 => 0,
        _ => (plan as usize / 8) % (expected.len() + 1),
    };
    for step in 0..steps {
        let forward = match plan % 8 {
            0 => true,
            1 => false,
            _ => plan.rotate_right(step as u32) & 16 != 0,
        };
        let found = if forward { it.next() } else { it.next_back() };
        let wanted = (front < back).then(|| {
            if forward {
                front += 1;
                &expected[front - 1]
            } else {
                back -= 1;
                &expected[back]
            }
        });
        assert_eq!(found.as_ref(), wanted, "step {step} of plan {plan}");
        assert_eq!(it.len(), back - front, "length after step {step} of plan {plan}");
    }
    let rest: Vec<T> = if plan.is_multiple_of(2) {
        it.fold(Vec::new(), |mut all, item| {
            all.push(item);
            all
        })
    } else {
        let mut all = it.rfold(Vec::new(), |mut all, item| {
            all.push(item);
            all
        });
        all.reverse();
        all
    };
    assert_eq!(rest, expected[front..back], "the rest of plan {plan}");
}

/// Takes `count` elements from the ends of a list, as the bits of `plan` say. Each is returned with whether it was the last.
pub fn ends<T: Copy>(list: &[T], count: usize, plan: u32) -> Vec<(bool, T)> {
    let mut left = list.iter().copied();
    let take = |at: usize| {
        let is_last = plan.rotate_right(at as u32 % 32) & 1 == 1;
        let next = if is_last { left.next_back() } else { left.next() };
        next.map(|next| (is_last, next))
    };
    (0..count).map_while(take).collect()
}
