//! TSO deferral: waiting for a larger super-segment, as in Linux (`tcp_tso_should_defer`,
//! net/ipv4/tcp_output.c).
//!
//! Each acknowledgment opens the window by a segment or two. A sender that uses that immediately
//! gives the device many small super-segments and pays for each. A sender that waits for a part of
//! the window gives it few. The price: until that part is complete, the window lies idle. With a
//! queue of about one BDP and an RTT of a few milliseconds, the kernel's flows lose 10 % to 20 %
//! throughput (`experiments/duel`, series 05). So [`crate::Profile::MODERN`] does not wait; with
//! the setting `tso_win_divisor` it defers as the kernel does.
//!
//! It waits only while an acknowledgment of data in flight is due within a millisecond and half an
//! RTT, and never in recovery. Measured on 6.18: over 7.5 Mbit/s, where ACKs come 3 ms apart, an
//! opening of one segment leaves at once. Kernels before it waited for half an RTT.
//!
//! As in Linux, unsent data is divided into pieces of the size a device accepts. The rest of a
//! piece leaves as soon as it fits. Unlike in Linux, pieces are cut at multiples of that size from
//! the start of the stream; the kernel's also end where an application paused.

use gigatcp_units::{Duration, Instant};
use gigatcp_wire::{MAX_SUPER_SEGMENT, Payload};

use super::Connection;
use crate::events::{Limit, Phase};
use crate::space::{Length, Usable};

/// Idle time of a sender after which it does not wait.
const SILENCE: Duration = Duration::from_millis(1);

/// Most time until an acknowledgment that is waited for.
const NEAR: Duration = Duration::from_millis(1);

impl<P: Payload> Connection<P> {
    /// Whether sendable data waits for a larger super-segment. Notes the limit it waits for.
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
            // Nagle's algorithm covers a last segment; nothing follows the other cases.
            return false;
        }
        let usable = allowance.min(window);
        let piece = self.rest_of_piece();
        let reaches_next = unsent > piece && usable >= piece;
        let divisor = u64::from(self.transport.profile.segments.tso_win_divisor);
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

    /// Whether cwnd is unfilled only because of the wait for a larger super-segment.
    pub(super) fn waits_fill_the_window(&self) -> bool {
        self.transport.profile.segments.tso_win_divisor > 0 && self.pacing.window_use.is_recent()
    }

    /// Octets up to the end of the piece that contains SND.NXT.
    fn rest_of_piece(&self) -> u64 {
        let smss = u64::from(self.smss);
        let piece = (MAX_SUPER_SEGMENT as u64 / smss).max(1) * smss;
        // The first octet of data follows the SYN.
        piece - self.snd.nxt.saturating_sub(1) % piece
    }

    /// Whether an ACK is likely soon, in the same burst. It would open the window.
    fn is_acknowledgment_near(&self, now: Instant) -> bool {
        if matches!(self.recovery.phase(), Phase::Recovery | Phase::Loss) {
            return false;
        }
        let (Some(first), Some(srtt)) = (self.board.first_in_flight_left(), self.rtt.srtt()) else {
            return false;
        };
        let is_silent = now.saturating_since(self.last_sent_at) > SILENCE;
        !is_silent && (first + srtt).saturating_since(now) <= NEAR.min(srtt / 2)
    }
}
