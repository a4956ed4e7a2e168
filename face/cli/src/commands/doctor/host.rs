//! Facts of this host.

use std::net::{IpAddr, ToSocketAddrs};

use gigatcp_doctor::HostFacts;
use gigatcp_meter::host;

use crate::failure::Failure;

/// Reads the facts that concern connections to `name`.
pub(super) fn read(name: Option<&str>) -> Result<HostFacts, Failure> {
    let address = name.map(resolve).transpose()?;
    Ok(host::read(address))
}

fn resolve(name: &str) -> Result<IpAddr, Failure> {
    let found = (name, 0).to_socket_addrs().map(|mut all| all.next());
    let cause = match found {
        Ok(Some(address)) => return Ok(address.ip()),
        Ok(None) => "it has no address".to_owned(),
        Err(error) => error.to_string(),
    };
    Err(Failure::new(format!("cannot resolve {name}: {cause}"))
        .effect("nothing was examined")
        .hint("give an address, or omit HOST to examine the default route"))
}
