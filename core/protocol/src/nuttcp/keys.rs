//! The keys of the parameter line: their names, versions and values.
//!
//! The line is `key = value, key = value`. From the key `thirdparty` on, a space also precedes the
//! comma: old servers read a name up to the next space. A key is written only for a server that
//! supports it and read only from a client that supports it. Keys of later versions are ignored.
//!
//! The last key is private to this project: servers look up known keys at any place in the line
//! (read in 8.2.2, tried with 6.1.2), and ignore others.

use alloc::format;
use alloc::string::{String, ToString};
use core::str::FromStr;

use gigatcp_units::Duration;

use super::Side;
use super::error::{Error, excerpt};
use super::parameters::{Format, MAX_SECONDS, Parameters, Wanted, seconds};
use super::version::Version;

/// Value of `rate` without a limit.
const NO_RATE_LIMIT: u64 = 0xffff_ffff;

/// Value of `nbuf` without a limit.
const NO_BUFFER_LIMIT: u64 = 0x7fff_ffff;

/// Key of a client that reads private lines.
const PRIVATE: &str = "gigatcp";

/// The key from which on a space precedes the comma.
const FIRST_SPACED: &str = "thirdparty";

type Read = Result<(), &'static str>;

/// A key of the line.
struct Key {
    name: &'static str,
    /// First version that has it.
    since: Version,
    value: KeyValue,
}

enum KeyValue {
    /// A property of the test: to text, from text, and whether a server must support it.
    Property {
        write: fn(&Parameters) -> String,
        read: fn(&mut Parameters, &str) -> Read,
        is_needed: fn(&Parameters) -> bool,
    },
    /// An option that this implementation neither requests nor serves.
    Refused(&'static str, &'static str),
    /// An option that changes no measurement, or only with one that is refused.
    Ignored(&'static str),
}

impl Key {
    const fn property(
        name: &'static str,
        write: fn(&Parameters) -> String,
        read: fn(&mut Parameters, &str) -> Read,
    ) -> Self {
        Self::later(name, Version::OLDEST, write, read, |_| false)
    }

    const fn later(
        name: &'static str,
        since: Version,
        write: fn(&Parameters) -> String,
        read: fn(&mut Parameters, &str) -> Read,
        is_needed: fn(&Parameters) -> bool,
    ) -> Self {
        let value = KeyValue::Property {
            write,
            read,
            is_needed,
        };
        Self { name, since, value }
    }

    const fn refused(
        name: &'static str,
        since: Version,
        unset: &'static str,
        expected: &'static str,
    ) -> Self {
        let value = KeyValue::Refused(unset, expected);
        Self { name, since, value }
    }

