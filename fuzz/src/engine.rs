//! Engine driven by arbitrary octets: segments near and far from the expected ones, timers, and
//! arbitrary calls of an application. `Run::check` asserts the invariants after every step.
//!
//! With [`drive_with_octets`] segments carry real octets, and what is read and what leaves is
//! compared with the streams octet by octet.
//!
//! The octets make every choice. So the same driver serves the coverage-guided fuzzer, the corpus
//! in the tests, and a hundred million random segments.

use std::sync::Arc;

use gigatcp_tcp::congestion::{self, SlowStart};
use gigatcp_tcp::events::State;
use gigatcp_tcp::profile::{SETTINGS, SettingValue};
use gigatcp_tcp::{Connection, ConnectionConfig, Profile, Received, TransportConfig};
use gigatcp_units::{Bytes, Duration, Instant};
use gigatcp_wire::{
    Flags, IcmpError, IcmpKind, IpVersion, Options, Payload, Phantom, SackBlock, SackBlocks,
    Segment, SeqNumber, Timestamps, WireWindow, bytes,
};

use crate::octets::Octets;

/// Initial sequence number of the engine, which soon wraps.
const ISS: u32 = u32::MAX - 30_000;

/// Initial sequence number of the peer.
const PEER_ISS: u32 = u32::MAX - 50_000;

/// Maximum segments that the engine may send in answer to one step: a window's worth.
const MOST_AT_ONCE: u32 = 20_000;

/// Counts of one run.
#[derive(Clone, Copy, Default, Debug)]
pub struct Tally {
    /// Segments passed to the engine.
    pub arrived: u64,
    /// Segments sent by the engine.
    pub sent: u64,
    /// Runs that became established.
    pub established: u64,
    /// Octets that the application read.
    pub delivered: u64,
}

/// Data of a stream in which every octet follows from its position.
trait Stream: Payload {
    /// Whether there are octets to compare.
    const IS_REAL: bool;

    /// `len` octets from `offset` on.
    fn at(offset: u64, len: u32) -> Self;

    /// Whether these are the octets from `offset` on.
    fn is_at(&self, offset: u64) -> bool;
}

impl Stream for Phantom {
    const IS_REAL: bool = false;

    fn at(offset: u64, len: u32) -> Self {
        Self { offset, len }
    }

    fn is_at(&self, _offset: u64) -> bool {
        true
    }
}

impl Stream for bytes::Bytes {
    const IS_REAL: bool = true;

    fn at(offset: u64, len: u32) -> Self {
        (offset..offset + u64::from(len)).map(octet_at).collect()
    }

    fn is_at(&self, offset: u64) -> bool {
        (offset..)
            .zip(self)
            .all(|(at, octet)| *octet == octet_at(at))
    }
}

/// Octet at a position of either stream; no two intervals are equal soon.
fn octet_at(offset: u64) -> u8 {
    // Positions wrap as sequence numbers do: data before the start of the stream runs into it.
    let place = u64::from(offset as u32);
    (place.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8
}

/// Drives one engine until the octets are used up or it is closed.
pub fn drive(octets: &[u8]) -> Tally {
    drive_over::<Phantom>(octets)
}

/// Drives one engine with real octets: delivered data must be the sent data.
pub fn drive_with_octets(octets: &[u8]) -> Tally {
    drive_over::<bytes::Bytes>(octets)
}

fn drive_over<P: Stream>(octets: &[u8]) -> Tally {
    let mut run = Run::<P>::new(Octets::new(octets));
    while !run.choices.is_empty() {
        run.step();
        run.check();
        if run.connection.state() == State::Closed && run.choices.one_in(8) {
            break;
        }
    }
    run.tally
}

struct Run<'a, P: Stream> {
    choices: Octets<'a>,
    now: Instant,
    connection: Connection<P>,
    /// Peer's initial sequence number: that of the SYN the engine accepted.
    irs: SeqNumber,
    written: u64,
    read: u64,
    /// End of the data last acknowledged by the engine, as an offset.
    acked: u64,
    /// Octets that a send buffer may take beyond its size. With `truesize` the last packet is
    /// filled.
    beyond: u64,
    tally: Tally,
}

