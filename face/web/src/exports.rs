//! What the page calls: it fills the name and the bytes of a capture, and reads the answer as JSON.
//!
//! | call | effect |
//! |---|---|
//! | `name(length)`, `capture(length)` | address of that many bytes to fill |
//! | `answer()` | analyzes them; length of the answer |
//! | `output()` | address of the answer |
//!
//! Addresses hold until the next call that returns one for the same purpose.

use std::sync::{Arc, Mutex, PoisonError};

use gigatcp_analyze::Source;

/// Buffers that the page fills and reads.
struct Buffers {
    name: Vec<u8>,
    capture: Option<Arc<[u8]>>,
    output: Vec<u8>,
}

static BUFFERS: Mutex<Buffers> = Mutex::new(Buffers {
    name: Vec::new(),
    capture: None,
    output: Vec::new(),
});

fn buffers<T>(work: impl FnOnce(&mut Buffers) -> T) -> T {
    work(&mut BUFFERS.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Address of `length` bytes for the name of the capture.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn name(length: usize) -> *mut u8 {
    buffers(|buffers| {
        buffers.name = vec![0; length];
        buffers.name.as_mut_ptr()
    })
}

/// Address of `length` bytes for the capture.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn capture(length: usize) -> *mut u8 {
    buffers(|buffers| {
        let mut bytes: Arc<[u8]> = std::iter::repeat_n(0, length).collect();
        let address = Arc::get_mut(&mut bytes).map_or(std::ptr::null_mut(), <[u8]>::as_mut_ptr);
        buffers.capture = Some(bytes);
        address
    })
}

/// Analyzes the capture and returns the length of the answer.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn answer() -> usize {
    buffers(|buffers| {
        let name = String::from_utf8_lossy(&buffers.name).into_owned();
        let bytes = buffers.capture.take().unwrap_or_default();
        let answer = crate::answer(Source::bytes(name, bytes));
        buffers.output = serde_json::to_vec(&answer).unwrap_or_default();
        buffers.output.len()
    })
}

/// Address of the answer.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn output() -> *const u8 {
    buffers(|buffers| buffers.output.as_ptr())
}
