//! Turns a document into a run: fills in every default, checks every bound.
//!
//! One file per section. Each reads its tables through a [`Reader`](crate::reader::Reader). It then
//! checks combinations of values: contradictory keys, queues smaller than a packet, flows that
//! would never begin.

use alloc::format;
use alloc::vec::Vec;

use gigatcp_app::AppConfig;
use gigatcp_path::HopConfig;
use gigatcp_tcp::profile::EcnMode;
use gigatcp_tcp::{IpVersion, Profile};
use gigatcp_units::Duration;

use crate::diagnostic::{Diagnostic, Findings, Place};
use crate::document::{Table, Value};
use crate::keys::{self, KeyTable};
use crate::model::{Ends, Flow, FlowKind, Host, Node, Record, Scenario, Stack, Tester};
use crate::reader::Reader;

mod ethernet;
mod fidelity;
mod flow;
mod host;
mod over;
mod path;
mod series;
mod sweep;
mod topology;

use topology::Topology;

pub(crate) use series::plan;

/// Bytes of a TCP header without options.
const TCP_HEADER: u32 = 20;

/// Table read in place of an absent one.
static NO_TABLE: Table = Table {
    entries: Vec::new(),
};

/// Run that a document describes. Findings do not stop the reading, so that all are collected;
/// after an error the result must not be used.
pub(crate) fn scenario(document: &Table, findings: &Findings) -> Scenario {
    let place = Place::in_plan(0..0);
    let reader = Reader::new(&keys::PLAN, document, &place, findings);
    let mut sender = host::host(&reader, "sender");
    let mut receiver = host::host(&reader, "receiver");
    let longest_mtu = sender.host.mtu.max(receiver.host.mtu);
    let tables = flow::readers(&reader);
    let topology = topology::topology(&reader, &tables, longest_mtu);
    let mut path = path::Path::default();
    if let Some(topology) = &topology {
        path.rtt = topology.rtt;
    } else {
        topology::check_no_ends(&tables);
        let links = [sender.link.take(), receiver.link.take()];
        path = path::path(&reader, links, longest_mtu);
    }
    let Topology {
        nodes,
        links,
        media,
        ends,
        ..
    } = topology.unwrap_or_default();
    check_marks(
        &path.marks,
        [&sender.host.profile, &receiver.host.profile],
        findings,
    );
    let ip = ip(&reader, [&sender.host, &receiver.host], &path);
    check_small_links(&reader, ip, [&sender.host, &receiver.host], &path);
    let record = section(&reader, "record", &keys::RECORD);
    let of_sender = |ends: &Option<Ends>| {
        let node = ends.as_ref().and_then(|ends| nodes.get(ends.from));
        let draft = node.and_then(|node| node.draft.as_ref());
        draft.map_or(sender.host.profile, |draft| draft.host.profile)
    };
    let senders = ends.iter().map(of_sender).collect();
    let end = reader.time("duration");
    let flows = flow::Context {
        buffers: [&sender, &receiver].map(|draft| flow::Buffer {
            requested: draft.buffer,
            place: draft.buffer_place.clone(),
            limit: draft.host.profile.buffers.buffer_limit,
        }),
        segment: sender
            .host
            .profile
            .whole_buffers(longest_mtu.saturating_sub(ip.header_len() + TCP_HEADER)),
        rtt: path.rtt,
        time_sequence: record.flag("time_sequence"),
        end,
        profile: sender.host.profile,
        senders,
        kernel_sends: sender.host.stack == Stack::Kernel,
        routers: routers(path.forward.iter().chain(&path.sender_link).chain(&links)),
        ends,
    }
    .flows(&reader, &tables);
    check_backlog(&receiver, &flows, findings);
    let duration = end.unwrap_or_else(|| flow::latest_end(&flows));
    Scenario {
        ip,
        forward: path.forward,
        reverse: path.reverse,
        nodes: model_nodes(nodes, &flows, [&sender.host, &receiver.host]),
        links,
        media,
        ethernet: path.ethernet,
        sender: host::with_link(sender.host, path.sender_link),
        receiver: host::with_link(receiver.host, path.receiver_link),
        flows,
        duration,
        tester: tester(&section(&reader, "tester", &keys::TESTER), duration),
        record: self::record(&record, duration),
    }
}

