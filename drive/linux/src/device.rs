//! The TUN device and its interface: created, addressed, routed and brought up by `ioctl`, so that
//! no other program is needed.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};

use bytes::{BufMut, BytesMut};
use rustix::fs::{Mode, OFlags, open};
use rustix::net::netdevice::name_to_index;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use crate::virtio::{Segmentation, VirtioHeader};
use crate::{check, ethtool};

/// Number of an interface, in `struct in6_rtmsg` and `struct in6_ifreq`.
pub type Index = libc::c_int;

/// Opens the driver.
pub fn open_tun() -> io::Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NONBLOCK;
    Ok(open("/dev/net/tun", flags, Mode::empty())?)
}

/// Maximum bytes of written packets that wait for the kernel, including its own bookkeeping. That
/// is some 3,500 packets of 1500. Without a limit, a receiving thread that gets no CPU time would
/// let them fill the machine's memory.
const QUEUED: libc::c_int = 8 << 20;

/// When the kernel processes a packet written to a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reception {
    /// During the call that writes it.
    AtOnce,
    /// Later, with other packets written by then (`IFF_NAPI`). Adjacent packets of one flow may be
    /// joined, as behind a network card. If too much waits, a write fails with
    /// [`io::ErrorKind::WouldBlock`]. `steering.rs` chooses the thread that processes them.
    Queued,
}

/// Creates the device `name` of `tun`. It carries single IP packets, each behind a
/// [`VirtioHeader`], and sends without offloads. It lives as long as the descriptor.
pub fn make_tun(tun: &OwnedFd, name: &str, reception: Reception) -> io::Result<()> {
    let mut request = request_for(name);
    let mut flags = libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_VNET_HDR;
    if reception == Reception::Queued {
        flags |= libc::IFF_NAPI;
    }
    request.ifr_ifru.ifru_flags = flags as libc::c_short;
    // SAFETY: the request is a `struct ifreq`, as TUNSETIFF wants it.
    check(unsafe { libc::ioctl(tun.as_raw_fd(), libc::TUNSETIFF, &raw mut request) })?;
    if reception == Reception::Queued {
        let most = QUEUED;
        // SAFETY: TUNSETSNDBUF takes a pointer to an integer, which outlives the
        // call.
        check(unsafe { libc::ioctl(tun.as_raw_fd(), libc::TUNSETSNDBUF, &raw const most) })?;
    }
    Ok(())
}

/// A socket for configuring interfaces: any of its family will do.
pub fn control_socket(family: libc::c_int) -> io::Result<OwnedFd> {
    let family = AddressFamily::from_raw(family as u16);
    let flags = SocketFlags::CLOEXEC;
    Ok(socket_with(family, SocketType::DGRAM, flags, None)?)
}

/// A request about the interface `name`.
pub(crate) fn request_for(name: &str) -> libc::ifreq {
    // SAFETY: `ifreq` is integers and a union of integers: all zero is valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    assert!(name.len() < request.ifr_name.len(), "a short name of ours");
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    request
}

fn ask(control: RawFd, what: libc::c_ulong, request: &mut libc::ifreq) -> io::Result<()> {
    // SAFETY: `request` is a whole `struct ifreq`, which every request of this
    // file takes.
    check(unsafe { libc::ioctl(control, what as libc::Ioctl, std::ptr::from_mut(request)) })?;
    Ok(())
}

/// Number of the interface `name`.
pub fn index(control: &OwnedFd, name: &str) -> io::Result<Index> {
    Ok(name_to_index(control, name)?.cast_signed())
}

/// Sets the MTU of the interface, in bytes.
pub fn set_mtu(control: &OwnedFd, name: &str, mtu: u32) -> io::Result<()> {
    let mut request = request_for(name);
    request.ifr_ifru.ifru_mtu = mtu.cast_signed();
    ask(control.as_raw_fd(), libc::SIOCSIFMTU, &mut request)
}

/// MTU of the interface, in bytes.
pub fn mtu(control: &OwnedFd, name: &str) -> io::Result<u32> {
    let mut request = request_for(name);
    ask(control.as_raw_fd(), libc::SIOCGIFMTU, &mut request)?;
    // SAFETY: SIOCGIFMTU has written this member.
    Ok(unsafe { request.ifr_ifru.ifru_mtu }.cast_unsigned())
}

/// Address of an Ethernet interface. It is all zero for loopback, which has frames of this kind.
///
/// # Errors
/// The kernel's error, also for an interface of another kind.
pub fn ethernet_address(control: &OwnedFd, name: &str) -> io::Result<[u8; 6]> {
    let mut request = request_for(name);
    ask(control.as_raw_fd(), libc::SIOCGIFHWADDR, &mut request)?;
    // SAFETY: SIOCGIFHWADDR has written this member.
    let address = unsafe { request.ifr_ifru.ifru_hwaddr };
    if !matches!(
        address.sa_family,
        libc::ARPHRD_ETHER | libc::ARPHRD_LOOPBACK
    ) {
        let what = format!("{name} is no Ethernet interface");
        return Err(io::Error::new(io::ErrorKind::Unsupported, what));
    }
    let mut octets = [0; 6];
    for (to, from) in octets.iter_mut().zip(address.sa_data) {
        *to = from as u8;
    }
    Ok(octets)
}

