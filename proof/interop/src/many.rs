//! Many concurrent connections: cost when idle, fairness when all send.
//!
//! The same is measured for the kernel: memory of its socket per connection, if available, and
//! fairness of its own senders on the same path.

use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use futures_io::{AsyncRead, AsyncWrite};
use gigatcp_linux::{Namespace, process};
use gigatcp_live::{AsyncStream, Options, Stack, Stream, TunConfig, Wire};
use gigatcp_path::HopConfig;
use gigatcp_units::{Bytes, Duration as Span, Rate};

use crate::testbed::{Testbed, TestbedConfig};
use crate::transfer::Trouble;
use crate::watch::memory;

const PORT: u16 = 7000;
/// Descriptors other than those of connections.
const OTHERS: u64 = 200;
/// Octets per direction of each idle connection before the second measurement.
const WORDS: usize = 1000;
const PATIENCE: Duration = Duration::from_secs(60);
/// Pause between two rounds over all connections.
const ROUND: Duration = Duration::from_millis(2);
/// Octets per call.
const CALL: usize = 64 * 1024;
/// A smaller share of the mean counts as starvation.
const STARVES: f64 = 0.1;

/// Cost of idle connections.
#[derive(Clone, Copy, Debug)]
pub struct Idle {
    /// Number of connections.
    pub connections: usize,
    /// Engine memory per open connection, in octets.
    pub open: u64,
    /// Engine memory per connection after a short exchange in both directions.
    pub used: u64,
    /// Kernel memory per socket in octets, if available.
    pub kernel: Option<u64>,
}

/// Opens `connections` from the kernel to the engine, and measures their memory.
///
/// # Errors
/// Failed step, or missing requirement.
pub fn idle(connections: usize) -> Result<Idle, Trouble> {
    let said = |error: io::Error| Trouble::Failed(error.to_string());
    process::allow_descriptors(connections as u64 + OTHERS).map_err(said)?;
    let (kernel, engine) = (Ipv4Addr::new(10, 87, 0, 1), Ipv4Addr::new(10, 87, 0, 2));
    let config = TunConfig {
        kernel: vec![(IpAddr::V4(kernel), 24)],
        engine: vec![engine.into()],
        ..TunConfig::default()
    };
    let namespace = Namespace::new().map_err(Trouble::Setup)?;
    let device = Wire::open_tun(&namespace, &config).map_err(Trouble::Setup)?;
    let stack = Stack::start(device).map_err(said)?;
    let at = SocketAddr::from((engine, PORT));
    let listener = stack.listen(at, &Options::default()).map_err(said)?;
    let pairs = || -> io::Result<Vec<(TcpStream, Stream)>> {
        let open = |_| {
            Ok((
                TcpStream::connect(at)?,
                listener.accept_timeout(PATIENCE)?.0,
            ))
        };
        (0..connections).map(open).collect()
    };
    let (before, slabs) = (memory(), kernel_memory());
    let pairs = namespace
        .run(pairs)
        .map_err(Trouble::Setup)?
        .map_err(said)?;
    let each = |octets: u64| octets / connections as u64;
    let open = each(memory().saturating_sub(before));
    let kernel = slabs
        .zip(kernel_memory())
        .map(|(before, after)| each(after.saturating_sub(before)));
    for (theirs, ours) in &pairs {
        say(theirs, ours).map_err(said)?;
    }
    let used = each(memory().saturating_sub(before));
    Ok(Idle {
        connections,
        open,
        used,
        kernel,
    })
}

/// Exchanges a short message in both directions.
fn say(mut theirs: &TcpStream, mut ours: &Stream) -> io::Result<()> {
    let mut heard = [0; WORDS];
    theirs.write_all(&[1; WORDS])?;
    ours.read_exact(&mut heard)?;
    ours.write_all(&[2; WORDS])?;
    theirs.read_exact(&mut heard)
}

/// Octets of kernel memory for all sockets of the machine and their dependent objects
/// (`slabinfo(5)`).
fn kernel_memory() -> Option<u64> {
    let table = fs::read_to_string("/proc/slabinfo").ok()?;
    let is_ours = |name: &str| {
        let names = ["TCP", "TCPv6", "sock_inode_cache", "filp", "dentry"];
        names.contains(&name)
    };
    let octets = table.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        is_ours(words.next()?).then_some(())?;
        let active: u64 = words.next()?.parse().ok()?;
        let size: u64 = words.nth(1)?.parse().ok()?;
        Some(active * size)
    });
    Some(octets.sum())
}

