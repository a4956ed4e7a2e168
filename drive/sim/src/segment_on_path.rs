//! Effects of path elements on a TCP segment, whatever its payload: middleboxes, ACK filters,
//! requests to routers.
//!
//! A [`Parcel`](gigatcp_path::Parcel) that carries segments calls these.

use gigatcp_path::{Middlebox, PureAck, Request, RequestedValue};
use gigatcp_wire::{Flags, Options, Payload, RequestScheme, SackBlock, Segment};

/// Applies a middlebox to a segment, and returns whether that changed it. Options are removed by
/// padding, as by middleboxes that cannot move the payload. Only segments with SYN are changed.
pub fn rewrite<P>(segment: &mut Segment<P>, middlebox: &Middlebox) -> bool {
    if !segment.flags.contains(Flags::SYN) {
        return false;
    }
    let Options {
        mss,
        window_scale,
        sack_permitted,
        timestamps,
        ..
    } = segment.options;
    let options = &mut segment.options;
    let len = options.wire_len();
    options.mss = mss.map(|mss| mss.min(middlebox.mss.unwrap_or(mss)));
    options.window_scale = window_scale.and_then(|shift| middlebox.window_scale.of(shift));
    options.sack_permitted = sack_permitted && !middlebox.clears_sack;
    options.timestamps = timestamps.filter(|_| !middlebox.clears_timestamps);
    options.add_padding(len.saturating_sub(options.wire_len()));
    let after = (
        options.mss,
        options.window_scale,
        options.sack_permitted,
        options.timestamps,
    );
    let flags = segment.flags;
    if middlebox.clears_ecn {
        segment.flags = flags.without(Flags::ECE | Flags::CWR | Flags::AE);
    }
    after != (mss, window_scale, sack_permitted, timestamps) || segment.flags != flags
}

/// Fields that an ACK filter uses; `None` without a pure ACK. `connection` is the number of the
/// segment's connection and direction.
pub fn pure_ack<P: Payload>(segment: &Segment<P>, connection: u64) -> Option<PureAck> {
    let feedback = Flags::ECE | Flags::CWR | Flags::AE;
    let Options {
        timestamps, sack, ..
    } = segment.options;
    let known = Options {
        timestamps,
        sack,
        ..Options::default()
    };
    let is_pure = segment.payload.is_empty()
        && segment.flags.without(feedback) == Flags::ACK
        && !segment.ecn.is_capable()
        && segment.options == known;
    is_pure.then(|| PureAck {
        connection,
        ack: segment.ack.as_u32(),
        flags: segment.flags.bits(),
        sack: edges(sack.as_slice()),
    })
}

/// Request to routers that the segment carries.
pub fn request<P>(segment: &Segment<P>) -> Option<Request> {
    let request = segment.options.router_request()?;
    let requested = match request.scheme {
        RequestScheme::Xcp { cwnd, feedback } => RequestedValue::Window {
            cwnd: u64::from(cwnd),
            feedback: i64::from(feedback),
        },
        RequestScheme::QuickStart { code, .. } => RequestedValue::Start(code),
    };
    let rtt = request.rtt().unwrap_or_default();
    Some(Request { rtt, requested })
}

/// Writes a router's answer into the request of the segment.
pub fn answer<P>(segment: &mut Segment<P>, answer: &Request) {
    let Some(mut request) = segment.options.router_request() else {
        return;
    };
    request.is_answered = true;
    match (&mut request.scheme, answer.requested) {
        (
            RequestScheme::Xcp { feedback, .. },
            RequestedValue::Window {
                feedback: granted, ..
            },
        ) => {
            *feedback = granted.clamp(i32::MIN.into(), i32::MAX.into()) as i32;
        }
        (RequestScheme::QuickStart { code, ttl, .. }, RequestedValue::Start(granted)) => {
            *code = granted;
            *ttl = ttl.wrapping_sub(1);
        }
        _ => {}
    }
    segment.options.set_router_request(Some(request));
}

/// Edges of SACK blocks in the form that an ACK filter compares.
fn edges(blocks: &[SackBlock]) -> [u32; 8] {
    let mut edges = [0; 8];
    for (pair, block) in edges.chunks_exact_mut(2).zip(blocks) {
        pair.copy_from_slice(&[block.left.as_u32(), block.right.as_u32()]);
    }
    edges
}
