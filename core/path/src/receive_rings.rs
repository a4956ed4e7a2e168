//! Receive side of a network card: rings of posted buffers, and their buffer pools.
//!
//! A card writes each frame it receives into a buffer that the host has posted for it beforehand.
//! The host's driver passes the filled buffer to the stack and posts another in its place. The
//! first buffer is free again when its last byte has been read. Two shortages follow. Both look
//! like loss on the path to every observer except the host itself:
//!
//! * **No descriptor.** The driver was too slow: all posted buffers are full, and the card drops
//!   arriving frames.
//! * **No buffer.** The stack holds too many: there is no buffer to post in place of the one just
//!   filled. The driver then keeps its ring complete instead of the frame: it drops the frame and
//!   posts the same buffer again.
//!
//! With a pool of `P` buffers of which `R` are posted, a host can hold
//!
//! ```text
//! held <= P - R                                                         (1)
//! ```
//!
//! frames that the application has not read, independent of the window its TCP has advertised.
//!
//! Some cards have a separate ring for small frames, and some drivers copy small frames out and
//! keep the buffer (*copy-break*). Such frames still pass when large ones do not.
//!
//! Source of the drop rule: the driver `ti(4)` of FreeBSD 4. Its constants (256 posted of 384) are
//! inputs of a plan and do not appear here.
//!
//! Out of scope: buffers of several sizes chained for one frame, pages
//! split between frames, and pools that several cards share.

use crate::drops::{DropCause, Drops};
use crate::tally::Tally;

/// Number of buffers posted to a ring, and their total number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RingConfig {
    /// Buffers posted to the card: frames it can receive before the driver runs.
    pub descriptors: u32,
    /// Total number of buffers, including posted ones; `None`: unlimited.
    pub pool: Option<u32>,
}

impl RingConfig {
    /// Frames the host can hold in addition to those posted, equation (1).
    pub const fn most_held(&self) -> Option<u32> {
        match self.pool {
            Some(pool) => Some(pool.saturating_sub(self.descriptors)),
            None => None,
        }
    }
}

/// Configuration of the receive side of a card.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RingsConfig {
    /// Ring of every frame that does not belong to the small ring.
    pub large: RingConfig,
    /// Maximum IP packet size in bytes of the small ring, and the ring. `None`: the card has no
    /// small ring.
    pub small: Option<(u64, RingConfig)>,
    /// Maximum IP packet size in bytes of frames that are copied out of their buffer. The buffer is
    /// posted again immediately. 0: none.
    pub copy_break: u64,
}

/// Ring to which a frame belongs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Ring {
    /// [`RingsConfig::small`].
    Small,
    /// [`RingsConfig::large`].
    Large,
}

/// Counters of one ring, in frames.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct RingCounters {
    /// Frames that reached the card.
    pub arrived: u64,
    /// Frames passed to the stack.
    pub accepted: u64,
    /// Frames dropped by the card (`no_descriptor`) or its driver (`no_buffer`).
    pub drops: Drops,
    /// Maximum number of buffers held by the stack.
    pub most_held: u32,
}

/// Running state of one ring.
#[derive(Clone, Debug)]
struct State {
    config: RingConfig,
    /// Posted buffers that are full and not yet processed by the driver.
    filled: u32,
    /// Buffers held by the stack.
    held: u32,
    counters: RingCounters,
}

impl State {
    fn new(config: RingConfig) -> Self {
        Self {
            config,
            filled: 0,
            held: 0,
            counters: RingCounters::default(),
        }
    }

