//! The summary of a transfer in one line, which the client prints at the end.
//!
//! Amount, time and rate are the receiver's. Retransmissions and the congestion window
//! are the transmitter's. `%TX` and `%RX` are CPU time over real time of the two
//! processes, of one CPU.

use alloc::format;
use alloc::string::String;

use gigatcp_units::Duration;

use super::{Amount, CongestionWindow, Jitter, Loss, Retransmissions};
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
    /// Jitter of datagrams.
    pub jitter: Option<Jitter>,
    /// Retransmissions.
    pub retransmissions: Option<Retransmissions>,
    /// Congestion window at the end.
    pub congestion_window: Option<CongestionWindow>,
    /// Time to open the first data connection.
    pub rtt: Option<Duration>,
}

impl Brief {
    /// Line without its end, with the fields that `format` selects.
    pub fn line(&self, format: Format) -> String {
        let is_parsed = format.has(Format::PARSE);
        let (tx, rx) = (self.transmitter_cpu_percent, self.receiver_cpu_percent);
        let mut line = self.received.line(format, "real_seconds");
        line.push_str(&match is_parsed {
            true => format!(" tx_cpu={tx} rx_cpu={rx}"),
            false => format!(" {tx} %TX {rx} %RX"),
        });
        Loss::write(self.loss, &mut line, format, false);
        Jitter::write(self.jitter, &mut line, format);
        Retransmissions::write(self.retransmissions.as_ref(), &mut line, format, false);
        CongestionWindow::write(self.congestion_window.as_ref(), &mut line, format, false);
        if let Some(rtt) = self.rtt.filter(|_| format.has(Format::RTT)) {
            let ms = rtt.as_secs_f64() * 1e3;
            line.push_str(&match is_parsed {
                true => format!(" rtt_ms={ms:.2}"),
                false => format!(" {ms:.2} msRTT"),
            });
        }
        line
    }
}
