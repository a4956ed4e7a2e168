//! A recording of a watch: the readings of all connections, in files of a directory.
//!
//! [`Recorder`] writes what [`Watch`](super::Watch) samples; [`Recording`] reads an interval of it, and
//! accounts for it as a watch does. One file has an hour. It is compressed, and complete in itself:
//! names of the counters, limits of the host, and the first reading of each connection are in it.
//!
//! | bound | how |
//! |---|---|
//! | [`BYTES_PER_DAY`] | a budget: the less is left, the rarer connections are recorded |
//! | [`MAX_TOTAL`] | the oldest files are removed |
//! | at most [`FLUSH_EVERY`] is lost by a crash | a part is written at once, with its checksum |
//! | an idle connection costs nothing | a reading is recorded after time that needs an explanation |
//!
//! Times are those of the monotonic clock, which neither jumps nor counts a suspend, as the kernel's
//! counters of time. The clock of the day is recorded too whenever the two drift apart.
//!
//! | file | what |
//! |---|---|
//! | `format.rs` | records, and parts of a file |
//! | `directory.rs` | names, lock, permissions and total size |
//! | `budget.rs` | bytes left, and the time between two readings that follows |
//! | `recorder.rs` | chooses the readings, and writes them |
//! | `reader.rs` | the connections of an interval |

mod budget;
mod directory;
mod format;
mod reader;
mod recorder;
#[cfg(test)]
mod tests;

use gigatcp_units::{Bytes, Duration};

pub use directory::{Refused, is_recording};
pub use reader::{Interval, ReadError, Recorded, Recording, Selection};
pub use recorder::{Cost, Recorder};

/// Maximum written in any 24 hours.
pub const BYTES_PER_DAY: Bytes = Bytes::new(64_000_000);

/// Maximum size of all files of a directory.
pub const MAX_TOTAL: Bytes = Bytes::new(512_000_000);

/// Time between two writes.
pub const FLUSH_EVERY: Duration = Duration::from_secs(10);

/// Length of a file.
const FILE_TIME: Duration = Duration::from_secs(3600);

/// Nanoseconds since 1970, which may jump.
type WallTime = i64;
