//! Congestion controls seen from outside: figures they must come out at,
//! golden windows, and what holds for any control under any events.

mod figures;
mod harness;
mod properties;
mod responses;
mod snapshots;
