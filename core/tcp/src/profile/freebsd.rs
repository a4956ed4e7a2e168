//! `freebsd`: the default stack of FreeBSD 14, without RACK.
//!
//! Sources: its manual pages `tcp(4)`, `cc_newreno(4)` and `ecn`-related settings; what no
//! manual states (rounding of buffers, window updates of two segments, half a window that
//! leaves) is the habit of its ancestors ([`Profile::BSD_4_3_RENO`]). From memory, not
//! verified against a running system: 12 retransmissions, buffers at the start.
//!
//! Not as there: the slop of 200 ms that it adds to each retransmission timeout is part of
//! the minimum here; a SYN is given up by count, not after `keepinit`.

use gigatcp_units::{Bytes, Duration};

use super::{Profile, PrrRule};
use crate::ecn::EcnMode;
use crate::window_growth::Counting;

impl Profile {
    /// FreeBSD 14.
    pub const FREEBSD: Self = Self {
        name: "freebsd",
        dsack_undo: false,
        quick_ack: false,
        nagle_minshall: false,
        counting: Counting::Bytes { limit: 2 },
        rto_min: Duration::from_millis(230),
        rto_max: Duration::from_secs(64),
        retries: 12,
        buffer_limit: Bytes::new(2 << 20),

        // Loss recovery.
        rack: false,
        tlp: false,
        prr: Some(PrrRule::SlowStart),
        frto: false,

        // Congestion control and explicit congestion notification.
        abe: false,
        half_used_opens: false,
        ecn: EcnMode::PassiveClassic,
        ecn_doubts: false,

        // Pacing and buffers.
        pacing: false,
        receive_buffer_start: Bytes::new(65_536),
        receive_buffer_max: Bytes::new(2 << 20),
        send_buffer_start: Bytes::new(32_768),
        send_buffer_max: Bytes::new(2 << 20),

        // Path MTU, errors and liveness.
        plpmtud: false,
        mss_min: 216,
        keepalive: true,
        keepalive_probes: 8,
        fin_wait_2_timeout: Duration::from_secs(60),
        urgent_inline: false,

        // Opening and identity.
        syn_text: false,
        fast_open_server: false,

        // Habits of BSD.
        buffers_in_segments: true,
        window_update_segments: 2,
        half_window_leaves: true,
        reset_on_giving_up: true,
        ..Self::MODERN
    };
}
