//! Effects on a connection of a network card that runs out of buffers.
//!
//! No loss is scripted here: frames are dropped because the host has no buffer for them, and
//! everything else follows.

use crate::common;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex};

use gigatcp_path::{HopConfig, Ring, RingConfig, RingsConfig};
use gigatcp_sim::packet::Packet;
use gigatcp_sim::{
    FlowConfig, HostConfig, Observe, Outcome, Reader, Stop, Tap, World, WorldConfig,
};
use gigatcp_tcp::Profile;
use gigatcp_tcp::profile::InitialWindow;
use gigatcp_units::{Bytes, Duration, Instant, Rate};
use gigatcp_wire::Flags;
use proptest::prelude::*;

/// Bytes of an echo request before its payload (RFC 792, RFC 791).
const ICMP_AND_IP: u64 = 8 + 20;

/// Sequence number of the first byte of data, as traces print it.
const FIRST: u64 = 1;

/// Parameters of one run.
#[derive(Clone, Copy, Debug)]
struct Case {
    profile: Profile,
    mtu: u16,
    window: u64,
    rings: RingsConfig,
    reneges: bool,
    one_way: Duration,
    read_size: u64,
    pause_after: u64,
    pause: Duration,
}

/// LAN of 2001: 256 buffers posted of 384, MTU 4470.
///
/// The window is 2 MiB.
fn machines_of_2001() -> Case {
    let profile = Profile::BSD_4_3_RENO.with(|profile| {
        profile.buffers.buffer_limit = Bytes::new(16 << 20);
        // `ss_fltsz_local`: on a local network the first window has no limit.
        profile.congestion.initial_window = InitialWindow::Segments(10_000);
    });
    Case {
        profile,
        mtu: 4470,
        window: 2 << 20,
        rings: RingsConfig {
            large: RingConfig {
                descriptors: 256,
                pool: Some(384),
            },
            small: Some((
                1500,
                RingConfig {
                    descriptors: 256,
                    pool: None,
                },
            )),
            copy_break: 0,
        },
        reneges: false,
        one_way: Duration::from_micros(46),
        read_size: 8192,
        pause_after: 8192,
        pause: Duration::from_micros(168_600),
    }
}

/// Observations at both hosts: data by sequence number, as in a trace.
#[derive(Default, Debug)]
struct Seen {
    established: Option<Instant>,
    /// Times at which each segment left the sending stack.
    sent: BTreeMap<u64, Vec<Instant>>,
    /// Frames the receiving stack received, in order.
    taken: Vec<u64>,
    /// Resets from the sender: time and sequence number.
    resets: Vec<(Instant, u64)>,
    /// Resets the receiver's stack received.
    resets_taken: usize,
    highest: u64,
}

struct Watch(Arc<Mutex<Seen>>);

impl Tap for Watch {
    fn on_packet(&mut self, now: Instant, packet: &Packet, at_sender: bool) {
        let mut seen = self.0.lock().expect("one thread");
        if packet.reverse() {
            return;
        }
        let Some(segment) = packet.segment() else {
            return;
        };
        let len = u64::from(segment.payload.len);
        let seq = FIRST + segment.payload.offset;
        if segment.flags.contains(Flags::RST) {
            let edge = seen.highest;
            match at_sender {
                true => seen.resets.push((now, edge)),
                false => seen.resets_taken += 1,
            }
        } else if len > 0 && at_sender {
            seen.sent.entry(seq).or_default().push(now);
            seen.highest = seen.highest.max(seq + len);
        } else if len > 0 {
            seen.taken.push(seq);
        } else if at_sender && segment.flags.contains(Flags::SYN) {
            seen.established.get_or_insert(now);
        }
    }
}

impl Seen {
    /// First burst of segments whose first transmission did not arrive.
    ///
    /// It is the first sequence number of consecutive segments, and their number.
    fn first_burst(&self) -> Option<(u64, u64)> {
        let taken: std::collections::BTreeSet<_> = self.taken.iter().copied().collect();
        let mut lost = self.sent.keys().skip_while(|seq| taken.contains(seq));
        let first = *lost.next()?;
        let more = lost.take_while(|seq| !taken.contains(seq)).count() as u64;
        Some((first, 1 + more))
    }
}

