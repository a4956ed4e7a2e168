//! XCP: routers set the change of the window.
//!
//! Katabi, Handley, Rohrs, "Congestion Control for High Bandwidth-Delay Product Networks",
//! SIGCOMM 2002, section 3.3. Each segment of data carries cwnd, SRTT and the change that the
//! sender requests; routers lower it, the receiver returns it:
//!
//! ```text
//! cwnd = max(cwnd + feedback, one segment)                              (1)
//! ```
//!
//! * The sender requests the maximum while cwnd limits it, otherwise nothing.
//! * Loss halves the window as in Reno, and so does ECN. Loss should not happen if every
//!   bottleneck has a router.
//! * Until a router replies, and after two rounds without a reply, the flow is Reno: slow start,
//!   one segment per window. On a path without such routers it is Reno throughout.
//!
//! The router is the queue discipline `xcp`, the options are those of `gigatcp_wire`. `gigatcp
//! list controls` calls the family explicit. Out of scope: a path whose bottleneck has no router
//! while another queue has one; only loss signals that bottleneck.

use gigatcp_units::Duration;
use gigatcp_wire::{RequestScheme, RouterReply, RouterRequest};

use crate::congestion::slow_start::SlowStartState;
use crate::congestion::windowed::{Law, Window, Windowed};
use crate::congestion::{Ack, Config, Congestion};

/// Rounds without a reply after which the flow is Reno again.
const MAX_SILENT_ROUNDS: u8 = 2;

/// Returns an XCP control.
pub(super) fn control(config: &Config) -> Windowed<Xcp> {
    Windowed::new(config, Xcp::default())
}

/// The law of XCP.
#[derive(Clone, Default, Debug)]
pub(super) struct Xcp {
    replies: RouterReplies,
    /// Whether the flow does not need a larger window.
    is_sated: bool,
}

/// Whether routers reply.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct RouterReplies {
    /// Rounds for which the last reply still holds.
    left: u8,
}

impl RouterReplies {
    /// Notes a reply of a router.
    pub(super) fn on_reply(&mut self) {
        self.left = MAX_SILENT_ROUNDS + 1;
    }

    /// Notes an acknowledgment, which may end a round.
    pub(super) fn on_ack(&mut self, ack: &Ack) {
        self.left = self.left.saturating_sub(u8::from(ack.round_end));
    }

    /// Returns whether routers reply.
    pub(super) fn come(self) -> bool {
        self.left > 0
    }
}

/// Returns the RTT of a request in microseconds, zero if unknown.
pub(super) fn stated(srtt: Option<Duration>) -> u32 {
    let micros = srtt.map_or(0, |srtt| srtt.as_nanos() / 1000);
    u32::try_from(micros).unwrap_or(u32::MAX)
}

impl Law for Xcp {
    fn observe(&mut self, _window: &mut Window, ack: &Ack) {
        self.replies.on_ack(ack);
        self.is_sated = !ack.cwnd_limited;
    }

    fn grow_slow_start(&mut self, window: &mut Window, opening: &mut SlowStartState, ack: &Ack) {
        if !self.replies.come() {
            (window.cwnd, window.ssthresh) = opening.grow(ack, window.cwnd, window.ssthresh);
        }
    }

    fn grow_avoidance(&mut self, window: &mut Window, _ack: &Ack, acked: u64) {
        if !self.replies.come() {
            window.grow_by_segments(window.segments(), acked);
        }
    }

    fn reduced(&mut self, _window: &Window, _event: &Congestion, in_use: u64) -> u64 {
        in_use / 2
    }

    fn request(&self, window: &Window, srtt: Option<Duration>) -> Option<RouterRequest> {
        Some(RouterRequest {
            is_answered: false,
            rtt_us: stated(srtt),
            scheme: RequestScheme::Xcp {
                cwnd: u32::try_from(window.cwnd).unwrap_or(u32::MAX),
                feedback: if self.is_sated { 0 } else { i32::MAX },
            },
        })
    }

    fn on_reply(&mut self, window: &mut Window, reply: RouterReply, is_reducing: bool) {
        let RouterReply::Xcp(feedback) = reply else {
            return;
        };
        self.replies.on_reply();
        if feedback > 0 && (self.is_sated || is_reducing) {
            return;
        }
        let changed = window.cwnd.saturating_add_signed(i64::from(feedback));
        window.set(changed);
    }
}
