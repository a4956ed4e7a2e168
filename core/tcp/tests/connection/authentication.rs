//! The TCP Authentication Option in connections: RFC 5925.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::collections::BTreeMap;

use gigatcp_tcp::authentication::{Algorithm, Direction, KeyChain, KeyError, Keys, MasterKey};
use gigatcp_tcp::events::State;
use gigatcp_tcp::listener::{Listener, ListenerConfig};
use gigatcp_tcp::profile::SynCookies;
use gigatcp_tcp::{Connection, ConnectionConfig, FourTuple, Profile, Received, Secret};
use gigatcp_units::{Duration, Instant};
use gigatcp_wire::bytes::Bytes;
use gigatcp_wire::{
    Authentication, Endpoints, Flags, IcmpError, IcmpKind, PayloadOctets, Phantom, Segment, encode,
};

use crate::script::{ISS, PEER_ISS, with};
use crate::world::Stream;

const START: Instant = Instant::from_nanos(1_000_000_000);

/// The client's name of the connection.
fn tuple(v6: bool) -> FourTuple {
    let (src, dst) = if v6 {
        let host = |n| IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, n));
        (host(1), host(2))
    } else {
        let host = |n| IpAddr::V4(Ipv4Addr::new(10, 0, 0, n));
        (host(1), host(2))
    };
    FourTuple {
        endpoints: Endpoints::new(src, dst).unwrap(),
        local_port: 4000,
        remote_port: 80,
    }
}

fn chain(keys: &[MasterKey]) -> KeyChain {
    let mut chain = KeyChain::default();
    for key in keys {
        chain.add(key.clone()).unwrap();
    }
    chain
}

fn key(id: u8, algorithm: Algorithm) -> MasterKey {
    MasterKey::new(id, algorithm, &[id, 2, 3, 4, 5])
}

fn client_config() -> ConnectionConfig {
    with(|p| {
        *p = Profile::MODERN;
        p.acknowledgments.quick_ack = false;
    })
}

fn server_config() -> ConnectionConfig {
    ConnectionConfig {
        local_port: 80,
        remote_port: 4000,
        iss: PEER_ISS,
        ..client_config()
    }
}

/// A client and a server made by hand, and every segment between them.
struct Pair<P> {
    now: Instant,
    client: Connection<P>,
    server: Option<Connection<P>>,
    keys: [Keys<P>; 2],
    v6: bool,
    flying: BTreeMap<(Instant, u64), (bool, Segment<P>)>,
    sent: u64,
    random: u64,
    lost: u64,
    /// Where the client's writing, the server's reading, and both end.
    written: u64,
    read: u64,
    end: u64,
}

impl<P: Stream + PayloadOctets> Pair<P> {
    fn new(v6: bool, chains: [&[MasterKey]; 2]) -> Self {
        let keys = chains.map(|keys| Keys::new(chain(keys)).unwrap());
        let client =
            Connection::connect_authenticated(START, &client_config(), &tuple(v6), &keys[0]);
        Self {
            now: START,
            client,
            server: None,
            keys,
            v6,
            flying: BTreeMap::new(),
            sent: 0,
            random: 1,
            lost: 0,
            written: 0,
            read: 0,
            end: 0,
        }
    }

    fn of_one_key(v6: bool, key: MasterKey) -> Self {
        let keys = [key];
        Self::new(v6, [&keys, &keys])
    }

    fn collect(&mut self) {
        while let Some(segment) = self.client.poll_transmit(self.now) {
            self.fly(true, segment);
        }
        while let Some(segment) = self.server.as_mut().and_then(|s| s.poll_transmit(self.now)) {
            self.fly(false, segment);
        }
    }

    fn fly(&mut self, to_server: bool, segment: Segment<P>) {
        assert_eq!(segment.wire_segments(), 1, "one code for each wire segment");
        assert!(segment.header_len() <= 60);
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        self.sent += 1;
        if (self.random >> 33) % 100 >= self.lost {
            let at = self.now + Duration::from_millis(5) + Duration::from_micros(self.random >> 54);
            self.flying.insert((at, self.sent), (to_server, segment));
        }
    }

    fn deliver(&mut self, to_server: bool, segment: Segment<P>) {
        let at = self.now;
        let received = Received { at, segment };
        if !to_server {
            self.client.handle_segment(at, received);
        } else if let Some(server) = &mut self.server {
            server.handle_segment(at, received);
        } else {
            let name = tuple(self.v6).reversed();
            self.server = Connection::accept_authenticated(
                at,
                &server_config(),
                &received,
                &name,
                &self.keys[1],
            );
        }
    }

