//! Random worlds, each with one known cause.

use gigatcp_path::{
    CpuCosts, HopConfig, LossModel, Picoseconds, Policer, Reorder, RingConfig, RingsConfig,
};
use gigatcp_sim::{FlowConfig, HostConfig, Observe, Reader, Stop, WorldConfig};
use gigatcp_tcp::congestion::{self, Counting, SlowStart};
use gigatcp_tcp::profile::InitialWindow;
use gigatcp_tcp::{Config, Profile};
use gigatcp_units::{Bytes, Duration, Probability, Rate};
use gigatcp_wire::SeqNumber;

use crate::draw::Draw;

/// What is injected; the first is nothing.
pub const CAUSES: [&str; 19] = [
    "path-saturated",
    "receive-window-limited",
    "window-clamped",
    "send-buffer-limited",
    "application-limited",
    "slow-start-too-slow",
    "random-loss",
    "queue-overflow",
    "reordering-taken-for-loss",
    "ack-path",
    "delayed-ack-stall",
    "rto-ladder",
    "mss-clamped",
    "pmtu-black-hole",
    "cpu-limited-sender",
    "cpu-limited-receiver",
    "rx-ring-overrun",
    "capture-artefact",
    "policer",
];

/// A world and what of its capture is lost.
pub struct Case {
    pub world: WorldConfig,
    /// Chance that the capture lacks a packet.
    pub capture_loss: f64,
    pub about: String,
}

/// How long and how fat paths are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Paths {
    /// Some hundred segments in flight fill them.
    Usual,
    /// Some thousand to ten thousand.
    Fat,
    /// The usual ones, with traffic of others.
    Shared,
}

/// What all worlds have.
struct Base {
    rate: f64,
    rtt: f64,
    mtu: u16,
    mss: f64,
    profile: Profile,
    control: &'static str,
    /// Octets in flight that fill the path.
    bdp: f64,
}

fn probability(p: f64) -> Probability {
    Probability::try_new(p).expect("a probability")
}

fn seconds(s: f64) -> Duration {
    Duration::from_secs_f64(s)
}

/// The world of `cause` with this seed.
pub fn world(cause: &str, seed: u64, paths: Paths) -> Case {
    let number = CAUSES.iter().position(|one| *one == cause).unwrap_or(0) as u64;
    let mut draw = Draw::new(seed.wrapping_mul(977).wrapping_add(number));
    let base = base(&mut draw, cause, paths);
    let mut case = plain(&mut draw, &base, seed);
    case.about = format!(
        "{:.0} Mbit/s, {:.1} ms, MTU {}, {}, pacing {}, timestamps {}",
        base.rate / 1e6,
        base.rtt * 1e3,
        base.mtu,
        base.control,
        base.profile.pacing,
        base.profile.timestamps
    );
    inject(cause, &mut draw, &base, &mut case);
    // Drawn apart, so that all other worlds are what they would be without.
    let mut draw = Draw::new(!seed);
    if cause == "path-saturated" && draw.chance(0.3) {
        narrow_first(&mut draw, &base, &mut case);
    }
    if paths == Paths::Shared {
        share(&mut draw, cause, &base, &mut case);
    }
    case
}

/// Others send over the same path, from hosts of their own: now and then, or as much as
/// the path takes where that is what it is to be full of.
fn share(draw: &mut Draw, cause: &str, base: &Base, case: &mut Case) {
    // There a list of packets says what is lost.
    if cause == "rto-ladder" {
        return;
    }
    let is_greedy = matches!(cause, "path-saturated" | "queue-overflow") && draw.chance(0.5);
    for number in 0..draw.pick(&[1, 2, 3]) {
        let every = draw.magnitude(0.02, 0.5);
        let load = draw.between(0.05, 0.2);
        let amount = (base.rate / 8.0 * every * load).max(500.0);
        case.world.flows.push(FlowConfig {
            name: format!("other {number}"),
            start: seconds(draw.between(0.0, 0.5)),
            extra_delay: seconds(base.rtt * draw.between(0.0, 0.5)),
            supply: (!is_greedy).then_some((Bytes::new(amount as u64), seconds(every))),
            stop: Stop::After(seconds(length(base))),
            sender: host(base),
            receiver: host(base),
            ..case.world.flows[0].clone()
        });
    }
    let others = case.world.flows.len() - 1;
    let how = if is_greedy { "greedy" } else { "sparing" };
    case.about = format!("{}, {others} others, {how}", case.about);
}

