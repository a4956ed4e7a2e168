//! Connections over a wire with a [`PacketCorruptor`].
//!
//! Intact connections must survive while victims share the same wire and engine.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use std::{io, thread};

use gigatcp_linux::Namespace;
use gigatcp_live::{Offloads, Options, Stack, StackCounters, TunConfig};

use crate::end::End;
use crate::octets::Source;
use crate::packet_corruptor::{PacketCorruptor, VICTIM_PORT};
use crate::relay::Relay;
use crate::transfer::{Side, Trouble, When};

const KERNEL: [IpAddr; 2] = [
    IpAddr::V4(Ipv4Addr::new(10, 85, 0, 1)),
    IpAddr::V6(Ipv6Addr::new(0xfd85, 0, 0, 0, 0, 0, 0, 1)),
];
const ENGINE: [IpAddr; 2] = [
    IpAddr::V4(Ipv4Addr::new(10, 85, 0, 2)),
    IpAddr::V6(Ipv6Addr::new(0xfd85, 0, 0, 0, 0, 0, 0, 2)),
];
/// Destination port of the intact connections.
const PORT: u16 = 81;
/// Octets per direction of an intact connection.
const LEN: usize = 400_000;
/// Timeout of an intact connection. Each corrupted packet is a loss.
const PATIENCE: Duration = Duration::from_secs(60);
/// Timeout of a victim.
const VICTIM_WAITS: Duration = Duration::from_millis(300);
/// Octets per direction of a victim.
const VICTIM_LEN: usize = 60_000;
/// Index of the IP version in the addresses above, and whether the engine opens.
const KINDS: [(usize, bool); 4] = [(0, true), (0, false), (1, true), (1, false)];

/// Result of a run.
#[derive(Clone, Copy, Debug)]
pub struct Survived {
    /// Connections whose octets were all compared.
    pub compared: u64,
    /// Connections exposed to undetectable corruption.
    pub victims: u64,
    /// Victims that failed.
    pub failed_victims: u64,
    /// Final counters of the engine.
    pub counters: StackCounters,
}

/// Runs for `longest`, or one round at least.
///
/// # Errors
/// Failed check, or missing requirement.
pub fn survive(seed: u64, offloads: bool, longest: Duration) -> Result<Survived, Trouble> {
    let namespace = Namespace::new().map_err(Trouble::Setup)?;
    let config = TunConfig {
        offloads: Offloads {
            checksum: offloads,
            segmentation: offloads,
        },
        kernel: vec![(KERNEL[0], 24), (KERNEL[1], 64)],
        engine: ENGINE.to_vec(),
        ..TunConfig::default()
    };
    let (device, relay) =
        Relay::start(&namespace, &config, PacketCorruptor::new(seed)).map_err(Trouble::Setup)?;
    let said = |error: io::Error| Trouble::Failed(error.to_string());
    let stack = Stack::start(device).map_err(said)?;
    let site = Site {
        namespace: &namespace,
        stack: &stack,
    };
    let (compared, victims, failed_victims) =
        site.rounds(seed, longest).map_err(Trouble::Failed)?;
    let counters = stack.counters().map_err(said)?;
    stack.stop().map_err(said)?;
    drop(relay);
    Ok(Survived {
        compared,
        victims,
        failed_victims,
        counters,
    })
}

#[derive(Clone, Copy)]
struct Site<'a> {
    namespace: &'a Namespace,
    stack: &'a Stack,
}

impl Site<'_> {
    /// Runs rounds of intact connections while victims come and go. Returns the numbers of
    /// compared connections, victims and failed victims.
    fn rounds(&self, seed: u64, longest: Duration) -> Result<(u64, u64, u64), String> {
        let began = Instant::now();
        let is_over = &AtomicBool::new(false);
        let [all, failed] = &[AtomicU64::new(0), AtomicU64::new(0)];
        let mut compared = 0;
        thread::scope(|scope| {
            for kind in KINDS {
                scope.spawn(move || {
                    while !is_over.load(Ordering::Relaxed) {
                        let is_whole = self.victim(kind);
                        all.fetch_add(1, Ordering::Relaxed);
                        failed.fetch_add(u64::from(!is_whole), Ordering::Relaxed);
                    }
                });
            }
            let mut result = Ok(());
            while result.is_ok() && (compared == 0 || began.elapsed() < longest) {
                result = self.round(seed.wrapping_add(compared));
                compared += KINDS.len() as u64;
            }
            is_over.store(true, Ordering::Relaxed);
            result
        })?;
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Ok((compared, count(all), count(failed)))
    }

    /// Runs one connection of each kind concurrently.
    fn round(&self, seed: u64) -> Result<(), String> {
        let one = |(v, engine_opens): (usize, bool)| {
            let ends = self
                .open((v, engine_opens), PORT, PATIENCE)
                .map_err(|error| format!("opening over {}: {error}", ENGINE[v]))?;
            compare(&ends, LEN, seed)
        };
        thread::scope(|scope| {
            KINDS
                .map(|kind| scope.spawn(move || one(kind)))
                .map(|done| {
                    done.join()
                        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                })
                .into_iter()
                .collect()
        })
    }

    /// Whether a connection with undetectable corruption still transferred its data.
    fn victim(&self, kind: (usize, bool)) -> bool {
        let ends = self.open(kind, VICTIM_PORT, VICTIM_WAITS);
        ends.is_ok_and(|ends| compare(&ends, VICTIM_LEN, 0).is_ok())
    }

    /// Opens a connection over that IP version, and returns the ends of engine and kernel. The
    /// engine or the kernel opens it.
    fn open(
        &self,
        (v, engine_opens): (usize, bool),
        port: u16,
        waits: Duration,
    ) -> io::Result<[End; 2]> {
        let options = Options::default();
        let ends = if engine_opens {
            let at = SocketAddr::from((KERNEL[v], port));
            let listen = || TcpListener::bind(at);
            let listener = self.namespace.run(listen).map_err(io::Error::other)??;
            listener.set_nonblocking(true)?;
            let ours = self.stack.connect_timeout(at, &options, waits)?;
            [End::Engine(ours), End::Kernel(accept(&listener, waits)?)]
        } else {
            let at = SocketAddr::from((ENGINE[v], port));
            let listener = self.stack.listen(at, &options)?;
            let connect = || TcpStream::connect_timeout(&at, waits);
            let theirs = self.namespace.run(connect).map_err(io::Error::other)??;
            let (ours, _) = listener.accept_timeout(waits)?;
            [End::Engine(ours), End::Kernel(theirs)]
        };
        ends.iter().try_for_each(|end| end.set_patience(waits))?;
        Ok(ends)
    }
}

/// Accepts the kernel's next connection.
fn accept(listener: &TcpListener, waits: Duration) -> io::Result<TcpStream> {
    let began = Instant::now();
    loop {
        match listener.accept() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && began.elapsed() < waits => {
                thread::sleep(Duration::from_millis(1));
            }
            Err(error) => return Err(error),
            Ok((stream, _)) => {
                stream.set_nonblocking(false)?;
                return Ok(stream);
            }
        }
    }
}

/// Checks that each end reads the octets that the other wrote.
fn compare(ends: &[End; 2], len: usize, seed: u64) -> Result<(), String> {
    let octets = [seed, !seed].map(|seed| Source::first(seed, len));
    let side = |of: usize| Side {
        end: &ends[of],
        writes: &octets[of],
        expects: &octets[1 - of],
        when: When::Written,
    };
    thread::scope(|scope| {
        let other = scope.spawn(move || side(1).play());
        let one = side(0).play();
        let other = other
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        one.and(other).map(|_| ())
    })
}