    /// Until nothing is due within a second.
    fn run(&mut self) {
        for _ in 0..100_000 {
            self.use_applications();
            self.collect();
            let flying = self.flying.first_key_value().map(|((at, _), _)| *at);
            let server = self.server.as_ref().and_then(Connection::poll_timeout);
            let times = [flying, self.client.poll_timeout(), server];
            let latest = self.now + Duration::from_secs(10);
            let next = times.into_iter().flatten().min();
            let Some(next) = next.filter(|next| *next <= latest) else {
                return;
            };
            self.now = next;
            if flying == Some(next) {
                let (_, (to_server, segment)) = self.flying.pop_first().unwrap();
                self.deliver(to_server, segment);
            }
            self.client.handle_timeout(self.now);
            if let Some(server) = &mut self.server {
                server.handle_timeout(self.now);
            }
        }
        panic!("no end");
    }

    /// The client sends so many octets from `from` on, which the server reads.
    fn transfer(&mut self, from: u64, octets: u64) {
        (self.written, self.read, self.end) = (from, from, from + octets);
        self.run();
        assert_eq!(self.read, self.end, "{:?}", self.client.info());
    }

    fn use_applications(&mut self) {
        let left = (self.end - self.written) as usize;
        let text = P::cut_from_stream(self.written, left);
        self.written += self.client.write(text).unwrap_or(0) as u64;
        while let Some(piece) = self.server.as_mut().and_then(|s| s.read(self.now, 5000)) {
            assert!(piece.is_stream_at(self.read));
            self.read += piece.len() as u64;
        }
    }
}

#[test]
fn both_ends_open_send_and_close_under_every_algorithm_and_family() {
    for v6 in [false, true] {
        for algorithm in [Algorithm::HmacSha1, Algorithm::Aes128Cmac] {
            for covers_options in [false, true] {
                let key = key(7, algorithm).covering_options(covers_options);
                let mut pair = Pair::<Bytes>::of_one_key(v6, key);
                pair.transfer(1, 50_000);
                pair.client.shutdown(pair.now);
                pair.run();
                let server = pair.server.as_mut().unwrap();
                assert_eq!(server.state(), State::CloseWait);
                server.shutdown(pair.now);
                pair.run();
                assert_eq!(pair.client.state(), State::TimeWait);
                for connection in [&pair.client, pair.server.as_ref().unwrap()] {
                    let counters = connection.counters();
                    assert_eq!(counters.authentication_failed, 0);
                    assert_eq!(counters.authentication_missing, 0);
                }
                // Timestamps and code: 12 and 16 octets of each segment.
                assert_eq!(pair.client.info().smss, 1000 - 28);
            }
        }
    }
}

#[test]
fn a_lossy_path_and_a_wrap_of_the_sequence_space_change_nothing() {
    // Both initial numbers lie just before the wrap, so the extension counts.
    for lost in [0, 10] {
        let mut pair = Pair::<Bytes>::of_one_key(false, key(7, Algorithm::HmacSha1));
        pair.lost = lost;
        pair.transfer(1, 200_000);
        assert_eq!(pair.server.unwrap().counters().authentication_failed, 0);

        let mut pair = Pair::<Phantom>::of_one_key(true, key(7, Algorithm::Aes128Cmac));
        pair.lost = lost;
        pair.transfer(0, 200_000);
        assert_eq!(pair.server.unwrap().counters().authentication_failed, 0);
    }
}

#[test]
fn what_leaves_is_signed_as_the_octets_say() {
    let master = key(9, Algorithm::HmacSha1);
    let name = tuple(false);
    let mut client = Connection::<Bytes>::connect_authenticated(
        START,
        &client_config(),
        &name,
        &Keys::new(chain(std::slice::from_ref(&master))).unwrap(),
    );
    let syn = client.poll_transmit(START).unwrap();
    let direction = Direction {
        tuple: name,
        sender_isn: ISS,
        receiver_isn: gigatcp_wire::SeqNumber::new(0),
    };
    let mut octets = vec![0; syn.header_len()];
    encode(&syn, &name.endpoints, &mut octets).unwrap();
    assert!(master.verify(&master.traffic_key(&direction), 0, &name.endpoints, &octets));
    let option = syn.options.authentication().unwrap();
    assert_eq!((option.key_id, option.r_next_key_id), (9, 9));
    assert_eq!(syn.options.wire_len(), 36);
}

fn established() -> Pair<Bytes> {
    let mut pair = Pair::of_one_key(false, key(7, Algorithm::HmacSha1));
    pair.transfer(1, 1000);
    assert_eq!(pair.client.state(), State::Established);
    pair
}

