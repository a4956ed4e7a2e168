//! Buffers: what was requested stays, what was not fits itself to the path.

use std::sync::Arc;

use gigatcp_tcp::SocketOption;
use gigatcp_tcp::congestion;
use gigatcp_tcp::events::Limit;
use gigatcp_tcp::profile::WindowPolicy;
use gigatcp_tcp::{ConnectionConfig, Profile, WriteError};
use gigatcp_units::{Bytes, Duration};
use gigatcp_wire::WireWindow;
use proptest::prelude::*;

use crate::script::{PEER_ISS, Script, bare, segments, with};
use crate::world::{Habit, Path, World};

/// A connection that asks for no buffer, with window scaling.
fn auto() -> ConnectionConfig {
    let mut config = with(|p| p.options.window_scaling = true);
    config.transport_mut().send_buffer = None;
    config.transport_mut().receive_buffer = None;
    config
}

/// Open, with a round trip of 100 ms by the handshake.
fn opened(config: &ConnectionConfig) -> Script {
    let mut t = Script::connect(config);
    t.leaving();
    t.wait_ms(100);
    t.inject("S. 0:0(0) ack 1 win 65535 <mss 1000,wscale 10>");
    t.leaving();
    t
}

/// The peer sends `count` segments from segment `first` on.
fn receive(t: &mut Script, first: u64, count: u64) {
    for n in first..first + count {
        t.inject(&format!(
            ". {}:{}(1000) ack 1",
            1 + n * 1000,
            1001 + n * 1000
        ));
        t.leaving();
    }
}

fn receive_buffer(t: &Script) -> u64 {
    t.tcp.info().receive_buffer.as_u64()
}

#[test]
fn the_scale_is_chosen_so_that_the_largest_buffer_can_be_offered() {
    for (most, scale) in [(1 << 30, 14), (6 << 20, 7), (100_000, 1), (65_535, 0)] {
        let mut config = auto();
        config.transport_mut().profile.buffers.receive_buffer_max = Bytes::new(most);
        config.transport_mut().profile.buffers.receive_buffer_start = Bytes::new(65_535);
        let mut t = Script::connect(&config);
        t.expect(&format!("S 0:0(0) win 65535 <mss 1000,wscale {scale}>"));
    }
}

#[test]
fn linux_offers_the_scale_of_its_largest_buffer_even_for_a_small_request() {
    let mut config = auto();
    config.transport_mut().profile.buffers.window_policy = WindowPolicy::Grows;
    config.transport_mut().profile.buffers.buffer_limit = Bytes::new(131_071);
    config.transport_mut().profile.buffers.receive_buffer_max = Bytes::new(4 << 20);
    config.transport_mut().receive_buffer = Some(Bytes::new(20_000));
    let mut t = Script::connect(&config);
    t.expect("S 0:0(0) win 4000 <mss 1000,wscale 7>");
}

#[test]
fn once_per_round_trip_the_window_becomes_what_the_application_took_and_may_take() {
    let mut t = opened(&auto());
    let start = receive_buffer(&t);
    assert_eq!(start, 131_072);
    // 100 segments in the first round trip, where ten were expected.
    receive(&mut t, 0, 100);
    t.wait_ms(99);
    t.read(100_000);
    t.leaving();
    assert_eq!(receive_buffer(&t), start);
    t.wait_ms(1);
    receive(&mut t, 100, 1);
    t.read(1000);
    t.leaving();
    // 101 000 taken: 2 x 101 000 + 16 segments, and 18.2 times as much growth.
    let window = 2 * 101_000 + 16_000;
    assert_eq!(receive_buffer(&t), window + 2 * (window * 91_000 / 10_000));
    let info = t.tcp.info();
    assert_eq!(info.autotuning, (true, true));
    assert_eq!(info.buffers_requested, (None, None));
    assert_eq!(info.receiver_rtt, Some(Duration::from_millis(100)));
    // The window follows, in units of the scale.
    receive(&mut t, 101, 2);
    t.read(2000);
    assert!(t.tcp.info().rcv_wnd.as_u64() > window);
}

