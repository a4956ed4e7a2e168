//! UDP probes whose ICMP errors the kernel reports to their socket (`IP_RECVERR` of `ip(7)`).
//!
//! No raw socket and no privilege is needed, as in `tracepath(8)`.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6, UdpSocket};
use std::os::fd::AsRawFd;

use crate::{check_size, control_data, socket};

/// An ICMP error caused by a probe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProbeError {
    /// Port that the probe was sent to.
    pub port: u16,
    /// Address of the reporting host; `None`: this host.
    pub from: Option<IpAddr>,
    /// Kind of the error.
    pub kind: ProbeErrorKind,
}

/// Kind of an ICMP error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProbeErrorKind {
    /// The probe's time to live expired.
    TimeExceeded,
    /// The probe arrived, and no socket has its port.
    PortUnreachable,
    /// The probe exceeds a link's MTU, in bytes.
    TooBig(u32),
    /// Something else: an ICMP type and code.
    Other(u8, u8),
}

/// A socket for probes of one address family.
#[derive(Debug)]
pub struct Prober {
    socket: UdpSocket,
    is_v4: bool,
}

impl Prober {
    /// Creates a socket that does not fragment and keeps the errors of its packets.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn new(is_v4: bool) -> io::Result<Self> {
        let any: IpAddr = match is_v4 {
            true => Ipv4Addr::UNSPECIFIED.into(),
            false => Ipv6Addr::UNSPECIFIED.into(),
        };
        let prober = Self {
            socket: UdpSocket::bind(SocketAddr::new(any, 0))?,
            is_v4,
        };
        prober.socket.set_nonblocking(true)?;
        let (receive, discover) = match is_v4 {
            true => (libc::IP_RECVERR, libc::IP_MTU_DISCOVER),
            false => (libc::IPV6_RECVERR, libc::IPV6_MTU_DISCOVER),
        };
        prober.set(receive, 1)?;
        prober.set(discover, libc::IP_PMTUDISC_DO)?;
        Ok(prober)
    }

    fn level(&self) -> i32 {
        if self.is_v4 {
            libc::IPPROTO_IP
        } else {
            libc::IPPROTO_IPV6
        }
    }

    fn set(&self, option: i32, value: i32) -> io::Result<()> {
        let fd = self.socket.as_raw_fd();
        socket::set_option(fd, self.level(), option, &value.to_ne_bytes())?;
        Ok(())
    }

    /// Socket, to wait for.
    pub fn socket(&self) -> &UdpSocket {
        &self.socket
    }

    /// Sends a probe with `bytes` of payload and a time to live of `ttl`.
    ///
    /// # Errors
    /// The kernel's error: `EMSGSIZE` if it is larger than the known path MTU. Errors of earlier
    /// probes are not reported here.
    pub fn send(&self, to: SocketAddr, ttl: u8, bytes: usize) -> io::Result<()> {
        let option = if self.is_v4 {
            libc::IP_TTL
        } else {
            libc::IPV6_UNICAST_HOPS
        };
        self.set(option, ttl.into())?;
        let payload = vec![0; bytes];
        for _ in 0..8 {
            match self.socket.send_to(&payload, to) {
                Ok(_) => return Ok(()),
                // A pending error of an earlier probe is returned by the next call.
                Err(error)
                    if matches!(
                        error.raw_os_error(),
                        Some(libc::EHOSTUNREACH | libc::ECONNREFUSED)
                    ) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Path MTU of a route as cached by the kernel, in bytes.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn mtu_to(&self, to: SocketAddr) -> io::Result<u32> {
        let own = Self::new(self.is_v4)?;
        own.socket.connect(to)?;
        let option = if self.is_v4 {
            libc::IP_MTU
        } else {
            libc::IPV6_MTU
        };
        let bytes = socket::option(own.socket.as_raw_fd(), self.level(), option, 4)?;
        let number = bytes.try_into().map(i32::from_ne_bytes).unwrap_or(0);
        Ok(number.unsigned_abs())
    }

    /// Next error; `None` if there is none.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn receive(&self) -> io::Result<Option<ProbeError>> {
        let mut control = [0_u64; 64];
        let mut payload = [0_u8; 64];
        // SAFETY: `sockaddr_storage` and `msghdr` are integers and pointers that may be null.
        let (mut name, mut message): (libc::sockaddr_storage, libc::msghdr) =
            unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
        let mut vector = libc::iovec {
            iov_base: payload.as_mut_ptr().cast(),
            iov_len: payload.len(),
        };
        message.msg_name = (&raw mut name).cast();
        message.msg_namelen = size_of_val(&name) as libc::socklen_t;
        message.msg_iov = &raw mut vector;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = size_of_val(&control) as _;
        let (fd, flags) = (self.socket.as_raw_fd(), libc::MSG_ERRQUEUE);
        // SAFETY: every pointer of the message is to a live local of its length.
        match check_size(unsafe { libc::recvmsg(fd, &raw mut message, flags) }) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            Err(error) => return Err(error),
        }
        let port = socket_address(&name).map_or(0, |address| address.port());
        // SAFETY: the kernel has filled in the control part of `message`, which is alive.
        let mut all = unsafe { control_data::each(&message) };
        let found = all.find_map(|(level, kind, data)| {
            let is_error = matches!(
                (level, kind),
                (libc::IPPROTO_IP, libc::IP_RECVERR) | (libc::IPPROTO_IPV6, libc::IPV6_RECVERR)
            );
            data.split_at_checked(size_of::<libc::sock_extended_err>())
                .filter(|_| is_error)
        });
        Ok(found.map(|(error, offender)| {
            let length = offender.len().min(size_of_val(&name));
            // SAFETY: `error` has the bytes of that structure, `offender` and `name` have `length`
            // bytes, and all are integers.
            let error: libc::sock_extended_err = unsafe {
                std::ptr::copy_nonoverlapping(offender.as_ptr(), (&raw mut name).cast(), length);
                std::ptr::read_unaligned(error.as_ptr().cast())
            };
            ProbeError {
                port,
                from: socket_address(&name).map(|address| address.ip()),
                kind: kind(&error),
            }
        }))
    }
}

