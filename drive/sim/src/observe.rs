//! Samples of each sender and link of a simulation at regular intervals.

use gigatcp_path::{Counters, Tally, Waited};
use gigatcp_tcp::Connection;
use gigatcp_units::{Bytes, Duration, Instant, Rate};
use gigatcp_wire::Phantom;

/// The engine of a sender.
type Sender = Connection<Phantom>;

/// State of a sender at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// When.
    pub at: Instant,
    /// Congestion window.
    pub cwnd: Bytes,
    /// Slow-start threshold; `None` while unset.
    pub ssthresh: Option<Bytes>,
    /// Window the receiver advertises.
    pub rwnd: Bytes,
    /// Bytes in flight.
    pub flight: Bytes,
    /// Smoothed RTT; `None` before the first measurement.
    pub srtt: Option<Duration>,
    /// Pacing rate, if segments are paced.
    pub pacing_rate: Option<Rate>,
    /// Wire segments retransmitted so far.
    pub retransmitted: u64,
    /// Bytes the receiving application has read so far.
    pub delivered: u64,
}

impl Sample {
    /// Samples a sender, whose receiving application has read `delivered` bytes.
    pub(crate) fn of(sender: &Sender, at: Instant, delivered: u64) -> Self {
        let info = sender.info();
        Self {
            at,
            cwnd: info.cwnd,
            ssthresh: (info.ssthresh != Bytes::MAX).then_some(info.ssthresh),
            rwnd: info.snd_wnd,
            flight: info.flight_size,
            srtt: info.srtt,
            pacing_rate: info.pacing_rate,
            retransmitted: sender.counters().retransmitted_segments,
            delivered,
        }
    }
}

/// A queue at one moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkSample {
    /// When.
    pub at: Instant,
    /// Packets waiting and in service.
    pub backlog: Tally,
    /// Mean sojourn of the packets that left in the sample interval that ends here. If none left
    /// although some wait: the value of the previous sample.
    pub queueing_delay: Duration,
    /// Wire packets dropped so far, whatever the cause.
    pub dropped: u64,
    /// Wire packets marked so far.
    pub marked: u64,
}

/// Samples of one link. A sample equal to the previous one is left out.
#[derive(Clone, Debug, Default)]
pub struct LinkSamples {
    taken: Vec<LinkSample>,
    /// Sojourns of packets that had left at the last sample.
    left: Waited,
}

impl LinkSamples {
    /// Takes a sample of a link. `left` are the sojourns of packets that have left so far.
    pub fn take(&mut self, now: Instant, backlog: Tally, left: Waited, counters: &Counters) {
        let mean = left.mean_since(self.left);
        self.left = left;
        let last = self.taken.last();
        let before = last
            .filter(|_| !backlog.is_zero())
            .map(|last| last.queueing_delay);
        let sample = LinkSample {
            at: now,
            backlog,
            queueing_delay: mean.or(before).unwrap_or_default(),
            dropped: counters.drops.total().packets,
            marked: counters.marked.packets,
        };
        if last.map(|last| LinkSample { at: now, ..*last }) != Some(sample) {
            self.taken.push(sample);
        }
    }

    /// Number of samples.
    pub(crate) fn len(&self) -> usize {
        self.taken.len()
    }

    /// Keeps the last sample of every `step`, which holds at its end.
    pub(crate) fn thin(&mut self, step: Duration) {
        let number = |sample: &LinkSample| sample.at.as_nanos().div_ceil(step.as_nanos());
        self.taken.dedup_by(|later, kept| {
            let is_same = number(later) == number(kept);
            if is_same {
                *kept = *later;
            }
            is_same
        });
    }

    /// All samples, oldest first; each holds until the next.
    pub fn as_slice(&self) -> &[LinkSample] {
        &self.taken
    }
}