impl<'a, P: Stream> Run<'a, P> {
    fn new(mut choices: Octets<'a>) -> Self {
        let now = Instant::ZERO + Duration::from_secs(1);
        let mut config = config(&mut choices);
        // An urgent octet that is taken out of line is missing in the stream.
        config.transport_mut().profile.segments.urgent_inline |= P::IS_REAL;
        let connection = if choices.one_in(2) {
            Connection::connect(now, &config)
        } else {
            let syn = Segment {
                seq: SeqNumber::new(PEER_ISS),
                flags: Flags::SYN,
                wnd: WireWindow(choices.word()),
                options: options(&mut choices, SeqNumber::new(0), 0),
                ..Segment::default()
            };
            Connection::accept(
                now,
                &config,
                &Received {
                    at: now,
                    segment: syn,
                },
            )
            .expect("it has a SYN")
        };
        let mut run = Self {
            choices,
            now,
            connection,
            irs: SeqNumber::new(PEER_ISS),
            written: 0,
            read: 0,
            acked: 0,
            beyond: u64::from(config.transport.profile.buffers.truesize) << 16,
            tally: Tally::default(),
        };
        run.drain();
        // Most runs complete the handshake, as most code is behind it.
        if !run.choices.one_in(8) {
            run.shake_hands();
        }
        run
    }

    /// Completes the peer's part of the handshake correctly.
    fn shake_hands(&mut self) {
        let flags = match self.connection.state() {
            State::SynSent => Flags::SYN | Flags::ACK,
            _ => Flags::ACK,
        };
        let syn = flags.contains(Flags::SYN);
        let segment = Segment {
            seq: self.rcv(u64::from(!syn)),
            ack: SeqNumber::new(ISS) + 1,
            flags,
            wnd: WireWindow(self.choices.word()),
            options: options(&mut self.choices, SeqNumber::new(ISS), 0),
            ..Segment::default()
        };
        self.arrive(segment);
        self.tally.established += u64::from(self.connection.established_at().is_some());
    }

    fn step(&mut self) {
        match self.choices.below(32) {
            0..=13 => self.any_segment(),
            14..=17 => self.good_ack(),
            18..=21 => self.good_data(),
            22..=24 => {
                if let Some(due) = self.connection.poll_timeout() {
                    self.now = self.now.max(due);
                }
                self.connection.handle_timeout(self.now);
            }
            25 => {
                let wait = self.choices.pick(&[1, 50, 500, 10_000, 10_000_000]);
                self.now += Duration::from_millis(wait);
                self.connection.handle_timeout(self.now);
            }
            26 | 27 => {
                let len = self.choices.below(1 << 17);
                let offset = self.written;
                let taken = self.connection.write(P::at(offset, len));
                self.written += taken.unwrap_or(0) as u64;
            }
            28 | 29 => self.read(),
            30 if self.choices.one_in(8) => self.connection.shutdown(self.now),
            31 if self.choices.one_in(64) => self.connection.abort(self.now),
            31 => self.icmp(),
            _ => {}
        }
        self.drain();
    }

    /// Delivers an ICMP error that quotes a segment in flight, or any other.
    fn icmp(&mut self) {
        let una = self.snd(self.connection.info().snd_una);
        let seq = self.near(una);
        let (kind, code) = (self.choices.octet() % 16, self.choices.octet() % 16);
        let mtu = self.choices.pick(&[0, 68, 296, 576, 1280, 1492, 65_535]);
        if let Some(kind) = IcmpKind::from_v4(kind, code, mtu) {
            self.connection
                .handle_icmp(self.now, IcmpError { kind, seq });
        }
    }

    fn read(&mut self) {
        let most = self.choices.below(1 << 17) as usize;
        if let Some(data) = self.connection.read(self.now, most) {
            assert!(data.is_at(self.read), "other octets at {}", self.read);
            self.read += data.len() as u64;
            self.tally.delivered += data.len() as u64;
        }
    }

    /// A number that is mostly near the engine's expectation.
    fn near(&mut self, base: SeqNumber) -> SeqNumber {
        let distance = match self.choices.below(8) {
            0..=3 => i32::from(self.choices.octet() as i8) / 32,
            4 | 5 => i32::from(self.choices.octet() as i8) * 1000,
            6 => i32::from(self.choices.word() as i16),
            _ => self.choices.long() as i32,
        };
        base + distance as u32
    }

    fn snd(&self, offset: u64) -> SeqNumber {
        SeqNumber::new(ISS) + offset as u32
    }

    fn rcv(&self, offset: u64) -> SeqNumber {
        self.irs + offset as u32
    }

