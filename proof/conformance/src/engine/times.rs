//! Times of a connection that `tcp_info` reports and the engine does not store: when data was last
//! sent and received, and how long there was data to deliver (`tcpi_busy_time`).

use gigatcp_units::{Duration, Instant};
use gigatcp_wire::bytes::Bytes;
use gigatcp_wire::{Flags, Segment};

/// By script time.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    data_sent: Instant,
    data_received: Instant,
    ack_received: Instant,
    busy: Duration,
    busy_since: Option<Instant>,
}

impl Times {
    /// Times of a connection that begins `now`.
    pub fn new(now: Instant) -> Self {
        Self {
            data_sent: now,
            data_received: now,
            ack_received: now,
            busy: Duration::ZERO,
            busy_since: None,
        }
    }

    /// Records that a segment leaves.
    pub fn on_sent(&mut self, now: Instant, has_data: bool) {
        if has_data {
            self.data_sent = now;
        }
    }

    /// Records that a segment arrives.
    pub fn on_arrival(&mut self, now: Instant, segment: &Segment<Bytes>) {
        let opens = segment.flags.contains(Flags::SYN);
        if opens || !segment.payload.is_empty() {
            self.data_received = now;
        }
        if segment.flags.contains(Flags::ACK) {
            self.ack_received = now;
        }
    }

    /// There is something to be delivered, or there is not.
    pub fn set_busy(&mut self, now: Instant, is_busy: bool) {
        match (self.busy_since, is_busy) {
            (None, true) => self.busy_since = Some(now),
            (Some(since), false) => {
                self.busy += now.saturating_since(since);
                self.busy_since = None;
            }
            _ => {}
        }
    }

    /// Fields of `tcp_info`: times since in milliseconds, and the total time in microseconds.
    pub fn words(&self, now: Instant) -> [(&'static str, i64); 4] {
        let since = |then: Instant| (now.saturating_since(then).as_micros() / 1000) as i64;
        let under_way = self.busy_since.map(|since| now.saturating_since(since));
        let busy = self.busy + under_way.unwrap_or(Duration::ZERO);
        [
            ("tcpi_last_data_sent", since(self.data_sent)),
            ("tcpi_last_data_recv", since(self.data_received)),
            ("tcpi_last_ack_recv", since(self.ack_received)),
            ("tcpi_busy_time", busy.as_micros() as i64),
        ]
    }
}
