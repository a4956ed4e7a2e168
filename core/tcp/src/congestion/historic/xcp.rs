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

pub(super) fn control(config: &Config) -> Windowed<Xcp> {
    Windowed::new(config, Xcp::default())
}

/// The law of XCP.
#[derive(Clone, Default, Debug)]
pub(super) struct Xcp {
    /// Rounds for which the last reply of a router still holds.
    reply_rounds: u8,
    /// Whether the flow does not need a larger window.
    is_sated: bool,
}

impl Xcp {
    fn routers_reply(&self) -> bool {
        self.reply_rounds > 0
    }
}

impl Law for Xcp {
    fn observe(&mut self, _window: &mut Window, ack: &Ack) {
        debug_assert!(
            self.reply_rounds <= MAX_SILENT_ROUNDS + 1,
            "a reply holds for {MAX_SILENT_ROUNDS} rounds after its own: {}",
            self.reply_rounds
        );
        self.reply_rounds -= u8::from(ack.round_end && self.routers_reply());
        self.is_sated = !ack.cwnd_limited;
    }

    fn grow_slow_start(&mut self, window: &mut Window, opening: &mut SlowStartState, ack: &Ack) {
        if !self.routers_reply() {
            (window.cwnd, window.ssthresh) = opening.grow(ack, window.cwnd, window.ssthresh);
        }
    }

    fn grow_avoidance(&mut self, window: &mut Window, _ack: &Ack, acked: u64) {
        if !self.routers_reply() {
            window.grow_by_segments(window.segments(), acked);
        }
    }

    fn reduced(&mut self, _window: &Window, _event: &Congestion, in_use: u64) -> u64 {
        in_use / 2
    }

    fn request(&self, window: &Window, srtt: Option<Duration>) -> Option<RouterRequest> {
        let micros = srtt.map_or(0, |srtt| srtt.as_nanos() / 1000);
        Some(RouterRequest {
            is_answered: false,
            rtt_us: u32::try_from(micros).unwrap_or(u32::MAX),
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
        self.reply_rounds = MAX_SILENT_ROUNDS + 1;
        if feedback > 0 && (self.is_sated || is_reducing) {
            return;
        }
        let changed = window.cwnd.saturating_add_signed(i64::from(feedback));
        window.set(changed);
    }
}
