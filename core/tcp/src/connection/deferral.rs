//! Waiting for a larger super-segment, as Linux does where a device splits
//! them (`tcp_tso_should_defer`, net/ipv4/tcp_output.c).
//!
//! Each acknowledgment opens the window by a segment or two. A sender that uses that
//! at once hands the device many small super-segments, and pays for each; who
//! waits for a part of the window hands over few. The price is the window:
//! until the part is together, it lies idle. With a queue of about one
//! round-trip product behind a path of a few milliseconds the kernel's flows
//! lose a tenth to a fifth of their throughput by it (`experiments/duel`,
//! series 05), so [`crate::Profile::MODERN`] does not wait; with the setting
//! `tso_win_divisor` it does what the kernel does.
//!
//! It never waits for nothing: only while something is in flight whose
//! acknowledgment is due within half a round trip, and never in recovery.
//!
//! As there, what waits to be sent lies in pieces of what a device takes, and
//! the rest of a piece leaves as soon as it fits. Not as there: pieces are cut
//! at multiples of that from the start of the stream, while the kernel's also
//! end where an application paused.

use gigatcp_events::{Limit, Phase};
use gigatcp_units::{Duration, Instant};
use gigatcp_wire::{MAX_SUPER_SEGMENT, Payload};

use super::Connection;
use crate::space::{Length, Usable};

/// A sender that was idle for longer than this does not wait.
const SILENCE: Duration = Duration::from_millis(1);

impl<P: Payload> Connection<P> {
    /// Some of `unsent` octets may leave now: whether they wait for more anyway.
    /// Notes what they wait for.
    #[cold]
    #[inline(never)]
    pub(super) fn waits_for_more(
        &mut self,
        now: Instant,
        Length(unsent): Length,
        Usable { allowance, window }: Usable,
    ) -> bool {
        let smss = u64::from(self.smss);
        if unsent <= smss || self.is_fin_due() || self.unsent_of_record() < unsent {
            // A last segment is Nagle's business; nothing follows the others.
            return false;
        }
        let usable = allowance.min(window);
        let piece = self.rest_of_piece();
        let reaches_next = unsent > piece && usable >= piece;
        let divisor = u64::from(self.profile.segments.tso_win_divisor);
        let part = self.snd.wnd.min(self.congestion.cwnd().as_u64()) / divisor;
        let enough = part.min(self.release_size(u64::MAX));
        if reaches_next || usable >= enough || !self.is_acknowledgment_near(now) {
            return false;
        }
        if window < allowance {
            self.set_limit(now, Limit::ReceiveWindow);
        } else {
            self.limiting.cwnd_limited = true;
            self.pacing.window_use.on_filled();
            self.set_limit(now, self.congestion_limit());
        }
        true
    }

    /// Whether the part of cwnd that is not in flight only waits for a larger
    /// super-segment.
    pub(super) fn waits_fill_the_window(&self) -> bool {
        self.profile.segments.tso_win_divisor > 0 && self.pacing.window_use.is_recent()
    }

    /// Octets up to the end of the piece that SND.NXT lies in.
    fn rest_of_piece(&self) -> u64 {
        let smss = u64::from(self.smss);
        let piece = (MAX_SUPER_SEGMENT as u64 / smss).max(1) * smss;
        // The first octet of data follows the SYN.
        piece - self.snd.nxt.saturating_sub(1) % piece
    }

    /// Whether an acknowledgment that opens the window is likely to arrive
    /// within half a round trip, and this is the same burst as before.
    fn is_acknowledgment_near(&self, now: Instant) -> bool {
        if matches!(self.recovery.phase(), Phase::Recovery | Phase::Loss) {
            return false;
        }
        let (Some(first), Some(srtt)) = (self.board.first_in_flight_left(), self.rtt.srtt()) else {
            return false;
        };
        let is_silent = now.saturating_since(self.last_sent_at) > SILENCE;
        !is_silent && now.saturating_since(first) * 2 >= srtt
    }
}
