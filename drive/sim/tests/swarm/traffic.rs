//! Simulations of many paths whose hosts run applications: requests and calls, bursts, pieces,
//! two-way data, flows that begin at random, datagrams.
//!
//! Random: links and routes as in [`super::network`]; in addition links with a separate MTU,
//! policers, and middleboxes that change handshake options; hosts that flows share;
//! an application for most flows.
//!
//! Checked: both ends of each application agree on the bytes, every request is answered,
//! connections end without failure, limit times add up, links conserve packets, queues keep their
//! limits, and all packets that leave hosts and links reach another one.
//!
//! Further limits for survival: a router that drops a packet as too large reports it, or fragments
//! the packet, and then all queues hold its fragments; senders by IPv6 discover the MTU; all links
//! have the same middlebox, so that a SYN and its answer lose the same options.

use std::fmt::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use gigatcp_app::read;
use gigatcp_path::{HopConfig, Middlebox, Parcel, Policer, Tally, WindowScale};
use gigatcp_sim::packet::Packet;
use gigatcp_sim::{FlowConfig, FlowOutcome, Outcome, Stop, Tap, World, WorldConfig};
use gigatcp_units::{Bytes, Duration, Instant, Rate};
use gigatcp_wire::IpVersion;

use super::draw::Draw;
use super::injected_bug::{self, InjectedBug};
use super::{dumbbell, hosts, network};

/// Maximum of segments in the larger direction: applications need many RTTs.
const SEGMENTS: u64 = 300;

/// Whether the network of a seed runs applications.
pub fn is_drawn(seed: u64) -> bool {
    Draw::new(seed, "applications").chance(50)
}

/// Builds and runs the simulation of `seed`; returns the hash of its events.
pub fn run(seed: u64, bug: Option<InjectedBug>) -> Result<u64, String> {
    let config = world(seed, bug);
    let mut world = World::new(config.clone()).map_err(|error| error.to_string())?;
    let stop = Arc::new(AtomicBool::new(false));
    let departed = Arc::new(Mutex::new(Tally::default()));
    world.set_tap(Box::new(WatchTap {
        departed: Arc::clone(&departed),
        stop: Arc::clone(&stop),
    }));
    let ended = world.run(&stop, &AtomicU64::new(0));
    world.check();
    let outcome = world.outcome();
    dumbbell::check_end(&config, ended, &outcome)?;
    dumbbell::check_queues(&outcome)?;
    let departed = departed.lock().map_err(|_| "the tap panicked")?;
    check_links(&config, &outcome, departed.packets)?;
    for flow in &outcome.flows {
        let configured = &config.flows[flow.flow];
        check_flow(configured, flow, &outcome, bug)
            .map_err(|what| format!("{}: {what}", configured.name))?;
    }
    check_others(&config, &outcome)?;
    Ok(outcome.event_hash)
}

/// Configuration for a seed.
pub fn world(seed: u64, bug: Option<InjectedBug>) -> WorldConfig {
    let draw = &mut Draw::new(seed, "traffic");
    let ip = hosts::ip(seed);
    let mut world = network::world(seed, bug);
    elements(draw, &mut world, ip);
    world.hosts = (0..2).map(|_| dumbbell::host(draw, ip)).collect();
    let budgets: Vec<u64> = world.flows.iter().map(budget).collect();
    for (flow, budget) in world.flows.iter_mut().zip(&budgets) {
        if draw.chance(30) {
            (flow.from, flow.to) = (Some(0), Some(1));
            flow.extra_delay = Duration::ZERO;
        }
        if matches!(flow.stop, Stop::Bytes(_)) && draw.chance(80) {
            let application = read(&application(draw, *budget)).expect("a known application");
            flow.application = Some(injected_bug::application(bug, application));
        }
    }
    let first = world.flows[0].clone();
    if draw.chance(40) {
        world.arrivals = vec![arrivals(draw, first.clone(), budgets[0])];
    }
    if draw.chance(40) {
        world.datagrams = vec![datagrams(draw, first)];
    }
    injected_bug::links(bug, &mut world.links);
    world
}

/// Bytes that a flow may carry in each direction.
fn budget(flow: &FlowConfig) -> u64 {
    let [sender, receiver] = [&flow.sender.tcp, &flow.receiver.tcp];
    let there = hosts::most_octets(sender, receiver, SEGMENTS);
    let back = hosts::most_octets(receiver, sender, SEGMENTS);
    let planned = match flow.stop {
        Stop::Bytes(bytes) => bytes.as_u64(),
        Stop::After(_) => 1000,
    };
    planned.min(there).min(back).max(2)
}

