//! The next limit of a connection: whether it is named, and correctly.

use std::fmt;

use crate::dataset::{Observed, PLACES};

/// Answers about the next limit, at one capture point.
#[derive(Clone, Copy, Default, Debug)]
struct NextCounts {
    right: u64,
    wrong: u64,
    /// No next limit was named, or the first limit was not found.
    silent: u64,
}

/// Answers about the next limit, in two groups. A capture can show the path or an advertised
/// window; the first limit hides others.
#[derive(Clone, Copy, Default, Debug)]
pub struct NextScore {
    shown: [NextCounts; PLACES.len()],
    hidden: [NextCounts; PLACES.len()],
}

/// Limits that are visible without binding.
const SHOWN: [&str; 2] = ["path-saturated", "receive-window-limited"];

impl NextScore {
    /// Adds an answer. Returns whether it is wrong.
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
