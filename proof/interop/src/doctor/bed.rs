//! Two hosts with a path between them: a sender, a receiver with a server, commands for both.

use std::net::IpAddr;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

use gigatcp_emulate::{Addresses, Emulator, EmulatorConfig, NAME, Side};
use gigatcp_meter::doctor::{Direction, Path, Report, examine, law};
use gigatcp_meter::host;
use gigatcp_meter::tester::{self, Outcome, Request, Server, ServerConfig};
use gigatcp_path::{HopConfig, LossModel};
use gigatcp_units::{Bytes, Duration, Instant, Probability, Rate};
use gigatcp_why::counters::Reading;

/// Bytes that a link adds to each packet, as Ethernet does.
const FRAMING: Bytes = Bytes::new(38);
/// Payload of a segment with timestamps on Ethernet.
pub(super) const MSS: Bytes = Bytes::new(1448);
/// Part of a transfer excluded from its rate: slow start and autotuning.
const WARM_UP: Duration = Duration::from_millis(2_000);
/// Congestion control of a case that sets none.
const CONTROL: &str = "cubic";
/// Duration of a transfer in seconds.
const SECONDS: u32 = 4;

/// Path between two hosts: a bottleneck with a queue of one BDP.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// Rate of the bottleneck, frame headers included.
    pub rate: Rate,
    /// RTT of the empty path.
    pub rtt: Duration,
    /// Probability of random loss from client to server.
    pub loss: Option<Probability>,
}

impl Link {
    /// Path parameters that a user would give to `doctor`. `direction` is the host's role.
    pub fn described(&self, direction: Direction) -> Path {
        Path {
            rtt: self.rtt,
            rate: self.payload(),
            loss: self.loss,
            direction,
            mss: MSS,
        }
    }

    /// Payload rate of the bottleneck.
    pub fn payload(&self) -> Rate {
        law::payload_rate(self.rate, MSS)
    }

    fn hop(&self, name: &str) -> HopConfig {
        let bytes = self.rate.as_bps() as f64 / 8.0 * self.rtt.as_secs_f64();
        HopConfig {
            name: name.into(),
            rate: Some(self.rate),
            link_overhead: FRAMING,
            one_way_delay: self.rtt / 2,
            limit_packets: Some(((bytes / 1500.0) as u64).max(100)),
            ..HopConfig::default()
        }
    }
}

/// Two hosts; the client's sends to the server's.
pub struct Bed {
    /// Path between the hosts.
    pub link: Link,
    emulator: Emulator,
}

/// Result of a transfer.
#[derive(Clone, Copy, Debug)]
pub struct Transfer {
    /// Payload rate in Mbit/s, without the first two seconds.
    pub mbps: f64,
    /// Delay in seconds behind a transfer that has this rate from its start.
    pub late: f64,
    /// Primary limit, with its share of the time.
    pub cause: Option<(&'static str, f64)>,
}

impl Bed {
    /// Starts two hosts with the kernel's default settings, and CUBIC: the machine's default may
    /// differ.
    ///
    /// # Errors
    /// The failure, and the missing prerequisite.
    pub fn new(link: Link) -> Result<Self, String> {
        let mut forward = link.hop("forward");
        forward.loss = link.loss.map(LossModel::Bernoulli).into_iter().collect();
        let config = EmulatorConfig {
            forward: vec![forward],
            reverse: vec![link.hop("reverse")],
            control: Some(CONTROL.into()),
            ..EmulatorConfig::default()
        };
        let emulator = Emulator::start(&config, None).map_err(|error| error.to_string())?;
        Ok(Self { link, emulator })
    }

    /// Runs a command line on a host. `ROUTE` stands for the command that replaces the route to
    /// the peer, and keeps the congestion control if the line sets none; `CARD` for the interface.
    ///
    /// # Errors
    /// Error output of the command.
    pub fn shell(&self, side: Side, line: &str) -> Result<(), String> {
        let mut route = self.route(side);
        if !line.contains("congctl") {
            route = format!("{route} congctl {CONTROL}");
        }
        let command = line.replace("ROUTE", &route).replace("CARD", NAME);
        let run = || Command::new("sh").args(["-c", &command]).output();
        let done = self
            .emulator
            .namespace(side)
            .run(run)
            .map_err(|error| error.to_string())?
            .map_err(|error| format!("{command}: {error}"))?;
        if done.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&done.stderr);
        Err(format!("{command}: {}", said.trim()))
    }