    /// Asserts the invariants that hold between two calls. Each frame that arrived was passed to
    /// the stack, was dropped or fills a posted buffer.
    fn assert_invariants(&self) {
        debug_assert!(
            self.filled <= self.config.descriptors,
            "{} buffers are full, {} were posted",
            self.filled,
            self.config.descriptors
        );
        debug_assert!(
            self.config.most_held().is_none_or(|most| self.held <= most),
            "the stack holds {} buffers of {:?}",
            self.held,
            self.config
        );
        debug_assert!(
            self.held <= self.counters.most_held,
            "the stack holds {} buffers, never more than {}",
            self.held,
            self.counters.most_held
        );
        let dropped = self.counters.drops.total().packets;
        debug_assert!(
            self.counters.arrived == self.counters.accepted + dropped + u64::from(self.filled),
            "{} frames arrived, {} were accepted, {dropped} dropped, {} wait",
            self.counters.arrived,
            self.counters.accepted,
            self.filled
        );
    }

    /// Counts a dropped frame; returns the cause.
    fn dropped(&mut self, cause: DropCause, ip_bytes: u64) -> DropCause {
        self.counters.drops.add(cause, Tally::new(1, ip_bytes));
        cause
    }
}

/// The rings of one card.
#[derive(Clone, Debug)]
pub struct ReceiveRings {
    config: RingsConfig,
    small: Option<State>,
    large: State,
}

impl ReceiveRings {
    /// Rings with every descriptor posted and nothing received.
    pub fn new(config: RingsConfig) -> Self {
        Self {
            small: config.small.map(|(_, ring)| State::new(ring)),
            large: State::new(config.large),
            config,
        }
    }

    /// Ring to which frames of that size belong.
    pub fn ring_of(&self, ip_bytes: u64) -> Ring {
        match self.config.small {
            Some((most, _)) if ip_bytes <= most => Ring::Small,
            _ => Ring::Large,
        }
    }

    /// Fills the next posted buffer with a received frame.
    ///
    /// # Errors
    /// [`DropCause::NoDescriptor`] if no posted buffer is empty.
    pub fn handle_frame(&mut self, ip_bytes: u64) -> Result<(), DropCause> {
        let ring = self.ring_of(ip_bytes);
        let state = self.state_mut(ring);
        state.counters.arrived += 1;
        if state.filled >= state.config.descriptors {
            return Err(state.dropped(DropCause::NoDescriptor, ip_bytes));
        }
        state.filled += 1;
        state.assert_invariants();
        Ok(())
    }

    /// Passes the oldest filled frame of that size to the stack. `Some(ring)` is the buffer the
    /// stack now holds, to be returned with [`ReceiveRings::release`]. `None`: the frame was
    /// copied.
    ///
    /// # Errors
    /// [`DropCause::NoBuffer`] if the frame was dropped to post its buffer again.
    pub fn take_up(&mut self, ip_bytes: u64) -> Result<Option<Ring>, DropCause> {
        let ring = self.ring_of(ip_bytes);
        let copied = ip_bytes <= self.config.copy_break;
        let state = self.state_mut(ring);
        debug_assert!(state.filled > 0, "taken up before it arrived");
        state.filled = state.filled.saturating_sub(1);
        if copied {
            state.counters.accepted += 1;
            return Ok(None);
        }
        if state
            .config
            .most_held()
            .is_some_and(|most| state.held >= most)
        {
            return Err(state.dropped(DropCause::NoBuffer, ip_bytes));
        }
        state.held += 1;
        state.counters.accepted += 1;
        state.counters.most_held = state.counters.most_held.max(state.held);
        state.assert_invariants();
        Ok(Some(ring))
    }

    /// Whether a frame of that size would get to the stack now.
    pub fn takes(mut self, ip_bytes: u64) -> bool {
        self.handle_frame(ip_bytes).is_ok() && self.take_up(ip_bytes).is_ok()
    }

    /// A buffer of that ring from the stack.
    pub fn release(&mut self, ring: Ring) {
        let state = self.state_mut(ring);
        debug_assert!(state.held > 0, "given back twice");
        state.held = state.held.saturating_sub(1);
    }

    /// Whether the card has that ring.
    pub fn has(&self, ring: Ring) -> bool {
        self.state(ring).is_some()
    }

