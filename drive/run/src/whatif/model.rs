//! The limits of a transfer, each with an interval, and what a change does to them.
//!
//! ```text
//! receive window   W / RTT          send buffer   F / RTT
//! pacing, shaper, application, CPU  the rate that they held
//! path             payload rate of the bottleneck
//! losses           C MSS / (RTT sqrt(p))   Reno; CUBIC's curve where it is above; none for BBR
//! ```

use gigatcp_analyze::{Diagnosis, loss_window};
use gigatcp_units::{Duration, Probability};

use super::buffers::{
    FLIGHT_ERROR, UNSCALED, WINDOW_ERROR, burst_of_flight, flight_of_buffer, granted, scaled,
};
use super::change::{Buffer, Change, Queue};

/// A value and the interval that the evidence leaves.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Estimate {
    /// Lower end.
    pub low: f64,
    /// The most likely value.
    pub mid: f64,
    /// Upper end; infinite if it is open.
    pub high: f64,
}

impl Estimate {
    /// No limit.
    pub const UNLIMITED: Self = Self {
        low: f64::INFINITY,
        mid: f64::INFINITY,
        high: f64::INFINITY,
    };

    /// A value with a relative error.
    pub fn about(mid: f64, error: f64) -> Self {
        Self {
            low: mid / (1.0 + error),
            mid,
            high: mid * (1.0 + error),
        }
    }

    /// A value of which only a lower bound is known.
    pub const fn at_least(low: f64) -> Self {
        Self {
            low,
            mid: f64::INFINITY,
            high: f64::INFINITY,
        }
    }

    /// Whether the upper end is unknown.
    pub fn is_open(&self) -> bool {
        self.high.is_infinite() && self.low.is_finite()
    }

    /// The most likely value, or `other` if none is known.
    pub const fn mid_or(&self, other: f64) -> f64 {
        if self.mid.is_finite() {
            self.mid
        } else {
            other
        }
    }

    /// The estimate, each end times a factor.
    pub fn times(&self, factor: f64) -> Self {
        Self {
            low: self.low * factor,
            mid: self.mid * factor,
            high: self.high * factor,
        }
    }

    /// The smaller of two, end by end.
    pub const fn min(&self, other: &Self) -> Self {
        Self {
            low: self.low.min(other.low),
            mid: self.mid.min(other.mid),
            high: self.high.min(other.high),
        }
    }
}

/// A limit of the list.
#[derive(Clone, PartialEq, Debug)]
pub struct LimitedRate {
    /// Id of its cause.
    pub cause: &'static str,
    /// Payload rate that it allows, in bit/s.
    pub bps: Estimate,
    /// What it follows from.
    pub evidence: String,
}

/// Bytes that an Ethernet link adds to a packet.
const FRAME: f64 = 38.0;
/// Bytes that a queueing discipline counts beyond the packet: an Ethernet header.
const HEADER_OF_LINK: f64 = 14.0;
/// Relative error of a window that was advertised.
const SHOWN_ERROR: f64 = 0.02;
/// Relative error of a bottleneck rate that a queue or dispersion shows.
const RATE_ERROR: f64 = 0.06;
/// Share of the time from which a cause counts as the limit of its kind.
const HELD: f64 = 0.3;
/// Factor above what was achieved from which distances of packets are those of the path.
const CLEAR: f64 = 1.5;
/// The same if a full window spaces them.
const CLEAR_OF_WINDOW: f64 = 2.0;
/// Packets of a flight from which their distances are those of the path.
const TRAIN: u64 = 10;
/// Initial window of Linux in segments.
const INITIAL_WINDOW: u64 = 10;
/// Largest receive buffer of Linux by default.
const USUAL_BUFFER: f64 = 6_291_456.0;
/// A sender without selective acknowledgments, as a key of a plan.
const WITHOUT_SACK: &str = "sender.sack=false";
/// Minimum queue of a router in packets.
const PACKETS: f64 = 100.0;
/// Share of the loss events behind a long queue from which none of them is random.
const CERTAIN_OVERFLOWS: f64 = 0.9;

/// Share of a window that is in flight if it is full, and of a path's rate that was used.
const FULL: f64 = 0.8;

/// Minimum number of losses that show a probability.
const MIN_LOSSES: f64 = 5.0;

