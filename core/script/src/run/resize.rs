//! Segments as long as the lines of a script.
//!
//! How much a stack hands to the network at once is its own business: a
//! super-segment of ten is what ten segments are. So what left is cut where it
//! is a super-segment and joined where pieces follow each other at one
//! instant. What a stack did not mean as several segments is never cut.

use alloc::collections::VecDeque;

use gigatcp_units::Duration;
use gigatcp_wire::Flags;

use crate::packet::{Body, Tcp};
use crate::stack::Sent;

/// Makes `sent` have `wanted` octets of payload, if that can be, with the help
/// of what left after it, `apart` from it at the most.
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
        // PSH stands where the last piece has it, or nowhere.
        tcp.flags = tcp.flags.without(Flags::PSH) | next_tcp.flags;
    }
}

/// Octets of payload that `sent` lacks.
fn missing(wanted: usize, sent: &Sent) -> Option<usize> {
    let len = sent.packet.tcp()?.payload.len();
    (len > 0 && len < wanted).then(|| wanted - len)
}

/// Cuts a super-segment that is too long; the rest waits.
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

/// The next packet, if it carries on where `sent` ends.
fn take_continuation(sent: &Sent, pending: &mut VecDeque<Sent>, apart: Duration) -> Option<Sent> {
    let next = pending.front()?;
    let fits = next.at <= sent.at + apart && continues(sent.packet.tcp()?, next.packet.tcp()?);
    fits.then(|| pending.pop_front())?
}

/// Whether `next` carries on where `tcp` ends, as pieces of one send do.
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
