//! Finds out why a user namespace is refused, and what enables it.
//!
//! Half a dozen causes share the kernel's error number. The cause shows in the settings of the
//! kernel, of Debian's and of Ubuntu's, and in the state of this process. These are read only after
//! a user namespace was refused, since a setting that forbids one need not be the cause.

use std::fs;
use std::io;

/// Settings that may forbid user namespaces; `None`: this kernel lacks the setting.
#[derive(Clone, Copy, Default, Debug)]
struct UsernsLimits {
    /// `user.max_user_namespaces` (`namespaces(7)`).
    most: Option<u64>,
    /// `kernel.unprivileged_userns_clone`, of Debian's kernels.
    clone: Option<u64>,
    /// `kernel.apparmor_restrict_unprivileged_userns`, of Ubuntu's.
    apparmor: Option<u64>,
    /// Whether system calls of this process are filtered (`seccomp(2)`).
    is_filtered: bool,
}

/// Explains why an unprivileged process got no user namespace, and what to type. `cause` is the
/// kernel's error.
pub(crate) fn why(cause: &io::Error) -> String {
    told(&UsernsLimits::look(), cause.raw_os_error())
}

fn told(found: &UsernsLimits, errno: Option<i32>) -> String {
    let mut reasons = Vec::new();
    if found.most == Some(0) {
        reasons.push(
            "`user.max_user_namespaces` is 0: as root type `sysctl -w \
             user.max_user_namespaces=15000`"
                .to_owned(),
        );
    } else if errno == Some(libc::ENOSPC) {
        let here = found
            .most
            .map_or_else(String::new, |n| format!(" ({n} here)"));
        reasons.push(format!(
            "as many as may be there are, here or in what this system runs in: as root raise `sysctl \
             user.max_user_namespaces`{here}"
        ));
    }
    if found.clone == Some(0) {
        reasons.push(
            "`kernel.unprivileged_userns_clone` is 0 (Debian): as root type `sysctl -w \
             kernel.unprivileged_userns_clone=1`"
                .to_owned(),
        );
    }
    if found.apparmor.is_some_and(|value| value > 0) {
        reasons.push(
            "`kernel.apparmor_restrict_unprivileged_userns` is 1 (Ubuntu): as root type `sysctl -w \
             kernel.apparmor_restrict_unprivileged_userns=0`"
                .to_owned(),
        );
    }
    if matches!(errno, Some(libc::EINVAL | libc::ENOSYS)) {
        reasons.push("this kernel was built without them (CONFIG_USER_NS)".to_owned());
    }
    if found.is_filtered && errno == Some(libc::EPERM) {
        reasons.push(
            "system calls are filtered here, as in containers: start that with `--security-opt \
             seccomp=unconfined --device /dev/net/tun` (Docker, Podman)"
                .to_owned(),
        );
    }
    if reasons.is_empty() {
        reasons.push(
            "neither `user.max_user_namespaces` nor a setting of Debian's or Ubuntu's forbids them here; \
             SELinux, a chroot or the container around may"
                .to_owned(),
        );
    }
    reasons.push("root needs none: `sudo` before the command".to_owned());
    reasons.join("; ")
}

impl UsernsLimits {
    fn look() -> Self {
        Self {
            most: number("/proc/sys/user/max_user_namespaces"),
            clone: number("/proc/sys/kernel/unprivileged_userns_clone"),
            apparmor: number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"),
            is_filtered: is_filtered(&fs::read_to_string("/proc/self/status").unwrap_or_default()),
        }
    }
}

fn number(path: &str) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// Whether system calls are filtered: mode 2 in `proc_pid_status(5)`.
fn is_filtered(status: &str) -> bool {
    let mut lines = status.lines();
    let mode = lines.find_map(|line| line.strip_prefix("Seccomp:"));
    mode.is_some_and(|mode| mode.trim() == "2")
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPEN: UsernsLimits = UsernsLimits {
        most: Some(90_000),
        clone: Some(1),
        apparmor: Some(0),
        is_filtered: false,
    };

    #[test]
    fn each_usual_cause_is_named_with_what_to_type() {
        let none = UsernsLimits {
            most: Some(0),
            ..OPEN
        };
        let debian = UsernsLimits {
            clone: Some(0),
            ..OPEN
        };
        let ubuntu = UsernsLimits {
            apparmor: Some(1),
            ..OPEN
        };
        let container = UsernsLimits {
            is_filtered: true,
            ..OPEN
        };
        for (found, errno, typed) in [
            (
                none,
                libc::ENOSPC,
                "sysctl -w user.max_user_namespaces=15000",
            ),
            (OPEN, libc::ENOSPC, "user.max_user_namespaces` (90000 here)"),
            (
                debian,
                libc::EPERM,
                "sysctl -w kernel.unprivileged_userns_clone=1",
            ),
            (
                ubuntu,
                libc::EACCES,
                "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
            ),
            (container, libc::EPERM, "seccomp=unconfined"),
            (OPEN, libc::EINVAL, "CONFIG_USER_NS"),
            (OPEN, libc::EPERM, "chroot"),
        ] {
            let said = told(&found, Some(errno));
            assert!(said.contains(typed), "{said}");
            assert!(said.contains("`sudo`"), "{said}");
        }
    }

    #[test]
    fn what_forbids_nothing_is_not_named() {
        let said = told(&OPEN, Some(libc::EPERM));
        assert!(
            !said.contains("unprivileged_userns") && !said.contains("seccomp"),
            "{said}"
        );
        let filtered = UsernsLimits {
            is_filtered: true,
            ..OPEN
        };
        assert!(!told(&filtered, Some(libc::ENOSPC)).contains("seccomp"));
    }

    #[test]
    fn a_filter_of_system_calls_is_known_by_its_mode() {
        assert!(is_filtered("Name:\tx\nSeccomp:\t2\nSeccomp_filters:\t1\n"));
        assert!(!is_filtered("Name:\tx\nSeccomp:\t0\n"));
        assert!(!is_filtered(""));
    }
}