/// Minimum share of the time in which something could be sent.
const MIN_ACTIVE: f64 = 0.01;

/// Causes of a full window.
pub(crate) const WINDOW: &[&str] = &["receive-window-limited", "no-window-scaling"];

/// Causes of time in which nothing is sent, whatever the windows and buffers are.
pub(crate) const STOPPED: &[&str] = &["outage", "rto-backoff", "connection-setup"];

/// The cause of a full send buffer.
const SEND_BUFFER: &str = "send-buffer-limited";

/// The cause of an application that pauses.
const PAUSES: &str = "application-limited";

/// The cause of a window that grows from the first round trip on.
pub(crate) const GROWTH: &str = "cwnd-growth-limited";

/// Of most of the time the evidence does not show what limited.
pub(crate) const UNKNOWN: &str = "unknown";

/// The cause of a receiver that waits for more segments before its ACK.
pub(crate) const STALLS: &str = "delayed-ack-stall";

/// Causes whose limits follow from the transfer.
const LAWS: &[&str] = &[
    "receive-window-limited",
    "no-window-scaling",
    "send-buffer-limited",
    "path-saturated",
    "queue-overflow",
    "policer",
    "random-loss",
    "mss-clamped",
];

/// Duration below which a transfer ends by its bytes, in seconds: longer ones may be a test's.
pub(crate) const SHORT: f64 = 2.0;

/// Causes of a rate that the hosts or their applications set.
const HOST: &[&str] = &[
    "application-limited",
    "pacing-limited",
    "local-queue",
    "sender-cpu-limited",
    "receiver-cpu-limited",
    "slow-reader",
    "delayed-ack-stall",
    "client-think-time",
    "server-think-time",
];

/// Those of them that may be the CPU's time for each packet.
const PER_PACKET: &[&str] = &[
    "application-limited",
    "local-queue",
    "sender-cpu-limited",
    "receiver-cpu-limited",
    "slow-reader",
];

/// Minimum share of the time of a cause that may be the limit instead of the first one.
const DOUBTED: f64 = 0.2;

