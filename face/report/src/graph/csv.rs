//! Every packet as a line of CSV (RFC 4180), for other programs.
//!
//! No field holds a comma, a quote or a line break, so none is quoted.

use std::io::{self, Write};

use gigatcp_flows::{Connection, Kind, Observed, Scaling, Verdict};
use gigatcp_wire::Flags;

/// The names of the columns; a unit stands behind its name.
pub const COLUMNS: &str = "frame,at_ns,connection,from,seq,len,ack,window_bytes,sack,flags,kinds,\
                           outstanding_bytes,rtt_ns";

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

/// Writes the packets of a capture.
#[derive(Debug)]
pub struct Csv<W> {
    out: W,
    /// What each connection's round trips added up to.
    totals: Vec<[u64; 2]>,
}

impl<W: Write> Csv<W> {
    /// Begins with the names of the columns.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn new(mut out: W) -> io::Result<Self> {
        writeln!(out, "{COLUMNS}\r")?;
        let totals = Vec::new();
        Ok(Self { out, totals })
    }

    /// Writes a packet, after its connection has taken it in. `seq` and `ack`
    /// count from the first octet seen, a SYN included.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(
        &mut self,
        frame: u64,
        packet: &Observed,
        verdict: &Verdict,
        connection: &Connection,
    ) -> io::Result<()> {
        let (from, to) = (verdict.from, verdict.from.other());
        let offset = |side, seq| {
            let first = connection.direction(side).first_position();
            connection
                .position(side, seq)
                .wrapping_sub(first)
                .cast_signed()
        };
        let seq = offset(from, packet.seq);
        write!(
            self.out,
            "{frame},{},{},{},{seq},{},",
            packet.at.as_nanos(),
            verdict.connection + 1,
            from.name(),
            packet.payload_len
        )?;
        if packet.flags.contains(Flags::ACK) {
            write!(self.out, "{}", offset(to, packet.ack))?;
        }
        self.out.write_all(b",")?;
        if connection.scaling() != Scaling::Unknown {
            write!(self.out, "{}", connection.window_of(from, packet))?;
        }
        self.out.write_all(b",")?;
        for (index, block) in packet.sack.as_slice().iter().enumerate() {
            let space = if index > 0 { " " } else { "" };
            let (left, right) = (offset(to, block.left), offset(to, block.right));
            write!(self.out, "{space}{left}-{right}")?;
        }
        self.out.write_all(b",")?;
        for (flag, letter) in LETTERS {
            if packet.flags.contains(flag) {
                write!(self.out, "{letter}")?;
            }
        }
        self.out.write_all(b",")?;
        let kinds = verdict.kinds.iter().map(Kind::name);
        for (index, name) in kinds.enumerate() {
            let space = if index > 0 { " " } else { "" };
            write!(self.out, "{space}{name}")?;
        }
        let outstanding = |side| {
            let direction = connection.direction(side);
            let acked = direction.acked_position();
            acked.map_or(0, |una| direction.next_position().saturating_sub(una))
        };
        // Of the stream that the packet moves.
        let moved = if packet.seq_len() > 0 { from } else { to };
        write!(self.out, ",{},", outstanding(moved))?;
        if let Some(sample) = self.sample(verdict, connection) {
            write!(self.out, "{sample}")?;
        }
        self.out.write_all(b"\r\n")
    }

    /// The round trip that the packet ends.
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

    /// Hands back what was written to.
    ///
    /// # Errors
    /// When the rest cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}