/// Kind of an error, by its origin, type and code.
fn kind(error: &libc::sock_extended_err) -> ProbeErrorKind {
    if error.ee_errno == libc::EMSGSIZE as u32 {
        return ProbeErrorKind::TooBig(error.ee_info);
    }
    match (error.ee_origin, error.ee_type, error.ee_code) {
        (libc::SO_EE_ORIGIN_ICMP, 11, _) | (libc::SO_EE_ORIGIN_ICMP6, 3, _) => {
            ProbeErrorKind::TimeExceeded
        }
        (libc::SO_EE_ORIGIN_ICMP, 3, 3) | (libc::SO_EE_ORIGIN_ICMP6, 1, 4) => {
            ProbeErrorKind::PortUnreachable
        }
        (_, kind, code) => ProbeErrorKind::Other(kind, code),
    }
}

/// Converts an address from the kernel's form; `None` if it is of another family.
pub(crate) fn socket_address(name: &libc::sockaddr_storage) -> Option<SocketAddr> {
    match i32::from(name.ss_family) {
        libc::AF_INET => {
            // SAFETY: the family says which structure it is.
            let v4 = unsafe { &*std::ptr::from_ref(name).cast::<libc::sockaddr_in>() };
            let address = Ipv4Addr::from(v4.sin_addr.s_addr.to_ne_bytes());
            Some(SocketAddr::new(address.into(), u16::from_be(v4.sin_port)))
        }
        libc::AF_INET6 => {
            // SAFETY: the family says which structure it is.
            let v6 = unsafe { &*std::ptr::from_ref(name).cast::<libc::sockaddr_in6>() };
            let address = Ipv6Addr::from(v6.sin6_addr.s6_addr);
            // Without its scope, a link-local address cannot be answered.
            let (port, scope) = (u16::from_be(v6.sin6_port), v6.sin6_scope_id);
            Some(SocketAddrV6::new(address, port, 0, scope).into())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_port_of_this_host_answers_a_probe() {
        let prober = Prober::new(true).unwrap();
        // A port that was free a moment ago.
        let free = UdpSocket::bind("127.0.0.1:0").unwrap();
        let to = free.local_addr().unwrap();
        drop(free);
        prober.send(to, 3, 20).unwrap();
        let error = (0..100)
            .find_map(|_| {
                std::thread::sleep(std::time::Duration::from_millis(2));
                prober.receive().unwrap()
            })
            .unwrap();
        assert_eq!(error.kind, ProbeErrorKind::PortUnreachable);
        assert_eq!(error.from, Some(to.ip()));
        assert_eq!(error.port, to.port());
    }

    #[test]
    fn the_loopback_mtu_is_known() {
        let prober = Prober::new(true).unwrap();
        let to = "127.0.0.1:33434".parse().unwrap();
        let mtu = prober.mtu_to(to).unwrap();
        assert_eq!(mtu, 65_535);
    }
}
