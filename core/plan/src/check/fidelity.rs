//! Warnings about profiles of systems: what a plan uses and the profile does not model.

use alloc::format;

use gigatcp_tcp::Profile;

use crate::diagnostic::Diagnostic;
use crate::model::Host;
use crate::reader::Reader;

/// Controls of Linux, by the names of `gigatcp list controls`.
const OF_LINUX: [&str; 18] = [
    "bbr",
    "bic",
    "cdg",
    "cubic-linux",
    "dctcp",
    "highspeed",
    "htcp",
    "hybla",
    "illinois",
    "lp",
    "nv",
    "reno",
    "scalable",
    "vegas",
    "veno",
    "westwood",
    "yeah",
    "fixed",
];

/// Variants of slow start that Linux has in some control.
const SLOW_STARTS_OF_LINUX: [&str; 3] = ["usual", "standard", "hystart"];

/// Applications whose requests wait for delayed ACKs.
const INTERACTIVE: [&str; 2] = ["request-response", "rpc"];

/// Warns about a host whose profile models less than the plan suggests.
pub(super) fn check_host(host: &Host, reader: &Reader) {
    if host.profile.name == Profile::FREEBSD.name {
        let message = "profile `freebsd` was never compared with a running FreeBSD";
        Diagnostic::warning(reader.place_of_value("profile"), message)
            .label("from its manual pages, and in part from memory")
            .effect("its figures are not known to be those of FreeBSD")
            .hint("profile = \"linux-6.18\", which was compared with the kernel")
            .report(reader.findings());
    }
    let counts = host.rings.is_some() || host.clusters.is_some();
    if counts && host.profile.segments.receive_offload {
        let key = ["rings", "clusters"]
            .into_iter()
            .find(|key| reader.has(key));
        let message = "`receive_offload` has no effect on a host with rings or clusters";
        Diagnostic::warning(reader.place_of(key.unwrap_or("profile")), message)
            .label("segments stay separate, each in its own buffer")
            .effect("the host sends more ACKs than Linux, up to one for every second segment")
            .hint("receive_offload = false, if that is intended")
            .report(reader.findings());
    }
}

/// Warns about a flow that the system of its sender's profile could not have.
pub(super) fn check_flow(profile: &Profile, control: &str, reader: &Reader) {
    if profile.name != Profile::LINUX_6_18.name {
        return;
    }
    if !OF_LINUX.contains(&control) {
        let message = format!(
            "profile `{}` sends with `{control}`, which Linux has not",
            profile.name
        );
        let hint = match control {
            "cubic" => "congestion_control = \"cubic-linux\"",
            _ => "`gigatcp list controls` has those of Linux",
        };
        Diagnostic::warning(reader.place_of_value("congestion_control"), message)
            .label("no sender with this profile has it")
            .effect("the flow is that of no kernel")
            .hint(hint)
            .report(reader.findings());
    }
    if let Some(name) = reader.text("slow_start")
        && !SLOW_STARTS_OF_LINUX.contains(&name.as_str())
    {
        let message = format!(
            "profile `{}` with `{name}` slow start, which Linux has not",
            profile.name
        );
        Diagnostic::warning(reader.place_of_value("slow_start"), message)
            .label("no sender with this profile has it")
            .effect("the flow is that of no kernel")
            .hint("leave it out")
            .report(reader.findings());
    }
    let application = reader.text("application").unwrap_or_default();
    if INTERACTIVE.iter().any(|name| application.starts_with(name)) {
        let message = format!("profile `{}` delays ACKs by 40 ms always", profile.name);
        Diagnostic::warning(reader.place_of("application"), message)
            .label("Linux adapts the delay to the rate of requests")
            .effect("a request may be answered earlier or later than by a kernel")
            .report(reader.findings());
    }
}
