//! [`TcpListener`] and [`TcpSocket`], as those of `tokio::net`.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use gigatcp_tcp::endpoint::ListenError;
use gigatcp_tcp::listener::ListenerConfig;
use gigatcp_tcp::{Secret, TransportConfig};
use gigatcp_units::Bytes;

use tokio::task::coop::consume_budget;

use crate::address::{ToSocketAddrs, first_of};
use crate::driver::Shared;
use crate::packet::DEFAULT_TTL;
use crate::scope;
use crate::socket::Socket;
use crate::stream::TcpStream;
use crate::waiting::{Awaited, Waiter, Waiting, wait};
use crate::world::World;

/// Backlog of [`TcpListener::bind`], as tokio's.
const BACKLOG: u32 = 1024;

/// A listening socket, as `tokio::net::TcpListener`. Dropping it resets connections that were not
/// accepted.
#[derive(Debug)]
pub struct TcpListener {
    shared: Arc<Shared>,
    node: u32,
    boot: u32,
    at: SocketAddr,
    ttl: AtomicU32,
    tos: u8,
}

impl TcpListener {
    /// Listens at an address of the host, at the first that is free. Port 0 chooses one.
    ///
    /// # Errors
    /// `AddrInUse`; `AddrNotAvailable` for an address of another host.
    pub async fn bind<A: ToSocketAddrs>(addr: A) -> io::Result<Self> {
        first_of(addr, |at| listen(at, BACKLOG, &|_| {}))
    }

    /// Waits for the next connection. Dropping the future loses none.
    ///
    /// # Errors
    /// If the host has crashed.
    pub async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        consume_budget().await;
        wait(self, |waiter| self.accept_or_wait(waiter)).await
    }

    /// Polls [`TcpListener::accept`].
    ///
    /// # Errors
    /// If the host has crashed.
    pub fn poll_accept(
        &self,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<(TcpStream, SocketAddr)>> {
        self.accept_or_wait(Waiter::last(context.waker()))
    }

    fn accept_or_wait(&self, waiter: Waiter<'_>) -> Poll<io::Result<(TcpStream, SocketAddr)>> {
        scope::learn(self.node);
        let accepted = self.shared.with(|world| {
            let now = world.now;
            let host = world.host_mut(self.node);
            let Some(host) = host.filter(|host| host.boot == self.boot) else {
                return Err(io::Error::new(
                    io::ErrorKind::NotConnected,
                    "the host of this listener has crashed",
                ));
            };
            let Some(handle) = host.endpoint.accept(now, self.at) else {
                let waiting = host.listeners.entry(self.at).or_default();
                return Ok(Err(waiting.add(waiter)));
            };
            host.adopt(handle, true);
            world.flush(self.node);
            Ok(Ok(handle))
        });
        let handle = match accepted {
            Ok(Ok(handle)) => handle,
            Ok(Err(_replaced)) => return Poll::Pending,
            Err(error) => return Poll::Ready(Err(error)),
        };
        let socket = Socket::new(&self.shared, self.node, self.boot, handle);
        let ttl = self.ttl.load(Ordering::Relaxed);
        if ttl != u32::from(DEFAULT_TTL) {
            socket.set_ttl(ttl)?;
        }
        if self.tos != 0 {
            socket.set_tos(self.tos)?;
        }
        let peer = socket.get(|connection| {
            let tuple = connection.tuple;
            SocketAddr::new(tuple.remote_address(), tuple.remote_port)
        })?;
        Poll::Ready(Ok((TcpStream::new(socket), peer)))
    }

    /// Address that it listens at.
    ///
    /// # Errors
    /// None: it is fallible as in tokio.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.at)
    }

    /// TTL of packets of accepted connections.
    ///
    /// # Errors
    /// None: it is fallible as in tokio.
    pub fn ttl(&self) -> io::Result<u32> {
        Ok(self.ttl.load(Ordering::Relaxed))
    }

    /// Sets the TTL of connections accepted from now on, after their handshake.
    ///
    /// # Errors
    /// `InvalidInput` unless it is from 1 to 255.
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        if !(1..=255).contains(&ttl) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        self.ttl.store(ttl, Ordering::Relaxed);
        Ok(())
    }
}

impl Awaited for TcpListener {
    fn forget(&self, key: u64) {
        self.shared.with(|world| {
            let host = world.host_mut(self.node);
            let host = host.filter(|host| host.boot == self.boot);
            host?.listeners.get_mut(&self.at)?.remove(key)
        });
    }
}

