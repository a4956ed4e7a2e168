//! Values on the command line, parsed with the grammar of plans, which here also accepts `10G` and
//! `64K`. Errors contain a hint.

use std::fmt::Display;
#[cfg(target_os = "linux")]
use std::net::{IpAddr, ToSocketAddrs};

use gigatcp_theory::MathisConstant;
use gigatcp_units::grammar::{self, ParseError};
use gigatcp_units::{Bytes, Duration, Probability, Rate};

use crate::nearest;

pub(crate) fn seed(text: &str) -> Result<u64, String> {
    whole(text, 0, u64::MAX, "--seed 7")
}

/// Reads the number of runs per series, with the bounds of the key `repeat`.
pub(crate) fn repeat(text: &str) -> Result<u32, String> {
    whole(text, 1, 10_000, "--repeat 5")
}

/// Reads the number of worlds at the same time.
pub(crate) fn jobs(text: &str) -> Result<usize, String> {
    whole(text, 1, 1_024, "--jobs 2")
}

/// Reads the number of threads that share a file.
pub(crate) fn threads(text: &str) -> Result<u32, String> {
    whole(text, 1, 256, "--threads 2")
}

/// An initial window in segments.
pub(crate) fn initial_window(text: &str) -> Result<u32, String> {
    whole(text, 1, 1_000_000, "--iw 10")
}

/// Whole seconds, up to a year.
pub(crate) fn seconds(text: &str) -> Result<u32, String> {
    whole(text, 0, 31_536_000, "--time 10")
}

pub(crate) fn port(text: &str) -> Result<u16, String> {
    whole(text, 1, u16::MAX.into(), "--port 5201")
}

/// A time between two events, which is not zero.
pub(crate) fn interval(text: &str) -> Result<Duration, String> {
    let interval = time(text)?;
    if interval < Duration::from_millis(1) {
        return Err(with_hint(
            "an interval is at least 1 ms",
            "as in `--interval '200 ms'`",
        ));
    }
    Ok(interval)
}

/// The addresses of a host in a filter; none if it is not found.
#[cfg(target_os = "linux")]
pub(crate) fn addresses(name: &str) -> Vec<IpAddr> {
    let found = (name, 0).to_socket_addrs();
    found.map_or_else(|_| Vec::new(), |places| places.map(|at| at.ip()).collect())
}

pub(crate) fn rate(text: &str) -> Result<Rate, String> {
    quantity(grammar::typed_rate(text))
}

pub(crate) fn time(text: &str) -> Result<Duration, String> {
    quantity(grammar::typed_duration(text))
}

/// An amount of data.
pub(crate) fn amount(text: &str) -> Result<Bytes, String> {
    quantity(grammar::typed_bytes(text))
}

/// A segment size, with or without a unit.
pub(crate) fn octets(text: &str) -> Result<Bytes, String> {
    quantity(grammar::parse_octets(text))
}

pub(crate) fn probability(text: &str) -> Result<Probability, String> {
    quantity(grammar::parse_probability(text))
}

/// A share above 0 and below 1, typed as `2%` or `2`.
pub(crate) fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('%').trim_end();
    match number.parse::<f64>() {
        Ok(percent) if percent > 0.0 && percent < 100.0 => Ok(percent / 100.0),
        _ => Err("a share above 0 and below 100 %, as in 2%".into()),
    }
}

/// Names of published constants of the square-root law.
const CONSTANTS: [(&str, MathisConstant); 6] = [
    ("slides", MathisConstant::Slides),
    ("periodic", MathisConstant::PeriodicEverySegment),
    ("periodic-delayed", MathisConstant::PeriodicDelayed),
    ("random", MathisConstant::RandomEverySegment),
    ("random-delayed", MathisConstant::RandomDelayed),
    ("rfc3649", MathisConstant::Rfc3649),
];

/// Reads the constant of the square-root law: a name, or a number above zero.
pub(crate) fn mathis_constant(text: &str) -> Result<MathisConstant, String> {
    if let Some((_, constant)) = CONSTANTS.iter().find(|(name, _)| *name == text) {
        return Ok(*constant);
    }
    match text.parse::<f64>() {
        Ok(c) if c > 0.0 && c < 1e6 => {
            let is_same = |known: &MathisConstant| known.value() == c;
            let known = MathisConstant::PUBLISHED.into_iter().find(is_same);
            Ok(known.unwrap_or(MathisConstant::Other(c)))
        }
        _ => {
            let names = CONSTANTS.map(|(name, _)| name);
            Err(with_hint(
                "it is neither a number above 0 nor the name of a published constant",
                nearest::hint(text, "names", &names),
            ))
        }
    }
}

fn whole<T: TryFrom<u64>>(text: &str, low: u64, high: u64, example: &str) -> Result<T, String> {
    let number = text.trim().parse().ok();
    let allowed = number.filter(|number| (low..=high).contains(number));
    let value = allowed.and_then(|number| T::try_from(number).ok());
    value.ok_or_else(|| {
        let what = format!("it is not a whole number from {low} to {high}");
        with_hint(what, format!("as in `{example}`"))
    })
}

fn quantity<T>(read: Result<T, ParseError>) -> Result<T, String> {
    read.map_err(|error| with_hint(&error, error.hint()))
}

fn with_hint(what: impl Display, hint: impl Display) -> String {
    format!("{what}\n  hint: {hint}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_is_read_with_and_without_its_sign() {
        assert_eq!(percent("2%"), Ok(0.02));
        assert_eq!(percent("2"), Ok(0.02));
        assert!(percent("0").is_err() && percent("100%").is_err());
    }

    #[test]
    fn bounds_belong_to_the_numbers_that_are_read() {
        assert_eq!(repeat("1"), Ok(1));
        assert_eq!(repeat("10000"), Ok(10_000));
        assert!(repeat("0").is_err());
        assert!(repeat("10001").is_err());
        assert!(repeat("-1").is_err());
        assert_eq!(seed("18446744073709551615"), Ok(u64::MAX));
        assert!(seed("18446744073709551616").is_err());
        assert!(jobs("0").is_err());
    }

    #[test]
    fn every_published_constant_has_a_name() {
        let named = CONSTANTS.map(|(_, constant)| constant);
        assert_eq!(named, MathisConstant::PUBLISHED);
    }

    #[test]
    fn a_published_constant_is_known_by_its_name_and_its_number() {
        let named = mathis_constant("periodic");
        assert_eq!(named, Ok(MathisConstant::PeriodicEverySegment));
        assert_eq!(mathis_constant("0.7"), Ok(MathisConstant::Slides));
        assert_eq!(mathis_constant("0.5"), Ok(MathisConstant::Other(0.5)));
        for bad in ["", "0", "-1", "nan", "inf", "banana"] {
            assert!(mathis_constant(bad).is_err(), "{bad}");
        }
    }
}
