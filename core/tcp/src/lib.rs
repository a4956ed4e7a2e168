//! The TCP engine: one connection as a pure state machine.
//!
//! No clock, no socket, no thread: time and segments come in, segments and events go out. The same
//! engine runs in virtual time, on a real network device, and in every test. [`connection`] states
//! the contract and maps its files to RFC 9293. One mechanism has one file:
//!
//! | file | mechanism |
//! |---|---|
//! | [`connection`] | RFC 9293: states, segments, output, timers, user calls |
//! | [`listener`] | LISTEN |
//! | [`endpoint`] | RFC 9293 section 3.9: all connections of a host |
//! | [`events`] | what happens in an engine, and what limits a sender |
//! | [`authentication`] | RFC 5925, 5926: master keys, traffic keys, codes |
//! | [`fast_open`] | RFC 7413: cookies of the server, cache of the client |
//! | `four_tuple` | identity of a connection: addresses and ports |
//! | `lazy` | state of mechanisms that most connections never use |
//! | `isn`, `secret` | RFC 6528: initial sequence numbers; timestamp offsets |
//! | [`profile`] | switches and constants, by name |
//! | [`congestion`] | the congestion-control interface and every control |
//! | `recovery` | RFC 5681, 6582, 6675: loss detection |
//! | `rack` | RFC 8985 section 6: loss detection by time |
//! | `tlp` | RFC 8985 section 7: tail loss probe |
//! | `prr` | RFC 9937, 6937: output while the window is reduced |
//! | `frto` | RFC 5682: spurious timeouts, by acknowledgments |
//! | `eifel` | RFC 3522: spurious recovery, by timestamps |
//! | `records` | record ends in the stream, which no segment crosses |
//! | `scoreboard`, `range_set`, `retransmissions` | data in flight, by ranges |
//! | [`path_metrics`] | RFC 9040: what connections to one address share |
//! | `path_mtu` | RFC 1191, 8201, 4821, 8899: path MTU estimate |
//! | `rtt` | RFC 6298 |
//! | `min_rtt` | RFC 8985 section 6.2 |
//! | `timestamps` | RFC 7323 sections 3 to 5 |
//! | `delayed_ack` | acknowledgment timing |
//! | `ecn` | RFC 3168, RFC 9768, RFC 8257 section 3.2: explicit congestion notification |
//! | `pacing` | release times of segments |
//! | `receive_autotuning` | size of the receive buffer |
//! | `receive_window` | advertised window |
//! | `receive_buffer`, `send_buffer` | the two buffers |
//! | `space` | sequence variables and their 32-bit form |
//!
//! # Features
//!
//! All are on by default.
//!
//! | feature | without it |
//! |---|---|
//! | `authentication` | no TCP Authentication Option, and no cryptography among the dependencies |
//! | `fast-open` | no TCP Fast Open: the option is ignored, whatever the profile says |
//! | `historic` | no congestion controls and profiles of systems no longer in use |
//!
//! Without a feature, a module of the same name (`*_off.rs`) replaces the mechanism, so that code
//! which uses it has no conditions.
#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

extern crate alloc;

#[cfg_attr(
    not(feature = "authentication"),
    path = "authentication_off.rs",
    doc(hidden)
)]
pub mod authentication;
pub mod congestion;
pub mod connection;
mod delayed_ack;
mod ecn;
mod eifel;
pub mod endpoint;
pub mod events;
#[cfg_attr(not(feature = "fast-open"), path = "fast_open_off.rs", doc(hidden))]
pub mod fast_open;
mod four_tuple;
mod frto;
mod isn;
mod lazy;
pub mod listener;
mod min_rtt;
mod pacing;
pub mod path_metrics;
mod path_mtu;
pub mod profile;
mod prr;
mod rack;
mod range_set;
mod receive_autotuning;
mod receive_buffer;
mod receive_window;
mod records;
mod recovery;
mod retransmissions;
mod rtt;
mod scoreboard;
mod secret;
mod send_buffer;
mod space;
mod timestamps;
mod tlp;
mod truesize;
mod window_growth;

pub use connection::{
    Connection, ConnectionConfig, Failure, ReadError, Received, SocketOption, TransportConfig,
    WriteError,
};
pub use endpoint::{Endpoint, EndpointEvent, Handle};
pub use four_tuple::{FourTuple, is_host};
pub use gigatcp_wire::IpVersion;
pub use isn::IsnGenerator;
pub use profile::Profile;
pub use secret::Secret;
