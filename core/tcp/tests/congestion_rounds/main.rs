//! Congestion controls seen from outside: figures they must come out at,
//! golden windows, and what holds for any control of a family under any events.

mod figures;
mod harness;
mod models;
mod properties;
mod responses;
mod snapshots;
