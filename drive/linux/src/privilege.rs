//! Checks for the privilege to create namespaces, and restarts the process in a user namespace.
//!
//! Root may create them. An unprivileged user may inside a user namespace, as root of what they
//! create there. A process with threads cannot enter one, so the program is restarted. If user
//! namespaces are forbidden, root is required, and the error says so.

use std::env;
use std::fs;
use std::io;
use std::process::{Command, ExitStatus};

use crate::process;
use crate::{SetupError, Step};

/// Number of CAP_NET_ADMIN (`linux/capability.h`).
const NET_ADMIN: u32 = 12;

/// Whether the calling thread may change the network's settings: it has CAP_NET_ADMIN.
pub fn has_net_admin() -> bool {
    let status = fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok())
        .is_some_and(|bits| bits >> NET_ADMIN & 1 == 1)
}

/// Restarts this program as root of a new user namespace, and waits for it. It has the same
/// arguments. Does nothing for root, of the machine or of a namespace, so the second process does
/// not start a third. The second process is killed with the first.
///
/// # Errors
/// [`SetupError`], if user namespaces are forbidden or the program cannot be started.
pub fn restart_in_user_namespace() -> Result<Option<ExitStatus>, SetupError> {
    if process::is_root() {
        return Ok(None);
    }
    let program = env::current_exe().map_err(|cause| SetupError::new(Step::Restart, cause))?;
    let mut command = Command::new(&program);
    command.args(env::args_os().skip(1));
    process::begin_in_user_namespace(&mut command);
    process::end_with_us(&mut command);
    command.status().map(Some).map_err(|cause| {
        // The file has been removed or replaced.
        if cause.kind() == io::ErrorKind::NotFound {
            return SetupError::about(Step::Restart, program.to_string_lossy(), cause);
        }
        SetupError::about(
            Step::UserNamespace,
            format!("tried as user {}", process::user()),
            cause,
        )
    })
}
