//! One stream of a test: its socket, its counters, and the thread that moves its data.

use std::io;
use std::net::{Shutdown, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

use socket2::SockRef;

use super::connection::Connection;
use super::counters::{Counters, Role};
use super::delay::DelayLog;
use super::nuttcp::link::Link;
use super::options::{self, Effective, Override};
use super::request::Offload;
use super::shared::Shared;
use super::socket::Socket;
use super::{tcp, udp};
use crate::View;
use crate::system::lock;

/// Number of streams of this process, of all its tests.
static STREAMS: AtomicUsize = AtomicUsize::new(0);

/// Number of streams sampled at the normal interval. With more, samples would take the CPUs from
/// the data, and most readings of a test of 10 s would not be kept.
const OFTEN: u32 = 16;

/// Sampling interval for the current number of streams in this process.
pub(super) fn spaced(step: Duration) -> Duration {
    let streams = STREAMS.load(Ordering::Relaxed);
    step * (u32::try_from(streams).unwrap_or(u32::MAX) / OFTEN).max(1)
}

/// A connected stream with its thread, which waits for the start of the test.
#[derive(Debug)]
pub(super) struct Stream {
    /// iperf3's number of the stream.
    pub(super) id: u64,
    pub(super) role: Role,
    pub(super) socket: Arc<Socket>,
    pub(super) counters: Arc<Counters>,
    pub(super) options: Effective,
    pub(super) local: SocketAddr,
    pub(super) peer: SocketAddr,
    thread: Option<JoinHandle<()>>,
}

impl Stream {
    /// Starts the thread of a connected socket. `link` is the state of nuttcp's protocol; `None`:
    /// iperf3's.
    pub(super) fn spawn(
        (id, role): (u64, Role),
        socket: Socket,
        shared: &Shared,
        link: Option<Arc<Link>>,
    ) -> io::Result<Self> {
        let ([local, peer], options) = match &socket {
            Socket::Tcp(socket) => connected(socket, shared)?,
            #[cfg(target_os = "linux")]
            Socket::Engine(stream) => connected(&**stream, shared)?,
            Socket::Ndt7(stream) => connected(&**stream, shared)?,
            Socket::Udp(socket) => {
                options::apply_after(SockRef::from(socket), &shared.parameters)?;
                let options = options::effective(SockRef::from(socket), &shared.parameters)?;
                ([socket.local_addr()?, socket.peer_addr()?], options)
            }
        };
        let (socket, counters) = (Arc::new(socket), Arc::new(Counters::default()));
        let job = (socket.clone(), counters.clone(), shared.clone());
        let thread = std::thread::Builder::new()
            .name(format!("stream {id}"))
            .spawn(move || work((id, role), &job.0, &job.1, &job.2, link.as_deref()))?;
        STREAMS.fetch_add(1, Ordering::Relaxed);
        Ok(Self {
            id,
            role,
            socket,
            counters,
            options,
            local,
            peer,
            thread: Some(thread),
        })
    }

    /// Current `tcp_info`; `None`: not TCP.
    pub(super) fn view(&self) -> Option<View> {
        self.socket.connection()?.view().ok()
    }

    /// Wakes the thread from a blocking call.
    pub(super) fn interrupt(&self) {
        let how = match self.role {
            Role::Sender => Shutdown::Write,
            Role::Receiver => Shutdown::Read,
        };
        match (&*self.socket, self.role) {
            (Socket::Udp(_), Role::Sender) => {}
            // It fails if the peer has reset the connection, which wakes the thread too.
            (socket, _) => drop(socket.shutdown(how)),
        }
    }

    /// Waits for the end of the thread.
    pub(super) fn join(&mut self) {
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }

    /// Bytes that it has sent or received.
    pub(super) fn bytes(&self) -> u64 {
        self.counters.bytes.load(Ordering::Acquire)
    }

    /// CPU time of the thread: user and system.
    pub(super) fn cpu(&self) -> [Duration; 2] {
        let micros = |index: usize| self.counters.cpu[index].load(Ordering::Acquire);
        [0, 1].map(|index| Duration::from_micros(micros(index)))
    }

    /// Delays it measured as a receiver of datagrams.
    pub(super) fn delays(&self) -> MutexGuard<'_, DelayLog> {
        lock(&self.counters.delays)
    }

    /// Its options, with what has been learned about them since its start.
    pub(super) fn options(&self, offload: Offload) -> Effective {
        let mut options = self.options.clone();
        options.udp_offload = self.counters.is_offloaded.load(Ordering::Acquire);
        let refusal = lock(&self.counters.offload_refusal);
        if let (Offload::Requested, Some(cause)) = (offload, &*refusal) {
            options.overrides.push(Override {
                option: "GSO and GRO of UDP (gsro)",
                requested: Offload::Requested.name().into(),
                effective: Offload::Off.name().into(),
                cause: cause.clone(),
            });
        }
        options
    }

    /// Whether its thread has ended.
    pub(super) fn is_ended(&self) -> bool {
        self.counters.is_ended.load(Ordering::Acquire)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        STREAMS.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Addresses and options of a newly connected stream.
fn connected(
    connection: &dyn Connection,
    shared: &Shared,
) -> io::Result<([SocketAddr; 2], Effective)> {
    let options = connection.apply_options(&shared.parameters)?;
    Ok((connection.addresses()?, options))
}

/// Runs the thread of a stream.
fn work(
    (id, role): (u64, Role),
    socket: &Socket,
    counters: &Counters,
    shared: &Shared,
    link: Option<&Link>,
) {
    let pinned = match shared.processor {
        Some(processor) => crate::system::process::pin_to_processor(processor),
        None => Ok(()),
    };
    if let Some(turns) = &shared.turns {
        let parallel = shared.parameters.parallel.max(1) as usize;
        turns.wait(place_of(id) % parallel, &shared.switch);
    }
    let result = match (socket, role, link) {
        _ if pinned.is_err() => pinned,
        (Socket::Tcp(socket), _, None) => tcp::work(role, socket, counters, shared),
        #[cfg(target_os = "linux")]
        (Socket::Engine(stream), _, None) => tcp::work(role, &**stream, counters, shared),
        (Socket::Ndt7(stream), _, None) => tcp::work(role, &**stream, counters, shared),
        (Socket::Udp(socket), Role::Sender, None) => udp::send(socket, counters, shared),
        (Socket::Udp(socket), Role::Receiver, None) => udp::receive(socket, counters, shared),
        (socket, role, Some(link)) => link.work((place_of(id), role), socket, counters, shared),
    };
    match result {
        Err(error) if !shared.switch.is_stopped() => counters.fail(error),
        _ => {}
    }
    let (user, system) = crate::system::clock::thread_split();
    for (place, time) in counters.cpu.iter().zip([user, system]) {
        place.store(time.as_micros() as u64, Ordering::Release);
    }
    counters.is_ended.store(true, Ordering::Release);
    if let Some(link) = link {
        link.wake();
    }
}

/// Position of a stream in the order of opening.
fn place_of(id: u64) -> usize {
    // iperf3 numbers streams 1, 3, 4, 5.
    id.saturating_sub(if id > 1 { 2 } else { 1 }) as usize
}
