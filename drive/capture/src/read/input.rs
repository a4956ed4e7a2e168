//! Sources of bytes: memory that holds a whole file, or a stream with a window.
//!
//! Readers of formats inspect the available bytes, request more, and advance. The window of a
//! stream grows to the size of one record, and only as bytes arrive: a length claimed by a file
//! allocates nothing.

use std::fmt;
use std::io::{self, ErrorKind, Read};

use super::map::Map;

/// Initial window of a stream. Large enough for few system calls, small enough for a CPU cache.
const WINDOW: usize = 256 << 10;

/// Bytes of a mapped file kept behind the reader. Earlier pages are released, so reading uses no
/// more memory than this.
const KEPT: usize = 256 << 10;

/// A source of bytes and the position in it.
#[derive(Debug)]
pub struct Input {
    data: Data,
    /// Position within `data`.
    at: usize,
    /// Offset in the file of the first byte of `data`.
    base: u64,
    /// Position at which the next part of a mapped file is released.
    release_at: usize,
}

#[derive(Debug)]
enum Data {
    Mapped(Map),
    Held(Vec<u8>),
    Streamed(Stream),
}

/// A stream and its buffered part.
struct Stream {
    from: Box<dyn Read + Send>,
    window: Vec<u8>,
    /// Filled bytes of the window.
    filled: usize,
    has_ended: bool,
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream")
            .field("window", &self.window.len())
            .field("filled", &self.filled)
            .field("has_ended", &self.has_ended)
            .finish_non_exhaustive()
    }
}

impl Input {
    /// An input over a mapped file.
    pub const fn mapped(map: Map) -> Self {
        Self::over(Data::Mapped(map))
    }

    /// An input over bytes in memory.
    pub const fn held(octets: Vec<u8>) -> Self {
        Self::over(Data::Held(octets))
    }

    /// Whether it is a mapped file.
    pub const fn is_mapped(&self) -> bool {
        matches!(self.data, Data::Mapped(_))
    }

    /// An input over a stream.
    pub fn streamed(from: Box<dyn Read + Send>) -> Self {
        Self::over(Data::Streamed(Stream {
            from,
            window: Vec::new(),
            filled: 0,
            has_ended: false,
        }))
    }

    const fn over(data: Data) -> Self {
        Self {
            data,
            at: 0,
            base: 0,
            release_at: KEPT,
        }
    }

    /// Position as an offset in the file.
    #[inline]
    pub const fn offset(&self) -> u64 {
        self.base + self.at as u64
    }

    /// Bytes in memory from the position on.
    #[inline(always)]
    pub fn octets(&self) -> &[u8] {
        let all = match &self.data {
            Data::Mapped(map) => map,
            Data::Held(octets) => &octets[..],
            Data::Streamed(stream) => &stream.window[..stream.filled],
        };
        &all[self.at..]
    }

    /// Whether `len` bytes are available, reading on if possible. If not, the file ends before.
    ///
    /// # Errors
    /// Errors of the stream.
    #[inline]
    pub fn has(&mut self, len: usize) -> io::Result<bool> {
        Ok(self.octets().len() >= len || self.read_on(len)?)
    }

    #[cold]
    fn read_on(&mut self, len: usize) -> io::Result<bool> {
        let Data::Streamed(stream) = &mut self.data else {
            return Ok(false);
        };
        while stream.filled - self.at < len && !stream.has_ended {
            if stream.filled == stream.window.len() {
                // Bytes passed are dropped; if that frees too little, the window, which is filled,
                // doubles.
                self.base += self.at as u64;
                stream.window.copy_within(self.at..stream.filled, 0);
                stream.filled -= self.at;
                self.at = 0;
                if stream.filled * 2 > stream.window.len() || stream.window.is_empty() {
                    let larger = (stream.window.len() * 2).max(WINDOW);
                    stream.window.resize(larger, 0);
                }
            }
            stream.read_once()?;
        }
        Ok(stream.filled - self.at >= len)
    }

    /// Advances by `len` available bytes.
    #[inline]
    pub fn pass(&mut self, len: usize) {
        debug_assert!(len <= self.octets().len(), "passing what is not there");
        self.at += len;
        if self.at >= self.release_at {
            self.release();
        }
    }

