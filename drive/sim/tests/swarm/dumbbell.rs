//! Simulations of several flows over shared hops.
//!
//! Random: one to three hops in each direction with rates, delays, queue limits in packets and
//! bytes, hold limits, loss of every model, reordering, duplicates; sometimes a half-duplex
//! Ethernet that all hosts send on; hosts ideal or slow, some of them slower with longer queues,
//! with and without a network card's queue; engines as [`super::hosts`] draws them; amounts from
//! zero on.
//!
//! Limits for survival: at most 3 % random loss per hop, periodic loss of at most every 20th
//! packet, queues for at least two packets of the largest MTU, an RTT below a second. Transfers
//! (except of [`super::long`]) fit the window and the slowest rate: four seconds' worth for all
//! flows together, since a queue of minutes would outlast every retry limit.

use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex};

use gigatcp_path::{
    AckFilter, CpuCosts, HopConfig, LossModel, MarkAbove, Middlebox, Period, Picoseconds, Policer,
    QueueConfig, Release, Reorder, SharedMediumConfig, Tally, WindowScale,
};
use gigatcp_sim::packet::{Content, Packet};
use gigatcp_sim::{
    EndReason, FlowConfig, FlowOutcome, HostConfig, Observe, Outcome, Reader, Scheduling, Stop,
    Tap, World, WorldConfig,
};
use gigatcp_tcp::Connection;
use gigatcp_units::{Bytes, Duration, Instant, Probability, Rate};
use gigatcp_wire::{IpVersion, Phantom, Segment, SeqNumber};

use super::audit::Audit;
use super::draw::Draw;
use super::hosts;
use super::injected_bug::{self, InjectedBug};
use super::links;
use super::long;
use super::network::Crossed;

/// Virtual time after which a simulation that has not finished has failed.
pub const PATIENCE: Duration = Duration::from_secs(20_000);

/// Longest time for which the slowest hop may serve all flows.
const LONGEST: Duration = Duration::from_secs(4);

/// Maximum of wire packets in a simulation, as they leave and as they arrive.
pub const PACKETS: u64 = 8_000_000;

/// Builds and runs the simulation of `seed`; returns the hash of its events.
pub fn run(seed: u64, bug: Option<InjectedBug>) -> Result<u64, String> {
    run_world(&world(seed, bug), bug)
}

/// Runs a simulation; returns the hash of its events.
pub fn run_world(config: &WorldConfig, bug: Option<InjectedBug>) -> Result<u64, String> {
    let built = World::new(injected_bug::routes(bug, config.clone()));
    let mut world = built.map_err(|error| error.to_string())?;
    let stop = Arc::new(AtomicBool::new(false));
    let watch = Arc::new(Mutex::new(Watch::new(config, bug, Arc::clone(&stop))));
    world.set_tap(Box::new(WatchTap(Arc::clone(&watch))));
    let ended = world.run(&stop, &AtomicU64::new(0));
    let watch = watch.lock().map_err(|_| "the watch panicked")?;
    if let Some(failure) = &watch.failure {
        return Err(failure.clone());
    }
    world.check();
    let outcome = world.outcome();
    check_end(config, ended, &outcome)?;
    check_hops(config, &outcome, &watch)?;
    for (number, (flow, result)) in config.flows.iter().zip(&outcome.flows).enumerate() {
        check_flow(flow, result, &outcome, bug).map_err(|what| format!("flow {number}: {what}"))?;
    }
    Ok(outcome.event_hash)
}

