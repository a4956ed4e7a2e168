//! Requests without data between client and server: a route, a test with a third party.

use std::fmt::Write;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use gigatcp_protocol::nuttcp::parameters::Format;

use super::super::counters::Role;
use super::super::outcome::Outcome;
use super::super::request::{Protocol, Request};
use super::super::session::Ended;
use super::super::traffic::Progress;
use super::served::Served;
use crate::trace::{self, Trace};

/// Answers with lines of text.
pub(super) fn serve(served: &mut Served, stops: &dyn Fn() -> bool) -> Ended {
    served.flush();
    let end = match served.wanted.delegated() {
        Some(_) => third_party(served, stops),
        None => route(served, stops),
    };
    served.server.text_ended();
    served.flush();
    Ended::without_data(end)
}

/// Sends the route to the client in traceroute's format.
fn route(served: &mut Served, stops: &dyn Fn() -> bool) -> String {
    let to = served.peer.ip().to_canonical();
    match trace::trace(to, stops) {
        Ok(trace) => {
            for line in route_lines(to, &trace) {
                served.server.text(&line);
            }
            "traced the route to the client".into()
        }
        Err(error) => {
            served.server.text(&format!("cannot trace {to}: {error}"));
            error.to_string()
        }
    }
}

fn route_lines(to: IpAddr, trace: &Trace) -> Vec<String> {
    let hops = trace::MAX_HOPS;
    let mut lines = vec![format!("traceroute to {to} ({to}), {hops} hops max")];
    for (index, hop) in trace.hops.iter().enumerate() {
        let mut line = format!("{:2} ", index + 1);
        let mut last = None;
        for (from, after) in &hop.answers {
            if last != Some(from) {
                let _ = write!(line, " {from}");
            }
            last = Some(from);
            let _ = write!(line, "  {:.3} ms", after.as_secs_f64() * 1e3);
        }
        for _ in hop.answers.len()..usize::from(trace::PROBES) {
            line.push_str(" *");
        }
        lines.push(line);
    }
    if let Some(mtu) = trace.mtu {
        let most = if trace.is_mtu_confirmed {
            ""
        } else {
            "at most "
        };
        lines.push(format!("path MTU {most}{mtu}"));
    }
    lines
}

/// Runs a test from here to another host, for the client.
fn third_party(served: &mut Served, stops: &dyn Fn() -> bool) -> String {
    let (Some(wanted), Some(third)) = (served.wanted.delegated(), &served.wanted.third_party)
    else {
        return "no third party".into();
    };
    // `name=address` gives an address; a stride has no effect on one connection.
    let host = third
        .host
        .split('=')
        .next_back()
        .unwrap_or_default()
        .split('+')
        .next()
        .unwrap_or_default()
        .to_owned();
    let mut request = Request::new(host.clone());
    request.protocol = Protocol::Nuttcp;
    request.port = match third.control_port {
        0 => gigatcp_protocol::nuttcp::CONTROL_PORT,
        port => port,
    };
    request.only_v4 = match third.address_family {
        4 => Some(true),
        6 => Some(false),
        _ => None,
    };
    request.data_port = wanted.port;
    request.instantaneous = wanted.instantaneous;
    request.parameters = super::common(&wanted);
    let interval = Duration::from(wanted.interval);
    request.interval = (!interval.is_zero()).then_some(interval);
    let format = wanted.format;
    let is_sender = request.parameters.direction.has_forward();
    let over_at = served
        .allowance
        .longest
        .map(|longest| Instant::now() + longest);
    let is_over = || stops() || over_at.is_some_and(|at| Instant::now() > at);
    let mut line = |text: &str| {
        served.server.text(text);
        served.flush();
    };
    let mut begun = None;
    let result = super::client::run(&request, &is_over, &mut |progress| match progress {
        Progress::PeerInterval(interval) => line(&interval.line(format)),
        Progress::Started(outcome) => begun = Some(outcome.clone()),
        Progress::Interval(interval) if !is_sender && request.interval.is_some() => {
            if let Some(begun) = &begun {
                let streams: &Outcome = begun;
                let own = super::interval(&streams.streams, interval, Role::Receiver);
                line(&own.line(format));
            }
        }
        _ => {}
    });
    match result {
        Ok(outcome) => {
            let role = if is_sender {
                Role::Sender
            } else {
                Role::Receiver
            };
            line(&super::brief(&outcome, role).line(format.with(Format::RTT)));
            format!("tested {host} for the client")
        }
        Err(error) => {
            line(&format!("nuttcp: {host}: {error}"));
            error.to_string()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_has_traceroutes_lines() {
        let (router, host) = ("192.0.2.1".parse().unwrap(), "192.0.2.9".parse().unwrap());
        let after = Duration::from_micros(1250);
        let answers = |from: IpAddr, count: usize| trace::Hop {
            answers: vec![(from, after); count],
        };
        let trace = Trace {
            hops: vec![answers(router, 3), trace::Hop::default(), answers(host, 2)],
            is_complete: true,
            mtu: Some(1500),
            is_mtu_confirmed: true,
            vanishes: None,
            mtu_from: None,
        };
        assert_eq!(
            route_lines(host, &trace),
            [
                "traceroute to 192.0.2.9 (192.0.2.9), 30 hops max",
                " 1  192.0.2.1  1.250 ms  1.250 ms  1.250 ms",
                " 2  * * *",
                " 3  192.0.2.9  1.250 ms  1.250 ms *",
                "path MTU 1500",
            ]
        );
    }
}