    /// Number of buffers of that ring that the stack holds now.
    pub fn held(&self, ring: Ring) -> u32 {
        self.state(ring).map_or(0, |state| state.held)
    }

    /// Counters of that ring; zeros if the card does not have it.
    pub fn counters(&self, ring: Ring) -> RingCounters {
        self.state(ring)
            .map_or_else(RingCounters::default, |state| state.counters)
    }

    fn state(&self, ring: Ring) -> Option<&State> {
        match ring {
            Ring::Small => self.small.as_ref(),
            Ring::Large => Some(&self.large),
        }
    }

    fn state_mut(&mut self, ring: Ring) -> &mut State {
        match (ring, &mut self.small) {
            (Ring::Small, Some(small)) => small,
            _ => &mut self.large,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Receives one frame: by the card, then by its driver.
    fn receive(rings: &mut ReceiveRings, ip_bytes: u64) -> Result<Option<Ring>, DropCause> {
        rings.handle_frame(ip_bytes)?;
        rings.take_up(ip_bytes)
    }

    fn pool_of(pool: u32, descriptors: u32) -> RingsConfig {
        RingsConfig {
            large: RingConfig {
                descriptors,
                pool: Some(pool),
            },
            small: None,
            copy_break: 0,
        }
    }

    #[test]
    fn a_host_holds_what_the_pool_has_beyond_the_ring() {
        let mut rings = ReceiveRings::new(pool_of(10, 7));
        for _ in 0..3 {
            assert_eq!(receive(&mut rings, 4148), Ok(Some(Ring::Large)));
        }
        assert_eq!(receive(&mut rings, 4148), Err(DropCause::NoBuffer));
        rings.release(Ring::Large);
        assert_eq!(receive(&mut rings, 4148), Ok(Some(Ring::Large)));
        let counters = rings.counters(Ring::Large);
        assert_eq!((counters.arrived, counters.accepted), (5, 4));
        assert_eq!(counters.most_held, 3);
        assert_eq!(counters.drops.total(), Tally::new(1, 4148));
        assert_eq!(counters.drops[DropCause::NoBuffer], Tally::new(1, 4148));
    }

    #[test]
    fn a_card_that_nobody_serves_drops_beyond_its_descriptors() {
        let mut rings = ReceiveRings::new(pool_of(100, 4));
        for _ in 0..4 {
            assert_eq!(rings.handle_frame(1500), Ok(()));
        }
        assert_eq!(rings.handle_frame(1500), Err(DropCause::NoDescriptor));
        assert_eq!(rings.take_up(1500), Ok(Some(Ring::Large)));
        assert_eq!(rings.handle_frame(1500), Ok(()));
    }

    #[test]
    fn small_frames_pass_where_large_ones_do_not() {
        let mut rings = ReceiveRings::new(RingsConfig {
            small: Some((
                1500,
                RingConfig {
                    descriptors: 4,
                    pool: None,
                },
            )),
            ..pool_of(4, 4)
        });
        assert_eq!(receive(&mut rings, 1501), Err(DropCause::NoBuffer));
        assert_eq!(receive(&mut rings, 1500), Ok(Some(Ring::Small)));
        assert_eq!(rings.held(Ring::Small), 1);
    }

    #[test]
    fn a_frame_that_is_copied_holds_nothing() {
        let mut rings = ReceiveRings::new(RingsConfig {
            copy_break: 200,
            ..pool_of(4, 4)
        });
        assert_eq!(receive(&mut rings, 200), Ok(None));
        assert_eq!(receive(&mut rings, 201), Err(DropCause::NoBuffer));
    }

    #[test]
    fn a_pool_smaller_than_its_ring_holds_nothing() {
        let ring = RingConfig {
            descriptors: 256,
            pool: Some(100),
        };
        assert_eq!(ring.most_held(), Some(0));
    }
}
