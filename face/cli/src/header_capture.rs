//! Captures the headers of TCP packets that pass an interface of this host, as pcapng.
//!
//! The caller's thread captures: each call of [`HeaderCapture::take`] writes the packets that the
//! kernel holds. ICMP errors are captured too. Times are of the real-time clock.

use std::io::{self, Write};
use std::time::Duration;

use gigatcp_capture::{CaptureError, Interface, InterfaceId, PcapngWriter, SnapLength};
use gigatcp_linux::device::Index;
use gigatcp_linux::header_ring::{self, HeaderRing, Headers};
use gigatcp_linux::interface;
use gigatcp_units::Instant;

use gigatcp_meter::filter::Filter;

/// Bytes captured of each packet: the longest headers of IPv4 with TCP.
pub const SNAP: u32 = 120;

/// Maximum number of packets of a capture, about half a gigabyte.
pub const MAX_PACKETS: u64 = 3_000_000;

/// Time between two calls of [`HeaderCapture::take`]: the kernel holds packets, with their times,
/// for longer.
pub const INTERVAL: Duration = Duration::from_millis(10);

/// The name that stands for all interfaces.
pub const ANY: &str = "any";

/// A reason why headers are not captured.
#[derive(Debug, thiserror::Error)]
pub enum HeaderCaptureError {
    /// No interface has this name.
    #[error("there is no interface `{name}`")]
    NoInterface {
        /// The name.
        name: String,
        /// The names of the interfaces that exist.
        existing: Vec<String>,
    },
    /// A filter that does not apply to packets.
    #[error("the filter cannot be used: {0}")]
    Filter(String),
    /// The kernel's error.
    #[error("{0}")]
    Socket(io::Error),
    /// The packets cannot be written.
    #[error(transparent)]
    Write(#[from] CaptureError),
}

/// A capture in progress.
#[derive(Debug)]
pub struct HeaderCapture<W: Write> {
    ring: HeaderRing,
    output: Output<W>,
}

impl<W: Write> HeaderCapture<W> {
    /// Begins a capture on the interface `name`, or on all interfaces if that is [`ANY`], of the
    /// calling thread's namespace.
    ///
    /// # Errors
    /// [`HeaderCaptureError`].
    pub fn begin(name: &str, filter: &Filter, out: W) -> Result<Self, HeaderCaptureError> {
        let existing = interface::list().map_err(HeaderCaptureError::Socket)?;
        let index = if name == ANY {
            0
        } else {
            number_of(name, existing)?
        };
        let program = filter.program(SNAP).map_err(HeaderCaptureError::Filter)?;
        let ring = HeaderRing::open(index, &program).map_err(HeaderCaptureError::Socket)?;
        let mut output = Output {
            writer: PcapngWriter::new(out)?,
            interfaces: Vec::new(),
        };
        if index != 0 {
            output.add_interface(index, name)?;
        }
        Ok(Self { ring, output })
    }

    /// Writes the packets that the kernel holds, and calls `visit` with each. To be called every
    /// [`INTERVAL`]. Packets above [`MAX_PACKETS`] are left out.
    ///
    /// # Errors
    /// [`HeaderCaptureError::Write`].
    pub fn take(&mut self, mut visit: impl FnMut(&Headers<'_>)) -> Result<(), HeaderCaptureError> {
        // Returns now and then, however fast packets arrive.
        for _ in 0..header_ring::FRAMES {
            if self.is_full() {
                break;
            }
            let taken = self.ring.next(|packet| {
                // Loopback captures each packet twice.
                if packet.is_loopback && !packet.is_outgoing {
                    return Ok(());
                }
                visit(&packet);
                self.output.write(&packet)
            });
            match taken {
                Some(written) => written?,
                None => break,
            }
        }
        Ok(())
    }

    /// The number of packets written.
    pub const fn packets(&self) -> u64 {
        self.output.writer.packets()
    }

    /// Whether it has [`MAX_PACKETS`].
    pub const fn is_full(&self) -> bool {
        self.packets() >= MAX_PACKETS
    }

    /// Ends the capture; returns where it was written, and the number of packets that the kernel
    /// dropped because they were not taken in time.
    ///
    /// # Errors
    /// [`HeaderCaptureError`].
    pub fn finish(mut self) -> Result<(W, u64), HeaderCaptureError> {
        let dropped = self.ring.dropped().map_err(HeaderCaptureError::Socket)?;
        Ok((self.output.writer.finish()?, dropped))
    }
}

fn number_of(name: &str, existing: Vec<(Index, String)>) -> Result<Index, HeaderCaptureError> {
    let found = existing.iter().find(|(_, known)| known == name);
    match found {
        Some((index, _)) => Ok(*index),
        None => Err(HeaderCaptureError::NoInterface {
            name: name.to_owned(),
            existing: existing.into_iter().map(|(_, name)| name).collect(),
        }),
    }
}

/// The pcapng file.
#[derive(Debug)]
struct Output<W: Write> {
    writer: PcapngWriter<W>,
    /// Interfaces by the kernel's number.
    interfaces: Vec<(Index, InterfaceId)>,
}

impl<W: Write> Output<W> {
    fn write(&mut self, packet: &Headers<'_>) -> Result<(), CaptureError> {
        let interface = self.interface(packet.interface)?;
        let at = Instant::from_nanos(packet.at.cast_unsigned());
        self.writer
            .write_packet(interface, at, packet.octets, packet.wire_len)
    }

