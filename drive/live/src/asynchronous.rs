//! Non-blocking streams and listeners, for any executor: the traits of `futures_io`, and with the
//! feature `tokio` those of tokio. They need no reactor, no thread per stream and no polling: the
//! event loop wakes tasks itself.
//!
//! Dropping a future loses nothing: neither bytes, nor a connection that arrived for a call of
//! accept. Each direction of a connection wakes one task, the last that waited.

use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::net::{Shutdown, SocketAddr, ToSocketAddrs};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread;

use futures_io::{AsyncRead, AsyncWrite};

use crate::options::Options;
use crate::shared::lock;
use crate::stack::{Stack, no_address};
use crate::stream::{Listener, Stream, accepted};

/// A [`Stream`] for tasks.
///
/// ```
/// use std::future::poll_fn;
/// use std::pin::Pin;
///
/// use futures_io::{AsyncRead, AsyncWrite};
/// use gigatcp_live::{Options, Stack};
///
/// async fn ask(stack: &Stack, server: std::net::SocketAddr) -> std::io::Result<usize> {
///     let mut stream = stack.connect_async(server, &Options::default()).await?;
///     stream.as_stream().set_nodelay(true)?;
///     poll_fn(|cx| Pin::new(&mut stream).poll_write(cx, b"what?")).await?;
///     let mut answer = [0; 100];
///     poll_fn(|cx| Pin::new(&mut stream).poll_read(cx, &mut answer)).await
/// }
/// ```
#[derive(Clone, Debug)]
pub struct AsyncStream {
    stream: Stream,
}

impl From<Stream> for AsyncStream {
    fn from(stream: Stream) -> Self {
        Self { stream }
    }
}

impl AsyncStream {
    /// Same connection for threads, with its settings and measurements.
    pub fn as_stream(&self) -> &Stream {
        &self.stream
    }

    /// Copies what the next read returns, without consuming it.
    ///
    /// # Errors
    /// As a read: the connection failed.
    pub async fn peek(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let socket = self.stream.socket();
        poll_fn(|context| ready(socket.poll_peek(context.waker(), buffer))).await
    }

    /// Splits it into a reading and a writing half, for two tasks.
    ///
    /// Dropping the [`AsyncWriteHalf`] ends that direction: the peer reads to the end of what was
    /// written. Dropping the [`AsyncReadHalf`] alone does nothing. When both are dropped the
    /// connection is closed, as a dropped [`Stream`] is.
    pub fn into_split(self) -> (AsyncReadHalf, AsyncWriteHalf) {
        let read = AsyncReadHalf(self.stream.clone());
        (read, AsyncWriteHalf(self.stream))
    }
}

/// Reading half of an [`AsyncStream`] ([`AsyncStream::into_split`]).
#[derive(Debug)]
pub struct AsyncReadHalf(Stream);

/// Writing half of an [`AsyncStream`]; dropping it ends that direction.
#[derive(Debug)]
pub struct AsyncWriteHalf(Stream);

impl AsyncReadHalf {
    /// Connection, with its settings and measurements.
    pub fn as_stream(&self) -> &Stream {
        &self.0
    }
}

impl AsyncWriteHalf {
    /// Connection, with its settings and measurements.
    pub fn as_stream(&self) -> &Stream {
        &self.0
    }
}

impl Drop for AsyncWriteHalf {
    fn drop(&mut self) {
        // A connection that has failed is over in both directions.
        let _ = self.as_stream().shutdown(Shutdown::Write);
    }
}

/// A [`Listener`] for tasks.
#[derive(Debug)]
pub struct AsyncListener {
    listener: Listener,
}

impl From<Listener> for AsyncListener {
    fn from(listener: Listener) -> Self {
        Self { listener }
    }
}

impl AsyncListener {
    /// Waits for the next connection; returns it and the peer's address.
    ///
    /// # Errors
    /// If the stack has ended.
    pub async fn accept(&self) -> io::Result<(AsyncStream, SocketAddr)> {
        let call = self.listener.acceptor().call()?;
        let socket = poll_fn(|context| ready(call.poll(context.waker()))).await?;
        let (stream, peer) = accepted(socket)?;
        Ok((stream.into(), peer))
    }

