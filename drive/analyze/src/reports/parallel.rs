//! Finds a full link by the streams of a test that share it.
//!
//! Streams that windows, buffers or losses of their own limit vary independently: the variance of their
//! sum is the sum of their variances. On a full link one stream gets what another one loses: each
//! varies, and their sum does not.

use gigatcp_units::Bytes;
use gigatcp_why::counters::End;

use super::ReportedConnection;

/// Minimum number of intervals, without the first and the last.
const MIN_INTERVALS: usize = 5;

/// Minimum of the streams' deviation over the mean of the sum, for their shares to be seen to vary.
const VARIED: f64 = 0.03;

/// Maximum variance of the sum over the sum of the variances, and of its deviation over its mean.
const ANTICORRELATED: f64 = 0.35;
const STEADY: f64 = 0.1;

/// Maximum share of segments retransmitted: a policer keeps the sum as well, and drops more.
const LOST: f64 = 0.01;

/// Marks the streams of each test, and direction, that filled the link which they share.
pub(super) fn mark(streams: &mut [ReportedConnection]) {
    streams.sort_by_key(|stream| stream.test);
    for streams in streams.chunk_by_mut(|a, b| a.test == b.test) {
        if share_a_full_link(streams) {
            let streams = streams.iter_mut();
            streams.for_each(|stream| stream.shares_full_link = true);
        }
    }
}

/// Whether these streams of one test filled the link that they share. Their intervals have the same
/// times, so as many: where one has more, one of them stalled.
fn share_a_full_link(streams: &[ReportedConnection]) -> bool {
    let rates: Vec<Vec<f64>> = streams.iter().map(ReportedConnection::rates).collect();
    let counts = || rates.iter().map(Vec::len);
    let count = counts().min().unwrap_or(0);
    let is_aligned = counts().all(|of| of <= count + 1);
    if streams.len() < 2 || count < MIN_INTERVALS + 2 || !is_aligned {
        return false;
    }
    let inner = 1..count - 1;
    let sums: Vec<f64> = inner
        .clone()
        .map(|interval| rates.iter().map(|rates| rates[interval]).sum())
        .collect();
    let [mean, variance] = moments(&sums);
    let each = rates.iter().map(|rates| moments(&rates[inner.clone()])[1]);
    let independent: f64 = each.sum();
    let is_varied = independent.sqrt() >= VARIED * mean;
    let is_steady = variance.sqrt() <= STEADY * mean && variance <= ANTICORRELATED * independent;
    is_varied && is_steady && streams.iter().all(|stream| stream.lost() <= LOST)
}

/// Mean and variance.
fn moments(samples: &[f64]) -> [f64; 2] {
    let count = samples.len().max(1) as f64;
    let mean = samples.iter().sum::<f64>() / count;
    let squares = samples
        .iter()
        .map(|sample| (sample - mean) * (sample - mean));
    [mean, squares.sum::<f64>() / count]
}

impl ReportedConnection {
    /// Bytes per second of each interval.
    fn rates(&self) -> Vec<f64> {
        let steps: Vec<_> = self
            .steps
            .iter()
            .filter(|step| step.0 == End::Sender)
            .collect();
        let rate = |two: &[&(End, gigatcp_why::counters::Reading)]| {
            let [(_, from), (_, to)] = [two[0], two[1]];
            let bytes = to.bytes_acked?.saturating_sub(from.bytes_acked?);
            Some(bytes.as_u64() as f64 / to.at.saturating_since(from.at).as_secs_f64().max(1e-9))
        };
        steps.windows(2).filter_map(rate).collect()
    }

    /// Segments retransmitted over those delivered; zero if they are not counted.
    fn lost(&self) -> f64 {
        let last = self.steps.last().map(|(_, reading)| reading);
        let lost = last.and_then(|last| last.total_retrans).unwrap_or(0);
        let bytes = last.and_then(|last| last.bytes_acked).unwrap_or_default();
        let smss = last.and_then(|last| last.smss).unwrap_or(Bytes::new(1448));
        lost as f64 * smss.as_u64() as f64 / (bytes.as_u64() as f64).max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use gigatcp_units::{Duration, Instant};
    use gigatcp_why::counters::Reading;

    use super::*;

    /// Streams with these bytes in each second, and retransmissions in all.
    fn streams(rates: &[[u64; 8]], retransmitted: u64) -> Vec<ReportedConnection> {
        let stream = |rates: &[u64; 8]| {
            let mut stream = ReportedConnection::new("a -> b".to_owned());
            let mut bytes = 0;
            for second in 0..=8_u64 {
                bytes += second.checked_sub(1).map_or(0, |at| rates[at as usize]);
                let reading = Reading {
                    at: Instant::ZERO + Duration::from_secs(second),
                    bytes_acked: Some(Bytes::new(bytes)),
                    total_retrans: Some(retransmitted),
                    ..Reading::default()
                };
                stream.steps.push((End::Sender, reading));
            }
            stream
        };
        rates.iter().map(stream).collect()
    }

    #[test]
    fn shares_that_vary_within_a_steady_sum_are_a_full_link() {
        let a = [100, 130, 90, 140, 80, 120, 100, 90].map(|rate| rate * 10_000);
        let rest = a.map(|rate| 2_000_000 - rate);
        assert!(share_a_full_link(&streams(&[a, rest], 3)));
        // A policer drops more; alone, in step, or all steady they show nothing.
        assert!(!share_a_full_link(&streams(&[a, rest], 300)));
        assert!(!share_a_full_link(&streams(&[a], 3)));
        assert!(!share_a_full_link(&streams(&[a, a], 3)));
        assert!(!share_a_full_link(&streams(&[[1_000_000; 8]; 2], 3)));
    }
}