/// Distribution of a path's rate over the connections.
#[derive(Clone, Copy, Debug)]
pub struct Shares {
    /// Number of connections.
    pub flows: usize,
    /// Goodput of all connections in bit/s.
    pub goodput: f64,
    /// Jain's fairness index: 1 if all shares are equal.
    pub jain: f64,
    /// Minimum as a fraction of the mean.
    pub least: f64,
    /// Maximum as a fraction of the mean.
    pub most: f64,
    /// Connections below a tenth of the mean.
    pub starved: usize,
    /// Number of scheduling delays of the path's thread.
    pub stalls: u64,
}

/// Parameters of a fairness measurement.
#[derive(Clone, Copy, Debug)]
pub struct Sharing {
    /// Whether the engine sends and the kernel receives. Otherwise the reverse.
    pub engine_sends: bool,
    /// Number of connections.
    pub flows: usize,
    /// Rate of the path.
    pub rate: Rate,
    /// RTT of the path.
    pub round_trip: Span,
    /// Queue limit of the path.
    pub queue: Bytes,
    /// Time before the measurement.
    pub warm_up: Duration,
    /// Time of the measurement.
    pub window: Duration,
    /// Congestion control algorithm of the senders.
    pub control: &'static str,
}

/// Measures all connections while they send concurrently.
///
/// # Errors
/// Failed step, or missing requirement.
pub fn share(sharing: &Sharing) -> Result<Shares, Trouble> {
    let said = |error: io::Error| Trouble::Failed(error.to_string());
    process::allow_descriptors(sharing.flows as u64 + OTHERS).map_err(said)?;
    let testbed = Testbed::new(&path(sharing))?;
    let (ours, theirs) = open(&testbed, sharing).map_err(said)?;
    let mut ours = Ours(ours);
    let mut theirs = Theirs(theirs);
    let counts = if sharing.engine_sends {
        run(sharing, &mut ours, &mut theirs)
    } else {
        run(sharing, &mut theirs, &mut ours)
    }
    .map_err(said)?;
    let stalls = testbed.path().stalls;
    // Unsent data may be discarded.
    ours.0.iter().for_each(|stream| stream.as_stream().abort());
    drop((ours, theirs));
    testbed.stack.stop().map_err(said)?;
    Ok(judge(&counts, sharing.window, stalls))
}

fn path(sharing: &Sharing) -> TestbedConfig {
    let hop = |name: &str, is_data: bool| HopConfig {
        name: name.into(),
        one_way_delay: sharing.round_trip / 2,
        rate: is_data.then_some(sharing.rate),
        limit_bytes: is_data.then_some(sharing.queue),
        ..HopConfig::default()
    };
    TestbedConfig {
        forward: vec![hop("forward", sharing.engine_sends)],
        reverse: vec![hop("reverse", !sharing.engine_sends)],
        seed: 1,
        mtu: 1500,
        offloads: true,
        settings: Vec::new(),
        processor: None,
    }
}

fn open(testbed: &Testbed, sharing: &Sharing) -> io::Result<(Vec<AsyncStream>, Vec<TcpStream>)> {
    let at = SocketAddr::from((Testbed::kernel_address(false), PORT));
    let listener = testbed.kernel_listens(at, sharing.control)?;
    let options = Options::default().with_congestion(sharing.control)?;
    let mut ends = (Vec::new(), Vec::new());
    for _ in 0..sharing.flows {
        let ours = testbed.stack.connect_timeout(at, &options, PATIENCE)?;
        let (theirs, _) = listener.accept()?;
        theirs.set_nonblocking(true)?;
        ends.0.push(ours.into());
        ends.1.push(theirs);
    }
    Ok(ends)
}

/// All ends of one TCP.
trait Ends: Send {
    /// Writes to each as much as it accepts.
    fn write(&mut self) -> io::Result<()>;
    /// Reads all available octets from each, and counts them.
    fn read(&mut self, counts: &mut [u64]) -> io::Result<()>;
}

