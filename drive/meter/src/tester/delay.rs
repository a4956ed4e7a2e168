//! One-way delays of datagrams: kept in bounded memory, corrected by both clocks at the end.
//!
//! A receiver measures differences of two clocks only: arrival less the time in the datagram. It
//! keeps strata of consecutive datagrams: their number, smallest and largest difference, and one
//! difference drawn at random. A fixed choice could always be the first of a batch. A full list
//! merges strata in pairs. The client has the offset of the clocks before and after the data, and
//! subtracts it from each stratum. Drift within a stratum is below its resolution.
//!
//! The delay is that of applications: from just before the send call to the return of the receive
//! call. Minimum and maximum cover all datagrams, quantiles those drawn.

use gigatcp_protocol::iperf3::clock::Clocks;
use gigatcp_units::Instant;
use serde_json::Value;

/// Maximum of strata of a stream.
const MAX_STRATA: usize = 2048;

/// Maximum of strata sent for all streams together: some 50 bytes each.
const MAX_SENT: usize = 16_384;

/// Consecutive datagrams of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Stratum {
    /// Arrival of the first, by the receiver's clock.
    pub at: Instant,
    /// Number of datagrams.
    pub count: u64,
    /// Smallest difference of arrival and sending, in nanoseconds of two clocks.
    pub min_ns: i64,
    /// Difference of a random one of them.
    pub drawn_ns: i64,
    /// Largest difference.
    pub max_ns: i64,
}

/// Clock differences of a stream's datagrams, as its receiver measured them.
#[derive(Clone, Debug)]
pub(super) struct DelayLog {
    strata: Vec<Stratum>,
    /// Datagrams per stratum.
    stride: u64,
    random: u64,
}

impl Default for DelayLog {
    fn default() -> Self {
        Self {
            strata: Vec::new(),
            stride: 1,
            random: 0x9e37_79b9_7f4a_7c15,
        }
    }
}

impl DelayLog {
    /// Adds a datagram.
    pub(super) fn push(&mut self, arrived_at: Instant, sent_at: Instant) {
        let difference = i128::from(arrived_at.as_nanos()) - i128::from(sent_at.as_nanos());
        // Bounds an impossible time, so that sums stay far from overflow.
        let bound = i64::MAX / 4;
        let ns = difference.clamp(i128::from(-bound), i128::from(bound)) as i64;
        let one = Stratum {
            at: arrived_at,
            count: 1,
            min_ns: ns,
            drawn_ns: ns,
            max_ns: ns,
        };
        match self
            .strata
            .last_mut()
            .filter(|last| last.count < self.stride)
        {
            Some(last) => *last = last.merged(&one, &mut self.random),
            None => self.strata.push(one),
        }
        if self.strata.len() >= MAX_STRATA {
            self.halve();
        }
    }

    fn halve(&mut self) {
        self.stride *= 2;
        self.strata = halved(&self.strata, &mut self.random);
    }

    /// Strata so far.
    pub(super) fn strata(&self) -> &[Stratum] {
        &self.strata
    }
}

impl Stratum {
    /// Two neighbors merged.
    fn merged(&self, next: &Self, random: &mut u64) -> Self {
        let count = self.count.saturating_add(next.count);
        let takes_next = draw(random) % count.max(1) < next.count;
        Self {
            at: self.at,
            count,
            min_ns: self.min_ns.min(next.min_ns),
            drawn_ns: if takes_next {
                next.drawn_ns
            } else {
                self.drawn_ns
            },
            max_ns: self.max_ns.max(next.max_ns),
        }
    }

    /// JSON for a peer.
    fn to_json(self) -> Value {
        let at = self.at.as_nanos();
        serde_json::json!([at, self.count, self.min_ns, self.drawn_ns, self.max_ns])
    }

    fn from_json(value: &Value) -> Option<Self> {
        let number = |place: usize| value.get(place)?.as_i64();
        Some(Self {
            at: Instant::from_nanos(value.get(0)?.as_u64()?),
            count: value.get(1)?.as_u64()?.max(1),
            min_ns: number(2)?,
            drawn_ns: number(3)?,
            max_ns: number(4)?,
        })
    }
}

fn halved(strata: &[Stratum], random: &mut u64) -> Vec<Stratum> {
    let mut pairs = Vec::with_capacity(MAX_STRATA);
    pairs.extend(strata.chunks(2).map(|pair| match pair {
        [one, next] => one.merged(next, random),
        _ => pair[0],
    }));
    pairs
}

