//! Predictions: the lowest limit after the changes, by its closed form or simulated.
//!
//! A closed form is scaled by how much of its limit the transfer achieved. A simulation runs without
//! and with the changes, over everything that the evidence leaves open, with the same random losses
//! (common random numbers). What does not give the transfer's goodput without the changes is left out;
//! the prediction is that goodput times the gain. The interval covers all that fits, and an error of
//! the model.

use gigatcp_analyze::Diagnosis;
use gigatcp_units::Duration;

use super::change::Change;
use super::engine::{self, Draw};
use super::model::{Estimate, GROWTH, LimitedRate, Model, SHORT, STALLS, STOPPED, UNKNOWN, WINDOW};
use super::transfer::Transfer;

/// Certainty of a prediction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Certainty {
    /// A goodput with an interval.
    Number,
    /// An interval, too wide for a number.
    Range,
    /// A lower bound: the evidence does not show the next limit.
    AtLeast,
    /// The evidence does not decide.
    Unsure,
}

impl Certainty {
    /// That of an interval, by how wide it is.
    fn of(bps: &Estimate) -> Self {
        match bps.high / bps.low.max(1.0) {
            ..=NUMBER => Self::Number,
            ..=RANGE => Self::Range,
            _ => Self::Unsure,
        }
    }

    /// Its name in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Number => "number",
            Self::Range => "range",
            Self::AtLeast => "at-least",
            Self::Unsure => "unsure",
        }
    }
}

/// A prediction for a set of changes.
#[derive(Clone, PartialEq, Debug)]
pub struct Prediction {
    /// The changes, `KEY=VALUE`.
    pub changes: Vec<String>,
    /// Certainty of the prediction.
    pub certainty: Certainty,
    /// Goodput in bit/s.
    pub goodput_bps: f64,
    /// Bounds of the interval, in bit/s.
    pub interval_bps: [f64; 2],
    /// Goodput as a multiple of the transfer's.
    pub gain: f64,
    /// Id of the limit that holds then.
    pub limit: &'static str,
    /// Why the interval is as wide as it is, and what would narrow it.
    pub reason: String,
    /// Simulations that it took.
    pub runs: usize,
}

/// Reason for the width if no cause is known.
const NOT_SHOWN: &str = "the evidence does not show what limited the transfer";

/// The cause of a path that drops packets because of their size.
const BLACK_HOLE: &str = "pmtu-black-hole";

/// Ratio to a lower bound from which an estimate is more than that.
const POINT: f64 = 1.01;

/// Ratio of the interval's ends up to which a prediction is a number.
const NUMBER: f64 = 2.0;

/// Ratio up to which it is a range.
const RANGE: f64 = 5.0;

/// Relative error of a closed form, and of the engine.
const FORM_ERROR: f64 = 0.05;
const ENGINE_ERROR: f64 = 0.1;

/// Standard deviations of the runs on each side of their mean that an interval covers.
const SPREAD: f64 = 2.0;

/// Largest logarithm of simulated over measured goodput, without the changes, of a choice that fits.
const FIT: f64 = 0.15;

/// Largest relative difference of runs without and with changes that do not matter.
const UNCHANGED: f64 = 0.01;

/// Choices that a simulation tries, as deviates of rate, queue and losses from -1 to 1.
const DEVIATES: [[f64; 3]; 5] = [
    [0.0, 0.0, 0.0],
    [1.0, -1.0, 0.5],
    [-1.0, 1.0, -0.5],
    [0.5, 0.5, 1.0],
    [-0.5, -0.5, -1.0],
];

/// Queue limit in BDPs below which the engine overestimated two of five transfers by a third or more.
const SHORT_QUEUE: f64 = 0.4;

/// Factor by which such a queue slows a transfer at least possibly.
const SHORT_QUEUE_FACTOR: f64 = 1.25;

/// Causes that are the path's.
const PATH: &[&str] = &["path-saturated", "queue-overflow", "policer"];

/// Share of the time above which a transfer had one limit.
const MOST: f64 = 0.5;

