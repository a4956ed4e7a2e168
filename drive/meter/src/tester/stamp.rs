//! A Session-Sender of STAMP (RFC 8762): one-way delays, RTT and losses against any reflector,
//! which need not be of this project. Reflectors of TWAMP Light (RFC 5357 Appendix I) answer as well.
//!
//! A packet has four times: sent here (t1), received there (t2), returned there (t3), received here
//! (t4). The clocks differ by an offset, which is estimated as in NTP (RFC 5905 section 8) from the
//! packets with the smallest RTTs of the first and of the last third of the test:
//!
//! ```text
//! rtt    = (t4 - t1) - (t3 - t2)                                        (1)
//! offset = ((t2 - t1) - (t4 - t3)) / 2,  wrong by at most rtt / 2       (2)
//! ```
//!
//! Between both it is interpolated, which removes a constant drift. An asymmetric path shifts the
//! delays of both directions by opposite amounts within that bound, and cannot be detected. The
//! changes of a delay do not depend on it.
//!
//! t2 and t3 are the reflector's; t4 is the kernel's arrival time where it has one.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use gigatcp_protocol::iperf3::clock::{ClockOffset, Clocks};
use gigatcp_protocol::stamp::{self, Reflected};
use gigatcp_units::{Instant as Time, histogram::Histogram};
use socket2::{Domain, Socket, Type};

use super::client::{bind, first_address};
use super::delay::{DelayLog, OneWayDelay, ReceivedBy};
use super::outcome::TestError;
use super::request::Request;
use crate::system::fd::AsFd;
use crate::system::{clock, poll, socket as kernel};

/// Wait for the last answers.
const LAST: Duration = Duration::from_secs(2);

/// Maximum number of answers read before the time is looked at.
const MAX_ARRIVALS: usize = 256;

/// ICMP errors that say that a port is closed, without any answer.
const MAX_REFUSALS: u32 = 3;

/// Packets whose send time is known: their answers are awaited.
const OUTSTANDING: usize = 1 << 12;

/// Result of a test.
#[derive(Clone, Debug)]
pub struct StampOutcome {
    /// The reflector, as it was named.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Bytes of a packet's payload.
    pub length: usize,
    /// Packets sent.
    pub sent: u64,
    /// Answers, each packet's first.
    pub received: u64,
    /// Further answers to a packet.
    pub duplicates: u64,
    /// Answers to packets before that of the last answer.
    pub reordered: u64,
    /// Packets lost towards the reflector, and from it, before the last answered packet; `None`:
    /// the reflector does not count (it is stateless), or nothing was lost.
    pub lost_there_and_back: Option<[u64; 2]>,
    /// Round-trip times without the time at the reflector.
    pub rtts: Histogram<7>,
    /// Delays towards the reflector.
    pub there: Option<OneWayDelay>,
    /// Delays from the reflector.
    pub back: Option<OneWayDelay>,
    /// Whether the reflector says that its clock is synchronized to UTC.
    pub is_synchronized: bool,
    /// TTL, or hop limit, with which the last packet arrived there; `None`: unknown.
    pub ttl: Option<u8>,
    /// Whether the user ended the test.
    pub is_interrupted: bool,
}

/// Runs a test of the requested time, with a packet of `length` bytes in each interval.
///
/// # Errors
/// [`TestError`] if the host has no address, or the socket fails. Without any answer it is
/// [`TestError::NoAnswer`].
pub fn run(
    request: &Request,
    interval: Duration,
    length: usize,
    stops: &dyn Fn() -> bool,
) -> Result<StampOutcome, TestError> {
    let (socket, to) = first_address(request, stops, |request, to| {
        connect(request, to).map_err(|cause| TestError::Connect { to, cause })
    })?;
    let mut sender = Sender::new(socket, length.max(stamp::LENGTH));
    let failed = |cause| TestError::Connect { to, cause };
    let start = Instant::now();
    let end = start + Duration::from_secs(request.parameters.time.into());
    let mut due = start;
    while !stops() && (request.parameters.time == 0 || due < end) {
        sender.send().map_err(failed)?;
        due += interval;
        // After a pause of this host packets are not sent in a burst.
        due = due.max(Instant::now());
        sender.receive_until(due).map_err(failed)?;
    }
    let is_interrupted = stops();
    let last = Instant::now() + LAST;
    while sender.received < sender.sent() && Instant::now() < last && !is_interrupted {
        let step = Instant::now() + Duration::from_millis(50);
        sender.receive_until(step.min(last)).map_err(failed)?;
    }
    if sender.received == 0 {
        if is_interrupted {
            return Err(TestError::Stopped);
        }
        let timeout = start.elapsed();
        return Err(TestError::NoAnswer { to, timeout });
    }
    Ok(StampOutcome {
        is_interrupted,
        ..sender.outcome(request)
    })
}

