//! Reads and writes capture files, for every tool that analyzes packets.
//!
//! [`PcapngWriter`] writes pcapng, packets as bare IP with times in nanoseconds. [`CaptureReader`]
//! reads captures of other programs, also damaged ones: pcap, pcapng, snoop and printed packets.
//!
//! | file | what |
//! |---|---|
//! | `pcapng.rs`, `interface.rs`, `error.rs` | writing |
//! | `read/` | reading, see there |
//!
//! Unsafe code is only in `read/map.rs`, which maps a file.
#![deny(unsafe_code)]
#![deny(missing_docs)]

mod error;
mod interface;
mod pcapng;
mod read;

pub use error::CaptureError;
pub use interface::{DEFAULT_SNAP_LENGTH, Interface, InterfaceId, SnapLength};
pub use pcapng::PcapngWriter;
pub use read::{
    CaptureReader, CapturedInterface, Compression, Direction, Format, KnownFields, Note, NoteKind,
    Notes, Options, Order, Place, PlainRecord, ReadError, Record,
};
