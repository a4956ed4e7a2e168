//! One test of a server with a nuttcp client, on its own thread.

use std::io;
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant};

use gigatcp_protocol::nuttcp::output::interval::Interval as Line;
use gigatcp_protocol::nuttcp::output::{CongestionWindow, Retransmissions};
use gigatcp_protocol::nuttcp::server::Event;
use gigatcp_protocol::nuttcp::{ACCEPT_TIMEOUT, CONNECT_PAUSE, Output, Side};
use socket2::{Domain, SockRef};

use super::super::counters::Role;
use super::super::outcome::{Interval, Outcome};
use super::super::session::Ended;
use super::super::socket::Socket;
use super::super::traffic::{Ends, Progress, Traffic};
use super::super::wire::Arrival;
use super::super::{options, request};
use super::figures;
use super::link::Link;
use super::ports;
use super::served::Served;
use super::transfer::{Transfer, TransferChange, port_of};
use crate::system::fd::AsFd;

/// Maximum time without data: of UDP, where the sender does not notice, and of TCP.
pub(in super::super) const IDLE: [Duration; 2] = [Duration::from_secs(10), Duration::from_secs(60)];

/// Time in which a client may still read its data after the test.
pub(in super::super) const RESET_AFTER: Duration = Duration::from_secs(10);

/// End of a test whose client has gone.
const CLOSED: &str = "the client has closed";

/// Runs a test to its end. `opened` is called once the data connections exist.
pub(in super::super) fn serve(
    mut served: Served,
    interval: Option<Duration>,
    stops: &dyn Fn() -> bool,
    opened: impl FnOnce(),
    report: &mut dyn FnMut(Progress<'_>),
) -> Ended {
    served.server.accept();
    let mut transfer = match transfer(&served, interval) {
        Ok(transfer) => transfer,
        Err(error) => return Ended::without_data(error.to_string()),
    };
    let mut stamped = 0;
    let accepted = streams(&mut served, stops);
    opened();
    if let Err(error) = accepted.and_then(|streams| transfer.open(streams)) {
        return Ended::without_data(error.to_string());
    }
    let connected = figures::connected(&transfer.traffic);
    served.server.streams_connected(&connected);
    let end = 'test: loop {
        while let Some(output) = served.server.poll_output() {
            match output {
                Output::Close => break 'test "done".to_owned(),
                Output::Event(Event::Failed(error)) => break 'test error.to_string(),
                Output::Event(Event::ClientClosed) => {
                    transfer.end(report);
                    let end = match transfer.has_end() {
                        true => "done",
                        false => CLOSED,
                    };
                    break 'test finish(&mut served, &transfer, end);
                }
                Output::Event(Event::Requested(..)) | Output::ShutdownWrite => {}
                output => served.send(&output),
            }
        }
        if stops() {
            transfer.end(report);
            break finish(&mut served, &transfer, "the server has terminated");
        }
        if transfer.is_late(Instant::now()) {
            transfer.end(report);
            break finish(&mut served, &transfer, "the client sends for too long");
        }
        if transfer.idle(Instant::now()) > IDLE[usize::from(!served.wanted.udp)] {
            served.server.abort();
            transfer.end(report);
            break finish(&mut served, &transfer, "no data came for too long");
        }
        let control = served.wire.stream();
        if let Some(code) = (served.allowance).exceeded(control, &mut transfer.traffic) {
            served.server.abort();
            transfer.end(report);
            break finish(&mut served, &transfer, &code.to_string());
        }
        step(&mut served, &mut transfer, &mut stamped, report);
    };
    transfer.end(report);
    // The results come before the rest of the data is read.
    let longest = if end == CLOSED {
        Duration::ZERO
    } else {
        RESET_AFTER
    };
    transfer.traffic.drain(longest, stops);
    let cut_short = (end != "done").then(|| end.clone());
    let has_data = transfer.traffic.started_at.is_some();
    Ended {
        outcome: has_data.then(|| outcome(&served, &transfer, cut_short)),
        ..Ended::without_data(end)
    }
}

/// Sends the results to the client, whatever else it requested.
fn finish(served: &mut Served, transfer: &Transfer, end: &str) -> String {
    queue_results(served, transfer);
    served.flush();
    end.to_owned()
}

/// Queues the results, and to a client of this project the readings.
fn queue_results(served: &mut Served, transfer: &Transfer) {
    if served.wanted.private {
        let samples = transfer.traffic.samples().to_json();
        served.server.private(&samples.to_string());
    }
    served.server.finished(&figures::totals(transfer));
}