/// Any application that carries about `budget` bytes in each direction.
fn application(draw: &mut Draw, budget: u64) -> String {
    let count = draw.between(1, 12.min(budget));
    let each = budget / count;
    let every = draw.magnitude(1, 300);
    let asks = draw.magnitude(1, each);
    let mut text = match draw.between(0, 5) {
        0 => format!("amount, size {budget} B"),
        1 => format!("amount, size {} B, two_way", budget / 2),
        2 => format!("paced, piece {each} B, every {every} ms, size {budget} B"),
        3 => format!("on-off, burst {each} B, every {every} ms, count {count}"),
        4 => format!(
            "request-response, request {asks} B, answer {each} B, think {every} ms, count {count}"
        ),
        _ => {
            let (connections, depth) = (draw.between(1, 4), draw.between(1, 5));
            format!(
                "rpc, connections {connections}, depth {depth}, every {every} ms, \
                 request {asks} B, answer {each} B, count {count}"
            )
        }
    };
    if text.starts_with('r') {
        for flag in ["exponential_sizes", "exponential_work, work 3 ms"] {
            if draw.chance(40) {
                write!(text, ", {flag}").expect("a string takes all");
            }
        }
    }
    text
}

/// Flows like this one that begin at random.
fn arrivals(draw: &mut Draw, flow: FlowConfig, budget: u64) -> FlowConfig {
    let (every, count) = (draw.magnitude(1, 500), draw.between(1, 12));
    let size = draw.magnitude(1, budget / 8 + 1);
    let law = draw.pick(&["exponential", "fixed", "pareto 3"]);
    let text = format!("arrivals, every {every} ms, size {size} B, {law}, count {count}");
    FlowConfig {
        name: "mice".into(),
        application: Some(read(&text).expect("arrivals")),
        ..flow
    }
}

/// Datagrams on the route of this flow.
fn datagrams(draw: &mut Draw, flow: FlowConfig) -> FlowConfig {
    let (rate, size) = (draw.magnitude(50, 1000), draw.magnitude(1, 1400));
    let (burst, span) = (draw.between(1, 20), draw.magnitude(1, 2000));
    let text =
        format!("datagrams, rate {rate} kbit/s, size {size} B, burst {burst}, for {span} ms");
    let buffer = Bytes::new(draw.magnitude(2_000, 1_000_000));
    let mut flow = FlowConfig {
        name: "datagrams".into(),
        application: Some(read(&text).expect("datagrams")),
        from: None,
        to: None,
        ..flow
    };
    flow.receiver.tcp.transport_mut().receive_buffer = Some(buffer);
    flow
}

/// Adds elements that networks do not have.
fn elements(draw: &mut Draw, world: &mut WorldConfig, ip: IpVersion) {
    if draw.chance(35) {
        let mtu = draw.magnitude(u64::from(ip.least_mtu()).max(576), 4352);
        for _ in 0..2 {
            let link = any(draw, &mut world.links);
            link.mtu = Some(Bytes::new(mtu));
            (link.notifies_too_big, link.fragments) = (true, true);
        }
        if ip == IpVersion::V4 {
            hold_fragments(world, mtu);
        }
        for flow in &mut world.flows {
            for host in [&mut flow.sender, &mut flow.receiver] {
                let profile = &mut host.tcp.transport_mut().profile;
                profile.path_mtu.pmtud |= ip == IpVersion::V6;
                // A host that ignores ICMP errors loses all large packets there.
                profile.defense.icmp_errors = true;
                profile.path_mtu.pmtu_min = profile.path_mtu.pmtu_min.min(mtu as u32);
            }
        }
    }
    if draw.chance(25) {
        let rate = draw.magnitude(1_000_000, 1_000_000_000);
        any(draw, &mut world.links).policer = Some(Policer {
            rate: Rate::from_bps(rate),
            burst: Bytes::new(draw.magnitude(70_000, 8_000_000)),
        });
    }
    if draw.chance(40) {
        let middlebox = Middlebox {
            mss: draw.chance(30).then(|| draw.magnitude(536, 1460) as u16),
            window_scale: draw.pick(&[
                WindowScale::Pass,
                WindowScale::Clear,
                WindowScale::Clamp(12),
            ]),
            clears_sack: draw.chance(30),
            clears_timestamps: draw.chance(50),
            clears_ecn: draw.chance(30),
        };
        for link in &mut world.links {
            link.middlebox = Some(middlebox);
        }
    }
}