    #[cold]
    fn release(&mut self) {
        // Whole pieces, so that the piece being read is not released.
        let end = self.at - self.at % KEPT;
        if let Data::Mapped(map) = &self.data {
            map.release(self.release_at - KEPT..end);
        }
        self.release_at = end + KEPT;
    }

    /// Advances by `len` bytes or to the end of the file; returns the bytes passed.
    ///
    /// # Errors
    /// Errors of the stream.
    pub fn pass_any(&mut self, len: u64) -> io::Result<u64> {
        let mut left = len;
        while left > 0 {
            let here = (self.octets().len() as u64).min(left);
            self.pass(here as usize);
            left -= here;
            if left > 0 && !self.has(1)? {
                break;
            }
        }
        Ok(len - left)
    }

    /// Remaining bytes as a stream, for a reader of other formats.
    pub fn into_stream(self) -> Box<dyn Read + Send> {
        match self.data {
            Data::Streamed(mut stream) => {
                let head = stream.window[self.at..stream.filled].to_vec();
                stream.window = Vec::new();
                Box::new(io::Cursor::new(head).chain(stream.from))
            }
            data => Box::new(InMemory { data, at: self.at }),
        }
    }
}

impl Stream {
    fn read_once(&mut self) -> io::Result<()> {
        match self.from.read(&mut self.window[self.filled..]) {
            Ok(0) => self.has_ended = true,
            Ok(read) => self.filled += read,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => {
                self.has_ended = true;
                return Err(error);
            }
        }
        Ok(())
    }
}

/// Bytes in memory as a stream.
struct InMemory {
    data: Data,
    at: usize,
}

impl Read for InMemory {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let all = match &self.data {
            Data::Mapped(map) => map,
            Data::Held(octets) => &octets[..],
            Data::Streamed(_) => &[],
        };
        let read = (&all[self.at..]).read(out)?;
        self.at += read;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stream that returns `step` bytes at a time.
    struct Drip(Vec<u8>, usize);

    impl Read for Drip {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let n = self.1.min(self.0.len()).min(out.len());
            out[..n].copy_from_slice(&self.0[..n]);
            self.0.drain(..n);
            Ok(n)
        }
    }

    #[test]
    fn a_stream_shows_the_same_octets_at_the_same_offsets_as_memory() {
        let octets: Vec<u8> = (0..600_000_u32).map(|n| n as u8).collect();
        let mut held = Input::held(octets.clone());
        let mut streamed = Input::streamed(Box::new(Drip(octets, 70_001)));
        for len in [1, 1000, 300_000, 5, 200_000, 98_994] {
            for input in [&mut held, &mut streamed] {
                assert!(input.has(len).unwrap());
            }
            assert_eq!(held.octets()[..len], streamed.octets()[..len]);
            assert_eq!(held.offset(), streamed.offset());
            held.pass(len);
            streamed.pass(len);
        }
        assert!(!held.has(1).unwrap());
        assert!(!streamed.has(1).unwrap());
        assert_eq!(streamed.offset(), 600_000);
    }

    #[test]
    fn the_window_grows_with_what_arrives_and_not_with_what_is_asked_for() {
        let mut input = Input::streamed(Box::new(Drip(vec![7; 1000], 10)));
        assert!(!input.has(usize::MAX).unwrap());
        let Data::Streamed(stream) = &input.data else {
            unreachable!("it is a stream");
        };
        assert!(stream.window.len() <= WINDOW);
        assert_eq!(input.octets().len(), 1000);
    }

    #[test]
    fn passing_more_than_there_is_ends_at_the_end() {
        let mut input = Input::streamed(Box::new(Drip(vec![7; 1000], 10)));
        assert_eq!(input.pass_any(999).unwrap(), 999);
        assert_eq!(input.pass_any(u64::MAX).unwrap(), 1);
        assert_eq!(input.offset(), 1000);
    }

    #[test]
    fn what_was_looked_at_is_still_in_the_stream_that_is_made_of_an_input() {
        for input in [
            Input::held((0..100).collect()),
            Input::streamed(Box::new(Drip((0..100).collect(), 7))),
        ] {
            let mut input = input;
            assert!(input.has(20).unwrap());
            input.pass(3);
            let mut all = Vec::new();
            input.into_stream().read_to_end(&mut all).unwrap();
            assert_eq!(all, (3..100).collect::<Vec<u8>>());
        }
    }
}
