//! Two engines face to face, over real packets with real octets.
//!
//! What the simulator's worlds do not do: data in both directions at once,
//! slow readers and closed windows, writes of any size, half-closed
//! connections, simultaneous open and close, aborts, strange segments from
//! third parties, and everything up to CLOSED on both sides.
//!
//! The driver here shares no code with the simulator's hosts; it knows the
//! engine's contract (`gigatcp_tcp::connection`) and nothing else.

use gigatcp_events::{EventHash, State};
use gigatcp_tcp::listener::{self, Heard};
use gigatcp_tcp::{Config, Connection, Failure, Received};
use gigatcp_units::{Duration, Instant};
use gigatcp_wire::bytes::Bytes;
use gigatcp_wire::{Flags, Segment, SeqNumber, WireWindow, fill_phantom, verify_phantom};

use super::audit::Audit;
use super::draw::Draw;
use super::dumbbell::check_limits;
use super::hosts;
use super::liar::Liar;
use super::meddler::Meddler;
use super::middlebox::Middlebox;
use super::plant::{self, Plant};
use super::way::Way;

/// Virtual time after which a conversation that has not ended has failed.
const PATIENCE: Duration = Duration::from_secs(50_000);

/// Longer than any timer that lets data go: `rto_max` is at most 120 s. Those
/// for silent peers are drawn longer.
const LONGEST_PAUSE: Duration = Duration::from_secs(130);

/// The most segments a conversation may need.
const SEGMENTS: u64 = 300_000;

/// The most steps at one instant: an engine that wants more spins.
const STEPS_PER_INSTANT: u32 = 2_000;

/// Distance between the two streams' contents.
const CONTENTS_APART: u64 = 1 << 40;

/// When an application closes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Closes {
    /// When everything is written.
    AfterWriting,
    /// When everything is written and the peer has closed.
    AfterPeer,
}

/// An application: writes so much, reads everything, at its own pace.
#[derive(Debug)]
struct Application {
    /// Where its stream's contents begin.
    contents: u64,
    total: u64,
    written: u64,
    write_most: u64,
    write_every: Duration,
    next_write: Instant,
    read: u64,
    read_most: usize,
    read_every: Duration,
    next_read: Instant,
    closes: Closes,
    closed: bool,
    abort_at: Instant,
}

/// One end.
#[derive(Debug)]
struct End {
    config: Config,
    /// When it opens; a listener never does.
    open_at: Instant,
    connection: Option<Box<Connection<Bytes>>>,
    application: Application,
}

/// The conversation.
struct Pair {
    now: Instant,
    ends: [End; 2],
    ways: [Way; 2],
    audit: Audit,
    meddler: Meddler,
    middlebox: Middlebox,
    liar: Liar,
    strange: Strange,
    plant: Option<Plant>,
    aborts: bool,
    segments: u64,
    hash: EventHash,
}

/// Holds the conversation of `seed`; returns the hash of its events.
pub fn run(seed: u64, plant: Option<Plant>) -> Result<u64, String> {
    let mut pair = Pair::new(seed, plant);
    let result = pair.run().and_then(|()| pair.check_end());
    result.map_err(|what| format!("{what}\n{}", pair.describe()))?;
    Ok(pair.hash.finish())
}

impl Pair {
    fn new(seed: u64, plant: Option<Plant>) -> Self {
        let draw = &mut Draw::new(seed, "pair");
        let mut configs = [0, 1].map(|_| hosts::config(draw, hosts::ip(seed)));
        configs[0].congestion = plant::control(plant, configs[0].congestion);
        let simultaneous = draw.chance(15);
        // One of the two must close first.
        let closes = draw.pick(&[
            [Closes::AfterWriting, Closes::AfterWriting],
            [Closes::AfterWriting, Closes::AfterPeer],
            [Closes::AfterPeer, Closes::AfterWriting],
        ]);
        let aborts = draw.chance(5);
        let [first, second] = configs;
        let middlebox = Middlebox::new(seed);
        // Windows misread by 2^14 let a few octets through a round trip.
        let most = if middlebox.confuses_windows() {
            5_000
        } else {
            2_000_000
        };
        let totals = [(&first, &second), (&second, &first)]
            .map(|(sender, receiver)| total(draw, sender, receiver, most));
        let ends = [(0, first), (1, second)].map(|(number, config)| {
            let opens = number == 0 || simultaneous;
            let open_at = Instant::ZERO + draw.span(Duration::ZERO, Duration::from_millis(100));
            let mut application = Application::new(draw, number, totals);
            application.closes = closes[number];
            if aborts && number == 1 {
                let span = draw.span(Duration::from_millis(1), Duration::from_secs(5));
                application.abort_at = Instant::ZERO + span;
            }
            End {
                config,
                open_at: if opens { open_at } else { Instant::FAR_FUTURE },
                connection: None,
                application,
            }
        });
        Self {
            now: Instant::ZERO,
            ends,
            ways: [Way::new(seed, 0), Way::new(seed, 1)],
            audit: Audit::new(middlebox.confuses_windows()),
            meddler: Meddler::new(plant),
            middlebox,
            liar: Liar::new(plant),
            strange: Strange::new(seed),
            plant,
            aborts,
            segments: 0,
            hash: EventHash::default(),
        }
    }