/// Next number of Marsaglia's xorshift64.
fn draw(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// JSON of one of `streams` streams, for a peer of this project.
pub(super) fn to_json(strata: &[Stratum], streams: usize) -> Value {
    let mut strata = strata.to_vec();
    let mut random = DelayLog::default().random;
    while strata.len() * streams.max(1) > MAX_SENT && strata.len() > 1 {
        strata = halved(&strata, &mut random);
    }
    strata.into_iter().map(Stratum::to_json).collect()
}

/// Parses the strata of a peer; malformed ones are left out.
pub(super) fn from_json(value: &Value) -> Vec<Stratum> {
    let rows = value
        .as_array()
        .map_or(&[][..], Vec::as_slice)
        .iter()
        .take(MAX_STRATA);
    rows.filter_map(Stratum::from_json).collect()
}

/// End that received the datagrams.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ReceivedBy {
    Client,
    Server,
}

impl ReceivedBy {
    /// What a difference of both clocks lacks to be a delay, in nanoseconds. At a server the
    /// difference is too large by the offset, at a client too small.
    pub(super) fn shift(self, at: Instant, clocks: &Clocks) -> f64 {
        match self {
            Self::Server => -clocks.offset_at_server(at),
            Self::Client => clocks.offset_at(at),
        }
    }
}

/// One-way delays of the datagrams of one direction, in seconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct OneWayDelay {
    /// Smallest.
    pub min: f64,
    /// Median.
    pub median: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Largest.
    pub max: f64,
    /// Possible common shift of these delays, from the uncertainty of the clocks' offset.
    pub uncertainty: f64,
    /// The server's clock less the client's, before the data.
    pub offset: f64,
    /// Seconds that the server's clock gained per second of the client's.
    pub drift: f64,
    /// Datagrams that arrived with a timestamp.
    pub datagrams: u64,
}

impl OneWayDelay {
    /// Delays of the datagrams in `strata`; `None` without any.
    pub(super) fn of<'a>(
        strata: impl Iterator<Item = &'a Stratum>,
        received_by: ReceivedBy,
        clocks: &Clocks,
    ) -> Option<Self> {
        let (mut min, mut max, mut datagrams) = (f64::INFINITY, f64::NEG_INFINITY, 0_u64);
        let mut drawn = Vec::new();
        for stratum in strata {
            let shift = received_by.shift(stratum.at, clocks);
            min = min.min(stratum.min_ns as f64 + shift);
            max = max.max(stratum.max_ns as f64 + shift);
            datagrams = datagrams.saturating_add(stratum.count);
            drawn.push((stratum.drawn_ns as f64 + shift, stratum.count as f64));
        }
        let seconds = |ns: f64| ns / 1e9;
        drawn.sort_by(|one, other| one.0.total_cmp(&other.0));
        let quantile = |share| seconds(quantile(&drawn, share));
        (datagrams > 0).then(|| Self {
            min: seconds(min),
            median: quantile(0.5),
            p95: quantile(0.95),
            p99: quantile(0.99),
            max: seconds(max),
            uncertainty: clocks.uncertainty().as_secs_f64(),
            offset: seconds(clocks.start.offset_ns as f64),
            drift: clocks.drift(),
            datagrams,
        })
    }
}

/// Value below which `share` of the weight lies, of sorted pairs (value, weight).
fn quantile(sorted: &[(f64, f64)], share: f64) -> f64 {
    let total: f64 = sorted.iter().map(|(_, weight)| weight).sum();
    let mut below = 0.0;
    let found = sorted.iter().find(|(_, weight)| {
        below += weight;
        below >= share * total
    });
    found.or(sorted.last()).map_or(0.0, |(value, _)| *value)
}

#[cfg(test)]
mod tests {
    use gigatcp_protocol::iperf3::clock::ClockOffset;
    use gigatcp_units::Duration;

    use super::*;

    fn at(us: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(us)
    }

    /// Clocks of a server 3 s behind that gains 100 ppm.
    fn clocks() -> Clocks {
        let offset = |at_us, offset_ns| ClockOffset {
            at: at(at_us),
            offset_ns,
            rtt: Duration::from_micros(50),
        };
        Clocks {
            start: offset(10_000_000, -3_000_000_000),
            end: offset(20_000_000, -2_999_000_000),
        }
    }

    /// A time of the client's clock by the server's.
    fn by_server(us: u64) -> Instant {
        at(us - 3_000_000 + (us - 10_000_000) / 10_000)
    }

