//! Connections by number and by four-tuple.
//!
//! A number is the index of a connection in a driver's list, reused after [`Table::remove`]. A
//! four-tuple is found through a hash table under a key of this host (SipHash), so no
//! choice of addresses makes it slow. Nothing iterates over the hash table, so its order has no
//! effect and runs are repeatable.

use alloc::vec::Vec;

use hashbrown::HashTable;

use crate::four_tuple::FourTuple;
use crate::secret::{Purpose, Secret};

/// Connections by number and by four-tuple.
#[derive(Debug)]
pub struct Table {
    secret: Secret,
    numbers: HashTable<u32>,
    tuples: Vec<Option<FourTuple>>,
    free: Vec<u32>,
    /// Connection of the last arrival, if it is still found by its four-tuple.
    latest: Option<u32>,
}

impl Table {
    /// An empty table whose hashes depend on `secret`.
    pub fn new(secret: Secret) -> Self {
        Self {
            secret,
            numbers: HashTable::new(),
            tuples: Vec::new(),
            free: Vec::new(),
            latest: None,
        }
    }

    /// Number of connections.
    pub fn len(&self) -> usize {
        self.tuples.len() - self.free.len()
    }

    /// Whether there is no connection.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Connection of that four-tuple.
    #[inline]
    pub fn find(&self, tuple: &FourTuple) -> Option<u32> {
        let has_tuple = |number: &u32| self.tuples[*number as usize].as_ref() == Some(tuple);
        let hash = hash(&self.secret, tuple);
        self.numbers.find(hash, has_tuple).copied()
    }

    /// Connection of a segment that arrived: as [`Table::find`], but without hashing if the last one
    /// was of the same connection.
    #[inline]
    pub fn find_arrival(&mut self, tuple: &FourTuple) -> Option<u32> {
        if let Some(latest) = self.latest
            && self.tuples[latest as usize].as_ref() == Some(tuple)
        {
            return Some(latest);
        }
        self.latest = self.find(tuple);
        self.latest
    }

    /// Four-tuple of a connection; `None` if none has that number.
    #[inline]
    pub fn four_tuple(&self, number: u32) -> Option<&FourTuple> {
        self.tuples.get(number as usize)?.as_ref()
    }

    /// Adds a connection; returns its number. An older one of the same four-tuple keeps its number
    /// until [`Table::remove`], but is no longer found.
    pub fn insert(&mut self, tuple: FourTuple) -> u32 {
        let number = self.free.pop().unwrap_or_else(|| {
            self.tuples.push(None);
            (self.tuples.len() - 1) as u32
        });
        self.tuples[number as usize] = Some(tuple);
        // It may hide the latest.
        self.latest = None;
        let Self { secret, tuples, .. } = self;
        let rehash = |number: &u32| {
            let tuple = tuples[*number as usize].as_ref();
            tuple.map_or(0, |tuple| hash(secret, tuple))
        };
        let own = hash(secret, &tuple);
        let has_tuple = |other: &u32| *other != number && tuples[*other as usize] == Some(tuple);
        match self.numbers.find_mut(own, has_tuple) {
            Some(old) => *old = number,
            None => {
                self.numbers.insert_unique(own, number, rehash);
            }
        }
        debug_assert!(
            self.find(&tuple) == Some(number),
            "connection {number} is not found by its four-tuple"
        );
        self.assert_invariants();
        number
    }

    /// Asserts the invariants after every change: connections found by four-tuple have a number.
    fn assert_invariants(&self) {
        debug_assert!(
            self.free.len() <= self.tuples.len(),
            "{} numbers are free of {}",
            self.free.len(),
            self.tuples.len()
        );
        debug_assert!(
            self.numbers.len() <= self.len(),
            "{} four-tuples are found, {} connections have a number",
            self.numbers.len(),
            self.len()
        );
        let last = self.free.last().map(|number| self.tuples[*number as usize]);
        debug_assert!(
            last.is_none_or(|tuple| tuple.is_none()),
            "a free number has the four-tuple {last:?}"
        );
    }

