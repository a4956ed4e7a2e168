//! Reads everything about this host that rules of `gigatcp_meter::doctor` need.
//!
//! | file | what |
//! |---|---|
//! | `sysctl.rs` | settings below `/proc/sys`, counters below `/proc/net` |
//! | `route.rs` | the route to a destination, its metrics, the kernel's metrics of the peer |
//! | `qdisc.rs` | queueing disciplines and classes |
//! | `interface.rs` | the interface: sizes, offloads, counters |
//! | `sysfs.rs` | state of the card from `/sys`: node, steering, interrupts |
//! | `cpu.rs` | CPUs, their frequencies and nodes |
//! | `cgroup.rs` | limits of the control group |
//! | `quiet_rtt.rs` | the RTT to a host, by echo requests |
//!
//! Everything concerns the calling thread's network namespace. Nothing is changed, and only
//! `quiet_rtt` sends packets. Unreadable facts are recorded with the reason and the privilege to grant.

mod cgroup;
mod cpu;
mod interface;
mod qdisc;
mod quiet_rtt;
mod route;
mod sysctl;
mod sysfs;

pub(crate) use cgroup::memory;
pub(crate) use interface::loss_counters;
pub use quiet_rtt::quiet_rtt;
pub use route::interface_towards;

use std::fs;
use std::io;
use std::net::IpAddr;
use std::path::Path;

use crate::doctor::HostFacts;
use crate::doctor::facts::{Fact, SCHEMA, Unreadable};
use gigatcp_linux::netlink_request::{value, word};
use gigatcp_linux::process;

/// Reads the facts about this host that concern connections to `destination`.
///
/// `None`: those over the default route.
pub fn read(destination: Option<IpAddr>) -> HostFacts {
    let mut facts = HostFacts {
        schema: SCHEMA.into(),
        destination: destination.map(|address| address.to_string()),
        ..HostFacts::default()
    };
    sysctl::read(&mut facts);
    cpu::read(&mut facts);
    cgroup::read(&mut facts);
    route::read(&mut facts, destination);
    match facts.route.as_ref().map(|route| route.device.clone()) {
        Some(name) => {
            interface::read(&mut facts, &name);
            sysfs::read(&mut facts, &name);
            qdisc::read(&mut facts, &name);
        }
        None => without_interface(&mut facts),
    }
    facts
}

/// Records why all facts of an interface are unreadable.
fn without_interface(facts: &mut HostFacts) {
    for fact in Fact::OF_INTERFACE {
        let why = Unreadable {
            cause: "there is no route, so no interface".into(),
            grant: None,
        };
        facts.unreadable.insert(fact.name().into(), why);
    }
}

/// Value, or `None` after recording why it is unreadable.
fn noted<T>(facts: &mut HostFacts, fact: Fact, read: io::Result<T>) -> Option<T> {
    match read {
        Ok(value) => Some(value),
        Err(error) => {
            let why = reason(&error);
            facts.unreadable.insert(fact.name().into(), why);
            None
        }
    }
}

/// Why a fact could not be read, and the privilege to grant.
fn reason(error: &io::Error) -> Unreadable {
    let is_forbidden = error.kind() == io::ErrorKind::PermissionDenied;
    let (cause, grant) = match error.raw_os_error() {
        _ if is_forbidden && process::is_root() => (
            "no permission in this container or namespace".into(),
            Some("run it on the host itself, or give the container CAP_NET_ADMIN".into()),
        ),
        _ if is_forbidden => (
            "no permission".into(),
            Some("run it as root, or grant CAP_NET_ADMIN".into()),
        ),
        Some(EOPNOTSUPP) => ("the driver does not support it".into(), None),
        _ if error.kind() == io::ErrorKind::NotFound => ("does not exist here".into(), None),
        _ => (error.to_string(), None),
    };
    Unreadable { cause, grant }
}

/// "Operation not supported".
const EOPNOTSUPP: i32 = 95;

/// Content of a file, without the space around it. `None` if it cannot be read.
fn file(path: impl AsRef<Path>) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned())
}

/// Number of 32 bits in an attribute of this kind.
fn number(attributes: &[u8], kind: u16) -> Option<u32> {
    word(value(attributes, kind)?, 0)
}

/// Text up to the first zero byte.
fn text(octets: &[u8]) -> String {
    let name = octets.split(|octet| *octet == 0).next();
    String::from_utf8_lossy(name.unwrap_or_default()).into_owned()
}

/// Error of a missing item.
fn absent(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, what)
}
