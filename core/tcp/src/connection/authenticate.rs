//! The TCP Authentication Option of a connection: RFC 5925 sections 7.4 to 7.8.
//!
//! Every segment sent is signed. Every segment received is checked before anything else; without a
//! good code it is dropped and counted. So only the peer can reset the connection. A host that has
//! no state of the connection cannot sign a reset (section 7.7), so a refused active open ends by
//! timeout.
//!
//! ICMP errors that would end a connection or shrink its segments are ignored too (section 7.8,
//! see `icmp`).
//!
//! Keys change without a message for it (section 7.5.2). The side that wants a new key names it in
//! RNextKeyID; the other side uses it from then on, once it has that key.
//!
//! The sequence number extension (section 6.2) is the upper half of the engine's 64-bit positions.
//! A code covers one wire segment, so segmentation offload is off. Signing encodes the segment an
//! additional time, into a reused buffer. Options have space for one SACK block next to
//! timestamps, and for no Fast Open cookie.

use alloc::boxed::Box;
use alloc::vec::Vec;

use gigatcp_wire::{Authentication, Flags, Payload, Segment, SeqNumber};

use super::{Connection, ConnectionConfig, Received};
use crate::authentication::{CODE_LEN, Direction, KeyError, Keys, MasterKey, TrafficKey, is_same};
use crate::events::State;
use crate::four_tuple::FourTuple;
use gigatcp_units::Instant;

/// Octets of the option in each segment (RFC 5925 section 2.2).
pub(super) const OPTION_LEN: usize = 4 + CODE_LEN;

/// Keys of a connection; `None` if its segments are not signed.
pub(super) type OptionalAuthenticator<P> = Option<Box<Authenticator<P>>>;

/// Keys of a connection whose segments are signed.
#[derive(Debug)]
pub(super) struct Authenticator<P> {
    keys: Keys<P>,
    tuple: FourTuple,
    /// KeyID of the key we send with (`current_key`).
    current: u8,
    /// KeyID we request from the peer (`rnext_key`).
    next: u8,
    /// Last traffic key for each direction, with the key and direction it was derived from.
    sending: Option<(u8, Direction, TrafficKey)>,
    receiving: Option<(u8, Direction, TrafficKey)>,
    octets: Vec<u8>,
}

impl<P: Payload> Connection<P> {
    /// Opens actively with the first key of `keys`. `config` must have the ports of `tuple`.
    #[must_use]
    #[doc(hidden)]
    pub fn connect_authenticated(
        now: Instant,
        config: &ConnectionConfig,
        tuple: &FourTuple,
        keys: &Keys<P>,
    ) -> Self {
        let mut connection = Self::connect(now, config);
        connection.authenticate(tuple, keys);
        connection
    }

    /// Opens passively by a SYN with a good code. `None` if `syn` has no SYN or no good code.
    #[must_use]
    #[doc(hidden)]
    pub fn accept_authenticated(
        now: Instant,
        config: &ConnectionConfig,
        syn: &Received<P>,
        tuple: &FourTuple,
        keys: &Keys<P>,
    ) -> Option<Self> {
        let mut connection = Self::new(now, config);
        connection.remote_port = syn.segment.src_port;
        connection.authenticate(tuple, keys);
        let is_syn = syn.segment.flags.contains(Flags::SYN);
        if !is_syn || !connection.is_authentic(&syn.segment) {
            return None;
        }
        connection.take_open(now, &syn.segment);
        Some(connection)
    }

    fn authenticate(&mut self, tuple: &FourTuple, keys: &Keys<P>) {
        let Some(first) = keys.chain.first() else {
            return;
        };
        self.profile_mut().segments.segmentation_offload = false;
        self.authentication = Some(Box::new(Authenticator {
            current: first.send_id,
            next: first.receive_id,
            keys: keys.clone(),
            tuple: *tuple,
            sending: None,
            receiving: None,
            octets: Vec::new(),
        }));
    }

    /// Adds a key to a connection that is authenticated.
    ///
    /// # Errors
    /// [`KeyError::IdTaken`]; [`KeyError::Unknown`] where there are no keys.
    #[doc(hidden)]
    pub fn add_key(&mut self, key: MasterKey) -> Result<(), KeyError> {
        let state = self.authentication.as_mut().ok_or(KeyError::Unknown)?;
        state.keys.chain.add(key)
    }

    /// Removes the key whose send KeyID is `send_id`.
    ///
    /// # Errors
    /// [`KeyError::InUse`] for the current key and for the one named to the peer
    /// as the next (RFC 5925 section 3.3); [`KeyError::Unknown`].
    #[doc(hidden)]
    pub fn remove_key(&mut self, send_id: u8) -> Result<(), KeyError> {
        let state = self.authentication.as_mut().ok_or(KeyError::Unknown)?;
        let key = state.keys.chain.sending(send_id).ok_or(KeyError::Unknown)?;
        if send_id == state.current || key.receive_id == state.next {
            return Err(KeyError::InUse);
        }
        // Another key may get these identifiers later.
        (state.sending, state.receiving) = (None, None);
        state.keys.chain.remove(send_id)
    }

