//! Healthy world with randomly drawn parameters.
//!
//! Everything except the cause is drawn independently of it: congestion control, pacing,
//! timestamps, SACK, segmentation offload, ACK frequency, interrupt coalescing, MTU, queue limit.
//! A feature of a capture that follows from one of these carries no information about the cause.

use super::Paths;
use super::draft::{BOTTLENECK, Draft, Table, Value};
use super::patch::Patch;
use crate::draw::Draw;

/// Maximum data packets on the wire of a world of [`Paths::Usual`].
const MAX_PACKETS: f64 = 50_000.0;

/// Maximum data packets on the wire of a world of [`Paths::Fat`].
const MAX_FAT_PACKETS: f64 = 250_000.0;

/// Minimum BDP in segments at which windows can be a fraction of the BDP.
const MIN_BDP_SEGMENTS: f64 = 40.0;

/// Requirements of a cause on the path into which it is injected.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Needs {
    /// MTU of the hosts, if the cause requires one.
    pub(crate) mtu: Option<u16>,
    /// Maximum RTT as a multiple of the minimum.
    pub(crate) rtt_range: f64,
    /// Minimum BDP in segments.
    pub(crate) min_bdp: f64,
}

impl Default for Needs {
    fn default() -> Self {
        Self {
            mtu: None,
            rtt_range: f64::INFINITY,
            min_bdp: MIN_BDP_SEGMENTS,
        }
    }
}

/// Parameters common to all worlds.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Base {
    /// Rate of the bottleneck in bits per second.
    pub(crate) rate: f64,
    /// RTT of the empty path in seconds.
    pub(crate) rtt: f64,
    /// Largest IP packet of the hosts.
    pub(crate) mtu: u16,
    /// Payload bytes of a full segment.
    pub(crate) mss: f64,
    /// BDP in bytes.
    pub(crate) bdp: f64,
    /// Time for which the application sends, in seconds.
    pub(crate) length: f64,
    /// Kind of paths requested.
    pub(crate) paths: Paths,
}

impl Base {
    pub(crate) fn draw(draw: &mut Draw, paths: Paths, needs: Needs) -> Self {
        let ([slow, fast], [shortest, longest], most): ([f64; 2], [f64; 2], f64) = match paths {
            Paths::Usual | Paths::Shared | Paths::Elements => {
                ([5e6, 300e6], [0.003, 0.1], MAX_PACKETS)
            }
            Paths::Fat => ([300e6, 3e9], [0.02, 0.1], MAX_FAT_PACKETS),
        };
        let rate = draw.magnitude(slow, fast);
        let jumbo = draw.chance(if paths == Paths::Fat { 0.5 } else { 0.2 });
        let mtu = match needs.mtu {
            Some(mtu) => mtu,
            // At such rates a world of small packets takes seconds to run.
            None if jumbo || rate > 1e9 => 9000,
            None => 1500,
        };
        let mss = f64::from(mtu) - 52.0;
        let fitting = needs.min_bdp * mss * 8.0 / rate;
        let rtt = draw
            .magnitude(shortest, longest.min(shortest * needs.rtt_range))
            .max(fitting);
        let per_second = rate / 8.0 / f64::from(mtu);
        let length = (60.0 * rtt).clamp(2.0, 6.0);
        Self {
            rate,
            rtt,
            mtu,
            mss,
            bdp: rate * rtt / 8.0,
            length: length.min((most / per_second).max(2.0)),
            paths,
        }
    }

    /// Lengthens the path until its BDP is at least `bdp` bytes.
    pub(crate) fn stretch(&mut self, bdp: f64) {
        self.rtt = self.rtt.max(bdp * 8.0 / self.rate);
        self.bdp = self.rate * self.rtt / 8.0;
    }

    /// A queue limit of `share` BDP, in packets.
    pub(crate) fn queue(&self, share: f64) -> Value {
        Value::Packets((self.bdp / f64::from(self.mtu) * share).max(3.0) as u64)
    }
}

