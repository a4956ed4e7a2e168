//! Nothing: its tests and examples are all of it.
