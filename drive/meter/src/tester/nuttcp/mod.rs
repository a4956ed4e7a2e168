//! nuttcp's protocol on the tester's streams: its client, and a test at its server.
//!
//! | file | what |
//! |---|---|
//! | `link.rs` | threads of streams: stamps, markers, the end of the data |
//! | `turns.rs` | the order in which streams take buffers |
//! | `transfer.rs` | a transfer from its first marker to its last, at either end |
//! | `figures.rs` | conversion of results to and from nuttcp's lines |
//! | `client.rs` | a whole test as client |
//! | `session.rs`, `served.rs` | one test of a server, and its client |
//! | `ports.rs` | a server's data ports, which many tests share |
//!
//! Streams are counted, read and explained as those of iperf3's protocol. Of a stock peer only its
//! lines are known: the sum over its streams, without figures of its sockets. A server of this
//! project adds its readings, in lines sent only to a client of this project.

pub(super) mod client;
mod figures;
pub(super) mod link;
pub(super) mod ports;
pub(super) mod served;
pub(super) mod session;
mod transfer;
mod turns;

use std::time::Duration;

use gigatcp_protocol::iperf3::{self, Direction, Transport};
use gigatcp_protocol::nuttcp::parameters::Wanted;
use gigatcp_protocol::nuttcp::{Parameters, Side};
use gigatcp_units as units;

use super::request::Request;
pub use figures::{brief, interval};

/// Default interval of a UDP test.
///
/// Only with intervals do datagrams carry the counts for loss detection.
const UDP_INTERVAL: units::Duration = units::Duration::from_secs(1);

/// A test's parameters for nuttcp, with buffers of `block` bytes.
fn requested(request: &Request, block: usize) -> Parameters {
    let common = &request.parameters;
    let streams = common.parallel.max(1);
    let is_udp = common.transport == Transport::Udp;
    let is_reverse = common.direction == Direction::Reverse;
    let buffers = match (common.num, common.blockcount) {
        (0, 0) => None,
        (0, buffers) => Some(buffers),
        (bytes, _) => Some(bytes.div_ceil(block as u64)),
    };
    let rate = common
        .bandwidth
        .map(|rate| (rate.saturating_mul(streams.into()) / 1000).max(1));
    let interval = request.interval.map(units::Duration::from);
    let has_jitter = is_udp && request.instantaneous && rate.is_some();
    Parameters {
        buffer_bytes: block as u32,
        buffers,
        window_bytes: u32::try_from(common.window.unwrap_or(0)).unwrap_or(u32::MAX),
        streams: streams as u16,
        rate_kbps: rate,
        port: request.data_port,
        client: match is_reverse {
            true => Side::Receiver,
            false => Side::Transmitter,
        },
        time_limit: match buffers {
            Some(_) => units::Duration::ZERO,
            None => units::Duration::from_secs(common.time.into()),
        },
        udp: is_udp,
        interval: interval.unwrap_or(match is_udp {
            true => UDP_INTERVAL,
            false => units::Duration::ZERO,
        }),
        // Connections from here pass address translators and firewalls.
        flipped: is_reverse && !is_udp,
        instantaneous: request.instantaneous,
        mss: common.mss.unwrap_or(0),
        tos: common.tos.unwrap_or(0) as u8,
        nodelay: common.nodelay,
        burst: common.burst.unwrap_or(1),
        jitter: Wanted(if has_jitter { Wanted::ALL } else { 0 }),
        private: true,
        ..Parameters::default()
    }
}

/// Converts nuttcp's parameters to those of all tests; rates are those of one stream.
pub(super) fn common(wanted: &Parameters) -> iperf3::Parameters {
    let streams = u64::from(wanted.streams.max(1));
    let is_set = |value: u32| (value > 0).then_some(value);
    let seconds = Duration::from(wanted.time_limit);
    let bytes = wanted
        .buffers
        .map(|buffers| buffers.saturating_mul(wanted.buffer_bytes.into()));
    iperf3::Parameters {
        transport: match wanted.udp {
            true => Transport::Udp,
            false => Transport::Tcp,
        },
        direction: match wanted.client {
            Side::Transmitter => Direction::Forward,
            Side::Receiver => Direction::Reverse,
        },
        time: seconds.as_secs() as u32 + u32::from(seconds.subsec_nanos() > 0),
        num: bytes.unwrap_or(0),
        parallel: wanted.streams.into(),
        len: Some(wanted.buffer_bytes),
        window: is_set(wanted.window_bytes).map(u64::from),
        mss: is_set(wanted.mss),
        nodelay: wanted.nodelay,
        bandwidth: wanted
            .rate_kbps
            .map(|rate| rate.saturating_mul(1000) / streams),
        burst: Some(wanted.burst),
        tos: is_set(wanted.tos.into()),
        ..iperf3::Parameters::default()
    }
}
