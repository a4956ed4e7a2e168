//! Slow-start variants over 1 Gbit/s and 80 ms: time to saturate the path, and its cost.
//!
//! The queues are a quarter of a bandwidth-delay product, one and eight. With
//! `-- --ignored --nocapture` the test prints the table of `docs/notes/slow-start.md`.

use crate::common::{flow, host, link, run, wire, world};
use gigatcp_path::{HopConfig, Reorder};
use gigatcp_sim::Stop;
use gigatcp_tcp::Profile;
use gigatcp_tcp::congestion::SlowStart;
use gigatcp_units::{Duration, Probability};

const RATE: u64 = 1_000_000_000;
const ONE_WAY: Duration = Duration::from_millis(40);
/// Bandwidth-delay product in packets of 1500 bytes.
const BDP: u64 = 6667;
/// Maximum rate of payload, in Mbit/s.
const CEILING: f64 = 1000.0 * 1448.0 / 1500.0;

/// Result of one flow of ten seconds.
#[derive(Debug)]
struct Opened {
    /// From the SYN to the first 0.1 s at 95 % of the maximum.
    filled: Option<f64>,
    /// Megabytes delivered in total.
    delivered: f64,
    retransmitted: u64,
    timeouts: u64,
    max_backlog: u64,
}

fn open(control: &str, slow_start: SlowStart, queue: u64) -> Opened {
    open_by(Profile::MODERN, control, slow_start, queue)
}

fn open_by(profile: Profile, control: &str, slow_start: SlowStart, queue: u64) -> Opened {
    // Space for twice the overshoot of slow start.
    let buffer = if queue > BDP { 200_000_000 } else { 60_000_000 };
    let mut sender = host(profile, 1500, control, buffer);
    sender.tcp.transport_mut().slow_start = slow_start;
    let mut one = flow("one", &sender, Stop::After(Duration::from_secs(10)));
    one.interval = Duration::from_millis(100);
    let (_, outcome) = run(world(
        link("forward", RATE, ONE_WAY, queue),
        wire("reverse", ONE_WAY),
        vec![one],
    ));
    let flow = &outcome.flows[0];
    let intervals = flow.receiver.meter().expect("a meter").finished();
    let full = |octets: f64| octets * 8.0 / 1e5 >= 0.95 * CEILING;
    let filled = intervals.iter().position(|b| full(b.as_u64() as f64));
    let counters = flow.sender.connection().expect("a connection").counters();
    Opened {
        filled: filled.map(|n| (n + 1) as f64 / 10.0),
        delivered: flow.bytes().as_u64() as f64 / 1e6,
        retransmitted: counters.retransmitted_segments,
        timeouts: counters.timeouts,
        max_backlog: outcome.max_backlog[0],
    }
}

const WAYS: [SlowStart; 5] = [
    SlowStart::Standard,
    SlowStart::Limited { max_ssthresh: 100 },
    SlowStart::HyStart,
    SlowStart::HyStartPlusPlus,
    SlowStart::Search,
];

#[test]
fn what_is_usual_fills_the_path_within_a_second_for_a_third_of_the_losses_of_the_standard() {
    let standard = open("cubic", SlowStart::Standard, BDP);
    let usual = open("cubic", SlowStart::Usual, BDP);
    for way in [&standard, &usual] {
        assert!(way.filled.is_some_and(|at| at <= 1.0), "{way:?}");
        assert_eq!(way.timeouts, 0);
    }
    assert!(
        3 * usual.retransmitted < standard.retransmitted,
        "{usual:?}"
    );
    assert!(usual.delivered > 0.98 * standard.delivered, "{usual:?}");
}

