//! One profile for many connections.

use alloc::sync::Arc;
use core::ops::{Deref, DerefMut};

use super::Profile;

/// A profile shared by its holders, copied when one changes it.
///
/// A connection needs some settings at every segment. With a shared profile, a million
/// connections of one configuration store it once.
#[derive(Clone, PartialEq, Debug)]
pub struct SharedProfile(Arc<Profile>);

impl From<Profile> for SharedProfile {
    fn from(profile: Profile) -> Self {
        Self(Arc::new(profile))
    }
}

impl Deref for SharedProfile {
    type Target = Profile;

    #[inline]
    fn deref(&self) -> &Profile {
        &self.0
    }
}

impl DerefMut for SharedProfile {
    fn deref_mut(&mut self) -> &mut Profile {
        Arc::make_mut(&mut self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_not_seen_by_those_that_shared_the_profile() {
        let first = SharedProfile::from(Profile::MODERN);
        let mut second = first.clone();
        assert!(Arc::ptr_eq(&first.0, &second.0));
        second.segments.nagle = false;
        assert!(first.segments.nagle && !second.segments.nagle);
    }
}
