//! Decompresses Zstandard (RFC 8878): frames in succession, and skippable frames between them.

use std::io::{self, BufRead, BufReader, Error, ErrorKind, Read};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// Maximum window of a frame. It is what `zstd --long` writes and the `zstd` command accepts by
/// default.
const LARGEST_WINDOW: u64 = 128 << 20;

/// Decompressor of a stream of frames.
pub(super) struct Frames {
    decoder: FrameDecoder,
    from: BufReader<ErrorKeepingReader>,
    is_within: bool,
}

/// A stream that keeps the system's error. The decoder reports only that it cannot read.
struct ErrorKeepingReader {
    from: Box<dyn Read + Send>,
    refused: Option<Error>,
}

impl Read for ErrorKeepingReader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.from.read(out).map_err(|error| {
            let kind = error.kind();
            self.refused = Some(error);
            kind.into()
        })
    }
}

impl Frames {
    /// A decompressor of a stream.
    pub(super) fn new(from: Box<dyn Read + Send>) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(LARGEST_WINDOW);
        let reader = ErrorKeepingReader {
            from,
            refused: None,
        };
        Self {
            decoder,
            from: BufReader::with_capacity(1 << 16, reader),
            is_within: false,
        }
    }

    /// System's error, or else that the frame is broken.
    fn failed(&mut self, why: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
        let refused = self.from.get_mut().refused.take();
        refused.unwrap_or_else(|| Error::new(ErrorKind::InvalidData, why))
    }

    /// Reads within a frame; returns 0 at its end.
    fn within(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
            let one = BlockDecodingStrategy::UptoBlocks(1);
            if let Err(error) = self.decoder.decode_blocks(&mut self.from, one) {
                return Err(self.failed(error));
            }
        }
        let count = self.decoder.read(out)?;
        let told = self.decoder.get_checksum_from_data();
        if count == 0 && told.is_some() && told != self.decoder.get_calculated_checksum() {
            return Err(self.failed("the checksum of a frame is wrong"));
        }
        Ok(count)
    }

    /// Begins the next frame; returns false if there is none.
    fn begin(&mut self) -> io::Result<bool> {
        loop {
            match self.from.fill_buf() {
                Ok([]) => return Ok(false),
                Ok(_) => {}
                Err(error) => return Err(self.failed(error)),
            }
            match self.decoder.init(&mut self.from) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let mut skipped = self.from.by_ref().take(length.into());
                    if let Err(error) = io::copy(&mut skipped, &mut io::sink()) {
                        return Err(self.failed(error));
                    }
                }
                Err(error) => return Err(self.failed(error)),
            }
        }
    }
}

impl Read for Frames {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        loop {
            if self.is_within {
                match self.within(out)? {
                    0 => self.is_within = false,
                    count => return Ok(count),
                }
            }
            if !self.begin()? {
                return Ok(0);
            }
            self.is_within = true;
        }
    }
}
