//! tokio's traits for streams (feature `tokio`). They use no part of its runtime: they work with
//! either scheduler, without its network driver.

use std::io::{self, IoSlice};
use std::net::Shutdown;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::asynchronous::{AsyncReadHalf, AsyncStream, AsyncWriteHalf, poll_send, ready};

/// Implements reading for a stream and its half.
macro_rules! async_read {
    ($($kind:ty),+) => {$(
        impl AsyncRead for $kind {
            fn poll_read(
                self: Pin<&mut Self>,
                context: &mut Context<'_>,
                buffer: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<()>> {
                let (socket, most) = (self.as_stream().socket(), buffer.remaining());
                let put = |octets: &[u8]| buffer.put_slice(octets);
                ready(socket.poll_read_with(context.waker(), most, put)).map_ok(drop)
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

            fn is_write_vectored(&self) -> bool {
                true
            }

            /// Does nothing: there is no buffer here, so written data are sent without a flush.
            fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(Ok(()))
            }

            fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(self.as_stream().shutdown(Shutdown::Write))
            }
        }
    )+};
}

async_read!(AsyncStream, AsyncReadHalf);
async_write!(AsyncStream, AsyncWriteHalf);
