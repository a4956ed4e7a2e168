//! Readings from the intervals of a tester's report.
//!
//! A tester reports bytes, retransmissions, cwnd, window and RTT of the sender at the end of an
//! interval, or some of them. The bytes in flight are estimated as rate times RTT (Little's law).
//! Bytes are those written to the socket.
//!
//! Intervals that the tester omits (`-O`) give their RTT alone: their clock is another one.

use gigatcp_units::{Bytes, Duration, Instant, Rate};
use gigatcp_why::counters::{End, Reading};

use super::command::Command;

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
    /// Whether nothing passed, and the sender waited for its timer; found by [`readings`].
    pub is_stalled: bool,
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
    let omitted = intervals.iter().filter(|interval| interval.is_omitted);
    let before: f64 = omitted.map(|interval| interval.bytes).sum();
    let mut bytes = before;
    let mut idle = Duration::ZERO;
    let is_counted = intervals
        .iter()
        .any(|interval| interval.retransmits.is_some());
    let mut retransmits = 0;
    let begin = Reading {
        at: Instant::ZERO + Duration::from_secs(1),
        bytes_acked: Some(Bytes::new(bytes as u64)),
        total_retrans: is_counted.then_some(0),
        app_idle: settings.target.map(|_| Duration::ZERO),
        ..Reading::default()
    };
    let mut at = begin.at;
    let mut readings = vec![(End::Sender, begin)];
    for interval in split(counted(intervals, settings)) {
        let Interval { seconds, .. } = interval;
        at += Duration::from_secs_f64(seconds);
        bytes += interval.bytes;
        retransmits = u64::saturating_add(retransmits, interval.retransmits.unwrap_or(0));
        // A tester that limits its rate waits between its writes. These are as large as an interval
        // may be short.
        let target = settings.target;
        let elapsed = at.saturating_since(begin.at).as_secs_f64();
        let is_kept = |target: f64| {
            let rate = f64::max((bytes - before) / elapsed, interval.bytes / seconds) * 8.0;
            target > 0.0 && rate >= 0.93 * target
        };
        if target.is_some_and(is_kept) {
            idle += Duration::from_secs_f64(0.9 * seconds);
        }
        let smss = settings.smss;
        let rtt = interval.rtt.or(settings.setup_rtt);
        let in_flight = rtt.map(|rtt| interval.bytes / seconds * rtt.as_secs_f64());
        let reading = Reading {
            at,
            smss: Some(Bytes::new(smss)),
            bytes_acked: Some(Bytes::new(bytes as u64)),
            bytes_sent: Some(Bytes::new(bytes as u64)),
            total_retrans: is_counted.then_some(retransmits),
            cwnd_segments: interval.cwnd.map(|cwnd| cwnd as u64 / smss),
            snd_wnd: interval.window.map(|window| Bytes::new(window as u64)),
            rtt: interval.rtt,
            min_rtt,
            unacked: in_flight.map(|bytes| ((bytes / smss as f64) as u64).saturating_add(1)),
            app_idle: target.map(|_| idle),
            backoff: interval.is_stalled.then_some(1),
            max_pacing_rate: settings.pacing,
            pacing_rate: settings.pacing,
            ..Reading::default()
        };
        readings.push((End::Sender, reading));
    }
    readings
}

/// The rate that a tester keeps to, in bit/s; zero if it keeps to none. Without its command, only rates
/// that vary tell that.
pub(super) fn target(command: Option<Command>, intervals: &[Interval]) -> Option<f64> {
    match command {
        Some(command) => command.target.or(Some(0.0)),
        None => is_uneven(intervals).then_some(0.0),
    }
}

/// Whether rates vary more than those of a tester which keeps to one.
fn is_uneven(intervals: &[Interval]) -> bool {
    /// Minimum number of intervals, and of the range of their rates over the highest.
    const MIN: (usize, f64) = (4, 0.15);
    let inner = intervals
        .get(1..intervals.len().max(2) - 1)
        .unwrap_or_default();
    let rates = inner
        .iter()
        .map(|interval| interval.bytes / interval.seconds.max(1e-9));
    let [low, high] = rates.fold([f64::MAX, 0.0], |[low, high], rate| {
        [low.min(rate), high.max(rate)]
    });
    inner.len() >= MIN.0 && high - low > MIN.1 * high
}