/// Healthy world on this path.
pub(crate) fn healthy(draw: &mut Draw, base: &Base) -> (Draft, Patch) {
    let mut draft = Draft::default();
    hops(draw, base, &mut draft);
    hosts(draw, base, &mut draft);
    let control = draw.pick(&["cubic", "cubic", "cubic-linux", "reno"]);
    let mut flow = Table::default();
    flow.set("name", Value::Word("graded".into()))
        .set("congestion_control", Value::Word(control.into()))
        .set("duration", Value::seconds(base.length));
    draft.flows.push(flow);
    let patch = Patch {
        merge: draw.chance(0.3).then(|| draw.magnitude(20e-6, 200e-6)),
        super_segments: draw.chance(0.5),
        capture_loss: 0.0,
    };
    (draft, patch)
}

/// Adds three hops in each direction, the second one the bottleneck.
fn hops(draw: &mut Draw, base: &Base, draft: &mut Draft) {
    let legs = [draw.between(0.1, 0.3), draw.between(0.1, 0.3)];
    let shares = [legs[0], 1.0 - legs[0] - legs[1], legs[1]];
    let names = ["access", "bottleneck", "far"];
    let back = ["far-back", "bottleneck-back", "access-back"];
    let one_way = base.rtt / 2.0;
    for place in 0..3 {
        let delay = Value::seconds(one_way * shares[place]);
        draft.forward[place]
            .set("name", Value::Word(names[place].into()))
            .set("delay", delay);
        let delay = Value::seconds(one_way * shares[2 - place]);
        draft.reverse[place]
            .set("name", Value::Word(back[place].into()))
            .set("delay", delay);
    }
    let access = base.rate * draw.between(2.0, 10.0);
    draft.forward[0].set("rate", Value::bps(access));
    let queue = base
        .queue(draw.magnitude(0.3, 3.0))
        .number()
        .unwrap_or_default()
        .max(10.0) as u64;
    draft.forward[BOTTLENECK]
        .set("rate", Value::bps(base.rate))
        .set("queue", Value::Packets(queue));
    draft.reverse[BOTTLENECK].set("rate", Value::bps(base.rate));
}

/// Sets TCP and network cards of both hosts.
fn hosts(draw: &mut Draw, base: &Base, draft: &mut Draft) {
    draft.both("mtu", Value::Count(u64::from(base.mtu)));
    let (timestamps, sack) = (draw.chance(0.8), draw.chance(0.9));
    draft.both("timestamps", Value::Flag(timestamps));
    draft.both("sack", Value::Flag(sack));
    if !sack {
        // A host without SACK cannot send D-SACK.
        draft.both("dsack", Value::Flag(false));
    }
    let (pacing, offload) = (draw.chance(0.6), draw.chance(0.5));
    draft
        .sender
        .flag("pacing", pacing)
        .flag("segmentation_offload", offload);
    let every = draw.pick(&[1, 2, 2, 2, 8, 16]);
    // A receiver that sends stretch ACKs requires windows of several times their span.
    let most = (base.bdp / base.mss / 8.0) as u64;
    draft
        .receiver
        .set("ack_every", Value::Count(every.min(most.max(1))));
    if draw.chance(0.5) {
        let most = 200e-6_f64.min(base.rtt / 20.0);
        let time = draw.magnitude(5e-6, most.max(10e-6));
        draft.receiver.set("coalesce", Value::seconds(time));
    }
    if draw.chance(0.2) {
        let time = draw.magnitude(5e-6, 50e-6);
        draft.sender.set("coalesce", Value::seconds(time));
    }
}

/// Adds flows of other hosts. `load` is each one's share of the path; `None` for a greedy flow.
pub(crate) fn others(
    draw: &mut Draw,
    base: &Base,
    draft: &mut Draft,
    count: u64,
    load: Option<[f64; 2]>,
) {
    let control = draft.flows[0].find("congestion_control").cloned();
    for number in 0..count {
        let mut flow = Table::default();
        flow.set("name", Value::Word(format!("other-{number}")))
            .set("start", Value::seconds(draw.between(0.0, 0.3)))
            .set("duration", Value::seconds(base.length))
            .set(
                "extra_delay",
                Value::seconds(base.rtt * draw.between(0.0, 0.5)),
            );
        if let Some(control) = &control {
            flow.set("congestion_control", control.clone());
        }
        if let Some([least, most]) = load {
            let every = draw.magnitude(0.02, 0.5);
            let amount = base.rate / 8.0 * every * draw.between(least, most);
            flow.set("supply", Value::Bytes(amount.max(500.0) as u64))
                .set("supply_every", Value::seconds(every));
        }
        draft.flows.push(flow);
    }
}
