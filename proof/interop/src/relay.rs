//! A wire between the engine and a TUN device of the kernel, with a [`Meddle`] that sees every
//! packet and decides what is handed on in its place.
//!
//! The engine's end is one of a pair of sockets, which keep packets apart as a
//! TUN device does; so the engine can be given what no kernel would give: headers
//! for offloads that contradict the packet, packets cut anywhere. What finds the
//! engine's queue full is lost.

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

/// The longest packet, with its header for offloads.
const LONGEST: usize = 10 + 65_536;
/// How long it sleeps before it looks whether it is still wanted.
const LOOK: Duration = Duration::from_millis(20);
/// Packets of one side before the other has its turn.
const BATCH: usize = 32;

/// Where a packet comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// From the engine to the kernel.
    FromEngine,
    /// From the kernel to the engine.
    FromKernel,
}

/// Who is on the wire.
pub trait Meddle: Send {
    /// A packet, with its header for offloads, has come; what is to be handed on
    /// goes into `out`.
    fn on_packet(&mut self, way: Way, packet: &[u8], out: &mut Vec<Vec<u8>>);
}

/// A thread that carries packets between the engine and the kernel.
#[derive(Debug)]
pub struct Relay {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Relay {
    /// Makes the device in `namespace`, and the engine's end of the wire.
    ///
    /// # Errors
    /// [`SetupError`]: what failed, and what is missing.
    pub fn start(
        namespace: &Namespace,
        config: &TunConfig,
        packet_corruptor: impl Meddle + 'static,
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
            // A panic has been printed.
            let _ = thread.join();
        }
    }
}

/// Carries packets between the ends, the engine's and the kernel's, until it is
/// over or one of them is gone.
fn carry(ends: &[File; 2], mut packet_corruptor: impl Meddle, is_over: &AtomicBool) {
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
        for (way, from, to) in [(Way::FromEngine, 0, 1), (Way::FromKernel, 1, 0)] {
            for _ in 0..BATCH {
                let len = match (&ends[from]).read(&mut packet) {
                    Ok(0) => return,
                    Ok(len) => len,
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    Err(_) => return,
                };
                packet_corruptor.on_packet(way, &packet[..len], &mut out);
                for made in out.drain(..) {
                    hand_on(&ends[to], &made);
                }
            }
        }
    }
}

/// What the other side refuses, or has no room for, is lost.
fn hand_on(mut to: &File, packet: &[u8]) {
    let _: io::Result<usize> = to.write(packet);
}
