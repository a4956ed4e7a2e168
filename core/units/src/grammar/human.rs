//! Rounded printing for tables: three digits and a unit.
//!
//! The output follows the same grammar and reads back within half a percent of the value, but not
//! as the same value. Records and plans use [`Display`](core::fmt::Display), which is exact.

use alloc::format;
use alloc::string::{String, ToString};

use super::{BYTE_UNITS, DECIMAL_BYTE_UNITS, DURATION_UNITS, Quantity, RATE_UNITS, Unit};
use crate::{Bytes, Duration, Probability, Rate};

/// A rate to three digits, for example `7.25 Gbit/s`.
pub fn human_rate(rate: Rate) -> String {
    three_digits(rate.as_bps(), &RATE_UNITS, Quantity::Rate.zero_unit())
}

/// An amount of data to three digits in decimal units, for example `69.9 MB`.
pub fn human_bytes(amount: Bytes) -> String {
    let units = &BYTE_UNITS[..DECIMAL_BYTE_UNITS];
    three_digits(amount.as_u64(), units, Quantity::Bytes.zero_unit())
}

/// A duration to three digits, for example `83.1 ms`, `856 s`, `16.7 min`.
pub fn human_duration(span: Duration) -> String {
    three_digits(
        span.as_nanos(),
        &DURATION_UNITS,
        Quantity::Duration.zero_unit(),
    )
}

/// A probability to three digits, for example `1.36e-8`.
pub fn human_probability(p: Probability) -> String {
    let value = p.as_f64();
    if value == 0.0 || value >= 0.001 {
        // Three digits from the first that is not zero.
        let decimals = match value {
            0.0 => 0,
            0.1.. => 3,
            0.01.. => 4,
            _ => 5,
        };
        return format!("{value:.decimals$}");
    }
    format!("{value:.2e}")
}

/// `value` in the first unit in which three digits suffice. `value` is in the smallest unit;
/// `units` go from small to large. If even the largest is too small, whole numbers of it are
/// printed.
fn three_digits(value: u64, units: &[Unit], zero_unit: &str) -> String {
    if value == 0 {
        return format!("0 {zero_unit}");
    }
    let last = units[units.len() - 1];
    let holds = |unit: &&Unit| rounded(value, unit.scale, 0) < u128::from(unit.human_below);
    let unit = units.iter().find(holds).copied().unwrap_or(last);
    for decimals in [2, 1] {
        let number = rounded(value, unit.scale, decimals);
        if number < 1000 && unit.scale > 1 {
            return decimal(number, decimals, unit.name);
        }
    }
    decimal(rounded(value, unit.scale, 0), 0, unit.name)
}

/// `value / scale` in units of the last of `decimals` decimals, rounded half up.
fn rounded(value: u64, scale: u64, decimals: u32) -> u128 {
    let one = 10u64.pow(decimals);
    // 64 bits are nearly always enough, and divide much faster.
    let near = value.checked_mul(one);
    if let Some(sum) = near.and_then(|value| value.checked_add(scale / 2)) {
        return (sum / scale).into();
    }
    let scale = u128::from(scale);
    (u128::from(value) * u128::from(one) + scale / 2) / scale
}

/// `number` with its last `decimals` digits after the point.
fn decimal(number: u128, decimals: u32, unit: &str) -> String {
    // At most the value itself.
    let number = u64::try_from(number).unwrap_or(u64::MAX);
    let one = 10u64.pow(decimals);
    let mut text = (number / one).to_string();
    text.reserve(2 + decimals as usize + unit.len());
    if decimals > 0 {
        text.push('.');
    }
    let mut rest = number % one;
    for place in (0..decimals).rev() {
        let digit = rest / 10u64.pow(place);
        rest %= 10u64.pow(place);
        text.push(char::from(b'0' + digit as u8));
    }
    text.push(' ');
    text.push_str(unit);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_rounded_to_three_digits() {
        let human = |bps| human_rate(Rate::from_bps(bps));
        assert_eq!(human(7_254_321_000), "7.25 Gbit/s");
        assert_eq!(human(583_600_000), "584 Mbit/s");
        assert_eq!(human(10_000_000_000), "10.0 Gbit/s");
        assert_eq!(human(999_499), "999 kbit/s");
        assert_eq!(human(999_500), "1.00 Mbit/s");
        assert_eq!(human(9_995_000), "10.0 Mbit/s");
        assert_eq!(human(0), "0 bit/s");
        assert_eq!(human(64), "64 bit/s");
        assert_eq!(human(u64::MAX), "18446744 Tbit/s");
    }

    #[test]
    fn amounts_are_rounded_to_three_digits_in_decimal_units() {
        let human = |bytes| human_bytes(Bytes::new(bytes));
        assert_eq!(human(7_287_500), "7.29 MB");
        assert_eq!(human(62_914_560), "62.9 MB");
        assert_eq!(human(1500), "1.50 kB");
        assert_eq!(human(u64::MAX), "18447 PB");
    }

    #[test]
    fn durations_change_from_seconds_to_minutes_at_a_thousand() {
        let human = |ns| human_duration(Duration::from_nanos(ns));
        assert_eq!(human(83_123_456), "83.1 ms");
        assert_eq!(human(856_000_000_000), "856 s");
        assert_eq!(human(1_000_000_000_000), "16.7 min");
        assert_eq!(human(7_190_000_000_000), "2.00 h");
        assert_eq!(human(7_140_000_000_000), "119 min");
        assert_eq!(human(9), "9 ns");
        assert_eq!(human(0), "0 s");
    }

    #[test]
    fn probabilities_keep_three_digits() {
        let human = |p| human_probability(Probability::try_new(p).expect("a probability"));
        assert_eq!(human(1.3642e-8), "1.36e-8");
        assert_eq!(human(0.0), "0");
        assert_eq!(human(0.5), "0.500");
        assert_eq!(human(0.0477), "0.0477");
        assert_eq!(human(0.001), "0.00100");
        assert_eq!(human(1.0), "1.000");
        assert_eq!(human(9.999e-4), "1.00e-3");
    }
}
