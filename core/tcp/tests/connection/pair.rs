//! Two engines over a path that loses, delays, reorders and doubles: every
//! octet arrives once and in order, and both sides close.

use std::sync::Arc;

use gigatcp_tcp::congestion::{self, SlowStart};
use gigatcp_tcp::events::{EventMask, State};
use gigatcp_tcp::profile::{EcnMode, InitialWindow, WindowPolicy};
use gigatcp_tcp::{ConnectionConfig, Profile, TransportConfig};
use gigatcp_units::{Bytes as Octets, Duration, Instant};
use gigatcp_wire::bytes::Bytes;
use gigatcp_wire::{Phantom, SeqNumber};
use proptest::prelude::*;

use crate::script::{bare, with};
use crate::world::{EcnPath, Habit, Path, World};

const ECN_MODES: [EcnMode; 4] = [
    EcnMode::Off,
    EcnMode::Passive,
    EcnMode::Classic,
    EcnMode::Accurate,
];

const DAYS: Instant = Instant::from_nanos(30 * 24 * 3_600_000_000_000);

fn quiet_path() -> Path {
    Path {
        delay: Duration::from_millis(10),
        jitter: Duration::ZERO,
        lost: 0,
        doubled: 0,
        cuts: true,
        mtu: usize::MAX,
        ecn: EcnPath::default(),
    }
}

fn writes(octets: u64) -> Habit {
    Habit {
        writes: octets,
        bite: 1 << 20,
        pause: Duration::ZERO,
    }
}

fn config() -> impl Strategy<Value = ConnectionConfig> {
    let switches = prop::array::uniform16(any::<bool>());
    let sizes = (
        100..3000_u16,
        2000..200_000_u64,
        1000..200_000_u64,
        any::<u32>(),
    );
    let control = 0..congestion::REGISTRY.len();
    (switches, sizes, control).prop_map(|(on, (mss, receive, send, iss), control)| {
        ConnectionConfig {
            transport: TransportConfig {
                profile: Profile::MODERN.with(|profile| {
                    profile.recovery.sack = on[0];
                    profile.recovery.dsack = on[1];
                    profile.options.timestamps = on[2];
                    profile.options.window_scaling = on[3];
                    profile.recovery.fast_retransmit = on[4];
                    profile.recovery.newreno = on[5];
                    profile.recovery.limited_transmit = on[6];
                    profile.recovery.rescue_retransmission = on[7];
                    profile.acknowledgments.delayed_ack = on[8];
                    profile.acknowledgments.quick_ack = on[9];
                    profile.segments.nagle = on[10];
                    profile.segments.silly_window_avoidance = on[11];
                    profile.segments.header_prediction = on[12];
                    profile.segments.segmentation_offload = on[13];
                    profile.congestion.idle_restart = on[14];
                    profile.opening.syn_text = on[8];
                    // Any switch will do to decide over a second one.
                    profile.path_mtu.plpmtud = on[6] || on[7];
                    profile.path_mtu.plpmtud_from_base = on[6];
                    profile.path_mtu.pmtu_base = 300;
                    profile.defense.challenge_ack = on[12];
                    profile.defense.challenge_syn = on[12];
                    profile.buffers.window_policy = if on[15] {
                        WindowPolicy::Grows
                    } else {
                        WindowPolicy::FreeSpace
                    };
                    profile.ecn.mode = ECN_MODES[usize::from(on[3]) * 2 + usize::from(on[10])];
                    profile.ecn.dctcp_receiver = on[5];
                    profile.buffers.window_reserve_shift = u32::from(on[15]) * 2;
                    profile.acknowledgments.ack_waits_for_reader = on[15];
                    profile.congestion.initial_window = if on[9] {
                        InitialWindow::Rfc3390
                    } else {
                        InitialWindow::Rfc6928
                    };
                    // Patience beyond bad luck.
                    profile.timer.retries = 100;
                    profile.opening.syn_retries = 100;
                    profile.timer.rto_max = Duration::from_secs(10);
                    profile.closing.time_wait = Duration::from_secs(3000);
                }),
                mtu: u32::from(mss) + 40,
                congestion: Arc::new(&congestion::REGISTRY[control]),
                initial_ssthresh: None,
                slow_start: SlowStart::Standard,
                send_buffer: Some(Octets::new(send)),
                receive_buffer: Some(Octets::new(receive)),
                events: EventMask::NONE,
            }
            .into(),
            local_port: 1,
            remote_port: 2,
            iss: SeqNumber::new(iss),
            ip: gigatcp_wire::IpVersion::V4,
            timestamp_offset: u32::MAX - 5000,
        }
    })
}