/// Queue disciplines of `hops`, for controls that need router support.
fn routers<'a>(hops: impl Iterator<Item = &'a HopConfig>) -> Vec<&'static str> {
    hops.map(|hop| hop.queue.discipline.name).collect()
}

/// Warns about a backlog where each receiver has one connection only.
fn check_backlog(receiver: &host::Draft, flows: &[Flow], findings: &Findings) {
    let shares = |flow: &Flow| {
        let connections = flow.application.as_ref().map_or(1, AppConfig::connections);
        flow.ends.is_some() || flow.kind() == FlowKind::Arrivals || connections > 1
    };
    if receiver.host.backlog.is_some() && !flows.iter().any(shares) {
        let message = "`backlog` has no effect: each flow has a receiver of its own";
        let hint = "[[link]] and a node that they share, or application = \"arrivals\"";
        Diagnostic::warning(&receiver.backlog_place, message)
            .label("does nothing here")
            .hint(hint)
            .report(findings);
    }
}

fn model_nodes(nodes: Vec<topology::Node>, flows: &[Flow], defaults: [&Host; 2]) -> Vec<Node> {
    let begins = |number| {
        let mut ends = flows.iter().filter_map(|flow| flow.ends.as_ref());
        ends.any(|ends| ends.from == number)
    };
    nodes
        .into_iter()
        .enumerate()
        .map(|(number, node)| {
            let default = defaults[usize::from(!begins(number))];
            let host = node
                .draft
                .map_or_else(|| default.clone(), |draft| draft.host);
            Node {
                name: node.name,
                host: host::with_link(host, node.link),
            }
        })
        .collect()
}

/// Reads the IP version; every MTU on the path must be large enough for it.
fn ip(plan: &Reader, hosts: [&Host; 2], path: &path::Path) -> IpVersion {
    let names = ["ipv4", "ipv6"];
    let find = |name: &str| match name {
        "ipv4" => Some(IpVersion::V4),
        "ipv6" => Some(IpVersion::V6),
        _ => None,
    };
    let ip = plan
        .choice("ip", "version of IP", names.into_iter(), find)
        .unwrap_or_default();
    let least = ip.least_mtu();
    let hops = path.forward.iter().chain(&path.reverse);
    let links = path.sender_link.iter().chain(&path.receiver_link);
    let limited = hops.chain(links).filter_map(|hop| {
        let mtu = u32::try_from(hop.mtu?.as_u64()).ok()?;
        Some((format!("hop `{}`", hop.name), mtu))
    });
    let hosts = ["sender", "receiver"]
        .into_iter()
        .zip(hosts)
        .map(|(name, host)| (format!("`{name}`"), host.mtu));
    for (who, mtu) in hosts.chain(limited).filter(|(_, mtu)| *mtu < least) {
        let message = format!("the MTU of {who} is {mtu} bytes, less than IPv6 can do with");
        Diagnostic::error(plan.place_of_value("ip"), message)
            .label(format!(
                "every link takes {least} bytes (RFC 8200 section 5)"
            ))
            .hint(format!("mtu = {least}"))
            .report(plan.findings());
    }
    ip
}

