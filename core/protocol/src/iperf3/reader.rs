//! Results read value by value: memory in proportion to the streams of the test, whatever is sent.
//!
//! As with iperf3's parser, a value of a wrong type counts as absent, and unknown keys are skipped.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use super::message::{Violation, bad_json};
use super::results::{Cpu, Extras, Results, ServerOutput, StreamResults, stream_id};

/// Maximum number of streams in results: iperf3's own limit for both directions.
const MAX_STREAMS: usize = 256;

impl Results {
    /// Reads the peer's results of a test with `streams` streams.
    ///
    /// # Errors
    /// It is no JSON, a required key is missing, or a stream was not opened.
    pub fn read(text: &[u8], streams: usize, extras: Extras) -> Result<Self, Violation> {
        match extras {
            Extras::Kept => read::<Value>(text)?.complete(streams, Some),
            Extras::Skipped => read::<IgnoredAny>(text)?.complete(streams, |_| None),
        }
    }
}

fn read<E: DeserializeOwned>(text: &[u8]) -> Result<Found<E>, Violation> {
    serde_json::from_slice(text).map_err(|error| bad_json("results", &error))
}

/// Values of results as they were found; those of any size are of type `E`.
#[derive(Deserialize)]
#[serde(default)]
struct Found<E> {
    cpu_util_total: Scalar,
    cpu_util_user: Scalar,
    cpu_util_system: Scalar,
    sender_has_retransmits: Scalar,
    congestion_used: Scalar,
    server_output_text: Option<E>,
    server_output_json: Option<E>,
    streams: Option<Streams>,
    #[serde(rename = "gigatcp")]
    private: Option<E>,
}

impl<E> Default for Found<E> {
    fn default() -> Self {
        Self {
            cpu_util_total: Scalar::Other,
            cpu_util_user: Scalar::Other,
            cpu_util_system: Scalar::Other,
            sender_has_retransmits: Scalar::Other,
            congestion_used: Scalar::Other,
            server_output_text: None,
            server_output_json: None,
            streams: None,
            private: None,
        }
    }
}

impl<E> Found<E> {
    fn complete(
        self,
        streams: usize,
        keep: impl Fn(E) -> Option<Value>,
    ) -> Result<Results, Violation> {
        let missing = |key| Violation::Missing {
            what: "results",
            key,
        };
        let float = |value: Scalar, key| value.float().ok_or(missing(key));
        let has = self.sender_has_retransmits.signed();
        let text = self
            .server_output_text
            .and_then(&keep)
            .and_then(|text| text.as_str().map(String::from));
        let json = self.server_output_json.and_then(&keep);
        let Streams(found) = self.streams.ok_or(missing("streams"))?;
        Ok(Results {
            cpu: Cpu {
                total: float(self.cpu_util_total, "cpu_util_total")?,
                user: float(self.cpu_util_user, "cpu_util_user")?,
                system: float(self.cpu_util_system, "cpu_util_system")?,
            },
            sender_has_retransmits: match has.ok_or(missing("sender_has_retransmits"))? {
                -1 => None,
                number => Some(number != 0),
            },
            congestion_used: self.congestion_used.text(),
            server_output: json
                .map(ServerOutput::Json)
                .or(text.map(ServerOutput::Text)),
            streams: (found.into_iter())
                .map(|stream| stream.complete(streams))
                .collect::<Result<_, _>>()?,
            private: self.private.and_then(&keep),
        })
    }
}

/// The list of streams, at most [`MAX_STREAMS`].
struct Streams(Vec<StreamFound>);

impl<'de> Deserialize<'de> for Streams {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List;
        impl<'de> Visitor<'de> for List {
            type Value = Streams;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of streams")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Streams, A::Error> {
                let mut streams = Vec::new();
                while let Some(stream) = list.next_element()? {
                    if streams.len() == MAX_STREAMS {
                        return Err(A::Error::custom("too many streams"));
                    }
                    streams.push(stream);
                }
                Ok(Streams(streams))
            }
        }
        deserializer.deserialize_seq(List)
    }
}

/// Values of a stream as they were found.
#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct StreamFound {
    id: Scalar,
    bytes: Scalar,
    retransmits: Scalar,
    jitter: Scalar,
    errors: Scalar,
    packets: Scalar,
    omitted_errors: Scalar,
    omitted_packets: Scalar,
    start_time: Scalar,
    end_time: Scalar,
}

