//! Samples all TCP connections of a network namespace repeatedly.
//!
//! A sample is one listing by the kernel ([`SockDiag`]). Connections are identified by their
//! cookie, addresses and ports. A connection that was idle since the last sample costs a comparison
//! of 24 bytes. An active one is read, and its time is attributed.
//!
//! | file | what |
//! |---|---|
//! | `accounts.rs` | time of one connection, as sender and as receiver |
//! | `recording/` | the readings of all connections in files, and back |

mod accounts;
pub mod recording;

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;

use gigatcp_linux::owners::{self, Process};
use gigatcp_linux::sock_diag::{Identity, STATES, SockDiag, Socket, WITH_DATA};
use gigatcp_units::{Bytes, Duration, Instant, Rate};
use gigatcp_why::counters::{CounterAccount, End, Reading};
use gigatcp_why::{Cause, Diagnosis};

use accounts::{AccountSettings, Accounts};

use crate::filter::{ConnectionFacts, Filter};
use crate::sample::Sampler;

/// Default maximum of time slices in the account of a connection.
const SLICES: usize = 16;

/// Maximum of ended connections that are kept; the largest ones are.
const MAX_ENDED: usize = 32;

/// Minimum time between two searches for the owners of sockets, and the minimum as a multiple of the
/// time that the last one took.
const OWNERS_EVERY: Duration = Duration::from_secs(2);
const OWNERS_COST: u64 = 1000;

/// Bytes of `struct tcp_info` that change when data or ACKs pass: from `tcpi_bytes_acked` to
/// `tcpi_segs_in`.
const MOVED: std::ops::Range<usize> = 120..144;

/// A watched connection.
#[derive(Debug)]
pub struct Connection {
    /// Inode of its socket, used as its ID; 0 if no process has it open.
    pub id: u32,
    /// Local address and port.
    pub local: SocketAddr,
    /// Address and port of the peer.
    pub peer: SocketAddr,
    /// State of the connection, by number.
    state: u8,
    /// Process that has it open, if found.
    pub owner: Option<Process>,
    /// Its congestion control.
    pub congestion: String,
    /// Last reading.
    pub reading: Reading,
    /// Rate of acknowledged data between the last two samples.
    pub sent: Rate,
    /// Rate of received data between the last two samples.
    pub received: Rate,
    identity: Identity,
    moved: [u8; 24],
    /// Whether it was idle since the last sample.
    is_still: bool,
    accounts: Accounts,
    last_sample: u64,
}

impl Connection {
    /// Name of its state in `ss`.
    pub fn state(&self) -> &'static str {
        STATES
            .get(usize::from(self.state))
            .copied()
            .unwrap_or("unknown")
    }

    /// Bytes acknowledged and received since the watch began.
    pub fn total(&self) -> Bytes {
        self.totals()[0] + self.totals()[1]
    }

    /// Bytes acknowledged, and those received, since the watch began.
    pub const fn totals(&self) -> [Bytes; 2] {
        self.accounts.totals
    }

    /// Role of this host in the direction with more data.
    pub fn role(&self) -> End {
        self.accounts.role()
    }

    /// Account of that direction; `None` before data moved.
    pub fn account(&self) -> Option<&CounterAccount> {
        self.accounts.account()
    }

    /// Cause that limits it now, with its probability.
    pub fn now(&self) -> Option<(&'static Cause, f64)> {
        self.account()?.now()
    }

    /// Causes that limited it since the watch began.
    pub fn diagnosis(&self) -> Option<Diagnosis> {
        self.accounts.diagnose()
    }

    fn update(
        &mut self,
        socket: &Socket<'_>,
        (sampler, settings): (&Sampler, &AccountSettings),
        at: Instant,
    ) {
        self.state = socket.state();
        let moved = socket.info.get(MOVED).unwrap_or_default();
        // Data that waits for a window, or for its reader, is not idle.
        let waits = socket.unacknowledged() > 0 || socket.unread() > 0;
        self.is_still = moved == self.moved && !waits && self.reading.unacked == Some(0);
        if self.is_still {
            (self.sent, self.received) = (Rate::ZERO, Rate::ZERO);
            self.reading.at = at;
            return;
        }
        if let Ok(moved) = moved.try_into() {
            self.moved = moved;
        }
        let before = std::mem::replace(&mut self.reading, reading(socket, sampler, at));
        let steps = [&before, &self.reading];
        [self.sent, self.received] = self.accounts.on_step(steps, settings, &self.congestion);
    }

    /// Whether a socket with the same cookie is another connection: a socket that was disconnected
    /// keeps its cookie, and its counters start again.
    fn is_replaced(&self, socket: &Socket<'_>) -> bool {
        let count = |bytes: &[u8]| bytes.get(..8)?.try_into().ok().map(u64::from_ne_bytes);
        let acked = [&self.moved[..], socket.info.get(MOVED).unwrap_or_default()].map(count);
        let has_restarted = acked[0] > acked[1];
        has_restarted || self.peer != socket.peer() || self.local != socket.local()
    }
}

