//! The engine on a real network: the [`gigatcp_tcp::Connection`] that also runs in virtual time,
//! with the machine's clock, a TUN device and real data.
//!
//! A [`Stack`] drives any number of connections on a [`Device`] from one thread; a [`Stream`] is
//! one of them for threads, an [`AsyncStream`] for tasks. A device is a TUN device, an address on
//! an Ethernet interface ([`PacketSocket`]), a pair in memory ([`Wire::pair`], which needs no
//! privileges) or a custom one.
//!
//! Behind a TUN device is the machine's kernel. A [`Namespace`] separates both from the machine's
//! own network and leaves nothing behind:
//!
//! ```no_run
//! use std::io::{Read, Write};
//! use std::net::{IpAddr, Ipv4Addr, Shutdown, TcpListener};
//!
//! use gigatcp_live::{Namespace, Options, Stack, TunConfig, Wire};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let kernel = IpAddr::from(Ipv4Addr::new(10, 0, 0, 1));
//!     let engine = IpAddr::from(Ipv4Addr::new(10, 0, 0, 2));
//!     let namespace = Namespace::new()?;
//!     let device = Wire::open_tun(
//!         &namespace,
//!         &TunConfig {
//!             kernel: vec![(kernel, 24)],
//!             engine: vec![engine],
//!             ..TunConfig::default()
//!         },
//!     )?;
//!     let stack = Stack::start(device)?;
//!
//!     // The kernel echoes one connection.
//!     let listener = namespace.run(|| TcpListener::bind((kernel, 7)))??;
//!     let echo = std::thread::spawn(move || {
//!         let (stream, _) = listener.accept()?;
//!         std::io::copy(&mut &stream, &mut &stream)
//!     });
//!
//!     let options = Options::default().with_congestion("reno")?;
//!     let mut stream = stack.connect((kernel, 7), &options)?;
//!     stream.write_all(b"hello")?;
//!     stream.shutdown(Shutdown::Write)?;
//!     let mut answer = String::new();
//!     stream.read_to_string(&mut answer)?;
//!     assert_eq!(answer, "hello");
//!     echo.join().expect("the echo ends")?;
//!     Ok(())
//! }
//! ```
//!
//! Tasks of any executor use the traits of `futures_io`, or with the feature `tokio` those of
//! tokio:
//!
//! ```
//! # #[cfg(feature = "tokio")]
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use gigatcp_live::{AsyncListener, Interface, Options, Stack, Wire};
//! use tokio::io::{AsyncReadExt, AsyncWriteExt};
//!
//! let [near, far] = Wire::pair(
//!     Interface::new(["10.0.0.1".parse()?]),
//!     Interface::new(["10.0.0.2".parse()?]),
//! )?;
//! let (client, server) = (Stack::start(near)?, Stack::start(far)?);
//! let options = Options::default();
//! let listener = AsyncListener::from(server.listen("10.0.0.2:7", &options)?);
//! let at = listener.local_addr();
//!
//! let runtime = tokio::runtime::Builder::new_current_thread().build()?;
//! runtime.spawn(async move {
//!     let (mut stream, _) = listener.accept().await?;
//!     stream.write_all(b"hello").await
//! });
//! let greeting = runtime.block_on(async {
//!     let mut stream = client.connect_async(at, &options).await?;
//!     let mut greeting = String::new();
//!     stream.read_to_string(&mut greeting).await?;
//!     std::io::Result::Ok(greeting)
//! })?;
//! assert_eq!(greeting, "hello");
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "tokio"))]
//! # fn main() {}
//! ```
//!
//! | file | what |
//! |---|---|
//! | `device.rs`, `device/` | the device trait; TUN, a pair in memory, `AF_PACKET` |
//! | `link.rs` | segments as packets: super-segments, checksum offload |
//! | `arrival.rs` | parses packets into segments or ICMP errors |
//! | `join.rs` | joins arriving packets into super-segments |
//! | `engine.rs`, `engine/` | the event loop: lookup, timers, output |
//! | `socket.rs` | one connection between the event loop and an application |
//! | `accept.rs` | passes connections from a listener to an application |
//! | `shared.rs` | command queue between application threads and the event loop |
//! | `stack.rs` | the thread, and its interface for applications |
//! | `stream.rs`, `asynchronous.rs` | streams and listeners for threads, for tasks |
//! | `tokio.rs` | tokio's traits (feature `tokio`) |
//! | `error.rs` | errors of calls |
//! | `options.rs` | settings of a connection: a profile and more |
//!
//! Out of scope: a path between the two ends (the device is a wire without delay or loss;
//! [`Wire::over`] accepts an end of an emulated one), urgent data, authentication, several queues,
//! connections of a stack to itself. All `unsafe` code is in `gigatcp-linux`.
#![deny(missing_docs)]
#![forbid(unsafe_code)]
#![cfg(target_os = "linux")]

mod accept;
mod arrival;
mod asynchronous;
mod device;
mod engine;
mod error;
mod join;
mod link;
mod options;
mod realtime_priority;
mod shared;
mod socket;
mod stack;
mod stream;
#[cfg(feature = "tokio")]
mod tokio;

pub use asynchronous::{AsyncListener, AsyncReadHalf, AsyncStream, AsyncWriteHalf};
pub use bytes;
pub use device::{
    Device, DeviceCounters, Interface, MAX_BATCH, Offloads, Packet, PacketSocket,
    PacketSocketConfig, Received, Sent, TunConfig, Wire,
};
pub use engine::StackCounters;
pub use gigatcp_linux::poll::EventFd;
pub use gigatcp_linux::virtio::{ChecksumState, Segmentation, VirtioHeader};
pub use gigatcp_linux::{Namespace, SetupError, Step, make_pair};
pub use gigatcp_wire::Octets;
pub use options::Options;
pub use realtime_priority::RealtimePriority;
pub use socket::Measured;
pub use stack::{Scheduling, Stack};
pub use stream::{KeepAlive, Listener, ReadHalf, Stream, WriteHalf};
