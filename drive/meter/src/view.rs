//! State of a connection at one time, in the project's terms.
//!
//! The kernel counts windows and data in flight in segments and reports their size; here they are
//! bytes. Values that an older kernel does not report are zero or `None`.

use std::io;

#[cfg(target_os = "linux")]
use gigatcp_linux::{socket, tcp_info};
use gigatcp_tcp::events::Phase;
use gigatcp_units::{Bytes, Duration};

use crate::system::fd::AsRawFd;

/// `TCP_INFINITE_SSTHRESH`.
#[cfg(target_os = "linux")]
const NO_SSTHRESH: u64 = 0x7fff_ffff;

/// State of a connection at one moment, from `tcp_info`.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct View {
    /// State of congestion control (`tcpi_ca_state`).
    pub phase: Phase,
    /// Sender maximum segment size.
    pub smss: u32,
    /// Largest segment that was advertised to the peer.
    pub advertised_mss: u32,
    /// Congestion window.
    pub cwnd: Bytes,
    /// Slow-start threshold; `None` while unset.
    pub ssthresh: Option<Bytes>,
    /// Window the peer advertises.
    pub snd_wnd: Bytes,
    /// Bytes in flight.
    pub flight_size: Bytes,
    /// Smoothed RTT.
    pub srtt: Option<Duration>,
    /// Mean deviation of the RTT.
    pub rttvar: Option<Duration>,
    /// Path MTU, in bytes.
    pub pmtu: u32,
    /// Minimum RTT over a recent window (`tcpi_min_rtt`).
    pub min_rtt: Option<Duration>,
    /// Shifts of windows received and of windows sent.
    pub window_scale: (u8, u8),
    /// Segments sent in total.
    pub segments_sent: u64,
    /// Of these, with data, retransmissions included.
    pub data_segments_sent: u64,
    /// Of these, retransmissions.
    pub retransmitted_segments: u64,
    /// Retransmission timeouts (Linux 6.7 and later).
    pub timeouts: u64,
    /// Delivered segments with a congestion mark.
    pub delivered_ce: u64,
    /// Time in which data was available to send or in flight.
    pub busy: Duration,
    /// Part of this limited by the receive window.
    pub rwnd_limited: Duration,
    /// Part of this limited by the send buffer.
    pub sndbuf_limited: Duration,
}

impl View {
    /// State of `socket` now, or at its end.
    ///
    /// # Errors
    /// The kernel's error.
    #[cfg(target_os = "linux")]
    pub fn of(socket: &impl AsRawFd) -> io::Result<Self> {
        Ok(Self::of_words(&tcp_info::words(&socket::tcp_info(socket)?)))
    }

    /// Fails: this system's counters are not read.
    ///
    /// # Errors
    /// Always.
    #[cfg(not(target_os = "linux"))]
    pub fn of(_: &impl AsRawFd) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    #[cfg(target_os = "linux")]
    pub(crate) fn of_words(words: &[(&'static str, i64)]) -> Self {
        let word = |name: &str| {
            let found = words.iter().find(|(known, _)| *known == name);
            found.map_or(0, |(_, value)| u64::try_from(*value).unwrap_or(0))
        };
        let smss = word("tcpi_snd_mss");
        let in_segments = |name| Bytes::new(word(name).saturating_mul(smss));
        let micros = |name| Duration::from_nanos(word(name).saturating_mul(1000));
        // Unmeasured RTTs are zero; an unmeasured minimum is the largest number.
        let rtt = |name| match word(name) {
            0 | 0xffff_ffff => None,
            _ => Some(micros(name)),
        };
        let shift = |name| word(name) as u8;
        Self {
            phase: match word("tcpi_ca_state") {
                0 => Phase::Open,
                1 => Phase::Disorder,
                2 => Phase::Cwr,
                3 => Phase::Recovery,
                _ => Phase::Loss,
            },
            smss: smss as u32,
            advertised_mss: word("tcpi_advmss") as u32,
            cwnd: in_segments("tcpi_snd_cwnd"),
            ssthresh: (word("tcpi_snd_ssthresh") < NO_SSTHRESH)
                .then(|| in_segments("tcpi_snd_ssthresh")),
            snd_wnd: Bytes::new(word("tcpi_snd_wnd")),
            flight_size: in_segments("tcpi_unacked"),
            srtt: rtt("tcpi_rtt"),
            rttvar: rtt("tcpi_rttvar"),
            pmtu: word("tcpi_pmtu") as u32,
            min_rtt: rtt("tcpi_min_rtt"),
            window_scale: (shift("tcpi_snd_wscale"), shift("tcpi_rcv_wscale")),
            segments_sent: word("tcpi_segs_out"),
            data_segments_sent: word("tcpi_data_segs_out"),
            retransmitted_segments: word("tcpi_total_retrans"),
            timeouts: word("tcpi_total_rto"),
            delivered_ce: word("tcpi_delivered_ce"),
            busy: micros("tcpi_busy_time"),
            rwnd_limited: micros("tcpi_rwnd_limited"),
            sndbuf_limited: micros("tcpi_sndbuf_limited"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn segments_become_octets_and_what_is_unmeasured_is_absent() {
        let words = [
            ("tcpi_ca_state", 3),
            ("tcpi_snd_mss", 1448),
            ("tcpi_snd_cwnd", 10),
            ("tcpi_snd_ssthresh", 0x7fff_ffff),
            ("tcpi_unacked", 4),
            ("tcpi_rtt", 10_250),
            ("tcpi_min_rtt", 0xffff_ffff),
            ("tcpi_busy_time", 5),
        ];
        let view = View::of_words(&words);
        assert_eq!(view.phase, Phase::Recovery);
        assert_eq!(view.cwnd, Bytes::new(14_480));
        assert_eq!((view.ssthresh, view.min_rtt), (None, None));
        assert_eq!(view.flight_size, Bytes::new(5792));
        assert_eq!(view.srtt, Some(Duration::from_micros(10_250)));
        assert_eq!(view.busy, Duration::from_micros(5));
    }

    #[test]
    fn a_socket_of_this_kernel_tells_its_segment_size_and_window() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let view = View::of(&stream).unwrap();
        assert!(view.smss > 500 && view.cwnd >= Bytes::new(u64::from(view.smss)));
        assert!(view.snd_wnd > Bytes::ZERO);
    }
}
