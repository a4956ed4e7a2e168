//! Every discipline against random arrivals and departures.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;

use gigatcp_units::{Duration, Instant, Rate};
use proptest::prelude::*;

use super::{Trial, octets, packets, unlimited};
use crate::Tally;
use crate::queue::{Limits, REGISTRY};

/// One event: time since the previous, and whether a packet arrives or leaves.
#[derive(Clone, Copy, Debug)]
struct Event {
    after: Duration,
    arrival: Option<Arrival>,
}

#[derive(Clone, Copy, Debug)]
struct Arrival {
    octets: u32,
    flow: u32,
    /// As of the ECN field: not-ECT, ECT(0), ECT(1), CE.
    ecn: u8,
}

fn arrival() -> impl Strategy<Value = Arrival> {
    (40..1500_u32, 0..5_u32, 0..4_u8).prop_map(|(octets, flow, ecn)| Arrival { octets, flow, ecn })
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    // Rates of arrival and departure are alike, so that queues are empty and long;
    // now and then time passes, so that timers fall due.
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

/// What went in and has not come out, with the order of each flow's departures.
#[derive(Default)]
struct Books {
    inside: BTreeSet<u32>,
    backlog: Tally,
    sizes: BTreeMap<u32, u32>,
    /// Per flow and service class the last parcel that left: L4S packets may overtake.
    last: BTreeMap<(u32, bool), u32>,
}

impl Books {
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
}

fn check(name: &str, events: &[Event], limits: Limits, rate: Option<u64>) {
    let mut trial = Trial::new(name, &[], limits);
    trial.link.rate = rate.map(Rate::from_bps);
    let mut books = Books::default();
    let mut now = Instant::ZERO;
    let mut seen = 0;
    let last = events.last().unwrap().after;
    let end = Event {
        after: last,
        arrival: None,
    };
    let rest = core::iter::repeat_n(end, events.len());
    for event in events.iter().copied().chain(rest) {
        now += event.after;
        if let Some(arrival) = event.arrival {
            trial.next.octets = arrival.octets;
            trial.next.flow = arrival.flow;
            trial.next.takes_mark = arrival.ecn == 1 || arrival.ecn == 2;
            trial.next.is_l4s = arrival.ecn >= 2;
            let parcel = trial.arrive_at(now);
            books.come(parcel, arrival.octets);
        } else if let Some(ticket) = trial.depart_at(now) {
            books.go(ticket.parcel);
            let class = name == "dualpi2" && ticket.is_l4s;
            let last = books.last.insert((ticket.flow, class), ticket.parcel);
            assert!(last.is_none_or(|last| last < ticket.parcel), "overtaken");
        } else {
            assert_eq!(trial.queue.backlog(), Tally::default());
        }
        for (_, ticket, _) in &trial.dropped[seen..] {
            books.go(ticket.parcel);
        }
        seen = trial.dropped.len();
        assert_eq!(trial.queue.backlog(), books.backlog);
        let waits = limits.admit(books.backlog);
        assert!(waits, "{:?} wait", books.backlog);
    }
    assert!(books.inside.is_empty(), "some never came out");
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
            check(entry.name, &events, limits, rate);
        }
    }

    #[test]
    fn fifo_head_drop_and_step_equal_a_plain_list(events in events(), limit in 1..30_u64) {
        for name in ["fifo", "head_drop", "step"] {
            let set: &[_] = match name {
                "step" => &[("packets", crate::queue::Value::Count(7))],
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
