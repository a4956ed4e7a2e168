//! An end of a flow, the engine's or the kernel's: opened as the plan says, written to, read from,
//! and sampled. Callers do not depend on the stack.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration as Span;

use gigatcp_emulate::Side;
use gigatcp_linux::socket;
use gigatcp_live::{Listener, Options, Stream};
use gigatcp_meter::{Granted, LimitTally, SocketSettings, View};
use gigatcp_plan::{Flow, Host, Stack};
use gigatcp_tcp::connection::Info;
use gigatcp_tcp::events::Limit;
use gigatcp_units::{Bytes, Duration, Instant};

use super::pattern;
use super::settings::kernel_name;
use super::testbed::Testbed;
use super::{LiveError, now};
use crate::flow_result::Counts;

/// Maximum wait for a connection before a call checks whether the run continues.
const MAX_WAIT: Span = Span::from_millis(20);

/// A connection.
#[derive(Clone, Debug)]
pub(super) enum End {
    Engine(Stream),
    /// With the options granted to its socket at creation.
    Kernel(Arc<TcpStream>, Granted),
}

/// State of a sender or receiver at one time.
#[derive(Clone, Debug)]
pub(super) struct EndState {
    pub(super) at: Instant,
    pub(super) cwnd: Bytes,
    pub(super) ssthresh: Option<Bytes>,
    pub(super) rwnd: Bytes,
    pub(super) flight: Bytes,
    pub(super) srtt: Option<Duration>,
    pub(super) min_rtt: Option<Duration>,
    pub(super) counts: Counts,
    pub(super) limits: [Duration; Limit::ALL.len()],
    pub(super) failure: Option<String>,
    pub(super) detail: Detail,
}

/// State that only one of the stacks reports.
#[derive(Clone, Debug)]
pub(super) enum Detail {
    Engine(Box<Info>),
    /// The socket's state, and its current settings.
    Kernel(Box<View>, Granted),
}

/// A listening socket.
pub(super) enum Listening {
    Engine(Listener),
    Kernel(TcpListener),
}

fn options(host: &Host, flow: &Flow, local_port: Option<u16>) -> Options {
    Options {
        congestion: Arc::new(flow.congestion.of_engine()),
        slow_start: flow.slow_start,
        initial_ssthresh: flow.initial_ssthresh,
        send_buffer: flow.send_buffer,
        receive_buffer: flow.receive_buffer,
        local_port,
        ..Options::of_profile(host.profile)
    }
}

fn settings_of(flow: &Flow) -> SocketSettings {
    SocketSettings {
        congestion: Some(kernel_name(flow).to_owned()),
        send_buffer: flow.send_buffer,
        receive_buffer: flow.receive_buffer,
    }
}

/// Socket settings of a kernel's receiver.
///
/// They include the sender's control if the kernel has it. It only matters for controls that change
/// the ECN feedback.
fn receiver_settings(flow: &Flow) -> SocketSettings {
    let known = gigatcp_meter::congestion_controls();
    let mut settings = settings_of(flow);
    settings.congestion = settings.congestion.filter(|name| known.contains(name));
    settings
}

/// Listens at the receiver's end.
pub(super) fn listen(
    testbed: &Testbed,
    host: &Host,
    flow: &Flow,
    port: u16,
) -> Result<Listening, LiveError> {
    let at = testbed.address(Side::Server, port);
    match testbed.engine(Side::Server) {
        Some(engine) => {
            let listener = engine.listen(at, &options(host, flow, None));
            listener.map(Listening::Engine).map_err(LiveError::Engine)
        }
        None => {
            let namespace = testbed.emulator.namespace(Side::Server);
            let listener =
                namespace.run(|| gigatcp_meter::listen(at, &receiver_settings(flow)))??;
            Ok(Listening::Kernel(listener))
        }
    }
}

/// Opens the connection from the sender's end; `None` if the run ends meanwhile (`goes_on`).
pub(super) fn connect(
    testbed: &Testbed,
    host: &Host,
    flow: &Flow,
    ports: [u16; 2],
    goes_on: impl Fn() -> bool + Send,
) -> Result<Option<(End, Instant)>, LiveError> {
    let [local, remote] = ports;
    let to = testbed.address(Side::Server, remote);
    if let Some(engine) = testbed.engine(Side::Client) {
        let stream = engine.connect_while(to, &options(host, flow, Some(local)), goes_on);
        let Some(stream) = stream.map_err(LiveError::Engine)? else {
            return Ok(None);
        };
        return Ok(Some(End::of_engine(stream)));
    }
    let from = testbed.address(Side::Client, local);
    let opened = testbed.emulator.namespace(Side::Client).run(|| {
        let stream = gigatcp_meter::connect(from, to, &settings_of(flow), goes_on)?;
        let at = now();
        let opened = stream.map(|stream| End::of_kernel(stream).map(|end| (end, at)));
        opened.transpose()
    });
    opened?
}

impl Listening {
    /// Accepts the connection; `None` if the run ends meanwhile (`goes_on`).
    pub(super) fn accept(
        &self,
        goes_on: impl Fn() -> bool,
    ) -> Result<Option<(End, Instant)>, LiveError> {
        match self {
            Self::Engine(listener) => {
                let Some(stream) = accept(listener, goes_on).map_err(LiveError::Engine)? else {
                    return Ok(None);
                };
                Ok(Some(End::of_engine(stream)))
            }
            Self::Kernel(listener) => {
                let stream = gigatcp_meter::accept(listener, goes_on)?;
                let at = now();
                let opened = stream.map(|stream| End::of_kernel(stream).map(|end| (end, at)));
                opened.transpose()
            }
        }
    }
}

