//! Markers and stamps that nuttcp writes into data, and a UDP receiver's counts.
//!
//! A UDP transfer begins with the datagrams `BOD0` and, 250 ms later, `BOD1`: the
//! first may be lost while an address is resolved. It ends with `EOD0`, and with
//! `EOD1` to `EOD4` every half second. Every datagram longer than four bytes is data:
//!
//! ```text
//! bytes 24..32   UDP: bytes sent so far, this datagram included, host order (-i)
//! bytes 24..28   TCP: retransmissions so far, host order
//! bytes 28..32   TCP: in the first buffer a mark, later the congestion window in KiB
//! ```
//!
//! Out of scope: times of sending (`-o`); counts in big-endian order, without which there are no losses.
//! The count of bytes replaces a sequence number: losses are bytes sent less bytes received, and a
//! duplicate hides a loss.
//!
//! Jitter here is |D| of RFC 1889, with the sender's spacing computed from its rate, and not the
//! smoothed J: minimum, mean and maximum of the deviations from the spacing.

use gigatcp_units::{Bytes, Duration, Instant};

use super::greeting::Agreed;
use super::output::{Jitter, Loss};
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

/// First byte of the counts.
const COUNT: usize = 24;

/// Maximum plausible count: a greater one is of the other byte order.
const MAX_COUNT: u64 = 1 << 48;

/// Mark of a TCP transmitter that counts its connection's retransmissions.
const MARK: [u8; 4] = *b"NRTR";

/// A datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Datagram {
    /// Begin of data, 0 or 1.
    Begin(u8),
    /// End of data, 0 to 4.
    End(u8),
    /// Data, with the bytes sent so far, this datagram included.
    Data(Option<u64>),
    /// Too short for data, and no known marker.
    Unknown,
}

