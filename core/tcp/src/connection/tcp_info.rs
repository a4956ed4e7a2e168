//! Linux's `struct tcp_info` from a snapshot: the kernel's names, units and numbers.
//!
//! The engine counts octets: a count of segments is octets by SMSS, rounded up. Left out is what the
//! engine does not measure, and `tcpi_pacing_rate` of a connection that is not paced.

use gigatcp_units::{Bytes, Duration, Rate};

use super::{Counters, Info};
use crate::events::{EcnFeedback, Limit, Phase, State};

/// `TCP_INFINITE_SSTHRESH`: no loss yet.
const NO_SSTHRESH: u64 = i32::MAX as u64;

impl Info {
    /// Fields of `struct tcp_info` by name, in its units: microseconds, bytes, segments, bytes per
    /// second. `counters` and `limits` (time under each of [`Limit::ALL`]) are of the same moment.
    ///
    /// Time counts as busy unless the application limits the sender, so not while data is in
    /// flight and nothing is left to write.
    pub fn tcp_info(
        &self,
        counters: &Counters,
        limits: &[Duration; Limit::ALL.len()],
    ) -> impl Iterator<Item = (&'static str, i64)> + use<> {
        let [received_e1, received_e0, received_ce] = self.ecn.received_octets;
        let [delivered_e1, delivered_e0, delivered_ce] = self.ecn.delivered_octets;
        let under = |limit: Limit| limits[limit.index()];
        let waiting = under(Limit::Application);
        let all = limits.iter().fold(Duration::ZERO, |sum, time| sum + *time);
        let is_probing = self.flight_size == Bytes::ZERO;
        let in_a_row = |counts: bool| if counts { self.timeouts_in_a_row } else { 0 };
        let words = [
            ("tcpi_state", state_number(self.state)),
            ("tcpi_ca_state", phase_number(self.phase)),
            ("tcpi_retransmits", in_a_row(!is_probing).into()),
            ("tcpi_probes", in_a_row(is_probing).into()),
            ("tcpi_backoff", self.backoff.into()),
            ("tcpi_options", self.option_bits()),
            ("tcpi_snd_wscale", self.window_scale.0.into()),
            ("tcpi_rcv_wscale", self.window_scale.1.into()),
            ("tcpi_rto", self.rto.as_micros()),
            ("tcpi_snd_mss", self.smss.into()),
            ("tcpi_rcv_mss", self.rcv_mss.into()),
            ("tcpi_unacked", self.segments(self.flight_size)),
            ("tcpi_sacked", self.segments(self.sacked)),
            ("tcpi_lost", self.segments(self.lost)),
            ("tcpi_retrans", self.segments(self.retransmitted)),
            ("tcpi_pmtu", self.path_mtu.into()),
            ("tcpi_rtt", micros(self.srtt)),
            ("tcpi_rttvar", micros(self.rttvar)),
            ("tcpi_snd_ssthresh", self.ssthresh_in_segments()),
            ("tcpi_snd_cwnd", self.segments(self.cwnd)),
            ("tcpi_advmss", self.advertised_mss.into()),
            ("tcpi_rcv_rtt", micros(self.receiver_rtt)),
            (
                "tcpi_rcv_space",
                self.receive_space.map_or(0, Bytes::as_u64),
            ),
            ("tcpi_total_retrans", counters.retransmitted_segments),
            // Offset 0 of a stream is the SYN.
            ("tcpi_bytes_acked", self.snd_una.saturating_sub(1)),
            ("tcpi_bytes_received", self.rcv_nxt.saturating_sub(1)),
            (
                "tcpi_segs_out",
                counters.data_segments_sent + counters.acks_sent,
            ),
            ("tcpi_segs_in", counters.segments_received),
            ("tcpi_notsent_bytes", self.unsent.as_u64()),
            ("tcpi_min_rtt", micros(self.min_rtt)),
            ("tcpi_data_segs_out", counters.data_segments_sent),
            (
                "tcpi_delivery_rate",
                self.delivery_rate.map_or(0, octets_per_second),
            ),
            ("tcpi_busy_time", all.saturating_sub(waiting).as_micros()),
            ("tcpi_rwnd_limited", under(Limit::ReceiveWindow).as_micros()),
            ("tcpi_sndbuf_limited", under(Limit::SendBuffer).as_micros()),
            ("tcpi_delivered", self.delivered_segments()),
            ("tcpi_delivered_ce", self.ecn.delivered_ce),
            ("tcpi_dsack_dups", counters.dsacks_received),
            ("tcpi_snd_wnd", self.snd_wnd.as_u64()),
            ("tcpi_rcv_wnd", self.rcv_wnd.as_u64()),
            ("tcpi_total_rto", counters.timeouts),
            ("tcpi_received_ce", self.ecn.received_ce),
            ("tcpi_delivered_e1_bytes", delivered_e1),
            ("tcpi_delivered_e0_bytes", delivered_e0),
            ("tcpi_delivered_ce_bytes", delivered_ce),
            ("tcpi_received_e1_bytes", received_e1),
            ("tcpi_received_e0_bytes", received_e0),
            ("tcpi_received_ce_bytes", received_ce),
        ];
        let pacing = self
            .pacing_rate
            .map(|rate| ("tcpi_pacing_rate", octets_per_second(rate)));
        words
            .into_iter()
            .chain(pacing)
            .map(|(name, number)| (name, i64::try_from(number).unwrap_or(i64::MAX)))
    }

    /// `TCPI_OPT_*`.
    fn option_bits(&self) -> u64 {
        [
            self.timestamps,
            self.sack,
            self.scaling,
            self.ecn.feedback != EcnFeedback::None,
            self.ecn.seen,
            self.syn_text_taken,
        ]
        .into_iter()
        .enumerate()
        .map(|(place, is_set)| u64::from(is_set) << place)
        .sum()
    }

    fn ssthresh_in_segments(&self) -> u64 {
        self.segments(self.ssthresh).min(NO_SSTHRESH)
    }

    /// The SYN is one octet and one segment.
    fn delivered_segments(&self) -> u64 {
        let syn = self.delivered.as_u64().min(1);
        syn + self.segments(self.delivered.saturating_sub(Bytes::new(syn)))
    }

    fn segments(&self, amount: Bytes) -> u64 {
        amount.as_u64().div_ceil(u64::from(self.smss.max(1)))
    }
}

fn micros(time: Option<Duration>) -> u64 {
    time.map_or(0, Duration::as_micros)
}

fn octets_per_second(rate: Rate) -> u64 {
    rate.as_bps() / 8
}

/// Number of a state in `tcpi_state`: `net/tcp_states.h`.
const fn state_number(state: State) -> u64 {
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

/// Number of a phase in `tcpi_ca_state`: `enum tcp_ca_state`.
const fn phase_number(phase: Phase) -> u64 {
    match phase {
        Phase::Open => 0,
        Phase::Disorder => 1,
        Phase::Cwr => 2,
        Phase::Recovery => 3,
        Phase::Loss => 4,
    }
}
