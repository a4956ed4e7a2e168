//! Stub for systems other than Linux.

use gigatcp_doctor::{Direction, HostFacts};

use super::test::Test;
use crate::failure::Failure;

/// Refuses: facts are read on Linux only.
pub(super) fn read(_name: Option<&str>) -> Result<HostFacts, Failure> {
    Err(Failure::new("facts of a host are read on Linux only")
        .effect("nothing was examined")
        .hint("on the Linux host: `gigatcp doctor --save facts.json`; here: `--facts facts.json`"))
}

/// Refuses: the tester exists on Linux only.
pub(super) fn test(
    _name: &str,
    _port: u16,
    _seconds: u32,
    _direction: Direction,
) -> Result<Vec<Test>, Failure> {
    Err(Failure::new("the tester is there on Linux only").effect("nothing was tested"))
}