/// The limits of a transfer. Rates are in bit/s of payload, times in seconds.
#[derive(Clone, PartialEq, Debug)]
pub struct Model {
    /// Goodput of the transfer.
    pub goodput: f64,
    /// Its duration.
    pub elapsed: f64,
    /// Its bytes.
    pub bytes: f64,
    /// Minimum RTT.
    pub base: f64,
    /// Median RTT.
    pub rtt: f64,
    /// Share of the time in which something could be sent.
    pub active: f64,
    /// Share of the time that the cause with most time took.
    pub share: f64,
    /// Loss events.
    pub loss_events: f64,
    /// Mean of the bytes that an ACK acknowledges.
    pub ack: f64,
    /// Segments that the receiver waits for before an ACK, if their number is constant.
    pub ack_every: Option<f64>,
    /// Window in segments with which slow start ends, if it did before a loss.
    pub ssthresh: Option<f64>,
    /// Payload of a full segment.
    pub mss: f64,
    /// Bytes of its headers.
    pub headers: f64,
    /// Rate of the bottleneck.
    pub path: Estimate,
    /// Rate of the path behind a policer, if that limits.
    pub behind_policer: Option<Estimate>,
    /// Receive window in bytes.
    pub window: Estimate,
    /// Flight that the send buffer allows, in bytes.
    pub flight: Estimate,
    /// Send buffer that a program would have to request for that, in bytes, if it changes.
    pub send_request: Option<f64>,
    /// Rate of an application, of pacing, a shaper or a CPU, with its cause.
    pub host: Option<(&'static str, Estimate)>,
    /// Probability of a random loss, and number of those seen.
    pub loss: f64,
    /// Losses seen.
    pub lost: f64,
    /// Probability of a random loss if those of the full path are random after all.
    pub doubted_loss: f64,
    /// Queue limit in bytes.
    pub queue: Estimate,
    /// Whether losses show the queue limit.
    pub is_queue_known: bool,
    /// Congestion controls that the evidence leaves.
    pub controls: Vec<String>,
    /// Parallel connections.
    pub flows: u64,
    /// Initial window in segments, if it changes.
    pub initial_window: Option<u64>,
    /// Whether windows are scaled.
    pub is_scaled: bool,
    /// Limits by settings of a host, which the transfer need not have shown.
    pub settings: Vec<LimitedRate>,
    /// Further keys, which only the engine knows.
    pub others: Vec<String>,
    /// Id of the cause with most time.
    pub first: &'static str,
    /// Causes of a rate that the evidence does not tell from each other, if `first` is one of them.
    pub doubted: Vec<&'static str>,
}

/// Share of the time that these causes took.
fn share(diagnosis: &Diagnosis, ids: &[&str]) -> f64 {
    let verdicts = diagnosis.verdicts.iter();
    verdicts
        .filter(|verdict| ids.contains(&verdict.cause.id))
        .map(|verdict| verdict.share)
        .sum()
}

/// Share of the time of the cause with most time, and of those that hold a transfer in the same way.
fn share_of_first(diagnosis: &Diagnosis, first: &'static str) -> f64 {
    let is_rate = HOST.contains(&first) || first == SEND_BUFFER;
    if WINDOW.contains(&first) {
        share(diagnosis, WINDOW)
    } else if is_rate {
        share(diagnosis, HOST) + share(diagnosis, &[SEND_BUFFER])
    } else {
        share(diagnosis, &[first])
    }
}

/// Rates of a host among which `why` is unsure: they space packets alike.
fn doubted(diagnosis: &Diagnosis) -> Vec<&'static str> {
    let is_meant = |id: &&str| HOST.contains(id) || *id == SEND_BUFFER;
    let verdicts = diagnosis.verdicts.iter();
    let first = verdicts.clone().map(|verdict| verdict.cause.id).next();
    let long = verdicts.filter(|verdict| verdict.share >= DOUBTED);
    let alternative = diagnosis.alternative.map(|cause| cause.id);
    let ids = long.map(|verdict| verdict.cause.id).chain(alternative);
    let mut ids: Vec<&str> = first.into_iter().chain(ids).filter(is_meant).collect();
    ids.sort_unstable();
    ids.dedup();
    let is_doubted = diagnosis.is_unsure() && first.as_ref().is_some_and(is_meant);
    // A program that waits for room in a full buffer looks like one that pauses.
    let has_both = first == Some(PAUSES) && share(diagnosis, &[SEND_BUFFER]) >= DOUBTED;
    ids.retain(|id| is_doubted || (has_both && [PAUSES, SEND_BUFFER].contains(id)));
    // A receiver waits for more segments than the sender's buffer allows.
    if first == Some(STALLS) {
        ids.extend([STALLS, SEND_BUFFER]);
        ids.dedup();
    }
    ids
}

/// The receive window, in bytes. One that is never full may be one that the receiver tunes.
fn window(diagnosis: &Diagnosis) -> Estimate {
    let q = &diagnosis.quantities;
    let flight = q.flight.as_u64() as f64;
    let shown = q.window.map_or(0.0, |window| window.as_u64() as f64);
    let is_full = flight >= FULL * shown || share(diagnosis, WINDOW) >= HELD;
    if shown > 0.0 && is_full && !q.window_grows {
        Estimate::about(shown, SHOWN_ERROR)
    } else {
        Estimate::at_least(shown.max(flight))
    }
}

/// Bytes in flight that the send buffer allows: by Little's law, if it limits.
fn flight(diagnosis: &Diagnosis, is_buffer: bool) -> Estimate {
    let q = &diagnosis.quantities;
    let goodput = diagnosis.throughput.as_bps() as f64;
    let base = diagnosis.min_rtt.as_secs_f64();
    if is_buffer {
        let rtt = q.rtt.as_secs_f64().max(base);
        Estimate::about(goodput * rtt / 8.0, SHOWN_ERROR)
    } else {
        Estimate::at_least((q.flight.as_u64() as f64).max(goodput * base / 8.0))
    }
}

/// The rate of the path behind a policer.
fn behind_policer(diagnosis: &Diagnosis) -> Estimate {
    let goodput = diagnosis.throughput.as_bps() as f64;
    let line = diagnosis.bottleneck.map(|rate| rate.as_bps() as f64);
    let behind = line.filter(|rate| *rate > 1.1 * goodput);
    behind.map_or(Estimate::at_least(goodput), |rate| {
        Estimate::about(rate, RATE_ERROR)
    })
}

