//! What is known of a kernel's congestion control by its name alone.
//!
//! A capture, a socket's state or a sysctl give a name and nothing more. Names that
//! are not here are taken for controls of the usual kind, with a window that losses
//! reduce.

/// Returns whether a kernel's control of that name follows a model of the path's rate:
/// it paces, keeps no slow-start threshold, and does not answer each loss.
///
/// `bbr` is Linux's; the others are BBR built outside the kernel tree: versions 1 to 3
/// next to each other (Google), `bbrplus` (a patch to version 1).
#[must_use]
pub fn is_rate_based(name: &str) -> bool {
    matches!(name, "bbr" | "bbr1" | "bbr2" | "bbr3" | "bbrplus")
}

#[cfg(test)]
mod tests {
    use super::is_rate_based;

    #[test]
    fn a_name_decides_only_where_it_is_known() {
        assert!(is_rate_based("bbr") && is_rate_based("bbr3"));
        for name in ["cubic", "reno", "bbrx", ""] {
            assert!(!is_rate_based(name), "{name}");
        }
    }
}