fn host(case: &Case, is_receiver: bool) -> HostConfig {
    let mut host = common::host(case.profile, case.mtu, "reno", case.window);
    host.link = Some(HopConfig {
        name: if is_receiver { "receiver" } else { "sender" }.into(),
        rate: Some(Rate::from_bps(1_000_000_000)),
        ..HopConfig::default()
    });
    if is_receiver {
        host.rings = Some(case.rings);
        host.reneges = case.reneges;
        host.reader = Reader {
            read_size: Bytes::new(case.read_size),
            pause: Some((Bytes::new(case.pause_after), case.pause)),
            rate: None,
        };
    }
    host
}

/// Runs the case with a transfer of `octets`.
fn run(case: &Case, octets: u64) -> (Outcome, Seen) {
    let wire = |name: &str| {
        vec![HopConfig {
            name: name.into(),
            one_way_delay: case.one_way,
            ..HopConfig::default()
        }]
    };
    let config = WorldConfig {
        seed: 1,
        forward: wire("there"),
        reverse: wire("back"),
        links: Vec::new(),
        media: Vec::new(),
        hosts: Vec::new(),
        arrivals: Vec::new(),
        datagrams: Vec::new(),
        flows: vec![FlowConfig {
            name: "flow".into(),
            start: Duration::ZERO,
            via: None,
            extra_delay: Duration::ZERO,
            application: None,
            from: None,
            to: None,
            stop: Stop::Bytes(Bytes::new(octets)),
            write_size: Bytes::new(65_536),
            supply: None,
            sender: host(case, false),
            receiver: host(case, true),
            interval: Duration::from_secs(1),
        }],
        end: Duration::from_secs(3600),
        observe: Observe::NOTHING,
    };
    let seen = Arc::new(Mutex::new(Seen::default()));
    let mut world = World::new(config).expect("a world");
    world.set_tap(Box::new(Watch(Arc::clone(&seen))));
    world.run(&AtomicBool::new(false), &AtomicU64::new(0));
    world.check();
    let outcome = world.outcome();
    let seen = Arc::into_inner(seen)
        .expect("the world is gone")
        .into_inner()
        .expect("one thread");
    (outcome, seen)
}

/// Whether everything arrived.
fn heals(case: &Case) -> bool {
    const OCTETS: u64 = 8 << 20;
    let (outcome, _) = run(case, OCTETS);
    outcome.flows[0].bytes() == Bytes::new(OCTETS)
}

#[test]
fn the_stall_of_2001_follows_from_ring_pool_window_and_one_pause() {
    let (outcome, seen) = run(&machines_of_2001(), 100 << 20);
    let receiver = &outcome.flows[0].receiver;

    // Two frames were read, and the pool holds 384 - 256 that are not.
    assert_eq!(seen.first_burst(), Some((532_481, 384)));
    let first_beyond = seen.taken.iter().find(|seq| **seq > 532_481);
    assert_eq!(first_beyond, Some(&2_105_345));
    assert_eq!(seen.highest, 2_629_633);
    let held = receiver.rings().map(|rings| rings.held(Ring::Large));
    assert_eq!(held, Some(128));

    // The gap is retransmitted once by fast retransmit, when everything that the window allows has
    // left, and twelve times by the timer; nothing arrives.
    let times = &seen.sent[&532_481];
    let last_new = seen.sent[&(2_629_633 - 4096)][0];
    assert_eq!(times.len(), 1 + 1 + 12);
    assert!(times[1] > last_new);
    assert!(!seen.taken.contains(&532_481));

    // The retransmission waited in the local queue, so the first wait looks shorter on the wire
    // than the second that the timer ran.
    let waits: Vec<u64> = times[1..]
        .windows(2)
        .map(|pair| pair[1].saturating_since(pair[0]).as_millis())
        .collect();
    assert!((990..1000).contains(&waits[0]), "{waits:?}");
    let ladder = [2, 4, 8, 16, 32, 64, 64, 64, 64, 64, 64];
    assert_eq!(waits[1..], ladder.map(|seconds| seconds * 1000));

    // The last segment: a reset at the right edge of the window, which is not inside it.
    let [(at, edge)] = seen.resets[..] else {
        panic!("resets: {:?}", seen.resets);
    };
    let opened = seen.established.expect("a SYN");
    assert_eq!(at.saturating_since(opened).as_millis() / 1000, 511);
    assert_eq!(edge, 532_481 + (2 << 20));
    assert_eq!(seen.resets_taken, 1);
    assert!(!receiver.socket().has_failed(), "the reset was taken");

    // Long after: `ping -s 4096` gets no answer, `ping` does.
    let rings = receiver.rings().expect("a card");
    let answers = [4096, 56].map(|payload| rings.clone().takes(ICMP_AND_IP + payload));
    assert_eq!(answers, [false, true]);
}