impl Drop for TcpListener {
    fn drop(&mut self) {
        self.shared.with(|world| {
            let now = world.now;
            let host = world.host_mut(self.node);
            let host = host.filter(|host| host.boot == self.boot)?;
            // The kernel resets connections that were not accepted.
            while let Some(handle) = host.endpoint.accept(now, self.at) {
                host.endpoint.abort(now, handle);
                host.endpoint.close(now, handle);
            }
            host.endpoint.unlisten(self.at);
            let waiting = host.listeners.remove(&self.at);
            world.flush(self.node);
            waiting
        });
    }
}

/// Listens on the host of the present task.
fn listen(
    at: SocketAddr,
    backlog: u32,
    adjust: &dyn Fn(&mut Arc<TransportConfig>),
) -> io::Result<TcpListener> {
    let (shared, node) = scope::here()?;
    let bound = shared.with(|world| listen_on(world, node, at, backlog, adjust));
    let (boot, at) = bound?;
    Ok(TcpListener {
        shared,
        node,
        boot,
        at,
        ttl: AtomicU32::new(DEFAULT_TTL.into()),
        tos: 0,
    })
}

fn listen_on(
    world: &mut World,
    node: u32,
    mut at: SocketAddr,
    backlog: u32,
    adjust: &dyn Fn(&mut Arc<TransportConfig>),
) -> io::Result<(u32, SocketAddr)> {
    let host = world
        .host_mut(node)
        .ok_or_else(|| io::Error::other("this task's host does not exist"))?;
    if !host.may_bind(at.ip()) {
        return Err(io::ErrorKind::AddrNotAvailable.into());
    }
    if at.port() == 0 {
        let port = host.free_port(at.ip(), false);
        at.set_port(port.ok_or(io::ErrorKind::AddrInUse)?);
    }
    if host.is_taken(at, false) {
        return Err(io::ErrorKind::AddrInUse.into());
    }
    let mut transport = host.config.clone();
    adjust(&mut transport);
    let backlog = backlog.min(host.max_backlog.unwrap_or(u32::MAX));
    // Linux takes one more (`sk_acceptq_is_full`).
    let limit = backlog.saturating_add(1) as usize;
    let config = ListenerConfig {
        transport,
        // Replaced by the host's.
        secret: Secret::new([0; 16]),
        backlog: limit,
        accept_backlog: limit,
        fast_open_backlog: limit,
        abort_on_overflow: false,
    };
    let listening = host.endpoint.listen(at, config);
    listening.map_err(|error| {
        let kind = match error {
            ListenError::NotLocal => io::ErrorKind::AddrNotAvailable,
            ListenError::Taken => io::ErrorKind::AddrInUse,
            _ => io::ErrorKind::InvalidInput,
        };
        io::Error::new(kind, error)
    })?;
    host.listeners.insert(at, Waiting::default());
    Ok((host.boot, at))
}

/// A socket before it connects or listens, as `tokio::net::TcpSocket`.
#[derive(Debug)]
pub struct TcpSocket {
    is_v4: bool,
    options: Mutex<Options>,
}

/// Options of a socket before it has a connection.
#[derive(Clone, Default, Debug)]
struct Options {
    local: Option<SocketAddr>,
    nodelay: bool,
    keepalive: bool,
    linger: Option<Duration>,
    send_buffer: Option<u32>,
    receive_buffer: Option<u32>,
    reuse_address: bool,
    reuse_port: bool,
    tos: u32,
}

impl Options {
    fn adjust(&self, config: &mut Arc<TransportConfig>) {
        if let Some(size) = self.send_buffer {
            Arc::make_mut(config).send_buffer = Some(Bytes::new(size.into()));
        }
        if let Some(size) = self.receive_buffer {
            Arc::make_mut(config).receive_buffer = Some(Bytes::new(size.into()));
        }
    }
}

impl TcpSocket {
    /// Creates an IPv4 socket.
    ///
    /// # Errors
    /// None: it is fallible as in tokio.
    pub fn new_v4() -> io::Result<Self> {
        Ok(Self::of_family(true))
    }

    /// Creates an IPv6 socket.
    ///
    /// # Errors
    /// None: it is fallible as in tokio.
    pub fn new_v6() -> io::Result<Self> {
        Ok(Self::of_family(false))
    }

    fn of_family(is_v4: bool) -> Self {
        Self {
            is_v4,
            options: Mutex::default(),
        }
    }

