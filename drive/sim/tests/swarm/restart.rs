//! A host loses its state during a connection and restarts: RFC 9293 section 3.5.1, figures 9 to
//! 11.
//!
//! One of two engines is dropped silently at a random time, with its application. It restarts
//! immediately or later: end 0 opens anew from the same port; end 1 listens, without state or
//! behind the engine's listener ([`PassiveEnd`]), whose queues and secret are then lost too. The other
//! end's stale state must be resolved by the rules of the standard: the half-open side is reset,
//! and a whole new connection then completes, in which no data of the old one may appear. Contents
//! differ between incarnations, so an old byte cannot pass for a new one.
//!
//! The new initial sequence number is far from the old one, as RFC 6528 and the quiet time of RFC
//! 9293 section 3.4.3 together make it: old segments in the network must not pass for new ones. A
//! listener chooses its own. Which one a connection has, and which incarnation's, shows when its
//! first data leaves.

use std::collections::BTreeMap;

use gigatcp_tcp::events::{EventHash, State};
use gigatcp_tcp::{Connection, ConnectionConfig, Received};
use gigatcp_units::{Duration, Instant};
use gigatcp_wire::bytes::Bytes;
use gigatcp_wire::{Flags, Segment, SeqNumber, fill_phantom, verify_phantom};

use super::direction::{self, Direction};
use super::draw::Draw;
use super::hosts;
use super::injected_bug::InjectedBug;
use super::passive_end::PassiveEnd;

/// Virtual time by which the new connection must be over.
const PATIENCE: Duration = Duration::from_secs(50_000);

/// Maximum of segments of the two connections.
const SEGMENTS: u64 = 300_000;

/// Distance between the contents of two streams.
const CONTENTS_APART: u64 = 1 << 36;

/// One end, in its current incarnation.
struct End {
    config: ConnectionConfig,
    connection: Option<Box<Connection<Bytes>>>,
    /// Time at which end 0 opens (again).
    open_at: Instant,
    /// Start of the contents it writes.
    contents: u64,
    /// Initial sequence number of its peer, once known.
    irs: Option<SeqNumber>,
    /// Whether its own number is unknown, as its listener chose it.
    is_nameless: bool,
    total: u64,
    written: u64,
    read: u64,
    closed: bool,
}

struct Restart {
    now: Instant,
    ends: [End; 2],
    directions: [Direction; 2],
    passive_end: PassiveEnd,
    draw: Draw,
    /// The end that restarts, and when; far future once it has.
    victim: usize,
    restart_at: Instant,
    bug: Option<InjectedBug>,
    /// Contents by end and initial sequence number.
    incarnations: BTreeMap<(usize, u32), u64>,
    /// Incarnation of end 1 that offered an initial sequence number.
    lives: BTreeMap<u32, u64>,
    life: u64,
    count: u64,
    segments: u64,
    hash: EventHash,
}

/// Runs the simulation of `seed`; returns the hash of its events.
pub fn run(seed: u64, bug: Option<InjectedBug>) -> Result<u64, String> {
    let mut world = Restart::new(seed, bug);
    world
        .run()
        .map_err(|what| format!("{what}\n{}", world.describe()))?;
    Ok(world.hash.finish())
}

impl Restart {
    fn new(seed: u64, bug: Option<InjectedBug>) -> Self {
        let mut draw = Draw::new(seed, "restart");
        let mut configs = [0, 1].map(|_| hosts::config(&mut draw, hosts::ip(seed)));
        let endpoints = direction::endpoints(hosts::ip(seed), 0);
        let passive_end = PassiveEnd::new(seed, endpoints, &mut configs[1], false);
        hosts::raise_mss(&mut configs[0], passive_end.least_mss());
        let [first, second] = &configs;
        let most = |from, to| hosts::most_octets(from, to, 300).min(300_000);
        let totals = [most(first, second), most(second, first)].map(|most| draw.amount(most));
        let ends = configs.map(|config| End {
            config,
            connection: None,
            open_at: Instant::FAR_FUTURE,
            contents: 0,
            irs: None,
            is_nameless: false,
            total: 0,
            written: 0,
            read: 0,
            closed: false,
        });
        let restart_at = draw.span(Duration::from_millis(1), Duration::from_secs(20));
        let mut world = Self {
            now: Instant::ZERO,
            ends,
            directions: [Direction::new(seed, 0), Direction::new(seed, 1)],
            passive_end,
            victim: draw.between(0, 1) as usize,
            restart_at: Instant::ZERO + restart_at,
            draw,
            bug,
            incarnations: BTreeMap::new(),
            lives: BTreeMap::new(),
            life: 0,
            count: 0,
            segments: 0,
            hash: EventHash::default(),
        };
        for (at, total) in totals.into_iter().enumerate() {
            world.ends[at].total = total;
            world.reincarnate(at);
        }
        world.ends[0].open_at = Instant::ZERO;
        world
    }

