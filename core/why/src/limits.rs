//! Known limits of a connection other than the one that held, the lowest first, and the quantities
//! that they follow from.
//!
//! ```text
//! receive window   largest window / minimum RTT          (windows that do not grow)
//! path             rate of a saturated link, or of packets back to back
//! losses           C MSS / (RTT sqrt(p))                 (Mathis et al. 1997; random losses only)
//!                  CUBIC's curve where it is above; none for BBR
//! ```
//!
//! `gigatcp whatif` begins with the same quantities and laws, and changes them.
//!
//! A limit of a host (a send buffer, pacing, a CPU) leaves no trace while another one is lower. It is
//! in the list only if it held.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use gigatcp_theory::cubic::Cubic;
use gigatcp_theory::mathis::{MathisConstant, mean_window};
use gigatcp_units::grammar::{human_bytes, human_duration, human_rate};
use gigatcp_units::{Bytes, Duration, Probability, Rate};

use crate::causes::{CAUSES, Cause, place};
use crate::measures::{Measures, quartile, rate, ratio};
use crate::next_limit::{NextLimit, path_rate, window_rate};
use crate::round::Round;

/// A limit of a connection.
#[derive(Clone, Debug)]
pub struct Limit {
    /// Its cause.
    pub cause: &'static Cause,
    /// Payload rate that it allows.
    pub rate: Rate,
    /// Whether it may allow more.
    pub is_lower_bound: bool,
    /// Its evidence.
    pub evidence: String,
}

/// CUBIC's mean window over that of its law for periodic losses, with losses at random.
const CUBIC_AT_RANDOM: f64 = 1.2;

/// Flight after losses over that before them below which a control halves, and above which it does not
/// respond to them.
const HALVED: f64 = 0.58;
const UNMOVED: f64 = 0.9;

/// Minimum loss events that show how a control responds.
const MIN_EVENTS: u64 = 3;

/// Minimum loss events for a response to them.
const MIN_LOSSES: u64 = 4;

/// Share of the loss events behind a long queue above which losses are those of the queue.
const OVERFLOWS: f64 = 0.5;

/// Share of the rounds whose largest ACK shows what a receiver waits for.
const MOST_ROUNDS: f64 = 0.7;

/// Round trips of slow growth after which slow start has ended.
const SLOW_ROUNDS: usize = 3;

/// Quantities of a connection that its limits follow from; `None` and zero if unknown.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Quantities {
    /// Payload of a full segment.
    pub mss: Bytes,
    /// Bytes of headers of a full segment, IP's included.
    pub headers: u64,
    /// Median RTT.
    pub rtt: Duration,
    /// Largest advertised window.
    pub window: Option<Bytes>,
    /// Whether it grew with the data in flight: the receiver tunes it.
    pub window_grows: bool,
    /// Maximum bytes in flight.
    pub flight: Bytes,
    /// Mean of the bytes that an ACK acknowledges.
    pub ack: Bytes,
    /// Full segments that the receiver waits for before an ACK, if it is the same number throughout.
    pub ack_every: Option<u64>,
    /// Flight of the first round trip.
    pub initial_flight: Bytes,
    /// Flight with which slow start ended before the first loss: the window grew slowly from then on.
    pub slow_start_end: Option<Bytes>,
    /// Retransmitted segments that were not proven spurious.
    pub lost: u64,
    /// Of these, those of bursts that random loss does not explain.
    pub flooded: u64,
    /// Loss events.
    pub loss_events: u64,
    /// Share of them behind a long queue.
    pub overflows: f64,
    /// Largest queueing delay.
    pub queue: Duration,
    /// Median of the flight after a loss event, over that before it.
    pub decrease: Option<f64>,
    /// Whether a handshake that was seen permits no selective acknowledgments.
    pub lacks_sack: bool,
    /// Congestion control of the sender, by the kernel's name.
    pub control: Option<String>,
}

impl Limit {
    /// The next limit that counters show.
    pub(crate) fn of_counters(next: NextLimit) -> Self {
        Self {
            cause: next.cause,
            rate: next.rate,
            is_lower_bound: next.is_lower_bound,
            evidence: format!("{} at {}", next.cause.name, human_rate(next.rate)),
        }
    }
}