/// Configuration for a seed.
pub fn world(seed: u64, bug: Option<InjectedBug>) -> WorldConfig {
    let draw = &mut Draw::new(seed, "dumbbell");
    let forward = hops(draw, "forward");
    let reverse = hops(draw, "reverse");
    let rates = forward.iter().chain(&reverse).filter_map(|hop| hop.rate);
    let slowest = rates.min();
    let tightest = forward
        .iter()
        .chain(&reverse)
        .filter_map(|hop| hop.limit_packets);
    let segments = if tightest.min().is_some_and(|limit| limit < 10) {
        100
    } else {
        5000
    };
    let count = draw.pick(&[1, 1, 1, 2, 3, 6]);
    let flows = (0..count)
        .map(|number| {
            let share = slowest.map(|rate| Rate::from_bps(rate.as_bps() / count));
            flow(draw, hosts::ip(seed), number, segments / count, share, bug)
        })
        .collect();
    let mut world = WorldConfig {
        seed,
        forward,
        reverse,
        links: Vec::new(),
        media: Vec::new(),
        hosts: Vec::new(),
        arrivals: Vec::new(),
        datagrams: Vec::new(),
        flows,
        end: PATIENCE,
        observe: Observe {
            // Long simulations with frequent samples are slow, not interesting.
            sample_step: draw.pick(&[Duration::ZERO, Duration::from_secs(10)]),
            record_limit: Bytes::MAX,
            fingerprint: true,
            account: true,
        },
    };
    // From a separate stream: later additions change no earlier simulation.
    let more = &mut Draw::new(seed, "dumbbell, more");
    make_chains_cost(more, &mut world);
    let medium = shared(more, &world);
    let links = &mut Draw::new(seed, "dumbbell, links");
    for hop in world.forward.iter_mut().chain(&mut world.reverse) {
        links::change(links, hop);
    }
    if draw.chance(1) {
        long::lengthen(draw, &mut world);
    } else if let Some((medium, recoveries)) = medium {
        world.share(medium, recoveries);
    }
    world
}

/// Makes some hosts with CPU costs pay for walking over data waiting in a buffer.
fn make_chains_cost(draw: &mut Draw, world: &mut WorldConfig) {
    for flow in &mut world.flows {
        for host in [&mut flow.sender, &mut flow.receiver] {
            let walks = draw.chance(30);
            let (cost, cached) = (draw.magnitude(0, 50), draw.magnitude(0, 4_000_000));
            if walks && host.costs != CpuCosts::default() {
                host.costs.per_byte_queued = Picoseconds::new(cost);
                host.costs.queue_cached = Bytes::new(cached);
            }
        }
    }
}

/// An Ethernet that all hosts send on, if their packets fit.
///
/// With it come the times the cards of senders and receivers need after a collision.
fn shared(draw: &mut Draw, world: &WorldConfig) -> Option<(SharedMediumConfig, [Duration; 2])> {
    let is_wanted = draw.chance(10);
    let mbps = draw.pick(&[10, 10, 100]);
    let medium = SharedMediumConfig {
        name: "coax".into(),
        rate: Rate::from_bps(mbps * 1_000_000),
        // At most the distance at which a collision is detected within the slot.
        delay: draw.span(Duration::ZERO, Duration::from_nanos(240_000 / mbps)),
        limit_packets: draw.chance(50).then(|| draw.magnitude(50, 2_000)),
        recoveries: Vec::new(),
    };
    let recoveries = [(); 2].map(|()| Duration::from_nanos(draw.magnitude(0, 1_000_000)));
    let hosts = world.flows.iter().flat_map(|f| [&f.sender, &f.receiver]);
    let fits = hosts
        .map(|host| &host.tcp.transport)
        .all(|tcp| tcp.mtu <= 1500);
    (is_wanted && fits).then_some((medium, recoveries))
}

fn hops(draw: &mut Draw, direction: &str) -> Vec<HopConfig> {
    (0..draw.between(1, 3))
        .map(|number| hop(draw, format!("{direction}-{number}")))
        .collect()
}

