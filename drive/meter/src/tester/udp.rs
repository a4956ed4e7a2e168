//! What the thread of a UDP stream does: send datagrams at a rate, or count them.

use std::io::{self, ErrorKind};
use std::net::UdpSocket;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time;

use gigatcp_app::datagrams::{Datagram, Sink, Source, SourceConfig};
use gigatcp_protocol::iperf3::clock as clock_exchange;
use gigatcp_protocol::iperf3::datagram::{Header, MIN_SIZE, StockCounts};
use gigatcp_units::{Instant, Rate};

use super::outcome::UdpCounts;
use super::stream::{Counters, Shared};
use crate::system::datagrams::{self, MAX_BATCH};
use crate::system::{NO_BUFFERS, clock};

/// Longest wait of a thread before it looks at the switch.
const MAX_WAIT: time::Duration = time::Duration::from_millis(100);

/// Smallest place for a datagram whose size the peer chose.
const MIN_PLACE: usize = 2048;

/// The monotonic clock, which a datagram's header carries.
fn now() -> Instant {
    Instant::from_nanos(clock::monotonic().unsigned_abs())
}

/// Sends datagrams at the rate requested: those that are due leave by one system call.
pub(super) fn send(socket: &UdpSocket, counters: &Counters, shared: &Shared) -> io::Result<()> {
    let parameters = &shared.parameters;
    let size = shared.block.max(MIN_SIZE);
    let mut source = Source::new(SourceConfig {
        rate: parameters.bandwidth.map(Rate::from_bps),
        instantaneous: None,
        size: size as u32,
        burst: parameters.burst.unwrap_or(1).into(),
        count: None,
        span: None,
    });
    let mut batch = vec![0; size * MAX_BATCH];
    // Without it a sleep ends up to 50 us late; the average rate holds anyway.
    let _ = clock::wake_sharply();
    shared.switch.wait();
    source.start(now());
    let mut seq = 0;
    while !shared.switch.is_stopped() {
        let sent_at = now();
        let mut count = 0;
        for place in batch.chunks_exact_mut(size) {
            if source.poll_send(sent_at).is_none() {
                break;
            }
            let allowed = shared.budget.take(size);
            if allowed < size {
                shared.budget.give_back(allowed);
                break;
            }
            seq += 1;
            Header { sent_at, seq }.write(place, parameters.udp_counters_64bit);
            count += 1;
        }
        let is_due = source.poll_timeout() <= now();
        if count == 0 && is_due {
            // The budget is spent.
            break;
        }
        send_all(socket, &batch[..count * size], size, counters)?;
        if !is_due {
            let left = source.poll_timeout().saturating_since(now());
            std::thread::sleep(time::Duration::from_nanos(left.as_nanos()).min(MAX_WAIT));
        }
    }
    Ok(())
}

/// Sends a batch, however many calls that takes.
pub(super) fn send_all(
    socket: &UdpSocket,
    mut batch: &[u8],
    size: usize,
    counters: &Counters,
) -> io::Result<()> {
    while !batch.is_empty() {
        match datagrams::send(socket, batch, size) {
            Ok(sent) => {
                counters.add(sent * size);
                counters.datagrams.fetch_add(sent as u64, Ordering::Release);
                batch = &batch[sent * size..];
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // The interface's queue is full (ENOBUFS).
            Err(error) if error.raw_os_error() == Some(NO_BUFFERS) => std::thread::yield_now(),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Counts datagrams until the test is over. Those of one system call count as arrived together:
/// jitter is exact while datagrams come one by one.
pub(super) fn receive(socket: &UdpSocket, counters: &Counters, shared: &Shared) -> io::Result<()> {
    socket.set_read_timeout(Some(MAX_WAIT))?;
    datagrams::report_drops(socket)?;
    let size = shared.block.max(MIN_PLACE);
    let mut buffer = vec![0; size * MAX_BATCH];
    let is_64bit = shared.parameters.udp_counters_64bit;
    let has_clock = clock_exchange::is_announced(&shared.parameters);
    let (mut sink, mut stock) = (Sink::new(), StockCounts::default());
    let mut drops = 0;
    shared.switch.wait();
    while !shared.switch.is_stopped() {
        let received = match datagrams::receive(socket, &mut buffer, size) {
            Ok(received) => received,
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => continue,
                _ => return Err(error),
            },
        };
        let arrived_at = now();
        let mut bytes = 0;
        let mut delays = counters
            .delays
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        for (datagram, length) in buffer.chunks_exact(size).zip(received.lengths()) {
            let header = Header::read(&datagram[..length], is_64bit);
            // A reply that came late, or a number of no datagram.
            let Some(header) = header.filter(|header| header.seq > 0) else {
                continue;
            };
            bytes += length;
            stock.handle_datagram(header.seq);
            if has_clock {
                delays.push(arrived_at, header.sent_at);
            }
            let seq = header.seq - 1;
            let size = length as u32;
            sink.handle_datagram(arrived_at, header.sent_at, Datagram { seq, size });
        }
        drop(delays);
        drops = received.drops.map_or(drops, u64::from);
        counters.add(bytes);
        let report = sink.report();
        counters.datagrams.store(report.received, Ordering::Release);
        *counters.udp.lock().unwrap_or_else(PoisonError::into_inner) = UdpCounts {
            stock,
            report,
            socket_drops: drops,
        };
    }
    Ok(())
}
