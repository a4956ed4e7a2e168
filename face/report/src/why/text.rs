//! The answers for captures as text.

use std::collections::HashMap;

use gigatcp_analyze::{AcceptQueue, Error, PairedDiagnosis, SummaryRow};
use gigatcp_flows::{Endpoint, Side};
use gigatcp_why::{CapturePoint, DiagnosisSummary, PrimaryCause};

use super::answer::{self, ConnectionLabel, captured};
use super::order::{MIN_SHOWN_BYTES, Order};
use super::{AnsweredCapture, Diagnosed, detail, not_shown, row};
use crate::escape::{quoted, terminal};
use crate::prose::{counted, wrap, wrap_hanging};

/// Amount of detail to write.
#[derive(Clone, Copy)]
pub struct Detail {
    /// Every connection with data is answered.
    pub shows_all: bool,
    /// All causes, all evidence, and a line for each connection that is only counted.
    pub is_verbose: bool,
    /// Effects of fixes are predicted, if [`AnsweredCapture::predict`] can.
    pub predicts: bool,
}

/// Writes the answers for one capture, or for two that are analyzed jointly, in parts.
///
/// # Errors
/// Those of `write`, and [`Error`] if a capture cannot be read again.
pub fn put<E: From<Error>>(
    captures: &[&AnsweredCapture],
    pairs: &[PairedDiagnosis],
    detail: Detail,
    write: &mut impl FnMut(&str) -> Result<(), E>,
) -> Result<(), E> {
    let order = Order::of(captures, pairs, detail.shows_all);
    let leads = most_failed(captures);
    let mut first = String::new();
    if leads {
        first.push_str(&silent(captures));
    }
    first.push_str(&full_accept_queues(captures));
    first.push_str(&repeated_handshakes(captures));
    if !first.is_empty() {
        write(&first)?;
        if !order.shown().is_empty() {
            write("\n")?;
        }
    }
    let mut points = Points::default();
    for (rank, one) in Diagnosed::all(captures, pairs, order.shown()).enumerate() {
        let one = one?;
        if rank > 0 {
            write("\n")?;
        }
        let label = label(captures, &one, rank, order.len());
        write(&answer::lines(&label, &one.diagnosis))?;
        let predict = captures[one.capture].predict;
        if let Some(predict) = predict.filter(|_| detail.predicts) {
            let predicted = predict(&one.diagnosis);
            write(&answer::labeled("What if", &predicted.text))?;
        }
        if detail.is_verbose {
            write(&detail::lines(&one.diagnosis))?;
        }
        points.add(captures[0], &one);
    }
    let mut last = points.same();
    last.push_str(&rest(captures, &order, detail)?);
    if !leads {
        last.push_str(&silent(captures));
    }
    if !last.is_empty() && !order.shown().is_empty() {
        write("\n")?;
    }
    write(&last)
}

/// Lines about connections without an answer.
fn rest(captures: &[&AnsweredCapture], order: &Order, detail: Detail) -> Result<String, Error> {
    let [many, small] = order.counted();
    let mut which = format!(" of less than {} kB", MIN_SHOWN_BYTES / 1_000);
    if small.iter().any(|place| place.is_control) {
        which.push_str(", or of a tester's control,");
    }
    let mut text = not_shown::line(
        captures,
        many,
        ("further connection", ""),
        "--all shows them",
    )?;
    let them = if small.len() == 1 { "it" } else { "them" };
    let hint = format!("-v lists {them}");
    text.push_str(&not_shown::line(
        captures,
        small,
        ("connection", &which),
        &hint,
    )?);
    if detail.is_verbose && many.len() + small.len() > 0 {
        text.push('\n');
        text.push_str(row::HEADING);
        for diagnosed in Diagnosed::all(captures, &[], order.all_counted()) {
            let one = diagnosed?;
            if let Some(row) = row_of(captures, &one) {
                row::put(&row, one.index, &mut text);
            }
        }
    }
    Ok(text)
}

/// Lines about connections without data, and captures without a connection.
fn silent(captures: &[&AnsweredCapture]) -> String {
    captures.iter().map(|loaded| silent_in(loaded)).collect()
}

