//! Settings of a plan's host that a kernel has too, under other names.
//!
//! Those that a plan sets are written in the namespace of that end; the others keep the kernel's
//! defaults. Settings that a kernel lacks are reported as left out (`unsupported.rs`).

use gigatcp_plan::{Flow, Host};
use gigatcp_tcp::Profile;

/// A setting of the engine, its sysctl, and its value there.
type Known = (&'static str, &'static str, fn(&Profile) -> u32);

/// Kernel settings as in Documentation/networking/ip-sysctl.rst.
const KNOWN: [Known; 16] = [
    ("sack", "net.ipv4.tcp_sack", |p| p.recovery.sack.into()),
    ("dsack", "net.ipv4.tcp_dsack", |p| p.recovery.dsack.into()),
    ("timestamps", "net.ipv4.tcp_timestamps", |p| {
        p.options.timestamps.into()
    }),
    ("window_scaling", "net.ipv4.tcp_window_scaling", |p| {
        p.options.window_scaling.into()
    }),
    ("rack", "net.ipv4.tcp_recovery", |p| p.recovery.rack.into()),
    // 3: tail loss probes; 0: none.
    ("tlp", "net.ipv4.tcp_early_retrans", |p| {
        3 * u32::from(p.recovery.tlp)
    }),
    // 2: with SACK too; 0: not at all.
    ("frto", "net.ipv4.tcp_frto", |p| {
        2 * u32::from(p.recovery.frto)
    }),
    ("dup_thresh", "net.ipv4.tcp_reordering", |p| {
        p.recovery.dup_thresh
    }),
    ("idle_restart", "net.ipv4.tcp_slow_start_after_idle", |p| {
        p.congestion.idle_restart.into()
    }),
    ("tso_win_divisor", "net.ipv4.tcp_tso_win_divisor", |p| {
        p.segments.tso_win_divisor
    }),
    ("pacing_ss_ratio", "net.ipv4.tcp_pacing_ss_ratio", |p| {
        p.pacing.pacing_ss_ratio
    }),
    ("pacing_ca_ratio", "net.ipv4.tcp_pacing_ca_ratio", |p| {
        p.pacing.pacing_ca_ratio
    }),
    ("receive_autotuning", "net.ipv4.tcp_moderate_rcvbuf", |p| {
        p.buffers.receive_autotuning.into()
    }),
    ("retries", "net.ipv4.tcp_retries2", |p| p.timer.retries),
    ("syn_retries", "net.ipv4.tcp_syn_retries", |p| {
        p.opening.syn_retries
    }),
    ("may_shrink_window", "net.ipv4.tcp_shrink_window", |p| {
        p.buffers.may_shrink_window.into()
    }),
];

/// Whether the kernel has the setting.
pub(super) fn is_known(name: &str) -> bool {
    KNOWN.iter().any(|(known, ..)| *known == name)
}

/// Kernel settings that the plan sets: names and values.
pub(super) fn set_by_plan(host: &Host) -> impl Iterator<Item = (&'static str, String)> {
    let profile = &host.profile;
    let set = KNOWN
        .iter()
        .filter(|(name, ..)| host.settings.contains(name));
    set.map(|(_, sysctl, value)| (*sysctl, value(profile).to_string()))
}

/// The kernel's name of a congestion control.
pub(super) fn kernel_name(flow: &Flow) -> &str {
    match flow.congestion.name() {
        // The engine's port of the kernel's CUBIC.
        "cubic-linux" => "cubic",
        name => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_a_setting_of_the_engine() {
        let all = gigatcp_tcp::profile::SETTINGS;
        for (name, sysctl, _) in &KNOWN {
            assert!(all.iter().any(|setting| setting.name == *name), "{name}");
            assert!(sysctl.starts_with("net.ipv4.tcp_"), "{sysctl}");
        }
    }

    #[test]
    fn only_what_a_plan_says_is_written() {
        let text = "name = \"p\"\ntitle = \"t\"\n[path]\nrate = \"1 Mbit/s\"\nrtt = \"1 ms\"\n\
                    [sender]\nstack = \"kernel\"\nsack = false\ntlp = false\ntso_win_divisor = 0\n";
        let plan = gigatcp_plan::parse("p", text.as_bytes(), &[]).unwrap();
        let scenario = &plan.series[0].scenario;
        let set_by_plan: Vec<_> = set_by_plan(&scenario.sender).collect();
        let expected = [
            ("net.ipv4.tcp_sack", "0"),
            ("net.ipv4.tcp_early_retrans", "0"),
            ("net.ipv4.tcp_tso_win_divisor", "0"),
        ];
        assert_eq!(
            set_by_plan,
            expected.map(|(name, value)| (name, value.to_owned()))
        );
        assert_eq!(super::set_by_plan(&scenario.receiver).count(), 0);
    }
}