    fn route(&self, side: Side) -> String {
        let facts = self
            .emulator
            .namespace(side)
            .run(|| host::read(Some(peer_of(side))));
        let route = facts.ok().and_then(|facts| facts.route);
        let spec = route.map(|route| route.spec).unwrap_or_default();
        format!("ip route replace {spec}")
    }

    /// Path as described to `doctor` on a host.
    pub fn described(&self, side: Side) -> Path {
        self.link.described(match side {
            Side::Client => Direction::Send,
            Side::Server => Direction::Receive,
        })
    }

    /// Runs `doctor` on a host for its role in the transfer.
    ///
    /// # Errors
    /// If the namespace cannot be entered.
    pub fn examine(&self, side: Side) -> Result<Report, String> {
        let read = self
            .emulator
            .namespace(side)
            .run(|| host::read(Some(peer_of(side))));
        let facts = read.map_err(|error| error.to_string())?;
        Ok(examine(&facts, &self.described(side)))
    }

    /// Transfers from client to server, with a server started for it.
    ///
    /// # Errors
    /// The reason there was no transfer.
    pub fn transfer(&self) -> Result<Transfer, String> {
        let stop = Arc::new(AtomicBool::new(false));
        let (tell, bound) = mpsc::channel();
        let stops = stop.clone();
        let serve = move || {
            let server =
                Server::bind(ServerConfig::default()).map_err(|error| error.cause.to_string());
            let _ = tell.send(server.as_ref().err().cloned());
            server.and_then(|server| {
                let quiet: Arc<tester::Notify> = Arc::new(|_| {});
                let done = server.run(&|| stops.load(Ordering::Relaxed), &quiet);
                done.map_err(|error| error.to_string())
            })
        };
        let server = self
            .emulator
            .namespace(Side::Server)
            .start(serve)
            .map_err(|error| error.to_string())?;
        let measured = match bound.recv() {
            Ok(None) => self.emulator.namespace(Side::Client).run(measure),
            Ok(Some(error)) => return Err(error),
            Err(_) => return Err("the server did not start".into()),
        };
        stop.store(true, Ordering::Relaxed);
        let _ = server.join();
        let outcome = measured.map_err(|error| error.to_string())??;
        transfer_of(&outcome).ok_or_else(|| "the transfer has too few readings".into())
    }
}

/// Address of the other host.
fn peer_of(side: Side) -> IpAddr {
    let other = match side {
        Side::Client => Side::Server,
        Side::Server => Side::Client,
    };
    Addresses::of(other).v4.into()
}

fn measure() -> Result<Outcome, String> {
    let mut request = Request::new(Addresses::of(Side::Server).v4.to_string());
    request.parameters.time = SECONDS;
    request.interval = None;
    let outcome =
        tester::run(&request, &|| false, &mut |_| {}).map_err(|error| error.to_string())?;
    match &outcome.cut_short {
        Some(reason) => Err(reason.clone()),
        None => Ok(outcome),
    }
}

fn transfer_of(outcome: &Outcome) -> Option<Transfer> {
    let (_, readings) = outcome.samples.streams.first()?;
    // SACKed segments count as delivered although no ACK has passed them.
    let delivered = |one: &Reading| Some(one.delivered? as f64 * one.smss?.as_u64() as f64);
    let points = readings
        .iter()
        .filter_map(|reading| Some((reading.at, delivered(reading)?)));
    let points: Vec<(Instant, f64)> = points.collect();
    let (from, before) = *points
        .iter()
        .find(|(at, _)| *at >= Instant::ZERO + WARM_UP)?;
    let (to, after) = *points.last()?;
    let rate = (after - before) / to.saturating_since(from).as_secs_f64();
    let explained = tester::explain(outcome);
    let first = explained
        .first()
        .and_then(|connection| connection.diagnosis.primary());
    Some(Transfer {
        mbps: rate * 8e-6,
        late: to.as_secs_f64() - after / rate.max(1.0),
        cause: first.map(|first| (first.cause.id, first.share)),
    })
}