/// The reading of a listed socket.
fn reading(socket: &Socket<'_>, sampler: &Sampler, at: Instant) -> Reading {
    let mut reading = sampler.of_octets(at, socket.info, socket.memory);
    reading.unread = Some(Bytes::new(socket.unread().into()));
    reading.unacknowledged = Some(Bytes::new(socket.unacknowledged().into()));
    reading
}

/// Watch of all connections that a filter selects.
#[derive(Debug)]
pub struct Watch {
    diag: SockDiag,
    sampler: Sampler,
    filter: Filter,
    connections: HashMap<u64, Connection>,
    /// Those that ended before the last sample, and at it.
    ended: Vec<Connection>,
    just_ended: Vec<(u64, Connection)>,
    owners: HashMap<u32, Process>,
    /// Earliest time of the next search for owners.
    owners_due: Instant,
    /// Number of samples so far.
    samples: u64,
    settings: AccountSettings,
}

impl Watch {
    /// Starts a watch of the calling thread's network namespace.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn new(filter: Filter) -> io::Result<Self> {
        Ok(Self {
            diag: SockDiag::open()?,
            sampler: Sampler::default(),
            filter,
            connections: HashMap::new(),
            ended: Vec::new(),
            just_ended: Vec::new(),
            owners: HashMap::new(),
            owners_due: Instant::ZERO,
            samples: 0,
            settings: AccountSettings {
                slices: SLICES,
                buffers: crate::system::buffer_limits(),
            },
        })
    }

    /// Limits the time slices of each connection to `slices`. With 0 there is no account: nothing is
    /// known of what limits a connection.
    #[must_use]
    pub fn with_slices(mut self, slices: usize) -> Self {
        self.settings.slices = slices;
        self
    }

    /// Samples all connections at time `at` of the caller's clock.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn sample(&mut self, at: Instant) -> io::Result<()> {
        if self.samples == 0 && self.filter.needs_owner() {
            self.find_owners(at);
        }
        self.samples += 1;
        let mut has_unknown = false;
        let Self {
            diag,
            sampler,
            filter,
            connections,
            ended,
            owners,
            samples,
            settings,
            just_ended,
            ..
        } = self;
        ended.extend(just_ended.drain(..).map(|(_, connection)| connection));
        diag.list(WITH_DATA, |socket| {
            let cookie = socket.cookie();
            let is_replaced = |known: &Connection| known.is_replaced(socket);
            if connections.get(&cookie).is_some_and(is_replaced) {
                just_ended.extend(connections.remove_entry(&cookie));
            }
            let Some(connection) = connections.get_mut(&cookie) else {
                let owner = owners.get(&socket.inode());
                has_unknown |= owner.is_none() && socket.inode() != 0;
                let known = ConnectionFacts {
                    state: socket.state(),
                    local: socket.local(),
                    peer: socket.peer(),
                    owner,
                };
                if filter.matches(&known) {
                    let new = Connection::of(socket, owner.cloned(), sampler, at, *samples);
                    connections.insert(cookie, new);
                }
                return;
            };
            connection.last_sample = *samples;
            connection.update(socket, (sampler, settings), at);
        })?;
        if has_unknown && at >= self.owners_due {
            self.find_owners(at);
        }
        self.end_missing();
        Ok(())
    }

    /// Samples one connection only; returns false if it has ended.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn sample_one(&mut self, id: u32, at: Instant) -> io::Result<bool> {
        let mut connections = self.connections.values_mut();
        let Some(connection) = connections.find(|connection| connection.id == id) else {
            return Ok(false);
        };
        let mut is_there = false;
        let identity = connection.identity;
        self.diag.one(&identity, |socket| {
            is_there = WITH_DATA >> socket.state() & 1 == 1;
            connection.update(socket, (&self.sampler, &self.settings), at);
        })?;
        Ok(is_there)
    }

    /// Connections of the last sample, those with the highest rate first.
    pub fn connections(&self) -> Vec<&Connection> {
        let mut all: Vec<&Connection> = self.connections.values().collect();
        let rate = |one: &Connection| (one.sent.max(one.received), one.total());
        all.sort_by(|a, b| rate(b).cmp(&rate(a)).then(a.id.cmp(&b.id)));
        all
    }

    /// Connection with this ID, current or ended.
    pub fn connection(&self, id: u32) -> Option<&Connection> {
        self.all().find(|connection| connection.id == id)
    }

    /// All connections, the largest first. Of those that have ended, only the largest are kept.
    pub fn by_size(&self) -> Vec<&Connection> {
        let mut all: Vec<&Connection> = self.all().collect();
        all.sort_by_key(|connection| std::cmp::Reverse(connection.total()));
        all
    }

    /// The current connections, and those that ended.
    fn all(&self) -> impl Iterator<Item = &Connection> {
        let just_ended = self.just_ended.iter().map(|(_, connection)| connection);
        self.connections
            .values()
            .chain(just_ended)
            .chain(&self.ended)
    }

    fn find_owners(&mut self, at: Instant) {
        let start = std::time::Instant::now();
        self.owners = owners::of_sockets();
        let cost = Duration::from_nanos(u64::try_from(start.elapsed().as_nanos()).unwrap_or(0));
        self.owners_due = at + OWNERS_EVERY.max(cost.saturating_mul(OWNERS_COST));
        for connection in self.connections.values_mut() {
            if connection.owner.is_none() {
                connection.owner = self.owners.get(&connection.id).cloned();
            }
        }
    }

    /// Takes out the missing connections, and keeps the largest of those that ended before.
    fn end_missing(&mut self) {
        let samples = self.samples;
        let missing = self
            .connections
            .extract_if(|_, connection| connection.last_sample != samples);
        self.just_ended.extend(missing);
        self.ended
            .sort_by_key(|connection| std::cmp::Reverse(connection.total()));
        self.ended.truncate(MAX_ENDED);
    }
}

