//! Checks the bounds of every hostile peer.

use gigatcp_fuzz::flood;
use gigatcp_fuzz::memory::Counting;
use gigatcp_fuzz::peers::{self, BUFFER, Cost, run, serve};
use gigatcp_tcp::events::State;
use gigatcp_tcp::profile::SynCookies;
use gigatcp_units::Duration;
use gigatcp_wire::IpVersion;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const BOTH: [IpVersion; 2] = [IpVersion::V4, IpVersion::V6];

fn cost_of(name: &str, ip: IpVersion) -> Cost {
    let attack = peers::ALL.iter().find(|attack| attack.name == name);
    run(attack.expect("an attack of that name"), ip)
}

#[test]
fn no_peer_makes_an_engine_hold_more_than_its_two_buffers() {
    for attack in &peers::ALL {
        for ip in BOTH {
            let cost = run(attack, ip);
            assert!(cost.memory <= 2 * BUFFER, "{}: {cost:?}", attack.name);
            assert!(cost.memory > 0, "the allocator does not count");
        }
    }
}

#[test]
fn no_segment_makes_an_engine_ask_for_memory_more_than_once_or_for_much() {
    // Allocations are the same on every machine. An engine that copied or rebuilt its stored data
    // for each segment would be far beyond the bounds.
    for (attack, ip) in peers::ALL
        .iter()
        .flat_map(|attack| BOTH.map(|ip| (attack, ip)))
    {
        let cost = run(attack, ip);
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
    for ip in BOTH {
        // Four flights are acknowledged in each round trip: the engine sends as much as to an
        // honest peer in four round trips. ACKs of data not sent do not grow the window.
        let (honest, early) = (serve(4 * 12, ip), cost_of("optimistic", ip));
        assert!(early.sent <= honest.sent, "{early:?} {honest:?}");
        assert!(early.cwnd <= 10 + early.sent, "{early:?}");
        // Growth stops at a window that could never be full.
        assert!(early.cwnd * 1460 <= 4 * BUFFER, "{early:?}");
    }
}

#[test]
fn spoofed_duplicates_release_nothing() {
    for ip in BOTH {
        let (honest, spoofed) = (serve(40, ip), cost_of("dupack-spoofing", ip));
        assert!(spoofed.sent <= honest.sent, "{spoofed:?} {honest:?}");
        // Growth stops at a window that could never be full.
        assert!(spoofed.cwnd * 1460 <= 4 * BUFFER, "{spoofed:?}");
    }
}

#[test]
fn lies_about_what_arrived_open_no_window() {
    for ip in BOTH {
        // Three blocks in a segment show three gaps, and each is retransmitted.
        for (name, answers) in [("sack-lies", 1), ("sack-holes", 3), ("reneging", 3)] {
            let cost = cost_of(name, ip);
            assert!(cost.cwnd <= 10, "{name}: {cost:?}");
            assert!(cost.sent <= answers * cost.arrived, "{name}: {cost:?}");
        }
        // A window of one octet is used only when the override timer expires.
        let silly = cost_of("silly-window", ip);
        assert!(silly.cwnd <= 20, "{silly:?}");
        assert!(silly.sent * 5 <= silly.arrived, "{silly:?}");
    }
}

#[test]
fn a_flood_of_syns_costs_a_listener_its_backlog_and_keeps_nobody_out_where_cookies_are() {
    const SYNS: u32 = 100_000;
    for cookies in [SynCookies::Off, SynCookies::WhenFull, SynCookies::Always] {
        let cost = flood::run(SYNS, cookies);
        assert!(cost.memory <= 1024 * flood::BACKLOG as u64, "{cost:?}");
        assert!(cost.answered <= u64::from(SYNS), "{cost:?}");
        assert!(cost.allocations <= 4 * u64::from(SYNS), "{cost:?}");
        assert!(cost.allocated <= 8192 * u64::from(SYNS), "{cost:?}");
        assert_eq!(cost.let_in, cookies != SynCookies::Off, "{cost:?}");
    }
}

#[test]
fn dividing_acknowledgments_opens_the_window_no_faster() {
    for ip in BOTH {
        let (honest, divided) = (cost_of("honest", ip), cost_of("ack-division", ip));
        assert!(
            divided.cwnd * 20 <= honest.cwnd * 21,
            "{} against {}",
            divided.cwnd,
            honest.cwnd
        );
    }
}

#[test]
fn floods_are_answered_a_few_times_a_second_and_end_nothing() {
    for ip in BOTH {
        for name in ["reset-flood", "syn-flood"] {
            let cost = cost_of(name, ip);
            assert!(cost.sent <= 10, "{name}: {} answers", cost.sent);
            assert_eq!(cost.state, State::Established, "{name}");
        }
    }
}

#[test]
fn a_window_closed_for_a_day_keeps_the_connection_and_costs_a_probe_in_two_minutes() {
    for ip in BOTH {
        let cost = cost_of("zero-window", ip);
        assert_eq!(cost.state, State::Established);
        assert!(cost.sent < 800, "{} segments", cost.sent);
    }
}

#[test]
fn nonsense_echoes_do_not_move_the_timeout() {
    for ip in BOTH {
        let (honest, lied_to) = (cost_of("honest", ip), cost_of("timestamp-games", ip));
        assert!(lied_to.rto <= honest.rto + Duration::from_millis(50));
    }
}

#[test]
fn an_mss_of_one_octet_is_not_taken_at_its_word() {
    for ip in BOTH {
        let (honest, tiny) = (cost_of("honest", ip), cost_of("tiny-mss", ip));
        // 48 octets minus 12 of timestamps is the minimum a segment carries.
        assert!(tiny.sent <= honest.sent * 1460 / 36, "{}", tiny.sent);
    }
}