/// Lets each queue hold all fragments of a packet: of one that does not fit, no retransmission arrives
/// either (Kent, Mogul 1987).
fn hold_fragments(world: &mut WorldConfig, mtu: u64) {
    /// The largest IP header, and what rounding to units of 8 bytes costs.
    const HEADER: u64 = 60 + 7;
    let flows = world.flows.iter();
    let hosts = flows.flat_map(|flow| [&flow.sender, &flow.receiver]);
    let largest = hosts.map(|host| host.tcp.transport.mtu).max().unwrap_or(0);
    let fragments = u64::from(largest).div_ceil(mtu - HEADER);
    for link in &mut world.links {
        link.limit_packets = link.limit_packets.map(|limit| limit.max(fragments));
    }
}

fn any<'a>(draw: &mut Draw, links: &'a mut [HopConfig]) -> &'a mut HopConfig {
    let last = links.len() as u64 - 1;
    &mut links[draw.between(0, last) as usize]
}

/// Counts segments that leave hosts, as wire packets.
struct WatchTap {
    departed: Arc<Mutex<Tally>>,
    stop: Arc<AtomicBool>,
}

impl Tap for WatchTap {
    fn on_packet(&mut self, _: Instant, packet: &Packet, at_sender: bool) {
        if at_sender == packet.reverse() {
            return;
        }
        let mut departed = self.departed.lock().expect("one thread per world");
        departed.packets += packet.wire_packets() as u64;
        if departed.packets > dumbbell::PACKETS {
            self.stop.store(true, Ordering::Relaxed);
        }
    }
}

/// Checks that packets leaving a host or a link enter another one.
///
/// Datagrams and ICMP errors are not shown as they leave, and a router that fragments packets makes
/// more of them.
fn check_links(config: &WorldConfig, outcome: &Outcome, departed: u64) -> Result<(), String> {
    let cuts = config.links.iter().any(|link| link.mtu.is_some());
    if cuts || !config.datagrams.is_empty() {
        return Ok(());
    }
    let counters = || outcome.hops.iter().map(|hop| hop.counters());
    let out_of: u64 = counters().map(|counters| counters.delivered.packets).sum();
    let into: u64 = counters().map(|counters| counters.arrived.packets).sum();
    if departed + out_of != into + outcome.packets {
        return Err(format!(
            "{departed} packets left hosts and {out_of} links, {into} entered links and {} hosts",
            outcome.packets
        ));
    }
    Ok(())
}

fn check_flow(
    flow: &FlowConfig,
    result: &FlowOutcome,
    outcome: &Outcome,
    bug: Option<InjectedBug>,
) -> Result<(), String> {
    for end in [&result.sender, &result.receiver] {
        let connection = end.connection().ok_or("finished without a connection")?;
        if let Some(failure) = connection.failure() {
            return Err(format!("failed: {failure:?}, {:?}", connection.info()));
        }
        dumbbell::check_limits("connection", connection, outcome.now, bug)?;
    }
    let [sender, receiver] = [&result.sender, &result.receiver].map(|end| end.report(outcome.now));
    if sender.written != receiver.read || receiver.written != sender.read {
        return Err(format!(
            "{:?} and {:?} written, {:?} and {:?} read",
            sender.written, receiver.written, receiver.read, sender.read
        ));
    }
    if sender.requests != sender.answered {
        let (requests, answered) = (sender.requests, sender.answered);
        return Err(format!("{requests} requests and {answered} answers"));
    }
    match (flow.stop, &flow.application) {
        (Stop::Bytes(bytes), None) if bytes != receiver.read => {
            Err(format!("{bytes:?} to write and {:?} read", receiver.read))
        }
        _ => Ok(()),
    }
}

/// Checks that finite processes have no unfinished flows, and sinks no excess datagrams.
fn check_others(config: &WorldConfig, outcome: &Outcome) -> Result<(), String> {
    for (process, flows) in config.arrivals.iter().zip(&outcome.arrivals) {
        let made = process
            .application
            .as_ref()
            .unwrap()
            .arrivals(config.seed, &process.name);
        let is_awaited = made.is_some_and(|arrivals| arrivals.is_finite());
        let completed = flows.completion_times.count() as u64;
        if completed > flows.flows || is_awaited && completed != flows.flows {
            return Err(format!("{completed} of {} flows ended", flows.flows));
        }
    }
    for one in &outcome.datagrams {
        let received = one.received;
        if received.received + one.drops.total().packets > one.sent + received.duplicates
            || received.received + received.lost > one.sent
        {
            return Err(format!("more datagrams counted than sent: {one:?}"));
        }
    }
    Ok(())
}