fn habit() -> impl Strategy<Value = Habit> {
    let pause = prop_oneof![3 => Just(0), 1 => 0..2_000_u64];
    (0..150_000_u64, 1..30_000_u64, pause).prop_map(|(writes, bite, pause)| Habit {
        writes,
        bite,
        // Small pieces with long pauses would never end.
        pause: Duration::from_millis(pause * bite / 30_000),
    })
}

/// Mostly a queue that marks, now and then a middlebox that means well.
fn ecn_path() -> impl Strategy<Value = EcnPath> {
    let rarely = || prop::bool::weighted(0.1);
    let marked = prop_oneof![Just(0), 0..100_u64, 0..=1000_u64];
    let boxes = (rarely(), rarely(), rarely(), rarely(), rarely(), rarely());
    (marked, boxes).prop_map(|(marked, boxes)| EcnPath {
        marked,
        bleaches: boxes.0,
        marks_all: boxes.1,
        clears_flags: boxes.2,
        clears_handshake: boxes.3,
        strips_options: boxes.4,
        drops_options: boxes.5,
    })
}

fn path() -> impl Strategy<Value = Path> {
    let lost = prop_oneof![Just(0), 0..30_u64, 0..250_u64];
    let doubled = prop_oneof![Just(0), 0..100_u64];
    let jitter = prop_oneof![Just(0), 0..3_000_u64, 0..60_000_u64];
    (
        0..100_000_u64,
        jitter,
        lost,
        doubled,
        any::<bool>(),
        ecn_path(),
    )
        .prop_map(|(delay, jitter, lost, doubled, cuts, ecn)| Path {
            delay: Duration::from_micros(delay),
            jitter: Duration::from_micros(jitter),
            lost,
            doubled,
            cuts,
            mtu: usize::MAX,
            ecn,
        })
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_octet_arrives_and_both_sides_close_whatever_the_path_does(
        configs in [config(), config()],
        habits in [habit(), habit()],
        path in path(),
        seed: u64,
        both_open: bool,
    ) {
        let mut world = World::<Bytes>::new(configs, habits, path, seed, both_open);
        world.run(DAYS);
        prop_assert!(world.is_done(), "{}", world.describe());
    }
}

#[test]
fn two_gib_of_sequence_space_and_more_pass_with_every_octet_in_its_place() {
    // 5 GiB: the sequence space wraps once.
    let mut config = with(|p| {
        *p = Profile::MODERN;
        p.acknowledgments.quick_ack = false;
    });
    config.transport_mut().mtu = 9000;
    config.transport_mut().events = EventMask::NONE;
    config.transport_mut().send_buffer = Some(Octets::new(16 << 20));
    config.transport_mut().receive_buffer = Some(Octets::new(16 << 20));
    config.transport_mut().congestion = Arc::new(congestion::find("cubic").unwrap());
    let path = Path {
        delay: Duration::from_millis(1),
        cuts: false,
        ..quiet_path()
    };
    let habits = [writes(5 << 30), writes(0)];
    let mut world = World::<Phantom>::new([config.clone(), config], habits, path, 1, false);
    world.run(DAYS);
    assert!(world.is_done(), "{}", world.describe());
    assert_eq!(world.sides[0].tcp.counters().retransmitted_segments, 0);
}