/// Warns about hops of data whose MTU is below that of the smallest segment: a sender has an MSS of
/// at least `mss_min` (Linux `tcp_min_snd_mss`, 48), or that of the smaller interface.
fn check_small_links(
    plan: &Reader,
    ip: IpVersion,
    [sender, receiver]: [&Host; 2],
    path: &path::Path,
) {
    let headers = ip.header_len() + TCP_HEADER;
    let mss_min = sender.profile.path_mtu.mss_min;
    let least = (headers + mss_min).min(sender.mtu).min(receiver.mtu);
    for hop in path.forward.iter().chain(&path.sender_link) {
        let Some(mtu) = hop.mtu.and_then(|mtu| u32::try_from(mtu.as_u64()).ok()) else {
            continue;
        };
        if mtu < least && !hop.fragments {
            let message = format!(
                "the MTU of hop `{}` is {mtu} bytes, and an MSS of `mss_min` = {mss_min} makes \
                 packets of {least}",
                hop.name
            );
            let mut finding = Diagnostic::warning(plan.place_of("path"), message)
                .label("no full segment passes")
                .effect("the transfer makes no progress");
            finding = match mtu.checked_sub(headers) {
                Some(mss) if mss >= 28 => finding.hint(format!("sender.mss_min = {mss}")),
                _ => finding.hint(format!("mtu = {least}")),
            };
            finding.report(plan.findings());
        }
    }
}

/// Warns about ECN marks that no packet on their path is capable of.
fn check_marks(marks: &[Vec<Place>; 2], hosts: [&Profile; 2], findings: &Findings) {
    let [there, back] = marks;
    let [sender, receiver] = hosts.map(|profile| profile.ecn.mode);
    let asks = matches!(sender, EcnMode::Classic | EcnMode::Accurate);
    if !asks || receiver == EcnMode::Off {
        let hint = if asks {
            "receiver.ecn = \"passive\""
        } else {
            "sender.ecn = \"classic\", or \"accurate\""
        };
        for place in there {
            Diagnostic::warning(place, "this hop marks, and no connection speaks ECN")
                .label("the sender asks for it, and the receiver grants it")
                .effect("no packet is marked")
                .hint(hint)
                .report(findings);
        }
    }
    for place in back {
        Diagnostic::warning(place, "acknowledgments are not capable of marks")
            .label("this hop carries nothing else")
            .effect("no packet is marked")
            .hint("a hop on the forward path")
            .report(findings);
    }
}

/// A reader of the table `name`. If it is absent or wrong, the table is empty.
fn section<'a>(parent: &Reader<'a>, name: &str, keys: &'static KeyTable) -> Reader<'a> {
    let value: Option<&Value> = parent.value(name);
    value
        .and_then(|value| Reader::of_value(keys, value, parent.findings()))
        .unwrap_or_else(|| Reader::empty(keys, &NO_TABLE, parent))
}

fn tester(reader: &Reader, duration: Duration) -> Tester {
    let tester = Tester {
        interval: reader.time("interval").unwrap_or(Duration::from_secs(1)),
        omit: reader.time("omit").unwrap_or(Duration::ZERO),
    };
    check_number_of_records(reader, "interval", tester.interval, duration);
    if tester.omit >= duration {
        let message = format!(
            "`omit` of {} is not shorter than the run of {duration}",
            tester.omit
        );
        let place = reader.place_of_value("omit");
        Diagnostic::error(place, message)
            .label("as long as the run or longer")
            .effect("the average would be over no time at all")
            .report(reader.findings());
    }
    tester
}

fn record(reader: &Reader, duration: Duration) -> Record {
    let set = reader.time("sample");
    let sample = set.unwrap_or(Duration::from_millis(10));
    check_number_of_records(reader, "sample", sample, duration);
    Record {
        sample,
        may_sample_less: set.is_none(),
    }
}

/// Rejects steps so short that the records would not fit into memory.
fn check_number_of_records(reader: &Reader, key: &str, step: Duration, duration: Duration) {
    let records = duration.as_nanos() / step.as_nanos().max(1);
    if records <= keys::MAX_RECORDS {
        return;
    }
    let most = keys::MAX_RECORDS;
    let message = format!("`{key}` of {step} makes {records} records in a run of {duration}");
    let shortest = Duration::from_nanos(duration.as_nanos().div_ceil(most));
    Diagnostic::error(reader.place_of_value(key), message)
        .label(format!("more than {most} per flow"))
        .hint(format!("{key} = \"{shortest}\" or longer"))
        .report(reader.findings());
}