    const fn ignored(name: &'static str, since: Version, unset: &'static str) -> Self {
        let value = KeyValue::Ignored(unset);
        Self { name, since, value }
    }
}

/// The keys in the order of the line.
const KEYS: &[Key] = &[
    Key::property(
        "buflen",
        |test| test.buffer_bytes.to_string(),
        |test, text| set(&mut test.buffer_bytes, text, "bytes of a buffer, from 0 on"),
    ),
    Key::property(
        "nbuf",
        |test| test.buffers.unwrap_or(NO_BUFFER_LIMIT).to_string(),
        |test, text| {
            let buffers = positive(text, "a number of buffers, from 1 on")?;
            test.buffers = (buffers != NO_BUFFER_LIMIT).then_some(buffers);
            Ok(())
        },
    ),
    Key::property(
        "win",
        |test| test.window_bytes.to_string(),
        |test, text| {
            let expected = "bytes of a socket buffer, from 0 on";
            let window: i32 = number(text, expected)?;
            test.window_bytes = u32::try_from(window).map_err(|_| expected)?;
            Ok(())
        },
    ),
    Key::property(
        "nstream",
        |test| test.streams.to_string(),
        |test, text| set(&mut test.streams, text, "1 to 128 streams"),
    ),
    Key::property(
        "rate",
        |test| test.rate_kbps.unwrap_or(NO_RATE_LIMIT).to_string(),
        |test, text| {
            let rate: u64 = number(text, "a rate in kbit/s, 0 for no limit")?;
            test.rate_kbps = (rate != 0 && rate != NO_RATE_LIMIT).then_some(rate);
            Ok(())
        },
    ),
    Key::property(
        "port",
        |test| test.port.to_string(),
        |test, text| set(&mut test.port, text, "a port"),
    ),
    Key::property(
        "trans",
        |test| flag(test.client == Side::Transmitter),
        |test, text| {
            test.client = match number::<i32>(text, "0 or 1")? {
                0 => Side::Receiver,
                _ => Side::Transmitter,
            };
            Ok(())
        },
    ),
    Key::ignored("braindead", Version::OLDEST, "0"),
    Key::property(
        "timeout",
        |test| seconds(test.time_limit),
        |test, text| set_span(&mut test.time_limit, text),
    ),
    Key::property(
        "udp",
        |test| flag(test.udp),
        |test, text| set_flag(&mut test.udp, text),
    ),
    Key::ignored("vers", Version::OLDEST, "8.2.2"),
    Key::property(
        "interval",
        |test| seconds(test.interval),
        |test, text| set_span(&mut test.interval, text),
    ),
    Key::property(
        "reverse",
        |test| flag(test.flipped),
        |test, text| set_flag(&mut test.flipped, text),
    ),
    Key::property(
        "format",
        |test| test.format.0.to_string(),
        |test, text| {
            test.format = Format(number(text, "a sum of format bits")?);
            Ok(())
        },
    ),
    Key::refused(
        "traceroute",
        Version::OLDEST,
        "0",
        "0: `gigatcp trace` shows the route",
    ),
    Key::property(
        "irate",
        |test| flag(test.instantaneous),
        |test, text| {
            // A client of 8.2.2 without a kind of rate limit may send -1.
            test.instantaneous = number::<i64>(text, "0 or 1")? > 0;
            Ok(())
        },
    ),
    Key::refused(
        FIRST_SPACED,
        Version::OLDEST,
        "_NULL_",
        "_NULL_: tests with a third party are not served",
    ),
    Key::refused(
        "multicast",
        Version::OLDEST,
        "0",
        "0: multicast is not supported",
    ),
    Key::ignored("ssm", Version::new(6, 2, 1), "0"),
    Key::property(
        "datamss",
        |test| test.mss.to_string(),
        |test, text| set(&mut test.mss, text, "bytes of a segment, from 0 on"),
    ),
    Key::property(
        "tos",
        |test| format!("{:X}", test.tos),
        |test, text| {
            test.tos = u8::from_str_radix(text, 16).map_err(|_| "hexadecimal, 0 to FF")?;
            Ok(())
        },
    ),
    Key::ignored("nbuf_bytes", Version::OLDEST, "0"),
    Key::ignored("rate_pps", Version::OLDEST, "0"),
    Key::property(
        "nodelay",
        |test| flag(test.nodelay),
        |test, text| set_flag(&mut test.nodelay, text),
    ),
    Key::ignored("affinity", Version::new(6, 2, 6), "-1"),
    Key::later(
        "maxburst",
        Version::new(6, 2, 7),
        |test| test.burst.to_string(),
        |test, text| {
            test.burst = positive(text, "a number of packets, from 1 on")?;
            Ok(())
        },
        |test| test.burst > 1 && test.client == Side::Receiver,
    ),
    Key::later(
        "do_jitter",
        Version::new(7, 0, 1),
        |test| test.jitter.0.to_string(),
        |test, text| {
            test.jitter = Wanted(number(text, "a sum of 1, 2, 4 and 8")?);
            Ok(())
        },
        |test| test.jitter.any() && test.client == Side::Transmitter,
    ),
    Key::refused(
        "do_owd",
        Version::new(7, 0, 1),
        "0",
        "0: `gigatcp test --mode stamp` measures one-way delays",
    ),
    Key::ignored("stride", Version::new(7, 1, 1), "0"),
    Key::ignored("multilink", Version::new(7, 1, 1), "0"),
    Key::refused(
        "group",
        Version::new(7, 2, 1),
        "_NULL_",
        "_NULL_: multicast is not supported",
    ),
    Key::ignored("srcport", Version::new(7, 3, 1), "0"),
    Key::ignored("iratesss", Version::new(8, 1, 1), "0"),
];

impl Parameters {
    /// Writes the line for a server of version `server`.
    ///
    /// # Errors
    /// If the server does not support an option without which the test would be another one.
    pub fn line(&self, server: Version) -> Result<String, Error> {
        let mut line = String::new();
        let mut separator = "";
        for &Key {
            name,
            since,
            ref value,
        } in KEYS
        {
            let (text, is_needed) = match value {
                KeyValue::Property {
                    write, is_needed, ..
                } => (write(self), is_needed(self)),
                KeyValue::Refused(unset, _) | KeyValue::Ignored(unset) => {
                    ((*unset).to_string(), false)
                }
            };
            if server >= since {
                line.push_str(&format!("{separator}{name} = {text}"));
            } else if is_needed {
                let key = name;
                return Err(Error::Unsupported { key, server, since });
            }
            separator = match name == FIRST_SPACED || separator == " , " {
                true => " , ",
                false => ", ",
            };
        }
        if self.private {
            line.push_str(&format!("{separator}{PRIVATE} = 1"));
        }
        line.push('\n');
        Ok(line)
    }