#[test]
fn a_gigabyte_passes_a_lossy_path_across_the_wrap_of_both_clocks() {
    let mut config = with(|p| *p = Profile::MODERN);
    config.transport_mut().mtu = 9000;
    config.transport_mut().events = EventMask::NONE;
    config.transport_mut().send_buffer = Some(Octets::new(16 << 20));
    config.transport_mut().receive_buffer = Some(Octets::new(16 << 20));
    config.timestamp_offset = u32::MAX - 1000;
    config.iss = SeqNumber::new(u32::MAX - (1 << 29));
    let path = Path {
        lost: 1,
        cuts: true,
        mtu: usize::MAX,
        ecn: EcnPath::default(),
        ..quiet_path()
    };
    let habits = [writes(1 << 30), writes(0)];
    let mut world = World::<Phantom>::new([config.clone(), config], habits, path, 7, false);
    world.run(DAYS);
    assert!(world.is_done(), "{}", world.describe());
    let counters = world.sides[0].tcp.counters();
    assert!(counters.retransmitted_segments > 50);
    assert_eq!(counters.paws_dropped, 0);
}

#[test]
fn two_full_buffers_that_probe_each_other_do_not_answer_answers() {
    // Neither reads; both have a probe beyond the other's window.
    let mut config = bare();
    config.transport_mut().receive_buffer = Some(Octets::new(5000));
    let lazy = Habit {
        writes: 50_000,
        bite: 50_000,
        pause: Duration::from_secs(1000),
    };
    let mut world = World::<Bytes>::new(
        [config.clone(), config],
        [lazy, lazy],
        quiet_path(),
        1,
        false,
    );
    world.run(Instant::from_nanos(900_000_000_000));
    assert_eq!(world.sides[0].tcp.state(), State::FinWait1);
    assert!(world.segments < 200, "{} segments", world.segments);
    // And then they read.
    world.run(DAYS);
    assert!(world.is_done(), "{}", world.describe());
}

#[test]
fn both_sides_may_open_and_close_at_the_same_moment() {
    let mut world = World::<Bytes>::new(
        [bare(), bare()],
        [writes(3000), writes(3000)],
        quiet_path(),
        1,
        true,
    );
    world.run(Instant::from_nanos(10_000_000_000));
    assert_eq!(world.sides[0].tcp.state(), State::TimeWait);
    assert_eq!(world.sides[1].tcp.state(), State::TimeWait);
    world.run(DAYS);
    assert!(world.is_done(), "{}", world.describe());
}

#[test]
fn a_clean_transfer_retransmits_nothing_and_acknowledges_every_second_segment() {
    let mut config = with(|p| {
        *p = Profile::MODERN;
        p.segments.segmentation_offload = false;
        p.acknowledgments.quick_ack = false;
    });
    config.transport_mut().receive_buffer = Some(Octets::new(4 << 20));
    let habits = [writes(1_000_000), writes(0)];
    let mut world = World::<Bytes>::new([config.clone(), config], habits, quiet_path(), 1, false);
    world.run(DAYS);
    assert!(world.is_done(), "{}", world.describe());
    let [sender, receiver] = &world.sides[..] else {
        panic!("two sides");
    };
    let counters = sender.tcp.counters();
    assert_eq!(counters.data_segments_sent, 1_000_000_u64.div_ceil(988));
    assert_eq!((counters.retransmitted_segments, counters.timeouts), (0, 0));
    let acks = receiver.tcp.counters().acks_sent;
    assert!((506..=540).contains(&acks), "{acks} acknowledgments");
}

#[test]
fn header_prediction_changes_nothing_but_the_path_through_the_code() {
    let run = |predict: bool| {
        let mut config = with(|p| {
            *p = Profile::MODERN;
            p.segments.header_prediction = predict;
        });
        config.transport_mut().receive_buffer = Some(Octets::new(1 << 20));
        let path = Path {
            lost: 10,
            jitter: Duration::from_millis(1),
            ..quiet_path()
        };
        let habits = [writes(2_000_000), writes(300_000)];
        let mut world = World::<Bytes>::new([config.clone(), config], habits, path, 3, false);
        world.run(DAYS);
        assert!(world.is_done(), "{}", world.describe());
        let counters = world.sides[0].tcp.counters();
        (world.now, world.segments, counters.retransmitted_segments)
    };
    assert_eq!(run(true), run(false));
}