#[test]
fn the_buffer_stops_at_its_bound() {
    let mut config = auto();
    config.transport_mut().profile.buffers.receive_buffer_max = Bytes::new(200_000);
    let mut t = opened(&config);
    receive(&mut t, 0, 100);
    t.wait_ms(100);
    t.read(100_000);
    t.leaving();
    assert_eq!(receive_buffer(&t), 200_000);
}

#[test]
fn a_buffer_that_was_asked_for_is_that_buffer_and_no_other() {
    for autotuned in [false, true] {
        let mut config = auto();
        config.transport_mut().profile.buffers.receive_autotuning = autotuned;
        config.transport_mut().profile.buffers.send_autotuning = autotuned;
        config.transport_mut().receive_buffer = Some(Bytes::new(131_072));
        config.transport_mut().send_buffer = Some(Bytes::new(5000));
        let mut t = opened(&config);
        for round in 0..5 {
            receive(&mut t, round * 100, 100);
            t.wait_ms(100);
            t.read(100_000);
            t.leaving();
        }
        let info = t.tcp.info();
        assert_eq!(info.receive_buffer, Bytes::new(131_072));
        assert_eq!(info.send_buffer, Bytes::new(5000));
        assert_eq!(info.autotuning, (false, false));
        assert_eq!(
            info.buffers_requested,
            (
                config.transport.send_buffer,
                config.transport.receive_buffer
            )
        );
    }
}

#[test]
fn asking_later_ends_autotuning_for_that_side_alone() {
    let mut t = opened(&auto());
    t.tcp
        .set(t.now, SocketOption::ReceiveBuffer(Bytes::new(300_000)));
    assert_eq!(t.tcp.info().autotuning, (true, false));
    assert_eq!(receive_buffer(&t), 300_000);
    t.tcp.set(t.now, SocketOption::SendBuffer(Bytes::new(7000)));
    assert_eq!(t.tcp.info().autotuning, (false, false));
    assert_eq!(t.tcp.send_space(), 7000);
    t.write(7000);
    t.leaving();
    receive(&mut t, 0, 100);
    t.wait_ms(100);
    t.read(100_000);
    t.leaving();
    assert_eq!(receive_buffer(&t), 300_000);
}

#[test]
fn a_slow_reader_makes_no_buffer_grow() {
    // The peer fills whatever is offered; the application takes a segment per
    // round trip, or sleeps for two seconds and then takes everything.
    for (pause, bite) in [(100, 1000), (2000, 1_000_000)] {
        let mut t = opened(&auto());
        let mut sent = 0;
        for _ in 0..40 {
            while t.tcp.info().rcv_wnd.as_u64() >= 1000 {
                receive(&mut t, sent, 1);
                sent += 1;
            }
            t.wait_ms(40);
            t.leaving();
            t.wait_ms(pause);
            t.read(bite);
            t.leaving();
        }
        assert_eq!(
            receive_buffer(&t),
            131_072,
            "every {pause} ms {bite} octets"
        );
    }
}

#[test]
fn a_hole_that_is_filled_late_is_no_burst_of_the_application() {
    let mut t = opened(&auto());
    // A segment is lost; ten arrive per round trip, five round trips long.
    for round in 0..5 {
        receive(&mut t, 1 + round * 10, 10);
        t.wait_ms(100);
    }
    receive(&mut t, 0, 1);
    t.read(51_000);
    t.leaving();
    assert_eq!(receive_buffer(&t), 131_072);
}

#[test]
fn a_peer_that_never_stops_fills_one_buffer_and_no_more() {
    let mut config = auto();
    config.transport_mut().profile.acknowledgments.delayed_ack = false;
    let mut t = opened(&config);
    let unit = 1 << 14;
    // Every second segment first, then everything, and nothing is read.
    for n in (1..2000).step_by(2).chain(0..2000) {
        t.inject(&format!(
            ". {}:{}(1000) ack 1",
            1 + n * 1000,
            1001 + n * 1000
        ));
        t.leaving();
        t.wait_ms(1);
    }
    assert_eq!(receive_buffer(&t), 131_072);
    assert!(t.tcp.readable() <= 131_072 + unit);
}

