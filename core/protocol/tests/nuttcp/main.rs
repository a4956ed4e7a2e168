//! nuttcp's protocol: recorded sessions, scripted peers, and both machines together.
//!
//! The sessions were recorded with nuttcp 6.1.2 on loopback, through a proxy that
//! logged the control connection.

mod any_bytes;
mod conversation;
mod datagrams;
mod lines;
mod parameters;
mod peers;
mod recorded;

use gigatcp_protocol::nuttcp::client::Event;
use gigatcp_protocol::nuttcp::output::Amount;
use gigatcp_protocol::nuttcp::output::brief::Brief;
use gigatcp_protocol::nuttcp::output::verbose::{Totals, Usage};
use gigatcp_protocol::nuttcp::{Client, Error, Output, Server, server};
use gigatcp_units::{Bytes, Duration};

/// All outputs of a client.
#[derive(Default, Debug)]
struct Said<E> {
    sent: String,
    events: Vec<E>,
    urgent: Vec<u8>,
    shut: bool,
    closed: bool,
}

fn gather<E>(mut poll: impl FnMut() -> Option<Output<E>>) -> Said<E> {
    let mut said = Said {
        sent: String::new(),
        events: Vec::new(),
        urgent: Vec::new(),
        shut: false,
        closed: false,
    };
    while let Some(output) = poll() {
        match output {
            Output::Send(bytes) => said.sent += &String::from_utf8(bytes).expect("text"),
            Output::SendUrgent(byte) => said.urgent.push(byte),
            Output::ShutdownWrite => said.shut = true,
            Output::Close => said.closed = true,
            Output::Event(event) => said.events.push(event),
        }
    }
    said
}

fn of_client(client: &mut Client) -> Said<Event> {
    gather(|| client.poll_output())
}

fn of_server(server: &mut Server) -> Said<server::Event> {
    gather(|| server.poll_output())
}

/// The summary with which a client's test ended.
fn brief(events: &[Event]) -> &Brief {
    match events.last() {
        Some(Event::Finished(brief, _)) => brief,
        other => panic!("the test ended with {other:?}"),
    }
}

/// The error with which a client's test ended.
fn failure(events: &[Event]) -> &Error {
    match events.last() {
        Some(Event::Failed(error)) => error,
        other => panic!("the test ended with {other:?}"),
    }
}

/// `mib` MiB at `mbps` Mbit/s.
fn amount(mib: f64, mbps: f64) -> Amount {
    let bytes = mib * 1_048_576.0;
    let duration = Duration::from_secs_f64(bytes * 8.0 / (mbps * 1e6));
    Amount::new(Bytes::new(bytes as u64), duration)
}

/// CPU time of `user` and `system` seconds in `elapsed` seconds.
fn usage(user: f64, system: f64, elapsed: f64) -> Usage {
    Usage {
        user: Duration::from_secs_f64(user),
        system: Duration::from_secs_f64(system),
        elapsed: Duration::from_secs_f64(elapsed),
    }
}

/// Measurements of a side that used `percent` of a CPU.
fn totals(amount: Amount, percent: f64) -> Totals {
    let elapsed = amount.duration.as_secs_f64();
    let centiseconds = (percent * (elapsed * 100.0).floor() / 100.0).ceil();
    Totals {
        amount,
        usage: usage(centiseconds / 100.0, 0.0, elapsed),
        calls: 1,
        ..Totals::default()
    }
}
