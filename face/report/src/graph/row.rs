//! A packet as a row of a table, for CSV and Arrow.

use gigatcp_flows::{Connection, Kinds, Observed, Scaling, Verdict};
use gigatcp_wire::Flags;

/// Flags as tcpdump prints them.
const LETTERS: [(Flags, char); 8] = [
    (Flags::SYN, 'S'),
    (Flags::FIN, 'F'),
    (Flags::RST, 'R'),
    (Flags::PSH, 'P'),
    (Flags::ACK, '.'),
    (Flags::URG, 'U'),
    (Flags::ECE, 'E'),
    (Flags::CWR, 'W'),
];

/// A packet of a capture. Positions count from the first byte seen, a SYN included.
#[derive(Clone, Debug)]
pub struct Row {
    /// Number in the capture, from 1.
    pub frame: u64,
    /// Time of capture.
    pub at_ns: u64,
    /// Number of its connection, from 1.
    pub connection: usize,
    /// Sender: client or server.
    pub from: &'static str,
    /// First position of its data.
    pub seq: i64,
    /// Bytes of its data.
    pub len: u32,
    /// Position that it acknowledges; `None` without ACK.
    pub ack: Option<i64>,
    /// Window that it advertises; `None` if the scale is unknown.
    pub window_bytes: Option<u32>,
    /// SACK blocks: first position and the one after the last.
    pub sack: Vec<(i64, i64)>,
    /// Control bits.
    pub flags: Flags,
    /// Kinds of the packet.
    pub kinds: Kinds,
    /// Unacknowledged bytes of the stream that the packet changes.
    pub outstanding_bytes: u64,
    /// RTT that the packet ends; `None` if it ends none.
    pub rtt_ns: Option<u64>,
}

/// Converts the packets of a capture to rows, in their order.
#[derive(Debug, Default)]
pub struct Rows {
    /// Sum of RTT samples so far, by connection and side.
    totals: Vec<[u64; 2]>,
}

impl Rows {
    /// Row of a packet. Its connection must have processed it before.
    pub fn row(
        &mut self,
        frame: u64,
        packet: &Observed,
        verdict: &Verdict,
        connection: &Connection,
    ) -> Row {
        let (from, to) = (verdict.from, verdict.from.other());
        let offset = |side, seq| {
            let first = connection.direction(side).first_position();
            connection
                .position(side, seq)
                .wrapping_sub(first)
                .cast_signed()
        };
        let outstanding = |side| {
            let direction = connection.direction(side);
            let acked = direction.acked_position();
            acked.map_or(0, |una| direction.next_position().saturating_sub(una))
        };
        let moved = if packet.seq_len() > 0 { from } else { to };
        let is_scaled = connection.scaling() != Scaling::Unknown;
        let blocks = packet.sack.as_slice().iter();
        Row {
            frame,
            at_ns: packet.at.as_nanos(),
            connection: verdict.connection + 1,
            from: from.name(),
            seq: offset(from, packet.seq),
            len: packet.payload_len,
            ack: packet
                .flags
                .contains(Flags::ACK)
                .then(|| offset(to, packet.ack)),
            window_bytes: is_scaled.then(|| connection.window_of(from, packet)),
            sack: blocks
                .map(|block| (offset(to, block.left), offset(to, block.right)))
                .collect(),
            flags: packet.flags,
            kinds: verdict.kinds,
            outstanding_bytes: outstanding(moved),
            rtt_ns: self.sample(verdict, connection),
        }
    }

    /// RTT sample that the packet completes.
    fn sample(&mut self, verdict: &Verdict, connection: &Connection) -> Option<u64> {
        let index = verdict.connection;
        if self.totals.len() <= index {
            self.totals.resize(index + 1, [0; 2]);
        }
        let side = verdict.from.other();
        let before = &mut self.totals[index][side as usize];
        let total = connection.direction(side).round_trips().total().as_nanos();
        let sample = total - core::mem::replace(before, total);
        (sample > 0).then_some(sample)
    }
}

impl Row {
    /// Letters of its flags.
    pub fn letters(&self) -> impl Iterator<Item = char> {
        let set = LETTERS
            .into_iter()
            .filter(|(flag, _)| self.flags.contains(*flag));
        set.map(|(_, letter)| letter)
    }
}
