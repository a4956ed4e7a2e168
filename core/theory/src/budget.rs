//! All results for one path.
//!
//! [`PathBudget::new`] combines the models of the other files for one path: bandwidth-delay
//! product, duration of slow start and of window growth, maximum loss rate, and recovery time after
//! one loss. It does so for standard TCP and for the controls made for such paths.
//!
//! Out of scope: a verdict. The figures are those of each model; the
//! report decides which of them limits a run.

use core::fmt;

use gigatcp_units::{Bytes, Duration, Probability, Rate};

use crate::cubic::Cubic;
use crate::mathis::{self, MathisConstant};
use crate::pftk::Pftk;
use crate::slow_start::{self, Growth};
use crate::{avoidance, bdp, highspeed, limited_slow_start, scalable};

/// Properties of a path and a connection.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Path {
    /// Target rate, of the layer that `mss` counts.
    pub rate: Rate,
    /// RTT without queues.
    pub rtt: Duration,
    /// Bytes in a segment.
    pub mss: Bytes,
    /// Initial window in segments.
    pub iw: u32,
    /// Growth of the window in slow start.
    pub growth: Growth,
    /// Constant of the square-root law.
    pub c: MathisConstant,
}

impl Path {
    /// A path with the defaults of a current sender. These are ten segments of initial window,
    /// every segment counted, and the constant of the 2002 slides.
    pub const fn new(rate: Rate, rtt: Duration, mss: Bytes) -> Self {
        Self {
            rate,
            rtt,
            mss,
            iw: 10,
            growth: Growth::EVERY_SEGMENT,
            c: MathisConstant::Slides,
        }
    }

    /// Time to send `amount` bytes without loss, see [`slow_start::completion_time`].
    pub fn completion_time(&self, amount: Bytes) -> Duration {
        let iw = f64::from(self.iw);
        slow_start::completion_time(amount, self.rate, self.rtt, self.mss, iw, self.growth)
    }
}

/// Results of the literature's models for a [`Path`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PathBudget {
    /// Bandwidth-delay product: bytes in flight that keep the path busy.
    pub bdp: Bytes,
    /// Bandwidth-delay product in segments.
    pub window: f64,
    /// Segments per second at the rate.
    pub segment_rate: f64,
    /// Slow start from the initial window to the bandwidth-delay product.
    pub slow_start: GrowthTime,
    /// Bytes sent in that slow start.
    pub slow_start_data: Bytes,
    /// Limited slow start (RFC 3742) with its threshold of 100, to the same window.
    pub limited_slow_start: GrowthTime,
    /// Congestion avoidance all the way from the initial window.
    pub avoidance: GrowthTime,
    /// Standard TCP, by the square-root law with the constant of the path.
    pub standard: ResponseBudget,
    /// CUBIC (RFC 9438).
    pub cubic: ResponseBudget,
    /// HighSpeed TCP (RFC 3649).
    pub highspeed: ResponseBudget,
    /// Scalable TCP (Kelly 2003).
    pub scalable: ResponseBudget,
    /// Rate by the model of Padhye et al. at the loss budget of standard TCP. Segments per
    /// acknowledgment are those of the growth; the first timeout is one second or one RTT,
    /// whichever is longer.
    pub pftk_rate: Rate,
}

/// Duration of a window's growth.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct GrowthTime {
    /// Duration in RTTs.
    pub rounds: f64,
    /// Duration in time.
    pub time: Duration,
}

impl GrowthTime {
    fn of(rounds: f64, rtt: Duration) -> Self {
        Self {
            rounds,
            time: Duration::from_secs_f64(rounds * rtt.as_secs_f64()),
        }
    }
}

/// Requirements of a congestion control on a path's losses.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ResponseBudget {
    /// Maximum loss probability at which the rate is reached.
    pub loss: Probability,
    /// Segments between losses at that probability.
    pub segments_between_losses: f64,
    /// Time between losses at that probability.
    pub time_between_losses: Duration,
    /// Growth after one loss at the full window until it regains its size.
    pub refill: GrowthTime,
}

/// Reason why a path has no budget.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum BudgetError {
    /// The rate is zero.
    NoRate,
    /// The round-trip time is zero.
    NoRtt,
    /// The segment size is zero.
    NoSegment,
    /// The initial window is zero.
    NoInitialWindow,
    /// The constant of the square-root law is not a positive number.
    NoConstant,
}

impl fmt::Display for BudgetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoRate => "the rate is zero: a path has a budget only above that",
            Self::NoRtt => "the round-trip time is zero: no window limits such a path",
            Self::NoSegment => "the segment size is zero: it is at least one byte",
            Self::NoInitialWindow => "the initial window is zero: it is at least one segment",
            Self::NoConstant => {
                "the constant of the square-root law is not above zero; 0.7 is that of the slides"
            }
        })
    }
}