#[test]
fn segments_without_a_code_with_a_wrong_one_or_an_unknown_key_are_dropped_and_counted() {
    let mut pair = established();
    let server = pair.server.as_mut().unwrap();
    let una = server.info().snd_una;
    assert_eq!(pair.client.write(Bytes::from_static(b"hello")), Ok(5));
    let good = pair.client.poll_transmit(pair.now).unwrap();
    let at = pair.now;
    let mut hear = |segment: Segment<Bytes>| {
        server.handle_segment(at, Received { at, segment });
        server.readable()
    };
    let mut unsigned = good.clone();
    unsigned.options.set_authentication(None);
    assert_eq!(hear(unsigned), 0);
    let mut forged = good.clone();
    forged.payload = Bytes::from_static(b"jello");
    assert_eq!(hear(forged), 0);
    let mut reset = good.clone();
    (reset.flags, reset.payload) = (Flags::RST, Bytes::new());
    assert_eq!(hear(reset.clone()), 0);
    reset.options.set_authentication(None);
    assert_eq!(hear(reset), 0);
    let mut other = good.clone();
    other
        .options
        .set_authentication(Authentication::new(8, 8, &[0; 12]));
    assert_eq!(hear(other), 0);
    let mut short = good.clone();
    let code = good.options.authentication().unwrap();
    short
        .options
        .set_authentication(Authentication::new(7, 7, &code.mac()[..8]));
    assert_eq!(hear(short), 0);
    assert_eq!(hear(good), 5);
    let server = pair.server.unwrap();
    let counters = server.counters();
    assert_eq!(counters.authentication_missing, 2);
    assert_eq!(counters.authentication_failed, 3);
    assert_eq!(counters.authentication_unknown_key, 1);
    assert_eq!(
        (server.state(), server.info().snd_una),
        (State::Established, una)
    );
}

#[test]
fn a_syn_without_a_good_code_opens_nothing() {
    let mut pair = Pair::<Bytes>::new(
        false,
        [
            &[key(7, Algorithm::HmacSha1)],
            &[MasterKey::new(7, Algorithm::HmacSha1, b"other")],
        ],
    );
    pair.run();
    assert!(pair.server.is_none());
    // Refused silently: the client gives up by its timer.
    assert_eq!(pair.client.state(), State::SynSent);
}

#[test]
fn a_key_the_receiver_asks_for_is_used_from_then_on() {
    // RFC 5925 section 7.5.2, RNextKeyID.
    let (old, new) = (key(1, Algorithm::HmacSha1), key(2, Algorithm::Aes128Cmac));
    let keys = [old, new];
    let mut pair = Pair::<Bytes>::new(true, [&keys, &keys]);
    pair.transfer(1, 5000);
    assert_eq!(pair.client.keys_in_use(), Some((1, 1)));
    pair.server.as_mut().unwrap().want_key(2).unwrap();
    pair.transfer(5001, 5000);
    // The client sends by the new key and still receives by the old.
    assert_eq!(pair.client.keys_in_use(), Some((2, 1)));
    assert_eq!(pair.server.as_ref().unwrap().keys_in_use(), Some((1, 2)));
    pair.client.want_key(2).unwrap();
    pair.transfer(10_001, 5000);
    pair.transfer(15_001, 5000);
    assert_eq!(pair.server.as_ref().unwrap().keys_in_use(), Some((2, 2)));
    // Now the old one may go, and the new one may not.
    assert_eq!(pair.client.remove_key(2), Err(KeyError::InUse));
    pair.client.remove_key(1).unwrap();
    pair.server.as_mut().unwrap().remove_key(1).unwrap();
    pair.transfer(20_001, 5000);
    assert_eq!(pair.client.remove_key(1), Err(KeyError::Unknown));
    assert_eq!(pair.client.want_key(1), Err(KeyError::Unknown));
    let failed = pair.server.unwrap().counters().authentication_failed;
    assert_eq!(failed + pair.client.counters().authentication_failed, 0);
}

#[test]
fn a_wish_for_a_key_that_is_not_there_yet_is_left_until_it_is() {
    let both = [key(1, Algorithm::HmacSha1), key(2, Algorithm::HmacSha1)];
    let mut pair = Pair::<Bytes>::new(false, [&both[..1], &both]);
    pair.transfer(1, 3000);
    pair.server.as_mut().unwrap().want_key(2).unwrap();
    pair.transfer(3001, 3000);
    assert_eq!(pair.client.keys_in_use(), Some((1, 1)));
    assert_eq!(pair.client.add_key(both[0].clone()), Err(KeyError::IdTaken));
    pair.client.add_key(both[1].clone()).unwrap();
    pair.transfer(6001, 3000);
    pair.transfer(9001, 3000);
    assert_eq!(pair.client.keys_in_use(), Some((2, 1)));
}

