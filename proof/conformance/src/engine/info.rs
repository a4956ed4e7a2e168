//! `tcp_info` from the engine's state, in Linux's units. The engine counts octets: a count of
//! segments is octets by SMSS, rounded up.
//!
//! | word | here |
//! |---|---|
//! | `tcpi_reordering` | `DupThresh`, or how far reordering was seen to reach, if that is more; RACK waits for a time instead |
//! | `tcpi_retrans`, `tcpi_lost` | what was retransmitted and is not lost again; all that was lost |
//! | `tcpi_delivered` | octets by SMSS, after one for the SYN |
//! | `tcpi_pmtu` | no more than what the MSS of both sides fills |
//! | `tcpi_pacing_rate` | -1, all bits, where nothing bounds it |
//! | `SK_MEMINFO_...` | the two buffers; what counts the kernel's own structures is missing |

use alloc::vec::Vec;

use gigatcp_events::{EcnFeedback, Limit, Phase, State};
use gigatcp_units::{Bytes, Duration, Rate};

use super::descriptor::{File, SocketState};
use super::host::Host;
use crate::stack::Unsupported;

/// Linux's value for an unset `ssthresh`.
const UNSET: i64 = i32::MAX as i64;

impl Host {
    pub fn info(&self, fd: i64) -> Result<Vec<(&'static str, i64)>, Unsupported> {
        let Some(File::Socket(socket)) = self.files.get(&fd) else {
            return Err(Unsupported::new("tcp_info", "of a closed descriptor"));
        };
        match socket.state {
            SocketState::Fresh => Ok(Vec::from([("tcpi_state", 7)])),
            SocketState::Listening => Ok(Vec::from([("tcpi_state", 10)])),
            SocketState::Open(index) => Ok(self.info_of(index)),
        }
    }

    fn info_of(&self, index: usize) -> Vec<(&'static str, i64)> {
        let conn = &self.transport.connections[index];
        let info = conn.tcp.info();
        let counters = conn.tcp.counters();
        let smss = u64::from(info.smss.max(1));
        let segments = |bytes: Bytes| bytes.as_u64().div_ceil(smss) as i64;
        let micros = |time: Option<Duration>| time.map_or(0, |time| time.as_micros() as i64);
        let (limits, clock) = (conn.tcp.limits(), self.transport.clock());
        let spent = |limit: Limit| limits.spent(clock, limit).as_micros() as i64;
        let options = i64::from(info.timestamps)
            | i64::from(info.sack) << 1
            | i64::from(info.scaling) << 2
            | i64::from(info.ecn.feedback != EcnFeedback::None) << 3
            | i64::from(info.ecn.seen) << 4
            | i64::from(conn.tcp.has_taken_syn_text()) << 5;
        let ssthresh = match info.ssthresh {
            Bytes::MAX => UNSET,
            bytes => segments(bytes).min(UNSET),
        };
        let mut all = Vec::from([
            ("tcpi_state", state(info.state)),
            ("tcpi_ca_state", phase(info.phase)),
            ("tcpi_options", options),
            ("tcpi_snd_wscale", i64::from(info.window_scale.0)),
            ("tcpi_rcv_wscale", i64::from(info.window_scale.1)),
            ("tcpi_rto", info.rto.as_micros() as i64),
            ("tcpi_snd_mss", i64::from(info.smss)),
            ("SK_MEMINFO_SNDBUF", info.send_buffer.as_u64() as i64),
            ("SK_MEMINFO_RCVBUF", info.receive_buffer.as_u64() as i64),
            ("SK_MEMINFO_BACKLOG", 0),
            ("SK_MEMINFO_DROPS", 0),
            ("tcpi_rcv_mss", i64::from(info.rcv_mss)),
            ("tcpi_unacked", segments(info.flight_size)),
            ("tcpi_rtt", micros(info.srtt)),
            ("tcpi_rttvar", micros(info.rttvar)),
            ("tcpi_min_rtt", micros(info.min_rtt)),
            ("tcpi_snd_ssthresh", ssthresh),
            ("tcpi_snd_cwnd", segments(info.cwnd)),
            ("tcpi_total_retrans", counters.retransmitted_segments as i64),
            ("tcpi_data_segs_out", counters.data_segments_sent as i64),
            ("tcpi_segs_in", counters.segments_received as i64),
            ("tcpi_snd_wnd", info.snd_wnd.as_u64() as i64),
            ("tcpi_rcv_wnd", info.rcv_wnd.as_u64() as i64),
            ("tcpi_rwnd_limited", spent(Limit::ReceiveWindow)),
            ("tcpi_sndbuf_limited", spent(Limit::SendBuffer)),
            ("tcpi_dsack_dups", counters.dsacks_received as i64),
        ]);
        all.extend(self.repair_of(index));
        all.extend(self.rates_of(index));
        all.extend(conn.times.words(self.transport.now()));
        let octets = |counts: [u64; 3], names: [&'static str; 3]| {
            names.into_iter().zip(counts.map(|count| count as i64))
        };
        all.push(("tcpi_delivered_ce", info.ecn.delivered_ce as i64));
        all.push(("tcpi_received_ce", info.ecn.received_ce as i64));
        all.extend(octets(
            info.ecn.received_octets,
            [
                "tcpi_received_e1_bytes",
                "tcpi_received_e0_bytes",
                "tcpi_received_ce_bytes",
            ],
        ));
        all.extend(octets(
            info.ecn.delivered_octets,
            [
                "tcpi_delivered_e1_bytes",
                "tcpi_delivered_e0_bytes",
                "tcpi_delivered_ce_bytes",
            ],
        ));
        let unsent = conn.tcp.unsent() + u64::from(conn.held);
        all.push(("tcpi_notsent_bytes", unsent as i64));
        // Stream offsets count the SYN and, at the end, the FIN.
        let received = info.rcv_nxt.saturating_sub(1);
        all.push(("tcpi_bytes_received", received as i64));
        all.push(("tcpi_bytes_acked", info.snd_una.saturating_sub(1) as i64));
        all
    }
}

