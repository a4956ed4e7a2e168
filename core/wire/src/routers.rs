//! Options by which a sender sends requests to the routers of its path, and their replies.
//!
//! XCP (Katabi, Handley, Rohrs, SIGCOMM 2002) has a header of its own between IP and TCP,
//! Quick-Start (RFC 4782) has an option of IP. Here both are TCP options of kind 254 (RFC 6994),
//! so that a capture of them is a capture of TCP. The experiment identifiers are not registered.
//! The response of Quick-Start is the RFC's, of kind 27.
//!
//! ```text
//! request  XCP  254 16 0x5851  A|rtt(31) cwnd(32) feedback(32)
//! request  QS   254 16 0x5351  A|0(31) N(8) ttl(8) ip_ttl(8) 0(8) nonce(32)
//! reply    XCP  254  8 0x5852  feedback(32)
//! reply    QS    27  8         N(8) ttl_diff(8) nonce(32)
//! ```
//!
//! RTTs are in microseconds, windows and feedback in bytes. A router sets A; a
//! receiver replies only to requests with A. A router on the wire would have to update the
//! checksum; simulated packets have none until they are written to a capture.

use gigatcp_units::Duration;

use crate::options::option_kind;

/// Experiment identifiers (RFC 6994).
const XCP_REQUEST: [u8; 2] = *b"XQ";
const XCP_REPLY: [u8; 2] = *b"XR";
const QUICK_START_REQUEST: [u8; 2] = *b"SQ";

/// The bit A of a request.
const ANSWERED: u32 = 1 << 31;

/// A request to the routers of a path, in a segment of data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RouterRequest {
    /// Whether a router has answered.
    pub is_answered: bool,
    /// RTT of the flow in microseconds; zero while unknown.
    pub rtt_us: u32,
    /// The scheme and its fields.
    pub scheme: RequestScheme,
}

/// The scheme of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RequestScheme {
    /// XCP.
    Xcp {
        /// The sender's cwnd in bytes.
        cwnd: u32,
        /// Change of cwnd in bytes: requested by the sender, lowered by routers.
        feedback: i32,
    },
    /// Quick-Start.
    QuickStart {
        /// N of the rate 40 kbit/s · 2^N, lowered by routers.
        code: u8,
        /// TTL of the request, lowered by routers that approve.
        ttl: u8,
        /// TTL of IP, lowered by all routers.
        ip_ttl: u8,
        /// A value that a receiver cannot guess for a rate that was not approved.
        nonce: u32,
    },
}

/// The reply of the routers, as the receiver returns it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RouterReply {
    /// Bytes by which cwnd changes: the sum since the reply before.
    Xcp(i32),
    /// Quick-Start.
    QuickStart {
        /// N of the approved rate 40 kbit/s · 2^N.
        code: u8,
        /// TTL of IP less that of the request, as they arrived.
        ttl_diff: u8,
        /// The nonce of the request.
        nonce: u32,
    },
}

impl RouterRequest {
    /// Bytes of the option.
    pub const OPTION_LEN: usize = 16;

    /// RTT; `None` while unknown.
    pub const fn rtt(&self) -> Option<Duration> {
        match self.rtt_us {
            0 => None,
            rtt => Some(Duration::from_micros(rtt as u64)),
        }
    }

    /// Writes the data after kind and length.
    pub(crate) fn write_data(&self, mut put: impl FnMut(&[u8])) {
        let answered = if self.is_answered { ANSWERED } else { 0 };
        let rtt = (self.rtt_us.min(ANSWERED - 1) | answered).to_be_bytes();
        match self.scheme {
            RequestScheme::Xcp { cwnd, feedback } => {
                put(&XCP_REQUEST);
                put(&rtt);
                put(&cwnd.to_be_bytes());
                put(&feedback.to_be_bytes());
            }
            RequestScheme::QuickStart {
                code,
                ttl,
                ip_ttl,
                nonce,
            } => {
                put(&QUICK_START_REQUEST);
                put(&rtt);
                put(&[code, ttl, ip_ttl, 0]);
                put(&nonce.to_be_bytes());
            }
        }
    }

    /// Reads the data of an option of kind 254; `None` if it is another experiment.
    pub(crate) fn from_experiment(data: &[u8]) -> Option<Self> {
        let (identifier, data) = data.split_first_chunk::<2>()?;
        let (rtt, data) = data.split_first_chunk::<4>()?;
        let data: [u8; 8] = data.try_into().ok()?;
        let both = u64::from_be_bytes(data);
        let scheme = match *identifier {
            XCP_REQUEST => RequestScheme::Xcp {
                cwnd: (both >> 32) as u32,
                feedback: both as u32 as i32,
            },
            QUICK_START_REQUEST => RequestScheme::QuickStart {
                code: data[0],
                ttl: data[1],
                ip_ttl: data[2],
                nonce: both as u32,
            },
            _ => return None,
        };
        let rtt = u32::from_be_bytes(*rtt);
        Some(Self {
            is_answered: rtt & ANSWERED != 0,
            rtt_us: rtt & !ANSWERED,
            scheme,
        })
    }

    /// Reply of the routers; `None` if none has answered.
    pub fn reply(&self) -> Option<RouterReply> {
        self.is_answered.then_some(match self.scheme {
            RequestScheme::Xcp { feedback, .. } => RouterReply::Xcp(feedback),
            RequestScheme::QuickStart {
                code,
                ttl,
                ip_ttl,
                nonce,
            } => RouterReply::QuickStart {
                code,
                ttl_diff: ip_ttl.wrapping_sub(ttl),
                nonce,
            },
        })
    }
}