    fn options(&self) -> MutexGuard<'_, Options> {
        self.options.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn into_options(self) -> Options {
        let options = self.options.into_inner();
        options.unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes over the family, address and TCP_NODELAY of a socket of the machine, which is closed; other
    /// options are lost. For programs that set options before they connect.
    pub fn from_std_stream(stream: std::net::TcpStream) -> Self {
        // An unbound socket has the unspecified address and no port.
        let at = stream.local_addr().ok();
        let socket = Self::of_family(at.is_none_or(|at| at.is_ipv4()));
        let is_bound = |at: &SocketAddr| !at.ip().is_unspecified() || at.port() != 0;
        socket.options().local = at.filter(is_bound);
        socket.options().nodelay = stream.nodelay().unwrap_or(false);
        socket
    }

    /// Sets the address that it connects from or listens at.
    ///
    /// # Errors
    /// `InvalidInput` for an address of the other family or a second call, `AddrNotAvailable` for
    /// one of another host, `AddrInUse` if a listener has it.
    pub fn bind(&self, addr: SocketAddr) -> io::Result<()> {
        if addr.is_ipv4() != self.is_v4 || self.options().local.is_some() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let (shared, node) = scope::here()?;
        let bound = shared.with(|world| -> io::Result<SocketAddr> {
            let host = world.host_mut(node).ok_or(io::ErrorKind::NotFound)?;
            if !host.may_bind(addr.ip()) {
                return Err(io::ErrorKind::AddrNotAvailable.into());
            }
            let mut at = addr;
            if at.port() == 0 {
                let port = host.free_port(at.ip(), false);
                at.set_port(port.ok_or(io::ErrorKind::AddrInUse)?);
            }
            if host.is_taken(at, false) {
                return Err(io::ErrorKind::AddrInUse.into());
            }
            Ok(at)
        });
        self.options().local = Some(bound?);
        Ok(())
    }

    /// Opens a connection.
    ///
    /// # Errors
    /// As [`TcpStream::connect`].
    pub async fn connect(self, addr: SocketAddr) -> io::Result<TcpStream> {
        if addr.is_ipv4() != self.is_v4 {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let options = self.into_options();
        let socket = Socket::connect(options.local, addr, options.tos as u8, |config| {
            options.adjust(config);
        })?;
        socket.set_nodelay(options.nodelay)?;
        socket.set_keepalive(options.keepalive)?;
        socket.set(|connection| connection.linger = options.linger)?;
        wait(&socket, |waiter| socket.poll_connected(waiter)).await?;
        Ok(TcpStream::new(socket))
    }

    /// Listens at the bound address. As on Linux, `backlog` connections and one more can wait to be
    /// accepted.
    ///
    /// # Errors
    /// As [`TcpListener::bind`].
    pub fn listen(self, backlog: u32) -> io::Result<TcpListener> {
        let any = if self.is_v4 {
            Ipv4Addr::UNSPECIFIED.into()
        } else {
            Ipv6Addr::UNSPECIFIED.into()
        };
        let options = self.into_options();
        let at = options.local.unwrap_or(SocketAddr::new(any, 0));
        let mut listener = listen(at, backlog, &|config| options.adjust(config))?;
        listener.tos = options.tos as u8;
        Ok(listener)
    }

    /// Address that it is bound to, or the unspecified one.
    ///
    /// # Errors
    /// None: it is fallible as in tokio.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        let any = if self.is_v4 {
            SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0))
        } else {
            SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0))
        };
        Ok(self.options().local.unwrap_or(any))
    }

    /// Requests a send buffer size; the host's profile decides what is granted.
    ///
    /// # Errors
    /// None: it is fallible as in tokio.
    pub fn set_send_buffer_size(&self, size: u32) -> io::Result<()> {
        self.options().send_buffer = Some(size);
        Ok(())
    }

    /// Requests a receive buffer size.
    ///
    /// # Errors
    /// None: it is fallible as in tokio.
    pub fn set_recv_buffer_size(&self, size: u32) -> io::Result<()> {
        self.options().receive_buffer = Some(size);
        Ok(())
    }

    /// Twice the requested send buffer size, as Linux returns it; 0 if none was requested.
    ///
    /// # Errors
    /// None: it is fallible as in tokio.
    pub fn send_buffer_size(&self) -> io::Result<u32> {
        Ok(self
            .options()
            .send_buffer
            .map_or(0, |size| size.saturating_mul(2)))
    }

    /// Twice the requested receive buffer size, as Linux returns it; 0 if none was requested.
    ///
    /// # Errors
    /// None: it is fallible as in tokio.
    pub fn recv_buffer_size(&self) -> io::Result<u32> {
        Ok(self
            .options()
            .receive_buffer
            .map_or(0, |size| size.saturating_mul(2)))
    }

    /// Switches Nagle's algorithm off.
    ///
    /// # Errors
    /// None: it is fallible as in tokio.
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        self.options().nodelay = nodelay;
        Ok(())
    }

    /// Whether Nagle's algorithm is off.
    ///
    /// # Errors
    /// None: it is fallible as in tokio.
    pub fn nodelay(&self) -> io::Result<bool> {
        Ok(self.options().nodelay)
    }

    /// Switches keep-alives on, at the times of the host's profile.
    ///
    /// # Errors
    /// None: it is fallible as in tokio.
    pub fn set_keepalive(&self, keepalive: bool) -> io::Result<()> {
        self.options().keepalive = keepalive;
        Ok(())
    }

    /// Whether keep-alives are on.
    ///
    /// # Errors
    /// None: it is fallible as in tokio.
    pub fn keepalive(&self) -> io::Result<bool> {
        Ok(self.options().keepalive)
    }

    /// Sets `SO_LINGER`, as [`TcpStream::set_linger`].
    ///
    /// # Errors
    /// None: it is fallible as in tokio.
    pub fn set_linger(&self, linger: Option<Duration>) -> io::Result<()> {
        self.options().linger = linger;
        Ok(())
    }

    /// Makes a drop of the connection reset it.
    ///
    /// # Errors
    /// None: it is fallible as in tokio.
    pub fn set_zero_linger(&self) -> io::Result<()> {
        self.set_linger(Some(Duration::ZERO))
    }

    /// `None`: a socket without a connection has no error.
    ///
    /// # Errors
    /// None: it is fallible as in tokio.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        Ok(None)
    }

    /// The value of [`TcpSocket::set_linger`].
    ///
    /// # Errors
    /// None: it is fallible as in tokio.
    pub fn linger(&self) -> io::Result<Option<Duration>> {
        Ok(self.options().linger)
    }

    /// Sets `SO_REUSEADDR`. It has no effect: connections in TIME-WAIT never keep a port from being
    /// bound here.
    ///
    /// # Errors
    /// None: it is fallible as in tokio.
    pub fn set_reuseaddr(&self, reuse: bool) -> io::Result<()> {
        self.options().reuse_address = reuse;
        Ok(())
    }

    /// The value of [`TcpSocket::set_reuseaddr`].
    ///
    /// # Errors
    /// None: it is fallible as in tokio.
    pub fn reuseaddr(&self) -> io::Result<bool> {
        Ok(self.options().reuse_address)
    }

    /// Sets `SO_REUSEPORT`. Listeners do not share a port here: a second one is `AddrInUse`.
    ///
    /// # Errors
    /// None: it is fallible as in tokio.
    pub fn set_reuseport(&self, reuse: bool) -> io::Result<()> {
        self.options().reuse_port = reuse;
        Ok(())
    }

    /// The value of [`TcpSocket::set_reuseport`].
    ///
    /// # Errors
    /// None: it is fallible as in tokio.
    pub fn reuseport(&self) -> io::Result<bool> {
        Ok(self.options().reuse_port)
    }

    /// Binds to an interface (`SO_BINDTODEVICE`). Hosts have no named interfaces here.
    ///
    /// # Errors
    /// `NotFound` unless the name is empty or `None`.
    pub fn bind_device(&self, interface: Option<&[u8]>) -> io::Result<()> {
        no_device(interface)
    }

    /// Interface that it is bound to: none, see [`TcpSocket::bind_device`].
    ///
    /// # Errors
    /// None: it is fallible as in tokio.
    pub fn device(&self) -> io::Result<Option<Vec<u8>>> {
        Ok(None)
    }

    /// `IP_TOS` of its connections, of accepted ones after their handshake. Its DSCP selects a class of
    /// the queue `htb`.
    ///
    /// # Errors
    /// None: it is fallible as in tokio.
    pub fn tos_v4(&self) -> io::Result<u32> {
        Ok(self.options().tos)
    }

    /// Sets [`TcpSocket::tos_v4`].
    ///
    /// # Errors
    /// None: it is fallible as in tokio.
    pub fn set_tos_v4(&self, tos: u32) -> io::Result<()> {
        self.options().tos = tos;
        Ok(())
    }

    /// `IPV6_TCLASS`, as [`TcpSocket::tos_v4`].
    ///
    /// # Errors
    /// None: it is fallible as in tokio.
    pub fn tclass_v6(&self) -> io::Result<u32> {
        self.tos_v4()
    }

    /// Sets [`TcpSocket::tclass_v6`].
    ///
    /// # Errors
    /// None: it is fallible as in tokio.
    pub fn set_tclass_v6(&self, tclass: u32) -> io::Result<()> {
        self.set_tos_v4(tclass)
    }
}

/// Refuses to bind to an interface.
pub(crate) fn no_device(interface: Option<&[u8]>) -> io::Result<()> {
    if interface.is_none_or(<[u8]>::is_empty) {
        return Ok(());
    }
    let text = "hosts have no named interfaces here: bind to an address";
    Err(io::Error::new(io::ErrorKind::NotFound, text))
}
