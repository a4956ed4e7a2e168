//! Rounds as they are kept while a connection goes on: in few octets.
//!
//! A round has some fifty figures, of which most are nothing and the others
//! small. What is kept of it is a bit for each figure that is not zero, and
//! these figures in groups of seven bits, lowest first: 480 octets become some
//! hundred. Times and packet numbers are those since the round before, and what
//! is near another figure is what it differs by. Nothing is rounded: figures with
//! a point are kept with their bits reversed, since the last ones are mostly zero.

use alloc::vec::Vec;

use gigatcp_units::{Duration, Instant};

use crate::round::{Round, STATES, Samples, Spread, Stamp};

/// Figures of a round.
const FIGURES: usize = 57;

/// Rounds in few octets, oldest first.
#[derive(Clone, Default, Debug)]
pub(crate) struct Packed {
    octets: Vec<u8>,
    len: usize,
    before: Before,
}

/// What figures of a round are told from.
#[derive(Clone, Copy, Default, Debug)]
struct Before {
    end: u64,
    packet: u64,
}

impl Before {
    const fn of(round: &Round) -> Self {
        Self {
            end: round.end.as_nanos(),
            packet: round.packet,
        }
    }
}

impl Packed {
    pub const fn len(&self) -> usize {
        self.len
    }

    pub fn push(&mut self, round: &Round) {
        /// The most that a round takes.
        const MOST: usize = 8 + FIGURES * 10;
        let mut octets = [0; MOST];
        let mut at = 8;
        let mut present = 0_u64;
        let all = figures(round, self.before);
        for (index, mut left) in all.into_iter().enumerate() {
            if left == 0 {
                continue;
            }
            present |= 1 << index;
            while left >= 0x80 {
                octets[at] = left as u8 | 0x80;
                left >>= 7;
                at += 1;
            }
            octets[at] = left as u8;
            at += 1;
        }
        octets[..8].copy_from_slice(&present.to_le_bytes());
        // There are many connections: room for an eighth more, and not for as
        // many again.
        if self.octets.len() + at > self.octets.capacity() {
            self.octets.reserve_exact(at.max(self.octets.len() / 8));
        }
        self.octets.extend_from_slice(&octets[..at]);
        self.len += 1;
        self.before = Before::of(round);
    }

    /// All of them as they were.
    pub fn unpack(&self) -> Vec<Round> {
        let mut rounds = Vec::with_capacity(self.len);
        let mut before = Before::default();
        let mut octets = self.octets.iter().copied();
        for _ in 0..self.len {
            let mut next = || octets.next().unwrap_or_default();
            let present = u64::from_le_bytes([(); 8].map(|()| next()));
            let mut all = [0; FIGURES];
            let mut left = present;
            while left != 0 {
                let figure = &mut all[left.trailing_zeros() as usize];
                left &= left - 1;
                let mut shift = 0;
                loop {
                    let octet = next();
                    *figure |= u64::from(octet & 0x7f) << shift;
                    shift += 7;
                    if octet < 0x80 {
                        break;
                    }
                }
            }
            let round = round(&all, before);
            before = Before::of(&round);
            rounds.push(round);
        }
        rounds
    }
}

/// How `value` differs from `base`: little in few bits, whichever is more.
const fn apart(value: u64, base: u64) -> u64 {
    let by = value.wrapping_sub(base).cast_signed();
    ((by << 1) ^ (by >> 63)).cast_unsigned()
}

/// What is `by` [apart] from `base`.
const fn together(by: u64, base: u64) -> u64 {
    base.wrapping_add((by >> 1) ^ (by & 1).wrapping_neg())
}

const fn float(value: f64) -> u64 {
    value.to_bits().reverse_bits()
}