impl Quantities {
    /// Lost segments that may be random ones, each on its own.
    #[must_use]
    pub const fn lost_apart(&self) -> u64 {
        self.lost.saturating_sub(self.flooded)
    }

    /// Whether the flight does not fall after losses.
    #[must_use]
    pub fn is_unmoved(&self) -> bool {
        self.loss_events >= MIN_EVENTS && self.decrease.is_some_and(|part| part > UNMOVED)
    }

    /// Congestion control of the sender, by the kernel's name: by how the flight falls after losses if
    /// its name is not known.
    #[must_use]
    pub fn likely_control(&self) -> &str {
        let shown = self.decrease.filter(|_| self.loss_events >= MIN_EVENTS);
        match (&self.control, shown) {
            (Some(name), _) => name,
            (None, Some(part)) if part < HALVED => "reno",
            (None, Some(part)) if part > UNMOVED => "bbr",
            _ => "cubic",
        }
    }

    pub(crate) fn of(m: &Measures<'_>) -> Self {
        let trips = m.trips.iter().flatten().map(|trip| trip.as_secs_f64());
        let lost = m
            .rounds
            .iter()
            .map(|round| round.again - round.spurious.min(round.again));
        let sum = |of: fn(&Round) -> u64| -> u64 { m.rounds.iter().map(of).sum() };
        Self {
            mss: Bytes::new(m.mss()),
            headers: m.headers(),
            rtt: Duration::from_secs_f64(quartile(trips.collect(), 2).unwrap_or_default()),
            window: m
                .window_max
                .last()
                .copied()
                .filter(|_| m.knows_windows())
                .map(Bytes::new),
            window_grows: window_rate(m).is_none(),
            flight: Bytes::new(m.sending.flight_max),
            ack: Bytes::new(sum(|round| round.acked) / sum(|round| round.acks).max(1)),
            ack_every: ack_every(m),
            initial_flight: Bytes::new(m.rounds.first().map_or(0, |round| round.flight)),
            slow_start_end: slow_start_end(m).map(Bytes::new),
            lost: lost.sum(),
            flooded: flooded(m),
            loss_events: m.sender_view.episodes.count,
            overflows: m.pattern.queued,
            queue: m.queue_max,
            decrease: decrease(m),
            lacks_sack: m.lacks_sack(),
            control: None,
        }
    }
}

/// Segments for each ACK, if the largest ACK of most rounds has that number.
fn ack_every(m: &Measures<'_>) -> Option<u64> {
    let segments = |round: &Round| round.acked_per_ack_max.div_ceil(m.mss().max(1));
    let rounds = || m.rounds.iter().filter(|round| round.again == 0);
    let most = rounds().map(|round| segments(round) as f64).collect();
    let usual = quartile(most, 2).filter(|usual| *usual >= 1.0)? as u64;
    let count = rounds().filter(|round| segments(round) == usual).count();
    (ratio(count as f64, rounds().count() as f64) >= MOST_ROUNDS).then_some(usual)
}

/// Flight after which the window grows by less than half of slow start's growth, with delayed ACKs,
/// for three round trips.
fn slow_start_end(m: &Measures<'_>) -> Option<u64> {
    let lost = m.sender_view.episodes.list.first();
    let rounds = m.rounds.iter().take_while(|round| {
        round.count == 1 && lost.is_none_or(|episode| round.start < episode.at)
    });
    let flights: Vec<u64> = rounds.map(|round| round.flight).collect();
    let is_slow = |flights: &&[u64]| {
        let is_step = |pair: &[u64]| pair[1] >= pair[0] && pair[1] * 4 < pair[0] * 5;
        flights.windows(2).all(is_step) && flights[SLOW_ROUNDS] > flights[0]
    };
    let slow = flights.windows(SLOW_ROUNDS + 1).find(is_slow)?;
    Some(slow[0])
}

