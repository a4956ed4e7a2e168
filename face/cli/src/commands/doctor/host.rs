//! Facts of this host, and tests from it.

use std::net::{IpAddr, ToSocketAddrs};

use gigatcp_doctor::{Direction, HostFacts};
use gigatcp_meter::host;
use gigatcp_meter::tester::{self, Outcome, Role};
use gigatcp_protocol::iperf3;

use super::test::{Test, TestAnswer};
use crate::commands::test::request;
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

/// Runs a test with the server at `name` in each requested direction.
pub(super) fn test(
    name: &str,
    port: u16,
    seconds: u32,
    direction: Direction,
) -> Result<Vec<Test>, Failure> {
    let roles = [
        (Role::Sender, Direction::Send),
        (Role::Receiver, Direction::Receive),
    ];
    let roles = roles
        .into_iter()
        .filter(|(_, of_role)| direction.overlaps(*of_role));
    roles
        .map(|(role, _)| test_as(name, port, seconds, role))
        .collect()
}

fn test_as(name: &str, port: u16, seconds: u32, role: Role) -> Result<Test, Failure> {
    let mut wanted = tester::Request::new(name);
    wanted.port = port;
    wanted.interval = None;
    wanted.parameters.time = seconds;
    if role == Role::Receiver {
        wanted.parameters.direction = iperf3::Direction::Reverse;
    }
    let measured = tester::run(&wanted, &|| false, &mut |_| {});
    let measured = measured.map_err(|error| request::failure(&wanted, &error))?;
    if let Some(reason) = &measured.cut_short {
        let failure = Failure::new(format!("the test ended early: {reason}"));
        return Err(failure.effect("nothing was compared"));
    }
    Ok(summary(&measured, role))
}

fn summary(measured: &Outcome, role: Role) -> Test {
    let bytes = measured.received(role).or_else(|| measured.sent(role));
    let mean = bytes.unwrap_or(0) as f64 * 8.0 / measured.measured.as_secs_f64().max(1e-9);
    let rate = tester::steady(measured, role).map_or(mean, |steady| steady.rate);
    let explained = tester::explain(measured);
    let diagnosis = explained.first().map(|one| &one.diagnosis);
    let min_rtt = diagnosis
        .map(|one| one.min_rtt)
        .filter(|rtt| !rtt.is_zero());
    let answer = diagnosis.map(|one| one.answer());
    Test {
        is_sending: role == Role::Sender,
        rate_bps: rate as u64,
        duration_ns: u64::try_from(measured.measured.as_nanos()).unwrap_or(u64::MAX),
        min_rtt_ns: min_rtt.map(|rtt| rtt.as_nanos()),
        answer: answer.map(|answer| TestAnswer {
            cause: answer.cause.map(|cause| cause.id.into()),
            sentence: answer.sentence,
        }),
    }
}
