//! Diagnoses a connection from counters of its hosts' kernels, without a capture.
//!
//! The causes, their text and the form of the result are those of captures: a
//! [`Diagnosis`](crate::Diagnosis) whose times add up to the time observed. It is less certain: no
//! confidence is above 0.89.
//!
//! # API
//!
//! ```
//! use gigatcp_units::{Duration, Instant};
//! use gigatcp_why::counters::{CounterAccount, End, Reading};
//!
//! let mut account = CounterAccount::default();
//! account.set_congestion("cubic");
//! for step in 0..20_u64 {
//!     let at = Instant::ZERO + Duration::from_millis(10 * step);
//!     let words = [
//!         ("tcpi_snd_mss", 1448),
//!         ("tcpi_unacked", 45),
//!         ("tcpi_snd_cwnd", 100),
//!         ("tcpi_snd_wnd", 65_160),
//!         ("tcpi_rtt", 80_000),
//!         ("tcpi_min_rtt", 80_000),
//!         ("tcpi_bytes_acked", 8145 * step as i64),
//!         ("tcpi_busy_time", 10_000 * step as i64),
//!         ("tcpi_rwnd_limited", 9_900 * step as i64),
//!         ("tcpi_snd_wscale", 7),
//!         ("tcpi_rcv_wscale", 7),
//!     ];
//!     account.on_reading(End::Sender, &Reading::of_words(at, words));
//! }
//! let diagnosis = account.diagnose().expect("two readings");
//! let first = diagnosis.primary().expect("a cause");
//! assert_eq!(first.cause.id, "receive-window-limited");
//! assert_eq!(diagnosis.contradiction(), None);
//! println!("{}", diagnosis.sentence());
//! ```
//!
//! * [`Reading`]: one reading of a connection. [`Reading::of_words`] takes words of `tcp_info` and
//!   of socket memory by their names in `gigatcp-linux`; [`ss::looks`] takes the text of `ss
//!   -tinmO`. [`Reading::words`] returns them, for this project's JSON. `sample.rs` of
//!   `gigatcp-meter` makes one from a socket at little cost.
//! * [`HostReading`]: CPU time and drops of a host. [`HostSummary`]: its activity during a test,
//!   and the saturated core.
//! * [`CounterAccount::on_reading`], [`CounterAccount::on_host`]: in order of time, of either end,
//!   at any interval from 1 ms to seconds. Without the sender's readings only the receiver's are
//!   explained. All times are on one clock: the caller shifts those of another host.
//! * [`CounterAccount::set_congestion`], [`CounterAccount::set_limits`]: known settings; they
//!   determine the fix.
//! * [`CounterAccount::now`]: the current limit. [`CounterAccount::diagnose`]: the limits so far;
//!   it may be called at any time.
//!
//! | file | what |
//! |---|---|
//! | `reading.rs`, `host.rs`, `ss.rs` | inputs |
//! | `account.rs`, `slice.rs`, `loss.rs` | converts readings to slices of time and loss events |
//! | `total.rs` | a single reading, with counters since the connection began |
//! | `host_summary.rs` | a host from its first reading to its last one |
//! | `features.rs`, `held_window.rs`, `full_path.rs` | quantities of a slice; a window found by Little's law; a full path |
//! | `causes.rs`, `conditions.rs` | each cause, and what must be the case for it |
//! | `weights.rs`, `score.rs` | the probability of the causes that remain |
//! | `diagnosis.rs`, `explain.rs` | the result: times and text |
//!
//! Out of scope: exchanges of requests and responses (their waits are the application's). Their counters
//! look like those of other causes.

mod account;
mod causes;
mod conditions;
mod default_windows;
mod diagnosis;
mod explain;
mod features;
mod full_path;
mod held_window;
mod host;
mod host_summary;
mod loss;
mod reading;
mod score;
mod slice;
pub mod ss;
mod total;
pub mod weights;

pub use account::{CounterAccount, End, Limits};
pub use default_windows::known_default;
pub use diagnosis::ScoredSlice;
pub use features::{FEATURES, Feature, Features};
pub use host::{CardLosses, CoreTimes, HostReading, HostUse};
pub use host_summary::{CoreShares, HostSummary};
pub use reading::{Reading, WORDS, place};
pub use score::{UNSEEN, needed};
pub use slice::Wait;
