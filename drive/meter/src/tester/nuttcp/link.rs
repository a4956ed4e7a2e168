//! Threads of a nuttcp test's streams, and the state that they share.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use gigatcp_app::datagrams::{Source, SourceConfig};
use gigatcp_protocol::iperf3::datagram::StockCounts;
use gigatcp_protocol::nuttcp::Parameters;
use gigatcp_protocol::nuttcp::datagram::{self, MARKER, Receiver, StreamStamp};
use gigatcp_protocol::nuttcp::greeting::Agreed;
use gigatcp_units::Rate;

use super::super::counters::UdpCounts;
use super::super::counters::{Counters, Role};
use super::super::offload::BatchSender;
use super::super::page_aligned::PageAligned;
use super::super::rate_limit::Paid;
use super::super::shared::Shared;
use super::super::socket::Socket;
use super::super::udp::now;
use super::super::{tcp, udp};
use super::turns::Turns;
use crate::View;
use crate::system::lock;
use crate::system::poll::EventFd;
use crate::system::{clock, datagrams};

/// Interval between readings of a sender's retransmissions, which its buffers carry.
const STAMP_STEP: Duration = Duration::from_millis(10);

/// Window of a peer that has not sent one.
const NO_WINDOW: u32 = u32::MAX;

/// State shared by a test's streams beyond [`Shared`].
#[derive(Debug)]
pub(in super::super) struct Link {
    pub(super) parameters: Parameters,
    pub(super) agreed: Agreed,
    pub(super) turns: Turns,
    /// Signaled when a transfer begins or a thread ends.
    pub(super) event_fd: EventFd,
    /// Number of reads or writes of all streams.
    pub(super) calls: AtomicU64,
    /// Retransmissions from the sender's buffers.
    stamped: AtomicU32,
    /// Congestion window in KiB from the sender's buffers.
    window: AtomicU32,
    has_stamps: AtomicBool,
    datagrams: Mutex<Receiver>,
}

impl Link {
    pub(super) fn new(
        parameters: Parameters,
        agreed: Agreed,
        limit: Option<u64>,
    ) -> io::Result<Self> {
        let (streams, block) = (parameters.streams, parameters.buffer_bytes);
        Ok(Self {
            turns: Turns::new(streams.into(), block as usize, limit),
            event_fd: EventFd::new()?,
            calls: AtomicU64::new(0),
            stamped: AtomicU32::new(0),
            window: AtomicU32::new(NO_WINDOW),
            has_stamps: AtomicBool::new(false),
            datagrams: Mutex::new(Receiver::new(&parameters, &agreed)),
            parameters,
            agreed,
        })
    }

