//! Streams that begin one after another, until the goodput is saturated (`-P auto`).
//!
//! draft-ietf-ippm-responsiveness-08, "Final Algorithm": one connection carries load at first, and
//! one is added in each direction in each interval until the goodput of all is saturated. Then the
//! path is under working conditions, in which latency counts. The equations are in
//! `gigatcp_theory::responsiveness`.
//!
//! All connections exist before the test. One whose turn has not come sends nothing, and reads
//! nothing, so that its sender stops at the receive window: any server takes part.
//!
//! An interval is a twentieth of the test, from 0.25 s to the draft's 5 s. If the goodput has not
//! saturated before the last four intervals, latency counts in these.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use gigatcp_theory::responsiveness::{DISTANCE, MAX_CONNECTIONS, is_saturated};

use super::switch::Switch;

/// Number of streams of each direction whose turn has come.
#[derive(Debug)]
pub(super) struct Turns(AtomicUsize);

/// Interval at which a stream looks whether its turn has come.
const LOOK: Duration = Duration::from_millis(5);

impl Turns {
    /// Waits until it is the turn of a stream, or the test is over.
    pub(super) fn wait(&self, place: usize, switch: &Switch) {
        switch.wait();
        while self.0.load(Ordering::Acquire) <= place && !switch.is_stopped() {
            std::thread::sleep(LOOK);
        }
    }
}

/// Result of adding streams.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ramp {
    /// Streams in each direction at the end.
    pub streams: usize,
    /// Time from the start of the test at which latency began to count.
    pub loaded_from: Duration,
    /// Whether the goodput was saturated then.
    pub is_saturated: bool,
}

/// Adds streams to a test.
#[derive(Debug)]
pub(super) struct RampControl {
    pub(super) turns: Arc<Turns>,
    interval: Duration,
    begun: Instant,
    due: Instant,
    /// Latest end of the ramp.
    latest: Instant,
    /// Bytes at the end of the last interval, and those of each.
    bytes: u64,
    amounts: Vec<f64>,
    result: Option<Ramp>,
}

impl RampControl {
    /// Prepares a test of that length.
    pub(super) fn new(length: Duration) -> Self {
        let interval = (length / 20).clamp(Duration::from_millis(250), Duration::from_secs(5));
        let now = Instant::now();
        Self {
            turns: Arc::new(Turns(AtomicUsize::new(1))),
            interval,
            begun: now,
            due: now,
            latest: now + length.saturating_sub(interval * DISTANCE as u32),
            bytes: 0,
            amounts: Vec::new(),
            result: None,
        }
    }

    /// Starts with one stream.
    pub(super) fn start(&mut self, now: Instant) {
        self.latest = now + self.latest.saturating_duration_since(self.begun);
        self.begun = now;
        self.due = now + self.interval;
    }

    /// Ends an interval that is over: adds a stream, or ends the ramp.
    pub(super) fn handle_time(&mut self, now: Instant, bytes: u64) {
        if self.result.is_some() || now < self.due {
            return;
        }
        self.due += self.interval;
        self.amounts.push((bytes - self.bytes) as f64);
        self.bytes = bytes;
        let streams = self.turns.0.load(Ordering::Acquire);
        let is_saturated = is_saturated(&self.amounts);
        if is_saturated || now >= self.latest {
            self.result = Some(Ramp {
                streams,
                loaded_from: now.saturating_duration_since(self.begun),
                is_saturated,
            });
        } else if streams < MAX_CONNECTIONS {
            self.turns.0.store(streams + 1, Ordering::Release);
        }
    }

    /// Result; `None`: streams are still added.
    pub(super) const fn result(&self) -> Option<Ramp> {
        self.result
    }

    /// Number of streams of each direction that have begun.
    pub(super) fn streams(&self) -> usize {
        self.turns.0.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a ramp of a test of 10 s over a path that carries `rate(streams)` bytes an interval.
    fn ramped(rate: impl Fn(usize) -> u64) -> Ramp {
        let mut ramp = RampControl::new(Duration::from_secs(10));
        let begun = Instant::now();
        ramp.start(begun);
        let mut bytes = 0;
        for interval in 1..=20 {
            bytes += rate(ramp.streams());
            ramp.handle_time(begun + ramp.interval * interval, bytes);
        }
        ramp.result().unwrap()
    }

    #[test]
    fn path_that_three_streams_fill_is_saturated_with_few() {
        let ramp = ramped(|streams| 1000 * streams.min(3) as u64);
        assert!(
            ramp.is_saturated && (8..=10).contains(&ramp.streams),
            "{ramp:?}"
        );
        assert!(ramp.loaded_from <= Duration::from_secs(5), "{ramp:?}");
    }

    #[test]
    fn path_that_is_never_full_ends_the_ramp_before_the_last_four_intervals() {
        let ramp = ramped(|streams| 1000 * (streams * streams) as u64);
        assert_eq!((ramp.streams, ramp.is_saturated), (16, false));
        assert_eq!(ramp.loaded_from, Duration::from_secs(8));
    }
}