impl core::error::Error for BudgetError {}

impl PathBudget {
    /// All results for `path`.
    ///
    /// # Errors
    /// A [`BudgetError`] if a quantity is zero that must not be.
    pub fn new(path: &Path) -> Result<Self, BudgetError> {
        check(path)?;
        let Path {
            rate,
            rtt,
            mss,
            iw,
            growth,
            c: _,
        } = *path;
        let iw = f64::from(iw);
        let window = bdp::window_in_segments(rate, rtt, mss);
        let rounds = slow_start::rounds(window, iw, growth);
        let data = slow_start::segments_sent(rounds, iw, growth) * mss.as_u64() as f64;
        let b = growth.segments_per_ack();
        let limited = limited_slow_start::rounds(window, iw, limited_slow_start::MAX_SSTHRESH);
        let standard = standard(path, window);
        Ok(Self {
            bdp: bdp::bandwidth_delay_product(rate, rtt),
            window,
            segment_rate: bdp::segment_rate(rate, mss),
            slow_start: GrowthTime::of(rounds, rtt),
            slow_start_data: Bytes::new(data as u64),
            limited_slow_start: GrowthTime::of(limited, rtt),
            avoidance: GrowthTime::of(avoidance::rounds(iw, window, b), rtt),
            standard,
            cubic: cubic(path, window),
            highspeed: highspeed(path, window),
            scalable: scalable(path, window),
            pftk_rate: pftk(path).rate(mss, standard.loss),
        })
    }
}

fn check(path: &Path) -> Result<(), BudgetError> {
    let c = path.c.value();
    if path.rate == Rate::ZERO {
        Err(BudgetError::NoRate)
    } else if path.rtt.is_zero() {
        Err(BudgetError::NoRtt)
    } else if path.mss == Bytes::ZERO {
        Err(BudgetError::NoSegment)
    } else if path.iw == 0 {
        Err(BudgetError::NoInitialWindow)
    } else if !(c > 0.0 && c.is_finite()) {
        Err(BudgetError::NoConstant)
    } else {
        Ok(())
    }
}

fn response(path: &Path, loss: Probability, refill_rounds: f64) -> ResponseBudget {
    ResponseBudget {
        loss,
        segments_between_losses: mathis::segments_between_losses(loss),
        time_between_losses: mathis::time_between_losses(loss, path.mss, path.rate),
        refill: GrowthTime::of(refill_rounds, path.rtt),
    }
}

fn standard(path: &Path, window: f64) -> ResponseBudget {
    let loss = mathis::loss_budget(path.c, path.mss, path.rtt, path.rate);
    let b = path.growth.segments_per_ack();
    response(path, loss, avoidance::rounds_after_halving(window, b))
}

fn cubic(path: &Path, window: f64) -> ResponseBudget {
    let cubic = Cubic::default();
    let refill = cubic.refill_time(window, path.rtt).as_secs_f64() / path.rtt.as_secs_f64();
    response(path, cubic.loss_budget(path.rtt, window), refill)
}

fn highspeed(path: &Path, window: f64) -> ResponseBudget {
    let refill = highspeed::rounds_after_loss(window);
    response(path, highspeed::loss_budget(window), refill)
}

fn scalable(path: &Path, window: f64) -> ResponseBudget {
    let refill = scalable::rounds_between_losses();
    response(path, scalable::loss_budget(window), refill)
}

