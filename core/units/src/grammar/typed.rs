//! Spellings that options of a command accept in addition to the grammar.
//!
//! Users type units of other tools. An option accepts such a unit if it has one meaning only:
//!
//! | quantity | accepted | refused |
//! |---|---|---|
//! | rate | `10G`, `100mbit`, `100 Mbps`, `1 Gb/s` (bits), `100 MB/s` (bytes) | `100MB` (bits or bytes), `10Gi`, a bare number |
//! | amount | `64K`, `8m`, `1G` (powers of 1024, as in iperf3 and nuttcp), `64kib` | `64KB` (1000 or 1024), a bare number |
//! | duration | `20sec`, `80msec` | `5m` (minutes or milliseconds), a bare number |
//!
//! Plans use only the units of the grammar, so that plans can be compared by eye. Errors are those
//! of the grammar. A bare number is an error because tools disagree: iperf3's `-w 64` is 64 bytes,
//! nuttcp's is 64 KiB.

use super::{Body, ParseError, Quantity, slips};
use crate::{Bytes, Duration, Rate};

/// Parses a rate typed as an option: `10G` is `10 Gbit/s`.
///
/// # Errors
/// As [`parse_rate`](super::parse_rate), if the unit has more than one meaning.
pub fn typed_rate(text: &str) -> Result<Rate, ParseError> {
    typed(Quantity::Rate, text).map(Rate::from_bps)
}

/// Parses an amount of data typed as an option: `64K` is `64 KiB`.
///
/// # Errors
/// As [`parse_bytes`](super::parse_bytes), if the unit has more than one meaning.
pub fn typed_bytes(text: &str) -> Result<Bytes, ParseError> {
    typed(Quantity::Bytes, text).map(Bytes::new)
}

/// Parses a duration typed as an option: `20sec` is `20 s`.
///
/// # Errors
/// As [`parse_duration`](super::parse_duration), if the unit has more than one meaning.
pub fn typed_duration(text: &str) -> Result<Duration, ParseError> {
    typed(Quantity::Duration, text).map(Duration::from_nanos)
}

fn typed(quantity: Quantity, text: &str) -> Result<u64, ParseError> {
    let units = |word: &str| {
        let known = quantity.unit(word).map(|unit| unit.scale);
        known.or_else(|| slips::only_scale(quantity, word))
    };
    Body::of(text)
        .integer(quantity, units)
        .map_err(|failure| failure.of(quantity, text))
}
