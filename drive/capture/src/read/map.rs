//! A file as memory: the only unsafe code of this crate.
//!
//! A mapping needs no copy, so a capture larger than memory is read at the speed of the page cache.
//! If the file is truncated while it is mapped, the system ends the process with a signal, as with
//! every program that maps files. A file that is still being written is therefore read as a stream:
//! [`crate::CaptureReader::from_reader`].

use std::fs::File;
use std::io;
use std::ops::{Deref, Range};

use memmap2::Mmap;
#[cfg(unix)]
use memmap2::{Advice, UncheckedAdvice};

/// A mapped file, with the length it had when opened.
#[derive(Debug)]
pub struct Map(Mmap);

impl Map {
    /// Maps `file`, read only.
    ///
    /// # Errors
    /// Errors of the system: pipes, devices and empty files cannot be mapped.
    #[allow(unsafe_code)]
    pub fn new(file: &File) -> io::Result<Self> {
        // SAFETY: the octets are only ever read, as octets, so any content is
        // a valid one. That another process may change the file meanwhile cannot be excluded; the
        // readers check each length they
        // read against the mapping's and never read one twice to trust it.
        let map = unsafe { Mmap::map(file)? };
        // Only advice: a system that ignores it reads more slowly.
        #[cfg(unix)]
        let _ = map.advise(Advice::Sequential);
        Ok(Self(map))
    }

    /// Releases the octets of `range`, whose memory may be reused. A later access reads them from
    /// the file again.
    #[allow(unsafe_code)]
    pub fn release(&self, range: Range<usize>) {
        #[cfg(unix)]
        {
            // SAFETY: the mapping is a shared one of a file and only read, so released pages are
            // read from the file again.
            let _ = unsafe {
                self.0
                    .unchecked_advise_range(UncheckedAdvice::DontNeed, range.start, range.len())
            };
        }
        #[cfg(not(unix))]
        let _ = range;
    }
}

impl Deref for Map {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        &self.0
    }
}
