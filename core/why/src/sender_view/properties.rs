//! Properties of every sender view, over random conversations; changes of a conversation that must
//! not change any measure.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use gigatcp_flows::{Observed, Side};
use gigatcp_units::{Duration, Instant};
use gigatcp_wire::{Flags, SeqNumber, Timestamps};
use proptest::prelude::*;

use super::SenderView;
use crate::Watcher;
use crate::conversation::{Conversation, MSS, sack};
use crate::round::State;

const CLIENT: Side = Side::Client;
const SERVER: Side = Side::Server;

/// A step of a transfer: action, number of segments, and time before it in us.
type Step = (u8, u32, u64);

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let gap = prop_oneof![4 => 0_u64..300, 3 => 0_u64..30_000, 1 => 0_u64..3_000_000];
    prop::collection::vec((0_u8..32, 1_u32..6, gap), 1..150)
}

/// A transfer as captured near its sender, with random events.
fn transfer(steps: &[Step]) -> Conversation {
    let mut all = Conversation::opened(20_000, 10);
    let (mut at, mut next, mut acked) = (30_000, 1, 1);
    for &(what, segments, gap) in steps {
        at += gap;
        match what {
            0..=13 => {
                for _ in 0..segments {
                    all.say(at, CLIENT, next, 1, MSS);
                    next += MSS;
                    at += gap % 7;
                }
            }
            // A super-segment, with and without a remainder.
            14..=16 => {
                let len = MSS * segments + if what == 16 { 300 } else { 0 };
                all.say(at, CLIENT, next, 1, len);
                next += len;
            }
            17..=24 => {
                let some = if what < 19 {
                    (next - acked) / 2
                } else {
                    next - acked
                };
                acked += some;
                all.say(at, SERVER, 1, acked, 0);
            }
            25 => {
                all.say(at, CLIENT, next, 1, 100 + segments);
                next += 100 + segments;
            }
            // Retransmitted, whether or not it was acknowledged.
            26 => {
                let len = (MSS * segments).min(next - acked).max(1);
                all.say(at, CLIENT, acked, 1, len);
            }
            27 if next > MSS => {
                all.say(at, CLIENT, next - MSS, 1, MSS);
            }
            // Lost before the capture point.
            28 => next += MSS * segments,
            29 => {
                for _ in 0..3 {
                    let packet = all.say(at, SERVER, 1, acked, 0);
                    packet.sack = sack(acked + MSS, acked + 2 * MSS);
                    at += 5;
                }
            }
            30 => {
                // The window closes.
                acked = next;
                all.say(at, SERVER, 1, acked, 0).wnd = 0;
            }
            _ => {
                all.say(at, SERVER, 1, acked, 0).wnd = segments as u16;
            }
        }
    }
    all
}

fn total(sender_view: &SenderView, states: &[State]) -> Duration {
    let rounds = sender_view.rounds.as_slice().iter();
    rounds
        .flat_map(|round| states.iter().map(|state| round.spent_in(*state)))
        .fold(Duration::ZERO, |sum, spent| sum + spent)
}

/// Time between packets without outstanding data, from sequence numbers.
fn empty_time(packets: &[Observed]) -> Duration {
    let (mut next, mut acked, mut last) = (1, 1, None::<Instant>);
    let mut empty = Duration::ZERO;
    for packet in packets
        .iter()
        .filter(|packet| !packet.flags.contains(Flags::SYN))
    {
        if let Some(last) = last
            && next <= acked
        {
            empty += packet.at.saturating_since(last);
        }
        last = Some(packet.at);
        if packet.src_port == 4000 {
            next = next.max(packet.seq.as_u32() + packet.payload_len);
        } else {
            acked = acked.max(packet.ack.as_u32());
        }
    }
    empty
}

