//! Samples all TCP connections of a network namespace repeatedly.
//!
//! A sample is one listing by the kernel ([`SockDiag`]). Connections are identified by their
//! cookie. A connection that was idle since the last sample costs a comparison of 24 bytes. An
//! active one is read, and its time is attributed.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;

use gigatcp_linux::owners::{self, Process};
use gigatcp_linux::sock_diag::{Identity, STATES, SockDiag, Socket, WITH_DATA};
use gigatcp_units::{Bytes, Duration, Instant, Rate};
use gigatcp_why::counters::{CounterAccount, End, Limits, Reading};
use gigatcp_why::{Cause, Diagnosis};

use crate::filter::{ConnectionFacts, Filter};
use crate::sample::Sampler;

/// Default maximum of time slices in the account of a connection.
const SLICES: usize = 16;

/// Maximum of ended connections that are kept; the largest ones are.
const MAX_ENDED: usize = 32;

/// Minimum time between two searches for the owners of sockets.
const OWNERS_EVERY: Duration = Duration::from_secs(2);

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
    /// Account as sender, and as receiver; created when data moves.
    accounts: [Option<Box<CounterAccount>>; 2],
    /// Bytes acknowledged and received since the watch began.
    totals: [Bytes; 2],
    last_sample: u64,
}

impl Connection {
    /// Returns the name of its state in `ss`.
    #[must_use]
    pub fn state(&self) -> &'static str {
        STATES
            .get(usize::from(self.state))
            .copied()
            .unwrap_or("unknown")
    }

    /// Returns the bytes acknowledged and received since the watch began.
    #[must_use]
    pub fn total(&self) -> Bytes {
        self.totals[0] + self.totals[1]
    }

    /// Returns the bytes acknowledged, and those received, since the watch began.
    #[must_use]
    pub const fn totals(&self) -> [Bytes; 2] {
        self.totals
    }

    /// Returns the role of this host in the direction with more data.
    #[must_use]
    pub fn role(&self) -> End {
        match self.totals[1] > self.totals[0] {
            true => End::Receiver,
            false => End::Sender,
        }
    }

    /// Returns the account of that direction; `None` before data moved.
    #[must_use]
    pub fn account(&self) -> Option<&CounterAccount> {
        self.accounts[self.role() as usize].as_deref()
    }

    /// Returns the cause that limits it now, with its probability.
    #[must_use]
    pub fn now(&self) -> Option<(&'static Cause, f64)> {
        self.account()?.now()
    }

    /// Returns the causes that limited it since the watch began.
    #[must_use]
    pub fn diagnosis(&self) -> Option<Diagnosis> {
        self.account()?.diagnose()
    }

    fn update(
        &mut self,
        socket: &Socket<'_>,
        (sampler, slices, own): (&Sampler, usize, &[Option<Bytes>; 4]),
        at: Instant,
    ) {
        self.state = socket.state();
        let moved = socket.info.get(MOVED).unwrap_or_default();
        let is_still = moved == self.moved && self.reading.unacked == Some(0);
        if is_still {
            (self.sent, self.received) = (Rate::ZERO, Rate::ZERO);
            self.reading.at = at;
            return;
        }
        if let Ok(moved) = moved.try_into() {
            self.moved = moved;
        }
        let mut reading = sampler.of_octets(at, socket.info, socket.memory);
        reading.unread = Some(Bytes::new(socket.unread().into()));
        reading.unacknowledged = Some(Bytes::new(socket.unacknowledged().into()));
        let before = std::mem::replace(&mut self.reading, reading);
        let time = at.saturating_since(before.at);
        let grown = |of: fn(&Reading) -> Option<Bytes>| {
            let (from, to) = (of(&before), of(&reading));
            from.zip(to)
                .map_or(Bytes::ZERO, |(from, to)| to.saturating_sub(from))
        };
        let moved = [
            grown(|one| one.bytes_acked),
            grown(|one| one.bytes_received),
        ];
        (self.sent, self.received) = (
            Rate::from_amount(moved[0], time),
            Rate::from_amount(moved[1], time),
        );
        let end = match moved[1] > moved[0] {
            true => End::Receiver,
            false => End::Sender,
        };
        for (total, more) in self.totals.iter_mut().zip(moved) {
            *total += more;
        }
        let congestion = &self.congestion;
        let account = self.accounts[end as usize].get_or_insert_with(|| {
            let mut account = CounterAccount::with_slices(slices);
            account.set_congestion(congestion);
            account.set_limits(limits(end, own));
            account.on_reading(end, &before);
            Box::new(account)
        });
        account.on_reading(end, &reading);
    }
}

/// Returns the buffer limits of a connection, as far as this host shows them.
fn limits(end: End, own: &[Option<Bytes>; 4]) -> Limits {
    let [tcp_rmem_max, tcp_wmem_max, rmem_max, wmem_max] = *own;
    match end {
        End::Sender => Limits {
            tcp_wmem_max,
            wmem_max,
            ..Limits::default()
        },
        End::Receiver => Limits {
            tcp_rmem_max,
            rmem_max,
            ..Limits::default()
        },
    }
}

