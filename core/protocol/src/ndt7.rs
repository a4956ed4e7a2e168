//! ndt7, the protocol of M-Lab's servers: constants, sizes of messages, and a server's measurements.
//!
//! Source: the ndt7 specification, version 0.11.0. A test is one WebSocket (RFC 6455) with the
//! subprotocol [`SUBPROTOCOL`]. Its path determines the direction. Binary messages are the data; text
//! messages are measurements as JSON, in microseconds and bytes:
//!
//! ```text
//! client                                       server
//! GET /ndt/v7/download, Upgrade: websocket ->
//!                                          <-  101 Switching Protocols
//!                                          <-  binary ... text ... binary ...
//!                                          <-  Close, after 10 s
//! ```
//!
//! `TCPInfo` of a measurement has the words of the server's `tcp_info` under names of their own,
//! which [`Measurement::read`] maps back. Counts of a socket include the bytes of HTTP, WebSocket
//! and TLS, some 0.2 % of a test.
//!
//! Out of scope: measurements of a client (optional), and finding a server of M-Lab.

use alloc::vec::Vec;

use gigatcp_units::{Duration, Instant};
use serde_json::Value;

/// Subprotocol of the WebSocket.
pub const SUBPROTOCOL: &str = "net.measurementlab.ndt.v7";

/// Path of a test that sends to the client.
pub const DOWNLOAD: &str = "/ndt/v7/download";

/// Path of a test that sends to the server.
pub const UPLOAD: &str = "/ndt/v7/upload";

/// Time after which a server ends a test.
pub const RUNTIME: Duration = Duration::from_secs(10);

/// Time after which a client ends a test that its server does not end.
pub const MAX_RUNTIME: Duration = Duration::from_secs(15);

/// Maximum bytes of a message.
pub const MAX_MESSAGE: usize = 1 << 24;

/// Maximum bytes of a measurement; those of the reference server have 2,000.
pub const MAX_MEASUREMENT: usize = 64 << 10;

/// Bytes of the first binary message.
const FIRST_MESSAGE: u64 = 1 << 13;

/// A message is at most this part of what was sent before it, so that slow paths get small ones.
const SENT_PER_MESSAGE: u64 = 16;

/// Bytes of the next binary message after `sent` bytes: a power of two.
pub fn message_size(sent: u64) -> usize {
    let part = (sent / SENT_PER_MESSAGE).clamp(FIRST_MESSAGE, MAX_MESSAGE as u64);
    1 << part.ilog2()
}

/// Names of `TCPInfo`, each with the kernel's word. Times are in the kernel's unit.
const WORDS: [(&str, &str); 47] = [
    ("State", "tcpi_state"),
    ("CAState", "tcpi_ca_state"),
    ("Retransmits", "tcpi_retransmits"),
    ("Backoff", "tcpi_backoff"),
    ("Options", "tcpi_options"),
    ("RTO", "tcpi_rto"),
    ("SndMSS", "tcpi_snd_mss"),
    ("RcvMSS", "tcpi_rcv_mss"),
    ("Unacked", "tcpi_unacked"),
    ("Sacked", "tcpi_sacked"),
    ("Lost", "tcpi_lost"),
    ("Retrans", "tcpi_retrans"),
    ("LastDataSent", "tcpi_last_data_sent"),
    ("LastAckRecv", "tcpi_last_ack_recv"),
    ("PMTU", "tcpi_pmtu"),
    ("RcvSsThresh", "tcpi_rcv_ssthresh"),
    ("RTT", "tcpi_rtt"),
    ("RTTVar", "tcpi_rttvar"),
    ("SndSsThresh", "tcpi_snd_ssthresh"),
    ("SndCwnd", "tcpi_snd_cwnd"),
    ("AdvMSS", "tcpi_advmss"),
    ("Reordering", "tcpi_reordering"),
    ("RcvRTT", "tcpi_rcv_rtt"),
    ("RcvSpace", "tcpi_rcv_space"),
    ("TotalRetrans", "tcpi_total_retrans"),
    ("PacingRate", "tcpi_pacing_rate"),
    ("MaxPacingRate", "tcpi_max_pacing_rate"),
    ("BytesAcked", "tcpi_bytes_acked"),
    ("BytesReceived", "tcpi_bytes_received"),
    ("SegsOut", "tcpi_segs_out"),
    ("SegsIn", "tcpi_segs_in"),
    ("NotsentBytes", "tcpi_notsent_bytes"),
    ("MinRTT", "tcpi_min_rtt"),
    ("DataSegsIn", "tcpi_data_segs_in"),
    ("DataSegsOut", "tcpi_data_segs_out"),
    ("DeliveryRate", "tcpi_delivery_rate"),
    ("BusyTime", "tcpi_busy_time"),
    ("RWndLimited", "tcpi_rwnd_limited"),
    ("SndBufLimited", "tcpi_sndbuf_limited"),
    ("Delivered", "tcpi_delivered"),
    ("DeliveredCE", "tcpi_delivered_ce"),
    ("BytesSent", "tcpi_bytes_sent"),
    ("BytesRetrans", "tcpi_bytes_retrans"),
    ("DSackDups", "tcpi_dsack_dups"),
    ("ReordSeen", "tcpi_reord_seen"),
    ("RcvOooPack", "tcpi_rcv_ooopack"),
    ("SndWnd", "tcpi_snd_wnd"),
];