/// Segments that were lost in bursts that random loss does not explain, as at the end of slow start.
fn flooded(m: &Measures<'_>) -> u64 {
    let episodes = m.sender_view.episodes.list.iter();
    let floods = episodes.filter(|episode| episode.loss_burst.is_flood(m.mss()));
    floods
        .map(|episode| episode.again.saturating_sub(episode.spurious))
        .sum()
}

/// Median of the flight in the first whole round after a loss event, over the flight before it.
fn decrease(m: &Measures<'_>) -> Option<f64> {
    let episodes = m.sender_view.episodes.list.iter();
    let ratios = episodes.filter_map(|episode| {
        let next = m
            .rounds
            .partition_point(|round| round.start < episode.until);
        let after = m
            .rounds
            .get(next)
            .filter(|round| round.again == 0 && round.count == 1)?;
        Some(ratio(after.flight as f64, episode.flight as f64))
    });
    quartile(ratios.collect(), 2)
}

/// Limits other than the cause `first` that allow more than was achieved, the lowest first.
pub(crate) fn others(
    m: &Measures<'_>,
    first: Option<&'static Cause>,
    next: Option<NextLimit>,
    quantities: &Quantities,
) -> Vec<Limit> {
    let trip = human_duration(m.base);
    let known = |id: &str, of: f64, evidence: String| {
        Some(Limit {
            cause: CAUSES[place(id)?],
            rate: rate(of),
            is_lower_bound: false,
            evidence,
        })
    };
    let window = window_rate(m).and_then(|of| {
        let window = human_bytes(Bytes::new(*m.window_max.last()?));
        known(
            "receive-window-limited",
            of,
            format!("a window of {window} per RTT of {trip}"),
        )
    });
    let path = path_rate(m).and_then(|of| {
        let text = format!("the path carries {}", human_rate(rate(of)));
        known("path-saturated", of, text)
    });
    let losses = loss_rate(m, quantities).and_then(|of| {
        let lost = quantities.lost;
        known("random-loss", of, format!("{lost} losses, RTT {trip}"))
    });
    let is_first = |cause: &Cause| {
        let is_same = |first: &Cause| {
            let is_window = first.is_window && cause.is_window;
            first.id == cause.id || is_window || (first.is_path && cause.is_path)
        };
        first.is_some_and(is_same)
    };
    let achieved = rate(m.mean_rate());
    let mut limits: Vec<Limit> = [window, path, losses]
        .into_iter()
        .flatten()
        .filter(|limit| !is_first(limit.cause) && limit.rate > achieved)
        .map(|limit| match next {
            Some(next) if next.cause.id == limit.cause.id => Limit {
                rate: next.rate,
                is_lower_bound: next.is_lower_bound,
                ..limit
            },
            _ => limit,
        })
        .collect();
    // The response to losses is too uncertain to be named in place of the next limit.
    limits.retain(|limit| next.is_none_or(|next| limit.rate >= next.rate));
    limits.sort_by_key(|limit| limit.rate);
    limits
}

/// Mean window in segments at which random losses of probability `p` hold a congestion control, by the
/// kernel's name; `None` for BBR, which does not respond to few.
#[must_use]
pub fn loss_window(control: &str, p: Probability, rtt: Duration) -> Option<f64> {
    let reno = mean_window(MathisConstant::RandomDelayed, p);
    match control {
        "reno" => Some(reno),
        _ if control.starts_with("bbr") => None,
        _ => Some(reno.max(CUBIC_AT_RANDOM * Cubic::default().mean_window(rtt, p))),
    }
}

/// Payload rate at which losses hold the connection, in bytes per second, if they are not those of a
/// queue.
fn loss_rate(m: &Measures<'_>, quantities: &Quantities) -> Option<f64> {
    let segments = m.data().stream_length() as f64 / m.mss().max(1) as f64;
    let is_random = quantities.loss_events >= MIN_LOSSES && quantities.overflows < OVERFLOWS;
    let trip = m.base.as_secs_f64();
    let p = Probability::try_new(ratio(quantities.lost_apart() as f64, segments))?;
    if !is_random || trip <= 0.0 || p.as_f64() <= 0.0 {
        return None;
    }
    let window = loss_window(quantities.likely_control(), p, m.base)?;
    Some(window * m.mss() as f64 / trip)
}
