//! Rates and latencies of requests and responses, as text and JSON (`--mode tcp_rr`, `tcp_crr`, `udp_rr`).

use std::fmt::Write;
use std::time::Duration;

use gigatcp_meter::tester::transactions::{self, Notice, TransactionInterval, TransactionOutcome};
use gigatcp_meter::tester::{Request, TestError};
use gigatcp_protocol::iperf3::{Mode, Transactions};
use gigatcp_report::number;
use gigatcp_report::why::answer::labeled;
use gigatcp_units::Bytes;
use serde_json::{Map, Value, json};

use super::settings::Settings;
use super::{Arguments, Format, failed, live, request};
use crate::commands::Outcome;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output;

/// Schema of the JSON.
const SCHEMA: &str = "gigatcp-transactions/1";

/// Percentiles shown, with their names.
const SHOWN: [(f64, &str); 4] = [(0.5, "p50"), (0.9, "p90"), (0.99, "p99"), (0.999, "p99.9")];

/// Share of the time, in percent, from which a thread counts as busy.
const BUSY: f64 = 95.0;

/// Runs the test.
pub(super) fn run(
    arguments: &Arguments,
    settings: &Settings,
    request: &Request,
    mode: Mode,
) -> Result<Outcome, Failure> {
    let wanted = wanted(arguments, settings, mode)?;
    let interrupt = Interrupt::listen()?;
    let stops = || interrupt.signal().is_some();
    let mut progress = Progress::new(arguments, request);
    let measured = transactions::run(request, wanted, &stops, &mut |notice| progress.show(notice));
    progress.clear();
    let intervals = progress.intervals;
    let measured = match measured {
        Ok(measured) => measured,
        Err(error) => {
            let failure = failure(request, &error);
            return failed(arguments, request, &error, failure, &interrupt);
        }
    };
    match arguments.format() {
        Format::Json => {
            let mut value = value(&measured);
            value["intervals"] = intervals.into();
            output::print_json(&value)?;
        }
        Format::JsonLines => output::print(&line("end", value(&measured)))?,
        _ => output::print(&text(&measured))?,
    }
    Ok(Outcome::of(&interrupt, measured.cut_short.is_some()))
}

/// Requested transactions: the sizes are 1 byte by default, as for neper, and 16 over UDP.
fn wanted(arguments: &Arguments, settings: &Settings, mode: Mode) -> Result<Transactions, Failure> {
    let request::Streams::Count(flows) = arguments.parallel else {
        return Err(Failure::not_measured("-P auto is for streams"));
    };
    if flows > mode.max_flows() {
        let (name, most) = (mode.name(), mode.max_flows());
        let text = format!("-P {flows}: --mode {name} has at most {most} flows");
        return Err(Failure::not_measured(text));
    }
    Ok(Transactions {
        mode,
        flows,
        request: size(mode, "a request (-l)", arguments.length)?,
        response: size(mode, "a response (response_size)", settings.response_size)?,
    })
}

/// The size of a message; 0 is the default, as for iperf3.
fn size(mode: Mode, name: &str, size: Option<Bytes>) -> Result<u32, Failure> {
    let [min, max] = mode.sizes();
    let bytes = size.map_or(0, Bytes::as_u64);
    match u32::try_from(bytes).unwrap_or(u32::MAX) {
        0 => Ok(min),
        bytes if (min..=max).contains(&bytes) => Ok(bytes),
        _ => Err(Failure::not_measured(format!(
            "{name} is from {min} to {max} bytes"
        ))),
    }
}

/// Output while the test runs.
struct Progress<'a> {
    arguments: &'a Arguments,
    request: &'a Request,
    is_terminal: bool,
    has_line: bool,
    /// Ended intervals, of `--format json`.
    intervals: Vec<Value>,
}

impl<'a> Progress<'a> {
    fn new(arguments: &'a Arguments, request: &'a Request) -> Self {
        Self {
            arguments,
            request,
            is_terminal: output::draws_progress(),
            has_line: false,
            intervals: Vec::new(),
        }
    }

    fn show(&mut self, notice: Notice<'_>) {
        let interval = match notice {
            Notice::Queued { has_answered } => {
                return live::say_queued(self.request, has_answered);
            }
            Notice::Interval(interval) => interval,
        };
        if self.arguments.format() == Format::Json {
            self.intervals.push(interval_value(interval));
        }
        if self.arguments.format() == Format::JsonLines {
            // The output at the end fails as well, and reports it.
            let _ = output::print(&line("interval", interval_value(interval)));
        } else if self.is_terminal {
            let omitted = if interval.omitted { " (omitted)" } else { "" };
            let at = format!("{:4.0} s{omitted}", interval.end.as_secs_f64());
            let rate = format!("{} transactions/s", rate_text(interval));
            output::draw_progress(&at, &[rate, percentiles(interval)]);
            self.has_line = true;
        }
    }

    fn clear(&self) {
        if self.has_line {
            output::clear_progress();
        }
    }
}

fn failure(request: &Request, error: &TestError) -> Failure {
    match error {
        TestError::Lacks { .. } => Failure::not_measured(error.to_string())
            .hint(format!("run `gigatcp server` on {}", request.host)),
        _ => request::failure(request, error),
    }
}