    /// Restarts end `at`: no connection, other contents, another ISS.
    fn reincarnate(&mut self, at: usize) {
        let far = self.draw.between(1 << 28, 1 << 30) as u32;
        let end = &mut self.ends[at];
        end.connection = None;
        end.config.iss += far;
        end.contents = self.count * CONTENTS_APART;
        end.irs = None;
        end.is_nameless = at == 1 && self.passive_end.has_listener();
        (end.written, end.read, end.closed) = (0, 0, false);
        self.count += 1;
        if !end.is_nameless {
            let name = (at, end.config.iss.as_u32());
            self.incarnations.insert(name, end.contents);
        }
        if at == 0 {
            let pause = self.draw.span(Duration::ZERO, Duration::from_secs(2));
            self.ends[0].open_at = self.now + pause;
        }
    }

    fn run(&mut self) -> Result<(), String> {
        while !self.is_over() {
            let next = self.next();
            if next > Instant::ZERO + PATIENCE {
                return Err("the new conversation does not end".into());
            }
            self.now = self.now.max(next);
            self.step()?;
        }
        Ok(())
    }

    /// Whether the restart and a whole connection after it are over.
    fn is_over(&self) -> bool {
        let totals = [self.ends[1].total, self.ends[0].total];
        self.restart_at == Instant::FAR_FUTURE
            && self.ends.iter().zip(totals).all(|(end, to_read)| {
                let connection = end.connection.as_ref();
                let is_done = connection.is_some_and(|connection| {
                    connection.failure().is_none()
                        && matches!(connection.state(), State::TimeWait | State::Closed)
                });
                is_done && end.read == to_read
            })
    }

    fn next(&self) -> Instant {
        let ends = self.ends.iter().map(|end| match &end.connection {
            Some(connection) => connection.poll_timeout().unwrap_or(Instant::FAR_FUTURE),
            None => end.open_at,
        });
        let directions = self.directions.iter().map(Direction::next);
        let passive_end = self.passive_end.next(self.ends[1].connection.is_some());
        let next = ends.chain(directions).min().unwrap_or(Instant::FAR_FUTURE);
        next.min(self.restart_at).min(passive_end)
    }

    fn step(&mut self) -> Result<(), String> {
        if self.restart_at <= self.now {
            self.restart_at = Instant::FAR_FUTURE;
            if self.victim == 1 {
                self.life += 1;
                self.passive_end.forget();
            }
            self.reincarnate(self.victim);
        }
        for from in 0..2 {
            while let Some(segment) = self.directions[from].deliver(self.now)? {
                self.receive(1 - from, segment)?;
            }
        }
        for at in 0..2 {
            let end = &mut self.ends[at];
            match &mut end.connection {
                Some(connection) => connection.handle_timeout(self.now),
                None if at == 0 && end.open_at <= self.now => {
                    end.open_at = Instant::FAR_FUTURE;
                    end.connection = Some(Box::new(Connection::connect(self.now, &end.config)));
                }
                None => {}
            }
            if at == 1 {
                self.passive_end.step(self.now)?;
                self.tend_door()?;
            }
            self.act(at)?;
        }
        Ok(())
    }

    /// Sends the listener's segments, and accepts its connections.
    fn tend_door(&mut self) -> Result<(), String> {
        while let Some(segment) = self.passive_end.poll_transmit(self.now) {
            if segment.flags.contains(Flags::SYN) {
                self.lives.insert(segment.seq.as_u32(), self.life);
            }
            self.depart(1, segment)?;
        }
        if self.ends[1].connection.is_none() {
            self.ends[1].connection = self.passive_end.accept(self.now)?;
        }
        Ok(())
    }

    fn depart(&mut self, at: usize, segment: Segment<Bytes>) -> Result<(), String> {
        self.segments += 1;
        if self.segments > SEGMENTS {
            return Err(format!("more than {SEGMENTS} segments"));
        }
        self.directions[at].send(self.now, segment)
    }

    fn receive(&mut self, at: usize, segment: Segment<Bytes>) -> Result<(), String> {
        let numbers = u64::from(segment.seq.as_u32()) << 32 | u64::from(segment.ack.as_u32());
        self.hash.absorb(self.now.as_nanos() ^ at as u64);
        self.hash.absorb(numbers);
        let syn = segment.flags.contains(Flags::SYN).then_some(segment.seq);
        let received = Received {
            at: self.now,
            segment,
        };
        let end = &mut self.ends[at];
        // The SYN that an end accepts identifies its peer from now on.
        let mut accepted = false;
        match &mut end.connection {
            Some(connection) => {
                let before = connection.state();
                connection.handle_segment(self.now, received);
                accepted = before == State::SynSent && connection.state() != before;
            }
            None if at == 1 => {
                let mut replies = Vec::new();
                end.connection =
                    self.passive_end
                        .hear(self.now, &end.config, received, &mut replies);
                accepted = end.connection.is_some();
                for segment in replies {
                    self.directions[1].send(self.now, segment)?;
                }
                self.passive_end.step(self.now)?;
                self.tend_door()?;
            }
            // There is no answer: the host is still starting.
            None => {}
        }
        if accepted {
            self.ends[at].irs = syn;
        }
        self.act(at)
    }

