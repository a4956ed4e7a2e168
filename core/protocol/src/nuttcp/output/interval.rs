//! The line of an interval, which the receiver writes.

use alloc::string::String;

use super::{Amount, CongestionWindow, Jitter, Loss, Retransmissions};
use crate::nuttcp::parameters::Format;

/// The figures of one interval.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Interval {
    /// Data received.
    pub received: Amount,
    /// Datagrams lost, approximately: some may still be in flight.
    pub loss: Option<Loss>,
    /// Jitter of datagrams.
    pub jitter: Option<Jitter>,
    /// Retransmissions in the interval.
    pub retransmissions: Option<Retransmissions>,
    /// Congestion window at its end.
    pub congestion_window: Option<CongestionWindow>,
}

impl Interval {
    /// Line without its end, with the fields that `format` selects.
    pub fn line(&self, format: Format) -> String {
        let mut line = self.received.line(format, "real_sec");
        Loss::write(self.loss, &mut line, format, true);
        Jitter::write(self.jitter, &mut line, format);
        Retransmissions::write(self.retransmissions.as_ref(), &mut line, format, true);
        CongestionWindow::write(self.congestion_window.as_ref(), &mut line, format, true);
        line
    }
}
