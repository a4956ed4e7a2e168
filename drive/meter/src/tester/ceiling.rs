//! Measures the rate of this host's TCP to itself, which a test between hosts cannot exceed by
//! much.
//!
//! Streams run over the loopback interface inside this process, with the block size, the number of
//! streams and the congestion control of a test. Both ends share the CPUs of this host, without
//! offloads to a network card. With two cores or more the rate is about that of one end, neither an
//! upper nor a lower bound. Not measured are sendfile (`-Z`), MSG_TRUNC and the engine.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use gigatcp_protocol::iperf3::{Direction, Parameters};
use socket2::SockRef;

use super::options;
use super::page_aligned::PageAligned;

/// Warm-up time of the streams, and measured time.
const TIMES: [Duration; 2] = [Duration::from_millis(150), Duration::from_millis(400)];

/// Maximum wait of a call, so that a stalled stream ends the measurement.
const CALL: Duration = Duration::from_millis(100);

/// Measures the ceiling in bit/s, in less than a second.
///
/// # Errors
/// The system's error: without the loopback interface, or with too few descriptors.
pub fn loopback_ceiling(parameters: &Parameters, block: usize) -> io::Result<f64> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let to = listener.local_addr()?;
    let mut pairs = Vec::new();
    // The test's own rate limit is not one of the host.
    let parameters = &Parameters {
        fqrate: None,
        ..parameters.clone()
    };
    let directions = match parameters.direction {
        Direction::Bidirectional => 2,
        _ => 1,
    };
    for _ in 0..directions * parameters.parallel.max(1) {
        let sender = TcpStream::connect_timeout(&to, CALL)?;
        options::apply_after(SockRef::from(&sender), parameters)?;
        sender.set_write_timeout(Some(CALL))?;
        let (receiver, _) = listener.accept()?;
        receiver.set_read_timeout(Some(CALL))?;
        pairs.push((sender, receiver));
    }
    let (bytes, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let rate = thread::scope(|scope| {
        for (sender, receiver) in &pairs {
            scope.spawn(|| send(sender, block, &stop));
            scope.spawn(|| receive(receiver, block, &bytes, &stop));
        }
        thread::sleep(TIMES[0]);
        let (from, before) = (Instant::now(), bytes.load(Ordering::Relaxed));
        thread::sleep(TIMES[1]);
        let moved = bytes.load(Ordering::Relaxed) - before;
        let time = from.elapsed().as_secs_f64();
        stop.store(true, Ordering::Relaxed);
        8.0 * moved as f64 / time
    });
    if rate > 0.0 {
        Ok(rate)
    } else {
        Err(io::ErrorKind::TimedOut.into())
    }
}

fn send(mut socket: &TcpStream, block: usize, stop: &AtomicBool) {
    let data = PageAligned::zeroed(block.max(1));
    while !stop.load(Ordering::Relaxed) {
        match socket.write(&data) {
            Err(error) if !is_wait(&error) => break,
            _ => {}
        }
    }
}

fn receive(mut socket: &TcpStream, block: usize, bytes: &AtomicU64, stop: &AtomicBool) {
    let mut data = PageAligned::zeroed(block.max(1));
    while !stop.load(Ordering::Relaxed) {
        match socket.read(&mut data) {
            Ok(0) => break,
            Ok(count) => {
                bytes.fetch_add(count as u64, Ordering::Relaxed);
            }
            Err(error) if is_wait(&error) => {}
            Err(_) => break,
        }
    }
}

/// Whether a call ended because of its time limit.
fn is_wait(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), Interrupted | TimedOut | WouldBlock)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ceiling_is_known_within_a_second_and_small_blocks_lower_it() {
        let parameters = Parameters {
            parallel: 2,
            ..Parameters::default()
        };
        let before = Instant::now();
        let large = loopback_ceiling(&parameters, 128 << 10).unwrap();
        let time = before.elapsed();
        let small = loopback_ceiling(&parameters, 64).unwrap();
        assert!(large > 3.0 * small, "{large} and {small} bit/s");
        // A busy machine may take longer.
        assert!(time < Duration::from_secs(3), "{time:?}");
    }
}
