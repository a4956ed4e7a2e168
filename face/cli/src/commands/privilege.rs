//! Creates network namespaces: an unprivileged process starts over in a user namespace. What is
//! missing is reported together with the command that provides it.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use gigatcp_linux::{SetupError, privilege, process};
use signal_hook::consts::SIGINT;

use crate::failure::Failure;

/// Runs this command again in a user namespace if the user is not root. Returns the exit status of
/// the second process. Ctrl-C is for that process, and this one waits for it. Must be called before
/// any output, which would otherwise be printed twice.
pub(crate) fn begin_again() -> Result<Option<u8>, Failure> {
    if process::is_root() {
        return Ok(None);
    }
    let heard = signal_hook::flag::register(SIGINT, Arc::new(AtomicBool::new(false)));
    heard.map_err(|error| Failure::io("listen for Ctrl-C", &error))?;
    let status = privilege::begin_again().map_err(|error| setup_failure(&error))?;
    Ok(status.map(exit_status))
}

/// Returns the error for namespaces that cannot be created.
pub(crate) fn setup_failure(error: &SetupError) -> Failure {
    let failure = Failure::new(error.to_string()).effect("nothing was run");
    match error.hint() {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// Returns the exit status that shells give such an end.
pub(crate) fn exit_status(status: ExitStatus) -> u8 {
    let code = status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok())
        .unwrap_or(u8::MAX)
}
