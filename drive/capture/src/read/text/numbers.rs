//! Converts printed sequence numbers to the original ones. tcpdump prints the first numbers of a
//! connection as they are and subtracts them from later ones, except with `-S`. The first number
//! that can be only one of the two shows which form a text has.
//!
//! In a text with neither a SYN nor another absolute number, the printed numbers are used. They
//! differ from the original ones by a constant and are reported as relative.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use gigatcp_wire::Flags;

/// Maximum connections tracked simultaneously.
const MAX_CONNECTIONS: usize = 1 << 16;
/// Minimum first number that cannot be relative. A relative one would mean that the text began in
/// the middle of a transfer, 64 MiB on.
const LARGE: u32 = 1 << 26;

/// Form in which the numbers of a connection are printed.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Mode {
    /// Undecided so far.
    #[default]
    Unknown,
    /// Absolute.
    Absolute,
    /// Relative to the first number of each direction.
    Relative,
}

#[derive(Clone, Copy, Default, Debug)]
struct Connection {
    mode: Mode,
    /// Base that is subtracted in each direction, if known.
    base: [Option<u32>; 2],
    /// Next sequence number in each direction.
    next: [Option<u32>; 2],
}

/// Sequence and acknowledgment number of one packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Numbers {
    pub seq: u32,
    pub ack: u32,
    /// Whether the numbers are absolute.
    pub are_absolute: bool,
}

/// Printed fields of one packet.
#[derive(Clone, Copy, Debug)]
pub struct PrintedNumbers {
    pub flags: Flags,
    pub seq: Option<u32>,
    pub ack: Option<u32>,
    pub len: u32,
}

/// All connections of a text.
#[derive(Clone, Debug, Default)]
pub struct Connections {
    all: BTreeMap<(SocketAddr, SocketAddr), Connection>,
}

impl Connections {
    /// Numbers of a packet from `src` to `dst`. The second value is added to the edges of its SACK
    /// blocks.
    pub fn restore(
        &mut self,
        (src, dst): (SocketAddr, SocketAddr),
        printed: PrintedNumbers,
    ) -> (Numbers, u32) {
        let way = usize::from(src > dst);
        let key = if src > dst { (dst, src) } else { (src, dst) };
        if self.all.len() >= MAX_CONNECTIONS && !self.all.contains_key(&key) {
            // In long texts of short connections, drops the first in order.
            self.all.pop_first();
        }
        let connection = self.all.entry(key).or_default();
        let sack_base = match connection.mode {
            Mode::Absolute => 0,
            _ => connection.base[1 - way].unwrap_or(0),
        };
        (connection.restore(way, printed), sack_base)
    }
}

impl Connection {
    fn restore(&mut self, way: usize, printed: PrintedNumbers) -> Numbers {
        let PrintedNumbers {
            flags,
            seq,
            ack,
            len,
        } = printed;
        let is_syn = flags.contains(Flags::SYN);
        if is_syn {
            self.on_syn(way, printed);
        } else {
            self.decide(way, printed);
        }
        let add = |number: u32, base: Option<u32>| match self.mode {
            Mode::Relative if !is_syn => number.wrapping_add(base.unwrap_or(0)),
            _ => number,
        };
        let whole_seq = seq.map(|seq| add(seq, self.base[way]));
        let whole_ack = ack.map(|ack| add(ack, self.base[1 - way]));
        let seq = whole_seq.or(self.next[way]).or(self.base[way]).unwrap_or(0);
        let controls = u32::from(is_syn) + u32::from(flags.contains(Flags::FIN));
        let end = seq.wrapping_add(len).wrapping_add(controls);
        // A line of a packet list may have data without a number: it follows the last one.
        if (whole_seq.is_some() || len > 0)
            && self.next[way].is_none_or(|next| (end.wrapping_sub(next) as i32) > 0)
        {
            self.next[way] = Some(end);
        }
        Numbers {
            seq,
            ack: whole_ack.unwrap_or(0),
            // A packet list subtracts the number of the SYN from itself as well.
            are_absolute: self.base[way].is_some_and(|base| base != 0)
                || self.mode == Mode::Absolute,
        }
    }

    /// Handles a SYN, which has absolute numbers and begins a connection.
    fn on_syn(&mut self, way: usize, printed: PrintedNumbers) {
        if let Some(seq) = printed.seq
            && self.base[way] != Some(seq)
        {
            if printed.ack.is_none() {
                *self = Self::default();
            }
            self.mode = Mode::Unknown;
            self.base[way] = Some(seq);
        }
        // The same number is a retransmitted SYN, or the same connection captured at another host.
        // In both cases nothing has been sent yet.
        self.next[way] = None;
        if let (Some(ack), None) = (printed.ack, self.base[1 - way]) {
            self.base[1 - way] = Some(ack.wrapping_sub(1));
        }
    }