    /// Counts of a receiver of datagrams.
    pub(super) fn datagrams(&self) -> MutexGuard<'_, Receiver> {
        lock(&self.datagrams)
    }

    /// Retransmissions, and congestion window in KiB, from the sender's buffers.
    pub(super) fn stamp(&self) -> Option<(u32, Option<u32>)> {
        let window = self.window.load(Ordering::Acquire);
        let window = (window != NO_WINDOW).then_some(window);
        let stamped = self.stamped.load(Ordering::Acquire);
        self.has_stamps
            .load(Ordering::Acquire)
            .then_some((stamped, window))
    }

    /// Runs the thread of the stream at a position in the order of ports.
    pub(in super::super) fn work(
        &self,
        (place, role): (usize, Role),
        socket: &Socket,
        counters: &Counters,
        shared: &Shared,
    ) -> io::Result<()> {
        match (socket, role) {
            (Socket::Tcp(socket), Role::Sender) => self.send(place, socket, counters, shared),
            (Socket::Tcp(socket), Role::Receiver) => self.receive(socket, counters, shared),
            (Socket::Udp(socket), Role::Sender) => self.send_datagrams(socket, counters, shared),
            (Socket::Udp(socket), Role::Receiver) => {
                self.receive_datagrams(socket, counters, shared)
            }
            // The client does not open others.
            _ => Err(ErrorKind::Unsupported.into()),
        }
    }

    /// Signals that a thread has ended.
    pub(in super::super) fn wake(&self) {
        self.event_fd.wake();
    }

    /// Sends whole buffers in turn. The end of the stream is the end of the transfer.
    fn send(
        &self,
        place: usize,
        mut socket: &TcpStream,
        counters: &Counters,
        shared: &Shared,
    ) -> io::Result<()> {
        let mut block = tcp::payload(shared.block);
        if self.agreed.retransmission_stamps {
            StreamStamp::mark(&mut block);
        }
        shared.switch.wait();
        let mut pace = Pace::new(self, shared);
        let (mut calls, mut looked) = (0_u64, Instant::now());
        let mut paid = Paid::default();
        loop {
            pace.wait(counters, shared);
            let Some(length) = self.turns.take(place, &|| shared.switch.is_stopped()) else {
                break;
            };
            let mut rest = &block[..length];
            while !rest.is_empty() {
                calls += 1;
                let written = counters.bytes.load(Ordering::Acquire);
                shared.limit.pay_headers(socket, written, &mut paid);
                let allowed = shared.limit.send(rest.len(), counters, &shared.switch);
                // A buffer that is begun is sent to its end, even if the test is over.
                let length = match allowed {
                    0 => shared.limit.finish(rest.len())?,
                    allowed => allowed,
                };
                match socket.write(&rest[..length]) {
                    Ok(written) => {
                        counters.add(written);
                        rest = &rest[written..];
                    }
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            }
            pace.sent(length);
            if self.agreed.retransmission_stamps && (calls == 1 || looked.elapsed() > STAMP_STEP) {
                looked = Instant::now();
                let view = View::of(socket)?;
                let retransmissions = view.retransmitted_segments as u32;
                let window_kib = (view.cwnd.as_u64() >> 10) as u32;
                let stamp = StreamStamp {
                    retransmissions,
                    window_kib: self.agreed.window_stamps.then_some(window_kib),
                };
                stamp.write(&mut block);
            }
        }
        self.calls.fetch_add(calls, Ordering::AcqRel);
        socket.shutdown(Shutdown::Write)
    }

    /// Reads to the end of the stream, buffer by buffer, as buffers carry stamps.
    fn receive(
        &self,
        mut socket: &TcpStream,
        counters: &Counters,
        shared: &Shared,
    ) -> io::Result<()> {
        shared.switch.wait();
        let mut buffer = PageAligned::zeroed(shared.block);
        let (mut filled, mut calls, mut is_marked) = (0, 0_u64, None);
        let mut paid = Paid::default();
        while !shared.switch.is_stopped() {
            calls += 1;
            match socket.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(read) => {
                    counters.add(read);
                    filled += read;
                    shared.limit.pay_headers(socket, u64::MAX, &mut paid);
                    shared.limit.received(read, counters, &shared.switch);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
            if filled < buffer.len() {
                continue;
            }
            filled = 0;
            if !self.agreed.retransmission_stamps {
                continue;
            }
            if *is_marked.get_or_insert_with(|| StreamStamp::is_marked(&buffer)) {
                self.note(StreamStamp::read(&buffer));
            }
        }
        self.calls.fetch_add(calls, Ordering::AcqRel);
        Ok(())
    }

    fn note(&self, stamp: Option<StreamStamp>) {
        let Some(stamp) = stamp else { return };
        self.stamped.store(stamp.retransmissions, Ordering::Release);
        let window = stamp.window_kib.unwrap_or(NO_WINDOW);
        self.window.store(window, Ordering::Release);
        self.has_stamps.store(true, Ordering::Release);
    }

    /// Sends datagrams at the requested rate, each with the header the receiver requires.
    fn send_datagrams(
        &self,
        socket: &UdpSocket,
        counters: &Counters,
        shared: &Shared,
    ) -> io::Result<()> {
        let size = shared.block;
        let rate = shared.parameters.bandwidth.map(Rate::from_bps);
        let config = SourceConfig {
            rate: rate.filter(|_| !self.parameters.instantaneous),
            instantaneous: rate.filter(|_| self.parameters.instantaneous),
            size: size as u32,
            burst: self.parameters.burst.max(1).into(),
            count: None,
            span: None,
        };
        let mut source = Source::new(config);
        let payload = tcp::payload(size);
        let mut batch = payload.repeat(datagrams::MAX_BATCH);
        let together = shared.limit.batch(datagrams::MAX_BATCH, size);
        let mut sender = BatchSender::new(socket, size, shared.offload, counters);
        // Without it a sleep ends up to 50 us late; the average rate holds anyway.
        let _ = clock::minimize_timer_slack();
        shared.switch.wait();
        source.start(now());
        let (mut sent, mut calls, mut is_done) = (0_u64, 0_u64, false);
        while !is_done && !shared.switch.is_stopped() {
            if shared.switch.wait_for_pause() {
                // What was not sent in the pause is not made up for.
                source = Source::new(config);
                source.start(now());
            }
            let due_at = now();
            let mut count = 0;
            for place in batch.chunks_exact_mut(size).take(together) {
                if source.poll_send(due_at).is_none() {
                    break;
                }
                is_done = self.turns.take(0, &|| false).is_none();
                if is_done {
                    break;
                }
                sent += size as u64;
                if self.agreed.datagram_counts {
                    datagram::write_count(sent, place);
                }
                count += 1;
            }
            if count > 0 {
                if !(shared.limit).send_datagrams((count, size), counters, &shared.switch) {
                    break;
                }
                sender.send(&batch[..count * size])?;
                calls += count as u64;
            }
            if !is_done {
                udp::sleep_until_due(&source);
            }
        }
        self.calls.fetch_add(calls, Ordering::AcqRel);
        Ok(())
    }

    /// Counts datagrams from the first marker to the last.
    fn receive_datagrams(
        &self,
        socket: &UdpSocket,
        counters: &Counters,
        shared: &Shared,
    ) -> io::Result<()> {
        udp::prepare_receiver(socket)?;
        let size = shared.block.max(udp::MIN_PLACE);
        let mut buffer = vec![0; size * datagrams::MAX_BATCH];
        let (mut drops, mut calls, mut is_finished) = (0, 0_u64, false);
        while !is_finished && !shared.switch.is_stopped() {
            let Some(received) = udp::receive_batch(socket, &mut buffer, size)? else {
                continue;
            };
            let arrived_at = now();
            let (mut bytes, mut arrived) = (0, (0, 0));
            let mut receiver = self.datagrams();
            let was_receiving = receiver.is_receiving();
            for message in received.messages(&buffer, size) {
                let length = message.bytes().len();
                arrived = (arrived.0 + 1, arrived.1 + length as u64);
                receiver.on_datagram(arrived_at, message.bytes());
                bytes += if length > MARKER { length } else { 0 };
                calls += 1;
                drops = message.drops.map_or(drops, u64::from);
            }
            counters.add(bytes);
            let counts = udp_counts(&receiver, shared.block as u64, drops);
            let received = counts.report.received;
            counters.datagrams.store(received, Ordering::Release);
            *lock(&counters.udp) = counts;
            shared.limit.received_datagrams(arrived.0, arrived.1)?;
            is_finished = receiver.is_finished();
            if was_receiving != receiver.is_receiving() {
                self.event_fd.wake();
            }
        }
        self.calls.fetch_add(calls, Ordering::AcqRel);
        Ok(())
    }
}

/// Converts the counts of nuttcp's receiver to those of all tests.
fn udp_counts(receiver: &Receiver, datagram: u64, drops: u64) -> UdpCounts {
    let total = receiver.total();
    let received = total.bytes.as_u64() / datagram.max(1);
    let (lost, sent) = total
        .loss
        .map_or((0, received), |loss| (loss.lost, loss.sent));
    let mut counts = UdpCounts {
        stock: StockCounts {
            packets: sent,
            errors: lost,
            out_of_order: 0,
        },
        socket_drops: drops,
        ..UdpCounts::default()
    };
    counts.report.received = received;
    counts.report.lost = lost.max(0).unsigned_abs();
    counts.report.jitter = total.jitter.unwrap_or_default().mean;
    counts
}

/// Pacing of a TCP sender: on average, or at every instant.
struct Pace {
    rate: Option<u64>,
    is_instantaneous: bool,
    burst: u64,
    buffers: u64,
    due: Instant,
}

impl Pace {
    fn new(link: &Link, shared: &Shared) -> Self {
        Self {
            rate: shared.parameters.bandwidth,
            is_instantaneous: link.parameters.instantaneous,
            burst: link.parameters.burst.max(1).into(),
            buffers: 0,
            due: Instant::now(),
        }
    }

    /// Waits until the next buffer is due or the test is over.
    fn wait(&mut self, counters: &Counters, shared: &Shared) {
        if self.rate.is_some() && self.buffers.is_multiple_of(self.burst) {
            tcp::wait_until(self.due, counters, &shared.switch);
            if self.is_instantaneous {
                self.due = self.due.max(Instant::now());
            }
        }
    }

    fn sent(&mut self, length: usize) {
        self.buffers += 1;
        if let Some(rate) = self.rate {
            self.due += tcp::time_for(length as u64, rate);
        }
    }
}
