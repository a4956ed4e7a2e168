//! A server of many clients: iperf3's protocol on one port, TCP and UDP, nuttcp's on another.
//!
//! One thread accepts connections, reads requests, decides which clients wait, and passes data
//! connections to their tests. It never waits for a single client. A running test has its own
//! thread. The state a client can occupy before its test runs is bounded: 1024 connections, each
//! with a few kilobytes and a deadline.
//!
//! | file | what |
//! |---|---|
//! | `client_table.rs` | clients that wait and that run, of either protocol |
//! | `logins.rs` | checks of names and passwords |
//! | `reflector.rs` | test packets of STAMP |
//! | `refusals.rs` | notices of refusals |
//! | `guide.rs` | test: the numbers of `docs/guide/server.md` are those of the code |
//! | `pending.rs` | connections before their request is complete |
//! | `iperf3.rs` | cookies, parameters, and data connections at the same port |
//! | `nuttcp.rs`, `requested.rs` | requests, and data connections at separate ports |

mod client_table;
#[cfg(test)]
mod guide;
mod iperf3;
mod logins;
mod nuttcp;
mod pending;
mod reflector;
mod refusals;
mod requested;
mod trains;

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use gigatcp_protocol::iperf3::Parameters;
use socket2::SockRef;

use super::admission::Admission;
use super::listening::{listen, listen_mptcp, udp_socket};
use super::outcome::{Interval, Outcome};
use super::session::Render;
use super::transactions::ServedTransactions;
use crate::system::socket as kernel;
use client_table::ClientTable;
use reflector::Reflector;

pub use reflector::{MAX_RATE as MAX_STAMP_RATE, MAX_TOTAL_RATE as MAX_TOTAL_STAMP_RATE};

/// Function that decides whether a client may test: `Err` has the reason against it.
pub type Authorize = dyn Fn(&Parameters) -> Result<(), String> + Send + Sync;

/// Settings of a server.
#[derive(Clone)]
pub struct ServerConfig {
    /// Address to listen at; `None`: all, IPv6 and IPv4.
    pub bind: Option<IpAddr>,
    /// Port.
    pub port: u16,
    /// End after one test.
    pub one_off: bool,
    /// Admission rules.
    pub admission: Admission,
    /// Check of name and password; `None`: none is required.
    pub authorize: Option<Arc<Authorize>>,
    /// Interval between reports of a test; `None`: only the total.
    pub interval: Option<Duration>,
    /// Format of the output that a client may request; `None`: it gets none.
    pub render: Option<Arc<Render>>,
    /// nuttcp's protocol; `None`: not served.
    pub nuttcp: Option<NuttcpConfig>,
    /// Whether Multipath TCP is accepted on the port of iperf3's protocol.
    pub mptcp: bool,
    /// Port at which test packets of STAMP are reflected; `None`: they are not.
    pub stamp: Option<u16>,
}

/// Settings of a server for nuttcp's clients.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NuttcpConfig {
    /// Port of control connections.
    pub port: u16,
    /// Whether a port in use is an error. Otherwise nuttcp's protocol is not served then.
    pub is_required: bool,
    /// First port that clients may choose for their data.
    pub first_data_port: u16,
}

impl Default for NuttcpConfig {
    fn default() -> Self {
        Self {
            port: gigatcp_protocol::nuttcp::CONTROL_PORT,
            is_required: true,
            // That of clients before 6.2.8.
            first_data_port: 5001,
        }
    }
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            bind: None,
            port: gigatcp_protocol::iperf3::PORT,
            one_off: false,
            admission: Admission::default(),
            authorize: None,
            interval: Some(Duration::from_secs(1)),
            render: None,
            nuttcp: None,
            mptcp: false,
            stamp: None,
        }
    }
}

/// A port at which a server cannot listen.
#[derive(Debug)]
pub struct BindError {
    /// The port.
    pub port: u16,
    /// The system's error.
    pub cause: io::Error,
}

/// Event at a server. Tests are numbered from 1.
#[derive(Debug)]
pub enum ServerNotice<'a> {
    /// A client was refused.
    Refused {
        /// Its address.
        peer: SocketAddr,
        /// The reason.
        reason: String,
    },
    /// More clients were refused in 10 s than the first 10, which were reported.
    Unlisted {
        /// Their number.
        refusals: u64,
    },
    /// Connections wait unaccepted for lack of a resource; reported every 10 s at most.
    Short {
        /// The system's error: too few descriptors, or no memory.
        cause: io::Error,
    },
    /// A client waits for its turn.
    Queued {
        /// Its address.
        peer: SocketAddr,
    },
    /// A test begins.
    Accepted {
        /// Number of the test.
        test: u64,
        /// The client's address.
        peer: SocketAddr,
        /// Requested parameters.
        parameters: &'a Parameters,
    },
    /// An interval of a test has ended.
    Interval {
        /// Number of the test.
        test: u64,
        /// The interval.
        interval: &'a Interval,
    },
    /// A test has ended.
    Ended {
        /// Number of the test.
        test: u64,
        /// Measurements; `None`: no data flowed.
        outcome: Option<&'a Outcome>,
        /// Measurements of a test of transactions.
        transactions: Option<&'a ServedTransactions>,
        /// Reason of the end.
        end: &'a str,
    },
}

