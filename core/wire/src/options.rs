//! TCP options in parsed form.
//!
//! RFC 9293 section 3.2 (end, no-op, MSS), RFC 7323 (window scale, timestamps), RFC 2018 and 2883
//! (SACK), RFC 9768 (AccECN, see [`crate::AccEcn`]), RFC 7413 (Fast Open), RFC 5925
//! (authentication). Unknown options are skipped on reading, as RFC 9293 MUST-6 requires, and never
//! sent.
//!
//! On the wire the options have the layout of Linux: MSS, timestamps, window scale, Fast Open,
//! AccECN, SACK blocks, authentication. Each is padded in front to a multiple of four octets.
//! SACK-permitted replaces the padding of the timestamps if both are present. [`OptionLayout`] has
//! another. Only sets that do not fit 40 octets that way are packed without padding, so that all
//! options read can be written.

use alloc::boxed::Box;

use crate::{
    AccEcn, Authentication, FastOpenCookie, RouterReply, RouterRequest, SeqNumber, UserTimeout,
};

/// Maximum number of octets of a segment's options. A data offset of 15 words less the fixed header
/// (RFC 9293 section 3.1).
pub const MAX_OPTIONS_LEN: usize = 40;

/// Option kinds and lengths. RFC 9293 section 3.2 table 1 and the IANA registry "TCP Option Kind
/// Numbers".
pub mod option_kind {
    /// End of option list, one octet (RFC 9293).
    pub const END: u8 = 0;
    /// No-operation, one octet (RFC 9293).
    pub const NO_OPERATION: u8 = 1;
    /// Maximum segment size, 4 octets (RFC 9293).
    pub const MSS: u8 = 2;
    /// Window scale, 3 octets (RFC 7323 section 2.2).
    pub const WINDOW_SCALE: u8 = 3;
    /// SACK-permitted, 2 octets (RFC 2018 section 2).
    pub const SACK_PERMITTED: u8 = 4;
    /// SACK, 2 octets and 8 for each block (RFC 2018 section 3).
    pub const SACK: u8 = 5;
    /// Timestamps, 10 octets (RFC 7323 section 3.2).
    pub const TIMESTAMPS: u8 = 8;
    /// Quick-Start response, 8 octets (RFC 4782 section 4.2).
    pub const QUICK_START: u8 = 27;
    /// User timeout, 4 octets (RFC 5482 section 3).
    pub const USER_TIMEOUT: u8 = 28;
    /// Authentication, 4 octets and the code (RFC 5925 section 2.2).
    pub const AUTHENTICATION: u8 = 29;
    /// Fast Open, 2 octets and the cookie (RFC 7413 section 4.1.1).
    pub const FAST_OPEN: u8 = 34;
    /// Experiments, distinguished by 2 octets of identifier (RFC 6994).
    pub const EXPERIMENT: u8 = 254;
    /// AccECN of order 0, 2, 5, 8 or 11 octets (RFC 9768 section 3.2.3).
    pub const ACCECN_0: u8 = 172;
    /// AccECN of order 1.
    pub const ACCECN_1: u8 = 174;
}

/// One SACK block: the octets from `left` up to, not including, `right`. RFC 2018 section 3.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SackBlock {
    /// First sequence number of the block.
    pub left: SeqNumber,
    /// Sequence number after the last octet of the block.
    pub right: SeqNumber,
}

/// Up to four SACK blocks, all that 40 octets of options can hold.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SackBlocks {
    blocks: [SackBlock; 4],
    len: u8,
}

impl SackBlocks {
    /// Maximum number of blocks in a segment without other options.
    pub const CAPACITY: usize = 4;

    /// Adds a block; returns whether there was room.
    pub fn try_push(&mut self, block: SackBlock) -> bool {
        let room = self.len() < Self::CAPACITY;
        if room {
            self.blocks[self.len()] = block;
            self.len += 1;
        }
        room
    }

    /// Number of blocks.
    pub const fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether there is no block.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Keeps the first `len` blocks.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len as u8);
    }

    /// Removes the last block, if there is one.
    pub fn pop(&mut self) {
        self.len = self.len.saturating_sub(1);
    }

    /// Blocks in wire order.
    pub fn as_slice(&self) -> &[SackBlock] {
        &self.blocks[..self.len()]
    }
}

/// The timestamps option, RFC 7323 section 3.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Timestamps {
    /// TSval, the sender's clock.
    pub val: u32,
    /// TSecr, the echoed value; valid when ACK is set.
    pub ecr: u32,
}

/// Order and padding of a segment's options. They are the same for timestamps and SACK blocks, so
/// only a SYN shows which system sent it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum OptionLayout {
    /// Linux: see the module's documentation.
    #[default]
    Linux,
    /// FreeBSD: MSS, window scale, SACK-permitted, timestamps, SACK blocks, Fast Open. Only as much
    /// padding in front as aligns an option's values, the rest after the last.
    FreeBsd,
}

