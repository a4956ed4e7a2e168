//! Splitting and joining of segments to the lengths in a script.
//!
//! A stack is free in how much it passes to the network together: a super-segment of ten is
//! equivalent to ten segments. So super-segments are split, and pieces that are contiguous and
//! simultaneous are joined. A single wire segment is never split.

use alloc::collections::VecDeque;

use gigatcp_units::Duration;
use gigatcp_wire::Flags;

use crate::packet::{Body, Tcp};
use crate::stack::Sent;

/// Gives `sent` a payload of `wanted` octets, if possible. It may be joined with later packets, at
/// most `apart` from it.
pub fn resize(wanted: usize, sent: &mut Sent, pending: &mut VecDeque<Sent>, apart: Duration) {
    if wanted == 0 {
        return;
    }
    cut(wanted, sent, pending);
    while let Some(missing) = missing(wanted, sent) {
        let Some(mut next) = take_continuation(sent, pending, apart) else {
            return;
        };
        cut(missing, &mut next, pending);
        let (Body::Tcp(tcp), Body::Tcp(next_tcp)) = (&mut sent.packet.body, &next.packet.body)
        else {
            return;
        };
        if next_tcp.payload.len() > missing {
            pending.push_front(next);
            return;
        }
        tcp.payload = [&tcp.payload[..], &next_tcp.payload[..]].concat().into();
        // PSH is taken from the last piece.
        tcp.flags = tcp.flags.without(Flags::PSH) | next_tcp.flags;
    }
}

/// Octets of payload that `sent` lacks.
fn missing(wanted: usize, sent: &Sent) -> Option<usize> {
    let len = sent.packet.tcp()?.payload.len();
    (len > 0 && len < wanted).then(|| wanted - len)
}

/// Splits a super-segment that is too long; the rest waits.
fn cut(wanted: usize, sent: &mut Sent, pending: &mut VecDeque<Sent>) {
    let mut rest = sent.clone();
    let (Body::Tcp(front), Body::Tcp(back)) = (&mut sent.packet.body, &mut rest.packet.body) else {
        return;
    };
    let size = usize::from(front.segment_size);
    if front.payload.len() <= wanted || !front.is_super_segment() || !wanted.is_multiple_of(size) {
        return;
    }
    *front = back.split_front(wanted);
    pending.push_front(rest);
}

/// Takes the next packet, if it continues where `sent` ends.
fn take_continuation(sent: &Sent, pending: &mut VecDeque<Sent>, apart: Duration) -> Option<Sent> {
    let next = pending.front()?;
    let fits = next.at <= sent.at + apart && continues(sent.packet.tcp()?, next.packet.tcp()?);
    fits.then(|| pending.pop_front())?
}

/// Whether `next` continues where `tcp` ends, as pieces of one send do.
fn continues(tcp: &Tcp, next: &Tcp) -> bool {
    let aside = Flags::PSH | Flags::FIN | Flags::CWR;
    next.src_port == tcp.src_port
        && next.dst_port == tcp.dst_port
        && next.seq == tcp.seq.wrapping_add(tcp.payload.len() as u32)
        && !next.payload.is_empty()
        && next.ack == tcp.ack
        && next.options == tcp.options
        && next.flags.without(aside) == tcp.flags.without(aside)
        && !tcp.flags.contains(Flags::FIN)
}
