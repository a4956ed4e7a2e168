//! Nearest known word to an unknown one, for "did you mean".
//!
//! The distance is optimal string alignment (Damerau 1964, restricted): the smallest number of
//! insertions, deletions, replacements and swaps of two neighbors. A letter that differs only in
//! case counts half.
//!
//! Out of scope: phonetics, word order and prefixes. A wrong suggestion costs the reader more than
//! none.

use alloc::vec;
use alloc::vec::Vec;

/// Maximum length of words that are compared. Longer words are not typing errors, and hostile input
/// must not cost time.
const LONGEST: usize = 64;

/// Cost of one edit; a difference of case costs half of it.
const EDIT: usize = 2;

/// Candidate nearest to `word`; `None` if none is near. Near is at most one edit for words of up to
/// five letters, one in three letters for longer ones. The first of equally near candidates is
/// returned.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // `nth` stops early: a long hostile word is never collected.
    if word.is_empty() || word.chars().nth(LONGEST).is_some() {
        return None;
    }
    let word: Vec<char> = word.chars().collect();
    let mut best = None;
    let mut best_distance = allowance(word.len()) + 1;
    for candidate in candidates {
        let letters: Vec<char> = candidate.chars().take(LONGEST + 1).collect();
        let distance = distance(&word, &letters);
        // A one-letter word has nothing in common with the result of a whole edit.
        let all_replaced = word.len().max(letters.len()) * EDIT <= distance;
        if distance < best_distance && !all_replaced {
            best = Some(candidate);
            best_distance = distance;
        }
    }
    best
}

/// Maximum distance of a typing error in a word of `len` letters.
fn allowance(len: usize) -> usize {
    EDIT * (len / 3).max(1)
}

/// Optimal string alignment distance in half edits.
fn distance(a: &[char], b: &[char]) -> usize {
    // A word in capitals counts as one typing error, independent of its length.
    let lower = |word: &[char]| -> Vec<char> {
        word.iter()
            .flat_map(|letter| letter.to_lowercase())
            .collect()
    };
    if a != b && lower(a) == lower(b) {
        return EDIT / 2;
    }
    let mut before = vec![0; b.len() + 1];
    let mut above: Vec<usize> = (0..=b.len()).map(|j| j * EDIT).collect();
    let mut row = vec![0; b.len() + 1];
    for i in 1..=a.len() {
        row[0] = i * EDIT;
        for j in 1..=b.len() {
            let replaced = above[j - 1] + replacement(a[i - 1], b[j - 1]);
            row[j] = replaced.min(above[j] + EDIT).min(row[j - 1] + EDIT);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + EDIT);
            }
        }
        core::mem::swap(&mut before, &mut above);
        core::mem::swap(&mut above, &mut row);
    }
    above[b.len()]
}

/// Cost of `a` in place of `b`.
fn replacement(a: char, b: char) -> usize {
    if a == b {
        0
    } else if a.to_lowercase().eq(b.to_lowercase()) {
        EDIT / 2
    } else {
        EDIT
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;

    const KEYS: [&str; 6] = ["rate", "rtt", "mtu", "window", "sender", "receiver"];

    #[test]
    fn one_slip_of_each_kind_is_understood() {
        assert_eq!(nearest("windw", KEYS), Some("window"));
        assert_eq!(nearest("windoww", KEYS), Some("window"));
        assert_eq!(nearest("wimdow", KEYS), Some("window"));
        assert_eq!(nearest("widnow", KEYS), Some("window"));
        assert_eq!(nearest("WINDOW", KEYS), Some("window"));
        assert_eq!(nearest("Window", KEYS), Some("window"));
        assert_eq!(nearest("reciever", KEYS), Some("receiver"));
    }

    #[test]
    fn a_difference_of_case_is_nearer_than_a_difference_of_letter() {
        assert_eq!(nearest("Ms", ["us", "ms"]), Some("ms"));
    }

    #[test]
    fn far_words_get_no_suggestion() {
        assert_eq!(nearest("banana", KEYS), None);
        assert_eq!(nearest("", KEYS), None);
        assert_eq!(nearest("x", ["B", "s"]), None);
        assert_eq!(nearest("rate", []), None);
    }

    #[test]
    fn the_first_of_equally_near_candidates_wins() {
        assert_eq!(nearest("rat", ["ran", "rag"]), Some("ran"));
    }

    #[test]
    fn a_very_long_word_is_refused_without_work() {
        let long = "w".repeat(1 << 20);
        assert_eq!(nearest(&long, KEYS), None);
        let long_candidate: String = "w".repeat(1 << 20);
        assert_eq!(nearest("wwwwww", [long_candidate.as_str()]), None);
    }

    #[test]
    fn words_outside_ascii_are_compared_by_letter() {
        assert_eq!(nearest("Größee", ["größe"]), Some("größe"));
    }
}
