//! Socket options of a stream: requested before it is connected, read back after it.
//!
//! Linux grants twice the requested buffer, up to twice a system limit, and disables autotuning
//! (`tcp(7)`, `socket(7)`). About half of the granted size is usable as a window. A route's
//! `congctl` replaces a congestion control set before `connect`; set again after it, the request
//! holds.

use std::io;
use std::time::Duration;

use gigatcp_protocol::iperf3::{Parameters, Transport};
use socket2::{Domain, Protocol, SockRef, Socket, TcpKeepalive, Type};

use crate::system::BUFFER_OVERHEAD;

/// The TCP of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum StackKind {
    /// The kernel's, through sockets.
    #[default]
    Kernel,
    /// The engine of this project, on a TUN device.
    Engine,
}

impl StackKind {
    /// The name that options and results have for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Engine => "engine",
        }
    }
}

/// An option that is not as it was requested.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Override {
    /// Name of the option.
    pub option: &'static str,
    /// Requested value.
    pub requested: String,
    /// Value in effect.
    pub effective: String,
    /// Cause of the difference, with the setting and its value.
    pub cause: String,
}

/// Options in effect for a stream.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Effective {
    /// TCP implementation of the stream.
    pub stack: StackKind,
    /// Send buffer, in bytes of the stack's memory.
    pub send_buffer: u64,
    /// Receive buffer, in bytes of the stack's memory.
    pub receive_buffer: u64,
    /// Approximate part of the send buffer that data may fill.
    pub usable_send_buffer: u64,
    /// Approximate part of the receive buffer that is usable as a window.
    pub usable_receive_window: u64,
    /// Congestion control; `None`: not TCP, or unknown.
    pub congestion: Option<String>,
    /// Maximum segment size for sending; `None`: not TCP.
    pub mss: Option<u32>,
    /// Whether it is a connection of Multipath TCP; `None`: it was not requested.
    pub mptcp: Option<bool>,
    /// Whether datagrams were sent, or received, with GSO or GRO.
    pub udp_offload: bool,
    /// Options not as requested.
    pub overrides: Vec<Override>,
}

/// Settings that determine an option if it is not as requested.
#[derive(Debug)]
pub(super) struct Deciders {
    pub(super) send_buffer: String,
    pub(super) receive_buffer: String,
    pub(super) congestion: &'static str,
}

impl Effective {
    /// Records the options that are not as requested.
    pub(super) fn compare(&mut self, parameters: &Parameters, deciders: Deciders) {
        let mut overrides = Vec::new();
        if let Some(requested) = parameters.window {
            let (send, receive) = (self.usable_send_buffer, self.usable_receive_window);
            let buffers = [
                ("send buffer (-w)", send, deciders.send_buffer),
                ("receive buffer (-w)", receive, deciders.receive_buffer),
            ];
            for (option, usable, cause) in buffers {
                if usable < requested {
                    overrides.push(Override {
                        option,
                        requested: format!("{requested} bytes"),
                        effective: format!("{usable} bytes"),
                        cause,
                    });
                }
            }
        }
        if let (Some(requested), Some(name)) = (&parameters.congestion, &self.congestion)
            && requested != name
        {
            overrides.push(Override {
                option: "congestion control (-C)",
                requested: requested.clone(),
                effective: name.clone(),
                cause: deciders.congestion.into(),
            });
        }
        if let (Some(requested), Some(mss)) = (parameters.mss, self.mss)
            && mss < requested
        {
            overrides.push(Override {
                option: "maximum segment size (-M)",
                requested: format!("{requested} bytes"),
                effective: format!("{mss} bytes"),
                cause: "the peer's MSS option, the path MTU, or TCP options in each segment".into(),
            });
        }
        if self.mptcp == Some(false) {
            overrides.push(Override {
                option: "Multipath TCP (--mptcp)",
                requested: "MPTCP".into(),
                effective: "TCP".into(),
                cause: "the other end, or a middlebox of the path, did not accept it".into(),
            });
        }
        self.overrides = overrides;
    }
}