/// Sets how many packets wait for a reader before the interface drops.
pub fn set_queue(control: &OwnedFd, name: &str, packets: u32) -> io::Result<()> {
    let mut request = request_for(name);
    // The queue length is a member of the same union.
    request.ifr_ifru.ifru_metric = packets.cast_signed();
    ask(control.as_raw_fd(), libc::SIOCSIFTXQLEN, &mut request)
}

/// Brings the interface up.
pub fn bring_up(control: &OwnedFd, name: &str) -> io::Result<()> {
    let up = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    change_flags(control, name, |flags| flags | up)
}

/// Takes the interface down; this removes its IPv6 addresses and its routes.
pub fn take_down(control: &OwnedFd, name: &str) -> io::Result<()> {
    change_flags(control, name, |flags| {
        flags & !(libc::IFF_UP as libc::c_short)
    })
}

fn change_flags(
    control: &OwnedFd,
    name: &str,
    change: impl FnOnce(libc::c_short) -> libc::c_short,
) -> io::Result<()> {
    let mut request = request_for(name);
    ask(control.as_raw_fd(), libc::SIOCGIFFLAGS, &mut request)?;
    // SAFETY: SIOCGIFFLAGS has written this member.
    let flags = unsafe { request.ifr_ifru.ifru_flags };
    request.ifr_ifru.ifru_flags = change(flags);
    ask(control.as_raw_fd(), libc::SIOCSIFFLAGS, &mut request)
}

/// Passes a packet to the kernel as received. If `segment_size` is not zero, the packet consists of
/// joined segments of that many bytes.
pub fn inject(tun: &OwnedFd, packet: &[u8], segment_size: u16) -> io::Result<()> {
    let joined = Segmentation {
        is_v6: packet.first().is_some_and(|first| first >> 4 == 6),
        size: segment_size,
        header_len: 0,
        has_ecn: false,
    };
    let header = VirtioHeader {
        segmentation: (segment_size > 0).then_some(joined),
        ..VirtioHeader::default()
    };
    let whole = [&header.encode(), packet].concat();
    rustix::io::write(tun, &whole)?;
    Ok(())
}

/// Reads one packet with its [`VirtioHeader`] and appends it to `into`. What exceeds its capacity
/// is lost. Returns the bytes read.
///
/// # Errors
/// [`io::ErrorKind::WouldBlock`] if none waits; otherwise the device's error.
pub fn read_packet(tun: &impl AsFd, into: &mut BytesMut) -> io::Result<usize> {
    let (read, _) = rustix::io::read(tun, into.spare_capacity_mut())?;
    let len = read.len();
    // SAFETY: the call has written the first `len` octets of the spare room.
    unsafe { into.advance_mut(len) };
    Ok(len)
}

/// Sets the offloads that the device supports. The kernel may then send super-segments of up to 64
/// KiB, and packets without checksum.
///
/// # Errors
/// The device's error: the kernel does not support one of them.
pub fn set_offloads(tun: &impl AsRawFd, offloads: Offloads) -> io::Result<()> {
    let mut flags = 0;
    if offloads.checksum {
        flags |= libc::TUN_F_CSUM;
    }
    if offloads.segmentation {
        flags |= libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6 | libc::TUN_F_TSO_ECN;
    }
    let flags = libc::c_ulong::from(flags);
    // SAFETY: TUNSETOFFLOAD takes a plain integer.
    check(unsafe { libc::ioctl(tun.as_raw_fd(), libc::TUNSETOFFLOAD, flags) })?;
    Ok(())
}

/// Offloads of a device, see [`set_offloads`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Offloads {
    /// TCP checksums.
    pub checksum: bool,
    /// Segmentation of TCP over IPv4 and IPv6, with and without CWR. It includes the checksums that
    /// it requires.
    pub segmentation: bool,
}

impl Offloads {
    /// All of them.
    pub const ALL: Self = Self {
        checksum: true,
        segmentation: true,
    };
    /// None of them: packets are as on a wire.
    pub const NONE: Self = Self {
        checksum: false,
        segmentation: false,
    };
}

/// Discards sent packets from the device's queue. The packet socket has already received them.
pub fn drain(tun: &OwnedFd) {
    while rustix::io::read(tun, &mut [0; 2048]).is_ok_and(|read| read > 0) {}
}

/// `ETHTOOL_SGSO` of `linux/ethtool.h`: segmentation in software.
pub const FEATURE_GSO: u32 = 0x24;
/// `ETHTOOL_STSO`: segmentation by the device.
pub const FEATURE_TSO: u32 = 0x1f;
/// `ETHTOOL_SGRO`: packets received are joined.
pub const FEATURE_GRO: u32 = 0x2c;
/// `ETHTOOL_SSG`: scatter-gather.
pub const FEATURE_SG: u32 = 0x19;

/// Switches off segmentation and receive offloads of the interface. Every packet is then one of the
/// wire.
///
/// # Errors
/// The kernel's error: no such interface, no privilege, or an unsupported feature.
pub fn switch_off_offloads(name: &str) -> io::Result<()> {
    [FEATURE_TSO, FEATURE_GSO, FEATURE_GRO, FEATURE_SG]
        .into_iter()
        .try_for_each(|feature| ethtool::set_feature(name, feature, false))
}
