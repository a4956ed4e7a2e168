//! Throughput meter of the tester: bytes read by the receiving application, per interval.
//!
//! It counts as nuttcp and iperf3 do: bytes of application data, by the receiver's clock. The clock
//! starts when the receiver's side of the connection is established.

use gigatcp_units::{Bytes, Duration, Instant};

/// Counts what an application reads.
#[derive(Clone, Debug)]
pub struct Meter {
    interval: Duration,
    started_at: Option<Instant>,
    next_boundary: Instant,
    in_interval: u64,
    /// Bytes of each finished interval.
    finished: Vec<Bytes>,
    total: u64,
    last_read_at: Instant,
}

impl Meter {
    /// A meter with intervals of this length.
    pub fn new(interval: Duration) -> Self {
        Self {
            interval,
            started_at: None,
            next_boundary: Instant::FAR_FUTURE,
            in_interval: 0,
            finished: Vec::new(),
            total: 0,
            last_read_at: Instant::ZERO,
        }
    }

    /// Starts the clock, unless it is running.
    pub fn start(&mut self, now: Instant) {
        if self.started_at.is_none() {
            self.started_at = Some(now);
            self.next_boundary = now + self.interval;
            self.last_read_at = now;
        }
    }

    /// Records a read of `octets`, after closing the intervals that are over by `now`.
    #[inline]
    pub fn on_read(&mut self, now: Instant, octets: u64) {
        while now >= self.next_boundary {
            self.finished.push(Bytes::new(self.in_interval));
            self.in_interval = 0;
            self.next_boundary += self.interval;
        }
        self.in_interval += octets;
        self.total += octets;
        self.last_read_at = now;
    }

    /// Time at which the clock started.
    pub fn started_at(&self) -> Option<Instant> {
        self.started_at
    }

    /// Length of an interval.
    pub fn interval(&self) -> Duration {
        self.interval
    }

    /// Bytes of each finished interval.
    pub fn finished(&self) -> &[Bytes] {
        &self.finished
    }

    /// Bytes read in total.
    pub fn total(&self) -> Bytes {
        Bytes::new(self.total)
    }

    /// Time from the start of the clock to the last byte read.
    pub fn elapsed(&self) -> Duration {
        self.started_at.map_or(Duration::ZERO, |start| {
            self.last_read_at.saturating_since(start)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn octets_are_counted_in_the_interval_in_which_they_are_read() {
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        let mut meter = Meter::new(Duration::from_secs(1));
        meter.start(at(500));
        meter.on_read(at(600), 10);
        meter.on_read(at(1499), 10);
        meter.on_read(at(1500), 5);
        meter.on_read(at(4600), 1);
        let octets: Vec<u64> = meter.finished().iter().map(|b| b.as_u64()).collect();
        assert_eq!(octets, [20, 5, 0, 0]);
        assert_eq!(meter.total(), Bytes::new(26));
        assert_eq!(meter.elapsed(), Duration::from_millis(4100));
    }
}
