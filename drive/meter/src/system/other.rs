//! Systems other than Linux: other Unixes and Windows, through `rustix`, which wraps functions
//! missing in `std`. Where they differ: `unix.rs` and `windows.rs`.
//!
//! They read no `tcp_info` here, so tests there have no retransmissions and no explanation of this
//! end. Datagrams are sent and received one by one, and drops of a socket are unknown.

use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;

use gigatcp_units::Instant;
use gigatcp_why::counters::Reading;

use super::fd::AsRawFd;

fn unsupported<T>() -> io::Result<T> {
    let text = "not available on this system";
    Err(io::Error::new(io::ErrorKind::Unsupported, text))
}

/// Sampler that reads no counters.
#[derive(Clone, Copy, Default, Debug)]
pub struct Sampler;

impl Sampler {
    /// Fails: this system's counters of a connection are not read.
    ///
    /// # Errors
    /// Always.
    pub fn read(&self, _: &impl AsRawFd, _: Instant) -> io::Result<Reading> {
        unsupported()
    }
}

/// `None`: interfaces are not looked up.
pub(crate) fn interface_towards(_: IpAddr) -> Option<String> {
    None
}

/// No counters: those of interfaces are not read.
pub(crate) fn loss_counters(_: &str) -> BTreeMap<String, u64> {
    BTreeMap::new()
}

/// Kernel settings by Linux's names.
pub(crate) mod settings {
    pub(crate) fn read(_: &str) -> std::io::Result<String> {
        super::unsupported()
    }
}

/// CPU affinity of threads.
pub(crate) mod process {
    pub(crate) fn pin_to_processor(_: usize) -> std::io::Result<()> {
        super::unsupported()
    }

    pub(crate) fn allow_all_descriptors() -> std::io::Result<u64> {
        super::unsupported()
    }
}

/// Linux-only socket options.
pub(crate) mod socket {
    use std::fs::File;
    use std::io;
    use std::net::{IpAddr, SocketAddr, UdpSocket};

    use super::super::fd::AsRawFd;

    pub(crate) fn set_pacing_rate(_: &impl AsRawFd, _: u64) -> io::Result<()> {
        super::unsupported()
    }

    /// What a TCP connection has sent and received.
    #[derive(Clone, Copy, Default, Debug)]
    pub(crate) struct WireCounts {
        pub(crate) segments: u64,
        pub(crate) bytes_sent: u64,
    }

    pub(crate) fn wire_counts(_: &impl AsRawFd) -> io::Result<WireCounts> {
        super::unsupported()
    }

    pub(crate) fn since_acknowledgment(_: &impl AsRawFd) -> io::Result<std::time::Duration> {
        super::unsupported()
    }

    pub(crate) fn is_mptcp(_: &impl AsRawFd) -> bool {
        false
    }

    pub(crate) fn unlock_buffers(_: &impl AsRawFd) -> io::Result<()> {
        super::unsupported()
    }

    pub(crate) fn queues(_: &impl AsRawFd) -> io::Result<[u64; 2]> {
        super::unsupported()
    }

    pub(crate) fn memory_file(_: &[u8]) -> io::Result<File> {
        super::unsupported()
    }

    pub(crate) fn send_file(_: &impl AsRawFd, _: &File, _: usize) -> io::Result<usize> {
        super::unsupported()
    }

    pub(crate) fn limit_mss(_: &impl AsRawFd, _: Option<u32>) -> io::Result<()> {
        super::unsupported()
    }

    pub(crate) fn stamp_arrivals(_: &UdpSocket) -> io::Result<()> {
        super::unsupported()
    }

    pub(crate) fn pass_hop_limits(_: &UdpSocket) -> io::Result<()> {
        super::unsupported()
    }

    pub(crate) fn pass_destinations(_: &UdpSocket) -> io::Result<()> {
        super::unsupported()
    }

    /// Sends a datagram from the address that the route prefers.
    pub(crate) fn send_from(
        socket: &UdpSocket,
        octets: &[u8],
        to: SocketAddr,
        _: Option<IpAddr>,
    ) -> io::Result<usize> {
        socket.send_to(octets, to)
    }

    /// A datagram that was received.
    pub(crate) struct Received {
        pub(crate) length: usize,
        pub(crate) from: Option<SocketAddr>,
        pub(crate) at: Option<i64>,
        pub(crate) hop_limit: Option<u8>,
        pub(crate) to: Option<IpAddr>,
    }

    /// Receives a datagram without its arrival time.
    pub(crate) fn receive_stamped(socket: &UdpSocket, octets: &mut [u8]) -> io::Result<Received> {
        let (length, from) = socket.recv_from(octets)?;
        Ok(Received {
            length,
            from: Some(from),
            at: None,
            hop_limit: None,
            to: None,
        })
    }
}

/// Waiting for descriptors, and waking waiting threads.
pub(crate) mod poll {
    use std::io;
    use std::time::Duration;

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::io::Errno;

    use super::super::fd::BorrowedFd;
    pub(crate) use super::super::own::EventFd;

    /// Events that one descriptor is waited for.
    #[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
    pub(crate) struct Interest {
        pub(crate) read: bool,
        pub(crate) write: bool,
    }