impl OptionLayout {
    /// Every layout.
    pub const ALL: [Self; 2] = [Self::Linux, Self::FreeBsd];

    /// Its name in plans.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Linux => "linux",
            Self::FreeBsd => "freebsd",
        }
    }
}

/// The options of one segment.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Options {
    /// Maximum segment size in octets (only on SYN).
    pub mss: Option<u16>,
    /// Window scale shift count (only on SYN), as read: may exceed 14.
    pub window_scale: Option<u8>,
    /// SACK-permitted (only on SYN).
    pub sack_permitted: bool,
    /// Timestamps.
    pub timestamps: Option<Timestamps>,
    /// Accurate ECN feedback in octets.
    pub accecn: Option<AccEcn>,
    /// SACK blocks.
    pub sack: SackBlocks,
    /// Fast Open, authentication, user timeout and requests to routers: see [`Options::fast_open`]
    /// and the following.
    pub rare: RareOptions,
}

/// Options that few segments carry. They are boxed, because they are large and segments are moved
/// often. A segment without them pays one word, one with them an allocation, which is little
/// compared to the calculation of a MAC.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct RareOptions(Option<Box<Rare>>);

#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Rare {
    fast_open: Option<FastOpenCookie>,
    authentication: Option<Authentication>,
    user_timeout: Option<UserTimeout>,
    router_request: Option<RouterRequest>,
    router_reply: Option<RouterReply>,
    padding: u8,
    layout: OptionLayout,
}

impl Options {
    /// Fast Open cookie or request (only on SYN).
    #[inline]
    pub fn fast_open(&self) -> Option<FastOpenCookie> {
        self.rare.0.as_ref()?.fast_open
    }

    /// Sets or removes the Fast Open option.
    pub fn set_fast_open(&mut self, cookie: Option<FastOpenCookie>) {
        self.change_rare(|rare| rare.fast_open = cookie);
    }

    /// Authentication option.
    #[inline]
    pub fn authentication(&self) -> Option<Authentication> {
        self.rare.0.as_ref()?.authentication
    }

    /// Sets or removes the authentication option.
    pub fn set_authentication(&mut self, option: Option<Authentication>) {
        self.change_rare(|rare| rare.authentication = option);
    }

    /// User timeout.
    #[inline]
    pub fn user_timeout(&self) -> Option<UserTimeout> {
        self.rare.0.as_ref()?.user_timeout
    }

    /// Sets or removes the user timeout option.
    pub fn set_user_timeout(&mut self, timeout: Option<UserTimeout>) {
        self.change_rare(|rare| rare.user_timeout = timeout);
    }

    /// Whether there may be any of the options that few segments carry.
    #[inline]
    pub const fn has_rare(&self) -> bool {
        self.rare.0.is_some()
    }

    /// Request to the routers of the path.
    #[inline]
    pub fn router_request(&self) -> Option<RouterRequest> {
        self.rare.0.as_ref()?.router_request
    }

    /// Sets or removes the request to the routers of the path.
    pub fn set_router_request(&mut self, request: Option<RouterRequest>) {
        self.change_rare(|rare| rare.router_request = request);
    }

    /// Reply of the routers of the path.
    #[inline]
    pub fn router_reply(&self) -> Option<RouterReply> {
        self.rare.0.as_ref()?.router_reply
    }

    /// Sets or removes the reply of the routers of the path.
    pub fn set_router_reply(&mut self, reply: Option<RouterReply>) {
        self.change_rare(|rare| rare.router_reply = reply);
    }

    /// Adds bytes of padding after the options, a multiple of four. A middlebox leaves it in place
    /// of options that it removes. It is not read back.
    pub fn add_padding(&mut self, bytes: usize) {
        self.change_rare(|rare| {
            rare.padding = (usize::from(rare.padding) + bytes).min(MAX_OPTIONS_LEN) as u8;
        });
    }

    /// Number of octets of padding after the options, see [`Self::add_padding`].
    pub(crate) fn padding(&self) -> usize {
        self.rare.0.as_ref().map_or(0, |rare| rare.padding.into())
    }

    /// Sets the order and padding in which they are written. It is not read back.
    pub fn set_layout(&mut self, layout: OptionLayout) {
        self.change_rare(|rare| rare.layout = layout);
    }

    /// Order and padding in which the options are written.
    pub(crate) const fn layout(&self) -> OptionLayout {
        match &self.rare.0 {
            Some(rare) => rare.layout,
            None => OptionLayout::Linux,
        }
    }

    fn change_rare(&mut self, change: impl FnOnce(&mut Rare)) {
        let mut rare = self.rare.0.as_deref().copied().unwrap_or_default();
        change(&mut rare);
        // No box for an empty value, so that equal options are equal.
        self.rare = RareOptions((rare != Rare::default()).then(|| Box::new(rare)));
    }

