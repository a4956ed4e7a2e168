//! `--stack engine`: creates its device, and gives hints if the device or a route is missing.

use std::sync::Arc;

use gigatcp_linux::{SetupError, Step};
use gigatcp_meter::tester::{Engine, Request, Stack, TestError};

use super::{Arguments, StackChoice};
use crate::failure::Failure;
use crate::output;

/// Creates the device of the engine, if requested, and reports it.
pub(super) fn open(arguments: &Arguments, request: &mut Request) -> Result<(), Failure> {
    if arguments.stack == StackChoice::Kernel {
        return Ok(());
    }
    if let Some((option, reason)) = Engine::lacks(request) {
        return Err(super::request::failure(
            request,
            &TestError::Lacks { option, reason },
        ));
    }
    let engine = Engine::open(std::process::id()).map_err(|error| failure(&error))?;
    let words = |addresses: Vec<std::net::IpAddr>| {
        let words: Vec<String> = addresses.iter().map(ToString::to_string).collect();
        words.join(" and ")
    };
    let (own, kernel) = engine.addresses();
    output::say(&format!(
        "engine: {} on {}, this host's end {}; removed at the end",
        words(own),
        engine.device(),
        words(kernel)
    ));
    request.stack = Stack::Engine(Arc::new(engine));
    Ok(())
}

/// Error for a device that cannot be created.
fn failure(error: &SetupError) -> Failure {
    let failure = Failure::not_measured(error.to_string());
    let is_denied = error.cause.kind() == std::io::ErrorKind::PermissionDenied;
    match (error.step, error.hint()) {
        (Step::Device | Step::OpenTun | Step::Offloads | Step::Addresses, _) if is_denied => failure
            .hint(
                "a TUN device needs CAP_NET_ADMIN: begin the command with `sudo`, or grant it once: \
                 `sudo setcap cap_net_admin+ep $(command -v gigatcp)`",
            )
            .hint("or leave out --stack engine: the kernel's TCP needs no privilege"),
        (_, Some(hint)) => failure.hint(hint),
        (_, None) => failure,
    }
}

/// Hints for errors of the engine's streams; `None` for other errors.
pub(super) fn hints(error: &TestError) -> Option<Vec<String>> {
    if let TestError::Lacks { option, .. } = error {
        let text =
            format!("leave out {option}; or leave out --stack engine: the kernel may have it");
        return Some(vec![text]);
    }
    let TestError::EngineConnect { to, cause } = error else {
        return None;
    };
    if cause.kind() == std::io::ErrorKind::ConnectionRefused {
        let text = "does the server listen at all addresses of its host, not only at 127.0.0.1?";
        return Some(vec![text.to_owned()]);
    }
    let (family, tables, network) = match to.ip().to_canonical().is_ipv4() {
        true => ("ipv4.ip_forward", "iptables", Engine::NETWORK),
        false => ("ipv6.conf.all.forwarding", "ip6tables", Engine::NETWORK_V6),
    };
    Some(vec![
        format!(
            "packets of the engine leave this host if it forwards: `sudo sysctl -w \
             net.{family}=1`"
        ),
        format!(
            "and come back if the server has a route to {network}, or this host puts its own \
             address in: `sudo {tables} -t nat -A POSTROUTING -s {network} -j MASQUERADE`"
        ),
    ])
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn who_may_not_make_a_device_is_told_what_to_grant() {
        let denied = SetupError::new(Step::Device, io::Error::from_raw_os_error(1));
        let said = format!("{:?}", failure(&denied));
        assert!(said.contains("sudo setcap cap_net_admin+ep"), "{said}");
    }
}
