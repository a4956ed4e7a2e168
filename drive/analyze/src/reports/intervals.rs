//! Readings from the intervals of a tester's report.
//!
//! A tester reports bytes, retransmissions, cwnd, window and RTT of the sender at the end of an
//! interval, or some of them. The bytes in flight are estimated as rate times RTT (Little's law).
//! Bytes are those written to the socket.
//!
//! Intervals that the tester omits (`-O`) give their RTT alone: their clock is another one.

use gigatcp_units::{Bytes, Duration, Instant, Rate};
use gigatcp_why::counters::{End, Reading};

/// Minimum length of an interval over the longest one. A shorter one, as at the end of a test, is
/// part of its neighbor: rates over a few milliseconds say nothing.
const MIN_LENGTH: f64 = 0.25;

/// Length of an interval in seconds that shows a stall: more than a first timeout takes.
const LONG_STALL: f64 = 0.9;

/// Assumed segment size, if none is reported.
pub(super) const SMSS: u64 = 1448;

/// An interval.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Interval {
    pub seconds: f64,
    pub bytes: f64,
    pub retransmits: Option<u64>,
    /// Congestion window, bytes.
    pub cwnd: Option<f64>,
    /// Window that the receiver advertises, bytes.
    pub window: Option<f64>,
    pub rtt: Option<Duration>,
    pub is_omitted: bool,
}

/// Settings of a test.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    pub smss: u64,
    /// Rate that the tester keeps to, bit/s. Zero if it sends as fast as it can.
    pub target: Option<f64>,
    /// Pacing rate that it requests of the kernel.
    pub pacing: Option<Rate>,
    /// RTT of the connection's setup, for intervals without their own.
    pub setup_rtt: Option<Duration>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            smss: SMSS,
            target: None,
            pacing: None,
            setup_rtt: None,
        }
    }
}

/// Readings of the sender at the ends of the intervals.
pub(super) fn readings(intervals: &[Interval], settings: &Settings) -> Vec<(End, Reading)> {
    let rtts = intervals.iter().filter_map(|interval| interval.rtt);
    let min_rtt = rtts.chain(settings.setup_rtt).min();
    let mut bytes = 0.0;
    let mut idle = Duration::ZERO;
    let mut retransmits = 0;
    let begin = Reading {
        at: Instant::ZERO + Duration::from_secs(1),
        bytes_acked: Some(Bytes::ZERO),
        total_retrans: Some(0),
        app_idle: settings.target.map(|_| Duration::ZERO),
        ..Reading::default()
    };
    let mut at = begin.at;
    let mut readings = vec![(End::Sender, begin)];
    for interval in counted(intervals) {
        let Interval { seconds, .. } = interval;
        at += Duration::from_secs_f64(seconds);
        bytes += interval.bytes;
        retransmits += interval.retransmits.unwrap_or(0);
        // A tester that limits its rate waits between its writes. These are as large as an interval
        // may be short.
        let target = settings.target;
        let elapsed = at.saturating_since(begin.at).as_secs_f64();
        let is_kept = |target: f64| {
            let rate = f64::max(bytes / elapsed, interval.bytes / seconds) * 8.0;
            target > 0.0 && rate >= 0.93 * target
        };
        if target.is_some_and(is_kept) {
            idle += Duration::from_secs_f64(0.9 * seconds);
        }
        let smss = settings.smss;
        let rtt = interval.rtt.or(settings.setup_rtt);
        // After a timeout cwnd is a segment (RFC 5681 section 3.1). A tester without a rate to keep to
        // always has data, so where cwnd is not told a second without any is a stall as well.
        let is_one_segment = |cwnd: f64| cwnd < 2.0 * smss as f64;
        let is_timed_out = interval.bytes <= 0.0
            && interval
                .cwnd
                .map_or(target.is_none() && seconds >= LONG_STALL, is_one_segment);
        let in_flight = rtt.map(|rtt| interval.bytes / seconds * rtt.as_secs_f64());
        let reading = Reading {
            at,
            smss: Some(Bytes::new(smss)),
            bytes_acked: Some(Bytes::new(bytes as u64)),
            bytes_sent: Some(Bytes::new(bytes as u64)),
            total_retrans: Some(retransmits),
            cwnd_segments: interval.cwnd.map(|cwnd| cwnd as u64 / smss),
            snd_wnd: interval.window.map(|window| Bytes::new(window as u64)),
            rtt: interval.rtt,
            min_rtt,
            unacked: in_flight.map(|bytes| (bytes / smss as f64) as u64 + 1),
            app_idle: target.map(|_| idle),
            backoff: is_timed_out.then_some(1),
            max_pacing_rate: settings.pacing,
            pacing_rate: settings.pacing,
            ..Reading::default()
        };
        readings.push((End::Sender, reading));
    }
    readings
}

/// The intervals that count, short ones joined to the one before.
fn counted(intervals: &[Interval]) -> Vec<Interval> {
    let longest = intervals
        .iter()
        .map(|interval| interval.seconds)
        .fold(0.0, f64::max);
    let mut counted: Vec<Interval> = Vec::new();
    let is_valid = |one: &&Interval| !one.is_omitted && one.seconds > 0.0;
    for interval in intervals.iter().filter(is_valid) {
        match counted.last_mut() {
            Some(last) if interval.seconds < MIN_LENGTH * longest => {
                last.seconds += interval.seconds;
                last.bytes += interval.bytes;
                let more = interval.retransmits;
                last.retransmits = last.retransmits.map(|count| count + more.unwrap_or(0));
            }
            _ => counted.push(*interval),
        }
    }
    counted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn omitted_intervals_count_only_for_the_rtt_and_a_short_end_joins() {
        let of = |seconds, rtt, is_omitted| Interval {
            seconds,
            bytes: 1e6 * seconds,
            retransmits: Some(1),
            rtt: Some(Duration::from_millis(rtt)),
            is_omitted,
            ..Interval::default()
        };
        let intervals = [
            of(1.0, 10, true),
            of(1.0, 30, false),
            of(1.0, 40, false),
            of(0.01, 50, false),
        ];
        let readings = readings(&intervals, &Settings::default());
        let [begin, first, second] = &readings[..] else {
            panic!("{readings:?}");
        };
        assert_eq!(
            first.1.at.saturating_since(begin.1.at),
            Duration::from_secs(1)
        );
        assert_eq!(
            second.1.at.saturating_since(first.1.at),
            Duration::from_millis(1010)
        );
        assert_eq!(second.1.bytes_acked, Some(Bytes::new(2_010_000)));
        assert_eq!(second.1.total_retrans, Some(3));
        assert_eq!(second.1.min_rtt, Some(Duration::from_millis(10)));
    }
}
