//! Creates network namespaces: an unprivileged process starts over in a user namespace. What is
//! missing is reported together with the command that provides it.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use gigatcp_linux::{SetupError, privilege, process};
use signal_hook::consts::SIGINT;

use crate::failure::Failure;

/// Restarts an unprivileged process in a user namespace; returns the new one's exit status.
///
/// Ctrl-C is for the new process, and this one waits for it. To be called first, otherwise both
/// processes print.
pub(crate) fn restart_in_user_namespace() -> Result<Option<u8>, Failure> {
    if process::is_root() {
        return Ok(None);
    }
    let heard = signal_hook::flag::register(SIGINT, Arc::new(AtomicBool::new(false)));
    heard.map_err(|error| Failure::io("listen for Ctrl-C", &error))?;
    let status = privilege::restart_in_user_namespace().map_err(|error| setup_failure(&error))?;
    Ok(status.map(exit_status))
}

/// Error for namespaces that cannot be created.
pub(crate) fn setup_failure(error: &SetupError) -> Failure {
    let failure = Failure::not_run(error.to_string());
    match error.hint() {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// Exit status that shells give such an end.
pub(crate) fn exit_status(status: ExitStatus) -> u8 {
    let code = status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok())
        .unwrap_or(u8::MAX)
}