/// The bottleneck is the sender's own interface, an Ethernet.
fn narrow_first(draw: &mut Draw, base: &Base, case: &mut Case) {
    let speeds = [10e6, 100e6, 1e9, 2.5e9];
    let apart = |speed: &f64| (speed / base.rate).ln().abs();
    let speed = speeds
        .into_iter()
        .min_by(|a, b| apart(a).total_cmp(&apart(b)))
        .unwrap_or(base.rate);
    for hop in case.world.forward.iter_mut().chain(&mut case.world.reverse) {
        hop.rate = Some(Rate::from_bps((speed * draw.between(2.0, 10.0)) as u64));
        hop.limit_packets = None;
    }
    case.world.flows[0].sender.link = Some(HopConfig {
        name: "interface".into(),
        rate: Some(Rate::from_bps(speed as u64)),
        // As Ethernet adds to each packet (IEEE 802.3).
        link_overhead: Bytes::new(38),
        ..HopConfig::default()
    });
    case.about = format!("{}, own interface {:.0} Mbit/s", case.about, speed / 1e6);
}

fn base(draw: &mut Draw, cause: &str, paths: Paths) -> Base {
    let (rates, [shortest, longest]) = match paths {
        Paths::Usual | Paths::Shared => ([10e6, 200e6], [0.008, 0.1]),
        Paths::Fat => ([300e6, 3e9], [0.02, 0.15]),
    };
    let rate = draw.magnitude(rates[0], rates[1]);
    // A short queue overflows again and again only where windows grow fast.
    let longest = if cause == "queue-overflow" {
        shortest * 2.5
    } else {
        longest
    };
    let rtt = draw.magnitude(shortest, longest);
    let mtu = if cause == "mss-clamped" {
        9000
    } else {
        draw.pick(&[1500, 1500, 1500, 9000])
    };
    let rate = if mtu == 9000 && paths != Paths::Fat {
        rate * 3.0
    } else {
        rate
    };
    let has_pacing = draw.chance(0.6);
    let profile = Profile {
        pacing: has_pacing,
        timestamps: draw.chance(0.8),
        buffer_limit: Bytes::new(1 << 30),
        segmentation_offload: draw.chance(0.5),
        ..Profile::MODERN
    };
    Base {
        rate,
        rtt,
        mtu,
        mss: f64::from(mtu) - 52.0,
        profile,
        control: draw.pick(&["cubic", "cubic", "reno"]),
        bdp: rate * rtt / 8.0,
    }
}

fn host(base: &Base) -> HostConfig {
    HostConfig {
        tcp: Config {
            profile: base.profile,
            local_port: 5001,
            remote_port: 5001,
            iss: SeqNumber::new(1_000_000),
            ip: gigatcp_wire::IpVersion::V4,
            mss: base.mtu - 40,
            congestion: congestion::find(base.control).expect("a registered control"),
            initial_ssthresh: None,
            slow_start: SlowStart::Usual,
            send_buffer: None,
            receive_buffer: None,
            timestamp_offset: 0,
            events: gigatcp_events::EventMask::NONE,
        },
        costs: CpuCosts::default(),
        steal: None,
        coalesce: Duration::ZERO,
        link: None,
        tx_queue: 1000,
        rings: None,
        reneges: false,
        reader: Reader::default(),
    }
}

/// How long a transfer is, in seconds.
fn length(base: &Base) -> f64 {
    (80.0 * base.rtt).clamp(2.0, 5.0)
}

/// Nothing is wrong: three hops each way, the second one the bottleneck.
fn plain(draw: &mut Draw, base: &Base, seed: u64) -> Case {
    let legs = [draw.between(0.1, 0.3), draw.between(0.1, 0.3)];
    let one_way = base.rtt / 2.0;
    let access = Some(Rate::from_bps((base.rate * draw.between(2.0, 10.0)) as u64));
    let hop = |name: &str, share: f64| HopConfig {
        name: name.into(),
        one_way_delay: seconds(one_way * share),
        ..HopConfig::default()
    };
    let rest = 1.0 - legs[0] - legs[1];
    let queue = (base.bdp * draw.between(0.5, 1.5) / f64::from(base.mtu)).max(20.0);
    let forward = vec![
        HopConfig {
            rate: access,
            ..hop("access", legs[0])
        },
        HopConfig {
            rate: Some(Rate::from_bps(base.rate as u64)),
            limit_packets: Some(queue as u64),
            ..hop("bottleneck", rest)
        },
        hop("far", legs[1]),
    ];
    let reverse = vec![
        hop("far-back", legs[1]),
        HopConfig {
            rate: Some(Rate::from_bps(base.rate as u64)),
            ..hop("bottleneck-back", rest)
        },
        hop("access-back", legs[0]),
    ];
    let flow = FlowConfig {
        name: "flow".into(),
        start: Duration::ZERO,
        extra_delay: Duration::ZERO,
        stop: Stop::After(seconds(length(base))),
        write_size: Bytes::new(65_536),
        supply: None,
        sender: host(base),
        receiver: host(base),
        interval: Duration::from_secs(1),
        time_sequence: false,
    };
    Case {
        world: WorldConfig {
            seed,
            forward,
            reverse,
            shared: None,
            flows: vec![flow],
            end: Duration::from_secs(120),
            observe: Observe::NOTHING,
        },
        capture_loss: 0.0,
        about: String::new(),
    }
}

