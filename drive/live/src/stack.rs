//! A stack: a device, the thread that drives it, and the interface to its connections.

use std::fs::File;
use std::io::{self, Read};
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use gigatcp_linux::process;

use crate::device::Device;
use crate::engine::{Engine, StackCounters};
use crate::options::Options;
use crate::realtime_priority::RealtimePriority;
use crate::shared::{Command, Shared, gone};
use crate::socket::Socket;
use crate::stream::{Listener, Stream};

/// Interval of the checks in [`Stack::settle`].
const LOOK: Duration = Duration::from_millis(2);

/// Time for which a call blocks before it checks whether to continue.
pub(crate) const PATIENCE: Duration = Duration::from_millis(20);

/// CPU and priority of a stack's thread.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Scheduling {
    /// Number of the only CPU that it may use.
    pub processor: Option<usize>,
    /// Whether it has real-time priority while it uses less than half of a CPU. The kernel's own
    /// TCP has priority likewise. It requires a privilege (`CAP_SYS_NICE`);
    /// [`StackCounters::is_first`] shows whether it was granted.
    pub is_first: bool,
}

/// A separate TCP on a device. Dropping it resets its connections and removes the device;
/// [`Stack::settle`] first waits for those that still have data to deliver.
///
/// ```
/// use std::io::Write;
/// use std::time::Duration;
///
/// use gigatcp_live::{Interface, Options, Stack, Wire};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let [near, far] = Wire::pair(
///     Interface::new(["10.0.0.1".parse()?]),
///     Interface::new(["10.0.0.2".parse()?]),
/// )?;
/// let (client, server) = (Stack::start(near)?, Stack::start(far)?);
/// let listener = server.listen("10.0.0.2:80", &Options::default())?;
/// client.connect("10.0.0.2:80", &Options::default())?.write_all(b"hello")?;
/// // The stream was dropped; what was written is delivered anyway.
/// let (accepted, _) = listener.accept()?;
/// assert_eq!(accepted.receive(100)?, "hello");
/// drop(accepted);
/// assert!(client.settle(Duration::from_secs(5))?);
/// assert!(client.counters()?.device.writes > 0);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Stack {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Stack {
    /// Starts a thread that drives the engine on `device`.
    ///
    /// # Errors
    /// If no thread, descriptor or random number is available.
    pub fn start(device: impl Device + 'static) -> io::Result<Self> {
        Self::start_with(device, Scheduling::default())
    }

    /// Starts a thread with CPU and priority as in `scheduling`.
    ///
    /// # Errors
    /// As [`Stack::start`]; also if there is no such CPU.
    pub fn start_with(device: impl Device + 'static, scheduling: Scheduling) -> io::Result<Self> {
        let mut secret = [0; 16];
        File::open("/dev/urandom")?.read_exact(&mut secret)?;
        let shared = Arc::new(Shared::new()?);
        let engine = Engine::new(Box::new(device), Arc::clone(&shared), secret);
        let (answer, pinned) = sync_channel(1);
        let named = thread::Builder::new().name("gigatcp".into());
        let thread = named.spawn(move || {
            let processor = scheduling.processor;
            let done = processor.map_or(Ok(()), process::pin_to_processor);
            // The starting thread waits for the answer.
            let _ = answer.send(done);
            engine.run(match scheduling.is_first {
                true => RealtimePriority::ask(),
                false => RealtimePriority::default(),
            })
        })?;
        let stack = Self {
            shared,
            thread: Some(thread),
        };
        pinned.recv().map_err(|_| gone())??;
        Ok(stack)
    }

    /// Opens a connection and waits until it is established. A host name is resolved by this
    /// machine, and its addresses are tried in order.
    ///
    /// Why it failed, with the last address: refused, unreachable, no answer, no local address or
    /// port; or the name has no address.
    pub fn connect(&self, remote: impl ToSocketAddrs, options: &Options) -> io::Result<Stream> {
        each_address(remote, |remote| {
            let stream = self.begin_connect(remote, options)?;
            stream.socket().wait_connected(None)?;
            Ok(stream)
        })
    }

    /// Opens a connection, and gives up after `timeout`.
    ///
    /// # Errors
    /// As [`Stack::connect`], and [`io::ErrorKind::TimedOut`].
    pub fn connect_timeout(
        &self,
        remote: impl Into<SocketAddr>,
        options: &Options,
        timeout: Duration,
    ) -> io::Result<Stream> {
        let stream = self.begin_connect(remote.into(), options)?;
        stream.socket().wait_connected(Some(timeout))?;
        Ok(stream)
    }

    /// Opens a connection, and gives up once `goes_on` returns false. It returns `None` then.
    ///
    /// # Errors
    /// As [`Stack::connect`].
    pub fn connect_while(
        &self,
        remote: impl Into<SocketAddr>,
        options: &Options,
        goes_on: impl Fn() -> bool,
    ) -> io::Result<Option<Stream>> {
        let stream = self.begin_connect(remote.into(), options)?;
        while goes_on() {
            if stream.socket().has_connected_within(PATIENCE)? {
                return Ok(Some(stream));
            }
        }
        Ok(None)
    }

    pub(crate) fn begin_connect(
        &self,
        remote: SocketAddr,
        options: &Options,
    ) -> io::Result<Stream> {
        let socket = Arc::new(Socket::new(Arc::clone(&self.shared)));
        let stream = Stream::new(Arc::clone(&socket));
        self.shared.send(Command::Open {
            socket,
            remote,
            options: Box::new(options.clone()),
        })?;
        Ok(stream)
    }

    /// Listens on an address of the stack; the unspecified address means all of its family. Port 0
    /// selects a free one, see [`Listener::local_addr`].
    ///
    /// # Errors
    /// If the address is not the device's, or the port is in use.
    pub fn listen(&self, at: impl ToSocketAddrs, options: &Options) -> io::Result<Listener> {
        each_address(at, |at| self.listen_at(at, options))
    }

    fn listen_at(&self, at: SocketAddr, options: &Options) -> io::Result<Listener> {
        let (answer, done) = sync_channel(1);
        self.shared.send(Command::Listen {
            at,
            options: Box::new(options.clone()),
            answer,
        })?;
        let acceptor = done.recv().map_err(|_| gone())??;
        Ok(Listener::new(acceptor, Arc::clone(&self.shared)))
    }

    /// Present counters.
    ///
    /// # Errors
    /// If the stack has ended.
    pub fn counters(&self) -> io::Result<StackCounters> {
        let (answer, counted) = sync_channel(1);
        self.shared.send(Command::Count { answer })?;
        counted.recv().map_err(|_| gone())
    }

    /// Waits until all connections are closed or in TIME-WAIT. All data written before streams were
    /// dropped are then delivered. Returns whether that happened within `longest`.
    ///
    /// # Errors
    /// If the stack has ended.
    pub fn settle(&self, longest: Duration) -> io::Result<bool> {
        let deadline = Instant::now() + longest;
        loop {
            let counters = self.counters()?;
            if counters.connections == counters.time_wait {
                return Ok(true);
            }
            if Instant::now() >= deadline {
                return Ok(false);
            }
            thread::sleep(LOOK);
        }
    }

    /// Resets all connections, takes the device down and waits for the thread.
    ///
    /// # Errors
    /// The error that ended the stack before, for instance that its device was gone.
    pub fn stop(mut self) -> io::Result<()> {
        self.end()
    }

    fn end(&mut self) -> io::Result<()> {
        let Some(thread) = self.thread.take() else {
            return Ok(());
        };
        // It may have ended by itself.
        let _ = self.shared.send(Command::Stop);
        match thread.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

/// Tries addresses in order; returns the first success, or the last error.
fn each_address<T>(
    addresses: impl ToSocketAddrs,
    mut attempt: impl FnMut(SocketAddr) -> io::Result<T>,
) -> io::Result<T> {
    let mut done = Err(no_address());
    for address in addresses.to_socket_addrs()? {
        done = attempt(address);
        if done.is_ok() {
            break;
        }
    }
    done
}

/// Error for a name without addresses.
pub(crate) fn no_address() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "the name has no address")
}

impl Drop for Stack {
    fn drop(&mut self) {
        if !thread::panicking() {
            // `stop` returns the error.
            let _ = self.end();
        }
    }
}