/// Answer.
fn text(measured: &TransactionOutcome) -> String {
    let total = &measured.total;
    let wanted = &measured.transactions;
    let mut text = String::new();
    if let Some(reason) = &measured.cut_short {
        let _ = writeln!(text, "Cut short: {reason}");
    }
    let length = total.end.saturating_sub(total.start).as_secs_f64();
    let _ = writeln!(
        text,
        "{} to {}:{}, {}, {length:.1} s: {} transactions/s",
        wanted.mode.name(),
        measured.host,
        measured.port,
        number::counted(wanted.flows.into(), "flow"),
        rate_text(total),
    );
    text.push_str(&labeled("Latency", &latency_text(total)));
    let sizes = format!(
        "requests of {}, responses of {}",
        number::counted(wanted.request.into(), "byte"),
        number::counted(wanted.response.into(), "byte")
    );
    let details = match wanted.mode {
        Mode::TcpRr => format!(
            "{sizes}, one at a time on each connection; all were open after {:.2} s",
            measured.opened_in.as_secs_f64()
        ),
        Mode::UdpRr => format!("{sizes}, one at a time on each flow"),
        Mode::TcpCrr => format!(
            "{sizes}, each on a new connection, which this end resets; the latency includes the handshake"
        ),
    };
    text.push_str(&labeled("Details", &details));
    if total.failed > 0 {
        let failed = number::counted(total.failed, "connection");
        text.push_str(&labeled("Failed", &failed));
    }
    if wanted.mode == Mode::UdpRr {
        let percent = 100.0 * total.lost as f64 / (total.count + total.lost).max(1) as f64;
        let lost = number::counted(total.lost, "request");
        let lost = format!("{lost} ({percent:.2} %) had no response within 1 s");
        text.push_str(&labeled("Lost", &lost));
    }
    text.push_str(&labeled("CPU", &cpu_text(measured)));
    text
}

/// Transactions per second; a slow path has fewer than one.
fn rate_text(interval: &TransactionInterval) -> String {
    match interval.rate() {
        rate if rate < 100.0 => format!("{rate:.1}"),
        rate => number::grouped(rate.round() as u64),
    }
}

/// `p50 61.20, p90 64.00, p99 80.10, p99.9 120.30, maximum 340.00 ms`.
fn latency_text(interval: &TransactionInterval) -> String {
    match interval.latency(1.0) {
        Some(maximum) => format!("{}, maximum {} ms", percentiles(interval), ms(maximum)),
        None => "no transaction was completed".to_owned(),
    }
}

fn percentiles(interval: &TransactionInterval) -> String {
    let known = SHOWN.map(|(share, name)| Some(format!("{name} {}", ms(interval.latency(share)?))));
    known.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Milliseconds with three significant digits.
fn ms(time: Duration) -> String {
    let ms = time.as_secs_f64() * 1000.0;
    match ms {
        100.0.. => format!("{ms:.0}"),
        10.0.. => format!("{ms:.1}"),
        1.0.. => format!("{ms:.2}"),
        _ => format!("{ms:.3}"),
    }
}

/// The busy ends. Each end has one thread for all connections, which may be the limit.
fn cpu_text(measured: &TransactionOutcome) -> String {
    let own = measured.cpu.total;
    let server = measured.server_cpu.map(|cpu| cpu.total);
    let mut text = format!("of one CPU: here {own:.0} %");
    if let Some(server) = server {
        let _ = write!(text, ", {} {server:.0} %", measured.host);
    }
    let is_limit = match (own >= BUSY, server.is_some_and(|server| server >= BUSY)) {
        (true, true) => {
            "; the threads of both ends were the limit, and the latencies have their queues"
        }
        (true, false) => "; this end's thread was the limit, and the latencies have its queue",
        (false, true) => "; the server's thread was the limit, and the latencies have its queue",
        (false, false) => "",
    };
    text + is_limit
}

fn latency_value(interval: &TransactionInterval) -> Value {
    let shown = SHOWN.into_iter().chain([(1.0, "max")]);
    let micros = |share| interval.latency(share).map(|time| time.as_secs_f64() * 1e6);
    let values: Map<String, Value> = shown
        .map(|(share, name)| (name.replace('.', "_"), json!(micros(share))))
        .collect();
    Value::Object(values)
}

fn interval_value(interval: &TransactionInterval) -> Value {
    json!({
        "start_s": interval.start.as_secs_f64(),
        "end_s": interval.end.as_secs_f64(),
        "omitted": interval.omitted,
        "transactions": interval.count,
        "transactions_per_s": interval.rate(),
        "failed": interval.failed,
        "lost": interval.lost,
        "latency_us": latency_value(interval),
    })
}

fn value(measured: &TransactionOutcome) -> Value {
    let wanted = &measured.transactions;
    let cpu = |cpu: gigatcp_meter::tester::CpuShares| json!({"total_percent": cpu.total, "user_percent": cpu.user, "system_percent": cpu.system});
    json!({
        "schema": SCHEMA,
        "mode": wanted.mode.name(),
        "host": measured.host,
        "port": measured.port,
        "flows": wanted.flows,
        "request_bytes": wanted.request,
        "response_bytes": wanted.response,
        "opened_in_s": measured.opened_in.as_secs_f64(),
        "total": interval_value(&measured.total),
        "cpu": cpu(measured.cpu),
        "server_cpu": measured.server_cpu.map(cpu),
        "server_responses": measured.responses,
        "cut_short": measured.cut_short,
    })
}

fn line(kind: &str, mut value: Value) -> String {
    value["kind"] = kind.into();
    value.to_string()
}
