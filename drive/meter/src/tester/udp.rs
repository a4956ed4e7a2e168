//! Thread of a UDP stream: sends datagrams at a rate, or counts them.

use std::io::{self, ErrorKind};
use std::net::UdpSocket;
use std::sync::atomic::Ordering;
use std::time;

use gigatcp_app::datagrams::{Datagram, Sink, Source, SourceConfig};
use gigatcp_protocol::iperf3::clock as clock_exchange;
use gigatcp_protocol::iperf3::datagram::{Header, MIN_SIZE, StockCounts};
use gigatcp_units::{Duration, Instant, Rate};

use super::counters::Counters;
use super::counters::UdpCounts;
use super::offload::{BatchSender, ReceiveBuffer, SocketDrops};
use super::shared::Shared;
use crate::system::clock;
use crate::system::datagrams::{self, MAX_BATCH, Received};
use crate::system::lock;

/// Maximum wait of a thread between checks of the switch.
const MAX_WAIT: time::Duration = time::Duration::from_millis(100);

/// Minimum buffer for a datagram whose size the peer chose.
pub(super) const MIN_PLACE: usize = 2048;

/// Time of the monotonic clock, which a datagram's header carries.
pub(super) fn now() -> Instant {
    Instant::from_nanos(clock::monotonic().unsigned_abs())
}

/// Time between two wakeups of a sender of many datagrams: those that are due together leave
/// together, up to this time late.
const WAKEUP: Duration = Duration::from_micros(500);

/// Sleeps until the source's next datagram is due, at most [`MAX_WAIT`].
pub(super) fn sleep_until_due(source: &Source) {
    sleep_until(source.poll_timeout().unwrap_or(Instant::FAR_FUTURE));
}

fn sleep_until(due: Instant) {
    let left = due.saturating_since(now());
    std::thread::sleep(time::Duration::from(left).min(MAX_WAIT));
}

/// Prepares a socket for [`receive_batch`].
pub(super) fn prepare_receiver(socket: &UdpSocket) -> io::Result<()> {
    socket.set_read_timeout(Some(MAX_WAIT))?;
    datagrams::report_drops(socket)
}

/// Receives messages of at most `place` bytes each; `None` if there were none for [`MAX_WAIT`].
pub(super) fn receive_batch(
    socket: &UdpSocket,
    buffer: &mut [u8],
    place: usize,
) -> io::Result<Option<Received>> {
    match datagrams::receive(socket, buffer, place) {
        Ok(received) => Ok(Some(received)),
        Err(error) => match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => Ok(None),
            _ => Err(error),
        },
    }
}

