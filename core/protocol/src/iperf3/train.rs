//! Packet trains to a server of this project, which returns their arrival times, and from it.
//!
//! All messages are UDP datagrams to or from the server's port, of a host with a control connection.
//! A client sends a train of equal datagrams, then asks for its arrivals until it has an answer. Or
//! it requests a train, again until the report of it has come. A request has the cookie of a test
//! that awaits its streams, so no other host can have trains sent. Integers have their most
//! significant byte first.
//!
//! | message | content |
//! |---|---|
//! | datagram of a train | [`TRAIN`], number of the train (2 bytes), any more bytes |
//! | question | [`ASK`], number of the train |
//! | answer | [`ARRIVALS`], number of the train, packets (4), time of the last (4), then deliveries: place (4), time (4) |
//! | request | [`SEND`], number of the train, packets (2), bytes of each (2), the cookie |
//! | report | [`SENT`], number of the train, packets (4), time of sending (4; all bits: it waited) |
//!
//! Times are in units of 100 ns since the first arrival. A delivery is the last packet of those that
//! arrived together. An answer is never longer than the datagrams that it is about.

use alloc::vec::Vec;

use gigatcp_units::Duration;

use super::{COOKIE_LENGTH, Cookie};

/// First bytes of a datagram of a train.
pub const TRAIN: [u8; 16] = *b"gigatcp train...";
/// First bytes of a question.
pub const ASK: [u8; 16] = *b"gigatcp arrived?";
/// First bytes of an answer.
pub const ARRIVALS: [u8; 16] = *b"gigatcp arrived!";

/// First bytes of a request for a train.
pub const SEND: [u8; 16] = *b"gigatcp send me!";
/// First bytes of the report of a train that was sent.
pub const SENT: [u8; 16] = *b"gigatcp sent it!";

/// Bytes of a request.
pub const REQUEST_LENGTH: usize = MIN_LENGTH + 4 + COOKIE_LENGTH;

/// Bytes of a question, and minimum of a datagram of a train.
pub const MIN_LENGTH: usize = 18;

/// Maximum of deliveries in an answer, which fits into a packet of 1280 bytes.
pub const MAX_DELIVERIES: usize = 150;

/// Unit of times.
const UNIT: u64 = 100;

/// A message to the server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Message {
    /// A datagram of a train with this number.
    Train(u16),
    /// The question for the arrivals of that train.
    Ask(u16),
}

impl Message {
    /// Writes it to the front of a datagram of at least [`MIN_LENGTH`].
    pub fn write(self, datagram: &mut [u8]) {
        let (prefix, number) = match self {
            Self::Train(number) => (TRAIN, number),
            Self::Ask(number) => (ASK, number),
        };
        datagram[..16].copy_from_slice(&prefix);
        datagram[16..MIN_LENGTH].copy_from_slice(&number.to_be_bytes());
    }

    /// Parses a datagram; `None` if it is of another kind.
    pub fn read(datagram: &[u8]) -> Option<Self> {
        let (prefix, rest) = datagram.split_first_chunk()?;
        let number = u16::from_be_bytes(*rest.first_chunk()?);
        match *prefix {
            TRAIN => Some(Self::Train(number)),
            ASK => Some(Self::Ask(number)),
            _ => None,
        }
    }
}

/// Arrivals of a train.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Arrivals {
    /// Number of the train.
    pub train: u16,
    /// Packets that arrived.
    pub packets: u32,
    /// Time from the first to the last.
    pub arrived_in: Duration,
    /// Place and time of the last packet of each delivery, at most [`MAX_DELIVERIES`].
    pub deliveries: Vec<(u32, Duration)>,
}

impl Arrivals {
    /// The answer. Of too many deliveries, some evenly spaced ones and the last are sent.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = ARRIVALS.to_vec();
        bytes.extend(self.train.to_be_bytes());
        bytes.extend(self.packets.to_be_bytes());
        bytes.extend(units(self.arrived_in));
        let count = self.deliveries.len();
        let sent = count.min(MAX_DELIVERIES);
        for index in 0..sent {
            // From the first to the last.
            let place = index * (count - 1) / (sent - 1).max(1);
            let (packet, at) = self.deliveries[place];
            bytes.extend(packet.to_be_bytes());
            bytes.extend(units(at));
        }
        bytes
    }

    /// Parses an answer; `None` if it is of another kind, or its times run backwards.
    pub fn read(datagram: &[u8]) -> Option<Self> {
        let rest = datagram.strip_prefix(&ARRIVALS)?;
        let (train, rest) = rest.split_first_chunk()?;
        let (packets, rest) = rest.split_first_chunk()?;
        let (arrived_in, rest) = rest.split_first_chunk()?;
        let deliveries = rest.chunks_exact(8).take(MAX_DELIVERIES).filter_map(|one| {
            let (packet, at) = one.split_first_chunk()?;
            Some((u32::from_be_bytes(*packet), time(*at.first_chunk()?)))
        });
        let deliveries: Vec<(u32, Duration)> = deliveries.collect();
        let is_ordered = deliveries.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1);
        is_ordered.then(|| Self {
            train: u16::from_be_bytes(*train),
            packets: u32::from_be_bytes(*packets),
            arrived_in: time(*arrived_in),
            deliveries,
        })
    }
}

