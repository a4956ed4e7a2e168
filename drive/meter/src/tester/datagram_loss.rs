//! Determines why datagrams of a test were lost: the path was full, a policer, or random loss.
//!
//! Facts are the arrivals and one-way delays of consecutive datagrams (`delay.rs`), in windows:
//!
//! * A *standing queue*: the median delay is above the minimum, and near the largest ones.
//! * A *ceiling*: the rates of the windows differ by less than losses that are independent of each
//!   other would make them differ. Of a share `p` lost, windows of `k` arrivals have rates with a
//!   standard deviation of sqrt(p / k) over the mean.
//!
//! A full path has a queue and no rate above its ceiling, a policer has the ceiling and no queue,
//! random loss has neither. Anything else is unsure: so are few losses without a queue, which change
//! rates by less than hosts do.

use gigatcp_units::Instant;

use super::delay::Stratum;

/// Minimum fraction of datagrams lost, and their number, for a cause.
const MIN_LOSS: f64 = 1e-3;
const MIN_LOST: u64 = 20;

/// Minimum median delay above the smallest one of a standing queue, in seconds.
const QUEUE: f64 = 1e-3;

/// Minimum of that over the 95th percentile above the smallest one.
const STANDING: f64 = 0.5;

/// Number of windows.
const WINDOWS: usize = 40;

/// Number of the first windows that are left out.
const LEFT_OUT: usize = 4;

/// Minimum mean of arrivals in a window that show a ceiling or none.
const MIN_ARRIVALS: f64 = 20.0;

/// Standard deviation of the rates over that of independent losses: at most with a ceiling, and without.
const CEILING: f64 = 0.5;
const INDEPENDENT: std::ops::Range<f64> = 0.75..1.5;

/// Interquartile range of a normal distribution over its standard deviation.
const NORMAL_QUARTILES: f64 = 1.349;

/// Fraction of the losses that drops of the receiver's socket may be if those on the path are called
/// independent.
const FEW_DROPS: f64 = 0.02;

/// Standard deviation of rates over their mean that hosts make without any loss.
const HOST_SPREAD: f64 = 0.005;

/// Cause of lost datagrams.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DatagramLoss {
    /// The bottleneck was full: its queue stood, and dropped what exceeded its rate.
    FullPath,
    /// A policer dropped what exceeded its rate, without a queue.
    Policer,
    /// Packets were lost whatever the rate.
    Random,
    /// The receiving application was too slow: its socket dropped them.
    Receiver,
    /// The facts show none of these.
    Unsure,
}

impl DatagramLoss {
    /// Its id in JSON; that of TCP's cause where there is one.
    pub const fn id(self) -> &'static str {
        match self {
            Self::FullPath => "path-saturated",
            Self::Policer => "policer",
            Self::Random => "random-loss",
            Self::Receiver => "slow-reader",
            Self::Unsure => "unsure",
        }
    }
}

/// Datagrams of one direction of a test.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Lost {
    /// Number sent.
    pub sent: u64,
    /// Number lost, those dropped by the receiver's socket included.
    pub lost: u64,
    /// Number dropped by the receiver's socket.
    pub socket_drops: u64,
}

impl Lost {
    /// Adds those of another stream. A peer may send any counts.
    pub fn add(&mut self, other: Self) {
        self.sent = self.sent.saturating_add(other.sent);
        self.lost = self.lost.saturating_add(other.lost);
        self.socket_drops = self.socket_drops.saturating_add(other.socket_drops);
    }
}

/// Cause of the losses of a direction; `None` if next to nothing was lost. `delays` are in seconds: the
/// smallest, the median, and the 95th percentile. `strata` are those of each stream.
pub(super) fn cause(
    counts: Lost,
    delays: Option<[f64; 3]>,
    strata: &[Vec<Stratum>],
) -> Option<DatagramLoss> {
    let share = counts.lost as f64 / counts.sent.max(1) as f64;
    if counts.lost < MIN_LOST || share < MIN_LOSS {
        return None;
    }
    if counts.socket_drops > counts.lost / 2 {
        return Some(DatagramLoss::Receiver);
    }
    let has_queue = delays.map(|[min, median, p95]| {
        let queue = median - min;
        (queue >= QUEUE, queue >= STANDING * (p95 - min))
    });
    let is_path_alone = counts.socket_drops as f64 <= FEW_DROPS * counts.lost as f64;
    let ceiling = has_ceiling(strata, share).filter(|has| *has || is_path_alone);
    Some(match (has_queue, ceiling) {
        (Some((true, true)), ceiling) if ceiling != Some(false) => DatagramLoss::FullPath,
        (Some((false, _)), Some(true)) => DatagramLoss::Policer,
        (Some((false, _)), Some(false)) => DatagramLoss::Random,
        _ => DatagramLoss::Unsure,
    })
}

