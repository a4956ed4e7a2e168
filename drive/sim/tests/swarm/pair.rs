//! Two directly connected engines that exchange real packets with real data.
//!
//! Beyond the other simulations: data in both directions simultaneously, slow readers and closed
//! windows, writes of any size, some of them urgent, half-closed connections, simultaneous open and
//! close, aborts, forged segments from third parties, a listener with all features ([`PassiveEnd`]), Fast
//! Open, keys ([`Signing`]), middleboxes that change headers and ECN fields ([`Middlebox`],
//! [`Marking`]), and everything up to CLOSED on both sides.
//!
//! The driver shares no code with the simulator's hosts. It relies on the engine's contract
//! (`gigatcp_tcp::connection`) only.

use gigatcp_tcp::connection::Info;
use gigatcp_tcp::events::{EventHash, State};
use gigatcp_tcp::fast_open::FastOpenOffer;
use gigatcp_tcp::profile::EcnMode;
use gigatcp_tcp::{Connection, ConnectionConfig, Failure, FourTuple, Received};
use gigatcp_units::{Duration, Instant};
use gigatcp_wire::bytes::Bytes;
use gigatcp_wire::{Flags, Segment, SeqNumber, WireWindow};

use super::application::{Application, Closes};
use super::audit::Audit;
use super::direction::{self, Direction};
use super::draw::Draw;
use super::dumbbell::check_limits;
use super::hosts;
use super::injected_bug::{self, InjectedBug};
use super::marking::Marking;
use super::marks::{Belief, Marks};
use super::middlebox::Middlebox;
use super::packet_corruptor::PacketCorruptor;
use super::passive_end::PassiveEnd;
use super::sender_bug::SenderBug;
use super::signing::{Integrity, SIGNED_MSS, Signing};

/// Virtual time without progress after which a connection that has not ended has failed. Progress
/// may be slow: without SACK and timestamps a window of retransmissions gives no RTT sample, the
/// timeout stays at `rto_max` (Karn), and segments of one octet are acknowledged a few per timeout.
/// [`SEGMENTS`] bounds the whole.
const PATIENCE: Duration = Duration::from_secs(50_000);

/// Longer than any timer that releases data: `rto_max` is at most 120 s. Timers for silent peers
/// are drawn longer.
const LONGEST_PAUSE: Duration = Duration::from_secs(130);

/// Maximum of segments of a connection.
const SEGMENTS: u64 = 300_000;

/// Maximum of steps at one instant; an engine with more is in an endless loop.
const STEPS_PER_INSTANT: u32 = 2_000;

/// One end.
#[derive(Debug)]
struct End {
    config: ConnectionConfig,
    /// Time at which it opens; far future for a listener.
    open_at: Instant,
    /// The connection as this end names it.
    tuple: FourTuple,
    /// Fast Open state for its SYN.
    offer: Option<FastOpenOffer>,
    connection: Option<Box<Connection<Bytes>>>,
    application: Application,
}

/// A connection with both ends.
struct Pair {
    now: Instant,
    ends: [End; 2],
    directions: [Direction; 2],
    audit: Audit,
    packet_corruptor: PacketCorruptor,
    middlebox: Middlebox,
    marking: Marking,
    marks: [Marks; 2],
    /// Ends that may distrust a path that marks everything, and their trust.
    doubts: [bool; 2],
    beliefs: [Belief; 2],
    sender_bug: SenderBug,
    strange: Strange,
    passive_end: PassiveEnd,
    signing: Option<Signing>,
    /// Whether a middlebox has changed data that keys may cover.
    altered: bool,
    bug: Option<InjectedBug>,
    aborts: bool,
    segments: u64,
    hash: EventHash,
}

/// Runs the connection of `seed`; returns the hash of its events.
pub fn run(seed: u64, bug: Option<InjectedBug>) -> Result<u64, String> {
    let mut pair = Pair::new(seed, bug);
    let result = pair.run().and_then(|()| pair.check_end());
    result.map_err(|what| format!("{what}\n{}", pair.describe()))?;
    Ok(pair.hash.finish())
}

