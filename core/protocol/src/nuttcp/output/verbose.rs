//! The lines of one side: its setup and its measurements.
//!
//! A server always writes them; the client reads the figures from them and prints them only with
//! `-v`. The words are fixed: older clients search for `real`, `seconds`, `sys`, `retrans`, `cwnd`,
//! `RTT` and `jitter` in them, so no other line may contain these.

use alloc::format;
use alloc::string::String;

use gigatcp_units::Duration;

use super::{Amount, CongestionWindow, Jitter, Retransmissions, joined};
use crate::nuttcp::Side;
use crate::nuttcp::parameters::{Format, Parameters};
use crate::nuttcp::version::Version;

/// The data streams of one side after opening.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Connected {
    /// Address of the other end.
    pub peer: String,
    /// MSS of a data connection, if known.
    pub mss: Option<u32>,
    /// Time to open the first data connection, if this side opened it.
    pub rtt: Option<Duration>,
    /// Socket buffers as granted by the system.
    pub granted: Windows,
    /// The parts of them that hold data.
    pub available: Windows,
}

/// Sizes of both socket buffers, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Windows {
    /// Send buffer.
    pub send_bytes: u64,
    /// Receive buffer.
    pub receive_bytes: u64,
}

/// The measurements of one side over the whole transfer.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Totals {
    /// Data sent or received.
    pub amount: Amount,
    /// CPU time of the process.
    pub usage: Usage,
    /// Reads or writes.
    pub calls: u64,
    /// Retransmissions, at a TCP transmitter.
    pub retransmissions: Option<Retransmissions>,
    /// Congestion window at the end, at a TCP transmitter.
    pub congestion_window: Option<CongestionWindow>,
    /// Jitter, at a UDP receiver.
    pub jitter: Option<Jitter>,
}

/// Resources a process used (`getrusage`).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Usage {
    /// CPU time in user mode.
    pub user: Duration,
    /// CPU time in the kernel.
    pub system: Duration,
    /// Real time over which it was used.
    pub elapsed: Duration,
}

impl Usage {
    /// CPU time over real time in percent of one CPU, rounded down.
    pub fn percent(&self) -> u32 {
        const CENTISECOND: u64 = 10_000_000;
        let cpu = self.user.as_nanos() / CENTISECOND + self.system.as_nanos() / CENTISECOND;
        let elapsed = (self.elapsed.as_nanos() / CENTISECOND).max(1);
        u32::try_from(cpu * 100 / elapsed).unwrap_or(u32::MAX)
    }

    fn text(&self, is_parsed: bool) -> String {
        let (user, system) = (tenths(self.user), tenths(self.system));
        let (elapsed, percent) = (clock(self.elapsed), self.percent());
        if is_parsed {
            format!(
                "stats=cpu user={user} system={system} elapsed={elapsed} cpu={percent}% \
                 memory=0i+0d-0maxrss io=0+0pf swaps=0+0csw"
            )
        } else {
            format!("{user}user {system}sys {elapsed}real {percent}% 0i+0d 0maxrss 0+0pf 0+0csw")
        }
    }
}

/// Writes seconds with one digit, rounded down.
fn tenths(span: Duration) -> String {
    let tenths = span.as_millis() / 100;
    format!("{}.{}", tenths / 10, tenths % 10)
}

