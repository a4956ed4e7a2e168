//! Settings under `/proc/sys/net`, and the baseline of every test network namespace.
//!
//! A new namespace has some settings from the machine and some from the kernel's defaults. The same
//! script could thus pass on one machine and fail on another. The baseline sets what a TCP script
//! can observe to the kernel's own defaults; a script sets everything else itself.
//!
//! Only settings of the calling thread's namespace are written. Paths are split into plain words
//! below `net`. In a namespace, the kernel makes settings of the whole machine read-only.

use std::fs;
use std::io;
use std::path::PathBuf;

use crate::{SetupError, Step};

/// TCP settings fixed before a script runs, with the defaults of
/// Documentation/networking/ip-sysctl.rst.
///
/// `slow_start_after_idle`, `ecn` and the buffers keep the kernel's defaults; scripts that depend
/// on them set them.
const BASELINE: [(&str, &str); 28] = [
    ("net.ipv4.tcp_timestamps", "1"),
    ("net.ipv4.tcp_window_scaling", "1"),
    ("net.ipv4.tcp_sack", "1"),
    ("net.ipv4.tcp_dsack", "1"),
    ("net.ipv4.tcp_recovery", "1"),
    ("net.ipv4.tcp_early_retrans", "3"),
    ("net.ipv4.tcp_reordering", "3"),
    ("net.ipv4.tcp_frto", "2"),
    ("net.ipv4.tcp_ecn", "2"),
    ("net.ipv4.tcp_ecn_fallback", "1"),
    ("net.ipv4.tcp_slow_start_after_idle", "1"),
    ("net.ipv4.tcp_no_metrics_save", "0"),
    ("net.ipv4.tcp_mtu_probing", "0"),
    ("net.ipv4.tcp_moderate_rcvbuf", "1"),
    ("net.ipv4.tcp_autocorking", "1"),
    ("net.ipv4.tcp_tso_win_divisor", "3"),
    ("net.ipv4.tcp_min_tso_segs", "2"),
    ("net.ipv4.tcp_pacing_ss_ratio", "200"),
    ("net.ipv4.tcp_pacing_ca_ratio", "120"),
    ("net.ipv4.tcp_syn_retries", "6"),
    ("net.ipv4.tcp_synack_retries", "5"),
    ("net.ipv4.tcp_syncookies", "1"),
    ("net.ipv4.tcp_fastopen", "1"),
    ("net.ipv4.tcp_fin_timeout", "60"),
    ("net.ipv4.tcp_invalid_ratelimit", "500"),
    ("net.ipv4.tcp_rmem", "4096 131072 6291456"),
    ("net.ipv4.tcp_wmem", "4096 16384 4194304"),
    ("net.ipv4.ip_local_port_range", "32768 60999"),
];

/// Path of a setting; `None` unless its name is below `net`.
fn path(name: &str) -> Option<PathBuf> {
    let words: Vec<&str> = name.split(['.', '/']).collect();
    let is_plain = |word: &&str| {
        !word.is_empty()
            && word
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
    };
    let is_ours = words.first() == Some(&"net") && words.len() > 1 && words.iter().all(is_plain);
    is_ours.then(|| {
        words
            .iter()
            .fold(PathBuf::from("/proc/sys"), |path, word| path.join(word))
    })
}

/// Error for a name that is not a network setting.
fn foreign(name: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidInput,
        format!("{name} is no setting of the network"),
    )
}

/// Reads a setting of the calling thread's namespace.
///
/// # Errors
/// If there is none with this name, or it is outside `net`.
pub fn read(name: &str) -> io::Result<String> {
    let path = path(name).ok_or_else(|| foreign(name))?;
    Ok(fs::read_to_string(path)?.trim().to_string())
}

/// Writes a setting of the calling thread's namespace.
///
/// # Errors
/// If there is none with this name, it is read-only, it is outside `net`, or the kernel rejects the
/// value.
pub fn write(name: &str, value: &str) -> io::Result<()> {
    let path = path(name).ok_or_else(|| foreign(name))?;
    // Opened without creating: a missing setting is an error, not a file.
    let mut file = fs::OpenOptions::new().write(true).open(path)?;
    io::Write::write_all(&mut file, format!("{value}\n").as_bytes())
}

/// Names of the settings in the calling thread's namespace, sorted.
pub fn names() -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![(PathBuf::from("/proc/sys/net"), "net".to_owned())];
    while let Some((folder, name)) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(word) = entry.file_name().into_string() else {
                continue;
            };
            let name = format!("{name}.{word}");
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push((entry.path(), name));
            } else {
                found.push(name);
            }
        }
    }
    found.sort();
    found
}

/// Sets the baseline. Settings that the kernel lacks are skipped: it is older or newer than the
/// list, and a missing setting cannot differ.
///
/// # Errors
/// [`SetupError`], for a setting that the kernel has and rejects.
pub fn pin_baseline() -> Result<(), SetupError> {
    for (name, value) in BASELINE {
        match write(name, value) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                let what = format!("{name} = {value}");
                return Err(SetupError::about(Step::Setting, what, error));
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_below_net_are_paths() {
        let good = path("net.ipv4.tcp_sack").unwrap();
        assert_eq!(good, PathBuf::from("/proc/sys/net/ipv4/tcp_sack"));
        assert_eq!(path("net/ipv4/tcp_sack"), Some(good));
        for bad in [
            "kernel.panic",
            "net",
            "net.",
            "net..x",
            "net/../kernel/panic",
            "/proc/sys/net/ipv4/tcp_sack",
            "",
        ] {
            assert_eq!(path(bad), None, "{bad}");
        }
    }

    #[test]
    fn names_are_those_that_can_be_read() {
        let names = names();
        assert!(names.iter().any(|name| name == "net.ipv4.tcp_sack"));
        assert!(names.is_sorted());
    }

    #[test]
    fn a_setting_that_does_not_exist_is_not_created() {
        let error = write("net.ipv4.tcp_no_such_thing", "1").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
