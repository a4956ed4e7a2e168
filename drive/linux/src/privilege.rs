//! Checks who may create namespaces, and restarts the process in a user namespace.
//!
//! Root may. An unprivileged user may inside a user namespace of their own, where they are root
//! over what they create there; but a process that has threads cannot
//! enter one, so it begins again. Where user namespaces are forbidden nothing
//! helps but root, and the error says so.

use std::env;
use std::io;
use std::process::{Command, ExitStatus};

use crate::process;
use crate::{SetupError, Step};

/// Starts this program again, with the same arguments, as root of a user
/// namespace of its own, and waits for it. Does nothing for root, of the
/// machine or of a namespace: hence the second process does not start a third.
/// The second process is killed when the first is.
///
/// # Errors
/// [`SetupError`], when user namespaces are forbidden or the program cannot be
/// started.
pub fn begin_again() -> Result<Option<ExitStatus>, SetupError> {
    if process::is_root() {
        return Ok(None);
    }
    let program = env::current_exe().map_err(|cause| SetupError::new(Step::Again, cause))?;
    let mut command = Command::new(&program);
    command.args(env::args_os().skip(1));
    process::begin_in_user_namespace(&mut command);
    process::end_with_us(&mut command);
    command.status().map(Some).map_err(|cause| {
        // Its file has been removed or replaced.
        if cause.kind() == io::ErrorKind::NotFound {
            return SetupError::about(Step::Again, program.to_string_lossy(), cause);
        }
        SetupError::about(
            Step::UserNamespace,
            format!("tried as user {}", process::user()),
            cause,
        )
    })
}
