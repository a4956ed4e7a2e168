//! Two engines and the path between them, in virtual time, from one seed.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use gigatcp_tcp::events::State;
use gigatcp_tcp::listener::{self, ListenOutcome};
use gigatcp_tcp::{Connection, ConnectionConfig, Received};
use gigatcp_units::{Duration, Instant};
use gigatcp_wire::{Ecn, Flags, Payload, Segment};

/// More arrivals and timers than any of these runs needs.
const MOST_STEPS: u64 = 4_000_000;

/// More segments than any of these sides may send at one instant.
const MOST_AT_ONCE: u64 = 200_000;

/// What the path does to segments.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    /// One-way delay.
    pub delay: Duration,
    /// Up to so much more for each segment, which reorders.
    pub jitter: Duration,
    /// Lost, of a thousand.
    pub lost: u64,
    /// Delivered twice, of a thousand.
    pub doubled: u64,
    /// Super-segments are cut to single ones (and lost one by one).
    pub cuts: bool,
    /// What it does to ECN.
    pub ecn: EcnPath,
    /// Octets of the largest IPv4 packet that passes; larger ones vanish.
    pub mtu: usize,
}

/// What the path does to ECN: a queue that marks, and middleboxes that take
/// the field, the flags and the options for mistakes.
#[derive(Clone, Copy, Default, Debug)]
pub struct EcnPath {
    /// Capable packets marked, of a thousand.
    pub marked: u64,
    /// The ECN field is cleared.
    pub bleaches: bool,
    /// Every packet is marked, whether it is capable or not.
    pub marks_all: bool,
    /// AE, CWR and ECE are cleared outside the handshake.
    pub clears_flags: bool,
    /// And in the handshake.
    pub clears_handshake: bool,
    /// AccECN options are taken out.
    pub strips_options: bool,
    /// Packets with AccECN options vanish.
    pub drops_options: bool,
}

/// What one application does: write so much, then close; read in bites.
#[derive(Clone, Copy, Debug)]
pub struct Habit {
    /// Octets to write in all.
    pub writes: u64,
    /// Octets per write.
    pub bite: u64,
    /// How long it does not read between two bites.
    pub pause: Duration,
}

/// One side.
pub struct Side<P> {
    pub tcp: Connection<P>,
    pub habit: Habit,
    written: u64,
    pub read: u64,
    reads_at: Instant,
}

/// Makes and checks payload.
pub trait Stream: Payload {
    fn cut_from_stream(from: u64, len: usize) -> Self;
    fn is_stream_at(&self, from: u64) -> bool;
}

impl Stream for gigatcp_wire::bytes::Bytes {
    fn cut_from_stream(from: u64, len: usize) -> Self {
        crate::notation::octets(from, len)
    }

    fn is_stream_at(&self, from: u64) -> bool {
        *self == crate::notation::octets(from, self.len())
    }
}

impl Stream for gigatcp_wire::Phantom {
    fn cut_from_stream(from: u64, len: usize) -> Self {
        Self {
            offset: from,
            len: len as u32,
        }
    }

    fn is_stream_at(&self, from: u64) -> bool {
        self.offset == from
    }
}

impl<P: Stream> Side<P> {
    fn new(tcp: Connection<P>, habit: Habit) -> Self {
        Self {
            tcp,
            habit,
            written: 0,
            read: 0,
            reads_at: Instant::ZERO,
        }
    }

    fn use_application(&mut self, now: Instant) {
        while self.written < self.habit.writes {
            let bite = self.habit.bite.min(self.habit.writes - self.written);
            let accepted = self
                .tcp
                .write(P::cut_from_stream(1 + self.written, bite as usize));
            let Ok(accepted) = accepted else { break };
            self.written += accepted as u64;
        }
        // In SYN-SENT, CLOSE would throw away what is written.
        if self.written == self.habit.writes && self.tcp.state() != State::SynSent {
            self.tcp.shutdown(now);
        }
        while self.reads_at <= now
            && let Some(piece) = self.tcp.read(now, self.habit.bite as usize)
        {
            assert!(
                piece.is_stream_at(1 + self.read),
                "other octets than were sent"
            );
            self.read += piece.len() as u64;
            self.reads_at = now + self.habit.pause;
        }
    }

