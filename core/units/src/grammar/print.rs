//! Exact printing: the shortest form that reads back as the same value.

use alloc::format;
use alloc::string::String;

use super::Unit;

/// `value` in the form with the fewest digits; `None` if it is zero. `value` is in the smallest
/// unit, which is the first of `units`.
///
/// Among units with the same number of digits the largest is chosen: `83.12 ms`, not `83120 us`.
/// Numbers below one are never printed: `100 ms`, not `0.1 s`.
pub(super) fn shortest(value: u64, units: &[Unit]) -> Option<String> {
    let forms = units.iter().filter_map(|unit| form(value, unit));
    let best = forms.min_by_key(|form| (form.digits, u64::MAX - form.scale));
    best.map(|form| form.text)
}

/// A candidate form of a value.
struct Form {
    text: String,
    digits: usize,
    scale: u64,
}

/// `value` in `unit`; `None` if it cannot be printed so. Reasons: it is below one, not a finite
/// decimal, or has decimals although the unit does not permit them.
fn form(value: u64, unit: &Unit) -> Option<Form> {
    let whole = value / unit.scale;
    let mut rest = u128::from(value % unit.scale);
    if whole == 0 || (unit.whole_only && rest != 0) {
        return None;
    }
    let mut text = format!("{whole}");
    let mut digits = text.len();
    if rest != 0 {
        text.push('.');
    }
    while rest != 0 {
        rest *= 10;
        let digit = rest / u128::from(unit.scale);
        text.push(char::from(b'0' + digit as u8));
        rest %= u128::from(unit.scale);
        digits += 1;
        // The smallest unit never needs more digits, so this form would not be chosen.
        if digits > MAX_DIGITS {
            return None;
        }
    }
    text.push(' ');
    text.push_str(unit.name);
    Some(Form {
        text,
        digits,
        scale: unit.scale,
    })
}

/// Digits of the largest 64-bit integer.
const MAX_DIGITS: usize = 20;

/// A real number in the shorter of plain and exponent notation. Plain is chosen if both are equally
/// short.
pub(super) fn shortest_real(value: f64) -> String {
    let plain = format!("{value}");
    let exponent = format!("{value:e}");
    if exponent.len() < plain.len() {
        exponent
    } else {
        plain
    }
}
