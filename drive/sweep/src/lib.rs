//! Plans times axes: runs every series of a plan and stores the results.
#![forbid(unsafe_code)]
#![deny(missing_docs)]
