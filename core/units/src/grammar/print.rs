//! Exact printing: the shortest form that reads back as the same value.

use alloc::format;
use alloc::string::String;

use super::Unit;

/// `value` of the smallest unit, which is the first of `units`, in the form
/// with the fewest digits, or nothing when `value` is zero.
///
/// Among units that need equally many digits the largest wins: `83.12 ms`,
/// not `83120 us`. Numbers below one are never printed: `100 ms`, not
/// `0.1 s`.
pub(super) fn shortest(value: u64, units: &[Unit]) -> Option<String> {
    let forms = units.iter().filter_map(|unit| form(value, unit));
    let best = forms.min_by_key(|form| (form.digits, u64::MAX - form.scale));
    best.map(|form| form.text)
}

/// One way of printing a value.
struct Form {
    text: String,
    digits: usize,
    scale: u64,
}

/// `value` in `unit`, or nothing when it is below one or no finite decimal
/// number of them, or when the unit does not take decimals.
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
        // The smallest unit never takes more: what does is not chosen.
        if digits > MOST_DIGITS {
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
const MOST_DIGITS: usize = 20;

/// A real number in the shorter of plain and exponent notation, plain where
/// both are equally short.
pub(super) fn shortest_real(value: f64) -> String {
    let plain = format!("{value}");
    let exponent = format!("{value:e}");
    if exponent.len() < plain.len() {
        exponent
    } else {
        plain
    }
}
