//! Network settings of the host before and after CI, which must leave none of them changed.
//!
//! Tests change settings in network namespaces of their own, which end with them. A setting that a
//! test changes on the host would decide what later tests, and later runs, find there.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Values by name, as `sysctl(8)` spells it.
pub type Settings = BTreeMap<String, String>;

/// Settings that change by themselves: start and end of the name, and why.
const UNSTABLE: [(&str, &str, &str); 8] = [
    (
        "net.ipv4.tcp_available_congestion_control",
        "",
        "lists loaded modules; the kernel loads one if a socket requests it",
    ),
    ("net.ipv4.tcp_available_ulp", "", "lists loaded modules"),
    (
        "net.ipv4.tcp_fastopen_key",
        "",
        "the kernel draws it when a socket first uses TCP Fast Open",
    ),
    ("net.netfilter.nf_conntrack_count", "", "counts connections"),
    ("net.ipv6.conf.", ".mtu", "follows router advertisements"),
    (
        "net.ipv6.conf.",
        ".hop_limit",
        "follows router advertisements",
    ),
    (
        "net.ipv6.neigh.",
        ".base_reachable_time_ms",
        "follows router advertisements",
    ),
    (
        "net.ipv6.neigh.",
        ".retrans_time_ms",
        "follows router advertisements",
    ),
];

/// Reads the settings of the host, as far as this user may. There are none without
/// `/proc/sys/net`.
pub fn read() -> Settings {
    let mut settings = Settings::new();
    read_into(&mut settings, Path::new("/proc/sys/net"), "net");
    settings
}

fn read_into(settings: &mut Settings, folder: &Path, name: &str) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        // An interface's name may have dots.
        let word = entry.file_name().to_string_lossy().replace('.', "/");
        let name = format!("{name}.{word}");
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            read_into(settings, &entry.path(), &name);
        } else if !is_unstable(&name)
            && let Ok(value) = fs::read_to_string(entry.path())
        {
            let words: Vec<&str> = value.split_whitespace().collect();
            settings.insert(name, words.join(" "));
        }
    }
}

fn is_unstable(name: &str) -> bool {
    let mut unstable = UNSTABLE.iter();
    unstable.any(|(start, end, _)| name.starts_with(start) && name.ends_with(end))
}

/// Lists the settings that differ, with their values before and after. New settings come with a module that the
/// kernel loaded, so they are no difference, except those of an interface that was left behind.
pub fn differences(before: &Settings, after: &Settings) -> Vec<String> {
    let changed = before.iter().filter_map(|(name, old)| {
        let new = after.get(name).map_or("absent", String::as_str);
        (new != old).then(|| format!("{name}: before `{old}`, after `{new}`"))
    });
    let left_behind = after
        .iter()
        .filter(|(name, _)| {
            let of_interface = name.starts_with("net.ipv4.conf.") && name.ends_with(".forwarding");
            of_interface && !before.contains_key(*name)
        })
        .map(|(name, new)| format!("{name}: before `absent`, after `{new}`"));
    changed.chain(left_behind).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(pairs: &[(&str, &str)]) -> Settings {
        let owned = pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        owned.collect()
    }

    #[test]
    fn a_changed_setting_is_named_with_both_values() {
        const NAME: &str = "net.ipv4.tcp_allowed_congestion_control";
        let before = settings(&[(NAME, "reno bbr"), ("net.ipv4.tcp_sack", "1")]);
        let after = settings(&[(NAME, "reno bbr cubic"), ("net.ipv4.tcp_sack", "1")]);
        assert_eq!(
            differences(&before, &after),
            [format!("{NAME}: before `reno bbr`, after `reno bbr cubic`")]
        );
        assert!(differences(&before, &before).is_empty());
    }

    #[test]
    fn an_interface_left_behind_is_a_difference_and_a_loaded_module_is_none() {
        let before = settings(&[("net.ipv4.conf.lo.forwarding", "0")]);
        let mut after = before.clone();
        after.extend(settings(&[
            ("net.netfilter.nf_conntrack_max", "65536"),
            ("net.ipv4.conf.gt0.forwarding", "1"),
            ("net.ipv4.conf.gt0.mc_forwarding", "0"),
        ]));
        assert_eq!(
            differences(&before, &after),
            ["net.ipv4.conf.gt0.forwarding: before `absent`, after `1`"]
        );
        assert_eq!(differences(&after, &before).len(), 3);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn settings_read_twice_are_equal_and_without_the_unstable_ones() {
        let settings = read();
        assert!(settings.contains_key("net.core.somaxconn"));
        assert!(!settings.contains_key("net.ipv4.tcp_available_congestion_control"));
        assert!(!settings.contains_key("net.ipv6.conf.lo.mtu"));
        assert_eq!(differences(&settings, &read()), [""; 0]);
    }
}
