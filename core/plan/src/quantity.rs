//! Quantities used by plans only: packet rates, costs in picoseconds, queue limits.
//!
//! They follow the grammar of `gigatcp_units` (number, space, unit). They are here because no other
//! crate reads them.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::str::FromStr;

use gigatcp_path::{MarkAbove, Picoseconds};
use gigatcp_units::Bytes;
use gigatcp_units::grammar::{self, ParseError, shortened};
use gigatcp_units::settings::TextError;

use crate::nearest::nearest;

/// Error for a text that is not the quantity `what`.
fn not_a(what: &str, text: &str, why: &str, hint: &str) -> TextError {
    TextError {
        why: format!("`{}` is not {what}: {why}", shortened(text)),
        span: 0..text.len(),
        nearest: None,
        hint: hint.to_owned(),
    }
}

/// Error for a text that is not one of `words`.
pub(crate) fn no_such_word(text: &str, words: &[&str]) -> TextError {
    let listed: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    let hint = format!("one of {}", listed.join(", "));
    let invalid = not_a("a word it takes", text, "it is another", &hint);
    TextError {
        nearest: nearest(text, words.iter().copied()).map(|word| format!("\"{word}\"")),
        ..invalid
    }
}

/// Reads a quantity of the common grammar.
pub(crate) fn common<T: FromStr<Err = ParseError>>(text: &str) -> Result<T, TextError> {
    text.parse().map_err(TextError::from)
}

/// Reads a number of bytes whose unit may be left out.
pub(crate) fn octets(text: &str) -> Result<Bytes, TextError> {
    grammar::parse_octets(text).map_err(TextError::from)
}

/// Reads a number of packets per second, for example `130600 packet/s`.
pub(crate) fn packet_rate(text: &str) -> Result<u64, TextError> {
    let invalid = |why: &str| {
        let hint = "packet/s, kpacket/s or Mpacket/s, as in \"130600 packet/s\"";
        not_a("a number of packets per second", text, why, hint)
    };
    let (number, unit) = split(text);
    let scale = match unit {
        "packet/s" => 1,
        "kpacket/s" => 1_000,
        "Mpacket/s" => 1_000_000,
        "" => return Err(invalid("the unit is missing")),
        _ => return Err(invalid("the unit is another")),
    };
    scaled(number, scale).map_err(invalid)
}

/// Reads a cost, for example `450 ps` or `3.2 us`.
pub(crate) fn cost(text: &str) -> Result<Picoseconds, TextError> {
    let invalid = |why: &str| {
        let hint = "ps, ns, us, ms or s, as in \"450 ps\" or \"3.2 us\"";
        not_a("a short time", text, why, hint)
    };
    let (number, unit) = split(text);
    let scale = match unit {
        "ps" => 1,
        "ns" => 1_000,
        "us" | "µs" | "μs" => 1_000_000,
        "ms" => 1_000_000_000,
        "s" => 1_000_000_000_000,
        "" => return Err(invalid("the unit is missing")),
        _ => return Err(invalid("the unit is another")),
    };
    scaled(number, scale).map(Picoseconds::new).map_err(invalid)
}

/// A queue limit as written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum QueueLimit {
    /// Unlimited.
    Unlimited,
    /// Packets.
    Packets(u64),
    /// Bytes.
    Bytes(Bytes),
    /// Thousandths of the bandwidth-delay product.
    MilliBdp(u64),
}

/// Units of a queue limit.
const QUEUE_LIMIT_UNITS: [&str; 9] = ["BDP", "packets", "B", "kB", "MB", "GB", "KiB", "MiB", "GiB"];

/// Reads a queue limit: `1 BDP`, `100 packets`, `2 MB`, `unlimited`.
pub(crate) fn queue_limit(text: &str) -> Result<QueueLimit, TextError> {
    let forms = "\"1 BDP\", \"100 packets\", \"2 MB\" or \"unlimited\"";
    let invalid = |why: &str| not_a("the room of a queue", text, why, forms);
    if text.trim() == "unlimited" {
        return Ok(QueueLimit::Unlimited);
    }
    let (number, unit) = split(text);
    match unit {
        "BDP" | "bdp" => scaled(number, 1_000)
            .map(QueueLimit::MilliBdp)
            .map_err(invalid),
        "packet" | "packets" => scaled(number, 1).map(QueueLimit::Packets).map_err(invalid),
        "" => Err(invalid("the unit is missing")),
        _ => text
            .parse()
            .map(QueueLimit::Bytes)
            .map_err(|error: ParseError| TextError {
                nearest: nearest(unit, QUEUE_LIMIT_UNITS).map(str::to_owned),
                span: error.span(),
                ..invalid("it is neither BDPs nor packets nor an amount of data")
            }),
    }
}

/// Units of a marking threshold.
const THRESHOLD_UNITS: [&str; 12] = [
    "packets", "B", "kB", "MB", "GB", "KiB", "MiB", "GiB", "ns", "us", "ms", "s",
];

