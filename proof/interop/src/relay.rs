//! Wire between the engine and a TUN device of the kernel, with a packet filter.
//!
//! A [`PacketFilter`] sees every packet and decides about the packets to forward in its place.
//!
//! The engine's end is one of a socket pair that keeps packet boundaries, like a TUN device. This
//! gives the engine packets that no kernel would send: contradictory offload headers, and
//! truncated packets. A packet that finds the engine's queue full is lost.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use gigatcp_linux::poll::{self, Interest};
use gigatcp_linux::{Namespace, SetupError, Step, packets};
use gigatcp_live::{TunConfig, Wire};

/// Maximum packet length, with the offload header.
const LONGEST: usize = 10 + 65_536;
/// Time between two checks of the stop flag.
const LOOK: Duration = Duration::from_millis(20);
/// Maximum number of packets of one side per turn.
const BATCH: usize = 32;

/// Direction of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// From the engine to the kernel.
    FromEngine,
    /// From the kernel to the engine.
    FromKernel,
}

/// Packet filter on the wire.
pub trait PacketFilter: Send {
    /// Handles a packet with its offload header, and adds the packets to forward to `out`.
    fn on_packet(&mut self, direction: Direction, packet: &[u8], out: &mut Vec<Vec<u8>>);
}

/// Thread that forwards packets between the engine and the kernel.
#[derive(Debug)]
pub struct Relay {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Relay {
    /// Creates the device in `namespace`, and the engine's end of the wire.
    ///
    /// # Errors
    /// [`SetupError`]: failed step, and missing requirement.
    pub fn start(
        namespace: &Namespace,
        config: &TunConfig,
        packet_corruptor: impl PacketFilter + 'static,
    ) -> Result<(Wire, Self), SetupError> {
        let failed = |cause| SetupError::new(Step::Device, cause);
        let device = Wire::open_tun(namespace, config)?;
        let kernel = device.as_fd().try_clone_to_owned().map_err(failed)?;
        drop(device);
        let [ours, engine] = packets::pair().map_err(failed)?;
        let stop = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&stop);
        let named = thread::Builder::new().name("relay".into());
        let run = move || carry(&[engine.into(), kernel.into()], packet_corruptor, &is_over);
        let thread = named
            .spawn(run)
            .map_err(|cause| SetupError::new(Step::Thread, cause))?;
        let relay = Self {
            stop,
            thread: Some(thread),
        };
        Ok((Wire::over(ours, config.interface()), relay))
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // The panic has already been printed.
            let _ = thread.join();
        }
    }
}

/// Forwards packets between both ends until it is stopped or an end closes.
fn carry(ends: &[File; 2], mut packet_corruptor: impl PacketFilter, is_over: &AtomicBool) {
    let mut packet = vec![0; LONGEST];
    let mut out = Vec::new();
    let read = Interest {
        read: true,
        write: false,
    };
    while !is_over.load(Ordering::Relaxed) {
        let waited = poll::wait(
            [(ends[0].as_fd(), read), (ends[1].as_fd(), read)],
            Some(LOOK),
        );
        if waited.is_err() {
            return;
        }
        for (direction, from, to) in [(Direction::FromEngine, 0, 1), (Direction::FromKernel, 1, 0)]
        {
            for _ in 0..BATCH {
                let len = match (&ends[from]).read(&mut packet) {
                    Ok(0) => return,
                    Ok(len) => len,
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    Err(_) => return,
                };
                packet_corruptor.on_packet(direction, &packet[..len], &mut out);
                for made in out.drain(..) {
                    hand_on(&ends[to], &made);
                }
            }
        }
    }
}

/// Writes a packet. A refused packet is lost.
fn hand_on(mut to: &File, packet: &[u8]) {
    let _: io::Result<usize> = to.write(packet);
}