impl StreamFound {
    fn complete(self, streams: usize) -> Result<StreamResults, Violation> {
        let require = |value: Scalar, key| {
            value.signed().ok_or(Violation::Missing {
                what: "results of a stream",
                key,
            })
        };
        let unsigned = |value: Scalar| u64::try_from(value.signed()?).ok();
        // A time that no test can have counts as absent.
        let seconds = |value: Scalar| value.float().filter(|time| (0.0..1e9).contains(time));
        let id = require(self.id, "id")?.cast_unsigned();
        if !(0..streams).any(|place| stream_id(place) == id) {
            return Err(Violation::UnknownStream { id });
        }
        Ok(StreamResults {
            id,
            bytes: require(self.bytes, "bytes")?.cast_unsigned(),
            retransmits: u64::try_from(require(self.retransmits, "retransmits")?).ok(),
            jitter: seconds(self.jitter).unwrap_or(0.0),
            errors: self.errors.signed().unwrap_or(0),
            packets: unsigned(self.packets).unwrap_or(0),
            omitted_errors: self.omitted_errors.signed(),
            omitted_packets: unsigned(self.omitted_packets),
            start_time: seconds(self.start_time),
            end_time: seconds(self.end_time),
        })
    }
}

/// A value that is no array or object; those are skipped.
#[derive(Clone, Default)]
enum Scalar {
    Whole(i64),
    Float(f64),
    Text(String),
    #[default]
    Other,
}

impl Scalar {
    fn float(&self) -> Option<f64> {
        match self {
            Self::Whole(number) => Some(*number as f64),
            Self::Float(number) => Some(*number),
            _ => None,
        }
    }

    /// A whole number. cJSON prints one of 10^15 and more with an exponent; iperf3 before
    /// 3.14 prints -1 as 2^64 - 1.
    fn signed(&self) -> Option<i64> {
        match self {
            Self::Whole(number) => Some(*number),
            Self::Float(number) if *number >= u64::MAX as f64 => Some(-1),
            Self::Float(number) => Some(*number as i64),
            _ => None,
        }
    }

    fn text(self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ScalarVisitor)
    }
}

struct ScalarVisitor;

impl<'de> Visitor<'de> for ScalarVisitor {
    type Value = Scalar;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Scalar, E> {
        Ok(Scalar::Other)
    }

    fn visit_i64<E>(self, number: i64) -> Result<Scalar, E> {
        Ok(Scalar::Whole(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Scalar, E> {
        Ok(Scalar::Whole(number.cast_signed()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Scalar, E> {
        Ok(Scalar::Float(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Scalar, E> {
        Ok(Scalar::Text(text.to_string()))
    }

    fn visit_unit<E>(self) -> Result<Scalar, E> {
        Ok(Scalar::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Scalar, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Scalar::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Scalar, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Scalar::Other)
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::*;

    /// Results of one stream with one more value in them.
    fn with(value: &str) -> String {
        format!(
            r#"{{"cpu_util_total": 3, "cpu_util_user": 1e0, "cpu_util_system": 2, "x": {value},
                "sender_has_retransmits": -1, "gigatcp": {value}, "server_output_json": {value},
                "streams": [{{"id": 1, "bytes": 1, "retransmits": 0, "errors": {value}}}]}}"#
        )
    }

    #[test]
    fn values_of_any_size_are_skipped_at_a_server() {
        let zeros = format!("[{}0]", "0,".repeat(50_000));
        let read = |text: &str| Results::read(text.as_bytes(), 1, Extras::Skipped).unwrap();
        let results = read(&with(&zeros));
        assert_eq!(results, read(&with("null")));
        assert_eq!((results.private, results.server_output), (None, None));
        assert_eq!(results.streams[0].errors, 0);
    }

    #[test]
    fn list_of_more_streams_than_a_test_has_is_not_kept() {
        let streams = format!("[{}{{}}]", "{},".repeat(MAX_STREAMS));
        let text = format!(r#"{{"streams": {streams}}}"#);
        let refused = Results::read(text.as_bytes(), 128, Extras::Skipped).unwrap_err();
        assert!(
            refused.to_string().contains("too many streams"),
            "{refused}"
        );
    }
}
