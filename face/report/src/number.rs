//! Formats numbers, in the same way for the terminal and the page.
//!
//! Tables align on the last character, so every function prints a fixed number of decimals for its
//! magnitude. A missing value is [`ABSENT`], never zero. A ratio to zero is not a number and is
//! shown as such.

/// Text for a missing value.
pub const ABSENT: &str = "-";

/// Formats `value` with `decimals` decimals; [`ABSENT`] if it is not a number.
pub fn fixed(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return ABSENT.to_owned();
    }
    // Rounding -0.04 to one decimal must not print "-0.0".
    let text = format!("{value:.decimals$}");
    match text.strip_prefix('-') {
        Some(digits) if digits.bytes().all(|b| matches!(b, b'0' | b'.')) => digits.to_owned(),
        _ => text,
    }
}

/// Formats `value` like [`fixed`]; [`ABSENT`] if there is none.
pub fn maybe(value: Option<f64>, decimals: usize) -> String {
    value.map_or_else(|| ABSENT.to_owned(), |value| fixed(value, decimals))
}

/// Formats `ours` divided by `published`, to about three digits: `1.02`, `12.3`, `0.004`. Both zero
/// is `equal`, anything divided by zero is `no ratio`, and without both numbers it is [`ABSENT`].
pub fn ratio(published: Option<f64>, ours: Option<f64>) -> String {
    let (Some(published), Some(ours)) = (published, ours) else {
        return ABSENT.to_owned();
    };
    if !(published.is_finite() && ours.is_finite()) {
        return ABSENT.to_owned();
    }
    if published == 0.0 {
        let text = if ours == 0.0 { "equal" } else { "no ratio" };
        return text.to_owned();
    }
    let ratio = ours / published;
    match ratio.abs() {
        size if size >= 10_000.0 => ">9999".to_owned(),
        size if size >= 99.5 => fixed(ratio, 0),
        size if size >= 9.95 => fixed(ratio, 1),
        size if size >= 0.1 || size == 0.0 => fixed(ratio, 2),
        _ => fixed(ratio, 4),
    }
}

/// Formats a rate in bit/s in the largest unit with at least 1 before the point. An example is
/// `7.25 Gbit/s`.
pub fn rate(bps: f64) -> String {
    const STEPS: [(f64, &str); 4] = [
        (1e12, "Tbit/s"),
        (1e9, "Gbit/s"),
        (1e6, "Mbit/s"),
        (1e3, "kbit/s"),
    ];
    if !bps.is_finite() {
        return ABSENT.to_owned();
    }
    let step = STEPS.iter().find(|(unit, _)| bps.abs() >= *unit);
    match step {
        Some((unit, name)) => format!("{:.2} {name}", bps / unit),
        None => format!("{bps:.0} bit/s"),
    }
}

/// Converts nanoseconds to seconds.
pub fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// Formats digits in groups of three: `1 297 470`.
pub fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// Formats a count with its noun in groups of three digits. Examples are `1 packet`, `2 000
/// packets`.
pub fn counted(count: u64, noun: &str) -> String {
    let end = if count == 1 { "" } else { "s" };
    format!("{} {noun}{end}", grouped(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_keeps_about_three_digits() {
        let of = |published, ours| ratio(Some(published), Some(ours));
        assert_eq!(of(100.0, 102.4), "1.02");
        assert_eq!(of(1.0, 12.34), "12.3");
        assert_eq!(of(1.0, 9.96), "10.0");
        assert_eq!(of(1.0, 123.4), "123");
        assert_eq!(of(1.0, 1e9), ">9999");
        assert_eq!(of(585.19, 2.0), "0.0034");
        assert_eq!(of(585.19, 0.0), "0.00");
    }

    #[test]
    fn a_ratio_to_zero_is_said_not_computed() {
        assert_eq!(ratio(Some(0.0), Some(0.0)), "equal");
        assert_eq!(ratio(Some(0.0), Some(6.3)), "no ratio");
        assert_eq!(ratio(None, Some(6.3)), ABSENT);
        assert_eq!(ratio(Some(1.0), Some(f64::NAN)), ABSENT);
    }

    #[test]
    fn a_value_that_rounds_to_zero_has_no_sign() {
        assert_eq!(fixed(-0.04, 1), "0.0");
        assert_eq!(fixed(-0.06, 1), "-0.1");
        assert_eq!(fixed(f64::INFINITY, 1), ABSENT);
    }

    #[test]
    fn rates_pick_their_unit() {
        assert_eq!(rate(7.25e9), "7.25 Gbit/s");
        assert_eq!(rate(999.0), "999 bit/s");
        assert_eq!(rate(0.0), "0 bit/s");
        assert_eq!(rate(f64::NAN), ABSENT);
    }

    #[test]
    fn long_counts_are_grouped() {
        assert_eq!(grouped(464), "464");
        assert_eq!(grouped(1_297_470), "1 297 470");
    }
}