    fn interface(&mut self, index: Index) -> Result<InterfaceId, CaptureError> {
        let known = self.interfaces.iter().find(|(known, _)| *known == index);
        if let Some((_, interface)) = known {
            return Ok(*interface);
        }
        let existing = interface::list().unwrap_or_default();
        let found = existing.into_iter().find(|(known, _)| *known == index);
        let name = found.map_or_else(|| format!("interface {index}"), |(_, name)| name);
        self.add_interface(index, &name)
    }

    fn add_interface(&mut self, index: Index, name: &str) -> Result<InterfaceId, CaptureError> {
        let interface = self.writer.add_interface(Interface {
            snap_length: SnapLength::Octets(SNAP),
            ..Interface::new(name)
        })?;
        self.interfaces.push((index, interface));
        Ok(interface)
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use gigatcp_capture::CaptureReader;
    use gigatcp_linux::Namespace;

    use super::*;

    /// Captures on loopback while `traffic` runs, in a namespace; `None` without the privilege.
    fn captured(
        interface: &'static str,
        filter: &str,
        traffic: impl FnOnce() + Send,
    ) -> Option<(u64, Vec<u8>)> {
        let namespace = match Namespace::new() {
            Ok(namespace) => namespace,
            Err(error) => {
                assert!(error.is_missing_privilege(), "{error}");
                eprintln!("SKIPPED, NOTHING PROVEN: {error}");
                return None;
            }
        };
        let filter = Filter::parse(filter, &|_| Vec::new()).unwrap();
        let work = || {
            let mut capture = HeaderCapture::begin(interface, &filter, Vec::new()).unwrap();
            traffic();
            let mut seen = 0;
            std::thread::sleep(Duration::from_millis(50));
            capture.take(|_| seen += 1).unwrap();
            assert_eq!(capture.packets(), seen);
            let (bytes, dropped) = capture.finish().unwrap();
            assert_eq!(dropped, 0);
            (seen, bytes)
        };
        Some(namespace.run(work).unwrap())
    }

    /// Opens and closes a connection at that address.
    fn connection(address: &str) {
        let listener = TcpListener::bind(address).unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        drop((listener.accept().unwrap(), stream));
    }

    /// Has the kernel answer a closed UDP port with an ICMP error.
    fn icmp_error(address: &str) {
        let socket = std::net::UdpSocket::bind((address, 0)).unwrap();
        socket.send_to(&[1], (address, 9)).unwrap();
    }

    #[test]
    fn filter_selects_packets_in_the_kernel_as_it_selects_connections() {
        let both = || {
            connection("127.0.0.1:1001");
            connection("[::1]:1002");
        };
        for (filter, selects) in [
            ("", [true, true]),
            ("tcp", [true, true]),
            ("port 1001", [true, false]),
            ("port 1002", [false, true]),
            ("not port 1002", [true, false]),
            ("port 1001 or port 1002", [true, true]),
            ("port 1001 and port 1002", [false, false]),
            ("host 127.0.0.1", [true, false]),
            ("host ::1", [false, true]),
            ("::1", [false, true]),
            ("host 127.0.0.2 or host ::2", [false, false]),
            ("net 127.0.0.0/9", [true, false]),
            ("net 127.128.0.0/9", [false, false]),
            ("net ::/127 and tcp port 1002", [false, true]),
            ("ip6", [false, true]),
            ("not ( ip6 or port 1001 )", [false, false]),
            ("127.0.0.1:1001", [true, false]),
            ("[::1]:1001", [false, false]),
        ] {
            let Some((_, bytes)) = captured("lo", filter, both) else {
                return;
            };
            let mut reader = CaptureReader::from_reader(io::Cursor::new(bytes)).unwrap();
            let mut found = [false; 2];
            while let Some(record) = reader.next_record().unwrap() {
                found[usize::from(record.octets[0] >> 4 == 6)] = true;
            }
            assert_eq!(found, selects, "{filter}");
        }
    }

    #[test]
    fn icmp_errors_are_captured_and_datagrams_are_not() {
        let errors = || {
            icmp_error("127.0.0.1");
            icmp_error("::1");
        };
        for interface in ["lo", ANY] {
            let Some((packets, _)) = captured(interface, "port 1", errors) else {
                return;
            };
            assert_eq!(packets, 2);
        }
    }

    #[test]
    fn unknown_interface_is_an_error_with_the_names_there_are() {
        let error = HeaderCapture::begin("no-such-name-anywhere", &Filter::Any, Vec::new());
        let Err(HeaderCaptureError::NoInterface { existing, .. }) = error else {
            panic!("{error:?}");
        };
        assert!(existing.contains(&"lo".to_owned()));
    }
}
