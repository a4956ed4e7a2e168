//! Samples of a run at regular intervals, within a limit on the size of its record.
//!
//! When the samples of senders and links would exceed the limit, the interval doubles, and samples
//! between the new times are dropped. So the record of many flows or of a long run is bounded, and
//! a small one has the configured interval. The first and the last sample of each sender stay, and
//! counters in the samples are totals, so nothing is lost but the times in between.

use gigatcp_units::{Bytes, Duration, Instant};

use crate::observe::{LinkSamples, Sample};

/// Mean size of a sample of a sender in `run.json`, its share of the spans of causes included.
const SENDER_BYTES: usize = 150;

/// Mean size of a sample of a link in `run.json`.
const LINK_BYTES: usize = 50;

/// Samples of all senders and links.
#[derive(Debug)]
pub(crate) struct Samples {
    pub(crate) senders: Vec<Vec<Sample>>,
    pub(crate) links: Vec<LinkSamples>,
    configured: Duration,
    step: Duration,
    limit: Bytes,
}

impl Samples {
    /// No samples, for this number of senders and links.
    pub(crate) fn new([senders, links]: [usize; 2], step: Duration, limit: Bytes) -> Self {
        Self {
            senders: vec![Vec::new(); senders],
            links: vec![LinkSamples::default(); links],
            configured: step,
            step,
            limit,
        }
    }

    /// Current interval.
    pub(crate) fn step(&self) -> Duration {
        self.step
    }

    /// Interval if the limit has made it longer than configured.
    pub(crate) fn longer_step(&self) -> Option<Duration> {
        (self.step > self.configured).then_some(self.step)
    }

    /// Whether the samples exceed the limit.
    pub(crate) fn exceed_limit(&self) -> bool {
        let senders = self.senders.iter().map(|taken| taken.len() * SENDER_BYTES);
        let links = self.links.iter().map(|link| link.len() * LINK_BYTES);
        let bytes: usize = senders.chain(links).sum();
        bytes as u64 > self.limit.as_u64()
    }

    /// Doubles the interval and drops the samples between its times.
    pub(crate) fn thin(&mut self) {
        self.step = self.step * 2;
        let step = self.step.as_nanos();
        for taken in &mut self.senders {
            let ends = [taken.first(), taken.last()].map(|sample| sample.map(|sample| sample.at));
            taken.retain(|sample| is_multiple(sample.at, step) || ends.contains(&Some(sample.at)));
        }
        for link in &mut self.links {
            link.thin(self.step);
        }
    }
}

fn is_multiple(at: Instant, step: u64) -> bool {
    at.as_nanos().is_multiple_of(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(ms: u64) -> Sample {
        Sample {
            at: Instant::ZERO + Duration::from_millis(ms),
            cwnd: Bytes::ZERO,
            ssthresh: None,
            rwnd: Bytes::ZERO,
            flight: Bytes::ZERO,
            srtt: None,
            pacing_rate: None,
            retransmitted: ms,
            delivered: 0,
        }
    }

    #[test]
    fn samples_beyond_the_limit_keep_the_first_the_last_and_every_second_time() {
        let limit = Bytes::new(4 * SENDER_BYTES as u64);
        let mut samples = Samples::new([1, 0], Duration::from_millis(10), limit);
        samples.senders[0].extend([30, 40, 50, 60].map(sample));
        assert!(!samples.exceed_limit());
        assert_eq!(samples.longer_step(), None);
        samples.senders[0].push(sample(70));
        assert!(samples.exceed_limit());
        samples.thin();
        let times = samples.senders[0].iter().map(|sample| sample.retransmitted);
        assert_eq!(times.collect::<Vec<_>>(), [30, 40, 60, 70]);
        assert_eq!(samples.longer_step(), Some(Duration::from_millis(20)));
    }
}
