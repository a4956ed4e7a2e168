//! A capture file that the observer of a run writes and its caller ends.

use std::fs::File;
use std::path::Path;
use std::sync::{Arc, Mutex};

use gigatcp_capture::{CaptureError, PcapngWriter};

use crate::lock;

/// A capture being written, shared by its observer and its caller, who learns of its errors.
#[derive(Clone)]
pub struct CaptureFile(Arc<Mutex<State>>);

struct State {
    writer: Option<PcapngWriter<File>>,
    /// First write error; no more is written after it, and the run continues.
    error: Option<CaptureError>,
}

impl CaptureFile {
    pub(crate) fn new(writer: PcapngWriter<File>) -> Self {
        Self(Arc::new(Mutex::new(State {
            writer: Some(writer),
            error: None,
        })))
    }

    /// Writes to the file, unless it has ended.
    pub(crate) fn write(
        &self,
        write: impl FnOnce(&mut PcapngWriter<File>) -> Result<(), CaptureError>,
    ) {
        let mut state = lock(&self.0);
        if let Some(Err(error)) = state.writer.as_mut().map(write) {
            state.error = Some(error);
            state.writer = None;
        }
    }

    /// Ends the file; returns the number of packets in it.
    ///
    /// # Errors
    /// The first error since it began.
    pub fn finish(&self) -> Result<u64, CaptureError> {
        let mut state = lock(&self.0);
        if let Some(error) = state.error.take() {
            return Err(error);
        }
        let Some(writer) = state.writer.take() else {
            return Ok(0);
        };
        let packets = writer.packets();
        writer.finish()?;
        Ok(packets)
    }
}

/// Creates the file at `path`.
///
/// # Errors
/// If it cannot be created.
pub(crate) fn create(path: &Path) -> Result<File, CaptureError> {
    File::create(path).map_err(|source| CaptureError::Write {
        what: format!("{}, the file", path.display()),
        source,
    })
}
