//! Grades `why` on connections whose cause is known.
#![deny(missing_docs)]

#[cfg(target_os = "linux")]
pub mod kernels;