#[test]
fn timestamps_show_the_receiver_its_round_trip() {
    let mut config = auto();
    config.transport_mut().profile.options.timestamps = true;
    let mut t = Script::connect(&config);
    t.leaving();
    t.wait_ms(40);
    t.inject("S. 0:0(0) ack 1 <mss 1000,wscale 10,TS val 1 ecr 0>");
    t.leaving();
    assert_eq!(t.tcp.info().receiver_rtt, Some(Duration::from_millis(40)));
    // Our clock stood at 40 when we acknowledged; the echo comes 70 ms later.
    let mut seq = 1;
    for step in 0..60 {
        t.wait_ms(if step == 0 { 70 } else { 1 });
        let echo = t.elapsed().as_millis() - 70 + clock_start(&config);
        t.inject(&format!(
            ". {seq}:{}(1000) ack 1 <TS val 9 ecr {echo}>",
            seq + 1000
        ));
        seq += 1000;
        t.leaving();
        t.read(1000);
        t.leaving();
    }
    let rtt = t.tcp.info().receiver_rtt.unwrap();
    assert!((68..=71).contains(&rtt.as_millis()), "{rtt:?}");
}

/// What the timestamp clock says at the beginning of a script.
fn clock_start(config: &ConnectionConfig) -> u64 {
    u64::from(config.timestamp_offset) + 1000
}

#[test]
fn the_send_buffer_keeps_room_for_two_congestion_windows() {
    let mut t = opened(&auto());
    let room = |t: &Script| t.tcp.info().send_buffer.as_u64();
    assert_eq!(room(&t), 20_000);
    t.write(20_000);
    t.expect_all(segments(0..10, 1));
    t.wait_ms(100);
    t.inject(". 1:1(0) ack 10001");
    t.leaving();
    assert_eq!((t.cwnd(), room(&t)), (20.0, 40_000));
    // A timeout takes no room back.
    t.wait(t.tcp.poll_timeout().unwrap() - t.now);
    t.leaving();
    assert_eq!((t.cwnd(), room(&t)), (1.0, 40_000));
}

/// `ss -m` of Linux 6.18 after a handshake: tb46080 with Reno and CUBIC, tb69120 with BBR.
#[test]
fn a_send_buffer_of_packets_has_the_octets_of_linux_for_each_control() {
    for (control, octets) in [("reno", 46_080), ("cubic-linux", 46_080), ("bbr", 69_120)] {
        let mut config = auto();
        config.transport_mut().profile.buffers.truesize = true;
        config.transport_mut().congestion = Arc::new(congestion::find(control).unwrap());
        let granted = opened(&config).tcp.info().send_buffer;
        assert_eq!(granted, Bytes::new(octets), "{control}");
    }
}

#[test]
fn the_send_buffer_stops_at_its_bound() {
    let mut config = auto();
    config.transport_mut().profile.buffers.send_buffer_max = Bytes::new(30_000);
    let mut t = opened(&config);
    t.write(20_000);
    t.leaving();
    t.inject(". 1:1(0) ack 10001");
    t.leaving();
    assert_eq!(t.tcp.info().send_buffer, Bytes::new(30_000));
}

#[test]
fn without_the_switches_the_buffers_stay_where_they_start() {
    let mut config = auto();
    config.transport_mut().profile.buffers.receive_autotuning = false;
    config.transport_mut().profile.buffers.send_autotuning = false;
    config.transport_mut().profile.buffers.send_buffer_start = Bytes::new(12_000);
    let mut t = opened(&config);
    t.write(12_000);
    t.leaving();
    t.inject(". 1:1(0) ack 10001");
    t.leaving();
    receive(&mut t, 0, 100);
    t.wait_ms(100);
    t.read(100_000);
    t.leaving();
    let info = t.tcp.info();
    assert_eq!(info.send_buffer, Bytes::new(12_000));
    assert_eq!(info.receive_buffer, Bytes::new(131_072));
    assert_eq!(info.autotuning, (false, false));
}

