//! The window scale that a sender's flight shows where no SYN does.
//!
//! A sender that waits for the receive window fills it up to less than a segment, again and again,
//! and never exceeds it. So one power of two makes the windows of its ACKs fit what was in flight.

use alloc::boxed::Box;

/// Largest scale (RFC 7323 section 2.3).
const MAX_SCALE: usize = 14;

/// Minimum number of times that the sender had sent before an ACK came.
const MIN_SEEN: u32 = 12;

/// How often the flight fitted the window of each scale, and how often it exceeded it.
#[derive(Clone, Default, Debug)]
pub(crate) struct ScaleFit {
    seen: u32,
    full: [u32; MAX_SCALE + 1],
    /// Filled to the unit of the scale, with a segment cut short.
    exact: [u32; MAX_SCALE + 1],
    over: [u32; MAX_SCALE + 1],
    /// The last acknowledgment that the sender received: its position, and its window as advertised.
    last: Option<(u64, u64)>,
    /// Highest position sent when the one before came.
    sent: u64,
    /// Smallest and largest window of those that were compared.
    windows: Option<(u64, u64)>,
    /// Sum of the flights that were compared.
    flights: u64,
}

impl ScaleFit {
    pub fn new() -> Box<Self> {
        Box::default()
    }

    /// Handles an acknowledgment that the sender receives when it has sent up to `nxt`.
    pub fn on_ack(&mut self, nxt: u64, ack: u64, window: u16, mss: u64) {
        let has_sent = core::mem::replace(&mut self.sent, nxt) < nxt;
        let last = self.last.replace((ack, u64::from(window)));
        let Some((from, window)) =
            last.filter(|(from, window)| has_sent && *window > 0 && *from < nxt)
        else {
            return;
        };
        let flight = nxt - from;
        let (least, most) = self.windows.unwrap_or((window, window));
        self.windows = Some((least.min(window), most.max(window)));
        self.seen += 1;
        self.flights += flight;
        for scale in 0..=MAX_SCALE {
            let room = (window << scale).checked_sub(flight);
            self.over[scale] += u32::from(room.is_none());
            self.exact[scale] += u32::from(room.is_some_and(|room| room < 1 << scale));
            self.full[scale] += u32::from(room.is_some_and(|room| room < mss + (1 << scale)));
        }
    }

    /// The scale, if the flight fitted the window half of the time and exceeded it in none of 50
    /// cases; and the windows varied by two segments or more, one of 16 segments or more was filled
    /// up to less than one, or half of the time the last segment was cut to fit.
    pub fn scale(&self, mss: u64) -> Option<u8> {
        let scale = self.over.iter().position(|over| over * 50 <= self.seen)?;
        let (least, most) = self.windows?;
        let is_followed = (most - least) << scale >= 2 * mss;
        let is_long = self.flights >= 16 * mss * u64::from(self.seen);
        let is_full = self.full[scale] * 2 >= self.seen && self.seen >= MIN_SEEN;
        let is_cut = self.exact[scale] * 2 >= self.seen && mss >= 16 << scale;
        (is_full && (is_followed || is_long || is_cut)).then_some(scale as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1448;

    /// A sender that has `flight(window << 3)` in flight when each ACK of a segment comes.
    fn fit(windows: impl Iterator<Item = u16>, flight: impl Fn(u64) -> u64) -> Option<u8> {
        let mut fit = ScaleFit::default();
        let mut ack = 0;
        let mut nxt = 10 * MSS;
        for window in windows {
            fit.on_ack(nxt, ack, window, MSS);
            nxt = nxt.max(ack + flight(u64::from(window) << 3) / MSS * MSS);
            ack += MSS;
        }
        fit.scale(MSS)
    }

    #[test]
    fn a_filled_window_shows_its_scale() {
        let varying = (0..60).map(|index| 4000 + 150 * (index % 7));
        assert_eq!(fit(varying, |window| window), Some(3));
        assert_eq!(fit((0..60).map(|_| 8000), |window| window), Some(3));
    }

    #[test]
    fn a_window_that_is_not_filled_shows_no_scale() {
        assert_eq!(fit((0..60).map(|_| 8000), |window| window * 7 / 10), None);
        // A small flight fits some power of two by chance.
        assert_eq!(fit((0..60).map(|_| 1500), |window| window), None);
    }
}
