//! Clients of iperf3's protocol: cookies, parameters, and data connections at the same port.

use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::Ordering;

use gigatcp_protocol::iperf3::datagram::{PING, reply_to};
use gigatcp_protocol::iperf3::train::{Message, TrainRequest};
use gigatcp_protocol::iperf3::{Cookie, Output, Parameters, ServerEvent, Session, State};
use socket2::SockRef;

use super::client_table::{Client, ClientTable, Running};
use super::pending::{MAX_ARRIVALS, Pending, PendingState};
use super::trains::TrainSender;
use crate::system::{BUFFER_OVERHEAD, clock, socket as kernel};
use crate::tester::admission::Network;
use crate::tester::listening::udp_stream;
use crate::tester::memory::MIN_BUFFER;
use crate::tester::options;
use crate::tester::rate_limit::udp_headers;
use crate::tester::socket::Socket;
use crate::trace;

/// Maximum of concurrent traces of paths to clients.
pub(super) const MAX_TRACES: usize = 4;

/// Maximum length of a ping that is answered, in bytes: those of this project have 40.
pub(super) const MAX_PING: usize = 64;

impl ClientTable<'_> {
    /// Handles a complete cookie, of a data connection or a new test.
    pub(super) fn handle_cookie(
        &mut self,
        mut pending: Pending,
        cookie: Cookie,
    ) -> Option<Pending> {
        if *cookie.as_bytes() == trace::HELLO {
            self.answer_trace(pending);
            return None;
        }
        let mut running = self.running.values();
        if let Some(running) = running.find(|test| test.has_cookie(&cookie)) {
            if !running.has_transactions {
                let _ = pending.stream.set_nonblocking(false);
            } else {
                // While it waits it must not hold more than is counted.
                let socket = SockRef::from(&pending.stream);
                let _ = socket.set_recv_buffer_size(MIN_BUFFER as usize);
                let _ = socket.set_send_buffer_size(MIN_BUFFER as usize);
            }
            let is_awaited = !running.is_udp && running.is_opening.load(Ordering::Acquire);
            let limit = if is_awaited { running.streams } else { 0 };
            let socket = Socket::Tcp(pending.stream);
            running.mailbox.push(pending.place, socket, limit);
            return None;
        }
        pending.state =
            PendingState::Parameters(cookie, Session::new(gigatcp_units::Instant::ZERO));
        self.handle_session(pending)
    }

    /// Traces the path to a client on a thread, unless too many are running.
    fn answer_trace(&mut self, pending: Pending) {
        self.traces.retain(|(_, thread)| !thread.is_finished());
        let source = Network::source(pending.peer.ip());
        let reason = if self.server.config.authorize.is_some() {
            Some("a trace has no name and password".to_owned())
        } else if self.traces.iter().any(|(running, _)| *running == source) {
            Some("a trace to this address is running".to_owned())
        } else if self.traces.len() >= MAX_TRACES {
            Some(format!("{MAX_TRACES} traces are running"))
        } else {
            None
        };
        if let Some(reason) = reason {
            let peer = pending.peer;
            let denied = [State::AccessDenied.to_byte()];
            // A client that is gone needs no answer.
            let _ = (&pending.stream).write_all(&denied);
            return self.refused(peer, reason);
        }
        let shared = self.shared.clone();
        let answer = move || {
            // A client that is gone needs no answer.
            let _ = trace::answer(pending.stream, &|| shared.stop.load(Ordering::Acquire));
        };
        if let Ok(thread) = std::thread::Builder::new()
            .name("trace".into())
            .spawn(answer)
        {
            self.traces.push((source, thread));
        }
    }

    /// Performs the outputs of the protocol for a client whose parameters are awaited.
    pub(super) fn handle_session(&mut self, mut pending: Pending) -> Option<Pending> {
        let PendingState::Parameters(cookie, session) = &mut pending.state else {
            return Some(pending);
        };
        let cookie = *cookie;
        while let Some(output) = session.poll_output() {
            match output {
                Output::Send(bytes) => pending.stream.write_all(&bytes).ok()?,
                Output::Event(ServerEvent::Parameters(parameters)) => {
                    let PendingState::Parameters(_, session) = pending.state else {
                        return None;
                    };
                    let client = Client::Iperf3 { cookie, session };
                    let connection = (pending.stream, pending.peer);
                    self.decide(self.waiting(connection, client, parameters));
                    return None;
                }
                Output::Event(ServerEvent::Ended(end)) => {
                    let (peer, reason) = (pending.peer, end.to_string());
                    self.refused(peer, reason);
                    return None;
                }
                Output::Event(_) => {}
            }
        }
        Some(pending)
    }

    /// Handles datagrams to the server's port: first messages of UDP streams, and pings.
    pub(super) fn take_datagrams(&mut self) {
        let mut buffer = std::mem::take(&mut self.datagram);
        for _ in 0..MAX_ARRIVALS {
            let read = kernel::receive_stamped(&self.server.datagrams, &mut buffer);
            let Ok(received) = read else {
                break;
            };
            if let Some(peer) = received.from {
                self.take_datagram(&buffer[..received.length], peer, &received);
            }
        }
        self.datagram = buffer;
    }

    /// Answers come from the address that was asked: to any other the client's socket is closed.
    fn take_datagram(&mut self, datagram: &[u8], peer: SocketAddr, received: &kernel::Received) {
        if let Some(message) = Message::read(datagram) {
            self.take_train(message, peer, received);
            return;
        }
        if let Some(request) = TrainRequest::read(datagram) {
            self.begin_trains(request, peer, received.to);
            return;
        }
        let is_ping = datagram.len() <= MAX_PING && datagram.starts_with(&PING);
        if is_ping && self.knows(peer.ip()) && self.pings.take(std::time::Instant::now()) {
            // A reply that the system refuses counts as lost.
            let _ = kernel::send_from(&self.server.datagrams, datagram, peer, received.to);
        }
        let Some(reply) = reply_to(datagram) else {
            return;
        };
        let server = self.server;
        let mut running = self.running.values_mut();
        let Some(running) = running.find(|test| test.awaits_datagram(peer.ip())) else {
            return;
        };
        let Ok(socket) = udp_stream(server.at_asked(received.to, server.at.port()), peer) else {
            return;
        };
        self.accepted += 1;
        if socket.send(&reply).is_ok() {
            let socket = Socket::Udp(socket);
            running.handed += 1;
            running.mailbox.push(self.accepted, socket, running.streams);
        }
    }

    /// Handles a message of a packet train.
    fn take_train(&mut self, message: Message, peer: SocketAddr, received: &kernel::Received) {
        let number = match message {
            Message::Train(number) => number,
            Message::Ask(number) => {
                if let Some(answer) = self.trains.answer(peer, number) {
                    // A client without an answer asks again.
                    let _ = kernel::send_from(&self.server.datagrams, &answer, peer, received.to);
                }
                return;
            }
        };
        let now = std::time::Instant::now();
        let is_known = self.trains.has(peer) || self.knows(peer.ip());
        let bytes = received.length as u64 + udp_headers(peer.ip());
        // Without room in the total rate the train is not recorded.
        let mut bucket = self.bucket.iter();
        if is_known && bucket.all(|bucket| bucket.pays(bytes, now)) {
            let at = received.at.unwrap_or_else(clock::realtime);
            self.trains.push(peer, number, at, now);
        }
    }

    /// Starts to send trains to the client of a test that awaits its streams.
    fn begin_trains(&mut self, first: TrainRequest, peer: SocketAddr, to: Option<IpAddr>) {
        let mut running = self.running.values_mut();
        let Some(test) = running.find(|test| test.awaits_trains(&first.cookie, peer.ip())) else {
            return;
        };
        let Ok(socket) = udp_stream(self.server.at_asked(to, self.server.at.port()), peer) else {
            return;
        };
        test.has_trains = true;
        let sender = TrainSender {
            socket,
            bucket: self.bucket.clone(),
            is_opening: test.is_opening.clone(),
        };
        // A client without trains measures nothing.
        let _ = std::thread::Builder::new()
            .name("trains".into())
            .spawn(move || sender.run(first));
    }

    /// Sets the listener's options that must precede acceptance. Returns whether there were any.
    ///
    /// They stay until the test has its connections.
    pub(super) fn change_listener(&self, parameters: &Parameters) -> bool {
        if parameters.window.is_none() && parameters.mss.is_none() {
            return false;
        }
        // A refused option shows where the options are read back.
        let _ = options::apply_before(SockRef::from(&self.server.listener), parameters);
        true
    }

    /// Undoes [`Self::change_listener`] once no test needs it.
    pub(super) fn restore_listener(&mut self) {
        let needs =
            |one: &Running| one.has_changed_listener && one.is_opening.load(Ordering::Acquire);
        if self.is_listener_changed && !self.running.values().any(needs) {
            self.is_listener_changed = false;
            let listener = &self.server.listener;
            let socket = SockRef::from(listener);
            // Linux grants twice what is set. Kernels before 5.14 do not autotune the buffers of
            // later tests, which shows where the options are read back.
            let (send, receive) = self.server.buffers;
            let _ = socket.set_send_buffer_size(send / BUFFER_OVERHEAD as usize);
            let _ = socket.set_recv_buffer_size(receive / BUFFER_OVERHEAD as usize);
            let _ = kernel::unlock_buffers(listener);
            let _ = kernel::limit_mss(listener, None);
        }
    }
}
