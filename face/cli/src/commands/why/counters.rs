//! The kernel's counters of the connections of a live capture, next to their packets.
//!
//! A capture has one answer, from its packets: they show more than counters do. The counters of
//! the same connection are a second source, and a piece of its evidence.

use std::collections::HashMap;
use std::net::SocketAddr;

use gigatcp_analyze::Diagnosis;
use gigatcp_flows::{Connection, Endpoint};
use gigatcp_report::why;
use gigatcp_why::Answer;
use gigatcp_why::counters::End;

/// Diagnoses from the counters of this host's sockets.
#[derive(Default)]
pub(super) struct Counters {
    /// By the local end and the peer's.
    sockets: HashMap<[SocketAddr; 2], (End, Diagnosis)>,
}

impl Counters {
    /// Adds what the counters of a socket say, unless there was one with the same ends.
    pub(super) fn add(&mut self, ends: [SocketAddr; 2], role: End, diagnosis: Diagnosis) {
        let key = ends.map(|end| SocketAddr::new(end.ip().to_canonical(), end.port()));
        self.sockets.entry(key).or_insert((role, diagnosis));
    }

    /// The comparison of these counters with diagnoses of packets.
    pub(super) fn into_comparison(self) -> why::Counters {
        Box::new(move |connection, packets| self.compare(connection, packets))
    }

    /// Compares the counters with the diagnosis of a connection's packets, in a sentence. `None` if
    /// neither end is a socket of this host that was counted in the same direction.
    fn compare(&self, connection: &Connection, packets: &Diagnosis) -> Option<String> {
        let [from, to] =
            [packets.sender, packets.sender.other()].map(|side| address(connection.endpoint(side)));
        // Only the sender's counters show most causes.
        let socket = self
            .find([from, to], End::Sender)
            .or_else(|| self.find([to, from], End::Receiver));
        let (role, counted) = socket?;
        let end = match role {
            End::Sender => "sender's kernel",
            End::Receiver => "receiver's kernel",
        };
        let (counted, packets) = (counted.answer(), packets.answer());
        let Some(cause) = counted.cause.filter(|_| !counted.is_unsure) else {
            return Some(format!("{end}, alone: {}", unsure(&counted)));
        };
        let is_same = packets.cause.is_some_and(|known| known.id == cause.id);
        let agrees = if is_same && !packets.is_unsure {
            " agrees"
        } else {
            ", alone"
        };
        let sentence = super::lowercase_first(counted.sentence.trim_end_matches('.'));
        Some(format!("{end}{agrees}: {sentence}"))
    }

    fn find(&self, ends: [SocketAddr; 2], wanted: End) -> Option<(End, &Diagnosis)> {
        let (role, diagnosis) = self.sockets.get(&ends)?;
        (*role == wanted).then_some((*role, diagnosis))
    }
}

/// Causes of an unsure answer. Its own sentence would advise a capture.
fn unsure(counted: &Answer) -> String {
    match (counted.cause, counted.alternative) {
        (Some(first), Some(second)) => format!("unsure, {} or {}", first.name, second.name),
        _ => "does not show what limited it".into(),
    }
}

fn address(end: Endpoint) -> SocketAddr {
    SocketAddr::new(end.address, end.port)
}
