//! A transfer from its first marker to its last, at either end.
//!
//! A TCP transfer ends with its connections: the sender closes them after its time or amount, the
//! receiver reads to their end. A UDP transfer begins and ends with markers.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use gigatcp_protocol::iperf3::stream_id;
use gigatcp_protocol::nuttcp::datagram::{BEGIN_PAUSE, Datagram, END_MARKERS, END_PAUSE};
use gigatcp_units as units;

use super::super::counters::Role;
use super::super::socket::Socket;
use super::super::stream::Stream;
use super::super::traffic::{Progress, Traffic};
use super::super::udp::now as monotonic;
use super::link::Link;

/// Maximum wait for senders to finish the buffers that they have begun.
const GRACE: Duration = Duration::from_secs(10);

/// Maximum excess of a transfer over its announced time: the path may hold as much.
const LATE: Duration = Duration::from_secs(60);

/// Time for a receiver of datagrams to open its port: 6.1.2 does so after it has consented.
const BIND_PAUSE: Duration = Duration::from_millis(50);

/// Change of a transfer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TransferChange {
    /// Data begins to flow.
    Begun,
    /// All data was sent or received.
    Ended,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// No stream is open.
    Closed,
    /// Streams are open; the next marker, and its time.
    Opened(u8, Instant),
    Flowing,
    /// The time is over, since this instant.
    Stopping(Instant),
    /// Data has ended; the next marker, and its time.
    Markers(u8, Instant),
    Over,
}

/// A transfer.
#[derive(Debug)]
pub(super) struct Transfer {
    pub(super) traffic: Traffic,
    pub(super) link: Arc<Link>,
    pub(super) role: Role,
    state: State,
    /// Time of the last byte received, and bytes received until then.
    last_data: (Instant, u64),
}

impl Transfer {
    pub(super) fn new(traffic: Traffic, link: Arc<Link>, role: Role) -> Self {
        Self {
            traffic,
            link,
            role,
            state: State::Closed,
            last_data: (Instant::now(), 0),
        }
    }

    /// Opens the transfer with connected sockets in the order of their ports.
    pub(super) fn open(&mut self, sockets: Vec<Socket>) -> io::Result<()> {
        for (place, socket) in sockets.into_iter().enumerate() {
            let (id, shared) = (stream_id(place), &self.traffic.shared);
            let link = Some(self.link.clone());
            let stream = Stream::spawn((id, self.role), socket, shared, link)?;
            self.traffic.streams.push(stream);
        }
        self.last_data.0 = Instant::now();
        let pause = match self.link.parameters.udp {
            true => BIND_PAUSE,
            false => Duration::ZERO,
        };
        self.state = State::Opened(0, Instant::now() + pause);
        Ok(())
    }

