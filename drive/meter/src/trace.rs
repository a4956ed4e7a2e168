//! Traces the path to a host: the routers at each hop, their RTTs, and the path MTU.
//!
//! Probes are UDP datagrams with a small TTL, three for each hop, to ports from 33434 upward
//! (traceroute's). Their errors are returned to the socket, so no privilege is needed. Four hops
//! are probed at a time, as hosts limit their rate of unreachable errors. The path MTU is found
//! with datagrams that may not be fragmented (RFC 1191, RFC 8201).

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use gigatcp_protocol::iperf3::{COOKIE_LENGTH, State};
use serde_json::{Value, json};

use crate::system::fd::AsFd;
use crate::system::poll;
use crate::system::probe::{ProbeErrorKind, Prober};

/// Maximum of hops.
pub(crate) const MAX_HOPS: u8 = 30;
/// Number of hops probed together.
const AT_ONCE: u8 = 4;
/// Number of probes per hop.
pub(crate) const PROBES: u16 = 3;
/// Destination port of the first probe.
const FIRST_PORT: u16 = 33_434;
/// Maximum wait for the answers of hops probed together.
const WAIT: Duration = Duration::from_millis(1500);
/// Maximum wait for an error of a too large packet, and number of tries.
const MTU_WAIT: (Duration, usize) = (Duration::from_millis(700), 8);
/// Maximum wait for the answer to one of several probes. A Linux host sends one unreachable error a
/// second.
const PASS_WAIT: Duration = Duration::from_millis(1100);
/// Path MTUs of links, tunnels and their combinations, in bytes.
const MTUS: [u32; 32] = [
    576, 1200, 1280, 1300, 1320, 1340, 1350, 1360, 1376, 1380, 1392, 1400, 1412, 1420, 1428, 1436,
    1440, 1446, 1450, 1454, 1458, 1468, 1472, 1476, 1480, 1488, 1492, 1500, 4352, 8000, 8900, 9000,
];
/// Bytes of payload of a probe.
const PAYLOAD: usize = 32;

/// A hop of a path.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Hop {
    /// Sender and delay of each answer. Fewer than three: the others did not arrive.
    pub answers: Vec<(IpAddr, Duration)>,
}

/// Traced path.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Trace {
    /// Hops, the first one next to this host.
    pub hops: Vec<Hop>,
    /// Whether the host answered.
    pub is_complete: bool,
    /// Path MTU, in bytes; `None`: unknown. If packets vanish, the largest known size that arrived.
    pub mtu: Option<u32>,
    /// Whether a packet of that size arrived.
    pub is_mtu_confirmed: bool,
    /// Smallest known size in bytes of packets that vanish without an ICMP error, although smaller
    /// ones arrive.
    pub vanishes: Option<u32>,
    /// Router that reported an MTU below that of this host's link.
    pub mtu_from: Option<IpAddr>,
}

/// Traces the path to a host.
///
/// # Errors
/// The system's error for a socket.
pub fn trace(to: IpAddr, stops: &dyn Fn() -> bool) -> io::Result<Trace> {
    let prober = Prober::new(to.is_ipv4())?;
    let mut trace = Trace::default();
    let mut first = 1;
    while first <= MAX_HOPS && !trace.is_complete && !stops() {
        let last = (first + AT_ONCE - 1).min(MAX_HOPS);
        ask(&prober, to, (first, last), &mut trace)?;
        first = last + 1;
        // No more answers arrive: a filter, or the host is silent.
        let silent = trace
            .hops
            .iter()
            .rev()
            .take_while(|hop| hop.answers.is_empty());
        if silent.count() >= 3 * usize::from(AT_ONCE) {
            break;
        }
    }
    while trace.hops.last().is_some_and(|hop| hop.answers.is_empty()) {
        trace.hops.pop();
    }
    find_mtu(&prober, to, &mut trace)?;
    Ok(trace)
}

/// Port of a probe, which encodes its hop.
fn port(ttl: u8, probe: u16) -> u16 {
    FIRST_PORT + u16::from(ttl - 1) * PROBES + probe
}

