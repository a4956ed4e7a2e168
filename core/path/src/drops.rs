//! Why packets are dropped, and how many by each cause: one table.
//!
//! Whoever shows or stores drops goes by [`DropCause::ALL`]: a further cause is added
//! here, and where the simulator says what it means for a connection.

use core::ops::Index;

use crate::counters::Tally;

/// Why a wire packet did not get through.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DropCause {
    /// The queue was full, in packets or in bytes.
    QueueFull,
    /// Dropped by active queue management before the queue was full.
    Aqm,
    /// The element held as many packets as it may hold.
    HoldLimit,
    /// Larger than the element takes.
    TooBig,
    /// Beyond the rate of a policer.
    Policed,
    /// Collided on a shared medium as often as a frame may.
    Collisions,
    /// An ACK that a newer one of its connection makes redundant.
    AckFiltered,
    /// Taken by a loss model: its place, from zero, in the hop's list.
    Loss(usize),
    /// At a host: every buffer posted to the network card was full.
    NoDescriptor,
    /// At a host: there was no buffer to post in the place of the frame's.
    NoBuffer,
    /// At a host: the queue before protocol work was full.
    InputQueue,
    /// At a host: the receive buffer of a datagram socket was full.
    SocketBuffer,
    /// At a host: a listening socket had no room for a handshake.
    Backlog,
    /// At a host: the kernel's pool of clusters was empty.
    Clusters,
}

impl DropCause {
    /// How many causes there are; all loss models of a hop are one.
    pub const COUNT: usize = 14;

    /// Every cause, in the order of tables. A new one comes last: fingerprints of runs
    /// go by the place.
    pub const ALL: [Self; Self::COUNT] = [
        Self::QueueFull,
        Self::HoldLimit,
        Self::Loss(0),
        Self::TooBig,
        Self::Policed,
        Self::Collisions,
        Self::Aqm,
        Self::AckFiltered,
        Self::NoDescriptor,
        Self::NoBuffer,
        Self::InputQueue,
        Self::SocketBuffer,
        Self::Backlog,
        Self::Clusters,
    ];

    /// Returns whether it happens at hosts, and never at an element of the path.
    #[must_use]
    pub const fn is_at_host(self) -> bool {
        matches!(
            self,
            Self::NoDescriptor
                | Self::NoBuffer
                | Self::InputQueue
                | Self::SocketBuffer
                | Self::Backlog
                | Self::Clusters
        )
    }

    /// Returns its name in JSON, and with spaces in tables: `queue_full`.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::QueueFull => "queue_full",
            Self::Aqm => "aqm",
            Self::Loss(_) => "loss",
            Self::TooBig => "too_big",
            Self::Policed => "policed",
            Self::HoldLimit => "hold_limit",
            Self::Collisions => "collisions",
            Self::AckFiltered => "ack_filtered",
            Self::NoDescriptor => "no_descriptor",
            Self::NoBuffer => "no_buffer",
            Self::InputQueue => "input_queue",
            Self::SocketBuffer => "socket_buffer",
            Self::Backlog => "backlog",
            Self::Clusters => "clusters",
        }
    }

    /// Returns its place in [`DropCause::ALL`].
    #[inline]
    #[must_use]
    pub const fn index(self) -> usize {
        match self {
            Self::QueueFull => 0,
            Self::HoldLimit => 1,
            Self::Loss(_) => 2,
            Self::TooBig => 3,
            Self::Policed => 4,
            Self::Collisions => 5,
            Self::Aqm => 6,
            Self::AckFiltered => 7,
            Self::NoDescriptor => 8,
            Self::NoBuffer => 9,
            Self::InputQueue => 10,
            Self::SocketBuffer => 11,
            Self::Backlog => 12,
            Self::Clusters => 13,
        }
    }
}

/// Wire packets dropped, by cause.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Drops([Tally; DropCause::COUNT]);

impl Index<DropCause> for Drops {
    type Output = Tally;

    fn index(&self, cause: DropCause) -> &Tally {
        &self.0[cause.index()]
    }
}

impl Drops {
    /// Returns every cause with what it dropped, zeros too; causes of hosts only where
    /// something was dropped.
    pub fn iter(&self) -> impl Iterator<Item = (DropCause, Tally)> {
        let pairs = DropCause::ALL.into_iter().zip(self.0);
        pairs.filter(|(cause, dropped)| !cause.is_at_host() || !dropped.is_zero())
    }

    /// Returns all drops together.
    #[must_use]
    pub fn total(&self) -> Tally {
        self.0.into_iter().fold(Tally::default(), Tally::plus)
    }

    /// Returns what was dropped by the causes that `is_meant` says.
    #[must_use]
    pub fn sum(&self, is_meant: impl Fn(DropCause) -> bool) -> Tally {
        let meant = self.iter().filter(|(cause, _)| is_meant(*cause));
        meant.fold(Tally::default(), |sum, (_, dropped)| sum.plus(dropped))
    }

    /// Counts in what `cause` dropped.
    pub fn add(&mut self, cause: DropCause, dropped: Tally) {
        self.0[cause.index()].add(dropped);
    }

    /// Counts in all of `others`.
    pub fn add_all(&mut self, others: &Self) {
        for (sum, more) in self.0.iter_mut().zip(others.0) {
            sum.add(more);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cause_stands_at_its_place_under_a_name_of_its_own() {
        for (place, cause) in DropCause::ALL.into_iter().enumerate() {
            assert_eq!(cause.index(), place);
            let same = DropCause::ALL
                .into_iter()
                .filter(|it| it.id() == cause.id());
            assert_eq!(same.count(), 1, "{}", cause.id());
        }
    }

    #[test]
    fn drops_are_counted_under_their_cause_and_all_loss_models_are_one() {
        let mut drops = Drops::default();
        drops.add(DropCause::Loss(3), Tally::new(2, 3000));
        drops.add(DropCause::Loss(0), Tally::new(1, 1500));
        drops.add(DropCause::Aqm, Tally::new(1, 40));
        assert_eq!(drops[DropCause::Loss(0)], Tally::new(3, 4500));
        assert_eq!(drops.total(), Tally::new(4, 4540));
        assert_eq!(
            drops.iter().count(),
            8,
            "causes of hosts only if they dropped"
        );
        drops.add(DropCause::NoBuffer, Tally::default());
        drops.add(DropCause::InputQueue, Tally::new(1, 1500));
        assert_eq!(drops.iter().count(), 9);
        let aqm = drops.sum(|cause| cause == DropCause::Aqm);
        assert_eq!(aqm, Tally::new(1, 40));
    }
}