    /// Waits for `longest`, rounded up to milliseconds as `poll` counts: a shorter wait would spin.
    fn wait_for(all: &mut [PollFd<'_>], longest: Option<Duration>) -> io::Result<()> {
        let limit = longest.map(|longest| {
            let millis = longest.as_micros().div_ceil(1000).min(i32::MAX as u128) as u32;
            Timespec {
                tv_sec: i64::from(millis / 1000),
                tv_nsec: (millis % 1000 * 1_000_000) as _,
            }
        });
        match poll(all, limit.as_ref()) {
            Ok(_) => Ok(()),
            Err(Errno::INTR) => {
                all.iter_mut().for_each(PollFd::clear_revents);
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    pub(crate) fn wait<const N: usize>(
        descriptors: [(BorrowedFd<'_>, Interest); N],
        longest: Option<Duration>,
    ) -> io::Result<[Interest; N]> {
        let mut all = descriptors.map(|(descriptor, interest)| {
            let mut flags = PollFlags::empty();
            flags.set(PollFlags::IN, interest.read);
            flags.set(PollFlags::OUT, interest.write);
            PollFd::from_borrowed_fd(descriptor, flags)
        });
        wait_for(&mut all, longest)?;
        let broken = PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL;
        Ok(all.map(|one| Interest {
            read: one.revents().intersects(broken | PollFlags::IN),
            write: one.revents().intersects(broken | PollFlags::OUT),
        }))
    }

    pub(crate) fn wait_to_read<'a>(
        descriptors: impl IntoIterator<Item = BorrowedFd<'a>>,
        longest: Duration,
    ) -> io::Result<Vec<usize>> {
        let request = |one| PollFd::from_borrowed_fd(one, PollFlags::IN);
        let mut all: Vec<PollFd<'_>> = descriptors.into_iter().map(request).collect();
        wait_for(&mut all, Some(longest))?;
        let ready = all
            .iter()
            .enumerate()
            .filter(|(_, one)| !one.revents().is_empty());
        Ok(ready.map(|(place, _)| place).collect())
    }
}

/// Datagrams, one per call.
pub(crate) mod datagrams {
    use std::io::{self, Read};
    use std::net::{TcpStream, UdpSocket};

    pub(crate) const MAX_BATCH: usize = 64;

    pub(crate) const MAX_SEGMENTED: usize = 65_507;

    /// A received datagram.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Message<'a> {
        bytes: &'a [u8],
        pub(crate) drops: Option<u32>,
    }

    impl<'a> Message<'a> {
        pub(crate) fn bytes(self) -> &'a [u8] {
            self.bytes
        }

        pub(crate) fn datagrams(self) -> impl Iterator<Item = &'a [u8]> {
            std::iter::once(self.bytes)
        }

        pub(crate) fn is_joined(self) -> bool {
            false
        }
    }

    /// Length of a received datagram.
    #[derive(Debug)]
    pub(crate) struct Received(usize);

    impl Received {
        pub(crate) fn messages<'a>(
            &self,
            buffer: &'a [u8],
            _: usize,
        ) -> impl Iterator<Item = Message<'a>> {
            let (bytes, drops) = (&buffer[..self.0], None);
            std::iter::once(Message { bytes, drops })
        }
    }

    pub(crate) fn send_segmented(_: &UdpSocket, _: &[u8], _: usize) -> io::Result<usize> {
        super::unsupported()
    }

    pub(crate) fn receive_coalesced(_: &UdpSocket) -> io::Result<()> {
        super::unsupported()
    }

    pub(crate) fn send(socket: &UdpSocket, buffer: &[u8], size: usize) -> io::Result<usize> {
        socket.send(&buffer[..size]).map(|_| 1)
    }

    pub(crate) fn receive(
        socket: &UdpSocket,
        buffer: &mut [u8],
        size: usize,
    ) -> io::Result<Received> {
        socket.recv(&mut buffer[..size]).map(Received)
    }

    pub(crate) fn report_drops(_: &UdpSocket) -> io::Result<()> {
        Ok(())
    }

    /// Reads and discards.
    pub(crate) fn discard(mut socket: &TcpStream, length: usize) -> io::Result<usize> {
        const MOST: usize = 16 << 10;
        socket.read(&mut [0; MOST][..length.min(MOST)])
    }
}

/// ICMP echo, which is not sent here.
pub(crate) mod ping {
    use std::io;
    use std::net::{IpAddr, UdpSocket};

    use super::super::fd::{AsFd, BorrowedFd};

    #[derive(Debug)]
    pub(crate) struct Pinger(UdpSocket);

    impl Pinger {
        pub(crate) fn new(_: IpAddr) -> io::Result<Self> {
            super::unsupported()
        }

        pub(crate) fn send(&self, _: u16) -> io::Result<()> {
            super::unsupported()
        }

        pub(crate) fn receive(&self) -> io::Result<Option<u16>> {
            Ok(None)
        }
    }

    impl AsFd for Pinger {
        fn as_fd(&self) -> BorrowedFd<'_> {
            self.0.as_fd()
        }
    }
}

/// Probes of a path, whose errors are not returned to the socket here.
#[allow(dead_code, reason = "no error comes")]
pub(crate) mod probe {
    use std::io;
    use std::net::{IpAddr, SocketAddr, UdpSocket};

    #[derive(Clone, Copy, Debug)]
    pub(crate) struct ProbeError {
        pub(crate) port: u16,
        pub(crate) from: Option<IpAddr>,
        pub(crate) kind: ProbeErrorKind,
    }

    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub(crate) enum ProbeErrorKind {
        TimeExceeded,
        PortUnreachable,
        TooBig(u32),
    }

    #[derive(Debug)]
    pub(crate) struct Prober(UdpSocket);

    impl Prober {
        pub(crate) fn new(_: bool) -> io::Result<Self> {
            super::unsupported()
        }

        pub(crate) fn socket(&self) -> &UdpSocket {
            &self.0
        }

        pub(crate) fn send(&self, _: SocketAddr, _: u8, _: usize) -> io::Result<()> {
            super::unsupported()
        }

        pub(crate) fn mtu_to(&self, _: SocketAddr) -> io::Result<u32> {
            super::unsupported()
        }

        pub(crate) fn receive(&self) -> io::Result<Option<ProbeError>> {
            Ok(None)
        }
    }
}
