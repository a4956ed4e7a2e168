//! PIE as in RFC 8033 section 4, appendices A and B; the decay of section 4.2.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use gigatcp_units::random::Stream;

use super::super::packets;
use super::{Model, Packet, bytes, compare_all, uniform};
use crate::queue::Value;

const LIMIT: usize = 60;
const QDELAY_REF: f64 = 0.015;
const T_UPDATE: f64 = 0.015;
const MAX_BURST: f64 = 0.15;

struct Pie {
    ecn: bool,
    waiting: Vec<Packet>,
    drop_prob: f64,
    qdelay_old: f64,
    burst_allowance: f64,
    accu_prob: f64,
    /// Number of the next update.
    update: u32,
    /// Largest packet so far, in place of the mean.
    maxpacket: f64,
    random: Stream,
}

impl Pie {
    fn calculate_drop_prob(&mut self, now: f64) {
        // Sojourn time of the oldest packet, as from the timestamps of RFC 8033 section 5.1.
        let qdelay = self.waiting.first().map_or(0.0, |head| now - head.arrived);
        let mut p = 0.125 * (qdelay - QDELAY_REF) + 1.25 * (qdelay - self.qdelay_old);
        p /= match self.drop_prob {
            p if p < 0.000_001 => 2048.0,
            p if p < 0.000_01 => 512.0,
            p if p < 0.000_1 => 128.0,
            p if p < 0.001 => 32.0,
            p if p < 0.01 => 8.0,
            p if p < 0.1 => 2.0,
            _ => 1.0,
        };
        if self.drop_prob >= 0.1 && p > 0.02 {
            p = 0.02;
        }
        self.drop_prob += p;
        let is_short = qdelay < QDELAY_REF / 2.0 && self.qdelay_old < QDELAY_REF / 2.0;
        if qdelay == 0.0 && self.qdelay_old == 0.0 {
            self.drop_prob *= 0.98;
        }
        self.drop_prob = self.drop_prob.clamp(0.0, 1.0);
        self.qdelay_old = qdelay;
        // Rounded to the nanosecond, so that ten steps end at zero.
        let rest = (self.burst_allowance - T_UPDATE) * 1e9;
        self.burst_allowance = (libm::round(rest) / 1e9).max(0.0);
        if is_short && self.drop_prob == 0.0 {
            self.burst_allowance = MAX_BURST;
        }
    }

    fn catch_up(&mut self, now: f64) {
        while f64::from(self.update) * T_UPDATE <= now {
            self.calculate_drop_prob(f64::from(self.update) * T_UPDATE);
            self.update += 1;
        }
    }

    fn drop_early(&mut self) -> bool {
        if self.burst_allowance > 0.0
            || self.qdelay_old < QDELAY_REF / 2.0 && self.drop_prob < 0.2
            || bytes(&self.waiting) <= 2.0 * self.maxpacket
        {
            return false;
        }
        if self.drop_prob == 0.0 {
            self.accu_prob = 0.0;
        }
        self.accu_prob += self.drop_prob;
        if self.accu_prob < 0.85 {
            return false;
        }
        self.accu_prob >= 8.5 || uniform(&mut self.random) < self.drop_prob
    }
}

impl Model for Pie {
    fn arrive(&mut self, now: f64, mut packet: Packet) -> Vec<u32> {
        self.catch_up(now);
        self.maxpacket = self.maxpacket.max(packet.bytes);
        if self.waiting.len() == LIMIT {
            self.accu_prob = 0.0;
            return vec![packet.number];
        }
        if self.drop_early() {
            self.accu_prob = 0.0;
            let is_marked = self.ecn && self.drop_prob < 0.1 && packet.mark();
            if !is_marked {
                return vec![packet.number];
            }
        }
        self.waiting.push(packet);
        Vec::new()
    }

    fn depart(&mut self, now: f64) -> (Option<Packet>, Vec<u32>) {
        self.catch_up(now);
        let packet = (!self.waiting.is_empty()).then(|| self.waiting.remove(0));
        (packet, Vec::new())
    }
}

fn check(ecn: bool) {
    let set = [("ecn", Value::Flag(ecn))];
    compare_all("pie", &set, packets(LIMIT as u64), ecn, |random| {
        Box::new(Pie {
            ecn,
            waiting: Vec::new(),
            drop_prob: 0.0,
            qdelay_old: 0.0,
            burst_allowance: MAX_BURST,
            accu_prob: 0.0,
            update: 1,
            maxpacket: 0.0,
            random,
        })
    });
}

#[test]
fn pie_drops_as_the_pseudocode_of_rfc_8033() {
    check(false);
}

#[test]
fn pie_marks_as_the_pseudocode_of_rfc_8033() {
    check(true);
}
