//! What of a window or a buffer is in flight.
//!
//! Linux grants twice the buffer that a program requests, and `tcp_rmem` and `tcp_wmem` bound what
//! it grants. A packet takes more memory of a receive buffer than its bytes, so that five eighths become
//! window with packets of 1500 bytes, and less with smaller ones. A full send buffer blocks its program
//! until a third is free, and is filled by whole super-segments: its mean flight is between two thirds
//! and more than all of it.

use super::change::Buffer;
use super::model::{Estimate, Model};

/// Memory that the drivers of veth and TUN use for a packet of Ethernet or a smaller one, and the share of
/// the memory of larger packets that is payload. What becomes window of a buffer is its payload, less a
/// segment; the relative error is that over drivers.
const PACKET_MEMORY: f64 = 2304.0;
const PAYLOAD_OF_MEMORY: f64 = 0.628;
pub(super) const WINDOW_ERROR: f64 = 0.12;
/// Share of the memory of a send buffer that is payload, its bookkeeping and idle time left out, and its
/// relative error.
const PAYLOAD_OF_BUFFER: f64 = 0.93;
pub(super) const FLIGHT_ERROR: f64 = 0.12;
/// Part of a send buffer that must be free before a blocked write goes on.
const FREED: f64 = 1.0 / 3.0;
/// Largest super-segment, which is queued as a whole, in bytes.
const SUPER_SEGMENT: f64 = 64e3;
/// Largest window without window scaling.
pub(super) const UNSCALED: f64 = 65_535.0;
/// Segments for each ACK that a receiver waits for, and not only delays for a second one: more are those
/// that GRO merges, whose number depends on the bursts.
const STRETCH: std::ops::RangeInclusive<f64> = 3.0..=16.0;

/// Values of an interval at which a window is divided into segments.
const STEPS: usize = 8;

impl Model {
    /// Whether the receiver waits for several segments before an ACK, whatever the bursts are.
    pub fn is_stretching(&self) -> bool {
        self.ack_every.is_some_and(|every| STRETCH.contains(&every))
    }

    /// What of the receive window is in flight: whole segments, less those that the receiver waits with
    /// before the next ACK. It sends one when half of the window has arrived.
    pub(super) fn usable_window(&self) -> Estimate {
        let Estimate { low, high, .. } = self.window;
        let Some(every) = self
            .ack_every
            .filter(|_| self.is_stretching() && high.is_finite())
        else {
            return self.window;
        };
        let usable = |bytes: f64| {
            let half = (bytes / 2.0 / self.mss).ceil().max(1.0);
            let segments = (bytes / self.mss).floor().max(1.0);
            (segments - segments % every.min(half)) * self.mss
        };
        let steps = (0..=STEPS).map(|step| low + (high - low) * step as f64 / STEPS as f64);
        let windows: Vec<f64> = steps.map(usable).collect();
        Estimate {
            low: windows.iter().copied().fold(f64::INFINITY, f64::min),
            mid: windows.iter().sum::<f64>() / windows.len() as f64,
            high: windows.iter().copied().fold(0.0, f64::max),
        }
    }

    /// Rate of a host that sends or reads in bursts if the send buffer holds few of them: they circulate
    /// between the host and the path. A host that takes the same time for each burst is the upper end; the
    /// lower one is a host whose times are exponential (Reiser and Lavenberg 1980, mean value analysis).
    pub fn of_few_bursts(&self) -> Option<Estimate> {
        let (cause, host) = self.host?;
        let flight = self.flight.mid;
        if cause == "pacing-limited" || !flight.is_finite() {
            return None;
        }
        let burst = burst_of_flight(flight);
        let service = burst * 8.0 / host.mid;
        let bursts = (flight / burst).max(1.0);
        let constant = (bursts / (service + self.base)).min(1.0 / service);
        let mut queued = 0.0;
        let mut rates = vec![0.0];
        for count in 1..=bursts.ceil() as usize {
            let stay = service * (1.0 + queued);
            let rate = count as f64 / (stay + self.base);
            queued = rate * stay;
            rates.push(rate);
        }
        let (below, part) = (bursts.floor() as usize, bursts.fract());
        let above = rates.last().copied().unwrap_or(0.0);
        let exponential = rates[below] * (1.0 - part) + above * part;
        let bps = 8.0 * burst;
        Some(Estimate {
            low: exponential * bps,
            mid: (exponential * constant).sqrt() * bps,
            high: constant * bps,
        })
    }

    /// Share of a receive buffer that full segments fill.
    pub(super) fn payload_of_memory(&self) -> f64 {
        (self.mss / PACKET_MEMORY).min(PAYLOAD_OF_MEMORY)
    }
}

/// Buffer that Linux grants.
pub(super) fn granted(buffer: Buffer) -> f64 {
    match buffer {
        Buffer::Requested(bytes) => 2.0 * bytes as f64,
        Buffer::Tuned(bytes) => bytes as f64,
    }
}

/// Bytes that a blocked write adds to a full send buffer: what must be free, or a super-segment.
fn burst_of_buffer(granted: f64) -> f64 {
    (FREED * granted).max(SUPER_SEGMENT)
}

/// Mean flight of a full send buffer: it falls to two thirds, and a burst fills it.
pub(super) fn flight_of_buffer(granted: f64) -> f64 {
    PAYLOAD_OF_BUFFER * ((1.0 - FREED) * granted + burst_of_buffer(granted) / 2.0)
}

/// The burst of the send buffer that has this mean flight.
pub(super) fn burst_of_flight(flight: f64) -> f64 {
    let granted = flight / PAYLOAD_OF_BUFFER / (1.0 - FREED / 2.0);
    burst_of_buffer(granted)
}

/// Largest window of a buffer that a program requested: the shift is chosen for half of the buffer.
pub(super) fn scaled(granted: f64) -> f64 {
    let shift = (granted / 2.0 / UNSCALED).log2().ceil().clamp(0.0, 14.0);
    UNSCALED * shift.exp2()
}