/// Losses of a transfer, and the queue that they show.
struct Losses {
    /// Probability of a random one.
    random: f64,
    /// The same if those of a path that is full are random after all.
    doubted: f64,
    /// Those seen.
    lost: f64,
    /// Queue limit in bytes.
    queue: Estimate,
    /// Whether they show it.
    is_queue_known: bool,
    /// Whether a policer dropped them.
    is_policed: bool,
}

impl Losses {
    fn of(diagnosis: &Diagnosis, path: &Estimate) -> Self {
        let q = &diagnosis.quantities;
        let mss = (q.mss.as_u64() as f64).max(88.0);
        let segments = (diagnosis.delivered.as_u64() as f64 / mss).max(1.0);
        // A control that does not respond to losses fills the path despite random ones.
        let is_unmoved = q.is_unmoved();
        let full: &[&str] = if is_unmoved {
            &["queue-overflow"]
        } else {
            &["queue-overflow", "path-saturated"]
        };
        let is_overflow = q.overflows >= 0.5
            || share(diagnosis, full) >= share(diagnosis, &["random-loss"]).max(HELD);
        let is_policed = share(diagnosis, &["policer"]) >= HELD;
        let lost = q.lost_apart() as f64;
        let carried = path.mid_or(path.low);
        let queued = q.queue.as_secs_f64() * carried / 8.0;
        let bdp = carried * diagnosis.min_rtt.as_secs_f64() / 8.0;
        let is_queue_known = is_overflow && q.lost > 0;
        let is_doubted = is_overflow && !is_policed && q.overflows < CERTAIN_OVERFLOWS;
        let queue = if is_queue_known {
            Estimate::about(queued.max(4.0 * mss), 0.15)
        } else {
            let packets = PACKETS * (mss + q.headers as f64);
            Estimate {
                low: queued.max(0.25 * bdp).max(10.0 * mss),
                mid: queued.max(bdp).max(packets),
                high: queued.max(4.0 * bdp).max(2.0 * packets),
            }
        };
        Self {
            random: if is_overflow || is_policed {
                0.0
            } else {
                lost / segments
            },
            doubted: if is_doubted { lost / segments } else { 0.0 },
            lost,
            queue,
            is_queue_known,
            is_policed,
        }
    }
}

impl Model {
    /// The model of a diagnosed transfer.
    ///
    /// # Errors
    /// What the evidence lacks, in a sentence.
    pub fn of(diagnosis: &Diagnosis) -> Result<Self, String> {
        let goodput = diagnosis.throughput.as_bps() as f64;
        let base = diagnosis.min_rtt.as_secs_f64();
        if goodput <= 0.0 {
            return Err("no data was delivered in a measurable time".into());
        }
        if base <= 0.0 {
            return Err(
                "no RTT is known: capture both directions, the handshake included, or add \
                 --known path.rtt=TIME"
                    .into(),
            );
        }
        let q = &diagnosis.quantities;
        let mss = (q.mss.as_u64() as f64).max(88.0);
        let first = diagnosis
            .primary()
            .map_or(UNKNOWN, |verdict| verdict.cause.id);
        let is_buffer = share(diagnosis, &[SEND_BUFFER]) >= HELD;
        // A full send buffer stops the application as well.
        let is_host = |id: &str| HOST.contains(&id) && !(is_buffer && id == "application-limited");
        let host = diagnosis
            .verdicts
            .iter()
            .find(|verdict| is_host(verdict.cause.id) && verdict.share >= HELD)
            .map(|verdict| (verdict.cause.id, Estimate::about(goodput, RATE_ERROR)));
        let (window, flight) = (window(diagnosis), flight(diagnosis, is_buffer));
        let is_held = is_buffer || share(diagnosis, WINDOW) >= HELD || first == GROWTH;
        let path = path(diagnosis, host.is_some(), is_held, goodput);
        let losses = Losses::of(diagnosis, &path);
        let mut model = Self {
            goodput,
            elapsed: diagnosis.duration.as_secs_f64(),
            bytes: diagnosis.delivered.as_u64() as f64,
            base,
            rtt: q.rtt.as_secs_f64().max(base),
            active: (1.0 - share(diagnosis, STOPPED)).max(MIN_ACTIVE),
            share: share_of_first(diagnosis, first),
            loss_events: q.loss_events as f64,
            ack: (q.ack.as_u64() as f64).max(mss),
            ack_every: q.ack_every.map(|every| every as f64),
            ssthresh: q
                .slow_start_end
                .filter(|_| first == GROWTH)
                .map(|bytes| (bytes.as_u64() as f64 / mss).round()),
            mss,
            headers: q.headers as f64,
            behind_policer: losses.is_policed.then(|| behind_policer(diagnosis)),
            path,
            window,
            flight,
            send_request: None,
            host,
            loss: losses.random,
            doubted_loss: losses.doubted,
            lost: losses.lost,
            queue: losses.queue,
            is_queue_known: losses.is_queue_known,
            controls: controls(diagnosis),
            flows: 1,
            initial_window: (first == GROWTH)
                .then(|| initial_window(diagnosis))
                .flatten(),
            is_scaled: first != "no-window-scaling",
            settings: Vec::new(),
            others: q
                .lacks_sack
                .then(|| WITHOUT_SACK.to_owned())
                .into_iter()
                .collect(),
            first,
            doubted: doubted(diagnosis),
        };
        // A receiver that waited as long for its ACKs would have received less.
        if model.usable_window().high * 8.0 < goodput * base {
            model.ack_every = None;
        }
        Ok(model)
    }