/// Factor by which the time in which something is sent may change with settings of which no law says
/// what they do, and that of the pauses of an outage, whose timeouts begin at other times then.
const ACTIVE_FACTOR: f64 = 2.0;
const PAUSE_FACTOR: f64 = 1.5;

/// Largest share of a window that an ACK may leave out, and that it leaves out with Linux at both
/// ends (measured on 6.18: 0.04 to 0.19 over 20 transfers): GRO makes fewer ACKs the larger bursts are.
const MAX_MISSING: f64 = 0.4;
const USUALLY_MISSING: f64 = 0.1;

/// Relative error of a transfer whose cause has no law when it runs again.
const UNKNOWN_ERROR: f64 = 0.2;

/// Largest relative error of a transfer that few losses decide.
const MAX_CHANCE: f64 = 0.5;

/// Round trips of a transfer without data: the handshake, and the last ACK.
const ROUNDS_AROUND: f64 = 2.0;

/// Relative error of what another initial window brings if no law gives the rest of the transfer.
const START_ERROR: f64 = 0.15;

/// Segments of a window below which delayed ACKs decide what it brings.
const FEW: f64 = 20.0;

/// Minimum share of its limit that a transfer achieves.
const MIN_EFFICIENCY: f64 = 0.3;

impl Prediction {
    /// That of a path that drops everything because of its size.
    fn nothing(changes: &[String]) -> Self {
        Self {
            changes: changes.to_vec(),
            certainty: Certainty::Number,
            goodput_bps: 0.0,
            interval_bps: [0.0; 2],
            gain: 1.0,
            limit: BLACK_HOLE,
            reason: "the path drops packets of this size: none arrives until they are smaller"
                .into(),
            runs: 0,
        }
    }

    /// Whether the goodput is an estimate, and not only a bound.
    pub fn has_point(&self) -> bool {
        match self.certainty {
            Certainty::Number | Certainty::Range => true,
            Certainty::AtLeast => self.goodput_bps > POINT * self.interval_bps[0],
            Certainty::Unsure => false,
        }
    }

    /// The stated gain: of a range its point nearest to 1, of a lower bound the bound.
    pub fn gain_stated(&self) -> f64 {
        let [low, high] = self
            .interval_bps
            .map(|bps| self.gain * bps / self.goodput_bps.max(1.0));
        match self.certainty {
            Certainty::Number => self.gain,
            Certainty::Range => 1.0_f64.clamp(low, high),
            Certainty::AtLeast => low,
            Certainty::Unsure => 1.0,
        }
    }
}

impl Transfer {
    /// Predicts the goodput with these changes. `known` are settings of the transfer as it was.
    ///
    /// # Errors
    /// The fault of a change, or what the evidence lacks.
    pub fn predict(&self, changes: &[String], known: &[String]) -> Result<Prediction, String> {
        let parsed = Change::parse_all(changes)?;
        if self.is_nothing_delivered(&parsed) {
            return Ok(Prediction::nothing(changes));
        }
        let before = self.model(known)?;
        let after = before.changed(&parsed);
        before.predict(&after, changes)
    }

    /// Whether the path dropped everything because of its size, and packets do not become smaller.
    fn is_nothing_delivered(&self, changes: &[Change]) -> bool {
        let q = &self.diagnosis.quantities;
        let mtu = (q.mss.as_u64() + q.headers) as f64;
        let first = self.diagnosis.verdicts.first();
        self.diagnosis.throughput.as_bps() == 0
            && first.is_some_and(|verdict| verdict.cause.id == BLACK_HOLE)
            && !changes.iter().any(|change| match change {
                Change::Mtu(bytes) => *bytes < mtu,
                Change::Mss(_) | Change::Other(_) => true,
                _ => false,
            })
    }

    /// The limits of the transfer after these changes, the lowest first. `known` are settings of the
    /// transfer as it was.
    ///
    /// # Errors
    /// The fault of a change, or what the evidence lacks.
    pub fn limits(&self, changes: &[String], known: &[String]) -> Result<Vec<LimitedRate>, String> {
        let model = self.model(known)?;
        Ok(model.changed(&Change::parse_all(changes)?).limits())
    }

