//! `--whatif`: captures the headers of the test's connection and fits a twin.
//!
//! The fit needs the rate of the path and the lost packets, which `TCP_INFO` does not contain. The
//! packets show both. They are kept in memory and never written.

use gigatcp_analyze::{Options, Source};
use gigatcp_twin::Transfer;

use super::super::whatif;
use super::super::why::answer::labeled;
use super::{Arguments, Format, Protocol, StackChoice};
use crate::failure::Failure;

/// Hint for tests that cannot be captured.
const OTHERWISE: &str = "capture with tcpdump, and ask `gigatcp whatif FILE --set KEY=VALUE`";

/// Refuses options with several streams, with the engine, or with another output format.
fn check(arguments: &Arguments) -> Result<(), Failure> {
    let refused = [
        (arguments.parallel > 1, "--parallel"),
        (arguments.stack == StackChoice::Engine, "--stack engine"),
        (arguments.format != Format::Native, "--format"),
    ];
    let Some((_, option)) = refused.iter().find(|(is_given, _)| *is_given) else {
        return Ok(());
    };
    Err(Failure::new(format!(
        "--whatif is for one stream of the kernel and the usual output, not for {option}"
    ))
    .effect("nothing was measured")
    .hint(OTHERWISE))
}

/// Port of the data connection.
fn port(arguments: &Arguments) -> u16 {
    match arguments.protocol {
        Protocol::Iperf3 => super::request::port(arguments),
        Protocol::Nuttcp => arguments.data_port,
    }
}

/// Starts the capture, if a prediction is requested.
pub(super) fn begin(arguments: &Arguments) -> Result<Option<Headers>, Failure> {
    if arguments.whatif.is_empty() {
        return Ok(None);
    }
    check(arguments)?;
    Headers::begin(arguments, port(arguments)).map(Some)
}

/// Returns the predictions in words, or the reason why there is none.
pub(super) fn answer(headers: Headers, changes: &[String]) -> String {
    let read = headers.end().and_then(|capture| {
        let source = Source::bytes("the test's headers", capture);
        Transfer::read(&source, &Options::default(), None)
    });
    match read.and_then(|transfer| whatif::answer(transfer, changes)) {
        Ok(text) => format!("\n{text}"),
        Err(reason) => labeled("What if", &format!("no prediction: {reason}")),
    }
}

#[cfg(target_os = "linux")]
pub(super) use linux::Headers;

#[cfg(target_os = "linux")]
mod linux {
    use std::error::Error;
    use std::io;
    use std::net::{IpAddr, ToSocketAddrs};
    use std::os::fd::{AsFd, OwnedFd};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread::{self, JoinHandle};
    use std::time::Duration;

    use gigatcp_capture::{Interface, PcapngWriter, SnapLength};
    use gigatcp_linux::poll::{self, Interest};
    use gigatcp_linux::{device, sniff};
    use gigatcp_meter::host::interface_towards;
    use gigatcp_units::Instant;

    use super::Arguments;
    use crate::failure::Failure;

    /// Longest headers of IPv4 and IPv6 with TCP.
    const SNAP: u32 = 120;

    /// Maximum number of packets kept: about half a gigabyte.
    const MAX_PACKETS: u64 = 3_000_000;

    /// Interval between checks whether the test has ended.
    const CHECK_INTERVAL: Duration = Duration::from_millis(50);

    /// A capture in progress.
    pub(in super::super) struct Headers {
        ends: Arc<AtomicBool>,
        thread: JoinHandle<Result<Vec<u8>, String>>,
    }

    impl Headers {
        /// Opens the socket and starts a thread that reads it.
        pub(super) fn begin(arguments: &Arguments, port: u16) -> Result<Self, Failure> {
            let name = match &arguments.bind_dev {
                Some(name) => name.clone(),
                None => towards(arguments)?,
            };
            let socket = open(&name, port).map_err(|error| failure(&name, &error))?;
            let ends = Arc::new(AtomicBool::new(false));
            let seen = Arc::clone(&ends);
            let thread = thread::Builder::new().name("headers".into());
            let thread = thread.spawn(move || keep(&socket, &name, &seen));
            let thread = thread.map_err(|error| Failure::io("start a thread", &error))?;
            Ok(Self { ends, thread })
        }

        /// Ends the capture and returns it.
        pub(super) fn end(self) -> Result<Vec<u8>, String> {
            self.ends.store(true, Ordering::Relaxed);
            let joined = self.thread.join();
            joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        }
    }

