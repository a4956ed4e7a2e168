//! Connections over a wire with a [`PacketCorruptor`] on it: what of them must hold
//! while others, on the same wire and the same engine, are at its mercy.

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
/// Where the connections go that must hold.
const PORT: u16 = 81;
/// Octets of each direction of each of them.
const LEN: usize = 400_000;
/// How long they may take: a corrupted packet is lost.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a victim waits before it is given up.
const VICTIM_WAITS: Duration = Duration::from_millis(300);
/// Octets of each direction of a victim.
const VICTIM_LEN: usize = 60_000;
/// Which version of IP, by the places above, and whether the engine opens.
const KINDS: [(usize, bool); 4] = [(0, true), (0, false), (1, true), (1, false)];

/// What happened.
#[derive(Clone, Copy, Debug)]
pub struct Survived {
    /// Connections whose every octet was compared.
    pub compared: u64,
    /// Connections that were at the packet_corruptor's mercy, and how many of them failed.
    pub victims: u64,
    /// See before.
    pub failed_victims: u64,
    /// The engine's counts at the end.
    pub counters: StackCounters,
}

/// Lets it go on for `longest`, or a round at least.
///
/// # Errors
/// What did not hold, or what is missing to try it.
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
    /// Rounds of connections that must hold, while victims come and go; how many
    /// were compared, how many victims there were, how many of these failed.
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

    /// A connection of each kind, all at the same time.
    fn round(&self, seed: u64) -> Result<(), String> {
        let one = |(v, engine_opens): (usize, bool)| {
            let ends = self.open((v, engine_opens), PORT, PATIENCE);
            let ends = ends.map_err(|error| format!("opening over {}: {error}", ENGINE[v]))?;
            compare(&ends, LEN, seed)
        };
        thread::scope(|scope| {
            KINDS
                .map(|kind| scope.spawn(move || one(kind)))
                .map(|done| {
                    let done = done.join();
                    done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                })
                .into_iter()
                .collect()
        })
    }

    /// Whether a connection whose packets are corrupted at will transferred its data anyway.
    fn victim(&self, kind: (usize, bool)) -> bool {
        let ends = self.open(kind, VICTIM_PORT, VICTIM_WAITS);
        ends.is_ok_and(|ends| compare(&ends, VICTIM_LEN, 0).is_ok())
    }

    /// The engine's end and the kernel's of a connection over that version of IP
    /// that the engine opens, or the kernel.
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

/// The kernel's next connection.
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

/// Whether what is read at either end is what was written at the other.
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
