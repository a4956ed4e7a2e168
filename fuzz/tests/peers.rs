//! Every hostile peer is held to its bounds.

use gigatcp_events::State;
use gigatcp_fuzz::flood;
use gigatcp_fuzz::memory::Counting;
use gigatcp_fuzz::peers::{self, BUFFER, Cost, serve, suffer};
use gigatcp_tcp::profile::SynCookies;
use gigatcp_units::Duration;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn cost_of(name: &str) -> Cost {
    let attack = peers::ALL.iter().find(|attack| attack.name == name);
    suffer(attack.expect("an attack of that name"))
}

#[test]
fn no_peer_makes_an_engine_hold_more_than_its_two_buffers() {
    for attack in &peers::ALL {
        let cost = suffer(attack);
        assert!(cost.memory <= 2 * BUFFER, "{}: {cost:?}", attack.name);
        assert!(cost.memory > 0, "the allocator does not count");
    }
}

#[test]
fn no_segment_makes_an_engine_ask_for_memory_more_than_once_or_for_much() {
    // Work that is the same on every machine: whoever copied or rebuilt what it
    // holds for each segment would be far beyond.
    for attack in &peers::ALL {
        let cost = suffer(attack);
        assert!(
            cost.allocations <= cost.arrived + 200,
            "{}: {cost:?}",
            attack.name
        );
        assert!(
            cost.allocated <= 512 * cost.arrived + BUFFER,
            "{}: {cost:?}",
            attack.name
        );
    }
}

#[test]
fn acknowledging_early_or_what_was_never_sent_gains_no_more_than_shorter_round_trips() {
    // Four flights are acknowledged in each round trip: as much leaves as in
    // four honest round trips, and what was not sent opens nothing.
    let (honest, early) = (serve(4 * 12), cost_of("optimistic"));
    assert!(early.sent <= honest.sent, "{early:?} {honest:?}");
    assert!(early.cwnd <= 10 + early.sent, "{early:?}");
    // Growth stops at a window that could never be full.
    assert!(early.cwnd * 1460 <= 4 * BUFFER, "{early:?}");
}

#[test]
fn spoofed_duplicates_release_nothing() {
    let (honest, spoofed) = (serve(40), cost_of("dupack-spoofing"));
    assert!(spoofed.sent <= honest.sent, "{spoofed:?} {honest:?}");
    // Growth stops at a window that could never be full.
    assert!(spoofed.cwnd * 1460 <= 4 * BUFFER, "{spoofed:?}");
}

#[test]
fn lies_about_what_arrived_open_no_window() {
    for (name, answers) in [("sack-lies", 1), ("sack-holes", 1), ("reneging", 3)] {
        let cost = cost_of(name);
        assert!(cost.cwnd <= 10, "{name}: {cost:?}");
        assert!(cost.sent <= answers * cost.arrived, "{name}: {cost:?}");
    }
    // A window of one octet is used for the override timer's sake alone.
    let silly = cost_of("silly-window");
    assert!(silly.cwnd <= 20, "{silly:?}");
    assert!(silly.sent * 5 <= silly.arrived, "{silly:?}");
}

#[test]
fn a_flood_of_syns_costs_a_listener_its_backlog_and_keeps_nobody_out_where_cookies_are() {
    const SYNS: u32 = 100_000;
    for cookies in [SynCookies::Off, SynCookies::WhenFull, SynCookies::Always] {
        let cost = flood::suffer(SYNS, cookies);
        assert!(cost.memory <= 1024 * flood::BACKLOG as u64, "{cost:?}");
        assert!(cost.answered <= u64::from(SYNS), "{cost:?}");
        assert!(cost.allocations <= 4 * u64::from(SYNS), "{cost:?}");
        assert!(cost.allocated <= 8192 * u64::from(SYNS), "{cost:?}");
        assert_eq!(cost.let_in, cookies != SynCookies::Off, "{cost:?}");
    }
}

#[test]
fn dividing_acknowledgments_opens_the_window_no_faster() {
    let (honest, divided) = (cost_of("honest"), cost_of("ack-division"));
    assert!(
        divided.cwnd * 20 <= honest.cwnd * 21,
        "{} against {}",
        divided.cwnd,
        honest.cwnd
    );
}

#[test]
fn floods_are_answered_a_few_times_a_second_and_end_nothing() {
    for name in ["reset-flood", "syn-flood"] {
        let cost = cost_of(name);
        assert!(cost.sent <= 10, "{name}: {} answers", cost.sent);
        assert_eq!(cost.state, State::Established, "{name}");
    }
}

#[test]
fn a_window_closed_for_a_day_keeps_the_connection_and_costs_a_probe_in_two_minutes() {
    let cost = cost_of("zero-window");
    assert_eq!(cost.state, State::Established);
    assert!(cost.sent < 800, "{} segments", cost.sent);
}

#[test]
fn nonsense_echoes_do_not_move_the_timeout() {
    let (honest, lied_to) = (cost_of("honest"), cost_of("timestamp-games"));
    assert!(lied_to.rto <= honest.rto + Duration::from_millis(50));
}

#[test]
fn an_mss_of_one_octet_is_not_taken_at_its_word() {
    let (honest, tiny) = (cost_of("honest"), cost_of("tiny-mss"));
    // 48 octets less 12 of timestamps are the least a segment carries.
    assert!(tiny.sent <= honest.sent * 1460 / 36, "{}", tiny.sent);
}
