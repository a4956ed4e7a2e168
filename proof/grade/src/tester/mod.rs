//! Grades `gigatcp test`: its rate against a capture, its cause against the injected one.
//!
//! | file | content |
//! |---|---|
//! | `cases.rs` | injected settings, and the required outcome |
//! | `run.rs` | a test between two namespaces, with tcpdump at the server |
//! | `verdict.rs` | the answer, and whether it is correct |
//! | `kept.rs` | stored graded runs, for a fit |

pub mod cases;
pub mod kept;
pub mod run;
pub mod verdict;
