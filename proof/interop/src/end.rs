//! One end of a connection, the engine's or the kernel's, with the same calls.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use gigatcp_linux::socket;
use gigatcp_live::Stream;

/// An end of a connection, the engine's or the kernel's.
#[derive(Debug)]
pub enum End {
    /// The engine's.
    Engine(Stream),
    /// The kernel's.
    Kernel(TcpStream),
}

impl End {
    /// Who it is, for messages.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Engine(_) => "the engine",
            Self::Kernel(_) => "the kernel",
        }
    }

    /// The engine's state of the connection, for messages.
    #[must_use]
    pub fn state(&self) -> String {
        match self {
            Self::Engine(stream) => format!(" ({:?})", stream.info()),
            Self::Kernel(_) => String::new(),
        }
    }

    /// The end of what is written.
    ///
    /// # Errors
    /// What the connection says.
    pub fn close_write(&self) -> io::Result<()> {
        match self {
            Self::Engine(stream) => stream.shutdown(Shutdown::Write),
            Self::Kernel(stream) => stream.shutdown(Shutdown::Write),
        }
    }

    /// Writes all of `octets`.
    ///
    /// # Errors
    /// What the connection says.
    pub fn write_all_octets(&self, octets: &[u8]) -> io::Result<()> {
        let mut end = self;
        end.write_all(octets)
    }

    /// Ends the connection with a reset.
    ///
    /// # Errors
    /// What the connection says.
    pub fn abort(self) -> io::Result<()> {
        match self {
            Self::Engine(stream) => stream.abort(),
            // Dropping it is what resets.
            Self::Kernel(stream) => socket::reset_on_close(&stream)?,
        }
        Ok(())
    }

    /// Reading and writing fail that would wait for longer.
    ///
    /// # Errors
    /// What the kernel says.
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