impl Datagram {
    /// Reads a datagram.
    pub fn read(bytes: &[u8]) -> Self {
        if bytes.len() > MARKER {
            let count = bytes
                .get(COUNT..COUNT + 8)
                .and_then(|count| count.try_into().ok());
            return Self::Data(count.map(u64::from_le_bytes));
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

/// Writes the bytes sent so far into a datagram, as far as it reaches.
pub fn write_count(count: u64, datagram: &mut [u8]) {
    if let Some(to) = datagram.get_mut(COUNT..COUNT + 8) {
        to.copy_from_slice(&count.to_le_bytes());
    }
}

/// The fields that a TCP transmitter writes into its buffers. In the first one the mark is in the
/// place of the window.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct StreamStamp {
    /// Retransmissions so far.
    pub retransmissions: u32,
    /// Congestion window in KiB; `None` leaves the mark in its place.
    pub window_kib: Option<u32>,
}

impl StreamStamp {
    /// Whether the transmitter of this first buffer counts its connection's retransmissions.
    pub fn is_marked(first: &[u8]) -> bool {
        first.get(COUNT + 4..COUNT + 8) == Some(&MARK)
    }

    /// Writes the mark into the first buffer, with no retransmissions.
    pub fn mark(first: &mut [u8]) {
        if let Some(to) = first.get_mut(COUNT..COUNT + 8) {
            to[..4].fill(0);
            to[4..].copy_from_slice(&MARK);
        }
    }

    /// Reads the stamp of a later buffer.
    pub fn read(buffer: &[u8]) -> Option<Self> {
        let (count, rest) = buffer.get(COUNT..)?.split_first_chunk()?;
        let window = rest.first_chunk()?;
        Some(Self {
            retransmissions: u32::from_le_bytes(*count),
            window_kib: (*window != MARK).then(|| u32::from_le_bytes(*window)),
        })
    }

    /// Writes the stamp of a later buffer.
    pub fn write(self, buffer: &mut [u8]) {
        if let Some(to) = buffer.get_mut(COUNT..COUNT + 8) {
            to[..4].copy_from_slice(&self.retransmissions.to_le_bytes());
            if let Some(window) = self.window_kib {
                to[4..].copy_from_slice(&window.to_le_bytes());
            }
        }
    }
}

/// Deviations from the sender's spacing: number, sum, minimum and maximum.
#[derive(Clone, Copy, Default, Debug)]
struct Deviations {
    count: u64,
    sum: u128,
    min: Duration,
    max: Duration,
}

impl Deviations {
    fn take(&mut self, deviation: Duration) {
        let is_first = self.count == 0;
        self.min = if is_first {
            deviation
        } else {
            self.min.min(deviation)
        };
        self.max = self.max.max(deviation);
        self.count += 1;
        self.sum += u128::from(deviation.as_nanos());
    }

    fn jitter(&self) -> Option<Jitter> {
        let nanos = self.sum.checked_div(self.count.into())?;
        let mean = Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
        let (min, max) = (self.min, self.max);
        debug_assert!(
            (min..=max).contains(&mean),
            "a mean lies between the extremes: {self:?}"
        );
        Some(Jitter { min, mean, max })
    }
}

/// A UDP receiver's counts over the whole transfer or an interval of it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Received {
    /// Data received.
    pub bytes: Bytes,
    /// Datagrams lost and sent, by the sender's counts.
    pub loss: Option<Loss>,
    /// Deviation from the sender's spacing.
    pub jitter: Option<Jitter>,
}

/// The receiver of a UDP transfer over one stream or several.
#[derive(Clone, Default, Debug)]
pub struct Receiver {
    datagram_bytes: u64,
    spacing: Option<Duration>,
    in_sequence: bool,
    is_counted: bool,
    begun: Option<Instant>,
    ended: Option<Instant>,
    finished: bool,
    sent: u64,
    last_count: u64,
    last_arrival: Option<Instant>,
    received: u64,
    total: Deviations,
    interval: Deviations,
    interval_sent: u64,
    interval_received: u64,
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
            ..Self::default()
        }
    }

    /// Counts a datagram that arrived at `now`.
    pub fn on_datagram(&mut self, now: Instant, bytes: &[u8]) {
        if self.finished {
            return;
        }
        match Datagram::read(bytes) {
            Datagram::Begin(1..) => self.begun = Some(now),
            Datagram::Begin(_) | Datagram::Unknown => {}
            Datagram::End(0) => self.ended = Some(now),
            Datagram::End(number) => {
                // Without EOD0 the end was `number` pauses ago.
                let pauses = END_PAUSE.saturating_mul(u64::from(number));
                let end = now.as_nanos().saturating_sub(pauses.as_nanos());
                self.ended = self.ended.or(Some(Instant::from_nanos(end)));
                self.finished = true;
            }
            Datagram::Data(count) => self.on_data(now, bytes.len(), count),
        }
    }

    fn on_data(&mut self, now: Instant, length: usize, count: Option<u64>) {
        self.begun = self.begun.or(Some(now));
        if self.ended.is_some() {
            // Data that EOD0 overtook: the transfer lasted until now.
            self.ended = Some(now);
        }
        self.received = self.received.saturating_add(length as u64);
        // The first decides; a later one may come from elsewhere.
        let is_plain = count.is_none_or(|count| count <= MAX_COUNT);
        self.is_counted &= is_plain || self.sent > 0;
        let sent = count.filter(|_| self.is_counted && is_plain);
        let is_next =
            sent.is_none_or(|count| count == self.last_count.saturating_add(self.datagram_bytes));
        if let (Some(spacing), Some(last)) = (self.spacing, self.last_arrival)
            && (is_next || !self.in_sequence)
        {
            let deviation = now.saturating_since(last).abs_diff(spacing);
            self.total.take(deviation);
            self.interval.take(deviation);
        }
        self.last_arrival = Some(now);
        if let Some(count) = sent {
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
        self.interval = Deviations::default();
        self.interval_received = self.received;
        self.interval_sent = self.sent;
        report
    }

    fn report(&self, deviations: &Deviations, received: u64, sent: u64) -> Received {
        let loss = self
            .is_counted
            .then(|| losses(sent, received, self.datagram_bytes));
        Received {
            bytes: Bytes::new(received),
            loss,
            jitter: deviations.jitter(),
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
    let sent = u64::try_from(sent).unwrap_or(u64::MAX);
    Loss { lost, sent }
}
