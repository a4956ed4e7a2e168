//! One end of a connection, of the engine or the kernel, with common calls.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use gigatcp_linux::socket;
use gigatcp_live::Stream;

/// End of a connection, of the engine or the kernel.
#[derive(Debug)]
pub enum End {
    /// End of the engine.
    Engine(Stream),
    /// End of the kernel.
    Kernel(TcpStream),
}

impl End {
    /// Name of the TCP for messages.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Engine(_) => "the engine",
            Self::Kernel(_) => "the kernel",
        }
    }

    /// Engine's state of the connection, for messages.
    pub fn state(&self) -> String {
        match self {
            Self::Engine(stream) => format!(" ({:?})", stream.info()),
            Self::Kernel(_) => String::new(),
        }
    }

    /// Closes the write direction.
    ///
    /// # Errors
    /// Errors of the connection.
    pub fn close_write(&self) -> io::Result<()> {
        match self {
            Self::Engine(stream) => stream.shutdown(Shutdown::Write),
            Self::Kernel(stream) => stream.shutdown(Shutdown::Write),
        }
    }

    /// Writes all `octets`.
    ///
    /// # Errors
    /// Errors of the connection.
    pub fn write_all_octets(&self, octets: &[u8]) -> io::Result<()> {
        let mut end = self;
        end.write_all(octets)
    }

    /// Ends the connection with a reset.
    ///
    /// # Errors
    /// Errors of the connection.
    pub fn abort(self) -> io::Result<()> {
        match self {
            Self::Engine(stream) => stream.abort(),
            // The drop of the stream then sends the reset.
            Self::Kernel(stream) => socket::reset_on_close(&stream)?,
        }
        Ok(())
    }

    /// Sets the timeout of reads and writes.
    ///
    /// # Errors
    /// Errors of the kernel.
    pub fn set_patience(&self, longest: Duration) -> io::Result<()> {
        match self {
            Self::Engine(stream) => {
                stream.set_read_timeout(Some(longest))?;
                stream.set_write_timeout(Some(longest))?;
            }
            Self::Kernel(stream) => {
                stream.set_read_timeout(Some(longest))?;
                stream.set_write_timeout(Some(longest))?;
            }
        }
        Ok(())
    }
}

impl Read for &End {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            End::Engine(stream) => (&*stream).read(buffer),
            End::Kernel(stream) => (&*stream).read(buffer),
        }
    }
}

impl Write for &End {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        match self {
            End::Engine(stream) => (&*stream).write(octets),
            End::Kernel(stream) => (&*stream).write(octets),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
