//! Readings of both ends as a file, from which an explanation can be computed again.

use gigatcp_units::Rate;
use serde_json::{Value, json};

use super::counters::Role;
use super::outcome::Outcome;
use super::request::Protocol;
use super::samples::Samples;

/// Name and version of the file's format.
const SCHEMA: &str = "gigatcp-readings/1";

/// Input of an explanation.
#[derive(Clone, Debug)]
pub struct Readings {
    /// Streams by ID, with the role of this end.
    pub streams: Vec<(u64, Role)>,
    /// This end.
    pub own: Samples,
    /// Samples of the peer; `None`: it is not of this project.
    pub peer: Option<Samples>,
    /// Whether the server's test clock starts after the client's, by the one-way delay (nuttcp).
    /// Otherwise the client's starts after the server's (iperf3).
    pub server_is_later: bool,
    /// Whether socket buffers were requested.
    pub window_is_set: bool,
    /// Rate of each stream that the user set (`-b`).
    pub requested_rate: Option<Rate>,
    /// Payload rate that the path carries, as packet trains measured it, and this end's role in that
    /// direction.
    pub path_rate: Option<(Role, Rate)>,
}

impl Readings {
    /// Readings of a test.
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
            path_rate: outcome.capacity.map(|path| (path.role, path.rate)),
            requested_rate: outcome.parameters.bandwidth.map(Rate::from_bps),
        }
    }

    /// Content of the file.
    pub fn to_json(&self) -> Value {
        let streams = self
            .streams
            .iter()
            .map(|(id, role)| json!({"id": id, "role": role.name()}));
        json!({
            "schema": SCHEMA,
            "streams": streams.collect::<Vec<_>>(),
            "server_is_later": self.server_is_later,
            "window_is_set": self.window_is_set,
            "path_bps": self.path_rate.map(|(_, rate)| rate.as_bps()),
            "path_role": self.path_rate.map(|(role, _)| role.name()),
            "requested_bps": self.requested_rate.map(Rate::as_bps),
            "own": self.own.to_json(),
            "peer": self.peer.as_ref().map(Samples::to_json),
        })
    }

    /// Parses the content of a file; `None` if it has another format.
    pub fn from_json(value: &Value) -> Option<Self> {
        if value["schema"].as_str()? != SCHEMA {
            return None;
        }
        let role = |name: &Value| {
            let roles = [Role::Sender, Role::Receiver];
            roles.into_iter().find(|role| name == role.name())
        };
        let stream = |stream: &Value| Some((stream["id"].as_u64()?, role(&stream["role"])?));
        let path_bps = value["path_bps"].as_u64().map(Rate::from_bps);
        let path_role = role(&value["path_role"]).unwrap_or(Role::Sender);
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
            path_rate: path_bps.map(|rate| (path_role, rate)),
            requested_rate: value["requested_bps"].as_u64().map(Rate::from_bps),
        })
    }
}
