//! Capture files: what went over the wire of a run, for every tool that reads
//! packets.
//!
//! [`PcapngWriter`] writes pcapng, packets as bare IP with nanosecond times.
//! [`CaptureReader`] reads what others captured: pcap, pcapng and printed
//! packets, whatever has become of them on the way.
//! [`independent_reader`] reads a capture with an independent reader, tshark, for comparison.
//!
//! | file | what |
//! |---|---|
//! | `pcapng.rs`, `interface.rs`, `error.rs` | writing |
//! | `read/` | reading, see there |
//! | `independent_reader.rs` | tshark |
//!
//! Unsafe code is in `read/map.rs` alone, which maps a file.
#![deny(unsafe_code)]
#![deny(missing_docs)]

mod error;
pub mod independent_reader;
mod interface;
mod pcapng;
mod read;

pub use error::CaptureError;
pub use interface::{DEFAULT_SNAP_LENGTH, Interface, InterfaceId, SnapLength};
pub use pcapng::PcapngWriter;
pub use read::{
    CaptureReader, CapturedInterface, Compression, Direction, Format, Known, Note, NoteKind, Notes,
    Options, OptionsIter, Order, Place, PlainRecord, ReadError, Record,
};
