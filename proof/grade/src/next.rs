//! What limits a connection next: whether it is said, and whether it is right.

use std::fmt;

use crate::dataset::{Observed, PLACES};

/// Answers about the next limit, seen at one place.
#[derive(Clone, Copy, Default, Debug)]
struct Told {
    right: u64,
    wrong: u64,
    /// Nothing was said, or the first limit was not found.
    silent: u64,
}

/// Answers about the next limit, apart for those that a capture can show (the path, an
/// advertised window) and those that the first limit hides.
#[derive(Clone, Copy, Default, Debug)]
pub struct NextScore {
    shown: [Told; PLACES.len()],
    hidden: [Told; PLACES.len()],
}

/// Limits that show without binding.
const SHOWN: [&str; 2] = ["path-saturated", "receive-window-limited"];

impl NextScore {
    /// Adds an answer; returns whether it is wrong.
    pub fn add(&mut self, one: &Observed) -> bool {
        let second = one.second.as_deref().unwrap_or_default();
        let all = if SHOWN.contains(&second) {
            &mut self.shown
        } else {
            &mut self.hidden
        };
        let told = &mut all[one.place];
        let named = one.next.filter(|_| one.is_right());
        match named {
            Some(next) if next == second => told.right += 1,
            Some(_) => told.wrong += 1,
            None => told.silent += 1,
        }
        named.is_some_and(|next| next != second)
    }
}

impl fmt::Display for NextScore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (title, all) in [("shown", self.shown), ("hidden", self.hidden)] {
            writeln!(f, "next limit {title:6} right  wrong silent")?;
            for (name, of) in PLACES.into_iter().zip(all) {
                writeln!(f, "{name:17} {:5} {:6} {:6}", of.right, of.wrong, of.silent)?;
            }
        }
        Ok(())
    }
}
