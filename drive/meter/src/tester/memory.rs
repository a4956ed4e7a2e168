//! Memory that a test can occupy at a server, at most.
//!
//! The blocks of its threads, and the buffers of its sockets at the kernel's limits: a client that
//! does not read, or does not acknowledge, fills them. They are counted when the test is admitted,
//! as nothing takes them back from a running one.

use gigatcp_protocol::iperf3::{Direction, Parameters, Transactions, Transport};
use gigatcp_units::Bytes;

use super::offload::JOINED_BUFFER;
use super::samples::{MAX_KEPT, MAX_READINGS};
use super::udp::MIN_PLACE;
use crate::system::datagrams::MAX_BATCH;
use crate::system::{self, BUFFER_OVERHEAD};

/// Bytes of a test in addition to its streams: messages, and the intervals that are kept.
pub(super) const TEST: u64 = 8 << 20;

/// Bytes of a reading of a socket's counters: kept, copied, and as text.
pub(super) const READING: u64 = 4 << 10;

/// Bytes of a stream in addition to its buffers: stack, counters, readings.
pub(super) const STREAM: u64 = 128 << 10;

/// Bytes of a connection of transactions in addition to its buffers.
pub(super) const CONNECTION: u64 = 4 << 10;

/// Minimum of a buffer of such a connection, in bytes of data.
pub(super) const MIN_BUFFER: u32 = 8 << 10;

/// Buffer of a socket on a system whose limits are unknown.
const UNKNOWN: Bytes = Bytes::new(4 << 20);

/// Memory of a host that is unknown.
const UNKNOWN_HOST: u64 = 2 << 30;

/// Limits of the kernel for a socket's buffers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct KernelBuffers {
    /// Of TCP that tunes itself: receive and send.
    tuned: [u64; 2],
    /// Of a size that is set.
    set: [u64; 2],
    /// Of all TCP connections of the host together.
    all_tcp: u64,
}

impl KernelBuffers {
    /// Reads this host's.
    pub(super) fn of_host() -> Self {
        let known = system::buffer_limits().map(|limit| limit.unwrap_or(UNKNOWN).as_u64());
        let all_tcp = system::tcp_memory().map_or(u64::MAX, Bytes::as_u64);
        let [tuned_receive, tuned_send, set_receive, set_send] = known;
        Self {
            tuned: [tuned_receive, tuned_send],
            set: [set_receive, set_send],
            all_tcp,
        }
    }

    /// Linux' defaults, on a host with much memory.
    #[cfg(test)]
    pub(super) const fn of_linux() -> Self {
        Self {
            tuned: [6 << 20, 4 << 20],
            set: [212_992, 212_992],
            all_tcp: u64::MAX,
        }
    }

    /// Bytes of the buffers of a test's receivers and senders.
    fn of_streams(&self, wanted: &Parameters, (receivers, senders): (u64, u64)) -> u64 {
        let streams = [(receivers, false), (senders, true)];
        let all = streams
            .into_iter()
            .map(|(count, is_sender)| count * self.of_stream(wanted, is_sender))
            .sum();
        match wanted.transport {
            Transport::Udp => all,
            _ => self.all_tcp.min(all),
        }
    }

    /// Bytes of the buffers of one stream that sends or receives.
    fn of_stream(&self, wanted: &Parameters, is_sender: bool) -> u64 {
        let place = usize::from(is_sender);
        match (wanted.window, wanted.transport) {
            (Some(window), _) => window.min(self.set[place]) * BUFFER_OVERHEAD,
            (None, Transport::Udp) => self.set[place] * BUFFER_OVERHEAD,
            (None, _) => self.tuned[place],
        }
    }
}

