//! SYN flood at a listener: its cost, and whether an honest client is still accepted.
//!
//! Each SYN has another source address, which never answers. Source: RFC 4987 (the attack, and
//! SYN cookies against it).

use std::sync::Arc;

use core::net::Ipv4Addr;

use gigatcp_tcp::congestion::{self, SlowStart};
use gigatcp_tcp::listener::{Listener, ListenerConfig};
use gigatcp_tcp::profile::SynCookies;
use gigatcp_tcp::{Profile, Received, Secret, TransportConfig};
use gigatcp_units::{Duration, Instant};
use gigatcp_wire::{
    Endpoints, Flags, Options, Phantom, Segment, SeqNumber, Timestamps, WireWindow,
};

use crate::memory::Mark;

/// Backlog of the listener.
pub const BACKLOG: usize = 256;

/// Cost of a flood.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// SYN-ACKs sent.
    pub answered: u64,
    /// Maximum octets allocated at one time.
    pub memory: u64,
    /// Number of allocations.
    pub allocations: u64,
    /// Total octets allocated, whether freed or not.
    pub allocated: u64,
    /// Whether a client that answers was accepted during the flood.
    pub let_in: bool,
}

fn config(syn_cookies: SynCookies) -> ListenerConfig {
    ListenerConfig {
        transport: TransportConfig {
            profile: Profile::MODERN.with(|profile| {
                profile.opening.syn_cookies = syn_cookies;
            }),
            congestion: Arc::new(congestion::find("reno").expect("Reno is registered")),
            slow_start: SlowStart::Standard,
            ..TransportConfig::default()
        }
        .into(),
        secret: Secret::new(*b"0123456789abcdef"),
        backlog: BACKLOG,
        accept_backlog: 16,
        fast_open_backlog: 0,
        abort_on_overflow: false,
    }
}

fn from(client: u32) -> Endpoints {
    Endpoints::V4 {
        src: Ipv4Addr::from(0x0b00_0000 + client),
        dst: Ipv4Addr::new(10, 0, 0, 1),
    }
}

fn syn(now: Instant) -> Segment<Phantom> {
    let val = (now.as_nanos() / 1_000_000) as u32;
    Segment {
        src_port: 4000,
        dst_port: 80,
        seq: SeqNumber::new(1_000),
        flags: Flags::SYN,
        wnd: WireWindow(65_535),
        options: Options {
            mss: Some(1460),
            window_scale: Some(7),
            sack_permitted: true,
            timestamps: Some(Timestamps { val, ecr: 0 }),
            ..Options::default()
        },
        ..Segment::default()
    }
}

/// Sends `count` SYNs, a hundred thousand a second, to a listener with `syn_cookies`. The driver
/// polls the output after each.
pub fn run(count: u32, syn_cookies: SynCookies) -> Cost {
    let mark = Mark::new();
    let mut now = Instant::ZERO + Duration::from_secs(1_000);
    let mut listener = Listener::new(config(syn_cookies));
    let mut answered = 0;
    for client in 0..count {
        now += Duration::from_micros(10);
        let received = Received {
            at: now,
            segment: syn(now),
        };
        listener.handle_segment(now, from(client), received);
        if listener.poll_timeout().is_some_and(|due| due <= now) {
            listener.handle_timeout(now);
        }
        while listener.poll_transmit(now).is_some() {
            answered += 1;
        }
        assert!(listener.half_open() <= BACKLOG, "more than it may remember");
    }
    let cost = Cost {
        answered,
        memory: mark.peak(),
        allocations: mark.allocations(),
        allocated: mark.allocated(),
        let_in: false,
    };
    Cost {
        let_in: is_let_in(&mut listener, now, from(count)),
        ..cost
    }
}

/// Whether a client that answers its SYN-ACK is accepted.
fn is_let_in(listener: &mut Listener<Phantom>, now: Instant, client: Endpoints) -> bool {
    let first = syn(now);
    let received = Received {
        at: now,
        segment: first.clone(),
    };
    listener.handle_segment(now, client, received);
    let Some((_, syn_ack)) = listener.poll_transmit(now) else {
        return false;
    };
    let stamps = syn_ack.options.timestamps;
    let answer = Segment {
        seq: first.seq + 1,
        ack: syn_ack.seq + 1,
        flags: Flags::ACK,
        options: Options {
            timestamps: stamps.map(|theirs| Timestamps {
                val: theirs.ecr,
                ecr: theirs.val,
            }),
            ..Options::default()
        },
        ..first
    };
    let received = Received {
        at: now,
        segment: answer,
    };
    listener.handle_segment(now, client, received);
    listener.acceptable() == 1
}
