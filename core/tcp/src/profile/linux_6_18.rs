//! `linux-6.18`: Linux 6 and 7, where they differ from `modern`.
//!
//! Sources: the behavior of `tcp_input.c`, `tcp_output.c`, `tcp_timer.c` and `tcp.h` of Linux
//! 6.12 and 7.3, and of the packet scripts of its self-tests. Buffers count the memory of packets
//! (`truesize`). CUBIC is `cubic-linux`. Pacing is off, as it needs the queueing discipline `fq`.
//! SYNs are retransmitted as RFC 9293 MUST-23 requires; Linux's linear timeouts
//! (`syn_linear_timeouts`) give up earlier.

use gigatcp_units::{Bytes, Duration};

use super::{
    Acknowledgments, Buffers, Closing, Congestion, Defense, Ecn, Opening, Pacing, Profile,
    Recovery, Segments, Timer,
};
use crate::ecn::EcnOption;

impl Profile {
    /// Linux 6.18.
    pub const LINUX_6_18: Self = Self {
        name: "linux-6.18",
        opening: Opening {
            // Data on a SYN without a valid cookie is dropped.
            syn_text: false,
            cookie_mss_max: 1460,
            ..Self::MODERN.opening
        },
        closing: Closing {
            delayed_fin_ack: true,
            ..Self::MODERN.closing
        },
        acknowledgments: Acknowledgments {
            ack_waits_for_reader: true,
            ..Self::MODERN.acknowledgments
        },
        segments: Segments {
            bare_window_probes: true,
            urgent_inline: false,
            ..Self::MODERN.segments
        },
        timer: Timer {
            // RTO_MIN bounds the variance's part, not the sum of RFC 6298 section 2.4.
            rto_floor_on_variance: true,
            ..Self::MODERN.timer
        },
        recovery: Recovery {
            tlp_slack: Duration::from_millis(2),
            ..Self::MODERN.recovery
        },
        congestion: Congestion {
            growth_by_delivery: true,
            ..Self::MODERN.congestion
        },
        ecn: Ecn {
            // RFC 9768 section 3.2.3.3 recommends fewer options; RFC 3168 forbids ECT on anything
            // except new data.
            ecn_option: EcnOption::Always,
            ecn_everywhere: true,
            // RFC 9768 section 3.2.2 has all segments carry the counter.
            time_wait_forgets_ecn: true,
            // Linux believes a path that marks every packet.
            ecn_doubts: false,
            ..Self::MODERN.ecn
        },
        pacing: Pacing {
            enabled: false,
            ..Self::MODERN.pacing
        },
        buffers: Buffers {
            receive_buffer_max: Bytes::new(6 << 20),
            send_buffer_max: Bytes::new(4 << 20),
            truesize: true,
            ..Self::MODERN.buffers
        },
        defense: Defense {
            // RFC 9293 MUST-56 has soft errors end nothing.
            soft_errors_end_opens: true,
            ..Self::MODERN.defense
        },
        ..Self::MODERN
    };
}
