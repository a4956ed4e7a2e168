//! Lookups of names in a capture: how long a client waited for the address that it then connected to.

use std::collections::HashMap;
use std::net::IpAddr;

use gigatcp_flows::{Connection, Side};
use gigatcp_units::{Duration, Instant};
use gigatcp_wire::link::{NameMessage, Question};

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
    /// Time of its latest message.
    latest: Instant,
    pending: Vec<Question>,
    answers: Vec<Instant>,
    addresses: Vec<IpAddr>,
}

impl NameLookup {
    /// Maximum addresses, answers and questions kept.
    const MAX: usize = 16;
    /// Resolvers give up sooner than that.
    const PATIENCE: Duration = Duration::from_secs(30);
    /// Resolvers that ask for one version of addresses after the other do so at once.
    const AT_ONCE: Duration = Duration::from_millis(20);

    fn new(client: IpAddr, at: Instant) -> Self {
        Self {
            client,
            asked: at,
            latest: at,
            pending: Vec::new(),
            answers: Vec::new(),
            addresses: Vec::new(),
        }
    }

    /// Whether a question at that time belongs to it.
    fn goes_on(&self, at: Instant) -> bool {
        let patience = if self.pending.is_empty() {
            Self::AT_ONCE
        } else {
            Self::PATIENCE
        };
        at.saturating_since(self.latest) <= patience
    }

    /// Takes the answer to a question that was asked; others may be forged.
    fn answer(&mut self, at: Instant, message: &NameMessage<'_>) {
        let is_asked = |question: &Question| *question == message.question;
        let Some(place) = self.pending.iter().position(is_asked) else {
            return;
        };
        self.pending.swap_remove(place);
        self.latest = at;
        if self.answers.len() < Self::MAX {
            self.answers.push(at);
        }
        for address in message.addresses() {
            if self.addresses.len() < Self::MAX && !self.addresses.contains(&address) {
                self.addresses.push(address);
            }
        }
    }
}

impl NameLookups {
    /// Maximum number of lookups kept, those of the beginning. A connection after a later one is
    /// explained without it.
    const MAX_KEPT: usize = 1 << 14;

    pub(crate) fn handle_message(&mut self, at: Instant, message: &NameMessage<'_>) {
        let key = (message.client, message.name.to_ascii_lowercase());
        let known = self.latest.get(&key).copied();
        if message.is_answer {
            if let Some(index) = known {
                self.all[index].answer(at, message);
            }
            return;
        }
        let index = match known {
            Some(index) if self.all[index].goes_on(at) => index,
            // One without an address explains nothing.
            Some(index) if self.all[index].addresses.is_empty() => {
                self.all[index] = NameLookup::new(message.client, at);
                index
            }
            _ if self.all.len() < Self::MAX_KEPT => {
                self.latest.insert(key, self.all.len());
                self.all.push(NameLookup::new(message.client, at));
                self.all.len() - 1
            }
            _ => return,
        };
        let lookup = &mut self.all[index];
        lookup.latest = at;
        let is_new = !lookup.pending.contains(&message.question);
        if is_new && lookup.pending.len() < NameLookup::MAX {
            lookup.pending.push(message.question);
        }
    }

    /// The lookups by client and address told.
    pub(crate) fn by_address(&self) -> LookupsByAddress {
        let mut found: HashMap<_, Vec<[Instant; 2]>> = HashMap::new();
        for lookup in &self.all {
            for address in &lookup.addresses {
                let of_pair = found.entry((lookup.client, *address)).or_default();
                of_pair.extend(lookup.answers.iter().map(|answer| [*answer, lookup.asked]));
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
