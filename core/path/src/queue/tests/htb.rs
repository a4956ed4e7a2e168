//! HTB: rates of classes, borrowing, order of lenders and turns.

use alloc::vec::Vec;

use gigatcp_units::{Duration, Instant, Rate};

use super::{Trial, at, octets, packets};
use crate::queue::Value;

/// Settings of a class.
type Class<'a> = &'a [(&'static str, Value)];

fn kbps(name: &'static str, kbps: u64) -> (&'static str, Value) {
    (name, Value::Rate(Rate::from_bps(kbps * 1000)))
}

fn count(name: &'static str, count: u64) -> (&'static str, Value) {
    (name, Value::Count(count))
}

/// A hierarchy without overhead, in whose leaf n the flow n waits.
fn trial(classes: &[Class<'_>]) -> Trial {
    let set = [("overhead", Value::Octets(0))];
    Trial::with_classes("htb", &set, classes, octets(u64::MAX))
}

/// Serves a link that is free at once, from `start` until `end`; flow n always has a backlog where
/// `is_busy` says so. Returns kbit/s of each flow.
fn rates<const N: usize>(
    trial: &mut Trial,
    (start, end): (f64, f64),
    is_busy: impl Fn(usize) -> bool,
) -> [f64; N] {
    let (mut now, mut sent, mut waiting) = (at(start), [0; N], [0; N]);
    while now < at(end) {
        for (flow, waiting) in waiting.iter_mut().enumerate() {
            while is_busy(flow) && *waiting < 2 {
                // The lowest bit of a flow is its direction.
                trial.next.flow = 2 * flow as u32;
                trial.arrive_at(now);
                *waiting += 1;
            }
        }
        match trial.depart_at(now) {
            Some(ticket) => {
                let flow = ticket.flow as usize / 2;
                sent[flow] += u64::from(ticket.octets);
                waiting[flow] -= 1;
            }
            None => now = trial.queue.poll_release().expect("packets are held back"),
        }
    }
    sent.map(|octets| octets as f64 * 8e-3 / (end - start))
}

fn assert_near<const N: usize>(got: [f64; N], expected: [f64; N]) {
    for (got_one, expected_one) in got.iter().zip(expected) {
        let error = (got_one - expected_one).abs();
        assert!(error <= 0.005 * expected_one, "{got:?}, {expected:?}");
    }
}

/// One megabyte per second and a burst of 3000: two packets of 1000 leave the bucket with 1000, the
/// third empties it, the fourth overdraws it, the fifth leaves when it holds zero again: after 1 ms.
#[test]
fn class_without_parent_sends_a_burst_and_then_its_rate() {
    let class = [
        kbps("rate", 8000),
        ("burst", Value::Octets(3000)),
        ("cburst", Value::Octets(3000)),
    ];
    let mut trial = trial(&[&class]);
    trial.arrive_many(0.0, 10);
    let mut left = Vec::new();
    let mut now = Instant::ZERO;
    while left.len() < 6 {
        match trial.depart_at(now) {
            Some(_) => left.push(now.as_secs_f64() * 1e3),
            None => now = trial.queue.poll_release().unwrap(),
        }
    }
    assert_eq!(left, [0.0, 0.0, 0.0, 0.0, 1.0, 2.0]);
}

/// The manual's first example: A has 40 % in two leaves of 30 and 10, B 60 %. What B leaves goes to A
/// and there to both in proportion to their quanta; what the one leaf leaves to the other.
#[test]
fn rates_are_those_of_the_classes_and_what_one_leaves_others_borrow() {
    let mut all = trial(&[
        &[kbps("rate", 1000)],
        &[count("parent", 1), kbps("rate", 400), kbps("ceil", 1000)],
        &[count("parent", 2), kbps("rate", 300), kbps("ceil", 1000)],
        &[count("parent", 2), kbps("rate", 100), kbps("ceil", 1000)],
        &[count("parent", 1), kbps("rate", 600), kbps("ceil", 1000)],
    ]);
    let [a, b, c] = rates(&mut all, (0.0, 200.0), |_| true);
    assert_near([a, b, c], [300.0, 100.0, 600.0]);
    // 600 are left. The quanta are 3750 and 1250, so A's leaves borrow 3 to 1.
    let [a, b, c] = rates(&mut all, (200.0, 400.0), |flow| flow != 2);
    assert!(c < 1.0, "{c}");
    assert_near([a, b], [750.0, 250.0]);
    let [a, b, c] = rates(&mut all, (400.0, 600.0), |flow| flow == 1);
    assert!(a + c < 1.0, "{a} {c}");
    assert_near([b], [1000.0]);
}

#[test]
fn class_borrows_up_to_its_ceil_and_nothing_without_parent() {
    let mut classes = trial(&[
        &[kbps("rate", 1000)],
        &[count("parent", 1), kbps("rate", 200), kbps("ceil", 500)],
        &[kbps("rate", 300), kbps("ceil", 1000)],
    ]);
    let got = rates(&mut classes, (0.0, 100.0), |_| true);
    assert_near(got, [500.0, 300.0]);
}

/// Children whose rates exceed their parent's have them all the same, as the manual says.
#[test]
fn rates_of_children_hold_although_their_sum_exceeds_the_parents_rate() {
    let mut classes = trial(&[
        &[kbps("rate", 500), kbps("ceil", 2000)],
        &[count("parent", 1), kbps("rate", 400)],
        &[count("parent", 1), kbps("rate", 300)],
    ]);
    let got = rates(&mut classes, (0.0, 100.0), |_| true);
    assert_near(got, [400.0, 300.0]);
}

/// As measured: one flow per leaf, always with a backlog.
#[test]
fn shaped_rate_is_what_busy_classes_have_together() {
    let shaped = |classes: &[Class<'_>]| {
        let config = Trial::config("htb", &[], classes);
        config.shaped_rate().unwrap().as_bps() / 1000
    };
    let check = |classes: &[Class<'_>], expected: u64| {
        assert_eq!(shaped(classes), expected);
        let mut trial = trial(classes);
        let [a, b, c] = rates(&mut trial, (0.0, 100.0), |_| true);
        assert_near([a + b + c], [expected as f64]);
    };
    let child = |kbit, ceil| [count("parent", 1), kbps("rate", kbit), kbps("ceil", ceil)];
    // The children have more than their parent has of its own, or even its ceil.
    let parent = [kbps("rate", 10), kbps("ceil", 1000)];
    check(&[&parent, &child(500, 500), &child(500, 500)], 1000);
    check(&[&parent, &child(800, 800), &child(500, 500)], 1300);
    check(&[&parent, &child(300, 300), &child(200, 1000)], 500);
    // They cannot have all that it has.
    let rich = [kbps("rate", 900)];
    check(&[&rich, &child(100, 200), &child(100, 300)], 500);
    check(&[&rich, &child(100, 200), &child(100, 900)], 900);
    // Each root by itself.
    let other = [kbps("rate", 70), kbps("ceil", 1000)];
    check(&[&parent, &child(500, 500), &other], 570);
}

#[test]
fn lower_prio_has_all_that_is_left() {
    let mut classes = trial(&[
        &[kbps("rate", 1000)],
        &[
            count("parent", 1),
            kbps("rate", 100),
            kbps("ceil", 1000),
            count("prio", 1),
        ],
        &[count("parent", 1), kbps("rate", 200), kbps("ceil", 1000)],
    ]);
    let got = rates(&mut classes, (0.0, 100.0), |_| true);
    assert_near(got, [100.0, 900.0]);
}

#[test]
fn what_is_left_is_shared_by_quantum_whatever_the_rates() {
    let leaf = |quantum| {
        [
            count("parent", 1),
            kbps("rate", 100),
            kbps("ceil", 1000),
            ("quantum", Value::Octets(quantum)),
        ]
    };
    let mut classes = trial(&[&[kbps("rate", 1000)], &leaf(1000), &leaf(3000)]);
    let got = rates(&mut classes, (0.0, 200.0), |_| true);
    assert_near(got, [100.0 + 200.0, 100.0 + 600.0]);
}

#[test]
fn overhead_counts_for_the_rate() {
    let set = [("overhead", Value::Octets(250))];
    let class: Class<'_> = &[kbps("rate", 1000)];
    let mut one = Trial::with_classes("htb", &set, &[class], octets(u64::MAX));
    assert_near(rates(&mut one, (0.0, 100.0), |_| true), [800.0]);
}

#[test]
fn packets_go_to_the_leaf_of_their_dscp_or_by_flow_or_host() {
    let classes: [Class<'_>; 4] = [
        &[kbps("rate", 8)],
        &[count("parent", 1), kbps("rate", 8)],
        &[count("parent", 1), kbps("rate", 8), count("dscp", 46)],
        &[count("parent", 1), kbps("rate", 8)],
    ];
    // The room is that of each leaf: the second packet of one is dropped.
    let is_shared = |set: Class<'_>, first: (u32, u16, u8), second: (u32, u16, u8)| {
        let mut trial = Trial::with_classes("htb", set, &classes, packets(1));
        for (flow, host, dscp) in [first, second] {
            trial.next.flow = flow;
            trial.next.hosts = [7, host];
            trial.next.dscp = dscp;
            trial.arrive_at(Instant::ZERO);
        }
        !trial.dropped.is_empty()
    };
    assert!(is_shared(&[], (0, 0, 0), (1, 1, 0)), "one flow");
    assert!(!is_shared(&[], (0, 0, 0), (2, 0, 0)), "two flows");
    assert!(is_shared(&[], (0, 0, 46), (2, 0, 46)), "one DSCP");
    assert!(!is_shared(&[], (0, 0, 46), (0, 0, 0)));
    let by_host: Class<'_> = &[("dsthost", Value::Flag(true))];
    assert!(is_shared(by_host, (0, 4, 0), (2, 4, 0)), "one host");
    assert!(!is_shared(by_host, (0, 4, 0), (0, 5, 0)), "two hosts");
    assert_eq!(Trial::config("htb", &[], &classes).limited_queues(), 3);
    let by_source: Class<'_> = &[("srchost", Value::Flag(true))];
    assert!(is_shared(by_source, (0, 4, 0), (2, 5, 0)), "one source");
}

#[test]
fn idle_link_is_free_again_when_a_held_packet_may_leave() {
    let class: Class<'_> = &[
        kbps("rate", 8),
        ("burst", Value::Octets(1)),
        ("cburst", Value::Octets(1)),
    ];
    let mut one = trial(&[class]);
    one.arrive_many(0.0, 2);
    assert!(one.depart(0.0).is_some());
    assert_eq!(
        one.queue.poll_release(),
        None,
        "nobody asked for the second"
    );
    assert!(one.depart(0.0).is_none());
    // A packet of 1000 bytes from a bucket of one byte, which gets one each millisecond.
    let release = at(0.999);
    assert_eq!(one.queue.poll_release(), Some(release));
    let before = release.saturating_since(Instant::ZERO) - Duration::from_nanos(1);
    assert!(one.depart_at(Instant::ZERO + before).is_none());
    assert!(one.depart_at(release).is_some());
    assert_eq!(one.queue.poll_release(), None);
}