/// Formats its rounds, episodes and pauses.
fn formatted(sender_view: &SenderView) -> String {
    format!(
        "{:?}{:?}{:?}{:?}",
        sender_view.rounds, sender_view.round, sender_view.episodes, sender_view.pauses
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn while_nothing_is_outstanding_the_path_and_the_hosts_are_at_no_fault(steps in steps()) {
        let all = transfer(&steps);
        if !all.packets.iter().any(|packet| packet.payload_len > 0) {
            return Ok(());
        }
        let sender_view = all.sender_view(CLIENT);
        let faults = [State::Timeout, State::Recovery, State::Full, State::Slack];
        let length = sender_view.last.saturating_since(all.packets[2].at);
        let busy = length.saturating_sub(empty_time(&all.packets));
        // An ACK takes effect 10 us later.
        let slack = Duration::from_micros(10 * all.packets.len() as u64);
        let spent = total(&sender_view, &faults);
        prop_assert!(spent <= busy + slack, "{spent:?} of {busy:?}");
        for episode in &sender_view.episodes.list {
            prop_assert!(episode.until >= episode.at);
        }
    }

    #[test]
    fn segments_retransmitted_are_as_many_as_flows_counts(steps in steps()) {
        let all = transfer(&steps);
        let watcher = all.watched();
        let Some((sender_view, _)) = watcher.followed(0).finished_view(CLIENT) else { return Ok(()) };
        let connection = watcher.table().connection(0).expect("one");
        let again: u64 = sender_view.rounds.as_slice().iter().map(|round| round.again).sum();
        prop_assert_eq!(again, connection.direction(CLIENT).retransmitted_segments());
    }

    #[test]
    fn psh_changes_nothing(steps in steps(), pushed in any::<u64>()) {
        let mut plain = transfer(&steps);
        let mut marked = plain.clone();
        for (index, packet) in marked.packets.iter_mut().enumerate() {
            if packet.payload_len > 0 && pushed >> (index % 64) & 1 == 1 {
                packet.flags |= Flags::PSH;
            }
        }
        plain.say(90_000_000, SERVER, 1, 1, 0);
        marked.say(90_000_000, SERVER, 1, 1, 0);
        if plain.packets.iter().any(|packet| packet.payload_len > 0) {
            let both = [plain, marked].map(|capture| formatted(&capture.sender_view(CLIENT)));
            prop_assert_eq!(&both[0], &both[1]);
        }
    }

    #[test]
    fn rounds_are_the_same_without_prediction(steps in steps(), stamps in any::<bool>()) {
        let mut all = transfer(&steps);
        for packet in &mut all.packets {
            let clock = (packet.at.as_nanos() / 1_000_000) as u32;
            let (val, ecr) = (clock, clock.wrapping_sub(20));
            packet.timestamps = stamps.then_some(Timestamps { val, ecr });
        }
        let mut long = Watcher::without_prediction(1);
        for (number, packet) in (1..).zip(&all.packets) {
            long.handle_packet(number, packet);
        }
        let finished_view = |watcher: &Watcher| {
            let followed = watcher.followed(0);
            let sender_view = followed.finished_view(CLIENT).map(|(sender_view, _)| sender_view);
            let rounds = sender_view.map(|sender_view| format!("{:?}{:?}", sender_view.rounds, sender_view.round));
            format!("{rounds:?}{:?}", followed.exchange)
        };
        prop_assert_eq!(finished_view(&all.watched()), finished_view(&long));
    }
}

/// A transfer with a window of 40 segments and 40 ms of RTT. The application pauses now and then.
/// Each packet has `merged` segments.
fn trains(merged: u32) -> Box<SenderView> {
    let mut all = Conversation::opened(40_000, 20);
    let mut packets = Vec::new();
    let mut seq = 1;
    for train in 0..600_u64 {
        let at = 100_000 + train * 4_000 + train / 50 * 100_000;
        for part in 0..4 / merged {
            let len = MSS * merged;
            // The tap sees a super-segment when its last segment is complete.
            let at = at + u64::from((part + 1) * merged) * 12;
            packets.push((at, CLIENT, seq, len));
            seq += len;
        }
        packets.push((at + 41_500, SERVER, seq, 0));
    }
    packets.sort_by_key(|packet| packet.0);
    for (at, from, seq, len) in packets {
        match from {
            CLIENT => all.say(at, CLIENT, seq, 1, len),
            SERVER => all.say(at, SERVER, 1, seq, 0),
        };
    }
    all.sender_view(CLIENT)
}

#[test]
fn merged_segments_leave_the_time_in_every_state_as_it_is() {
    let [one, four] = [1, 4].map(trains);
    assert_eq!((one.mss, four.mss), (1000, 1000));
    let all = one.last.saturating_since(Instant::ZERO).as_secs_f64() - 1.0;
    for state in State::ALL {
        let [one, four] =
            [&one, &four].map(|sender_view| total(sender_view, &[state]).as_secs_f64());
        assert!((one - four).abs() < 0.05 * all, "{state:?}: {one} {four}");
    }
    let dry = |sender_view: &SenderView| {
        let rounds = sender_view.rounds.as_slice().iter();
        rounds.map(|round| round.dry.as_secs_f64()).sum::<f64>()
    };
    assert!((dry(&one) - dry(&four)).abs() < 0.05 * all);
}

/// Super-segments only, each of 45 segments; every tenth is retransmitted.
#[test]
fn a_capture_of_super_segments_alone_counts_segments_and_not_bytes() {
    let mut all = Conversation::opened(40_000, 20);
    let (mut at, mut seq) = (100_000, 1);
    for index in 0..50 {
        all.say(at, CLIENT, seq, 1, 45 * MSS);
        if index % 10 == 9 {
            for more in 1..4 {
                let packet = all.say(at + 40_000 + more, SERVER, 1, seq, 0);
                packet.sack = sack(seq + MSS, seq + (1 + more as u32) * MSS);
            }
            all.say(at + 40_010, CLIENT, seq, 1, 3 * MSS);
            at += 40_010;
        }
        seq += 45 * MSS;
        all.say(at + 40_000, SERVER, 1, seq, 0);
        at += 41_000;
    }
    let sender_view = all.sender_view(CLIENT);
    assert_eq!(sender_view.mss, u64::from(MSS));
    let again = sender_view
        .rounds
        .as_slice()
        .iter()
        .map(|round| round.again);
    assert_eq!(again.sum::<u64>(), 5 * 3);
    let episodes = &sender_view.episodes.list;
    assert_eq!(episodes.len(), 5);
    assert!(
        episodes
            .iter()
            .all(|episode| (episode.again, episode.row) == (3, 3000))
    );
}

/// A minute of silence with everything acknowledged, then the last segment is retransmitted.
#[test]
fn a_retransmission_of_what_was_acknowledged_makes_no_silence_a_timeout() {
    let mut all = Conversation::opened(40_000, 20);
    all.say(100_000, CLIENT, 1, 1, MSS);
    all.say(140_000, SERVER, 1, 1 + MSS, 0);
    all.say(60_000_000, CLIENT, 1, 1, MSS);
    all.say(120_000_000, CLIENT, 1 + MSS, 1, MSS);
    all.say(120_040_000, SERVER, 1, 1 + 2 * MSS, 0);
    let sender_view = all.sender_view(CLIENT);
    let faults = total(&sender_view, &[State::Timeout, State::Recovery]);
    assert_eq!(faults, Duration::ZERO);
    assert!(total(&sender_view, &[State::Idle]) > Duration::from_secs(119));
    for episode in &sender_view.episodes.list {
        assert_eq!(episode.until, episode.at);
    }
}

#[test]
fn a_closed_window_is_waited_for_only_if_it_is_probed() {
    for is_probed in [true, false] {
        let mut all = Conversation::opened(40_000, 20);
        // The SYN-ACK offered one segment.
        all.packets[1].wnd = MSS as u16;
        all.say(100_000, CLIENT, 1, 1, MSS);
        all.say(140_000, SERVER, 1, 1 + MSS, 0).wnd = 0;
        if is_probed {
            for at in [
                340_000, 740_000, 1_540_000, 3_140_000, 6_340_000, 12_740_000,
            ] {
                all.say(at, CLIENT, MSS, 1, 0);
                all.say(at + 40_000, SERVER, 1, 1 + MSS, 0).wnd = 0;
            }
        }
        all.say(20_000_000, SERVER, 1, 1 + MSS, 0).wnd = 4000;
        all.say(20_000_020, CLIENT, 1 + MSS, 1, MSS);
        let waited = total(&all.sender_view(CLIENT), &[State::Window]).as_secs_f64();
        let expected = if is_probed { 19.9 } else { 0.04 };
        assert!((waited - expected).abs() < 0.01, "{waited}");
    }
}

#[test]
fn zero_window_of_unknown_scale_is_closed_until_its_update_has_arrived() {
    let mut all = Conversation::opened(40_000, 20);
    for packet in &mut all.packets[..2] {
        packet.options_len = 20;
        packet.uncaptured_len = 12;
        packet.scale_is_cut = true;
        packet.window_scale = None;
    }
    all.say(100_000, CLIENT, 1, 1, MSS);
    all.say(140_000, SERVER, 1, 1 + MSS, 0).wnd = 0;
    all.say(340_000, CLIENT, MSS, 1, 0);
    all.say(380_000, SERVER, 1, 1 + MSS, 0).wnd = 0;
    all.say(840_000, SERVER, 1, 1 + MSS, 0).wnd = 4000;
    all.say(840_020, CLIENT, 1 + MSS, 1, MSS);
    let waited = total(&all.sender_view(CLIENT), &[State::Window]).as_secs_f64();
    assert!((waited - 0.7).abs() < 0.01, "{waited}");
}

#[test]
fn windows_whose_scale_was_cut_off_or_not_seen_are_unknown() {
    for is_missing in [true, false] {
        let mut all = Conversation::opened(40_000, 20);
        for packet in &mut all.packets[..2] {
            packet.options_len = 20;
            packet.uncaptured_len = 12;
            packet.scale_is_cut = true;
            packet.window_scale = None;
        }
        if is_missing {
            all.packets.drain(..2);
        }
        for index in 0..100 {
            all.say(100_000 + u64::from(index), CLIENT, 1 + index * MSS, 1, MSS);
        }
        for index in 0..100 {
            let packet = all.say(140_000 + u64::from(index), SERVER, 1, 1 + index * MSS, 0);
            packet.wnd = 681;
        }
        let sender_view = all.sender_view(CLIENT);
        assert!(!sender_view.knows_edge);
        let rounds = sender_view.rounds.as_slice();
        // As advertised, in an unknown unit.
        let windows = rounds.iter().filter_map(|round| round.window);
        assert!(windows.eq([(681, 681)]));
        assert!(rounds.iter().all(|round| round.still.is_zero()));
        assert_eq!(total(&sender_view, &[State::Window]), Duration::ZERO);
    }
}

#[test]
fn a_clock_that_is_set_back_makes_neither_a_short_rtt_nor_a_long_state() {
    let mut all = Conversation::opened(40_000, 20);
    let back = |at: u64| if at < 1_000_000 { at + 50_000 } else { at };
    let mut packets = Vec::new();
    for index in 0..2000_u64 {
        let at = 100_000 + index * 1000;
        packets.push((at, CLIENT, 1 + index as u32 * MSS));
        packets.push((at + 40_000, SERVER, 1 + (index as u32 + 1) * MSS));
    }
    packets.sort_by_key(|packet| packet.0);
    for (at, from, seq) in packets {
        match from {
            CLIENT => all.say(back(at), CLIENT, seq, 1, MSS),
            SERVER => all.say(back(at), SERVER, 1, seq, 0),
        };
    }
    for (packet, at) in all.packets.iter_mut().zip([50_000, 90_000, 90_020]) {
        packet.at = Instant::ZERO + Duration::from_secs(1) + Duration::from_micros(at);
    }
    let sender_view = all.sender_view(CLIENT);
    let rounds = sender_view.rounds.as_slice();
    let trips = rounds.iter().filter_map(|round| round.trip.least);
    let least = trips.min().expect("samples");
    assert!(least >= Duration::from_millis(39), "{least:?}");
    let most = rounds.iter().map(|round| round.trip.most).max();
    assert!(most.expect("samples") <= Duration::from_millis(41));
    let longest = rounds[2..].iter().map(|round| round.length()).max();
    assert!(longest.expect("rounds") <= Duration::from_millis(90));
}

/// Sequence numbers wrap, and nothing else changes.
#[test]
fn sequence_numbers_that_wrap_change_no_state() {
    let plain = transfer(&[
        (3, 5, 100),
        (20, 1, 20_000),
        (28, 1, 10),
        (3, 5, 10),
        (29, 1, 9),
    ]);
    let mut wrapped = plain.clone();
    let shift = |place: &mut SeqNumber| *place = SeqNumber::new(place.as_u32().wrapping_sub(3000));
    for packet in &mut wrapped.packets {
        let is_client = packet.src_port == 4000;
        shift(if is_client {
            &mut packet.seq
        } else {
            &mut packet.ack
        });
        if packet.sack.as_slice().len() == 1 {
            let block = packet.sack.as_slice()[0];
            let (mut left, mut right) = (block.left, block.right);
            shift(&mut left);
            shift(&mut right);
            packet.sack = sack(left.as_u32(), right.as_u32());
        }
    }
    let spent =
        |all: &Conversation| State::ALL.map(|state| total(&all.sender_view(CLIENT), &[state]));
    assert_eq!(spent(&plain), spent(&wrapped));
}