    /// Data or FIN waits, nothing is in flight whose acknowledgment could let
    /// it go, and no timer will: should the peer keep silent, it never leaves.
    fn is_stalled(&self) -> bool {
        let info = self.tcp.info();
        let may_send = matches!(
            info.state,
            State::Established
                | State::CloseWait
                | State::FinWait1
                | State::Closing
                | State::LastAck
        );
        let fin = u64::from(self.written == self.habit.writes);
        may_send
            && info.snd_una == info.snd_nxt
            && info.snd_nxt < 1 + self.written + fin
            && self.tcp.poll_timeout().is_none()
    }

    fn next_event(&self) -> Instant {
        let reading = if self.tcp.readable() > 0 {
            self.reads_at
        } else {
            Instant::FAR_FUTURE
        };
        let timer = self.tcp.poll_timeout();
        timer.unwrap_or(Instant::FAR_FUTURE).min(reading)
    }
}

/// A segment on its way: when, which in order, to whom, what.
struct Flying<P> {
    at: Instant,
    number: u64,
    to: usize,
    segment: Segment<P>,
}

impl<P> PartialEq for Flying<P> {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.number) == (other.at, other.number)
    }
}
impl<P> Eq for Flying<P> {}
impl<P> PartialOrd for Flying<P> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<P> Ord for Flying<P> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

/// Both sides and what is between them.
pub struct World<P> {
    pub now: Instant,
    pub sides: Vec<Side<P>>,
    pub segments: u64,
    path: Path,
    random: u64,
    flying: BinaryHeap<Reverse<Flying<P>>>,
    server: (ConnectionConfig, Habit),
}

impl<P: Stream> World<P> {
    /// The first side opens; the second listens, or opens too.
    pub fn new(
        configs: [ConnectionConfig; 2],
        habits: [Habit; 2],
        path: Path,
        seed: u64,
        both_open: bool,
    ) -> Self {
        let now = Instant::from_nanos(1);
        let [client, server] = configs;
        let mut sides = vec![Side::new(Connection::connect(now, &client), habits[0])];
        if both_open {
            sides.push(Side::new(Connection::connect(now, &server), habits[1]));
        }
        let mut world = Self {
            now,
            sides,
            segments: 0,
            path,
            random: seed,
            flying: BinaryHeap::new(),
            server: (server, habits[1]),
        };
        world.pump();
        world
    }

    /// Runs until nothing happens any more, or until `deadline`.
    pub fn run(&mut self, deadline: Instant) {
        for _ in 0..MOST_STEPS {
            let sides = self.sides.iter().map(Side::next_event).min().unwrap();
            let flying = self.flying.peek().map_or(Instant::FAR_FUTURE, |f| f.0.at);
            let next = sides.min(flying);
            if next == Instant::FAR_FUTURE || next > deadline {
                return;
            }
            self.now = self.now.max(next);
            if flying <= self.now {
                let Some(Reverse(arrived)) = self.flying.pop() else {
                    continue;
                };
                self.deliver(arrived);
            }
            for side in &mut self.sides {
                if side.tcp.poll_timeout().is_some_and(|due| due <= self.now) {
                    side.tcp.handle_timeout(self.now);
                }
            }
            self.pump();
        }
        panic!("no end: {}", self.describe());
    }

    fn deliver(&mut self, arrived: Flying<P>) {
        let received = Received {
            at: self.now,
            segment: arrived.segment,
        };
        if arrived.to < self.sides.len() {
            self.sides[arrived.to]
                .tcp
                .handle_segment(self.now, received);
        } else if let ListenOutcome::Opened(tcp) =
            listener::handle_segment(self.now, &self.server.0, &received)
        {
            self.sides.push(Side::new(*tcp, self.server.1));
        }
    }