    /// Requests that the peer send with the key of `receive_id`. The request goes out with the
    /// next segment.
    ///
    /// # Errors
    /// [`KeyError::Unknown`].
    #[doc(hidden)]
    pub fn want_key(&mut self, receive_id: u8) -> Result<(), KeyError> {
        let state = self.authentication.as_mut().ok_or(KeyError::Unknown)?;
        let key = state.keys.chain.receiving(receive_id);
        state.next = key.ok_or(KeyError::Unknown)?.receive_id;
        Ok(())
    }

    /// KeyIDs of the current send key and of the requested receive key. `None` if this connection
    /// is not authenticated.
    #[must_use]
    #[doc(hidden)]
    pub fn keys_in_use(&self) -> Option<(u8, u8)> {
        self.authentication
            .as_ref()
            .map(|state| (state.current, state.next))
    }

    /// Signs a segment that is about to leave. Options that do not fit next to the code are
    /// removed.
    pub(super) fn signed(&mut self, mut segment: Segment<P>) -> Option<Segment<P>> {
        let first_syn = segment.flags.contains(Flags::SYN) && !segment.flags.contains(Flags::ACK);
        let offset = self.snd.offset_of(segment.seq).unwrap_or(0);
        let sne = extension(self.snd.iss, offset);
        let peer_isn = if first_syn {
            SeqNumber::new(0)
        } else {
            self.rcv.irs
        };
        let state = self.authentication.as_mut()?;
        let direction = Direction {
            tuple: state.tuple,
            sender_isn: self.snd.iss,
            receiver_isn: peer_isn,
        };
        let key = state.keys.chain.sending(state.current)?;
        let traffic_key = cached(&mut state.sending, state.current, key, &direction);
        let option = |code: &[u8]| Authentication::new(state.current, state.next, code);
        segment.options.set_authentication(option(&[0; CODE_LEN]));
        segment.options.shed_to_fit();
        let endpoints = state.tuple.endpoints;
        (state.keys.encode)(&segment, &endpoints, &mut state.octets).ok()?;
        let code = key.code(&traffic_key, sne, &endpoints, &state.octets)?;
        segment.options.set_authentication(option(&code));
        Some(segment)
    }

    /// Whether a received segment has a good code (section 7.5.2). If so, the key it requests
    /// becomes the current one.
    pub(super) fn is_authentic(&mut self, segment: &Segment<P>) -> bool {
        let Some(option) = segment.options.authentication() else {
            self.counters.authentication_missing += 1;
            return false;
        };
        let (peer_isn, our_isn) = self.numbers_behind(segment);
        let offset = self.rcv.offset_of(segment.seq).unwrap_or(0);
        let is_syn = segment.flags.contains(Flags::SYN);
        let sne = if is_syn && segment.seq == peer_isn {
            0
        } else {
            extension(peer_isn, offset)
        };
        let Some(state) = &mut self.authentication else {
            return true;
        };
        let Some(key) = state.keys.chain.receiving(option.key_id) else {
            self.counters.authentication_unknown_key += 1;
            return false;
        };
        let direction = Direction {
            tuple: state.tuple.reversed(),
            sender_isn: peer_isn,
            receiver_isn: our_isn,
        };
        let traffic_key = cached(&mut state.receiving, option.key_id, key, &direction);
        let endpoints = state.tuple.endpoints.reversed();
        let written = (state.keys.encode)(segment, &endpoints, &mut state.octets);
        let code = key.code(&traffic_key, sne, &endpoints, &state.octets);
        let good = written.is_ok() && code.is_some_and(|code| is_same(&code, option.mac()));
        if !good {
            self.counters.authentication_failed += 1;
            return false;
        }
        // Section 7.5.2 step 3 (e): a request for an unknown key is ignored.
        if state.keys.chain.sending(option.r_next_key_id).is_some() {
            state.current = option.r_next_key_id;
        }
        true
    }

    /// Initial sequence numbers for the key of a segment: the peer's, and ours or zero. A first
    /// SYN has only its sender's number; a SYN-ACK also carries the peer's.
    fn numbers_behind(&self, segment: &Segment<P>) -> (SeqNumber, SeqNumber) {
        let is_syn = segment.flags.contains(Flags::SYN);
        if is_syn && !segment.flags.contains(Flags::ACK) {
            return (segment.seq, SeqNumber::new(0));
        }
        let unknown_yet = matches!(self.state, State::SynSent | State::Closed | State::Listen);
        if is_syn && unknown_yet && self.rcv.nxt == 0 {
            return (segment.seq, self.snd.iss);
        }
        (self.rcv.irs, self.snd.iss)
    }
}

/// SNE of RFC 5925 section 6.2: number of times the 32 bits have wrapped.
fn extension(isn: SeqNumber, offset: u64) -> u32 {
    ((u64::from(isn.as_u32()) + offset) >> 32) as u32
}

/// Traffic key of `key` for `direction`, deriving it if the last one differs.
fn cached(
    last: &mut Option<(u8, Direction, TrafficKey)>,
    id: u8,
    key: &MasterKey,
    direction: &Direction,
) -> TrafficKey {
    match last {
        Some((of, for_direction, traffic_key)) if *of == id && for_direction == direction => {
            *traffic_key
        }
        _ => {
            let traffic_key = key.traffic_key(direction);
            *last = Some((id, *direction, traffic_key));
            traffic_key
        }
    }
}
