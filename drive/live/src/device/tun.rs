//! A TUN device: the machine's kernel on one side, the engine on the other.
//!
//! The kernel of a namespace has the addresses [`TunConfig::kernel`]; the engine has
//! [`TunConfig::engine`], which the kernel reaches through routes.
//!
//! With segmentation offload one read returns a super-segment of up to 64 KiB, as the kernel would
//! pass it to hardware, and one write sends one. Checksums of packets that stay on the machine are
//! never computed. Without it, packets pass one by one, and a separate kernel thread receives what
//! is written and may join adjacent packets ([`gigatcp_linux::tun`]).
//!
//! Out of scope: several queues, UDP, Ethernet frames (TAP). A single queue has a single thread.

use std::net::IpAddr;

use gigatcp_linux::batch::BatchWriter;
use gigatcp_linux::device::Offloads;
use gigatcp_linux::tun::{self, TunSettings};
use gigatcp_linux::{Namespace, SetupError};

use super::{Interface, Wire};

/// Settings of a new TUN device ([`Wire::open_tun`]).
///
/// ```no_run
/// use gigatcp_live::{Namespace, Stack, TunConfig, Wire};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let config = TunConfig {
///     mtu: 9000,
///     kernel: vec![("10.0.0.1".parse()?, 24)],
///     engine: vec!["10.0.0.2".parse()?],
///     ..TunConfig::default()
/// };
/// let namespace = Namespace::new()?;
/// let stack = Stack::start(Wire::open_tun(&namespace, &config)?)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TunConfig {
    /// Its name, at most 15 bytes.
    pub name: String,
    /// Its MTU in bytes, on a wire.
    pub mtu: u16,
    /// Offloads between kernel and engine.
    pub offloads: Offloads,
    /// Addresses of the kernel's side and their prefix lengths.
    pub kernel: Vec<(IpAddr, u8)>,
    /// Addresses of the engine, which the kernel reaches through the device.
    pub engine: Vec<IpAddr>,
    /// Queue limit for packets to be read, in packets.
    pub queue: u32,
    /// Time to live of every packet (RFC 9293 MUST-49); hop limit in IPv6.
    pub ttl: u8,
}

impl Default for TunConfig {
    /// All offloads, MTU 1500, no addresses.
    fn default() -> Self {
        Self {
            name: "giga0".into(),
            mtu: 1500,
            offloads: Offloads::ALL,
            kernel: Vec::new(),
            engine: Vec::new(),
            queue: 10_000,
            ttl: 64,
        }
    }
}

impl TunConfig {
    /// Interface of the engine's side.
    pub fn interface(&self) -> Interface {
        Interface {
            name: self.name.clone(),
            addresses: self.engine.clone(),
            mtu: self.mtu,
            offloads: self.offloads,
            ttl: self.ttl,
        }
    }
}

impl Wire {
    /// Creates a TUN device in a namespace, with addresses and routes, and brings it up. The device
    /// exists as long as this value.
    ///
    /// # Errors
    /// [`SetupError`]: the step that failed, and what is missing.
    pub fn open_tun(namespace: &Namespace, config: &TunConfig) -> Result<Self, SetupError> {
        namespace.run(|| Self::open_tun_here(config))?
    }

    /// Creates a TUN device in the namespace of the calling thread.
    ///
    /// # Errors
    /// [`SetupError`]: the step that failed, and what is missing.
    pub fn open_tun_here(config: &TunConfig) -> Result<Self, SetupError> {
        let tun = tun::open(&TunSettings {
            name: &config.name,
            mtu: config.mtu,
            offloads: config.offloads,
            queue: config.queue,
            addresses: &config.kernel,
            routed: &config.engine,
        })?;
        let wire = Self::over(tun, config.interface());
        Ok(if config.offloads.segmentation {
            wire
        } else {
            wire.with_writer(BatchWriter::new())
        })
    }
}
