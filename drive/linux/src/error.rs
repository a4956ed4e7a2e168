//! Why a test network namespace could not be set up: the step that failed, the kernel's error, and
//! a hint.

use std::fmt;
use std::io;

use crate::userns_check;

/// A step of setting up namespaces, in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// `unshare(CLONE_NEWUSER)`, if the process is unprivileged.
    UserNamespace,
    /// `unshare(CLONE_NEWNET)`.
    NetworkNamespace,
    /// `unshare(CLONE_NEWPID)`.
    ProcessNamespace,
    /// `setns`, into an existing namespace.
    EnterNamespace,
    /// Opening `/dev/net/tun`.
    OpenTun,
    /// Creating the device.
    Device,
    /// Setting the segmentation and checksum offloads of the device.
    Offloads,
    /// Creating a pair of connected Ethernet devices.
    Pair,
    /// Addresses and routes.
    Addresses,
    /// Setting the congestion control of the route between both ends.
    Control,
    /// The packet socket that captures what the kernel sends.
    PacketSocket,
    /// A setting under `/proc/sys/net`.
    Setting,
    /// Starting a thread.
    Thread,
    /// Restarting this program in a user namespace.
    Restart,
}

impl Step {
    /// Action, to follow "cannot".
    const fn action(self) -> &'static str {
        match self {
            Self::UserNamespace => {
                "make a user namespace, in which an unprivileged user may make networks"
            }
            Self::NetworkNamespace => "make a network namespace",
            Self::ProcessNamespace => "make a process namespace",
            Self::EnterNamespace => "enter a network namespace",
            Self::OpenTun => "open /dev/net/tun",
            Self::Device => "make a TUN device",
            Self::Offloads => "set the offloads of a TUN device",
            Self::Pair => "make a pair of Ethernet devices",
            Self::Addresses => "set addresses and routes",
            Self::Control => "set the congestion control of the route",
            Self::PacketSocket => "open a packet socket",
            Self::Setting => "write a setting of the namespace",
            Self::Thread => "start a thread",
            Self::Restart => "start this program again in a user namespace",
        }
    }
}

/// Failure to set up namespaces, devices or settings.
#[derive(Debug)]
pub struct SetupError {
    /// The step that failed.
    pub step: Step,
    /// Object of the step, if the step alone is ambiguous; may be empty.
    pub what: String,
    /// Error of the kernel.
    pub cause: io::Error,
}

impl SetupError {
    /// Error that `step` failed with `cause`.
    pub fn new(step: Step, cause: io::Error) -> Self {
        Self {
            step,
            what: String::new(),
            cause,
        }
    }

    /// Error with the object at which `step` failed.
    pub fn about(step: Step, what: impl Into<String>, cause: io::Error) -> Self {
        Self {
            what: what.into(),
            ..Self::new(step, cause)
        }
    }

    /// What is missing and the command that fixes it, if known.
    pub fn hint(&self) -> Option<String> {
        match self.step {
            Step::UserNamespace => Some(userns_check::why(&self.cause)),
            _ => self.known_hint().map(str::to_owned),
        }
    }

    fn known_hint(&self) -> Option<&'static str> {
        match (self.step, self.cause.raw_os_error()?) {
            (
                Step::NetworkNamespace
                | Step::ProcessNamespace
                | Step::EnterNamespace
                | Step::Device
                | Step::Pair
                | Step::PacketSocket,
                libc::EPERM | libc::EACCES,
            ) => Some(
                "CAP_SYS_ADMIN and CAP_NET_ADMIN are missing: run it as root, or in a user \
                 namespace of your own with `unshare --user --map-root-user` before the command",
            ),
            (Step::NetworkNamespace, libc::ENOSPC) => {
                Some("as root raise `sysctl user.max_net_namespaces`")
            }
            (Step::ProcessNamespace, libc::ENOSPC) => {
                Some("as root raise `sysctl user.max_pid_namespaces`")
            }
            (Step::OpenTun, libc::ENOENT | libc::ENODEV | libc::ENXIO) => Some(
                "the tun driver is missing: as root type `modprobe tun`; in a container add \
                 `--device /dev/net/tun`",
            ),
            (Step::OpenTun, libc::EPERM | libc::EACCES) => Some(
                "who is not root needs leave to open it: as root type `chmod 666 /dev/net/tun`; in a \
                 container add `--device /dev/net/tun`",
            ),
            _ => None,
        }
    }

    /// Whether a privilege or a driver is missing, rather than a fault. A test may then be skipped
    /// with a message.
    pub fn is_missing_privilege(&self) -> bool {
        self.hint().is_some()
    }
}

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {}", self.step.action())?;
        if !self.what.is_empty() {
            write!(f, " ({})", self.what)?;
        }
        let is_namespace = matches!(
            self.step,
            Step::UserNamespace | Step::NetworkNamespace | Step::ProcessNamespace
        );
        if is_namespace && self.cause.raw_os_error() == Some(libc::ENOSPC) {
            // The kernel's text is about disks.
            return f.write_str(": there may be no more of them (ENOSPC)");
        }
        write!(f, ": {}", self.cause)
    }
}

impl std::error::Error for SetupError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.cause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_of_namespaces_is_not_told_as_a_full_disk() {
        let error = SetupError::new(
            Step::UserNamespace,
            io::Error::from_raw_os_error(libc::ENOSPC),
        );
        let said = error.to_string();
        assert!(
            said.contains("no more of them") && !said.contains("device"),
            "{said}"
        );
        assert!(error.is_missing_privilege());
    }
}
