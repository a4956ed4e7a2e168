//! Parts of a plan that real time does not support. They are reported as left out, or refused if
//! leaving them out would change the plan.

use gigatcp_path::{CpuCosts, HopConfig, Picoseconds};
use gigatcp_plan::{Control, Flow, Host, Plan, Scenario, Series, Stack};
use gigatcp_tcp::congestion::SlowStart;

use super::settings::{self, kernel_name};
use crate::run::Refusal;

/// Maximum of flows in a live run: each takes two threads.
const MAX_FLOWS: usize = 256;

/// Hint of most refusals.
const IN_VIRTUAL_TIME: &str = "run it in virtual time, without `--on live`";

/// Why the series cannot be run in real time, if so.
pub(crate) fn refusal(plan: &Plan, series: &Series) -> Option<Refusal> {
    let no = |what: &str, hint: &str| {
        Some(Refusal {
            message: format!(
                "series `{}` of {} cannot run live: {what}",
                series.name, plan.name
            ),
            hint: hint.to_owned(),
        })
    };
    let Some(scenario) = &series.scenario.as_path() else {
        return no(
            "its nodes and links are not one chain from one sender to one receiver",
            IN_VIRTUAL_TIME,
        );
    };
    let flows = &scenario.flows;
    if let Some(Flow { name, .. }) = flows.iter().find(|flow| flow.application.is_some()) {
        let what = format!("flow `{name}` has an `application`, and live flows send in bulk");
        return no(&what, IN_VIRTUAL_TIME);
    }
    if scenario.ethernet.is_some() {
        return no(
            "its path is an Ethernet, which no emulator of ours has",
            IN_VIRTUAL_TIME,
        );
    }
    if flows.len() > MAX_FLOWS {
        return no(
            &format!(
                "it has {} flows, each of which takes two threads",
                flows.len()
            ),
            &format!("{IN_VIRTUAL_TIME}, or at most {MAX_FLOWS} flows"),
        );
    }
    if let Some(flow) = flows.iter().find(|flow| !flow.extra_delay.is_zero()) {
        return no(
            &format!(
                "flow `{}` has an extra_delay of {}, and a live path delays all flows alike",
                flow.name, flow.extra_delay
            ),
            &format!("`--set flow.extra_delay='0 s'`, or {IN_VIRTUAL_TIME}"),
        );
    }
    if let Some(Flow { name, .. }) = flows.iter().find(|flow| flow.supply.is_some()) {
        let what = format!(
            "flow `{name}` has a `supply`, and live applications have all their data at the start"
        );
        return no(&what, IN_VIRTUAL_TIME);
    }
    let is_object = |flow: &&Flow| matches!(flow.congestion, Control::Bpf { .. });
    if let Some(flow) = flows.iter().find(is_object)
        && !cfg!(feature = "bpf")
    {
        return no(
            &format!(
                "this build loads no BPF objects such as {}",
                flow.congestion.name()
            ),
            "`cargo install gigatcp --features bpf` (headers: apt install libelf-dev zlib1g-dev)",
        );
    }
    missing_control_refusal(&series.name, scenario)
}

/// Why the series cannot run if this machine's kernel lacks a congestion control.
fn missing_control_refusal(series: &str, scenario: &Scenario) -> Option<Refusal> {
    let known = gigatcp_meter::congestion_controls();
    let missing = missing_control(scenario, &known)?;
    let is_ours = ENGINES_OWN.contains(&missing);
    let message = format!(
        "series `{series}` asks a kernel for the congestion control `{missing}`, which {}; this one has {}",
        if is_ours {
            "the engine alone has"
        } else {
            "it has not"
        },
        known.join(", ")
    );
    let hint = if is_ours {
        "`--set flow.congestion_control=cubic`, or `--set sender.stack=engine`".to_owned()
    } else {
        format!("`modprobe tcp_{missing}`, or `--set flow.congestion_control=cubic`")
    };
    Some(Refusal { message, hint })
}

/// Controls that no kernel has under that name.
const ENGINES_OWN: [&str; 12] = [
    "bic-2.6.20",
    "compound",
    "copa",
    "cubic-2.6.20",
    "cute",
    "decbit",
    "fixed",
    "ledbat",
    "ledbat++",
    "tahoe",
    "tahoe-1988",
    "xcp",
];

/// First congestion control required of a kernel that is not in `known`.
///
/// A kernel that only receives needs none, except DCTCP, whose receiver reports marks differently.
fn missing_control<'a>(scenario: &'a Scenario, known: &[String]) -> Option<&'a str> {
    let sends = scenario.sender.stack == Stack::Kernel;
    let receives = scenario.receiver.stack == Stack::Kernel;
    let is_named = |flow: &&Flow| !matches!(flow.congestion, Control::Bpf { .. });
    let wanted = scenario.flows.iter().filter(is_named).map(kernel_name);
    let mut needed = wanted.filter(|name| sends || receives && *name == "dctcp");
    needed.find(|name| !known.iter().any(|known| known == name))
}

