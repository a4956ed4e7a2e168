//! `linux-2.6.20`: the kernel of February 2007.
//!
//! Sources: the behaviour of that kernel's `tcp_input.c`, `tcp_output.c` and
//! `tcp.h`.

use gigatcp_units::{Bytes, Duration};

use super::{InitialWindow, Profile, ReduceAgain, SynCookies, WindowPolicy};
use crate::ecn::EcnMode;
use crate::window_growth::{Counting, SlowStart};

impl Profile {
    /// Linux 2.6.20, the kernel of the netdev thread of May 2007.
    pub const LINUX_2_6_20: Self = Self {
        name: "linux-2.6.20",
        limited_transmit: true,
        rescue_retransmission: false,
        counting: Counting::PerAck,
        initial_window: InitialWindow::Rfc3390,
        rto_initial: Duration::from_secs(3),
        rto_floor_on_variance: true,
        min_rtt_window: Duration::ZERO,
        rtt_from_sack: false,
        syn_retries: 5,
        window_policy: WindowPolicy::Grows,
        buffer_doubling: true,
        buffer_limit: Bytes::new(131_071),
        window_reserve_shift: 2,
        ack_waits_for_reader: true,

        // Loss recovery.
        rack: false,
        tlp: false,
        prr: None,
        reduce_again: ReduceAgain::Never,
        frto: false,
        eifel: false,
        paws_tolerance: Duration::ZERO,
        partial_ack_restarts_timer: true,

        // Congestion control.
        slow_start: SlowStart::Standard,
        abe: false,
        half_used_opens: false,
        cwnd_validation: false,

        // Explicit congestion notification.
        ecn: EcnMode::Off,
        ecn_doubts: false,

        // Pacing and buffers.
        pacing: false,
        receive_buffer_start: Bytes::new(87_380),
        receive_buffer_max: Bytes::new(4 << 20),
        send_buffer_max: Bytes::new(4 << 20),

        // Path MTU, errors and liveness.
        plpmtud: false,
        too_big_waits: false,
        urgent_inline: false,
        challenge_ack: false,
        challenge_ack_limit: 0,

        // Opening and identity.
        syn_text: false,
        fast_open_client: false,
        fast_open_server: false,
        // There, and off until an administrator set `tcp_syncookies`.
        syn_cookies: SynCookies::Off,
        // The kernel took a later SYN in TIME-WAIT long before RFC 6191.
        time_wait_reuse: true,
        time_wait_ignores_reset: false,
        ..Self::MODERN
    };
}
