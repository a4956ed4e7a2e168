//! A client and a listener over a path that loses, doubles and reorders:
//! whatever opens the connection, every octet arrives.

use std::collections::BTreeMap;

use gigatcp_tcp::events::State;
use gigatcp_tcp::fast_open::{FastOpenCache, FastOpenOffer};
use gigatcp_tcp::listener::{Listener, ListenerConfig};
use gigatcp_tcp::profile::SynCookies;
use gigatcp_tcp::{Connection, FourTuple, IsnGenerator, Profile, Received, Secret};
use gigatcp_units::{Duration, Instant};
use gigatcp_wire::bytes::Bytes;
use gigatcp_wire::{FastOpenCookie, Segment, SeqNumber};

use crate::listener::client;
use crate::notation;
use crate::script::{PEER_ISS, with};

/// One client after another asks a server for an answer, over one path.
struct World {
    now: Instant,
    random: u64,
    /// Lost, of a hundred.
    lost: u64,
    /// Which segments fly, and whether to the server.
    flying: BTreeMap<(Instant, u64), (bool, Segment<Bytes>)>,
    sent: u64,
    listener: Listener<Bytes>,
    served: Vec<Connection<Bytes>>,
    v6: bool,
    /// Up to so many microseconds more for each segment.
    jitter: u64,
    /// Octets of a question.
    question: usize,
    /// A stranger takes the only place for half-open connections and leaves it
    /// again, as chance will have it.
    is_crowded: bool,
}

const ANSWER: usize = 12_000;

impl World {
    fn new(seed: u64, lost: u64, v6: bool, change: impl FnOnce(&mut Profile)) -> Self {
        Self::with_backlog(4, seed, lost, v6, change)
    }

    fn with_backlog(
        backlog: usize,
        seed: u64,
        lost: u64,
        v6: bool,
        change: impl FnOnce(&mut Profile),
    ) -> Self {
        let template = with(|p| {
            *p = patient();
            change(p);
        });
        Self {
            now: Instant::from_nanos(1_000_000_000_000),
            random: seed,
            lost,
            flying: BTreeMap::new(),
            sent: 0,
            listener: Listener::new(ListenerConfig {
                transport: template.transport,
                secret: Secret::new([5; 16]),
                backlog,
                accept_backlog: 4,
                fast_open_backlog: 4,
                abort_on_overflow: false,
            }),
            served: Vec::new(),
            v6,
            jitter: 3000,
            question: 2500,
            is_crowded: false,
        }
    }

    fn below(&mut self, end: u64) -> u64 {
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) % end
    }

    fn fly(&mut self, to_server: bool, segment: &Segment<Bytes>) {
        let copies = match self.below(100) {
            n if n < self.lost => 0,
            n if n < self.lost + self.lost / 4 => 2,
            _ => 1,
        };
        for _ in 0..copies {
            let jitter = Duration::from_micros(self.below(1 + self.jitter));
            self.sent += 1;
            let at = self.now + Duration::from_millis(10) + jitter;
            self.flying
                .insert((at, self.sent), (to_server, segment.clone()));
        }
    }

    /// A client from `port` puts its question and gets its answer; gives the
    /// client's connection.
    fn ask(&mut self, port: u16, offer: Option<FastOpenOffer>) -> Connection<Bytes> {
        let endpoints = client(1, self.v6);
        let tuple = FourTuple {
            endpoints,
            local_port: port,
            remote_port: 80,
        };
        let isn = IsnGenerator::new(Secret::new([6; 16]));
        let config = isn.identify(self.now, &tuple, &with(|p| *p = patient()).transport);
        let mut asking = Connection::connect(self.now, &config);
        assert_eq!(
            asking.write(notation::octets(1, self.question)),
            Ok(self.question)
        );
        if let Some(offer) = offer {
            assert!(asking.offer_fast_open(&offer));
        }
        self.served.clear();
        let (mut asked, mut answered, mut written) = (0, 0, 0);
        for _ in 0..100_000 {
            while let Some(segment) = asking.poll_transmit(self.now) {
                self.fly(true, &segment);
            }
            while let Some((_, segment)) = self.listener.poll_transmit(self.now) {
                self.fly(false, &segment);
            }
            if let Some(accepted) = self.listener.poll_accept() {
                self.served.push(*accepted.connection);
            }
            for mut server in core::mem::take(&mut self.served) {
                while let Some(piece) = server.read(self.now, 1000) {
                    assert_eq!(piece, notation::octets(1 + asked, piece.len()));
                    asked += piece.len() as u64;
                }
                if asked == self.question as u64 && written == 0 {
                    written = server.write(notation::octets(1, ANSWER)).unwrap_or(0);
                    server.shutdown(self.now);
                }
                while let Some(segment) = server.poll_transmit(self.now) {
                    self.fly(false, &segment);
                }
                self.served.push(server);
            }
            while let Some(piece) = asking.read(self.now, 1000) {
                assert_eq!(piece, notation::octets(1 + answered, piece.len()));
                answered += piece.len() as u64;
            }
            if asking.state() == State::CloseWait && answered == ANSWER as u64 {
                asking.shutdown(self.now);
            }
            while let Some(segment) = asking.poll_transmit(self.now) {
                self.fly(true, &segment);
            }
            if asking.state() == State::Closed {
                assert_eq!((asking.failure(), answered), (None, ANSWER as u64));
                return asking;
            }
            self.step(&mut asking, port);
        }
        panic!("no end: {:?} {:?}", asking.info(), self.served);
    }

    fn step(&mut self, asking: &mut Connection<Bytes>, port: u16) {
        let endpoints = client(1, self.v6);
        let flying = self.flying.first_key_value().map(|((at, _), _)| *at);
        let served = self.served.iter().map(Connection::poll_timeout);
        let next = served
            .chain([flying, asking.poll_timeout(), self.listener.poll_timeout()])
            .flatten()
            .min();
        let Some(next) = next else {
            panic!("silence: {:?}", asking.info());
        };
        self.now = self.now.max(next);
        asking.handle_timeout(self.now);
        self.listener.handle_timeout(self.now);
        for server in &mut self.served {
            server.handle_timeout(self.now);
        }
        if flying != Some(next) {
            return;
        }
        let (_, (to_server, segment)) = self.flying.pop_first().unwrap();
        let at = self.now;
        // What is left of earlier connections finds nobody.
        if ![segment.src_port, segment.dst_port].contains(&port) {
            return;
        }
        if self.is_crowded && to_server {
            self.crowd();
        }
        let received = Received { at, segment };
        match (to_server, self.served.first_mut()) {
            (false, _) => asking.handle_segment(at, received),
            (true, Some(server)) => server.handle_segment(at, received),
            (true, None) => self.listener.handle_segment(at, endpoints, received),
        }
    }
}