/// The figures of a round. A new one needs a place here and in [`round`].
fn figures(round: &Round, before: Before) -> [u64; FIGURES] {
    let start = round.start.as_nanos();
    let samples = |all: &Samples| {
        let least = all.least.unwrap_or_default().as_nanos();
        [
            least,
            all.most.as_nanos().wrapping_sub(least),
            all.sum
                .as_nanos()
                .wrapping_sub(least.wrapping_mul(all.count)),
            all.count,
        ]
    };
    let spread = |all: &Spread| [float(all.count), float(all.sum), float(all.squares)];
    // One more than the value, so that nothing is zero.
    let stamp = |one: Option<Stamp>| match one {
        Some(one) => [
            u64::from(one.val) + 1,
            one.at.as_nanos().wrapping_sub(start),
        ],
        None => [0, 0],
    };
    let (least, most) = round.window.map_or((0, 0), |(least, most)| {
        (least + 1, most.wrapping_sub(least))
    });
    let mut all = [0; FIGURES];
    let mut left = all.iter_mut();
    let mut put = |values: &[u64]| {
        for value in values {
            if let Some(place) = left.next() {
                *place = *value;
            }
        }
    };
    put(&[
        start.wrapping_sub(before.end),
        round.end.as_nanos().wrapping_sub(start),
        round.packet.wrapping_sub(before.packet),
        round.count,
    ]);
    put(&round.spent.map(Duration::as_nanos));
    let acked = apart(round.acked, round.sent);
    put(&[round.sent, acked, round.segments, round.clocked]);
    put(&[round.small, round.pushed, round.marked]);
    put(&[round.gaps, round.bunched]);
    put(&[
        round.free_starts,
        round.clocked_starts,
        round.dry.as_nanos(),
    ]);
    put(&spread(&round.ack_gaps));
    put(&spread(&round.ack_sizes));
    let flight = apart(round.flight, round.sent);
    put(&[round.again, round.spurious, round.late, flight]);
    put(&samples(&round.trip));
    put(&samples(&round.turn));
    put(&stamp(round.ack_stamp));
    put(&stamp(round.data_stamp));
    put(&[round.still.as_nanos(), least, most]);
    put(&[round.train_octets, round.train_time.as_nanos()]);
    put(&[round.acks, round.duplicates, round.updates, round.marks]);
    put(&[round.ack_train_octets, round.ack_train_time.as_nanos()]);
    all
}

/// The round with these figures.
fn round(all: &[u64; FIGURES], before: Before) -> Round {
    let mut figures = all.iter().copied();
    let mut next = || figures.next().unwrap_or_default();
    let start = next().wrapping_add(before.end);
    let samples = |[least, most, sum, count]: [u64; 4]| Samples {
        least: (count > 0).then(|| Duration::from_nanos(least)),
        most: Duration::from_nanos(most.wrapping_add(least)),
        sum: Duration::from_nanos(sum.wrapping_add(least.wrapping_mul(count))),
        count,
    };
    let float = |value: u64| f64::from_bits(value.reverse_bits());
    let spread = |[count, sum, squares]: [u64; 3]| Spread {
        count: float(count),
        sum: float(sum),
        squares: float(squares),
    };
    let stamp = |[val, at]: [u64; 2]| {
        val.checked_sub(1).map(|val| Stamp {
            val: val as u32,
            at: Instant::from_nanos(at.wrapping_add(start)),
        })
    };
    // Fields in the order of the figures: that is the order of evaluation.
    let sent;
    Round {
        start: Instant::from_nanos(start),
        end: Instant::from_nanos(next().wrapping_add(start)),
        packet: next().wrapping_add(before.packet),
        count: next(),
        spent: [(); STATES].map(|()| Duration::from_nanos(next())),
        sent: {
            sent = next();
            sent
        },
        acked: together(next(), sent),
        segments: next(),
        clocked: next(),
        small: next(),
        pushed: next(),
        marked: next(),
        gaps: next(),
        bunched: next(),
        free_starts: next(),
        clocked_starts: next(),
        dry: Duration::from_nanos(next()),
        ack_gaps: spread([(); 3].map(|()| next())),
        ack_sizes: spread([(); 3].map(|()| next())),
        again: next(),
        spurious: next(),
        late: next(),
        flight: together(next(), sent),
        trip: samples([(); 4].map(|()| next())),
        turn: samples([(); 4].map(|()| next())),
        ack_stamp: stamp([(); 2].map(|()| next())),
        data_stamp: stamp([(); 2].map(|()| next())),
        still: Duration::from_nanos(next()),
        window: match [next(), next()] {
            [0, _] => None,
            [least, most] => Some((least - 1, most.wrapping_add(least - 1))),
        },
        train_octets: next(),
        train_time: Duration::from_nanos(next()),
        acks: next(),
        duplicates: next(),
        updates: next(),
        marks: next(),
        ack_train_octets: next(),
        ack_train_time: Duration::from_nanos(next()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Nothing, something small, or anything; of a size that may be added to.
    fn figure() -> impl Strategy<Value = u64> {
        prop_oneof![Just(0), 0_u64..200, any::<u64>().prop_map(|all| all >> 2)]
    }

    proptest! {
        #[test]
        fn rounds_come_out_as_they_went_in(
            rounds in prop::collection::vec(prop::collection::vec(figure(), FIGURES), 0..9),
        ) {
            let mut packed = Packed::default();
            let mut kept = Vec::new();
            for figures in rounds {
                let mut all = [0; FIGURES];
                all.copy_from_slice(&figures);
                let round = round(&all, Before::default());
                packed.push(&round);
                kept.push(round);
            }
            prop_assert_eq!(packed.len(), kept.len());
            let out = packed.unpack();
            // Not-a-number is not itself.
            prop_assert_eq!(alloc::format!("{out:?}"), alloc::format!("{kept:?}"));
        }
    }
}
