//! A moment's view of a connection: STATUS of RFC 9293 section 3.9.1.6, in the
//! words of Linux's `tcp_info`.
//!
//! Requested by samplers and scripts, never on the path of a segment: its cost
//! is that of the retransmissions outstanding.
//!
//! Out of scope: counts of segments where the engine counts octets, and
//! `tcpi_busy_time` (when nothing more is written, time is the application's
//! though data is in flight).

use gigatcp_events::{Phase, State};
use gigatcp_units::{Bytes, Duration, Rate};
use gigatcp_wire::{IcmpKind, Payload};

use super::{Connection, EcnInfo};
use crate::congestion::RateSample;

/// A moment's view of a connection, in the words of Linux's `tcp_info`.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Info {
    /// State.
    pub state: State,
    /// Recovery phase.
    pub phase: Phase,
    /// Congestion window.
    pub cwnd: Bytes,
    /// Slow-start threshold, [`Bytes::MAX`] while unset.
    pub ssthresh: Bytes,
    /// Window the peer offers.
    pub snd_wnd: Bytes,
    /// Window we offer.
    pub rcv_wnd: Bytes,
    /// `FlightSize`.
    pub flight_size: Bytes,
    /// `pipe`.
    pub pipe: Bytes,
    /// Octets of the flight known or presumed to have arrived, beyond a hole
    /// (`tcpi_sacked`).
    pub sacked: Bytes,
    /// Octets of the flight found lost, retransmitted or not (`tcpi_lost`).
    pub lost: Bytes,
    /// Octets of the flight that were retransmitted (`tcpi_retrans`).
    pub retransmitted: Bytes,
    /// Octets delivered in all, however they were acknowledged, the SYN among
    /// them (`tcpi_delivered`).
    pub delivered: Bytes,
    /// Rate of delivery: the latest sample, except for those that the application
    /// made lower (`tcpi_delivery_rate`).
    pub delivery_rate: Option<Rate>,
    /// Sender maximum segment size.
    pub smss: u32,
    /// Smoothed round-trip time.
    pub srtt: Option<Duration>,
    /// Its mean deviation.
    pub rttvar: Option<Duration>,
    /// Smallest round-trip time.
    pub min_rtt: Option<Duration>,
    /// Retransmission timeout.
    pub rto: Duration,
    /// Timeouts, or window probes, in a row without an answer
    /// (`tcpi_retransmits`, `tcpi_probes`).
    pub timeouts_in_a_row: u32,
    /// How often the timer was doubled (`tcpi_backoff`).
    pub backoff: u32,
    /// Whether segments arrived out of order (`RACK.reordering_seen`;
    /// `tcpi_reord_seen`).
    pub reordering_seen: bool,
    /// How far that was seen to reach: from an octet that was sent once and came
    /// late to the end of what was known to have arrived before it.
    pub reordering_extent: Bytes,
    /// How long a segment may be late before it is lost (`RACK.reo_wnd`).
    pub reo_wnd: Duration,
    /// SND.UNA as a stream offset.
    pub snd_una: u64,
    /// SND.NXT as a stream offset.
    pub snd_nxt: u64,
    /// RCV.NXT as a stream offset.
    pub rcv_nxt: u64,
    /// Window scale shift we apply to windows received, and they to ours.
    pub window_scale: (u8, u8),
    /// Send and receive buffer requested; `None`: neither, and then they may
    /// grow.
    pub buffers_requested: (Option<Bytes>, Option<Bytes>),
    /// Whether the send and the receive buffer fit themselves to the path.
    pub autotuning: (bool, bool),
    /// What our MSS option says (`tcpi_advmss`).
    pub advertised_mss: u32,
    /// Largest segment of the peer so far, where buffers count packets (`tcpi_rcv_mss`); else
    /// what our MSS option says.
    pub rcv_mss: u32,
    /// Most octets that the application took in a round trip, where the receive
    /// buffer fits itself to that (`tcpi_rcv_space`).
    pub receive_space: Option<Bytes>,
    /// Round-trip time as the receiver measures it, where its buffer fits
    /// itself to the path (`tcpi_rcv_rtt`).
    pub receiver_rtt: Option<Duration>,
    /// Send buffer granted, or grown to.
    pub send_buffer: Bytes,
    /// Receive buffer granted, or grown to.
    pub receive_buffer: Bytes,
    /// Largest window the receive buffer backs.
    pub window_clamp: Bytes,
    /// Rate at which segments are released, if they are paced.
    pub pacing_rate: Option<Rate>,
    /// Most octets released at once.
    pub send_quantum: Bytes,
    /// Whether SACK is in use.
    pub sack: bool,
    /// Whether window scaling is in use, if only with shifts of zero.
    pub scaling: bool,
    /// Whether timestamps are in use.
    pub timestamps: bool,
    /// Largest packet the path is thought to take (`tcpi_pmtu`).
    pub path_mtu: u32,
    /// The last ICMP error that did not end the connection, or that did (RFC
    /// 9293 SHLD-25).
    pub soft_error: Option<IcmpKind>,
    /// Explicit congestion notification.
    pub ecn: EcnInfo,
}

impl<P: Payload> Connection<P> {
    /// A moment's view.
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
            sack: self.handshake.sack,
            scaling: self.handshake.scaling,
            timestamps: self.timestamps.is_some(),
            path_mtu: self.path.current(),
            soft_error: self.soft_error,
            ecn: self.ecn_info(),
        }
    }

    /// The sample of an acknowledgment says what the path carries, unless the
    /// application had too little to send and it says less than the one before
    /// (Linux `tcp_rate_gen`).
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

/// What was delivered, by the time that it took.
fn rate_of((delivered, interval): (Bytes, Duration)) -> Rate {
    Rate::from_amount(delivered, interval)
}
