//! Compact storage of rounds while a connection is in progress.
//!
//! A round has some eighty figures, most of which are zero and the others small. It is stored as a
//! bit for each figure that is not zero, and these figures in groups of seven bits, lowest first:
//! 600 bytes become about a hundred. Times and packet numbers are relative to the previous round,
//! and a figure that is near another one is stored as the difference. Packing does not round:
//! floating-point figures are stored with their bits reversed, since the last ones are mostly zero.
//!
//! The table of fields is in `round.rs`, and not repeated here: [`rounds!`] makes the struct and
//! the code that packs, unpacks and merges it.

use alloc::vec::Vec;

use gigatcp_units::{Duration, Instant};

use crate::round::{FIGURES, Round};
use crate::samples::{Extremes, Samples, Spread, Stamp};

/// Bytes with a bit for each figure.
const MASK: usize = FIGURES.div_ceil(8);

/// Declares a round: fields with their types, how each is merged, and its base. The base is another
/// field from which the difference is stored.
macro_rules! rounds {
    (
        $(#[$about:meta])*
        pub(crate) struct $Round:ident {
            $(#[$start_doc:meta])*
            pub $start:ident: Instant;
            $(
                $(#[$doc:meta])*
                pub $field:ident: $type:ty, merge $rule:ident $(, near $base:ident)?;
            )*
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Default, Debug)]
        pub(crate) struct $Round {
            $(#[$start_doc])*
            pub $start: Instant,
            pub end: Instant,
            /// Number of the first packet in it.
            pub packet: u64,
            /// Number of rounds merged into this one.
            pub count: u64,
            $($(#[$doc])* pub $field: $type,)*
        }

        /// Figures of a round.
        pub(crate) const FIGURES: usize =
            4 $(+ <$type as crate::packed::Figures>::COUNT)*;

        impl $Round {
            pub fn new($start: Instant, packet: u64) -> Self {
                Self {
                    $start,
                    end: $start,
                    packet,
                    count: 1,
                    ..Self::default()
                }
            }

            /// Merges the following round into this one.
            fn merge(&mut self, other: &Self) {
                debug_assert!(
                    self.end <= other.$start,
                    "a round takes in one behind it: {:?} <= {:?}",
                    self.end,
                    other.$start
                );
                self.end = other.end;
                self.count += other.count;
                $(merge::$rule(&mut self.$field, &other.$field);)*
            }

            /// Its figures, relative to the end and the packet of the previous round.
            #[inline(always)]
            pub(crate) fn figures(
                &self,
                (before, number): (Instant, u64),
            ) -> [u64; FIGURES] {
                use crate::packed::{Figures, Put};
                let Self { $start, end, packet, count, $($field,)* } = *self;
                let mut all = Put::default();
                all.put($start.as_nanos().wrapping_sub(before.as_nanos()));
                all.put(end.as_nanos().wrapping_sub($start.as_nanos()));
                all.put(packet.wrapping_sub(number));
                all.put(count);
                $(rounds!(@put $field, all $(, $base)?);)*
                all.figures
            }

            /// Creates the round with these figures.
            #[inline(always)]
            pub(crate) fn of_figures(
                figures: &[u64; FIGURES],
                (before, number): (Instant, u64),
            ) -> Self {
                use crate::packed::{Figures, Take};
                let mut all = Take::of(figures);
                let $start = Instant::from_nanos(all.take().wrapping_add(before.as_nanos()));
                let end = Instant::from_nanos(all.take().wrapping_add($start.as_nanos()));
                let packet = all.take().wrapping_add(number);
                let count = all.take();
                $(let $field = rounds!(@take $type, all $(, $base)?);)*
                Self { $start, end, packet, count, $($field,)* }
            }
        }
    };
    (@put $field:ident, $all:ident) => { $field.put(&mut $all) };
    (@put $field:ident, $all:ident, $base:ident) => { $field.put_near($base, &mut $all) };
    (@take $type:ty, $all:ident) => { <$type as Figures>::take(&mut $all) };
    (@take $type:ty, $all:ident, $base:ident) => {
        <$type as Figures>::take_near($base, &mut $all)
    };
}
pub(crate) use rounds;

/// Packed rounds, oldest first.
#[derive(Clone, Default, Debug)]
pub(crate) struct Packed {
    octets: Vec<u8>,
    len: usize,
    /// End and packet of the last one.
    before: (Instant, u64),
}

impl Packed {
    pub const fn len(&self) -> usize {
        self.len
    }

    pub fn push(&mut self, round: &Round) {
        /// Maximum number of bytes of a round.
        const MOST: usize = MASK + FIGURES * 10;
        let mut octets = [0; MOST];
        let mut at = MASK;
        let mut present = 0_u128;
        let all = round.figures(self.before);
        debug_assert_eq!(
            Round::of_figures(&all, self.before).figures(self.before),
            all,
            "a round comes out as it was put in"
        );
        // Rare figures are adjacent.
        for (chunk, figures) in all.chunks(8).enumerate() {
            if figures.iter().fold(0, |all, one| all | one) == 0 {
                continue;
            }
            for (place, figure) in figures.iter().enumerate() {
                let mut left = *figure;
                if left == 0 {
                    continue;
                }
                present |= 1 << (chunk * 8 + place);
                while left >= 0x80 {
                    octets[at] = left as u8 | 0x80;
                    left >>= 7;
                    at += 1;
                }
                octets[at] = left as u8;
                at += 1;
            }
        }
        octets[..MASK].copy_from_slice(&present.to_le_bytes()[..MASK]);
        // There are many connections: reserve an eighth more, instead of doubling.
        if self.octets.len() + at > self.octets.capacity() {
            self.octets.reserve_exact(at.max(self.octets.len() / 8));
        }
        self.octets.extend_from_slice(&octets[..at]);
        self.len += 1;
        self.before = (round.end, round.packet);
    }

    /// Unpacks all rounds.
    pub fn unpack(&self) -> Vec<Round> {
        let mut rounds = Vec::with_capacity(self.len);
        let mut before = <(Instant, u64)>::default();
        let mut octets = self.octets.iter().copied();
        for _ in 0..self.len {
            let mut next = || octets.next().unwrap_or_default();
            let mut left = [0; 16];
            left[..MASK].fill_with(&mut next);
            let mut left = u128::from_le_bytes(left);
            let mut all = [0; FIGURES];
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
            let round = Round::of_figures(&all, before);
            before = (round.end, round.packet);
            rounds.push(round);
        }
        debug_assert!(
            octets.len() == 0 && before == self.before,
            "all octets belong to the {} rounds",
            self.len
        );
        rounds
    }
}

/// Encodes the difference of `value` from `base`. It is small if the two are near, in either
/// direction.
const fn encode_difference(value: u64, base: u64) -> u64 {
    let by = value.wrapping_sub(base).cast_signed();
    ((by << 1) ^ (by >> 63)).cast_unsigned()
}

/// Decodes the value that differs from `base` by `by` (see [`encode_difference`]).
const fn decode_difference(by: u64, base: u64) -> u64 {
    base.wrapping_add((by >> 1) ^ (by & 1).wrapping_neg())
}

/// Output of figures, in order.
pub(crate) struct Put {
    pub figures: [u64; FIGURES],
    next: usize,
}

impl Default for Put {
    fn default() -> Self {
        Self {
            figures: [0; FIGURES],
            next: 0,
        }
    }
}

impl Put {
    #[inline(always)]
    pub fn put(&mut self, value: u64) {
        self.figures[self.next] = value;
        self.next += 1;
    }
}

/// Input of figures, in the same order.
pub(crate) struct Take<'a> {
    figures: &'a [u64; FIGURES],
    next: usize,
}

impl<'a> Take<'a> {
    pub const fn of(figures: &'a [u64; FIGURES]) -> Self {
        Self { figures, next: 0 }
    }

    #[inline(always)]
    pub fn take(&mut self) -> u64 {
        let value = self.figures[self.next];
        self.next += 1;
        value
    }
}

/// A field of a round as figures.
pub(crate) trait Figures: Sized {
    /// Number of figures.
    const COUNT: usize;
    /// Type of the field from which the difference is stored.
    type Near;
    fn put(&self, all: &mut Put);
    fn take(all: &mut Take<'_>) -> Self;

    /// Stores the difference from another field.
    fn put_near(&self, _: Self::Near, all: &mut Put) {
        self.put(all);
    }
    fn take_near(_: Self::Near, all: &mut Take<'_>) -> Self {
        Self::take(all)
    }
}

impl Figures for u64 {
    const COUNT: usize = 1;
    type Near = Self;
    #[inline(always)]
    fn put(&self, all: &mut Put) {
        all.put(*self);
    }
    #[inline(always)]
    fn take(all: &mut Take<'_>) -> Self {
        all.take()
    }
    #[inline(always)]
    fn put_near(&self, near: Self, all: &mut Put) {
        all.put(encode_difference(*self, near));
    }
    #[inline(always)]
    fn take_near(near: Self, all: &mut Take<'_>) -> Self {
        decode_difference(all.take(), near)
    }
}

/// One more than the difference, so that it is not zero.
impl Figures for Option<u64> {
    const COUNT: usize = 1;
    type Near = u64;
    #[inline(always)]
    fn put(&self, all: &mut Put) {
        self.put_near(0, all);
    }
    #[inline(always)]
    fn take(all: &mut Take<'_>) -> Self {
        Self::take_near(0, all)
    }
    #[inline(always)]
    fn put_near(&self, near: u64, all: &mut Put) {
        all.put(self.map_or(0, |value| encode_difference(value, near).wrapping_add(1)));
    }
    #[inline(always)]
    fn take_near(near: u64, all: &mut Take<'_>) -> Self {
        all.take()
            .checked_sub(1)
            .map(|by| decode_difference(by, near))
    }
}

impl Figures for Duration {
    const COUNT: usize = 1;
    type Near = ();
    #[inline(always)]
    fn put(&self, all: &mut Put) {
        all.put(self.as_nanos());
    }
    #[inline(always)]
    fn take(all: &mut Take<'_>) -> Self {
        Self::from_nanos(all.take())
    }
}

impl<const N: usize> Figures for [Duration; N] {
    const COUNT: usize = N;
    type Near = ();
    #[inline(always)]
    fn put(&self, all: &mut Put) {
        for one in self {
            one.put(all);
        }
    }
    #[inline(always)]
    fn take(all: &mut Take<'_>) -> Self {
        core::array::from_fn(|_| Duration::take(all))
    }
}

impl Figures for f32 {
    const COUNT: usize = 1;
    type Near = ();
    #[inline(always)]
    fn put(&self, all: &mut Put) {
        all.put(self.to_bits().reverse_bits().into());
    }
    #[inline(always)]
    fn take(all: &mut Take<'_>) -> Self {
        Self::from_bits((all.take() as u32).reverse_bits())
    }
}

impl Figures for Spread {
    const COUNT: usize = 3;
    type Near = ();
    #[inline(always)]
    fn put(&self, all: &mut Put) {
        all.put(self.count.into());
        self.mean.put(all);
        self.squares.put(all);
    }
    #[inline(always)]
    fn take(all: &mut Take<'_>) -> Self {
        Self {
            count: all.take() as u32,
            mean: f32::take(all),
            squares: f32::take(all),
        }
    }
}

impl Figures for Samples {
    const COUNT: usize = 4;
    type Near = ();
    #[inline(always)]
    fn put(&self, all: &mut Put) {
        let least = self.least.unwrap_or_default().as_nanos();
        let others = least.wrapping_mul(self.count);
        all.put(least);
        all.put(self.most.as_nanos().wrapping_sub(least));
        all.put(self.sum.as_nanos().wrapping_sub(others));
        all.put(self.count);
    }
    #[inline(always)]
    fn take(all: &mut Take<'_>) -> Self {
        let [least, most, sum, count] = [all.take(), all.take(), all.take(), all.take()];
        Self {
            least: (count > 0).then(|| Duration::from_nanos(least)),
            most: Duration::from_nanos(most.wrapping_add(least)),
            sum: Duration::from_nanos(sum.wrapping_add(least.wrapping_mul(count))),
            count,
        }
    }
}

/// One more than the value, so that it is not zero.
impl Figures for Option<Stamp> {
    const COUNT: usize = 2;
    type Near = Instant;
    fn put(&self, all: &mut Put) {
        self.put_near(Instant::ZERO, all);
    }
    fn take(all: &mut Take<'_>) -> Self {
        Self::take_near(Instant::ZERO, all)
    }
    #[inline(always)]
    fn put_near(&self, near: Instant, all: &mut Put) {
        let [one, other] = self.map_or([0, 0], |one| {
            let since = one.at.as_nanos().wrapping_sub(near.as_nanos());
            [u64::from(one.val) + 1, since]
        });
        all.put(one);
        all.put(other);
    }
    #[inline(always)]
    fn take_near(near: Instant, all: &mut Take<'_>) -> Self {
        let [val, since] = [all.take(), all.take()];
        val.checked_sub(1).map(|val| Stamp {
            val: val as u32,
            at: Instant::from_nanos(since.wrapping_add(near.as_nanos())),
        })
    }
}

/// Minimum and width, the first plus one.
impl Figures for Option<(u64, u64)> {
    const COUNT: usize = 2;
    type Near = ();
    #[inline(always)]
    fn put(&self, all: &mut Put) {
        let [one, other] = self.map_or([0, 0], |(least, most)| {
            [least.wrapping_add(1), most.wrapping_sub(least)]
        });
        all.put(one);
        all.put(other);
    }
    #[inline(always)]
    fn take(all: &mut Take<'_>) -> Self {
        let [after_least, spread] = [all.take(), all.take()];
        let least = after_least.checked_sub(1)?;
        Some((least, spread.wrapping_add(least)))
    }
}

impl Figures for Option<Extremes> {
    const COUNT: usize = 2;
    type Near = ();
    #[inline(always)]
    fn put(&self, all: &mut Put) {
        let [one, other] = self.map_or([0, 0], |both| {
            let least = encode_difference(i64::from(both.least).cast_unsigned(), 0);
            let width = both.most.wrapping_sub(both.least).cast_unsigned();
            [least + 1, width.into()]
        });
        all.put(one);
        all.put(other);
    }
    #[inline(always)]
    fn take(all: &mut Take<'_>) -> Self {
        let [least, width] = [all.take(), all.take()];
        let least = decode_difference(least.checked_sub(1)?, 0) as i32;
        Some(Extremes {
            least,
            most: least.wrapping_add(width as i32),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Zero, a small number, or any; of a size that allows additions.
    fn figure() -> impl Strategy<Value = u64> {
        prop_oneof![Just(0), 0_u64..200, any::<u64>().prop_map(|bits| bits >> 2)]
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
                let round = Round::of_figures(&all, Default::default());
                packed.push(&round);
                kept.push(round);
            }
            prop_assert_eq!(packed.len(), kept.len());
            let out = packed.unpack();
            // NaN does not equal itself.
            prop_assert_eq!(alloc::format!("{out:?}"), alloc::format!("{kept:?}"));
        }
    }
}
