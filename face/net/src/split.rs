//! Halves of a [`TcpStream`], as those of `tokio::net::tcp`.

use std::error::Error;
use std::fmt;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use gigatcp_wire::bytes::BufMut;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf, Ready};

use crate::stream::{TcpStream, poll_read, poll_shutdown, poll_write};

/// Reading half that borrows its stream ([`TcpStream::split`]).
#[derive(Debug)]
pub struct ReadHalf<'a>(pub(crate) &'a TcpStream);

/// Writing half that borrows its stream.
#[derive(Debug)]
pub struct WriteHalf<'a>(pub(crate) &'a TcpStream);

/// Reading half ([`TcpStream::into_split`]).
#[derive(Debug)]
pub struct OwnedReadHalf(Arc<TcpStream>);

/// Writing half; dropping it shuts that direction.
#[derive(Debug)]
pub struct OwnedWriteHalf {
    stream: Arc<TcpStream>,
    shuts_on_drop: bool,
}

/// Error of [`OwnedReadHalf::reunite`]: the halves are of different streams, and both returned.
#[derive(Debug)]
pub struct ReuniteError(pub OwnedReadHalf, pub OwnedWriteHalf);

impl fmt::Display for ReuniteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("tried to reunite halves that are not from the same socket")
    }
}

impl Error for ReuniteError {}

impl OwnedReadHalf {
    pub(crate) fn pair(stream: TcpStream) -> (Self, OwnedWriteHalf) {
        let stream = Arc::new(stream);
        let write = OwnedWriteHalf {
            stream: Arc::clone(&stream),
            shuts_on_drop: true,
        };
        (Self(stream), write)
    }

    fn stream(&self) -> &TcpStream {
        &self.0
    }

    /// Joins the halves of one stream.
    ///
    /// # Errors
    /// [`ReuniteError`] if they are of different streams.
    pub fn reunite(self, mut other: OwnedWriteHalf) -> Result<TcpStream, ReuniteError> {
        if !Arc::ptr_eq(&self.0, &other.stream) {
            return Err(ReuniteError(self, other));
        }
        other.shuts_on_drop = false;
        let socket = Arc::clone(&self.0.socket);
        Ok(TcpStream { socket })
    }
}

impl OwnedWriteHalf {
    fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Joins the halves of one stream.
    ///
    /// # Errors
    /// [`ReuniteError`] if they are of different streams.
    pub fn reunite(self, other: OwnedReadHalf) -> Result<TcpStream, ReuniteError> {
        other.reunite(self)
    }

    /// Drops it without shutting the direction.
    pub fn forget(mut self) {
        self.shuts_on_drop = false;
    }
}

impl Drop for OwnedWriteHalf {
    fn drop(&mut self) {
        if self.shuts_on_drop {
            // A connection that is over is shut in both directions.
            let _ = self.stream.socket.shutdown();
        }
    }
}

impl<'a> ReadHalf<'a> {
    fn stream(&self) -> &'a TcpStream {
        self.0
    }
}

impl<'a> WriteHalf<'a> {
    fn stream(&self) -> &'a TcpStream {
        self.0
    }
}

/// Calls of both halves, with the lifetimes of their kind.
macro_rules! either_half {
    ($($kind:ty),+) => {$(
        impl $kind {
            /// Waits until one of the chosen operations would not block.
            ///
            /// # Errors
            /// If the host has crashed.
            pub async fn ready(&self, interest: Interest) -> io::Result<Ready> {
                self.stream().ready(interest).await
            }

            /// Address of this end.
            ///
            /// # Errors
            /// If the host has crashed.
            pub fn local_addr(&self) -> io::Result<SocketAddr> {
                self.stream().local_addr()
            }

            /// Address of the peer.
            ///
            /// # Errors
            /// `NotConnected` once the connection is over.
            pub fn peer_addr(&self) -> io::Result<SocketAddr> {
                self.stream().peer_addr()
            }
        }
    )+};
}

