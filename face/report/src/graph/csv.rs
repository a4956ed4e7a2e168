//! Every packet as a line of CSV (RFC 4180), for other programs.
//!
//! No field holds a comma, a quote or a line break, so none is quoted.

use std::fmt;
use std::io::{self, Write};

use gigatcp_flows::{Connection, Kind, Observed, Verdict};

use super::row::{Row, Rows};

/// Names of the columns; a unit follows the name.
pub const COLUMNS: &str = "frame,at_ns,connection,from,seq,len,ack,window_bytes,sack,flags,kinds,\
                           outstanding_bytes,rtt_ns";

/// A field that is empty if its value is unknown.
struct Field<T>(Option<T>);

impl<T: fmt::Display> fmt::Display for Field<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_ref().map_or(Ok(()), |value| value.fmt(f))
    }
}

/// Writes the packets of a capture.
#[derive(Debug)]
pub struct Csv<W> {
    out: W,
    rows: Rows,
}

impl<W: Write> Csv<W> {
    /// Writes the names of the columns.
    ///
    /// # Errors
    ///
    /// When they cannot be written.
    pub fn new(mut out: W) -> io::Result<Self> {
        writeln!(out, "{COLUMNS}\r")?;
        let rows = Rows::default();
        Ok(Self { out, rows })
    }

    /// Writes a packet. Its connection must have processed it before. `seq` and `ack` count from
    /// the first byte seen, a SYN included.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn write(
        &mut self,
        frame: u64,
        packet: &Observed,
        verdict: &Verdict,
        connection: &Connection,
    ) -> io::Result<()> {
        let row = self.rows.row(frame, packet, verdict, connection);
        let Row {
            at_ns,
            connection,
            from,
            seq,
            len,
            ..
        } = row;
        let out = &mut self.out;
        write!(out, "{frame},{at_ns},{connection},{from},{seq},{len},")?;
        write!(out, "{},{},", Field(row.ack), Field(row.window_bytes))?;
        for (index, (left, right)) in row.sack.iter().enumerate() {
            let space = if index > 0 { " " } else { "" };
            write!(out, "{space}{left}-{right}")?;
        }
        out.write_all(b",")?;
        for letter in row.letters() {
            write!(out, "{letter}")?;
        }
        out.write_all(b",")?;
        for (index, name) in row.kinds.iter().map(Kind::name).enumerate() {
            let space = if index > 0 { " " } else { "" };
            write!(out, "{space}{name}")?;
        }
        write!(out, ",{},{}\r\n", row.outstanding_bytes, Field(row.rtt_ns))
    }

    /// Writer, flushed.
    ///
    /// # Errors
    ///
    /// When the rest cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}