fn silent_in(loaded: &AnsweredCapture) -> String {
    let connections = loaded.capture.connections();
    let numbered = |index: usize| {
        let found = connections.no_data(index)?;
        Some(format!("Connection {}: {}", index + 1, found.sentence()))
    };
    if !loaded.chosen.is_empty() {
        let chosen = loaded.chosen.iter();
        let lines = chosen.filter_map(|index| numbered(*index));
        return lines.map(|line| wrap(&line, 0)).collect();
    }
    let all = connections.len();
    if all == 0 {
        let info = loaded.capture.info();
        let packets = counted(info.packets, "packet");
        return format!("No TCP connection in {packets} ({}).\n", info.format);
    }
    let kinds = connections.without_data().into_iter();
    let lines = kinds.filter_map(|(kind, indices)| {
        let first = numbered(*indices.first()?)?;
        let count = indices.len();
        let predicate = kind.predicate(count == 1);
        let line = match (count, kind.is_failure()) {
            _ if all == 1 => connections.no_data(0)?.sentence(),
            (1, _) => first,
            (_, true) => format!("{count} of {all} connections {predicate}. {first}"),
            (_, false) => format!("{count} of {all} connections {predicate}."),
        };
        Some(wrap(&line, 0))
    });
    lines.collect()
}

/// A line for each server that ignored connections, of the capture that shows most of them.
fn full_accept_queues(captures: &[&AnsweredCapture]) -> String {
    let whole = captures.iter().filter(|loaded| loaded.chosen.is_empty());
    let found = whole.map(|loaded| loaded.capture.connections().full_accept_queues());
    let shown = |found: &Vec<AcceptQueue>| found.iter().filter(|queue| queue.is_at_server).count();
    let found = found.max_by_key(|found| (shown(found), found.len()));
    let lines = found.into_iter().flatten().map(|queue| queue.sentence());
    lines.map(|line| wrap_hanging(&line, 0, 2)).collect()
}

/// A line for each client that opens a connection for each request, and so delivers more than by any
/// single connection. Captures of both ends have the same.
fn repeated_handshakes(captures: &[&AnsweredCapture]) -> String {
    let whole = captures
        .iter()
        .take(1)
        .filter(|loaded| loaded.chosen.is_empty());
    let found = whole.flat_map(|loaded| {
        let connections = loaded.capture.connections();
        let with_data = connections.with_data().into_iter();
        let most = with_data.map(|index| connections.data_bytes(index)).max();
        let found = connections.repeated_handshakes().into_iter();
        found.filter(move |found| Some(found.bytes.as_u64()) > most)
    });
    found
        .map(|found| wrap_hanging(&found.sentence(), 0, 2))
        .collect()
}

/// Whether most connections failed, so that they lead.
fn most_failed(captures: &[&AnsweredCapture]) -> bool {
    let (mut failed, mut all) = (0, 0);
    for loaded in captures {
        let connections = loaded.capture.connections();
        all += connections.len();
        let kinds = connections.without_data().into_iter();
        let failures = kinds.filter(|(kind, _)| kind.is_failure());
        failed += failures.map(|(_, indices)| indices.len()).sum::<usize>();
    }
    failed * 2 > all
}

/// A connection as a row of `--summary`.
fn row_of(captures: &[&AnsweredCapture], answer: &Diagnosed) -> Option<SummaryRow> {
    let connections = captures[answer.capture].capture.connections();
    let connection = connections.connection(answer.index)?;
    let one = &answer.diagnosis;
    let from = connection.direction(one.sender);
    let both = Side::BOTH.map(|side| connection.direction(side).packets());
    Some(SummaryRow {
        first_packet: 0,
        packets: both.iter().sum(),
        retransmitted: from.retransmitted_segments(),
        from: connection.endpoint(one.sender),
        to: connection.endpoint(one.sender.other()),
        diagnosis: Some(DiagnosisSummary {
            sender: one.sender,
            capture_point: one.capture_point,
            duration: one.duration,
            delivered: one.delivered,
            throughput: one.throughput,
            min_rtt: one.min_rtt,
            primary: one.primary().map(|first| PrimaryCause {
                cause: first.cause,
                time: first.time,
                confidence: first.confidence,
            }),
            unknown: one.unknown,
        }),
    })
}

