//! The feature `authentication` is off: there are no keys.

use core::convert::Infallible;
use core::marker::PhantomData;

/// Keys type without values.
#[derive(Clone, Debug)]
pub struct Keys<P>(Infallible, PhantomData<P>);

impl<P> Keys<P> {
    pub(crate) const fn never(&self) -> ! {
        match self.0 {}
    }
}