    /// Runs the application, sends all that may leave, and restarts an end that was reset.
    fn act(&mut self, at: usize) -> Result<(), String> {
        let end = &mut self.ends[at];
        let Some(connection) = &mut end.connection else {
            return Ok(());
        };
        while end.written < end.total && connection.send_space() > 0 {
            let most = (end.total - end.written).min(connection.send_space());
            let mut octets = vec![0; most as usize];
            let contents = match self.bug {
                Some(InjectedBug::Haunted) => end.contents % CONTENTS_APART,
                _ => end.contents,
            };
            fill_phantom(contents + end.written, &mut octets);
            end.written += connection.write(octets.into()).unwrap_or(0) as u64;
        }
        let is_open = connection.established_at().is_some();
        if is_open && !end.closed && end.written == end.total {
            end.closed = true;
            connection.shutdown(self.now);
        }
        self.transmit(at)?;
        self.read(at)?;
        self.transmit(at)?;
        self.give_up(at);
        Ok(())
    }

    fn transmit(&mut self, at: usize) -> Result<(), String> {
        while let Some(connection) = &mut self.ends[at].connection
            && let Some(segment) = connection.poll_transmit(self.now)
        {
            if self.ends[at].is_nameless {
                self.learn_names(&segment);
            }
            self.depart(at, segment)?;
        }
        Ok(())
    }

    /// Derives both ISS from the first data or FIN on a listener's connection.
    ///
    /// It follows the connection's SYN, and acknowledges data received after the peer's.
    fn learn_names(&mut self, segment: &Segment<Bytes>) {
        let end = &mut self.ends[1];
        let Some(connection) = &end.connection else {
            return;
        };
        let is_first = segment.seq_len() > 0 && !segment.flags.contains(Flags::SYN);
        if is_first && !segment.flags.contains(Flags::RST) {
            end.is_nameless = false;
            end.irs = Some(segment.ack - connection.info().rcv_nxt as u32);
            let iss = segment.seq - 1;
            self.incarnations.insert((1, iss.as_u32()), end.contents);
        }
    }

    /// Reads the available data, once its incarnation is known.
    fn read(&mut self, at: usize) -> Result<(), String> {
        let Some(from) = self.peer_contents(at) else {
            return Ok(());
        };
        let end = &mut self.ends[at];
        let Some(connection) = &mut end.connection else {
            return Ok(());
        };
        while let Some(octets) = connection.read(self.now, 65_536) {
            verify_phantom(from + end.read, &octets)
                .map_err(|wrong| format!("read what this peer did not write: {wrong}"))?;
            end.read += octets.len() as u64;
        }
        Ok(())
    }

    /// Restarts an end that was reset, or waits for a peer that is gone.
    fn give_up(&mut self, at: usize) {
        let end = &self.ends[at];
        let Some(connection) = &end.connection else {
            return;
        };
        let info = connection.info();
        let is_through = connection.state() == State::Closed;
        // It waits for data that will never come, and has nothing to send that a reset would
        // answer. In practice an application or keep-alive ends such a connection.
        let waits = end.written == end.total && info.snd_una == info.snd_nxt;
        let is_broken = connection.failure().is_some();
        if is_broken || ((is_through || waits) && self.is_orphan(at)) {
            self.reincarnate(at);
        }
    }

    /// Start of the contents that end `at` reads, if known.
    fn peer_contents(&self, at: usize) -> Option<u64> {
        let irs = self.ends[at].irs?;
        self.incarnations.get(&(1 - at, irs.as_u32())).copied()
    }

    /// Whether the peer of end `at` is an incarnation that is gone.
    fn is_orphan(&self, at: usize) -> bool {
        let met = self.peer_contents(at);
        let Some(irs) = self.ends[at].irs else {
            return false;
        };
        // A listener's answer that became no connection before the restart.
        let is_lost = at == 0
            && met.is_none()
            && self
                .lives
                .get(&irs.as_u32())
                .is_some_and(|life| *life < self.life);
        is_lost || met.is_some_and(|met| met != self.ends[1 - at].contents)
    }

    fn describe(&self) -> String {
        let mut text = format!(
            "at {} ns, end {} restarts",
            self.now.as_nanos(),
            self.victim
        );
        for (at, end) in self.ends.iter().enumerate() {
            text += &format!(
                "\nend {at}: {} of {} written, {} read, closed {}, {:?}",
                end.written, end.total, end.read, end.closed, end.config
            );
            if let Some(connection) = &end.connection {
                text += &format!("\n  {:?}\n  {:?}", connection.info(), connection.counters());
                text += &format!(
                    "\n  {:?} due {:?}",
                    connection.failure(),
                    connection.poll_timeout()
                );
            }
        }
        text + &format!("\n{:?}", self.passive_end)
    }
}