fn connect(request: &Request, to: SocketAddr) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(to), Type::DGRAM, None)?;
    bind(&socket, request, to, request.client_port)?;
    if let Some(tos) = request.parameters.tos {
        super::options::set_tos(&socket2::SockRef::from(&socket), tos)?;
    }
    let socket = UdpSocket::from(socket);
    socket.connect(to)?;
    socket.set_nonblocking(true)?;
    // Without it arrivals have the time at which they are read.
    let _ = kernel::stamp_arrivals(&socket);
    Ok(socket)
}

/// Offsets of the clocks in bounded memory: the one with the smallest RTT of each group of
/// consecutive packets.
#[derive(Debug, Default)]
struct Offsets {
    best: Vec<ClockOffset>,
    /// Packets of a full group, as a power of two, and of the last one.
    log_size: u32,
    count: u32,
}

/// Maximum number of groups; a full list merges them in pairs.
const MAX_GROUPS: usize = 96;

impl Offsets {
    fn push(&mut self, offset: ClockOffset) {
        match self
            .best
            .last_mut()
            .filter(|_| self.count < 1 << self.log_size)
        {
            Some(last) if last.rtt <= offset.rtt => {}
            Some(last) => *last = offset,
            None => {
                self.best.push(offset);
                self.count = 0;
            }
        }
        self.count += 1;
        if self.best.len() >= MAX_GROUPS && self.count == 1 << self.log_size {
            let pairs = self.best.chunks(2);
            self.best = pairs.filter_map(best).collect();
            self.log_size += 1;
            self.count = 1 << self.log_size;
        }
    }

    /// The offsets of the first and of the last third; `None` without packets.
    fn clocks(&self) -> Option<Clocks> {
        let third = self.best.len().div_ceil(3);
        let [start, end] = match self.best.len() {
            // A drift is not seen in so short a time.
            0..3 => [best(&self.best)?; 2],
            length => [
                best(&self.best[..third])?,
                best(&self.best[length - third..])?,
            ],
        };
        Some(Clocks { start, end })
    }
}

/// The offset with the smallest RTT.
fn best(offsets: &[ClockOffset]) -> Option<ClockOffset> {
    offsets.iter().min_by_key(|offset| offset.rtt).copied()
}

/// Packets that were sent, and what their answers say.
struct Sender {
    socket: UdpSocket,
    packet: Vec<u8>,
    /// Send times by sequence number; `None`: answered.
    outstanding: Vec<Option<u64>>,
    next: u32,
    received: u64,
    /// Packets for which an ICMP error said that the port is closed.
    refusals: u32,
    duplicates: u64,
    reordered: u64,
    last: Option<Reflected>,
    is_stateful: bool,
    rtts: Histogram<7>,
    there: DelayLog,
    back: DelayLog,
    offsets: Offsets,
}

impl Sender {
    fn new(socket: UdpSocket, length: usize) -> Self {
        Self {
            socket,
            packet: vec![0; length],
            outstanding: vec![None; OUTSTANDING],
            next: 0,
            received: 0,
            refusals: 0,
            duplicates: 0,
            reordered: 0,
            last: None,
            is_stateful: false,
            rtts: Histogram::default(),
            there: DelayLog::default(),
            back: DelayLog::default(),
            offsets: Offsets::default(),
        }
    }

    fn sent(&self) -> u64 {
        self.next.into()
    }

    fn send(&mut self) -> io::Result<()> {
        let place = self.next as usize % OUTSTANDING;
        let now = clock::realtime().unsigned_abs();
        stamp::write(&mut self.packet, self.next, now);
        self.outstanding[place] = Some(now);
        self.next = self.next.wrapping_add(1);
        match self.socket.send(&self.packet) {
            Ok(_) => Ok(()),
            // A full queue loses the packet. An ICMP error of an earlier one is shown here.
            Err(error) => self.handle_error(error),
        }
    }