impl Pair {
    fn new(seed: u64, bug: Option<InjectedBug>) -> Self {
        let draw = &mut Draw::new(seed, "pair");
        let mut configs = [0, 1].map(|_| hosts::config(draw, hosts::ip(seed)));
        let transport = configs[0].transport_mut();
        transport.congestion = injected_bug::control(bug, &transport.congestion);
        let simultaneous = draw.chance(15);
        // One of the two must close first.
        let closes = draw.pick(&[
            [Closes::AfterWriting, Closes::AfterWriting],
            [Closes::AfterWriting, Closes::AfterPeer],
            [Closes::AfterPeer, Closes::AfterWriting],
        ]);
        let aborts = draw.chance(5);
        let signing = Signing::new(seed, bug);
        for config in &mut configs {
            let always = matches!(bug, Some(InjectedBug::PhantomMark | InjectedBug::Credulous));
            hosts::speak_ecn(seed, config, always);
            if signing.is_some() {
                hosts::raise_mss(config, SIGNED_MSS);
            }
        }
        let mut passive_end = PassiveEnd::new(
            seed,
            direction::endpoints(hosts::ip(seed), 0),
            &mut configs[1],
            simultaneous,
        );
        if let Some(signing) = signing
            .as_ref()
            .filter(|_| bug != Some(InjectedBug::Unverified))
        {
            passive_end.require(signing.keys());
        }
        if bug == Some(InjectedBug::Overfull) {
            passive_end.narrow();
        }
        hosts::raise_mss(&mut configs[0], passive_end.least_mss());
        let offer = if simultaneous {
            None
        } else {
            passive_end.offer(configs[1].mss())
        };
        let mut marking = Marking::new(seed);
        // Only accurate feedback allows a sender to distrust it.
        let may_starve = marking.starves()
            && !configs.iter().all(|config| {
                config.transport.profile.ecn.mode == EcnMode::Accurate
                    && config.transport.profile.ecn.ecn_doubts
            });
        let doubts = configs
            .each_ref()
            .map(|config| config.transport.profile.ecn.ecn_doubts);
        if bug == Some(InjectedBug::Credulous) {
            marking.mark_all();
            for config in &mut configs {
                config.transport_mut().profile.ecn.ecn_doubts = false;
            }
        }
        let [first, second] = configs;
        let middlebox = Middlebox::new(seed);
        // A cookie encodes the window scale in the timestamp.
        let confuses_windows =
            middlebox.confuses_windows() || (passive_end.may_bake() && middlebox.strips_stamps());
        let has_crumbs = signing.is_some() && middlebox.leaves_no_room_for_keys();
        // Windows misread by 2^14 allow a few bytes per RTT.
        let most = if confuses_windows || may_starve || has_crumbs {
            5_000
        } else {
            2_000_000
        };
        let mut totals = [(&first, &second), (&second, &first)]
            .map(|(sender, receiver)| total(draw, sender, receiver, most));
        if passive_end.may_bake() && closes[0] == Closes::AfterPeer {
            // Behind a cookie whose ACK was lost only the client's own data opens the connection.
            totals[0] = totals[0].max(1);
        }
        let ends = [(0, first), (1, second)].map(|(number, config)| {
            let opens = number == 0 || simultaneous;
            let open_at = Instant::ZERO + draw.span(Duration::ZERO, Duration::from_millis(100));
            let mut application = Application::new(draw, seed, number, totals);
            application.closes = closes[number];
            application.expect_inline(config.transport.profile.segments.urgent_inline);
            if bug == Some(InjectedBug::MovedMark) {
                application.set_urgent(50);
            }
            if aborts && number == 1 {
                let span = draw.span(Duration::from_millis(1), Duration::from_secs(5));
                application.abort_at = Instant::ZERO + span;
            }
            End {
                config,
                open_at: if opens { open_at } else { Instant::FAR_FUTURE },
                tuple: FourTuple {
                    endpoints: direction::endpoints(hosts::ip(seed), number),
                    local_port: 5001,
                    remote_port: 5001,
                },
                offer: offer.filter(|_| number == 0),
                connection: None,
                application,
            }
        });
        Self {
            now: Instant::ZERO,
            ends,
            directions: [Direction::new(seed, 0), Direction::new(seed, 1)],
            audit: Audit::new(confuses_windows, passive_end.has_listener()),
            packet_corruptor: PacketCorruptor::new(bug),
            middlebox,
            marking,
            marks: Default::default(),
            doubts,
            beliefs: Default::default(),
            sender_bug: SenderBug::new(bug),
            strange: Strange::new(seed),
            passive_end,
            signing,
            altered: false,
            bug,
            aborts,
            segments: 0,
            hash: EventHash::default(),
        }
    }