/// Reads a marking threshold: `65 packets`, `100 kB`, `1 ms`.
pub(crate) fn threshold(text: &str) -> Result<MarkAbove, TextError> {
    let forms = "\"65 packets\", \"100 kB\" or \"1 ms\"";
    let invalid = |why: &str| not_a("a marking threshold", text, why, forms);
    let (number, unit) = split(text);
    if ["packet", "packets"].contains(&unit) {
        return scaled(number, 1).map(MarkAbove::Packets).map_err(invalid);
    }
    if unit.is_empty() {
        return Err(invalid("the unit is missing"));
    }
    let time = text.parse().map(MarkAbove::Sojourn);
    time.or_else(|_| text.parse().map(MarkAbove::Bytes))
        .map_err(|error: ParseError| TextError {
            nearest: nearest(unit, THRESHOLD_UNITS).map(str::to_owned),
            span: error.span(),
            ..invalid("it is neither packets nor an amount of data nor a time")
        })
}

/// Splits a text into the number and the unit behind it.
fn split(text: &str) -> (&str, &str) {
    let trimmed = text.trim();
    let end = trimmed.find(|c: char| c.is_alphabetic() || c == '%' || c.is_whitespace());
    let (number, unit) = trimmed.split_at(end.unwrap_or(trimmed.len()));
    (number, unit.trim_start())
}

/// A decimal number times `scale`, a power of ten, exactly.
fn scaled(number: &str, scale: u64) -> Result<u64, &'static str> {
    if number.starts_with('-') {
        return Err("it is negative");
    }
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let ends_in_point = number.ends_with('.');
    if whole.is_empty() || ends_in_point || !is_digits(whole) || !is_digits(fraction) {
        return Err("it does not begin with a number");
    }
    let too_large = "it is too large";
    let whole: u64 = whole.parse().map_err(|_| too_large)?;
    let decimals = fraction.trim_end_matches('0');
    let places = u32::try_from(decimals.len()).unwrap_or(u32::MAX);
    // More decimals than the scale has zeros exceed the resolution.
    let step = 10u64
        .checked_pow(places)
        .filter(|step| scale.is_multiple_of(*step))
        .ok_or("it is finer than the smallest unit")?;
    let fraction: u64 = if decimals.is_empty() {
        0
    } else {
        decimals.parse().map_err(|_| too_large)?
    };
    whole
        .checked_mul(scale)
        .and_then(|units| units.checked_add(fraction * (scale / step)))
        .ok_or(too_large)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_reach_down_to_picoseconds() {
        let picos = |text| cost(text).map(Picoseconds::as_u64);
        assert_eq!(picos("450 ps"), Ok(450));
        assert_eq!(picos("0.45 ns"), Ok(450));
        assert_eq!(picos("3.2 us"), Ok(3_200_000));
        assert_eq!(picos("3us"), Ok(3_000_000));
        assert_eq!(picos("1 s"), Ok(1_000_000_000_000));
        for wrong in [
            "0.5 ps",
            "3",
            "3 m",
            "-3 us",
            "us",
            "",
            ".",
            "1. us",
            "99999999999 s",
        ] {
            assert!(cost(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_packet_rate_is_exact() {
        assert_eq!(packet_rate("130600 packet/s"), Ok(130_600));
        assert_eq!(packet_rate("130.6 kpacket/s"), Ok(130_600));
        let fraction = packet_rate("1.5 packet/s").unwrap_err();
        assert!(fraction.why.contains("finer than the smallest unit"));
        assert!(packet_rate("8 Gbit/s").is_err());
        assert!(
            packet_rate("8")
                .unwrap_err()
                .why
                .contains("unit is missing")
        );
    }

    #[test]
    fn a_queue_is_given_in_packets_bytes_or_bandwidth_delay_products() {
        assert_eq!(queue_limit("unlimited"), Ok(QueueLimit::Unlimited));
        assert_eq!(queue_limit("100 packets"), Ok(QueueLimit::Packets(100)));
        assert_eq!(queue_limit("1 packet"), Ok(QueueLimit::Packets(1)));
        assert_eq!(queue_limit("0.25 BDP"), Ok(QueueLimit::MilliBdp(250)));
        assert_eq!(queue_limit("1bdp"), Ok(QueueLimit::MilliBdp(1_000)));
        assert_eq!(
            queue_limit("2 MB"),
            Ok(QueueLimit::Bytes(Bytes::new(2_000_000)))
        );
        for wrong in ["1.5 packets", "100", "2 apples", "-1 BDP", "0.0001 BDP", ""] {
            assert!(queue_limit(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_threshold_is_given_in_packets_bytes_or_time() {
        assert_eq!(threshold("65 packets"), Ok(MarkAbove::Packets(65)));
        let bytes = MarkAbove::Bytes(Bytes::new(100_000));
        assert_eq!(threshold("100 kB"), Ok(bytes));
        let time = MarkAbove::Sojourn(gigatcp_units::Duration::from_millis(1));
        assert_eq!(threshold("1 ms"), Ok(time));
        for wrong in ["65", "1 BDP", "-1 ms", "1.5 packets", "unlimited", ""] {
            assert!(threshold(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn hostile_texts_are_refused() {
        for text in [
            "9".repeat(100_000),
            "0.".to_owned() + &"1".repeat(100_000),
            "µ".repeat(9),
        ] {
            assert!(queue_limit(&text).is_err());
            assert!(threshold(&text).is_err());
            assert!(cost(&(text.clone() + " us")).is_err());
            assert!(packet_rate(&(text + " packet/s")).is_err());
        }
    }
}