/// Sends datagrams at the requested rate: those due together leave by one system call.
pub(super) fn send(socket: &UdpSocket, counters: &Counters, shared: &Shared) -> io::Result<()> {
    let parameters = &shared.parameters;
    let size = shared.block.max(MIN_SIZE);
    let config = SourceConfig {
        rate: parameters.bandwidth.map(Rate::from_bps),
        instantaneous: None,
        size: size as u32,
        burst: parameters.burst.unwrap_or(1).into(),
        count: None,
        span: None,
    };
    let mut source = Source::new(config);
    let mut batch = vec![0; size * MAX_BATCH];
    let together = shared.limit.batch(MAX_BATCH, size);
    let mut sender = BatchSender::new(socket, size, shared.offload, counters);
    // Without it a sleep ends up to 50 us late; the average rate holds anyway.
    let _ = clock::minimize_timer_slack();
    shared.switch.wait();
    source.start(now());
    let mut seq = 0;
    while !shared.switch.is_stopped() {
        if shared.switch.wait_for_pause() {
            // What was not sent in the pause is not made up for.
            source = Source::new(config);
            source.start(now());
        }
        let sent_at = now();
        let mut count = 0;
        for place in batch.chunks_exact_mut(size).take(together) {
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
        let due = source.poll_timeout().unwrap_or(Instant::FAR_FUTURE);
        let is_due = due <= now();
        if count == 0 && is_due {
            // The budget is spent.
            break;
        }
        if !(shared.limit).send_datagrams((count, size), counters, &shared.switch) {
            break;
        }
        sender.send(&batch[..count * size])?;
        if !is_due {
            sleep_until(due.max(sent_at + WAKEUP));
        }
    }
    Ok(())
}

/// Counts datagrams until the test is over.
///
/// Those of one system call count as simultaneous arrivals. Jitter is exact while datagrams arrive
/// one by one.
pub(super) fn receive(socket: &UdpSocket, counters: &Counters, shared: &Shared) -> io::Result<()> {
    prepare_receiver(socket)?;
    let size = shared.block.max(MIN_PLACE);
    let mut buffer = ReceiveBuffer::new(socket, size, shared.offload, counters);
    let is_64bit = shared.parameters.udp_counters_64bit;
    let has_clock = clock_exchange::is_announced(&shared.parameters);
    let (mut sink, mut stock) = (Sink::new(), StockCounts::default());
    let mut drops = SocketDrops::default();
    shared.switch.wait();
    while !shared.switch.is_stopped() {
        let Some(received) = receive_batch(socket, &mut buffer.bytes, buffer.place)? else {
            continue;
        };
        let arrived_at = now();
        let (mut bytes, mut arrived) = (0, (0, 0));
        let mut delays = lock(&counters.delays);
        for message in received.messages(&buffer.bytes, buffer.place) {
            let lost_before = sink.report().lost;
            for datagram in message.datagrams() {
                arrived = (arrived.0 + 1, arrived.1 + datagram.len() as u64);
                let header = Header::read(datagram, is_64bit);
                // A late reply, or an invalid sequence number.
                let Some(header) = header.filter(|header| header.seq > 0) else {
                    continue;
                };
                bytes += datagram.len();
                stock.handle_datagram(header.seq);
                if has_clock {
                    delays.push(arrived_at, header.sent_at);
                }
                let (seq, size) = (header.seq - 1, datagram.len() as u32);
                sink.handle_datagram(arrived_at, header.sent_at, Datagram { seq, size });
            }
            let missing = sink.report().lost.saturating_sub(lost_before);
            drops.on_message(message.drops, missing, buffer.joins);
            if message.is_joined() {
                counters.is_offloaded.store(true, Ordering::Release);
            }
        }
        drop(delays);
        counters.add(bytes);
        let report = sink.report();
        counters.datagrams.store(report.received, Ordering::Release);
        *lock(&counters.udp) = UdpCounts {
            stock,
            report,
            socket_drops: drops.datagrams,
        };
        shared.limit.received_datagrams(arrived.0, arrived.1)?;
    }
    Ok(())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use gigatcp_protocol::iperf3::Parameters;
    use socket2::SockRef;

    use super::super::request::Offload;
    use super::super::request::SAMPLING;
    use super::super::traffic::Traffic;
    use super::*;

    const SIZE: usize = 100;

    /// Counts of a receiver of datagrams with these numbers, sent with GSO.
    ///
    /// `early` ones arrive before it reads. Also returns whether any were coalesced.
    fn counted(offload: Offload, early: &[u64], late: &[u64]) -> (UdpCounts, bool) {
        let [from, to] = [0, 1].map(|_| UdpSocket::bind("127.0.0.1:0").unwrap());
        from.connect(to.local_addr().unwrap()).unwrap();
        SockRef::from(&to).set_recv_buffer_size(16 << 10).unwrap();
        let traffic = Traffic::new(Parameters::default(), SIZE, (None, SAMPLING));
        let mut shared = traffic.shared.clone();
        shared.offload = offload;
        let counters = Counters::default();
        let send = |numbers: &[u64]| {
            for some in numbers.chunks(MAX_BATCH) {
                let mut batch = vec![0; SIZE * some.len()];
                for (place, seq) in batch.chunks_exact_mut(SIZE).zip(some) {
                    let (sent_at, seq) = (now(), *seq);
                    Header { sent_at, seq }.write(place, false);
                }
                datagrams::send_segmented(&from, &batch, SIZE).unwrap();
            }
        };
        let last = late.iter().max().copied().unwrap();
        std::thread::scope(|scope| {
            let receiver = scope.spawn(|| receive(&to, &counters, &shared));
            // The receiver waits for the start with its options set.
            std::thread::sleep(time::Duration::from_millis(100));
            send(early);
            shared.switch.start();
            std::thread::sleep(time::Duration::from_millis(100));
            send(late);
            let is_there = || counters.udp.lock().unwrap().stock.packets >= last;
            for _ in 0..500 {
                if is_there() {
                    break;
                }
                std::thread::sleep(time::Duration::from_millis(10));
            }
            shared.switch.stop();
            receiver.join().unwrap().unwrap();
        });
        let counts = *counters.udp.lock().unwrap();
        (counts, counters.is_offloaded.load(Ordering::Acquire))
    }

    #[test]
    fn loss_reordering_and_duplicates_are_the_same_of_joined_datagrams() {
        let numbers = [1, 2, 3, 5, 5, 4, 8, 6, 9, 10];
        let (single, is_joined) = counted(Offload::Off, &[], &numbers);
        assert!(!is_joined);
        let (joined, is_joined) = counted(Offload::Automatic, &[], &numbers);
        assert!(is_joined);
        for counts in [single, joined] {
            let report = counts.report;
            assert_eq!((report.received, report.lost), (9, 1), "{counts:?}");
            assert_eq!((report.duplicates, report.reordered), (1, 2));
            assert_eq!((report.max_extent, report.octets), (1, 900));
            assert_eq!((counts.stock.packets, counts.stock.out_of_order), (10, 3));
            assert_eq!(counts.socket_drops, 0);
        }
    }

    #[test]
    fn datagrams_that_a_full_buffer_drops_together_are_all_counted() {
        // Number 2 was lost elsewhere.
        let early: Vec<u64> = std::iter::once(1).chain(3..=2000).collect();
        for offload in [Offload::Off, Offload::Automatic] {
            let (counts, _) = counted(offload, &early, &[2001]);
            let lost = counts.report.lost;
            assert!(lost > 500, "{counts:?}");
            assert_eq!(counts.socket_drops, lost - 1, "{offload:?}: {counts:?}");
        }
    }
}
