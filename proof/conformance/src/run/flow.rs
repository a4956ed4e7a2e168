//! Conversion between the numbers of a script and those of the wire.
//!
//! Each side's sequence numbers are relative to its initial one, except in segments with SYN, which
//! state it: the first number in a script corresponds to the first on the wire. Timestamps of the
//! stack are identified by the value in the script when they were sent; those of the peer are used
//! as written.

use alloc::collections::BTreeMap;

/// The peer's initial sequence number on the wire. It is close to the wrap on purpose.
pub const PEER_ISS: u32 = u32::MAX - 3_700;

/// Arbitrary number to which an acknowledgment refers if the stack never sent a SYN.
const UNKNOWN_ISS: u32 = 1_000_000_000;

/// An initial sequence number, in the script and on the wire.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    script: u32,
    wire: u32,
}

impl Start {
    pub fn new(script: u32, wire: u32) -> Self {
        Self { script, wire }
    }

    /// Whether the stack has not yet sent its number.
    pub fn is_guess(self) -> bool {
        self.wire == UNKNOWN_ISS && self.script == 0
    }

    /// Number on the wire. Segments with SYN state absolute numbers.
    pub fn to_wire(self, number: u32, with_syn: bool) -> u32 {
        let base = if with_syn { self.script } else { 0 };
        self.wire.wrapping_add(number).wrapping_sub(base)
    }

    /// Number in the script.
    pub fn to_script(self, number: u32, with_syn: bool) -> u32 {
        let base = if with_syn { self.script } else { 0 };
        number.wrapping_sub(self.wire).wrapping_add(base)
    }

    /// Stream offset: 1 is the first octet.
    pub fn offset(self, number: u32) -> u32 {
        number.wrapping_sub(self.wire)
    }
}

/// One connection of a script.
#[derive(Clone, Debug)]
pub struct Flow {
    /// The stack's port.
    pub local_port: u16,
    /// The peer's port.
    pub remote_port: u16,
    /// The stack's sequence numbers.
    pub local: Option<Start>,
    /// The peer's sequence numbers.
    pub remote: Option<Start>,
    /// Whether the peer has sent a SYN.
    remote_has_syn: bool,
    /// The descriptor of the stack's application, once known.
    pub fd: Option<i64>,
    /// Timestamps of the stack: from the script's value to the wire's.
    stamps: BTreeMap<u32, u32>,
    first_stamp: Option<(u32, u32)>,
}

impl Flow {
    pub fn new(local_port: u16, remote_port: u16) -> Self {
        Self {
            local_port,
            remote_port,
            local: None,
            remote: None,
            remote_has_syn: false,
            fd: None,
            stamps: BTreeMap::new(),
            first_stamp: None,
        }
    }

    /// Whether the stack's numbers begin other than with a SYN at `wire`.
    pub fn is_begun_otherwise(&self, wire: u32) -> bool {
        self.local.is_some_and(|start| start.wire != wire)
    }

    /// Peer's numbers for an arriving segment. They begin at its first SYN, whose number is `syn`.
    /// Before that, any segment belongs to numbers from 0.
    pub fn remote_or_start(&mut self, syn: Option<u32>) -> Start {
        let is_known = self.remote.is_some() && (self.remote_has_syn || syn.is_none());
        self.remote_has_syn |= syn.is_some();
        if !is_known {
            let script = syn.unwrap_or(0);
            self.remote = Some(Start::new(script, PEER_ISS.wrapping_add(script)));
        }
        self.remote.unwrap_or(Start::new(0, PEER_ISS))
    }

    /// Stack's numbers; arbitrary ones if it has sent none.
    pub fn local_or_any(&mut self) -> Start {
        *self.local.get_or_insert(Start::new(0, UNKNOWN_ISS))
    }

    /// Records that the stack sent timestamp `wire` where the script has `script`.
    pub fn note_stamp(&mut self, script: u32, wire: u32) {
        self.stamps.insert(script, wire);
        self.first_stamp.get_or_insert((script, wire));
    }

    /// Advance of the stack's timestamp clock, in the script and on the wire. Both count from its
    /// first timestamp.
    pub fn stamp_progress(&self, script: u32, wire: u32) -> Option<(u32, u32)> {
        let (first_script, first_wire) = self.first_stamp?;
        Some((
            script.wrapping_sub(first_script),
            wire.wrapping_sub(first_wire),
        ))
    }

    /// Wire value of a stack timestamp that the peer echoes.
    pub fn echoed_stamp(&self, script: u32) -> u32 {
        if let Some(wire) = self.stamps.get(&script) {
            return *wire;
        }
        match self.first_stamp {
            Some((first_script, first_wire)) if script != 0 => {
                first_wire.wrapping_add(script).wrapping_sub(first_script)
            }
            _ => script,
        }
    }

    /// Script value of a stack timestamp; the wire value before the first one.
    pub fn stamp_in_script(&self, wire: u32) -> u32 {
        match self.first_stamp {
            Some((script, first)) => wire.wrapping_sub(first).wrapping_add(script),
            None => wire,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_the_peer_begin_at_its_first_syn() {
        let mut flow = Flow::new(1, 2);
        assert_eq!(flow.remote_or_start(None).to_script(PEER_ISS, false), 0);
        let begun = flow.remote_or_start(Some(1000));
        assert_eq!(begun.to_wire(1, false), PEER_ISS.wrapping_add(1001));
        // A later SYN, of the wrong number.
        let same = flow.remote_or_start(Some(7));
        assert_eq!(same.to_wire(1, false), begun.to_wire(1, false));
    }

    #[test]
    fn numbers_are_relative_except_in_segments_with_syn() {
        let start = Start::new(1000, u32::MAX);
        assert_eq!(start.to_wire(1000, true), u32::MAX);
        assert_eq!(start.to_wire(1, false), 0);
        assert_eq!(start.to_script(0, false), 1);
        assert_eq!(start.to_script(u32::MAX, true), 1000);
    }

    #[test]
    fn a_timestamp_is_known_by_what_the_script_called_it() {
        let mut flow = Flow::new(1, 2);
        assert_eq!(flow.echoed_stamp(7), 7);
        flow.note_stamp(100, 5_000);
        flow.note_stamp(200, 5_003);
        assert_eq!(flow.echoed_stamp(200), 5_003);
        assert_eq!(flow.echoed_stamp(101), 5_001, "as the clock would tick");
        assert_eq!(flow.echoed_stamp(0), 0);
        assert_eq!(flow.stamp_progress(200, 5_003), Some((100, 3)));
    }
}
