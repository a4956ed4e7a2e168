//! Host settings that limit TCP on a path: facts in, findings with costs out.
#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

extern crate alloc;
