//! Lookups of names in a capture: how long a client waited for the address that it then connected to.

use std::collections::HashMap;
use std::net::IpAddr;

use gigatcp_flows::{Connection, Side};
use gigatcp_units::{Duration, Instant};
use gigatcp_wire::link::NameMessage;

/// Lookups of names by the hosts of a capture, in the order of their first questions.
#[derive(Clone, Default, Debug)]
pub(crate) struct NameLookups {
    all: Vec<NameLookup>,
    /// The latest by client and name, in lower case: servers may be asked with letters of both.
    latest: HashMap<(IpAddr, Vec<u8>), usize>,
}

/// A lookup of one name: its questions, to whatever servers, and their answers.
#[derive(Clone, Debug)]
struct NameLookup {
    client: IpAddr,
    asked: Instant,
    answered: Instant,
    addresses: Vec<IpAddr>,
}

impl NameLookups {
    /// Maximum number of lookups kept, those of the beginning. A connection after a later one is
    /// explained without it.
    const MAX_KEPT: usize = 1 << 14;
    /// Maximum addresses kept of a lookup.
    const MAX_ADDRESSES: usize = 16;
    /// A question that long after the latest answer begins another lookup. Addresses of IPv4 and of IPv6 are
    /// two questions.
    const SAME: Duration = Duration::from_secs(1);

    pub(crate) fn handle_message(&mut self, at: Instant, message: &NameMessage<'_>) {
        let key = (message.client, message.name.to_ascii_lowercase());
        let known = self.latest.get(&key).copied();
        if message.is_answer {
            if let Some(lookup) = known.and_then(|index| self.all.get_mut(index)) {
                lookup.answered = at;
                let room = Self::MAX_ADDRESSES - lookup.addresses.len();
                lookup.addresses.extend(message.addresses().take(room));
            }
            return;
        }
        let is_open = |lookup: &NameLookup| {
            lookup.addresses.is_empty() || at.saturating_since(lookup.answered) < Self::SAME
        };
        let is_known = known.is_some_and(|index| is_open(&self.all[index]));
        if !is_known && self.all.len() < Self::MAX_KEPT {
            self.latest.insert(key, self.all.len());
            self.all.push(NameLookup {
                client: message.client,
                asked: at,
                answered: at,
                addresses: Vec::new(),
            });
        }
    }

    /// The lookups by client and address told.
    pub(crate) fn by_address(&self) -> LookupsByAddress {
        let mut found: HashMap<_, Vec<[Instant; 2]>> = HashMap::new();
        for lookup in &self.all {
            for address in &lookup.addresses {
                let of_pair = found.entry((lookup.client, *address)).or_default();
                of_pair.push([lookup.answered, lookup.asked]);
            }
        }
        for lookups in found.values_mut() {
            lookups.sort_unstable();
        }
        LookupsByAddress(found)
    }
}

/// When lookups were answered and asked, by client and address.
#[derive(Default, Debug)]
pub(crate) struct LookupsByAddress(HashMap<(IpAddr, IpAddr), Vec<[Instant; 2]>>);

impl LookupsByAddress {
    /// Maximum time from the answer to the SYN. A program that has the address connects at once.
    const SOON: Duration = Duration::from_millis(500);

    /// How long the client of a connection waited for the address right before its SYN.
    pub(crate) fn before(&self, connection: &Connection) -> Option<Duration> {
        let [client, server] = Side::BOTH.map(|side| connection.endpoint(side).address);
        let syn_at = connection.first_at();
        let lookups = self.0.get(&(client, server))?;
        let earlier = lookups.partition_point(|[answered, _]| *answered <= syn_at);
        let [answered, asked] = *lookups[..earlier].last()?;
        let is_soon = syn_at.saturating_since(answered) <= Self::SOON;
        let has_syn = connection.direction(Side::Client).has_syn();
        (is_soon && has_syn).then(|| answered.saturating_since(asked))
    }
}
