//! DualPI2 as in RFC 9332 appendix A, with Linux's scheduler.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use super::super::packets;
use super::{Ecn, Model, Packet, bytes, compare_all};

const LIMIT: usize = 60;
const TARGET: f64 = 0.015;
const T_UPDATE: f64 = 0.016;
const ALPHA: f64 = 0.16;
const BETA: f64 = 3.2;
const K: f64 = 2.0;
const MIN_TH: f64 = 0.0008;
const RANGE: f64 = 0.0004;
/// p_Lmax of the RFC: L is overloaded from this probability on.
const P_L_MAX: f64 = 1.0;

#[derive(Default)]
struct DualPi2 {
    lq: Vec<Packet>,
    cq: Vec<Packet>,
    /// p' of the RFC.
    base: f64,
    prevq: f64,
    /// Number of the next update, minus one.
    updates: u32,
    /// Sums of probabilities of `recur`.
    l_count: f64,
    c_count: f64,
    /// Bytes the C queue may send next, times ten.
    credit: f64,
    maxpacket: f64,
}

/// Deterministic marking: returns whether a signal is due.
fn recur(count: &mut f64, likelihood: f64) -> bool {
    *count += likelihood;
    if *count > 1.0 {
        *count -= 1.0;
        return true;
    }
    false
}

fn waited(queue: &[Packet], now: f64) -> f64 {
    queue.first().map_or(0.0, |head| now - head.arrived)
}

impl DualPi2 {
    fn catch_up(&mut self, now: f64) {
        loop {
            let due = f64::from(self.updates + 1) * T_UPDATE;
            if due > now {
                return;
            }
            let curq = waited(&self.cq, due).max(waited(&self.lq, due));
            let p = self.base + ALPHA * (curq - TARGET) + BETA * (curq - self.prevq);
            self.base = p.clamp(0.0, 1.0);
            self.prevq = curq;
            self.updates += 1;
        }
    }

    /// Weighted round robin by credit: 10 % for C while both wait (Linux).
    fn schedule(&mut self) -> Option<(Packet, bool)> {
        let both = !self.lq.is_empty() && !self.cq.is_empty();
        let is_low = match both {
            true => self.credit <= 0.0,
            false => !self.lq.is_empty(),
        };
        let queue = if is_low { &mut self.lq } else { &mut self.cq };
        if queue.is_empty() {
            return None;
        }
        let packet = queue.remove(0);
        if both {
            self.credit += packet.bytes * if is_low { 1.0 } else { -9.0 };
        }
        Some((packet, is_low))
    }

    /// L queue's own probability. Not for the last packet of the queue.
    fn laqm(&self, qdelay: f64) -> f64 {
        if self.lq.is_empty() {
            return 0.0;
        }
        ((qdelay - MIN_TH) / RANGE).clamp(0.0, 1.0)
    }

    /// Marks the packet if a signal is due; returns whether to drop it.
    fn signal(&mut self, packet: &mut Packet, is_low: bool, now: f64) -> bool {
        // Below two packets no coupled signals occur.
        let is_spared = bytes(&self.lq) + bytes(&self.cq) < 2.0 * self.maxpacket;
        let base = if is_spared { 0.0 } else { self.base };
        let (p_cl, p_c) = ((K * base).min(1.0), base * base);
        if !is_low {
            let p_c_max = 1.0 / (K * K);
            let is_signal = !is_spared && recur(&mut self.c_count, p_c);
            return is_signal && (p_c >= p_c_max || !packet.mark());
        }
        let p_l = match p_cl < P_L_MAX {
            true => self.laqm(now - packet.arrived).max(p_cl),
            false if recur(&mut self.l_count, p_c) => return true,
            false => p_cl,
        };
        if recur(&mut self.l_count, p_l) {
            packet.mark();
        }
        false
    }
}

impl Model for DualPi2 {
    fn arrive(&mut self, now: f64, packet: Packet) -> Vec<u32> {
        self.catch_up(now);
        self.maxpacket = self.maxpacket.max(packet.bytes);
        if self.lq.len() + self.cq.len() == LIMIT {
            return vec![packet.number];
        }
        let queue = match packet.ecn {
            Ecn::Ect1 | Ecn::Ce => &mut self.lq,
            Ecn::NotEct | Ecn::Ect0 => &mut self.cq,
        };
        queue.push(packet);
        Vec::new()
    }

    fn depart(&mut self, now: f64) -> (Option<Packet>, Vec<u32>) {
        self.catch_up(now);
        let mut dropped = Vec::new();
        while let Some((mut packet, is_low)) = self.schedule() {
            if !self.signal(&mut packet, is_low, now) {
                return (Some(packet), dropped);
            }
            dropped.push(packet.number);
        }
        (None, dropped)
    }
}

#[test]
fn dualpi2_drops_and_marks_as_the_pseudocode_of_rfc_9332() {
    compare_all("dualpi2", &[], packets(LIMIT as u64), true, |_| {
        Box::new(DualPi2::default())
    });
}
