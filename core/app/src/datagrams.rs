//! Datagrams at a rate, and measurements of the path by their receiver.
//!
//! **[`Source`]** has the two laws of nuttcp. The average (`-R`): packet `n` is due at
//!
//! ```text
//! t(n) = t(0) + n size / rate                                           (1)
//! ```
//!
//! and a source that was delayed catches up as fast as it can. The instantaneous (`-Ri`): every
//! packet is due `size / rate` after the actual sending of the one before; delays are not made up
//! for. With both, a source catches up at the instantaneous rate. With `burst` N (`-Ri300m/20`), N
//! packets are due together, and the next N after N times that distance. Rates count the payload.
//!
//! **[`Sink`]** counts by sequence numbers, exactly: a duplicate is not counted as a missing
//! packet, and does not hide a loss.
//!
//! * Reordering (RFC 4737): a packet is reordered if a larger number arrived before it
//!   (section 3.3). Its extent is the number of arrivals from the first of these to it
//!   (section 4.2.1). Duplicates are not counted as arrivals.
//! * Interarrival jitter (RFC 3550 section 6.4.1): with D the difference of the transit times of
//!   two consecutive packets,
//!
//! ```text
//! J <- J + (|D| - J) / 16                                               (2)
//! ```
//!
//! Equation (2) is computed in nanoseconds with a fraction, not in timestamp units. A missing
//! packet costs memory until it arrives: one entry per run of losses, at most [`MAX_RUNS`]. Beyond
//! that the oldest run is dropped: a packet of it that arrives later counts as a duplicate, and
//! remains lost.

use alloc::collections::BTreeMap;

use gigatcp_units::settings::Parameter;
use gigatcp_units::{Bytes, Duration, Instant, Rate};

use crate::registry::{Build, Entry, Make};

/// Entry of the registry.
pub(crate) const ENTRY: Entry = Entry {
    name: "datagrams",
    summary: "UDP at a rate, average or instantaneous, in bursts; losses, reordering, jitter",
    parameters: &[RATE, INSTANTANEOUS, SIZE, BURST, COUNT, FOR],
    make: Make::Datagrams(Source::of),
};

const RATE: Parameter = Parameter::rate(
    "rate",
    Some(Rate::from_bps(1_000_000)),
    "average rate of the payload; a late source catches up (nuttcp -R)",
);
const INSTANTANEOUS: Parameter = Parameter::rate(
    "instantaneous",
    None,
    "rate that is not exceeded between any two packets or bursts (nuttcp -Ri)",
);
const SIZE: Parameter = Parameter {
    most: gigatcp_units::settings::Value::Octets(65_507),
    ..Parameter::octets("size", Some(1400), "bytes of payload of a datagram")
};
const BURST: Parameter = Parameter::count(
    "burst",
    Some(1),
    1_000_000,
    "datagrams that are sent together (nuttcp -Ri300m/20)",
);
const COUNT: Parameter = Parameter::count("count", None, 1 << 40, "number of datagrams");
const FOR: Parameter =
    Parameter::time("for", None, "how long it sends; off: to the end of the run");

/// Maximum number of runs of losses in a sink. It is bounded because a peer chooses the numbers of
/// its datagrams.
pub const MAX_RUNS: usize = 1 << 16;

/// Sizes and times of a source's datagrams.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SourceConfig {
    /// Average rate. `None`: only the instantaneous one applies.
    pub rate: Option<Rate>,
    /// Instantaneous rate. `None`: late datagrams are sent immediately.
    pub instantaneous: Option<Rate>,
    /// Octets of payload.
    pub size: u32,
    /// Datagrams that are due together.
    pub burst: u64,
    /// Number of datagrams. None: unlimited.
    pub count: Option<u64>,
    /// Duration of sending. `None`: unlimited.
    pub span: Option<Duration>,
}

/// A datagram to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Datagram {
    /// Its number, from zero.
    pub seq: u64,
    /// Octets of payload.
    pub size: u32,
}

/// A source of datagrams.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Source {
    config: SourceConfig,
    began_at: Instant,
    sent: u64,
    /// Due time of the next datagram.
    next_at: Instant,
}

impl Source {
    /// A source that has not started.
    pub fn new(config: SourceConfig) -> Self {
        Self {
            config: SourceConfig {
                size: config.size.max(1),
                burst: config.burst.max(1),
                ..config
            },
            began_at: Instant::ZERO,
            sent: 0,
            next_at: Instant::FAR_FUTURE,
        }
    }

