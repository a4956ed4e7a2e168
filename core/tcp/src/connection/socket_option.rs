//! Settings that an application changes while a connection runs, as by `setsockopt(2)`.

use gigatcp_units::{Bytes, Duration, Instant, Rate};
use gigatcp_wire::Payload;

use super::Connection;
use crate::ecn::EcnOption;

/// Setting of one connection; the constants of `setsockopt(2)` are Linux's.
///
/// ```
/// use gigatcp_tcp::{Endpoint, SocketOption, TransportConfig};
/// use gigatcp_units::{Duration, Instant};
/// use gigatcp_wire::bytes::Bytes;
///
/// let now = Instant::ZERO;
/// let mut host: Endpoint<Bytes> = Endpoint::new(now, [2; 16], ["10.0.0.1".parse().unwrap()]);
/// let at = "10.0.0.2:80".parse().unwrap();
/// let stream = host.connect(now, at, TransportConfig::default()).unwrap();
/// let connection = host.connection_mut(stream).unwrap();
/// connection.set(now, SocketOption::Nagle(false));
/// connection.set(now, SocketOption::UserTimeout(Duration::from_secs(30)));
/// ```
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub enum SocketOption {
    /// Nagle's algorithm (`TCP_NODELAY` is its opposite). RFC 9293 SHLD-7; MUST-17: an application
    /// can switch it off.
    Nagle(bool),
    /// Whether keep-alives are sent (`SO_KEEPALIVE`, RFC 9293 MUST-24).
    KeepAlive(bool),
    /// Times of keep-alives (RFC 9293 MUST-27). An interval in progress keeps its length.
    KeepAliveTimes {
        /// Silence since the last acceptable segment before the first probe (`TCP_KEEPIDLE`).
        idle: Duration,
        /// Time between probes (`TCP_KEEPINTVL`).
        interval: Duration,
        /// Probes that may remain unanswered, two at least (`TCP_KEEPCNT`, MUST-29).
        probes: u32,
    },
    /// The application's user timeout, zero for none (`TCP_USER_TIMEOUT`). It is announced to the
    /// peer if the option of RFC 5482 is in use, and the peer's is no longer adopted.
    UserTimeout(Duration),
    /// Upper bound of the rate of all that is sent, which is then paced (`SO_MAX_PACING_RATE`).
    MaxPacingRate(Option<Rate>),
    /// Unsent octets below which an application may write (`TCP_NOTSENT_LOWAT`); `None`: no bound.
    NotSentLowat(Option<Bytes>),
    /// Requested send buffer (`SO_SNDBUF`). From now on it has the granted size and does not follow
    /// the window. Data already written stays.
    SendBuffer(Bytes),
    /// Requested receive buffer (`SO_RCVBUF`). From now on it has the granted size. The window
    /// scale was fixed by the SYN and still bounds the window. An advertised window stays
    /// advertised unless the profile lets it shrink.
    ReceiveBuffer(Bytes),
    /// When AccECN options are sent, in place of the profile's rule (`tcp_ecn_option`, which Linux
    /// applies to open connections too).
    EcnOption(EcnOption),
    /// Whether urgent octets stay in line (`SO_OOBINLINE`).
    UrgentInline(bool),
}

impl<P: Payload> Connection<P> {
    /// Changes a setting. Segments may then be due.
    pub fn set(&mut self, now: Instant, option: SocketOption) {
        match option {
            SocketOption::Nagle(on) => self.profile_mut().segments.nagle = on,
            SocketOption::KeepAlive(on) => self.set_keepalive(now, on),
            SocketOption::KeepAliveTimes {
                idle,
                interval,
                probes,
            } => self.set_keepalive_times(now, idle, interval, probes),
            SocketOption::UserTimeout(limit) => self.set_user_timeout(limit),
            SocketOption::MaxPacingRate(max) => {
                self.profile_mut().pacing.enabled |= max.is_some();
                self.profile_mut().pacing.max_pacing_rate = max;
            }
            SocketOption::NotSentLowat(octets) => {
                self.profile_mut().buffers.not_sent_lowat = octets;
            }
            SocketOption::SendBuffer(requested) => self.request_send_buffer(requested),
            SocketOption::ReceiveBuffer(requested) => self.request_receive_buffer(requested),
            SocketOption::EcnOption(option) => self.set_ecn_option(now, option),
            SocketOption::UrgentInline(on) => self.profile_mut().segments.urgent_inline = on,
        }
    }
}