/// Probes some hops, and waits for their answers.
fn ask(prober: &Prober, to: IpAddr, (first, last): (u8, u8), trace: &mut Trace) -> io::Result<()> {
    trace.hops.resize_with(last.into(), Hop::default);
    let mut sent = Vec::new();
    for probe in 0..PROBES {
        for ttl in first..=last {
            let to = SocketAddr::new(to, port(ttl, probe));
            sent.push((to.port(), ttl, Instant::now()));
            prober.send(to, ttl, PAYLOAD)?;
        }
    }
    let deadline = Instant::now() + WAIT;
    let mut reached: Option<u8> = None;
    while !sent.is_empty() && Instant::now() < deadline {
        wait(prober, deadline)?;
        while let Some(error) = prober.receive()? {
            let now = Instant::now();
            let Some(index) = sent.iter().position(|(port, ..)| *port == error.port) else {
                continue;
            };
            let (_, ttl, sent_at) = sent.swap_remove(index);
            let Some(from) = error.from else { continue };
            trace.hops[usize::from(ttl) - 1]
                .answers
                .push((from, now - sent_at));
            if error.kind == ProbeErrorKind::PortUnreachable || from == to {
                reached = Some(reached.map_or(ttl, |known| known.min(ttl)));
            }
        }
        // Hops beyond the host are not awaited.
        if let Some(reached) = reached
            && sent.iter().all(|(_, ttl, _)| *ttl > reached)
        {
            break;
        }
    }
    if let Some(reached) = reached {
        trace.hops.truncate(reached.into());
        trace.is_complete = true;
    }
    Ok(())
}

fn wait(prober: &Prober, until: Instant) -> io::Result<()> {
    let left = until.saturating_duration_since(Instant::now());
    // An error makes the socket ready for any interest.
    poll::wait_to_read([prober.socket().as_fd()], left).map(drop)
}

/// What happened to a probe of a certain size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Passage {
    /// The host answered.
    Arrived,
    /// It exceeds the MTU of a link, as this host or the router at that address says.
    TooBig(Option<IpAddr>),
    /// Nothing came back.
    Vanished,
}

/// Sends packets as large as the known path MTU until none is too big. If that size vanishes, finds
/// one that arrives.
fn find_mtu(prober: &Prober, to: IpAddr, trace: &mut Trace) -> io::Result<()> {
    let at = SocketAddr::new(to, FIRST_PORT - 1);
    let (longest, tries) = MTU_WAIT;
    for _ in 0..tries {
        let passage = pass(prober, at, prober.mtu_to(at)?, longest)?;
        trace.mtu = Some(prober.mtu_to(at)?);
        match passage {
            Passage::TooBig(from) => trace.mtu_from = from.or(trace.mtu_from),
            Passage::Arrived => {
                trace.is_mtu_confirmed = true;
                break;
            }
            Passage::Vanished if trace.is_complete => return search_mtu(prober, at, trace),
            Passage::Vanished => break,
        }
    }
    Ok(())
}

/// Sends a probe of `mtu` bytes, headers included.
fn pass(prober: &Prober, at: SocketAddr, mtu: u32, longest: Duration) -> io::Result<Passage> {
    let headers = if at.is_ipv4() { 28 } else { 48 };
    // This host may already refuse it, with the MTU in the error.
    let _ = prober.send(at, 64, (mtu as usize).saturating_sub(headers));
    let deadline = Instant::now() + longest;
    while Instant::now() < deadline {
        wait(prober, deadline)?;
        while let Some(error) = prober.receive()? {
            match error.kind {
                ProbeErrorKind::TooBig(_) => return Ok(Passage::TooBig(error.from)),
                ProbeErrorKind::PortUnreachable if error.port == at.port() => {
                    return Ok(Passage::Arrived);
                }
                _ => {}
            }
        }
    }
    Ok(Passage::Vanished)
}

