//! What became of the packets that were written to a device.

use std::io;

/// Packets of a device, by what became of them; a super-segment is one.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Written {
    /// Taken by the kernel behind it.
    pub taken: u64,
    /// Not taken; to the receiver they are lost.
    pub refused: u64,
}

impl Written {
    /// Counts what became of a packet; the error, where that is the device's end.
    pub fn count(&mut self, written: io::Result<usize>) -> Option<io::Error> {
        match written {
            Ok(_) => self.taken += 1,
            Err(error) if is_gone(&error) => return Some(error),
            Err(_) => self.refused += 1,
        }
        None
    }
}

/// Whether the device, or the other end of a wire, is no more, rather than down,
/// short of memory, or of another opinion about a packet.
pub fn is_gone(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(
            libc::EBADF
                | libc::EBADFD
                | libc::ENODEV
                | libc::ENXIO
                | libc::EPIPE
                | libc::ECONNRESET
                | libc::ENOTCONN
        )
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_taken_refused_or_the_end() {
        let mut written = Written::default();
        let failed = |number| Err(io::Error::from_raw_os_error(number));
        assert!(written.count(Ok(1500)).is_none());
        assert!(written.count(failed(libc::EINVAL)).is_none());
        assert!(written.count(failed(libc::ENOBUFS)).is_none());
        let gone = written.count(failed(libc::ENODEV));
        assert_eq!(
            gone.and_then(|error| error.raw_os_error()),
            Some(libc::ENODEV)
        );
        let expected = Written {
            taken: 1,
            refused: 2,
        };
        assert_eq!(written, expected);
    }
}