struct Ours(Vec<AsyncStream>);

impl Ends for Ours {
    fn write(&mut self) -> io::Result<()> {
        let mut context = Context::from_waker(Waker::noop());
        for stream in &mut self.0 {
            // One call accepts octets up to its length and the free space.
            if let Poll::Ready(done) = Pin::new(stream).poll_write(&mut context, &[7; CALL]) {
                done?;
            }
        }
        Ok(())
    }

    fn read(&mut self, counts: &mut [u64]) -> io::Result<()> {
        let mut context = Context::from_waker(Waker::noop());
        let mut octets = vec![0; CALL];
        for (stream, count) in self.0.iter_mut().zip(counts) {
            while let Poll::Ready(read) =
                Pin::new(&mut *stream).poll_read(&mut context, &mut octets)
            {
                match read? {
                    0 => return Err(ErrorKind::UnexpectedEof.into()),
                    read => *count += read as u64,
                }
            }
        }
        Ok(())
    }
}

struct Theirs(Vec<TcpStream>);

impl Ends for Theirs {
    fn write(&mut self) -> io::Result<()> {
        for stream in &mut self.0 {
            unless_waiting(stream.write(&[7; CALL]))?;
        }
        Ok(())
    }

    fn read(&mut self, counts: &mut [u64]) -> io::Result<()> {
        let mut octets = vec![0; CALL];
        for (stream, count) in self.0.iter_mut().zip(counts) {
            while let Some(read) = unless_waiting(stream.read(&mut octets))? {
                if read == 0 {
                    return Err(ErrorKind::UnexpectedEof.into());
                }
                *count += read as u64;
            }
        }
        Ok(())
    }
}

/// `None` if the call would have blocked.
fn unless_waiting(done: io::Result<usize>) -> io::Result<Option<usize>> {
    match done {
        Ok(octets) => Ok(Some(octets)),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(error),
    }
}

/// Octets received per connection within the window.
fn run(sharing: &Sharing, from: &mut impl Ends, to: &mut impl Ends) -> io::Result<Vec<u64>> {
    let began = Instant::now();
    let ends = sharing.warm_up + sharing.window;
    thread::scope(|scope| {
        let writing = scope.spawn(move || -> io::Result<()> {
            while began.elapsed() < ends {
                from.write()?;
                thread::sleep(ROUND);
            }
            Ok(())
        });
        let mut counts = vec![0; sharing.flows];
        let mut at_first = None;
        while began.elapsed() < ends {
            to.read(&mut counts)?;
            if began.elapsed() >= sharing.warm_up {
                at_first.get_or_insert_with(|| counts.clone());
            }
            thread::sleep(ROUND);
        }
        writing
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        let before = at_first.unwrap_or_default();
        Ok(counts
            .iter()
            .zip(before)
            .map(|(after, before)| after - before)
            .collect())
    })
}

fn judge(counts: &[u64], window: Duration, stalls: u64) -> Shares {
    let values = || counts.iter().map(|count| *count as f64);
    let (sum, squares): (f64, f64) = (values().sum(), values().map(|x| x * x).sum());
    let mean = sum / counts.len() as f64;
    let share = |count: Option<u64>| count.unwrap_or_default() as f64 / mean.max(1.0);
    Shares {
        flows: counts.len(),
        goodput: sum * 8.0 / window.as_secs_f64(),
        jain: sum * sum / (counts.len() as f64 * squares).max(1.0),
        least: share(counts.iter().min().copied()),
        most: share(counts.iter().max().copied()),
        starved: values().filter(|count| *count < STARVES * mean).count(),
        stalls,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_that_are_equal_have_an_index_of_one_and_one_that_has_all_of_one_nth() {
        let second = Duration::from_secs(1);
        let equal = judge(&[1000; 10], second, 0);
        assert!((equal.jain - 1.0).abs() < 1e-9 && equal.starved == 0);
        assert!((equal.goodput - 80_000.0).abs() < 1e-6);
        let mut counts = [0; 10];
        counts[3] = 1000;
        let one = judge(&counts, second, 0);
        assert!((one.jain - 0.1).abs() < 1e-9);
        assert_eq!(one.starved, 9);
        assert!((one.most - 10.0).abs() < 1e-9);
    }
}
