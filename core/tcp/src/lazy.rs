//! State of a mechanism that most connections never use.
//!
//! A connection that was never short of a packet has no gaps, one without ECN no
//! counters of marks. Such state stands on the heap, from its first change on; before
//! that it reads as it begins. One mechanism has one such place, so an idle connection
//! pays a pointer for it.

use alloc::boxed::Box;
use core::ops::{Deref, DerefMut};

/// State on the heap from its first change on.
#[derive(Clone, Debug)]
pub(crate) struct Lazy<T>(Option<Box<T>>);

/// A type whose untouched state can be read without any memory of its own.
pub(crate) trait Untouched: Sized + 'static {
    /// The state before the first change.
    const UNTOUCHED: &'static Self;
}

impl<T> Lazy<T> {
    /// The state if it was ever changed.
    #[inline]
    pub(crate) fn touched(&self) -> Option<&T> {
        self.0.as_deref()
    }

    /// The state if it was ever changed, to change it further.
    #[inline]
    pub(crate) fn touched_mut(&mut self) -> Option<&mut T> {
        self.0.as_deref_mut()
    }

    /// Forgets every change.
    pub(crate) fn reset(&mut self) {
        self.0 = None;
    }
}

impl<T: Default> Lazy<T> {
    /// The state, to change it.
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