    /// Address that it listens on.
    pub fn local_addr(&self) -> SocketAddr {
        self.listener.local_addr()
    }
}

impl Stack {
    /// Opens a connection; ready when it is established. Dropping the future
    /// ends the attempt. [`Stack::connect_async_by_name`] takes a host name.
    ///
    /// # Errors
    /// As [`Stack::connect`].
    pub async fn connect_async(
        &self,
        remote: impl Into<SocketAddr>,
        options: &Options,
    ) -> io::Result<AsyncStream> {
        let stream = self.begin_connect(remote.into(), options)?;
        poll_fn(|context| ready(stream.socket().poll_connected(context.waker()))).await?;
        Ok(stream.into())
    }

    /// Opens a connection to `NAME:PORT`, trying the name's addresses in order. This machine
    /// resolves it, on a separate thread unless it is an address already.
    ///
    /// # Errors
    /// As [`Stack::connect`].
    pub async fn connect_async_by_name(
        &self,
        name: &str,
        options: &Options,
    ) -> io::Result<AsyncStream> {
        if let Ok(address) = name.parse::<SocketAddr>() {
            return self.connect_async(address, options).await;
        }
        let mut done = Err(no_address());
        for address in resolve(name.to_owned()).await? {
            done = self.connect_async(address, options).await;
            if done.is_ok() {
                break;
            }
        }
        done
    }
}

/// Result that a thread computes, and the task that waits for it.
type Resolving = Mutex<(Option<io::Result<Vec<SocketAddr>>>, Option<Waker>)>;

/// Addresses of a name without blocking the executor.
async fn resolve(name: String) -> io::Result<Vec<SocketAddr>> {
    let resolving = Arc::new(Resolving::default());
    let of_thread = Arc::clone(&resolving);
    let thread = thread::Builder::new().name("gigatcp-resolve".into());
    thread.spawn(move || {
        let addresses = name.to_socket_addrs().map(Iterator::collect);
        let mut state = lock(&of_thread);
        state.0 = Some(addresses);
        let waker = state.1.take();
        drop(state);
        waker.into_iter().for_each(Waker::wake);
    })?;
    poll_fn(|context| {
        let mut state = lock(&resolving);
        state.1 = Some(context.waker().clone());
        ready(state.0.take())
    })
    .await
}

/// Implements reading for a stream and its half.
macro_rules! async_read {
    ($($kind:ty),+) => {$(
        impl AsyncRead for $kind {
            fn poll_read(
                self: Pin<&mut Self>,
                context: &mut Context<'_>,
                buffer: &mut [u8],
            ) -> Poll<io::Result<usize>> {
                ready(self.as_stream().socket().poll_read(context.waker(), buffer))
            }
        }
    )+};
}

/// Implements writing for a stream and its half.
macro_rules! async_write {
    ($($kind:ty),+) => {$(
        impl AsyncWrite for $kind {
            fn poll_write(
                self: Pin<&mut Self>,
                context: &mut Context<'_>,
                octets: &[u8],
            ) -> Poll<io::Result<usize>> {
                poll_send(self.as_stream(), context, &[IoSlice::new(octets)])
            }

            fn poll_write_vectored(
                self: Pin<&mut Self>,
                context: &mut Context<'_>,
                parts: &[IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                poll_send(self.as_stream(), context, parts)
            }

            /// Does nothing: there is no buffer here, so written data are sent without a flush.
            fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(Ok(()))
            }

            fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(self.as_stream().shutdown(Shutdown::Write))
            }
        }
    )+};
}

async_read!(AsyncStream, AsyncReadHalf);
async_write!(AsyncStream, AsyncWriteHalf);

pub(crate) fn poll_send(
    stream: &Stream,
    context: &Context<'_>,
    parts: &[IoSlice<'_>],
) -> Poll<io::Result<usize>> {
    ready(stream.socket().poll_write(context.waker(), parts))
}

pub(crate) fn ready<T>(done: Option<T>) -> Poll<T> {
    done.map_or(Poll::Pending, Poll::Ready)
}
