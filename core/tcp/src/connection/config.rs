//! The configuration of a connection: what many share, and what is its own.

use alloc::sync::Arc;
use core::net::SocketAddr;

use gigatcp_units::Bytes;
use gigatcp_wire::{IpVersion, SeqNumber};

use crate::congestion::{self, ControllerFactory, SlowStart};
use crate::events::EventMask;
use crate::profile::Profile;

/// MTU of Ethernet, the default.
const ETHERNET_MTU: u32 = 1500;

/// Octets of the TCP header without options.
const TCP_HEADER_LEN: u32 = 20;

/// Configuration that connections share, by [`Arc`]: a million connections store it once.
///
/// A connection that changes a setting of its own (`TCP_NODELAY`, for instance) gets a copy.
///
/// ```
/// use gigatcp_tcp::{Profile, TransportConfig, congestion};
///
/// let config = TransportConfig::default()
///     .with_profile(Profile::LINUX_6_18)
///     .with_congestion(congestion::find("bbr").unwrap())
///     .with_mtu(9000);
/// assert_eq!(config.profile.name, "linux-6.18");
/// ```
#[derive(Clone, Debug)]
pub struct TransportConfig {
    /// Switches and constants.
    pub profile: Profile,
    /// Largest packet that we can receive, in octets, IP header included. The MSS option
    /// announces it without the headers (RFC 6691: MTU - 40 for IPv4, MTU - 60 for IPv6).
    pub mtu: u32,
    /// Congestion control.
    pub congestion: Arc<dyn ControllerFactory>,
    /// Start value of ssthresh in segments; see [`congestion::Config`].
    pub initial_ssthresh: Option<u32>,
    /// Slow-start variant.
    pub slow_start: SlowStart,
    /// Requested send buffer; `None`: the profile's, which autotuning may let grow. A requested
    /// size never changes by itself.
    pub send_buffer: Option<Bytes>,
    /// Requested receive buffer; `None`: as with the send buffer.
    pub receive_buffer: Option<Bytes>,
    /// Events to keep.
    pub events: EventMask,
}

impl Default for TransportConfig {
    /// The profile `modern` and CUBIC, with an MTU of 1500.
    fn default() -> Self {
        Self {
            profile: Profile::MODERN,
            mtu: ETHERNET_MTU,
            congestion: Arc::new(congestion::CUBIC),
            initial_ssthresh: None,
            slow_start: SlowStart::Usual,
            send_buffer: None,
            receive_buffer: None,
            events: EventMask::NONE,
        }
    }
}

impl TransportConfig {
    /// Sets the profile.
    #[must_use]
    pub fn with_profile(self, profile: Profile) -> Self {
        Self { profile, ..self }
    }

    /// Sets the congestion control; [`congestion::find`] finds one by name.
    #[must_use]
    pub fn with_congestion(self, congestion: impl ControllerFactory + 'static) -> Self {
        let congestion = Arc::new(congestion);
        Self { congestion, ..self }
    }

    /// Sets the MTU, in octets.
    #[must_use]
    pub fn with_mtu(self, mtu: u32) -> Self {
        Self { mtu, ..self }
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

/// Configuration of one connection, which it shares with no other.
///
/// An [`Endpoint`](crate::Endpoint) makes one for each connection. A driver that makes them itself
/// begins with [`ConnectionConfig::new`] or [`IsnGenerator::identify`](crate::IsnGenerator::identify).
///
/// ```
/// use gigatcp_tcp::{ConnectionConfig, TransportConfig};
///
/// let local = "10.0.0.1:40000".parse().unwrap();
/// let remote = "10.0.0.2:80".parse().unwrap();
/// let config = ConnectionConfig::new(local, remote, TransportConfig::default().with_mtu(9000));
/// assert_eq!((config.remote_port, config.mss()), (80, 8960));
/// ```
#[derive(Clone, Debug)]
pub struct ConnectionConfig {
    /// Shared with other connections.
    pub transport: Arc<TransportConfig>,
    /// IP version below TCP: decides the MSS and the minimum MTU.
    pub ip: IpVersion,
    /// Our port.
    pub local_port: u16,
    /// The peer's port.
    pub remote_port: u16,
    /// Initial send sequence number. The driver must make it unpredictable where that matters (RFC
    /// 9293 section 3.4.1, RFC 6528).
    pub iss: SeqNumber,
    /// Start of the timestamp clock (RFC 7323 section 5.4).
    pub timestamp_offset: u32,
}

impl ConnectionConfig {
    /// The configuration of a connection between two sockets, over the version of IP of `local`.
    ///
    /// The initial sequence number is zero until [`ConnectionConfig::iss`] or
    /// [`IsnGenerator::identify`](crate::IsnGenerator::identify) sets one.
    #[must_use]
    pub fn new(
        local: SocketAddr,
        remote: SocketAddr,
        transport: impl Into<Arc<TransportConfig>>,
    ) -> Self {
        Self {
            transport: transport.into(),
            ip: if local.is_ipv4() {
                IpVersion::V4
            } else {
                IpVersion::V6
            },
            local_port: local.port(),
            remote_port: remote.port(),
            iss: SeqNumber::default(),
            timestamp_offset: 0,
        }
    }

    /// The shared configuration, to change for this connection alone.
    pub fn transport_mut(&mut self) -> &mut TransportConfig {
        Arc::make_mut(&mut self.transport)
    }

    /// Value of the MSS option: the largest segment, in octets, that a packet of the MTU holds (RFC
    /// 6691). RFC 9293 MUST-67 bounds it by the largest segment that any packet can carry.
    #[must_use]
    pub fn mss(&self) -> u16 {
        const LARGEST_LENGTH: u32 = 65_535;
        // The length field of IPv4 counts the IP header, that of IPv6 does not.
        let counted = match self.ip {
            IpVersion::V4 => self.ip.header_len(),
            IpVersion::V6 => 0,
        };
        let most = LARGEST_LENGTH - counted - TCP_HEADER_LEN;
        let headers = self.ip.header_len() + TCP_HEADER_LEN;
        self.transport.mtu.saturating_sub(headers).clamp(1, most) as u16
    }
}