pub fn hop(draw: &mut Draw, name: String) -> HopConfig {
    let us = Duration::from_micros;
    let rate = draw
        .chance(60)
        .then(|| Rate::from_bps(draw.magnitude(1_000_000, 20_000_000_000)));
    // Without a rate there is never a queue.
    let limits = rate.is_some();
    // Later additions, from a separate stream.
    let mut later = Draw::new(draw.clone().next(), "later impairments");
    HopConfig {
        corrupt: match later.chance(10) {
            true => losses(&mut later),
            false => Vec::new(),
        },
        // Without a queue it could drop the only ACK of a window repeatedly.
        ack_filter: later.chance(10).then_some(AckFilter::Queue),
        middlebox: later.chance(10).then(|| middlebox(&mut later)),
        name,
        rate,
        link_overhead: Bytes::new(draw.pick(&[0, 0, 38])),
        per_packet: draw.pick(&[Duration::ZERO, Duration::ZERO, us(1), us(50)]),
        one_way_delay: draw.span(Duration::from_nanos(1), us(100_000)),
        limit_packets: (limits && draw.chance(70)).then(|| draw.magnitude(2, 5000)),
        limit_bytes: (limits && draw.chance(20))
            .then(|| Bytes::new(draw.magnitude(131_072, 8_000_000))),
        hold_limit: draw.chance(10).then(|| draw.magnitude(50, 10_000)),
        loss: losses(draw),
        loss_period: draw.chance(15).then(|| Period {
            from: Duration::ZERO,
            until: draw.span(us(1), us(5_000_000)),
        }),
        reorder: draw.chance(25).then(|| Reorder {
            probability: percent(draw, 20),
            extra_delay: draw.span(us(1), us(50_000)),
        }),
        duplicate: draw.chance(20).then(|| percent(draw, 10)),
        release: draw.pick(&[Release::PerPacket, Release::Whole]),
        mark_above: (limits && draw.chance(30)).then(|| threshold(draw)),
        mark: draw.chance(15).then(|| percent(draw, 20)),
        ecn_bleach: draw.chance(5),
        policer: policer(draw),
        mtu: None,
        notifies_too_big: false,
        fragments: false,
        quick_start: false,
        rate_source: None,
        shaper: None,
        aggregate: None,
        delay_schedule: None,
        jitter: None,
        slot: None,
        queue: QueueConfig::default(),
    }
}

/// A middlebox that clears and clamps options.
///
/// It may be on the path of the SYN-ACK only, so it leaves Window Scale and Timestamps: without
/// them there, the ends would not agree.
fn middlebox(draw: &mut Draw) -> Middlebox {
    Middlebox {
        mss: draw.chance(30).then(|| draw.magnitude(536, 1460) as u16),
        window_scale: WindowScale::Pass,
        clears_sack: draw.chance(30),
        clears_timestamps: false,
        clears_ecn: draw.chance(30),
    }
}

/// A policer, rarely.
fn policer(draw: &mut Draw) -> Option<Policer> {
    draw.chance(8).then(|| Policer {
        rate: Rate::from_bps(draw.magnitude(1_000_000, 2_000_000_000)),
        // A whole packet of any size fits.
        burst: Bytes::new(draw.magnitude(70_000, 8_000_000)),
    })
}

fn threshold(draw: &mut Draw) -> MarkAbove {
    match draw.between(0, 2) {
        0 => MarkAbove::Bytes(Bytes::new(draw.magnitude(1, 8_000_000))),
        1 => MarkAbove::Packets(draw.magnitude(1, 5000)),
        _ => MarkAbove::Sojourn(draw.span(Duration::from_micros(1), Duration::from_millis(100))),
    }
}

fn losses(draw: &mut Draw) -> Vec<LossModel> {
    match draw.between(0, 9) {
        0..=5 => vec![],
        6 | 7 => vec![LossModel::Bernoulli(percent(draw, 3))],
        8 => vec![LossModel::Periodic {
            every: draw.magnitude(20, 3000),
        }],
        _ => {
            let mut list: Vec<u64> = (0..draw.between(1, 20))
                .map(|_| draw.magnitude(1, 2000))
                .collect();
            list.sort_unstable();
            list.dedup();
            vec![LossModel::Listed(list)]
        }
    }
}

/// A probability of up to `most` percent, usually far less.
fn percent(draw: &mut Draw, most: u64) -> Probability {
    let millionths = draw.magnitude(10, most * 10_000);
    Probability::try_new(millionths as f64 / 1e6).unwrap_or(Probability::NEVER)
}

