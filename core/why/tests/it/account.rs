//! Properties of every diagnosis, for any capture.

use std::net::Ipv4Addr;

use gigatcp_flows::{Observed, Packet};
use gigatcp_units::{Duration, Instant};
use gigatcp_why::{Diagnosis, Watcher};
use gigatcp_wire::link::Fragmentation;
use gigatcp_wire::{Ecn, Endpoints, Flags, SackBlock, SackBlocks, SeqNumber, Timestamps};
use proptest::prelude::*;

/// A random packet, from a small set of places and times. So packets are related to each other.
fn packet() -> impl Strategy<Value = (u64, bool, Observed)> {
    (
        0_u64..50_000_000,
        any::<bool>(),
        (0_u32..60, 0_u32..60, 0_u32..3, 0_u16..400),
        (0_u8..32, any::<bool>(), 0_u32..40, 0_u32..40),
        (any::<bool>(), 0_u32..60, 0_u32..60),
    )
        .prop_map(
            |(gap, back, (seq, ack, len, wnd), (bits, stamped, val, ecr), sack)| {
                let mut flags = Flags::ACK;
                for (bit, flag) in [Flags::SYN, Flags::FIN, Flags::RST].into_iter().enumerate() {
                    // Each of them is rare.
                    if bits == bit as u8 + 1 {
                        flags |= flag;
                    }
                }
                let client = Endpoints::V4 {
                    src: Ipv4Addr::new(192, 0, 2, 1),
                    dst: Ipv4Addr::new(192, 0, 2, 2),
                };
                let mut blocks = SackBlocks::default();
                if sack.0 {
                    blocks.try_push(SackBlock {
                        left: SeqNumber::new(sack.1 * 500),
                        right: SeqNumber::new(sack.2 * 500),
                    });
                }
                let is_syn = flags.contains(Flags::SYN);
                let observed = Observed {
                    at: Instant::ZERO,
                    endpoints: if back { client.reversed() } else { client },
                    src_port: if back { 80 } else { 4000 },
                    dst_port: if back { 4000 } else { 80 },
                    seq: SeqNumber::new(seq * 500),
                    ack: SeqNumber::new(ack * 500),
                    flags,
                    wnd: wnd * 16,
                    urgent: 0,
                    payload_len: len * 500,
                    options_len: 12,
                    ecn: Ecn::NotEct,
                    ident: 0,
                    timestamps: stamped.then_some(Timestamps { val, ecr }),
                    sack: blocks,
                    mss: is_syn.then_some(1000),
                    window_scale: is_syn.then_some(2),
                    sack_permitted: is_syn,
                    scale_is_cut: false,
                    uncaptured_len: 0,
                    fragmentation: Fragmentation::Whole,
                };
                (gap, back, observed)
            },
        )
}

/// Checks that all verdicts, the unknown time and all spans add up to the duration. Spans must be
/// contiguous.
fn check(diagnosis: &Diagnosis) {
    let told = diagnosis
        .verdicts
        .iter()
        .fold(diagnosis.unknown, |sum, verdict| sum + verdict.time);
    assert_eq!(told, diagnosis.duration);
    let mut at = diagnosis.start;
    for span in &diagnosis.spans {
        assert_eq!(span.start, at);
        at += span.length;
    }
    assert_eq!(at, diagnosis.start + diagnosis.duration);
    for verdict in &diagnosis.verdicts {
        assert!((0.0..=1.0).contains(&verdict.confidence), "{verdict:?}");
        assert!((0.0..=1.0).contains(&verdict.share));
        assert!(verdict.finding.ends_with('.'), "{}", verdict.finding);
    }
    assert!(diagnosis.sentence().ends_with('.'));
    check_rates(diagnosis);
}

/// Checks that no rate exceeds the observed one, or is below the delivered one.
fn check_rates(diagnosis: &Diagnosis) {
    let (capacity, throughput) = (diagnosis.capacity.rate(), diagnosis.throughput);
    assert!(capacity >= throughput, "{capacity:?} {throughput:?}");
    // All data delivered in the shortest nonzero time.
    let most = diagnosis.delivered.as_u64() as f64 * 8.0 * 1e9;
    assert!(capacity.as_bps() as f64 <= most + 1.0, "{capacity:?}");
    let next = diagnosis.next.map_or(capacity, |next| next.rate);
    for verdict in &diagnosis.verdicts {
        assert!(verdict.cost.rate <= capacity.max(next), "{verdict:?}");
    }
}

/// A watcher of the packets that `takes` selects.
fn watch(
    packets: &[(u64, bool, Observed)],
    backwards: bool,
    takes: impl Fn(&Observed) -> bool,
) -> Watcher {
    let mut watcher = Watcher::new(1);
    let mut at = Instant::ZERO + Duration::from_secs(10);
    for (number, (gap, _, observed)) in (1..).zip(packets) {
        let gap = Duration::from_nanos(*gap);
        if backwards && gap.as_nanos().is_multiple_of(5) {
            at = Instant::ZERO + at.saturating_since(Instant::ZERO + gap);
        } else {
            at += gap;
        }
        if takes(observed) {
            watcher.handle_packet(number, &Observed { at, ..*observed });
        }
    }
    watcher
}

