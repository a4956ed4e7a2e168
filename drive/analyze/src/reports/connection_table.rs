//! The connections of a text that lists each of them many times, as `ss` in a loop does.

use std::collections::HashMap;

use gigatcp_units::Bytes;
use gigatcp_why::counters::{End, Reading};

use super::ReportedConnection;

/// Connections in the order in which a text names them first.
#[derive(Default)]
pub(super) struct ConnectionTable {
    list: Vec<ReportedConnection>,
    /// Index of each in the list, by its ends: a text may list thousands.
    by_ends: HashMap<String, usize>,
}

impl ConnectionTable {
    /// Adds a reading of the connection with these ends.
    pub(super) fn add(&mut self, ends: String, congestion: Option<String>, reading: Reading) {
        let index = *self.by_ends.entry(ends).or_insert_with_key(|ends| {
            self.list.push(ReportedConnection {
                congestion,
                ..ReportedConnection::new(ends.clone())
            });
            self.list.len() - 1
        });
        self.list[index].steps.push((End::Sender, reading));
    }

    /// The connections; those that mostly received are seen from their receiver.
    pub(super) fn into_list(self) -> Vec<ReportedConnection> {
        let mut list = self.list;
        list.iter_mut().for_each(receive);
        list
    }
}

/// Turns a connection that mostly received into one seen from its receiver.
fn receive(connection: &mut ReportedConnection) {
    let grown = |of: fn(&Reading) -> Option<Bytes>| {
        let total = |step: Option<&(End, Reading)>| of(&step?.1);
        let steps = &connection.steps;
        let before = total(steps.first().filter(|_| steps.len() > 1));
        let last = total(steps.last()).unwrap_or_default();
        last.saturating_sub(before.unwrap_or_default()).as_u64()
    };
    if grown(|reading| reading.bytes_received) > grown(|reading| reading.bytes_acked) {
        for (end, _) in &mut connection.steps {
            *end = End::Receiver;
        }
        let ends = connection.ends.split_once(" -> ");
        let turned = ends.map(|(here, there)| format!("{there} -> {here}"));
        connection.ends = turned.unwrap_or_default();
    }
}