    /// Hides a connection from look-ups by four-tuple; it keeps that and its number.
    pub fn hide(&mut self, number: u32) {
        let Some(tuple) = self.four_tuple(number) else {
            return;
        };
        let hash = hash(&self.secret, tuple);
        if self.latest == Some(number) {
            self.latest = None;
        }
        if let Ok(entry) = self.numbers.find_entry(hash, |found| *found == number) {
            entry.remove();
        }
    }

    /// Removes a connection and frees its number.
    pub fn remove(&mut self, number: u32) {
        self.hide(number);
        let tuple = self.tuples.get_mut(number as usize);
        if tuple.and_then(Option::take).is_some() {
            self.free.push(number);
        }
        self.assert_invariants();
    }

    /// Every number in use, in order.
    pub fn numbers(&self) -> impl Iterator<Item = u32> {
        let in_use =
            |(number, tuple): (usize, &Option<FourTuple>)| tuple.is_some().then_some(number as u32);
        self.tuples.iter().enumerate().filter_map(in_use)
    }
}

fn hash(secret: &Secret, tuple: &FourTuple) -> u64 {
    secret.keyed(Purpose::Table).tuple(tuple).finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::Ipv4Addr;
    use gigatcp_wire::Endpoints;

    fn tuple(remote_port: u16) -> FourTuple {
        FourTuple {
            endpoints: Endpoints::V4 {
                src: Ipv4Addr::new(10, 0, 0, 1),
                dst: Ipv4Addr::new(10, 0, 0, 2),
            },
            local_port: 80,
            remote_port,
        }
    }

    #[test]
    fn a_four_tuple_is_found_until_its_number_is_taken_back() {
        let mut table = Table::new(Secret::new([3; 16]));
        for port in 0..5000_u16 {
            assert_eq!(table.insert(tuple(port)), u32::from(port));
        }
        for port in (0..5000_u32).step_by(3) {
            table.remove(port);
        }
        for port in 0..5000_u16 {
            let expected = (port % 3 != 0).then_some(u32::from(port));
            assert_eq!(table.find(&tuple(port)), expected);
            assert_eq!(table.find_arrival(&tuple(port)), expected);
        }
        assert_eq!(table.len(), table.numbers().count());
        // The last freed number is used first.
        assert_eq!(table.insert(tuple(9000)), 4998);
        table.remove(7000);
    }

    #[test]
    fn of_two_connections_of_one_four_tuple_the_later_is_found() {
        let mut table = Table::new(Secret::new([3; 16]));
        let (old, new) = (table.insert(tuple(1)), table.insert(tuple(1)));
        assert_ne!(old, new);
        assert_eq!(table.find(&tuple(1)), Some(new));
        table.remove(old);
        assert_eq!(table.find(&tuple(1)), Some(new));
        table.hide(new);
        assert_eq!(table.find(&tuple(1)), None);
        assert_eq!((table.four_tuple(new), table.len()), (Some(&tuple(1)), 1));
        table.remove(new);
        assert!(table.is_empty());
    }

    #[test]
    fn the_connection_of_the_last_arrival_is_forgotten_when_another_takes_its_four_tuple() {
        let mut table = Table::new(Secret::new([3; 16]));
        let old = table.insert(tuple(1));
        assert_eq!(table.find_arrival(&tuple(1)), Some(old));
        assert_eq!(table.find_arrival(&tuple(1)), Some(old));
        let new = table.insert(tuple(1));
        assert_eq!(table.find_arrival(&tuple(1)), Some(new));
        table.hide(new);
        assert_eq!(table.find_arrival(&tuple(1)), None);
        let other = table.insert(tuple(2));
        assert_eq!(table.find_arrival(&tuple(2)), Some(other));
        table.remove(other);
        assert_eq!(table.find_arrival(&tuple(2)), None);
    }
}