    /// The model of the transfer. `known` are settings of it.
    ///
    /// # Errors
    /// The fault of a setting, or what the evidence lacks.
    pub fn model(&self, known: &[String]) -> Result<Model, String> {
        let known = Change::parse_all(known)?;
        let rtt = known.iter().find_map(|change| match change {
            Change::Rtt(rtt) => Some(Duration::from_secs_f64(*rtt)),
            _ => None,
        });
        // A report of a receiver has none.
        let missing = rtt.filter(|_| self.diagnosis.min_rtt.is_zero());
        let model = match missing {
            Some(min_rtt) => Model::of(&Diagnosis {
                min_rtt,
                ..self.diagnosis.clone()
            }),
            None => Model::of(&self.diagnosis),
        };
        Ok(model?.changed(&known))
    }
}

impl Model {
    /// Goodput of `after`, a change of this model.
    ///
    /// # Errors
    /// If no limit is known, or the fault of a key that only the engine knows.
    pub fn predict(&self, after: &Self, changes: &[String]) -> Result<Prediction, String> {
        let limits = after.limits();
        let lowest = limits.first().ok_or("no limit of the transfer is known")?;
        let unknown = self.without_law(after);
        if let Some((cause, bps)) = self.bounded(after, lowest.cause, unknown) {
            return Ok(self.despite(cause, bps, changes));
        }
        let (mut bps, runs) = if self.is_closed(after) {
            (self.closed(after), 0)
        } else {
            self.simulated(after)?
        };
        // A path that has not shown its rate may carry less than the other limits allow. If it was the
        // limit, its losses may be again.
        let is_same = self.first_limit() == after.first_limit();
        let shown = if is_same {
            self.goodput
        } else {
            after.path.low.max(self.goodput)
        };
        if after.path.is_open() {
            bps.low = bps.low.min(shown / (1.0 + FORM_ERROR));
        }
        bps.low = bps.low.min(self.while_it_held(bps.low));
        if self.share < MOST {
            bps.mid = bps.mid.min((bps.high * self.while_it_held(bps.mid)).sqrt());
        }
        let is_open = bps.is_open() || lowest.bps.is_open();
        // Of a limit whose upper end is unknown the transfer has shown what it allows at least.
        if is_open {
            bps.low = bps.low.max(self.goodput.min(bps.mid) / (1.0 + FORM_ERROR));
        }
        let is_short =
            after.queue.mid < self.queue.mid && after.queue.mid < SHORT_QUEUE * after.bdp();
        if is_short && self.mss == after.mss {
            // How hosts send decides what it drops.
            bps.low = bps.low.min(self.goodput / SHORT_QUEUE_FACTOR);
            bps.high = bps.high.max(self.goodput);
        }
        let certainty = match Certainty::of(&bps) {
            _ if unknown.is_some() => Certainty::Unsure,
            _ if is_open => Certainty::AtLeast,
            Certainty::Unsure if after.path.is_open() => Certainty::AtLeast,
            certainty => certainty,
        };
        let goodput_bps = bps.mid_or(bps.low).max(bps.low);
        Ok(Prediction {
            changes: changes.to_vec(),
            certainty,
            goodput_bps,
            interval_bps: [bps.low, bps.high],
            gain: goodput_bps / self.goodput,
            limit: lowest.cause,
            reason: if unknown == Some(UNKNOWN) {
                NOT_SHOWN.into()
            } else if let Some(cause) = unknown {
                format!("no law says how {cause} depends on these settings")
            } else if is_short {
                "bursts of the hosts decide what a queue far below the BDP drops".into()
            } else {
                self.reason(after, lowest.cause, is_open)
            },
            runs,
        })
    }

