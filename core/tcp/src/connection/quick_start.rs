//! Quick-Start: a first window as large as the routers of the path approve.
//!
//! RFC 4782 section 4. The first segment of data carries a request for 40 kbit/s · 2^N (key
//! `quick_start`), which routers lower or leave unchanged; its ACK returns it. With an approved
//! rate R, RTT T, segments of MSS and headers of H bytes:
//!
//! ```text
//! window = R·T/(MSS + H) segments                                       (1)
//! ```
//!
//! * The window leaves paced at R, within one round trip. If it does not exceed cwnd, nothing
//!   changes.
//! * Beyond it the window opens by limited slow start (RFC 3742), as section 4.8 requires.
//! * The first ACK of that data cuts cwnd to what was sent of it (section 4.4).
//! * Loss or a mark in that data reduces cwnd to the usual first window (section 4.6).
//! * A request is not approved if the returned nonce differs from the sent one. Nor is it if not
//!   every router lowered its TTL (section 3.2).
//!
//! The SYN carries no request. The window in a SYN-ACK is not scaled (RFC 7323 section 2.2), so an
//! active opener could use only 64 kB in the first RTT. A request in the middle of a connection
//! costs one round trip and has no such bound.
//!
//! The request is an IP option on the wire; here it is one of TCP (`gigatcp_wire`). So only
//! simulated routers read it, and SMSS leaves space for it until the first ACKs. The nonce is
//! compared as a whole. Out of scope: receivers that lie about the rate, requests after idle, ACK
//! congestion control (section 4.7) and reports of the approved rate.

use alloc::boxed::Box;
use alloc::sync::Arc;

use gigatcp_units::{Bytes, Duration, Instant, Rate};
use gigatcp_wire::{Payload, RequestScheme, RouterReply, RouterRequest};

use super::Connection;
use crate::congestion::SlowStart;
use crate::profile::Profile;

/// Initial TTL of IP and of the request.
const TTL: u8 = 64;

/// `max_ssthresh` of limited slow start in segments (RFC 3742 section 2).
const MAX_SSTHRESH: u32 = 100;

/// Progress of a Quick-Start.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum QuickStart {
    /// None, or over.
    Off,
    /// The first segment of data is to carry the request.
    Due,
    /// The request has left.
    Requested {
        nonce: u32,
        /// Whether the request is acknowledged: the reply comes with that ACK.
        is_acked: bool,
    },
    /// Data beyond this offset is sent at the approved rate.
    Sending(Box<Approved>),
    /// Data up to this offset was sent at the approved rate and is not acknowledged.
    Sent(u64),
}

/// A rate that all routers approved.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Approved {
    /// Start of the data sent at the approved rate.
    from: u64,
    window: Bytes,
    /// The profile's pacing, restored afterwards.
    pacing: (bool, Option<Rate>),
}

impl QuickStart {
    /// State at the start.
    pub(super) fn new(profile: &Profile) -> Self {
        match profile.congestion.quick_start {
            0 => Self::Off,
            _ => Self::Due,
        }
    }

    /// Whether the next segment of data carries the request.
    #[inline]
    pub(super) const fn is_due(&self) -> bool {
        matches!(self, Self::Due)
    }

    /// Whether data segments reserve space for the request.
    pub(super) const fn has_room(&self) -> bool {
        matches!(self, Self::Due | Self::Requested { .. })
    }
}

impl<P: Payload> Connection<P> {
    /// Request for the first segment of data.
    pub(super) fn ask_quick_start(&mut self) -> RouterRequest {
        // 30 bits (section 3.1).
        let nonce = self.snd.on_wire(0).as_u32() & !3;
        self.quick_start = QuickStart::Requested {
            nonce,
            is_acked: false,
        };
        RouterRequest {
            is_answered: false,
            rtt_us: 0,
            scheme: RequestScheme::QuickStart {
                code: self.transport.profile.congestion.quick_start.min(15) as u8,
                ttl: TTL,
                ip_ttl: TTL,
                nonce,
            },
        }
    }

