//! Output while a test runs: a progress line on a terminal, or the intervals of a format that has
//! them.

use gigatcp_meter::tester::{Interval, Outcome, Progress, Request, Role, StreamOutcome};
use gigatcp_report::escape::terminal;
use gigatcp_report::number;
use gigatcp_units::grammar::human_bytes;

use super::{Arguments, Format, csv, iperf3_json, iperf3_text, native, nuttcp_text, sums};
use crate::output;

/// Prints the progress of a test.
pub(super) struct Live<'a> {
    arguments: &'a Arguments,
    request: &'a Request,
    /// State of the test since data flows.
    begun: Option<Outcome>,
    is_terminal: bool,
    has_line: bool,
}

/// Says that the server makes this client wait, or is silent.
pub(super) fn say_queued(request: &Request, has_answered: bool) {
    let why = if has_answered {
        "which has queued this test behind those that run"
    } else {
        "which has not answered: it may run other tests"
    };
    output::say(&format!(
        "waiting for {}:{}, {why}",
        request.host, request.port
    ));
}

impl<'a> Live<'a> {
    pub(super) fn new(arguments: &'a Arguments, request: &'a Request) -> Self {
        Self {
            arguments,
            request,
            begun: None,
            is_terminal: output::draws_progress(),
            has_line: false,
        }
    }

    /// Prints the progress. Errors are ignored here, because the output at the end fails too and
    /// reports them.
    pub(super) fn show(&mut self, progress: Progress<'_>) {
        match progress {
            Progress::Queued { has_answered } => say_queued(self.request, has_answered),
            Progress::Started(begun) => {
                self.start(begun);
                self.begun = Some(begun.clone());
            }
            Progress::Rest(rest) => self.rest(rest),
            Progress::Note(note) => output::say(&terminal(&note)),
            Progress::PeerInterval(interval) => {
                if self.arguments.format() == Format::Nuttcp {
                    let _ = output::print(&nuttcp_text::line(interval));
                }
            }
            Progress::Interval(interval) => {
                if let Some(begun) = self.begun.take() {
                    self.interval(&begun, interval);
                    self.begun = Some(begun);
                }
            }
        }
    }

    /// Removes the progress line.
    pub(super) fn clear(&mut self) {
        if self.has_line {
            output::clear_progress();
        }
    }

    fn start(&self, begun: &Outcome) {
        let to = (self.request.host.as_str(), self.request.port);
        let text = match self.arguments.format() {
            Format::Iperf3JsonStream => iperf3_json::start_event(begun),
            Format::Iperf3 => iperf3_text::start(to, &begun.parameters, &begun.streams),
            Format::Csv => csv::HEAD.to_owned(),
            _ => return,
        };
        let _ = output::print(&text);
    }

    fn interval(&mut self, begun: &Outcome, interval: &Interval) {
        let (parameters, streams) = (&begun.parameters, &begun.streams);
        let text = match self.arguments.format() {
            Format::Iperf3JsonStream => iperf3_json::interval_event(begun, interval),
            Format::Iperf3 => iperf3_text::interval(parameters, streams, interval),
            Format::Nuttcp if nuttcp_text::is_receivers(begun) => return,
            Format::Nuttcp => nuttcp_text::interval(streams, interval),
            Format::Csv => csv::interval(streams, interval),
            Format::JsonLines => native::interval_line(streams, interval),
            Format::Native | Format::Json | Format::Iperf3Json => {
                return self.line(streams, interval);
            }
        };
        let _ = output::print(&text);
    }

    /// Prints the rest of the test in formats whose intervals add up to the totals.
    fn rest(&self, rest: &Interval) {
        let Some(begun) = &self.begun else { return };
        let text = match self.arguments.format() {
            Format::Csv => csv::interval(&begun.streams, rest),
            Format::JsonLines => native::interval_line(&begun.streams, rest),
            _ => return,
        };
        let _ = output::print(&text);
    }

    /// The progress line on a terminal.
    fn line(&mut self, streams: &[StreamOutcome], interval: &Interval) {
        if !self.is_terminal {
            return;
        }
        let span = interval.end.saturating_sub(interval.start);
        let mut parts = Vec::new();
        let mut counts = Vec::new();
        for role in sums::roles(streams) {
            let sum = sums::of_interval(streams, interval, role);
            let direction = match role {
                Role::Sender => "sent",
                Role::Receiver => "received",
            };
            parts.push(format!(
                "{} {direction}",
                number::rate(sums::rate(sum.bytes, span))
            ));
            counts.extend(
                sum.retransmits
                    .map(|segments| format!("{segments} retransmitted")),
            );
        }
        let first = interval.streams.first();
        parts.extend(first.and_then(|stream| stream.limit).map(str::to_owned));
        let view = first.and_then(|stream| stream.view);
        parts.extend(
            view.and_then(|view| view.srtt)
                .map(|rtt| format!("RTT {:.1} ms", rtt.as_secs_f64() * 1000.0)),
        );
        parts.append(&mut counts);
        parts.extend(view.map(|view| format!("cwnd {}", human_bytes(view.cwnd))));
        let omitted = if interval.omitted { " (omitted)" } else { "" };
        let at = format!("{:4.0} s{omitted}", interval.end.as_secs_f64());
        output::draw_progress(&at, &parts);
        self.has_line = true;
    }
}
