//! The most similar of some names.

use datafusion::common::utils::datafusion_strsim::levenshtein;

/// Returns the name that differs least from `name`, if at most a third of its letters differ.
pub(crate) fn nearest(name: &str, known: &[String]) -> Option<String> {
    // Longer names are not typing errors, and the cost is the product of both lengths.
    const LONGEST: usize = 64;
    if name.len() > LONGEST {
        return None;
    }
    let lower = name.to_lowercase();
    let near = known.iter().filter(|other| other.len() <= LONGEST);
    let (changes, best) = near.map(|other| (levenshtein(&lower, &other.to_lowercase()), other)).min()?;
    (changes <= name.chars().count() / 3 + 1).then(|| best.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found_and_a_far_one_is_not() {
        let known = ["position", "velocity", "health"].map(String::from);
        assert_eq!(nearest("postion", &known).as_deref(), Some("position"));
        assert_eq!(nearest("Healt", &known).as_deref(), Some("health"));
        assert_eq!(nearest("zebra", &known), None);
        assert_eq!(nearest("", &[]), None);
        assert_eq!(nearest(&"x".repeat(10_000), &known), None);
    }
}
