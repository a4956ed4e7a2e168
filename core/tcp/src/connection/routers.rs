//! Requests to routers of the path, and their replies: XCP.
//!
//! A congestion control that uses routers puts a request on every segment of data; SMSS leaves
//! space for it. The receiver returns the routers' reply on its next segment with enough space,
//! feedback summed until then. Requests that no router answered get no reply: without such routers
//! the sender's control continues without them. A peer that does not support the options ignores
//! them (RFC 9293 MUST-6).

use alloc::boxed::Box;

use gigatcp_units::Instant;
use gigatcp_wire::{Payload, RouterReply, RouterRequest, Segment};

use super::Connection;
use crate::congestion::Controller;
use crate::events::CwndCause;

/// State of a connection that sends router requests or returns replies.
#[derive(Clone, Default, Debug)]
pub(super) struct Routers {
    /// Whether our data carries requests.
    asks: bool,
    /// Whether the peer's data carries requests, so that ours carries replies.
    replies: bool,
    /// Reply to return.
    reply: Option<Box<RouterReply>>,
}

impl Routers {
    /// State at the start, with this control.
    pub(super) fn new(control: &dyn Controller) -> Self {
        Self {
            asks: control.request(None).is_some(),
            replies: false,
            reply: None,
        }
    }

    /// Whether the next segment may carry one of these options.
    #[inline]
    pub(super) const fn is_on(&self) -> bool {
        self.asks || self.reply.is_some()
    }

    /// Bytes reserved in full segments.
    pub(super) const fn room(&self) -> u32 {
        let request = self.asks as usize * RouterRequest::OPTION_LEN;
        let reply = self.replies as usize * RouterReply::OPTION_LEN;
        (request + reply) as u32
    }
}

impl<P: Payload> Connection<P> {
    /// Processes the router options of an acceptable segment.
    #[cold]
    pub(super) fn process_router_options(&mut self, now: Instant, segment: &Segment<P>) {
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

    /// Whether options and data fit into the segment; with a small MSS they may not.
    pub(super) fn fits(&self, segment: &Segment<P>) -> bool {
        let options = segment.options.wire_len();
        let len = segment.payload.len().min(self.smss as usize);
        let mss = self.mss_of(self.path.current()) as usize;
        options <= self.option_room() && (len == 0 || options + len <= mss)
    }

    /// Adds request and reply to a segment, if they fit.
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
        let full = (len as u64).min(u64::from(self.smss)) + RouterReply::OPTION_LEN as u64;
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
