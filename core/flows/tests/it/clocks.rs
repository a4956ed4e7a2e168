//! Two captures of one connection whose clocks differ by a known amount.

use std::net::Ipv4Addr;

use gigatcp_flows::{Clocks, Crossing, Observed, PacketTimes, Side};
use gigatcp_units::Instant;
use gigatcp_wire::link::Fragmentation;
use gigatcp_wire::{Ecn, Endpoints, Flags, SackBlocks, SeqNumber};

/// A path between two capture points, and the clock of the second one.
#[derive(Clone, Copy)]
struct Setting {
    packets: u32,
    /// Minimum delay from the first capture point to the second, microseconds.
    there_us: u64,
    /// And in the other direction.
    back_us: u64,
    /// Maximum jitter.
    jitter_us: u64,
    /// Offset of the second clock.
    offset_us: i64,
    /// Drift of the second clock, in millionths.
    ppm: f64,
    /// Growth of the delay to the second point per packet, as in a growing queue.
    growth_ns: u64,
    /// Packet from which the second clock is set back, and by how much.
    set_back: Option<(u32, i64)>,
}

const SETTING: Setting = Setting {
    packets: 20_000,
    there_us: 10_000,
    back_us: 10_000,
    jitter_us: 3_000,
    offset_us: 5_000_000,
    ppm: 40.0,
    growth_ns: 0,
    set_back: None,
};

fn packet(from: Side, at_us: i64, index: u32) -> Observed {
    let (seq, ack) = match from {
        Side::Client => (index.wrapping_mul(1_448), 1),
        Side::Server => (1, index.wrapping_mul(1_448)),
    };
    let is_client = from == Side::Client;
    Observed {
        at: Instant::from_nanos(at_us.cast_unsigned() * 1_000),
        endpoints: Endpoints::V4 {
            src: Ipv4Addr::new(192, 0, 2, 1),
            dst: Ipv4Addr::new(192, 0, 2, 2),
        },
        src_port: 1,
        dst_port: 2,
        seq: SeqNumber::new(seq.wrapping_add(u32::MAX - 9_000)),
        ack: SeqNumber::new(ack),
        flags: Flags::ACK,
        wnd: 500,
        urgent: 0,
        payload_len: if is_client { 1_448 } else { 0 },
        options_len: 0,
        ecn: Ecn::NotEct,
        ident: 0,
        timestamps: None,
        sack: SackBlocks::default(),
        mss: None,
        window_scale: None,
        sack_permitted: false,
        scale_is_cut: false,
        uncaptured_len: 0,
        fragmentation: Fragmentation::Whole,
    }
}

/// Packets that both capture points saw, 5 ms apart.
fn captured(setting: &Setting) -> [PacketTimes; 2] {
    let mut random = 7_u64;
    let mut jitter = || {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (random >> 33) % (setting.jitter_us + 1)
    };
    let start = 1_000_000_000_i64;
    let mut places = [PacketTimes::new(), PacketTimes::new()];
    for index in 0..setting.packets {
        let at = start + i64::from(index) * 5_000;
        let queued = u64::from(index) * setting.growth_ns / 1_000;
        let there = at + (setting.there_us + queued + jitter()).cast_signed();
        let back = there + 200 + (setting.back_us + jitter()).cast_signed();
        let second = |time: i64| {
            let gained = (time - start) as f64 * setting.ppm / 1e6;
            let set_back = setting.set_back.filter(|(from, _)| index >= *from);
            time + setting.offset_us + gained as i64 - set_back.map_or(0, |(_, by)| by)
        };
        places[0].add(Side::Client, &packet(Side::Client, at, index));
        places[1].add(Side::Client, &packet(Side::Client, second(there), index));
        places[1].add(
            Side::Server,
            &packet(Side::Server, second(there + 200), index),
        );
        places[0].add(Side::Server, &packet(Side::Server, back, index));
    }
    places
}

fn compared(setting: &Setting) -> Option<Clocks> {
    let [first, second] = captured(setting);
    first.compare(&second)
}

#[test]
fn offset_and_drift_are_found_through_jitter() {
    for (offset_us, ppm) in [(5_000_000, 40.0), (-300_000_000, -90.0), (0, 0.0), (7, 0.5)] {
        let setting = Setting {
            offset_us,
            ppm,
            ..SETTING
        };
        let clocks = compared(&setting).unwrap();
        let error = (clocks.offset_ns - offset_us * 1_000).abs();
        assert!(error < 150_000, "{offset_us} us: off by {error} ns");
        assert!(
            (clocks.drift * 1e6 - ppm).abs() < 2.0,
            "{} ppm",
            clocks.drift * 1e6
        );
        assert!(clocks.is_nearer_to_client);
        let least = clocks.uncertainty_ns;
        assert!((9_990_000..10_400_000).contains(&least), "{least}");
    }
}

