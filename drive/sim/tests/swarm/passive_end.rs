//! Passive end of a connection: without state, or behind the engine's [`Listener`].
//!
//! A listener has a SYN flood of other clients, SYN cookies, Fast Open, keys, and an application
//! that accepts late.
//!
//! Limits for survival: a connection may legitimately be refused if a flood or a backlog of one
//! drops a half-open connection, or if a cookie expires before the ACK arrives. That is recorded
//! here ([`PassiveEnd::may_refuse`]), and needed in few simulations only. A cookie encodes no MSS below
//! the smallest of its table, so clients behind one have at least that.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use gigatcp_tcp::authentication::Keys;
use gigatcp_tcp::fast_open::{FastOpenKey, FastOpenOffer};
use gigatcp_tcp::listener::{self, ListenOutcome, Listener, ListenerConfig};
use gigatcp_tcp::profile::SynCookies;
use gigatcp_tcp::{Connection, ConnectionConfig, FourTuple, Received, Secret};
use gigatcp_units::{Duration, Instant};
use gigatcp_wire::bytes::Bytes;
use gigatcp_wire::{Endpoints, FastOpenCookie, Flags, Segment, SeqNumber, WireWindow};

use super::draw::Draw;

/// Smallest MSS of a client that a cookie can encode, by version of IP.
const COOKIE_MSS: [u16; 2] = [536, 1220];

/// Listening side of the passive end.
#[derive(Debug)]
pub struct PassiveEnd {
    draw: Draw,
    /// The connection as the listening end names it.
    tuple: FourTuple,
    keys: Option<Keys<Bytes>>,
    secret: Secret,
    server: Option<Server>,
}

#[derive(Debug)]
struct Server {
    listener: Listener<Bytes>,
    config: ListenerConfig,
    flood: Flood,
    /// Earliest time at which the application accepts.
    accept_from: Instant,
    /// Whether the client's SYN was answered and its state dropped.
    forgot: bool,
    knows: bool,
    cookies: bool,
}

/// SYNs and ACKs of unknown connections, from random addresses.
#[derive(Debug)]
struct Flood {
    every: Duration,
    next: Instant,
    left: u64,
}

impl PassiveEnd {
    /// Passive end for `seed`, whose connections use `config`.
    ///
    /// `plain` omits the listener.
    pub fn new(
        seed: u64,
        endpoints: Endpoints,
        config: &mut ConnectionConfig,
        plain: bool,
    ) -> Self {
        let mut draw = Draw::new(seed, "door");
        let mut octets = [0; 16];
        octets[..8].copy_from_slice(&draw.next().to_be_bytes());
        octets[8..].copy_from_slice(&draw.next().to_be_bytes());
        let mut passive_end = Self {
            tuple: FourTuple {
                endpoints: endpoints.reversed(),
                local_port: 5001,
                remote_port: 5001,
            },
            keys: None,
            secret: Secret::new(octets),
            server: None,
            draw,
        };
        if !plain && passive_end.draw.chance(60) {
            passive_end.listen(config);
        }
        passive_end
    }

    fn listen(&mut self, config: &mut ConnectionConfig) {
        let draw = &mut self.draw;
        let floods = draw.chance(20);
        let profile = &mut config.transport_mut().profile;
        profile.opening.syn_cookies = draw.pick(&[
            SynCookies::Off,
            SynCookies::WhenFull,
            SynCookies::WhenFull,
            SynCookies::Always,
        ]);
        if floods && profile.opening.syn_cookies == SynCookies::Off {
            profile.opening.syn_cookies = SynCookies::WhenFull;
        }
        let flood = Flood {
            every: draw.span(Duration::from_micros(10), Duration::from_millis(50)),
            next: Instant::ZERO,
            left: if floods { draw.between(10, 300) } else { 0 },
        };
        let (backlog, accept_backlog) = (draw.between(1, 8) as usize, draw.between(1, 4) as usize);
        let late = draw.chance(30);
        let pause = draw.span(Duration::ZERO, Duration::from_secs(2));
        let config = ListenerConfig {
            transport: config.transport.clone(),
            secret: self.secret,
            backlog,
            accept_backlog,
            fast_open_backlog: draw.between(0, 4) as usize,
            abort_on_overflow: false,
        };
        self.server = Some(Server {
            listener: Listener::new(config.clone()),
            flood,
            accept_from: Instant::ZERO + if late { pause } else { Duration::ZERO },
            forgot: false,
            knows: false,
            cookies: config.transport.profile.opening.syn_cookies != SynCookies::Off,
            config,
        });
    }

