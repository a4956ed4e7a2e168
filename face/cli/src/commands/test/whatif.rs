//! `--whatif`: captures the headers of the test's connection.
//!
//! A prediction is narrow if the rate of the path and the lost packets are known, which `TCP_INFO` does
//! not contain. The packets show both. They are kept in memory and never written.

use gigatcp_analyze::{Options, Source};
use gigatcp_meter::tester::{Protocol, Request};
use gigatcp_report::why::answer::labeled;
use gigatcp_run::whatif::Transfer;

use super::super::whatif;
use super::request::Streams;
use super::{Arguments, Format, StackChoice};
use crate::failure::Failure;

/// Hint for tests that cannot be captured.
const OTHERWISE: &str = "capture with tcpdump, and ask `gigatcp whatif FILE --set KEY=VALUE`";

/// Refuses options with several streams, with the engine, or with another output format.
fn check(arguments: &Arguments) -> Result<(), Failure> {
    let refused = [
        (arguments.parallel != Streams::Count(1), "--parallel"),
        (arguments.stack == StackChoice::Engine, "--stack engine"),
        (arguments.format() != Format::Native, "--format"),
    ];
    let Some((_, option)) = refused.iter().find(|(is_given, _)| *is_given) else {
        return Ok(());
    };
    Err(Failure::not_measured(format!(
        "--whatif is for one stream of the kernel and the usual output, not for {option}"
    ))
    .hint(OTHERWISE))
}

/// Port of the data connection.
fn port(request: &Request) -> u16 {
    match request.protocol {
        Protocol::Nuttcp => request.data_port,
        _ => request.port,
    }
}

/// Starts the capture, if a prediction is requested.
pub(super) fn begin(arguments: &Arguments, request: &Request) -> Result<Option<Headers>, Failure> {
    if arguments.whatif.is_empty() {
        return Ok(None);
    }
    check(arguments)?;
    let name = match &request.bind_dev {
        Some(name) => name.clone(),
        None => towards(arguments)?,
    };
    Headers::begin(&name, port(request)).map(Some)
}

/// Ends the capture and reads the transfer from it.
pub(in crate::commands) fn transfer(headers: Headers) -> Result<Transfer, String> {
    let source = Source::bytes("the test's headers", headers.end()?);
    Transfer::read(&source, &Options::default(), None)
}

/// Predictions in words, or the reason why there is none.
pub(super) fn answer(headers: Headers, changes: &[String]) -> String {
    match transfer(headers).and_then(|transfer| whatif::answer(&transfer, changes)) {
        Ok(text) => format!("\n{text}"),
        Err(reason) => labeled("What if", &format!("no prediction: {reason}")),
    }
}

#[cfg(target_os = "linux")]
pub(in crate::commands) use linux::Headers;
#[cfg(target_os = "linux")]
use linux::towards;

#[cfg(target_os = "linux")]
mod linux {
    use std::net::{IpAddr, ToSocketAddrs};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread::{self, JoinHandle};

    use gigatcp_meter::filter::Filter;
    use gigatcp_meter::host::interface_towards;

    use super::Arguments;
    use crate::commands::why::capture_failure;
    use crate::failure::Failure;
    use crate::header_capture::{HeaderCapture, HeaderCaptureError, INTERVAL};

    /// A capture in progress.
    pub(in crate::commands) struct Headers {
        ends: Arc<AtomicBool>,
        thread: JoinHandle<Result<Vec<u8>, String>>,
    }

    impl Headers {
        /// Opens the socket and starts a thread that reads it.
        pub(in crate::commands) fn begin(name: &str, port: u16) -> Result<Self, Failure> {
            let capture = HeaderCapture::begin(name, &Filter::port(port), Vec::new())
                .map_err(|error| failure(name, &error))?;
            let ends = Arc::new(AtomicBool::new(false));
            let seen = Arc::clone(&ends);
            let thread = thread::Builder::new()
                .name("headers".into())
                .spawn(move || keep(capture, &seen))
                .map_err(|error| Failure::io("start a thread", &error))?;
            Ok(Self { ends, thread })
        }

        /// Ends the capture and returns it.
        pub(super) fn end(self) -> Result<Vec<u8>, String> {
            self.ends.store(true, Ordering::Relaxed);
            let joined = self.thread.join();
            joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        }
    }

    /// The interface on the route to the server.
    pub(super) fn towards(arguments: &Arguments) -> Result<String, Failure> {
        let port = super::super::request::port(arguments);
        let is_meant = |address: &IpAddr| match address.to_canonical() {
            IpAddr::V4(_) => !arguments.version6,
            IpAddr::V6(_) => !arguments.version4,
        };
        let found = (arguments.host.as_str(), port).to_socket_addrs();
        let mut addresses = found.into_iter().flatten().map(|address| address.ip());
        let name = addresses.find(is_meant).and_then(interface_towards);
        name.ok_or_else(|| Failure::not_measured(format!("no route to {}", arguments.host)))
    }

    fn failure(name: &str, error: &HeaderCaptureError) -> Failure {
        capture_failure(name, error)
            .effect("nothing was measured")
            .hint("or leave out --whatif")
    }

    /// Captures packets until the test has ended, all of them or none.
    fn keep(capture: HeaderCapture<Vec<u8>>, ends: &AtomicBool) -> Result<Vec<u8>, String> {
        let captured = take_all(capture, ends);
        match captured.map_err(|error| format!("the capture failed: {error}"))? {
            (packets, 0) => Ok(packets),
            (_, count) => Err(format!(
                "{count} packets were not captured: this host was too busy"
            )),
        }
    }

    /// Packets until the test has ended, and the number of those dropped.
    fn take_all(
        mut capture: HeaderCapture<Vec<u8>>,
        ends: &AtomicBool,
    ) -> Result<(Vec<u8>, u64), HeaderCaptureError> {
        loop {
            let was_last = ends.load(Ordering::Relaxed);
            capture.take(|_| ())?;
            if was_last {
                return capture.finish();
            }
            thread::sleep(INTERVAL);
        }
    }
}

#[cfg(not(target_os = "linux"))]
pub(in crate::commands) use other::Headers;
#[cfg(not(target_os = "linux"))]
use other::towards;

#[cfg(not(target_os = "linux"))]
mod other {
    use super::Arguments;
    use crate::failure::Failure;

    /// Uninhabited: this system has no capture.
    pub(in crate::commands) enum Headers {}

    /// Refuses: the capture needs Linux.
    pub(super) fn towards(_: &Arguments) -> Result<String, Failure> {
        Err(Failure::not_measured("--whatif: its capture needs Linux").hint(super::OTHERWISE))
    }

    impl Headers {
        pub(in crate::commands) fn begin(_: &str, _: u16) -> Result<Self, Failure> {
            Err(Failure::new("a capture of headers needs Linux"))
        }

        pub(super) fn end(self) -> Result<Vec<u8>, String> {
            match self {}
        }
    }
}
