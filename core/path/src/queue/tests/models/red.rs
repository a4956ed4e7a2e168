//! RED as in Floyd and Jacobson 1993, figure 2, with the later modes.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use gigatcp_units::random::Stream;

use super::super::packets;
use super::{Model, Packet, RATE, bytes, compare_all, uniform};
use crate::queue::Value;

const LIMIT: usize = 60;
const MIN: f64 = 5.0;
const MAX: f64 = 15.0;
const MEAN_PACKET: f64 = 500.0;
/// Transmission time of a mean packet: s of the paper.
const S: f64 = MEAN_PACKET * 8.0 / RATE as f64;
const WEIGHT: f64 = 0.02;

struct Red {
    gentle: bool,
    ecn: bool,
    adaptive: bool,
    in_bytes: bool,
    maxp: f64,
    waiting: Vec<Packet>,
    avg: f64,
    /// -1: the next packet is the first that may be marked. The paper continues with 0 after a
    /// mark; the discipline with -1, which makes gaps uniform on 1 to 1/pb.
    count: f64,
    /// Time at which the link has sent everything.
    q_time: f64,
    /// Time of the next adaptation of maxp.
    adapt_at: f64,
    random: Stream,
}

impl Red {
    fn length(&self) -> f64 {
        match self.in_bytes {
            true => bytes(&self.waiting) / MEAN_PACKET,
            false => self.waiting.len() as f64,
        }
    }

    /// Average of an idle link at `now`.
    fn idle_average(&self, now: f64) -> f64 {
        let m = ((now - self.q_time) / S).max(0.0);
        self.avg * libm::pow(1.0 - WEIGHT, m)
    }

    /// Adapts maxp (Floyd, Gummadi, Shenker 2001) every half second up to `now`.
    fn adapt(&mut self, now: f64) {
        while self.adaptive && self.adapt_at <= now {
            let is_idle = self.waiting.is_empty() && self.q_time <= now;
            let avg = match is_idle {
                true => self.idle_average(self.adapt_at),
                false => self.avg,
            };
            let target = |share: f64| MIN + share * (MAX - MIN);
            if avg > target(0.6) && self.maxp <= 0.5 {
                self.maxp += (self.maxp / 4.0).min(0.01);
            } else if avg < target(0.4) && self.maxp >= 0.01 {
                self.maxp *= 0.9;
            }
            self.adapt_at += 0.5;
        }
    }

    /// Whether the packet is marked or dropped, and whether it must be dropped.
    fn decide(&mut self) -> (bool, bool) {
        let certain_from = if self.gentle { 2.0 * MAX } else { MAX };
        if self.avg < MIN {
            self.count = -1.0;
            return (false, false);
        }
        if self.avg >= certain_from {
            self.count = -1.0;
            return (true, true);
        }
        let pb = match self.avg < MAX {
            true => self.maxp * (self.avg - MIN) / (MAX - MIN),
            false => self.maxp + (1.0 - self.maxp) * (self.avg - MAX) / MAX,
        };
        self.count += 1.0;
        let left = 1.0 - self.count * pb;
        let pa = if left > 0.0 { pb / left } else { 1.0 };
        let is_chosen = uniform(&mut self.random) < pa;
        if is_chosen {
            self.count = -1.0;
        }
        (is_chosen, false)
    }
}

impl Model for Red {
    fn arrive(&mut self, now: f64, mut packet: Packet) -> Vec<u32> {
        self.adapt(now);
        if self.waiting.is_empty() && self.q_time <= now {
            self.avg = self.idle_average(now);
            // This idle time is now counted.
            self.q_time = now;
        } else {
            self.avg = (1.0 - WEIGHT) * self.avg + WEIGHT * self.length();
        }
        let (is_chosen, must_drop) = self.decide();
        let in_service = usize::from(self.q_time > now || !self.waiting.is_empty());
        if self.waiting.len() + in_service == LIMIT {
            return vec![packet.number];
        }
        let is_dropped = is_chosen && (must_drop || !self.ecn || !packet.mark());
        if is_dropped {
            return vec![packet.number];
        }
        self.waiting.push(packet);
        Vec::new()
    }

    fn depart(&mut self, now: f64) -> (Option<Packet>, Vec<u32>) {
        if self.waiting.is_empty() {
            return (None, Vec::new());
        }
        let packet = self.waiting.remove(0);
        self.q_time = now + packet.bytes * 8.0 / RATE as f64;
        (Some(packet), Vec::new())
    }
}

fn check(gentle: bool, ecn: bool, adaptive: bool, in_bytes: bool) {
    let set = [
        ("weight", Value::Number(WEIGHT)),
        ("maxp", Value::Number(0.1)),
        ("gentle", Value::Flag(gentle)),
        ("ecn", Value::Flag(ecn)),
        ("adaptive", Value::Flag(adaptive)),
        ("bytes", Value::Flag(in_bytes)),
    ];
    compare_all("red", &set, packets(LIMIT as u64), ecn, |random| {
        Box::new(Red {
            gentle,
            ecn,
            adaptive,
            in_bytes,
            maxp: 0.1,
            waiting: Vec::new(),
            avg: 0.0,
            count: -1.0,
            q_time: 0.0,
            adapt_at: 0.5,
            random,
        })
    });
}

#[test]
fn red_drops_and_marks_as_figure_2_of_its_paper() {
    check(false, false, false, false);
    check(false, true, false, true);
}

#[test]
fn gentle_and_adaptive_red_drop_and_mark_as_their_descriptions() {
    check(true, false, false, false);
    check(true, true, true, false);
}
