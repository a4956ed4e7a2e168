//! What limited each stream of a test, from the readings of both ends.

use gigatcp_units::{Duration, Instant};
use gigatcp_why::Diagnosis;
use gigatcp_why::counters::{CounterAccount, End, HostReading, Limits, Reading};

use super::connection::BufferLimits;
use super::outcome::Outcome;
use super::samples::Samples;
use super::stream::Role;

/// What limited a stream.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// Its id.
    pub id: u64,
    /// Which way its data went, from this end.
    pub role: Role,
    /// The diagnosis.
    pub diagnosis: Diagnosis,
    /// Whether both ends' counters were there.
    pub has_both_ends: bool,
}

/// Explains the streams of a test, in the order of their ids. Streams without readings, of UDP
/// for one, have no explanation.
#[must_use]
pub fn explain(outcome: &Outcome) -> Vec<Explanation> {
    let peer = outcome.peer.as_ref().and_then(|peer| peer.private.as_ref());
    let peer = peer.and_then(Samples::from_json);
    let streams = outcome.streams.iter();
    let explained = streams.filter_map(|stream| {
        let own = readings(&outcome.samples, stream.id)?;
        let theirs = peer.as_ref().and_then(|peer| readings(peer, stream.id));
        let has_both_ends = theirs.is_some();
        let mut account = account(outcome, peer.as_ref(), stream.role);
        let (own_end, peer_end) = match stream.role {
            Role::Sender => (End::Sender, End::Receiver),
            Role::Receiver => (End::Receiver, End::Sender),
        };
        let delay = one_way_delay(outcome);
        let theirs = theirs.unwrap_or_default().iter();
        let theirs: Vec<Reading> = theirs.map(|one| shifted(one, delay)).collect();
        let mut all: Vec<Look<'_>> = Vec::new();
        all.extend(own.iter().map(|one| Look::Socket(own_end, one)));
        all.extend(
            outcome
                .samples
                .host
                .iter()
                .map(|one| Look::Host(own_end, one)),
        );
        if let Some(peer) = &peer {
            all.extend(theirs.iter().map(|one| Look::Socket(peer_end, one)));
            all.extend(peer.host.iter().map(|one| Look::Host(peer_end, one)));
        }
        // Sorting is stable: what is simultaneous stays in order.
        all.sort_by_key(Look::at);
        for look in &all {
            match look {
                Look::Socket(end, reading) => account.on_reading(*end, reading),
                Look::Host(end, reading) => account.on_host(*end, reading),
            }
        }
        Some(Explanation {
            id: stream.id,
            role: stream.role,
            diagnosis: account.diagnose()?,
            has_both_ends,
        })
    });
    explained.collect()
}

/// A reading of either end.
enum Look<'a> {
    Socket(End, &'a Reading),
    Host(End, &'a HostReading),
}

impl Look<'_> {
    fn at(&self) -> Instant {
        match self {
            Self::Socket(_, reading) => reading.at,
            Self::Host(_, reading) => reading.at,
        }
    }
}

fn readings(samples: &Samples, id: u64) -> Option<&[Reading]> {
    let (_, readings) = samples.streams.iter().find(|(of, _)| *of == id)?;
    (!readings.is_empty()).then_some(&readings[..])
}

/// An empty account with what is known of settings.
fn account(outcome: &Outcome, peer: Option<&Samples>, role: Role) -> CounterAccount {
    let (sender, receiver) = match role {
        Role::Sender => (Some(&outcome.samples), peer),
        Role::Receiver => (peer, Some(&outcome.samples)),
    };
    let mut account = CounterAccount::default();
    if let Some(name) = sender.and_then(|sender| sender.congestion.as_deref()) {
        account.set_congestion(name);
    }
    let limit = |samples: Option<&Samples>, place: usize| match samples?.limits {
        BufferLimits::Kernel(limits) => limits[place],
        BufferLimits::Engine(_) => None,
    };
    let grows_to = |samples: Option<&Samples>, place: usize| match samples?.limits {
        BufferLimits::Kernel(_) => None,
        BufferLimits::Engine(sizes) => Some(sizes[place]),
    };
    let is_set = Some(outcome.parameters.window.is_some());
    account.set_limits(Limits {
        tcp_rmem_max: limit(receiver, 0),
        tcp_wmem_max: limit(sender, 1),
        rmem_max: limit(receiver, 2),
        wmem_max: limit(sender, 3),
        engine_receive_max: grows_to(receiver, 0),
        engine_send_max: grows_to(sender, 1),
        receive_buffer_is_set: is_set,
        send_buffer_is_set: is_set,
    });
    account
}

/// Half of the minimum RTT: the client's clock of a test starts when the server's message that
/// data may flow arrives, one way after the server's clock.
fn one_way_delay(outcome: &Outcome) -> Duration {
    let all = outcome
        .samples
        .streams
        .iter()
        .flat_map(|(_, readings)| readings);
    let min = all
        .filter_map(|reading| reading.min_rtt.or(reading.rcv_rtt))
        .min();
    Duration::from_nanos(min.unwrap_or(Duration::ZERO).as_nanos() / 2)
}

/// A server's reading by the client's clock.
fn shifted(reading: &Reading, delay: Duration) -> Reading {
    let at = reading.at.saturating_since(Instant::ZERO + delay);
    Reading {
        at: Instant::ZERO + at,
        ..*reading
    }
}