    fn run(&mut self) -> Result<(), String> {
        let mut steps = 0;
        loop {
            let next = self.next();
            if next == Instant::FAR_FUTURE || self.is_over() {
                return Ok(());
            }
            if next > Instant::ZERO + PATIENCE {
                // Who was reset by a lost segment may wait for ever.
                return if self.aborts {
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

    /// Both are in CLOSED, everything is read and nothing is under way.
    fn is_over(&self) -> bool {
        let closed = |end: &End| {
            end.connection.as_ref().is_some_and(|connection| {
                connection.state() == State::Closed && connection.readable() == 0
            })
        };
        self.ends.iter().all(closed) && self.ways.iter().all(Way::is_empty)
    }

    fn next(&self) -> Instant {
        let ways = self.ways.iter().map(Way::next);
        let ends = self.ends.iter().map(|end| end.next(self.plant));
        ways.chain(ends).min().unwrap_or(Instant::FAR_FUTURE)
    }

    fn step(&mut self) -> Result<(), String> {
        for from in 0..2 {
            while let Some(segment) = self.ways[from].deliver(self.now)? {
                let segment = self.middlebox.pass(segment);
                self.audit.arrives(1 - from, &segment);
                for segment in self.meddler.pass(from, segment) {
                    self.receive(1 - from, segment)?;
                }
            }
        }
        for at in 0..2 {
            self.ends[at].keep_appointments(self.now);
            if let Some(segment) = self.strange.segment(&self.ends, at) {
                self.receive(at, segment)?;
            }
            self.act(at)?;
        }
        Ok(())
    }

    /// A segment reaches end `at`.
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
        let end = &mut self.ends[at];
        if let Some(connection) = &mut end.connection {
            connection.handle_segment(self.now, received);
        } else if end.open_at == Instant::FAR_FUTURE {
            match listener::handle_segment(self.now, &end.config, &received) {
                Heard::Opened(connection) => end.connection = Some(connection),
                Heard::Reset(segment) => self.ways[at].send(self.now, segment)?,
                Heard::Ignored => {}
            }
        }
        self.act(at)
    }

    /// The application acts, then everything that may leave leaves.
    fn act(&mut self, at: usize) -> Result<(), String> {
        let now = self.now;
        let contents = self.ends[1 - at].application.contents;
        let end = &mut self.ends[at];
        let Some(connection) = &mut end.connection else {
            return Ok(());
        };
        end.application.act(now, connection, contents)?;
        while let Some(segment) = connection.poll_transmit(now) {
            self.segments += 1;
            if self.segments > SEGMENTS {
                return Err(format!(
                    "more than {SEGMENTS} segments: they do not stop talking"
                ));
            }
            let segment = self.liar.tell(at, segment);
            self.audit
                .departs(at, &segment)
                .map_err(|what| format!("end {at}: {what}: {segment:?}"))?;
            self.ways[at].send(now, segment)?;
        }
        let info = connection.info();
        if info.pipe > info.flight_size {
            return Err(format!("end {at}: pipe above flight size: {info:?}"));
        }
        check_limits(&format!("end {at}"), connection, now, self.plant)?;
        self.check_stall(at)
    }

    /// Where data or FIN waits and nothing is in flight whose acknowledgment
    /// could let it go, a timer must: the peer has no reason to speak first
    /// (RFC 9293 MUST-36).
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
        if waits && end.appointment(self.plant) > self.now + LONGEST_PAUSE {
            return Err(format!("end {at} waits for nothing: {info:?}"));
        }
        Ok(())
    }

    fn check_end(&self) -> Result<(), String> {
        if self.aborts {
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
            let peer = &self.ends[1 - at].application;
            if peer.written != peer.total || end.application.read != peer.total {
                return Err(format!(
                    "end {at} read {} of {} octets, {} written",
                    end.application.read, peer.total, peer.written
                ));
            }
        }
        Ok(())
    }

    /// After an abort what was read is a beginning of what was written (that
    /// is checked on reading); over a reliable path both ends are closed.
    fn check_abort(&self) -> Result<(), String> {
        let failure = |at: usize| self.ends[at].connection.as_ref().and_then(|c| c.failure());
        if failure(1).is_some_and(|failure| failure != Failure::Aborted) {
            return Err(format!("the end that aborted failed: {:?}", failure(1)));
        }
        let reliable = self.ways.iter().all(Way::is_reliable);
        for (at, end) in self.ends.iter().enumerate() {
            if let Some(connection) = &end.connection
                && reliable
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
            "\nways {:?} {:?}",
            self.ways.each_ref().map(Way::is_reliable),
            self.middlebox
        )
    }
}

impl End {
    /// When it acts next, packets aside.
    fn next(&self, plant: Option<Plant>) -> Instant {
        let Some(connection) = &self.connection else {
            return self.open_at;
        };
        let engine = self.appointment(plant);
        engine.min(self.application.next(connection))
    }

    /// When the engine wants to be called.
    fn appointment(&self, plant: Option<Plant>) -> Instant {
        let Some(connection) = &self.connection else {
            return Instant::FAR_FUTURE;
        };
        let established = connection.established_at().is_some();
        let info = connection.info();
        let forgotten = match plant {
            Some(Plant::LostTimer) => established,
            Some(Plant::IdleTimer) => established && info.snd_una == info.snd_nxt,
            _ => false,
        };
        if forgotten {
            Instant::FAR_FUTURE
        } else {
            connection.poll_timeout()
        }
    }

    fn keep_appointments(&mut self, now: Instant) {
        match &mut self.connection {
            None if self.open_at <= now => {
                self.connection = Some(Box::new(Connection::connect(now, &self.config)));
            }
            // Early calls do nothing: so the contract says.
            Some(connection) => connection.handle_timeout(now),
            None => {}
        }
    }
}

impl Application {
    fn new(draw: &mut Draw, number: usize, totals: [u64; 2]) -> Self {
        // Slow applications move everything in at most a few hundred calls.
        let least = |total| total / 300 + 1;
        let (total, peer_total) = (totals[number], totals[1 - number]);
        let pause = |draw: &mut Draw| {
            if draw.chance(60) {
                Duration::ZERO
            } else {
                draw.span(Duration::from_micros(1), Duration::from_millis(300))
            }
        };
        Self {
            contents: number as u64 * CONTENTS_APART,
            total,
            written: 0,
            write_most: draw.magnitude(least(total), 1 << 20),
            write_every: pause(draw),
            next_write: Instant::ZERO,
            read: 0,
            read_most: draw.magnitude(least(peer_total), 1 << 20) as usize,
            read_every: pause(draw),
            next_read: Instant::ZERO,
            closes: Closes::AfterWriting,
            closed: false,
            abort_at: Instant::FAR_FUTURE,
        }
    }

    fn next(&self, connection: &Connection<Bytes>) -> Instant {
        let mut next = self.abort_at;
        let may_write = connection.state() != State::Closed && !self.closed;
        if may_write && self.written < self.total && connection.send_space() > 0 {
            next = next.min(self.next_write);
        }
        if connection.readable() > 0 {
            next = next.min(self.next_read);
        }
        next
    }

    fn act(
        &mut self,
        now: Instant,
        connection: &mut Connection<Bytes>,
        peer_contents: u64,
    ) -> Result<(), String> {
        if self.abort_at <= now {
            self.abort_at = Instant::FAR_FUTURE;
            self.closed = true;
            connection.abort(now);
        }
        self.read(now, connection, peer_contents)?;
        self.write(now, connection);
        let open = connection.established_at().is_some();
        let peer_is_done = self.closes == Closes::AfterWriting || connection.is_finished_reading();
        if open && !self.closed && self.written == self.total && peer_is_done {
            self.closed = true;
            connection.close(now);
        }
        Ok(())
    }

    fn read(
        &mut self,
        now: Instant,
        connection: &mut Connection<Bytes>,
        peer_contents: u64,
    ) -> Result<(), String> {
        while self.next_read <= now
            && let Some(octets) = connection.read(now, self.read_most)
        {
            verify_phantom(peer_contents + self.read, &octets)
                .map_err(|wrong| format!("read what was not written: {wrong}"))?;
            self.read += octets.len() as u64;
            self.next_read = now + self.read_every;
        }
        Ok(())
    }

    fn write(&mut self, now: Instant, connection: &mut Connection<Bytes>) {
        while self.next_write <= now && self.written < self.total && !self.closed {
            let most = self.write_most.min(self.total - self.written);
            let mut octets = vec![0; most.min(connection.send_space()) as usize];
            fill_phantom(self.contents + self.written, &mut octets);
            let taken = connection.write(octets.into());
            if taken == 0 {
                return;
            }
            self.written += taken as u64;
            self.next_write = now + self.write_every;
        }
    }
}

/// How much an end writes.
fn total(draw: &mut Draw, sender: &Config, receiver: &Config, most: u64) -> u64 {
    if draw.chance(20) {
        return 0;
    }
    let most = most.min(hosts::most_octets(sender, receiver, 1000));
    draw.amount(most)
}

/// Third parties: segments with numbers that do not fit. They must change
/// nothing but for an acknowledgment in answer (RFC 5961).
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

    /// A strange segment for end `at`, now and then. Only while it is
    /// synchronized: before, a SYN is welcome from anybody.
    fn segment(&mut self, ends: &[End; 2], at: usize) -> Option<Segment<Bytes>> {
        if self.percent == 0 || !self.draw.chance(self.percent) {
            return None;
        }
        let connection = ends[at].connection.as_ref()?;
        connection.established_at()?;
        let info = connection.info();
        let rcv_nxt = ends[1 - at].config.iss + info.rcv_nxt as u32;
        let snd_nxt = ends[at].config.iss + info.snd_nxt as u32;
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
