//! Measures of a sender view, each on the smallest conversation that shows it.

use alloc::vec::Vec;

use gigatcp_flows::Side;
use gigatcp_units::Duration;
use gigatcp_wire::{Ecn, Flags, Timestamps};

use super::SenderView;
use crate::conversation::{Conversation, MSS, sack};
use crate::round::{Extremes, Round};

const CLIENT: Side = Side::Client;
const SERVER: Side = Side::Server;

/// Sums a value over all rounds of a sender view.
fn total(sender_view: &SenderView, of: impl Fn(&Round) -> u64) -> u64 {
    sender_view.rounds.as_slice().iter().map(of).sum()
}

/// 20 RTTs of 40 ms with segments at the times of `gap`, in us. Each is acknowledged 40 ms later.
fn sent_at(mut gap: impl FnMut(u32) -> (u64, u32)) -> Conversation {
    let mut all = Conversation::opened(40_000, 20);
    let (mut at, mut seq) = (100_000, 1);
    let mut packets: Vec<(u64, Side, u32, u32)> = Vec::new();
    for index in 0..800 {
        let (gap, segments) = gap(index);
        at += gap;
        let len = segments * MSS;
        packets.push((at, CLIENT, seq, len));
        seq += len;
        packets.push((at + 40_000, SERVER, seq, 0));
    }
    packets.sort_by_key(|packet| packet.0);
    for (at, from, seq, len) in packets {
        if from == CLIENT {
            all.say(at, from, seq, 1, len);
        } else {
            all.say(at, from, 1, seq, 0);
        }
    }
    all
}

fn variations(all: &Conversation) -> (f64, f64) {
    let sender_view = all.sender_view(CLIENT);
    let rounds = sender_view.rounds.as_slice();
    let mean = |of: fn(&Round) -> Option<f64>| {
        let all: Vec<f64> = rounds.iter().filter_map(of).collect();
        all.iter().sum::<f64>() / all.len() as f64
    };
    (
        mean(|round| round.burst_rate.variation()),
        mean(|round| round.burst_rate.mean()),
    )
}

#[test]
fn bursts_behind_a_shaper_are_regular_however_many_segments_they_have() {
    for segments in [1_u32, 4, 16] {
        // 50 Mbit/s.
        let gap = u64::from(segments) * 160;
        let (variation, rate) = variations(&sent_at(|_| (gap, segments)));
        assert!(variation < 0.05, "{segments}: {variation}");
        assert!((rate / 6.25e6 - 1.0).abs() < 0.02, "{segments}: {rate}");
    }
    // Super-segments of different sizes, each with its transmission time.
    let mut before = 1;
    let mixed = sent_at(|index| {
        let gap = u64::from(before) * 160;
        before = 1 + index * 7 % 5;
        (gap, before)
    });
    let (variation, rate) = variations(&mixed);
    assert!(variation < 0.05, "{variation}");
    assert!((rate / 6.25e6 - 1.0).abs() < 0.02, "{rate}");
}

#[test]
fn a_train_without_gaps_is_measured_in_parts_of_the_rtt() {
    let (variation, rate) = variations(&sent_at(|_| (8, 1)));
    assert!(variation < 0.05, "{variation}");
    assert!((rate / 1.25e8 - 1.0).abs() < 0.02, "{rate}");
}

#[test]
fn bursts_of_a_host_that_is_busy_now_and_then_are_irregular() {
    let busy = sent_at(|index| (160 + u64::from(index * index % 17 / 12) * 2000, 1));
    let (variation, _) = variations(&busy);
    assert!(variation > 0.3, "{variation}");
}

#[test]
fn zero_windows_are_counted_and_last_until_the_window_opens() {
    let mut all = Conversation::opened(10_000, 20);
    all.say(20_000, CLIENT, 1, 1, MSS);
    all.say(30_000, SERVER, 1, 1 + MSS, 0).wnd = 0;
    all.say(50_000, SERVER, 1, 1 + MSS, 0).wnd = 0;
    all.say(330_000, SERVER, 1, 1 + MSS, 0).wnd = 100;
    all.say(330_100, CLIENT, 1 + MSS, 1, MSS);
    all.say(340_000, SERVER, 1, 1 + 2 * MSS, 0).wnd = 100;
    let sender_view = all.sender_view(CLIENT);
    let rounds = sender_view.rounds.as_slice().iter();
    let time = rounds.fold(Duration::ZERO, |sum, round| sum + round.zero_time);
    assert_eq!(time, Duration::from_millis(300));
    assert_eq!(total(&sender_view, |round| round.zero_windows), 2);
}

#[test]
fn the_mean_window_is_that_of_all_acks() {
    let mut all = Conversation::opened(10_000, 20);
    let mut next = 1;
    for index in 0..10_u32 {
        let at = 20_000 + u64::from(index) * 11_000;
        all.say(at, CLIENT, next, 1, MSS);
        next += MSS;
        let wnd = 100 + index as u16 * 20;
        all.say(at + 10_000, SERVER, 1, next, 0).wnd = wnd;
    }
    let sender_view = all.sender_view(CLIENT);
    let sum = total(&sender_view, |round| round.window_sum);
    let count = total(&sender_view, |round| round.windows);
    // (100 + 280) / 2 in units of 128 bytes, as far as the edge does not move left.
    assert_eq!((sum / count, count), (190 * 128, 10));
}