fn inject(cause: &str, draw: &mut Draw, base: &Base, case: &mut Case) {
    let flow = &mut case.world.flows[0];
    match cause {
        "receive-window-limited" => {
            let window = (base.bdp * draw.between(0.15, 0.6)).max(4.0 * base.mss);
            flow.receiver.tcp.receive_buffer = Some(Bytes::new(window as u64));
        }
        "window-clamped" => {
            let bdp = base.bdp.max(draw.between(150e3, 400e3));
            stretch(&mut case.world, bdp / base.bdp);
            case.world.flows[0].receiver.tcp.profile.window_scaling = false;
        }
        "send-buffer-limited" => {
            let buffer = (base.bdp * draw.between(0.15, 0.6)).max(6.0 * base.mss);
            flow.sender.tcp.send_buffer = Some(Bytes::new(buffer as u64));
        }
        "application-limited" => {
            let every = draw.magnitude(0.005, 0.3);
            let amount = base.rate / 8.0 * every * draw.between(0.1, 0.5);
            flow.supply = Some((Bytes::new(amount.max(500.0) as u64), seconds(every)));
        }
        "slow-start-too-slow" => {
            // The receiver is not to be what opens slowly.
            let window = base.bdp.max(200.0 * base.mss) * 4.0;
            flow.receiver.tcp.receive_buffer = Some(Bytes::new(window as u64));
            if draw.chance(0.5) {
                flow.sender.tcp.profile.initial_window =
                    InitialWindow::Segments(draw.pick(&[2, 4, 10]));
                let bdp = base.bdp.max(200.0 * base.mss);
                flow.stop = Stop::Bytes(Bytes::new((bdp * draw.between(0.4, 1.0)) as u64));
                stretch(&mut case.world, bdp / base.bdp);
            } else {
                flow.sender.tcp.initial_ssthresh = Some(draw.pick(&[4, 8, 16]));
                flow.sender.tcp.congestion = congestion::find("reno").expect("a control");
                let bdp = base.bdp.max(150.0 * base.mss);
                stretch(&mut case.world, bdp / base.bdp);
            }
        }
        "random-loss" => {
            let share = draw.between(0.15, 0.5);
            let w = share * base.bdp / base.mss;
            // So often that the capture has more than a few of them.
            let segments = base.rate * length(base) / 8.0 / base.mss;
            let p = (1.5 / (w * w)).max(20.0 / segments).clamp(1e-5, 0.02);
            case.world.forward[2].loss = vec![LossModel::Bernoulli(probability(p))];
        }
        "queue-overflow" => {
            let limit = (base.bdp / base.mss * draw.between(0.02, 0.08)).max(3.0);
            case.world.forward[1].limit_packets = Some(limit as u64);
            flow.sender.tcp.congestion = congestion::find("reno").expect("a control");
        }
        "reordering-taken-for-loss" => {
            let w = draw.between(0.15, 0.5) * base.bdp / base.mss;
            case.world.forward[2].reorder = Some(Reorder {
                probability: probability((1.5 / (w * w)).clamp(1e-4, 0.02)),
                extra_delay: seconds(base.rtt * draw.between(0.1, 0.4)),
            });
            let profile = &mut flow.sender.tcp.profile;
            (profile.rack, profile.dsack_undo, profile.eifel) = (false, false, false);
            profile.segmentation_offload = false;
        }
        "ack-path" => {
            // The way back carries a share of the acknowledgments that the data
            // would need, one for two segments.
            let needed = base.rate / (2.0 * f64::from(base.mtu)) * 52.0;
            let back = &mut case.world.reverse[1];
            back.rate = Some(Rate::from_bps((needed * draw.between(0.03, 0.08)) as u64));
            back.limit_packets = Some(draw.between(4.0, 16.0) as u64);
            // A sender of the old school counts acknowledgments, not octets.
            flow.sender.tcp.profile.counting = Counting::PerAck;
            flow.sender.tcp.profile.pacing = false;
        }
        "delayed-ack-stall" => {
            flow.sender.tcp.send_buffer = Some(Bytes::new(base.mss as u64));
            flow.receiver.tcp.profile.quick_ack = false;
            flow.receiver.tcp.profile.delayed_ack_timeout =
                Duration::from_millis(draw.pick(&[40, 100, 200]));
            flow.stop = Stop::Bytes(Bytes::new(40 * base.mss as u64));
        }
        "rto-ladder" => {
            // A small window and then nothing for some time, repairs included.
            let first = draw.between(50.0, 400.0) as u64;
            let lost = first..first + 10 + draw.between(0.0, 3.0) as u64;
            case.world.forward[0].loss = vec![LossModel::Listed(lost.collect())];
            flow.sender.tcp.send_buffer = Some(Bytes::new(5 * base.mss as u64));
            flow.stop = Stop::Bytes(Bytes::new(first * base.mss as u64 + 40_000));
            flow.sender.tcp.profile.tlp = draw.chance(0.5);
            flow.sender.tcp.profile.segmentation_offload = false;
        }
        "mss-clamped" => {
            let mtu = draw.pick(&[1492_u64, 1500, 1006]);
            case.world.forward[1].mtu = Some(Bytes::new(mtu));
            case.world.forward[1].tells_too_big = true;
        }
        "pmtu-black-hole" => {
            case.world.forward[1].mtu = Some(Bytes::new(u64::from(base.mtu) - 40));
            flow.sender.tcp.profile.plpmtud = false;
            case.world.end = Duration::from_secs(30);
        }
        "cpu-limited-sender" => {
            let rate = base.rate * draw.between(0.15, 0.6);
            let each = (f64::from(base.mtu) * 8.0) / rate;
            flow.sender.costs = CpuCosts {
                per_packet_sent: seconds(each),
                ..CpuCosts::default()
            };
            flow.sender.tcp.profile.segmentation_offload = false;
        }
        "cpu-limited-receiver" => {
            let rate = base.rate * draw.between(0.15, 0.6);
            let each = (f64::from(base.mtu) * 8.0) / rate;
            flow.receiver.costs = CpuCosts {
                per_packet_received: seconds(each * draw.between(0.2, 0.7)),
                per_byte_copied: Picoseconds::new((each * 0.5 / base.mss * 1e12) as u64),
                ..CpuCosts::default()
            };
            let buffer = base.bdp * draw.between(1.0, 3.0) + 64e3;
            flow.receiver.tcp.receive_buffer = Some(Bytes::new(buffer as u64));
        }
        "rx-ring-overrun" => rx_ring(draw, base, case),
        "capture-artefact" => case.capture_loss = draw.magnitude(0.003, 0.03),
        "policer" => {
            let rate = base.rate * draw.between(0.25, 0.8);
            let burst = rate / 8.0 * base.rtt * draw.magnitude(0.1, 1.0);
            case.world.forward[1].policer = Some(Policer {
                rate: Rate::from_bps(rate as u64),
                burst: Bytes::new(burst.max(5.0 * f64::from(base.mtu)) as u64),
            });
        }
        _ => {}
    }
}

