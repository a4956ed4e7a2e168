//! Markers and stamps that nuttcp writes into data, and a UDP receiver's counts.
//!
//! A UDP transfer begins with the datagrams `BOD0` and, 250 ms later, `BOD1`: the
//! first may be lost while an address is resolved. It ends with `EOD0`, and with
//! `EOD1` to `EOD4` every half second. Every datagram longer than four bytes is data:
//!
//! ```text
//! bytes 8..16    seconds and microseconds of the sender's clock, network order (-o)
//! bytes 24..32   UDP: bytes sent so far, this datagram included, host order (-i)
//! bytes 24..28   TCP: retransmissions so far, host order
//! bytes 28..32   TCP: in the first buffer a mark, later the congestion window in KiB
//! ```
//!
//! A receiver recognizes the other byte order by a first count above 2^32, and in TCP by the mark.
//! The count of bytes replaces a sequence number: losses are bytes sent less bytes received, and a
//! duplicate hides a loss.
//!
//! Jitter here is |D| of RFC 1889, with the sender's spacing computed from its rate, and not the
//! smoothed J: minimum, mean and maximum of the deviations from the spacing.

use alloc::vec::Vec;

use gigatcp_units::{Bytes, Duration, Instant};

use super::greeting::Agreed;
use super::output::{Loss, Spread};
use super::parameters::{Parameters, Wanted};

/// Bytes of a marker; longer datagrams are data.
pub const MARKER: usize = 4;

/// Time between `BOD0` and `BOD1`.
pub const BEGIN_PAUSE: Duration = Duration::from_millis(250);

/// Time between successive `EOD` markers.
pub const END_PAUSE: Duration = Duration::from_millis(500);

/// Markers that end a transfer.
pub const END_MARKERS: u8 = 5;

/// The byte that tells a sending client to stop, as urgent data.
pub const ABORT: u8 = b'A';

/// First byte of the sender's clock.
const CLOCK: usize = 8;

/// First byte of the counts.
const COUNT: usize = 24;

/// A count above this is in the other byte order.
const MAX_FIRST_COUNT: u64 = 1 << 32;

/// Mark of a TCP transmitter that counts its connection's retransmissions.
const CONNECTION_MARK: u32 = u32::from_be_bytes(*b"RTRN");

/// Mark of a TCP transmitter that counts the host's retransmissions.
const HOST_MARK: u32 = u32::from_be_bytes(*b"HRTR");

/// A datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Datagram {
    /// Begin of data, 0 or 1.
    Begin(u8),
    /// End of data, 0 to 4.
    End(u8),
    /// Data.
    Data(Stamp),
    /// Too short for data, and no known marker.
    Unknown,
}

/// The fields that a datagram's sender wrote into it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Stamp {
    /// Time since 1970 on the sender's clock.
    pub sent: Option<Duration>,
    /// Bytes sent so far, this datagram included, in the receiver's byte order.
    pub count: Option<u64>,
}

impl Datagram {
    /// Reads a datagram.
    pub fn read(bytes: &[u8]) -> Self {
        if bytes.len() > MARKER {
            return Self::Data(Stamp::read(bytes));
        }
        let digit = |most: u8| {
            let digit = bytes.get(3)?.checked_sub(b'0')?;
            (digit <= most).then_some(digit)
        };
        let kind = bytes.get(..3);
        match kind {
            Some(b"BOD") => digit(1).map_or(Self::Unknown, Self::Begin),
            Some(b"EOD") => digit(END_MARKERS - 1).map_or(Self::Unknown, Self::End),
            _ => Self::Unknown,
        }
    }

    /// Bytes of a marker; `None` for data.
    pub fn marker(self) -> Option<[u8; MARKER]> {
        match self {
            Self::Begin(number) => Some([b'B', b'O', b'D', b'0' + number.min(1)]),
            Self::End(number) => Some([b'E', b'O', b'D', b'0' + number.min(END_MARKERS - 1)]),
            Self::Data(_) | Self::Unknown => None,
        }
    }
}