#[test]
fn marks_of_congestion_are_counted_by_what_they_are() {
    let mut all = Conversation::opened(10_000, 20);
    all.say(20_000, CLIENT, 1, 1, MSS).ecn = Ecn::Ce;
    all.say(20_010, CLIENT, 1 + MSS, 1, MSS).ecn = Ecn::Ce;
    all.say(30_000, SERVER, 1, 1 + 2 * MSS, 0).flags = Flags::ACK | Flags::ECE;
    all.say(30_010, CLIENT, 1 + 2 * MSS, 1, MSS).flags = Flags::ACK | Flags::CWR;
    all.say(40_000, SERVER, 1, 1 + 3 * MSS, 0);
    let sender_view = all.sender_view(CLIENT);
    let marks = [
        |round: &Round| round.ce,
        |round: &Round| round.ece,
        |round: &Round| round.cwr,
    ];
    assert_eq!(marks.map(|of| total(&sender_view, of)), [2, 1, 1]);
}

/// Sends with eight segments in flight: an ACK of two, two new segments.
fn window_of_eight(all: &mut Conversation, segments: u32) -> u32 {
    for index in 0..8 {
        all.say(100_000, CLIENT, 1 + index * MSS, 1, MSS);
    }
    let mut acked = 1;
    for index in 0..segments / 2 {
        let at = 140_000 + u64::from(index) * 10_000;
        acked += 2 * MSS;
        all.say(at, SERVER, 1, acked, 0);
        for more in 0..2 {
            let seq = acked + (6 + more) * MSS;
            all.say(at + 5 + u64::from(more), CLIENT, seq, 1, MSS);
        }
    }
    acked
}

#[test]
fn a_flight_that_stays_at_one_size_is_low_by_one_ack_and_has_its_mean() {
    let mut all = Conversation::opened(40_000, 20);
    window_of_eight(&mut all, 400);
    let sender_view = all.sender_view(CLIENT);
    let rounds = sender_view.rounds.as_slice();
    let whole = &rounds[4..rounds.len() - 4];
    assert!(whole.len() > 20);
    for round in whole {
        assert_eq!(round.flight, 8000);
        assert_eq!(round.flight_low, Some(6000));
        let mean = round.flight_mean().expect("it lasted");
        assert!((mean / 8000.0 - 1.0).abs() < 0.01, "{mean}");
        assert_eq!(round.acked_per_ack_max, 2000);
    }
}

#[test]
fn acks_in_a_burst_and_acks_with_sack_are_counted() {
    let mut all = Conversation::opened(40_000, 20);
    for index in 0..6 {
        all.say(100_000 + u64::from(index), CLIENT, 1 + index * MSS, 1, MSS);
    }
    for (at, ack) in [(140_000, 1), (140_010, 2), (140_018, 3), (140_060, 3)] {
        let next = 1 + ack * MSS;
        let packet = all.say(at, SERVER, 1, next, 0);
        if at >= 140_060 {
            packet.sack = sack(next + MSS, next + 2 * MSS);
        }
    }
    let sender_view = all.sender_view(CLIENT);
    assert_eq!(total(&sender_view, |round| round.ack_bursts), 2);
    assert_eq!(total(&sender_view, |round| round.sack_acks), 1);
}

#[test]
fn a_queue_before_the_capture_point_makes_data_late() {
    let mut all = Conversation::opened(20, 40_000);
    let stamp = |at: u64| 5000 + (at / 1000) as u32;
    let mut packets = Vec::new();
    for index in 0..400_u64 {
        let made = 100_000 + index * 1000;
        // The queue is empty, then 6 ms long.
        let at = made + if index < 200 { 20_000 } else { 26_000 };
        packets.push((at, CLIENT, index, made));
        packets.push((at + 20, SERVER, index + 1, at + 20));
    }
    packets.sort_unstable_by_key(|packet| packet.0);
    for (at, from, index, made) in packets {
        let place = 1 + index as u32 * MSS;
        let packet = match from {
            CLIENT => all.say(at, CLIENT, place, 1, MSS),
            SERVER => all.say(at, SERVER, 1, place, 0),
        };
        let (val, ecr) = (stamp(made), stamp(made.saturating_sub(40_000)));
        packet.timestamps = Some(Timestamps { val, ecr });
    }
    let sender_view = all.sender_view(CLIENT);
    let mut data: Option<Extremes> = None;
    for late in sender_view
        .rounds
        .as_slice()
        .iter()
        .filter_map(|round| round.data_late)
    {
        Extremes::widen(&mut data, late.least);
        Extremes::widen(&mut data, late.most);
    }
    assert_eq!(data.map(|late| late.most - late.least), Some(6000));
}

#[test]
fn resets_are_counted_by_who_sent_them() {
    let mut all = Conversation::opened(10_000, 20);
    all.say(20_000, CLIENT, 1, 1, MSS);
    all.say(30_000, SERVER, 1, 1 + MSS, 0).flags = Flags::RST | Flags::ACK;
    all.say(30_010, SERVER, 1, 1 + MSS, 0).flags = Flags::RST;
    all.say(30_020, CLIENT, 1 + MSS, 1, 0).flags = Flags::RST;
    let resets = all.sender_view(CLIENT).resets;
    assert_eq!((resets.sent, resets.heard), (1, 2));
    assert_eq!(resets.first.map(|first| first.by), Some(SERVER));
}