    fn of(build: &Build<'_>) -> Self {
        let settings = build.settings;
        let is_set = |parameter: &Parameter| settings.iter().any(|s| s.name == parameter.name);
        let instantaneous = settings.rate(&INSTANTANEOUS);
        // An instantaneous rate disables the default of the average rate.
        let has_average = instantaneous.is_none() || is_set(&RATE);
        Self::new(SourceConfig {
            rate: settings.rate(&RATE).filter(|_| has_average),
            instantaneous,
            size: settings.whole(&SIZE) as u32,
            burst: settings.whole(&BURST),
            count: settings.maybe_whole(&COUNT),
            span: settings.maybe_time(&FOR),
        })
    }

    /// Starts the source.
    pub fn start(&mut self, now: Instant) {
        self.began_at = now;
        self.next_at = now;
        self.end_at(now);
    }

    /// Due time of the next datagram; `None` after the last.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.next_at.if_due()
    }

    /// Datagram due at `now`. The host sends it immediately, or polls later.
    pub fn poll_send(&mut self, now: Instant) -> Option<Datagram> {
        if self.next_at > now {
            return None;
        }
        let datagram = Datagram {
            seq: self.sent,
            size: self.config.size,
        };
        self.sent += 1;
        self.next_at = self.due_after(now);
        self.end_at(self.next_at);
        Some(datagram)
    }

    /// Due time of the datagram after one sent at `now`.
    fn due_after(&self, now: Instant) -> Instant {
        let burst = self.config.burst;
        if !self.sent.is_multiple_of(burst) {
            return now;
        }
        let octets = u64::from(self.config.size);
        let average = self.config.rate.map_or(now, |rate| {
            let sent = octets.saturating_mul(self.sent);
            self.began_at + rate.time_for(Bytes::new(sent))
        });
        let instantaneous = self.config.instantaneous.map_or(now, |rate| {
            now + rate.time_for(Bytes::new(octets.saturating_mul(burst)))
        });
        average.max(instantaneous).max(now)
    }

    /// Stops if the source has ended by `at`, the due time of the next datagram.
    fn end_at(&mut self, at: Instant) {
        let is_over = self.config.count.is_some_and(|count| self.sent >= count)
            || self
                .config
                .span
                .is_some_and(|span| at >= self.began_at + span);
        if is_over {
            self.next_at = Instant::FAR_FUTURE;
        }
    }

    /// Number of datagrams sent.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Returns whether it has started and sends no more.
    pub fn is_finished(&self) -> bool {
        self.sent > 0 && self.next_at == Instant::FAR_FUTURE
    }
}

/// Counts of a sink.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct SinkReport {
    /// Datagrams that arrived, each number counted once.
    pub received: u64,
    /// Their octets of payload.
    pub octets: u64,
    /// Datagrams that did not arrive, among those before the largest number that did.
    pub lost: u64,
    /// Datagrams whose number had already arrived.
    pub duplicates: u64,
    /// Reordered datagrams.
    pub reordered: u64,
    /// Largest extent of reordering.
    pub max_extent: u64,
    /// Sum of the extents of all reordered datagrams.
    pub extents: u64,
    /// Interarrival jitter, equation (2).
    pub jitter: Duration,
    /// Maximum of the jitter.
    pub max_jitter: Duration,
    /// Time from the first arrival to the last.
    pub elapsed: Duration,
}

/// Receiver of datagrams.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Sink {
    report: SinkReport,
    /// Number after the largest that arrived.
    next_expected: u64,
    /// Runs of missing numbers, by the first. Values: the number after the last, and the number of
    /// arrivals when the run was skipped.
    missing: BTreeMap<u64, (u64, u64)>,
    first_at: Option<Instant>,
    /// Transit time of the previous datagram, in nanoseconds, between two clocks.
    transit: Option<i128>,
    jitter: f64,
}