    /// Next change; to be repeated until there is none.
    pub(super) fn poll_change(
        &mut self,
        now: Instant,
        report: &mut dyn FnMut(Progress<'_>),
    ) -> Option<TransferChange> {
        let is_udp = self.link.parameters.udp;
        match self.state {
            State::Closed | State::Over => None,
            State::Opened(number, due) => {
                let is_begun = match (is_udp, self.role) {
                    (false, _) => true,
                    (true, Role::Sender) => self.send_begin(number, now >= due),
                    (true, Role::Receiver) => self.link.datagrams().begun().is_some(),
                };
                if !is_begun {
                    return None;
                }
                self.traffic.start();
                self.last_data.0 = Instant::now();
                self.state = State::Flowing;
                Some(TransferChange::Begun)
            }
            State::Flowing => {
                if self.traffic.is_ended() {
                    return Some(self.end(report));
                }
                if !is_udp || self.role == Role::Sender || self.link.datagrams().is_receiving() {
                    self.traffic.handle_time(now, report);
                }
                let bytes = self.traffic.bytes();
                if bytes > self.last_data.1 {
                    self.last_data = (now, bytes);
                }
                if self.deadline().is_some_and(|deadline| now >= deadline) {
                    self.traffic.shared.switch.stop();
                    self.state = State::Stopping(now);
                }
                None
            }
            State::Stopping(since) => {
                self.traffic.handle_time(now, report);
                let is_over = self.traffic.is_ended() || now > since + GRACE;
                is_over.then(|| self.end(report))
            }
            State::Markers(number, due) => {
                if now >= due && number < END_MARKERS {
                    self.send_marker(Datagram::End(number));
                    let pause = Duration::from(END_PAUSE);
                    self.state = State::Markers(number + 1, due + pause);
                }
                None
            }
        }
    }

    /// Ends the transfer, even if data is missing.
    pub(super) fn end(&mut self, report: &mut dyn FnMut(Progress<'_>)) -> TransferChange {
        if matches!(self.state, State::Markers(..) | State::Over) {
            return TransferChange::Ended;
        }
        let is_udp = self.link.parameters.udp;
        let mut over_at = Instant::now();
        if is_udp && self.role == Role::Receiver {
            // The last marker arrives long after the end.
            let duration = self.link.datagrams().duration(monotonic());
            if let Some((start, _)) = self.traffic.started_at {
                over_at = start + Duration::from(duration);
            }
        }
        self.traffic.stop_at(over_at, report);
        self.state = State::Over;
        if is_udp && self.role == Role::Sender {
            self.send_marker(Datagram::End(0));
            let pause = Duration::from(END_PAUSE);
            self.state = State::Markers(1, Instant::now() + pause);
        }
        TransferChange::Ended
    }

    /// Whether the peer was notified of the end of the data.
    pub(super) fn is_peer_notified(&self) -> bool {
        matches!(self.state, State::Over | State::Markers(2.., _))
    }

    /// When [`Self::poll_change`] is due; `None`: when the link's event descriptor is signaled.
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        match self.state {
            State::Closed | State::Over => None,
            State::Opened(_, due) => Some(due),
            State::Flowing | State::Stopping(_) => {
                let own = self.traffic.poll_timeout();
                own.into_iter().chain(self.deadline()).min()
            }
            State::Markers(_, due) => Some(due),
        }
    }

    /// Whether a receiver of datagrams has seen their end.
    pub(super) fn has_end(&self) -> bool {
        let datagrams = self.link.datagrams();
        datagrams.begun().is_some() && !datagrams.is_receiving()
    }

    /// Time since the last data, or since the streams were opened.
    pub(super) fn idle(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.last_data.0)
    }

    /// Whether a sender continues long after its announced time.
    pub(super) fn is_late(&self, now: Instant) -> bool {
        let limit = self.link.parameters.time_limit;
        let started = self.traffic.started_at.filter(|_| !limit.is_zero());
        let longest = Duration::from(limit) + LATE;
        started.is_some_and(|(start, _)| now > start + longest)
    }

    /// When the time of a sender is over, if it is limited.
    fn deadline(&self) -> Option<Instant> {
        let limit = self.link.parameters.time_limit;
        let (start, _) = self.traffic.started_at?;
        let is_timed = self.role == Role::Sender && !limit.is_zero();
        is_timed.then(|| start + Duration::from(limit))
    }

    /// Sends the marker that is due; returns whether data may follow.
    fn send_begin(&mut self, number: u8, is_due: bool) -> bool {
        if !is_due {
            return false;
        }
        self.send_marker(Datagram::Begin(number));
        let pause = Duration::from(BEGIN_PAUSE);
        self.state = State::Opened(number + 1, Instant::now() + pause);
        number > 0
    }

    fn send_marker(&self, marker: Datagram) {
        let Some(bytes) = marker.marker() else { return };
        for stream in &self.traffic.streams {
            if let Socket::Udp(socket) = &*stream.socket {
                // A peer that does not listen yet causes an error; another marker follows.
                let _ = socket.take_error();
                let _ = socket.send(&bytes);
            }
        }
    }

    /// Time over which this end sent or received.
    pub(super) fn duration(&self) -> units::Duration {
        self.traffic.measured.into()
    }
}

/// Address of a stream's port.
pub(super) fn port_of(base: SocketAddr, first: u16, place: usize) -> SocketAddr {
    SocketAddr::new(base.ip(), first + place as u16)
}
