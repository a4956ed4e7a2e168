//! Westwood+: reduces to the measured bandwidth times the minimum RTT.
//!
//! Grieco, Mascolo, "Performance evaluation and comparison of Westwood+, New Reno and Vegas", CCR
//! 34(2), 2004; filters and constants of Linux 6.12 (`tcp_westwood.c`):
//!
//! * every max(RTT, 50 ms): b = octets delivered/elapsed time; ns = (7·ns + b)/8, est = (7·est +
//!   ns)/8, both b at the first sample;
//! * ssthresh = est·RTTmin at a congestion event; cwnd = min(cwnd, ssthresh), one segment after a
//!   timeout, which also restarts the measurement of RTTmin;
//! * growth is Reno's.
//!
//! A single flow keeps its bottleneck saturated whatever the queue limit: its window becomes the
//! BDP. Half the window would be less than that if the queue holds less than the BDP.
//!
//! Not as in Linux: the kernel halves ssthresh during recovery and sets the estimate at its end;
//! the paper sets it immediately, as here. Delivered data is counted in octets, without the
//! kernel's accounting of duplicate ACKs.

use gigatcp_units::{Duration, Instant};

use super::windowed::{Law, Window, Windowed};
use super::{Ack, Config, Congestion};

/// Minimum interval of a bandwidth sample.
const MIN_INTERVAL: Duration = Duration::from_millis(50);

pub(super) fn control(config: &Config) -> Windowed<Westwood> {
    Windowed::new(config, Westwood::default())
}

/// The law of Westwood+.
#[derive(Clone, Default, Debug)]
pub(super) struct Westwood {
    /// Octets delivered since `since`.
    delivered: u64,
    /// Start of this sample; `None` before the first ACK.
    since: Option<Instant>,
    /// Bandwidth filtered once and twice, in octets per second.
    filtered: u64,
    estimate: u64,
    rtt: Option<Duration>,
    /// Minimum RTT since the last timeout.
    rtt_min: Option<Duration>,
    /// Whether the next sample replaces `rtt_min`.
    learns_rtt: bool,
}

impl Westwood {
    fn sample(&mut self, now: Instant) {
        let since = *self.since.get_or_insert(now);
        let elapsed = now.saturating_since(since);
        let Some(rtt) = self.rtt else {
            return;
        };
        if elapsed <= rtt.max(MIN_INTERVAL) {
            return;
        }
        let b = u128::from(self.delivered) * 1_000_000_000 / u128::from(elapsed.as_nanos());
        let b = u64::try_from(b).unwrap_or(u64::MAX);
        if (self.filtered, self.estimate) == (0, 0) {
            (self.filtered, self.estimate) = (b, b);
        } else {
            self.filtered = seven_eighths(self.filtered, b);
            self.estimate = seven_eighths(self.estimate, self.filtered);
        }
        self.delivered = 0;
        self.since = Some(now);
    }

    /// Returns est·RTTmin in octets.
    fn bdp(&self) -> u64 {
        let rtt_min = self.rtt_min.map_or(0, |rtt| rtt.as_nanos());
        let bdp = u128::from(self.estimate) * u128::from(rtt_min) / 1_000_000_000;
        u64::try_from(bdp).unwrap_or(u64::MAX)
    }
}

fn seven_eighths(old: u64, new: u64) -> u64 {
    (u128::from(old) * 7 + u128::from(new)).div_euclid(8) as u64
}

impl Law for Westwood {
    fn observe(&mut self, _window: &mut Window, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.rtt = Some(rtt);
            let known = self.rtt_min.filter(|_| !self.learns_rtt);
            self.rtt_min = Some(known.map_or(rtt, |known| known.min(rtt)));
            self.learns_rtt = false;
        }
        self.delivered = self.delivered.saturating_add(ack.delivered.as_u64());
        self.sample(ack.now);
    }

    fn grow_avoidance(&mut self, window: &mut Window, _ack: &Ack, acked: u64) {
        window.grow_by_segments(window.segments(), acked);
    }

    fn reduced(&mut self, _window: &Window, _event: &Congestion, _in_use: u64) -> u64 {
        self.bdp()
    }

    fn on_timeout(&mut self) {
        self.learns_rtt = true;
    }

    fn keep_measured(&mut self, since: &Self) {
        let learns_rtt = self.learns_rtt;
        *self = Self {
            learns_rtt,
            ..since.clone()
        };
    }
}