impl Host {
    /// Returns the counts of lost, retransmitted and delivered segments.
    fn repair_of(&self, index: usize) -> [(&'static str, i64); 8] {
        let tcp = &self.transport.connections[index].tcp;
        let info = tcp.info();
        let smss = u64::from(info.smss.max(1));
        let segments = |bytes: Bytes| bytes.as_u64().div_ceil(smss) as i64;
        let in_a_row = i64::from(info.timeouts_in_a_row);
        let is_probing = info.flight_size == Bytes::ZERO;
        let threshold = i64::from(self.transport.setup.profile.recovery.dup_thresh);
        let reordering = threshold.max(segments(info.reordering_extent));
        // The SYN is one octet and, with its data, one segment.
        let delivered = info.delivered.as_u64();
        let syn = delivered.min(1);
        let outcome = tcp.fast_open_outcome();
        let in_syn = outcome.map_or(0, |outcome| u64::from(outcome.text_acked));
        let data = Bytes::new((delivered - syn).saturating_sub(in_syn));
        [
            ("tcpi_sacked", segments(info.sacked)),
            ("tcpi_lost", segments(info.lost)),
            ("tcpi_retrans", segments(info.retransmitted)),
            ("tcpi_retransmits", if is_probing { 0 } else { in_a_row }),
            ("tcpi_probes", if is_probing { in_a_row } else { 0 }),
            ("tcpi_backoff", i64::from(info.backoff)),
            ("tcpi_reordering", reordering),
            ("tcpi_delivered", syn as i64 + segments(data)),
        ]
    }

    /// Returns rates in octets per second, sizes in octets.
    fn rates_of(&self, index: usize) -> [(&'static str, i64); 6] {
        let info = self.transport.connections[index].tcp.info();
        let octets = |rate: Rate| i64::try_from(rate.as_bps() / 8).unwrap_or(i64::MAX);
        let micros = |time: Option<Duration>| time.map_or(0, |time| time.as_micros() as i64);
        [
            ("tcpi_pacing_rate", info.pacing_rate.map_or(-1, octets)),
            ("tcpi_delivery_rate", info.delivery_rate.map_or(0, octets)),
            ("tcpi_pmtu", i64::from(info.path_mtu)),
            ("tcpi_advmss", i64::from(info.advertised_mss)),
            ("tcpi_rcv_rtt", micros(info.receiver_rtt)),
            (
                "tcpi_rcv_space",
                info.receive_space.map_or(0, |space| space.as_u64() as i64),
            ),
        ]
    }
}

/// Returns Linux's number of a state.
pub fn state(state: State) -> i64 {
    match state {
        State::Established => 1,
        State::SynSent => 2,
        State::SynReceived => 3,
        State::FinWait1 => 4,
        State::FinWait2 => 5,
        State::TimeWait => 6,
        State::Closed => 7,
        State::CloseWait => 8,
        State::LastAck => 9,
        State::Listen => 10,
        State::Closing => 11,
    }
}

fn phase(phase: Phase) -> i64 {
    match phase {
        Phase::Open => 0,
        Phase::Disorder => 1,
        Phase::Cwr => 2,
        Phase::Recovery => 3,
        Phase::Loss => 4,
    }
}
