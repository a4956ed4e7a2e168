//! Common wrong spellings of units, and their meaning.
//!
//! For a wrong unit, the error suggests the whole value in valid form: for `10G` as a rate `10
//! Gbit/s`, for `60 mb` as an amount `60 MB` or `60 MiB`, for `100 MB/s` as a rate `800 Mbit/s`.
//!
//! In a plan, the author chooses one and corrects it; a command option accepts a word with only one
//! meaning ([`only_scale`]).

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::error::{Failure, ParseErrorKind, shortened};
use super::number::Number;
use super::{Quantity, Word};
use crate::nearest::nearest;

/// Error for a `word` after `number` that is not a unit of `quantity`.
pub(super) fn unknown_unit(quantity: Quantity, number: &Number, word: Word) -> Failure {
    let mut near = None;
    let mut suggestions = Vec::new();
    for scale in meant_scales(quantity, word.text) {
        near = near.or_else(|| largest_unit_within(quantity, scale));
        // A number that does not fit the intended unit has no valid form.
        suggestions.extend(number.scaled(scale).ok().map(|value| quantity.print(value)));
    }
    if near.is_none() {
        near = nearest_unit(quantity, word.text);
        suggestions.extend(near.map(|unit| format!("{} {unit}", shortened(number.text))));
    }
    let kind = ParseErrorKind::UnknownUnit {
        found: shortened(word.text),
        nearest: near,
    };
    Failure::new(kind, word.span()).suggest(either(&suggestions))
}

/// Joins the values with "or"; `None` if there are none.
fn either(suggestions: &[String]) -> Option<String> {
    let quoted: Vec<String> = suggestions.iter().map(|s| format!("`{s}`")).collect();
    (!quoted.is_empty()).then(|| quoted.join(" or "))
}

fn nearest_unit(quantity: Quantity, word: &str) -> Option<&'static str> {
    if quantity == Quantity::Probability {
        return nearest(word, ["%"]).or(matches!(word, "percent" | "pct").then_some("%"));
    }
    nearest(word, quantity.units().iter().map(|unit| unit.name))
}

/// Largest unit of which `scale` is an integer multiple.
fn largest_unit_within(quantity: Quantity, scale: u64) -> Option<&'static str> {
    let fitting = quantity
        .units()
        .iter()
        .filter(|unit| scale.is_multiple_of(unit.scale));
    fitting.max_by_key(|unit| unit.scale).map(|unit| unit.name)
}

/// Scale of `word` if it has only one meaning. For amounts, bare prefixes are binary, as in iperf3
/// and nuttcp.
pub(super) fn only_scale(quantity: Quantity, word: &str) -> Option<u64> {
    let prefix_alone = word.len() == 1;
    match (quantity, meant_scales(quantity, word).as_slice()) {
        (Quantity::Bytes, [_, binary]) if prefix_alone => Some(*binary),
        // `MB` without `/s` is ambiguous: megabytes or megabits per second. A binary prefix is used
        // with bytes only.
        (Quantity::Rate, [_]) if is_doubtful_rate(word) => None,
        (_, [scale]) => Some(*scale),
        _ => None,
    }
}

fn is_doubtful_rate(word: &str) -> bool {
    let is_per_second = word.contains('/') || word.ends_with("ps");
    let is_bytes = word.contains('B') || word.contains("byte");
    let is_binary = word[1..].starts_with('i') && !is_bytes;
    (word.contains('B') && !is_per_second) || (is_binary && !word.starts_with(['b', 'B']))
}

/// Possible sizes of one `word`, in the smallest unit.
fn meant_scales(quantity: Quantity, word: &str) -> Vec<u64> {
    let lower = word.to_ascii_lowercase();
    match quantity {
        Quantity::Duration => meant_duration(&lower),
        Quantity::Bytes | Quantity::Octets => meant_bytes(&lower),
        Quantity::Rate => meant_rate(word, &lower).into_iter().collect(),
        Quantity::Probability => Vec::new(),
    }
}

fn meant_duration(lower: &str) -> Vec<u64> {
    const SECOND: u64 = 1_000_000_000;
    let scales: &[u64] = match lower {
        "nsec" | "nsecs" | "nanosecond" | "nanoseconds" | "nanos" => &[1],
        "usec" | "usecs" | "microsecond" | "microseconds" | "micros" => &[1_000],
        "msec" | "msecs" | "millisecond" | "milliseconds" | "millis" => &[1_000_000],
        "sec" | "secs" | "second" | "seconds" => &[SECOND],
        "m" => &[60 * SECOND, 1_000_000],
        "mins" | "minute" | "minutes" => &[60 * SECOND],
        "hr" | "hrs" | "hour" | "hours" => &[3_600 * SECOND],
        "d" | "day" | "days" => &[86_400 * SECOND],
        _ => &[],
    };
    scales.to_vec()
}

fn meant_bytes(lower: &str) -> Vec<u64> {
    if matches!(lower, "b" | "byte" | "bytes" | "octet" | "octets") {
        return Vec::from([1]);
    }
    let Some((power, stem)) = split_prefix(lower) else {
        return Vec::new();
    };
    let decimal = 1000u64.pow(power);
    let binary = 1024u64.pow(power);
    match stem {
        "" | "b" | "byte" | "bytes" => Vec::from([decimal, binary]),
        "i" | "ib" | "ibyte" | "ibytes" => Vec::from([binary]),
        _ => Vec::new(),
    }
}

fn meant_rate(word: &str, lower: &str) -> Option<u64> {
    let (base, stem) = match split_prefix(lower) {
        // The binary prefix exists for bytes only: `MiB/s`.
        Some((power, stem)) => match stem.strip_prefix('i') {
            Some(stem) => (1024u64.pow(power), stem),
            None => (1000u64.pow(power), stem),
        },
        None => (1, lower),
    };
    match stem {
        // An uppercase B is a byte by convention.
        "b" | "b/s" | "bps" | "b/sec" if word.contains('B') => Some(8 * base),
        "byte/s" | "bytes/s" | "byteps" => Some(8 * base),
        "" | "b" | "b/s" | "bps" | "b/sec" => Some(base),
        "bit" | "bits" | "bits/s" | "bit/s" | "bitps" | "bit/sec" | "bits/sec" => Some(base),
        _ => None,
    }
}

/// Power of a thousand of the first letter, and the letters after it.
fn split_prefix(lower: &str) -> Option<(u32, &str)> {
    let mut letters = lower.chars();
    let power = match letters.next()? {
        'k' => 1,
        'm' => 2,
        'g' => 3,
        't' => 4,
        'p' => 5,
        _ => return None,
    };
    Some((power, letters.as_str()))
}
