//! Packet scripts: the notation of packetdrill, and a runner of its scripts against a stack.
//!
//! ```
//! let text = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n\
//!             +0 bind(3, ..., ...) = 0\n\
//!             +0 listen(3, 1) = 0\n\
//!             +0 < S 0:0(0) win 1000 <mss 1000>\n";
//! let script = gigatcp_conformance::parse(text).unwrap();
//! assert_eq!(script.events.len(), 4);
//!
//! let mistake = gigatcp_conformance::parse("+0 < S 0:9(0) win 1000").unwrap_err();
//! let said = mistake.in_text("open.pkt", "+0 < S 0:9(0) win 1000");
//! assert!(said.starts_with("open.pkt:1:8: read `0:9(0)`, expected 0:0(0)"));
//! ```
//!
//! | file | what |
//! |---|---|
//! | [`ast`] | what a script says, as a tree |
//! | [`source`] | places, and mistakes with their place |
//! | `parse` | text to tree |
//! | [`python`] | the assertions between `%{` and `}%` |
//! | [`packet`] | packets at the border of a stack, and their octets |
//! | [`stack`] | what a script is run against |
//! | [`run`] | runs a script against a stack |
//! | [`engine`] | the engine as a stack |
//! | `kernel` | the running Linux kernel as a stack |
//! | `command` | the program that runs scripts and reports which pass |
//! | [`symbols`] | names and numbers of the socket interface |
//! | [`data`] | the octets of a stream |
//!
//! Sources: the notation as `packetdrill` reads it (Cardwell et al., USENIX ATC 2013). Two dialects
//! of existing scripts are supported: that of the Linux kernel's self-tests and that of the FreeBSD
//! suite.
#![deny(missing_docs)]
#![deny(unsafe_op_in_unsafe_fn)]

extern crate alloc;

pub mod ast;
pub mod data;
pub mod engine;
#[cfg(target_os = "linux")]
pub mod kernel;
pub mod packet;
mod parse;
pub mod python;
pub mod run;
pub mod source;
pub mod stack;
pub mod symbols;

pub use parse::parse;
