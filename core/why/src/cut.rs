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
    /// Time without an acknowledgment before it, if the transfer went on after a silence, and the reset
    /// was the answer.
    pub silence: Option<Duration>,
}

impl Cut {
    /// The first reset, if data was acknowledged shortly before it and more was in flight, or was first
    /// sent then. Later it ends a wait: what the connection waited for is the fault then.
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
        let is_by_sender = first.by == m.side;
        let is_late = first.since_ack > patience;
        let is_answer = is_late && first.is_fresh && !is_by_sender;
        (unacked > 0 && (!is_late || is_answer)).then(|| Self {
            is_by_sender,
            after: first.at.saturating_since(m.start),
            unacked: Bytes::new(unacked),
            silence: is_answer.then_some(first.since_ack),
        })
    }

    /// The reset in a sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        if let Some(silence) = self.silence {
            return format!(
                "It was reset after {}, when it went on after {} of silence: the receiver, or a NAT or \
                 firewall between, had forgotten it (keepalives prevent that).",
                human_duration(self.after),
                human_duration(silence)
            );
        }
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