#[test]
fn with_a_low_water_mark_only_so_much_may_wait_unsent() {
    let mut t = Script::established(&with(|p| p.buffers.not_sent_lowat = Some(Bytes::new(3000))));
    assert_eq!((t.tcp.send_space(), t.tcp.send_wake_space()), (3000, 1500));
    t.write(3000);
    t.leaving();
    // All of it left: nothing is unsent.
    assert_eq!(t.tcp.send_space(), 3000);
    for _ in 0..2 {
        t.write(3000);
        t.leaving();
    }
    // The window is full: 9 of 10 segments are in flight.
    t.write(3000);
    t.leaving();
    assert_eq!((t.tcp.unsent(), t.tcp.send_space()), (2000, 1000));
    t.write(1000);
    let more = t.tcp.write(crate::notation::octets(1, 500));
    assert_eq!(more, Err(WriteError::Full));
    assert_eq!(t.limit(), Limit::SlowStart);
    t.inject(". 1:1(0) ack 2001");
    t.leaving();
    assert_eq!(t.tcp.send_space(), 3000);
}

#[test]
fn a_writer_is_woken_at_a_third_of_the_buffer_or_at_the_low_water_mark() {
    let wakes_at = |mark: Option<u64>, buffer| {
        let mut config = with(|p| p.buffers.write_low_water = mark.map(Bytes::new));
        config.transport_mut().send_buffer = Some(Bytes::new(buffer));
        Script::established(&config).tcp.send_wake_space()
    };
    assert_eq!(wakes_at(None, 30_000), 10_000);
    assert_eq!(wakes_at(Some(2048), 30_000), 2048);
    // A mark beyond the buffer would never be reached.
    assert_eq!(wakes_at(Some(8192), 4096), 4096);
}

#[test]
fn there_is_no_room_to_write_where_nothing_is_taken_any_more() {
    // Whoever writes as long as there is room must come to an end.
    let mut t = Script::established(&bare());
    assert!(t.tcp.send_space() > 0);
    t.close();
    assert_eq!(t.tcp.send_space(), 0);
    t.leaving();
    let mut t = Script::established(&bare());
    t.inject("R. 1:1(0) ack 1");
    assert_eq!(t.tcp.send_space(), 0);
}

#[test]
fn a_low_water_mark_below_a_segment_does_not_stop_the_flow() {
    let mut config = with(|p| {
        p.buffers.not_sent_lowat = Some(Bytes::new(1));
        p.segments.nagle = true;
    });
    config.transport_mut().receive_buffer = Some(Bytes::new(60_000));
    let habit = |octets| Habit {
        writes: octets,
        bite: 5000,
        pause: Duration::ZERO,
    };
    let path = Path {
        delay: Duration::from_millis(10),
        jitter: Duration::ZERO,
        lost: 0,
        doubled: 0,
        cuts: true,
        ecn: crate::world::EcnPath::default(),
        mtu: usize::MAX,
    };
    let habits = [habit(300_000), habit(0)];
    let mut world =
        World::<gigatcp_wire::bytes::Bytes>::new([config.clone(), config], habits, path, 1, false);
    world.run(gigatcp_units::Instant::from_nanos(100_000_000_000));
    assert!(world.is_done(), "{}", world.describe());
}

#[test]
fn a_smaller_buffer_takes_no_window_back() {
    let mut config = bare();
    config.transport_mut().receive_buffer = Some(Bytes::new(10_000));
    let mut t = Script::established(&config);
    t.tcp
        .set(t.now, SocketOption::ReceiveBuffer(Bytes::new(2000)));
    receive(&mut t, 0, 1);
    t.inject(". 1001:2001(1000) ack 1");
    t.expect(". 1:1(0) ack 2001 win 8000");
    // All that was offered is taken.
    receive(&mut t, 2, 8);
    assert_eq!(t.tcp.readable(), 10_000);
    t.read(10_000);
    t.expect(". 1:1(0) ack 10001 win 2000");
}

