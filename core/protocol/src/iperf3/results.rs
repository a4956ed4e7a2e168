//! Counts of an end, as both ends exchange them.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde_json::{Map, Value, json};

use super::PRIVATE;

/// Maximum length of results that a client accepts, in bytes. Enough for 128 streams, the server's
/// own output, and samples of a server of this project.
pub(super) const MAX_OF_SERVER: usize = 32 << 20;

/// Maximum length of results that a server accepts, in bytes: many clients may send some. Those of
/// a stock client with 128 streams have 32 KiB.
pub const MAX_OF_CLIENT: usize = 256 << 10;

/// Id of a stream by its place in the order of creation. The ids are 1, 3, 4, 5, ...: iperf3 skips
/// 2.
pub fn stream_id(place: usize) -> u64 {
    let place = place as u64;
    if place == 0 { 1 } else { place + 2 }
}

/// CPU time of an end's process, in percent of the elapsed time.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Cpu {
    /// User and system.
    pub total: f64,
    /// User.
    pub user: f64,
    /// System.
    pub system: f64,
}

/// The server's own output, if the client requested it.
#[derive(Clone, PartialEq, Debug)]
pub enum ServerOutput {
    /// Lines of text.
    Text(String),
    /// The JSON of `-J`.
    Json(Value),
}

/// Counts of one stream at one end.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct StreamResults {
    /// [`stream_id`].
    pub id: u64,
    /// Bytes sent, or received.
    pub bytes: u64,
    /// Retransmitted segments. `None`: this end did not send, or cannot determine them.
    pub retransmits: Option<u64>,
    /// Interarrival jitter of datagrams, in seconds.
    pub jitter: f64,
    /// Lost datagrams, as iperf3 counts them: can be negative.
    pub errors: i64,
    /// Datagrams sent, or the largest sequence number received.
    pub packets: u64,
    /// Errors in the omitted seconds, included in `errors` (since 3.14).
    pub omitted_errors: Option<i64>,
    /// Packets in the omitted seconds, included in `packets` (since 3.14).
    pub omitted_packets: Option<u64>,
    /// Seconds from the test's start to the stream's (since 3.2).
    pub start_time: Option<f64>,
    /// Seconds from the test's start to the stream's end (since 3.2).
    pub end_time: Option<f64>,
}

/// Handling of values of any size in results: the server's output, and the private value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extras {
    /// A client keeps them.
    Kept,
    /// A server skips them without keeping any of their bytes.
    Skipped,
}

/// Results of an end.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Results {
    /// CPU time.
    pub cpu: Cpu,
    /// Whether this end counts retransmissions; `None`: it does not send.
    pub sender_has_retransmits: Option<bool>,
    /// Congestion control in effect.
    pub congestion_used: Option<String>,
    /// Output of the server.
    pub server_output: Option<ServerOutput>,
    /// Streams in the order of creation.
    pub streams: Vec<StreamResults>,
    /// Private value of an end of this project.
    pub private: Option<Value>,
}

impl Results {
    /// JSON to send.
    pub fn to_json(&self) -> Value {
        let mut value = json!({
            "cpu_util_total": self.cpu.total,
            "cpu_util_user": self.cpu.user,
            "cpu_util_system": self.cpu.system,
            "sender_has_retransmits": self.sender_has_retransmits.map_or(-1, i64::from),
            "streams": self.streams.iter().map(StreamResults::to_json).collect::<Vec<_>>(),
        });
        let mut put = |key: &str, value_of: Value| {
            value[key] = value_of;
        };
        if let Some(congestion) = &self.congestion_used {
            put("congestion_used", congestion.as_str().into());
        }
        match &self.server_output {
            Some(ServerOutput::Text(text)) => put("server_output_text", text.as_str().into()),
            Some(ServerOutput::Json(json)) => put("server_output_json", json.clone()),
            None => {}
        }
        if let Some(private) = &self.private {
            put(PRIVATE, private.clone());
        }
        value
    }
}

