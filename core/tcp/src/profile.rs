//! Profiles: named sets of switches and constants.
//!
//! Every mechanism of the engine is a named switch, so that it can be left
//! out and its worth measured, and so are the constants in which kernels and
//! their versions differ. A [`Profile`] is one complete choice. [`SETTINGS`]
//! lists them all by name for plans and the command line;
//! [`Profile::try_set`] changes one.
//!
//! | file | what |
//! |---|---|
//! | `profile.rs` | the switches and constants, one by one |
//! | `profile/modern.rs` | `modern`, from which the others say how they differ |
//! | `profile/linux_2_6_20.rs`, `profile/bsd_4_3_reno.rs` | systems of 2007 and 2001 |
//! | `profile/buffers.rs` | what a buffer that is asked for becomes |
//! | `profile/settings.rs` | the settings by name |
//!
//! Constants that belong to one published algorithm (the thresholds of HyStart
//! and SEARCH, the 16 recoveries of RACK, the abstentions of Fast Open) and
//! those of one place in a kernel (what a burst of pacing holds, how long a
//! listener's queue is) stand with a name and their source in the file of that
//! mechanism. The cost: to try another value one has to build.
//!
//! Sources: RFCs as cited at each field, and those that each profile names.

mod bsd_4_3_reno;
mod buffers;
mod linux_2_6_20;
mod modern;
mod settings;

use gigatcp_units::{Bytes, Duration, Rate};

pub use crate::ecn::{EcnMode, EcnOption};
use crate::window_growth::{Counting, SlowStart};

pub use crate::prr::PrrRule;
pub use crate::recovery::ReduceAgain;

pub use settings::{SETTINGS, Setting, SettingError, SettingValue};

/// How large the initial window is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InitialWindow {
    /// RFC 6928 section 2: min(10·SMSS, max(2·SMSS, 14600)).
    Rfc6928,
    /// RFC 3390 / RFC 5681 section 3.1: 4, 3 or 2 segments by size, which
    /// Linux 2.6.20 rendered as 4 up to 1095, 3 up to 1460, 2 above.
    Rfc3390,
    /// That many segments.
    Segments(u32),
}

impl InitialWindow {
    /// The initial window for segments of `smss` octets.
    #[must_use]
    pub fn bytes(self, smss: u32) -> Bytes {
        let smss = u64::from(smss);
        Bytes::new(match self {
            InitialWindow::Rfc6928 => (10 * smss).min((2 * smss).max(14_600)),
            InitialWindow::Rfc3390 if smss > 1460 => 2 * smss,
            InitialWindow::Rfc3390 if smss > 1095 => 3 * smss,
            InitialWindow::Rfc3390 => 4 * smss,
            InitialWindow::Segments(n) => u64::from(n) * smss,
        })
    }
}

/// How much of the receive buffer is offered to the peer, and when.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WindowPolicy {
    /// All free space at once (RFC 9293 section 3.8.6.2).
    FreeSpace,
    /// As in Linux 2.6.20: the offered window starts at four, three or two
    /// segments, enough for the initial window of any sender of its time, and
    /// grows by two for every full-sized one that arrives (`rcv_ssthresh`); while
    /// it grows every segment is acknowledged. Today's Linux grows alike, from 64
    /// KiB (since 4.20).
    Grows,
}

/// When a listener answers a SYN with a cookie and forgets it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SynCookies {
    /// Never.
    Off,
    /// While its backlog is full.
    WhenFull,
    /// Always.
    Always,
}

