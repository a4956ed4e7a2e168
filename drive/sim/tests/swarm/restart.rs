//! A host loses its memory in the middle of a conversation and comes back:
//! RFC 9293 section 3.5.1, figures 9 to 11.
//!
//! One of two engines is dropped without a word at a random moment, with its
//! application. It comes back at once or later: end 0 opens anew from the same
//! port, end 1 listens. What the other end still believes must be found out by
//! the rules of the standard: the half-open side is reset, and a whole new
//! conversation then completes, in which nothing of the old one may appear.
//! Contents differ from incarnation to incarnation, so an octet of an old one
//! cannot pass for one of the new.
//!
//! The new initial sequence number is far from the old one, as RFC 6528 and
//! the quiet time of RFC 9293 section 3.4.3 together make it: what is left of
//! the old incarnation in the network must not be taken for the new.

use std::collections::BTreeMap;

use gigatcp_events::{EventHash, State};
use gigatcp_tcp::listener::{self, Heard};
use gigatcp_tcp::{Config, Connection, Received};
use gigatcp_units::{Duration, Instant};
use gigatcp_wire::bytes::Bytes;
use gigatcp_wire::{Flags, Segment, fill_phantom, verify_phantom};

use super::draw::Draw;
use super::hosts;
use super::way::Way;

/// Virtual time after which the new conversation must be over.
const PATIENCE: Duration = Duration::from_secs(50_000);

/// The most segments the two conversations may need.
const SEGMENTS: u64 = 300_000;

/// Distance between the contents of two streams.
const CONTENTS_APART: u64 = 1 << 36;

/// One end, in its present incarnation.
struct End {
    config: Config,
    connection: Option<Box<Connection<Bytes>>>,
    /// When end 0 opens (again).
    open_at: Instant,
    /// Where the contents of what it writes begin.
    contents: u64,
    /// Where those of what it reads begin: known once the peer's SYN is.
    peer_contents: Option<u64>,
    total: u64,
    written: u64,
    read: u64,
    closed: bool,
}

struct Restart {
    now: Instant,
    ends: [End; 2],
    ways: [Way; 2],
    draw: Draw,
    /// Who restarts, and when; far in the future once it has.
    victim: usize,
    restart_at: Instant,
    /// Contents by end and initial sequence number.
    incarnations: BTreeMap<(usize, u32), u64>,
    count: u64,
    segments: u64,
    hash: EventHash,
}

/// Lets the world of `seed` happen; returns the hash of its events.
pub fn run(seed: u64) -> Result<u64, String> {
    let mut world = Restart::new(seed);
    world
        .run()
        .map_err(|what| format!("{what}\n{}", world.describe()))?;
    Ok(world.hash.finish())
}

impl Restart {
    fn new(seed: u64) -> Self {
        let mut draw = Draw::new(seed, "restart");
        let configs = [0, 1].map(|_| hosts::config(&mut draw, hosts::ip(seed)));
        let [first, second] = &configs;
        let most = |from, to| hosts::most_octets(from, to, 300).min(300_000);
        let totals = [most(first, second), most(second, first)].map(|most| draw.amount(most));
        let ends = configs.map(|config| End {
            config,
            connection: None,
            open_at: Instant::FAR_FUTURE,
            contents: 0,
            peer_contents: None,
            total: 0,
            written: 0,
            read: 0,
            closed: false,
        });
        let restart_at = draw.span(Duration::from_millis(1), Duration::from_secs(20));
        let mut world = Self {
            now: Instant::ZERO,
            ends,
            ways: [Way::new(seed, 0), Way::new(seed, 1)],
            victim: draw.between(0, 1) as usize,
            restart_at: Instant::ZERO + restart_at,
            draw,
            incarnations: BTreeMap::new(),
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

    /// End `at` begins anew: no connection, other contents, another ISS.
    fn reincarnate(&mut self, at: usize) {
        let far = self.draw.between(1 << 28, 1 << 30) as u32;
        let end = &mut self.ends[at];
        end.connection = None;
        end.config.iss += far;
        end.contents = self.count * CONTENTS_APART;
        end.peer_contents = None;
        (end.written, end.read, end.closed) = (0, 0, false);
        self.count += 1;
        let name = (at, end.config.iss.as_u32());
        self.incarnations.insert(name, end.contents);
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

    /// The restart is over, and so is a whole conversation after it.
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
            Some(connection) => connection.poll_timeout(),
            None => end.open_at,
        });
        let ways = self.ways.iter().map(Way::next);
        let next = ends.chain(ways).min().unwrap_or(Instant::FAR_FUTURE);
        next.min(self.restart_at)
    }

