//! The two ends of the path.

/// An end of the path.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Side {
    /// Where the command runs.
    Client,
    /// Where its peer runs.
    Server,
}

impl Side {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Client, Self::Server];

    pub(crate) const fn index(self) -> usize {
        self as usize
    }

    /// The one across the path.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}
