//! Requests to the routers of the path, and their answers: XCP, RCP.
//!
//! A congestion control that asks routers has its request on every segment of data, for
//! which SMSS leaves room. The receiver returns what routers answered on its next segment
//! with room for it, feedback added up until then. Requests that no router answered are not
//! replied to, so a sender without such routers hears nothing and its control goes on as it
//! does without them. A peer that does not know the options ignores them (RFC 9293 MUST-6).

use alloc::boxed::Box;

use gigatcp_events::CwndCause;
use gigatcp_units::Instant;
use gigatcp_wire::{Payload, RouterReply, RouterRequest, Segment};

use super::Connection;
use crate::congestion::CongestionControl;

/// State of a connection that asks routers or returns what they say.
#[derive(Clone, Default, Debug)]
pub(super) struct Routers {
    /// Whether data carries requests.
    asks: bool,
    /// Whether the peer's data does as well, so that ours carries replies.
    replies: bool,
    /// What is to be returned.
    reply: Option<Box<RouterReply>>,
}

impl Routers {
    /// State at the start, with this control.
    pub(super) fn new(control: &dyn CongestionControl) -> Self {
        Self {
            asks: control.request(None).is_some(),
            replies: false,
            reply: None,
        }
    }

    /// Returns whether the next segment may carry an option of these.
    #[inline]
    pub(super) const fn is_on(&self) -> bool {
        self.asks || self.reply.is_some()
    }

    /// Returns the bytes that full segments leave free.
    pub(super) const fn room(&self) -> u32 {
        let request = self.asks as usize * RouterRequest::OPTION_LEN;
        let reply = self.replies as usize * RouterReply::MAX_OPTION_LEN;
        (request + reply) as u32
    }
}

impl<P: Payload> Connection<P> {
    /// An acceptable segment with options that few have.
    #[cold]
    pub(super) fn hear_routers(&mut self, now: Instant, segment: &Segment<P>) {
        let request = segment.options.router_request();
        if let Some(reply) = request.and_then(|request| request.reply()) {
            let before = self.routers.reply.take().map(|reply| *reply);
            self.routers.reply = Some(Box::new(reply.after(before)));
            if self.routers.asks && !self.routers.replies {
                self.routers.replies = true;
                self.follow_segment_size(now);
            }
        }
        if let Some(reply) = segment.options.router_reply() {
            let before = self.congestion.cwnd();
            self.begin_quick_start(now, reply);
            self.congestion.on_reply(now, reply);
            if self.congestion.cwnd() != before {
                self.put_cwnd(now, CwndCause::Avoidance);
            }
        }
    }

    /// Whether options and data of a segment have room in it: a small MSS leaves too little.
    pub(super) fn fits(&self, segment: &Segment<P>) -> bool {
        let options = segment.options.wire_len();
        let len = segment.payload.len().min(self.smss as usize);
        let mss = self.mss_of(self.path.current()) as usize;
        options <= self.option_room() && (len == 0 || options + len <= mss)
    }

    /// Puts request and reply on a segment, as far as they have room.
    #[inline(never)]
    pub(super) fn dress_for_routers(&mut self, segment: &mut Segment<P>) {
        let len = segment.payload.len();
        if len > 0 {
            let request = match self.quick_start.is_due() {
                true => Some(self.ask_quick_start()),
                false => self.congestion.request(self.rtt.srtt()),
            };
            segment.options.set_router_request(request);
            if !self.fits(segment) {
                segment.options.set_router_request(None);
            }
        }
        let full = (len as u64).min(u64::from(self.smss)) + RouterReply::MAX_OPTION_LEN as u64;
        let Some(reply) = self.routers.reply.as_deref().copied() else {
            return;
        };
        if len == 0 || self.routers.replies || full <= u64::from(self.smss) {
            segment.options.set_router_reply(Some(reply));
            while !self.fits(segment) && !segment.options.sack.is_empty() {
                segment.options.sack.pop();
            }
            if self.fits(segment) {
                self.routers.reply = None;
            } else {
                segment.options.set_router_reply(None);
            }
        }
    }
}
