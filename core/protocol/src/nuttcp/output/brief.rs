//! The summary of a transfer in one line, which the client prints at the end.
//!
//! Amount, time and rate are the receiver's. Retransmissions and the congestion window
//! are the transmitter's. `%TX` and `%RX` are CPU time over real time of the two
//! processes, of one CPU.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use gigatcp_units::{Bytes, Duration};

use super::{Amount, CongestionWindow, Loss, MEBIBYTE, Retransmissions, Spread, joined};
use crate::nuttcp::parameters::Format;

/// A whole transfer, both sides combined.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Brief {
    /// Data received.
    pub received: Amount,
    /// CPU time of the transmitter, percent of one CPU.
    pub transmitter_cpu_percent: u32,
    /// CPU time of the receiver, percent of one CPU.
    pub receiver_cpu_percent: u32,
    /// Datagrams lost.
    pub loss: Option<Loss>,
    /// UDP data sent.
    pub transmitted: Option<Bytes>,
    /// Jitter of datagrams.
    pub jitter: Spread,
    /// Retransmissions.
    pub retransmissions: Option<Retransmissions>,
    /// Congestion window at the end.
    pub congestion_window: Option<CongestionWindow>,
    /// Time to open the first data connection.
    pub rtt: Option<Duration>,
    /// One-way delay.
    pub one_way_delay: Spread,
}

impl Brief {
    /// Line without its end, with the fields that `format` selects.
    pub fn line(&self, format: Format) -> String {
        let mut sums = self.clone();
        for streams in [
            sums.retransmissions.as_mut().map(|of| &mut of.by_stream),
            sums.congestion_window.as_mut().map(|of| &mut of.by_stream),
        ] {
            streams.into_iter().for_each(Vec::clear);
        }
        sums.line_by_stream(format)
    }

    /// Line with the counts of single streams (`-br`, `-bc`).
    pub fn line_by_stream(&self, format: Format) -> String {
        let is_parsed = format.has(Format::PARSE);
        let (megabytes, mbps) = (self.received.megabytes(), self.received.mbps());
        let seconds = self.received.duration.as_secs_f64();
        let (tx, rx) = (self.transmitter_cpu_percent, self.receiver_cpu_percent);
        let mut line = match is_parsed {
            true => format!(
                "megabytes={megabytes:.4} real_seconds={seconds:.2} rate_Mbps={mbps:.4} \
                 tx_cpu={tx} rx_cpu={rx}"
            ),
            false => format!(
                "{megabytes:10.4} MB / {seconds:6.2} sec = {mbps:9.4} Mbps {tx} %TX {rx} %RX"
            ),
        };
        Loss::write(self.loss, &mut line, format, false);
        if let Some(sent) = self.transmitted.filter(|_| format.has(Format::TRANSMITTED)) {
            let megabytes = sent.as_u64() as f64 / MEBIBYTE;
            line.push_str(&match is_parsed {
                true => format!(" tx_megabytes={megabytes:.4}"),
                false => format!(" Trans: {megabytes:.4} MB"),
            });
        }
        self.jitter.write(&mut line, format, "Jitter");
        self.write_sender(&mut line, format);
        if let Some(rtt) = self.rtt.filter(|_| format.has(Format::RTT)) {
            let ms = rtt.as_secs_f64() * 1e3;
            line.push_str(&match is_parsed {
                true => format!(" rtt_ms={ms:.2}"),
                false => format!(" {ms:.2} msRTT"),
            });
        }
        self.one_way_delay.write(&mut line, format, "OWD");
        line
    }

    fn write_sender(&self, line: &mut String, format: Format) {
        let is_parsed = format.has(Format::PARSE);
        let is_wanted = !format.has(Format::NO_RETRANSMISSIONS);
        if let Some(of) = self.retransmissions.as_ref().filter(|_| is_wanted) {
            let (prefix, count) = (of.prefix(), of.count);
            let streams = of.streams();
            line.push_str(&match (is_parsed, streams.is_empty()) {
                (true, true) => format!(" {prefix}retrans={count}"),
                (true, false) => format!(" retrans={count} retrans_by_stream={streams}"),
                (false, true) => format!(" {count} {prefix}retrans"),
                (false, false) => format!(" {count} = {streams} retrans"),
            });
        }
        let is_wanted = !format.has(Format::NO_CONGESTION_WINDOW);
        if let Some(of) = self.congestion_window.as_ref().filter(|_| is_wanted) {
            let (kib, streams) = (of.kib, joined(&of.by_stream));
            line.push_str(&match (is_parsed, streams.is_empty()) {
                (true, true) => format!(" cwnd={kib}"),
                (true, false) => format!(" cwnd={kib} cwnd_by_stream={streams}"),
                (false, true) => format!(" {kib} KB-cwnd"),
                (false, false) => format!(" {kib} = {streams} KB-cwnd"),
            });
        }
    }
}
