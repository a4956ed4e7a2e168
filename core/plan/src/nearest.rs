//! Finds the nearest valid word to an invalid one.

/// Candidate that `word` most likely means. The order is: equal except for case; at most one wrong
/// letter in three; the first that begins with `word`, or with which `word` begins (`congestion`,
/// `reno-linux`).
pub fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str> + Clone,
) -> Option<&'a str> {
    const TELLING: usize = 3;
    let is_beginning = |candidate: &&str| {
        let (short, long) = if word.len() < candidate.len() {
            (word, *candidate)
        } else {
            (*candidate, word)
        };
        short.len() >= TELLING && long.starts_with(short)
    };
    let is_same = |candidate: &&str| candidate.eq_ignore_ascii_case(word);
    let same = candidates.clone().into_iter().find(is_same);
    same.or_else(|| gigatcp_units::nearest::nearest(word, candidates.clone()))
        .or_else(|| candidates.into_iter().find(is_beginning))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_and_beginnings_are_understood() {
        let keys = ["rate", "rtt", "queue", "congestion_control", "loss"];
        let near = |word| nearest(word, keys);
        assert_eq!(near("raet"), Some("rate"));
        assert_eq!(near("congestion_contol"), Some("congestion_control"));
        assert_eq!(near("congestion"), Some("congestion_control"));
        assert_eq!(near("loss_rate"), Some("loss"));
        assert_eq!(near("RTT"), Some("rtt"));
        assert_eq!(near("colour"), None);
        assert_eq!(near("c"), None);
        assert_eq!(near(""), None);
    }
}
