//! A TCP library for user-space stacks, simulators, fuzzers and courses.
//!
//! Everything here is a state machine: its input is time and segments, its output is segments
//! and events. It uses no clock, socket or thread. So it runs on any device or in virtual time,
//! and runs are reproducible bit by bit.
//!
//! | name | use |
//! |---|---|
//! | [`Endpoint`] | a host: listeners, connections, ports, timers |
//! | [`Connection`] | one connection, to examine |
//! | [`TransportConfig`], [`Profile`] | their settings: every mechanism is a switch |
//! | [`congestion`] | the congestion controls, and the interface for custom ones |
//! | [`wire`] | packets as bytes: [`wire::PacketPool`] |
//! | `live` | streams for threads and tasks, on a TUN device, an Ethernet, a pair in memory or a device of your own (feature `live`; with tokio's traits: feature `tokio`) |
//!
//! Two hosts and a network without delay or loss:
//!
//! ```
//! use gigatcp_stack::{TransportConfig, Endpoint, Instant};
//!
//! let now = Instant::ZERO;
//! let mut client = Endpoint::new(now, [1; 16], ["10.0.0.1".parse().unwrap()]);
//! let mut server = Endpoint::new(now, [2; 16], ["10.0.0.2".parse().unwrap()]);
//! let at = "10.0.0.2:80".parse().unwrap();
//! server.listen(at, TransportConfig::default()).unwrap();
//! let stream = client.connect(now, at, TransportConfig::default()).unwrap();
//! client.write(now, stream, &b"hello"[..]).unwrap();
//!
//! let mut sent = 1;
//! while sent > 0 {
//!     sent = 0;
//!     while let Some((endpoints, segment)) = client.poll_transmit(now) {
//!         server.handle_segment(now, endpoints, segment);
//!         sent += 1;
//!     }
//!     while let Some((endpoints, segment)) = server.poll_transmit(now) {
//!         client.handle_segment(now, endpoints, segment);
//!         sent += 1;
//!     }
//! }
//!
//! let accepted = server.accept(now, at).unwrap();
//! let mut buffer = [0; 100];
//! assert_eq!(server.read_into(now, accepted, &mut buffer), Ok(5));
//! assert_eq!(&buffer[..5], b"hello");
//! ```
//!
//! The crate is `no_std` and needs an allocator; with the feature `live` it needs
//! Linux.
//!
//! # Features
//!
//! On by default, and of the engine: `authentication` (RFC 5925, and the cryptography it
//! needs), `fast-open` (RFC 7413), `historic` (congestion controls and profiles that no
//! system has any more). Off by default: `live`, `tokio`.
//!
//! # What is not here
//!
//! Programs that store connections themselves depend on `gigatcp-tcp`: it has the parts of an
//! endpoint, TCP-AO and Fast Open. Programs that look into segments depend on
//! `gigatcp-wire`.
#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

#[cfg(feature = "live")]
pub use gigatcp_live as live;

pub use gigatcp_tcp::connection::{Counters, Info, SavedPath};
pub use gigatcp_tcp::endpoint::{ConnectError, EndpointCounters, ListenError};
pub use gigatcp_tcp::events::{Event, EventMask, Limit, Phase, Stamped, State};
pub use gigatcp_tcp::listener::ListenerConfig;
pub use gigatcp_tcp::{
    EndpointEvent, Failure, Handle, Profile, ReadError, Secret, SocketOption, TransportConfig,
    WriteError,
};
pub use gigatcp_units::{Bytes as ByteCount, Duration, Instant, Rate};
pub use gigatcp_wire::bytes::Bytes;

/// A host whose payloads are bytes in shared memory.
///
/// `gigatcp_tcp::Endpoint` takes other payloads too: `gigatcp_wire::Phantom` has only position and
/// length, so that a simulated gigabyte needs no memory.
pub type Endpoint = gigatcp_tcp::Endpoint<Bytes>;

/// One connection whose payloads are bytes in shared memory.
pub type Connection = gigatcp_tcp::Connection<Bytes>;

/// A segment whose payload is bytes in shared memory.
pub type Segment = gigatcp_wire::Segment<Bytes>;

/// Packets as bytes.
pub mod wire {
    pub use gigatcp_wire::{Endpoints, IcmpError, IcmpKind, PacketPool};
}

/// The congestion controls, and the interface of custom ones.
pub mod congestion {
    pub use gigatcp_tcp::congestion::{
        Ack, Config, Congestion, CongestionKind, Controller, ControllerFactory, Counting, Entry,
        Family, Lost, RateSample, Sent, SlowStart, WindowBounds, entries, find,
    };
}

/// The groups of settings in a [`Profile`].
pub mod profile {
    pub use gigatcp_tcp::profile::{
        Acknowledgments, Buffers, Closing, Congestion, Defense, EarlierRtt, Ecn, EcnMode,
        EcnOption, InitialWindow, Liveness, Opening, Options, Pacing, PathMtu, PrrRule, Recovery,
        ReduceAgain, RtoRule, Segments, SettingError, SynCookies, Timer, WindowPolicy,
    };
}