    fn run(&mut self) -> Result<(), String> {
        let mut steps = 0;
        let mut progress = self.progress();
        let mut progress_at = self.now;
        loop {
            let next = self.next();
            if next == Instant::FAR_FUTURE || self.is_over() {
                return Ok(());
            }
            if self.progress() != progress {
                (progress, progress_at) = (self.progress(), self.now);
            }
            if next > progress_at + PATIENCE {
                // An end that was reset by a lost segment may wait indefinitely.
                return if self.is_loose() {
                    Ok(())
                } else {
                    Err("it does not end".into())
                };
            }
            if next > self.now {
                steps = 0;
            }
            steps += 1;
            if steps > STEPS_PER_INSTANT {
                return Err("time stands still: an engine's appointment never passes".into());
            }
            self.now = self.now.max(next);
            self.step()?;
        }
    }

    /// Octets that each end has sent and knows to be received, SYN and FIN included.
    fn progress(&self) -> [u64; 2] {
        self.ends.each_ref().map(|end| {
            end.connection
                .as_ref()
                .map_or(0, |connection| connection.info().snd_una)
        })
    }

    /// Whether both ends are in CLOSED, everything is read and nothing is in flight.
    fn is_over(&self) -> bool {
        let closed = |end: &End| {
            end.connection.as_ref().is_some_and(|connection| {
                connection.state() == State::Closed && connection.readable() == 0
            })
        };
        self.ends.iter().all(closed) && self.directions.iter().all(Direction::is_empty)
    }

    fn next(&self) -> Instant {
        let directions = self.directions.iter().map(Direction::next);
        let ends = self.ends.iter().map(|end| end.next(self.bug));
        let passive_end = self.passive_end.next(self.ends[1].connection.is_some());
        directions
            .chain(ends)
            .min()
            .unwrap_or(passive_end)
            .min(passive_end)
    }

    /// Whether the connection may end before all data is delivered.
    fn is_loose(&self) -> bool {
        self.aborts || self.altered || self.passive_end.may_refuse()
    }

    fn step(&mut self) -> Result<(), String> {
        for from in 0..2 {
            while let Some(segment) = self.directions[from].deliver(self.now)? {
                let segment = self.pass(from, segment);
                for segment in self.packet_corruptor.pass(from, segment) {
                    self.receive(1 - from, segment)?;
                }
            }
        }
        for at in 0..2 {
            let keys = self.keys();
            self.ends[at].keep_appointments(self.now, keys.as_ref());
            let iss = [0, 1].map(|end| self.audit.iss(end).unwrap_or_default());
            if let Some(segment) = self.strange.segment(&self.ends, iss, at) {
                self.receive(at, segment)?;
            }
            if at == 1 {
                self.passive_end.step(self.now)?;
                self.tend_door()?;
            }
            self.act(at)?;
        }
        Ok(())
    }

    /// Keys for both ends; none if that is the injected bug.
    fn keys(&self) -> Option<Signing> {
        let told = self.bug != Some(InjectedBug::Unverified);
        self.signing.clone().filter(|_| told)
    }

