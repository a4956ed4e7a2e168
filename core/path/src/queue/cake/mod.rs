//! CAKE: what home routers run: fair among hosts and flows, by priority, with COBALT in each flow.
//!
//! Høiland-Jørgensen, Täht, Morton, "Piece of CAKE: A Comprehensive Queue Management Solution for
//! Home Gateways", LANMAN 2018; rules and constants of Linux (`sch_cake.c`), defaults of `tc-cake(8)`.
//! `cobalt` has the AQM, `tin` the flows and hosts (DRR++), `list` the rounds; this file has the tins.
//!
//! **The shaper is the link.** CAKE releases a packet a packet time after the one before, without a
//! burst, which is how a link serves. So its `bandwidth` is the `rate` of the hop that it stands in,
//! its `overhead` the hop's `link_overhead`, and a slower link behind is another hop. Its ACK filter
//! is the hop's `ack_filter`.
//!
//! **Tins** are selected by the DSCP (RFC 4594, 8622), 1, 3 (default), 4 or 8 of them (`tins`). Each has
//! a share of the rate up to which it goes before lower ones; what is left is anyone's:
//!
//! | tins | shares of the rate, lowest priority first |
//! |---|---|
//! | 1 | all (`besteffort`) |
//! | 3 | bulk (LE, CS1) 1/16, best effort all, latency-sensitive (EF, VA, CS6, CS7, TOS4) 1/4 |
//! | 4 | bulk 1/16, best effort all, streaming (AF2x to AF4x, CS2, CS3, TOS4) 1/2, latency-sensitive with CS4, CS5 1/4 |
//! | 8 | (7/8)^n of the rate, n from 0 for LE to 7 for CS6 and CS7 |
//!
//! On a link without a rate tins take turns by quanta in these proportions.
//!
//! **Hosts**: by default a flow's credit is the quantum over the bulk flows of its source, or of its
//! destination, whichever has more (`triple-isolate`). `srchost`, `dsthost` without the other:
//! `dual-srchost`, `dual-dsthost`; neither: `flows`.
//!
//! **Times**: `rtt` (100 ms) is the interval, a 20th of it the target. At low rates the target is 1.5
//! full packets at the tin's rate, and the interval grows by as much. The quantum is the octets of
//! 1/4096 s, from 300 to 1514. The limit is 4 BDPs of `rtt`, 4 MiB at least; above it the longest
//! queue loses its oldest packets.
//!
//! Not as in Linux:
//!
//! * the limit counts octets of IP, not memory;
//! * credit and shares count octets of IP, without the link's overhead;
//! * `gap` follows the square root exactly, as Linux' table and Newton steps do within 0.1 %;
//! * a full packet is 1514 octets, whatever the MTU of hosts;
//! * no `ingress`, `autorate-ingress`, `nat`, `wash`, `split-gso` (wire packets are queued anyhow),
//!   `atm` or `ptm`: cells of 48 bytes do not exist on a path.
//!
//! Checked against the source's constants and rules, by hand (`cobalt.rs`, `tests/cake.rs`); no kernel
//! with CAKE was at hand. In virtual time each flow is between hosts of its own, as in its captures,
//! and has DSCP 0: fairness among hosts and tins act in `gigatcp emulate`.

mod cobalt;
mod list;
mod tin;

use alloc::boxed::Box;
use alloc::vec::Vec;

use gigatcp_units::parameters;
use gigatcp_units::random::Stream;
use gigatcp_units::{Bytes, Duration, Instant, Rate};

use super::{Build, Conflict, Discipline, Drops, Entry, Limits, Link, QueueConfig, Ticket};
use crate::Tally;
use tin::Tin;

/// Entry of the registry.
pub(super) const ENTRY: Entry = Entry {
    name: "cake",
    summary: "fair among hosts and flows, by priority, COBALT in each flow (home routers)",
    parameters: &[RTT, TINS, SRCHOST, DSTHOST],
    class_parameters: &[],
    check,
    draws: true,
    build: |build| Box::new(Cake::new(build)),
};

parameters! {
    RTT: Time = "rtt", Some(Duration::from_millis(100)),
        [Duration::from_micros(1), Duration::from_secs(1000)],
        "the interval of the AQM; its target is a 20th";
    TINS: Count = "tins", Some(3), [1, 8],
        "priorities by DSCP: 1 (besteffort), 3, 4 or 8 (diffserv3, 4, 8)";
    SRCHOST: Flag = "srchost", Some(true), [false, true],
        "shares the rate among sources before flows";
    DSTHOST: Flag = "dsthost", Some(true), [false, true],
        "shares the rate among destinations before flows";
}

