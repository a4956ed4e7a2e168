//! Capture files: what went over the wire of a run, for every tool that reads
//! packets.
//!
//! [`PcapngWriter`] writes pcapng, packets as bare IP with nanosecond times.
//! [`independent_reader`] asks somebody else's reader, tshark, what it thinks
//! of a capture.
//!
//! Not here yet: reading. Captures are written, never read back, by this
//! crate.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod error;
pub mod independent_reader;
mod interface;
mod pcapng;

pub use error::CaptureError;
pub use interface::{DEFAULT_SNAP_LENGTH, Interface, InterfaceId, SnapLength};
pub use pcapng::PcapngWriter;