    /// Number of octets of the options in the header, padding included. It is a multiple of four.
    /// More than [`MAX_OPTIONS_LEN`] means that they do not fit a segment in any packing, see
    /// [`crate::EncodeError`].
    #[inline]
    pub const fn wire_len(&self) -> usize {
        let aligned = self.aligned_len();
        if aligned <= MAX_OPTIONS_LEN {
            aligned
        } else {
            self.packed_len().next_multiple_of(4)
        }
    }

    /// Removes dispensable options until the rest fits. These are counts of marks, SACK blocks from
    /// the last, a Fast Open cookie, in this order.
    pub fn shed_to_fit(&mut self) {
        if self.wire_len() > MAX_OPTIONS_LEN {
            self.accecn = None;
        }
        while self.wire_len() > MAX_OPTIONS_LEN && !self.sack.is_empty() {
            self.sack.pop();
        }
        if self.wire_len() > MAX_OPTIONS_LEN {
            self.set_fast_open(None);
        }
    }

    /// Length in the layout of their system. Runs for every simulated packet, nearly all of which
    /// have timestamps at most.
    #[inline]
    pub(crate) const fn aligned_len(&self) -> usize {
        if self.is_timestamps_alone() {
            return 12 * self.timestamps.is_some() as usize;
        }
        self.aligned_len_of_many()
    }

    /// Whether there are no options other than timestamps.
    #[inline]
    pub(crate) const fn is_timestamps_alone(&self) -> bool {
        self.mss.is_none()
            && self.window_scale.is_none()
            && !self.sack_permitted
            && self.accecn.is_none()
            && self.sack.is_empty()
            && self.rare.0.is_none()
    }

    const fn aligned_len_of_many(&self) -> usize {
        if matches!(self.layout(), OptionLayout::FreeBsd) {
            return self.len_of_freebsd();
        }
        let mss = self.mss.is_some() as usize;
        let timestamps = self.timestamps.is_some() as usize;
        let sack_permitted_alone = self.sack_permitted as usize & !timestamps;
        let window_scale = self.window_scale.is_some() as usize;
        let sack = !self.sack.is_empty() as usize;
        4 * (mss + 3 * timestamps + sack_permitted_alone + window_scale + sack)
            + self.accecn_len().next_multiple_of(4)
            + 8 * self.sack.len()
            + self.rare_len(true)
    }

    /// Length in FreeBSD's layout.
    #[cold]
    const fn len_of_freebsd(&self) -> usize {
        let mut len = 4 * self.mss.is_some() as usize;
        if self.window_scale.is_some() {
            len = aligned_start(len, option_kind::WINDOW_SCALE) + 3;
        }
        if self.sack_permitted {
            len = aligned_start(len, option_kind::SACK_PERMITTED) + 2;
        }
        if self.timestamps.is_some() {
            len = aligned_start(len, option_kind::TIMESTAMPS) + 10;
        }
        if !self.sack.is_empty() {
            len = aligned_start(len, option_kind::SACK) + 2 + 8 * self.sack.len();
        }
        (len + self.accecn_len() + self.rare_len(false)).next_multiple_of(4)
    }

    /// Length without any padding.
    #[cold]
    pub(crate) const fn packed_len(&self) -> usize {
        let sack = !self.sack.is_empty() as usize;
        4 * self.mss.is_some() as usize
            + 2 * self.sack_permitted as usize
            + 10 * self.timestamps.is_some() as usize
            + 3 * self.window_scale.is_some() as usize
            + self.accecn_len()
            + 2 * sack
            + 8 * self.sack.len()
            + self.rare_len(false)
    }

    /// Length of the options that only some segments of some connections carry.
    #[inline]
    const fn rare_len(&self, aligned: bool) -> usize {
        let unit = if aligned { 4 } else { 1 };
        let Some(rare) = &self.rare.0 else {
            return 0;
        };
        let mut len = rare.padding as usize;
        len += rare.user_timeout.is_some() as usize * UserTimeout::OPTION_LEN;
        len += rare.router_request.is_some() as usize * RouterRequest::OPTION_LEN;
        len += rare.router_reply.is_some() as usize * RouterReply::OPTION_LEN;
        if let Some(cookie) = &rare.fast_open {
            len += cookie.option_len().next_multiple_of(unit);
        }
        if let Some(authentication) = &rare.authentication {
            len += authentication.option_len().next_multiple_of(unit);
        }
        len
    }

    /// Number of octets of the AccECN option without padding.
    #[inline]
    const fn accecn_len(&self) -> usize {
        match &self.accecn {
            Some(option) => option.wire_len(),
            None => 0,
        }
    }
}

