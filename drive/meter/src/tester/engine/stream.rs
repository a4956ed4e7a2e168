//! Streams of a test on the engine, and the options that it supports.

use std::io::{self, Write};
use std::net::{Shutdown, SocketAddr};

use gigatcp_live::{Measured, Options, Stream};
use gigatcp_protocol::iperf3::{Direction, Parameters, Transport};
use gigatcp_units::{Bytes, Instant, Rate};
use gigatcp_why::counters::Reading;

use super::super::connection::{BufferLimits, Connection};
use super::super::options::{Deciders, Effective, StackKind};
use super::super::request::{Protocol, Request};
use super::device::Engine;
use super::reading;
use crate::{Sampler, View};

/// Smallest MSS that may be requested, as with the kernel (`TCP_MIN_MSS`).
const MIN_MSS: u32 = 88;

impl Engine {
    /// First option that the engine does not support, with the reason.
    ///
    /// `None`: it supports all options of the request.
    pub fn lacks(request: &Request) -> Option<(&'static str, String)> {
        let parameters = &request.parameters;
        let has_small_mss = parameters.mss.is_some_and(|mss| mss < MIN_MSS);
        let is_nuttcp = request.protocol == Protocol::Nuttcp;
        let is_udp = parameters.transport == Transport::Udp;
        let lacked = [
            (is_udp, "-u", "the engine has no UDP"),
            (
                parameters.mptcp,
                "--mptcp",
                "the engine has no Multipath TCP",
            ),
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
                "bind_dev",
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
    pub(in super::super) fn connect(
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
        let stream = self
            .stack
            .connect_timeout(to, &options, timeout)
            .map_err(|error| match to == asked {
                true => error,
                false => io::Error::new(error.kind(), format!("at {to}: {error}")),
            })?;
        Ok(EngineStream {
            stream,
            options,
            sends: sends(request),
        })
    }
}

/// Whether the requested congestion control is for this end, not for a sending server.
fn sends(request: &Request) -> bool {
    request.parameters.direction != Direction::Reverse
}

/// Options of a stream for the engine.
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

/// A stream of the engine.
#[derive(Debug)]
pub(in super::super) struct EngineStream {
    stream: Stream,
    /// Options of the connection.
    options: Options,
    /// Whether the requested congestion control is for this end.
    sends: bool,
}

impl EngineStream {
    pub(in super::super) fn write_all(&self, bytes: &[u8]) -> io::Result<()> {
        (&self.stream).write_all(bytes)
    }

    fn measured(&self) -> io::Result<Measured> {
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

    fn apply_options(&self, parameters: &Parameters) -> io::Result<Effective> {
        self.stream.set_nodelay(parameters.nodelay)?;
        let info = self.measured()?.info;
        let mut effective = Effective {
            stack: StackKind::Engine,
            send_buffer: info.send_buffer.as_u64(),
            receive_buffer: info.receive_buffer.as_u64(),
            usable_send_buffer: info.send_buffer.as_u64(),
            usable_receive_window: info.window_clamp.as_u64(),
            congestion: Some(self.options.congestion.name().to_owned()),
            mss: Some(info.smss),
            ..Effective::default()
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