    /// Passes a segment of end `from` through the middleboxes.
    ///
    /// A signed segment that they break counts as not arrived, so that the audit detects an end
    /// that accepts it.
    fn pass(&mut self, from: usize, segment: Segment<Bytes>) -> Segment<Bytes> {
        let arrived = self.middlebox.pass(segment.clone());
        let arrived = self.marking.pass(from, arrived);
        let integrity = match &self.signing {
            Some(signing) => signing.judge(&segment, &arrived),
            None => Integrity::Whole,
        };
        self.altered |= integrity != Integrity::Whole;
        if integrity != Integrity::Broken {
            self.audit.arrives(1 - from, &arrived);
        }
        arrived
    }

    /// Sends the listener's segments, and accepts its connections.
    fn tend_door(&mut self) -> Result<(), String> {
        let now = self.now;
        while let Some(segment) = self.passive_end.poll_transmit(now) {
            self.depart(1, segment)?;
        }
        if self.ends[1].connection.is_none() {
            self.ends[1].connection = self.passive_end.accept(now)?;
        }
        Ok(())
    }

    /// Delivers a segment to end `at`.
    fn receive(&mut self, at: usize, segment: Segment<Bytes>) -> Result<(), String> {
        self.hash.absorb(self.now.as_nanos() ^ at as u64);
        let numbers = u64::from(segment.seq.as_u32()) << 32 | u64::from(segment.ack.as_u32());
        self.hash.absorb(numbers);
        let rest = (segment.payload.len() as u64) << 32
            | u64::from(segment.wnd.0) << 16
            | u64::from(segment.flags.bits());
        self.hash.absorb(rest);
        let received = Received {
            at: self.now,
            segment,
        };
        let crossed = self.ends[1].open_at != Instant::FAR_FUTURE;
        self.marks[at].note(&received.segment, at == 1 || crossed);
        let end = &mut self.ends[at];
        if let Some(connection) = &mut end.connection {
            connection.handle_segment(self.now, received);
        } else if end.open_at == Instant::FAR_FUTURE {
            let mut replies = Vec::new();
            end.connection = self
                .passive_end
                .hear(self.now, &end.config, received, &mut replies);
            for segment in replies {
                self.directions[at].send(self.now, segment)?;
            }
            self.passive_end.step(self.now)?;
            self.tend_door()?;
        }
        self.act(at)
    }

    /// Sends a segment of end `at`.
    fn depart(&mut self, at: usize, segment: Segment<Bytes>) -> Result<(), String> {
        self.segments += 1;
        if self.segments > SEGMENTS {
            return Err(format!(
                "more than {SEGMENTS} segments: they do not stop talking"
            ));
        }
        let segment = self.sender_bug.pass(at, segment);
        self.beliefs[at].note(&segment);
        self.audit
            .departs(at, &segment)
            .map_err(|what| format!("end {at}: {what}: {segment:?}"))?;
        self.directions[at].send(self.now, segment)
    }

    /// Runs the application of an end, then sends all that may leave.
    fn act(&mut self, at: usize) -> Result<(), String> {
        let now = self.now;
        let [zero, one] = &mut self.ends;
        let (end, peer) = if at == 0 { (zero, one) } else { (one, zero) };
        let Some(connection) = &mut end.connection else {
            return Ok(());
        };
        end.application
            .act(now, connection, &peer.application.stream)?;
        while let Some(connection) = &mut self.ends[at].connection
            && let Some(segment) = connection.poll_transmit(now)
        {
            self.depart(at, segment)?;
        }
        self.check(at)?;
        self.check_stall(at)
    }

    /// Checks the invariants of an engine after every step.
    fn check(&mut self, at: usize) -> Result<(), String> {
        let Some(connection) = &self.ends[at].connection else {
            return Ok(());
        };
        let info = connection.info();
        if info.pipe > info.flight_size {
            return Err(format!("end {at}: pipe above flight size: {info:?}"));
        }
        let unread = connection.readable();
        // An edge that must not move back is rounded up to the window's unit.
        let most = info.receive_buffer.as_u64().max(1 << 16) + (1 << info.window_scale.1);
        if unread > most {
            return Err(format!("end {at}: {unread} octets unread: {info:?}"));
        }
        let packets = connection.counters().data_segments_sent;
        check_limits(&format!("end {at}"), connection, self.now, self.bug)?;
        self.check_ecn(at, &info, packets)
            .map_err(|what| format!("end {at} {what}"))
    }

