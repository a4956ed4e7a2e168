//! `why --interface`: captures headers, and reads the kernel's counters meanwhile.
//!
//! The two are joined twice. The kernel knows the window scales of connections that began before
//! the capture, whose windows could not be read without. And its counters say themselves what
//! limited a connection (`counters.rs`).
//!
//! On a terminal, the largest connections are analyzed as they pass and printed every two seconds.
//! The answer at the end is from the whole capture, as for a file.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use gigatcp_analyze::{Analyzer, Source};
use gigatcp_capture::CaptureError;
use gigatcp_flows::{Endpoint, Side, WindowScales};
use gigatcp_linux::clock;
use gigatcp_linux::header_ring::Headers;
use gigatcp_meter::filter::{Filter, PACKET_WORDS};
use gigatcp_meter::watch::Watch;
use gigatcp_units::grammar::{human_bytes, human_duration};
use gigatcp_units::{Bytes, Duration, Instant};
use indicatif::{ProgressBar, ProgressStyle};

use super::counters::Counters;
use super::{Arguments, Live};
use crate::atomic_file::{AtomicFile, refused};
use crate::failure::Failure;
use crate::fit::fit;
use crate::header_capture::{HeaderCapture, HeaderCaptureError, INTERVAL, MAX_PACKETS};
use crate::interrupt::Interrupt;
use crate::output::{self, counted};
use crate::values;

/// Time between two readings of the kernel's counters.
const READ_EVERY: Duration = Duration::from_millis(250);

/// Time between two prints of what is known so far.
const PRINT_EVERY: Duration = Duration::from_secs(2);

/// Maximum number of connections printed while the capture is in progress.
const PRINTED: usize = 3;

/// Captures until `--for` is over, Ctrl-C, or the maximum number of packets.
pub(super) fn capture(interface: &str, arguments: &Arguments) -> Result<(Source, Live), Failure> {
    let filter = filter(arguments)?;
    let interrupt = Interrupt::listen()?;
    let out = match &arguments.capture {
        Some(file) => Out::File(AtomicFile::begin(file)?),
        None => Out::Memory(Vec::new()),
    };
    let mut capture = HeaderCapture::begin(interface, &filter, out)
        .map_err(|error| cannot_begin(interface, &filter, &error))?;
    // A kernel without sock_diag has no counters; the packets are answer enough.
    let mut watch = Watch::new(filter).ok();
    let start = now();
    // The capture has begun: a connection that is not here has its SYNs there.
    let _ = watch.as_mut().map(|watch| watch.sample(start));
    let scales = watch.as_ref().map(window_scales).unwrap_or_default();
    let mut screen = Screen::of(arguments, &scales);
    let end = arguments.duration.map(|duration| start + duration);
    begun(interface, arguments);
    let mut read_at = start + READ_EVERY;
    loop {
        let at = now();
        let is_last = interrupt.stop().load(Ordering::SeqCst) || end.is_some_and(|end| at >= end);
        let taken = capture.take(|packet| screen.add(packet));
        taken.map_err(|error| failed(arguments, &error))?;
        if at >= read_at || is_last {
            // Counters that cannot be read once may be at the next time.
            let _ = watch.as_mut().map(|watch| watch.sample(at));
            read_at = at + READ_EVERY;
        }
        if is_last || capture.is_full() {
            break;
        }
        screen.print(at.saturating_since(start), capture.packets());
        std::thread::sleep(INTERVAL);
    }
    drop(screen);
    let length = now().saturating_since(start);
    let (packets, is_full) = (capture.packets(), capture.is_full());
    let (out, dropped) = capture
        .finish()
        .map_err(|error| failed(arguments, &error))?;
    ended(arguments, (packets, length), is_full, dropped);
    let source = out.source(interface, arguments)?.with_window_scales(scales);
    let counters = watch.as_ref().map(counters).unwrap_or_default();
    Ok((source, Live { counters, dropped }))
}

fn now() -> Instant {
    Instant::from_nanos(clock::monotonic().unsigned_abs())
}

