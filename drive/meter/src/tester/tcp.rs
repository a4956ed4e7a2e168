//! Thread of a TCP stream: writes or reads blocks.

use std::io::{self, ErrorKind};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::connection::{Block, Connection};
use super::counters::{Counters, Role};
use super::page_aligned::PageAligned;
use super::rate_limit::Paid;
use super::shared::Shared;
use super::switch::Switch;

/// Maximum sleep of a paced sender between checks of the switch.
const MAX_SLEEP: Duration = Duration::from_millis(100);

/// Sends or receives, depending on the role.
pub(super) fn work(
    role: Role,
    connection: &dyn Connection,
    counters: &Counters,
    shared: &Shared,
) -> io::Result<()> {
    match role {
        Role::Sender => send(connection, counters, shared),
        Role::Receiver => receive(connection, counters, shared),
    }
}

/// Sends blocks until the test is over, the budget is spent, or the connection fails.
fn send(connection: &dyn Connection, counters: &Counters, shared: &Shared) -> io::Result<()> {
    let bytes = payload(shared.block);
    let file = match shared.parameters.zerocopy {
        true => Some(crate::system::socket::memory_file(&bytes)?),
        false => None,
    };
    let block = Block { bytes, file };
    let burst = u64::from(shared.parameters.burst.unwrap_or(1).max(1));
    let pace = shared.parameters.bandwidth;
    shared.switch.wait();
    let start = Instant::now();
    let mut sent: u64 = 0;
    let mut blocks: u64 = 0;
    let mut paid = Paid::default();
    while !shared.switch.is_stopped() {
        if let Some(rate) = pace
            && blocks.is_multiple_of(burst)
            && !wait_until(start + time_for(sent, rate), counters, &shared.switch)
        {
            break;
        }
        blocks += 1;
        let taken = shared.budget.take(shared.block);
        if taken == 0 {
            return drain(connection, shared);
        }
        shared.limit.pay_headers(connection, sent, &mut paid);
        let allowed = shared.limit.send(taken, counters, &shared.switch);
        shared.budget.give_back(taken - allowed);
        if allowed == 0 {
            break;
        }
        match connection.write_block(&block, allowed) {
            Ok(written) => {
                shared.budget.give_back(allowed - written);
                sent += written as u64;
                counters.add(written);
            }
            Err(error) => {
                shared.budget.give_back(allowed);
                if error.kind() != ErrorKind::Interrupted {
                    return Err(error);
                }
            }
        }
    }
    Ok(())
}

/// Waits until all sent data is acknowledged, if the system reports that. So a requested amount
/// arrives.
fn drain(connection: &dyn Connection, shared: &Shared) -> io::Result<()> {
    while !shared.switch.is_stopped() && connection.unacknowledged().is_ok_and(|left| left > 0) {
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// Reads until the test is over or the sender closes.
///
/// Bytes still unread when the test is over are not counted: the peer may still be sending.
fn receive(connection: &dyn Connection, counters: &Counters, shared: &Shared) -> io::Result<()> {
    shared.switch.wait();
    let mut buffer = PageAligned::zeroed(shared.block);
    let mut paid = Paid::default();
    while !shared.switch.is_stopped() {
        let read = if shared.parameters.skip_rx_copy {
            connection.discard(shared.block)
        } else {
            connection.read(&mut buffer)
        };
        match read {
            Ok(0) => break,
            Ok(read) => {
                counters.add(read);
                shared.limit.pay_headers(connection, u64::MAX, &mut paid);
                shared.limit.received(read, counters, &shared.switch);
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// A block of incompressible bytes.
pub(super) fn payload(size: usize) -> PageAligned {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut block = PageAligned::zeroed(size);
    for chunk in block.chunks_mut(8) {
        state = gigatcp_units::random::mix(state);
        chunk.copy_from_slice(&state.to_le_bytes()[..chunk.len()]);
    }
    block
}

pub(super) fn time_for(bytes: u64, rate: u64) -> Duration {
    let nanos = u128::from(bytes) * 8_000_000_000 / u128::from(rate.max(1));
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

/// Sleeps until `due` and counts the sleep; returns whether the test continues.
pub(super) fn wait_until(due: Instant, counters: &Counters, switch: &Switch) -> bool {
    loop {
        let left = due.saturating_duration_since(Instant::now());
        if left.is_zero() || switch.is_stopped() {
            return !switch.is_stopped();
        }
        let nap = left.min(MAX_SLEEP);
        std::thread::sleep(nap);
        counters
            .idle
            .fetch_add(nap.as_micros() as u64, Ordering::Release);
    }
}