    /// What limits and the range of the goodput, where neither closed form nor engine tells more.
    fn bounded(
        &self,
        after: &Self,
        lowest: &'static str,
        unknown: Option<&'static str>,
    ) -> Option<(&'static str, Estimate)> {
        let held = (!is_dynamic(lowest) && self.first_limit() == Some(lowest)).then_some(lowest);
        let policed = unknown.filter(|cause| *cause == "policer");
        let allowed = (self.allowed_flight().low, after.allowed_flight().low);
        match (self.unknown_cause().or(policed), held) {
            (Some(cause), _) => self.despite_unknown(after).map(|bps| (cause, bps)),
            (None, Some(held)) if self.differs_in_start(after) => {
                Some((held, self.with_other_start(after)))
            }
            // Buffers that the transfer did not fill.
            (None, _)
                if self.differs_in_buffers(after)
                    && (PATH.contains(&self.first) || self.first == "random-loss")
                    && allowed.1 >= allowed.0 =>
            {
                Some((self.first, Estimate::about(self.goodput, self.chance())))
            }
            // The path limited, and the buffers allow what it carried.
            (None, _)
                if self.differs_in_buffers(after)
                    && PATH.contains(&self.first)
                    && after.allowed_flight().low * 8.0 >= self.goodput * self.rtt =>
            {
                let mut bps = self.with_other_buffers(after);
                let allowed = after.allowed_flight();
                // A smaller window may keep the queue from overflowing.
                if self.loss_events > 0.0 && allowed.low < self.allowed_flight().low {
                    let most = (allowed.high * 8.0 / self.base).min(self.path.high);
                    bps.high = bps.high.max(most);
                }
                Some((self.first, bps))
            }
            _ => None,
        }
    }

    /// Goodput if only the time that its limit took becomes shorter, by Amdahl's law.
    fn while_it_held(&self, bps: f64) -> f64 {
        let gain = (bps / self.goodput).max(1.0);
        self.goodput / (1.0 - self.share + self.share / gain)
    }