fn diagnose(packets: &[(u64, bool, Observed)], backwards: bool) -> Vec<Diagnosis> {
    let watcher = watch(packets, backwards, |_| true);
    (0..watcher.table().len())
        .filter_map(|index| watcher.diagnose(index))
        .collect()
}

/// All results in figures, by the number of the first packet.
fn conclude(mut watcher: Watcher) -> Vec<(u64, String)> {
    (0..watcher.table().len())
        .filter_map(|index| {
            let brief = watcher.conclude(index);
            Some((watcher.first_packet(index)?, format!("{brief:?}")))
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_instant_of_any_capture_has_one_cause_or_is_unknown(
        packets in prop::collection::vec(packet(), 1..200),
        backwards in any::<bool>(),
    ) {
        for diagnosis in diagnose(&packets, backwards) {
            check(&diagnosis);
        }
    }

    #[test]
    fn a_brief_says_what_the_diagnosis_says(
        packets in prop::collection::vec(packet(), 1..200),
    ) {
        let mut watcher = watch(&packets, false, |_| true);
        for index in 0..watcher.table().len() {
            let told = watcher.diagnose(index);
            let brief = watcher.conclude(index);
            prop_assert_eq!(told.is_some(), brief.is_some());
            let (Some(told), Some(brief)) = (told, brief) else { continue };
            let cause = told.primary();
            prop_assert_eq!(
                cause.map(|cause| (cause.cause.id, cause.time, cause.confidence)),
                brief.primary.map(|cause| (cause.cause.id, cause.time, cause.confidence))
            );
            prop_assert_eq!(
                (told.sender, told.capture_point, told.duration, told.unknown, told.min_rtt),
                (brief.sender, brief.capture_point, brief.duration, brief.unknown, brief.min_rtt)
            );
            prop_assert_eq!((told.delivered, told.throughput), (brief.delivered, brief.throughput));
        }
    }

    #[test]
    fn connections_shared_out_are_judged_as_they_are_by_one(
        packets in prop::collection::vec((packet(), 0_u16..7), 1..200),
        count in 2_u32..5,
    ) {
        let packets: Vec<_> = packets
            .into_iter()
            .map(|((gap, back, mut observed), port)| {
                let client = if back { &mut observed.dst_port } else { &mut observed.src_port };
                *client += port;
                (gap, back, observed)
            })
            .collect();
        let alone = conclude(watch(&packets, false, |_| true));
        let mut shared: Vec<_> = (0..count)
            .flat_map(|index| {
                conclude(watch(&packets, false, |packet| packet.pair().share(count) == index))
            })
            .collect();
        shared.sort();
        prop_assert_eq!(alone, shared);
    }
}

/// A conversation of which a watcher sees every packet.
struct Conversation {
    watcher: Watcher,
    number: u64,
}

impl Conversation {
    fn say(&mut self, at_us: u64, back: bool, seq: u32, ack: u32, len: u32, flags: Flags) {
        self.number += 1;
        let client = Endpoints::V4 {
            src: Ipv4Addr::new(192, 0, 2, 1),
            dst: Ipv4Addr::new(192, 0, 2, 2),
        };
        let is_syn = flags.contains(Flags::SYN);
        self.watcher.handle_packet(
            self.number,
            &Observed {
                at: Instant::from_nanos(at_us * 1000),
                endpoints: if back { client.reversed() } else { client },
                src_port: if back { 80 } else { 4000 },
                dst_port: if back { 4000 } else { 80 },
                seq: SeqNumber::new(seq),
                ack: SeqNumber::new(ack),
                flags,
                wnd: 1000,
                urgent: 0,
                payload_len: len,
                options_len: 0,
                ecn: Ecn::NotEct,
                ident: 0,
                timestamps: None,
                sack: SackBlocks::default(),
                mss: is_syn.then_some(1000),
                window_scale: is_syn.then_some(3),
                sack_permitted: is_syn,
                scale_is_cut: false,
                uncaptured_len: 0,
                fragmentation: Fragmentation::Whole,
            },
        );
    }

    fn sentence(self) -> String {
        let diagnosis = self.watcher.diagnose(0).expect("data was sent");
        check(&diagnosis);
        diagnosis.answer().sentence
    }
}

fn assert_begins(conversation: Conversation, beginning: &str) {
    let sentence = conversation.sentence();
    assert!(sentence.starts_with(beginning), "{sentence}");
}

/// Rounds of 8 segments that fill the window, each round acknowledged 10 ms later.
fn steady(rounds: u64) -> Conversation {
    let mut conversation = Conversation {
        watcher: Watcher::new(1),
        number: 0,
    };
    conversation.say(0, false, 0, 0, 0, Flags::SYN);
    conversation.say(10_000, true, 0, 1, 0, Flags::SYN | Flags::ACK);
    conversation.say(10_001, false, 1, 1, 0, Flags::ACK);
    for round in 0..rounds {
        let start = 20_000 + round * 10_100;
        for segment in 0..8 {
            let seq = 1 + (round * 8 + segment) as u32 * 1000;
            conversation.say(start + segment, false, seq, 1, 1000, Flags::ACK);
        }
        for segment in 1..=4 {
            let ack = 1 + (round * 8 + segment * 2) as u32 * 1000;
            conversation.say(start + 10_000 + segment, true, 1, ack, 0, Flags::ACK);
        }
    }
    conversation
}

#[test]
fn a_reset_with_data_in_flight_is_the_first_sentence() {
    let (next, end) = (400_001, 20_000 + 50 * 10_100);
    let by_receiver = "The receiver reset it after 527 ms, with 1.00 kB in flight. ";
    let by_sender = "The sender reset it after 527 ms, with 1.00 kB in flight. ";

    let mut aborted = steady(50);
    aborted.say(end, false, next, 1, 1000, Flags::ACK);
    aborted.say(end + 2000, true, 1, 0, 0, Flags::RST);
    assert_begins(aborted, by_receiver);

    // Its ACKs arrive after the sender's reset.
    let mut aborted = steady(50);
    aborted.say(end, false, next, 1, 1000, Flags::ACK);
    aborted.say(
        end + 2000,
        false,
        next + 1000,
        1,
        0,
        Flags::RST | Flags::ACK,
    );
    aborted.say(end + 10_000, true, 1, next + 1000, 0, Flags::ACK);
    assert_begins(aborted, by_sender);

    // Another host's, which ends the connection all the same: the receiver knows nothing of it.
    let mut aborted = steady(50);
    aborted.say(end, false, next, 1, 1000, Flags::ACK);
    aborted.say(end + 2000, true, 1, 0, 0, Flags::RST);
    aborted.say(end + 10_000, true, 1, next + 1000, 0, Flags::ACK);
    assert_begins(aborted, by_receiver);

    // At the receiver what was in flight arrives after its reset.
    let mut aborted = steady(50);
    aborted.say(end + 2000, true, 1, 0, 0, Flags::RST);
    aborted.say(end + 3000, false, next, 1, 1000, Flags::ACK);
    assert_begins(aborted, by_receiver);
}

#[test]
fn reset_of_what_goes_on_after_a_silence_is_told_as_such() {
    let (next, end) = (400_001, 20_000 + 50 * 10_100);
    let later = end + 5_000_000;
    let mut forgotten = steady(50);
    forgotten.say(later, false, next, 1, 1000, Flags::ACK);
    forgotten.say(later + 10_000, true, 1, 0, 0, Flags::RST);
    assert_begins(
        forgotten,
        "It was reset after 5.54 s, when it went on after 5.01 s of silence: the receiver, or a NAT or \
         firewall between, had forgotten it",
    );

    // After a timeout the silence is the fault.
    let mut stalled = steady(50);
    stalled.say(end, false, next, 1, 1000, Flags::ACK);
    stalled.say(later, false, next, 1, 1000, Flags::ACK);
    stalled.say(later + 10_000, true, 1, 0, 0, Flags::RST);
    assert!(!stalled.sentence().contains("forgotten"));
}

#[test]
fn a_reset_that_ends_no_transfer_is_not_in_the_sentence() {
    let (next, end) = (400_001, 20_000 + 50 * 10_100);
    let limited = "Limited by the receive window";

    let mut complete = steady(50);
    complete.say(end, true, 1, 0, 0, Flags::RST);
    assert_begins(complete, limited);

    // Another host's, which the sender ignores.
    let mut ignored = steady(50);
    ignored.say(end, false, next, 1, 1000, Flags::ACK);
    ignored.say(end + 2000, true, 1, 0, 0, Flags::RST);
    ignored.say(end + 2_000_000, false, next + 1000, 1, 1000, Flags::ACK);
    ignored.say(end + 2_010_000, true, 1, next + 2000, 0, Flags::ACK);
    assert!(!ignored.sentence().contains("reset it"));

    // Nothing was acknowledged for a minute: the silence is the fault.
    let mut silent = steady(50);
    silent.say(end, false, next, 1, 1000, Flags::ACK);
    silent.say(end + 60_000_000, false, next + 1000, 1, 0, Flags::RST);
    assert!(!silent.sentence().contains("reset it"));
}

#[test]
fn a_window_that_is_always_full_is_the_limit() {
    let diagnosis = steady(50).watcher.diagnose(0).expect("data was sent");
    check(&diagnosis);
    let dominant = diagnosis.primary().expect("a cause");
    assert_eq!(dominant.cause.id, "receive-window-limited");
    assert!(dominant.share > 0.9, "{}", diagnosis.limited_by());
    assert!(diagnosis.limited_by().starts_with("receive-window-limited"));
}

#[test]
fn a_long_transfer_keeps_few_rounds_and_all_of_its_time() {
    let diagnosis = steady(20_000).watcher.diagnose(0).expect("data was sent");
    check(&diagnosis);
    assert!(diagnosis.spans.len() <= 8 * gigatcp_why::MAX_ROUNDS);
    assert_eq!(
        diagnosis.primary().map(|first| first.cause.id),
        Some("receive-window-limited")
    );
}