/// The intervals that count. Joined to the one before are short ones, and those in which nothing was
/// written while the connection sent: its send buffer was full.
fn counted(intervals: &[Interval], settings: &Settings) -> Vec<Interval> {
    let longest = intervals
        .iter()
        .map(|interval| interval.seconds)
        .fold(0.0, f64::max);
    let mut counted: Vec<Interval> = Vec::new();
    let is_valid = |one: &&Interval| !one.is_omitted && one.seconds > 0.0;
    let two_segments = 2.0 * settings.smss as f64;
    let has_sent = |interval: &Interval| interval.cwnd >= Some(two_segments);
    let has_rate = settings.target.is_some_and(|target| target > 0.0);
    // After a timeout cwnd is a segment (RFC 5681 section 3.1). A tester without a rate to keep to
    // always has data, so where cwnd is not told a second without any is a stall as well.
    let is_stalled = |interval: &Interval| match interval.cwnd {
        Some(cwnd) => interval.bytes <= 0.0 && cwnd < two_segments,
        None => interval.bytes <= 0.0 && !has_rate && interval.seconds >= LONG_STALL,
    };
    for interval in intervals.iter().filter(is_valid) {
        let is_short = interval.seconds < MIN_LENGTH * longest;
        let is_part = is_short || interval.bytes <= 0.0 && has_sent(interval);
        match counted.last_mut() {
            Some(last) if is_part => {
                last.seconds += interval.seconds;
                last.bytes += interval.bytes;
                let more = interval.retransmits;
                last.retransmits = last
                    .retransmits
                    .map(|count| count.saturating_add(more.unwrap_or(0)));
            }
            _ => counted.push(Interval {
                is_stalled: is_stalled(interval),
                ..*interval
            }),
        }
    }
    counted
}

/// Splits the intervals in which a stall begins or ends: the rate outside it is taken to be the usual
/// one.
fn split(intervals: Vec<Interval>) -> Vec<Interval> {
    /// Maximum rate, over the usual one, of an interval that is split.
    const LOW: f64 = 0.8;
    let is_stalled = |at: Option<usize>| {
        let interval = at.and_then(|at| intervals.get(at));
        interval.is_some_and(|interval| interval.is_stalled)
    };
    let near = |at: usize| [at.checked_sub(1), Some(at + 1)].map(is_stalled);
    let rates = intervals.iter().enumerate().filter_map(|(at, interval)| {
        let is_usual = !interval.is_stalled && near(at) == [false; 2];
        is_usual.then_some(interval.bytes / interval.seconds)
    });
    let mut rates: Vec<f64> = rates.collect();
    rates.sort_by(f64::total_cmp);
    let Some(usual) = rates
        .get(rates.len() / 2)
        .copied()
        .filter(|rate| *rate > 0.0)
    else {
        return intervals;
    };
    let mut all = Vec::new();
    for (at, interval) in intervals.iter().enumerate() {
        let [ends, begins] = near(at);
        let moving = interval.bytes / usual;
        let is_part = (ends || begins) && !interval.is_stalled && moving < LOW * interval.seconds;
        if !is_part {
            all.push(*interval);
            continue;
        }
        let stall = Interval {
            seconds: interval.seconds - moving,
            bytes: 0.0,
            retransmits: interval.retransmits.map(|_| 0),
            is_stalled: true,
            ..*interval
        };
        let moving = Interval {
            seconds: moving,
            ..*interval
        };
        let parts = if begins {
            [moving, stall]
        } else {
            [stall, moving]
        };
        all.extend(parts.into_iter().filter(|part| part.seconds > 0.0));
    }
    all
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
        let [before, after] = [begin, second].map(|step| step.1.bytes_acked.unwrap());
        assert_eq!(after.saturating_sub(before), Bytes::new(2_010_000));
        assert_eq!(before, Bytes::new(1_000_000), "omitted");
        assert_eq!(second.1.total_retrans, Some(3));
        assert_eq!(second.1.min_rtt, Some(Duration::from_millis(10)));
    }
}
