//! Snapshot of a connection: STATUS of RFC 9293 section 3.9.1.6.
//!
//! Samplers and scripts request it; segment processing does not. Its cost is constant.

use gigatcp_units::{Bytes, Duration, Rate};
use gigatcp_wire::{IcmpKind, Payload};

use super::{Connection, EcnInfo};
use crate::congestion::RateSample;
use crate::events::{Phase, State};

/// Snapshot of a connection. [`Info::tcp_info`] has it under the names of Linux's `tcp_info`.
///
/// ```
/// use gigatcp_tcp::events::State;
/// use gigatcp_tcp::{Endpoint, TransportConfig};
/// use gigatcp_units::Instant;
/// use gigatcp_wire::bytes::Bytes;
///
/// let now = Instant::ZERO;
/// let mut host: Endpoint<Bytes> = Endpoint::new(now, [2; 16], ["10.0.0.1".parse().unwrap()]);
/// let at = "10.0.0.2:80".parse().unwrap();
/// let stream = host.connect(now, at, TransportConfig::default()).unwrap();
/// let connection = host.connection(stream).unwrap();
/// let info = connection.info();
/// assert_eq!(info.state, State::SynSent);
///
/// // The times under each limit add up to the time since it was established.
/// let limits = connection.limits(now);
/// assert!(limits.iter().all(|time| time.is_zero()));
///
/// let tcp_info = info.tcp_info(&connection.counters(), &limits);
/// assert!(tcp_info.into_iter().any(|(name, value)| (name, value) == ("tcpi_snd_cwnd", 10)));
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Info {
    /// State of RFC 9293 section 3.3.2.
    pub state: State,
    /// Recovery phase.
    pub phase: Phase,
    /// Congestion window.
    pub cwnd: Bytes,
    /// Slow-start threshold, [`Bytes::MAX`] while unset.
    pub ssthresh: Bytes,
    /// Window the peer advertises.
    pub snd_wnd: Bytes,
    /// Window we advertise.
    pub rcv_wnd: Bytes,
    /// `FlightSize` of RFC 5681.
    pub flight_size: Bytes,
    /// `pipe` of RFC 6675.
    pub pipe: Bytes,
    /// Octets in flight known or presumed to have arrived, beyond a gap (`tcpi_sacked`).
    pub sacked: Bytes,
    /// Octets in flight found lost, retransmitted or not (`tcpi_lost`).
    pub lost: Bytes,
    /// Octets in flight that were retransmitted (`tcpi_retrans`).
    pub retransmitted: Bytes,
    /// Octets delivered, cumulatively or selectively acknowledged, the SYN included
    /// (`tcpi_delivered`).
    pub delivered: Bytes,
    /// Delivery rate: the latest sample, except those that the application lowered
    /// (`tcpi_delivery_rate`).
    pub delivery_rate: Option<Rate>,
    /// Sender maximum segment size.
    pub smss: u32,
    /// Smoothed round-trip time.
    pub srtt: Option<Duration>,
    /// Mean deviation of the RTT.
    pub rttvar: Option<Duration>,
    /// Smallest round-trip time.
    pub min_rtt: Option<Duration>,
    /// Retransmission timeout.
    pub rto: Duration,
    /// Timeouts or window probes in a row without an answer (`tcpi_retransmits`, `tcpi_probes`).
    pub timeouts_in_a_row: u32,
    /// Number of times the timer was doubled (`tcpi_backoff`).
    pub backoff: u32,
    /// Whether segments arrived out of order (`RACK.reordering_seen`; `tcpi_reord_seen`).
    pub reordering_seen: bool,
    /// Largest reordering extent seen. It reaches from an octet that was sent once and came late
    /// to the end of what had arrived before it.
    pub reordering_extent: Bytes,
    /// Reordering window: lateness after which a segment is lost (`RACK.reo_wnd`).
    pub reo_wnd: Duration,
    /// SND.UNA as a stream offset.
    pub snd_una: u64,
    /// SND.NXT as a stream offset.
    pub snd_nxt: u64,
    /// RCV.NXT as a stream offset.
    pub rcv_nxt: u64,
    /// Window scale shifts: ours for received windows, the peer's for those we send.
    pub window_scale: (u8, u8),
    /// Requested send and receive buffer; `None`: not requested, so it may grow.
    pub buffers_requested: (Option<Bytes>, Option<Bytes>),
    /// Whether the send and the receive buffer are autotuned.
    pub autotuning: (bool, bool),
    /// Value of our MSS option (`tcpi_advmss`).
    pub advertised_mss: u32,
    /// Largest segment received so far, if buffers count packets (`tcpi_rcv_mss`). Otherwise the
    /// value of our MSS option.
    pub rcv_mss: u32,
    /// Maximum number of octets read per round trip, with receive autotuning (`tcpi_rcv_space`).
    pub receive_space: Option<Bytes>,
    /// RTT measured by the receiver, if its buffer is autotuned (`tcpi_rcv_rtt`).
    pub receiver_rtt: Option<Duration>,
    /// Current send buffer, granted or autotuned.
    pub send_buffer: Bytes,
    /// Current receive buffer, granted or autotuned.
    pub receive_buffer: Bytes,
    /// Largest window the receive buffer backs.
    pub window_clamp: Bytes,
    /// Pacing rate, if segments are paced.
    pub pacing_rate: Option<Rate>,
    /// Maximum octets released in one burst.
    pub send_quantum: Bytes,
    /// Octets written and not yet sent (`tcpi_notsent_bytes`).
    pub unsent: Bytes,
    /// Whether the receiver accepted all data in a SYN, in either direction (`TCPI_OPT_SYN_DATA`).
    pub syn_text_taken: bool,
    /// Whether SACK is in use.
    pub sack: bool,
    /// Whether window scaling is in use, if only with shifts of zero.
    pub scaling: bool,
    /// Whether timestamps are in use.
    pub timestamps: bool,
    /// Path MTU estimate (`tcpi_pmtu`).
    pub path_mtu: u32,
    /// Last ICMP error, whether or not it ended the connection (RFC 9293 SHLD-25).
    pub soft_error: Option<IcmpKind>,
    /// Explicit congestion notification.
    pub ecn: EcnInfo,
}