impl World {
    /// The stranger opens or goes.
    fn crowd(&mut self) {
        let text = ["S 0:0(0) <mss 1000>", "R 1:1(0)"][self.below(2) as usize];
        let mut segment = notation::read(text, PEER_ISS, SeqNumber::new(0), 1000);
        (segment.src_port, segment.dst_port) = (3999, 80);
        let at = self.now;
        let received = Received { at, segment };
        let from = client(2, self.v6);
        self.listener.handle_segment(at, from, received);
    }
}

fn patient() -> Profile {
    Profile::MODERN.with(|profile| {
        profile.opening.syn_retries = 60;
        profile.timer.retries = 60;
        profile.timer.rto_max = Duration::from_secs(2);
        profile.pacing.enabled = false;
    })
}

#[test]
fn whatever_opens_the_connection_every_octet_arrives() {
    for seed in 0..60 {
        for cookies in [SynCookies::Off, SynCookies::Always] {
            let lost = [0, 5, 30][seed as usize % 3];
            let mut world = World::new(seed, lost, seed % 2 == 0, |p| {
                p.opening.syn_cookies = cookies
            });
            world.ask(4000, None);
        }
    }
}

#[test]
fn a_syn_answered_with_a_cookie_and_again_without_opens_a_connection_whichever_comes_first() {
    let mut both = 0;
    for seed in 0..300 {
        let lost = [0, 5, 10][seed as usize % 3];
        let mut world = World::with_backlog(1, seed, lost, seed % 2 == 0, |p| {
            p.opening.syn_cookies = SynCookies::WhenFull;
        });
        world.is_crowded = true;
        // Longer than the first timeout: answers to the SYN and to its
        // repetition are on their way together.
        world.jitter = 1_200_000;
        world.ask(4000, None);
        let counters = world.listener.counters();
        both += u64::from(counters.cookies_sent > 0 && counters.syns > counters.cookies_sent);
    }
    assert!(both > 30, "{both} of 300 had both answers");
}

#[test]
fn fast_opens_by_a_cache_over_a_lossy_path_deliver_every_octet() {
    let (mut with_text, mut fell_back) = (0, 0);
    for seed in 0..60 {
        let lost = [0, 5, 30][seed as usize % 3];
        let mut world = World::new(seed, lost, seed % 2 == 0, |_| {});
        let mut cache = FastOpenCache::new(4);
        let server = client(1, world.v6).dst();
        for port in 4000..4005 {
            let offer = cache.offer(world.now, server);
            let asking = world.ask(port, offer);
            let Some(outcome) = asking.fast_open_outcome() else {
                continue;
            };
            with_text += u32::from(outcome.text_acked > 0);
            fell_back += u32::from(outcome.timed_out && outcome.text_acked == 0);
            cache.learn(world.now, server, &outcome);
        }
    }
    assert!(with_text > 60, "{with_text} with text on the SYN");
    assert!(fell_back > 5, "{fell_back} fell back");
}

#[test]
fn a_fast_open_saves_one_round_trip() {
    let mut world = World::new(1, 0, false, |_| {});
    world.question = 700;
    world.jitter = 0;
    let first = Some(FastOpenOffer {
        cookie: FastOpenCookie::REQUEST,
        mss: 1460,
    });
    let asking = world.ask(4000, first);
    let cookie = asking.fast_open_outcome().unwrap().cookie.unwrap();
    let until_read = |world: &mut World, port, offer| {
        let begin = world.now;
        world.ask(port, offer);
        world.now.saturating_since(begin)
    };
    let regular = until_read(&mut world, 4001, None);
    let fast = until_read(&mut world, 4002, Some(FastOpenOffer { cookie, mss: 1460 }));
    assert_eq!(
        regular.saturating_sub(fast),
        Duration::from_millis(20),
        "{regular:?} {fast:?}"
    );
}
