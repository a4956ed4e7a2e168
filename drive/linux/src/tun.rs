//! Opens a TUN device with addresses and routes.

use std::io;
use std::net::IpAddr;
use std::os::fd::OwnedFd;

use crate::device::{self, Offloads, Reception};
use crate::{SetupError, Step, interface, steering};

/// Settings of a TUN device.
#[derive(Clone, Copy, Debug)]
pub struct TunSettings<'a> {
    /// Its name, 1 to 15 bytes.
    pub name: &'a str,
    /// Its MTU in bytes, on a wire.
    pub mtu: u16,
    /// Offloads between the kernel and the reader.
    pub offloads: Offloads,
    /// Queue limit for packets to be read, in packets.
    pub queue: u32,
    /// Addresses of the kernel's side and their prefix lengths.
    pub addresses: &'a [(IpAddr, u8)],
    /// Addresses that the kernel reaches through the device.
    pub routed: &'a [IpAddr],
}

/// Creates a TUN device in the calling thread's namespace and brings it up. It exists as long as
/// the descriptor. Without segmentation offload, received packets are processed by other threads
/// (`steering.rs`).
///
/// # Errors
/// [`SetupError`]: the step that failed, and what is missing.
pub fn open(settings: &TunSettings<'_>) -> Result<OwnedFd, SetupError> {
    let name = settings.name;
    let about = |step| move |cause| SetupError::about(step, name, cause);
    if name.is_empty() || name.len() > 15 {
        let cause = io::Error::new(io::ErrorKind::InvalidInput, "a name has 1 to 15 octets");
        return Err(about(Step::Device)(cause));
    }
    let tun = device::open_tun().map_err(|cause| SetupError::new(Step::OpenTun, cause))?;
    let reception = if settings.offloads.segmentation {
        Reception::AtOnce
    } else {
        Reception::Queued
    };
    device::make_tun(&tun, name, reception).map_err(about(Step::Device))?;
    device::set_offloads(&tun, settings.offloads).map_err(about(Step::Offloads))?;
    interface::disable_discovery(name);
    furnish(settings).map_err(about(Step::Addresses))?;
    if reception == Reception::Queued {
        // Best effort: without it, the device is slower.
        let _ = steering::receive_elsewhere(name);
    }
    Ok(tun)
}

/// Sets MTU, addresses and routes of the interface, and brings it up.
fn furnish(settings: &TunSettings<'_>) -> io::Result<()> {
    let control = device::control_socket(libc::AF_INET)?;
    let name = settings.name;
    device::set_mtu(&control, name, u32::from(settings.mtu))?;
    // Best effort: a user namespace may not set it. Then the queue limit is 500 packets.
    let _ = device::set_queue(&control, name, settings.queue);
    device::bring_up(&control, name)?;
    for (address, prefix) in settings.addresses {
        interface::assign(&control, name, *address, *prefix)?;
    }
    for address in settings.routed {
        let bits = if address.is_ipv4() { 32 } else { 128 };
        interface::route(&control, name, *address, bits)?;
    }
    Ok(())
}
