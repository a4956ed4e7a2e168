//! Disciplines with reactive sources: delay at equilibrium, and shares of the flows.
//!
//! The sources are the simplest that the RFCs' analyses assume: a window that grows by one packet
//! per round. It either halves once per round with congestion (Reno) or shrinks by half a packet
//! per mark (scalable, RFC 9332 appendix C). Packets of 1000 octets; constant base RTT; the sender
//! learns of drops after that RTT too.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use gigatcp_units::{Duration, Instant};

use super::{Trial, unlimited};
use crate::queue::{Ticket, Value};

#[derive(Clone, Copy, PartialEq, Debug)]
enum Response {
    /// Halves its window; its packets are not ECN-capable.
    Reno,
    /// Reduces its window by half a packet per mark; its packets are L4S.
    Scalable,
}

#[derive(Clone, Debug)]
struct Source {
    response: Response,
    window: f64,
    in_flight: u32,
    /// Time of the last halving.
    halved: Instant,
}

impl Source {
    fn on_news(&mut self, now: Instant, ticket: &Ticket, is_lost: bool) {
        self.in_flight -= 1;
        if is_lost || self.response == Response::Reno && ticket.is_marked {
            // Once per round: signals on packets sent before the last reduction are ignored.
            if ticket.arrived >= self.halved {
                self.window = (self.window / 2.0).max(2.0);
                self.halved = now;
            }
            return;
        }
        self.window += 1.0 / self.window;
        if ticket.is_marked {
            self.window = (self.window - 0.5).max(2.0);
        }
    }
}

/// One link with its queue and sources.
struct Loop {
    trial: Trial,
    sources: Vec<Source>,
    rtt: Duration,
    /// Departures and drops on the reverse path, each with its arrival time.
    acks: VecDeque<(Instant, Ticket)>,
    losses: VecDeque<(Instant, Ticket)>,
    /// Number of drops already sent back.
    seen: usize,
    now: Instant,
}

/// Rate in packets per second and mean wait in seconds.
#[derive(Clone, Copy, Default, Debug)]
struct Outcome {
    rate: f64,
    wait: f64,
}

impl Loop {
    fn new(name: &str, set: &[(&str, Value)], rate: u64, rtt: f64, flows: &[Response]) -> Self {
        let mut trial = Trial::new(name, set, unlimited());
        trial.rate(rate);
        let source = |response: &Response| Source {
            response: *response,
            window: 2.0,
            in_flight: 0,
            halved: Instant::ZERO,
        };
        Self {
            trial,
            sources: flows.iter().map(source).collect(),
            rtt: Duration::from_secs_f64(rtt),
            acks: VecDeque::new(),
            losses: VecDeque::new(),
            seen: 0,
            now: Instant::ZERO,
        }
    }

    fn send(&mut self, flow: usize) {
        let source = &mut self.sources[flow];
        while f64::from(source.in_flight + 1) <= source.window {
            source.in_flight += 1;
            let is_l4s = source.response == Response::Scalable;
            self.trial.next.flow = flow as u32;
            self.trial.next.is_l4s = is_l4s;
            self.trial.next.is_markable = is_l4s;
            self.trial.arrive_at(self.now);
        }
    }

    fn note_drops(&mut self) {
        for (at, ticket, _) in &self.trial.dropped[self.seen..] {
            self.losses.push_back((*at + self.rtt, *ticket));
        }
        self.seen = self.trial.dropped.len();
    }

    /// Processes the signals that have arrived by `until`, in order.
    fn hear(&mut self, until: Instant) {
        loop {
            let ack = self.acks.front().map(|news| news.0);
            let loss = self.losses.front().map(|news| news.0);
            let is_loss = loss.is_some_and(|loss| ack.is_none_or(|ack| loss < ack));
            let list = if is_loss {
                &mut self.losses
            } else {
                &mut self.acks
            };
            if list.front().is_none_or(|news| news.0 > until) {
                return;
            }
            let (at, ticket) = list.pop_front().unwrap();
            self.now = at;
            let flow = ticket.flow as usize;
            self.sources[flow].on_news(at, &ticket, is_loss);
            self.send(flow);
            self.note_drops();
        }
    }

