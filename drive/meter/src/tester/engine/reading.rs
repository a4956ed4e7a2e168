//! State of an engine's connection in the terms of `tcp_info`.
//!
//! The engine counts bytes where the kernel counts segments; here they are converted to full-sized
//! segments. Values it does not count are `None`. Time under the limit "application" counts as not
//! busy, though data may be in flight.

use gigatcp_events::{Limit, Phase, State};
use gigatcp_live::Measured;
use gigatcp_units::{Bytes, Duration, Instant, Rate};
use gigatcp_why::counters::Reading;

use crate::View;
use crate::view::NO_SSTHRESH;

/// Bits of `tcpi_options`.
const TIMESTAMPS: u64 = 1;
const SACK: u64 = 2;
const WSCALE: u64 = 4;

/// Returns the connection in the form of the tester's intervals.
pub(super) fn view(measured: &Measured) -> View {
    let (info, counters) = (&measured.info, &measured.counters);
    let times = Times::of(measured);
    View {
        phase: info.phase,
        smss: info.smss,
        advertised_mss: info.advertised_mss,
        cwnd: info.cwnd,
        ssthresh: Some(info.ssthresh).filter(|ssthresh| *ssthresh != Bytes::MAX),
        snd_wnd: info.snd_wnd,
        flight_size: info.flight_size,
        srtt: info.srtt,
        rttvar: info.rttvar,
        pmtu: info.path_mtu,
        min_rtt: info.min_rtt,
        window_scale: info.window_scale,
        segments_sent: counters.data_segments_sent + counters.acks_sent,
        data_segments_sent: counters.data_segments_sent,
        retransmitted_segments: counters.retransmitted_segments,
        timeouts: counters.timeouts,
        delivered_ce: info.ecn.delivered_ce,
        busy: times.busy,
        rwnd_limited: times.rwnd_limited,
        sndbuf_limited: times.sndbuf_limited,
    }
}

/// Returns every counter of the connection, `at` a time of the caller's clock.
///
/// `max_pacing_rate` is the requested limit.
pub(super) fn of(measured: &Measured, max_pacing_rate: Option<Rate>, at: Instant) -> Reading {
    let (info, counters) = (&measured.info, &measured.counters);
    let times = Times::of(measured);
    let smss = u64::from(info.smss.max(1));
    let segments = |bytes: Bytes| Some(bytes.as_u64().div_ceil(smss));
    let bit = |is: bool, bit: u64| if is { bit } else { 0 };
    // A probe that repaired no loss caused no reduction: it does not indicate loss or reordering.
    let recovered = counters.fast_retransmits + counters.timeout_retransmits;
    let probes = counters.retransmitted_segments.saturating_sub(recovered);
    let idle_probes = probes.saturating_sub(counters.tail_probe_repairs);
    // Offset 0 of a stream is the SYN.
    let of_stream = |offset: u64| Some(Bytes::new(offset.saturating_sub(1)));
    Reading {
        at,
        state: Some(state_number(info.state)),
        ca_state: Some(phase_number(info.phase)),
        retransmits: Some(info.timeouts_in_a_row.into()),
        backoff: Some(info.backoff.into()),
        snd_wscale: Some(info.window_scale.0.into()),
        rcv_wscale: Some(info.window_scale.1.into()),
        options: Some(
            bit(info.timestamps, TIMESTAMPS) | bit(info.sack, SACK) | bit(info.scaling, WSCALE),
        ),
        rto: Some(info.rto),
        smss: Some(Bytes::new(smss)),
        unacked: segments(info.flight_size),
        sacked: segments(info.sacked),
        lost: segments(info.lost),
        retrans: segments(info.retransmitted),
        pmtu: Some(Bytes::new(info.path_mtu.into())),
        rtt: info.srtt,
        rttvar: info.rttvar,
        ssthresh_segments: match info.ssthresh {
            Bytes::MAX => Some(NO_SSTHRESH),
            ssthresh => Some(ssthresh.as_u64() / smss),
        },
        cwnd_segments: Some(info.cwnd.as_u64() / smss),
        advmss: Some(Bytes::new(info.advertised_mss.into())),
        rcv_rtt: info.receiver_rtt,
        rcv_space: info.receive_space,
        total_retrans: Some(counters.retransmitted_segments.saturating_sub(idle_probes)),
        pacing_rate: info.pacing_rate,
        max_pacing_rate: Some(max_pacing_rate.unwrap_or(Rate::MAX)),
        bytes_acked: of_stream(info.snd_una),
        bytes_received: of_stream(info.rcv_nxt),
        segs_out: Some(counters.data_segments_sent + counters.acks_sent),
        segs_in: Some(counters.segments_received),
        notsent: Some(Bytes::new(measured.unsent)),
        min_rtt: info.min_rtt,
        data_segs_out: Some(counters.data_segments_sent),
        delivery_rate: info.delivery_rate,
        busy: Some(times.busy),
        rwnd_limited: Some(times.rwnd_limited),
        sndbuf_limited: Some(times.sndbuf_limited),
        delivered: segments(info.delivered),
        delivered_ce: Some(info.ecn.delivered_ce),
        dsack_dups: Some(counters.spurious_retransmits.saturating_sub(idle_probes)),
        // The number of events is not counted.
        reord_seen: (!info.reordering_seen).then_some(0),
        snd_wnd: Some(info.snd_wnd),
        rcv_wnd: Some(info.rcv_wnd),
        total_rto: Some(counters.timeouts),
        rcvbuf: Some(info.receive_buffer),
        sndbuf: Some(info.send_buffer),
        wmem_queued: Some(Bytes::new(measured.send_queue)),
        unread: Some(Bytes::new(measured.unread)),
        unacknowledged: Some(Bytes::new(measured.send_queue)),
        ..Reading::default()
    }
}

/// Times as the kernel counts them.
struct Times {
    busy: Duration,
    rwnd_limited: Duration,
    sndbuf_limited: Duration,
}

impl Times {
    fn of(measured: &Measured) -> Self {
        let under = |limit: Limit| measured.limits[limit.index()];
        let busy = Limit::ALL
            .into_iter()
            .filter(|limit| *limit != Limit::Application);
        Self {
            busy: busy.fold(Duration::ZERO, |sum, limit| sum + under(limit)),
            rwnd_limited: under(Limit::ReceiveWindow),
            sndbuf_limited: under(Limit::SendBuffer),
        }
    }
}

/// Returns the number of a phase in `tcpi_ca_state`.
fn phase_number(phase: Phase) -> u64 {
    match phase {
        Phase::Open => 0,
        Phase::Disorder => 1,
        Phase::Cwr => 2,
        Phase::Recovery => 3,
        Phase::Loss => 4,
    }
}

/// Returns the number of a state in `tcpi_state`.
fn state_number(state: State) -> u64 {
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
