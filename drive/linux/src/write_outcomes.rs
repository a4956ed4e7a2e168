//! Outcome of packets written to a device.

use std::io;

/// Packets written to a device, by outcome; a super-segment counts as one.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct WriteOutcomes {
    /// Accepted by the kernel behind it.
    pub taken: u64,
    /// Rejected; to the receiver they are lost.
    pub refused: u64,
}

impl WriteOutcomes {
    /// Counts the outcome of a packet; returns the error if the device is gone.
    pub fn count(&mut self, written: io::Result<usize>) -> Option<io::Error> {
        match written {
            Ok(_) => self.taken += 1,
            Err(error) if is_gone(&error) => return Some(error),
            Err(_) => self.refused += 1,
        }
        None
    }
}

/// Whether the device, or the other end of a wire, is gone. Otherwise it may be down, be short of
/// memory, or reject the packet.
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
        let mut written = WriteOutcomes::default();
        let failed = |number| Err(io::Error::from_raw_os_error(number));
        assert!(written.count(Ok(1500)).is_none());
        assert!(written.count(failed(libc::EINVAL)).is_none());
        assert!(written.count(failed(libc::ENOBUFS)).is_none());
        let gone = written.count(failed(libc::ENODEV));
        assert_eq!(
            gone.and_then(|error| error.raw_os_error()),
            Some(libc::ENODEV)
        );
        let expected = WriteOutcomes {
            taken: 1,
            refused: 2,
        };
        assert_eq!(written, expected);
    }
}
