//! Ranks: numbers that are in the order of a list, with gaps, so that a new element gets one without changing those of others.

/// The distance to the rank of an element that is added at the end.
const STEP: u32 = 1 << 16;

/// Returns a rank between those of two neighbours, or after the last. Returns `None` if there is none.
pub(crate) fn between(before: u32, after: Option<u32>) -> Option<u32> {
    match after {
        None => before.checked_add(STEP),
        Some(after) => Some(before + (after - before) / 2).filter(|rank| *rank > before),
    }
}

/// Returns ranks for `count` elements, in order, with even gaps. All of them are above zero.
pub(crate) fn even(count: usize) -> impl Iterator<Item = u32> {
    let step = (u32::MAX / (count as u32).saturating_add(1)).clamp(1, STEP);
    (1..).map(move |at: u32| at * step)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Inserts elements at positions, and returns how often all ranks were assigned again.
    fn insert(positions: impl Iterator<Item = usize>) -> usize {
        let (mut ranks, mut renewed) = (Vec::<u32>::new(), 0);
        for at in positions {
            let before = at.checked_sub(1).map_or(0, |before| ranks[before]);
            let rank = between(before, ranks.get(at).copied());
            ranks.insert(at, rank.unwrap_or(0));
            if rank.is_none() {
                ranks = even(ranks.len()).take(ranks.len()).collect();
                renewed += 1;
            }
            assert!(ranks[0] > 0 && ranks.is_sorted_by(|a, b| a < b));
        }
        renewed
    }

    #[test]
    fn ranks_are_in_the_order_of_the_list() {
        assert_eq!(insert(0..2_000), 0);
        assert!(insert([0; 2_000].into_iter()) < 200);
        assert!(insert((0..2_000).map(|len| len / 2)) < 200);
    }
}