/// Transfer that the client requests, without streams.
fn transfer(served: &Served, interval: Option<Duration>) -> io::Result<Transfer> {
    let wanted = &served.wanted;
    let block = wanted.buffer_bytes as usize;
    let own = Duration::from(wanted.interval);
    let interval = if own.is_zero() { interval } else { Some(own) };
    let spans = (interval, request::SAMPLING);
    let mut traffic = Traffic::new(super::common(wanted), block, spans);
    served.allowance.apply(&mut traffic);
    let limit = wanted
        .buffers
        .map(|buffers| buffers.saturating_mul(block as u64));
    let link = Link::new(wanted.clone(), served.agreed, limit)?;
    let role = match wanted.client {
        Side::Transmitter => Role::Receiver,
        Side::Receiver => Role::Sender,
    };
    Ok(Transfer::new(traffic, Arc::new(link), role))
}

/// Data streams: from the thread that accepts them, or opened from here.
fn streams(served: &mut Served, stops: &dyn Fn() -> bool) -> io::Result<Vec<Socket>> {
    let deadline = Instant::now() + Duration::from(ACCEPT_TIMEOUT);
    served.flush();
    let count = usize::from(served.wanted.streams);
    if ports::awaited(&served.wanted).is_none() {
        let open = |place| open(served, place, deadline, stops);
        return (0..count).map(open).collect();
    }
    while Instant::now() < deadline && !stops() {
        if let Some(sockets) = served.mailbox.take(count) {
            return Ok(sockets);
        }
        let waker = Some(served.mailbox.event_fd.as_fd());
        if let Arrival::Closed = served.wire.receive(Some(deadline), waker) {
            return Err(io::Error::other("the client has closed"));
        }
    }
    Err(io::Error::other("the data streams did not come"))
}

/// Opens a stream to the client, which may begin to listen late.
fn open(
    served: &Served,
    place: usize,
    deadline: Instant,
    stops: &dyn Fn() -> bool,
) -> io::Result<Socket> {
    let client = SocketAddr::new(served.peer.ip().to_canonical(), 0);
    let to = port_of(client, served.wanted.port, place);
    let parameters = super::common(&served.wanted);
    loop {
        let socket = options::socket(Domain::for_address(to), &parameters)?;
        if served.wanted.udp {
            socket.connect(&to.into())?;
            return Ok(Socket::Udp(UdpSocket::from(socket)));
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() || stops() {
            return Err(io::Error::other(format!(
                "the client does not accept at {to}"
            )));
        }
        match socket.connect_timeout(&to.into(), left) {
            Ok(()) => return Ok(Socket::Tcp(TcpStream::from(socket))),
            Err(_) => std::thread::sleep(CONNECT_PAUSE.into()),
        }
    }
}

/// Waits for the next event.
fn step(
    served: &mut Served,
    transfer: &mut Transfer,
    stamped: &mut u32,
    report: &mut dyn FnMut(Progress<'_>),
) {
    let waker = Some(transfer.link.event_fd.as_fd());
    match served.wire.receive(transfer.poll_timeout(), waker) {
        Arrival::Bytes(bytes) => served.server.handle_bytes(&bytes),
        Arrival::Nothing => {}
        Arrival::Closed => served.server.handle_closed(),
    }
    transfer.link.event_fd.clear();
    let mut intervals = Vec::new();
    let mut both = |progress: Progress<'_>| {
        if let Progress::Interval(interval) = &progress {
            intervals.push((*interval).clone());
        }
        report(progress);
    };
    let mut begun = false;
    while let Some(found) = transfer.poll_change(Instant::now(), &mut both) {
        begun |= found == TransferChange::Begun;
    }
    for interval in &intervals {
        served.server.interval(line(transfer, interval, stamped));
    }
    if begun {
        report(Progress::Started(&outcome(served, transfer, None)));
    }
    if transfer.is_peer_notified() {
        queue_results(served, transfer);
    }
}

/// Line of an interval; `stamped` are the retransmissions that the sender's buffers had before.
fn line(transfer: &Transfer, interval: &Interval, stamped: &mut u32) -> Line {
    let streams = transfer.traffic.outcomes();
    let mut line = figures::interval(&streams, interval, transfer.role);
    if let Some((count, window)) = transfer.link.stamp() {
        let more = count.saturating_sub(*stamped);
        *stamped = count;
        line.retransmissions = Some(Retransmissions::new(more));
        line.congestion_window = window.map(CongestionWindow::new);
    }
    if transfer.link.parameters.udp {
        line.jitter = transfer.link.datagrams().take_interval().jitter;
    }
    line
}

fn outcome(served: &Served, transfer: &Transfer, cut_short: Option<String>) -> Outcome {
    let ends = Ends {
        protocol: request::Protocol::Nuttcp,
        peer: (&served.peer.ip().to_canonical().to_string(), served.port),
        cookie: served.cookie,
        control_mss: options::mss(&SockRef::from(served.wire.stream())).unwrap_or(0),
    };
    Outcome {
        cut_short,
        ..transfer.traffic.outcome(&ends)
    }
}
