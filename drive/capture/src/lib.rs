//! Reads and writes capture files, for every tool that analyzes packets.
//!
//! [`PcapngWriter`] writes pcapng, packets as bare IP with times in nanoseconds. [`CaptureReader`]
//! reads captures of other programs, also damaged ones: pcap, pcapng, snoop and printed packets.
//! [`independent_reader`] reads a capture with an independent reader, tshark, for comparison.
//!
//! | file | what |
//! |---|---|
//! | `pcapng.rs`, `interface.rs`, `error.rs` | writing |
//! | `read/` | reading, see there |
//! | `independent_reader.rs` | tshark |
//!
//! Unsafe code is only in `read/map.rs`, which maps a file.
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
