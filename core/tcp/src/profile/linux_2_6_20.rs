//! `linux-2.6.20`: the kernel of February 2007.
//!
//! Sources: the behavior of that kernel's `tcp_input.c`, `tcp_output.c` and
//! `tcp.h`.

use gigatcp_units::{Bytes, Duration};

use super::{
    Acknowledgments, Buffers, Closing, Congestion, Defense, Ecn, InitialWindow, Opening, Options,
    Pacing, PathMtu, Profile, Recovery, ReduceAgain, Segments, SynCookies, Timer, WindowPolicy,
};
use crate::ecn::EcnMode;
use crate::window_growth::{Counting, SlowStart};

impl Profile {
    /// Linux 2.6.20, the kernel of the netdev thread of May 2007.
    pub const LINUX_2_6_20: Self = Self {
        name: "linux-2.6.20",
        options: Options {
            paws_tolerance: Duration::ZERO,
            ..Self::MODERN.options
        },
        opening: Opening {
            syn_retries: 5,
            syn_text: false,
            syn_ack_text: false,
            fast_open_client: false,
            fast_open_server: false,
            // Compiled in, and off until an administrator set `tcp_syncookies`.
            syn_cookies: SynCookies::Off,
            ..Self::MODERN.opening
        },
        closing: Closing {
            // Before RFC 6191, the kernel already accepted a later SYN in TIME-WAIT.
            time_wait_reuse: true,
            time_wait_ignores_reset: false,
            ..Self::MODERN.closing
        },
        acknowledgments: Acknowledgments {
            ack_waits_for_reader: true,
            ..Self::MODERN.acknowledgments
        },
        segments: Segments {
            urgent_inline: false,
            ..Self::MODERN.segments
        },
        timer: Timer {
            rto_initial: Duration::from_secs(3),
            rto_floor_on_variance: true,
            min_rtt_window: Duration::ZERO,
            rtt_from_sack: false,
            partial_ack_restarts_timer: true,
            ..Self::MODERN.timer
        },
        recovery: Recovery {
            limited_transmit: true,
            rescue_retransmission: false,
            rack: false,
            tlp: false,
            prr: None,
            reduce_again: ReduceAgain::Never,
            frto: false,
            eifel: false,
            ..Self::MODERN.recovery
        },
        congestion: Congestion {
            counting: Counting::PerAck,
            initial_window: InitialWindow::Rfc3390,
            slow_start: SlowStart::Standard,
            half_used_opens: false,
            cwnd_validation: false,
            rate_limited_increase: false,
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
            receive_buffer_start: Bytes::new(87_380),
            receive_buffer_max: Bytes::new(4 << 20),
            window_policy: WindowPolicy::Grows,
            window_reserve_shift: 2,
            send_buffer_max: Bytes::new(4 << 20),
            buffer_limit: Bytes::new(131_071),
            buffer_doubling: true,
            ..Self::MODERN.buffers
        },
        path_mtu: PathMtu {
            too_big_waits: false,
            plpmtud: false,
            ..Self::MODERN.path_mtu
        },
        defense: Defense {
            challenge_ack: false,
            challenge_syn: false,
            challenge_ack_limit: 0,
            ..Self::MODERN.defense
        },
        ..Self::MODERN
    };
}
