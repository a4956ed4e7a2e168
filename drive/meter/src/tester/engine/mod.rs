//! The engine instead of the kernel's TCP: streams of a test on a TUN device.
//!
//! ```text
//! engine 10.85.x.2 == TUN device == 10.85.x.1 this host's kernel | routes, interfaces
//! ```
//!
//! The control connection uses the kernel. Nothing is measured on it, its loop waits for a
//! descriptor, and servers identify the streams of a test by their cookie, not by their address. If
//! it is established and a stream is not, the engine's packets lack a route.
//!
//! A server on this host is reached directly, one at a loopback address by the kernel's end of the
//! device. For another host this kernel has to forward, with source address translation of the
//! engine's address unless the peer has a route back. No setting of this host is changed here.
//!
//! Out of scope: UDP, nuttcp's protocol, type of service, and a server on the engine. A server
//! requires of the engine's listeners a descriptor that the server's loop can wait for, of
//! connections a non-blocking read for the cookie, and inherited options of listeners (window, MSS,
//! congestion control of a test).

pub(super) mod device;
mod reading;
mod stream;

pub use device::Engine;
pub(super) use stream::EngineStream;
