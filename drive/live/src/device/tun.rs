//! A TUN device: the machine's kernel on one side, the engine on the other.
//!
//! The kernel of a namespace has the addresses [`TunConfig::kernel`]; the engine has
//! [`TunConfig::engine`], which the kernel reaches through routes.
//!
//! With segmentation offload one read returns a super-segment of up to 64 KiB, as the kernel would
//! pass it to hardware, and one write sends one. Checksums of packets that stay on the machine are
//! never computed. Without it, packets pass one by one, and a separate kernel thread receives what
//! is written and may join adjacent packets ([`gigatcp_linux::steering`]).
//!
//! Out of scope: several queues, UDP, Ethernet frames (TAP). A single queue has a single thread.

use std::io;
use std::net::IpAddr;

use gigatcp_linux::batch::BatchWriter;
use gigatcp_linux::device::{self, Offloads, Reception};
use gigatcp_linux::{Namespace, SetupError, Step, interface, steering};

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
    /// Returns all offloads, MTU 1500, no addresses.
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
    /// Returns the interface of the engine's side.
    #[must_use]
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
        let about = |step, cause| SetupError::about(step, config.name.as_str(), cause);
        if config.name.is_empty() || config.name.len() > 15 {
            let cause = io::Error::new(io::ErrorKind::InvalidInput, "a name has 1 to 15 octets");
            return Err(about(Step::Device, cause));
        }
        let tun = device::open_tun().map_err(|cause| SetupError::new(Step::OpenTun, cause))?;
        let reception = if config.offloads.segmentation {
            Reception::AtOnce
        } else {
            Reception::Queued
        };
        device::make_tun(&tun, &config.name, reception)
            .map_err(|cause| about(Step::Device, cause))?;
        device::set_offloads(&tun, config.offloads)
            .map_err(|cause| about(Step::Offloads, cause))?;
        interface::disable_discovery(&config.name);
        furnish(config).map_err(|cause| about(Step::Addresses, cause))?;
        if reception == Reception::Queued {
            // Best effort: without it, the device is slower.
            let _ = steering::receive_elsewhere(&config.name);
        }
        let wire = Self::over(tun, config.interface());
        Ok(if config.offloads.segmentation {
            wire
        } else {
            wire.with_writer(BatchWriter::new())
        })
    }
}

/// Sets MTU, addresses and routes of the interface, then brings it up.
fn furnish(config: &TunConfig) -> io::Result<()> {
    let control = device::control_socket(libc::AF_INET)?;
    let name = &config.name;
    device::set_mtu(&control, name, u32::from(config.mtu))?;
    // Best effort: a user namespace may not set it. Then the queue limit is 500 packets.
    let _ = device::set_queue(&control, name, config.queue);
    device::bring_up(&control, name)?;
    for (address, prefix) in &config.kernel {
        interface::assign(&control, name, *address, *prefix)?;
    }
    for address in &config.engine {
        let bits = if address.is_ipv4() { 32 } else { 128 };
        interface::route(&control, name, *address, bits)?;
    }
    Ok(())
}