    fn any_segment(&mut self) {
        let info = self.connection.info();
        let seq = self.near(self.rcv(info.rcv_nxt));
        let base = self.choices.pick(&[info.snd_una, info.snd_nxt]);
        let ack = self.near(self.snd(base));
        let usual = [
            Flags::ACK,
            Flags::ACK,
            Flags::ACK | Flags::PSH,
            Flags::ACK | Flags::FIN,
        ];
        let flags = match self.choices.below(8) {
            0..=5 => self.choices.pick(&usual),
            6 => self
                .choices
                .pick(&[Flags::SYN, Flags::RST, Flags::SYN | Flags::ACK]),
            _ => Flags::from_bits(self.choices.word() & 0x1ff),
        };
        let len = self
            .choices
            .pick(&[0, 0, 0, 1, 100, 1000, 1460, 3000, 60_000]);
        let una = self.snd(info.snd_una);
        let options = options(&mut self.choices, una, info.snd_nxt - info.snd_una);
        let payload = self.peer_data(seq, flags, len);
        let segment = Segment {
            seq,
            ack,
            flags,
            wnd: WireWindow(self.choices.pick(&[0, 1, 500, 65_535])),
            urgent: self.choices.word(),
            segment_size: self.choices.pick(&[0, 0, 1000, 1460]),
            options,
            payload,
            ..Segment::default()
        };
        self.arrive(segment);
    }

    /// Sends an acknowledgment that any receiver could send.
    fn good_ack(&mut self) {
        let info = self.connection.info();
        let flight = (info.snd_nxt - info.snd_una) as u32;
        let una = self.snd(info.snd_una);
        let part = if self.choices.one_in(3) {
            flight
        } else {
            self.choices.below(flight + 1)
        };
        let segment = Segment {
            seq: self.rcv(info.rcv_nxt),
            ack: self.snd(info.snd_una + u64::from(part)),
            flags: Flags::ACK,
            wnd: WireWindow(self.choices.pick(&[0, 2000, 20_000, 65_535, 65_535])),
            options: options(&mut self.choices, una, u64::from(flight)),
            ..Segment::default()
        };
        self.arrive(segment);
    }

    /// Sends data in order, or just beyond a gap.
    fn good_data(&mut self) {
        let info = self.connection.info();
        let ahead = self.choices.pick(&[0, 0, 0, 1, 1000, 5000]);
        let seq = self.rcv(info.rcv_nxt + ahead);
        let len = self.choices.pick(&[1, 536, 1000, 1460, 20_000]);
        let payload = self.peer_data(seq, Flags::ACK, len);
        let segment = Segment {
            seq,
            ack: self.snd(info.snd_una),
            flags: Flags::ACK,
            wnd: WireWindow(65_535),
            segment_size: 1000,
            payload,
            ..Segment::default()
        };
        self.arrive(segment);
    }

    /// Payload of a peer's segment at `seq`. In SYN-SENT a SYN begins its stream.
    fn peer_data(&self, seq: SeqNumber, flags: Flags, len: u32) -> P {
        let has_syn = flags.contains(Flags::SYN);
        let offset = match (has_syn, self.connection.state()) {
            (true, State::SynSent) => 0,
            (syn, _) => (seq.distance_from(self.irs + 1) as u32).wrapping_add(u32::from(syn)),
        };
        P::at(u64::from(offset), len)
    }

    fn arrive(&mut self, segment: Segment<P>) {
        self.now += Duration::from_micros(u64::from(self.choices.octet()));
        self.tally.arrived += 1;
        let before = self.connection.state();
        let seq = segment.seq;
        let received = Received {
            at: self.now,
            segment,
        };
        self.connection.handle_segment(self.now, received);
        if before == State::SynSent && self.connection.info().rcv_nxt > 0 {
            self.irs = seq;
        }
        self.drain();
    }

    fn drain(&mut self) {
        let mut count = 0;
        while let Some(segment) = self.connection.poll_transmit(self.now) {
            count += 1;
            assert!(count < MOST_AT_ONCE, "an engine that never stops talking");
            self.note_sent(&segment);
        }
        self.tally.sent += u64::from(count);
    }

    /// Checks rules for sent segments that do not depend on the peer.
    fn note_sent(&mut self, segment: &Segment<P>) {
        assert!(
            segment.options.wire_len() <= 40,
            "options that fit no header"
        );
        let info = self.connection.info();
        if segment.flags.contains(Flags::RST) {
            return;
        }
        let first = segment.seq + u32::from(segment.flags.contains(Flags::SYN));
        let una = info.snd_una.max(1);
        let offset = una as i64 + i64::from(first.distance_from(self.snd(una))) - 1;
        let is_ours = offset >= 0 && segment.payload.is_at(offset as u64);
        assert!(
            is_ours || segment.payload.is_empty(),
            "other octets left at {offset}"
        );
        let end = segment.seq_end().distance_from(self.snd(info.snd_nxt));
        assert!(end <= 0, "sent beyond SND.NXT by {end}");
        if segment.flags.contains(Flags::ACK) && self.connection.state() != State::SynSent {
            let moved = segment.ack.distance_from(self.rcv(self.acked));
            assert!(moved >= 0, "the acknowledgment went back by {moved}");
            self.acked += moved as u64;
        }
    }