#[test]
fn a_window_that_may_shrink_is_taken_back_and_data_beyond_it_left() {
    let mut config = with(|p| p.buffers.may_shrink_window = true);
    config.transport_mut().receive_buffer = Some(Bytes::new(10_000));
    let mut t = Script::established(&config);
    t.tcp
        .set(t.now, SocketOption::ReceiveBuffer(Bytes::new(3000)));
    receive(&mut t, 0, 1);
    t.inject(". 1001:2001(1000) ack 1");
    t.expect(". 1:1(0) ack 2001 win 1000");
    // Two segments were in flight: there is room for one of them, and what
    // they acknowledge counts.
    t.write(100);
    t.expect("P. 1:101(100) ack 2001");
    t.inject(". 2001:4001(2000) ack 101");
    t.expect(". 101:101(0) ack 3001 win 0");
    assert_eq!((t.tcp.readable(), t.tcp.info().snd_una), (3000, 101));
}

/// What happens to a receiver.
#[derive(Clone, Debug)]
enum Step {
    /// So many octets arrive, so far beyond RCV.NXT.
    Arrive(u64, u64),
    Read(usize),
    Resize(u64),
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..3_u64, 1..3000_u64).prop_map(|(hole, len)| Step::Arrive(hole * 700, len)),
        3 => (1..40_000_usize).prop_map(Step::Read),
        1 => (1..300_000_u64).prop_map(Step::Resize),
        2 => (1..300_u64).prop_map(Step::Wait),
    ]
}

