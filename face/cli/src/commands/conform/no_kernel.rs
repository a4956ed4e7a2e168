//! Systems without a kernel that could be asked.

use gigatcp_script::run::Settings;

use super::Arguments;
use super::collect::ScriptFile;
use super::view::Judged;
use crate::failure::Failure;

/// Says that it cannot be done.
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