pub fn flow(
    draw: &mut Draw,
    ip: IpVersion,
    number: u64,
    segments: u64,
    share: Option<Rate>,
    bug: Option<InjectedBug>,
) -> FlowConfig {
    let mut sender = host(draw, ip);
    let receiver = host(draw, ip);
    let transport = sender.tcp.transport_mut();
    transport.congestion = injected_bug::control(bug, &transport.congestion);
    let carried = share.map_or(u64::MAX, |rate| rate.amount_in(LONGEST).as_u64());
    let most = hosts::most_octets(&sender.tcp, &receiver.tcp, segments).min(carried);
    let octets = draw.amount(most);
    let mut stop = stop(draw, octets, share);
    if matches!(stop, Stop::After(_)) {
        // Data that fits the send buffer is written immediately, at any time.
        let all = Bytes::new(octets.max(1));
        let transport = sender.tcp.transport_mut();
        transport.send_buffer = Some(transport.send_buffer.map_or(all, |room| room.min(all)));
        if hosts::granted_send_buffer(&sender.tcp) > most {
            stop = Stop::Bytes(Bytes::new(octets));
        }
    }
    FlowConfig {
        name: format!("flow-{number}"),
        start: draw.span(Duration::ZERO, Duration::from_secs(2)),
        via: None,
        extra_delay: draw.pick(&[Duration::ZERO, Duration::from_millis(30)]),
        application: None,
        from: None,
        to: None,
        stop,
        // At most 2000 writes, and none that does not fit.
        write_size: Bytes::new(draw.magnitude(octets / 2000 + 1, octets.max(65_536))),
        supply: None,
        sender,
        receiver,
        interval: draw.span(Duration::from_millis(10), Duration::from_secs(5)),
    }
}

/// An amount, or sometimes the time in which the flow's share carries it.
///
/// The share is that of the slowest hop.
fn stop(draw: &mut Draw, octets: u64, share: Option<Rate>) -> Stop {
    match share {
        Some(rate) if draw.chance(25) => Stop::After(rate.time_for(Bytes::new(octets))),
        _ => Stop::Bytes(Bytes::new(octets)),
    }
}

pub fn host(draw: &mut Draw, ip: IpVersion) -> HostConfig {
    let tcp = hosts::config(draw, ip);
    let cost = |draw: &mut Draw| Duration::from_nanos(draw.magnitude(0, 5_000));
    let costs = if draw.chance(60) {
        CpuCosts::default()
    } else {
        CpuCosts {
            per_segment_sent: cost(draw),
            per_packet_sent: cost(draw),
            per_segment_received: cost(draw),
            per_packet_received: cost(draw),
            per_ack_sent: cost(draw),
            per_ack_received: cost(draw),
            per_byte_copied: Picoseconds::new(draw.magnitude(0, 2_000)),
            per_entry_walked: cost(draw),
            ..CpuCosts::default()
        }
    };
    let receive_offload = tcp.transport.profile.segments.receive_offload;
    HostConfig {
        tcp,
        costs,
        scheduling: Scheduling::default(),
        steal: None,
        coalesce: draw.pick(&[Duration::ZERO, Duration::ZERO, Duration::from_micros(100)]),
        receive_offload,
        coalesce_packets: None,
        link: draw.chance(40).then(|| HopConfig {
            name: "card".into(),
            rate: Some(Rate::from_bps(draw.magnitude(1_000_000, 100_000_000_000))),
            one_way_delay: Duration::from_nanos(draw.magnitude(1, 10_000)),
            release: draw.pick(&[Release::PerPacket, Release::Whole]),
            ..HopConfig::default()
        }),
        tx_queue: draw.magnitude(1, 2000),
        // A card that runs out of buffers may stall a connection permanently. The tests of rings
        // cover that; this swarm requires that every byte arrives.
        rings: None,
        reneges: false,
        backlog: None,
        clusters: None,
        reader: Reader {
            read_size: Bytes::new(draw.magnitude(1_000, 1_000_000)),
            pause: draw.chance(20).then(|| {
                let after = Bytes::new(draw.magnitude(1, 1_000_000));
                (after, Duration::from_micros(draw.magnitude(1, 1_000_000)))
            }),
            rate: None,
        },
    }
}

/// Records of the tap.
struct Watch {
    flows: Vec<(Audit, Option<SeqNumber>)>,
    /// Wire packets and bytes per direction that left hosts and reached them.
    departed: [Tally; 2],
    arrived: [Tally; 2],
    crossed: Crossed,
    packets: u64,
    bug: Option<InjectedBug>,
    failure: Option<String>,
    stop: Arc<AtomicBool>,
}

struct WatchTap(Arc<Mutex<Watch>>);

impl Tap for WatchTap {
    fn on_packet(&mut self, now: Instant, packet: &Packet, at_sender: bool) {
        let mut watch = self.0.lock().expect("one thread per world");
        let departs = at_sender != packet.reverse();
        if let Err(what) = watch.note(packet, departs) {
            watch.fail(format!(
                "flow {} at {} ns: {what}",
                packet.flow,
                now.as_nanos()
            ));
        }
    }