/// Smallest default limit, octets.
const MIN_LIMIT: u64 = 4 << 20;

/// Largest default limit, octets, also where the rate is unknown: 10,240 full packets.
const MAX_LIMIT: u64 = 10_240 * 1514;

/// Checks the number of tins.
fn check(config: &QueueConfig) -> Result<(), Conflict> {
    if matches!(config.settings.whole(&TINS), 1 | 3 | 4 | 8) {
        return Ok(());
    }
    Err(Conflict {
        names: ["tins", "tins"],
        why: "`tins` is 1, 3, 4 or 8",
        section: 0,
    })
}

/// Tins of a scheme: numerator and shift of each share of the rate, and quantum.
fn shares(tins: u64) -> Vec<(u64, u32, i64)> {
    match tins {
        3 => alloc::vec![(1, 0, 1024), (1, 4, 64), (1, 2, 256)],
        4 => alloc::vec![(1, 0, 1024), (1, 4, 64), (1, 1, 512), (1, 2, 256)],
        8 => (0..8)
            .map(|n| (7_u64.pow(n), 3 * n, (256 * 7_i64.pow(n)) >> (3 * n)))
            .collect(),
        _ => alloc::vec![(1, 0, 65_535)],
    }
}

/// Tin of a DSCP (RFC 4594, RFC 8622).
fn tin_of(dscp: u8, tins: usize) -> usize {
    const LE: u8 = 1;
    const TOS2: u8 = 2;
    const TOS4: u8 = 4;
    const VA: u8 = 44;
    const EF: u8 = 46;
    let class = dscp >> 3;
    let is_cs = dscp & 7 == 0;
    // AF11 to AF43 have 2, 4, 6 in the low bits.
    let is_af = (1..=4).contains(&class) && dscp & 1 == 0 && dscp & 7 != 0;
    let is_urgent = matches!(dscp, VA | EF) || is_cs && class >= 6;
    match tins {
        3 if dscp == LE || is_cs && class == 1 => 1,
        3 if is_urgent || dscp == TOS4 => 2,
        4 if dscp == LE || is_cs && class == 1 => 1,
        4 if is_urgent || is_cs && class >= 4 => 3,
        4 if dscp == TOS4 || is_cs && class >= 2 || is_af && class >= 2 => 2,
        8 if dscp == LE => 0,
        8 if is_cs && class >= 6 => 7,
        8 if is_urgent || is_cs && class >= 4 => 6,
        8 if is_cs && class == 2 => 5,
        8 if dscp == TOS4 || is_af && class == 2 => 4,
        8 if is_cs && class == 3 || is_af && class >= 3 => 3,
        8 if dscp == TOS2 || class == 1 && dscp & 1 == 0 => 1,
        8 => 2,
        _ => 0,
    }
}

/// The tins and what they share.
#[derive(Debug)]
struct Cake {
    tins: Vec<Tin>,
    shares: Vec<(u64, u32, i64)>,
    /// Tin that has its turn on a link without a rate.
    turn: usize,
    rtt: Duration,
    limits: Limits,
    has_limit: bool,
    /// Rate of the link that everything is tuned to.
    rate: Option<Rate>,
    random: Stream,
}

impl Cake {
    fn new(mut build: Build<'_>) -> Self {
        let settings = build.settings;
        let shares = shares(settings.whole(&TINS));
        let isolates = [&SRCHOST, &DSTHOST].map(|side| settings.flag(side));
        let perturbation = build.random.bits();
        let mut cake = Self {
            tins: shares
                .iter()
                .map(|_| Tin::new(isolates, perturbation))
                .collect(),
            shares,
            turn: 0,
            rtt: settings.time(&RTT),
            limits: build.limits,
            has_limit: build.limits != Limits::default(),
            rate: None,
            random: build.random,
        };
        cake.tune(None);
        cake
    }