    /// Checks the reaction of end `at` to marks, after it has sent `packets` packets.
    fn check_ecn(&mut self, at: usize, info: &Info, packets: u64) -> Result<(), String> {
        if self.directions.iter().any(Direction::harms_ecn) {
            return Ok(());
        }
        if self.marking.is_quiet(at) {
            let forgets = self.ends[1 - at]
                .config
                .transport
                .profile
                .ecn
                .time_wait_forgets_ecn;
            self.marks[at].check(info, packets, forgets)?;
        }
        if self.marking.marks_all(at) && self.doubts[at] {
            self.beliefs[at].check(info)?;
        }
        Ok(())
    }

    /// Checks that a timer runs if data or FIN waits and nothing is in flight.
    ///
    /// No ACK could then release it, and the peer has no reason to send first (RFC 9293 MUST-36).
    fn check_stall(&self, at: usize) -> Result<(), String> {
        let end = &self.ends[at];
        let Some(connection) = &end.connection else {
            return Ok(());
        };
        let info = connection.info();
        let may_send = matches!(
            info.state,
            State::Established
                | State::CloseWait
                | State::FinWait1
                | State::Closing
                | State::LastAck
        );
        let written = 1 + end.application.written + u64::from(end.application.closed);
        let waits = may_send && info.snd_una == info.snd_nxt && info.snd_nxt < written;
        if waits && end.appointment(self.bug) > self.now + LONGEST_PAUSE {
            return Err(format!("end {at} waits for nothing: {info:?}"));
        }
        Ok(())
    }

    fn check_end(&self) -> Result<(), String> {
        if self.is_loose() {
            return self.check_abort();
        }
        for (at, end) in self.ends.iter().enumerate() {
            let Some(connection) = &end.connection else {
                return Err(format!("end {at} never had a connection"));
            };
            if let Some(failure) = connection.failure() {
                return Err(format!("end {at} failed: {failure:?}"));
            }
            if connection.state() != State::Closed {
                return Err(format!("end {at} is left in {:?}", connection.state()));
            }
            let peer = &self.ends[1 - at];
            let marks_arrive = peer.offer.is_none() && !self.middlebox.clears_urgent();
            end.application
                .check_end(&peer.application.stream, marks_arrive)
                .map_err(|what| format!("end {at} {what}"))?;
        }
        Ok(())
    }

    /// Checks that over a reliable path both ends are closed after an abort.
    ///
    /// That the data read is a prefix of the data written is checked on reading.
    fn check_abort(&self) -> Result<(), String> {
        let failure = |at: usize| self.ends[at].connection.as_ref().and_then(|c| c.failure());
        if !self.aborts {
            return Ok(());
        }
        if failure(1).is_some_and(|failure| failure != Failure::Aborted) {
            return Err(format!("the end that aborted failed: {:?}", failure(1)));
        }
        let reliable = self.directions.iter().all(Direction::is_reliable);
        for (at, end) in self.ends.iter().enumerate() {
            if let Some(connection) = &end.connection
                && reliable
                && !self.altered
                && !self.passive_end.may_refuse()
                && connection.state() != State::Closed
            {
                return Err(format!("end {at} is left in {:?}", connection.state()));
            }
        }
        Ok(())
    }

    fn describe(&self) -> String {
        let mut text = format!("at {} ns", self.now.as_nanos());
        for (at, end) in self.ends.iter().enumerate() {
            text += &format!("\nend {at}: {:?}\n  {:?}", end.application, end.config);
            if let Some(connection) = &end.connection {
                text += &format!("\n  {:?}\n  {:?}", connection.info(), connection.counters());
                text += &format!("\n  due {:?}", connection.poll_timeout());
            }
        }
        text + &format!(
            "\nways {:?} {:?} {:?} {:?}\n{:?}",
            self.directions.each_ref().map(Direction::is_reliable),
            self.middlebox,
            self.marking,
            self.signing,
            self.passive_end
        )
    }
}

