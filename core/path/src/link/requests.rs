//! Requests of senders (XCP, Quick-Start) at a link that answers them.

use gigatcp_units::Instant;

use super::Link;
use crate::parcel::Parcel;
use crate::router::{Request, RequestedValue};

impl<T: Parcel> Link<T> {
    /// Passes an arriving packet to the router.
    #[inline(never)]
    pub(super) fn show_request(&mut self, now: Instant, octets: u32, request: Option<&Request>) {
        let bytes = self.service.on_line(octets);
        if let Some(quick_start) = &mut self.quick_start {
            quick_start.on_arrival(now, bytes);
        }
        if let Some(router) = self.queue.router() {
            router.on_arrival(bytes, request);
        }
    }

    /// Writes the router's answer into a departing packet.
    #[inline(never)]
    pub(super) fn answer_request(&mut self, now: Instant, octets: u32, parcel: &mut T) {
        let view = self.view();
        let bytes = self.service.on_line(octets);
        let Some(mut request) = parcel.request() else {
            return;
        };
        let is_answer = match (&mut self.quick_start, &mut request.requested) {
            (Some(router), RequestedValue::Start(code)) => {
                match router.approve(now, view.rate, *code) {
                    Some(approved) => {
                        *code = approved;
                        true
                    }
                    None => false,
                }
            }
            _ => match self.queue.router() {
                Some(router) => router.answer(now, &view, bytes, &mut request),
                None => false,
            },
        };
        if is_answer {
            parcel.answer(&request);
        }
    }
}
