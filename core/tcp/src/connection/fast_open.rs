//! TCP Fast Open inside a connection: RFC 7413 sections 4.2 and 3.
//!
//! * Client: the first SYN carries a cookie, or requests one. With a cookie it also carries
//!   written data, up to one segment. A retransmitted SYN carries neither (section 4.2.1): a path
//!   that drops such SYNs costs one timeout. Data that the SYN-ACK does not acknowledge is
//!   retransmitted immediately.
//! * Server: data in a SYN with a valid cookie is readable immediately. The SYN-ACK acknowledges
//!   it, and data may leave before the handshake is complete. A FIN waits for the handshake.
//!
//! Cookies are managed elsewhere: see [`crate::fast_open`] for the client's cache and the server's
//! key, and [`crate::listener`] for the limits. Data in a SYN may be delivered twice, if the
//! network duplicates the SYN and the first connection is already over (section 2.1). Only
//! applications that tolerate this may use Fast Open.

use alloc::boxed::Box;

use gigatcp_units::Instant;
use gigatcp_wire::{FastOpenCookie, Flags, Options, Payload, Segment};

use super::syn_text::without_syn;
use super::{Connection, ConnectionConfig, Failure, Received};
use crate::events::State;
use crate::fast_open::{FastOpenOffer, FastOpenOutcome, FastOpenSlot};
use crate::space::{Length, Offset, RightEdge};

/// The Fast Open of a connection. Boxed: few have one.
pub(super) type OptionalFastOpen = Option<Box<FastOpen>>;

/// A Fast Open, as client or as server.
#[derive(Default, Debug)]
pub(super) struct FastOpen {
    /// Option of our first SYN, or of our SYN-ACK.
    option: Option<FastOpenCookie>,
    /// Server: the cookie in the SYN was valid.
    accepted: bool,
    /// Server: data in the SYN was accepted.
    text_taken: bool,
    /// Server: one of the limited number of Fast Open connections in progress.
    slot: Option<FastOpenSlot>,
    /// Client: maximum octets of data in our SYN.
    room: u32,
    /// Client: result of the fast open.
    outcome: FastOpenOutcome,
}

impl<P: Payload> Connection<P> {
    /// Makes this active open a fast one, if the profile has `fast_open_client`. Call it after
    /// [`Connection::connect`] and [`Connection::write`], before the first
    /// [`Connection::poll_transmit`]. Returns whether it took effect.
    #[doc(hidden)]
    pub fn offer_fast_open(&mut self, offer: &FastOpenOffer) -> bool {
        let may = self.transport.profile.opening.fast_open_client
            && self.state == State::SynSent
            && self.snd.nxt == 0
            && self.authentication.is_none();
        if may {
            // A client that requires no cookie requests none.
            let asks = offer.cookie.is_request()
                && self.transport.profile.opening.fast_open_without_cookie;
            self.fast_open = Some(Box::new(FastOpen {
                option: (!asks).then_some(offer.cookie),
                room: u32::from(offer.mss).min(self.rmss),
                ..FastOpen::default()
            }));
        }
        may
    }

    /// Result of an offered fast open, for the cookie cache. It is complete once the connection is
    /// established or closed.
    #[must_use]
    #[doc(hidden)]
    pub fn fast_open_outcome(&self) -> Option<FastOpenOutcome> {
        self.fast_open.as_ref().map(|state| state.outcome)
    }

    /// Whether the receiver accepted all data in a SYN (`TCPI_OPT_SYN_DATA`), in either direction.
    pub(super) fn has_taken_syn_text(&self) -> bool {
        let is_acked = |outcome: &FastOpenOutcome| {
            outcome.text_acked > 0 && outcome.text_acked == outcome.text_sent
        };
        let taken = |state: &FastOpen| state.text_taken || is_acked(&state.outcome);
        self.fast_open.as_deref().is_some_and(taken)
    }

    /// Whether the SYN that opened this connection had a valid cookie, with or without data.
    /// Written data may then leave before the handshake is complete.
    #[doc(hidden)]
    pub fn is_opened_fast(&self) -> bool {
        self.fast_open.as_ref().is_some_and(|state| state.accepted)
    }

    /// Opens passively by a SYN with a Fast Open option. `grant` goes out with the SYN-ACK.
    /// `take_text`: the SYN's cookie was valid, and its data is accepted immediately. `None` if
    /// `syn` has no SYN.
    #[must_use]
    #[doc(hidden)]
    pub fn accept_fast_open(
        now: Instant,
        config: &ConnectionConfig,
        syn: &Received<P>,
        grant: Option<FastOpenCookie>,
        take_text: bool,
    ) -> Option<Self> {
        let mut connection = Self::accept(now, config, syn)?;
        connection.fast_open = Some(Box::new(FastOpen {
            option: grant,
            accepted: take_text,
            ..FastOpen::default()
        }));
        if take_text {
            connection.take_text_of_syn(now, syn);
        }
        Some(connection)
    }

    /// Counts the connection as pending until its handshake ends (RFC 7413 section 5.1).
    pub(crate) fn hold_fast_open_slot(&mut self, slot: FastOpenSlot) {
        if let Some(state) = &mut self.fast_open {
            state.slot = Some(slot);
        }
    }