/// Searches the path MTU between known sizes if packets of the size that `trace` has vanished.
fn search_mtu(prober: &Prober, at: SocketAddr, trace: &mut Trace) -> io::Result<()> {
    let top = trace.mtu.unwrap_or_default();
    let arrives = |mtu: u32| -> io::Result<bool> {
        for _ in 0..2 {
            match pass(prober, at, mtu, PASS_WAIT)? {
                Passage::Arrived => return Ok(true),
                Passage::TooBig(_) => return Ok(false),
                Passage::Vanished => {}
            }
        }
        Ok(false)
    };
    let smaller = &MTUS[..MTUS.partition_point(|mtu| *mtu < top)];
    // The host may answer few probes only.
    if arrives(top)? {
        trace.is_mtu_confirmed = true;
        return Ok(());
    }
    let Some((smallest, others)) = smaller.split_first() else {
        return Ok(());
    };
    if !arrives(*smallest)? {
        return Ok(());
    }
    let (mut low, mut high) = (0, others.len());
    while low < high {
        let middle = low.midpoint(high);
        if arrives(others[middle])? {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    trace.mtu = Some(smaller[low]);
    trace.is_mtu_confirmed = true;
    trace.vanishes = Some(others.get(low).copied().unwrap_or(top));
    Ok(())
}

impl Trace {
    /// JSON that a server sends.
    pub fn to_json(&self) -> Value {
        let answer = |(from, after): &(IpAddr, Duration)| json!([from, after.as_micros() as u64]);
        let hop = |hop: &Hop| hop.answers.iter().map(answer).collect::<Vec<_>>();
        json!({
            "hops": self.hops.iter().map(hop).collect::<Vec<_>>(),
            "complete": self.is_complete,
            "mtu": self.mtu,
            "mtu_from": self.mtu_from,
            "mtu_confirmed": self.is_mtu_confirmed,
            "vanishes_bytes": self.vanishes,
        })
    }

    /// Parses the JSON of a server; `None` if it is malformed.
    pub fn from_json(value: &Value) -> Option<Self> {
        let address = |value: &Value| value.as_str()?.parse().ok();
        let answer = |value: &Value| {
            Some((
                address(&value[0])?,
                Duration::from_micros(value[1].as_u64()?),
            ))
        };
        let hop = |value: &Value| {
            let answers = value.as_array()?.iter().filter_map(answer).collect();
            Some(Hop { answers })
        };
        let bytes = |value: &Value| u32::try_from(value.as_u64()?).ok();
        let hops = value["hops"].as_array()?.iter().take(MAX_HOPS.into());
        Some(Self {
            hops: hops.filter_map(hop).collect(),
            is_complete: value["complete"].as_bool()?,
            mtu: bytes(&value["mtu"]),
            is_mtu_confirmed: value["mtu_confirmed"] == true,
            vanishes: bytes(&value["vanishes_bytes"]),
            mtu_from: address(&value["mtu_from"]),
        })
    }
}

/// Failure to trace the reverse path.
#[derive(Debug)]
pub enum ReverseError {
    /// The server cannot be reached, or closed the connection.
    Io(io::Error),
    /// The server is not a `gigatcp server`: it cannot trace.
    Stock,
    /// The server is busy, or requires a name and password.
    Refused,
}

impl From<io::Error> for ReverseError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Maximum wait for a server's trace.
pub(crate) const REVERSE_WAIT: Duration = Duration::from_secs(40);

/// Maximum length of a server's answer, in bytes.
const MAX_ANSWER: u32 = 64 << 10;

/// Requests the path to this host from a `gigatcp server`.
///
/// # Errors
/// [`ReverseError`].
pub fn reverse(server: SocketAddr) -> Result<Trace, ReverseError> {
    let mut stream = TcpStream::connect_timeout(&server, Duration::from_secs(10))?;
    stream.set_read_timeout(Some(REVERSE_WAIT))?;
    stream.write_all(&HELLO)?;
    let mut head = [0; 4];
    stream.read_exact(&mut head[..1])?;
    // The first byte of a length below 16 MiB is zero; a stock server sends a state.
    if head[0] == State::AccessDenied.to_byte() {
        return Err(ReverseError::Refused);
    }
    if head[0] != 0 {
        return Err(ReverseError::Stock);
    }
    stream.read_exact(&mut head[1..])?;
    let length = u32::from_be_bytes(head);
    if length > MAX_ANSWER {
        return Err(ReverseError::Stock);
    }
    let mut text = vec![0; length as usize];
    stream.read_exact(&mut text)?;
    let value = serde_json::from_slice(&text).map_err(|_| ReverseError::Stock)?;
    Trace::from_json(&value).ok_or(ReverseError::Stock)
}

/// Answers [`reverse`]: traces the path to the client and sends it.
pub(crate) fn answer(mut stream: TcpStream, stops: &dyn Fn() -> bool) -> io::Result<()> {
    let to = stream.peer_addr()?.ip().to_canonical();
    let text = trace(to, stops)?.to_json().to_string();
    stream.set_nonblocking(false)?;
    stream.set_write_timeout(Some(Duration::from_secs(10)))?;
    stream.write_all(&(text.len() as u32).to_be_bytes())?;
    stream.write_all(text.as_bytes())
}

/// Message of [`reverse`] instead of a test's cookie.
pub(crate) const HELLO: [u8; COOKIE_LENGTH] = *b"gigatcp trace 1 from there to here...";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_host_is_one_hop_away() {
        let trace = trace("127.0.0.1".parse().unwrap(), &|| false).unwrap();
        assert!(trace.is_complete);
        assert_eq!(trace.hops.len(), 1);
        assert!(!trace.hops[0].answers.is_empty());
        assert_eq!(trace.mtu, Some(65_535));
        assert!(trace.is_mtu_confirmed && trace.vanishes.is_none());
        assert_eq!(
            Trace::from_json(&trace.to_json()),
            Some(Trace {
                hops: trace
                    .hops
                    .iter()
                    .map(|hop| Hop {
                        answers: hop
                            .answers
                            .iter()
                            .map(|(from, after)| (
                                *from,
                                Duration::from_micros(after.as_micros() as u64)
                            ))
                            .collect(),
                    })
                    .collect(),
                ..trace
            })
        );
    }
}
