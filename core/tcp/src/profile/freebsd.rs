//! `freebsd`: the default stack of FreeBSD 14, without RACK.
//!
//! It was never compared with a running FreeBSD, which `gigatcp check` reports.
//!
//! Sources: its manual pages `tcp(4)`, `cc_newreno(4)` and `ecn`-related settings. Where no
//! manual states it (rounding of buffers, window updates of two segments, sending of half a
//! window), the behavior is that of its ancestor ([`Profile::BSD_4_3_RENO`]). From memory:
//! 12 retransmissions, buffers at the start.
//!
//! Behavior of opening and closing (`option_layout`, `fin_on_acks`, `rto_slop` and others) is that of
//! the project's own packet scripts (`freebsd-net/tcp-testsuite`), as far as they pass.
//!
//! Differences: a SYN is given up by count, not after `keepinit`. FIN-WAIT-2 does not end after 60 s
//! (in FreeBSD only if the application no longer reads).

use gigatcp_units::{Bytes, Duration};
use gigatcp_wire::OptionLayout;

use super::{
    Acknowledgments, Buffers, Closing, Congestion, Ecn, IgnoredRequest, Liveness, Opening, Options,
    Pacing, PathMtu, Profile, PrrRule, Recovery, Segments, Timer,
};
use crate::ecn::EcnMode;
use crate::window_growth::Counting;

impl Profile {
    /// FreeBSD 14.
    pub const FREEBSD: Self = Self {
        name: "freebsd",
        options: Options {
            option_layout: OptionLayout::FreeBsd,
            ..Self::MODERN.options
        },
        opening: Opening {
            syn_text: false,
            listener_ignores_syn_ack: true,
            ignored_request: IgnoredRequest::Abstain,
            fast_open_server: false,
            ..Self::MODERN.opening
        },
        closing: Closing {
            fin_on_acks: true,
            late_reset_fails: true,
            reset_without_window: true,
            ..Self::MODERN.closing
        },
        acknowledgments: Acknowledgments {
            quick_ack: false,
            ..Self::MODERN.acknowledgments
        },
        segments: Segments {
            nagle_minshall: false,
            half_window_leaves: true,
            silly_below_quarter: true,
            urgent_inline: false,
            ..Self::MODERN.segments
        },
        timer: Timer {
            rto_min: Duration::from_millis(30),
            rto_slop: Duration::from_millis(200),
            rto_max: Duration::from_secs(64),
            retries: 12,
            reset_on_giving_up: true,
            ..Self::MODERN.timer
        },
        recovery: Recovery {
            dsack_undo: false,
            rack: false,
            tlp: false,
            prr: Some(PrrRule::SlowStart),
            frto: false,
            ..Self::MODERN.recovery
        },
        congestion: Congestion {
            counting: Counting::Bytes { limit: 2 },
            half_used_opens: false,
            abe: false,
            ..Self::MODERN.congestion
        },
        ecn: Ecn {
            mode: EcnMode::PassiveClassic,
            ecn_doubts: false,
            ..Self::MODERN.ecn
        },
        pacing: Pacing {
            enabled: false,
            ..Self::MODERN.pacing
        },
        buffers: Buffers {
            accepts_free_space: true,
            receive_buffer_start: Bytes::new(65_536),
            receive_buffer_max: Bytes::new(2 << 20),
            window_update_segments: 2,
            send_buffer_start: Bytes::new(32_768),
            send_buffer_max: Bytes::new(2 << 20),
            buffer_limit: Bytes::new(2 << 20),
            buffers_in_segments: true,
            ..Self::MODERN.buffers
        },
        path_mtu: PathMtu {
            plpmtud: false,
            mss_min: 216,
            // `tcp_mssopt`.
            mss_of_path: true,
            ..Self::MODERN.path_mtu
        },
        liveness: Liveness {
            keepalive: true,
            keepalive_probes: 8,
            ..Self::MODERN.liveness
        },
        ..Self::MODERN
    };
}