impl StreamResults {
    fn to_json(&self) -> Value {
        let mut map = Map::new();
        let mut put = |key: &str, value: Value| {
            map.insert(key.to_string(), value);
        };
        let retransmits = self.retransmits.and_then(|count| i64::try_from(count).ok());
        put("id", self.id.into());
        put("bytes", self.bytes.into());
        put("retransmits", retransmits.unwrap_or(-1).into());
        put("jitter", self.jitter.into());
        put("errors", self.errors.into());
        put("packets", self.packets.into());
        // A stock iperf3 requires both or none.
        if let (Some(errors), Some(packets)) = (self.omitted_errors, self.omitted_packets) {
            put("omitted_errors", errors.into());
            put("omitted_packets", packets.into());
        }
        if let (Some(start), Some(end)) = (self.start_time, self.end_time) {
            put("start_time", start.into());
            put("end_time", end.into());
        }
        Value::Object(map)
    }
}

#[cfg(test)]
mod tests {
    use super::super::message::Violation;
    use super::*;

    fn read(value: &Value, streams: usize) -> Result<Results, Violation> {
        Results::read(value.to_string().as_bytes(), streams, Extras::Kept)
    }

    #[test]
    fn ids_skip_two() {
        let ids: Vec<u64> = (0..4).map(stream_id).collect();
        assert_eq!(ids, [1, 3, 4, 5]);
    }

    #[test]
    fn minus_one_of_old_and_new_peers_is_none() {
        for minus_one in [json!(18_446_744_073_709_551_615_u64), json!(-1)] {
            let value = json!({
                "cpu_util_total": 2, "cpu_util_user": 1.5, "cpu_util_system": 0.5,
                "sender_has_retransmits": minus_one,
                "streams": [{"id": 1, "bytes": 5_000_000_000_u64, "retransmits": minus_one,
                    "jitter": 0, "errors": 0, "packets": 0}],
            });
            let read = read(&value, 1).unwrap();
            assert_eq!(read.sender_has_retransmits, None);
            assert_eq!(read.streams[0].retransmits, None);
            assert_eq!(read.streams[0].bytes, 5_000_000_000);
        }
    }

    /// Results with all values set.
    fn results() -> Results {
        Results {
            cpu: Cpu {
                total: 30.5,
                user: 10.25,
                system: 20.25,
            },
            sender_has_retransmits: Some(true),
            congestion_used: Some("cubic".into()),
            server_output: Some(ServerOutput::Text("a line\n".into())),
            streams: [1, 3]
                .map(|id| StreamResults {
                    id,
                    bytes: 1 << 40,
                    retransmits: Some(20),
                    omitted_errors: Some(-1),
                    omitted_packets: Some(3),
                    start_time: Some(0.0),
                    end_time: Some(1.5),
                    ..StreamResults::default()
                })
                .to_vec(),
            private: Some(json!({"version": 1})),
        }
    }

    #[test]
    fn results_are_read_as_they_were_written() {
        let results = results();
        assert_eq!(read(&results.to_json(), 2), Ok(results));
    }

    #[test]
    fn a_time_that_no_test_has_is_unknown() {
        let mut value = results().to_json();
        value["streams"][0]["end_time"] = json!(1e300);
        value["streams"][0]["jitter"] = json!(-1.0);
        let read = read(&value, 2).unwrap();
        assert_eq!(
            (read.streams[0].end_time, read.streams[0].jitter),
            (None, 0.0)
        );
    }

    #[test]
    fn what_is_required_is_named_if_it_is_missing() {
        let mut value = Results::default().to_json();
        value.as_object_mut().unwrap().remove("cpu_util_user");
        let refused = read(&value, 1).unwrap_err();
        assert_eq!(refused.to_string(), "results without `cpu_util_user`");
        let mut value = Results::default().to_json();
        value["streams"] = json!([{"id": 2, "bytes": 1, "retransmits": 0}]);
        let refused = read(&value, 5).unwrap_err();
        assert_eq!(refused, Violation::UnknownStream { id: 2 });
    }
}