#[test]
fn identifiers_may_differ_in_the_two_directions() {
    let mine = key(1, Algorithm::HmacSha1).with_ids(61, 84);
    let theirs = mine.clone().with_ids(84, 61);
    let mut pair = Pair::<Bytes>::new(false, [&[mine], &[theirs]]);
    pair.transfer(1, 5000);
    assert_eq!(pair.client.keys_in_use(), Some((61, 84)));
    assert_eq!(pair.server.unwrap().keys_in_use(), Some((84, 61)));
}

#[test]
fn an_option_nobody_asked_for_is_ignored_where_there_are_no_keys() {
    // RFC 5925 section 7.3: no master key matches, so it is plain TCP.
    let mut t = crate::script::Script::established(&crate::script::bare());
    let mut segment = crate::notation::read("P. 1:11(10) ack 1", PEER_ISS, ISS, 65_535);
    segment
        .options
        .set_authentication(Authentication::new(1, 1, &[0; 12]));
    t.inject_segment(segment);
    assert_eq!(t.read(100), 10);
    t.wait_ms(40);
    t.expect(". 1:1(0) ack 11");
    assert_eq!(t.tcp.keys_in_use(), None);
    assert_eq!(t.tcp.want_key(1), Err(KeyError::Unknown));
}

#[test]
fn a_listener_takes_only_signed_syns_of_a_peer_that_must_sign() {
    for when in [SynCookies::WhenFull, SynCookies::Always] {
        let master = key(3, Algorithm::HmacSha1);
        let name = tuple(true);
        let mut template = server_config();
        template.transport_mut().profile.opening.syn_cookies = when;
        let mut listener = Listener::<Bytes>::new(ListenerConfig {
            transport: template.transport.clone(),
            secret: Secret::new([1; 16]),
            backlog: 4,
            accept_backlog: 4,
            fast_open_backlog: 4,
            abort_on_overflow: false,
        });
        let keys = || Keys::new(chain(std::slice::from_ref(&master))).unwrap();
        listener.require_authentication(name.local_address(), keys());
        let mut now = START;
        let mut plain = Connection::<Bytes>::connect(now, &client_config());
        let segment = plain.poll_transmit(now).unwrap();
        listener.handle_segment(now, name.endpoints, Received { at: now, segment });
        assert!(listener.poll_transmit(now).is_none());
        assert_eq!(listener.counters().authentication_failed, 1);

        let mut client = Connection::connect_authenticated(now, &client_config(), &name, &keys());
        let segment = client.poll_transmit(now).unwrap();
        listener.handle_segment(now, name.endpoints, Received { at: now, segment });
        assert!(listener.poll_transmit(now).is_some());
        // Lost: the next one is signed too, made from what is remembered.
        now += Duration::from_secs(1);
        listener.handle_timeout(now);
        let (_, segment) = listener.poll_transmit(now).unwrap();
        client.handle_segment(now, Received { at: now, segment });
        assert_eq!(client.state(), State::Established);
        assert_eq!(client.write(Bytes::from_static(b"hello")), Ok(5));
        while let Some(segment) = client.poll_transmit(now) {
            listener.handle_segment(now, name.endpoints, Received { at: now, segment });
        }
        let mut server = listener.poll_accept().unwrap().connection;
        assert_eq!(server.read(now, 9).unwrap(), &b"hello"[..]);
        assert_eq!(server.keys_in_use(), Some((3, 3)));
    }
}

#[test]
fn icmp_errors_that_would_do_harm_are_not_heard() {
    // RFC 5925 section 7.8.
    let mut client = Connection::<Bytes>::connect_authenticated(
        START,
        &client_config(),
        &tuple(false),
        &Keys::new(chain(&[key(7, Algorithm::HmacSha1)])).unwrap(),
    );
    let syn = client.poll_transmit(START).unwrap();
    for kind in [IcmpKind::PortUnreachable, IcmpKind::TooBig { mtu: 600 }] {
        let seq = syn.seq;
        client.handle_icmp(START, IcmpError { kind, seq });
    }
    assert_eq!((client.state(), client.failure()), (State::SynSent, None));
    assert_eq!(client.counters().icmp_errors_ignored, 2);
}
