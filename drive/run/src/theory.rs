//! Goodput of a flow by a published equation, if one applies.
//!
//! ```text
//! reno   W = C / sqrt(p)                    Mathis et al. 1997, random loss       (1)
//! cubic  W = max(1.054 (RTT/p)^(3/4), 1.2 / sqrt(p))     RFC 9438 section 5      (2)
//! goodput = W * MSS / RTT
//! ```
//!
//! Both are means over many losses of a flow that only loss limits. So there is a value only if all
//! of this holds:
//!
//! * the flow is greedy, with one of these controls, and repairs losses by fast retransmit: a timer
//!   would idle the path and grow the window from one segment;
//! * each data packet is lost with the same probability `p` of at most [`MAX_LOSS`], independent of
//!   others, and nothing else is random; no ACK is lost;
//! * links have fixed rates and delays, and a window of [`PEAK`] times the mean, of all flows
//!   together, leaves the bottleneck idle in between: no queue adds to the RTT;
//! * the flow lasts for [`MIN_LOSSES`] losses or more;
//! * other limits (windows, CPUs, the application) took less than [`OTHER_SHARE`] of its time, by
//!   the time attribution of the run.
//!
//! C is 1.31 if every segment adds to the window, and 0.93 if each delayed ACK counts as one.
//! Equation (2) is for periodic loss; random loss leaves about a quarter more
//! (`core/theory/src/cubic.rs`).
//!
//! Out of scope: timeouts, which occur at loss rates of some percent, and bursts of losses.

use gigatcp_path::{HopConfig, LossModel};
use gigatcp_plan::record::TheoryRecord;
use gigatcp_plan::{Flow, FlowKind, Scenario, Stop};
use gigatcp_sim::account::ByCause;
use gigatcp_tcp::Profile;
use gigatcp_tcp::congestion::Counting;
use gigatcp_tcp::events::Cause;
use gigatcp_theory::cubic::Cubic;
use gigatcp_theory::mathis::{self, MathisConstant};
use gigatcp_units::{Bytes, Duration, Probability};

use crate::scenario::links_of;

/// Maximum loss probability: with more, timeouts matter.
const MAX_LOSS: f64 = 0.02;

/// Ratio of the largest window to the mean: Reno's sawtooth with random losses.
const PEAK: f64 = 1.5;

/// Minimum of expected losses during a flow.
const MIN_LOSSES: f64 = 4.0;

/// Maximum share of the time under other limits.
const OTHER_SHARE: f64 = 0.1;

/// Value for `flow`; `None` if no equation applies.
///
/// The flow sends segments with `mss` bytes of data; `spent` is its time by cause.
pub(crate) fn of_flow(
    scenario: &Scenario,
    flow: &Flow,
    mss: Bytes,
    spent: Option<&ByCause>,
) -> Option<TheoryRecord> {
    let route = links_of(scenario, flow);
    let loss = loss_of(&route[0])?;
    let is_steady = route[1].iter().all(|link| is_plain(link, true))
        && !scenario.has_media()
        && is_greedy(flow)
        && spent.is_some_and(is_limited_by_loss);
    let all = &scenario.flows;
    if !is_steady || all.iter().any(|flow| flow.kind() != FlowKind::Connections) {
        return None;
    }
    let [sends, receives] = scenario.hosts_of(flow);
    if !sends.profile.recovery.fast_retransmit {
        return None;
    }
    let rtt = rtt(scenario, flow, &route);
    let (window, model) = window(flow, &sends.profile, &receives.profile, rtt, loss)?;
    let per_second = window / rtt.as_secs_f64();
    let goodput_bps = per_second * mss.as_bits_f64();
    let slowest = route[0].iter().filter_map(|link| link.rate).min();
    let fits =
        slowest.is_none_or(|rate| goodput_bps * PEAK * all.len() as f64 <= rate.as_bps() as f64);
    let lives = match flow.stop {
        Stop::After(span) => span,
        Stop::Bytes(bytes) => Duration::from_secs_f64(bytes.as_bits_f64() / goodput_bps),
    };
    let span = lives
        .min(scenario.duration.saturating_sub(flow.start))
        .as_secs_f64();
    let lasts = per_second * loss.as_f64() * span >= MIN_LOSSES;
    (fits && lasts).then(|| TheoryRecord {
        model,
        loss_fraction: loss.as_f64(),
        rtt_ns: rtt.as_nanos(),
        goodput_bps,
    })
}

