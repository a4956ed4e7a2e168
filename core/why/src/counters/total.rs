//! A single reading of a sender: its counters are since the connection began.

use gigatcp_units::{Bytes, Duration, Rate};

use super::account::{CounterAccount, End};
use super::reading::{Reading, place};

/// Words that count since the connection began.
const TOTALS: [&str; 14] = [
    "tcpi_busy_time",
    "tcpi_rwnd_limited",
    "tcpi_sndbuf_limited",
    "tcpi_bytes_acked",
    "tcpi_bytes_sent",
    "tcpi_bytes_received",
    "tcpi_segs_out",
    "tcpi_data_segs_out",
    "tcpi_delivered",
    "tcpi_delivered_ce",
    "tcpi_total_retrans",
    "tcpi_total_rto",
    "tcpi_dsack_dups",
    "tcpi_reord_seen",
];

impl CounterAccount {
    /// Adds the only reading of a sender. Its counters are since the connection began; the time
    /// explained is that in which data was unsent or in flight, which they measure, and that in which
    /// nothing arrived and nothing was to be sent, up to the last data. What holds at the
    /// moment of the reading stands for that time, except for its end if the timer expired again and
    /// again there. Returns whether there was such time.
    pub fn on_total(&mut self, reading: &Reading) -> bool {
        let Some(busy) = reading.busy.filter(|busy| !busy.is_zero()) else {
            return false;
        };
        let bound = reading.max_pacing_rate.filter(|rate| *rate < Rate::MAX);
        let mut begin = Reading::default();
        let mut end = Reading {
            at: begin.at + busy.max(quiet(reading)),
            smss: reading.smss,
            options: reading.options,
            snd_wnd: reading.snd_wnd,
            rtt: reading.rtt,
            cwnd_segments: reading.cwnd_segments,
            unacked: reading.unacked,
            notsent: reading.notsent,
            app_limited: reading.app_limited,
            delivery_rate: reading.delivery_rate,
            // A bound that the application set holds for the whole connection.
            pacing_rate: bound.and(reading.pacing_rate),
            max_pacing_rate: bound,
            ..begin
        };
        for place in TOTALS.into_iter().filter_map(place) {
            if let Some(number) = reading.number(place) {
                begin.set(place, 0);
                end.set(place, number);
            }
        }
        self.bound(End::Sender, reading);
        self.on_reading(End::Sender, &begin);
        let silence = silence(reading).min(busy);
        if reading.backoff >= Some(2) && reading.unacked > Some(0) {
            let before = Reading {
                at: end.at - silence,
                busy: Some(busy - silence),
                ..end
            };
            self.on_reading(End::Sender, &before);
            end.backoff = reading.backoff;
        }
        self.on_reading(End::Sender, &end);
        self.is_total = true;
        true
    }
}

/// Time without data from the peer until this end last sent: the connection is at least as old. If it
/// is longer than all of the busy time, its application had nothing to send for the rest of it. Zero
/// if a timer backs off, or a window or a buffer limited for most of the busy time.
fn quiet(reading: &Reading) -> Duration {
    /// The kernel prints 32 bits of milliseconds.
    const MAX: Duration = Duration::from_millis(u32::MAX as u64);
    let busy = reading.busy.unwrap_or_default();
    let held = [reading.rwnd_limited, reading.sndbuf_limited].map(Option::unwrap_or_default);
    let is_held = held.iter().any(|time| *time * 2 > busy) || reading.backoff > Some(0);
    if is_held {
        return Duration::ZERO;
    }
    let is_empty = reading.unacked == Some(0) && reading.notsent == Some(Bytes::ZERO);
    let ended = reading.last_data_sent.filter(|_| is_empty);
    let quiet = reading.last_data_recv.filter(|time| *time <= MAX);
    quiet
        .unwrap_or_default()
        .saturating_sub(ended.unwrap_or_default())
}

/// Time since the first of the segments that are retransmitted: the last time, and the timeouts
/// before it, each twice the one before. Before that, nothing may have been sent.
fn silence(reading: &Reading) -> Duration {
    let unheard = reading.last_ack_recv.unwrap_or_default();
    let (Some(sent), Some(rto)) = (reading.last_data_sent, reading.rto) else {
        return unheard;
    };
    let doublings = reading.backoff.unwrap_or(0).min(16);
    unheard.min(sent + rto.saturating_sub(rto / (1 << doublings)))
}