/// Parameters of the model of Padhye et al.
fn pftk(path: &Path) -> Pftk {
    Pftk {
        rtt: path.rtt,
        t0: path.rtt.max(Duration::from_secs(1)),
        segments_per_ack: path.growth.segments_per_ack(),
        window_limit: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::close::{assert_close, assert_rounds_to};
    use alloc::string::ToString;

    fn gigabit(mss: u64) -> Path {
        let rate = Rate::from_bps(1_000_000_000);
        Path::new(rate, Duration::from_millis(70), Bytes::new(mss))
    }

    fn budget(path: &Path) -> PathBudget {
        PathBudget::new(path).expect("a path with a budget")
    }

    #[test]
    fn slides_2002_gigabit_path_has_the_published_budget() {
        let budget = budget(&gigabit(1_460));
        assert_eq!(budget.bdp, Bytes::new(8_750_000));
        assert_rounds_to(budget.window, 5_993.0, 0);
        assert_rounds_to(budget.standard.loss.as_f64() * 1e8, 1.36, 2);
        let seconds = budget.standard.time_between_losses.as_secs_f64();
        assert_rounds_to(seconds, 856.0, 0);
        assert_rounds_to(budget.standard.refill.time.as_secs_f64(), 209.8, 1);
    }

    #[test]
    fn fink_2007_path_is_filled_in_12_44_rounds_from_two_segments() {
        let rate = Rate::from_bps(10_000_000_000);
        let path = Path {
            iw: 2,
            ..Path::new(rate, Duration::from_millis(80), Bytes::new(9_000))
        };
        let budget = budget(&path);
        assert_rounds_to(budget.slow_start.rounds, 12.44, 2);
        assert_rounds_to(budget.slow_start.time.as_secs_f64(), 0.995, 3);
        let window = budget.window * 9_000.0;
        assert_close(
            budget.slow_start_data.as_u64() as f64,
            window - 18_000.0,
            1e-6,
        );
    }

    #[test]
    fn controls_for_long_fat_paths_stand_more_loss_and_refill_faster() {
        let rate = Rate::from_bps(10_000_000_000);
        let budget = budget(&Path::new(
            rate,
            Duration::from_millis(100),
            Bytes::new(1_500),
        ));
        let standard = budget.standard;
        for other in [budget.cubic, budget.highspeed, budget.scalable] {
            assert!(other.loss > standard.loss);
            assert!(other.refill.time < standard.refill.time);
            assert!(other.time_between_losses < standard.time_between_losses);
        }
        assert_rounds_to(budget.cubic.refill.time.as_secs_f64(), 39.7, 1);
        assert_rounds_to(budget.cubic.loss.as_f64() * 1e8, 2.9, 1);
    }

    #[test]
    fn the_timeouts_of_the_full_model_cost_nothing_at_a_gigabit_budget() {
        let periodic = Path {
            c: MathisConstant::PeriodicEverySegment,
            ..gigabit(1_460)
        };
        let budget = budget(&periodic);
        assert_close(budget.pftk_rate.as_bps() as f64, 1e9, 1e-3);
    }

    #[test]
    fn a_transfer_of_three_rounds_takes_three_rounds() {
        let path = gigabit(1_000);
        let span = path.completion_time(Bytes::new(70_000));
        assert_close(span.as_secs_f64(), 0.210, 1e-9);
    }

    #[test]
    fn delayed_acks_halve_the_climb_of_congestion_avoidance() {
        let every = budget(&gigabit(1_460));
        let delayed = budget(&Path {
            growth: Growth::DELAYED_ACK,
            ..gigabit(1_460)
        });
        assert_close(
            delayed.avoidance.rounds / every.avoidance.rounds,
            2.0,
            1e-12,
        );
        assert!(delayed.slow_start.rounds > every.slow_start.rounds);
    }

    #[test]
    fn a_path_shorter_than_one_segment_has_a_budget_too() {
        let path = Path::new(
            Rate::from_bps(1_000),
            Duration::from_micros(1),
            Bytes::new(9_000),
        );
        let budget = budget(&path);
        assert_eq!(budget.bdp, Bytes::ZERO);
        assert_eq!(budget.slow_start.rounds, 0.0);
        assert_eq!(budget.standard.loss, Probability::ALWAYS);
        assert_eq!(budget.highspeed.loss, Probability::ALWAYS);
    }

    #[test]
    fn a_path_beyond_every_network_gives_finite_figures() {
        let path = Path::new(Rate::MAX, Duration::from_secs(1_000), Bytes::new(1));
        let budget = budget(&path);
        assert!(budget.window.is_finite());
        assert!(budget.highspeed.refill.rounds.is_finite());
        assert!(budget.standard.loss > Probability::NEVER);
    }

    #[test]
    fn what_has_no_budget_is_refused_with_a_sentence() {
        let path = gigabit(1_460);
        let refused = |path: Path| PathBudget::new(&path).expect_err("no budget");
        let rate = Rate::ZERO;
        assert_eq!(refused(Path { rate, ..path }), BudgetError::NoRate);
        let rtt = Duration::ZERO;
        assert_eq!(refused(Path { rtt, ..path }), BudgetError::NoRtt);
        let mss = Bytes::ZERO;
        assert_eq!(refused(Path { mss, ..path }), BudgetError::NoSegment);
        assert_eq!(
            refused(Path { iw: 0, ..path }),
            BudgetError::NoInitialWindow
        );
        for c in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let c = MathisConstant::Other(c);
            assert_eq!(refused(Path { c, ..path }), BudgetError::NoConstant);
        }
        assert!(
            BudgetError::NoRtt
                .to_string()
                .contains("round-trip time is zero")
        );
    }
}