/// Creates a socket for streams, with options set that must precede bind or connect.
pub(super) fn socket(domain: Domain, parameters: &Parameters) -> io::Result<Socket> {
    let kind = match parameters.transport {
        Transport::Udp => Type::DGRAM,
        _ => Type::STREAM,
    };
    let is_mptcp = parameters.mptcp && parameters.transport == Transport::Tcp;
    let socket = Socket::new(domain, kind, mptcp(is_mptcp)?)?;
    apply_before(SockRef::from(&socket), parameters)?;
    Ok(socket)
}

/// Protocol of Multipath TCP (RFC 8684), if requested; `None`: TCP.
///
/// # Errors
/// If the system does not have it.
pub(super) fn mptcp(is_requested: bool) -> io::Result<Option<Protocol>> {
    if !is_requested {
        return Ok(None);
    }
    #[cfg(target_os = "linux")]
    return Ok(Some(Protocol::MPTCP));
    #[cfg(not(target_os = "linux"))]
    unavailable("Multipath TCP")
}

/// Requests the congestion control for a socket that is not used further.
pub(super) fn try_congestion(domain: Domain, parameters: &Parameters) -> io::Result<()> {
    let socket = Socket::new(domain, Type::STREAM, None)?;
    set_congestion(&SockRef::from(&socket), parameters)
}

/// Requests a maximum segment size for a socket that is not used further.
pub(super) fn try_mss(mss: u32) -> io::Result<()> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    set_mss(&SockRef::from(&socket), mss)
}

/// Sets options that a listener's sockets inherit, or that must precede `connect`.
pub(super) fn apply_before(socket: SockRef<'_>, parameters: &Parameters) -> io::Result<()> {
    if let Some(window) = parameters.window {
        let bytes = usize::try_from(window)
            .unwrap_or(usize::MAX)
            .min(i32::MAX as usize);
        socket.set_send_buffer_size(bytes)?;
        socket.set_recv_buffer_size(bytes)?;
    }
    if let Some(tos) = parameters.tos {
        set_tos(&socket, tos)?;
    }
    if parameters.transport == Transport::Tcp {
        if let Some(mss) = parameters.mss {
            set_mss(&socket, mss)?;
        }
        set_congestion(&socket, parameters)?;
    }
    Ok(())
}

/// Sets options of a connected socket.
pub(super) fn apply_after(socket: SockRef<'_>, parameters: &Parameters) -> io::Result<()> {
    if let Some(tos) = parameters.tos {
        set_tos(&socket, tos)?;
    }
    if parameters.transport == Transport::Tcp {
        socket.set_tcp_nodelay(parameters.nodelay)?;
        if effective_congestion(&socket) != parameters.congestion {
            set_congestion(&socket, parameters)?;
        }
    }
    if let Some(rate) = parameters.fqrate {
        crate::system::socket::set_pacing_rate(&*socket, rate / 8)?;
    }
    Ok(())
}

/// Sets options of a control connection: no delay, and keep-alive for address translators.
pub(super) fn apply_to_control(socket: SockRef<'_>) -> io::Result<()> {
    socket.set_tcp_nodelay(true)?;
    let keepalive = TcpKeepalive::new().with_time(Duration::from_secs(60));
    socket.set_tcp_keepalive(&keepalive)
}

/// Binds to an interface (`SO_BINDTODEVICE`).
pub(super) fn bind_device(socket: &Socket, name: &str) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    return socket.bind_device(Some(name.as_bytes()));
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (socket, name);
        unavailable("binding to an interface")
    }
}

pub(super) fn set_tos(socket: &SockRef<'_>, tos: u32) -> io::Result<()> {
    match socket.local_addr()?.is_ipv6() {
        #[cfg(unix)]
        true => socket.set_tclass_v6(tos),
        #[cfg(windows)]
        true => unavailable("the traffic class of IPv6 (-S)"),
        false => socket.set_tos_v4(tos),
    }
}

/// Maximum segment size in effect; `None` if the system does not report it.
pub(super) fn mss(socket: &SockRef<'_>) -> Option<u32> {
    #[cfg(unix)]
    return socket.tcp_mss().ok();
    #[cfg(windows)]
    {
        let _ = socket;
        None
    }
}

fn set_mss(socket: &SockRef<'_>, mss: u32) -> io::Result<()> {
    #[cfg(unix)]
    return socket.set_tcp_mss(mss);
    #[cfg(windows)]
    {
        let _ = (socket, mss);
        unavailable("a maximum segment size (-M)")
    }
}