fn receiver() -> impl Strategy<Value = ConnectionConfig> {
    let switches = prop::array::uniform6(any::<bool>());
    let sizes = (500..300_000_u64, 0..5_u32, any::<bool>());
    (switches, sizes).prop_map(|(on, (buffer, reserve, asks))| {
        let mut config = auto();
        config.transport_mut().profile = config.transport.profile.with(|profile| {
            profile.options.window_scaling = on[0];
            profile.acknowledgments.delayed_ack = on[1];
            profile.segments.silly_window_avoidance = on[2];
            profile.buffers.receive_autotuning = on[3];
            profile.buffers.window_policy = if on[4] {
                WindowPolicy::Grows
            } else {
                WindowPolicy::FreeSpace
            };
            profile.buffers.window_reserve_shift = reserve;
            profile.buffers.receive_buffer_start = Bytes::new(buffer);
            profile.buffers.receive_buffer_max = Bytes::new(if on[5] { 1 << 30 } else { 1 << 20 });
        });
        config.transport_mut().receive_buffer = asks.then_some(Bytes::new(buffer));
        config
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// RFC 9293 SHLD-14: whatever arrives, is read or is requested, the right
    /// edge does not move left. The window field may say less than was offered
    /// by less than a unit of its scale; what was offered is taken anyway.
    #[test]
    fn the_right_edge_never_moves_left(
        config in receiver(),
        steps in prop::collection::vec(step(), 1..150),
    ) {
        let mut t = opened(&config);
        let shift = t.tcp.info().window_scale.1;
        let mut edge = 0;
        for step in steps {
            let nxt = t.tcp.info().rcv_nxt;
            let wnd = t.tcp.info().rcv_wnd.as_u64();
            match step {
                Step::Arrive(ahead, len) => {
                    // What was offered must be taken to the last octet.
                    let len = len.min(wnd.saturating_sub(ahead));
                    if len > 0 {
                        let (from, to) = (nxt + ahead, nxt + ahead + len);
                        let before = t.tcp.readable();
                        t.inject(&format!(". {from}:{to}({len}) ack 1"));
                        prop_assert!(ahead > 0 || t.tcp.readable() >= before + len);
                    }
                }
                Step::Read(most) => {
                    while most > 0 && t.tcp.read(t.now, most).is_some() {}
                    t.poll();
                }
                Step::Resize(octets) => {
                    t.tcp.set(t.now, SocketOption::ReceiveBuffer(Bytes::new(octets)));
                }
                Step::Wait(ms) => t.pass_ms(ms),
            }
            for ack in t.leaving() {
                let WireWindow(field) = ack.wnd;
                let told = ack.ack.distance_from(PEER_ISS) as u64 + (u64::from(field) << shift);
                prop_assert!(told + (1 << shift) > edge, "from {edge} to {told}");
                edge = edge.max(told);
                let info = t.tcp.info();
                prop_assert!(info.rcv_nxt + info.rcv_wnd.as_u64() >= edge);
            }
        }
    }
}

/// FreeBSD 4.3 between Atlanta and Seattle: 2 MiB asked for, an MSS of 4430.
fn machine_of_2001() -> ConnectionConfig {
    let mut config = bare();
    config.transport_mut().profile = Profile::BSD_4_3_RENO.with(|profile| {
        profile.buffers.buffer_limit = Bytes::new(16 << 20);
        profile.path_mtu.route_mtu = 1492;
    });
    config.transport_mut().mtu = 4470;
    config.transport_mut().send_buffer = Some(Bytes::new(2 << 20));
    config.transport_mut().receive_buffer = Some(Bytes::new(2 << 20));
    config
}

const SYN_ACK_OF_2001: &str = "S. 0:0(0) ack 1 win 65535 <mss 4430,wscale 6,TS val 1 ecr 0>";

/// The SYN says 4430 and the route remembers 1492: segments of 1440 octets, and
/// a window of 1457 of them, 32782 in units of 64, as in the trace of 2001.
#[test]
fn buffers_in_whole_segments_are_those_of_the_mss_that_the_route_leaves() {
    let mut t = Script::connect(&machine_of_2001());
    let syn = t.leaving().remove(0);
    assert_eq!(syn.options.mss, Some(4430));
    t.inject(SYN_ACK_OF_2001);
    let ack = t.leaving().remove(0);
    let info = t.tcp.info();
    assert_eq!(info.smss, 1440);
    assert_eq!(info.receive_buffer, Bytes::new(1457 * 1440));
    assert_eq!(info.send_buffer, Bytes::new(1457 * 1440));
    assert_eq!(ack.wnd, WireWindow(32_782));
}

#[test]
fn what_the_route_asks_for_replaces_a_larger_buffer_only_where_that_is_the_rule() {
    for (overrides, expected) in [(true, 46), (false, 1457)] {
        let mut config = machine_of_2001();
        config
            .transport_mut()
            .profile
            .buffers
            .route_buffers_override = overrides;
        config.transport_mut().profile.buffers.route_send_buffer = Some(Bytes::new(65_536));
        config.transport_mut().profile.buffers.route_receive_buffer = Some(Bytes::new(65_536));
        let mut t = Script::connect(&config);
        t.leaving();
        t.inject(SYN_ACK_OF_2001);
        t.leaving();
        let info = t.tcp.info();
        assert_eq!(info.receive_buffer, Bytes::new(expected * 1440));
        assert_eq!(info.send_buffer, Bytes::new(expected * 1440));
        assert_eq!(info.buffers_requested.1, config.transport.receive_buffer);
    }
}

#[test]
fn what_the_route_asks_for_raises_a_smaller_buffer_up_to_what_the_host_grants() {
    let mut config = machine_of_2001();
    config.transport_mut().profile.buffers.buffer_limit = Bytes::new(100_000);
    config
        .transport_mut()
        .profile
        .buffers
        .route_buffers_override = false;
    config.transport_mut().profile.buffers.route_receive_buffer = Some(Bytes::new(1 << 20));
    config.transport_mut().receive_buffer = Some(Bytes::new(20_000));
    let mut t = Script::accept(&config, "S 0:0(0) win 65535 <mss 4430>");
    t.leaving();
    assert_eq!(receive_buffer(&t), 100_000);
}

/// The SYN-ACK has offered nothing yet, so it offers what the route leaves; a SYN
/// that has left has offered, and that stays.
#[test]
fn a_buffer_that_the_route_made_smaller_is_what_the_answer_to_a_syn_offers() {
    let mut config = machine_of_2001();
    config.transport_mut().profile.buffers.route_receive_buffer = Some(Bytes::new(16_384));
    let whole = 16_384_u64.next_multiple_of(1452) as u16;
    let mut t = Script::accept(&config, "S 0:0(0) win 65535 <mss 4430>");
    assert_eq!(t.leaving().remove(0).wnd, WireWindow(whole));
    let mut t = Script::connect(&config);
    assert_eq!(t.leaving().remove(0).wnd, WireWindow(65_535));
    t.inject(SYN_ACK_OF_2001);
    t.leaving();
    assert!(t.tcp.info().rcv_wnd.as_u64() >= 65_535 - 64);
}

#[test]
fn a_side_that_fits_itself_to_the_path_does_not_ask_the_route() {
    let mut config = auto();
    config
        .transport_mut()
        .profile
        .buffers
        .route_buffers_override = true;
    config.transport_mut().profile.buffers.route_send_buffer = Some(Bytes::new(4096));
    config.transport_mut().profile.buffers.route_receive_buffer = Some(Bytes::new(4096));
    let t = opened(&config);
    assert_eq!(receive_buffer(&t), 131_072);
    assert_eq!(t.tcp.info().autotuning, (true, true));
}

/// The peer sends `count` small packets, each of 100 octets that occupy 832.
fn receive_small(t: &mut Script, count: u64) {
    for n in 0..count {
        let start = 1 + 100 * n;
        t.inject(&format!(". {start}:{}(100) ack 1", start + 100));
        t.leaving();
    }
}

#[test]
fn small_packets_in_the_window_are_dropped_once_they_exceed_the_memory_requested() {
    let mut config = with(|p| p.buffers.truesize = true);
    config.transport_mut().receive_buffer = Some(Bytes::new(20_000));
    let mut t = Script::established(&config);
    receive_small(&mut t, 90);
    // 24 occupy 19,968 octets, so one more is kept.
    assert_eq!(t.tcp.readable(), 2500);
    // The peer sends the rest again once there is memory.
    t.read(2500);
    t.leaving();
    t.inject(". 2501:2601(100) ack 1");
    assert_eq!(t.tcp.readable(), 100);
}

#[test]
fn small_packets_in_the_window_enlarge_a_buffer_that_may_grow_up_to_its_maximum() {
    // What all but the last occupy, and the maximum.
    for (most, kept, buffer) in [(1 << 20, 90, 89 * 832), (40_000, 49, 40_000)] {
        let mut config = with(|p| {
            p.buffers.truesize = true;
            p.buffers.receive_buffer_start = Bytes::new(20_000);
            p.buffers.receive_buffer_max = Bytes::new(most);
        });
        config.transport_mut().receive_buffer = None;
        let mut t = Script::established(&config);
        receive_small(&mut t, 90);
        assert_eq!(t.tcp.readable(), 100 * kept);
        assert_eq!(receive_buffer(&t), buffer);
    }
}

#[test]
fn a_write_fills_packet_after_packet_and_goes_on_when_a_third_is_free() {
    let mut config = with(|p| p.buffers.truesize = true);
    config.transport_mut().send_buffer = Some(Bytes::new(40_000));
    let mut t = Script::established(&config);
    // Packets of 32 segments and 960 octets more; a second begins below 40,000.
    let written = t.tcp.write(crate::notation::octets(1, 100_000));
    assert_eq!(written, Ok(64_000));
    for acked in [1, 10_001, 30_001, 44_001] {
        t.inject(&format!(". 1:1(0) ack {acked}"));
        t.leaving();
    }
    // 20 segments that left one by one occupy 39,200: room for a writer that does not wait.
    assert_eq!((t.tcp.send_queue(), t.tcp.send_space()), (20_000, 0));
    // 13 of them 25,480, less than two thirds of 40,000.
    t.inject(". 1:1(0) ack 51001");
    assert_eq!((t.tcp.send_queue(), t.tcp.send_space()), (13_000, 32_000));
}