    /// Runs to `end`; returns the outcome of each flow from `begin` on.
    fn run(&mut self, begin: f64, end: f64) -> Vec<Outcome> {
        let service = self
            .trial
            .link
            .rate
            .unwrap()
            .time_for(gigatcp_units::Bytes::new(1000));
        let mut outcomes: BTreeMap<u32, Outcome> = BTreeMap::new();
        for flow in 0..self.sources.len() {
            self.send(flow);
        }
        while self.now.as_secs_f64() < end {
            let left = self.trial.depart_at(self.now);
            self.note_drops();
            let Some(ticket) = left else {
                let news = [self.acks.front(), self.losses.front()];
                let next = news.into_iter().flatten().map(|news| news.0).min();
                self.hear(next.unwrap());
                continue;
            };
            if self.now.as_secs_f64() >= begin {
                let outcome = outcomes.entry(ticket.flow).or_default();
                outcome.rate += 1.0;
                outcome.wait += ticket.sojourn(self.now).as_secs_f64();
            }
            let free = self.now + service;
            self.acks.push_back((free + self.rtt, ticket));
            self.hear(free);
            self.now = free;
        }
        let finish = |outcome: Outcome| Outcome {
            rate: outcome.rate / (end - begin),
            wait: outcome.wait / outcome.rate,
        };
        outcomes.into_values().map(finish).collect()
    }
}

/// Mean wait of all packets, in milliseconds, and the utilization.
fn settle(name: &str, set: &[(&str, Value)], target_flows: usize) -> (f64, f64) {
    let flows = alloc::vec![Response::Reno; target_flows];
    // 20 Mbit/s: 2500 packets per second.
    let outcomes = Loop::new(name, set, 20_000_000, 0.050, &flows).run(50.0, 250.0);
    let rate: f64 = outcomes.iter().map(|flow| flow.rate).sum();
    let waits: f64 = outcomes.iter().map(|flow| flow.wait * flow.rate).sum();
    (waits / rate * 1e3, rate / 2500.0)
}

#[test]
fn pie_settles_at_its_target() {
    for flows in [5, 20] {
        let (wait, used) = settle("pie", &[], flows);
        assert!(
            (wait - 15.0).abs() < 0.15 * 15.0,
            "{flows} flows: {wait} ms"
        );
        assert!(used > 0.95, "{flows} flows: {used}");
    }
    let set = [("target", Value::Time(Duration::from_millis(40)))];
    let (wait, _) = settle("pie", &set, 10);
    assert!((wait - 40.0).abs() < 0.15 * 40.0, "{wait} ms");
}

#[test]
fn pie_settles_at_its_target_by_the_departure_rate_too() {
    let (wait, _) = settle("pie", &[("departure_rate", Value::Flag(true))], 10);
    assert!((wait - 15.0).abs() < 0.15 * 15.0, "{wait} ms");
}

#[test]
fn dualpi2_settles_at_its_target_with_classic_flows_alone() {
    let (wait, used) = settle("dualpi2", &[], 10);
    assert!((wait - 15.0).abs() < 0.15 * 15.0, "{wait} ms");
    assert!(used > 0.95, "{used}");
}

/// RFC 9332 appendix C: windows of 1.22/sqrt(p_C) and 2/p_CL. The rate of a scalable flow is
/// therefore 2/(1.22*k)*(R + 15 ms)/R times that of a Reno flow. Windows here are 6 to 16 packets.
/// At 50 and more (p' below 0.03) a deviation of 10 ms already moves p' by its whole value (beta*10
/// ms = 0.032), and these sources oscillate.
#[test]
fn dualpi2_couples_the_rates_of_scalable_and_reno_flows() {
    const EACH: usize = 10;
    let mut flows = alloc::vec![Response::Reno; EACH];
    flows.extend([Response::Scalable; EACH]);
    for rtt in [0.025, 0.050] {
        let outcomes = Loop::new("dualpi2", &[], 40_000_000, rtt, &flows).run(50.0, 150.0);
        let (reno, scalable) = outcomes.split_at(EACH);
        let rate = |flows: &[Outcome]| flows.iter().map(|flow| flow.rate).sum::<f64>();
        let ratio = rate(scalable) / rate(reno);
        let expected = 2.0 / (1.22 * 2.0) * (rtt + 0.015) / rtt;
        let error = ratio / expected - 1.0;
        assert!(
            error.abs() < 0.1,
            "{ratio} instead of {expected} at {rtt} s"
        );
        // The L queue is short while the C queue holds the target.
        assert!(scalable[0].wait < 0.0008, "{} s", scalable[0].wait);
        let classic = reno[0].wait * 1e3;
        assert!((classic - 15.0).abs() < 0.1 * 15.0, "{classic} ms");
    }
}