/// Function that receives notices; called from several threads.
pub type Notify = dyn Fn(ServerNotice<'_>) + Send + Sync;

/// A server that listens.
pub struct Server {
    config: ServerConfig,
    listener: TcpListener,
    datagrams: UdpSocket,
    at: SocketAddr,
    /// Listener of nuttcp's control connections, if they are served.
    nuttcp: Option<TcpListener>,
    /// Socket of the reflector, if there is one.
    stamp: Option<UdpSocket>,
    /// Buffers of the listener before any test changed them: send and receive.
    buffers: (usize, usize),
}

impl Server {
    /// Creates the listening sockets.
    ///
    /// # Errors
    /// The system's error, with the port: it may be in use.
    pub fn bind(config: ServerConfig) -> Result<Self, BindError> {
        let failed = |cause| BindError {
            port: config.port,
            cause,
        };
        let addresses = match config.bind {
            Some(address) => vec![address],
            None => vec![Ipv6Addr::UNSPECIFIED.into(), Ipv4Addr::UNSPECIFIED.into()],
        };
        let mut last = io::Error::from(ErrorKind::AddrNotAvailable);
        for address in addresses {
            let at = SocketAddr::new(address, config.port);
            let listening = match config.mptcp {
                true => listen_mptcp(at),
                false => listen(at),
            };
            match listening {
                Ok(listener) => {
                    let at = listener.local_addr().map_err(failed)?;
                    let datagrams = udp_socket(at).map_err(failed)?;
                    // Without it arrivals have the time at which they are read.
                    let _ = kernel::stamp_arrivals(&datagrams);
                    let _ = kernel::pass_destinations(&datagrams);
                    let buffers = buffers(&listener).map_err(failed)?;
                    let nuttcp = match config.nuttcp {
                        Some(nuttcp) => listen_for_nuttcp(address, nuttcp)?,
                        None => None,
                    };
                    let stamp = config.stamp.map(|port| {
                        let bound = Reflector::bind(SocketAddr::new(address, port));
                        bound.map_err(|cause| BindError { port, cause })
                    });
                    return Ok(Self {
                        stamp: stamp.transpose()?,
                        buffers,
                        config,
                        listener,
                        datagrams,
                        at,
                        nuttcp,
                    });
                }
                // Without IPv6: IPv4 only.
                Err(error) => last = error,
            }
            if last.kind() == ErrorKind::AddrInUse {
                break;
            }
        }
        Err(failed(last))
    }

    /// Address it listens at.
    pub fn address(&self) -> SocketAddr {
        self.at
    }

    /// Address it listens at for nuttcp's clients, if it does.
    pub fn nuttcp_address(&self) -> Option<SocketAddr> {
        self.nuttcp.as_ref()?.local_addr().ok()
    }

    /// Address at which it reflects test packets of STAMP, if it does.
    pub fn stamp_address(&self) -> Option<SocketAddr> {
        self.stamp.as_ref()?.local_addr().ok()
    }

    /// The address that a datagram was sent to, at a port; if it is unknown, that of the server.
    fn at_asked(&self, asked: Option<IpAddr>, port: u16) -> SocketAddr {
        SocketAddr::new(asked.unwrap_or(self.at.ip()), port)
    }

    /// Serves until `stops` returns true, or one test is done with `one_off`. Running tests are
    /// then ended.
    ///
    /// # Errors
    /// The system's error of the listening sockets.
    pub fn run(&self, stops: &dyn Fn() -> bool, notify: &Arc<Notify>) -> io::Result<()> {
        let mut table = ClientTable::new(self, notify.clone())?;
        let result = loop {
            if stops() || (self.config.one_off && table.has_served()) {
                break Ok(());
            }
            if let Err(error) = table.step() {
                break Err(error);
            }
        };
        table.end();
        result
    }
}

/// Listener of nuttcp's control connections. `None`: the port is in use, and not required.
fn listen_for_nuttcp(
    address: IpAddr,
    config: NuttcpConfig,
) -> Result<Option<TcpListener>, BindError> {
    let port = config.port;
    match listen(SocketAddr::new(address, port)) {
        Ok(listener) => Ok(Some(listener)),
        Err(cause) if cause.kind() == ErrorKind::AddrInUse && !config.is_required => Ok(None),
        Err(cause) => Err(BindError { port, cause }),
    }
}

/// Buffer sizes of a listener: send and receive.
fn buffers(listener: &TcpListener) -> io::Result<(usize, usize)> {
    let socket = SockRef::from(listener);
    Ok((socket.send_buffer_size()?, socket.recv_buffer_size()?))
}