/// A request for a train from the server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TrainRequest {
    /// Number of the train.
    pub train: u16,
    /// Its packets.
    pub packets: u16,
    /// Bytes of each.
    pub size: u16,
    /// Cookie of the test.
    pub cookie: Cookie,
}

impl TrainRequest {
    /// The datagram.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = SEND.to_vec();
        for number in [self.train, self.packets, self.size] {
            bytes.extend(number.to_be_bytes());
        }
        bytes.extend(self.cookie.as_bytes());
        bytes
    }

    /// Parses a datagram; `None` if it is of another kind.
    pub fn read(datagram: &[u8]) -> Option<Self> {
        let rest = datagram.strip_prefix(&SEND)?;
        let (numbers, cookie) = rest.split_first_chunk::<6>()?;
        let number = |at: usize| u16::from_be_bytes([numbers[at], numbers[at + 1]]);
        Some(Self {
            train: number(0),
            packets: number(2),
            size: number(4),
            cookie: Cookie::from_bytes(cookie.try_into().ok()?),
        })
    }
}

/// A train that the server sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SentTrain {
    /// Number of the train.
    pub train: u16,
    /// Packets sent: fewer than requested if its limits allow no more.
    pub packets: u32,
    /// Time in which they were sent; `None`: the sender waited for its interface.
    pub sent_in: Option<Duration>,
}

impl SentTrain {
    /// The datagram.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = SENT.to_vec();
        bytes.extend(self.train.to_be_bytes());
        bytes.extend(self.packets.to_be_bytes());
        bytes.extend(self.sent_in.map_or(WAITED, units));
        bytes
    }

    /// Parses a datagram; `None` if it is of another kind.
    pub fn read(datagram: &[u8]) -> Option<Self> {
        let rest = datagram.strip_prefix(&SENT)?;
        let (train, rest) = rest.split_first_chunk()?;
        let (packets, rest) = rest.split_first_chunk()?;
        let sent_in: [u8; 4] = *rest.first_chunk()?;
        Some(Self {
            train: u16::from_be_bytes(*train),
            packets: u32::from_be_bytes(*packets),
            sent_in: (sent_in != WAITED).then(|| time(sent_in)),
        })
    }
}

/// Time of sending of a train that waited.
const WAITED: [u8; 4] = [u8::MAX; 4];

fn units(time: Duration) -> [u8; 4] {
    let units = time.as_nanos() / UNIT;
    u32::try_from(units).unwrap_or(u32::MAX).to_be_bytes()
}

fn time(units: [u8; 4]) -> Duration {
    Duration::from_nanos(u64::from(u32::from_be_bytes(units)) * UNIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_as_they_were_written() {
        for message in [Message::Train(7), Message::Ask(65_535)] {
            let mut datagram = [0; 40];
            message.write(&mut datagram);
            assert_eq!(Message::read(&datagram), Some(message));
            assert_eq!(Message::read(&datagram[..MIN_LENGTH - 1]), None);
        }
        assert_eq!(Message::read(b"gigatcp udp ping........"), None);
    }

    #[test]
    fn long_answer_keeps_first_and_last_delivery_and_fits_into_a_packet() {
        let at = |n: u32| (n, Duration::from_micros(u64::from(n) * 12));
        let arrivals = Arrivals {
            train: 3,
            packets: 2000,
            arrived_in: Duration::from_millis(24),
            deliveries: (0..2000).map(at).collect(),
        };
        let bytes = arrivals.to_bytes();
        assert!(bytes.len() <= 1232, "{}", bytes.len());
        let read = Arrivals::read(&bytes).unwrap();
        assert_eq!(read.deliveries.len(), MAX_DELIVERIES);
        assert_eq!(read.deliveries.first(), Some(&at(0)));
        assert_eq!(read.deliveries.last(), Some(&at(1999)));
        assert_eq!((read.train, read.packets), (3, 2000));
        assert_eq!(read.arrived_in, Duration::from_millis(24));
    }

    #[test]
    fn request_and_report_are_read_as_they_were_written() {
        let request = TrainRequest {
            train: 3,
            packets: 2000,
            size: 1472,
            cookie: Cookie::from_bytes([7; COOKIE_LENGTH]),
        };
        let bytes = request.to_bytes();
        assert_eq!(bytes.len(), REQUEST_LENGTH);
        assert_eq!(TrainRequest::read(&bytes), Some(request));
        assert_eq!(TrainRequest::read(&bytes[..REQUEST_LENGTH - 1]), None);
        for sent_in in [None, Some(Duration::from_micros(1234))] {
            let sent = SentTrain {
                train: 3,
                packets: 1999,
                sent_in,
            };
            // A report is shorter than the request that it answers.
            assert!(sent.to_bytes().len() < REQUEST_LENGTH);
            assert_eq!(SentTrain::read(&sent.to_bytes()), Some(sent));
        }
    }

    #[test]
    fn answer_whose_times_run_backwards_is_refused() {
        let at = |n: u32, ms: u64| (n, Duration::from_millis(ms));
        let arrivals = Arrivals {
            train: 3,
            packets: 2,
            arrived_in: Duration::ZERO,
            deliveries: alloc::vec![at(1, 2), at(2, 1)],
        };
        assert_eq!(Arrivals::read(&arrivals.to_bytes()), None);
        assert_eq!(Arrivals::read(&ARRIVALS), None);
    }
}
