//! What kept a laboratory from being built: the step that failed, what the
//! kernel said, and what to type.

use std::fmt;
use std::io;

/// A step of building a laboratory, in the order they are taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// `unshare(CLONE_NEWUSER)`, when the process is not privileged itself.
    UserNamespace,
    /// `unshare(CLONE_NEWNET)`.
    NetworkNamespace,
    /// `unshare(CLONE_NEWPID)`.
    ProcessNamespace,
    /// `setns`, into a namespace that exists.
    EnterNamespace,
    /// Opening `/dev/net/tun`.
    OpenTun,
    /// Making the device.
    Device,
    /// Telling the device which segmentation and checksums it may leave to us.
    Offloads,
    /// Making a pair of Ethernet devices that are each other's wire.
    Pair,
    /// Addresses and routes.
    Addresses,
    /// The packet socket that sees what the kernel sends, and when.
    PacketSocket,
    /// A setting under `/proc/sys/net`.
    Setting,
    /// A thread of its own.
    Thread,
}

impl Step {
    /// What was being done, to follow "cannot".
    const fn action(self) -> &'static str {
        match self {
            Self::UserNamespace => "make a user namespace",
            Self::NetworkNamespace => "make a network namespace",
            Self::ProcessNamespace => "make a process namespace",
            Self::EnterNamespace => "enter a network namespace",
            Self::OpenTun => "open /dev/net/tun",
            Self::Device => "make a TUN device",
            Self::Offloads => "set the offloads of a TUN device",
            Self::Pair => "make a pair of Ethernet devices",
            Self::Addresses => "set addresses and routes",
            Self::PacketSocket => "open a packet socket",
            Self::Setting => "write a setting of the namespace",
            Self::Thread => "start a thread",
        }
    }
}

/// A laboratory could not be built.
#[derive(Debug)]
pub struct LabError {
    /// The step that failed.
    pub step: Step,
    /// What exactly, where the step alone does not say it; may be empty.
    pub what: String,
    /// What the kernel said.
    pub cause: io::Error,
}

impl LabError {
    /// `step` failed with `cause`.
    #[must_use]
    pub fn new(step: Step, cause: io::Error) -> Self {
        Self {
            step,
            what: String::new(),
            cause,
        }
    }

    /// The same, where the step alone does not say at what.
    #[must_use]
    pub fn about(step: Step, what: impl Into<String>, cause: io::Error) -> Self {
        Self {
            what: what.into(),
            ..Self::new(step, cause)
        }
    }

    /// What is missing and what to type, where that is known.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
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
            (Step::UserNamespace, libc::EPERM | libc::EACCES) => Some(
                "user namespaces are forbidden here: run it as root, or allow them with \
                 `sysctl -w kernel.unprivileged_userns_clone=1` (Debian) or \
                 `sysctl -w kernel.apparmor_restrict_unprivileged_userns=0` (Ubuntu)",
            ),
            (Step::UserNamespace, libc::ENOSPC) => {
                Some("no more user namespaces: raise `sysctl user.max_user_namespaces`")
            }
            (Step::NetworkNamespace, libc::ENOSPC) => {
                Some("no more network namespaces: raise `sysctl user.max_net_namespaces`")
            }
            (Step::ProcessNamespace, libc::ENOSPC) => {
                Some("no more process namespaces: raise `sysctl user.max_pid_namespaces`")
            }
            (Step::OpenTun, libc::ENOENT | libc::ENODEV | libc::ENXIO) => Some(
                "the tun driver is missing: `modprobe tun`; in a container add \
                 `--device /dev/net/tun`",
            ),
            (Step::OpenTun, libc::EPERM | libc::EACCES) => {
                Some("/dev/net/tun may not be opened: `chmod 666 /dev/net/tun` as root")
            }
            _ => None,
        }
    }

    /// Whether it is a privilege or a driver that is missing, rather than a
    /// fault: a test may then be skipped, loudly.
    #[must_use]
    pub fn is_missing_privilege(&self) -> bool {
        self.hint().is_some()
    }
}

impl fmt::Display for LabError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {}", self.step.action())?;
        if !self.what.is_empty() {
            write!(f, " ({})", self.what)?;
        }
        write!(f, ": {}", self.cause)
    }
}

impl std::error::Error for LabError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.cause)
    }
}