    /// Restarts the host of the listener: its state and secret are lost.
    pub fn forget(&mut self) {
        let Some(server) = &mut self.server else {
            return;
        };
        let mut octets = [0; 16];
        octets[..8].copy_from_slice(&self.draw.next().to_be_bytes());
        octets[8..].copy_from_slice(&self.draw.next().to_be_bytes());
        self.secret = Secret::new(octets);
        server.config.secret = self.secret;
        server.listener = Listener::new(server.config.clone());
        server.knows = false;
    }

    /// Requires the peer to authenticate from now on.
    pub fn require(&mut self, keys: &Keys<Bytes>) {
        self.keys = Some(keys.clone());
        if let Some(server) = &mut self.server {
            let peer = self.tuple.remote_address();
            server.listener.require_authentication(peer, keys.clone());
        }
    }

    /// Whether there is a listener.
    pub fn has_listener(&self) -> bool {
        self.server.is_some()
    }

    /// Whether it may answer by a cookie.
    pub fn may_bake(&self) -> bool {
        self.server.as_ref().is_some_and(|server| server.cookies) && self.keys.is_none()
    }

    /// Smallest MSS a client should have.
    pub fn least_mss(&self) -> u16 {
        let is_v6 = self.tuple.local_address().is_ipv6();
        if self.may_bake() {
            COOKIE_MSS[usize::from(is_v6)]
        } else {
            0
        }
    }

    /// Whether the connection may legitimately be refused.
    ///
    /// Its half-open state was dropped, or a cookie expired while no ACK arrived.
    pub fn may_refuse(&self) -> bool {
        self.server.as_ref().is_some_and(|server| {
            let counters = server.listener.counters();
            server.forgot || (counters.cookies_sent > 0 && counters.accepted == 0)
        })
    }

    /// Fast Open state of a client for this server.
    ///
    /// It has none, or knows that cookies are granted, or has a cookie: valid, outdated or invalid.
    pub fn offer(&mut self, mss: u16) -> Option<FastOpenOffer> {
        let client = self.tuple.remote_address();
        let good = FastOpenKey::new(self.secret).cookie(client);
        let bad = FastOpenCookie::new(&self.draw.next().to_be_bytes())?;
        let cookie = match self.draw.between(0, 9) {
            0..=3 => return None,
            4 => FastOpenCookie::REQUEST,
            5 => bad,
            6 => {
                if let Some(server) = &mut self.server {
                    server.listener.change_fast_open_key(Secret::new([7; 16]));
                }
                good
            }
            _ => good,
        };
        Some(FastOpenOffer { cookie, mss })
    }

    /// When it acts next.
    pub fn next(&self, accepted: bool) -> Instant {
        let Some(server) = &self.server else {
            return Instant::FAR_FUTURE;
        };
        let flood = if server.flood.left > 0 {
            server.flood.next
        } else {
            Instant::FAR_FUTURE
        };
        let accept = if server.listener.acceptable() > 0 && !accepted {
            server.accept_from
        } else {
            Instant::FAR_FUTURE
        };
        let timer = server.listener.poll_timeout();
        timer.unwrap_or(Instant::FAR_FUTURE).min(flood).min(accept)
    }

    /// Handles a segment for the end, which has no connection; returns the connection it opens.
    ///
    /// Answers leave through [`PassiveEnd::poll_transmit`]; without a listener they are added to
    /// `replies`.
    pub fn hear(
        &mut self,
        now: Instant,
        config: &ConnectionConfig,
        received: Received<Bytes>,
        replies: &mut Vec<Segment<Bytes>>,
    ) -> Option<Box<Connection<Bytes>>> {
        if let Some(server) = &mut self.server {
            let arrival = self.tuple.endpoints.reversed();
            server.listener.handle_segment(now, arrival, received);
            return None;
        }
        let is_syn = received.segment.flags.contains(Flags::SYN)
            && !received.segment.flags.intersects(Flags::ACK | Flags::RST);
        if let Some(keys) = self.keys.as_ref().filter(|_| is_syn) {
            return Connection::accept_authenticated(now, config, &received, &self.tuple, keys)
                .map(Box::new);
        }
        match listener::handle_segment(now, config, &received) {
            ListenOutcome::Opened(connection) => return Some(connection),
            ListenOutcome::Reset(segment) => replies.push(segment),
            ListenOutcome::Ignored => {}
        }
        None
    }