/// First position from `at` at which FreeBSD starts an option of `kind`. Values of four octets are
/// then aligned, and a window scale ends on an even position.
pub(crate) const fn aligned_start(at: usize, kind: u8) -> usize {
    match kind {
        option_kind::WINDOW_SCALE => at | 1,
        option_kind::SACK_PERMITTED => at.next_multiple_of(2),
        option_kind::TIMESTAMPS | option_kind::SACK => (at + 2).next_multiple_of(4) - 2,
        _ => at,
    }
}

/// Timestamps behind two no-operations, values yet to come (RFC 7323 appendix A).
pub(crate) const TIMESTAMPS_ALONE: [u8; 12] = {
    let mut octets = [0; 12];
    (octets[0], octets[1]) = (option_kind::NO_OPERATION, option_kind::NO_OPERATION);
    (octets[2], octets[3]) = (option_kind::TIMESTAMPS, 10);
    octets
};

#[cfg(test)]
mod tests {
    use super::*;

    fn with_blocks(blocks: usize) -> SackBlocks {
        let mut sack = SackBlocks::default();
        for _ in 0..blocks {
            assert!(sack.try_push(SackBlock::default()));
        }
        sack
    }

    #[test]
    fn padding_keeps_the_length_of_a_header_that_lost_options() {
        let mut options = Options {
            mss: Some(1460),
            sack_permitted: true,
            timestamps: Some(Timestamps::default()),
            window_scale: Some(7),
            ..Options::default()
        };
        let before = options.wire_len();
        (options.timestamps, options.window_scale) = (None, None);
        options.add_padding(before - options.wire_len());
        assert_eq!((options.wire_len(), before), (20, 20));
        assert_ne!(options.clone().rare, RareOptions::default());
        options.add_padding(0);
        assert_eq!(options.fast_open(), None);
    }

    #[test]
    fn a_fifth_sack_block_finds_no_room() {
        let mut sack = with_blocks(4);
        assert!(!sack.try_push(SackBlock::default()));
        assert_eq!(sack.len(), SackBlocks::CAPACITY);
    }

    #[test]
    fn lengths_are_those_of_the_usual_segments() {
        let none = Options::default();
        let timestamps = Some(Timestamps::default());
        let data = Options {
            timestamps,
            ..none.clone()
        };
        let syn = Options {
            mss: Some(1460),
            window_scale: Some(7),
            sack_permitted: true,
            ..data.clone()
        };
        let lengths = [
            (none.clone(), 0),
            (data.clone(), 12),
            (syn.clone(), 20),
            (
                Options {
                    timestamps: None,
                    ..syn.clone()
                },
                12,
            ),
            (
                Options {
                    sack: with_blocks(1),
                    ..data.clone()
                },
                24,
            ),
            (
                Options {
                    sack: with_blocks(3),
                    ..data.clone()
                },
                40,
            ),
            (
                Options {
                    sack: with_blocks(4),
                    ..none.clone()
                },
                36,
            ),
        ];
        for (options, len) in lengths {
            assert_eq!(options.wire_len(), len, "{options:?}");
        }
    }

    #[test]
    fn options_that_fit_only_without_padding_are_packed() {
        let options = Options {
            mss: Some(1460),
            timestamps: Some(Timestamps::default()),
            sack: with_blocks(3),
            ..Options::default()
        };
        assert_eq!(options.aligned_len(), 44);
        assert_eq!(options.wire_len(), 40);
    }

    #[test]
    fn what_can_be_done_without_is_shed_in_order_and_no_more_than_needed() {
        let stamps = Some(Timestamps::default());
        let mut signed = Options {
            timestamps: stamps,
            sack: with_blocks(3),
            ..Options::default()
        };
        signed.set_authentication(Authentication::new(1, 1, &[0; 12]));
        signed.shed_to_fit();
        assert_eq!((signed.sack.len(), signed.wire_len()), (1, 40));
        let mut syn_ack = Options {
            mss: Some(1460),
            window_scale: Some(7),
            sack_permitted: true,
            timestamps: stamps,
            ..Options::default()
        };
        syn_ack.set_fast_open(FastOpenCookie::new(&[0; 8]));
        syn_ack.set_authentication(Authentication::new(1, 1, &[0; 12]));
        syn_ack.shed_to_fit();
        assert_eq!((syn_ack.fast_open(), syn_ack.wire_len()), (None, 36));
        let fits = Options {
            timestamps: stamps,
            sack: with_blocks(3),
            ..Options::default()
        };
        let mut same = fits.clone();
        same.shed_to_fit();
        assert_eq!(same, fits);
    }

    #[test]
    fn options_that_fit_no_segment_say_so_by_their_length() {
        let options = Options {
            timestamps: Some(Timestamps::default()),
            sack: with_blocks(4),
            ..Options::default()
        };
        assert_eq!(options.wire_len(), 44);
    }
}
