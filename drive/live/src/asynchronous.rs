//! Streams and listeners that do not wait: `futures_io::AsyncRead` and
//! `AsyncWrite`, for any executor. No reactor is needed: the event loop wakes
//! tasks itself.
//!
//! `futures-io` because it is the traits and nothing else; for tokio,
//! `tokio_util::compat` turns one into the other.

use std::future::poll_fn;
use std::io;
use std::net::{Shutdown, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_io::{AsyncRead, AsyncWrite};

use crate::options::Options;
use crate::stack::Stack;
use crate::stream::{Listener, Stream};

/// A [`Stream`] for tasks.
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
    /// The same connection for threads.
    #[must_use]
    pub fn as_stream(&self) -> &Stream {
        &self.stream
    }
}

impl Stack {
    /// Opens a connection; ready when it is established. Dropping the future
    /// ends the attempt.
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
}

impl Listener {
    /// The next connection.
    ///
    /// # Errors
    /// When the stack has ended.
    pub async fn accept_async(&self) -> io::Result<AsyncStream> {
        let mut has_asked = false;
        let accept = |context: &mut Context<'_>| {
            ready(self.acceptor().poll_accept(context.waker(), &mut has_asked))
        };
        let mut accept = accept;
        let socket = poll_fn(move |context| accept(context)).await?;
        Ok(Stream::new(socket).into())
    }
}

impl AsyncRead for AsyncStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        ready(self.stream.socket().poll_read(context.waker(), buffer))
    }
}

impl AsyncWrite for AsyncStream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        octets: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready(self.stream.socket().poll_write(context.waker(), octets))
    }

    /// Nothing is held here: what was written leaves by itself.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.stream.shutdown(Shutdown::Write))
    }
}

fn ready<T>(done: Option<T>) -> Poll<T> {
    done.map_or(Poll::Pending, Poll::Ready)
}
