//! Fairness between one flow of the kernel and one of the engine.
//!
//! Both use the same algorithm, from the same end over the same hops to the same kernel.
//!
//! Both senders share one device, and the far kernel has both receivers. Only the TCP of the
//! sender differs. The near kernel forwards the engine's packets, which adds some microseconds of
//! RTT.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use gigatcp_linux::{IsolatedCpu, socket};
use gigatcp_live::Options;
use gigatcp_path::HopConfig;

use crate::end::End;
use crate::testbed::{Testbed, TestbedConfig};
use crate::transfer::Trouble;

const PORT: u16 = 7100;
/// Octets per call.
const CALL: usize = 256 * 1024;
const PATIENCE: Duration = Duration::from_secs(20);

/// Parameters of a fairness test between two TCPs.
#[derive(Clone, Debug)]
pub struct Rivals {
    /// Hops from the senders.
    pub forward: Vec<HopConfig>,
    /// Hops to the senders.
    pub reverse: Vec<HopConfig>,
    /// Seed of the path's random streams.
    pub seed: u64,
    /// MTU.
    pub mtu: u16,
    /// Options of the engine's sender.
    pub engine: Options,
    /// Congestion control algorithm of the kernel.
    pub control: String,
    /// Time before the measurement.
    pub warm_up: Duration,
    /// Time of the measurement.
    pub window: Duration,
}

/// Goodput of both flows in bit/s.
#[derive(Clone, Copy, Default, Debug)]
pub struct Split {
    /// Goodput of the engine's flow.
    pub engine: f64,
    /// Goodput of the kernel's flow.
    pub kernel: f64,
    /// Number of scheduling delays of the path's thread.
    pub stalls: u64,
}

impl Split {
    /// Jain's fairness index: 1 for equal shares, 0.5 if one flow has all.
    pub fn jain(&self) -> f64 {
        let squares = self.engine.powi(2) + self.kernel.powi(2);
        (self.engine + self.kernel).powi(2) / (2.0 * squares).max(1.0)
    }
}

/// Measures both flows while they send concurrently.
///
/// # Errors
/// Failed step, or missing requirement.
pub fn compete(rivals: &Rivals) -> Result<Split, Trouble> {
    let said = |error: io::Error| Trouble::Failed(error.to_string());
    // Before the start of threads, so that these also avoid the CPU.
    let apart = IsolatedCpu::set();
    let testbed = Testbed::new(&TestbedConfig {
        forward: rivals.forward.clone(),
        reverse: rivals.reverse.clone(),
        seed: rivals.seed,
        mtu: rivals.mtu,
        offloads: true,
        settings: vec![("net.ipv4.tcp_no_metrics_save".into(), "1".into())],
        processor: apart.as_ref().map(IsolatedCpu::processor),
    })?;
    let at = SocketAddr::from((Testbed::kernel_address(false), PORT));
    let listener = testbed.kernel_listens(at, &rivals.control).map_err(said)?;
    let pairs = [
        engine(&testbed, rivals, at, &listener),
        kernel(&testbed, rivals, at, &listener),
    ];
    let [engine, kernel] = pairs.map(|pair| pair.map_err(said));
    let pairs = [engine?, kernel?];
    let counts = race(&pairs, rivals).map_err(said)?;
    let stalls = testbed.path().stalls;
    for (sender, _) in pairs {
        sender.abort().map_err(said)?;
    }
    testbed.stack.stop().map_err(said)?;
    let [engine, kernel] = counts.map(|count| count as f64 * 8.0 / rivals.window.as_secs_f64());
    Ok(Split {
        engine,
        kernel,
        stalls,
    })
}

/// Sender, and the socket that receives from it.
type Pair = (End, TcpStream);

fn engine(
    testbed: &Testbed,
    rivals: &Rivals,
    at: SocketAddr,
    listener: &TcpListener,
) -> io::Result<Pair> {
    let sender = testbed
        .stack
        .connect_timeout(at, &rivals.engine, PATIENCE)?;
    let (receiver, _) = listener.accept()?;
    Ok((End::Engine(sender), receiver))
}

fn kernel(
    testbed: &Testbed,
    rivals: &Rivals,
    at: SocketAddr,
    listener: &TcpListener,
) -> io::Result<Pair> {
    let connect = || TcpStream::connect_timeout(&at, PATIENCE);
    let sender = testbed.near().run(connect).map_err(io::Error::other)??;
    socket::set_congestion(&sender, &rivals.control)?;
    let (receiver, _) = listener.accept()?;
    Ok((End::Kernel(sender), receiver))
}

/// Octets received per flow within the window.
fn race(pairs: &[Pair; 2], rivals: &Rivals) -> io::Result<[u64; 2]> {
    let counts = [AtomicU64::new(0), AtomicU64::new(0)];
    let is_over = AtomicBool::new(false);
    for (sender, receiver) in pairs {
        sender.set_patience(PATIENCE)?;
        receiver.set_read_timeout(Some(PATIENCE))?;
    }
    thread::scope(|scope| {
        let threads = pairs
            .iter()
            .zip(&counts)
            .map(|((sender, receiver), count)| {
                let is_over = &is_over;
                let writing = scope.spawn(move || -> io::Result<()> {
                    let (mut sender, octets) = (sender, vec![7; CALL]);
                    while !is_over.load(Ordering::Relaxed) {
                        sender.write_all(&octets)?;
                    }
                    sender.close_write()
                });
                let reading = scope.spawn(move || -> io::Result<()> {
                    let (mut receiver, mut octets) = (receiver, vec![0; CALL]);
                    loop {
                        match receiver.read(&mut octets)? {
                            0 => return Ok(()),
                            read => count.fetch_add(read as u64, Ordering::Relaxed),
                        };
                    }
                });
                [writing, reading]
            });
        let threads: Vec<_> = threads.flatten().collect();
        let look = || [&counts[0], &counts[1]].map(|count| count.load(Ordering::Relaxed));
        thread::sleep(rivals.warm_up);
        let before = look();
        thread::sleep(rivals.window);
        let after = look();
        is_over.store(true, Ordering::Relaxed);
        for thread in threads {
            let ended = thread.join();
            ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        }
        Ok([after[0] - before[0], after[1] - before[1]])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_of_two_is_one_where_they_have_the_same_and_a_half_where_one_has_all() {
        let split = |engine, kernel| Split {
            engine,
            kernel,
            stalls: 0,
        };
        assert!((split(5e8, 5e8).jain() - 1.0).abs() < 1e-12);
        assert!((split(5e8, 0.0).jain() - 0.5).abs() < 1e-12);
    }
}