macro_rules! read_half {
    ($($kind:ty),+) => {$(
        impl $kind {
            /// Copies what the next read returns, without consuming it.
            ///
            /// # Errors
            /// As a read.
            pub async fn peek(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                self.stream().peek(buffer).await
            }

            /// Polls a peek.
            ///
            /// # Errors
            /// As a read.
            pub fn poll_peek(
                &mut self,
                context: &mut Context<'_>,
                buffer: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<usize>> {
                self.stream().poll_peek(context, buffer)
            }

            /// Waits until a read would not block.
            ///
            /// # Errors
            /// If the host has crashed.
            pub async fn readable(&self) -> io::Result<()> {
                self.stream().readable().await
            }

            /// Reads without waiting.
            ///
            /// # Errors
            /// `WouldBlock`, or as a read.
            pub fn try_read(&self, buffer: &mut [u8]) -> io::Result<usize> {
                self.stream().try_read(buffer)
            }

            /// Reads without waiting, and appends to a buffer.
            ///
            /// # Errors
            /// `WouldBlock`, or as a read.
            pub fn try_read_buf<B: BufMut>(&self, buffer: &mut B) -> io::Result<usize> {
                self.stream().try_read_buf(buffer)
            }

            /// Reads without waiting, into several buffers.
            ///
            /// # Errors
            /// `WouldBlock`, or as a read.
            pub fn try_read_vectored(
                &self,
                buffers: &mut [io::IoSliceMut<'_>],
            ) -> io::Result<usize> {
                self.stream().try_read_vectored(buffers)
            }
        }

        impl AsyncRead for $kind {
            fn poll_read(
                self: Pin<&mut Self>,
                context: &mut Context<'_>,
                buffer: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<()>> {
                poll_read(&self.stream().socket, context, buffer)
            }
        }
    )+};
}

macro_rules! write_half {
    ($($kind:ty),+) => {$(
        impl $kind {
            /// Waits until a write would not block.
            ///
            /// # Errors
            /// If the host has crashed.
            pub async fn writable(&self) -> io::Result<()> {
                self.stream().writable().await
            }

            /// Writes without waiting.
            ///
            /// # Errors
            /// `WouldBlock`, or as a write.
            pub fn try_write(&self, octets: &[u8]) -> io::Result<usize> {
                self.stream().try_write(octets)
            }

            /// Writes without waiting, from several buffers.
            ///
            /// # Errors
            /// `WouldBlock`, or as a write.
            pub fn try_write_vectored(&self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
                self.stream().try_write_vectored(parts)
            }
        }

        impl AsyncWrite for $kind {
            fn poll_write(
                self: Pin<&mut Self>,
                context: &mut Context<'_>,
                octets: &[u8],
            ) -> Poll<io::Result<usize>> {
                let socket = &self.stream().socket;
                poll_write(socket, context, &[IoSlice::new(octets)])
            }

            fn poll_write_vectored(
                self: Pin<&mut Self>,
                context: &mut Context<'_>,
                parts: &[IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                poll_write(&self.stream().socket, context, parts)
            }

            fn is_write_vectored(&self) -> bool {
                true
            }

            /// Does nothing: written data are sent without a flush.
            fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(Ok(()))
            }

            fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                poll_shutdown(&self.stream().socket)
            }
        }
    )+};
}

either_half!(ReadHalf<'_>, WriteHalf<'_>, OwnedReadHalf, OwnedWriteHalf);
read_half!(ReadHalf<'_>, OwnedReadHalf);
write_half!(WriteHalf<'_>, OwnedWriteHalf);

impl AsRef<TcpStream> for OwnedReadHalf {
    fn as_ref(&self) -> &TcpStream {
        self.stream()
    }
}

impl AsRef<TcpStream> for OwnedWriteHalf {
    fn as_ref(&self) -> &TcpStream {
        self.stream()
    }
}

impl AsRef<TcpStream> for ReadHalf<'_> {
    fn as_ref(&self) -> &TcpStream {
        self.stream()
    }
}

impl AsRef<TcpStream> for WriteHalf<'_> {
    fn as_ref(&self) -> &TcpStream {
        self.stream()
    }
}
