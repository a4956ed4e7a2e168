//! Every discipline against random arrivals and departures.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;

use gigatcp_units::{Duration, Instant, Rate};
use proptest::prelude::*;

use super::{Trial, octets, packets, unlimited};
use crate::Tally;
use crate::queue::{Entry, Limits, Parameter, REGISTRY, Ticket, Value};

/// One event: time since the previous one, and whether a packet arrives or leaves.
#[derive(Clone, Copy, Debug)]
struct Event {
    after: Duration,
    arrival: Option<Arrival>,
}

#[derive(Clone, Copy, Debug)]
struct Arrival {
    octets: u32,
    flow: u32,
    /// ECN field of the packet: not-ECT, ECT(0), ECT(1), CE.
    ecn: u8,
}

fn arrival() -> impl Strategy<Value = Arrival> {
    (40..1500_u32, 0..5_u32, 0..4_u8).prop_map(|(octets, flow, ecn)| Arrival { octets, flow, ecn })
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    // Rates of arrival and departure are similar, so that queues are both empty and long.
    // Occasional pauses let timers expire.
    let after = prop_oneof![
        8 => 0..3_000_000_u64,
        1 => 0..200_000_000_u64,
        1 => Just(20_000_000_000_u64),
    ];
    let arrival = prop_oneof![3 => arrival().prop_map(Some), 2 => Just(None)];
    let event = (after, arrival).prop_map(|(after, arrival)| Event {
        after: Duration::from_nanos(after),
        arrival,
    });
    prop::collection::vec(event, 1..400)
}

fn limits() -> impl Strategy<Value = Limits> {
    prop_oneof![
        Just(unlimited()),
        (1..60_u64).prop_map(packets),
        (100..40_000_u64).prop_map(octets),
    ]
}

/// Packets inside, and the order of each flow's departures.
#[derive(Default)]
struct Bookkeeping {
    inside: BTreeSet<u32>,
    backlog: Tally,
    sizes: BTreeMap<u32, u32>,
    /// Per flow and service class the last parcel that left: L4S packets may overtake.
    last: BTreeMap<(u32, bool), u32>,
}

impl Bookkeeping {
    fn come(&mut self, parcel: u32, octets: u32) {
        self.inside.insert(parcel);
        self.sizes.insert(parcel, octets);
        self.backlog.add(Tally::new(1, u64::from(octets)));
    }

    fn go(&mut self, parcel: u32) {
        assert!(self.inside.remove(&parcel), "{parcel} came out twice");
        let octets = self.sizes[&parcel];
        self.backlog.subtract(Tally::new(1, u64::from(octets)));
    }

    /// Checks a departure: its flow keeps its order; no mark without ECN.
    fn keep_order(&mut self, name: &str, ticket: &Ticket) {
        let class = name == "dualpi2" && ticket.is_l4s;
        let last = self.last.insert((ticket.flow, class), ticket.parcel);
        assert!(last.is_none_or(|last| last < ticket.parcel), "overtaken");
        assert_eq!(ticket.octets, self.sizes[&ticket.parcel]);
        assert!(
            !(ticket.is_marked && ticket.is_markable),
            "marked and to be marked"
        );
    }
}

/// Settings with which a discipline acts as often as possible, with all flags set.
fn eager(entry: &Entry) -> Vec<(&'static str, Value)> {
    let choose = |parameter: &Parameter| {
        let value = match (parameter.name, parameter.least) {
            ("target", _) => Value::Time(Duration::from_millis(1)),
            ("interval" | "tupdate", _) => Value::Time(Duration::from_millis(3)),
            ("max_burst", least) => least,
            ("ce_threshold", _) => Value::Time(Duration::from_millis(20)),
            ("flows", _) => Value::Count(3),
            ("min", _) => Value::Count(1),
            ("max" | "packets", _) => Value::Count(4),
            ("weight" | "maxp", _) => Value::Number(0.3),
            // It excludes the other.
            ("dsthost", _) if entry.name == "htb" => return None,
            (_, Value::Flag(_)) => Value::Flag(true),
            _ => return None,
        };
        Some((parameter.name, value))
    };
    entry.parameters.iter().filter_map(choose).collect()
}

/// A small hierarchy, for a discipline with classes: one leaf that borrows, one that never does.
fn classes(entry: &Entry) -> Vec<Vec<(&'static str, Value)>> {
    let mbps = |name, mbps: u64| (name, Value::Rate(Rate::from_bps(mbps * 1_000_000)));
    let parent = ("parent", Value::Count(1));
    if entry.class_parameters.is_empty() {
        return Vec::new();
    }
    alloc::vec![
        alloc::vec![mbps("rate", 6)],
        alloc::vec![parent, mbps("rate", 2), mbps("ceil", 6)],
        alloc::vec![parent, mbps("rate", 1)],
    ]
}

