//! State of a mechanism that most connections never use.
//!
//! A connection that never lost a packet has no gaps; one without ECN has no mark counters. Such
//! state is allocated on its first change; until then it reads as its initial value. Each
//! mechanism has one such allocation, so an idle connection pays one pointer for it.

use alloc::boxed::Box;
use core::ops::{Deref, DerefMut};

/// State allocated on its first change.
#[derive(Clone, Debug)]
pub(crate) struct Lazy<T>(Option<Box<T>>);

/// Type whose initial state is a constant.
pub(crate) trait Untouched: Sized + 'static {
    /// The state before the first change.
    const UNTOUCHED: &'static Self;
}

impl<T> Lazy<T> {
    /// State if it was ever changed.
    #[inline]
    pub(crate) fn touched(&self) -> Option<&T> {
        self.0.as_deref()
    }

    /// State mutably if it was ever changed.
    #[inline]
    pub(crate) fn touched_mut(&mut self) -> Option<&mut T> {
        self.0.as_deref_mut()
    }

    /// Discards all changes.
    pub(crate) fn reset(&mut self) {
        self.0 = None;
    }
}

impl<T: Default> Lazy<T> {
    /// State for a change, allocating it if necessary.
    #[inline]
    pub(crate) fn make(&mut self) -> &mut T {
        self.0.get_or_insert_default()
    }
}

impl<T> Default for Lazy<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T: Untouched> Deref for Lazy<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.touched().unwrap_or(T::UNTOUCHED)
    }
}

impl<T: Untouched + Default> DerefMut for Lazy<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        self.make()
    }
}