/// Writes minutes and seconds, with hours if there are any.
fn clock(span: Duration) -> String {
    let seconds = span.as_millis() / 1000;
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    let seconds = seconds % 60;
    match hours {
        0 => format!("{minutes}:{seconds:02}"),
        _ => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

/// Writes lines with the prefix of a side.
#[derive(Clone, Debug)]
pub struct Writer {
    text: String,
    side: Side,
    is_parsed: bool,
}

impl Writer {
    /// Creates a writer for the lines of one side.
    pub fn new(side: Side, format: Format) -> Self {
        Self {
            text: String::new(),
            side,
            is_parsed: format.has(Format::PARSE),
        }
    }

    /// Lines, each with its end.
    pub fn finish(self) -> String {
        self.text
    }

    /// Adds a line of any text.
    pub fn line(&mut self, words: &str) {
        let letter = self.side.letter();
        self.text.push_str(&format!("nuttcp-{letter}: {words}\n"));
    }

    /// Adds a message, after the version.
    pub fn message(&mut self, words: &str) {
        self.line(&format!("v{}: {words}", Version::OURS));
    }

    /// Adds a line in one of two forms.
    fn either(&mut self, words: &str, keys: &str) {
        let line = if self.is_parsed { keys } else { words };
        self.line(line);
    }

    /// Adds the setup of this side: its parameters, and the result.
    pub fn setup(&mut self, parameters: &Parameters, connected: &Connected) {
        self.message("socket");
        self.test(parameters, &connected.peer);
        let is_opener = parameters.client_connects() == (self.side == parameters.client);
        if !parameters.udp {
            self.connection(connected, is_opener);
        }
        let Windows {
            send_bytes: send,
            receive_bytes: receive,
        } = connected.granted;
        self.either(
            &format!("send window size = {send}, receive window size = {receive}"),
            &format!("send_window_size={send} receive_window_size={receive}"),
        );
        let Windows {
            send_bytes: send,
            receive_bytes: receive,
        } = connected.available;
        self.either(
            &format!("available send window = {send}, available receive window = {receive}"),
            &format!("send_window_avail={send} receive_window_avail={receive}"),
        );
    }

    /// Adds a description of the test.
    fn test(&mut self, parameters: &Parameters, peer: &str) {
        let Parameters {
            buffer_bytes,
            streams,
            port,
            ..
        } = parameters;
        let protocol = if parameters.udp { "udp" } else { "tcp" };
        let limit = |after: &str| match parameters.buffers {
            Some(buffers) => format!("nbuf={buffers}{after}"),
            None => String::new(),
        };
        let to = match self.side {
            Side::Transmitter => (format!(" -> {peer}"), format!(" host={peer}")),
            Side::Receiver => (String::new(), String::new()),
        };
        self.either(
            &format!(
                "buflen={buffer_bytes}, {}nstream={streams}, port={port} {protocol}{}",
                limit(", "),
                to.0
            ),
            &format!(
                "buflen={buffer_bytes} {}nstream={streams} port={port} mode={protocol}{}",
                limit(" "),
                to.1
            ),
        );
        match self.side {
            Side::Transmitter => self.limits(parameters),
            Side::Receiver if !parameters.interval.is_zero() => {
                let interval = parameters.interval.as_secs_f64();
                let s = plural(parameters.interval);
                self.either(
                    &format!("interval reporting every {interval:.2} second{s}"),
                    &format!("reporting_interval={interval:.2}"),
                );
            }
            Side::Receiver => {}
        }
    }

    /// Adds the limits of a transmitter.
    fn limits(&mut self, parameters: &Parameters) {
        if !parameters.time_limit.is_zero() {
            let limit = parameters.time_limit.as_secs_f64();
            let s = plural(parameters.time_limit);
            self.either(
                &format!("time limit = {limit:.2} second{s}"),
                &format!("time_limit={limit:.2}"),
            );
        }
        let Some(kbps) = parameters.rate_kbps else {
            return;
        };
        let mbps = kbps as f64 / 1e3;
        let mode = match parameters.instantaneous {
            true => "instantaneous",
            false => "aggregate",
        };
        let mut words = format!("rate limit = {mbps:.3} Mbps ({mode})");
        let mut keys = format!("rate_limit={mbps:.3} rate_unit=Mbps rate_mode={mode}");
        if parameters.burst > 1 {
            words.push_str(&format!(", packet burst = {}", parameters.burst));
            keys.push_str(&format!(" packet_burst={}", parameters.burst));
        }
        if parameters.udp && parameters.buffer_bytes > 0 {
            let bytes = u128::from(kbps) * 1000 / 8;
            let pps = bytes / u128::from(parameters.buffer_bytes);
            words.push_str(&format!(", {pps} pps"));
            keys.push_str(&format!(" pps_rate={pps}"));
        }
        self.either(&words, &keys);
    }

    /// Adds the direction in which the data connections were opened.
    fn connection(&mut self, connected: &Connected, is_opener: bool) {
        let peer = &connected.peer;
        let (words, key) = match is_opener {
            true => ("connect to", "connect"),
            false => ("accept from", "accept"),
        };
        let mss = connected.mss.filter(|_| self.side == Side::Transmitter);
        let mut said = format!("{words} {peer}");
        let mut keys = format!("{key}={peer}");
        if mss.is_some() || connected.rtt.is_some() {
            said.push_str(" with");
        }
        if let Some(mss) = mss {
            let comma = if connected.rtt.is_some() { "," } else { "" };
            said.push_str(&format!(" mss={mss}{comma}"));
            keys.push_str(&format!(" mss={mss}"));
        }
        if let Some(rtt) = connected.rtt {
            let ms = rtt.as_secs_f64() * 1e3;
            said.push_str(&format!(" RTT={ms:.3} ms"));
            keys.push_str(&format!(" rtt_ms={ms:.3}"));
        }
        self.either(&said, &keys);
    }

    /// Adds the measurements of this side.
    pub fn totals(&mut self, totals: &Totals) {
        let megabytes = totals.amount.megabytes();
        let seconds = totals.amount.duration.as_secs_f64();
        let (kib, mbps) = (
            per_second(totals, totals.amount.duration),
            totals.amount.mbps(),
        );
        self.either(
            &format!("{megabytes:.4} MB in {seconds:.2} real seconds = {kib:.2} KB/sec = {mbps:.4} Mbps"),
            &format!("megabytes={megabytes:.4} real_seconds={seconds:.2} rate_KBps={kib:.2} rate_Mbps={mbps:.4}"),
        );
        if let Some(jitter) = totals.jitter {
            let [min, mean, max] = jitter.millis();
            self.either(
                &format!(
                    "min-jitter = {min:.4} ms, avg-jitter = {mean:.4} ms, max-jitter = {max:.4} ms"
                ),
                &jitter.keys(),
            );
        }
        let cpu = totals.usage.user + totals.usage.system;
        let (spent, kib) = (cpu.as_secs_f64(), per_second(totals, cpu));
        self.either(
            &format!("{megabytes:.4} MB in {spent:.2} CPU seconds = {kib:.2} KB/cpu sec"),
            &format!("megabytes={megabytes:.4} cpu_seconds={spent:.2} KB_per_cpu_second={kib:.2}"),
        );
        self.retransmissions(totals);
        // A ms in this line is 1/1024 s in every version.
        let per_call = 1024.0 * seconds / totals.calls.max(1) as f64;
        let calls = totals.calls;
        let per_second = calls as f64 / totals.amount.duration.as_secs_f64().max(1e-6);
        self.either(
            &format!("{calls} I/O calls, msec/call = {per_call:.2}, calls/sec = {per_second:.2}"),
            &format!("io_calls={calls} msec_per_call={per_call:.2} calls_per_sec={per_second:.2}"),
        );
        let usage = totals.usage.text(self.is_parsed);
        self.line(&usage);
    }

    fn retransmissions(&mut self, totals: &Totals) {
        let Some(of) = &totals.retransmissions else {
            return;
        };
        let (count, streams) = (of.count, joined(&of.by_stream));
        let mut words = format!("retrans = {count}");
        let mut keys = format!("retrans={count}");
        if !streams.is_empty() {
            words.push_str(&format!(" ( {streams} )"));
            keys.push_str(&format!(" retrans_by_stream={streams}"));
        }
        if let Some(window) = &totals.congestion_window {
            words.push_str(&format!(" cwnd = {} KB", window.kib));
            keys.push_str(&format!(" cwnd={}", window.kib));
            if !window.by_stream.is_empty() {
                let streams = joined(&window.by_stream);
                words.push_str(&format!(" ( {streams} )"));
                keys.push_str(&format!(" cwnd_by_stream={streams}"));
            }
        }
        self.either(&words, &keys);
    }
}

/// An amount in KiB per second of a span.
fn per_second(totals: &Totals, span: Duration) -> f64 {
    let seconds = span.as_secs_f64().max(1e-6);
    totals.amount.bytes.as_u64() as f64 / seconds / 1024.0
}

/// Plural ending of `second` for a span.
fn plural(span: Duration) -> &'static str {
    if span == Duration::from_secs(1) {
        ""
    } else {
        "s"
    }
}