/// Watch of all connections that a filter selects.
#[derive(Debug)]
pub struct Watch {
    diag: SockDiag,
    sampler: Sampler,
    filter: Filter,
    connections: HashMap<u64, Connection>,
    ended: Vec<Connection>,
    owners: HashMap<u32, Process>,
    owners_at: Option<Instant>,
    /// Number of samples so far.
    samples: u64,
    slices: usize,
    /// Buffer limits of this host.
    own: [Option<Bytes>; 4],
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
            owners: HashMap::new(),
            owners_at: None,
            samples: 0,
            slices: SLICES,
            own: crate::system::buffer_limits(),
        })
    }

    /// Limits the time slices of each connection to `slices`.
    #[must_use]
    pub fn with_slices(mut self, slices: usize) -> Self {
        self.slices = slices;
        self
    }

    /// Samples all connections at time `at` of the caller's clock.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn sample(&mut self, at: Instant) -> io::Result<()> {
        let is_due = |since: Instant| at.saturating_since(since) >= OWNERS_EVERY;
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
            owners,
            samples,
            slices,
            own,
            ..
        } = self;
        diag.list(WITH_DATA, |socket| {
            let known = connections.get_mut(&socket.cookie());
            let Some(connection) = known else {
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
                    connections.insert(socket.cookie(), new);
                }
                return;
            };
            connection.last_sample = *samples;
            connection.update(socket, (sampler, *slices, own), at);
        })?;
        if has_unknown && self.owners_at.is_none_or(is_due) {
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
        let Some(connection) = connections.find(|one| one.id == id) else {
            return Ok(false);
        };
        let mut is_there = false;
        let identity = connection.identity;
        self.diag.one(&identity, |socket| {
            is_there = WITH_DATA >> socket.state() & 1 == 1;
            connection.update(socket, (&self.sampler, self.slices, &self.own), at);
        })?;
        Ok(is_there)
    }

    /// Returns the connections of the last sample, those with the highest rate first.
    #[must_use]
    pub fn connections(&self) -> Vec<&Connection> {
        let mut all: Vec<&Connection> = self.connections.values().collect();
        let rate = |one: &Connection| (one.sent.max(one.received), one.total());
        all.sort_by(|a, b| rate(b).cmp(&rate(a)).then(a.id.cmp(&b.id)));
        all
    }

    /// Returns the connection with this ID, current or ended.
    #[must_use]
    pub fn connection(&self, id: u32) -> Option<&Connection> {
        let all = self.connections.values().chain(&self.ended);
        all.into_iter().find(|one| one.id == id)
    }

    /// Returns all connections, the largest first. Of those that have ended, only the largest are
    /// kept.
    #[must_use]
    pub fn by_size(&self) -> Vec<&Connection> {
        let all = self.connections.values().chain(&self.ended);
        let mut all: Vec<&Connection> = all.collect();
        all.sort_by_key(|one| std::cmp::Reverse(one.total()));
        all
    }

    fn find_owners(&mut self, at: Instant) {
        self.owners_at = Some(at);
        self.owners = owners::of_sockets();
        for connection in self.connections.values_mut() {
            if connection.owner.is_none() {
                connection.owner = self.owners.get(&connection.id).cloned();
            }
        }
    }

    /// Moves missing connections to the ended ones, and keeps the largest of these.
    fn end_missing(&mut self) {
        let samples = self.samples;
        let ended = self
            .connections
            .extract_if(|_, one| one.last_sample != samples);
        self.ended.extend(ended.map(|(_, one)| one));
        self.ended.sort_by_key(|one| std::cmp::Reverse(one.total()));
        self.ended.truncate(MAX_ENDED);
    }
}

impl Connection {
    fn of(
        socket: &Socket<'_>,
        owner: Option<Process>,
        sampler: &Sampler,
        at: Instant,
        last_sample: u64,
    ) -> Self {
        let mut reading = sampler.of_octets(at, socket.info, socket.memory);
        reading.unread = Some(Bytes::new(socket.unread().into()));
        reading.unacknowledged = Some(Bytes::new(socket.unacknowledged().into()));
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
            reading,
            sent: Rate::ZERO,
            received: Rate::ZERO,
            identity: socket.identity(),
            moved: moved.unwrap_or_default(),
            accounts: [None, None],
            totals: [Bytes::ZERO; 2],
            last_sample,
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
            .all(|one| one.totals[0] < Bytes::new(100_000))
        {
            watch.sample(at(1000)).unwrap();
        }
        watch.sample(at(1000)).unwrap();
        let all = watch.connections();
        assert_eq!(all.len(), 2);
        let own = |local| all.iter().find(|one| one.local == local).unwrap();
        let sender = own(stream.local_addr().unwrap());
        let receiver = own(peer.local_addr().unwrap());
        assert_eq!(sender.role(), End::Sender);
        assert_eq!(receiver.role(), End::Receiver);
        assert_eq!(receiver.totals[1], Bytes::new(100_000));
        assert_eq!(sender.state(), "established");
        let id = sender.id;
        assert_eq!(sender.diagnosis().unwrap().contradiction(), None);
        assert!(watch.sample_one(id, at(2000)).unwrap());
        drop((stream, peer));
        watch.sample(at(3000)).unwrap();
        assert!(watch.connections().iter().all(|one| one.id == 0));
        assert!(watch.connection(id).is_some(), "an ended one is kept");
    }
}
