//! One reading of a connection: `tcp_info`, socket memory, queues, application.
//!
//! The table below names each field once. The kernel's word and its unit are next to the field, so
//! that words of `tcp_info`, text of `ss` and JSON yield the same [`Reading`]. Values that the
//! source lacks are `None`, never zero.

use gigatcp_units::{Bytes, Duration, Instant, Rate};

/// `TCP_INFINITE_SSTHRESH`.
const NO_SSTHRESH: u64 = 0x7fff_ffff;

/// Declares [`Reading`]: field, type, the kernel's word, and the unit of that word.
macro_rules! reading {
    ($($(#[doc = $doc:literal])+ $field:ident: $type:ty = $word:literal in $unit:ident;)*) => {
        /// A connection at one time, as its host's kernel counts it.
        #[derive(Clone, Copy, PartialEq, Debug, Default)]
        pub struct Reading {
            /// Time of the reading, on a clock that all readings of an account share.
            pub at: Instant,
            $($(#[doc = $doc])+ pub $field: Option<$type>,)*
        }

        /// Names of the words that a [`Reading`] keeps, in the order of its fields.
        pub const WORDS: &[&str] = &[$($word),*];

        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        #[repr(usize)]
        enum Place { $($field),* }

        impl Reading {
            /// Sets the word at this place of [`WORDS`] to the kernel's number.
            pub fn set(&mut self, place: usize, number: i64) {
                match place {
                    $(x if x == Place::$field as usize => self.$field = $unit::read(number),)*
                    _ => {}
                }
            }

            /// Kernel's number for the word at this place of [`WORDS`]; `None` if unknown.
            #[must_use]
            pub fn number(&self, place: usize) -> Option<i64> {
                match place {
                    $(x if x == Place::$field as usize => self.$field.map($unit::write),)*
                    _ => None,
                }
            }
        }
    };
}

reading! {
    /// State of the connection; 1 is established.
    state: u64 = "tcpi_state" in count;
    /// State of congestion control: 0 Open, 1 Disorder, 2 CWR, 3 Recovery, 4 Loss.
    ca_state: u64 = "tcpi_ca_state" in count;
    /// Consecutive timeouts for the outstanding segment.
    retransmits: u64 = "tcpi_retransmits" in count;
    /// Doublings of the retransmission timeout in effect.
    backoff: u64 = "tcpi_backoff" in count;
    /// Shift of the windows that the peer advertises.
    snd_wscale: u64 = "tcpi_snd_wscale" in count;
    /// Shift of the windows that this end advertises.
    rcv_wscale: u64 = "tcpi_rcv_wscale" in count;
    /// Options in use, a bit for each.
    options: u64 = "tcpi_options" in count;
    /// Whether the last delivery rate was limited by the application.
    app_limited: bool = "tcpi_delivery_rate_app_limited" in flag;
    /// Retransmission timeout.
    rto: Duration = "tcpi_rto" in micros;
    /// Sender maximum segment size.
    smss: Bytes = "tcpi_snd_mss" in octets;
    /// Segment size that the receiver sees.
    rcv_mss: Bytes = "tcpi_rcv_mss" in octets;
    /// Segments in flight.
    unacked: u64 = "tcpi_unacked" in count;
    /// Segments that SACK blocks cover.
    sacked: u64 = "tcpi_sacked" in count;
    /// Segments marked as lost.
    lost: u64 = "tcpi_lost" in count;
    /// Retransmitted segments in flight.
    retrans: u64 = "tcpi_retrans" in count;
    /// Time since data was last sent.
    last_data_sent: Duration = "tcpi_last_data_sent" in millis;
    /// Time since data last arrived; before any, since the connection began.
    last_data_recv: Duration = "tcpi_last_data_recv" in millis;
    /// Time since an ACK last arrived.
    last_ack_recv: Duration = "tcpi_last_ack_recv" in millis;
    /// Path MTU.
    pmtu: Bytes = "tcpi_pmtu" in octets;
    /// Upper bound of the window that this end advertises.
    rcv_ssthresh: Bytes = "tcpi_rcv_ssthresh" in octets;
    /// Smoothed RTT.
    rtt: Duration = "tcpi_rtt" in measured_micros;
    /// Mean deviation of the RTT.
    rttvar: Duration = "tcpi_rttvar" in measured_micros;
    /// Slow-start threshold in segments; see [`Reading::ssthresh`].
    ssthresh_segments: u64 = "tcpi_snd_ssthresh" in count;
    /// Congestion window in segments; see [`Reading::cwnd`].
    cwnd_segments: u64 = "tcpi_snd_cwnd" in count;
    /// Segment size that this end advertised.
    advmss: Bytes = "tcpi_advmss" in octets;
    /// Reordering extent assumed for the path, in segments.
    reordering: u64 = "tcpi_reordering" in count;
    /// RTT as estimated by the receiver.
    rcv_rtt: Duration = "tcpi_rcv_rtt" in measured_micros;
    /// Bytes that the application read in an RTT (receive buffer autotuning).
    rcv_space: Bytes = "tcpi_rcv_space" in octets;
    /// Segments retransmitted.
    total_retrans: u64 = "tcpi_total_retrans" in count;
    /// Pacing rate.
    pacing_rate: Rate = "tcpi_pacing_rate" in byte_rate;
    /// Upper bound of the pacing rate; [`Rate::MAX`] if there is none.
    max_pacing_rate: Rate = "tcpi_max_pacing_rate" in byte_rate;
    /// Bytes acknowledged.
    bytes_acked: Bytes = "tcpi_bytes_acked" in octets;
    /// Bytes received in order.
    bytes_received: Bytes = "tcpi_bytes_received" in octets;
    /// Segments sent.
    segs_out: u64 = "tcpi_segs_out" in count;
    /// Segments received.
    segs_in: u64 = "tcpi_segs_in" in count;
    /// Bytes that the application wrote and that are unsent.
    notsent: Bytes = "tcpi_notsent_bytes" in octets;
    /// Minimum RTT of the recent past.
    min_rtt: Duration = "tcpi_min_rtt" in measured_micros;
    /// Segments with data received.
    data_segs_in: u64 = "tcpi_data_segs_in" in count;
    /// Segments with data sent.
    data_segs_out: u64 = "tcpi_data_segs_out" in count;
    /// Latest sample of the delivery rate.
    delivery_rate: Rate = "tcpi_delivery_rate" in byte_rate;
    /// Time in which data was unsent or in flight.
    busy: Duration = "tcpi_busy_time" in micros;
    /// Part of the busy time limited by the receive window.
    rwnd_limited: Duration = "tcpi_rwnd_limited" in micros;
    /// Part of the busy time limited by the send buffer.
    sndbuf_limited: Duration = "tcpi_sndbuf_limited" in micros;
    /// Segments delivered, whether acknowledged or covered by SACK.
    delivered: u64 = "tcpi_delivered" in count;
    /// Delivered segments with a congestion mark.
    delivered_ce: u64 = "tcpi_delivered_ce" in count;
    /// Bytes sent, retransmissions included.
    bytes_sent: Bytes = "tcpi_bytes_sent" in octets;
    /// Bytes retransmitted.
    bytes_retrans: Bytes = "tcpi_bytes_retrans" in octets;
    /// Retransmissions that D-SACK proved spurious.
    dsack_dups: u64 = "tcpi_dsack_dups" in count;
    /// Times that reordering was seen.
    reord_seen: u64 = "tcpi_reord_seen" in count;
    /// Segments received out of order.
    rcv_ooopack: u64 = "tcpi_rcv_ooopack" in count;
    /// Window that the peer advertises.
    snd_wnd: Bytes = "tcpi_snd_wnd" in octets;
    /// Window that this end advertises.
    rcv_wnd: Bytes = "tcpi_rcv_wnd" in octets;
    /// Retransmission timeouts (Linux 6.7 and later).
    total_rto: u64 = "tcpi_total_rto" in count;
    /// Time in recovery from timeouts (Linux 6.7 and later).
    total_rto_time: Duration = "tcpi_total_rto_time" in millis;
    /// Memory of data that waits to be read.
    rmem_alloc: Bytes = "SK_MEMINFO_RMEM_ALLOC" in octets;
    /// Receive buffer.
    rcvbuf: Bytes = "SK_MEMINFO_RCVBUF" in octets;
    /// Memory of packets in the local queue and the device.
    wmem_alloc: Bytes = "SK_MEMINFO_WMEM_ALLOC" in octets;
    /// Send buffer.
    sndbuf: Bytes = "SK_MEMINFO_SNDBUF" in octets;
    /// Memory of data unsent or in flight.
    wmem_queued: Bytes = "SK_MEMINFO_WMEM_QUEUED" in octets;
    /// Memory of packets that wait for the socket's owner.
    sock_backlog: Bytes = "SK_MEMINFO_BACKLOG" in octets;
    /// Packets dropped at the socket.
    sock_drops: u64 = "SK_MEMINFO_DROPS" in count;
    /// Bytes that arrived and were not read (`Recv-Q` of `ss`).
    unread: Bytes = "recv_q" in octets;
    /// Bytes written and not acknowledged (`Send-Q` of `ss`).
    unacknowledged: Bytes = "send_q" in octets;
    /// Time in which the application had nothing to send, if it reports that.
    app_idle: Duration = "app_idle_us" in micros;
    /// Time in which the application did not read, if it reports that.
    app_not_reading: Duration = "app_not_reading_us" in micros;
}

impl Reading {
    /// Creates a reading from words with the kernel's names and units.
    #[must_use]
    pub fn of_words<'a>(at: Instant, words: impl IntoIterator<Item = (&'a str, i64)>) -> Self {
        let mut reading = Self {
            at,
            ..Self::default()
        };
        for (name, number) in words {
            if let Some(place) = place(name) {
                reading.set(place, number);
            }
        }
        reading
    }

    /// Whether Nagle's algorithm holds data back (RFC 896): less than a segment is unsent while some is
    /// in flight, although cwnd and window have room. `None` if that is not counted.
    pub(super) fn holds_rest(&self) -> Option<bool> {
        let (unsent, smss) = (self.notsent?, self.smss?);
        let flight = self.flight_size()?;
        let needed = flight + unsent;
        let has_room =
            needed + needed <= self.cwnd()? && self.snd_wnd.is_none_or(|wnd| needed <= wnd);
        let is_rest = unsent > Bytes::ZERO && unsent < smss;
        Some(is_rest && flight > Bytes::ZERO && has_room)
    }

    /// Known words with the kernel's numbers, for JSON.
    pub fn words(&self) -> impl Iterator<Item = (&'static str, i64)> + '_ {
        let known = WORDS.iter().enumerate();
        known.filter_map(|(place, name)| Some((*name, self.number(place)?)))
    }

    /// Congestion window.
    #[must_use]
    pub fn cwnd(&self) -> Option<Bytes> {
        self.in_bytes(self.cwnd_segments)
    }

    /// Slow-start threshold; `None` while unset or unknown.
    #[must_use]
    pub fn ssthresh(&self) -> Option<Bytes> {
        let is_set = |segments: &u64| *segments < NO_SSTHRESH;
        self.in_bytes(self.ssthresh_segments.filter(is_set))
    }

    /// Number of bytes in flight.
    #[must_use]
    pub fn flight_size(&self) -> Option<Bytes> {
        self.in_bytes(self.unacked)
    }

    /// Whether cwnd is below the slow-start threshold.
    #[must_use]
    pub fn is_slow_start(&self) -> Option<bool> {
        Some(self.cwnd_segments? < self.ssthresh_segments?)
    }

    fn in_bytes(&self, segments: Option<u64>) -> Option<Bytes> {
        let smss = self.smss?.as_u64();
        segments.map(|segments| Bytes::new(segments.saturating_mul(smss)))
    }
}

/// Place of a word in [`WORDS`].
#[must_use]
pub fn place(name: &str) -> Option<usize> {
    WORDS.iter().position(|word| *word == name)
}

/// Declares a unit: converts a kernel's number to a quantity, and back.
macro_rules! unit {
    ($unit:ident, $type:ty, |$number:ident| $read:expr, |$value:ident| $write:expr) => {
        mod $unit {
            #[allow(unused_imports)]
            use super::{Bytes, Duration, Rate};

            pub(super) fn read($number: i64) -> Option<$type> {
                let $number = u64::try_from($number).ok()?;
                $read
            }

            pub(super) fn write($value: $type) -> i64 {
                i64::try_from($write).unwrap_or(i64::MAX)
            }
        }
    };
}

/// `INFINITY` of an RTT that was never measured.
const UNMEASURED: u64 = 0xffff_ffff;

unit!(count, u64, |number| Some(number), |value| value);
unit!(flag, bool, |number| Some(number != 0), |value| u64::from(
    value
));
unit!(octets, Bytes, |number| Some(Bytes::new(number)), |value| {
    value.as_u64()
});
unit!(
    micros,
    Duration,
    |number| Some(Duration::from_nanos(number.saturating_mul(1000))),
    |value| value.as_micros()
);
unit!(
    millis,
    Duration,
    |number| Some(Duration::from_nanos(number.saturating_mul(1_000_000))),
    |value| value.as_millis()
);
unit!(
    measured_micros,
    Duration,
    |number| (number != 0 && number != super::UNMEASURED)
        .then(|| Duration::from_nanos(number.saturating_mul(1000))),
    |value| value.as_micros()
);
unit!(
    byte_rate,
    Rate,
    |number| Some(if number >= i64::MAX as u64 {
        Rate::MAX
    } else {
        Rate::from_bps(number.saturating_mul(8))
    }),
    |value| if value == Rate::MAX {
        u64::MAX
    } else {
        value.as_bps() / 8
    }
);

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn words_become_quantities_and_what_is_unmeasured_stays_unknown() {
        let reading = Reading::of_words(
            Instant::from_nanos(5),
            [
                ("tcpi_snd_cwnd", 10),
                ("tcpi_snd_mss", 1448),
                ("tcpi_snd_ssthresh", 0x7fff_ffff),
                ("tcpi_rtt", 10_250),
                ("tcpi_min_rtt", 0xffff_ffff),
                ("tcpi_busy_time", 0),
                ("tcpi_max_pacing_rate", i64::MAX),
                ("tcpi_no_such_word", 7),
            ],
        );
        assert_eq!(reading.at, Instant::from_nanos(5));
        assert_eq!(reading.cwnd(), Some(Bytes::new(14_480)));
        assert_eq!((reading.ssthresh(), reading.min_rtt), (None, None));
        assert_eq!(reading.rtt, Some(Duration::from_micros(10_250)));
        assert_eq!(reading.busy, Some(Duration::ZERO));
        assert_eq!(reading.max_pacing_rate, Some(Rate::MAX));
        assert_eq!(reading.is_slow_start(), Some(true));
        assert_eq!(reading.snd_wnd, None);
    }

    #[test]
    fn the_words_of_a_reading_make_the_same_reading() {
        let mut reading = Reading::default();
        for place in 0..WORDS.len() {
            reading.set(place, 1 + place as i64 % 2);
        }
        let words: Vec<_> = reading.words().collect();
        assert_eq!(words.len(), WORDS.len());
        assert_eq!(Reading::of_words(Instant::ZERO, words), reading);
        assert!(
            WORDS
                .iter()
                .enumerate()
                .all(|(at, name)| place(name) == Some(at))
        );
    }
}