    /// Delays of 1 ms over 10 s. Every hundredth is 5 ms, a single one 9 ms.
    fn delays() -> impl Iterator<Item = (u64, u64)> {
        (0..100_000).map(|number| {
            let delay = match number {
                77_777 => 9000,
                _ if number % 100 == 31 => 5000,
                _ => 1000,
            };
            (10_000_000 + number * 100, delay)
        })
    }

    fn check(delay: &OneWayDelay) {
        let near = |value: f64, expected: f64| (value - expected).abs() < 3e-6;
        assert!(
            near(delay.min, 0.001) && near(delay.median, 0.001),
            "{delay:?}"
        );
        assert!(
            near(delay.p95, 0.001) && near(delay.max, 0.009),
            "{delay:?}"
        );
        assert!(near(delay.uncertainty, 25e-6) && delay.datagrams == 100_000);
        assert!((delay.drift - 1e-4).abs() < 1e-9 && delay.offset == -3.0);
    }

    #[test]
    fn drift_of_1_ms_in_the_test_does_not_show_in_delays_to_either_end() {
        let (mut to_server, mut to_client) = (DelayLog::default(), DelayLog::default());
        for (sent, delay) in delays() {
            to_server.push(by_server(sent + delay), at(sent));
            to_client.push(at(sent + delay), by_server(sent));
        }
        let of = |log: &DelayLog, by| OneWayDelay::of(log.strata().iter(), by, &clocks()).unwrap();
        check(&of(&to_server, ReceivedBy::Server));
        check(&of(&to_client, ReceivedBy::Client));
    }

    #[test]
    fn memory_is_bounded_and_no_datagram_is_forgotten() {
        let mut log = DelayLog::default();
        for number in 0..1_000_000 {
            log.push(at(number), at(0));
        }
        assert!(log.strata.len() < MAX_STRATA);
        let counts = log.strata.iter().map(|stratum| stratum.count);
        assert_eq!(counts.sum::<u64>(), 1_000_000);
        assert_eq!(log.strata.last().unwrap().max_ns, 999_999_000);
        // Any datagram of a stratum may be the one drawn.
        let firsts = log
            .strata
            .iter()
            .filter(|stratum| stratum.drawn_ns == stratum.min_ns);
        assert!(firsts.count() < log.strata.len() / 10);
    }

    #[test]
    fn strata_are_read_as_they_were_written_and_fewer_are_sent_of_many_streams() {
        let mut log = DelayLog::default();
        for number in 0..1500 {
            log.push(at(number), at(900));
        }
        assert_eq!(from_json(&to_json(log.strata(), 1)), log.strata);
        let sent = from_json(&to_json(log.strata(), 128));
        assert!(sent.len() <= MAX_SENT / 128);
        assert_eq!(sent.iter().map(|stratum| stratum.count).sum::<u64>(), 1500);
    }

    #[test]
    fn hostile_strata_and_times_yield_numbers_or_nothing() {
        let odd = serde_json::json!([
            7,
            null,
            [],
            [1],
            ["x", 1, 1, 1, 1],
            [1.5, 1, 1, 1, 1],
            [-1, 1, 1, 1, 1],
            [u64::MAX, u64::MAX, i64::MIN, i64::MAX, i64::MAX],
            [0, u64::MAX, i64::MIN, i64::MIN, i64::MAX],
        ]);
        let strata = from_json(&odd);
        assert_eq!(strata.len(), 2);
        for by in [ReceivedBy::Client, ReceivedBy::Server] {
            let delay = OneWayDelay::of(strata.iter(), by, &clocks()).unwrap();
            assert!(delay.min.is_finite() && delay.p99.is_finite() && delay.max.is_finite());
        }
        assert!(from_json(&serde_json::json!({"delays": 3})).is_empty());
        assert!(OneWayDelay::of([].iter(), ReceivedBy::Client, &clocks()).is_none());
        let mut log = DelayLog::default();
        log.push(Instant::ZERO, Instant::FAR_FUTURE);
        log.push(Instant::FAR_FUTURE, Instant::ZERO);
        assert_eq!(log.strata[0].min_ns, -(i64::MAX / 4));
    }

    #[test]
    fn many_rows_of_a_peer_are_not_kept() {
        let row = serde_json::json!([1, 1, 1, 1, 1]);
        let rows = Value::Array(vec![row; MAX_STRATA * 2]);
        assert_eq!(from_json(&rows).len(), MAX_STRATA);
    }
}