/// Bytes that a test can occupy.
pub(super) fn of_test(wanted: &Parameters, kernel: &KernelBuffers) -> u64 {
    if let Ok(Some(transactions)) = Transactions::read(wanted) {
        return TEST + u64::from(transactions.connections()) * of_connection(&transactions);
    }
    let parallel = u64::from(wanted.parallel.max(1));
    let (receivers, senders) = match wanted.direction {
        Direction::Forward => (parallel, 0),
        Direction::Reverse => (0, parallel),
        Direction::Bidirectional => (parallel, parallel),
    };
    let size = super::request::block_size(wanted, 0);
    let blocks = match wanted.transport {
        Transport::Udp => (size.max(MIN_PLACE) * MAX_BATCH).max(JOINED_BUFFER),
        _ => size,
    };
    // A second copy of the block, in a file that `sendfile` sends.
    let copies = 1 + u64::from(wanted.zerocopy && wanted.transport == Transport::Tcp);
    let readings = ((receivers + senders) * MAX_READINGS as u64).min(MAX_KEPT as u64) * READING;
    let of = |copies: u64| STREAM + copies * blocks as u64;
    let buffers = kernel.of_streams(wanted, (receivers, senders));
    TEST + readings + receivers * of(1) + senders * of(copies) + buffers
}

/// Bytes of a connection of transactions, whose buffers are set, with the kernel's own state of it.
fn of_connection(transactions: &Transactions) -> u64 {
    let [request, response] = [transactions.request, transactions.response]
        .map(|size| u64::from(size.max(MIN_BUFFER)) * BUFFER_OVERHEAD);
    CONNECTION + request + response
}

/// Half of the memory that this host, or the control group of this process, allows.
pub fn default_limit() -> u64 {
    #[cfg(target_os = "linux")]
    let allowed = crate::host::memory();
    #[cfg(not(target_os = "linux"))]
    let allowed = None;
    allowed.unwrap_or(UNKNOWN_HOST) / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(change: impl Fn(&mut Parameters)) -> u64 {
        let mut wanted = Parameters {
            parallel: 1,
            ..Parameters::default()
        };
        change(&mut wanted);
        of_test(&wanted, &KernelBuffers::of_linux())
    }

    #[test]
    fn streams_that_nobody_reads_cost_their_blocks_and_the_kernels_buffers() {
        let reverse = |wanted: &mut Parameters| {
            wanted.direction = Direction::Reverse;
            wanted.parallel = 128;
        };
        // 128 times 4 MiB of the kernel, 128 KiB of blocks and as much in addition.
        let expected = TEST + MAX_KEPT as u64 * READING + 128 * ((4 << 20) + (256 << 10));
        assert_eq!(memory(reverse), expected);
        let large = memory(|wanted| {
            reverse(wanted);
            wanted.len = Some(1 << 20);
        });
        assert_eq!(large - memory(reverse), 128 * (896 << 10));
    }

    #[test]
    fn tcp_buffers_count_at_most_as_those_of_all_the_host() {
        let kernel = KernelBuffers {
            all_tcp: 100 << 20,
            ..KernelBuffers::of_linux()
        };
        let wanted = Parameters {
            parallel: 128,
            ..Parameters::default()
        };
        let less = of_test(&wanted, &KernelBuffers::of_linux()) - of_test(&wanted, &kernel);
        assert_eq!(less, 128 * (6 << 20) - (100 << 20));
    }

    #[test]
    fn block_sent_from_a_file_counts_twice() {
        let reverse = |wanted: &mut Parameters| wanted.direction = Direction::Reverse;
        let copied = memory(|wanted| {
            reverse(wanted);
            wanted.zerocopy = true;
        });
        assert_eq!(copied - memory(reverse), 128 << 10);
    }

    #[test]
    fn connections_of_transactions_cost_their_buffers_and_state() {
        let of = |mode: &str, flows: u64, size: u32| {
            memory(|wanted| {
                let private = serde_json::json!({"mode": mode, "flows": flows, "request": size,
                    "response": 1});
                wanted.private = Some(private);
            })
        };
        let small = CONNECTION + 2 * u64::from(MIN_BUFFER) * BUFFER_OVERHEAD;
        assert_eq!(of("tcp_rr", 5000, 1), TEST + 5000 * small);
        assert_eq!(of("tcp_crr", 4000, 1), TEST + 2 * 4000 * small);
        let larger = BUFFER_OVERHEAD * (64 - 8) * 1024;
        let more = of("tcp_rr", 5000, 64 << 10) - of("tcp_rr", 5000, 1);
        assert_eq!(more, 5000 * larger);
    }

    #[test]
    fn window_counts_as_the_kernel_grants_it() {
        let one = |window| memory(|wanted| wanted.window = Some(window));
        assert_eq!(one(100_000) - one(50_000), 50_000 * BUFFER_OVERHEAD);
        assert_eq!(one(1 << 40), one(212_992));
    }
}
