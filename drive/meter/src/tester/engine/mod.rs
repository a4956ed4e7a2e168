//! The engine instead of the kernel's TCP: streams of a test on a TUN device.
//!
//! ```text
//! engine 10.85.x.2 == TUN device == 10.85.x.1 this host's kernel | routes, interfaces
//! ```
//!
//! The control connection uses the kernel. Nothing is measured on it, its loop waits for a
//! descriptor, and servers identify the streams of a test by their cookie, not by their address. If
//! it is established and a stream is not, the engine's packets lack a route.
//!
//! A server on this host is reached directly, one at a loopback address by the kernel's end of the
//! device. For another host this kernel has to forward, with source address translation of the
//! engine's address unless the peer has a route back. No setting of this host is changed here.
//!
//! Out of scope: UDP, nuttcp's protocol, type of service, and a server on the engine. A server
//! requires of the engine's listeners a descriptor that the server's loop can wait for, of
//! connections a non-blocking read for the cookie, and inherited options of listeners (window, MSS,
//! congestion control of a test).

mod reading;

use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, UdpSocket};

use gigatcp_linux::{SetupError, Step, settings};
use gigatcp_live::{Options, Scheduling, Stack, Stream, TunConfig, Wire};
use gigatcp_protocol::iperf3::{Direction, Parameters, Transport};
use gigatcp_units::{Bytes, Instant, Rate};
use gigatcp_why::counters::Reading;

use super::connection::{BufferLimits, Connection};
use super::options::{Deciders, Effective, StackKind};
use super::request::{Protocol, Request};
use crate::{Sampler, View};

/// Smallest MSS that may be requested, as with the kernel (`TCP_MIN_MSS`).
const MIN_MSS: u32 = 88;

/// The engine on its own TUN device, which is removed when this value is dropped.
#[derive(Debug)]
pub struct Engine {
    stack: Stack,
    config: TunConfig,
}

impl Engine {
    /// IPv4 network of all engines' addresses.
    pub const NETWORK: &str = "10.85.0.0/16";
    /// IPv6 network of all engines' addresses.
    pub const NETWORK_V6: &str = "fd85::/16";

    /// Creates a device in the calling thread's network namespace.
    ///
    /// Engines of one namespace need different numbers, such as the process ID.
    ///
    /// # Errors
    /// [`SetupError`]: the step that failed, and the missing requirement.
    pub fn open(number: u32) -> Result<Self, SetupError> {
        let mut config = TunConfig {
            name: format!("giga{number}"),
            ..TunConfig::default()
        };
        // A network of four addresses for each of 16384 engines.
        let place = Ipv4Addr::new(10, 85, 0, 0).to_bits() + (number % 16_384) * 4;
        let v4 = |host: u32| IpAddr::from(Ipv4Addr::from_bits(place + host));
        config.kernel.push((v4(1), 30));
        config.engine.push(v4(2));
        let disabled = settings::read("net.ipv6.conf.default.disable_ipv6");
        if disabled.is_ok_and(|disabled| disabled.trim() == "0") {
            let [high, low] = [(number >> 16) as u16, number as u16];
            let v6 = |host| IpAddr::from(Ipv6Addr::new(0xfd85, 0, 0, 0, 0, high, low, host));
            config.kernel.push((v6(1), 126));
            config.engine.push(v6(2));
        }
        let device = Wire::open_tun_here(&config)?;
        // Pacing does not compensate for a pause of more than a millisecond.
        let scheduling = Scheduling {
            is_first: true,
            ..Scheduling::default()
        };
        let stack = Stack::start_with(device, scheduling)
            .map_err(|cause| SetupError::new(Step::Thread, cause))?;
        Ok(Self { stack, config })
    }

    /// Returns the name of the device.
    #[must_use]
    pub fn device(&self) -> &str {
        &self.config.name
    }

    /// Returns the addresses of the engine, and of the kernel's end of the device.
    #[must_use]
    pub fn addresses(&self) -> (Vec<IpAddr>, Vec<IpAddr>) {
        let kernel = self.config.kernel.iter().map(|(address, _)| *address);
        (self.config.engine.clone(), kernel.collect())
    }

    /// Returns the first option that the engine does not support, with the reason.
    ///
    /// `None`: it supports all options of the request.
    #[must_use]
    pub fn lacks(request: &Request) -> Option<(&'static str, String)> {
        let parameters = &request.parameters;
        let has_small_mss = parameters.mss.is_some_and(|mss| mss < MIN_MSS);
        let is_nuttcp = request.protocol == Protocol::Nuttcp;
        let is_udp = parameters.transport == Transport::Udp;
        let lacked = [
            (is_udp, "-u", "the engine has no UDP"),
            (
                is_nuttcp,
                "--protocol nuttcp",
                "its streams are the kernel's",
            ),
            (
                parameters.tos.is_some(),
                "-S",
                "the engine sets no type of service",
            ),
            (
                request.bind.is_some(),
                "-B",
                "the engine has an address of its own",
            ),
            (
                request.bind_dev.is_some(),
                "--bind-dev",
                "the engine has a device of its own",
            ),
            (
                parameters.zerocopy,
                "-Z",
                "the engine keeps what it may retransmit",
            ),
            (has_small_mss, "-M", "the smallest MSS is 88 bytes"),
        ];
        let found = lacked.into_iter().find(|(is_requested, ..)| *is_requested);
        if let Some((_, option, reason)) = found {
            return Some((option, reason.to_owned()));
        }
        let unknown = engine_options(request).err();
        unknown.map(|error| ("-C", error.to_string()))
    }