impl Stamp {
    fn read(bytes: &[u8]) -> Self {
        let word = |at: usize| {
            let word: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
            Some(u64::from(u32::from_be_bytes(word)))
        };
        let sent = word(CLOCK)
            .zip(word(CLOCK + 4))
            .map(|(seconds, micros)| Duration::from_secs(seconds) + Duration::from_micros(micros));
        let count = bytes
            .get(COUNT..COUNT + 8)
            .and_then(|count| count.try_into().ok());
        Self {
            sent,
            count: count.map(u64::from_le_bytes),
        }
    }

    /// Writes the known fields into a buffer, as far as it reaches.
    ///
    /// Counts are written in little-endian order, which nearly every host has.
    pub fn write(&self, buffer: &mut [u8]) {
        if let (Some(sent), Some(to)) = (self.sent, buffer.get_mut(CLOCK..CLOCK + 8)) {
            let micros = sent.as_micros();
            to[..4].copy_from_slice(&((micros / 1_000_000) as u32).to_be_bytes());
            to[4..].copy_from_slice(&((micros % 1_000_000) as u32).to_be_bytes());
        }
        if let (Some(count), Some(to)) = (self.count, buffer.get_mut(COUNT..COUNT + 8)) {
            to.copy_from_slice(&count.to_le_bytes());
        }
    }
}

/// The fields that a TCP transmitter writes into its buffers.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct StreamStamp {
    /// Retransmissions so far.
    pub retransmissions: u32,
    /// Congestion window in KiB; `None` leaves the mark in its place.
    pub window_kib: Option<u32>,
}

/// The kind of a TCP transmitter's stamps, from the mark in its first buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StreamMark {
    /// Whether the counts are those of all connections of its host.
    pub host_wide: bool,
    /// Whether its counts are in big-endian order.
    pub big_endian: bool,
}

impl StreamMark {
    /// Reads the mark in the first buffer; `None` if the transmitter does not count.
    pub fn read(first: &[u8]) -> Option<Self> {
        let mark: [u8; 4] = first.get(COUNT + 4..COUNT + 8)?.try_into().ok()?;
        let (little, big) = (u32::from_le_bytes(mark), u32::from_be_bytes(mark));
        let marks = [CONNECTION_MARK, HOST_MARK];
        let big_endian = !marks.contains(&little);
        let mark = if big_endian { big } else { little };
        marks.contains(&mark).then_some(Self {
            host_wide: mark == HOST_MARK,
            big_endian,
        })
    }

    /// Writes the mark into the first buffer, with no retransmissions.
    pub fn write(self, first: &mut [u8]) {
        let mark = if self.host_wide {
            HOST_MARK
        } else {
            CONNECTION_MARK
        };
        if let Some(to) = first.get_mut(COUNT..COUNT + 8) {
            to[..4].fill(0);
            to[4..].copy_from_slice(&self.bytes(mark));
        }
    }

    /// Reads the stamp of a later buffer.
    pub fn stamp(self, buffer: &[u8]) -> Option<StreamStamp> {
        let word = |at: usize| {
            let word: [u8; 4] = buffer.get(at..at + 4)?.try_into().ok()?;
            Some(match self.big_endian {
                true => u32::from_be_bytes(word),
                false => u32::from_le_bytes(word),
            })
        };
        let window = word(COUNT + 4)?;
        let is_mark = window == CONNECTION_MARK || window == HOST_MARK;
        Some(StreamStamp {
            retransmissions: word(COUNT)?,
            window_kib: (!is_mark).then_some(window),
        })
    }

    /// Writes the stamp of a later buffer.
    pub fn write_stamp(self, stamp: StreamStamp, buffer: &mut [u8]) {
        if let Some(to) = buffer.get_mut(COUNT..COUNT + 8) {
            to[..4].copy_from_slice(&self.bytes(stamp.retransmissions));
            if let Some(window) = stamp.window_kib {
                to[4..].copy_from_slice(&self.bytes(window));
            }
        }
    }

    fn bytes(self, word: u32) -> [u8; 4] {
        match self.big_endian {
            true => word.to_be_bytes(),
            false => word.to_le_bytes(),
        }
    }
}

