//! Grades `gigatcp test`: its number against a capture, its cause against what was set.
//!
//! | file | what |
//! |---|---|
//! | `cases.rs` | what is set, and what must follow |
//! | `run.rs` | a test between two namespaces, with tcpdump at the server |
//! | `verdict.rs` | what was said, and whether it is right |
//! | `kept.rs` | graded runs as they were kept, for a fit |

pub mod cases;
pub mod kept;
pub mod run;
pub mod verdict;