/// Mean window in segments, and its equation.
fn window(
    flow: &Flow,
    sends: &Profile,
    receives: &Profile,
    rtt: Duration,
    loss: Probability,
) -> Option<(f64, String)> {
    match flow.congestion.name() {
        "reno" => {
            let is_every = sends.congestion.counting != Counting::PerAck
                || !receives.acknowledgments.delayed_ack;
            let c = match is_every {
                true => MathisConstant::RandomEverySegment,
                false => MathisConstant::RandomDelayed,
            };
            let model = format!(
                "Mathis et al. 1997, C = {} ({})",
                c.value(),
                match is_every {
                    true => "random loss, every segment counted",
                    false => "random loss, delayed ACKs",
                }
            );
            Some((mathis::mean_window(c, loss), model))
        }
        "cubic" | "cubic-linux" => {
            let window = Cubic::default().mean_window(rtt, loss);
            Some((
                window,
                "CUBIC, RFC 9438 section 5 (periodic loss)".to_owned(),
            ))
        }
        _ => None,
    }
}

/// Whether the flow sends all that it can.
fn is_greedy(flow: &Flow) -> bool {
    let application = flow.application.as_ref();
    flow.supply.is_none() && application.is_none_or(|application| application.entry.name == "bulk")
}

/// Whether other limits took less than [`OTHER_SHARE`] of the time.
fn is_limited_by_loss(spent: &ByCause) -> bool {
    let seconds = |cause: Cause| spent[cause.index()].as_secs_f64();
    let all: f64 = Cause::ALL.into_iter().map(seconds).sum();
    let own = [
        Cause::RandomLoss,
        Cause::CwndGrowth,
        Cause::RtoBackoff,
        Cause::ConnectionSetup,
    ];
    let own: f64 = own.into_iter().map(seconds).sum();
    all > 0.0 && all - own < all * OTHER_SHARE
}

/// Probability that a data packet is lost on these links. `None` without loss, or if it is not the
/// same for each packet.
fn loss_of(links: &[&HopConfig]) -> Option<Probability> {
    let mut kept = 1.0;
    for link in links {
        if !is_plain(link, false) {
            return None;
        }
        for model in &link.loss {
            let LossModel::Bernoulli(probability) = model else {
                return None;
            };
            kept *= 1.0 - probability.as_f64();
        }
    }
    let lost = 1.0 - kept;
    (lost > 0.0 && lost <= MAX_LOSS)
        .then(|| Probability::try_new(lost))
        .flatten()
}

/// Whether rate and delay are fixed and nothing else is random.
///
/// Independent loss is allowed unless `lossless`.
fn is_plain(link: &HopConfig, lossless: bool) -> bool {
    link.is_closed_form()
        && link.loss_period.is_none()
        && link.policer.is_none()
        && link.reorder.is_none()
        && link.duplicate.is_none()
        && link.mark.is_none()
        && !(lossless && link.loss.iter().any(|model| !is_none(model)))
}

fn is_none(model: &LossModel) -> bool {
    matches!(model, LossModel::Bernoulli(p) if p.as_f64() == 0.0)
}

/// RTT of a full segment on the empty path.
fn rtt(scenario: &Scenario, flow: &Flow, route: &[Vec<&HopConfig>; 2]) -> Duration {
    let [sends, _] = scenario.hosts_of(flow);
    let delays = route.iter().flatten().map(|link| link.one_way_delay);
    let service = route[0].iter().map(|link| {
        let octets = Bytes::new(u64::from(sends.mtu)) + link.link_overhead;
        let served = link
            .rate
            .map_or(0.0, |rate| octets.as_bits_f64() / rate.as_bps() as f64);
        Duration::from_secs_f64(served).max(link.per_packet)
    });
    delays
        .chain(service)
        .fold(flow.extra_delay, |sum, one| sum + one)
}