    /// Handles answers until a time.
    fn receive_until(&mut self, due: Instant) -> io::Result<()> {
        let mut answer = vec![0; self.packet.len().max(stamp::LENGTH) + 1];
        loop {
            let wait = due.saturating_duration_since(Instant::now());
            poll::wait_to_read([self.socket.as_fd()], wait)?;
            for _ in 0..MAX_ARRIVALS {
                match kernel::receive_stamped(&self.socket, &mut answer) {
                    Ok(received) => {
                        let at = received.at.unwrap_or_else(clock::realtime).unsigned_abs();
                        if let Some(reflected) = Reflected::read(&answer[..received.length]) {
                            self.handle(reflected, at);
                        }
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    Err(error) => self.handle_error(error)?,
                }
            }
            if Instant::now() >= due {
                return Ok(());
            }
        }
    }

    /// An error that loses a packet ends nothing, unless the port is closed from the start.
    fn handle_error(&mut self, error: io::Error) -> io::Result<()> {
        self.refusals += u32::from(error.kind() == io::ErrorKind::ConnectionRefused);
        let is_closed = self.received == 0 && self.refusals >= MAX_REFUSALS;
        if is_loss(&error) && !is_closed {
            return Ok(());
        }
        Err(error)
    }

    /// Handles an answer that arrived at `t4`.
    fn handle(&mut self, reflected: Reflected, t4: u64) {
        let age = self.next.wrapping_sub(reflected.sequence) as usize;
        if !(1..=OUTSTANDING).contains(&age) {
            return;
        }
        let place = reflected.sequence as usize % OUTSTANDING;
        let Some(t1) = self.outstanding[place].take() else {
            self.duplicates += 1;
            return;
        };
        self.received += 1;
        let is_later = |last: &Reflected| last.sequence > reflected.sequence;
        if self.last.as_ref().is_some_and(is_later) {
            self.reordered += 1;
        } else {
            self.last = Some(reflected);
        }
        self.is_stateful |= reflected.sequence != reflected.reflector_sequence;
        let (t2, t3) = (reflected.received_ns, reflected.returned_ns);
        // Equation (1). A reflector's clock may be set between its times.
        let there_and_back = t4.saturating_sub(t1);
        let rtt = there_and_back.saturating_sub(t3.saturating_sub(t2));
        self.rtts.count(gigatcp_units::Duration::from_nanos(rtt));
        self.there.push(Time::from_nanos(t2), Time::from_nanos(t1));
        self.back.push(Time::from_nanos(t4), Time::from_nanos(t3));
        self.offsets.push(ClockOffset::between([t1, t2, t3, t4]));
    }

    fn outcome(self, request: &Request) -> StampOutcome {
        let clocks = self.offsets.clocks();
        let delay = |log: &DelayLog, by| {
            clocks.and_then(|clocks| OneWayDelay::of(log.strata().iter(), by, &clocks))
        };
        // The reflector has counted the packets up to the last answered one.
        let lost = self.last.filter(|_| self.is_stateful).map(|last| {
            let there = u64::from(last.sequence.saturating_sub(last.reflector_sequence));
            let arrived = u64::from(last.reflector_sequence) + 1;
            [there, arrived.saturating_sub(self.received)]
        });
        StampOutcome {
            host: request.host.clone(),
            port: request.port,
            length: self.packet.len(),
            sent: self.sent(),
            received: self.received,
            duplicates: self.duplicates,
            reordered: self.reordered,
            lost_there_and_back: lost,
            there: delay(&self.there, ReceivedBy::Server),
            back: delay(&self.back, ReceivedBy::Client),
            rtts: self.rtts,
            is_synchronized: self.last.is_some_and(|last| last.is_synchronized),
            ttl: self.last.map(|last| last.ttl).filter(|ttl| *ttl > 0),
            is_interrupted: false,
        }
    }
}

/// Whether an error means that a packet was lost: a full queue, or an ICMP error.
fn is_loss(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionRefused, HostUnreachable, NetworkUnreachable, WouldBlock};
    matches!(
        error.kind(),
        ConnectionRefused | HostUnreachable | NetworkUnreachable | WouldBlock
    ) || error.raw_os_error() == Some(crate::system::NO_BUFFERS)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet sent at `t1` (us) to a reflector whose clock is 5 s ahead and gains 50 ppm. The
    /// delays are 1 ms each way; queues lengthen them.
    fn times(t1: u64, queue_there: u64, queue_back: u64) -> [u64; 4] {
        let theirs = |at: u64| (at + 5_000_000) * 1000 + at / 20;
        let arrived = t1 + 1000 + queue_there;
        let returned = arrived + 300;
        [
            t1 * 1000,
            theirs(arrived),
            theirs(returned),
            (returned + 1000 + queue_back) * 1000,
        ]
    }

    #[test]
    fn offset_and_drift_are_those_of_the_packets_without_queues() {
        for packets in [3, 95, 96, 97, 500, 5000] {
            let mut offsets = Offsets::default();
            let mut last = 0;
            for number in 0..packets {
                last = 20_000 * number;
                // Each fifth packet meets no queue; the others meet one on the way there.
                let queue = 700 * (number % 5);
                offsets.push(ClockOffset::between(times(last, queue, 0)));
            }
            assert!(offsets.best.len() <= MAX_GROUPS);
            let clocks = offsets.clocks().unwrap();
            let at = Time::from_nanos(last * 1000);
            let expected = 5e9 + last as f64 / 20.0;
            let error = (clocks.offset_at(at) - expected).abs();
            // The first packet has no queue, so few packets have an exact offset as well.
            let bound = clocks.uncertainty().as_nanos() as f64;
            assert!(
                error <= bound,
                "{packets} packets: {error} ns, bound {bound}"
            );
            if packets >= 95 {
                assert!(error < 10_000.0, "{packets} packets: {error} ns");
            }
        }
        assert!(Offsets::default().clocks().is_none());
    }
}