/// Parts of the scenario that this run leaves out, with reasons.
///
/// Each line begins with the key.
pub(super) fn not_modelled(scenario: &Scenario) -> Vec<String> {
    let mut left_out = Vec::new();
    let hosts = [
        ("sender", &scenario.sender),
        ("receiver", &scenario.receiver),
    ];
    for (name, host) in hosts {
        of_machine(name, host, scenario.flows.len(), &mut left_out);
        if host.stack == Stack::Kernel {
            of_kernel(name, host, &mut left_out);
        }
    }
    if scenario.sender.stack == Stack::Kernel {
        of_flows(scenario, &mut left_out);
    }
    let is_router = |hop: &HopConfig| hop.quick_start || hop.queue.discipline.name == "xcp";
    if scenario
        .forward
        .iter()
        .chain(&scenario.links)
        .any(is_router)
    {
        left_out.push(
            "path.queue, path.quick_start: routers of a path in real time read no requests; flows \
             go on as without routers"
                .to_owned(),
        );
    }
    left_out
}

/// Adds the settings of CPU and card, which are the machine's own.
fn of_machine(name: &str, host: &Host, flows: usize, left_out: &mut Vec<String>) {
    let mut say = |key: &str, why: &str| left_out.push(format!("{name}.{key}: {why}"));
    for key in costs(&host.costs) {
        say(
            &format!("cpu.{key}"),
            "this machine's processor costs what it costs",
        );
    }
    let scheduling = &host.scheduling;
    let keys = [
        ("processors", scheduling.processors > 1),
        ("receive_queues", scheduling.receive_queues > 1),
        ("polls", scheduling.polls),
        ("receive_budget", scheduling.receive_budget.is_some()),
        ("input_queue", scheduling.input_queue.is_some()),
    ];
    for (key, _) in keys.into_iter().filter(|(_, is_set)| *is_set) {
        say(
            &format!("cpu.{key}"),
            "this machine shares its processors as it does",
        );
    }
    let card = "there is no network card";
    let full = "the link drops what it has no room for, where a card holds back";
    let rest = [
        (
            "cpu.steal",
            host.steal.is_some(),
            "this machine's processor is taken away when it is",
        ),
        (
            "backlog",
            host.backlog.is_some(),
            "each flow has a listening socket of its own",
        ),
        (
            "clusters",
            host.clusters.is_some(),
            "this machine has the memory that it has",
        ),
        (
            "coalesce",
            host.coalesce != host.profile.segments.interrupt_interval,
            card,
        ),
        ("coalesce_packets", host.coalesce_packets.is_some(), card),
        ("rings", host.rings.is_some(), card),
        ("tx_queue", host.link.is_some(), full),
        (
            "link",
            host.link.is_some() && flows > 1,
            "one for all flows",
        ),
    ];
    for (key, _, why) in rest.into_iter().filter(|(_, is_set, _)| *is_set) {
        say(key, why);
    }
}

fn costs(costs: &CpuCosts) -> impl Iterator<Item = &'static str> {
    costs
        .named()
        .into_iter()
        .filter(|(_, cost)| *cost != Picoseconds::default())
        .map(|(key, _)| key)
}

/// Adds the engine's switches that a kernel lacks.
fn of_kernel(name: &str, host: &Host, left_out: &mut Vec<String>) {
    const HELD: [&str; 4] = [
        "receive_buffer_start",
        "receive_buffer_max",
        "send_buffer_start",
        "send_buffer_max",
    ];
    let why = "the kernel has its own";
    if host.profile.name != "modern" {
        left_out.push(format!("{name}.profile, {}: {why}", host.profile.name));
    }
    let is_held = |name: &str| HELD.contains(&name) || settings::is_known(name);
    let settings = host.settings.iter().filter(|name| !is_held(name));
    left_out.extend(settings.map(|setting| format!("{name}.{setting}: {why}")));
}

/// Adds the plan's settings of the sender's window.
fn of_flows(scenario: &Scenario, left_out: &mut Vec<String>) {
    let flows = &scenario.flows;
    if flows.iter().any(|flow| flow.slow_start != SlowStart::Usual) {
        left_out.push("flow.slow_start: the kernel opens windows in its own way".to_owned());
    }
    if first_threshold(flows).is_none() && flows.iter().any(asks_for_threshold) {
        left_out.push(
            "flow.initial_ssthresh: it goes by the route to the receiver, which all flows have in \
             common, and they ask for different ones"
                .to_owned(),
        );
    }
}

fn asks_for_threshold(flow: &Flow) -> bool {
    flow.initial_ssthresh.is_some_and(|segments| segments > 0)
}

/// Initial ssthresh common to all flows, in segments, if they agree.
pub(super) fn first_threshold(flows: &[Flow]) -> Option<u32> {
    let first = flows.first()?.initial_ssthresh?;
    let is_same = |flow: &Flow| flow.initial_ssthresh == Some(first);
    (first > 0 && flows.iter().all(is_same)).then_some(first)
}