/// A complete choice of switches and constants for one host.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Profile {
    /// Name it is asked for by.
    pub name: &'static str,

    // Switches: mechanisms that can be left out.
    /// Selective acknowledgment, RFC 2018, and recovery by it, RFC 6675.
    pub sack: bool,
    /// Reporting duplicates received, RFC 2883 (needs `sack`).
    pub dsack: bool,
    /// A reduction is taken back when all that was sent again is reported as
    /// received twice (RFC 3708, Linux `undo_retrans`; needs `sack`).
    pub dsack_undo: bool,
    /// Timestamps and PAWS, RFC 7323 sections 3 to 5.
    pub timestamps: bool,
    /// Window scaling, RFC 7323 section 2.
    pub window_scaling: bool,
    /// Fast retransmit and fast recovery, RFC 5681 section 3.2; without it
    /// only the timer repairs losses.
    pub fast_retransmit: bool,
    /// NewReno's answer to partial acknowledgments, RFC 6582.
    pub newreno: bool,
    /// Limited transmit, RFC 3042.
    pub limited_transmit: bool,
    /// Rescue retransmission, RFC 6675 `NextSeg` rule 4.
    pub rescue_retransmission: bool,
    /// Delayed acknowledgments, RFC 9293 section 3.8.6.3.
    pub delayed_ack: bool,
    /// An acknowledgment of full segments that would have to announce a
    /// smaller window than the last one waits until the application has read
    /// (Linux `__tcp_ack_snd_check`). RFC 5681 section 4.2 asks for one at
    /// least every second full segment whatever the reader does.
    pub ack_waits_for_reader: bool,
    /// Acknowledge at once while the connection is young (quick-ACK).
    pub quick_ack: bool,
    /// Nagle's algorithm, RFC 9293 section 3.7.4.
    pub nagle: bool,
    /// The acknowledgment of the peer's FIN waits like that of data for ours to
    /// ride on (Linux).
    pub delayed_fin_ack: bool,
    /// Probes of a closed window are acknowledgments from just before it
    /// (Linux); RFC 9293 section 3.8.6.1 has them carry an octet.
    pub bare_window_probes: bool,
    /// A small segment waits only while another small one is unacknowledged,
    /// and not behind full ones (draft-minshall-nagle-01; Linux since 2.2): the
    /// end of a large write does not wait for a delayed acknowledgment.
    pub nagle_minshall: bool,
    /// Silly-window avoidance, RFC 9293 section 3.8.6.2, both sides.
    pub silly_window_avoidance: bool,
    /// Header prediction on the receive path (Van Jacobson 1990).
    pub header_prediction: bool,
    /// Karn's algorithm and exponential backoff, RFC 6298 (3) and (5.5).
    pub backoff: bool,
    /// Restart from the restart window after idle time, RFC 5681 section 4.1.
    pub idle_restart: bool,
    /// Super-segments: hand up to 64 KiB to the network device at once.
    pub segmentation_offload: bool,
    /// What may leave waits until it is the n-th part of the window or a whole
    /// super-segment, while acknowledgments are near (Linux
    /// `tcp_tso_win_divisor`, 3 there); 0: it does not wait.
    pub tso_win_divisor: u32,

    // Constants.
    /// How acknowledgments are counted when cwnd grows.
    pub counting: Counting,
    /// Initial window.
    pub initial_window: InitialWindow,
    /// Duplicate acknowledgments that mean loss, `DupThresh` of RFC 6675.
    pub dup_thresh: u32,
    /// Segments per acknowledgment once acknowledgments are delayed.
    pub ack_every: u32,
    /// A declared, fitted input, off by default: from this moment after
    /// establishment on, `ack_every_later` replaces `ack_every`. It exists to
    /// reproduce a change of the ACK ratio whose cause is not known.
    pub ack_every_switch: Option<Duration>,
    /// See `ack_every_switch`.
    pub ack_every_later: u32,
    /// Longest delay of an acknowledgment (RFC 9293 MUST-40: below 0.5 s).
    pub delayed_ack_timeout: Duration,
    /// Most acknowledgments sent at once at the start (quick-ACK).
    pub quick_acks: u32,
    /// Retransmission timeout before the first sample, RFC 6298 (2.1).
    pub rto_initial: Duration,
    /// Floor of the retransmission timeout, RFC 6298 (2.4).
    pub rto_min: Duration,
    /// Whether that floor is one of 4 RTTVAR instead of RTO (Linux
    /// `tcp_set_rto`): the timeout is never below SRTT + `rto_min`.
    pub rto_floor_on_variance: bool,
    /// How far back the smallest round-trip time is looked for, so that it
    /// follows a change of route (RFC 8985 section 6.2; Linux
    /// `tcp_min_rtt_wlen`); zero is the whole connection.
    pub min_rtt_window: Duration,
    /// Round trips are also measured by what is SACKed and was sent once (Linux
    /// since 3.12, `sack_rtt_us`): without timestamps there is no other sample as
    /// long as a hole is not filled.
    pub rtt_from_sack: bool,
    /// Ceiling of the retransmission timeout, RFC 6298 (2.5).
    pub rto_max: Duration,
    /// Retransmissions of one segment before giving up (R2 of RFC 9293
    /// section 3.8.3).
    pub retries: u32,
    /// Retransmissions of a SYN before giving up. R2 for it must be at least 3
    /// minutes (RFC 9293 MUST-23): from a timeout of 1 s, seven take 247 s. Linux
    /// takes six (`tcp_syn_retries`), 127 s.
    pub syn_retries: u32,
    /// So many timeouts of a SYN pass before the timeout doubles. RFC 6298
    /// section 5.5 has none; Linux four (`tcp_syn_linear_timeouts`).
    pub syn_linear_timeouts: u32,
    /// 2 MSL: how long TIME-WAIT lasts.
    pub time_wait: Duration,
    /// Step of the timestamp clock (RFC 7323 section 5.4: 1 ms to 1 s).
    pub timestamp_tick: Duration,
    /// How the receive buffer is offered to the peer.
    pub window_policy: WindowPolicy,
    /// A buffer that was asked for is granted twice over, to pay for the
    /// kernel's bookkeeping (Linux `SO_SNDBUF`, `SO_RCVBUF`).
    pub buffer_doubling: bool,
    /// The most a buffer that is asked for is granted, before doubling (Linux
    /// `wmem_max`, `rmem_max`). Where the window grows as in Linux, it also
    /// decides the window scale, and with it the largest window: 65535 shifted
    /// by what this limit needs.
    pub buffer_limit: Bytes,
    /// Share of the receive buffer kept back from the window, as the power of
    /// two of its divisor: 2 keeps a quarter (Linux `tcp_adv_win_scale`);
    /// 0 keeps nothing.
    pub window_reserve_shift: u32,
    // Loss recovery.
    /// Loss by time, RFC 8985 section 6, in place of counting (needs `sack`).
    pub rack: bool,
    /// Tail loss probe, RFC 8985 section 7 (needs `sack`).
    pub tlp: bool,
    /// Proportional rate reduction, RFC 9937; absent: silent until `pipe` is
    /// down, as RFC 6675 and 5681 have it.
    pub prr: Option<PrrRule>,
    /// Whether the loss of a retransmission, which only `rack` finds, reduces the
    /// window once more, RFC 5681 section 4.3.
    pub reduce_again: ReduceAgain,
    /// Detection of spurious timeouts by what comes back, RFC 5682.
    pub frto: bool,
    /// Detection of spurious recovery by timestamps, RFC 3522 (needs
    /// `timestamps`), and a more careful timer after a spurious timeout, RFC
    /// 4015.
    pub eifel: bool,
    /// How much older than TS.Recent a segment may be and is still taken: late,
    /// not a ghost. Zero is RFC 7323 section 5.3 (R1) to the letter, which drops
    /// originals that repairs have overtaken.
    pub paws_tolerance: Duration,
    /// How much longer a probe waits for the acknowledgment of a single
    /// segment: `TLP.max_ack_delay` of RFC 8985 section 7.2.
    pub tlp_max_ack_delay: Duration,
    /// What a probe waits beyond 2 SRTT while several segments are in flight:
    /// none by RFC 8985; two ticks of the clock in Linux (`TCP_TIMEOUT_MIN`).
    pub tlp_slack: Duration,
    /// Every partial acknowledgment restarts the retransmission timer, as in
    /// Linux; RFC 6582 section 3.2 step 3 lets only the first do so.
    pub partial_ack_restarts_timer: bool,
    // Congestion control.
    /// How the window opens where neither plan nor control says.
    /// [`SlowStart::Usual`] here means what came out best when measured
    /// (`docs/notes/slow-start.md`): `HyStart` where the sender paces,
    /// `HyStart++` where it does not.
    pub slow_start: SlowStart,
    /// CUBIC's fast convergence, RFC 9438 section 4.7.
    pub fast_convergence: bool,
    /// Alternative backoff with ECN, RFC 8511.
    pub abe: bool,
    /// N of the rate that the first data asks of routers: 40 kbit/s · 2^N (RFC 4782); 0
    /// asks none.
    pub quick_start: u32,
    /// In slow start a window opens that was more than half in use in the last
    /// round, as RFC 7661 section 4.1 has it validated (Linux
    /// `tcp_is_cwnd_limited`); without, only one that is in use to its end.
    pub half_used_opens: bool,
    /// A window opens by what an acknowledgment newly tells of as delivered,
    /// and not again by what SACK had told of (Linux); RFC 3465 section 2.1
    /// counts all that is acknowledged.
    pub growth_by_delivery: bool,
    /// Congestion window validation, RFC 7661, in place of `idle_restart`:
    /// what was in use lately decides what may grow, what congestion leaves,
    /// and how long an unused window is kept. Without it a window grows only
    /// when it was full, as in Linux.
    pub cwnd_validation: bool,
    // Explicit congestion notification.
    /// What is asked of peers and granted to them, RFC 3168 and RFC 9768.
    pub ecn: EcnMode,
    /// With classic feedback, echo each change of marking at once instead of
    /// until CWR comes: the receiver of RFC 8257 section 3.2, for peers that
    /// measure how much was marked.
    pub dctcp_receiver: bool,
    /// When AccECN options leave.
    pub ecn_option: EcnOption,
    /// With accurate feedback acknowledgments, retransmissions and probes leave
    /// as ECT(0) too, so that congestion marks them instead of dropping them
    /// (draft-ietf-tcpm-generalized-ecn; Linux). RFC 3168 sections 5.2 and
    /// 6.1.4 to 6.1.6 forbid it outside experiments (RFC 8311 section 4.3).
    pub ecn_everywhere: bool,
    /// With accurate feedback and a scalable congestion control, ECT is ECT(1), the
    /// identifier of L4S (RFC 9331 sections 4.1 to 4.3), in place of ECT(0).
    pub l4s: bool,
    /// Acknowledgments of TIME-WAIT carry no counter of marks (Linux, which keeps
    /// little more than numbers in that state); RFC 9768 section 3.2.2 has all
    /// segments carry it.
    pub time_wait_forgets_ecn: bool,
    /// ECN is done without where SYNs that ask for it get lost, and ECT where
    /// the ECN field arrives mangled (RFC 3168 section 6.1.1.1, RFC 9768
    /// sections 3.1.4 and 3.2.2.3; Linux `tcp_ecn_fallback`).
    pub ecn_fallback: bool,
    /// Accurate feedback that says of each of the first four rounds that every
    /// packet was marked is not believed, and ECT is sent no more (RFC 9768
    /// section 3.2.2.3, advice; not in Linux).
    pub ecn_doubts: bool,

    // Pacing and buffers.
    /// Segments leave at a rate instead of in bursts, where there is one: the
    /// congestion control's, that of `pacing_by_window`, or `max_pacing_rate`.
    pub pacing: bool,
    /// A control that has no rate is paced by its window (needs `pacing`).
    pub pacing_by_window: bool,
    /// Rate by the window, while cwnd is below half of
    /// ssthresh: percent of cwnd / SRTT (Linux `tcp_pacing_ss_ratio`).
    pub pacing_ss_ratio: u32,
    /// The same above (Linux `tcp_pacing_ca_ratio`).
    pub pacing_ca_ratio: u32,
    /// Most that pacing releases, whatever the control says (Linux
    /// `SO_MAX_PACING_RATE`); absent: no bound.
    pub max_pacing_rate: Option<Rate>,
    /// The receive buffer of a connection that asks for none grows to what the
    /// path and the application need (Linux `tcp_moderate_rcvbuf`).
    pub receive_autotuning: bool,
    /// The send buffer of a connection that asks for none keeps room for two
    /// congestion windows.
    pub send_autotuning: bool,
    /// Receive buffer of a connection that asks for none (Linux `tcp_rmem[1]`).
    pub receive_buffer_start: Bytes,
    /// The most it grows to (Linux `tcp_rmem[2]`); it decides the window scale.
    pub receive_buffer_max: Bytes,
    /// Send buffer of a connection that asks for none (Linux `tcp_wmem[1]`).
    pub send_buffer_start: Bytes,
    /// The most it grows to (Linux `tcp_wmem[2]`).
    pub send_buffer_max: Bytes,
    /// An application may write only while less than this waits unsent (Linux
    /// `TCP_NOTSENT_LOWAT`); absent: as long as the send buffer has room.
    pub not_sent_lowat: Option<Bytes>,
    /// Bytes that a bulk sender hands to the socket in one call.
    pub write_size: Bytes,
    /// Room at which a writer that waits for some is woken and goes on (BSD
    /// `sb_lowat` of the send buffer); absent: a third of the send buffer (Linux
    /// `sk_stream_is_writeable`).
    pub write_low_water: Option<Bytes>,
    /// Bytes of one call that reach TCP at a time (BSD `sosend`: an mbuf cluster);
    /// 0: all that there is room for. After each, TCP sends what may leave.
    pub write_chunk: u32,
    /// The right edge of the window may move left when the buffer has less
    /// room than was offered (Linux `tcp_shrink_window`). RFC 9293 SHLD-14
    /// says a receiver should not.
    pub may_shrink_window: bool,
    // Path MTU, errors and liveness.
    /// The path's MTU as routers tell it, RFC 1191 and RFC 8201.
    pub pmtud: bool,
    /// The path's MTU where routers keep silent, RFC 4821 and RFC 8899: black
    /// holes are noticed, and probes of real data find what passes (Linux
    /// `tcp_mtu_probing` 1, there off by default).
    pub plpmtud: bool,
    /// With `plpmtud`: every connection begins at `pmtu_base` and searches at
    /// once, so that no black hole can stall it (Linux `tcp_mtu_probing` 2).
    pub plpmtud_from_base: bool,
    /// No estimate of an IPv4 path below this by an ICMP error alone (Linux
    /// `min_pmtu`): one forged error could make us send a million tiny segments.
    pub pmtu_min: u32,
    /// An ICMP "too big" about a size that got through before is believed only
    /// once the segment it quotes has timed out, RFC 5927 section 7.2.
    pub too_big_waits: bool,
    /// Packet size that passes almost everywhere, octets (`BASE_PLPMTU`, RFC
    /// 8899 section 5.1.2).
    pub pmtu_base: u32,
    /// Probes of one size that must be lost before it counts as too big
    /// (`MAX_PROBES`, RFC 8899 section 5.1.2).
    pub pmtu_probes: u32,
    /// How long an estimate holds before more is tried (RFC 1191 section 6.3;
    /// `PMTU_RAISE_TIMER`, RFC 8899 section 5.1.1).
    pub pmtu_raise: Duration,
    /// Timeouts in a row at full size that mean a black hole (RFC 4821 section
    /// 7.7; Linux `tcp_retries1`, R1 of RFC 9293 section 3.8.3).
    pub black_hole_timeouts: u32,
    /// Smallest MSS taken at its word, octets without options: below it headers
    /// outweigh data, and a peer or a forged ICMP error could make us send a
    /// million tiny segments (Linux `tcp_min_snd_mss`, 2019, after the attacks
    /// on SACK of CVE-2019-11479).
    pub mss_min: u32,
    /// Packet size that the host remembers of the route to the peer, octets; 0:
    /// nothing is remembered. The estimate of the path's MTU begins there,
    /// whatever both SYNs say, and ages from there (RFC 1191 section 6.3). BSD
    /// kept it in the route (`rmx_mtu`), and where nothing had been learned, what
    /// the driver had put there.
    pub route_mtu: u32,
    /// Keep-alives, RFC 9293 section 3.8.4 (MUST-25: off unless asked for).
    pub keepalive: bool,
    /// Silence before the first keep-alive (RFC 9293 MUST-28; Linux
    /// `tcp_keepalive_time`).
    pub keepalive_time: Duration,
    /// Time between keep-alives without answer (Linux `tcp_keepalive_intvl`).
    pub keepalive_interval: Duration,
    /// Keep-alives without answer that end a connection, at least two (RFC
    /// 9293 MUST-29; Linux `tcp_keepalive_probes`).
    pub keepalive_probes: u32,
    /// How long data may go without acknowledgment before the peer is given up,
    /// instead of by `retries`; zero is without (RFC 9293 section 3.9.1, Linux
    /// `TCP_USER_TIMEOUT`).
    pub user_timeout: Duration,
    /// Telling the user timeout and listening to the peer's, RFC 5482 (ENABLED
    /// there, off by default).
    pub user_timeout_option: bool,
    /// Adopting the peer's (CHANGEABLE of RFC 5482 section 3.1).
    pub user_timeout_adopt: bool,
    /// The least that is adopted (L_LIMIT of RFC 5482 section 3.1: 100 s, as R2
    /// of RFC 9293 SHLD-11).
    pub user_timeout_min: Duration,
    /// The most that is adopted (U_LIMIT of RFC 5482 section 3.1).
    pub user_timeout_max: Duration,
    /// Silence after which FIN-WAIT-2 ends; zero is never. Linux waits 60 s
    /// (`tcp_fin_timeout`), but only where nobody reads any more.
    pub fin_wait_2_timeout: Duration,
    /// Urgent octets stay in line (RFC 6093 section 5); without, the last one is
    /// read apart, as with the sockets of 4.2BSD (Linux: `SO_OOBINLINE` off).
    pub urgent_inline: bool,
    /// ICMP errors other than "too big" are listened to, RFC 9293 section
    /// 3.9.2.2 and RFC 5927.
    pub icmp_errors: bool,
    /// Every ICMP error ends an open that is not complete (Linux); RFC 9293
    /// MUST-56 has soft ones end nothing.
    pub soft_errors_end_opens: bool,
    /// Only a reset at exactly RCV.NXT counts, other resets and SYNs inside
    /// the window are challenged, and acknowledgments older than the largest
    /// window are refused (RFC 5961; Linux since 3.6).
    pub challenge_ack: bool,
    /// Most challenge ACKs, and answers to segments without data outside the
    /// window, in one `challenge_ack_interval`; 0 is without limit (RFC 5961
    /// section 7).
    pub challenge_ack_limit: u32,
    /// See `challenge_ack_limit`. RFC 5961 proposes 10 in 5 s, Linux one in
    /// 500 ms (`tcp_invalid_ratelimit`).
    pub challenge_ack_interval: Duration,
    // Opening and identity.
    /// Text and FIN on a SYN are kept until the connection is established, and
    /// those of a SYN-ACK taken (RFC 9293 section 3.10.7.2 and 3.10.7.3);
    /// otherwise the peer has to send them again.
    pub syn_text: bool,
    /// An active open may be a fast one, RFC 7413, where it is given a cookie
    /// or asks for one.
    pub fast_open_client: bool,
    /// A listener grants and takes Fast Open cookies, RFC 7413.
    pub fast_open_server: bool,
    /// A fast open needs no cookie: a listener takes text on any SYN, a client
    /// sends it without having one (Linux `tcp_fastopen` 0x200 and 0x4). For
    /// networks of one's own: RFC 7413 section 2 has the cookie show that the
    /// client's address is its own.
    pub fast_open_without_cookie: bool,
    /// When a listener answers with SYN cookies, RFC 4987 section 3.6.
    pub syn_cookies: SynCookies,
    /// TIME-WAIT gives way to a SYN that is no ghost, RFC 6191.
    pub time_wait_reuse: bool,
    /// A reset does not end TIME-WAIT, RFC 1337 fix F1.
    pub time_wait_ignores_reset: bool,

    // Habits of BSD.
    /// What is no duplicate acknowledgment ends a row of them, though it
    /// acknowledges nothing: a window update, or data (BSD `tcp_input`, which
    /// sets `t_dupacks` to 0). RFC 5681 section 3.2 does not say.
    pub row_of_duplicates_ends: bool,
    /// SMSS above this is rounded down to a multiple of it, so that segments
    /// fill whole buffers (BSD `tcp_mss`, `MCLBYTES`); 0: never.
    pub smss_multiple: u32,
    /// Send buffer that the route to the peer asks for (BSD `rmx_sendpipe`);
    /// absent: the route says nothing.
    pub route_send_buffer: Option<Bytes>,
    /// Receive buffer that the route to the peer asks for (BSD `rmx_recvpipe`).
    pub route_receive_buffer: Option<Bytes>,
    /// What the route asks for replaces a larger buffer that the application
    /// asked for (BSD `tcp_mss` until the patch of kern/6032); without, it can
    /// only raise it.
    pub route_buffers_override: bool,
    /// Buffers that were asked for are rounded up to whole segments when SMSS is
    /// known (BSD `tcp_mss`).
    pub buffers_in_segments: bool,
    /// The peer is told unasked of a window that has opened by so many segments,
    /// or by half the largest window (BSD `tcp_output`: two); 0: of one that
    /// has doubled (Linux `tcp_cleanup_rbuf`).
    pub window_update_segments: u32,
    /// Half of the largest window leaves at once, like a full segment (BSD
    /// `tcp_output`). Nagle's algorithm in RFC 9293 section 3.7.4 holds it back
    /// while other data are outstanding.
    pub half_window_leaves: bool,
    /// The acknowledgment of a SYN-ACK leaves without data: it leaves before the
    /// application learns of the connection (BSD `tcp_input`). Without, data that
    /// was written early rides on it.
    pub handshake_ack_alone: bool,
    /// A listener's end updates its window as soon as the connection is open, if
    /// the SYN-ACK could not express it (BSD `tcp_input`: the acknowledgment of
    /// everything outstanding calls `tcp_output`, which compares the windows).
    /// Without: with the acknowledgment of the first data.
    pub update_after_open: bool,
    /// Fast retransmit restarts the retransmission timer (BSD `tcp_input`); RFC
    /// 6298 section 5 lets it run on.
    pub repair_restarts_timer: bool,
    /// A peer that is given up is told so with a reset (BSD `tcp_drop`; RFC 9293
    /// section 3.8.3 only asks to close).
    pub reset_on_giving_up: bool,
}

