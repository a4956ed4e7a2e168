//! Stub for systems without a kernel that scripts can run against.

use gigatcp_script::run::Settings;

use super::Arguments;
use super::collect::ScriptFile;
use super::view::Judged;
use crate::failure::Failure;

/// Returns the error that this system is not supported.
pub(super) fn judge(
    _: &[ScriptFile],
    _: &Arguments,
    _: &Settings,
) -> Result<Result<Vec<Judged>, u8>, Failure> {
    Err(
        Failure::new("there is no kernel behind `--stack kernel` on this system")
            .hint("run it on Linux, or use --stack engine"),
    )
}
