//! Arguments and results of calls.

use crate::ast::Value;
use crate::stack::{Progress, Returned, Unsupported};

/// Result of a call.
pub type Called = Result<Progress, Unsupported>;

/// A call that returned immediately.
pub fn returned(result: i64) -> Called {
    Ok(Progress::Returned(Returned::success(result)))
}

/// A call that failed immediately.
pub fn failed(errno: &str) -> Called {
    Ok(Progress::Returned(Returned::failure(errno)))
}

/// The arguments of a call.
#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    pub name: &'a str,
    pub all: &'a [Value],
}

impl<'a> Arguments<'a> {
    pub fn get(&self, index: usize) -> &'a Value {
        self.all.get(index).unwrap_or(&Value::Ellipsis)
    }

    /// A number that the call requires.
    pub fn number(&self, index: usize) -> Result<i64, Unsupported> {
        self.get(index).integer().ok_or_else(|| self.odd(index))
    }

    /// The error for an argument of an unknown form.
    pub fn odd(&self, index: usize) -> Unsupported {
        Unsupported::new(
            "call",
            alloc::format!("{} with an argument {} of this form", self.name, index + 1),
        )
    }
}