/// A server's measurement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Measurement {
    /// Time since the start of the test, by the server's clock.
    pub at: Instant,
    /// Words of `tcp_info`, by the kernel's names.
    pub words: Vec<(&'static str, i64)>,
    /// Payload that the server's application has sent or received; `None`: not counted.
    pub app_bytes: Option<u64>,
    /// Whether the server's BBR has an estimate of the bandwidth.
    pub is_bbr: bool,
}

impl Measurement {
    /// Reads a text message. `None`: it is too long, no JSON, or has no time.
    pub fn read(text: &str) -> Option<Self> {
        if text.len() > MAX_MEASUREMENT {
            return None;
        }
        let value: Value = serde_json::from_str(text).ok()?;
        let (app, tcp) = (&value["AppInfo"], &value["TCPInfo"]);
        let elapsed = [tcp, app]
            .into_iter()
            .find_map(|part| part["ElapsedTime"].as_u64());
        let known = WORDS
            .iter()
            .filter_map(|(name, word)| Some((*word, tcp[*name].as_i64()?)));
        Some(Self {
            at: Instant::ZERO + Duration::from_nanos(elapsed?.saturating_mul(1000)),
            words: known.chain(packed(tcp)).collect(),
            app_bytes: app["NumBytes"].as_u64(),
            is_bbr: value["BBRInfo"]["BW"].as_u64().is_some_and(|rate| rate > 0),
        })
    }

    /// Number of a word.
    pub fn word(&self, name: &str) -> Option<u64> {
        let (_, number) = self.words.iter().find(|(word, _)| *word == name)?;
        u64::try_from(*number).ok()
    }
}

/// Words that share an octet: the shifts of the windows, and a flag with bits above it.
fn packed(tcp: &Value) -> impl Iterator<Item = (&'static str, i64)> {
    let (scales, flags) = (tcp["WScale"].as_i64(), tcp["AppLimited"].as_i64());
    let words = [
        ("tcpi_snd_wscale", scales.map(|shifts| shifts & 15)),
        ("tcpi_rcv_wscale", scales.map(|shifts| shifts >> 4 & 15)),
        (
            "tcpi_delivery_rate_app_limited",
            flags.map(|flags| flags & 1),
        ),
    ];
    words
        .into_iter()
        .filter_map(|(word, number)| Some((word, number?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_size_starts_at_8_kib_and_stays_below_a_sixteenth() {
        assert_eq!(message_size(0), 8192);
        assert_eq!(message_size(16 * 8192), 8192);
        assert_eq!(message_size(16 * 16_384), 16_384);
        assert_eq!(message_size(u64::MAX), MAX_MESSAGE);
    }

    #[test]
    fn measurement_of_a_server_has_the_words_of_its_kernel() {
        let text = r#"{"TCPInfo":{"BusyTime":250000,"RWndLimited":7,"WScale":122,"AppLimited":3,
            "SndCwnd":10,"ElapsedTime":251000},"BBRInfo":{"BW":5},"AppInfo":{"NumBytes":9}}"#;
        let measurement = Measurement::read(text).unwrap();
        assert_eq!(measurement.at, Instant::ZERO + Duration::from_millis(251));
        let of = |name| measurement.word(name);
        assert_eq!(of("tcpi_busy_time"), Some(250_000));
        assert_eq!(of("tcpi_rwnd_limited"), Some(7));
        assert_eq!(of("tcpi_snd_wscale"), Some(10));
        assert_eq!(of("tcpi_rcv_wscale"), Some(7));
        assert_eq!(of("tcpi_delivery_rate_app_limited"), Some(1));
        assert_eq!(of("tcpi_rtt"), None);
        assert!(measurement.is_bbr && measurement.app_bytes == Some(9));
    }

    #[test]
    fn measurement_without_a_time_or_beyond_the_limit_is_none() {
        assert_eq!(Measurement::read("{}"), None);
        assert_eq!(Measurement::read("[1, 2"), None);
        assert_eq!(Measurement::read(r#"{"TCPInfo":{"ElapsedTime":-1}}"#), None);
        let mut long = alloc::string::String::from(r#"{"TCPInfo":{"ElapsedTime":1}}"#);
        assert!(Measurement::read(&long).is_some());
        long.extend(core::iter::repeat_n(' ', MAX_MEASUREMENT));
        assert_eq!(Measurement::read(&long), None);
    }
}