    fn on_hop(&mut self, _: Instant, packet: &Packet, link: usize) {
        let mut watch = self.0.lock().expect("one thread per world");
        if watch.bug == Some(InjectedBug::Leak) {
            watch.bug = None;
            return;
        }
        watch.crossed.on_hop(packet, link);
    }
}

impl Watch {
    fn new(config: &WorldConfig, bug: Option<InjectedBug>, stop: Arc<AtomicBool>) -> Self {
        Self {
            flows: config
                .flows
                .iter()
                .map(|_| (Audit::default(), None))
                .collect(),
            departed: [Tally::default(); 2],
            arrived: [Tally::default(); 2],
            crossed: Crossed::new(config),
            packets: 0,
            bug,
            failure: None,
            stop,
        }
    }

    fn fail(&mut self, what: String) {
        self.failure.get_or_insert(what);
        self.stop.store(true, std::sync::atomic::Ordering::Relaxed);
    }

    fn note(&mut self, packet: &Packet, departs: bool) -> Result<(), String> {
        self.packets += 1;
        if self.packets > PACKETS {
            return Err(format!(
                "more than {PACKETS} packets: the hosts do not stop talking"
            ));
        }
        if self.bug == Some(InjectedBug::Uncounted) && !departs && self.packets > 20 {
            self.bug = None;
            return Ok(());
        }
        let tallies = if departs {
            &mut self.departed
        } else {
            &mut self.arrived
        };
        count(&mut tallies[usize::from(packet.reverse())], packet);
        self.crossed.at_host(packet, departs);
        let (audit, iss) = &mut self.flows[packet.flow as usize];
        let segment = match &packet.content {
            Content::Segment(segment) => segment,
            Content::Corrupted(_) => return Ok(()),
            _ => return Err("an ICMP error was shown".into()),
        };
        check_phantom(iss, packet.reverse(), segment)?;
        let end = usize::from(packet.reverse() == departs);
        if departs {
            audit.departs(end, segment)
        } else {
            audit.arrives(end, segment);
            Ok(())
        }
    }
}

fn count(tally: &mut Tally, packet: &Packet) {
    use gigatcp_path::Parcel;
    tally.packets += packet.wire_packets() as u64;
    tally.bytes += Bytes::new(packet.ip_bytes());
}

/// Checks that a phantom's offset in the stream matches its sequence number.
fn check_phantom(
    iss: &mut Option<SeqNumber>,
    reverse: bool,
    segment: &Segment<Phantom>,
) -> Result<(), String> {
    let Phantom { offset, len } = segment.payload;
    if reverse {
        return if len == 0 {
            Ok(())
        } else {
            Err("data from the reading side".into())
        };
    }
    let iss = *iss.get_or_insert(segment.seq);
    if len > 0 && iss + 1 + offset as u32 != segment.seq {
        return Err(format!(
            "octet {offset} of the stream stands at {:?}",
            segment.seq
        ));
    }
    Ok(())
}

pub fn check_end(config: &WorldConfig, ended: EndReason, outcome: &Outcome) -> Result<(), String> {
    if ended == EndReason::Finished {
        return Ok(());
    }
    let mut what = format!(
        "the world ended as {ended:?} at {} s:",
        outcome.now.as_secs_f64()
    );
    for (flow, result) in config.flows.iter().zip(&outcome.flows) {
        if result.finished_at.is_some() {
            continue;
        }
        let view = |connection: Option<&Connection<Phantom>>| {
            connection.map(|c| (c.info(), c.failure(), c.counters()))
        };
        what += &format!(
            "\n{} {:?}: {:?} read\nsender {:?}\nreceiver {:?}",
            flow.name,
            flow.stop,
            result.bytes(),
            view(result.sender.connection()),
            view(result.receiver.connection()),
        );
    }
    Err(what)
}

