//! Readings of both ends as a file: an explanation can be made again from it alone.

use serde_json::{Value, json};

use super::counters::Role;
use super::outcome::Outcome;
use super::request::Protocol;
use super::samples::Samples;

/// Name and version of the file.
const SCHEMA: &str = "gigatcp-readings/1";

/// All that an explanation rests on.
#[derive(Clone, Debug)]
pub struct Readings {
    /// Streams by id, and which way their data went from this end.
    pub streams: Vec<(u64, Role)>,
    /// This end.
    pub own: Samples,
    /// The peer; `None`: it is not of this project.
    pub peer: Option<Samples>,
    /// Whether the server's clock of the test starts after the client's, by one way (nuttcp); the
    /// client's starts after the server's otherwise (iperf3).
    pub server_is_later: bool,
    /// Whether socket buffers were requested.
    pub window_is_set: bool,
}

impl Readings {
    /// What a test has seen.
    #[must_use]
    pub fn of(outcome: &Outcome) -> Self {
        let peer = outcome.peer.as_ref().and_then(|peer| peer.private.as_ref());
        Self {
            streams: outcome
                .streams
                .iter()
                .map(|stream| (stream.id, stream.role))
                .collect(),
            own: outcome.samples.clone(),
            peer: peer.and_then(Samples::from_json),
            server_is_later: outcome.protocol == Protocol::Nuttcp,
            window_is_set: outcome.parameters.window.is_some(),
        }
    }

    /// The file's content.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let streams = self.streams.iter().map(|(id, role)| {
            let role = match role {
                Role::Sender => "sender",
                Role::Receiver => "receiver",
            };
            json!({"id": id, "role": role})
        });
        json!({
            "schema": SCHEMA,
            "streams": streams.collect::<Vec<_>>(),
            "server_is_later": self.server_is_later,
            "window_is_set": self.window_is_set,
            "own": self.own.to_json(),
            "peer": self.peer.as_ref().map(Samples::to_json),
        })
    }

    /// Reads a file's content; `None` if it is something else.
    #[must_use]
    pub fn from_json(value: &Value) -> Option<Self> {
        if value["schema"].as_str()? != SCHEMA {
            return None;
        }
        let stream = |one: &Value| {
            let role = match one["role"].as_str()? {
                "sender" => Role::Sender,
                "receiver" => Role::Receiver,
                _ => return None,
            };
            Some((one["id"].as_u64()?, role))
        };
        Some(Self {
            streams: value["streams"]
                .as_array()?
                .iter()
                .filter_map(stream)
                .collect(),
            own: Samples::from_json(&value["own"])?,
            peer: Samples::from_json(&value["peer"]),
            server_is_later: value["server_is_later"].as_bool().unwrap_or(false),
            window_is_set: value["window_is_set"].as_bool()?,
        })
    }
}
