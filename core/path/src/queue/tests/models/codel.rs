//! CoDel as in RFC 8289 section 5.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use super::super::packets;
use super::{Model, Packet, bytes, compare_all};
use crate::queue::Value;

const LIMIT: usize = 60;
const TARGET: f64 = 0.005;
const INTERVAL: f64 = 0.1;

#[derive(Default)]
struct CoDel {
    waiting: Vec<Packet>,
    first_above_time: f64,
    drop_next: f64,
    count: f64,
    lastcount: f64,
    dropping: bool,
    /// Largest packet so far, in place of the MTU.
    maxpacket: f64,
    /// Whether it marks instead of dropping, at most once per departure (Linux).
    ecn: bool,
    ce_threshold: f64,
}

impl CoDel {
    /// A packet and whether it may be dropped.
    fn dodequeue(&mut self, now: f64) -> (Option<Packet>, bool) {
        if self.waiting.is_empty() {
            self.first_above_time = 0.0;
            return (None, false);
        }
        let packet = self.waiting.remove(0);
        let sojourn = now - packet.arrived;
        let mut ok_to_drop = false;
        if sojourn < TARGET || bytes(&self.waiting) <= self.maxpacket {
            self.first_above_time = 0.0;
        } else if self.first_above_time == 0.0 {
            self.first_above_time = now + INTERVAL;
        } else if now >= self.first_above_time {
            ok_to_drop = true;
        }
        (Some(packet), ok_to_drop)
    }

    fn control_law(&self, t: f64) -> f64 {
        t + INTERVAL / libm::sqrt(self.count)
    }

    /// Marks a packet if congestion is to be signaled by a mark.
    fn marks(&self, packet: &mut Option<Packet>) -> bool {
        self.ecn && packet.as_mut().is_some_and(Packet::mark)
    }

    fn continue_dropping(
        &mut self,
        now: f64,
        mut packet: Option<Packet>,
        dropped: &mut Vec<u32>,
    ) -> Option<Packet> {
        while self.dropping && now >= self.drop_next {
            self.count += 1.0;
            if self.marks(&mut packet) {
                self.drop_next = self.control_law(self.drop_next);
                return packet;
            }
            dropped.extend(packet.map(|packet| packet.number));
            let (next, ok_to_drop) = self.dodequeue(now);
            packet = next;
            if ok_to_drop {
                self.drop_next = self.control_law(self.drop_next);
            } else {
                self.dropping = false;
            }
        }
        packet
    }
}

impl Model for CoDel {
    fn arrive(&mut self, _now: f64, packet: Packet) -> Vec<u32> {
        if self.waiting.len() == LIMIT {
            return vec![packet.number];
        }
        self.maxpacket = self.maxpacket.max(packet.bytes);
        self.waiting.push(packet);
        Vec::new()
    }

    fn depart(&mut self, now: f64) -> (Option<Packet>, Vec<u32>) {
        let mut dropped = Vec::new();
        let (mut packet, ok_to_drop) = self.dodequeue(now);
        if self.dropping {
            self.dropping = ok_to_drop;
            packet = self.continue_dropping(now, packet, &mut dropped);
        } else if ok_to_drop {
            if !self.marks(&mut packet) {
                dropped.extend(packet.map(|packet| packet.number));
                packet = self.dodequeue(now).0;
            }
            self.dropping = true;
            let delta = self.count - self.lastcount;
            self.count = 1.0;
            if delta > 1.0 && now - self.drop_next < 16.0 * INTERVAL {
                self.count = delta;
            }
            self.drop_next = self.control_law(now);
            self.lastcount = self.count;
        }
        if let Some(packet) = &mut packet
            && now - packet.arrived > self.ce_threshold
        {
            packet.mark();
        }
        (packet, dropped)
    }
}

fn check(ecn: bool, ce_threshold: f64) {
    let mut set = vec![("ecn", Value::Flag(ecn))];
    if ce_threshold.is_finite() {
        let time = gigatcp_units::Duration::from_secs_f64(ce_threshold);
        set.push(("ce_threshold", Value::Time(time)));
    }
    let marks = ecn || ce_threshold.is_finite();
    compare_all("codel", &set, packets(LIMIT as u64), marks, |_| {
        Box::new(CoDel {
            ecn,
            ce_threshold,
            ..CoDel::default()
        })
    });
}

#[test]
fn codel_drops_as_the_pseudocode_of_rfc_8289() {
    check(false, f64::INFINITY);
}

#[test]
fn codel_marks_as_the_pseudocode_of_rfc_8289_drops() {
    check(true, f64::INFINITY);
    check(false, 0.02);
}