    /// The limits, the lowest first.
    pub fn limits(&self) -> Vec<LimitedRate> {
        let rtt = format!("{:.3} ms", self.base * 1e3);
        let of_bytes = |bytes: &Estimate| bytes.times(8.0 / self.base * self.flows as f64);
        // Half of what a blocked write releases waits for the rest of it on the path.
        let burst = burst_of_flight(self.flight.mid.min(self.flight.low));
        let wait = if self.path.mid.is_finite() {
            4.0 * burst / self.path.mid
        } else {
            0.0
        };
        let mut limits = vec![
            LimitedRate {
                cause: if self.is_scaled {
                    "receive-window-limited"
                } else {
                    "no-window-scaling"
                },
                bps: of_bytes(&self.usable_window()),
                evidence: format!("a window of {} per RTT of {rtt}", bytes(&self.window)),
            },
            LimitedRate {
                cause: SEND_BUFFER,
                bps: self
                    .flight
                    .times(8.0 / (self.base + wait) * self.flows as f64),
                evidence: format!("{} in flight per RTT of {rtt}", bytes(&self.flight)),
            },
            LimitedRate {
                cause: if self.behind_policer.is_some() {
                    "policer"
                } else {
                    "path-saturated"
                },
                bps: self.path,
                evidence: "the rate of the path".into(),
            },
        ];
        if let Some((cause, bps)) = self.host {
            limits.push(LimitedRate {
                cause,
                bps: self.of_all_flows(cause, &bps),
                evidence: self.evidence_of_host(cause),
            });
        }
        if let Some(bps) = self.response() {
            limits.push(LimitedRate {
                cause: "random-loss",
                bps: bps.times(self.flows as f64),
                evidence: format!(
                    "{:.3} % of the packets are lost, RTT {rtt}",
                    self.loss * 100.0
                ),
            });
        }
        limits.extend(self.settings.iter().cloned());
        // A report need not have a window.
        limits.retain(|limit| limit.bps.low.is_finite() && limit.bps.low > 0.0);
        limits.sort_by(|a, b| {
            (a.bps.mid, a.bps.low)
                .partial_cmp(&(b.bps.mid, b.bps.low))
                .unwrap_or(std::cmp::Ordering::Equal)
        });
        limits
    }

    fn evidence_of_host(&self, cause: &str) -> String {
        let others = self.doubted.iter().filter(|id| **id != cause);
        let names: Vec<&str> = others
            .filter_map(|id| gigatcp_why::find(id))
            .map(|cause| cause.name)
            .collect();
        match names.join(" or ").as_str() {
            "" => "the rate that it held".into(),
            names => format!("the rate that it held, unless that was {names}"),
        }
    }

