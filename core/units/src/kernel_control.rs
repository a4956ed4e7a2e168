//! Properties of a kernel's congestion control that follow from its name.
//!
//! A capture, a socket's state or a sysctl contains only the name. Unlisted names are treated as
//! loss-based controls with a congestion window.

/// Whether a kernel's congestion control of that name is rate-based. Such a control follows a model
/// of the path's rate: it paces, has no slow-start threshold, and does not respond to each loss.
///
/// `bbr` is Linux's; the others are BBR from outside the kernel tree: versions 1 to 3 side by side
/// (Google), `bbrplus` (a patch to version 1).
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