    /// Processes the reply: begins if all routers approved.
    pub(super) fn begin_quick_start(&mut self, now: Instant, reply: RouterReply) {
        let RouterReply::QuickStart {
            code,
            ttl_diff,
            nonce: returned,
        } = reply
        else {
            return;
        };
        let QuickStart::Requested { nonce, .. } = self.quick_start else {
            return;
        };
        self.quick_start = QuickStart::Off;
        self.follow_segment_size(now);
        let is_approved = ttl_diff == 0 && returned == nonce && (1..=15).contains(&code);
        let Some(srtt) = self.rtt.srtt().filter(|_| is_approved) else {
            return;
        };
        let window = self.quick_start_window(Rate::from_bps(40_000 << code), srtt);
        if window <= self.congestion.cwnd() {
            return;
        }
        self.quick_start = QuickStart::Sending(Box::new(Approved {
            from: self.snd.nxt,
            window,
            pacing: (
                self.transport.profile.pacing.enabled,
                self.transport.profile.pacing.max_pacing_rate,
            ),
        }));
        self.profile_mut().pacing.enabled = true;
        let most = self
            .transport
            .profile
            .pacing
            .max_pacing_rate
            .unwrap_or(Rate::MAX);
        // Equation (1) counts headers, pacing does not.
        let payload = Rate::from_amount(window, srtt);
        self.profile_mut().pacing.max_pacing_rate = Some(payload.min(most));
        let transport = Arc::make_mut(&mut self.transport);
        if matches!(transport.slow_start, SlowStart::Usual | SlowStart::Standard) {
            transport.slow_start = SlowStart::Limited {
                max_ssthresh: MAX_SSTHRESH,
            };
        }
        self.start_congestion_control(now);
        self.pacing.first_window_left = 0;
        self.congestion.on_established(now, Some(srtt));
    }

    /// Equation (1) in bytes.
    fn quick_start_window(&self, rate: Rate, srtt: Duration) -> Bytes {
        let stamps = 12 * u32::from(self.timestamps.is_some());
        let per_segment = u64::from(self.smss + self.path.headers() + stamps);
        let segments = rate.amount_in(srtt).as_u64() / per_segment;
        Bytes::new(segments.saturating_mul(u64::from(self.smss)))
    }

    /// Window to begin with instead of the profile's.
    pub(super) fn first_window(&self) -> Option<Bytes> {
        match &self.quick_start {
            QuickStart::Sending(approved) => Some(approved.window),
            _ => None,
        }
    }

    /// Advances a Quick-Start after SND.UNA has advanced.
    #[cold]
    pub(super) fn follow_quick_start(&mut self, now: Instant) {
        match &mut self.quick_start {
            QuickStart::Requested { is_acked, .. } if !*is_acked => *is_acked = true,
            QuickStart::Requested { .. } => {
                self.quick_start = QuickStart::Off;
                self.follow_segment_size(now);
            }
            QuickStart::Sending(approved) if self.snd.una > approved.from => {
                let sent = Bytes::new(self.snd.nxt - approved.from);
                let pacing = approved.pacing;
                self.quick_start = QuickStart::Sent(self.snd.nxt);
                self.set_pacing(pacing);
                if sent < self.congestion.cwnd() {
                    self.congestion.on_idle_restart(now, sent);
                }
            }
            QuickStart::Sent(end) if self.snd.una >= *end => self.quick_start = QuickStart::Off,
            _ => {}
        }
    }

    /// Ends a Quick-Start on a reduction; its data leaves at most the usual first window.
    #[cold]
    pub(super) fn give_up_quick_start(&mut self, now: Instant) {
        let before = core::mem::replace(&mut self.quick_start, QuickStart::Off);
        if let QuickStart::Sending(approved) = &before {
            self.set_pacing(approved.pacing);
        }
        if before.has_room() {
            self.follow_segment_size(now);
        } else {
            let usual = self
                .transport
                .profile
                .congestion
                .initial_window
                .bytes(self.smss);
            self.congestion.on_idle_restart(now, usual);
        }
    }

    /// Changes the pacing of this connection: whether it paces, and the maximum rate.
    pub(super) fn set_pacing(&mut self, (enabled, max_pacing_rate): (bool, Option<Rate>)) {
        let pacing = &mut self.profile_mut().pacing;
        pacing.enabled = enabled;
        pacing.max_pacing_rate = max_pacing_rate;
    }

    /// Whether a Quick-Start is in progress.
    #[inline]
    pub(super) fn is_quick_starting(&self) -> bool {
        !matches!(self.quick_start, QuickStart::Off)
    }
}
