//! Packets above the MTU: affected wire packets, and absence of side effects.

use gigatcp_path::{DropCause, Hop, HopConfig, LossModel, Parcel};
use gigatcp_units::{Bytes, Instant};

/// Wire packets of `size` octets, the last of `last`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Sized {
    count: usize,
    size: u64,
    last: u64,
}

impl Parcel for Sized {
    fn wire_packets(&self) -> usize {
        self.count
    }

    fn ip_bytes(&self) -> u64 {
        self.size * (self.count as u64 - 1) + self.last
    }

    fn leading_ip_bytes(&self) -> u64 {
        if self.count == 1 {
            self.last
        } else {
            self.size
        }
    }

    fn split_front(&mut self, n: usize) -> Self {
        self.count -= n;
        Self {
            count: n,
            last: self.size,
            ..*self
        }
    }
}

fn hop(config: HopConfig) -> Hop<Sized> {
    let mtu = Some(Bytes::new(1492));
    Hop::new(HopConfig { mtu, ..config }, 1).unwrap()
}

/// What passes, and what is dropped.
fn through(hop: &mut Hop<Sized>, parcel: Sized) -> (Vec<Sized>, Vec<(Sized, DropCause)>) {
    hop.handle_arrival(Instant::ZERO, parcel);
    let passed = std::iter::from_fn(|| hop.poll_delivery(Instant::ZERO)).collect();
    let dropped = std::iter::from_fn(|| hop.poll_dropped()).collect();
    (passed, dropped)
}

#[test]
fn a_packet_of_exactly_the_mtu_passes_and_one_octet_more_does_not() {
    let mut hop = hop(HopConfig::default());
    let packet = |last| Sized {
        count: 1,
        size: 9000,
        last,
    };
    assert_eq!(
        through(&mut hop, packet(1492)),
        (vec![packet(1492)], vec![])
    );
    let dropped = vec![(packet(1493), DropCause::TooBig)];
    assert_eq!(through(&mut hop, packet(1493)), (vec![], dropped));
    assert_eq!(hop.counters().drops[DropCause::TooBig].packets, 1);
    assert!(hop.counters().is_conserved());
}

#[test]
fn of_a_super_packet_the_short_last_one_may_pass() {
    let mut hop = hop(HopConfig::default());
    let (passed, dropped) = through(
        &mut hop,
        Sized {
            count: 7,
            size: 1500,
            last: 100,
        },
    );
    assert_eq!(
        passed,
        [Sized {
            count: 1,
            size: 1500,
            last: 100
        }]
    );
    assert_eq!(dropped.len(), 1);
    assert_eq!(dropped[0].0.count, 6);
    assert_eq!(hop.counters().drops[DropCause::TooBig].packets, 6);
    let (passed, dropped) = through(
        &mut hop,
        Sized {
            count: 7,
            size: 1492,
            last: 100,
        },
    );
    let count: usize = passed.iter().map(|piece| piece.count).sum();
    assert_eq!((count, dropped.len()), (7, 0));
}

#[test]
fn what_is_too_big_meets_no_loss_model() {
    let config = HopConfig {
        loss: vec![LossModel::Listed(vec![2])],
        ..HopConfig::default()
    };
    let mut hop = hop(config);
    let small = Sized {
        count: 1,
        size: 1492,
        last: 1492,
    };
    let large = Sized {
        last: 1493,
        ..small
    };
    assert_eq!(through(&mut hop, small).0.len(), 1);
    assert_eq!(through(&mut hop, large).1[0].1, DropCause::TooBig);
    assert_eq!(through(&mut hop, small).1[0].1, DropCause::Loss(0));
}
