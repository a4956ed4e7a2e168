//! Two causes in one connection: whether both are named, and in which order.

use std::fmt;

use crate::dataset::{Observed, PLACES};

/// Answers for connections with two causes, at one capture point.
#[derive(Clone, Copy, Default, Debug)]
pub struct Ordered {
    /// The two causes with most time are the true ones, in the correct order.
    pub right: u64,
    /// The two causes are the true ones, in the wrong order.
    pub swapped: u64,
    /// At least one of them is not a true one.
    pub wrong: u64,
}

/// Answers for connections with two causes.
#[derive(Clone, Copy, Default, Debug)]
pub struct Shares {
    /// By capture point, as in [`PLACES`].
    pub places: [Ordered; PLACES.len()],
}

impl Shares {
    /// Adds an answer, if the connection has two causes.
    pub fn add(&mut self, one: &Observed) {
        let Some(second) = &one.second else { return };
        let is = |index: usize, id: &str| one.ranked.get(index).is_some_and(|said| *said == id);
        let place = &mut self.places[one.place];
        if is(0, &one.truth) && is(1, second) {
            place.right += 1;
        } else if is(0, second) && is(1, &one.truth) {
            place.swapped += 1;
        } else {
            place.wrong += 1;
        }
    }
}

impl fmt::Display for Shares {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "two causes   right  order  wrong")?;
        for (name, of) in PLACES.into_iter().zip(self.places) {
            writeln!(
                f,
                "{name:10} {:7} {:6} {:6}",
                of.right, of.swapped, of.wrong
            )?;
        }
        Ok(())
    }
}
