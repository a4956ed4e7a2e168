//! The engine on a real network: the very [`gigatcp_tcp::Connection`] that runs
//! in virtual time, with the machine's clock, a TUN device and real octets.
//!
//! A [`Device`] has the machine's kernel on one side and the engine on the
//! other; [`Namespace`]s keep both away from the machine's own network and leave
//! nothing behind. A [`Stack`] drives any number of connections on a device from
//! one thread; a [`Stream`] is one of them for threads, an [`AsyncStream`] for
//! tasks.
//!
//! ```no_run
//! use std::io::{Read, Write};
//! use std::net::{IpAddr, Ipv4Addr, Shutdown, TcpListener};
//!
//! use gigatcp_live::{Device, DeviceConfig, Namespace, Options, Stack};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let kernel = IpAddr::from(Ipv4Addr::new(10, 0, 0, 1));
//!     let engine = IpAddr::from(Ipv4Addr::new(10, 0, 0, 2));
//!     let namespace = Namespace::new()?;
//!     let device = Device::open(
//!         &namespace,
//!         &DeviceConfig {
//!             kernel: vec![(kernel, 24)],
//!             engine: vec![engine],
//!             ..DeviceConfig::default()
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
//! The same for tasks, with any executor (`AsyncStream` is a
//! `futures_io::AsyncRead` and `AsyncWrite`):
//!
//! ```no_run
//! # use gigatcp_live::{AsyncStream, Options, Stack};
//! use std::future::poll_fn;
//! use std::pin::Pin;
//!
//! use futures_io::{AsyncRead, AsyncWrite};
//!
//! async fn ask(stack: &Stack, server: std::net::SocketAddr) -> std::io::Result<usize> {
//!     let mut stream = stack.connect_async(server, &Options::default()).await?;
//!     poll_fn(|cx| Pin::new(&mut stream).poll_write(cx, b"what?")).await?;
//!     let mut answer = [0; 100];
//!     poll_fn(|cx| Pin::new(&mut stream).poll_read(cx, &mut answer)).await
//! }
//! ```
//!
//! | file | what |
//! |---|---|
//! | `device.rs` | the TUN device: super-segments in and out, checksums left to others |
//! | `arrival.rs` | a packet of the device as a segment or an ICMP error |
//! | `join.rs` | which packets become one super-segment on arrival |
//! | `slabs.rs` | memory that packets are read into, used again |
//! | `engine.rs`, `engine/` | the event loop: lookup, timers, output |
//! | `socket.rs` | one connection between the event loop and an application |
//! | `accept.rs` | connections on their way from a listener to an application |
//! | `shared.rs` | command queue between application threads and the event loop |
//! | `stack.rs` | the thread, and what applications ask of it |
//! | `stream.rs`, `asynchronous.rs` | streams and listeners for threads, for tasks |
//! | `options.rs` | what an application may choose: a profile and more |
//!
//! A device can also be one end of a wire that no kernel sees
//! ([`Device::over`]), with an emulated path or another engine at the other.
//!
//! Out of scope: a path between the two ends (the device is a wire
//! without delay or loss), urgent data, authentication, several queues, talking
//! to oneself. `unsafe` code: all of it is in `gigatcp-linux`.
#![deny(missing_docs)]
#![forbid(unsafe_code)]
#![cfg(target_os = "linux")]

mod accept;
mod arrival;
mod asynchronous;
mod device;
mod engine;
mod join;
mod options;
mod precedence;
mod shared;
mod slabs;
mod socket;
mod stack;
mod stream;

pub use arrival::{Arrival, Refusal};
pub use asynchronous::AsyncStream;
pub use device::{Device, DeviceConfig, DeviceCounters, Offloads};
pub use engine::StackCounters;
pub use gigatcp_linux::{Namespace, SetupError, Step, make_pair};
pub use gigatcp_wire::Octets;
pub use options::Options;
pub use socket::Measured;
pub use stack::{Scheduling, Stack};
pub use stream::{Listener, Stream};
