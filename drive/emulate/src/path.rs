//! Hops one behind another, brought up to a clock that does not wait.
//!
//! Who drives it comes late: a thread wakes up some microseconds after the
//! instant it asked for. Inside nothing of that is seen. Everything that was
//! due since the last call happens at the instant it was due, in order, and a
//! packet enters the next hop when it left the one before; what is late is the
//! last step alone, out of the last hop.

use gigatcp_path::{ConfigError, DropCause, Hop, HopConfig, Release};
use gigatcp_units::Instant;

use crate::packet::Packet;

/// One direction of a path.
#[derive(Debug)]
pub struct Path {
    hops: Vec<Hop<Packet>>,
    /// The largest backlog of each, in wire packets.
    max_backlog: Vec<u64>,
}

/// What comes out of a path.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// The instant it was due; the clock may show more.
    pub due: Instant,
    /// The packet.
    pub packet: Packet,
}

impl Path {
    /// The hops in their order, of a run with this `seed`. None is a wire of no
    /// length.
    ///
    /// # Errors
    /// What is wrong with a hop.
    pub fn new(hops: impl IntoIterator<Item = HopConfig>, seed: u64) -> Result<Self, ConfigError> {
        let hops: Result<Vec<_>, _> = hops.into_iter().map(|hop| Hop::new(hop, seed)).collect();
        let mut hops = hops?;
        if hops.is_empty() {
            let wire = HopConfig {
                release: Release::Whole,
                ..HopConfig::default()
            };
            hops.push(Hop::new(wire, seed)?);
        }
        Ok(Self {
            max_backlog: vec![0; hops.len()],
            hops,
        })
    }

    /// Takes in a packet at `now`. What was due before must have been polled.
    pub fn handle_arrival(&mut self, now: Instant, packet: Packet) {
        self.enter(0, now, packet);
    }

    fn enter(&mut self, at: usize, now: Instant, packet: Packet) {
        let hop = &mut self.hops[at];
        hop.handle_arrival(now, packet);
        // What is free to ask is mostly enough.
        if hop.backlog_at_most() > self.max_backlog[at] {
            let backlog = hop.backlog(now).packets;
            self.max_backlog[at] = self.max_backlog[at].max(backlog);
        }
    }

    /// The next packet that has come out at the far end by `now`.
    pub fn poll_delivery(&mut self, now: Instant) -> Option<Delivery> {
        let last = self.hops.len() - 1;
        loop {
            let (due, at) = self.next()?;
            if due > now {
                return None;
            }
            if at == last {
                // All that has come by now may leave together, but nothing that
                // another hop has yet to hand over.
                let others = self.hops[..last].iter().filter_map(Hop::poll_timeout);
                let until = others.min().map_or(now, |other| other.min(now));
                if let Some(packet) = self.hops[last].poll_delivery(until) {
                    return Some(Delivery { due, packet });
                }
            } else if let Some(packet) = self.hops[at].poll_delivery(due) {
                self.enter(at + 1, due, packet);
            }
        }
    }

    /// The next packet that did not get through, the hop's place, and why.
    pub fn poll_dropped(&mut self) -> Option<(usize, Packet, DropCause)> {
        let mut hops = self.hops.iter_mut().enumerate();
        hops.find_map(|(at, hop)| {
            let (packet, cause) = hop.poll_dropped()?;
            Some((at, packet, cause))
        })
    }

    /// When something is due again.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.next().map(|(due, _)| due)
    }

    /// The hop that has something due first, and when. Of several at one instant
    /// the last: what leaves makes room for what comes.
    fn next(&self) -> Option<(Instant, usize)> {
        let mut next = None;
        for (at, hop) in self.hops.iter().enumerate() {
            if let Some(due) = hop.poll_timeout()
                && next.is_none_or(|(first, _)| due <= first)
            {
                next = Some((due, at));
            }
        }
        next
    }

    /// The hops, in their order.
    #[must_use]
    pub fn hops(&self) -> &[Hop<Packet>] {
        &self.hops
    }

    /// The same, to ask for what is up to date.
    pub fn hops_mut(&mut self) -> &mut [Hop<Packet>] {
        &mut self.hops
    }

    /// The largest backlog of each hop so far, in wire packets.
    #[must_use]
    pub fn max_backlog(&self) -> &[u64] {
        &self.max_backlog
    }
}
