//! Options of a socket that a connection begins with.

use std::sync::Arc;

use gigatcp_tcp::{ConnectionConfig, Profile, congestion};
use gigatcp_units::{Bytes, Duration, Rate};

/// The options of a socket.
#[derive(Clone, Debug, Default)]
pub struct SocketOptions {
    pub nonblocking: bool,
    pub send_buffer: Option<u64>,
    pub receive_buffer: Option<u64>,
    /// `SO_SNDBUF` requested after the connection began.
    pub late_send_buffer: Option<u64>,
    pub mss: Option<u16>,
    pub congestion: Option<&'static congestion::Entry>,
    pub nodelay: bool,
    pub cork: bool,
    /// `connect` waits for the first write, whose data the SYN carries.
    pub fast_open_connect: bool,
    /// `SO_ZEROCOPY`.
    pub zero_copy: bool,
    /// `TCP_INQ`: `recvmsg` reports the number of unread bytes.
    pub tells_left: bool,
    pub urgent_inline: Option<bool>,
    pub keepalive: Option<bool>,
    pub keepalive_time: Option<Duration>,
    pub keepalive_interval: Option<Duration>,
    pub keepalive_probes: Option<u32>,
    pub user_timeout: Option<Duration>,
    /// `TCP_SYNCNT`.
    pub syn_retries: Option<u32>,
    /// `SO_MAX_PACING_RATE`, if it is a bound.
    pub max_pacing_rate: Option<Rate>,
    /// `TCP_NOTSENT_LOWAT`: the octets, if it is a bound.
    pub not_sent_lowat: Option<Option<Bytes>>,
    /// Seconds, if lingering is on.
    pub linger: Option<i64>,
    pub tos: u8,
    /// `None`: 64.
    pub ttl: Option<u8>,
    /// Whether packets may be fragmented (`IP_PMTUDISC_DONT`).
    pub may_fragment: bool,
}

impl SocketOptions {
    /// Writes the options into the configuration of a new connection.
    pub fn apply(&self, config: &mut ConnectionConfig) {
        let headers = config.ip.header_len() + 20;
        let transport = config.transport_mut();
        if let Some(bytes) = self.send_buffer {
            transport.send_buffer = Some(Bytes::new(bytes));
        }
        if let Some(bytes) = self.receive_buffer {
            transport.receive_buffer = Some(Bytes::new(bytes));
        }
        if let Some(mss) = self.mss {
            transport.mtu = transport.mtu.min(u32::from(mss) + headers);
        }
        if let Some(entry) = self.congestion {
            transport.congestion = Arc::new(entry);
        }
        let profile = &mut transport.profile;
        profile.segments.nagle &= !self.nodelay;
        profile.segments.urgent_inline =
            self.urgent_inline.unwrap_or(profile.segments.urgent_inline);
        profile.liveness.keepalive = self.keepalive.unwrap_or(profile.liveness.keepalive);
        let (time, interval, probes) = self.keepalive_times(profile);
        profile.liveness.keepalive_time = time;
        profile.liveness.keepalive_interval = interval;
        profile.liveness.keepalive_probes = probes;
        profile.liveness.user_timeout = self.user_timeout.unwrap_or(profile.liveness.user_timeout);
        profile.opening.syn_retries = self.syn_retries.unwrap_or(profile.opening.syn_retries);
        if let Some(lowat) = self.not_sent_lowat {
            profile.buffers.not_sent_lowat = lowat;
        }
        if let Some(most) = self.max_pacing_rate {
            profile.pacing.enabled = true;
            profile.pacing.max_pacing_rate = Some(most);
        }
    }

    /// TTL of packets.
    pub fn ttl(&self) -> u8 {
        self.ttl.unwrap_or(64)
    }

    /// Idle time, interval and number of probes of keep-alives; `profile` has the defaults.
    pub fn keepalive_times(&self, profile: &Profile) -> (Duration, Duration, u32) {
        (
            self.keepalive_time
                .unwrap_or(profile.liveness.keepalive_time),
            self.keepalive_interval
                .unwrap_or(profile.liveness.keepalive_interval),
            self.keepalive_probes
                .unwrap_or(profile.liveness.keepalive_probes),
        )
    }
}