    /// Reads a client's line; returns the parameters and the client's version.
    ///
    /// # Errors
    /// If a key is missing that the client's version has, or a value is impossible or not served.
    pub fn read(line: &str) -> Result<(Self, Version), Error> {
        let client = field(line, "vers").ok_or(Error::MissingParameter {
            key: "vers",
            since: Version::OLDEST,
        })?;
        let client = Version::read(client).ok_or_else(|| Error::Parameter {
            key: "vers",
            read: excerpt(client),
            expected: "a version from 6.1.2 on, like 8.2.2",
        })?;
        let mut parameters = Self {
            private: field(line, PRIVATE) == Some("1"),
            ..Self::default()
        };
        for &Key {
            name: key,
            since,
            ref value,
        } in KEYS
        {
            if client < since {
                continue;
            }
            let text = field(line, key).ok_or(Error::MissingParameter { key, since })?;
            let set = match value {
                KeyValue::Property { read, .. } => read(&mut parameters, text),
                KeyValue::Refused(unset, expected) if text != *unset => Err(*expected),
                KeyValue::Refused(..) | KeyValue::Ignored(_) => Ok(()),
            };
            set.map_err(|expected| Error::Parameter {
                key,
                read: excerpt(text),
                expected,
            })?;
        }
        Ok((parameters, client))
    }
}

/// Value of a key in the line.
fn field<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    line.split(',').find_map(|field| {
        let (key, value) = field.split_once('=')?;
        (key.trim() == name).then(|| value.trim())
    })
}

fn flag(is_set: bool) -> String {
    u8::from(is_set).to_string()
}

fn number<N: FromStr>(text: &str, expected: &'static str) -> Result<N, &'static str> {
    text.parse().map_err(|_| expected)
}

fn positive<N: FromStr + Default + PartialEq>(
    text: &str,
    expected: &'static str,
) -> Result<N, &'static str> {
    number(text, expected).and_then(|number: N| match number == N::default() {
        true => Err(expected),
        false => Ok(number),
    })
}

fn set<N: FromStr>(to: &mut N, text: &str, expected: &'static str) -> Read {
    *to = number(text, expected)?;
    Ok(())
}

fn set_flag(to: &mut bool, text: &str) -> Read {
    *to = number::<i64>(text, "0 or 1")? != 0;
    Ok(())
}

/// Reads seconds with a fraction.
fn set_span(to: &mut Duration, text: &str) -> Read {
    let expected = "seconds, 0 to 1000000000";
    let seconds: f64 = number(text, expected)?;
    if !(0.0..=MAX_SECONDS as f64).contains(&seconds) {
        return Err(expected);
    }
    *to = Duration::from_secs_f64(seconds);
    Ok(())
}