    /// Connects a stream, from a local port if one is given.
    pub(super) fn connect(
        &self,
        to: SocketAddr,
        request: &Request,
        port: Option<u16>,
    ) -> io::Result<EngineStream> {
        let asked = to;
        let to = self.reachable(asked)?;
        let mut options = engine_options(request)?;
        options.local_port = port;
        let timeout = request.connect_timeout;
        let stream = self.stack.connect_timeout(to, &options, timeout);
        let stream = stream.map_err(|error| match to == asked {
            true => error,
            false => io::Error::new(error.kind(), format!("at {to}: {error}")),
        })?;
        Ok(EngineStream {
            stream,
            options,
            sends: sends(request),
        })
    }

    /// Returns the address at which packets of the engine reach the server.
    fn reachable(&self, to: SocketAddr) -> io::Result<SocketAddr> {
        let ip = to.ip().to_canonical();
        let mut of_family = self.config.kernel.iter();
        let own = of_family.find(|(address, _)| address.is_ipv4() == ip.is_ipv4());
        if let (true, Some((own, _))) = (ip.is_loopback(), own) {
            return Ok(SocketAddr::new(*own, to.port()));
        }
        let to = SocketAddr::new(ip, to.port());
        if is_of_this_host(to) {
            return Ok(to);
        }
        let family = if ip.is_ipv4() { "ipv4" } else { "ipv6" };
        let setting = format!("net.{family}.conf.{}.forwarding", self.device());
        match settings::read(&setting) {
            Ok(value) if value.trim() == "0" => Err(io::Error::new(
                io::ErrorKind::NetworkUnreachable,
                format!("this host does not forward the engine's packets ({setting} is 0)"),
            )),
            _ => Ok(to),
        }
    }
}

/// Returns whether the requested congestion control is for this end, not for a sending server.
fn sends(request: &Request) -> bool {
    request.parameters.direction != Direction::Reverse
}

/// Returns the options of a stream for the engine.
fn engine_options(request: &Request) -> io::Result<Options> {
    let parameters = &request.parameters;
    let mut options = Options::default();
    if let Some(name) = parameters.congestion.as_ref().filter(|_| sends(request)) {
        options = options.with_congestion(name)?;
    }
    options.profile.pacing.max_pacing_rate = parameters.fqrate.map(Rate::from_bps);
    options.send_buffer = parameters.window.map(Bytes::new);
    options.receive_buffer = parameters.window.map(Bytes::new);
    let mss = |mss| u16::try_from(mss).unwrap_or(u16::MAX);
    options.mss = parameters.mss.map(mss);
    Ok(options)
}

/// Returns whether an address is one of this host. The kernel then uses the same as source.
fn is_of_this_host(to: SocketAddr) -> bool {
    let any: IpAddr = match to {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let from = UdpSocket::bind((any, 0)).and_then(|socket| {
        socket.connect(to)?;
        socket.local_addr()
    });
    from.is_ok_and(|from| from.ip() == to.ip())
}

/// A stream of the engine.
#[derive(Debug)]
pub(super) struct EngineStream {
    stream: Stream,
    /// Options of the connection.
    options: Options,
    /// Whether the requested congestion control is for this end.
    sends: bool,
}

impl EngineStream {
    pub(super) fn write_all(&self, bytes: &[u8]) -> io::Result<()> {
        (&self.stream).write_all(bytes)
    }

    fn measured(&self) -> io::Result<gigatcp_live::Measured> {
        let measured = self.stream.measure();
        measured.ok_or_else(|| io::ErrorKind::NotConnected.into())
    }
}

impl Connection for EngineStream {
    fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        io::Read::read(&mut &self.stream, buffer)
    }

    fn discard(&self, most: usize) -> io::Result<usize> {
        self.stream.receive(most).map(|bytes| bytes.len())
    }

    fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        (&self.stream).write(bytes)
    }

    fn unacknowledged(&self) -> io::Result<u64> {
        self.measured().map(|measured| measured.send_queue)
    }

    fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.stream.shutdown(how)
    }

    fn addresses(&self) -> io::Result<[SocketAddr; 2]> {
        Ok([self.stream.local_addr()?, self.stream.peer_addr()?])
    }

    fn settle(&self, parameters: &Parameters) -> io::Result<Effective> {
        self.stream.set_nodelay(parameters.nodelay)?;
        let info = self.measured()?.info;
        let mut effective = Effective {
            stack: StackKind::Engine,
            send_buffer: info.send_buffer.as_u64(),
            receive_buffer: info.receive_buffer.as_u64(),
            usable_send_buffer: info.send_buffer.as_u64(),
            usable_receive_window: info.window_clamp.as_u64(),
            congestion: Some(self.options.congestion.name.to_owned()),
            mss: Some(info.smss),
            udp_offload: false,
            overrides: Vec::new(),
        };
        let limit = self.options.profile.buffers.buffer_limit.as_u64();
        let limit = format!("the engine grants at most {limit} bytes");
        let deciders = Deciders {
            send_buffer: limit.clone(),
            receive_buffer: limit,
            congestion: "the engine",
        };
        let mut requested = parameters.clone();
        requested.congestion = requested.congestion.filter(|_| self.sends);
        effective.compare(&requested, deciders);
        Ok(effective)
    }

    fn view(&self) -> io::Result<View> {
        self.measured().map(|measured| reading::view(&measured))
    }

    fn reading(&self, _: &Sampler, at: Instant) -> io::Result<Reading> {
        let most = self.options.profile.pacing.max_pacing_rate;
        self.measured()
            .map(|measured| reading::of(&measured, most, at))
    }

    fn limits(&self) -> BufferLimits {
        let profile = &self.options.profile;
        BufferLimits::Engine([
            profile.buffers.receive_buffer_max,
            profile.buffers.send_buffer_max,
        ])
    }
}