    /// Decides the form from the numbers of a packet without SYN.
    fn decide(&mut self, way: usize, printed: PrintedNumbers) {
        if self.mode != Mode::Unknown {
            return;
        }
        let pairs = [
            (printed.seq, self.base[way]),
            (printed.ack, self.base[1 - way]),
        ];
        let told = pairs.into_iter().find_map(|(number, base)| {
            let (number, base) = (number?, base?);
            let distance = |from: u32| (number.wrapping_sub(from) as i32).unsigned_abs();
            Some(if distance(base) < distance(0) {
                Mode::Absolute
            } else {
                Mode::Relative
            })
        });
        if let Some(told) = told {
            self.mode = told;
        } else if printed.seq.or(printed.ack) >= Some(LARGE) {
            // The first packet in the text has absolute numbers, the base of any subtraction from
            // now on. One without data does not print its sequence number.
            self.base[way] = printed.seq;
            self.base[1 - way] = printed.ack.map(|ack| ack.wrapping_sub(1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses() -> (SocketAddr, SocketAddr) {
        let address = |text: &str| text.parse().unwrap();
        (address("10.0.0.1:1000"), address("10.0.0.2:2000"))
    }

    /// Direction, flags, seq, ack, length.
    type Packet = (bool, Flags, Option<u32>, Option<u32>, u32);

    /// Sequence and acknowledgment numbers of packets, and whether they are absolute.
    fn restored(packets: &[Packet]) -> Vec<(u32, u32, bool)> {
        let (a, b) = addresses();
        let mut connections = Connections::default();
        let one = |&(is_back, flags, seq, ack, len): &Packet| {
            let way = if is_back { (b, a) } else { (a, b) };
            let printed = PrintedNumbers {
                flags,
                seq,
                ack,
                len,
            };
            let (numbers, _) = connections.restore(way, printed);
            (numbers.seq, numbers.ack, numbers.are_absolute)
        };
        packets.iter().map(one).collect()
    }

    const SYN: Flags = Flags::SYN;
    const ACK: Flags = Flags::ACK;

    #[test]
    fn data_without_a_number_follows_the_last() {
        let ack = Flags::ACK;
        let numbers = restored(&[
            (false, Flags::SYN, Some(0), None, 0),
            (true, Flags::SYN | ack, Some(0), Some(1), 0),
            (false, ack, Some(1), Some(1), 0),
            (false, ack, None, Some(1), 1448),
            (false, ack, None, Some(1), 1448),
            (false, ack, Some(2897), Some(1), 0),
        ]);
        let seqs: Vec<u32> = numbers[2..].iter().map(|(seq, _, _)| *seq).collect();
        assert_eq!(seqs, [1, 1, 1449, 2897]);
    }

    #[test]
    fn the_other_view_of_a_connection_begins_anew_with_its_syn() {
        let view = [
            (false, SYN, Some(5_000_000), None, 0),
            (true, SYN, Some(9000), Some(5_000_001), 0),
            (false, ACK, None, Some(1), 0),
            (false, ACK, Some(1), Some(1), 1000),
        ];
        let both = restored(&[view, view].concat());
        assert_eq!(both[..4], both[4..]);
        assert_eq!(both[2].0, 5_000_001, "an acknowledgment without a number");
    }

    #[test]
    fn relative_numbers_behind_a_handshake_become_whole() {
        let read = restored(&[
            (false, SYN, Some(u32::MAX), None, 0),
            (true, SYN, Some(9000), Some(0), 0),
            (false, ACK, None, Some(1), 0),
            (false, ACK, Some(1), Some(1), 10),
            (true, ACK, None, Some(11), 0),
        ]);
        assert_eq!(
            read,
            [
                (u32::MAX, 0, true),
                (9000, 0, true),
                (0, 9001, true),
                (0, 9001, true),
                (9001, 10, true),
            ]
        );
    }

    #[test]
    fn whole_numbers_behind_a_handshake_stay() {
        let read = restored(&[
            (false, SYN, Some(5_000_000), None, 0),
            (true, SYN, Some(9000), Some(5_000_001), 0),
            (false, ACK, None, Some(9001), 0),
            (false, ACK, Some(5_000_001), Some(9001), 10),
        ]);
        assert_eq!(read[2], (5_000_001, 9001, true));
        assert_eq!(read[3], (5_000_001, 9001, true));
    }

    #[test]
    fn a_text_that_begins_in_the_middle_with_whole_numbers_is_understood() {
        let first = (false, ACK, Some(3_000_000_000), Some(70_000), 100);
        let relative = restored(&[first, (false, ACK, Some(100), Some(1), 100)]);
        assert_eq!(relative[1], (3_000_000_100, 70_000, true));
        let whole = restored(&[first, (false, ACK, Some(3_000_000_100), Some(70_000), 100)]);
        assert_eq!(whole[1], (3_000_000_100, 70_000, true));
    }

    #[test]
    fn a_text_that_begins_with_an_acknowledgment_is_understood() {
        let first = (true, ACK, None, Some(3_000_000_000), 0);
        let relative = restored(&[
            first,
            (false, ACK, Some(593_593), Some(0), 100),
            (true, ACK, None, Some(46_337), 0),
        ]);
        assert_eq!(relative[1].0, 3_000_593_592);
        assert_eq!(relative[2].1, 3_000_046_336);
        let whole = restored(&[first, (false, ACK, Some(3_000_100_000), Some(70_000), 100)]);
        assert_eq!(whole[1], (3_000_100_000, 70_000, true));
    }

    #[test]
    fn a_text_without_whole_numbers_says_so() {
        let read = restored(&[
            (false, ACK, Some(1461), Some(1), 1460),
            (false, ACK, Some(1), Some(1), 1460),
        ]);
        assert_eq!(read, [(1461, 1, false), (1, 1, false)]);
    }

    #[test]
    fn a_new_connection_between_the_same_ports_begins_anew() {
        let read = restored(&[
            (false, SYN, Some(5_000_000), None, 0),
            (false, ACK, Some(1), Some(1), 10),
            (false, SYN, Some(7_000_000), None, 0),
            (false, ACK, Some(1), Some(1), 10),
        ]);
        assert_eq!((read[1].0, read[3].0), (5_000_001, 7_000_001));
    }
}
