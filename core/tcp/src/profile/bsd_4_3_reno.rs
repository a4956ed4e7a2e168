//! `bsd-4.3-reno`: the TCP of FreeBSD 4.3 (April 2001).
//!
//! It is a 4.3BSD-Reno with NewReno and the options of RFC 1323, without SACK. Sources: that
//! system's `tcp_input.c`, `tcp_output.c`, `tcp_timer.c` and `tcp_timer.h`. Of its constants,
//! `sendspace` and `recvspace` are from memory.
//!
//! Its socket layer (`uipc_socket.c` `sosend`, `uipc_socket2.c` `soreserve`) wakes a writer when
//! a cluster of 2 KiB is free. It passes TCP one cluster at a time, with a flag whether more of
//! the same call follows. Calls of 8 KiB are those of the testers of 2001 (Iperf 1, ttcp).
//!
//! Differences: its timers ran on a clock of 10 ms, here they are exact. A SYN was given up after
//! 75 s whatever had been sent (`tcp_keepinit`), here after as many retransmissions as fit. On a
//! local network it opened with 65 535 segments (`ss_fltsz_local`), here with the plan's value.

use gigatcp_units::{Bytes, Duration};
use gigatcp_wire::OptionLayout;

use super::{
    Acknowledgments, Buffers, Closing, Congestion, Defense, Ecn, InitialWindow, Liveness, Opening,
    Options, Pacing, PathMtu, Profile, Recovery, Segments, SynCookies, Timer, WindowPolicy,
};
use crate::ecn::EcnMode;
use crate::window_growth::{Counting, SlowStart};

impl Profile {
    /// FreeBSD 4.3, the system of the machines of 2001.
    pub const BSD_4_3_RENO: Self = Self {
        name: "bsd-4.3-reno",
        options: Options {
            timestamp_tick: Duration::from_millis(10),
            paws_tolerance: Duration::ZERO,
            option_layout: OptionLayout::FreeBsd,
            ..Self::MODERN.options
        },
        opening: Opening {
            syn_retries: 4,
            syn_text: false,
            fast_open_client: false,
            fast_open_server: false,
            syn_cookies: SynCookies::Off,
            handshake_ack_alone: true,
            update_after_open: true,
            ..Self::MODERN.opening
        },
        closing: Closing {
            time_wait_ignores_reset: false,
            ..Self::MODERN.closing
        },
        acknowledgments: Acknowledgments {
            delayed_ack_timeout: Duration::from_millis(100),
            quick_ack: false,
            ..Self::MODERN.acknowledgments
        },
        segments: Segments {
            half_window_leaves: true,
            smss_multiple: 2048,
            segmentation_offload: false,
            urgent_inline: false,
            ..Self::MODERN.segments
        },
        timer: Timer {
            rto_initial: Duration::from_secs(3),
            rto_min: Duration::from_secs(1),
            rto_max: Duration::from_secs(64),
            retries: 12,
            repair_restarts_timer: true,
            reset_on_giving_up: true,
            ..Self::MODERN.timer
        },
        recovery: Recovery {
            sack: false,
            dsack: false,
            row_of_duplicates_ends: true,
            limited_transmit: false,
            rescue_retransmission: false,
            rack: false,
            tlp: false,
            prr: None,
            frto: false,
            eifel: false,
            ..Self::MODERN.recovery
        },
        congestion: Congestion {
            counting: Counting::PerAck,
            initial_window: InitialWindow::Segments(1),
            slow_start: SlowStart::Standard,
            cwnd_validation: false,
            rate_limited_increase: false,
            fast_convergence: false,
            abe: false,
            ..Self::MODERN.congestion
        },
        ecn: Ecn {
            mode: EcnMode::Off,
            ecn_doubts: false,
            ..Self::MODERN.ecn
        },
        pacing: Pacing {
            enabled: false,
            ..Self::MODERN.pacing
        },
        buffers: Buffers {
            receive_buffer_start: Bytes::new(16_384),
            receive_buffer_max: Bytes::new(262_144),
            receive_autotuning: false,
            window_policy: WindowPolicy::FreeSpace,
            window_update_segments: 2,
            send_buffer_start: Bytes::new(16_384),
            send_buffer_max: Bytes::new(262_144),
            send_autotuning: false,
            write_size: Bytes::new(8192),
            write_low_water: Some(Bytes::new(2048)),
            write_chunk: 2048,
            buffer_limit: Bytes::new(262_144),
            buffers_in_segments: true,
            route_buffers_override: true,
            ..Self::MODERN.buffers
        },
        path_mtu: PathMtu {
            plpmtud: false,
            ..Self::MODERN.path_mtu
        },
        liveness: Liveness {
            keepalive_probes: 8,
            ..Self::MODERN.liveness
        },
        defense: Defense {
            challenge_ack: false,
            challenge_syn: false,
            challenge_ack_limit: 0,
            ..Self::MODERN.defense
        },
    };
}
