//! FQ-CoDel: order of service, compared with RFC 8290 and a plain model.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use gigatcp_units::Duration;
use proptest::prelude::*;

use super::{Trial, packets, unlimited};
use crate::DropCause;
use crate::queue::Value;

/// A CoDel target so high that CoDel never acts.
const ROUND_ROBIN: [(&str, Value); 1] = [("target", Value::Time(Duration::from_secs(100)))];

const QUANTUM: u32 = 1514;

/// Seconds per octet at 10 Mbit/s.
const OCTET: f64 = 8.0 / 10e6;

/// Octets of a packet of a sparse flow.
const SMALL: u32 = 100;

/// Longest wait of a sparse packet, in seconds. Four flows are backlogged. `sparse` others send one
/// small packet per 6.7 ms, which is longer than a round of 4.84 ms, one wait and their own
/// packets.
fn longest_sparse_wait(sparse: u32) -> f64 {
    let mut trial = Trial::new("fq_codel", &ROUND_ROBIN, unlimited());
    trial.next.octets = QUANTUM;
    for i in 0..8000 {
        trial.arrive(0.0, i % 4);
    }
    trial.next.octets = SMALL;
    let (mut free, mut next, mut longest) = (0.0, 0.1, 0.0_f64);
    while free < 5.0 {
        while next <= free {
            for flow in 0..sparse {
                trial.arrive(next, 100 + flow);
            }
            next += 0.006_703;
        }
        let ticket = trial.depart(free).unwrap();
        if ticket.flow >= 100 {
            longest = longest.max(free - ticket.arrived.as_secs_f64());
        }
        free += f64::from(ticket.octets) * OCTET;
    }
    assert!(trial.dropped.is_empty());
    longest
}

#[test]
fn a_sparse_flow_waits_for_the_packet_in_service_and_other_sparse_flows_only() {
    let quantum = f64::from(QUANTUM) * OCTET;
    let small = f64::from(SMALL) * OCTET;
    for sparse in 1..=3 {
        let longest = longest_sparse_wait(sparse);
        let bound = quantum + f64::from(sparse - 1) * small;
        // Over 700 phases the longest wait comes close to its bound.
        assert!(longest <= bound + 1e-9, "{longest} s above {bound} s");
        assert!(longest >= 0.98 * bound, "{longest} s below {bound} s");
    }
}

/// RFC 8290 section 4.2, with two flows. Each packet of one arrives while the empty queue of the
/// other still is the first of the new ones. Without the passage through the old queues both would
/// be new each time.
#[test]
fn alternating_flows_that_empty_their_queues_do_not_starve_the_others() {
    let mut trial = Trial::new("fq_codel", &ROUND_ROBIN, unlimited());
    for _ in 0..400 {
        trial.arrive(0.0, 0);
    }
    // Two packets exhaust the credit of a new queue, the third is sent as an old one.
    for _ in 0..3 {
        trial.depart(0.0);
    }
    let mut bulk = 0;
    for i in 0..300 {
        trial.arrive(0.0, 1 + i % 2);
        bulk += usize::from(trial.depart(0.0).unwrap().flow == 0);
    }
    assert!(bulk >= 90, "{bulk} of 300");
}

#[test]
fn backlogged_flows_share_octets_whatever_their_packet_sizes() {
    let mut trial = Trial::new("fq_codel", &ROUND_ROBIN, unlimited());
    let sizes = [300, 700, 1500];
    for (flow, octets) in sizes.iter().enumerate() {
        trial.next.octets = *octets;
        for _ in 0..1_000_000 / octets {
            trial.arrive(0.0, flow as u32);
        }
    }
    let mut sent = [0_u32; 3];
    for i in 0..1500 {
        let ticket = trial.depart(0.0).unwrap();
        sent[ticket.flow as usize] += ticket.octets;
        let spread = sent.iter().max().unwrap() - sent.iter().min().unwrap();
        assert!(spread <= QUANTUM + 1500, "{sent:?} after {i}");
    }
}

#[test]
fn overload_drops_half_of_the_fattest_queue_from_its_front() {
    let mut trial = Trial::new("fq_codel", &[], packets(100));
    trial.arrive(0.0, 7);
    for _ in 0..99 {
        trial.arrive(0.0, 0);
    }
    assert!(trial.dropped.is_empty());
    trial.arrive(0.0, 7);
    let expected: Vec<u32> = (1..=49).collect();
    assert_eq!(trial.dropped_parcels(), expected);
    let is_full = |(_, _, cause): &(_, _, DropCause)| *cause == DropCause::QueueFull;
    assert!(trial.dropped.iter().all(is_full));
}

#[test]
fn overload_drops_64_packets_at_most() {
    let mut trial = Trial::new("fq_codel", &[], packets(1000));
    for _ in 0..1001 {
        trial.arrive(0.0, 0);
    }
    assert_eq!(trial.dropped.len(), 64);
}

#[test]
fn each_flow_has_a_codel_of_its_own_that_marks_by_default() {
    let mut trial = Trial::new("fq_codel", &[], unlimited());
    for _ in 0..2000 {
        trial.arrive(0.0, 0);
    }
    let mut marked = [0, 0];
    for i in 0..300 {
        let now = f64::from(i) * 0.001;
        trial.arrive(now, 1);
        for _ in 0..2 {
            let ticket = trial.depart(now).unwrap();
            marked[ticket.flow as usize] += usize::from(ticket.is_marked);
        }
    }
    assert!(trial.dropped.is_empty());
    // At 105 and 205 ms (275.7, ...).
    assert!(marked[0] >= 2, "{marked:?}");
    assert_eq!(marked[1], 0);
}

/// RFC 8290 section 4 in plain lists, without CoDel and limits.
#[derive(Default)]
struct Model {
    new: Vec<u32>,
    old: Vec<u32>,
    credit: [i64; 5],
    waiting: [VecDeque<(u32, u32)>; 5],
}

impl Model {
    fn arrive(&mut self, flow: u32, parcel: u32, octets: u32) {
        self.waiting[flow as usize].push_back((parcel, octets));
        if !self.new.contains(&flow) && !self.old.contains(&flow) {
            self.credit[flow as usize] = i64::from(QUANTUM);
            self.new.push(flow);
        }
    }

    fn depart(&mut self) -> Option<u32> {
        loop {
            let from_new = !self.new.is_empty();
            let list = if from_new {
                &mut self.new
            } else {
                &mut self.old
            };
            let flow = *list.first()?;
            let i = flow as usize;
            if self.credit[i] <= 0 {
                self.credit[i] += i64::from(QUANTUM);
                list.remove(0);
                self.old.push(flow);
            } else if let Some((parcel, octets)) = self.waiting[i].pop_front() {
                self.credit[i] -= i64::from(octets);
                return Some(parcel);
            } else {
                list.remove(0);
                if from_new {
                    self.old.push(flow);
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn packets_leave_in_the_order_of_a_plain_model(
        events in prop::collection::vec(prop::option::of((0..5_u32, 40..3000_u32)), 1..300),
        burst in 0..40_u32,
    ) {
        let mut trial = Trial::new("fq_codel", &ROUND_ROBIN, unlimited());
        let mut model = Model::default();
        let bursts = (0..burst).map(|i| Some((i % 2, 1000)));
        for event in bursts.chain(events) {
            if let Some((flow, octets)) = event {
                trial.next.octets = octets;
                let parcel = trial.arrive(0.0, flow);
                model.arrive(flow, parcel, octets);
            } else {
                prop_assert_eq!(trial.depart(0.0).map(|ticket| ticket.parcel), model.depart());
            }
        }
    }
}