/// Statistics of a time: number, sum, minimum and maximum.
#[derive(Clone, Copy, Default, Debug)]
struct Samples {
    count: u64,
    sum_ns: i128,
    min_ns: i64,
    max_ns: i64,
}

impl Samples {
    fn take(&mut self, ns: i64) {
        self.min_ns = if self.count == 0 {
            ns
        } else {
            self.min_ns.min(ns)
        };
        self.max_ns = if self.count == 0 {
            ns
        } else {
            self.max_ns.max(ns)
        };
        self.count += 1;
        self.sum_ns += i128::from(ns);
    }

    fn spread(&self) -> Spread {
        if self.count == 0 {
            return Spread::default();
        }
        let mean = self.sum_ns / i128::from(self.count);
        debug_assert!(
            i128::from(self.min_ns) <= mean && mean <= i128::from(self.max_ns),
            "a mean lies between the extremes: {self:?}"
        );
        Spread {
            min_ns: Some(self.min_ns),
            mean_ns: i64::try_from(mean).ok(),
            max_ns: Some(self.max_ns),
        }
    }
}

/// A UDP receiver's counts over the whole transfer or an interval of it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Received {
    /// Data received.
    pub bytes: Bytes,
    /// Data sent, by the sender's counts; `None` without counts.
    pub sent: Option<Bytes>,
    /// Datagrams lost and sent, by the sender's counts.
    pub loss: Option<Loss>,
    /// Deviation from the sender's spacing.
    pub jitter: Spread,
    /// One-way delay, including the difference of both clocks.
    pub one_way_delay: Spread,
}

/// The receiver of a UDP transfer over one stream or several.
#[derive(Clone, Default, Debug)]
pub struct Receiver {
    datagram_bytes: u64,
    spacing: Option<Duration>,
    in_sequence: bool,
    is_counted: bool,
    has_clock: bool,
    two_begins: bool,
    begun: Option<Instant>,
    ended: Option<Instant>,
    finished: bool,
    swap: Option<bool>,
    sent: u64,
    last_count: u64,
    last_arrival: Option<Instant>,
    received: u64,
    total: Measured,
    interval: Measured,
    interval_sent: u64,
    interval_received: u64,
}

/// The times of a transfer or an interval.
#[derive(Clone, Copy, Default, Debug)]
struct Measured {
    jitter: Samples,
    one_way_delay: Samples,
}