impl Connection {
    fn of(
        socket: &Socket<'_>,
        owner: Option<Process>,
        sampler: &Sampler,
        at: Instant,
        sample: u64,
    ) -> Self {
        let moved = socket
            .info
            .get(MOVED)
            .and_then(|moved| moved.try_into().ok());
        Self {
            id: socket.inode(),
            local: socket.local(),
            peer: socket.peer(),
            state: socket.state(),
            owner,
            congestion: socket.congestion.to_owned(),
            reading: reading(socket, sampler, at),
            sent: Rate::ZERO,
            received: Rate::ZERO,
            identity: socket.identity(),
            moved: moved.unwrap_or_default(),
            is_still: true,
            accounts: Accounts::default(),
            last_sample: sample,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn data_that_moves_between_two_samples_has_a_rate_at_both_ends_and_an_account() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut peer, _) = listener.accept().unwrap();
        let filter = Filter::parse(&format!(":{port}"), &|_| Vec::new()).unwrap();
        let mut watch = Watch::new(filter).unwrap();
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        watch.sample(at(0)).unwrap();
        stream.write_all(&[1; 100_000]).unwrap();
        peer.read_exact(&mut [0; 100_000]).unwrap();
        // The last ACK may be delayed.
        while watch
            .connections()
            .iter()
            .all(|connection| connection.totals()[0] < Bytes::new(100_000))
        {
            watch.sample(at(1000)).unwrap();
        }
        watch.sample(at(1000)).unwrap();
        let all = watch.connections();
        assert_eq!(all.len(), 2);
        let own = |local| {
            all.iter()
                .find(|connection| connection.local == local)
                .unwrap()
        };
        let sender = own(stream.local_addr().unwrap());
        let receiver = own(peer.local_addr().unwrap());
        assert_eq!(sender.role(), End::Sender);
        assert_eq!(receiver.role(), End::Receiver);
        assert_eq!(receiver.totals()[1], Bytes::new(100_000));
        assert_eq!(sender.state(), "established");
        let id = sender.id;
        assert_eq!(sender.diagnosis().unwrap().contradiction(), None);
        assert!(watch.sample_one(id, at(2000)).unwrap());
        drop((stream, peer));
        watch.sample(at(3000)).unwrap();
        assert!(
            watch
                .connections()
                .iter()
                .all(|connection| connection.id == 0)
        );
        assert!(watch.connection(id).is_some(), "an ended one is kept");
    }
}