    /// Handles timers and the flood.
    pub fn step(&mut self, now: Instant) -> Result<(), String> {
        let Some(server) = &mut self.server else {
            return Ok(());
        };
        server.listener.handle_timeout(now);
        while server.flood.left > 0 && server.flood.next <= now {
            server.flood.left -= 1;
            server.flood.next = server.flood.next.max(now) + server.flood.every;
            let (endpoints, segment) = stranger(&mut self.draw, self.tuple.endpoints);
            let received = Received { at: now, segment };
            server.listener.handle_segment(now, endpoints, received);
        }
        self.check()
    }

    /// Checks that the listener's state stays bounded.
    fn check(&mut self) -> Result<(), String> {
        let Some(server) = &mut self.server else {
            return Ok(());
        };
        let (half_open, waiting) = (server.listener.half_open(), server.listener.acceptable());
        if half_open > server.config.backlog || waiting > server.config.accept_backlog {
            return Err(format!(
                "the listener keeps {half_open} half-open connections and {waiting} waiting: {server:?}"
            ));
        }
        let knows = server.listener.knows(&self.tuple);
        server.forgot |= server.knows && !knows;
        server.knows = knows;
        Ok(())
    }

    /// Next segment to the client; those to other clients are lost.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Segment<Bytes>> {
        let server = self.server.as_mut()?;
        while let Some((endpoints, segment)) = server.listener.poll_transmit(now) {
            if endpoints == self.tuple.endpoints && segment.dst_port == self.tuple.remote_port {
                return Some(segment);
            }
        }
        None
    }

    /// Connection, once the application accepts it.
    pub fn accept(&mut self, now: Instant) -> Result<Option<Box<Connection<Bytes>>>, String> {
        let Some(server) = &mut self.server else {
            return Ok(None);
        };
        if now < server.accept_from {
            return Ok(None);
        }
        let Some(accepted) = server.listener.poll_accept() else {
            return Ok(None);
        };
        if accepted.tuple != self.tuple {
            return Err(format!("a stranger came in: {:?}", accepted.tuple));
        }
        server.knows = false;
        Ok(Some(accepted.connection))
    }

    /// Lowers the expected limits of the listener by one connection (an injected bug).
    ///
    /// This simulates a listener that keeps more than its limit.
    pub fn narrow(&mut self) {
        if let Some(server) = &mut self.server {
            (server.config.backlog, server.config.accept_backlog) = (0, 0);
        }
    }
}

/// A segment of a client that never answers, to the address at `endpoints`.
fn stranger(draw: &mut Draw, endpoints: Endpoints) -> (Endpoints, Segment<Bytes>) {
    let number = draw.next();
    let src = match endpoints {
        Endpoints::V4 { .. } => {
            let [_, _, third, fourth] = (number as u32).to_be_bytes();
            IpAddr::V4(Ipv4Addr::new(198, 51, third, fourth))
        }
        Endpoints::V6 { .. } => {
            let last = u128::from(number);
            IpAddr::V6(Ipv6Addr::from(0x2001_0db8_0001 << 80 | last))
        }
    };
    let flags = if draw.chance(75) {
        Flags::SYN
    } else {
        Flags::ACK
    };
    let segment = Segment {
        src_port: 1024 + draw.between(0, 60_000) as u16,
        dst_port: 5001,
        seq: SeqNumber::new(draw.next() as u32),
        ack: SeqNumber::new(draw.next() as u32),
        flags,
        wnd: WireWindow(draw.next() as u16),
        ..Segment::default()
    };
    let between = Endpoints::new(src, endpoints.src()).unwrap_or(endpoints);
    (between, segment)
}