/// A run of one discipline.
struct Run<'a> {
    entry: &'a Entry,
    set: &'a [(&'static str, Value)],
    limits: Limits,
    rate: Option<u64>,
    /// Whether updates also run at their own times, between events.
    is_timed: bool,
}

impl Run<'_> {
    /// Runs it to the end and returns everything that came out, including drops.
    fn check(&self, events: &[Event]) -> Vec<(u32, bool)> {
        let name = self.entry.name;
        let classes = classes(self.entry);
        let classes: Vec<_> = classes.iter().map(Vec::as_slice).collect();
        let mut trial = Trial::with_classes(name, self.set, &classes, self.limits);
        trial.link.rate = self.rate.map(Rate::from_bps);
        let mut books = Bookkeeping::default();
        let mut now = Instant::ZERO;
        let mut held_until = Instant::ZERO;
        let mut out = Vec::new();
        let mut seen = 0;
        let end = Event {
            after: Duration::from_millis(1),
            arrival: None,
        };
        // One that is held back is asked for again.
        let rest = core::iter::repeat_n(end, 4 * events.len());
        for event in events.iter().copied().chain(rest) {
            if self.is_timed {
                let between = now + event.after / 3;
                trial.queue.handle_timeout(between, &trial.link);
            }
            now += event.after;
            if event.arrival.is_none() {
                now = now.max(held_until);
            }
            if let Some(arrival) = event.arrival {
                trial.next.octets = arrival.octets;
                trial.next.flow = arrival.flow;
                trial.next.is_markable = arrival.ecn == 1 || arrival.ecn == 2;
                trial.next.is_l4s = arrival.ecn >= 2;
                let parcel = trial.arrive_at(now);
                books.come(parcel, arrival.octets);
            } else if let Some(ticket) = trial.depart_at(now) {
                books.go(ticket.parcel);
                books.keep_order(name, &ticket);
                out.push((ticket.parcel, ticket.is_marked));
            } else if let Some(release) = trial.queue.poll_release() {
                assert!(
                    !classes.is_empty() && release > now,
                    "held until {release:?}"
                );
                held_until = release;
            } else {
                assert_eq!(trial.queue.backlog(), Tally::default());
            }
            for (_, ticket, _) in &trial.dropped[seen..] {
                books.go(ticket.parcel);
                out.push((ticket.parcel, ticket.is_marked));
            }
            seen = trial.dropped.len();
            assert_eq!(trial.queue.backlog(), books.backlog);
            // The limit of HTB is that of a leaf.
            if classes.is_empty() {
                let is_within = self.limits.admit(books.backlog);
                assert!(is_within, "{:?} wait", books.backlog);
            }
        }
        assert!(books.inside.is_empty(), "some never came out");
        out
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_packet_comes_out_of_every_discipline_once_and_in_order(
        events in events(),
        limits in limits(),
        rate in prop::option::of(0..100_000_000_u64),
    ) {
        for entry in REGISTRY {
            for set in [Vec::new(), eager(entry)] {
                let mut run = Run { entry, set: &set, limits, rate, is_timed: false };
                let out = run.check(&events);
                run.is_timed = true;
                let timed = run.check(&events);
                prop_assert_eq!(out, timed, "{} depends on its timer", entry.name);
            }
        }
    }

    #[test]
    fn fifo_head_drop_and_step_equal_a_plain_list(events in events(), limit in 1..30_u64) {
        for name in ["fifo", "head_drop", "step"] {
            let set: &[_] = match name {
                "step" => &[("packets", Value::Count(7))],
                _ => &[],
            };
            let mut trial = Trial::new(name, set, packets(limit));
            let mut model = VecDeque::new();
            let (mut now, mut dropped) = (Instant::ZERO, Vec::new());
            for event in &events {
                now += event.after;
                if event.arrival.is_some() {
                    let parcel = trial.arrive_at(now);
                    let is_marked = name == "step" && model.len() >= 7;
                    model.push_back((parcel, is_marked));
                    if model.len() as u64 > limit {
                        let front = name == "head_drop";
                        let out = if front { model.pop_front() } else { model.pop_back() };
                        dropped.push(out.unwrap().0);
                    }
                } else {
                    let left = trial.depart_at(now).map(|ticket| (ticket.parcel, ticket.is_marked));
                    prop_assert_eq!(left, model.pop_front());
                }
            }
            prop_assert_eq!(trial.dropped_parcels(), dropped);
        }
    }
}
