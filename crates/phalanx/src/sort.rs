//! A sort for lists that are short, or rarely sorted.

use core::cmp::Ordering;

/// The longest list that is sorted by insertion.
const SHORT: usize = 16;

/// Sorts a list of ids, names, tables or events of one row. It is not stable, and allocates nothing.
///
/// Takes O(n log n) steps for any input. The sorts of the standard library are faster for long lists. But each use of one of them
/// is about twenty times as much code to compile, so that they are used only for lists that are long on hot paths.
pub(crate) fn sort_short_by<T>(list: &mut [T], mut compare: impl FnMut(&T, &T) -> Ordering) {
    let mut is_less = |a: &T, b: &T| compare(a, b) == Ordering::Less;
    if list.len() <= SHORT {
        for end in 1..list.len() {
            let mut at = end;
            while at > 0 && is_less(&list[at], &list[at - 1]) {
                list.swap(at, at - 1);
                at -= 1;
            }
        }
        return;
    }
    // A heap whose root is the greatest element, which is moved behind the rest again and again.
    let mut sift_down = |list: &mut [T], mut at: usize| {
        while let Some(mut child) = Some(2 * at + 1).filter(|child| *child < list.len()) {
            if child + 1 < list.len() && is_less(&list[child], &list[child + 1]) {
                child += 1;
            }
            if !is_less(&list[at], &list[child]) {
                return;
            }
            list.swap(at, child);
            at = child;
        }
    };
    for at in (0..list.len() / 2).rev() {
        sift_down(list, at);
    }
    for end in (1..list.len()).rev() {
        list.swap(0, end);
        sift_down(&mut list[..end], 0);
    }
}

/// Like [`sort_short_by`], by the order of the elements.
pub(crate) fn sort_short<T: Ord>(list: &mut [T]) {
    sort_short_by(list, T::cmp);
}

/// Like [`sort_short_by`], by a key.
pub(crate) fn sort_short_by_key<T, K: Ord>(list: &mut [T], mut key: impl FnMut(&T) -> K) {
    sort_short_by(list, |a, b| key(a).cmp(&key(b)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_all_lengths_are_sorted() {
        let mut state = 1_u32;
        for len in 0..200 {
            let next = || {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                state >> 26
            };
            let mut list: Vec<u32> = core::iter::repeat_with(next).take(len).collect();
            let mut expected = list.clone();
            expected.sort_unstable();
            sort_short(&mut list);
            assert_eq!(list, expected);
            sort_short_by_key(&mut list, |number| u32::MAX - number);
            expected.reverse();
            assert_eq!(list, expected);
        }
    }
}
