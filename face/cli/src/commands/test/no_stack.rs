//! Systems without the engine's devices.

use gigatcp_meter::tester::{Request, TestError};

use super::{Arguments, StackChoice};
use crate::failure::Failure;

/// Says that there is no engine here, if it is requested.
pub(super) fn open(arguments: &Arguments, _: &mut Request) -> Result<(), Failure> {
    if arguments.stack == StackChoice::Kernel {
        return Ok(());
    }
    Err(Failure::new("--stack engine: its TUN device needs Linux")
        .effect("nothing was measured")
        .hint("leave out --stack engine, or run it on Linux"))
}

/// No error is the engine's.
pub(super) fn hints(_: &TestError) -> Option<Vec<String>> {
    None
}