/// As in 2001, of any size: a pool that does not back the window, and a reader
/// that pauses.
fn rx_ring(draw: &mut Draw, base: &Base, case: &mut Case) {
    let flow = &mut case.world.flows[0];
    let ring = draw.pick(&[64_u32, 128, 256]);
    let spare = draw.between(24.0, 128.0) as u32;
    let window = f64::from(ring + spare + spare * 3) * base.mss;
    flow.receiver.tcp.receive_buffer = Some(Bytes::new(window as u64));
    let profile = Profile {
        buffer_limit: Bytes::new(1 << 30),
        initial_window: InitialWindow::Segments(10),
        ..Profile::BSD_4_3_RENO
    };
    for host in [&mut flow.sender, &mut flow.receiver] {
        host.tcp.profile = profile;
        host.tcp.congestion = congestion::find("reno").expect("a control");
        host.tcp.slow_start = SlowStart::Standard;
    }
    flow.sender.tcp.send_buffer = Some(Bytes::new(window as u64));
    flow.receiver.rings = Some(RingsConfig {
        large: RingConfig {
            descriptors: ring,
            pool: Some(ring + spare),
        },
        small: Some((
            200,
            RingConfig {
                descriptors: 256,
                pool: None,
            },
        )),
        copy_break: 0,
    });
    flow.receiver.reader = Reader {
        read_size: Bytes::new(8192),
        pause: Some((
            Bytes::new((window * draw.between(0.02, 0.2)) as u64),
            seconds(base.rtt * draw.between(4.0, 6.0) + 0.1),
        )),
    };
    flow.stop = Stop::Bytes(Bytes::new((window * 2.5) as u64));
    // Nothing else is to be lost.
    case.world.forward[1].limit_packets = None;
    case.world.end = Duration::from_secs(40);
}

/// Makes the path `factor` times as long, if that is more.
fn stretch(world: &mut WorldConfig, factor: f64) {
    if factor <= 1.0 {
        return;
    }
    for hop in world.forward.iter_mut().chain(&mut world.reverse) {
        hop.one_way_delay = seconds(hop.one_way_delay.as_secs_f64() * factor);
        hop.limit_packets = hop
            .limit_packets
            .map(|limit| (limit as f64 * factor) as u64);
    }
}
