//! The ends of a flow: where they are, and the settings of their sockets.

use gigatcp_tcp::FourTuple;
use gigatcp_units::Instant;

use crate::address::endpoints;
use crate::config::FlowConfig;
use crate::host::SocketConfig;

/// Where an end of a flow is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    /// Number of the host.
    pub(crate) host: u32,
    /// Number of the socket on it.
    pub(crate) socket: u32,
}

/// The ends of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ends {
    /// The configured flow that it belongs to.
    pub(crate) flow: usize,
    /// Its sender and its receiver.
    pub(crate) places: [Place; 2],
    /// Its forward route; the number after it is the reverse route.
    pub(crate) route: u16,
}

/// The socket of an end of a flow's connection, which has this number.
pub(crate) fn socket_config(flow: &FlowConfig, number: u32, route: u16) -> SocketConfig<'_> {
    let is_receiver = route & 1 == 1;
    let end = if is_receiver {
        &flow.receiver
    } else {
        &flow.sender
    };
    let client = FourTuple {
        endpoints: endpoints(end.tcp.ip, number, false),
        local_port: flow.sender.tcp.local_port,
        remote_port: flow.sender.tcp.remote_port,
    };
    SocketConfig {
        flow: number,
        route,
        tuple: match is_receiver {
            true => client.reversed(),
            false => client,
        },
        tcp: &end.tcp,
        opens_at: (!is_receiver).then_some(Instant::ZERO + flow.start),
        write_size: flow.write_size,
        reader: end.reader,
        interval: flow.interval,
    }
}