#[test]
fn where_the_ways_differ_the_truth_lies_within_the_uncertainty() {
    let setting = Setting {
        there_us: 3_000,
        back_us: 17_000,
        ..SETTING
    };
    let clocks = compared(&setting).unwrap();
    let error = (clocks.offset_ns - setting.offset_us * 1_000).unsigned_abs();
    assert!(
        error > 6_000_000 && error <= clocks.uncertainty_ns,
        "{error} of {clocks:?}"
    );
}

#[test]
fn the_other_way_round_the_signs_turn() {
    let [first, second] = captured(&SETTING);
    let there = first.compare(&second).unwrap();
    let back = second.compare(&first).unwrap();
    assert!(!back.is_nearer_to_client);
    assert!((there.drift + back.drift).abs() < 1e-7);
    // Told of different moments, 10 ms and the drift apart.
    assert!(
        (there.offset_ns + back.offset_ns).abs() < 10_000,
        "{there:?} {back:?}"
    );
}

#[test]
fn a_clock_that_is_set_in_between_has_no_answer() {
    let setting = Setting {
        ppm: 0.0,
        set_back: Some((10_000, 400_000)),
        ..SETTING
    };
    assert_eq!(compared(&setting), None);
}

#[test]
fn too_few_packets_and_other_connections_have_no_answer() {
    let few = Setting {
        packets: 3,
        ..SETTING
    };
    assert_eq!(compared(&few), None);
    let [first, _] = captured(&SETTING);
    assert_eq!(first.compare(&PacketTimes::new()), None);
}

#[test]
fn a_long_connection_is_remembered_in_part_and_the_same_part_in_both() {
    let setting = Setting {
        packets: 200_000,
        ..SETTING
    };
    let clocks = compared(&setting).unwrap();
    assert!(
        clocks.matched > 20_000 && clocks.matched <= 1 << 16,
        "{}",
        clocks.matched
    );
    assert!(
        (clocks.drift * 1e6 - 40.0).abs() < 0.5,
        "{}",
        clocks.drift * 1e6
    );
}

#[test]
fn a_packet_that_passes_twice_tells_nothing() {
    let [mut first, second] = captured(&SETTING);
    let before = first.compare(&second).unwrap();
    // Ten seconds later, the same packet: by itself it would be a wrong bound.
    first.add(Side::Server, &packet(Side::Server, 900_000_000, 5));
    let after = first.compare(&second).unwrap();
    assert_eq!(after.matched, before.matched - 1);
    assert!((after.offset_ns - before.offset_ns).abs() < 10_000);
}

#[test]
fn a_queue_that_only_grows_is_not_taken_for_a_drift() {
    for ppm in [-40.0, 0.0, 40.0] {
        let setting = Setting {
            ppm,
            jitter_us: 0,
            growth_ns: 50_000,
            ..SETTING
        };
        let clocks = compared(&setting).unwrap();
        assert!((clocks.drift * 1e6 - ppm).abs() < 0.1, "{ppm}: {clocks:?}");
        assert!(
            clocks.drift_uncertainty > 5e-4,
            "it might all the same: {clocks:?}"
        );
    }
}

#[test]
fn the_drift_of_a_long_connection_is_surer_than_that_of_a_short_one() {
    let uncertainty = |packets| {
        let setting = Setting { packets, ..SETTING };
        compared(&setting).unwrap().drift_uncertainty
    };
    let (long, short) = (uncertainty(20_000), uncertainty(200));
    assert!(long < 1e-5 && short > 20.0 * long, "{long} {short}");
}

#[test]
fn what_passed_one_place_only_is_known_and_what_passed_twice_is_left_out() {
    let (mut here, mut there) = (PacketTimes::new(), PacketTimes::new());
    for index in 0..6 {
        here.add(
            Side::Client,
            &packet(Side::Client, i64::from(index) * 10, index),
        );
        if index != 2 {
            let at = i64::from(index) * 10 + 500;
            there.add(Side::Client, &packet(Side::Client, at, index));
        }
    }
    // The fifth came there twice, so the two cannot be distinguished.
    there.add(Side::Client, &packet(Side::Client, 900, 4));
    let crossings = here.crossings(Side::Client, &there);
    let lost: Vec<bool> = crossings
        .iter()
        .map(|crossing| crossing.there.is_none())
        .collect();
    assert_eq!(lost, [false, false, true, false, false]);
    let Crossing {
        here: at, there, ..
    } = crossings[1];
    assert_eq!(there.unwrap().saturating_since(at).as_nanos(), 500_000);
    assert!(here.crossings(Side::Server, &PacketTimes::new()).is_empty());
}
