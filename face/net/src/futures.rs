//! The traits of `futures::io`, for programs that are written for no runtime.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_io::{AsyncRead, AsyncWrite};
use tokio::io::{AsyncRead as TokioRead, AsyncWrite as TokioWrite, ReadBuf};

use crate::TcpStream;
use crate::split::{OwnedReadHalf, OwnedWriteHalf};

macro_rules! impl_read {
    ($kind:ty) => {
        impl AsyncRead for $kind {
            fn poll_read(
                self: Pin<&mut Self>,
                context: &mut Context<'_>,
                buffer: &mut [u8],
            ) -> Poll<io::Result<usize>> {
                let mut buffer = ReadBuf::new(buffer);
                ready!(TokioRead::poll_read(self, context, &mut buffer))?;
                Poll::Ready(Ok(buffer.filled().len()))
            }
        }
    };
}

macro_rules! impl_write {
    ($kind:ty) => {
        impl AsyncWrite for $kind {
            fn poll_write(
                self: Pin<&mut Self>,
                context: &mut Context<'_>,
                octets: &[u8],
            ) -> Poll<io::Result<usize>> {
                TokioWrite::poll_write(self, context, octets)
            }

            fn poll_write_vectored(
                self: Pin<&mut Self>,
                context: &mut Context<'_>,
                parts: &[IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                TokioWrite::poll_write_vectored(self, context, parts)
            }

            fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
                TokioWrite::poll_flush(self, context)
            }

            fn poll_close(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
                TokioWrite::poll_shutdown(self, context)
            }
        }
    };
}

impl_read!(TcpStream);
impl_write!(TcpStream);
impl_read!(OwnedReadHalf);
impl_write!(OwnedWriteHalf);