    /// Tunes the tins and the limit to the rate of the link.
    fn tune(&mut self, rate: Option<Rate>) {
        // Without a rate tins have turns, and what they took before counts for nothing.
        if rate.is_none() != self.rate.is_none() {
            for tin in &mut self.tins {
                tin.credit = 0;
            }
        }
        self.rate = rate;
        let target = self.rtt / 20;
        for (tin, (numerator, shift, _)) in self.tins.iter_mut().zip(&self.shares) {
            let share = rate.map(|rate| {
                let bps = (u128::from(rate.as_bps()) * u128::from(*numerator)) >> shift;
                Rate::from_bps((bps as u64).max(1))
            });
            tin.set_rate(share, self.rtt, target);
        }
        if !self.has_limit {
            let bdps = rate.map(|rate| rate.amount_in(self.rtt.saturating_mul(4)).as_u64());
            let limit = bdps.map_or(MAX_LIMIT, |bdps| bdps.clamp(MIN_LIMIT, MAX_LIMIT));
            self.limits.bytes = Some(Bytes::new(limit));
        }
    }

    fn catch_up(&mut self, link: &Link) {
        if self.rate != link.rate {
            self.tune(link.rate);
        }
    }

    /// Tin to serve; one is active.
    fn choose(&mut self, now: Instant) -> usize {
        if self.rate.is_none() {
            return self.take_turn();
        }
        // The highest that is within its share, or else the one that is nearest to it.
        let mut best = (Duration::MAX, 0);
        for (number, tin) in self
            .tins
            .iter()
            .enumerate()
            .filter(|(_, tin)| tin.is_active())
        {
            let wait = tin.next.saturating_since(now);
            if wait <= best.0 {
                best = (wait, number);
            }
        }
        best.1
    }

    /// Tin to serve by turns: weighted deficit round robin.
    fn take_turn(&mut self) -> usize {
        loop {
            let tin = &mut self.tins[self.turn];
            if tin.is_active() && tin.credit >= 0 {
                return self.turn;
            }
            if tin.credit <= 0 {
                tin.credit += self.shares[self.turn].2;
            }
            self.turn = (self.turn + 1) % self.tins.len();
        }
    }

    /// Drops from the longest queue of all tins.
    fn relieve(&mut self, now: Instant, drops: &mut Drops) -> bool {
        let longest = self
            .tins
            .iter()
            .enumerate()
            .filter_map(|(tin, flows)| Some((flows.longest()?, tin)));
        let Some(((_, number), tin)) = longest.max_by_key(|((octets, _), _)| *octets) else {
            return false;
        };
        self.tins[tin].drop_from(number, now, drops);
        true
    }
}

impl Discipline for Cake {
    fn enqueue(&mut self, now: Instant, link: &Link, ticket: Ticket, drops: &mut Drops) {
        self.catch_up(link);
        let tin = tin_of(ticket.dscp, self.tins.len());
        self.tins[tin].enqueue(now, ticket, &mut self.random);
        while !self.limits.admit(self.backlog()) && self.relieve(now, drops) {}
    }

    fn dequeue(&mut self, now: Instant, link: &Link, drops: &mut Drops) -> Option<Ticket> {
        self.catch_up(link);
        let mut checks_decaying = true;
        while !self.backlog().is_zero() {
            let tin = self.choose(now);
            let checks = &mut checks_decaying;
            let ticket = self.tins[tin].dequeue(now, checks, &mut self.random, drops);
            if ticket.is_some() {
                return ticket;
            }
        }
        None
    }

    fn drain(&mut self, out: &mut Vec<Ticket>) {
        for tin in &mut self.tins {
            tin.drain(out);
        }
    }

    fn backlog(&self) -> Tally {
        let tins = self.tins.iter();
        tins.fold(Tally::default(), |sum, tin| sum.plus(tin.backlog()))
    }

    fn classifies(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4594 and 8622 classes, in the tins of `tc-cake(8)`.
    #[test]
    fn code_points_go_to_the_tins_of_their_class() {
        let expected = [
            // DSCP, diffserv3, 4, 8
            (0, 0, 0, 2),
            (1, 1, 1, 0),
            (2, 0, 0, 1),
            (4, 2, 2, 4),
            (8, 1, 1, 1),
            (10, 0, 0, 1),
            (16, 0, 2, 5),
            (18, 0, 2, 4),
            (24, 0, 2, 3),
            (26, 0, 2, 3),
            (32, 0, 3, 6),
            (34, 0, 2, 3),
            (40, 0, 3, 6),
            (44, 2, 3, 6),
            (46, 2, 3, 6),
            (48, 2, 3, 7),
            (56, 2, 3, 7),
            (63, 0, 0, 2),
        ];
        for (dscp, three, four, eight) in expected {
            let got = [1, 3, 4, 8].map(|tins| tin_of(dscp, tins));
            assert_eq!(got, [0, three, four, eight], "{dscp}");
        }
    }
}
