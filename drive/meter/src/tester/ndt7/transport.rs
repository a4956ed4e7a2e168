//! What is below the WebSocket: TCP, or TLS over it. Waits are bounded here.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Instant;

/// A TCP connection whose reads are bounded: in time before the test, in number while it runs.
#[derive(Debug)]
pub(super) struct Bounded {
    socket: TcpStream,
    /// End of all waits; `None`: the test runs, and its end shuts the connection down.
    deadline: Option<Instant>,
    /// Whether the next read may wait. One read is allowed at a time, so that its caller counts the
    /// bytes of a message that is not complete.
    may_read: bool,
    /// Bytes read.
    received: u64,
}

impl Bounded {
    pub(super) const fn new(socket: TcpStream, deadline: Instant) -> Self {
        Self {
            socket,
            deadline: Some(deadline),
            may_read: false,
            received: 0,
        }
    }

    /// Sets the timeouts to the time that is left.
    fn bound(&self, deadline: Instant) -> io::Result<()> {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        self.socket.set_read_timeout(Some(left))?;
        self.socket.set_write_timeout(Some(left))
    }
}

/// A socket whose timeout is over reports one of two kinds of error.
fn timed_out(error: io::Error) -> io::Error {
    match error.kind() {
        ErrorKind::WouldBlock => ErrorKind::TimedOut.into(),
        _ => error,
    }
}

impl Read for Bounded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(deadline) = self.deadline {
            self.bound(deadline)?;
            return self.socket.read(buffer).map_err(timed_out);
        }
        if !std::mem::take(&mut self.may_read) {
            return Err(ErrorKind::WouldBlock.into());
        }
        let read = self.socket.read(buffer)?;
        self.received += read as u64;
        Ok(read)
    }
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(deadline) = self.deadline else {
            return self.socket.write(bytes);
        };
        self.bound(deadline)?;
        self.socket.write(bytes).map_err(timed_out)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The connection of a test.
#[derive(Debug)]
pub(super) enum Transport {
    Plain(Bounded),
    #[cfg(feature = "tls")]
    Tls(Box<rustls::StreamOwned<rustls::ClientConnection, Bounded>>),
}

impl Transport {
    fn connection(&mut self) -> &mut Bounded {
        match self {
            Self::Plain(connection) => connection,
            #[cfg(feature = "tls")]
            Self::Tls(stream) => &mut stream.sock,
        }
    }

    /// Ends the bound in time: the test begins.
    pub(super) fn begin(&mut self) -> io::Result<()> {
        let connection = self.connection();
        connection.deadline = None;
        connection.socket.set_read_timeout(None)?;
        connection.socket.set_write_timeout(None)
    }

    /// Allows one read of the socket.
    pub(super) fn allow_read(&mut self) {
        self.connection().may_read = true;
    }

    /// Bytes received since the test began.
    pub(super) fn received(&mut self) -> u64 {
        self.connection().received
    }

    /// Begins TLS with a server of that name, whose certificate the system's authorities confirm.
    #[cfg(feature = "tls")]
    pub(super) fn secure(mut connection: Bounded, host: &str) -> Result<Self, String> {
        use std::sync::Arc;

        let found = rustls_native_certs::load_native_certs();
        let mut roots = rustls::RootCertStore::empty();
        roots.add_parsable_certificates(found.certs);
        if roots.is_empty() {
            return Err("this host has no certificate authorities".to_owned());
        }
        let name = rustls::pki_types::ServerName::try_from(host.to_owned())
            .map_err(|error| error.to_string())?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        let mut session = rustls::ClientConnection::new(Arc::new(config), name)
            .map_err(|error| error.to_string())?;
        while session.is_handshaking() {
            session
                .complete_io(&mut connection)
                .map_err(|error| format!("TLS: {error}"))?;
        }
        Ok(Self::Tls(Box::new(rustls::StreamOwned::new(
            session, connection,
        ))))
    }

    /// Fails: TLS is left out.
    #[cfg(not(feature = "tls"))]
    pub(super) fn secure(_: Bounded, _: &str) -> Result<Self, String> {
        Err("wss:// is not available: gigatcp was built without its feature `tls`".to_owned())
    }
}

impl Read for Transport {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(connection) => connection.read(buffer),
            #[cfg(feature = "tls")]
            Self::Tls(stream) => stream.read(buffer),
        }
    }
}

impl Write for Transport {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(connection) => connection.write(bytes),
            #[cfg(feature = "tls")]
            Self::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(connection) => connection.flush(),
            #[cfg(feature = "tls")]
            Self::Tls(stream) => stream.flush(),
        }
    }
}
