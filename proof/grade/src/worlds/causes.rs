//! Change that each cause makes to a healthy world: one table, one function per cause.
//!
//! Limits of hosts and applications are in this file; impairments of packets are in
//! `impairments.rs`.

use super::base::{Base, Needs, others};
use super::caps::{cap, relax_ack_every};
use super::draft::{Draft, Value};
use super::impairments as path;
use super::patch::Patch;
use crate::draw::Draw;

/// World into which a cause is injected.
pub(crate) struct Site<'a> {
    /// Random parameters.
    pub(crate) draw: &'a mut Draw,
    /// The path.
    pub(crate) base: &'a Base,
    /// The plan.
    pub(crate) draft: &'a mut Draft,
    /// Properties that a plan cannot express.
    pub(crate) patch: &'a mut Patch,
}

/// Cause, with the function that injects it.
pub(crate) struct Recipe {
    /// Id of the cause.
    pub(crate) id: &'static str,
    /// Requirements on the path.
    pub(crate) needs: Needs,
    /// Injects the cause.
    pub(crate) inject: fn(&mut Site<'_>),
}

const ANY: Needs = Needs {
    mtu: None,
    rtt_range: f64::INFINITY,
    min_bdp: 40.0,
};

/// Short path, on which windows regrow and overflow a short queue several times.
const SHORT: Needs = Needs {
    rtt_range: 2.5,
    ..ANY
};

/// Long path, on which slow start and congestion avoidance take many round trips.
const LONG: Needs = Needs {
    min_bdp: 200.0,
    ..ANY
};

macro_rules! recipes {
    ($($id:literal, $needs:expr, $inject:expr;)*) => {
        /// All causes of worlds, in the order of `CAUSES`.
        pub(crate) const RECIPES: &[Recipe] = &[$(Recipe {
            id: $id,
            needs: $needs,
            inject: $inject,
        }),*];
        /// Ids of [`RECIPES`].
        pub(crate) const IDS: &[&str] = &[$($id),*];
    };
}

recipes! {
    "path-saturated", Needs { min_bdp: 10.0, ..ANY }, path_saturated;
    "cross-traffic", ANY, cross_traffic;
    "local-queue", ANY, local_queue;
    "pacing-limited", ANY, |site| capped(site, "pacing-limited", [0.15, 0.7]);
    "receive-window-limited", ANY, |site| capped(site, "receive-window-limited", [0.1, 0.6]);
    "no-window-scaling", Needs { min_bdp: 100.0, ..ANY }, no_window_scaling;
    "slow-reader", ANY, |site| capped(site, "slow-reader", [0.1, 0.6]);
    "receiver-cpu-limited", ANY, |site| capped(site, "receiver-cpu-limited", [0.15, 0.6]);
    "send-buffer-limited", ANY, |site| capped(site, "send-buffer-limited", [0.1, 0.6]);
    "application-limited", ANY, |site| capped(site, "application-limited", [0.05, 0.5]);
    "cwnd-growth-limited", LONG, cwnd_growth;
    "sender-cpu-limited", ANY, |site| capped(site, "sender-cpu-limited", [0.15, 0.6]);
    "delayed-ack-stall", Needs { rtt_range: 5.0, ..ANY }, delayed_ack;
    "random-loss", ANY, path::random_loss;
    "queue-overflow", SHORT, path::queue_overflow;
    "aqm-drops", ANY, path::aqm_drops;
    "policer", ANY, path::policer;
    "ecn-marks", ANY, path::ecn_marks;
    "reordering-mistaken-for-loss", ANY, path::reordering;
    "rto-backoff", ANY, path::rto_backoff;
    "outage", ANY, path::outage;
    "rx-ring-overrun", ANY, path::rx_ring;
    "pmtu-black-hole", ANY, path::pmtu_black_hole;
    "mss-clamped", Needs { mtu: Some(9000), ..ANY }, path::mss_clamped;
    "ack-path", ANY, path::ack_path;
    "connection-setup", ANY, path::connection_setup;
    "capture-artifact", Needs { min_bdp: 10.0, ..ANY }, |site| {
        site.patch.capture_loss = site.draw.magnitude(0.003, 0.03);
    };
}

/// Saturates the link. Covers every queue, windows slightly above the BDP, and receivers that send
/// stretch ACKs.
fn path_saturated(site: &mut Site<'_>) {
    let Site {
        draw, base, draft, ..
    } = site;
    if draw.chance(0.3) {
        // The window bounds the queue, not the link's rate.
        let window = base.bdp * draw.between(1.15, 2.0) + 8.0 * base.mss;
        draft
            .flow()
            .set("receive_buffer", Value::Bytes(window as u64));
        draft.bottleneck().set("queue", base.queue(2.5));
    }
    if draw.chance(0.3) {
        // The bottleneck is the sender's access link, without blocking the host.
        draft.forward[0].set("rate", Value::bps(base.rate * draw.between(1.02, 1.3)));
    }
}

/// Adds several greedy flows that share the bottleneck with the graded one.
fn cross_traffic(site: &mut Site<'_>) {
    let count = site.draw.pick(&[3, 4, 6, 9]);
    others(site.draw, site.base, site.draft, count, None);
}

/// Limits the flow by `cause` to a random share of the path's rate.
fn capped(site: &mut Site<'_>, cause: &str, [least, most]: [f64; 2]) {
    let level = site.draw.between(least, most);
    cap(site, cause, level);
}

/// Limits the sender's link to a random rate, or to that of an Ethernet.
fn local_queue(site: &mut Site<'_>) {
    let speeds = [10e6, 25e6, 100e6, 1e9, 2.5e9];
    let rate = site.base.rate;
    let below = speeds.into_iter().rfind(|speed| *speed < 0.8 * rate);
    match below.filter(|_| site.draw.chance(0.3)) {
        Some(speed) => cap(site, "local-queue", speed / rate),
        None => capped(site, "local-queue", [0.2, 0.75]),
    }
}

fn no_window_scaling(site: &mut Site<'_>) {
    site.draft.receiver.flag("window_scaling", false);
    relax_ack_every(site.draft, site.base, 65_535.0);
}

/// Limits by window growth. Either a short transfer ends in slow start, or the initial ssthresh is
/// far below the BDP.
fn cwnd_growth(site: &mut Site<'_>) {
    let Site {
        draw, base, draft, ..
    } = site;
    let window = base.bdp.max(200.0 * base.mss) * 4.0;
    draft
        .flow()
        .set("receive_buffer", Value::Bytes(window as u64));
    draft.bottleneck().set("queue", base.queue(1.5));
    if draw.chance(0.5) {
        let first = draw.pick(&[2, 4, 10, 10]);
        draft.sender.set("initial_window", Value::Count(first));
        let amount = base.bdp * draw.between(0.4, 1.2);
        let flow = draft.flow();
        flow.remove(&["duration"]);
        flow.set("bytes", Value::Bytes(amount as u64));
    } else {
        let threshold = draw.pick(&[4, 8, 16]);
        draft
            .flow()
            .set("initial_ssthresh", Value::Count(threshold))
            .set("congestion_control", Value::Word("reno".into()));
    }
}

/// Makes a sender wait for delayed ACKs, with too few segments in flight. The receiver waits for
/// more segments than the sender may send.
///
/// Even a doubled buffer would stay below that number, so that the delay alone is the limit.
fn delayed_ack(site: &mut Site<'_>) {
    let Site {
        draw, base, draft, ..
    } = site;
    let segments = draw.pick(&[1_u64, 2, 3]);
    let buffer = (segments as f64 + draw.between(0.0, 0.4)) * base.mss;
    let timeout = draw.pick(&[40, 100, 200]).max((base.rtt * 2e3) as u64);
    draft
        .receiver
        .flag("quick_ack", false)
        .set("ack_every", Value::Count(4 * segments + 2))
        .set("delayed_ack_timeout", Value::Nanos(timeout * 1_000_000));
    let flow = draft.flow();
    flow.remove(&["duration"]);
    flow.set("send_buffer", Value::Bytes(buffer as u64))
        .set("bytes", Value::Bytes(40 * segments * base.mss as u64));
}
