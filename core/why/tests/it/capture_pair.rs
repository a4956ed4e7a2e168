//! Two captures of one connection with different packets: losses between them are counted by bytes,
//! and only while both captured.

use std::net::Ipv4Addr;

use gigatcp_flows::{Observed, PacketTimes, Side};
use gigatcp_units::{Duration, Instant};
use gigatcp_why::CapturePair;
use gigatcp_wire::link::Fragmentation;
use gigatcp_wire::{Ecn, Endpoints, Flags, SackBlocks, SeqNumber};

const MSS: u32 = 1000;

/// Segments of a train, 10 ms of delay each way, and trains 5 ms apart.
const TRAIN: u32 = 8;
const DELAY_US: u64 = 10_000;
const EVERY_US: u64 = 5_000;

/// Offset of the far clock.
const OFFSET_US: u64 = 3_000_000;

fn packet(at_us: u64, from: Side, seq: u32, ack: u32, len: u32) -> Observed {
    let client = Endpoints::V4 {
        src: Ipv4Addr::new(192, 0, 2, 1),
        dst: Ipv4Addr::new(192, 0, 2, 2),
    };
    let is_client = from == Side::Client;
    Observed {
        at: Instant::ZERO + Duration::from_micros(1_000_000 + at_us),
        endpoints: if is_client { client } else { client.reversed() },
        src_port: if is_client { 4000 } else { 80 },
        dst_port: if is_client { 80 } else { 4000 },
        seq: SeqNumber::new(seq),
        ack: SeqNumber::new(ack),
        flags: Flags::ACK,
        wnd: 4000,
        urgent: 0,
        payload_len: len,
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

/// Place where a segment is lost.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lost {
    Not,
    Before,
    Between,
    Behind,
}

/// Both captures: segments per packet here and there, losses, and capture times. The times are
/// those of the sender.
struct Setting {
    here: u32,
    there: u32,
    lost: fn(u32) -> Lost,
    there_from_us: u64,
    there_until_us: u64,
}

const SETTING: Setting = Setting {
    here: 1,
    there: 1,
    lost: |_| Lost::Not,
    there_from_us: 0,
    there_until_us: u64::MAX,
};

/// Merges runs of segments that passed into packets of `count` segments each.
fn merged(passed: &[bool], count: u32) -> Vec<(u32, u32)> {
    let mut packets: Vec<(u32, u32)> = Vec::new();
    for (index, _) in passed.iter().enumerate().filter(|(_, passed)| **passed) {
        let index = index as u32;
        match packets.last_mut() {
            Some((start, len)) if *start + *len == index && *len < count => *len += 1,
            _ => packets.push((index, 1)),
        }
    }
    packets
}

impl Setting {
    /// Runs 400 trains, each followed by its retransmissions after two RTTs.
    fn between(&self) -> CapturePair {
        let mut here = Vec::new();
        let mut there = Vec::new();
        let mut send = |at: u64, first: u32, fates: &[Lost]| {
            let seq = |index: u32| 1 + (first + index) * MSS;
            let passes = |pass: fn(&Lost) -> bool| fates.iter().map(pass).collect::<Vec<bool>>();
            for (start, len) in merged(&passes(|lost| *lost != Lost::Before), self.here) {
                here.push(packet(at, Side::Client, seq(start), 1, len * MSS));
            }
            let passed = passes(|lost| matches!(lost, Lost::Not | Lost::Behind));
            let at = at + DELAY_US;
            for (start, len) in merged(&passed, self.there) {
                let packet = packet(at + OFFSET_US, Side::Client, seq(start), 1, len * MSS);
                there.push((at, packet));
            }
        };
        for train in 0..400 {
            let at = u64::from(train) * EVERY_US;
            let first = train * TRAIN;
            let fates: Vec<Lost> = (first..first + TRAIN).map(self.lost).collect();
            send(at, first, &fates);
            for (index, _) in fates
                .iter()
                .enumerate()
                .filter(|(_, lost)| **lost != Lost::Not)
            {
                let again = at + 4 * DELAY_US + 100;
                send(again, first + index as u32, &[Lost::Not]);
            }
        }
        for train in 0..400 {
            let at = u64::from(train) * EVERY_US + DELAY_US + 1;
            let ack = 1 + (train + 1) * TRAIN * MSS;
            there.push((at, packet(at + OFFSET_US, Side::Server, 1, ack, 0)));
            // Every tenth ACK is lost.
            if train % 10 != 5 {
                here.push(packet(at + DELAY_US, Side::Server, 1, ack, 0));
            }
        }
        here.sort_by_key(|packet| packet.at);
        there.sort_by_key(|(at, _)| *at);
        let (mut near, mut far) = (PacketTimes::new(), PacketTimes::new());
        for packet in &here {
            let is_client = packet.src_port == 4000;
            near.add(
                if is_client {
                    Side::Client
                } else {
                    Side::Server
                },
                packet,
            );
        }
        for (at, packet) in &there {
            if (self.there_from_us..self.there_until_us).contains(at) {
                let is_client = packet.src_port == 4000;
                far.add(
                    if is_client {
                        Side::Client
                    } else {
                        Side::Server
                    },
                    packet,
                );
            }
        }
        CapturePair::new(&near, &far, Side::Client, MSS.into()).expect("enough passed both")
    }
}

#[test]
fn packets_of_other_sizes_at_each_place_are_not_lost() {
    for (here, there) in [(1, 1), (8, 1), (1, 8), (4, 2), (3, 8)] {
        let between = Setting {
            here,
            there,
            ..SETTING
        }
        .between();
        let bytes = between.bytes();
        assert_eq!((bytes.lost, bytes.missed), (0, 0), "{here} {there}");
        assert_eq!((bytes.lost_before, bytes.lost_behind), (0, 0));
        assert!(bytes.here > 3_100_000, "{bytes:?}");
        assert_eq!(between.data().1, 0, "{here} {there}");
    }
}

#[test]
fn what_was_lost_is_counted_where_it_was_lost() {
    let lost = |index: u32| match index % 100 {
        17 => Lost::Before,
        40..=42 => Lost::Between,
        77 => Lost::Behind,
        _ => Lost::Not,
    };
    for (here, there) in [(1, 1), (8, 1), (1, 8), (4, 2)] {
        let between = Setting {
            here,
            there,
            lost,
            ..SETTING
        }
        .between();
        let bytes = between.bytes();
        assert_eq!(bytes.lost, 32 * 3 * 1000, "{here} {there} {bytes:?}");
        let (segments, lost) = between.data();
        assert_eq!(lost, 32 * 3, "{here} {there} {bytes:?}");
        assert_eq!(segments * 1000, bytes.here, "{here} {there} {bytes:?}");
        assert_eq!(bytes.lost_before, 32 * 1000, "{here} {there} {bytes:?}");
        assert_eq!(bytes.lost_behind, 32 * 1000, "{here} {there} {bytes:?}");
        assert_eq!(bytes.missed, 0);
    }
}

#[test]
fn what_one_place_did_not_capture_is_not_lost() {
    let lost = |index: u32| {
        if index % 100 == 40 {
            Lost::Between
        } else {
            Lost::Not
        }
    };
    for here in [1, 4] {
        let between = Setting {
            here,
            lost,
            there_from_us: 700_000,
            there_until_us: 1_300_000,
            ..SETTING
        }
        .between();
        // 120 trains of 8 segments in that time, of which one in a hundred is lost.
        let bytes = between.bytes();
        assert!((8_000..=10_000).contains(&bytes.lost), "{bytes:?}");
        assert!(bytes.here < 1_000_000, "{bytes:?}");
        assert!(between.data().1 <= 10, "{:?}", between.data());
        let (acks, lost) = between.acknowledgments();
        assert!(acks <= 121 && lost <= 13, "{acks} {lost}");
    }
}

#[test]
fn one_way_delays_and_lost_acks_are_told() {
    let between = SETTING.between();
    let (forth, back) = between.delays();
    for delay in [forth, back] {
        assert!(
            delay.min.as_nanos().abs_diff(10_000_000) < 50_000,
            "{delay:?}"
        );
        assert!(
            delay.max - delay.min < Duration::from_micros(50),
            "{delay:?}"
        );
        assert!(delay.min <= delay.mean && delay.mean <= delay.max);
    }
    assert_eq!(between.acknowledgments().1, 40);
}