impl<P: Payload> Connection<P> {
    /// A snapshot.
    pub fn info(&self) -> Info {
        Info {
            state: self.state,
            phase: self.recovery.phase(),
            cwnd: self.congestion.cwnd(),
            ssthresh: self.congestion.ssthresh(),
            snd_wnd: Bytes::new(self.snd.wnd),
            rcv_wnd: Bytes::new(self.rcv.wnd()),
            flight_size: Bytes::new(self.snd.flight_size()),
            pipe: Bytes::new(self.board.pipe()),
            sacked: Bytes::new(self.board.sacked() + self.board.duplicate_credit()),
            lost: Bytes::new(self.board.lost_in_all()),
            retransmitted: Bytes::new(self.board.retransmitted()),
            delivered: Bytes::new(self.board.delivered()),
            delivery_rate: self.delivery.map(rate_of),
            smss: self.smss,
            srtt: self.rtt.srtt(),
            rttvar: self.rtt.rttvar(),
            min_rtt: self.min_rtt.value(),
            rto: self.rtt.rto(),
            timeouts_in_a_row: self.timers.timeouts_in_a_row,
            backoff: self
                .rtt
                .backoff()
                .max(u32::from(self.timers.persist_backoff)),
            reordering_seen: self.rack.reordering_seen(),
            reordering_extent: Bytes::new(self.rack.reordering_extent()),
            reo_wnd: self.rack.reo_wnd(),
            snd_una: self.snd.una,
            snd_nxt: self.snd.nxt,
            rcv_nxt: self.rcv.nxt,
            window_scale: (self.snd.shift, self.rcv.shift),
            buffers_requested: (self.buffers.requested.send, self.buffers.requested.receive),
            autotuning: (self.buffers.tunes_send(), self.buffers.receive.is_some()),
            advertised_mss: self.rmss,
            rcv_mss: self.window.rcv_mss().map_or(self.rmss, |mss| mss as u32),
            receive_space: self.receive_space(),
            receiver_rtt: self.receiver_rtt(),
            send_buffer: Bytes::new(self.send_buffer.capacity()),
            receive_buffer: Bytes::new(self.window.buffer()),
            window_clamp: Bytes::new(self.window.clamp()),
            pacing_rate: self.pacing_rate(),
            send_quantum: self.send_quantum(),
            unsent: Bytes::new(self.unsent()),
            syn_text_taken: self.has_taken_syn_text(),
            sack: self.handshake.sack,
            scaling: self.handshake.scaling,
            timestamps: self.timestamps.is_some(),
            path_mtu: self.path.current(),
            soft_error: self.soft_error,
            ecn: self.ecn_info(),
        }
    }

    /// Records the delivery rate of an acknowledgment. A sample that the application limited
    /// counts only if it is not lower than the one before (Linux `tcp_rate_gen`).
    #[inline]
    pub(super) fn note_delivery(&mut self, sample: &RateSample) {
        if !sample.is_reliable(self.min_rtt.value()) {
            return;
        }
        let news = (sample.delivered, sample.interval());
        let is_news = !sample.app_limited
            || self
                .delivery
                .is_none_or(|before| rate_of(news) >= rate_of(before));
        if is_news {
            self.delivery = Some(news);
        }
    }
}

/// Delivered octets divided by the time taken.
fn rate_of((delivered, interval): (Bytes, Duration)) -> Rate {
    Rate::from_amount(delivered, interval)
}
