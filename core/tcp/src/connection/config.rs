//! The configuration of a connection, and its defaults.

use core::net::SocketAddr;

use gigatcp_events::EventMask;
use gigatcp_units::Bytes;
use gigatcp_wire::{IpVersion, SeqNumber};

use crate::congestion::{self, SlowStart};
use crate::profile::{Profile, SharedProfile};

/// MTU of Ethernet, from which the default MSS follows.
const ETHERNET_MTU: u16 = 1500;

/// Octets of the TCP header without options.
const TCP_HEADER_LEN: u16 = 20;

/// Configuration of a connection before it starts.
///
/// ```
/// use gigatcp_tcp::{Config, Profile, congestion};
///
/// let local = "10.0.0.1:40000".parse().unwrap();
/// let remote = "10.0.0.2:80".parse().unwrap();
/// let config = Config::new(local, remote)
///     .with_profile(Profile::LINUX_6_18)
///     .with_congestion(congestion::find("bbr").unwrap())
///     .with_mtu(9000);
/// assert_eq!((config.remote_port, config.mss), (80, 8960));
/// ```
#[derive(Clone, Debug)]
pub struct Config {
    /// Switches and constants, which all connections of this configuration share.
    pub profile: SharedProfile,
    /// Our port.
    pub local_port: u16,
    /// The peer's port.
    pub remote_port: u16,
    /// Initial send sequence number. The driver must make it unpredictable where that matters (RFC
    /// 9293 section 3.4.1, RFC 6528).
    pub iss: SeqNumber,
    /// IP version below TCP: decides the default MSS and the minimum MTU.
    pub ip: IpVersion,
    /// Largest segment we can receive, announced in the MSS option. It follows from the MTU (RFC
    /// 6691: MTU - 40 for IPv4, MTU - 60 for IPv6).
    pub mss: u16,
    /// Congestion control.
    pub congestion: &'static congestion::Entry,
    /// Start value of ssthresh in segments; see [`congestion::Config`].
    pub initial_ssthresh: Option<u32>,
    /// Slow-start variant.
    pub slow_start: SlowStart,
    /// Requested send buffer; `None`: the profile's, which autotuning may let grow. A requested
    /// size never changes by itself.
    pub send_buffer: Option<Bytes>,
    /// Requested receive buffer; `None`: as with the send buffer.
    pub receive_buffer: Option<Bytes>,
    /// Start of the timestamp clock (RFC 7323 section 5.4).
    pub timestamp_offset: u32,
    /// Events to keep.
    pub events: EventMask,
}

impl Default for Config {
    /// The profile `modern` and CUBIC, over IPv4 with an MTU of 1500, between ports 0.
    fn default() -> Self {
        Self {
            profile: Profile::MODERN.into(),
            local_port: 0,
            remote_port: 0,
            iss: SeqNumber::default(),
            ip: IpVersion::V4,
            mss: mss_of(ETHERNET_MTU, IpVersion::V4),
            congestion: congestion::CUBIC,
            initial_ssthresh: None,
            slow_start: SlowStart::Usual,
            send_buffer: None,
            receive_buffer: None,
            timestamp_offset: 0,
            events: EventMask::NONE,
        }
    }
}

impl Config {
    /// The default configuration of a connection between two sockets.
    ///
    /// The version of IP is that of `local`. The initial sequence number is zero
    /// until [`Config::iss`] or [`IsnGenerator::identify`](crate::IsnGenerator::identify) sets one;
    /// an [`Endpoint`](crate::Endpoint) does that itself.
    #[must_use]
    pub fn new(local: SocketAddr, remote: SocketAddr) -> Self {
        let ip = version_of(local);
        Self {
            local_port: local.port(),
            remote_port: remote.port(),
            ip,
            mss: mss_of(ETHERNET_MTU, ip),
            ..Self::default()
        }
    }

    /// Sets the profile.
    #[must_use]
    pub fn with_profile(self, profile: impl Into<SharedProfile>) -> Self {
        let profile = profile.into();
        Self { profile, ..self }
    }

    /// Sets the congestion control; [`congestion::find`] finds one by name.
    #[must_use]
    pub fn with_congestion(self, congestion: &'static congestion::Entry) -> Self {
        Self { congestion, ..self }
    }

    /// Sets the largest segment that a packet of `mtu` octets holds (RFC 6691).
    #[must_use]
    pub fn with_mtu(self, mtu: u16) -> Self {
        let mss = mss_of(mtu, self.ip);
        Self { mss, ..self }
    }

    /// Sets the IP version, with the same MTU.
    #[must_use]
    pub fn with_ip(self, ip: IpVersion) -> Self {
        let headers = self.ip.header_len() as u16 + TCP_HEADER_LEN;
        let mss = mss_of(self.mss.saturating_add(headers), ip);
        Self { ip, mss, ..self }
    }

    /// Requests a send buffer size.
    #[must_use]
    pub fn with_send_buffer(self, octets: Bytes) -> Self {
        let send_buffer = Some(octets);
        Self {
            send_buffer,
            ..self
        }
    }

    /// Requests a receive buffer size.
    #[must_use]
    pub fn with_receive_buffer(self, octets: Bytes) -> Self {
        let receive_buffer = Some(octets);
        Self {
            receive_buffer,
            ..self
        }
    }

    /// Send and receive buffer sizes, as requested.
    pub(super) const fn requested_buffers(&self) -> (Option<Bytes>, Option<Bytes>) {
        (self.send_buffer, self.receive_buffer)
    }
}

/// IP version of an address.
fn version_of(address: SocketAddr) -> IpVersion {
    if address.is_ipv4() {
        IpVersion::V4
    } else {
        IpVersion::V6
    }
}

/// Largest segment in a packet of `mtu` octets.
fn mss_of(mtu: u16, ip: IpVersion) -> u16 {
    mtu.saturating_sub(ip.header_len() as u16 + TCP_HEADER_LEN)
        .max(1)
}
