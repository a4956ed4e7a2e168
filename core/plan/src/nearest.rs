//! The nearest valid word to one that is not.
//!
//! Damerau-Levenshtein distance in its optimal-alignment form: insertions,
//! deletions, substitutions and swaps of neighbours cost one each.

use alloc::vec;
use alloc::vec::Vec;

/// Words longer than this are nobody's typing slip, and the distance costs
/// the product of the lengths.
const LONGEST_WORD: usize = 64;

/// The candidate nearest to `word`, if one is near enough: a third of the
/// letters wrong at most, or one the beginning of the other.
pub(crate) fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    if word.len() > LONGEST_WORD {
        return None;
    }
    let word: Vec<char> = word.to_lowercase().chars().map(plain).collect();
    let most = (word.len() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (separation(&word, candidate, most), candidate))
        .filter(|&(separation, _)| separation <= most)
        .min_by_key(|&(separation, _)| separation)
        .map(|(_, candidate)| candidate)
}

/// Hyphens and underscores are taken for each other too easily to count.
fn plain(letter: char) -> char {
    if letter == '-' { '_' } else { letter }
}

/// The distance, but at the most allowed where one is the other's beginning.
fn separation(word: &[char], candidate: &str, most: usize) -> usize {
    let candidate: Vec<char> = candidate.chars().map(plain).collect();
    let distance = distance(word, &candidate);
    let is_beginning = word.len() >= 3 && candidate.starts_with(word)
        || candidate.len() >= 3 && word.starts_with(&candidate);
    if is_beginning { distance.min(most) } else { distance }
}

fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = vec![0; b.len() + 1];
    let mut previous: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let substitution = previous[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = substitution.min(previous[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = previous;
        previous = row;
    }
    previous[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_of_the_keyboard_are_forgiven() {
        let keys = ["rate", "rtt", "queue", "congestion_control", "loss"];
        let near = |word| nearest(word, keys);
        assert_eq!(near("raet"), Some("rate"));
        assert_eq!(near("rrt"), Some("rtt"));
        assert_eq!(near("Queue"), Some("queue"));
        assert_eq!(near("congestion-contol"), Some("congestion_control"));
        assert_eq!(near("congestion"), Some("congestion_control"));
        assert_eq!(near("colour"), None);
        assert_eq!(near(""), None);
        assert_eq!(near(&"r".repeat(1_000_000)), None);
    }

    #[test]
    fn a_swap_of_neighbours_is_one_slip() {
        let letters = |word: &str| word.chars().collect::<Vec<_>>();
        assert_eq!(distance(&letters("abcd"), &letters("acbd")), 1);
        assert_eq!(distance(&letters(""), &letters("abc")), 3);
        assert_eq!(distance(&letters("kitten"), &letters("sitting")), 3);
    }
}