impl Sink {
    /// A sink that has received nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Processes a datagram that arrives at `now`, sent at `sent_at` by the sender's clock.
    pub fn handle_datagram(&mut self, now: Instant, sent_at: Instant, datagram: Datagram) {
        let first_at = *self.first_at.get_or_insert(now);
        self.report.elapsed = now.saturating_since(first_at);
        self.take_jitter(now, sent_at);
        let seq = datagram.seq;
        if seq >= self.next_expected {
            if seq > self.next_expected {
                let run = (seq, self.report.received);
                self.missing.insert(self.next_expected, run);
                if self.missing.len() > MAX_RUNS {
                    self.missing.pop_first();
                }
            }
            self.report.lost += seq - self.next_expected;
            self.next_expected = seq.saturating_add(1);
        } else if !self.fill(seq) {
            self.report.duplicates += 1;
            return;
        }
        self.report.received += 1;
        self.report.octets += u64::from(datagram.size);
        // A peer chooses the numbers: the largest possible one has no successor.
        debug_assert!(
            self.next_expected == u64::MAX
                || self.report.received + self.report.lost == self.next_expected,
            "each number below {} has arrived once or is lost: {:?}",
            self.next_expected,
            self.report
        );
    }

    /// Whether the datagram with this number has arrived.
    pub fn has(&self, seq: u64) -> bool {
        let run = self.missing.range(..=seq).next_back();
        let is_missing = run.is_some_and(|(_, (end, _))| seq < *end);
        seq < self.next_expected && !is_missing
    }

    /// Marks a late number as arrived; returns whether it was missing.
    fn fill(&mut self, seq: u64) -> bool {
        let Some((&first, &(end, skipped_at))) = self.missing.range(..=seq).next_back() else {
            return false;
        };
        if seq >= end {
            return false;
        }
        self.missing.remove(&first);
        if first < seq {
            self.missing.insert(first, (seq, skipped_at));
        }
        if seq + 1 < end {
            self.missing.insert(seq + 1, (end, skipped_at));
        }
        if self.missing.len() > MAX_RUNS {
            self.missing.pop_first();
        }
        self.report.lost -= 1;
        self.report.reordered += 1;
        let extent = self.report.received - skipped_at;
        self.report.extents += extent;
        self.report.max_extent = self.report.max_extent.max(extent);
        true
    }

    /// Applies equation (2).
    fn take_jitter(&mut self, now: Instant, sent_at: Instant) {
        let transit = i128::from(now.as_nanos()) - i128::from(sent_at.as_nanos());
        if let Some(before) = self.transit.replace(transit) {
            let difference = transit.abs_diff(before) as f64;
            self.jitter += (difference - self.jitter) / 16.0;
            let jitter = Duration::from_nanos(libm::round(self.jitter) as u64);
            self.report.jitter = jitter;
            self.report.max_jitter = self.report.max_jitter.max(jitter);
        }
    }

