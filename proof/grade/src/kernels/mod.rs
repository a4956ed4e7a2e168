//! Labeled captures of the running kernel's TCP.
//!
//! Each case builds three namespaces, a path with one known limit between them, and programs that
//! transfer data. It captures at both hosts and on the path. The label counts only if counters of
//! the kernel, the path and the programs show that the limit was binding.
//!
//! | file | content |
//! |---|---|
//! | `families/` | parameters drawn from a seed |
//! | `spec.rs` | a case |
//! | `topology.rs`, `emulated.rs` | namespaces and interfaces |
//! | `forward/` | the path in user space |
//! | `apps.rs` | readers, writers, clients, servers |
//! | `run.rs`, `taps.rs`, `process.rs`, `group.rs` | running a case |
//! | `diag.rs`, `sample.rs`, `facts.rs` | counters |
//! | `proof.rs` | required values of counters |
//! | `labeling.rs` | making the label of a case |
//! | `label.rs`, `corpus.rs` | input of a grader |

pub mod apps;
pub mod corpus;
pub mod diag;
pub mod emulated;
pub mod facts;
pub mod families;
pub mod forward;
pub mod group;
pub mod label;
pub mod labeling;
pub mod process;
pub mod proof;
pub mod run;
pub mod sample;
pub mod spec;
pub mod taps;
pub mod tools;
pub mod topology;