/// Whether the rate of arrivals kept to a ceiling, given the share that was lost; `None` if that does
/// not show.
fn has_ceiling(strata: &[Vec<Stratum>], share: f64) -> Option<bool> {
    // All streams send in this time.
    let first = strata
        .iter()
        .filter_map(|stream| stream.first())
        .map(|stratum| stratum.at)
        .max()?;
    let last = strata
        .iter()
        .filter_map(|stream| stream.last())
        .map(|stratum| stratum.at)
        .min()?;
    let length = last.saturating_since(first) / WINDOWS as u64;
    if length.is_zero() {
        return None;
    }
    let edges = (0..=WINDOWS as u64).map(|edge| first + length * edge);
    let arrived = edges.map(|edge| {
        let streams = strata.iter();
        streams.map(|stream| arrived_before(stream, edge)).sum()
    });
    let arrived: Vec<f64> = arrived.collect();
    // The first windows have what a queue or a bucket of tokens took in.
    let mut counts: Vec<f64> = arrived
        .windows(2)
        .skip(LEFT_OUT)
        .map(|edges| edges[1] - edges[0])
        .collect();
    // Quartiles, since a receiver that is not scheduled distorts a few windows.
    counts.sort_by(f64::total_cmp);
    let [low, middle, high] = [1, 2, 3].map(|quarters| counts[quarters * counts.len() / 4]);
    if middle < MIN_ARRIVALS {
        return None;
    }
    let spread = (high - low) / (NORMAL_QUARTILES * middle);
    let independent = (share / middle).sqrt();
    if spread <= CEILING * independent {
        return Some(true);
    }
    let is_independent = INDEPENDENT.contains(&(spread / independent)) && spread > HOST_SPREAD;
    is_independent.then_some(false)
}

/// Number of a stream's datagrams that arrived before a time; between the times of two strata it is
/// interpolated.
fn arrived_before(stream: &[Stratum], time: Instant) -> f64 {
    let passed = stream.partition_point(|stratum| stratum.at <= time);
    let Some(last) = passed.checked_sub(1) else {
        return 0.0;
    };
    let before = stream[..last].iter().map(|stratum| stratum.count as f64);
    let seconds = |to: Instant| to.saturating_since(stream[last].at).as_secs_f64();
    let part = stream.get(passed).map_or(0.0, |next| {
        seconds(time) / seconds(next.at).max(f64::MIN_POSITIVE)
    });
    before.sum::<f64>() + part * stream[last].count as f64
}

#[cfg(test)]
mod tests {
    use gigatcp_units::Duration;

    use super::*;

    const NO_QUEUE: Option<[f64; 3]> = Some([0.010, 0.0101, 0.0105]);
    const QUEUE_OF_20_MS: Option<[f64; 3]> = Some([0.010, 0.030, 0.0305]);

    /// Strata of 10 datagrams; each is followed by the next after `gap_ns` of its number.
    fn stream(gap_ns: impl Fn(u64) -> u64) -> Vec<Stratum> {
        let mut at = Instant::ZERO;
        let stratum = |number| {
            let stratum = Stratum {
                at,
                count: 10,
                ..Stratum::default()
            };
            at += Duration::from_nanos(gap_ns(number));
            stratum
        };
        (0..1500).map(stratum).collect()
    }

    /// Arrivals of a steady sender, of whose datagrams a share is lost independently.
    fn independent(share: f64) -> Vec<Stratum> {
        let mut state = 7_u64;
        let mut is_lost = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1_u64 << 53) as f64 >= 1.0 - share
        };
        let gaps: Vec<u64> = (0..1500)
            .map(|_| {
                let sent = (0..10).map(|_| 1 + (0..).take_while(|_| is_lost()).count());
                sent.sum::<usize>() as u64 * 100_000
            })
            .collect();
        stream(|number| gaps[number as usize])
    }

    fn of(lost: u64, delays: Option<[f64; 3]>, strata: Vec<Stratum>) -> Option<DatagramLoss> {
        let counts = Lost {
            sent: 15_000 + lost,
            lost,
            socket_drops: 0,
        };
        cause(counts, delays, &[strata])
    }

    #[test]
    fn queue_and_ceiling_determine_the_cause() {
        let steady = || stream(|_| 1_000_000);
        assert_eq!(
            of(8000, QUEUE_OF_20_MS, steady()),
            Some(DatagramLoss::FullPath)
        );
        assert_eq!(of(8000, NO_QUEUE, steady()), Some(DatagramLoss::Policer));
        assert_eq!(
            of(8000, NO_QUEUE, independent(0.35)),
            Some(DatagramLoss::Random)
        );
        assert_eq!(
            of(750, NO_QUEUE, independent(0.05)),
            Some(DatagramLoss::Random)
        );
        // A queue of others that comes and goes, and unknown delays.
        let spread = Some([0.010, 0.012, 0.030]);
        assert_eq!(
            of(8000, spread, independent(0.35)),
            Some(DatagramLoss::Unsure)
        );
        assert_eq!(of(8000, None, steady()), Some(DatagramLoss::Unsure));
        // With few losses the rate of a path that is full shows no more than that of another.
        assert_eq!(
            of(150, QUEUE_OF_20_MS, steady()),
            Some(DatagramLoss::FullPath)
        );
        assert_eq!(of(5, QUEUE_OF_20_MS, steady()), None);
    }

    #[test]
    fn drops_of_the_receivers_socket_are_the_receivers() {
        let counts = Lost {
            sent: 1000,
            lost: 300,
            socket_drops: 280,
        };
        assert_eq!(
            cause(counts, QUEUE_OF_20_MS, &[]),
            Some(DatagramLoss::Receiver)
        );
    }

    #[test]
    fn hostile_strata_have_a_cause_and_do_not_panic() {
        let odd = |at: Instant, count: u64| Stratum {
            at,
            count,
            ..Stratum::default()
        };
        for strata in [
            vec![],
            vec![odd(Instant::ZERO, u64::MAX); 3],
            vec![odd(Instant::FAR_FUTURE, u64::MAX), odd(Instant::ZERO, 1)],
            vec![
                odd(Instant::ZERO, u64::MAX),
                odd(Instant::FAR_FUTURE, u64::MAX),
            ],
        ] {
            assert!(of(8000, NO_QUEUE, strata).is_some());
        }
    }
}