    /// Counts so far.
    pub fn report(&self) -> SinkReport {
        self.report
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::registry;

    fn at(us: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(us)
    }

    fn source(text: &str) -> Source {
        let config = registry::read(text).unwrap();
        let mut source = config.datagrams(1, "flow").unwrap();
        source.start(at(0));
        source
    }

    /// Sending times of a source polled at its due times. Nothing is sent from `from` to `to`.
    fn times(source: &mut Source, held: (u64, u64)) -> Vec<u64> {
        let mut times = Vec::new();
        while let Some(mut now) = source.poll_timeout() {
            if (at(held.0)..at(held.1)).contains(&now) {
                now = at(held.1);
            }
            assert!(source.poll_send(now).is_some());
            times.push(now.as_nanos() / 1000);
        }
        times
    }

    #[test]
    fn an_average_rate_catches_up_and_an_instantaneous_one_does_not() {
        let mut average = source("datagrams, rate 8 Mbit/s, size 1000, count 6");
        assert_eq!(
            times(&mut average, (1500, 3500)),
            [0, 1000, 3500, 3500, 4000, 5000]
        );
        let mut instant = source("datagrams, instantaneous 8 Mbit/s, size 1000, count 6");
        assert_eq!(
            times(&mut instant, (1500, 3500)),
            [0, 1000, 3500, 4500, 5500, 6500]
        );
        let text = "datagrams, rate 8 Mbit/s, instantaneous 16 Mbit/s, size 1000, count 6";
        let mut both = source(text);
        assert_eq!(
            times(&mut both, (1500, 3500)),
            [0, 1000, 3500, 4000, 4500, 5000]
        );
    }

    /// nuttcp -u -Ri300m/20: bursts of 20, at 300 Mbit/s on average.
    #[test]
    fn bursts_leave_together_at_the_average_of_their_rate() {
        let text = "datagrams, instantaneous 300 Mbit/s, size 1500, burst 20, count 60";
        let times = times(&mut source(text), (0, 0));
        assert!(times[..20].iter().all(|time| *time == 0));
        assert!(times[20..40].iter().all(|time| *time == 800));
        assert!(times[40..].iter().all(|time| *time == 1600));
    }

    #[test]
    fn a_source_ends_with_its_time() {
        let mut source = source("datagrams, rate 8 Mbit/s, size 1000, for 3 ms");
        assert_eq!(times(&mut source, (0, 0)), [0, 1000, 2000]);
        assert!(source.is_finished() && source.sent() == 3);
    }

    fn sink(numbers: &[u64]) -> SinkReport {
        let mut sink = Sink::new();
        for (index, &seq) in numbers.iter().enumerate() {
            let size = 1000;
            let now = at(1000 * index as u64);
            sink.handle_datagram(now, at(1000 * seq), Datagram { seq, size });
        }
        sink.report()
    }

    #[test]
    fn numbers_that_a_peer_makes_up_do_not_grow_memory() {
        let mut sink = Sink::new();
        let mut take = |seq| {
            let datagram = Datagram { seq, size: 1 };
            sink.handle_datagram(at(0), at(0), datagram);
        };
        (0..2 * MAX_RUNS as u64).for_each(|run| take(2 * run + 1));
        // The middle of a run splits it in two.
        take(1 << 20);
        (0..1000).for_each(|place| take((1 << 19) + 3 * place));
        take(u64::MAX);
        take(0);
        assert!(sink.missing.len() <= MAX_RUNS);
        assert_eq!((sink.report.duplicates, sink.report.reordered), (1, 1000));
    }

    /// An example like that of RFC 4737 section 4.2.3. Of 1 2 3 7 8 9 10 4 5 6 the packets 4, 5 and
    /// 6 are reordered, by 4, 5 and 6 arrivals after packet 7.
    #[test]
    fn the_extent_of_reordering_counts_arrivals_since_the_first_larger_number() {
        let report = sink(&[0, 1, 2, 6, 7, 8, 9, 3, 4, 5]);
        assert_eq!(
            (report.reordered, report.max_extent, report.extents),
            (3, 6, 15)
        );
        assert_eq!(
            (report.received, report.lost, report.duplicates),
            (10, 0, 0)
        );
    }

    #[test]
    fn one_late_packet_has_extent_one_if_only_its_successor_overtook_it() {
        let report = sink(&[0, 2, 1, 3]);
        assert_eq!((report.reordered, report.max_extent), (1, 1));
    }

    /// iperf3 counts 1 lost less here: its duplicate cancels the loss.
    #[test]
    fn a_duplicate_hides_no_loss() {
        let report = sink(&[0, 1, 1, 3, 3, 4]);
        assert_eq!(
            (report.lost, report.duplicates, report.reordered),
            (1, 2, 0)
        );
        assert_eq!((report.received, report.octets), (4, 4000));
    }

    #[test]
    fn runs_of_losses_are_filled_from_both_ends_and_the_middle() {
        let report = sink(&[0, 10, 5, 1, 9, 5]);
        assert_eq!(
            (report.lost, report.duplicates, report.reordered),
            (6, 1, 3)
        );
        assert_eq!(report.max_extent, 3);
    }

    /// By hand: transit times 5, 7, 4, 4, 20 ms give |D| 2, 3, 0, 16. J is 0.125, 0.3046875,
    /// 0.28564453125, 1.2677917480... ms.
    #[test]
    fn jitter_is_that_of_rfc_3550() {
        let mut sink = Sink::new();
        let mut expected = [0, 125_000, 304_688, 285_645, 1_267_792].into_iter();
        for (seq, transit) in (0..).zip([5, 7, 4, 4, 20]) {
            let sent_at = at(1000 * 10 * seq);
            let now = sent_at + Duration::from_millis(transit);
            sink.handle_datagram(now, sent_at, Datagram { seq, size: 1 });
            let jitter = sink.report().jitter.as_nanos();
            assert_eq!(Some(jitter), expected.next());
        }
        assert_eq!(sink.report().max_jitter, sink.report().jitter);
    }
}
