//! Determines the limits of each stream of a test, from the readings of both ends.

use gigatcp_units::{Duration, Instant, Rate};
use gigatcp_why::Diagnosis;
use gigatcp_why::counters::{CounterAccount, End, HostReading, HostSummary, Limits, Reading};

use super::connection::BufferLimits;
use super::counters::Role;
use super::outcome::Outcome;
use super::readings::Readings;
use super::samples::Samples;
use crate::Boot;

/// Diagnosis of a stream.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// ID of the stream.
    pub id: u64,
    /// Role of this end.
    pub role: Role,
    /// The diagnosis.
    pub diagnosis: Diagnosis,
    /// Whether counters of both ends were available.
    pub has_both_ends: bool,
}

/// Explains the streams of a test, in the order of their IDs.
///
/// Streams without readings, such as UDP streams, have no explanation.
pub fn explain(outcome: &Outcome) -> Vec<Explanation> {
    let kept = &Readings::of(outcome);
    let explained = kept.streams.iter().filter_map(|(id, role)| {
        let account = account_of(kept, *id, *role)?;
        let mut diagnosis = account.diagnose()?;
        if let Some(stream) = outcome.streams.iter().find(|stream| stream.id == *id) {
            set_rate(&mut diagnosis, outcome.received_of(stream));
        }
        Some(Explanation {
            id: *id,
            role: *role,
            diagnosis,
            has_both_ends: kept
                .peer
                .as_ref()
                .is_some_and(|peer| readings(peer, *id).is_some()),
        })
    });
    explained.collect()
}

/// Sets the rate to that of the headline: what the receiver counted in its time. Acknowledgments of
/// data that was queued at the end come later. A rate that contradicts the counters is not set.
fn set_rate(diagnosis: &mut Diagnosis, (bytes, time): (u64, std::time::Duration)) {
    let bits = 8.0 * bytes as f64;
    let received = Rate::from_bps((bits / time.as_secs_f64().max(1e-9)) as u64);
    let counted = std::mem::replace(&mut diagnosis.throughput, received);
    if diagnosis.contradiction().is_some() {
        diagnosis.throughput = counted;
    }
}

/// Account of a stream; `None` if this end has no readings of it.
pub fn account_of(kept: &Readings, id: u64, role: Role) -> Option<CounterAccount> {
    let own = readings(&kept.own, id)?;
    let peer = kept.peer.as_ref();
    let theirs = peer.and_then(|peer| readings(peer, id));
    let mut account = account(kept, role);
    if let Some([total, left]) = path_left(kept, id, role) {
        account.set_capacity(total, left);
    }
    let (own_end, peer_end) = match role {
        Role::Sender => (End::Sender, End::Receiver),
        Role::Receiver => (End::Receiver, End::Sender),
    };
    let cards = [(own_end, Some(&kept.own)), (peer_end, kept.peer.as_ref())];
    for (end, samples) in cards {
        if let Some(card) = samples.and_then(|samples| samples.card.clone()) {
            account.set_card(end, card);
        }
    }
    let delay = one_way_delay(&kept.own);
    let shift = |reading| shifted(reading, delay, kept.server_is_later);
    let theirs: Vec<Reading> = theirs.unwrap_or_default().iter().map(shift).collect();
    let mut all: Vec<EndReading<'_>> = Vec::new();
    all.extend(
        own.iter()
            .map(|reading| EndReading::Socket(own_end, reading)),
    );
    all.extend(host_readings(own_end, &kept.own.host));
    if let Some(peer) = peer {
        all.extend(
            theirs
                .iter()
                .map(|reading| EndReading::Socket(peer_end, reading)),
        );
        all.extend(host_readings(peer_end, &peer.host));
    }
    // A stable sort keeps the order of simultaneous readings.
    all.sort_by_key(EndReading::at);
    for look in &all {
        match look {
            EndReading::Socket(end, reading) => account.on_reading(*end, reading),
            EndReading::Host(end, reading, _) => account.on_host(*end, reading),
        }
    }
    Some(account)
}

/// Summaries of this host and the peer's during a test; `None` if unknown.
pub fn host_summaries(outcome: &Outcome) -> [Option<HostSummary>; 2] {
    let kept = Readings::of(outcome);
    [Some(&kept.own), kept.peer.as_ref()].map(|samples| {
        let samples = samples?;
        let (first, last) = (samples.host.first()?, samples.host.last()?);
        HostSummary::between(first, last, samples.card.as_ref())
    })
}

/// Last boots of this host and the peer's; `None` if unknown.
pub fn boots(outcome: &Outcome) -> [Option<Boot>; 2] {
    let kept = Readings::of(outcome);
    [kept.own.boot, kept.peer.and_then(|peer| peer.boot)]
}