fn filter(arguments: &Arguments) -> Result<Filter, Failure> {
    let words = arguments.files.iter().map(|word| word.to_string_lossy());
    let text = words.collect::<Vec<_>>().join(" ");
    Filter::parse(&text, &values::addresses)
        .map_err(|reason| bad_filter(&format!("the filter cannot be read: {reason}")))
}

fn bad_filter(message: &str) -> Failure {
    Failure::new(message)
        .effect("nothing is captured")
        .hint(format!(
            "with --interface, words are a filter of packets: {PACKET_WORDS}"
        ))
        .hint("as in `gigatcp why --interface eth0 host 192.0.2.1 and port 443`")
}

/// Window scales of the connections of the first reading.
fn window_scales(watch: &Watch) -> WindowScales {
    let mut scales = WindowScales::default();
    for socket in watch.connections() {
        let reading = &socket.reading;
        if let Some((own, peer)) = reading.rcv_wscale.zip(reading.snd_wscale) {
            let ends = [socket.local, socket.peer].map(|end| Endpoint {
                address: end.ip().to_canonical(),
                port: end.port(),
            });
            scales.insert(ends, [own, peer].map(|scale| scale as u8));
        }
    }
    scales
}

/// Counters of the sockets that carried data.
fn counters(watch: &Watch) -> Counters {
    let mut counters = Counters::default();
    for socket in watch.by_size() {
        if let Some(diagnosis) = socket.diagnosis() {
            counters.add([socket.local, socket.peer], socket.role(), diagnosis);
        }
    }
    counters
}

fn begun(interface: &str, arguments: &Arguments) {
    if arguments.json {
        return;
    }
    let until = match arguments.duration {
        Some(duration) => format!("for {}, or until Ctrl-C", human_duration(duration)),
        None => "until Ctrl-C".into(),
    };
    output::say(&format!("capturing on {interface} {until}"));
}

fn ended(arguments: &Arguments, (packets, length): (u64, Duration), is_full: bool, dropped: u64) {
    if is_full {
        output::warn(&format!(
            "the capture ended at {MAX_PACKETS} packets, the maximum; a filter makes it longer"
        ));
    }
    if dropped > 0 {
        output::warn(&format!(
            "{} not captured: this host was too busy; a filter may help",
            match dropped {
                1 => "1 packet was".into(),
                _ => format!("{dropped} packets were"),
            }
        ));
    }
    if !arguments.json {
        let kept = arguments
            .capture
            .as_ref()
            .map_or_else(String::new, |file| format!(", in {}", file.display()));
        output::say(&format!(
            "{} in {}{kept}\n",
            counted(packets, "packet"),
            human_duration(length)
        ));
    }
}

fn failed(arguments: &Arguments, error: &HeaderCaptureError) -> Failure {
    match (error, &arguments.capture) {
        (HeaderCaptureError::Write(CaptureError::Write { source, .. }), Some(file)) => {
            refused(file, source)
        }
        _ => Failure::caused(error).effect("nothing is answered"),
    }
}

fn cannot_begin(interface: &str, filter: &Filter, error: &HeaderCaptureError) -> Failure {
    if let HeaderCaptureError::Filter(_) = error {
        return bad_filter(&error.to_string());
    }
    let failure = capture_failure(interface, error).effect("nothing is captured");
    if !is_forbidden(error) {
        return failure;
    }
    failure
        .hint(format!(
            "or capture with tcpdump: `sudo tcpdump -i {interface} -s 128 -w x.pcap '{}'`",
            filter.tcpdump()
        ))
        .hint("then `gigatcp why x.pcap`")
}

fn is_forbidden(error: &HeaderCaptureError) -> bool {
    matches!(error, HeaderCaptureError::Socket(cause) if cause.kind() == io::ErrorKind::PermissionDenied)
}