    /// Releases the slot at the end of the handshake, successful or not.
    pub(super) fn release_fast_open_slot(&mut self) {
        let by_reset = self.failure == Some(Failure::Reset);
        let Some(slot) = self.fast_open.as_mut().and_then(|state| state.slot.take()) else {
            return;
        };
        if by_reset {
            slot.end_by_reset();
        }
    }

    /// Delivers data in SYN before the handshake is complete (section 4.2.2). A FIN behind it
    /// waits, as always.
    fn take_text_of_syn(&mut self, now: Instant, syn: &Received<P>) {
        self.handshake.syn_text = None;
        let mut text = without_syn(syn.segment.clone());
        let whole = text.payload.len() as u64;
        let taken = whole.min(self.rcv.wnd());
        let mut rest = text.clone();
        rest.payload = text.payload.split_off(taken as usize);
        rest.seq += taken as u32;
        if taken > 0 {
            self.receive_buffer.append(text.payload);
            self.put_received(now, 1, taken as u32, false, 0);
            self.rcv.nxt += taken;
            // The following SYN-ACK advertises as much as its field holds.
            let edge = self
                .window
                .edge(Offset(self.rcv.nxt), RightEdge(0), Length(taken));
            self.rcv.edge = edge.clamp(self.rcv.edge, self.rcv.nxt + 65_535);
            self.rcv.advertised_edge = self.rcv.edge;
            self.rcv.last_wnd = self.rcv.wnd();
            self.rcv.last_ack_sent = self.rcv.nxt;
            if let Some(state) = &mut self.fast_open {
                state.text_taken = true;
            }
        }
        if taken == whole && rest.flags.contains(Flags::FIN) {
            self.handshake.syn_text = Some(Box::new(rest));
        }
    }

    /// Whether data may leave before the handshake is complete. A closed window is not probed
    /// before then.
    pub(super) fn may_send_early(&self) -> bool {
        self.state == State::SynReceived && self.snd.wnd > 0 && self.is_opened_fast()
    }

    /// Option of the SYN or SYN-ACK about to leave. A retransmitted SYN has none; a retransmitted
    /// SYN-ACK repeats its grant.
    pub(super) fn fast_open_option(&self) -> Option<FastOpenCookie> {
        let option = self.fast_open.as_ref()?.option;
        let is_first_syn = self.snd.nxt == 0 && !self.handshake.syn_answers;
        option.filter(|_| is_first_syn || !self.handshake.active_open)
    }

    /// Octets of data for our first SYN. Only with a cookie, and no more than fits next to
    /// `options`.
    pub(super) fn text_for_syn(&self, options: &Options) -> u64 {
        let Some(state) = &self.fast_open else {
            return 0;
        };
        let has_cookie = match state.option {
            Some(cookie) => !cookie.is_request(),
            None => self.transport.profile.opening.fast_open_without_cookie,
        };
        if self.handshake.syn_answers || !has_cookie {
            return 0;
        }
        let room = u64::from(state.room).saturating_sub(options.wire_len() as u64);
        self.unsent_of_record().min(room)
    }

    /// Whether our SYN had the Fast Open option, or data.
    pub(super) const fn is_fast_open_client(&self) -> bool {
        self.handshake.active_open && self.fast_open.is_some()
    }

    /// Whether data of our SYN that the SYN-ACK left out is the first to leave now. It stays a
    /// segment of its own (Linux `tcp_rcv_fastopen_synack`).
    pub(super) fn resends_syn_text(&self) -> bool {
        let has_text = |state: &FastOpen| state.outcome.text_sent > 0;
        self.snd.una == 1 && self.fast_open.as_deref().is_some_and(has_text)
    }

    /// Result of our fast open while it is incomplete.
    pub(super) fn open_fast_open_outcome(&mut self) -> Option<&mut FastOpenOutcome> {
        let state = self
            .fast_open
            .as_mut()
            .filter(|_| self.handshake.active_open)?;
        Some(&mut state.outcome).filter(|outcome| !outcome.answered)
    }

    /// Notes that `answer` acknowledges our SYN, and its data up to `ack`.
    /// A cookie without a request is ignored.
    pub(super) fn note_fast_open_answer(&mut self, ack: u64, answer: &Segment<P>) {
        let option = self.fast_open.as_ref().and_then(|state| state.option);
        let consequence = self.transport.profile.opening.ignored_request;
        let Some(outcome) = self.open_fast_open_outcome() else {
            return;
        };
        let cookie = answer.options.fast_open();
        let cookie = cookie.filter(|cookie| option.is_some() && !cookie.is_request());
        // One that was retransmitted says nothing: the path may have dropped the option.
        let is_ignored = option.is_some_and(|option| option.is_request())
            && cookie.is_none()
            && !outcome.timed_out;
        *outcome = FastOpenOutcome {
            cookie,
            ignored_request: is_ignored.then_some(consequence),
            mss: answer.options.mss,
            text_acked: (ack - 1) as u32,
            answered: true,
            ..*outcome
        };
    }
}