/// A reading of either end.
enum EndReading<'a> {
    Socket(End, &'a Reading),
    /// A host's reading, and the time of the one before: its use is that since then.
    Host(End, &'a HostReading, Instant),
}

/// Readings of a host. A stopped process is read late, so the time between two may be long.
fn host_readings(end: End, readings: &[HostReading]) -> impl Iterator<Item = EndReading<'_>> {
    let before = readings.first().into_iter().chain(readings);
    let pairs = before.zip(readings);
    pairs.map(move |(before, reading)| EndReading::Host(end, reading, before.at))
}

impl EndReading<'_> {
    fn at(&self) -> Instant {
        match self {
            Self::Socket(_, reading) => reading.at,
            Self::Host(_, _, since) => *since,
        }
    }
}

fn readings(samples: &Samples, id: u64) -> Option<&[Reading]> {
    let (_, readings) = samples.streams.iter().find(|(of, _)| *of == id)?;
    (!readings.is_empty()).then_some(&readings[..])
}

/// An empty account with the known settings.
fn account(kept: &Readings, role: Role) -> CounterAccount {
    let (sender, receiver) = match role {
        Role::Sender => (Some(&kept.own), kept.peer.as_ref()),
        Role::Receiver => (kept.peer.as_ref(), Some(&kept.own)),
    };
    let mut account = CounterAccount::default();
    if let Some(name) = sender.and_then(|sender| sender.congestion.as_deref()) {
        account.set_congestion(name);
    }
    if kept.streams.iter().any(|(_, other)| *other != role) {
        account.set_opposed();
    }
    let limit = |samples: Option<&Samples>, place: usize| match samples?.limits {
        BufferLimits::Kernel(limits) => limits[place],
        BufferLimits::Engine(_) => None,
    };
    let grows_to = |samples: Option<&Samples>, place: usize| match samples?.limits {
        BufferLimits::Kernel(_) => None,
        BufferLimits::Engine(sizes) => Some(sizes[place]),
    };
    account.set_limits(Limits {
        tcp_rmem_max: limit(receiver, 0),
        tcp_wmem_max: limit(sender, 1),
        rmem_max: limit(receiver, 2),
        wmem_max: limit(sender, 3),
        engine_receive_max: grows_to(receiver, 0),
        engine_send_max: grows_to(sender, 1),
        receive_buffer_is_set: Some(kept.window_is_set),
        send_buffer_is_set: Some(kept.window_is_set),
        requested_rate: kept.requested_rate,
    });
    account
}

/// The path's rate, and what the other streams of a direction leave of it; `None` if it is unknown.
fn path_left(kept: &Readings, id: u64, role: Role) -> Option<[Rate; 2]> {
    let (_, rate) = kept.path_rate.filter(|(of, _)| *of == role)?;
    let is_other = |stream: &&(u64, Role)| stream.0 != id && stream.1 == role;
    let sender = match role {
        Role::Sender => Some(&kept.own),
        Role::Receiver => kept.peer.as_ref(),
    };
    let mut left = rate.as_bps();
    for (other, _) in kept.streams.iter().filter(is_other) {
        let readings = readings(sender?, *other)?;
        let (first, last) = (readings.first()?, readings.last()?);
        let [first_acked, acked] = [first, last].map(|reading| reading.bytes_acked);
        let acked = acked?.saturating_sub(first_acked?).as_bits_f64();
        let seconds = last.at.saturating_since(first.at).as_secs_f64();
        left = left.saturating_sub((acked / seconds.max(1e-9)) as u64);
    }
    Some([rate, Rate::from_bps(left)])
}

/// Half of the minimum RTT, the offset between the two ends' test clocks.
///
/// iperf3's client starts its clock when the server's message that data may flow arrives, one-way
/// delay after the server's clock. nuttcp's server starts its clock when a data connection of the
/// client is established, one-way delay after the client's.
fn one_way_delay(own: &Samples) -> Duration {
    let all = own.streams.iter().flat_map(|(_, readings)| readings);
    let min = all
        .filter_map(|reading| reading.min_rtt.or(reading.rcv_rtt))
        .min();
    Duration::from_nanos(min.unwrap_or(Duration::ZERO).as_nanos() / 2)
}

/// A server's reading by the client's clock.
fn shifted(reading: &Reading, delay: Duration, server_is_later: bool) -> Reading {
    let at = match server_is_later {
        true => reading.at + delay,
        false => Instant::ZERO + reading.at.saturating_since(Instant::ZERO + delay),
    };
    Reading { at, ..*reading }
}