    /// Takes all losses for random ones if the path was not full: its queue did not overflow.
    pub fn take_losses_as_random(&mut self) {
        let is_full = self.goodput >= FULL * self.path.low;
        if !is_full && self.loss == 0.0 && self.lost >= MIN_LOSSES && self.behind_policer.is_none()
        {
            self.loss = self.lost / (self.bytes / self.mss).max(1.0);
        }
    }

    /// Whether loss recovery has selective acknowledgments.
    pub fn has_sack(&self) -> bool {
        !self.others.iter().any(|text| text == WITHOUT_SACK)
    }

    /// Bytes in flight that windows and buffers allow.
    pub fn allowed_flight(&self) -> Estimate {
        self.window.min(&self.flight)
    }

    /// Cause of the lowest limit.
    pub fn first_limit(&self) -> Option<&'static str> {
        self.limits().first().map(|limit| limit.cause)
    }

    /// Rate of the hosts for all connections: a shaper is shared, CPUs may be, anything else is of each.
    fn of_all_flows(&self, cause: &str, bps: &Estimate) -> Estimate {
        let flows = self.flows as f64;
        match cause {
            "local-queue" => *bps,
            "sender-cpu-limited" | "receiver-cpu-limited" => Estimate {
                low: bps.low,
                mid: bps.mid * flows.sqrt(),
                high: bps.high * flows,
            },
            _ => bps.times(flows),
        }
    }

    /// What limited the transfer, if no limit of the list is its law.
    pub fn unknown_cause(&self) -> Option<&'static str> {
        let is_growth = self.first == GROWTH && (self.elapsed < SHORT || self.loss_events == 0.0);
        let is_known = LAWS.contains(&self.first) || HOST.contains(&self.first) || is_growth;
        (!is_known).then_some(self.first)
    }

    /// Bandwidth-delay product in bytes; zero if the path's rate is unknown.
    pub fn bdp(&self) -> f64 {
        self.path.mid_or(0.0) * self.base / 8.0
    }

    /// Rate at which random losses hold the controls; `None` without losses, or for BBR, which
    /// does not respond to few.
    pub fn response(&self) -> Option<Estimate> {
        if self.loss <= 0.0 {
            return None;
        }
        let p = Probability::try_new(self.loss)?;
        let rtt = Duration::from_secs_f64(self.base);
        let windows = self.controls.iter();
        let rates = windows.filter_map(|control| {
            loss_window(control, p, rtt).map(|window| window * self.mss * 8.0 / self.base)
        });
        let rates: Vec<f64> = rates.collect();
        let low = rates.iter().copied().fold(f64::INFINITY, f64::min);
        let high = rates.iter().copied().fold(0.0, f64::max);
        let error = 0.2 + 1.0 / self.lost.max(1.0).sqrt();
        (high > 0.0).then(|| Estimate {
            low: low / (1.0 + error),
            mid: (low * high).sqrt(),
            high: high * (1.0 + error),
        })
    }

    /// The model after the changes.
    pub fn changed(&self, changes: &[Change]) -> Self {
        let mut after = self.clone();
        let mtus = changes.iter().filter_map(|change| match change {
            Change::Mtu(mtu) => Some(*mtu),
            _ => None,
        });
        let mtus: Vec<f64> = mtus.collect();
        let smallest = mtus.iter().copied().fold(f64::INFINITY, f64::min);
        let mtu = self.mss + self.headers;
        // A larger MTU of one host alone changes nothing.
        if smallest < mtu || (mtus.len() == 2 && smallest.is_finite()) {
            after.set_mss(smallest - self.headers);
        }
        for change in changes {
            after.change(change);
        }
        after.settle_doubt(self, changes);
        after
    }

    /// Lifts a rate of the host if the changes lift every cause that it may have. If they lift some
    /// of these, the goodput is between that of the transfer and the next limit.
    fn settle_doubt(&mut self, before: &Self, changes: &[Change]) {
        let is_faster = |change: &Change| match change {
            Change::Pacing(bps) | Change::Shaper(bps) => *bps > before.goodput,
            _ => false,
        };
        let is_left = |id: &&&'static str| match **id {
            SEND_BUFFER => self.flight.low <= before.flight.low,
            "pacing-limited" | "local-queue" => !changes.iter().any(is_faster),
            _ => true,
        };
        let mut left = before.doubted.iter().filter(is_left);
        let (first, count) = (left.next().copied(), left.count());
        if count + usize::from(first.is_some()) == before.doubted.len() {
            return;
        }
        self.host = self.host.filter(|host| before.host != Some(*host));
        let Some(cause) = first else {
            return;
        };
        let limits = self.limits();
        let next = limits
            .first()
            .map_or(Estimate::UNLIMITED, |limit| limit.bps);
        let low = self.goodput / (1.0 + RATE_ERROR);
        let held = Estimate {
            low,
            mid: (self.goodput * next.mid.max(low)).sqrt(),
            high: next.high.max(low),
        };
        self.host = Some((cause, held));
    }

    fn set_mss(&mut self, mss: f64) {
        // Routers limit queues by packets or by bytes.
        let factor = mss / self.mss;
        self.queue = Estimate {
            low: self.queue.low * factor.min(1.0),
            mid: self.queue.mid * factor.sqrt(),
            high: self.queue.high * factor.max(1.0),
        };
        // Nothing tells a host whose CPU takes its time for each packet from a program that does.
        if self.may_cost_per_packet()
            && let Some((_, held)) = &mut self.host
        {
            held.low *= factor.min(1.0);
            held.high *= factor.max(1.0);
        }
        let wire = |mss: f64| mss / (mss + self.headers + FRAME);
        self.path = self.path.times(wire(mss) / wire(self.mss));
        // A full segment is sent or none: at most one less than the window has room for.
        let whole = |bytes: f64| (bytes / mss).floor().max(1.0) * mss;
        if self.window.low.is_finite() {
            let Estimate { low, mid, .. } = self.window;
            self.window.low = whole(low).min(low);
            self.window.mid = mid.midpoint(whole(mid).min(mid));
        }
        self.ack *= mss / self.mss;
        self.mss = mss;
    }

    /// Whether the rate of a host may be that of its CPU for each packet.
    pub fn may_cost_per_packet(&self) -> bool {
        self.host
            .is_some_and(|(cause, _)| PER_PACKET.contains(&cause))
    }

    fn change(&mut self, change: &Change) {
        match change {
            Change::Receive(buffer) => {
                let granted = granted(*buffer);
                let most = match buffer {
                    _ if !self.is_scaled => UNSCALED,
                    Buffer::Requested(_) => scaled(granted),
                    Buffer::Tuned(_) => f64::INFINITY,
                };
                let window = (self.payload_of_memory() * granted - self.mss).max(self.mss);
                // Few segments: how the last one is rounded decides.
                let error = WINDOW_ERROR + 0.5 * self.mss / window;
                self.window = Estimate::about(window.min(most), error);
            }
            Change::Send(buffer) => {
                let granted = granted(*buffer);
                self.send_request = Some(granted / 2.0);
                self.flight = Estimate::about(flight_of_buffer(granted), FLIGHT_ERROR);
            }
            Change::Control(name) => self.controls = vec![name.clone()],
            Change::Rate(bps) => {
                let payload = bps * self.mss / (self.mss + self.headers + FRAME);
                self.path = Estimate::about(payload, 0.01);
            }
            Change::Rtt(base) => self.base = *base,
            Change::Queue(queue) => {
                let bytes = match queue {
                    Queue::Packets(packets) => *packets as f64 * (self.mss + self.headers),
                    Queue::Bytes(bytes) => *bytes as f64,
                    Queue::Bdp(count) => count * self.path.mid.min(1e12) * self.base / 8.0,
                };
                self.queue = Estimate::about(bytes.max(2.0 * self.mss), 0.02);
                self.is_queue_known = true;
            }
            Change::Loss(p) => (self.loss, self.doubted_loss) = (*p, 0.0),
            Change::NoPolicer => {
                if let Some(behind) = self.behind_policer.take() {
                    self.path = behind;
                }
            }
            Change::Mss(mss) => self.set_mss(mss - (self.headers - 40.0).clamp(0.0, 40.0)),
            Change::Flows(count) => self.flows = *count,
            Change::Pacing(bps) => {
                self.set_host("pacing-limited", *bps, &["pacing-limited", "local-queue"])
            }
            Change::Shaper(bps) => {
                let payload = bps * self.mss / (self.mss + self.headers + HEADER_OF_LINK);
                self.set_host("local-queue", payload, &["pacing-limited", "local-queue"]);
            }
            Change::InitialWindow(segments) => self.initial_window = Some(*segments),
            Change::WindowScaling(is_on) => {
                self.is_scaled = *is_on;
                self.window = if *is_on {
                    Estimate::about(self.payload_of_memory() * USUAL_BUFFER, WINDOW_ERROR)
                } else {
                    self.window.min(&Estimate::about(UNSCALED, SHOWN_ERROR))
                };
            }
            Change::Sack(is_on) => {
                self.others.retain(|text| text != WITHOUT_SACK);
                if !is_on {
                    self.others.push(WITHOUT_SACK.to_owned());
                }
            }
            Change::IdleRestart(_) | Change::Mtu(_) => {}
            Change::Other(text) => self.others.push(text.clone()),
        }
    }

    /// Replaces a rate of the sender's host by another one. One of these causes is lifted by it.
    fn set_host(&mut self, cause: &'static str, bps: f64, lifted: &[&str]) {
        let kept = self.host.filter(|(cause, _)| !lifted.contains(cause));
        let own = bps.is_finite().then(|| (cause, Estimate::about(bps, 0.02)));
        self.host = match (kept, own) {
            // A slow pacing rate looks like an application that pauses.
            (Some((PAUSES, held)), Some((_, paced))) if held.mid < paced.mid => Some((
                PAUSES,
                Estimate {
                    high: paced.high,
                    ..held
                },
            )),
            (Some(kept), Some(own)) if kept.1.mid < own.1.mid => Some(kept),
            (kept, None) => kept,
            (_, own) => own,
        };
    }
}