    /// Returns the interface on the route to the server.
    fn towards(arguments: &Arguments) -> Result<String, Failure> {
        let port = super::super::request::port(arguments);
        let is_meant = |address: &IpAddr| match address.to_canonical() {
            IpAddr::V4(_) => !arguments.version6,
            IpAddr::V6(_) => !arguments.version4,
        };
        let found = (arguments.host.as_str(), port).to_socket_addrs();
        let mut addresses = found.into_iter().flatten().map(|address| address.ip());
        let name = addresses.find(is_meant).and_then(interface_towards);
        name.ok_or_else(|| {
            Failure::new(format!("no route to {}", arguments.host)).effect("nothing was measured")
        })
    }

    fn open(name: &str, port: u16) -> io::Result<OwnedFd> {
        let index = device::index(&device::control_socket(2)?, name)?;
        let socket = sniff::open(index)?;
        sniff::keep_port(&socket, port, SNAP)?;
        Ok(socket)
    }

    fn failure(name: &str, error: &io::Error) -> Failure {
        let failure = Failure::io(&format!("capture on {name} for --whatif"), error)
            .effect("nothing was measured");
        if error.kind() != io::ErrorKind::PermissionDenied {
            return failure;
        }
        failure
            .hint(
                "the capture of headers needs CAP_NET_RAW: begin the command with `sudo`, or grant \
                 it once: `sudo setcap cap_net_raw+ep $(command -v gigatcp)`",
            )
            .hint("or leave out --whatif")
    }

    /// Captures packets until the test has ended, all of them or none.
    fn keep(socket: &OwnedFd, name: &str, ends: &AtomicBool) -> Result<Vec<u8>, String> {
        let captured = capture(socket, name, ends);
        match captured.map_err(|error| format!("the capture failed: {error}"))? {
            (packets, 0) => Ok(packets),
            (_, count) => Err(format!(
                "{count} packets were not captured: this host was too busy"
            )),
        }
    }

    /// Returns the packets until the test has ended, and the number of those dropped.
    fn capture(
        socket: &OwnedFd,
        name: &str,
        ends: &AtomicBool,
    ) -> Result<(Vec<u8>, u64), Box<dyn Error>> {
        let mut writer = PcapngWriter::new(Vec::new())?;
        let interface = Interface {
            snap_length: SnapLength::Octets(SNAP),
            ..Interface::new(name)
        };
        let place = writer.add_interface(interface)?;
        let readable = Interest {
            read: true,
            write: false,
        };
        // The loopback interface delivers each packet twice.
        let is_loopback = name == "lo";
        loop {
            let was_last = ends.load(Ordering::Relaxed);
            poll::wait([(socket.as_fd(), readable)], Some(CHECK_INTERVAL))?;
            while let Some(one) = sniff::receive(socket, SNAP as usize)? {
                let is_twice = is_loopback && !one.is_outgoing;
                if is_twice || writer.packets() >= MAX_PACKETS {
                    continue;
                }
                let at = Instant::from_nanos(one.at.cast_unsigned());
                let length = length(&one.octets).max(one.octets.len() as u32);
                writer.write_packet(place, at, &one.octets, length)?;
            }
            if was_last {
                break;
            }
        }
        let dropped = sniff::dropped(socket)?;
        Ok((writer.finish()?, dropped.into()))
    }

    /// Returns the length of an IP packet from its header.
    fn length(octets: &[u8]) -> u32 {
        let half = |place: usize| {
            let bytes = octets.get(place..place + 2);
            bytes.map_or(0, |bytes| {
                u32::from(u16::from_be_bytes([bytes[0], bytes[1]]))
            })
        };
        match octets.first().map(|first| first >> 4) {
            Some(4) => half(2),
            Some(6) => 40 + half(4),
            _ => 0,
        }
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) use other::Headers;

#[cfg(not(target_os = "linux"))]
mod other {
    use super::Arguments;
    use crate::failure::Failure;

    /// Uninhabited: this system has no capture.
    pub(in super::super) enum Headers {}

    impl Headers {
        pub(super) fn begin(_: &Arguments, _: u16) -> Result<Self, Failure> {
            Err(Failure::new("--whatif: its capture needs Linux")
                .effect("nothing was measured")
                .hint(super::OTHERWISE))
        }

        pub(super) fn end(self) -> Result<Vec<u8>, String> {
            match self {}
        }
    }
}
