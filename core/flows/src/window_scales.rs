//! Window scales of connections whose SYNs are not in the capture.
//!
//! Without them the windows of such a connection are unknown. A host knows those of its own
//! sockets.

use alloc::collections::BTreeMap;

use crate::Endpoint;

/// Window scales by connection.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct WindowScales(BTreeMap<[Endpoint; 2], [u8; 2]>);

impl WindowScales {
    /// Adds a connection: its ends, in any order, and the scale of the windows that each
    /// advertises.
    pub fn insert(&mut self, ends: [Endpoint; 2], scales: [u8; 2]) {
        let (ends, scales) = match ends {
            [first, second] if second < first => ([second, first], [scales[1], scales[0]]),
            _ => (ends, scales),
        };
        self.0.insert(ends, scales);
    }

    /// Adds all connections of another set. Its scales replace those of the same connection.
    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// The scales of these ends, in their order.
    pub(crate) fn get(&self, ends: [Endpoint; 2]) -> Option<[u8; 2]> {
        match ends {
            [first, second] if second < first => {
                let [scale, other] = *self.0.get(&[second, first])?;
                Some([other, scale])
            }
            _ => self.0.get(&ends).copied(),
        }
    }
}