impl End {
    /// When it acts next, packets aside.
    fn next(&self, bug: Option<InjectedBug>) -> Instant {
        let Some(connection) = &self.connection else {
            return self.open_at;
        };
        let engine = self.appointment(bug);
        engine.min(self.application.next(connection))
    }

    /// When the engine's timer is due.
    fn appointment(&self, bug: Option<InjectedBug>) -> Instant {
        let Some(connection) = &self.connection else {
            return Instant::FAR_FUTURE;
        };
        let established = connection.established_at().is_some();
        let info = connection.info();
        let forgotten = match bug {
            Some(InjectedBug::LostTimer) => established,
            Some(InjectedBug::IdleTimer) => established && info.snd_una == info.snd_nxt,
            _ => false,
        };
        if forgotten {
            Instant::FAR_FUTURE
        } else {
            connection.poll_timeout().unwrap_or(Instant::FAR_FUTURE)
        }
    }

    fn keep_appointments(&mut self, now: Instant, signing: Option<&Signing>) {
        match &mut self.connection {
            None if self.open_at <= now => {
                let mut connection = match signing {
                    Some(signing) => Connection::connect_authenticated(
                        now,
                        &self.config,
                        &self.tuple,
                        signing.keys(),
                    ),
                    None => Connection::connect(now, &self.config),
                };
                if let Some(offer) = &self.offer {
                    connection.offer_fast_open(offer);
                }
                self.connection = Some(Box::new(connection));
            }
            // Early calls do nothing, by contract.
            Some(connection) => connection.handle_timeout(now),
            None => {}
        }
    }
}

/// Bytes an end writes.
fn total(
    draw: &mut Draw,
    sender: &ConnectionConfig,
    receiver: &ConnectionConfig,
    most: u64,
) -> u64 {
    if draw.chance(20) {
        return 0;
    }
    draw.amount(most.min(hosts::most_octets(sender, receiver, 1000)))
}

/// Third parties: segments with numbers that do not fit. They must change nothing, except that an
/// ACK may answer (RFC 5961).
#[derive(Debug)]
struct Strange {
    draw: Draw,
    percent: u64,
}

impl Strange {
    fn new(seed: u64) -> Self {
        let mut draw = Draw::new(seed, "strange");
        let percent = if draw.chance(80) {
            0
        } else {
            draw.between(1, 5)
        };
        Self { draw, percent }
    }

    /// A forged segment for end `at`, sometimes.
    ///
    /// Only while that is synchronized: before, a SYN is accepted from any address.
    fn segment(
        &mut self,
        ends: &[End; 2],
        iss: [SeqNumber; 2],
        at: usize,
    ) -> Option<Segment<Bytes>> {
        if self.percent == 0 || !self.draw.chance(self.percent) {
            return None;
        }
        let connection = ends[at].connection.as_ref()?;
        connection.established_at()?;
        let info = connection.info();
        let rcv_nxt = iss[1 - at] + info.rcv_nxt as u32;
        let snd_nxt = iss[at] + info.snd_nxt as u32;
        let off = self.draw.magnitude(1, 1 << 30) as u32;
        let near = self
            .draw
            .magnitude(0, 2 * info.rcv_wnd.as_u64().min(1 << 29)) as u32;
        let (flags, seq, ack) = match self.draw.between(0, 4) {
            0 => (Flags::RST, rcv_nxt + off, SeqNumber::default()),
            1 => (Flags::RST, rcv_nxt - off, SeqNumber::default()),
            2 => (Flags::SYN, rcv_nxt + near, SeqNumber::default()),
            3 => (Flags::ACK, rcv_nxt, snd_nxt + off),
            _ => (Flags::ACK, rcv_nxt, snd_nxt - (off | 1 << 30)),
        };
        Some(Segment {
            src_port: 5001,
            dst_port: 5001,
            seq,
            ack,
            flags,
            wnd: WireWindow(self.draw.next() as u16),
            ..Segment::default()
        })
    }
}