impl Profile {
    /// Every profile there is.
    pub const ALL: &'static [Self] = &[Self::MODERN, Self::LINUX_2_6_20, Self::BSD_4_3_RENO];

    /// The profile of that name.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|p| p.name == name)
    }

    /// Changes one setting by name.
    ///
    /// # Errors
    /// Says whether the name is unknown or the value of the wrong kind or out
    /// of range.
    pub fn try_set(&mut self, name: &str, value: SettingValue) -> Result<(), SettingError> {
        let setting = SETTINGS
            .iter()
            .find(|setting| setting.name == name)
            .ok_or(SettingError::UnknownName)?;
        if (setting.apply)(self, value) {
            Ok(())
        } else {
            Err(SettingError::WrongValue {
                expected: setting.expects,
            })
        }
    }
}

impl Default for Profile {
    fn default() -> Self {
        Self::MODERN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn initial_windows_are_those_of_the_rfcs() {
        let window = |rule: InitialWindow, smss| rule.bytes(smss).as_u64();
        assert_eq!(window(InitialWindow::Rfc6928, 1460), 14_600);
        assert_eq!(window(InitialWindow::Rfc6928, 4096), 14_600);
        assert_eq!(window(InitialWindow::Rfc6928, 8948), 17_896);
        assert_eq!(window(InitialWindow::Rfc3390, 536), 4 * 536);
        assert_eq!(window(InitialWindow::Rfc3390, 1448), 3 * 1448);
        assert_eq!(window(InitialWindow::Rfc3390, 8948), 2 * 8948);
    }

    #[test]
    fn a_setting_refuses_values_of_the_wrong_kind_or_size() {
        let mut profile = Profile::MODERN;
        assert_eq!(profile.try_set("sack", SettingValue::Switch(false)), Ok(()));
        assert!(!profile.sack);
        assert_eq!(
            profile.try_set("sacks", SettingValue::Switch(false)),
            Err(SettingError::UnknownName)
        );
        let half_a_second = SettingValue::Time(Duration::from_millis(500));
        assert!(
            profile
                .try_set("delayed_ack_timeout", half_a_second)
                .is_err()
        );
        assert!(
            profile
                .try_set("ack_every", SettingValue::Count(0))
                .is_err()
        );
    }

    #[test]
    fn every_rule_that_a_profile_may_have_can_be_asked_for_and_taken_back() {
        let mut profile = Profile::MODERN;
        let mut set = |name, value| assert_eq!(profile.try_set(name, value), Ok(()));
        let (word, off) = (SettingValue::Word, SettingValue::Switch(false));
        set("prr", word("rfc6937-ssrb"));
        set("initial_window", word("rfc3390"));
        set(
            "ack_every_switch",
            SettingValue::Time(Duration::from_secs(4)),
        );
        set("ack_every_switch", off);
        set(
            "max_pacing_rate",
            SettingValue::Rate(Rate::from_bps(1_000_000)),
        );
        set("max_pacing_rate", off);
        set("not_sent_lowat", SettingValue::Amount(Bytes::new(1000)));
        set("not_sent_lowat", off);
        let asked = Profile {
            prr: Some(PrrRule::SlowStart),
            initial_window: InitialWindow::Rfc3390,
            ..Profile::MODERN
        };
        assert_eq!(profile, asked);
        assert!(profile.try_set("initial_window", word("rfc2414")).is_err());
    }

    #[test]
    fn no_two_settings_share_a_name() {
        for (i, setting) in SETTINGS.iter().enumerate() {
            assert!(SETTINGS[..i].iter().all(|other| other.name != setting.name));
        }
    }
}