    fn pump(&mut self) {
        for side in 0..self.sides.len() {
            self.sides[side].use_application(self.now);
            let most = self.segments + MOST_AT_ONCE;
            while let Some(segment) = self.sides[side].tcp.poll_transmit(self.now) {
                self.send(side, segment);
                assert!(self.segments < most, "poll_transmit: {}", self.describe());
            }
            let info = self.sides[side].tcp.info();
            assert!(info.pipe <= info.flight_size && info.snd_una <= info.snd_nxt);
            assert!(
                !self.sides[side].is_stalled(),
                "side {side} waits for nothing: {}",
                self.describe()
            );
        }
    }

    fn send(&mut self, from: usize, mut segment: Segment<P>) {
        while self.path.cuts && segment.wire_segments() > 1 {
            let front = segment.split_front(1);
            self.send_one(from, front);
        }
        self.send_one(from, segment);
    }

    fn send_one(&mut self, from: usize, segment: Segment<P>) {
        self.segments += segment.wire_segments() as u64;
        let Some(segment) = self.meddle(segment) else {
            return;
        };
        let size = usize::from(segment.segment_size).min(segment.payload.len());
        if 20 + segment.header_len() + size > self.path.mtu {
            return;
        }
        if self.chance(self.path.lost) {
            return;
        }
        let copies = 1 + u64::from(self.chance(self.path.doubled));
        for _ in 0..copies {
            let jitter = self.below(self.path.jitter.as_nanos() + 1);
            self.flying.push(Reverse(Flying {
                at: self.now + self.path.delay + Duration::from_nanos(jitter),
                number: self.segments,
                to: 1 - from,
                segment: segment.clone(),
            }));
        }
    }

    /// What the path does to ECN.
    fn meddle(&mut self, mut segment: Segment<P>) -> Option<Segment<P>> {
        let ecn = self.path.ecn;
        let is_handshake = segment.flags.contains(Flags::SYN);
        if ecn.bleaches {
            segment.ecn = Ecn::NotEct;
        }
        if self.chance(ecn.marked) {
            segment.ecn.try_mark();
        }
        if ecn.marks_all {
            segment.ecn = Ecn::Ce;
        }
        if (is_handshake && ecn.clears_handshake) || (!is_handshake && ecn.clears_flags) {
            segment.flags = segment.flags.without(Flags::ACE);
        }
        if ecn.drops_options && segment.options.accecn.is_some() {
            return None;
        }
        if ecn.strips_options {
            segment.options.accecn = None;
        }
        Some(segment)
    }

    fn chance(&mut self, of_a_thousand: u64) -> bool {
        of_a_thousand > 0 && self.below(1000) < of_a_thousand
    }

    /// SplitMix64 (Steele, Lea, Flood 2014).
    fn below(&mut self, end: u64) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end
    }

    /// Whether every octet arrived both ways and both sides closed in peace.
    pub fn is_done(&self) -> bool {
        self.sides.len() == 2
            && (0..2).all(|n| {
                let (side, other) = (&self.sides[n], &self.sides[1 - n]);
                side.read == other.habit.writes
                    && side.tcp.state() == State::Closed
                    && side.tcp.failure().is_none()
            })
    }

    /// What stands in the way, for messages.
    pub fn describe(&self) -> String {
        let sides = self.sides.iter().map(|side| {
            let info = side.tcp.info();
            format!(
                "{:?} {:?} wrote {} of {} read {} una {} nxt {} rcv {} wnd {} timer {:?} cwnd {:?} smss {} pipe {:?} unsent {}",
                info.state,
                side.tcp.failure(),
                side.written,
                side.habit.writes,
                side.read,
                info.snd_una,
                info.snd_nxt,
                info.rcv_nxt,
                info.snd_wnd.as_u64(),
                side.tcp.poll_timeout(),
                info.cwnd, info.smss, info.pipe, side.tcp.unsent(),
            )
        });
        let all: Vec<String> = sides.collect();
        format!("at {:?}: {all:#?}", self.now)
    }
}
