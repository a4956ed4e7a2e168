//! nuttcp's text of a result: a line for each interval, and the summary.

use gigatcp_meter::tester::{Interval, Outcome, Protocol, Role, StreamOutcome, nuttcp};
use gigatcp_protocol::iperf3::ServerOutput;
use gigatcp_protocol::nuttcp::output::interval::Interval as Line;
use gigatcp_protocol::nuttcp::parameters::Format;
use gigatcp_report::escape::terminal;

use super::sums;

/// Default output format of nuttcp.
const FORMAT: Format = Format::RTT;

/// Whether the receiver is a nuttcp server, whose interval lines are printed.
pub(super) fn is_receivers(begun: &Outcome) -> bool {
    let sends = |stream: &StreamOutcome| stream.role == Role::Sender;
    begun.protocol == Protocol::Nuttcp && begun.streams.iter().any(sends)
}

/// Line of an interval, with its line ending.
pub(super) fn line(interval: &Line) -> String {
    interval.line(FORMAT) + "\n"
}

/// A line for each direction of an interval.
pub(super) fn interval(streams: &[StreamOutcome], interval: &Interval) -> String {
    let of = |role| line(&nuttcp::interval(streams, interval, role));
    sums::roles(streams).into_iter().map(of).collect()
}

/// Server's lines, if they were requested, and a summary of each direction.
pub(super) fn end(outcome: &Outcome) -> String {
    let mut text = String::new();
    let said = outcome.peer.as_ref();
    if let Some(ServerOutput::Text(said)) = said.and_then(|peer| peer.server_output.as_ref()) {
        let lines = said.lines().map(|line| terminal(line) + "\n");
        text.extend(lines);
    }
    if !text.is_empty() || outcome.intervals.len() > 1 {
        text.push('\n');
    }
    for role in sums::roles(&outcome.streams) {
        text.push_str(&nuttcp::brief(outcome, role).line(FORMAT));
        text.push('\n');
    }
    if let Some(reason) = &outcome.cut_short {
        text.push_str(&format!("nuttcp: {}\n", terminal(reason)));
    }
    text
}
