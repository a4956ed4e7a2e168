//! The window scale that a sender's flight shows where no SYN does.
//!
//! A sender that waits for the receive window fills it up to less than a segment, again and again,
//! and never exceeds it. So one power of two makes the windows of its ACKs fit what was in flight.

use alloc::boxed::Box;

/// Largest scale (RFC 7323 section 2.3).
pub(crate) const MAX_SCALE: usize = 14;

/// Minimum number of times that the sender had sent before an ACK came.
const MIN_SEEN: u64 = 12;

/// How often the flight fitted the window of each scale, and how often it exceeded it.
#[derive(Clone, Default, Debug)]
pub(crate) struct ScaleFit {
    seen: u64,
    fits: [Fit; MAX_SCALE + 1],
    /// The last acknowledgment that the sender received: its position, and its window as advertised.
    last: Option<(u64, u64)>,
    /// Highest position sent when the one before came.
    sent: u64,
}

/// The windows of one scale.
#[derive(Clone, Copy, Default, Debug)]
struct Fit {
    /// Windows that the flight exceeded.
    over: u64,
    /// Windows that it filled up to less than a segment.
    full: u64,
    /// Of these, windows that it filled to the unit, with a segment cut short.
    exact: u64,
    /// Smallest and largest of the filled windows, as advertised.
    windows: Option<(u64, u64)>,
    /// Sum of the flights that filled them.
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
        self.seen += 1;
        for (scale, fit) in self.fits.iter_mut().enumerate() {
            let Some(room) = (window << scale).checked_sub(flight) else {
                fit.over += 1;
                continue;
            };
            if room < mss + (1 << scale) {
                fit.full += 1;
                fit.exact += u64::from(room < 1 << scale);
                fit.flights += flight;
                let (least, most) = fit.windows.unwrap_or((window, window));
                fit.windows = Some((least.min(window), most.max(window)));
            }
        }
    }

    /// The scale, if the flight exceeded its windows in none of 50 cases and filled them in half of
    /// all, and that is no chance: the filled windows varied by two segments or more. A constant
    /// flight fits some scale of a constant window by chance: then it has to be 64 segments or
    /// more, or to be cut to the unit, and no round number, as both buffers may be.
    pub fn scale(&self, mss: u64) -> Option<u8> {
        const LONG: u64 = 64;
        let is_allowed = |fit: &Fit| fit.over * 50 <= self.seen;
        let scale = self.fits.iter().position(is_allowed)?;
        let fit = &self.fits[scale];
        let (least, most) = fit.windows?;
        let is_followed = (most - least) << scale >= 2 * mss;
        let is_round = (most << scale) % 1024 == 0;
        let is_long = fit.flights >= LONG * mss * fit.full;
        let is_cut = fit.exact * 2 >= self.seen && mss >= 16 << scale;
        let is_full = fit.full * 2 >= self.seen && self.seen >= MIN_SEEN;
        let is_shown = is_followed || (is_long || is_cut) && !is_round;
        (is_full && is_shown).then_some(scale as u8)
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
        assert_eq!(fit((0..60).map(|_| 13_001), |window| window), Some(3));
    }

    #[test]
    fn a_window_that_is_not_filled_shows_no_scale() {
        assert_eq!(fit((0..60).map(|_| 8000), |window| window * 7 / 10), None);
        // A small flight fits some power of two by chance, and so do two round buffers.
        assert_eq!(fit((0..60).map(|_| 1500), |window| window), None);
        assert_eq!(fit((0..60).map(|_| 1024), |_| 65_536), None);
        // The windows vary, and the flight does not.
        let varying = || (0..60).map(|index| if index < 40 { 740 } else { 1000 });
        assert_eq!(fit(varying(), |_| 8 * MSS), None);
    }
}
