//! Causes of packet drops and drop counts by cause: one table.
//!
//! A new cause is a new row of the table below. The enum, its ids, the place of each cause, the
//! resulting limit of a connection and the table of docs/run-json.md are generated from the rows.

use core::ops::Index;

use crate::tally::Tally;

/// Place where packets are dropped.
enum Place {
    Path,
    Host,
}

/// Generates [`DropCause`] from a table. A row is the description of a cause, its name (with its
/// data, and any value of that), its id in JSON, its place, and the id in `gigatcp why` of the
/// resulting limit of a connection.
macro_rules! drop_causes {
    ($($(#[$about:meta])+ $name:ident $(($carried:ty, $any:expr))? = $id:literal, $place:ident, $limits:literal;)+) => {
        /// Reason why a wire packet was dropped.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum DropCause {
            $($(#[$about])+ $name $(($carried))?,)+
        }

        impl DropCause {
            /// Number of causes; all loss models of a hop are one.
            pub const COUNT: usize = [$($id),+].len();

            /// Every cause, in the order of tables. A new one must be appended: the hashes of runs
            /// depend on the index.
            pub const ALL: [Self; Self::COUNT] = [$(Self::$name $(($any))?),+];

            /// Its name in JSON, e.g. `queue_full`; tables show it with spaces.
            pub const fn id(self) -> &'static str {
                match self { $(Self::$name { .. } => $id,)+ }
            }

            /// Whether it occurs at hosts, and never at an element of the path.
            pub const fn is_at_host(self) -> bool {
                let place = match self { $(Self::$name { .. } => Place::$place,)+ };
                matches!(place, Place::Host)
            }

            /// `gigatcp why` id of the resulting limit of connections.
            pub const fn limits(self) -> &'static str {
                match self { $(Self::$name { .. } => $limits,)+ }
            }

            /// Its index in [`DropCause::ALL`].
            #[inline]
            pub const fn index(self) -> usize {
                enum Row { $($name,)+ }
                (match self { $(Self::$name { .. } => Row::$name,)+ }) as usize
            }
        }
    };
}

drop_causes! {
    /// The queue limit, in packets or bytes, was reached.
    QueueFull = "queue_full", Path, "queue-overflow";
    /// The element held as many packets as `hold_limit` allows.
    HoldLimit = "hold_limit", Path, "queue-overflow";
    /// A loss model selected it. The number is the index of the model, from zero, in the hop's
    /// list.
    Loss(usize, 0) = "loss", Path, "random-loss";
    /// Larger than `mtu` of the element.
    TooBig = "too_big", Path, "pmtu-black-hole";
    /// Above the rate of the policer.
    Policed = "policed", Path, "policer";
    /// Collided 16 times on an Ethernet.
    Collisions = "collisions", Path, "random-loss";
    /// The queue's discipline (RED, CoDel, PIE, ...) dropped it before the queue was full.
    Aqm = "aqm", Path, "aqm-drops";
    /// An ACK that a newer one of its connection made redundant (`ack_filter`).
    AckFiltered = "ack_filtered", Path, "ack-path";
    /// Every buffer posted to the network card was full.
    NoDescriptor = "no_descriptor", Host, "rx-ring-overrun";
    /// There was no buffer to post in place of the packet's.
    NoBuffer = "no_buffer", Host, "rx-ring-overrun";
    /// The queue between interrupt and protocol work was full.
    InputQueue = "input_queue", Host, "rx-ring-overrun";
    /// The receive buffer of a datagram socket was full.
    SocketBuffer = "socket_buffer", Host, "rx-ring-overrun";
    /// The backlog of a listening socket was full.
    Backlog = "backlog", Host, "rx-ring-overrun";
    /// The kernel's pool of clusters was empty.
    Clusters = "clusters", Host, "rx-ring-overrun";
    /// Corrupted on the path: the checksum was wrong.
    Checksum = "checksum", Host, "random-loss";
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
    /// Every cause with its count, including zeros. Causes of hosts are included only if not zero.
    pub fn iter(&self) -> impl Iterator<Item = (DropCause, Tally)> {
        let pairs = DropCause::ALL.into_iter().zip(self.0);
        pairs.filter(|(cause, dropped)| !cause.is_at_host() || !dropped.is_zero())
    }

    /// Total of all drops.
    pub fn total(&self) -> Tally {
        self.0.into_iter().fold(Tally::default(), Tally::plus)
    }

    /// Total of the causes for which `is_meant` returns true.
    pub fn sum(&self, is_meant: impl Fn(DropCause) -> bool) -> Tally {
        let meant = self.iter().filter(|(cause, _)| is_meant(*cause));
        meant.fold(Tally::default(), |sum, (_, dropped)| sum.plus(dropped))
    }

    /// Adds drops by `cause`.
    pub fn add(&mut self, cause: DropCause, dropped: Tally) {
        self.0[cause.index()].add(dropped);
    }

    /// Adds all of `others`.
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
                .filter(|known| known.id() == cause.id());
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
