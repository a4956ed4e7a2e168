//! Tests of `gigatcp-plan` through its public interface, in one program: it is compiled and linked once.

mod axes;
mod cells;
mod diagnostics;
mod experiments;
mod hostile;
mod keys;
mod model;
mod overrides;
mod processors;
mod statistics;