impl RouterReply {
    /// Bytes of the option.
    pub const OPTION_LEN: usize = 8;

    /// Kind of the option.
    pub(crate) const fn kind(&self) -> u8 {
        match self {
            Self::Xcp(_) => option_kind::EXPERIMENT,
            Self::QuickStart { .. } => option_kind::QUICK_START,
        }
    }

    /// Writes the data after kind and length.
    pub(crate) fn write_data(&self, mut put: impl FnMut(&[u8])) {
        match self {
            Self::QuickStart {
                code,
                ttl_diff,
                nonce,
            } => {
                put(&[*code, *ttl_diff]);
                put(&nonce.to_be_bytes());
            }
            Self::Xcp(feedback) => {
                put(&XCP_REPLY);
                put(&feedback.to_be_bytes());
            }
        }
    }

    /// Reads the data of an option of kind 254; `None` if it is another experiment.
    pub(crate) fn from_experiment(data: &[u8]) -> Option<Self> {
        let (identifier, data) = data.split_first_chunk::<2>()?;
        if *identifier != XCP_REPLY {
            return None;
        }
        Some(Self::Xcp(i32::from_be_bytes(data.try_into().ok()?)))
    }

    /// Reads the data of an option of kind 27; `None` if its length is wrong.
    pub(crate) fn from_quick_start(data: &[u8]) -> Option<Self> {
        let &[code, ttl_diff, ref nonce @ ..] = data else {
            return None;
        };
        Some(Self::QuickStart {
            code: code & 15,
            ttl_diff,
            nonce: u32::from_be_bytes(nonce.try_into().ok()?),
        })
    }

    /// Combines this reply with the previous one. Feedback adds up.
    #[must_use]
    pub const fn after(self, before: Option<Self>) -> Self {
        match (self, before) {
            (Self::Xcp(new), Some(Self::Xcp(old))) => Self::Xcp(new.saturating_add(old)),
            _ => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Endpoints, Payload, Phantom};
    use crate::{Options, SackBlock, SackBlocks, Segment, Timestamps, decode_header, encode};
    use alloc::vec;
    use core::net::Ipv4Addr;

    fn xcp(is_answered: bool, feedback: i32) -> RouterRequest {
        RouterRequest {
            is_answered,
            rtt_us: 70_000,
            scheme: RequestScheme::Xcp {
                cwnd: 8_750_000,
                feedback,
            },
        }
    }

    fn through_octets(options: &Options) -> Options {
        let address = Ipv4Addr::LOCALHOST;
        let endpoints = Endpoints::V4 {
            src: address,
            dst: address,
        };
        let segment = Segment {
            options: options.clone(),
            payload: Phantom::default(),
            ..Segment::default()
        };
        let mut octets = vec![0; segment.header_len()];
        encode(&segment, &endpoints, &mut octets).unwrap();
        assert!(crate::verify_checksum(&endpoints, &octets));
        let (read, _) = decode_header::<Phantom>(&octets).unwrap();
        assert!(read.payload.is_empty());
        read.options
    }

    #[test]
    fn requests_and_replies_come_back_as_they_were_written() {
        let quick_start = RouterRequest {
            is_answered: true,
            rtt_us: 0,
            scheme: RequestScheme::QuickStart {
                code: 15,
                ttl: 60,
                ip_ttl: 59,
                nonce: 0xffff_fffc,
            },
        };
        let response = quick_start.reply().unwrap();
        let RouterReply::QuickStart { ttl_diff: 255, .. } = response else {
            panic!("59 - 60 modulo 256: {response:?}");
        };
        let requests = [xcp(false, i32::MAX), xcp(true, -1500), quick_start];
        let replies = [RouterReply::Xcp(i32::MIN), response];
        for request in requests {
            for reply in replies.map(Some).into_iter().chain([None]) {
                let mut options = Options {
                    timestamps: Some(Timestamps { val: 1, ecr: 2 }),
                    ..Options::default()
                };
                options.set_router_request(Some(request));
                options.set_router_reply(reply);
                assert!(options.wire_len() <= crate::MAX_OPTIONS_LEN);
                assert_eq!(through_octets(&options), options);
            }
        }
    }

    #[test]
    fn a_reply_fits_next_to_timestamps_and_one_sack_block() {
        let mut sack = SackBlocks::default();
        assert!(sack.try_push(SackBlock::default()));
        let mut options = Options {
            timestamps: Some(Timestamps::default()),
            sack,
            ..Options::default()
        };
        options.set_router_reply(Some(RouterReply::Xcp(1)));
        assert_eq!(options.wire_len(), 12 + 12 + 8);
    }

    #[test]
    fn only_what_a_router_has_answered_has_a_reply() {
        assert_eq!(xcp(false, 5).reply(), None);
        assert_eq!(xcp(true, 5).reply(), Some(RouterReply::Xcp(5)));
    }

    #[test]
    fn feedback_adds_up() {
        let sum = RouterReply::Xcp(-3).after(Some(RouterReply::Xcp(10)));
        assert_eq!(sum, RouterReply::Xcp(7));
    }

    #[test]
    fn another_experiment_is_neither() {
        for data in [&[0xf9, 0x89, 1, 2, 3, 4][..], b"XQ", b"XR", b""] {
            assert_eq!(RouterRequest::from_experiment(data), None);
            assert_eq!(RouterReply::from_experiment(data), None);
        }
    }
}