/// Fails: this system does not have the option.
#[cfg(not(target_os = "linux"))]
fn unavailable<T>(option: &str) -> io::Result<T> {
    let text = format!("{option} is not available on this system");
    Err(io::Error::new(io::ErrorKind::Unsupported, text))
}

/// Sets the congestion control; only Linux and FreeBSD have a choice.
#[cfg(not(any(target_os = "linux", target_os = "freebsd")))]
fn set_congestion(_: &SockRef<'_>, parameters: &Parameters) -> io::Result<()> {
    match &parameters.congestion {
        Some(_) => unavailable("a choice of congestion control (-C)"),
        None => Ok(()),
    }
}

#[cfg(not(any(target_os = "linux", target_os = "freebsd")))]
fn effective_congestion(_: &SockRef<'_>) -> Option<String> {
    None
}

#[cfg(any(target_os = "linux", target_os = "freebsd"))]
fn set_congestion(socket: &SockRef<'_>, parameters: &Parameters) -> io::Result<()> {
    match &parameters.congestion {
        Some(name) => socket.set_tcp_congestion(name.as_bytes()),
        None => Ok(()),
    }
}

#[cfg(any(target_os = "linux", target_os = "freebsd"))]
fn effective_congestion(socket: &SockRef<'_>) -> Option<String> {
    let bytes = socket.tcp_congestion().ok()?;
    let name = bytes.split(|byte| *byte == 0).next()?;
    Some(String::from_utf8_lossy(name).into_owned())
}

/// Reads back the options in effect, and records those not as requested.
///
/// # Errors
/// The system's error.
pub(super) fn effective(socket: SockRef<'_>, parameters: &Parameters) -> io::Result<Effective> {
    let is_tcp = parameters.transport == Transport::Tcp;
    let (send_buffer, receive_buffer) = (
        socket.send_buffer_size()? as u64,
        socket.recv_buffer_size()? as u64,
    );
    let mut effective = Effective {
        send_buffer,
        receive_buffer,
        usable_send_buffer: send_buffer / BUFFER_OVERHEAD,
        usable_receive_window: receive_buffer / BUFFER_OVERHEAD,
        congestion: is_tcp.then(|| effective_congestion(&socket)).flatten(),
        mss: is_tcp.then(|| mss(&socket)).flatten(),
        mptcp: (is_tcp && parameters.mptcp).then(|| crate::system::socket::is_mptcp(&*socket)),
        ..Effective::default()
    };
    let deciders = Deciders {
        send_buffer: limit("net.core.wmem_max"),
        receive_buffer: limit("net.core.rmem_max"),
        congestion: "the route's `congctl`",
    };
    effective.compare(parameters, deciders);
    Ok(effective)
}

/// A system limit with its value.
fn limit(setting: &str) -> String {
    if let Ok(value) = crate::system::settings::read(setting) {
        return format!("{setting} = {}", value.trim());
    }
    setting.into()
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    /// kern/6032 in one line: the requested and effective value, and the setting that limited it.
    #[test]
    fn a_buffer_above_the_systems_limit_names_the_limit() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let parameters = Parameters {
            window: Some(1 << 30),
            ..Parameters::default()
        };
        let socket = SockRef::from(&stream);
        apply_before(SockRef::from(&stream), &parameters).unwrap();
        let found = effective(socket, &parameters).unwrap().overrides;
        assert_eq!(found.len(), 2);
        assert_eq!(found[1].requested, "1073741824 bytes");
        assert!(
            found[1].cause.starts_with("net.core.rmem_max = "),
            "{found:?}"
        );
    }

    #[test]
    fn a_granted_request_is_no_override() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let parameters = Parameters {
            window: Some(64 << 10),
            congestion: Some("reno".into()),
            ..Parameters::default()
        };
        let socket = socket(Domain::IPV4, &parameters).unwrap();
        socket
            .connect(&listener.local_addr().unwrap().into())
            .unwrap();
        let effective = effective(SockRef::from(&socket), &parameters).unwrap();
        assert_eq!(effective.overrides, []);
        assert_eq!(effective.congestion.as_deref(), Some("reno"));
        assert_eq!(effective.usable_receive_window, 64 << 10);
    }
}
