//! Stub for systems other than Linux.

use std::fs::File;
use std::io;
use std::path::Path;

use gigatcp_meter::doctor::{Direction, HostFacts};

use super::Arguments;
use super::observed::Observed;
use crate::failure::Failure;
use crate::interrupt::Interrupt;

/// Refuses: facts are read on Linux only.
pub(super) fn read(_name: Option<&str>) -> Result<HostFacts, Failure> {
    Err(Failure::new("facts of a host are read on Linux only")
        .effect("nothing was examined")
        .hint("on the Linux host: `gigatcp doctor --save facts.json`; here: `--facts facts.json`"))
}

/// RTT of a path: it is not measured.
pub(super) fn quiet_rtt(_name: &str) -> Option<gigatcp_units::Duration> {
    None
}

/// Identity of the network namespace: there is one.
pub(super) fn namespace() -> String {
    String::new()
}

/// Identity of this boot: unknown.
pub(super) fn boot() -> String {
    String::new()
}

/// Claims nothing: no setting is changed.
pub(super) fn claim_changes() -> Result<(), Failure> {
    Ok(())
}

/// Claims nothing: no setting is changed.
pub(super) fn claim_machine() -> Result<File, Failure> {
    Err(Failure::new("settings are changed on Linux only"))
}

pub(super) fn open(place: &Path) -> io::Result<File> {
    File::open(place)
}

/// Forgets nothing: there is no question.
pub(super) fn discard_input() {}

/// Number of the user: unknown.
pub(super) fn user() -> Option<u32> {
    None
}

/// The program that has a connection open: unknown.
pub(super) fn program(_: std::net::SocketAddr) -> Option<String> {
    None
}

/// Whether this process may change the host: it does not.
pub(super) fn may_change() -> bool {
    false
}

/// Whether settings cannot be written: none is.
pub(super) fn are_settings_read_only() -> bool {
    false
}

/// Refuses: the tester exists on Linux only.
pub(super) fn test(
    _arguments: &Arguments,
    _direction: Direction,
    _interrupt: &Interrupt,
) -> Result<Observed, Failure> {
    Err(Failure::new("the tester is there on Linux only").effect("nothing was tested"))
}
