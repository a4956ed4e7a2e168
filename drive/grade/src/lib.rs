//! Grades `why` on connections whose cause is known.
#![deny(missing_docs)]

pub mod counterfactual;
pub mod worlds;