/// Error for a capture that cannot begin.
pub(in crate::commands) fn capture_failure(interface: &str, error: &HeaderCaptureError) -> Failure {
    match error {
        HeaderCaptureError::NoInterface { existing, .. } => {
            Failure::new(error.to_string()).hint(format!("there are: {}", existing.join(", ")))
        }
        HeaderCaptureError::Socket(cause) if is_forbidden(error) => {
            Failure::io(&format!("capture on {interface}"), cause).hint(
                "the capture of headers needs CAP_NET_RAW: begin the command with `sudo`, or grant \
                 it once: `sudo setcap cap_net_raw+ep $(command -v gigatcp)`",
            )
        }
        HeaderCaptureError::Socket(cause) => Failure::io(&format!("capture on {interface}"), cause),
        _ => Failure::caused(error),
    }
}

/// Destination of the packets.
enum Out {
    Memory(Vec<u8>),
    File(AtomicFile),
}

impl Write for Out {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        match self {
            Self::Memory(bytes) => bytes.write(octets),
            Self::File(file) => file.write(octets),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Out {
    /// The capture to read.
    fn source(self, interface: &str, arguments: &Arguments) -> Result<Source, Failure> {
        match (self, &arguments.capture) {
            (Self::File(file), Some(name)) => {
                file.finish().map_err(|error| refused(name, &error))?;
                Ok(Source::file(name))
            }
            (Self::File(_), None) => unreachable!("a file has a name"),
            (Self::Memory(bytes), _) => Ok(Source::bytes(interface, Arc::<[u8]>::from(bytes))),
        }
    }
}

/// Answers so far, on a terminal.
struct Screen(Option<Lines>);

struct Lines {
    bar: ProgressBar,
    analyzer: Analyzer,
    /// Time since the capture began at which they were made.
    made: Duration,
}

impl Screen {
    fn of(arguments: &Arguments, scales: &WindowScales) -> Self {
        if arguments.json || !output::draws_progress() {
            return Self(None);
        }
        let bar = ProgressBar::new_spinner();
        bar.set_style(
            ProgressStyle::with_template("{msg}")
                .unwrap_or_else(|_| ProgressStyle::default_spinner()),
        );
        Self(Some(Lines {
            bar,
            analyzer: Analyzer::with_window_scales(scales.clone()),
            made: Duration::ZERO,
        }))
    }

    fn add(&mut self, packet: &Headers<'_>) {
        if let Self(Some(lines)) = self {
            let at = Instant::from_nanos(packet.at.cast_unsigned());
            lines
                .analyzer
                .handle_captured(at, packet.octets, packet.wire_len);
        }
    }

    fn print(&mut self, elapsed: Duration, packets: u64) {
        let Self(Some(lines)) = self else {
            return;
        };
        if elapsed.saturating_sub(lines.made) < PRINT_EVERY {
            return;
        }
        lines.made = elapsed;
        let seconds = elapsed.as_nanos() / 1_000_000_000;
        let columns = terminal_size::terminal_size_of(io::stderr())
            .map_or(80, |(width, _)| usize::from(width.0.max(20)));
        let text = format!(
            "{seconds} s, {}; Ctrl-C ends\n{}",
            counted(packets, "packet"),
            connections(&lines.analyzer)
        );
        lines.bar.set_message(fit(text.trim_end(), columns - 1));
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        if let Self(Some(lines)) = self {
            lines.bar.finish_and_clear();
        }
    }
}

/// The answers so far for the largest connections, a line each.
fn connections(analyzer: &Analyzer) -> String {
    let all = analyzer.connections();
    let largest = all.largest_first();
    let lines = largest.iter().take(PRINTED).filter_map(|index| {
        let (connection, diagnosis) = (all.connection(*index)?, all.diagnose(*index)?);
        let end = |side: Side| connection.endpoint(side).to_string();
        Some(format!(
            "{} -> {}, {}: {}\n",
            end(diagnosis.sender),
            end(diagnosis.sender.other()),
            human_bytes(Bytes::new(all.data_bytes(*index))),
            diagnosis.answer().sentence
        ))
    });
    let mut text: String = lines.collect();
    if let Some(more @ 1..) = largest.len().checked_sub(PRINTED) {
        text.push_str(&format!("{more} more\n"));
    }
    text
}
