//! Counters of the simulator for a world, from which labels follow.

use std::sync::atomic::{AtomicBool, AtomicU64};

use gigatcp_sim::account::cause_of;
use gigatcp_sim::packet::Packet;
use gigatcp_sim::{FlowOutcome, Outcome, World, WorldConfig};
use gigatcp_tcp::Connection;
use gigatcp_tcp::events::{Cause, Limit};
use gigatcp_units::Instant;

use super::draft::BOTTLENECK;

/// Counters of one run, for the graded flow and the path.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Facts {
    /// Seconds from the first SYN to the last byte read or the run's end.
    pub elapsed: f64,
    /// Bytes that the receiving application read.
    pub bytes: u64,
    /// Goodput: those bytes per elapsed time, in bits per second.
    pub goodput_bps: f64,
    /// Share of the elapsed time before the connection was established.
    pub setup: f64,
    /// Share of time in which the bottleneck was transmitting.
    pub busy: f64,
    /// Share of time in which the sender's own link was transmitting.
    pub link_busy: f64,
    /// Share of time in which the busiest reverse hop was transmitting.
    pub reverse_busy: f64,
    /// Graded flow's share of all bytes read.
    pub own_share: f64,
    /// Share of the established time under each limit of the engine, indexed as [`Limit::ALL`].
    pub limits: [f64; Limit::ALL.len()],
    /// Busy shares of both CPUs.
    pub cpus: [f64; 2],
    /// Wire packets of data dropped because a queue was full.
    pub queue_full: u64,
    /// Wire packets of data that a managed queue dropped before it was full.
    pub early: u64,
    /// Wire packets of data dropped by loss models.
    pub lost: u64,
    /// Wire packets of data dropped by a policer.
    pub policed: u64,
    /// Wire packets of data larger than a hop's MTU.
    pub too_big: u64,
    /// Wire packets of data that were reordered.
    pub displaced: u64,
    /// Wire packets of data marked.
    pub marked: u64,
    /// ACKs dropped on the reverse path, for any reason.
    pub acks_dropped: u64,
    /// Packets dropped by the receiver's card.
    pub ring_drops: u64,
    /// Wire packets that reached the bottleneck.
    pub packets: u64,
    /// Retransmission timeouts of the sender.
    pub timeouts: u64,
    /// Retransmissions of the sender.
    pub retransmissions: u64,
    /// Window reductions by ECN echoes.
    pub mark_reductions: u64,
}

impl Facts {
    /// Share of time under these limits.
    pub fn limited_by(&self, limits: &[Limit]) -> f64 {
        limits.iter().map(|limit| self.limits[limit.index()]).sum()
    }

    /// Wire packets of data that did not arrive, for any reason.
    pub fn dropped(&self) -> u64 {
        self.queue_full + self.early + self.lost + self.policed + self.too_big + self.ring_drops
    }
}

/// Runs a world and returns its counters.
pub(crate) fn of(config: WorldConfig) -> Result<Facts, String> {
    let forward = config.forward.len();
    let mut world = World::new(config).map_err(|error| error.to_string())?;
    world.run(&AtomicBool::new(false), &AtomicU64::new(0));
    world.check();
    Ok(read(&world.outcome(), forward))
}

fn read(outcome: &Outcome, forward: usize) -> Facts {
    let flow = &outcome.flows[0];
    let end = flow.finished_at.unwrap_or(outcome.now);
    let elapsed = seconds(end).max(1e-9);
    let bytes = flow.bytes().as_u64();
    let flows = outcome.flows.iter().map(|flow| flow.bytes().as_u64());
    let datagrams = outcome
        .datagrams
        .iter()
        .map(|stream| stream.received.octets);
    let all: u64 = flows.chain(datagrams).sum();
    let (there, back) = outcome.hops.split_at(forward);
    let mut facts = Facts {
        elapsed,
        bytes,
        goodput_bps: bytes as f64 * 8.0 / elapsed,
        busy: there[BOTTLENECK].utilization(outcome.now),
        reverse_busy: back
            .iter()
            .map(|hop| hop.utilization(outcome.now))
            .fold(0.0, f64::max),
        own_share: bytes as f64 / all.max(1) as f64,
        packets: there[BOTTLENECK].counters().arrived.packets,
        acks_dropped: back
            .iter()
            .map(|hop| hop.counters().drops.total().packets)
            .sum(),
        ..Facts::default()
    };
    let link = flow.sender.link();
    for counters in there.iter().chain(link).map(gigatcp_path::Hop::counters) {
        let of = |cause| counters.drops.sum(|dropped| cause_of(dropped) == cause);
        facts.queue_full += of(Cause::QueueOverflow).packets;
        facts.early += of(Cause::AqmDrops).packets;
        facts.lost += of(Cause::RandomLoss).packets;
        facts.policed += of(Cause::Policer).packets;
        facts.too_big += of(Cause::PmtuBlackHole).packets;
        facts.displaced += counters.reordered.packets;
        facts.marked += counters.marked.packets;
    }
    facts.link_busy = link.map_or(0.0, |link| busy_at(link, end));
    facts.cpus = [&flow.sender, &flow.receiver].map(|host| {
        let busy = host.cpu_busy(end).as_secs_f64();
        busy / elapsed
    });
    of_hosts(flow, end, &mut facts);
    facts
}

/// Reads the counters of the engine and of the receiver's card.
fn of_hosts(flow: &FlowOutcome, end: Instant, facts: &mut Facts) {
    if let Some(sender) = flow.sender.connection() {
        let counters = sender.counters();
        facts.timeouts = counters.timeouts;
        facts.retransmissions = counters.retransmitted_segments;
        facts.mark_reductions = counters.ecn_reductions;
        let established = sender.established_at().map_or(facts.elapsed, seconds);
        facts.setup = established / facts.elapsed;
        facts.limits = limits(sender, end, established);
    }
    if let Some(rings) = flow.receiver.rings() {
        for ring in [gigatcp_path::Ring::Large, gigatcp_path::Ring::Small] {
            if rings.has(ring) {
                facts.ring_drops += rings.counters(ring).drops.total().packets;
            }
        }
    }
}

fn limits<P: gigatcp_wire::Payload>(
    sender: &Connection<P>,
    end: Instant,
    established: f64,
) -> [f64; Limit::ALL.len()] {
    let span = (seconds(end) - established).max(1e-9);
    let mut shares = sender.limits(end).map(|time| time.as_secs_f64() / span);
    // The engine counts the handshake as application-limited.
    let setup = established / span;
    shares[Limit::Application.index()] = (shares[Limit::Application.index()] - setup).max(0.0);
    shares
}

fn seconds(at: Instant) -> f64 {
    at.as_secs_f64()
}

fn busy_at(link: &gigatcp_path::Hop<Packet>, end: Instant) -> f64 {
    link.busy_time(end).as_secs_f64() / seconds(end).max(1e-9)
}