    /// Asserts the invariants.
    fn check(&mut self) {
        let info = self.connection.info();
        assert!(info.snd_una <= info.snd_nxt, "{info:?}");
        assert!(info.pipe <= info.flight_size, "{info:?}");
        assert!(
            info.flight_size.as_u64() == info.snd_nxt - info.snd_una,
            "{info:?}"
        );
        assert!(
            info.snd_nxt <= self.written + 2,
            "sent data that was not written: {info:?}"
        );
        let held = info.snd_una + info.send_buffer.as_u64();
        let most = match self.beyond {
            0 => held,
            // The last packet is filled even if its beginning has left (Linux `tcp_sendmsg`).
            beyond => held.max(info.snd_nxt) + beyond,
        };
        assert!(
            self.written <= most + 2,
            "the send buffer took more than it holds: {info:?}"
        );
        let unread = self.connection.readable();
        // An edge that must not move back is rounded up to the window's unit.
        let unit = 1 << info.window_scale.1;
        let most = info.receive_buffer.as_u64().max(1 << 16) + unit;
        assert!(unread <= most, "{unread} octets unread: {info:?}");
        assert!(info.rto >= Duration::from_micros(1), "{info:?}");
        assert!(info.cwnd.as_u64() < 1 << 60, "{info:?}");
        let due = self.connection.poll_timeout();
        if info.snd_nxt > info.snd_una && self.connection.state() != State::Closed {
            assert!(due.is_some(), "in flight and no timer: {info:?}");
        }
    }
}

/// Options a segment may carry, near the data in flight from `una` on.
fn options(choices: &mut Octets<'_>, una: SeqNumber, flight: u64) -> Options {
    let mut options = Options::default();
    let which = choices.octet();
    if which & 1 != 0 {
        let val = choices.long();
        let ecr = if which & 2 != 0 { choices.long() } else { val };
        options.timestamps = Some(Timestamps { val, ecr });
    }
    if which & 4 != 0 {
        let mut blocks = SackBlocks::default();
        for _ in 0..choices.below(5) {
            let span = (flight as u32).saturating_add(2000);
            let left = una + choices.below(span) - 500;
            let right = left + choices.below(3000);
            blocks.try_push(SackBlock { left, right });
        }
        options.sack = blocks;
    }
    if which & 0x18 == 0x18 {
        options.mss = Some(choices.word());
        options.window_scale = Some(choices.octet());
        options.sack_permitted = which & 0x20 != 0;
    }
    options
}

/// Configuration of an engine of any profile with any switches.
fn config(choices: &mut Octets<'_>) -> ConnectionConfig {
    let mut profile = choices.pick(Profile::ALL);
    for setting in SETTINGS {
        if choices.one_in(8) {
            let value = SettingValue::Switch(choices.one_in(2));
            // Settings that are not switches keep their values.
            let _ = profile.try_set(setting.name, value);
        }
    }
    let entry = usize::from(choices.octet()) % congestion::REGISTRY.len();
    let ip = choices.pick(&[IpVersion::V4, IpVersion::V6]);
    let mss: u32 = choices.pick(&[28, 536, 1000, 1460, 8960, 65_495]);
    let transport = TransportConfig {
        profile,
        mtu: mss + ip.header_len() + 20,
        congestion: Arc::new(&congestion::REGISTRY[entry]),
        slow_start: SlowStart::Standard,
        send_buffer: buffer(choices),
        receive_buffer: buffer(choices),
        ..TransportConfig::default()
    };
    ConnectionConfig {
        transport: transport.into(),
        ip,
        local_port: 5001,
        remote_port: 5001,
        iss: SeqNumber::new(ISS),
        timestamp_offset: choices.long(),
    }
}

/// A requested buffer, or `None`, which leaves it to the profile.
fn buffer(choices: &mut Octets<'_>) -> Option<Bytes> {
    let asked = choices.pick(&[0, 1, 3000, 100_000, 4 << 20]);
    (asked > 0).then(|| Bytes::new(asked))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::octets::Random;

    #[test]
    fn random_choices_take_every_control_of_the_registry() {
        let mut random = Random(3);
        let mut octets = [0; 400];
        let mut drawn = std::collections::BTreeSet::new();
        for _ in 0..1000 {
            random.fill(&mut octets);
            let config = config(&mut Octets::new(&octets));
            drawn.insert(config.transport.congestion.name().to_owned());
        }
        for entry in congestion::REGISTRY {
            assert!(drawn.contains(entry.name), "{}", entry.name);
        }
    }
}