/// Checks that hops conserve packets and bytes.
///
/// None is created or lost between two hops or between a hop and a host, and no queue was longer
/// than its limit.
fn check_hops(config: &WorldConfig, outcome: &Outcome, watch: &Watch) -> Result<(), String> {
    let (forward, others) = outcome.hops.split_at(config.forward.len());
    let (reverse, _) = others.split_at(config.reverse.len());
    let shared = outcome.media.first();
    if let Some(shared) = shared {
        let sum = |tallies: [Tally; 2]| Tally {
            packets: tallies[0].packets + tallies[1].packets,
            bytes: tallies[0].bytes + tallies[1].bytes,
        };
        let first = [forward, reverse].map(|hops| hops[0].counters().arrived);
        let counters = shared.counters();
        if !counters.is_conserved() {
            return Err(format!("the medium made or lost packets: {counters:?}"));
        }
        expect_same(
            ("the hosts", sum(watch.departed)),
            ("the medium", counters.arrived),
        )?;
        expect_same(
            ("the medium", counters.delivered),
            ("the first hops", sum(first)),
        )?;
    }
    for (direction, hops) in [forward, reverse].into_iter().enumerate() {
        if !config.links.is_empty() {
            continue;
        }
        let mut before = match shared {
            Some(_) => ("the medium", hops[0].counters().arrived),
            None => ("the hosts", watch.departed[direction]),
        };
        for hop in hops {
            let counters = hop.counters();
            let name = hop.config().name.as_str();
            if !counters.is_conserved() {
                return Err(format!("hop {name} made or lost packets: {counters:?}"));
            }
            expect_same(before, (name, counters.arrived))?;
            before = (name, counters.delivered);
        }
        expect_same(before, ("the hosts", watch.arrived[direction]))?;
    }
    check_queues(outcome)?;
    if shared.is_none() {
        watch.crossed.check(outcome)?;
    }
    Ok(())
}

/// Checks that no queue was longer than its limit.
pub fn check_queues(outcome: &Outcome) -> Result<(), String> {
    for (hop, most) in outcome.hops.iter().zip(&outcome.max_backlog) {
        let config = hop.config();
        // Only a FIFO counts what is in service.
        let in_service = match config.queue.is_fifo() {
            true => 0,
            false => config.aggregate.map_or(1, |group| u64::from(group.packets)),
        };
        let limit = config.limit_packets.unwrap_or(u64::MAX);
        let limit = limit
            .saturating_mul(config.queue.limited_queues())
            .saturating_add(in_service);
        if *most > limit {
            return Err(format!("{most} packets in a queue of {limit}\n{config:?}"));
        }
    }
    Ok(())
}

fn expect_same(before: (&str, Tally), after: (&str, Tally)) -> Result<(), String> {
    if before.1 == after.1 {
        return Ok(());
    }
    Err(format!(
        "{} let {:?} go, {} took {:?}",
        before.0, before.1, after.0, after.1
    ))
}

fn check_flow(
    flow: &FlowConfig,
    result: &FlowOutcome,
    outcome: &Outcome,
    bug: Option<InjectedBug>,
) -> Result<(), String> {
    let (Some(sender), Some(receiver)) = (result.sender.connection(), result.receiver.connection())
    else {
        return Err("finished without a connection".into());
    };
    for (name, connection) in [("sender", sender), ("receiver", receiver)] {
        if let Some(failure) = connection.failure() {
            return Err(format!(
                "the {name} failed: {failure:?}, {:?}",
                connection.info()
            ));
        }
        check_limits(name, connection, outcome.now, bug)?;
    }
    // SYN and FIN take one number each.
    let sent = sender.info().snd_nxt.saturating_sub(2);
    let read = result.bytes().as_u64();
    if read != sent {
        return Err(format!("{sent} octets sent and {read} read"));
    }
    if let Stop::Bytes(amount) = flow.stop
        && amount.as_u64() != read
    {
        return Err(format!("{amount:?} to write and {read} octets read"));
    }
    for host in [&result.sender, &result.receiver] {
        if host
            .link()
            .is_some_and(|link| !link.counters().is_conserved())
        {
            return Err("a network card made or lost packets".into());
        }
    }
    Ok(())
}

/// Checks that the times under all limits add up to the time since establishment.
pub fn check_limits<P: gigatcp_wire::Payload>(
    name: &str,
    connection: &Connection<P>,
    now: Instant,
    bug: Option<InjectedBug>,
) -> Result<(), String> {
    let Some(established) = connection.established_at() else {
        return Ok(());
    };
    let times = connection.limits(now);
    let total = injected_bug::limit_times(bug, &times);
    if total != now.saturating_since(established) {
        return Err(format!(
            "limits of the {name} add up to {total:?}, established for {:?}: {times:?}",
            now.saturating_since(established)
        ));
    }
    Ok(())
}
