//! RCP: routers set the sending rate.
//!
//! Dukkipati, Kobayashi, Zhang-Shen, McKeown, "Processor Sharing Flows in the Internet", IWQoS
//! 2005. Every segment of data carries SRTT and the requested rate. Routers lower it to theirs,
//! the receiver returns it:
//!
//! ```text
//! pacing rate = R        cwnd = 4·R·min_rtt + 3 segments                (1)
//! ```
//!
//! * Pacing sets the rate. The window allows a queue of three RTTs and ACKs of two segments.
//! * The first window leaves before the first reply. The paper sends the request with the SYN,
//!   which saves one RTT.
//! * Loss halves the window until the next reply after recovery. It should not happen if every
//!   bottleneck has a router and a buffer of a few BDP. The buffer is needed because a new flow
//!   receives R before the router counts it.
//! * Until a router replies, and after two rounds without a reply, the flow is Reno.
//!
//! The router is the queue discipline `rcp`.

use gigatcp_units::{Duration, Rate};
use gigatcp_wire::{RequestScheme, RouterReply, RouterRequest};

use super::xcp::{RouterReplies, stated};
use crate::congestion::slow_start::SlowStartState;
use crate::congestion::windowed::{Law, Window, Windowed};
use crate::congestion::{Ack, Config, Congestion};

/// Segments added to four times the rate times the minimum RTT.
const SPARE_SEGMENTS: u64 = 3;

/// Returns an RCP control.
pub(super) fn control(config: &Config) -> Windowed<Rcp> {
    Windowed::new(config, Rcp::default())
}

/// The law of RCP.
#[derive(Clone, Default, Debug)]
pub(super) struct Rcp {
    replies: RouterReplies,
    rate: Option<Rate>,
    min_rtt: Option<Duration>,
}

impl Law for Rcp {
    fn observe(&mut self, _window: &mut Window, ack: &Ack) {
        self.replies.on_ack(ack);
        self.min_rtt = ack.min_rtt.or(self.min_rtt);
        if !self.replies.come() {
            self.rate = None;
        }
    }

    fn grow_slow_start(&mut self, window: &mut Window, opening: &mut SlowStartState, ack: &Ack) {
        if self.rate.is_none() {
            (window.cwnd, window.ssthresh) = opening.grow(ack, window.cwnd, window.ssthresh);
        }
    }

    fn grow_avoidance(&mut self, window: &mut Window, _ack: &Ack, acked: u64) {
        if self.rate.is_none() {
            window.grow_by_segments(window.segments(), acked);
        }
    }

    fn reduced(&mut self, _window: &Window, _event: &Congestion, in_use: u64) -> u64 {
        in_use / 2
    }

    fn pacing_rate(&self, _window: &Window) -> Option<Rate> {
        self.rate
    }

    fn request(&self, _window: &Window, srtt: Option<Duration>) -> Option<RouterRequest> {
        Some(RouterRequest {
            is_answered: false,
            rtt_us: stated(srtt),
            scheme: RequestScheme::Rcp { rate: Rate::MAX },
        })
    }

    fn on_reply(&mut self, window: &mut Window, reply: RouterReply, is_reducing: bool) {
        let RouterReply::Rcp(rate) = reply else {
            return;
        };
        self.replies.on_reply();
        self.rate = Some(rate);
        if let Some(min_rtt) = self.min_rtt
            && !is_reducing
        {
            let spare = SPARE_SEGMENTS * window.smss;
            let path = rate.amount_in(min_rtt).as_u64().min(u64::MAX / 8);
            window.set(4 * path + spare);
        }
    }
}