#[test]
fn each_search_for_an_end_loses_less_than_none_where_the_queue_has_room_for_its_sign() {
    // A queue of one bandwidth-delay product is enough for delay and trains.
    let standard = open("reno", SlowStart::Standard, BDP);
    let hystart = open("reno", SlowStart::HyStart, BDP);
    let plus = open("reno", SlowStart::HyStartPlusPlus, BDP);
    assert!(
        3 * hystart.retransmitted < standard.retransmitted,
        "{hystart:?}"
    );
    // A window that grows while half of it is in use is ahead of its train. One that is full when
    // it grows ends where its train indicates.
    let full = Profile::MODERN.with(|profile| {
        profile.congestion.half_used_opens = false;
    });
    let hystart = open_by(full, "reno", SlowStart::HyStart, BDP);
    assert!(
        10 * hystart.retransmitted < standard.retransmitted,
        "{hystart:?}"
    );
    assert!(plus.retransmitted < standard.retransmitted, "{plus:?}");
    // SEARCH is half a second later: of the data sent in 3.5 RTTs a quarter must be missing, and
    // the queue makes RTTs longer.
    let standard = open("reno", SlowStart::Standard, 8 * BDP);
    let search = open("reno", SlowStart::Search, 8 * BDP);
    assert!(standard.retransmitted > 0, "{standard:?}");
    assert_eq!(search.retransmitted, 0, "{search:?}");
    assert!(search.filled.is_some_and(|at| at <= 1.0), "{search:?}");
}

#[test]
fn limited_slow_start_loses_nothing_and_takes_its_time() {
    let limited = open("reno", SlowStart::Limited { max_ssthresh: 100 }, BDP);
    assert_eq!(limited.retransmitted, 0);
    // Half of max_ssthresh per RTT: a window of 6,000 segments after 10 s.
    assert!((500.0..650.0).contains(&limited.delivered), "{limited:?}");
}

#[test]
fn packets_displaced_by_up_to_half_a_round_trip_are_not_taken_for_a_full_path() {
    let displacing = |tenths: u64| HopConfig {
        reorder: Some(Reorder {
            probability: Probability::try_new(0.02).expect("a probability"),
            extra_delay: ONE_WAY / 5 * tenths,
        }),
        ..wire("displacing", Duration::ZERO)
    };
    for control in ["reno", "cubic", "cubic-linux"] {
        let mut sender = host(Profile::MODERN, 1500, control, 60_000_000);
        sender.tcp.transport_mut().slow_start = SlowStart::HyStart;
        let stop = Stop::After(Duration::from_secs(2));
        let mut world = world(
            link("forward", RATE, ONE_WAY, 2 * BDP),
            wire("reverse", ONE_WAY),
            vec![flow("one", &sender, stop)],
        );
        world.forward.extend((1..=5).map(displacing));
        let (_, outcome) = run(world);
        let info = outcome.flows[0].sender.connection().expect("one").info();
        let ssthresh = info.ssthresh.as_u64() / 1448;
        assert!(ssthresh > BDP * 7 / 10, "{control}: {ssthresh} of {BDP}");
    }
}

#[test]
#[ignore = "prints the table of docs/notes/slow-start.md; a minute of work"]
fn the_table_of_ways_to_open_a_window() {
    println!(
        "paced  control      queue   slow start  full at  delivered  sent again  timeouts  backlog"
    );
    for pacing in [true, false] {
        let profile = Profile::MODERN.with(|profile| {
            profile.pacing.enabled = pacing;
        });
        for (queue, share) in [(BDP, "1 BDP"), (BDP / 4, "1/4 BDP"), (8 * BDP, "8 BDP")] {
            for control in ["cubic", "cubic-linux", "reno"] {
                for way in WAYS {
                    print_opened(
                        &format!("{pacing:5}  {control:12} {share:7}"),
                        way,
                        &open_by(profile, control, way, queue),
                    );
                }
            }
        }
    }
}

fn print_opened(what: &str, way: SlowStart, opened: &Opened) {
    let filled = opened
        .filled
        .map_or("never".to_owned(), |at| format!("{at:.1} s"));
    println!(
        "{what} {:10} {filled:>8} {:7.1} MB {:11} {:9} {:8}",
        way.name(),
        opened.delivered,
        opened.retransmitted,
        opened.timeouts,
        opened.max_backlog,
    );
}
