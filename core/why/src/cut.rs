//! A reset that ended a transfer with data in flight (RFC 9293 section 3.5.2).

use alloc::format;
use alloc::string::String;

use gigatcp_units::grammar::{human_bytes, human_duration};
use gigatcp_units::{Bytes, Duration};

use crate::measures::Measures;

/// A reset in mid-transfer.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    /// Whether the sender of the data sent it, and not its receiver.
    pub is_by_sender: bool,
    /// Time from the beginning of the connection in the capture.
    pub after: Duration,
    /// Bytes in flight.
    pub unacked: Bytes,
}

impl Cut {
    /// The first reset, if data was acknowledged shortly before it and more was in flight. Later it
    /// ends a wait: what the connection waited for is the fault then.
    pub(crate) fn of(m: &Measures<'_>) -> Option<Self> {
        let view = m.sender_view;
        let first = view.resets.first?;
        // What was in flight arrives after the reset, at a capture point before or behind it.
        let patience = ((m.base + m.queue_max) * 4).max(Duration::from_secs(1));
        let is_ignored = first.latest_data.is_some_and(|at| at > first.at + patience);
        if is_ignored {
            return None;
        }
        // Two FINs are a normal end.
        let has_fin = m.data().has_fin();
        if has_fin && m.receiver().has_fin() {
            return None;
        }
        let later = view.nxt.saturating_sub(view.una.max(first.acked));
        let unacked = first.flight.max(later).saturating_sub(u64::from(has_fin));
        (unacked > 0 && first.since_ack <= patience).then(|| Self {
            is_by_sender: first.by == m.side,
            after: first.at.saturating_since(m.start),
            unacked: Bytes::new(unacked),
        })
    }

    /// The reset in a sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        let end = if self.is_by_sender {
            "sender"
        } else {
            "receiver"
        };
        format!(
            "The {end} reset it after {}, with {} in flight.",
            human_duration(self.after),
            human_bytes(self.unacked)
        )
    }
}