impl Receiver {
    /// Creates the receiver of a test.
    pub fn new(parameters: &Parameters, agreed: &Agreed) -> Self {
        let is_spaced = parameters.jitter.any() && parameters.instantaneous;
        let bits = u128::from(parameters.buffer_bytes) * 8;
        let spacing = parameters.rate_kbps.filter(|_| is_spaced).map(|kbps| {
            let ns = bits * 1_000_000 / u128::from(kbps.max(1));
            Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX))
        });
        Self {
            datagram_bytes: u64::from(parameters.buffer_bytes.max(1)),
            spacing,
            in_sequence: parameters.jitter.has(Wanted::IN_SEQUENCE),
            is_counted: agreed.datagram_counts,
            has_clock: parameters.one_way_delay.any(),
            two_begins: agreed.second_begin,
            ..Self::default()
        }
    }

    /// Counts a datagram that arrived at `now`; `clock` is the time since 1970.
    pub fn on_datagram(&mut self, now: Instant, clock: Option<Duration>, bytes: &[u8]) {
        if self.finished {
            return;
        }
        match Datagram::read(bytes) {
            Datagram::Begin(number) if number > 0 || !self.two_begins => self.begun = Some(now),
            Datagram::Begin(_) | Datagram::Unknown => {}
            Datagram::End(0) => self.ended = Some(now),
            Datagram::End(number) => {
                // Without EOD0 the end was `number` pauses ago.
                let pauses = END_PAUSE.saturating_mul(u64::from(number));
                let end = now.as_nanos().saturating_sub(pauses.as_nanos());
                self.ended = self.ended.or(Some(Instant::from_nanos(end)));
                self.finished = true;
            }
            Datagram::Data(stamp) => self.on_data(now, clock, bytes.len(), stamp),
        }
    }

    fn on_data(&mut self, now: Instant, clock: Option<Duration>, length: usize, stamp: Stamp) {
        self.begun = self.begun.or(Some(now));
        if self.ended.is_some() {
            // Data that EOD0 overtook: the transfer lasted until now.
            self.ended = Some(now);
        }
        self.received = self.received.saturating_add(length as u64);
        let count = stamp.count.filter(|_| self.is_counted).map(|count| {
            let swap = *self.swap.get_or_insert(count > MAX_FIRST_COUNT);
            if swap { count.swap_bytes() } else { count }
        });
        if let (true, Some(clock), Some(sent)) = (self.has_clock, clock, stamp.sent) {
            let delay = i128::from(clock.as_nanos()) - i128::from(sent.as_nanos());
            let bounded = delay.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64;
            self.total.one_way_delay.take(bounded);
            self.interval.one_way_delay.take(bounded);
        }
        let is_next =
            count.is_none_or(|count| count == self.last_count.saturating_add(self.datagram_bytes));
        if let (Some(spacing), Some(last)) = (self.spacing, self.last_arrival)
            && (is_next || !self.in_sequence)
        {
            let deviation = now.saturating_since(last).abs_diff(spacing);
            let deviation = i64::try_from(deviation.as_nanos()).unwrap_or(i64::MAX);
            self.total.jitter.take(deviation);
            self.interval.jitter.take(deviation);
        }
        self.last_arrival = Some(now);
        if let Some(count) = count {
            self.last_count = count;
            self.sent = self.sent.max(count);
        }
    }

    /// Whether the last marker has arrived.
    pub const fn is_finished(&self) -> bool {
        self.finished
    }

    /// Whether data has begun to arrive and not ended.
    pub const fn is_receiving(&self) -> bool {
        self.begun.is_some() && self.ended.is_none()
    }

    /// Time at which the transfer began.
    pub const fn begun(&self) -> Option<Instant> {
        self.begun
    }

    /// Time from begin to end, or until `now` before the end.
    pub fn duration(&self, now: Instant) -> Duration {
        let end = self.ended.unwrap_or(now);
        self.begun
            .map_or(Duration::ZERO, |begun| end.saturating_since(begun))
    }

    /// Everything counted since the beginning.
    pub fn total(&self) -> Received {
        self.report(&self.total, self.received, self.sent)
    }

    /// Counts since the last call.
    pub fn take_interval(&mut self) -> Received {
        let received = self.received - self.interval_received;
        let sent = self.sent - self.interval_sent;
        let report = self.report(&self.interval, received, sent);
        self.interval = Measured::default();
        self.interval_received = self.received;
        self.interval_sent = self.sent;
        report
    }

    fn report(&self, measured: &Measured, received: u64, sent: u64) -> Received {
        let loss = self
            .is_counted
            .then(|| losses(sent, received, self.datagram_bytes));
        Received {
            bytes: Bytes::new(received),
            sent: self.is_counted.then_some(Bytes::new(sent)),
            loss,
            jitter: measured.jitter.spread(),
            one_way_delay: measured.one_way_delay.spread(),
        }
    }
}

/// Losses from two amounts of data, in datagrams of equal length.
pub fn losses(sent: u64, received: u64, datagram_bytes: u64) -> Loss {
    let datagram = i128::from(datagram_bytes.max(1));
    let lost = i128::from(sent) - i128::from(received);
    // To the nearest datagram: one side's amount may be read from a rounded line.
    let half = if lost < 0 { -datagram } else { datagram } / 2;
    let lost = i64::try_from((lost + half) / datagram).unwrap_or(i64::MAX);
    let sent = (u128::from(sent) + half.unsigned_abs()) / datagram.unsigned_abs();
    Loss::new(lost, u64::try_from(sent).unwrap_or(u64::MAX))
}

/// Payload of nuttcp's buffers: printable characters, repeated.
pub fn pattern(length: usize) -> Vec<u8> {
    (b' '..=b'~').cycle().take(length).collect()
}