    /// What limited the transfer, if no law says what the change does to it.
    fn without_law(&self, after: &Self) -> Option<&'static str> {
        let is_policed = self.behind_policer.is_some() && after.behind_policer.is_some();
        let has_other_bursts =
            (&self.controls, self.queue, self.mss) != (&after.controls, after.queue, after.mss);
        let hosts = self.host.map(|(cause, _)| cause).into_iter();
        let cpu = hosts
            .chain(self.doubted.iter().copied())
            .find(|cause| matches!(*cause, "sender-cpu-limited" | "receiver-cpu-limited"));
        let stall = (self.first == STALLS).then_some(STALLS);
        // Recovery without SACK depends on which packets of a window are lost.
        let has_other_recovery = self.has_sack() != after.has_sack();
        self.unknown_cause()
            .or((is_policed && has_other_bursts).then_some("policer"))
            .or(has_other_recovery.then_some("random-loss"))
            .or(cpu.or(stall).filter(|_| self.mss != after.mss))
    }

    /// Goodput after changes that are bounded although no law says how what limited depends on them:
    /// buffers, the initial window, and parallel connections.
    fn despite_unknown(&self, after: &Self) -> Option<Estimate> {
        // What limited may be the buffer that becomes larger.
        let is_hidden =
            self.first == UNKNOWN && after.allowed_flight().low >= self.allowed_flight().low;
        if self.differs_in_buffers(after) && !is_hidden {
            // Nothing is known of a report without a window and a flight.
            let is_known = self.allowed_flight().low > 0.0;
            return is_known.then(|| self.with_other_buffers(after));
        }
        let same = Self {
            flows: self.flows,
            ..after.clone()
        };
        if same == *self {
            return (after.flows > self.flows).then(|| self.with_other_flows(after));
        }
        let is_stopped = STOPPED.contains(&self.first);
        let keeps_rate = is_stopped && self.has_same_rates(after);
        if keeps_rate || self.is_alike(after) {
            return Some(self.with_same_pauses(1.0));
        }
        let has_timers = matches!(self.first, "outage" | "connection-setup");
        if has_timers && self.differs_in_packets(after) {
            return Some(self.with_same_pauses(after.mss / self.mss));
        }
        self.differs_in_start(after)
            .then(|| self.with_other_start(after))
    }

    /// Whether what is sent between pauses meets the same path and host.
    fn has_same_rates(&self, after: &Self) -> bool {
        let of = |model: &Self| (model.path, model.base, model.loss, model.mss, model.host);
        of(self) == of(after)
    }

    /// Whether only the size of packets is another one, and what follows from it.
    fn differs_in_packets(&self, after: &Self) -> bool {
        let of = |model: &Self| (model.base, model.loss, model.flows, model.initial_window);
        self.mss != after.mss
            && of(self) == of(after)
            && (&self.controls, &self.others) == (&after.controls, &after.others)
            && self.send_request == after.send_request
    }

    /// Whether only buffers are others.
    fn differs_in_buffers(&self, after: &Self) -> bool {
        let same = Self {
            window: self.window,
            flight: self.flight,
            send_request: self.send_request,
            ..after.clone()
        };
        same == *self
    }

    /// Whether only the queue is another one, or the control and both respond to losses.
    fn is_alike(&self, after: &Self) -> bool {
        let same = Self {
            queue: self.queue,
            is_queue_known: self.is_queue_known,
            controls: self.controls.clone(),
            ..after.clone()
        };
        let responds = |model: &Self| !model.controls.iter().any(|name| name.starts_with("bbr"));
        same == *self && responds(self) && responds(after)
    }

    /// Whether only the initial window is another one.
    fn differs_in_start(&self, after: &Self) -> bool {
        let initial_window = self.initial_window;
        let same = Self {
            initial_window,
            ..after.clone()
        };
        after.initial_window != initial_window && same == *self
    }

    /// Goodput with settings that change only the time in which something is sent. The timers of a
    /// handshake do not depend on them; those of an outage begin at other times. Nothing is sent faster
    /// than larger packets carry more bytes.
    fn with_same_pauses(&self, packet: f64) -> Estimate {
        let pauses = if self.first == "connection-setup" {
            1.0
        } else {
            PAUSE_FACTOR
        };
        let with = |pauses: f64, sending: f64| {
            self.goodput / ((1.0 - self.active) * pauses + self.active * sending)
        };
        let (slower, faster) = ((1.0 / packet).max(ACTIVE_FACTOR), packet.max(ACTIVE_FACTOR));
        Estimate {
            low: with(pauses, slower) / (1.0 + ENGINE_ERROR),
            mid: with(1.0, 1.0 / packet.sqrt()),
            high: with(1.0 / pauses, 1.0 / faster) * (1.0 + ENGINE_ERROR),
        }
    }

    /// Relative error of a transfer whose losses are met elsewhere when it runs again: two standard
    /// deviations of the square-root law.
    fn chance(&self) -> f64 {
        let of_losses = 1.0 / self.loss_events.max(1.0).sqrt();
        if STOPPED.contains(&self.first) || (self.unknown_cause().is_none() && self.loss == 0.0) {
            ENGINE_ERROR
        } else if self.unknown_cause().is_none() {
            ENGINE_ERROR.hypot(of_losses).min(MAX_CHANCE)
        } else if self.loss_events > 0.0 {
            UNKNOWN_ERROR.hypot(of_losses).min(MAX_CHANCE)
        } else {
            UNKNOWN_ERROR
        }
    }

    /// Goodput with other buffers: what the transfer has shown, or less if they allow less per RTT while
    /// something is sent. Less in flight makes the RTT that of the empty path at best. Time in which
    /// nothing is sent is not longer then.
    fn with_other_buffers(&self, after: &Self) -> Estimate {
        let allowed = after.allowed_flight();
        if allowed.low >= self.allowed_flight().low {
            return Estimate::about(self.goodput, self.chance());
        }
        let rate = self.goodput / self.active;
        let with = |bytes: f64, rtt: f64| {
            let slower = (rate * rtt / (8.0 * bytes)).max(1.0);
            self.goodput / (1.0 - self.active + self.active * slower)
        };
        let error = self.chance();
        let least = (allowed.low - after.ack).max(self.mss);
        let (low, high) = (with(least, self.rtt), with(allowed.high, self.base));
        Estimate {
            low: low / (1.0 + error),
            mid: (low * high).sqrt(),
            high: high * (1.0 + error),
        }
    }

    /// Goodput with another initial window: it saves or costs round trips of the first slow start.
    fn with_other_start(&self, after: &Self) -> Estimate {
        let initial = |model: &Self| model.initial_window.unwrap_or(10) as f64;
        let saved = (initial(after) / initial(self)).log2() * self.base;
        let gain = self.elapsed / (self.elapsed - saved).max(0.5 * self.elapsed);
        let error = self.chance().max(START_ERROR);
        Estimate {
            low: self.goodput * gain.min(1.0) / (1.0 + error),
            mid: self.goodput * gain.sqrt(),
            high: self.goodput * gain.max(1.0) * (1.0 + error),
        }
    }

    /// Goodput of several connections: between that of one and that of as many, if the path carries
    /// it. Pauses remain, unless the connections are over before them or not all of them meet them.
    fn with_other_flows(&self, after: &Self) -> Estimate {
        let count = after.flows as f64 / self.flows as f64;
        let most = self.path.high.max(self.goodput);
        let with_pauses = self.goodput / (1.0 - self.active + self.active / count);
        let error = self.chance();
        Estimate {
            low: self.goodput / (1.0 + error),
            mid: (self.goodput * with_pauses.min(most)).sqrt(),
            high: (count * self.goodput).min(most) * (1.0 + error),
        }
    }

    /// The prediction for a transfer of whose limit no law is known.
    fn despite(&self, cause: &'static str, bps: Estimate, changes: &[String]) -> Prediction {
        Prediction {
            changes: changes.to_vec(),
            certainty: Certainty::of(&bps),
            goodput_bps: bps.mid,
            interval_bps: [bps.low, bps.high],
            gain: bps.mid / self.goodput,
            limit: cause,
            reason: if cause == UNKNOWN {
                NOT_SHOWN.into()
            } else {
                format!("{cause} limits, and these settings bound only what it leaves")
            },
            runs: 0,
        }
    }

    /// Whether a closed form gives the goodput after the change: a window, a buffer or a host limits,
    /// clearly below what the path and the losses allow, or nothing that matters changes.
    pub fn is_closed(&self, after: &Self) -> bool {
        if after.others != self.others || after.initial_window != self.initial_window {
            return false;
        }
        let limits = after.limits();
        let Some(lowest) = limits.first() else {
            return true;
        };
        if lowest.bps.is_open() {
            return true;
        }
        let others = limits.iter().filter(|limit| is_dynamic(limit.cause));
        let nearest = others
            .map(|limit| limit.bps.mid)
            .fold(f64::INFINITY, f64::min);
        self.is_full_with_other_packets(after)
            || (!is_dynamic(lowest.cause)
                && lowest.bps.mid < 0.8 * nearest
                && (self.mss == after.mss
                    || self.may_cost_per_packet()
                    || WINDOW.contains(&lowest.cause)
                    || after.segments(lowest.bps.mid) >= FEW))
    }

    /// Whether the path is full before and after, and only the size of packets differs: the share of
    /// their payload decides.
    fn is_full_with_other_packets(&self, after: &Self) -> bool {
        let is_full =
            |model: &Self| model.first_limit() == Some("path-saturated") && model.loss == 0.0;
        self.mss != after.mss
            && self.first == "path-saturated"
            && is_full(self)
            && is_full(after)
            && after.segments(after.path.mid) >= FEW
            && (self.base, self.flows) == (after.base, after.flows)
            && self.controls == after.controls
    }

    /// Goodput after a change by the closed form of the lowest limit.
    pub fn closed(&self, after: &Self) -> Estimate {
        // Of a limit that the transfer did not reach its goodput is a lower bound too.
        let shown = |limit: LimitedRate| Estimate {
            low: if limit.bps.is_open() {
                limit.bps.low.max(self.goodput)
            } else {
                limit.bps.low
            },
            ..limit.bps
        };
        let bound = |model: &Self| {
            let limits = model.limits().into_iter().map(shown);
            limits.fold(Estimate::UNLIMITED, |sum, bps| sum.min(&bps))
        };
        let own = bound(self);
        let has_other_buffer = self.flight != after.flight && self.host == after.host;
        let then = match after.of_few_bursts().filter(|_| has_other_buffer) {
            Some(bursts) => bound(after).min(&bursts),
            None => bound(after),
        };
        let is_same = self.first_limit() == after.first_limit();
        let achieved = self.goodput / own.mid_or(self.goodput);
        // Another limit, and another rate of the same one, is reached after its own slow start.
        let efficiency = if !is_same {
            after.after_start(then.mid)
        } else if self.mss == after.mss {
            achieved * after.after_start(then.mid) / self.after_start(own.mid)
        } else {
            achieved
        };
        // What the receiver has not acknowledged yet is missing from a window, at most that of an ACK.
        let of_window = matches!(after.first_limit(), Some(id) if WINDOW.contains(&id));
        let missing = if of_window && !after.is_stretching() && (!is_same || self.mss != after.mss)
        {
            (after.ack / after.window.mid).min(MAX_MISSING)
        } else {
            0.0
        };
        let mut bps = then.times(efficiency);
        if is_same && then.mid >= own.mid && then.low >= own.low {
            bps.low = bps.low.max(self.goodput / (1.0 + FORM_ERROR));
        }
        // Smaller segments fill a window better.
        if of_window && after.mss < self.mss {
            bps.high = bps.high.max(then.high);
        }
        Estimate {
            low: bps.low * (1.0 - missing) / (1.0 + FORM_ERROR),
            mid: bps.mid * (1.0 - (missing / 2.0).min(USUALLY_MISSING)),
            high: bps.high * (1.0 + FORM_ERROR),
        }
    }

    /// Segments in flight of each connection at a rate.
    fn segments(&self, bps: f64) -> f64 {
        bps * self.base / 8.0 / self.mss / self.flows as f64
    }

    /// Share of a rate that is left after slow start up to it.
    fn after_start(&self, bps: f64) -> f64 {
        let segments = self.segments(bps);
        let initial = self.initial_window.unwrap_or(10) as f64;
        let rounds = (segments / initial).max(1.0).log2();
        if !rounds.is_finite() {
            return 1.0;
        }
        let start = (rounds + ROUNDS_AROUND) * self.base;
        // A short transfer ends by its bytes, and takes as long as the rate says.
        let share = if self.elapsed < SHORT {
            let sending = self.bytes * 8.0 / bps;
            sending / (sending + start)
        } else {
            1.0 - start / self.elapsed
        };
        share.clamp(MIN_EFFICIENCY, 1.0)
    }

    /// Goodput after a change by simulations, and their number.
    ///
    /// If the same limit holds before and after, the result is the transfer's goodput times the median
    /// gain over runs with the same losses: an error of the model is in both. Another limit has another
    /// error, and its goodput stands for itself. By how much the runs without the change miss the
    /// transfer's goodput is an error that the interval has too. No run exceeds a limit that is known.
    ///
    /// # Errors
    /// The fault of a key that only the engine knows.
    pub fn simulated(&self, after: &Self) -> Result<(Estimate, usize), String> {
        let has_same_limit = self.first_limit() == after.first_limit();
        let is_same = has_same_limit && self.queue == after.queue;
        let (without, with) = (self.runs()?, after.runs()?);
        let count = without.len() + with.len();
        let mut runs: Vec<(f64, f64)> = without.into_iter().zip(with).collect();
        if self.doubted_loss > 0.0 || self.controls.len() > 1 {
            let fits = |(without, _): &&(f64, f64)| (without / self.goodput).ln().abs() <= FIT;
            let fitting: Vec<(f64, f64)> = runs.iter().filter(fits).copied().collect();
            runs = if fitting.is_empty() { runs } else { fitting };
        }
        let (without, with): (Vec<f64>, Vec<f64>) = runs.iter().copied().unzip();
        let missed = self.goodput / mean_log(&without).exp();
        let gained: Vec<f64> = runs
            .iter()
            .map(|(without, with)| self.goodput * with / without)
            .collect();
        let is_unchanged = |bps: &f64| (bps / self.goodput - 1.0).abs() < UNCHANGED;
        let bps = if has_same_limit && gained.iter().all(is_unchanged) {
            Estimate::about(self.goodput, self.chance())
        } else {
            let then = if is_same { &gained } else { &with };
            spread(median(then.clone()), then, missed.ln())
        };
        Ok((bps.min(&after.highest()), count))
    }

    /// The most that the limits allow that no dynamics exceed.
    fn highest(&self) -> Estimate {
        let limits = self.limits().into_iter();
        let firm = limits.filter(|limit| !matches!(limit.cause, "random-loss" | "policer"));
        firm.fold(Estimate::UNLIMITED, |sum, limit| {
            sum.min(&Estimate {
                low: limit.bps.mid,
                ..limit.bps
            })
        })
    }

    /// The model as a plan, with the most likely choices.
    pub fn plan(&self) -> String {
        engine::plan(self, &self.draw(0))
    }

    /// Goodput of runs over what the evidence leaves open.
    fn runs(&self) -> Result<Vec<f64>, String> {
        // The simulated hosts do not have these limits.
        let settings = self.settings.iter().map(|limit| limit.bps.mid);
        let most = settings.fold(f64::INFINITY, f64::min).max(1.0);
        let draws = (0..DEVIATES.len()).map(|index| self.draw(index));
        draws
            .map(|draw| Ok(engine::goodput(self, &draw)?.clamp(1.0, most)))
            .collect()
    }

    /// Choice of everything that the evidence leaves open; the first is the most likely one.
    fn draw(&self, index: usize) -> Draw {
        let [rate, queue, losses] = DEVIATES[index];
        let loss = if index.is_multiple_of(2) {
            self.loss
        } else {
            self.loss.max(self.doubted_loss)
        };
        let path = if self.path.is_open() {
            self.unlimited()
        } else {
            pick(&self.path, rate)
        };
        Draw {
            path,
            queue: pick(&self.queue, queue),
            loss: loss * (losses / self.lost.max(1.0).sqrt()).exp(),
            control: self.controls[index % self.controls.len()].clone(),
            seed: 100 + index as u64,
            time: engine::time(self, path),
            ends_by_bytes: self.elapsed < SHORT
                || (self.first == GROWTH
                    && index.is_multiple_of(2)
                    && self.bytes / self.mss < engine::MAX_PACKETS),
        }
    }

    /// Rate at which a path whose rate is unknown does not limit, in bit/s.
    fn unlimited(&self) -> f64 {
        let limits = self.limits().into_iter().map(|limit| limit.bps.mid);
        let known = limits
            .filter(|bps| bps.is_finite())
            .fold(self.path.low, f64::max);
        4.0 * known
    }

    /// Reason for the width of the interval.
    fn reason(&self, after: &Self, limit: &str, is_open: bool) -> String {
        if is_open {
            return "the path's rate does not show: a capture in which it is full, or `gigatcp test`, would".into();
        }
        match limit {
            "path-saturated" | "random-loss" if !after.is_queue_known => {
                "the queue of the path is not known: --known path.queue=SIZE narrows it".into()
            }
            "random-loss" if self.lost < 100.0 => {
                format!(
                    "{:.0} losses leave their probability open: a longer capture narrows it",
                    self.lost
                )
            }
            "receive-window-limited" => {
                "how much of a buffer becomes window depends on the driver".into()
            }
            _ => "the error of the model".into(),
        }
    }
}

/// Whether a limit depends on the congestion control.
fn is_dynamic(cause: &str) -> bool {
    matches!(cause, "path-saturated" | "policer" | "random-loss")
}

fn mean_log(values: &[f64]) -> f64 {
    values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64
}

/// An estimate from runs: their spread, an error of the engine, and one that they show.
fn spread(mid: f64, runs: &[f64], shown: f64) -> Estimate {
    let mean = mean_log(runs);
    let squares = runs.iter().map(|bps| (bps.ln() - mean).powi(2));
    let deviation = (squares.sum::<f64>() / (runs.len() - 1).max(1) as f64).sqrt();
    let half = (SPREAD * deviation).hypot(ENGINE_ERROR).hypot(shown);
    let [low, high] = [(mean - half).exp(), (mean + half).exp()];
    Estimate {
        low,
        mid: mid.clamp(low, high),
        high,
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Value at a deviate from -1 to 1.
fn pick(of: &Estimate, deviate: f64) -> f64 {
    if of.mid.is_infinite() {
        return of.low;
    }
    let end = if deviate < 0.0 {
        of.low
    } else {
        of.high.min(4.0 * of.mid)
    };
    of.mid * (end / of.mid).powf(deviate.abs())
}
