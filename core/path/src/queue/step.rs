//! Step marking: every packet above one threshold is marked, none below.
//!
//! RFC 8257 section 3.1 (DCTCP): an arriving packet is marked if the queue is longer than K. The
//! queue is what waits and what is in service, including the arriving packet. This is as in the
//! limits of `fifo` and in the paper's switches (Alizadeh et al., "Data Center TCP", SIGCOMM 2010,
//! section 3.1):
//!
//! ```text
//! mark if packets > K, or octets > K_bytes, on arrival                  (1)
//! mark if now - arrived > T at departure                                (2)
//! ```
//!
//! Equation (2) is Linux's `ce_threshold` of CoDel and fq without their other actions. All
//! thresholds that are set apply. The default, if none is set, is K = 65 packets, the paper's
//! choice for 10 Gbit/s.
//!
//! A packet that is not ECN-capable passes unmarked and is dropped by the limit only. Switches that
//! apply the step as WRED drop it above K (RFC 8257 section 5 warns of the unfairness). That is out
//! of scope; the cost is that a flow without ECN fills the buffer that it shares with DCTCP.

use alloc::boxed::Box;
use alloc::vec::Vec;

use gigatcp_units::parameters;
use gigatcp_units::{Duration, Instant};

use super::waiting::Waiting;
use super::{Build, Discipline, Drops, Entry, Limits, Link, Ticket, any_settings};
use crate::{DropCause, Tally};

/// Entry of the registry.
pub(super) const ENTRY: Entry = Entry {
    name: "step",
    summary: "first in, first out; marks every packet above a threshold (RFC 8257 3.1)",
    parameters: &[PACKETS, OCTETS, SOJOURN],
    class_parameters: &[],
    check: any_settings,
    draws: false,
    build: |build| Box::new(Step::new(&build)),
};

parameters! {
    PACKETS: Count = "packets", None, [0, u64::MAX],
        "marks an arriving packet if more packets than this are queued; default 65 unless \
         another threshold is set";
    OCTETS: Octets = "bytes", None, [0, u64::MAX],
        "marks an arriving packet if more bytes than this are queued";
    SOJOURN: Time = "ce_threshold", None, [Duration::ZERO, Duration::from_secs(1000)],
        "marks a departing packet that waited longer than this";
}

/// Default of K in packets if no threshold is set.
const DEFAULT_PACKETS: u64 = 65;

/// A queue that marks above thresholds.
#[derive(Debug)]
struct Step {
    limits: Limits,
    /// Limits above which packets are marked on arrival.
    unmarked: Limits,
    sojourn: Option<Duration>,
    waiting: Waiting,
}

impl Step {
    fn new(build: &Build<'_>) -> Self {
        let set = |parameter| build.settings.get(parameter);
        let octets = set(&OCTETS).map(|_| build.settings.whole(&OCTETS));
        let sojourn = set(&SOJOURN).map(|_| build.settings.time(&SOJOURN));
        let packets = set(&PACKETS).map(|_| build.settings.whole(&PACKETS));
        let is_alone = octets.is_none() && sojourn.is_none();
        Self {
            limits: build.limits,
            unmarked: Limits {
                packets: packets.or(is_alone.then_some(DEFAULT_PACKETS)),
                bytes: octets.map(gigatcp_units::Bytes::new),
            },
            sojourn,
            waiting: Waiting::default(),
        }
    }
}

impl Discipline for Step {
    fn enqueue(&mut self, _now: Instant, link: &Link, mut ticket: Ticket, drops: &mut Drops) {
        let inside = self.waiting.with(link, &ticket);
        if !self.limits.admit(inside) {
            drops.push(ticket, DropCause::QueueFull);
            return;
        }
        if !self.unmarked.admit(inside) {
            ticket.mark();
        }
        self.waiting.push(ticket);
    }

    fn dequeue(&mut self, now: Instant, _link: &Link, _drops: &mut Drops) -> Option<Ticket> {
        let mut ticket = self.waiting.pop()?;
        if self.sojourn.is_some_and(|most| ticket.sojourn(now) > most) {
            ticket.mark();
        }
        Some(ticket)
    }

    drain_and_backlog!();
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::super::Value;
    use super::super::tests::{Trial, unlimited};
    use super::*;

    fn marks(trial: &mut Trial, seconds: f64) -> Vec<bool> {
        let mut marks = Vec::new();
        while let Some(ticket) = trial.depart(seconds) {
            marks.push(ticket.is_marked);
        }
        marks
    }

    #[test]
    fn the_packet_after_the_kth_is_the_first_with_a_mark() {
        let set = [("packets", Value::Count(3))];
        let mut trial = Trial::new("step", &set, unlimited());
        trial.arrive_many(0.0, 5);
        assert_eq!(marks(&mut trial, 0.0), [false, false, false, true, true]);
    }

    #[test]
    fn what_is_in_service_counts_for_the_threshold() {
        let set = [("packets", Value::Count(3))];
        let mut trial = Trial::new("step", &set, unlimited());
        trial.serve(2, 2000);
        trial.arrive_many(0.0, 2);
        assert_eq!(marks(&mut trial, 0.0), [false, true]);
    }

    #[test]
    fn a_threshold_in_octets_ignores_the_number_of_packets() {
        let set = [("bytes", Value::Octets(2500))];
        let mut trial = Trial::new("step", &set, unlimited());
        trial.arrive_many(0.0, 3);
        assert_eq!(marks(&mut trial, 0.0), [false, false, true]);
    }

    #[test]
    fn a_sojourn_of_exactly_the_threshold_is_not_marked() {
        let set = [("ce_threshold", Value::Time(Duration::from_millis(2)))];
        let mut trial = Trial::new("step", &set, unlimited());
        trial.arrive_many(0.0, 2);
        assert!(!trial.depart(0.002).unwrap().is_marked);
        assert!(trial.depart(0.002_001).unwrap().is_marked);
    }

    #[test]
    fn a_packet_without_ecn_passes_unmarked() {
        let set = [("packets", Value::Count(0))];
        let mut trial = Trial::new("step", &set, unlimited());
        trial.speaks_ecn(false);
        trial.arrive_many(0.0, 2);
        assert_eq!(marks(&mut trial, 0.0), [false, false]);
        assert_eq!(trial.dropped_parcels(), []);
    }

    #[test]
    fn the_default_threshold_is_65_packets() {
        let mut trial = Trial::new("step", &[], unlimited());
        trial.arrive_many(0.0, 70);
        let marked = marks(&mut trial, 0.0);
        assert_eq!(marked.iter().filter(|marked| **marked).count(), 5);
    }
}