    fn step(&mut self) -> Result<(), String> {
        if self.restart_at <= self.now {
            self.restart_at = Instant::FAR_FUTURE;
            self.reincarnate(self.victim);
        }
        for from in 0..2 {
            while let Some(segment) = self.ways[from].deliver(self.now)? {
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
            self.act(at)?;
        }
        Ok(())
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
        // The SYN that an end accepts says whom it talks to from now on.
        let mut accepted = false;
        match &mut end.connection {
            Some(connection) => {
                let before = connection.state();
                connection.handle_segment(self.now, received);
                accepted = before == State::SynSent && connection.state() != before;
            }
            None if at == 1 => match listener::handle_segment(self.now, &end.config, &received) {
                Heard::Opened(connection) => {
                    end.connection = Some(connection);
                    accepted = true;
                }
                Heard::Reset(segment) => self.ways[1].send(self.now, segment)?,
                Heard::Ignored => {}
            },
            // Nobody is there to answer: the host is still starting.
            None => {}
        }
        if let (true, Some(iss)) = (accepted, syn) {
            let name = (1 - at, iss.as_u32());
            self.ends[at].peer_contents = self.incarnations.get(&name).copied();
        }
        self.act(at)
    }

    /// The application acts, what may leave leaves, and who was reset begins
    /// anew.
    fn act(&mut self, at: usize) -> Result<(), String> {
        let now = self.now;
        let end = &mut self.ends[at];
        let Some(connection) = &mut end.connection else {
            return Ok(());
        };
        while let Some(octets) = connection.read(now, 65_536) {
            let from = end.peer_contents.ok_or("data without a SYN")? + end.read;
            verify_phantom(from, &octets)
                .map_err(|wrong| format!("read what this peer did not write: {wrong}"))?;
            end.read += octets.len() as u64;
        }
        while end.written < end.total && connection.send_space() > 0 {
            let most = (end.total - end.written).min(connection.send_space());
            let mut octets = vec![0; most as usize];
            fill_phantom(end.contents + end.written, &mut octets);
            end.written += connection.write(octets.into()) as u64;
        }
        let is_open = connection.established_at().is_some();
        if is_open && !end.closed && end.written == end.total {
            end.closed = true;
            connection.close(now);
        }
        while let Some(segment) = connection.poll_transmit(now) {
            self.segments += 1;
            if self.segments > SEGMENTS {
                return Err(format!("more than {SEGMENTS} segments"));
            }
            self.ways[at].send(now, segment)?;
        }
        let info = connection.info();
        let is_through = connection.state() == State::Closed;
        // What it waits for will never come, and it has nothing to say that
        // would be answered by a reset: here an application gives up, or
        // keep-alive finds out.
        let waits = end.written == end.total && info.snd_una == info.snd_nxt;
        let is_broken = connection.failure().is_some();
        if is_broken || ((is_through || waits) && self.is_orphan(at)) {
            self.reincarnate(at);
        }
        Ok(())
    }

    /// Whether end `at` talks to an incarnation of the peer that is no more.
    fn is_orphan(&self, at: usize) -> bool {
        let (end, peer) = (&self.ends[at], &self.ends[1 - at]);
        let met = end.peer_contents;
        met.is_some() && met != Some(peer.contents)
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
        text
    }
}