impl End {
    /// The end, and when it was established.
    fn of_engine(stream: Stream) -> (Self, Instant) {
        let measured = stream.measure();
        let at = measured.and_then(|measured| measured.established_at);
        (Self::Engine(stream), at.unwrap_or_else(now))
    }

    fn of_kernel(stream: TcpStream) -> Result<Self, LiveError> {
        let granted = gigatcp_meter::granted(&stream)?;
        Ok(Self::Kernel(Arc::new(stream), granted))
    }

    /// Stack it belongs to.
    pub(super) const fn stack(&self) -> Stack {
        match self {
            Self::Engine(_) => Stack::Engine,
            Self::Kernel(..) => Stack::Kernel,
        }
    }

    /// Sets the maximum wait of a write for space.
    pub(super) fn set_patience(&self, longest: Span) -> io::Result<()> {
        let longest = Some(longest.max(Span::from_millis(1)));
        match self {
            Self::Engine(stream) => stream.set_write_timeout(longest),
            Self::Kernel(stream, _) => stream.set_write_timeout(longest),
        }
    }

    /// Writes at most `most` bytes of the stream from `offset` on.
    ///
    /// Returns the number accepted; 0 if there was no space for too long.
    pub(super) fn write(&self, offset: u64, most: u64) -> io::Result<u64> {
        let octets = pattern::octets(offset, most);
        let written = match self {
            Self::Engine(stream) => stream.send(&octets),
            Self::Kernel(stream, _) => (&mut &**stream).write(&octets),
        };
        match written {
            Ok(taken) => Ok(taken as u64),
            Err(error) if self.is_pause(&error) => Ok(0),
            Err(error) => Err(error),
        }
    }

    /// Whether a write only timed out waiting for space. An aborted connection reports another
    /// timeout.
    fn is_pause(&self, error: &io::Error) -> bool {
        use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
        match self {
            Self::Engine(_) => error.kind() == TimedOut && error.get_ref().is_none(),
            Self::Kernel(..) => matches!(error.kind(), WouldBlock | Interrupted),
        }
    }

    /// Reads up to `room.len()` bytes and passes them to `take`. Returns 0 at the end of the
    /// stream.
    pub(super) fn read(&self, room: &mut [u8], take: impl FnOnce(&[u8])) -> io::Result<usize> {
        match self {
            Self::Engine(stream) => {
                let octets = stream.receive(room.len())?;
                take(&octets);
                Ok(octets.len())
            }
            Self::Kernel(stream, _) => loop {
                match (&mut &**stream).read(room) {
                    Ok(len) => {
                        take(&room[..len]);
                        return Ok(len);
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            },
        }
    }

    /// Closes the sending direction.
    pub(super) fn finish(&self) {
        // A connection that has failed need not be closed.
        let _ = match self {
            Self::Engine(stream) => stream.shutdown(Shutdown::Write),
            Self::Kernel(stream, _) => stream.shutdown(Shutdown::Write),
        };
    }

    /// Aborts the connection; threads blocked on it get an error.
    pub(super) fn abort(&self) {
        match self {
            Self::Engine(stream) => stream.abort(),
            Self::Kernel(stream, _) => {
                // Otherwise the kernel would continue by itself, without a device.
                let _ = socket::reset_on_close(&**stream);
                let _ = stream.shutdown(Shutdown::Both);
            }
        }
    }

    /// Samples the end; a kernel's sender updates `tally` and reports its limits.
    pub(super) fn sample(&self, tally: Option<&mut LimitTally>) -> Option<EndState> {
        match self {
            Self::Engine(stream) => {
                let measured = stream.measure()?;
                let info = measured.info;
                Some(EndState {
                    at: measured.at,
                    cwnd: info.cwnd,
                    ssthresh: (info.ssthresh != Bytes::MAX).then_some(info.ssthresh),
                    rwnd: info.snd_wnd,
                    flight: info.flight_size,
                    srtt: info.srtt,
                    min_rtt: info.min_rtt,
                    counts: Counts::of_engine(&measured.counters, &info),
                    limits: measured.limits,
                    failure: measured.failure.map(|failure| failure.to_string()),
                    detail: Detail::Engine(Box::new(info)),
                })
            }
            Self::Kernel(stream, _) => {
                let (view, at) = (View::of(&**stream).ok()?, now());
                let limits = tally.map(|tally| {
                    tally.on_view(at, &view);
                    tally.all()
                });
                Some(EndState {
                    at,
                    cwnd: view.cwnd,
                    ssthresh: view.ssthresh,
                    rwnd: view.snd_wnd,
                    flight: view.flight_size,
                    srtt: view.srtt,
                    min_rtt: view.min_rtt,
                    counts: Counts {
                        segments_sent: view.data_segments_sent,
                        retransmitted: view.retransmitted_segments,
                        timeouts: view.timeouts,
                        marked: view.delivered_ce,
                        acks_sent: view.segments_sent.saturating_sub(view.data_segments_sent),
                        ..Counts::default()
                    },
                    limits: limits.unwrap_or_default(),
                    failure: None,
                    detail: Detail::Kernel(Box::new(view), gigatcp_meter::granted(&**stream).ok()?),
                })
            }
        }
    }
}

/// Waits for a connection of the engine while `goes_on` returns true.
fn accept(listener: &Listener, goes_on: impl Fn() -> bool) -> io::Result<Option<Stream>> {
    while goes_on() {
        match listener.accept_timeout(MAX_WAIT) {
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {}
            accepted => return accepted.map(|(stream, _)| Some(stream)),
        }
    }
    Ok(None)
}