fn label(
    captures: &[&AnsweredCapture],
    one: &Diagnosed,
    rank: usize,
    count: usize,
) -> ConnectionLabel {
    let loaded = captures[one.capture];
    let connection = loaded.capture.connections().connection(one.index);
    let end = |side| connection.map_or_else(String::new, |known| known.endpoint(side).to_string());
    let sender = one.diagnosis.sender;
    let here = captured(one.diagnosis.capture_point);
    let there = one.far.map(|far| {
        let point = captures[far.capture]
            .capture
            .connections()
            .diagnose(far.index);
        captured(point.map_or(CapturePoint::Unknown, |found| found.capture_point))
    });
    let number = one.index + 1;
    let mut place = match (rank, count) {
        (_, 0 | 1) => String::new(),
        (0, _) if loaded.chosen.is_empty() => {
            format!("largest of {count} connections, number {number}")
        }
        _ => format!("connection {number}"),
    };
    if captures.len() > 1 {
        let name = terminal(&loaded.capture.name());
        let of = if one.far.is_some() {
            format!("packets numbered as in {name}")
        } else {
            format!("only in {name}")
        };
        place = if place.is_empty() {
            of
        } else {
            format!("{place}, {of}")
        };
    }
    ConnectionLabel {
        ends: format!("{} -> {}", end(sender), end(sender.other())),
        captured: match there {
            Some(there) if here == there => "captured at two points".into(),
            Some(there) => format!("captured {here} and {there}"),
            None => format!("captured {here}"),
        },
        place,
        reset_by: connection.and_then(|known| answer::reset_by(known, sender)),
        counters: one.counters.clone(),
    }
}

/// Identity of a connection across capture points: both initial sequence numbers, and both ends.
type Identity = ([u64; 2], [Endpoint; 2]);

/// Finds connections that one capture contains from several capture points. Their initial sequence
/// numbers agree.
#[derive(Default)]
struct Points {
    /// The number of each connection shown, and where it was captured.
    seen: Vec<(usize, CapturePoint)>,
    /// Connections with the same identity.
    named: HashMap<Identity, Vec<usize>>,
}

impl Points {
    fn add(&mut self, loaded: &AnsweredCapture, one: &Diagnosed) {
        if one.capture > 0 {
            return;
        }
        let Some(connection) = loaded.capture.connections().connection(one.index) else {
            return;
        };
        let numbers = Side::BOTH.map(|side| connection.direction(side).first_position());
        let ends = Side::BOTH.map(|side| connection.endpoint(side));
        let place = self.seen.len();
        self.seen.push((one.index + 1, one.diagnosis.capture_point));
        self.named.entry((numbers, ends)).or_default().push(place);
    }

    /// A line for each two connections with the same identity.
    fn same(&self) -> String {
        let mut pairs: Vec<[usize; 2]> = Vec::new();
        for alike in self.named.values() {
            for (index, place) in alike.iter().enumerate() {
                pairs.extend(alike[index + 1..].iter().map(|later| [*place, *later]));
            }
        }
        for pair in &mut pairs {
            pair.sort_by_key(|place| self.seen[*place].0);
        }
        pairs.sort_unstable();
        let lines = pairs.iter().filter_map(|pair| {
            let [(one, here), (other, there)] = pair.map(|place| self.seen[place]);
            let line = format!(
                "Connections {one} and {other} are one connection, captured {} and {}. What one \
                 of them shows holds for both.",
                captured(here),
                captured(there)
            );
            (here != there).then(|| wrap(&line, 0))
        });
        lines.collect()
    }
}

/// Message that two captures share no connection for a joint analysis. If each has the packets of one
/// host, it says how to merge them.
pub fn nothing_joined(captures: [&AnsweredCapture; 2]) -> String {
    let [first, second] = captures.map(|loaded| terminal(&loaded.capture.name()));
    let largest = captures.map(|loaded| {
        let connections = loaded.capture.connections();
        let known = connections.connection(*connections.largest_first().first()?)?;
        // Sender and receiver of the only packets.
        let mut sides = Side::BOTH.into_iter();
        let sender = sides.find(|side| known.direction(*side).packets() > 0)?;
        let ends = [sender, sender.other()].map(|side| known.endpoint(side));
        known.is_one_sided().then_some(ends)
    });
    let are_halves = largest[0].is_some_and(|[from, to]| largest[1] == Some([to, from]));
    let line = if are_halves {
        format!(
            "Each has the packets of one host. If both were captured at one place, merge them: mergecap -w \
             both.pcapng {} {}; gigatcp why both.pcapng",
            quoted(&first),
            quoted(&second),
        )
    } else {
        format!(
            "No connection is in {first} and in {second} with enough packets to analyze both jointly."
        )
    };
    wrap_hanging(&line, 0, 2)
}
