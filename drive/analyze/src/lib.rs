//! Captures in, diagnoses out: the loop from files to what limited each connection.
//!
//! The one place where capture readers (`drive/capture`), connection tracking
//! (`core/flows`) and diagnosis (`core/why`) meet; the command, tests, fuzz targets and
//! graders call it.
#![deny(missing_docs)]