fn path(diagnosis: &Diagnosis, is_host: bool, is_held: bool, goodput: f64) -> Estimate {
    let carried = diagnosis.capacity.rate().as_bps() as f64;
    let shown = diagnosis.bottleneck.map(|rate| rate.as_bps() as f64);
    let q = &diagnosis.quantities;
    let clear = if is_held { CLEAR_OF_WINDOW } else { CLEAR };
    let is_clear = |rate: &f64| *rate >= clear * goodput;
    let is_train = q.flight.as_u64() >= TRAIN * q.mss.as_u64();
    match shown {
        // Packets of a window that is nearly sent at the path's rate, or of few packets, are spaced by
        // the hosts.
        Some(rate) if is_held && !(is_clear(&rate) && is_train) => Estimate {
            high: f64::INFINITY,
            ..Estimate::about(rate.max(goodput), RATE_ERROR)
        },
        Some(rate) if !is_host || is_clear(&rate) => Estimate::about(rate.max(goodput), RATE_ERROR),
        _ if !diagnosis.capacity.is_lower_bound() && !is_host => {
            Estimate::about(carried, RATE_ERROR)
        }
        _ => Estimate::at_least(goodput.max(if is_host { 0.0 } else { carried })),
    }
}

/// Initial window in segments, if the first round trip shows another one than Linux has.
fn initial_window(diagnosis: &Diagnosis) -> Option<u64> {
    let q = &diagnosis.quantities;
    let segments = q.initial_flight.as_u64().div_ceil(q.mss.as_u64().max(1));
    (1..INITIAL_WINDOW).contains(&segments).then_some(segments)
}

/// The congestion controls that the evidence leaves: those of the engine for the kernel's names.
fn controls(diagnosis: &Diagnosis) -> Vec<String> {
    let q = &diagnosis.quantities;
    if q.slow_start_end.is_some() && q.control.is_none() && q.decrease.is_none() {
        return ["reno", "cubic-linux"].map(str::to_owned).into();
    }
    let name = match q.likely_control() {
        "cubic" => "cubic-linux",
        name => name,
    };
    let entry = gigatcp_tcp::congestion::find(name);
    vec![entry.map_or("cubic-linux", |entry| entry.name).to_owned()]
}

fn bytes(of: &Estimate) -> String {
    let count = of.mid_or(of.low);
    let text = gigatcp_units::grammar::human_bytes(gigatcp_units::Bytes::new(count as u64));
    if of.is_open() {
        format!("at least {text}")
    } else {
        text
    }
}
