//! Stub for systems without TUN devices for the engine.

use gigatcp_meter::tester::{Request, TestError};

use super::{Arguments, StackChoice};
use crate::failure::Failure;

/// An error if the engine is requested.
pub(super) fn open(arguments: &Arguments, _: &mut Request) -> Result<(), Failure> {
    if arguments.stack == StackChoice::Kernel {
        return Ok(());
    }
    Err(
        Failure::not_measured("--stack engine: its TUN device needs Linux")
            .hint("leave out --stack engine, or run it on Linux"),
    )
}

/// `None`: no error is the engine's.
pub(super) fn hints(_: &TestError) -> Option<Vec<String>> {
    None
}
