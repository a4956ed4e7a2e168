//! One grammar for reading and printing quantities.
