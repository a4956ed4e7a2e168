//! `linux-6.18`: Linux 6.18, where it differs from `modern`.
//!
//! Sources, by field: ip-sysctl.rst of its documentation with the default of the setting named;
//! *measured*, where packets of a running 6.18 show it (`cargo xtask duel --twins`, the packet
//! scripts of `conformance/`). Defaults are those of a machine with enough memory.
//!
//! Out of scope: delayed ACKs that adapt to the rate of requests, and controls that Linux does not
//! have. `gigatcp check` warns of both. Also out of scope, without a warning: discarding data beyond
//! a gap when the receive buffer is exceeded.

use gigatcp_units::{Bytes, Duration};

use super::{
    Acknowledgments, Buffers, Closing, Congestion, Defense, Ecn, IgnoredRequest, InitialWindow,
    Opening, Options, Pacing, PathMtu, Profile, Recovery, ReduceAgain, Segments, Timer,
};
use crate::ecn::EcnOption;
use crate::window_growth::{Counting, SlowStart};

impl Profile {
    /// Linux 6.18.
    pub const LINUX_6_18: Self = Self {
        name: "linux-6.18",
        options: Options {
            // Measured.
            syn_echo_checked: true,
            ..Self::MODERN.options
        },
        opening: Opening {
            // `tcp_syn_linear_timeouts` (4) and `tcp_syn_retries` (6 more). RFC 9293 MUST-23 has
            // SYNs go on for three minutes; these end after 131 s.
            syn_retries: 10,
            syn_linear_timeouts: 4,
            // `tcp_fastopen`: data on a SYN without a valid cookie is dropped.
            syn_text: false,
            syn_ack_text: false,
            // Measured.
            ignored_request: IgnoredRequest::Experiment,
            // Measured: a cookie has two bits for the MSS.
            cookie_mss_max: 1460,
            ..Self::MODERN.opening
        },
        closing: Closing {
            // Measured.
            delayed_fin_ack: true,
            ..Self::MODERN.closing
        },
        acknowledgments: Acknowledgments {
            // Measured.
            ack_waits_for_reader: true,
            // Measured: after an outage each of 16 segments has an ACK, the first at once.
            quick_ack_again: true,
            // Measured: of two segments that arrive apart, the second, with PSH, has an ACK of its own.
            ack_of_push: true,
            // `tcp_comp_sack_nr`, `tcp_comp_sack_delay_ns`.
            compressed_acks: 44,
            compressed_ack_delay: Duration::from_millis(1),
            ..Self::MODERN.acknowledgments
        },
        segments: Segments {
            // Measured.
            bare_window_probes: true,
            // Socket option `SO_OOBINLINE`, off by default.
            urgent_inline: false,
            // `tcp_tso_win_divisor`.
            tso_win_divisor: 3,
            // Measured: 1,846 of 4,974 segments, the last of each super-segment.
            push_super_segments: true,
            // segmentation-offloads.rst, generic receive offload.
            receive_offload: true,
            // A driver's choice. Measured over the emulated path, whose devices are polled by a
            // thread: 2.3 segments per ACK at one segment each 75 us, 3.9 at one each 23 us.
            interrupt_interval: Duration::from_micros(50),
            ..Self::MODERN.segments
        },
        timer: Timer {
            // `tcp_rto_min_us`, 200 ms, bounds the variance's part, not the sum of RFC 6298 section
            // 2.4 (measured). `tcp_rto_max_ms`, `tcp_retries2` and `tcp_min_rtt_wlen` are those of
            // `modern`.
            rto_floor_on_variance: true,
            ..Self::MODERN.timer
        },
        recovery: Recovery {
            // Measured: two ticks of a clock of 1 ms. `tcp_early_retrans` (3), `tcp_recovery` (1),
            // `tcp_frto` (2), `tcp_sack` and `tcp_dsack` are on as in `modern`.
            tlp_slack: Duration::from_millis(2),
            // Measured: in recovery without new data nothing is repeated.
            rescue_retransmission: false,
            // Measured.
            dsack_of_syn: true,
            // RFC 5682 without its exception of repeated timeouts (`tcp_enter_loss`).
            frto_again: true,
            // Measured: no second reduction within a fast recovery.
            reduce_again: ReduceAgain::WithoutPrr,
            ..Self::MODERN.recovery
        },
        congestion: Congestion {
            // `tcp_congestion_control`.
            default_control: "cubic-linux",
            // Ten segments of any size, measured.
            initial_window: InitialWindow::Segments(10),
            // Measured: ten segments after one lost SYN, one after two.
            lost_syn_keeps_window: true,
            // HyStart belongs to CUBIC (`cubic-linux`); Reno and all others have none (measured).
            slow_start: SlowStart::Standard,
            // Linux counts all that an ACK covers, also after a timeout.
            counting: Counting::All,
            growth_by_delivery: true,
            reduces_cwnd: true,
            // No control of Linux has RFC 8511.
            abe: false,
            // `CONFIG_HZ` of the measured kernel, 250. Distributions also have 1000.
            kernel_tick: Duration::from_millis(4),
            ..Self::MODERN.congestion
        },
        ecn: Ecn {
            // `tcp_ecn` (2: passive), `tcp_ecn_option` (2). RFC 9768 section 3.2.3.3 recommends
            // fewer options; RFC 3168 forbids ECT on anything except new data (measured).
            ecn_option: EcnOption::Always,
            ecn_everywhere: true,
            // RFC 9768 section 3.2.2 has all segments carry the counter (measured).
            time_wait_forgets_ecn: true,
            // Linux believes a path that marks every packet (measured).
            ecn_doubts: false,
            ..Self::MODERN.ecn
        },
        pacing: Pacing {
            // TCP itself paces a control that has a rate, such as BBR; all others only with the
            // queueing discipline `fq`, which is not the default. `tcp_pacing_ss_ratio` (200) and
            // `tcp_pacing_ca_ratio` (120) then still size super-segments.
            enabled: true,
            pacing_by_window: false,
            first_window_unpaced: true,
            ..Self::MODERN.pacing
        },
        buffers: Buffers {
            // `tcp_rmem` and `tcp_wmem`, third value; the second is that of `modern`.
            receive_buffer_max: Bytes::new(32 << 20),
            send_buffer_max: Bytes::new(4 << 20),
            // net.rst, `rmem_max` and `wmem_max`; socket(7), `SO_SNDBUF` and `SO_RCVBUF`: twice the
            // request, which pays for bookkeeping.
            buffer_limit: Bytes::new(4 << 20),
            buffer_doubling: true,
            truesize: true,
            // `tcp_moderate_rcvbuf`; measured under loss.
            autotuning_counts_reads: true,
            ..Self::MODERN.buffers
        },
        path_mtu: PathMtu {
            // `tcp_mtu_probing` (0), `tcp_base_mss` (1024) for a plan that switches it on.
            plpmtud: false,
            pmtu_base: 1064,
            // Measured.
            mss_of_path: true,
            ..Self::MODERN.path_mtu
        },
        defense: Defense {
            // RFC 9293 MUST-56 has soft errors end nothing (measured).
            soft_errors_end_opens: true,
            ..Self::MODERN.defense
        },
        ..Self::MODERN
    };
}