#[test]
fn a_pool_that_backs_the_window_heals() {
    let pool = |pool| {
        let mut case = machines_of_2001();
        case.rings.large.pool = Some(pool);
        case
    };
    assert!(heals(&pool(8192)));
    // 256 posted, and 512 segments of window.
    assert!(heals(&pool(768)));
    assert!(!heals(&pool(767)));
}

#[test]
fn what_cures_the_stall_and_what_does_not() {
    let mut small_window = machines_of_2001();
    small_window.window = 128 * 4096;
    assert!(heals(&small_window), "a window that the pool backs");

    let mut copying = machines_of_2001();
    copying.rings.copy_break = 4470;
    assert!(heals(&copying), "copy-break");

    let mut reneging = machines_of_2001();
    reneging.reneges = true;
    assert!(heals(&reneging), "reneging");

    let mut with_sack = machines_of_2001();
    with_sack.profile.recovery.sack = true;
    assert!(!heals(&with_sack), "SACK alone");
}

/// The law requires a reader that continues before the sender's first timeout.
#[test]
fn a_pause_that_outlasts_the_first_timeout_heals() {
    for (millis, expected) in [(10, false), (1000, false), (1010, true), (2000, true)] {
        let mut case = machines_of_2001();
        case.pause = Duration::from_millis(millis);
        assert_eq!(heals(&case), expected, "{millis} ms");
    }
}

/// Today's TCP recovers by smaller packets where its timer of 200 ms is too late.
///
/// After three timeouts it sends packets that fit the ring of small frames (RFC 4821).
#[test]
fn todays_tcp_is_healed_by_its_timer_or_by_smaller_packets() {
    let healed = |micros, update, plpmtud| {
        let mut case = machines_of_2001();
        case.profile = Profile::MODERN.with(|profile| {
            profile.buffers.buffer_limit = Bytes::new(16 << 20);
            profile.congestion.initial_window = InitialWindow::Segments(10_000);
            profile.buffers.window_update_segments = update;
            profile.path_mtu.plpmtud = plpmtud;
        });
        case.pause = Duration::from_micros(micros);
        heals(&case)
    };
    for micros in [
        10_000, 168_600, 250_000, 500_000, 1_000_000, 2_000_000, 10_000_000,
    ] {
        for update in [0, 1, 2] {
            let place = format!("{micros} us, updates by {update}");
            assert!(healed(micros, update, true), "{place}");
            let is_dead = micros == 10_000 || (micros == 168_600 && update > 0);
            assert_eq!(healed(micros, update, false), !is_dead, "{place}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// The threshold law, exact to one segment.
    ///
    /// A stalled reader causes a deadlock exactly if `window > (pool - ring) x MSS`.
    #[test]
    fn a_window_beyond_the_pool_is_a_deadlock(
        ring in 1_u32..300,
        spare in 8_u32..120,
        // Window scaling truncates the window to whole units; segments are multiples of them.
        mss in (600_u16..8000).prop_map(|mss| mss & !63),
        over in prop::sample::select(vec![-5_i64, -1, 0, 1, 2, 7, 40]),
    ) {
        let segments = (i64::from(spare) + over).max(4) as u64;
        let mut case = machines_of_2001();
        case.profile.segments.smss_multiple = 0;
        case.profile.options.timestamps = false;
        // Long enough for everything to be queued before the first duplicate ACK arrives.
        case.one_way = Duration::from_millis(10);
        // Long enough to fill the window, and over before the timer retransmits.
        case.pause = Duration::from_millis(300);
        case.mtu = mss + 40;
        case.window = segments * u64::from(mss);
        // Less than a segment would not be advertised (RFC 9293 section 3.8.6.2.2), and the window
        // would be smaller than its nominal size.
        case.read_size = 2 * u64::from(mss);
        case.pause_after = u64::from(mss);
        case.rings.small = None;
        case.rings.large = RingConfig { descriptors: ring, pool: Some(ring + spare) };
        prop_assert_eq!(heals(&case), segments <= u64::from(spare));
    }
}
