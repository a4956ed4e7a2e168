//! Options that a kernel's sockets requested, were granted, and had in effect. All are reported,
//! even if they do not differ.

use gigatcp_emulate::Side;
use gigatcp_linux::settings;
use gigatcp_meter::{Granted, View};
use gigatcp_plan::record::Negotiated;
use gigatcp_plan::{Flow, Scenario};
use gigatcp_units::{Bytes, Duration};

use super::settings::kernel_name;
use super::unsupported::first_threshold;
use crate::negotiated::{cost, requested};

/// A kernel's end of a flow.
pub(super) struct KernelNegotiation<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) flow: &'a Flow,
    /// Granted options at its creation.
    pub(super) granted: &'a Granted,
    /// State at the end.
    pub(super) view: &'a View,
    pub(super) has: &'a Granted,
}

impl KernelNegotiation<'_> {
    /// Requested and effective options of a sender.
    pub(super) fn of_sender(&self) -> Vec<Negotiated> {
        let mut all = vec![self.congestion()];
        all.extend(self.first_threshold());
        all.extend([
            self.send_buffer(),
            self.segment_size(Side::Client),
            self.window_scale("sender"),
        ]);
        all
    }

    /// Requested and effective options of a receiver.
    ///
    /// `largest` is the largest window that the sender has seen, and `min_rtt` the minimum RTT.
    pub(super) fn of_receiver(&self, largest: Bytes, min_rtt: Option<Duration>) -> Vec<Negotiated> {
        vec![
            self.receive_buffer(largest, min_rtt),
            self.segment_size(Side::Server),
            self.window_scale("receiver"),
        ]
    }

    fn congestion(&self) -> Negotiated {
        let asked = self.flow.congestion.name();
        let named = kernel_name(self.flow);
        let cause = if self.has.congestion != named {
            "a route of this machine names another".to_owned()
        } else if asked != named {
            format!("{asked} is the engine's copy of the kernel's {named}")
        } else {
            "as requested".to_owned()
        };
        Negotiated {
            what: "sender's congestion control".into(),
            requested: asked.into(),
            granted: self.granted.congestion.clone(),
            effective: self.has.congestion.clone(),
            cause,
        }
    }

    /// Initial ssthresh, if the plan sets one.
    fn first_threshold(&self) -> Option<Negotiated> {
        let asked = self
            .flow
            .initial_ssthresh
            .filter(|segments| *segments > 0)?;
        let granted = first_threshold(&self.scenario.flows);
        let text = |segments: Option<u64>| {
            segments.map_or("none".to_owned(), |segments| format!("{segments} segments"))
        };
        let effective = self.granted.ssthresh;
        let cause = if granted.is_none() {
            "the route to the receiver has one for all flows, and they ask for different ones"
                .to_owned()
        } else if effective == Some(u64::from(asked)) {
            "by the route to the receiver: a socket cannot be told one".to_owned()
        } else {
            format!(
                "the kernel's {} does not begin with what the route says",
                self.granted.congestion
            )
        };
        Some(Negotiated {
            what: "sender's first slow-start threshold".into(),
            requested: text(Some(asked.into())),
            granted: text(granted.map(u64::from)),
            effective: text(effective),
            cause,
        })
    }

    fn send_buffer(&self) -> Negotiated {
        let most = self.scenario.sender.profile.buffers.send_buffer_max;
        let asked = self.flow.send_buffer;
        Negotiated {
            what: "sender's send buffer".into(),
            requested: requested(asked),
            granted: self.granted.send_buffer.to_string(),
            effective: self.has.send_buffer.to_string(),
            cause: of_buffer(asked, self.granted.send_buffer, most, "wmem"),
        }
    }

    fn receive_buffer(&self, largest: Bytes, min_rtt: Option<Duration>) -> Negotiated {
        let most = self.scenario.receiver.profile.buffers.receive_buffer_max;
        let asked = self.flow.receive_buffer;
        let mut cause = of_buffer(asked, self.granted.receive_buffer, most, "rmem");
        if asked.is_some_and(|asked| largest < asked) {
            cause = format!("{cause}; {}", cost(self.flow, min_rtt, largest));
        }
        Negotiated {
            what: "receiver's receive buffer".into(),
            requested: requested(asked),
            granted: self.granted.receive_buffer.to_string(),
            effective: format!(
                "a window of at most {largest}, {} at the end",
                self.has.receive_buffer
            ),
            cause,
        }
    }

    /// Segment size that a sender uses, or that a receiver advertises.
    fn segment_size(&self, side: Side) -> Negotiated {
        let (name, mtu) = match side {
            Side::Client => ("sender's", self.scenario.sender.mtu),
            Side::Server => ("receiver's", self.scenario.receiver.mtu),
        };
        Negotiated {
            what: format!("{name} segment size"),
            requested: format!("a packet of {mtu} B"),
            granted: format!("an MSS of {} B offered", self.view.advertised_mss),
            effective: format!("segments of {} B", self.view.smss),
            cause: "less what IP, TCP and its options take, and no more than the peer offers"
                .into(),
        }
    }

    fn window_scale(&self, whose: &str) -> Negotiated {
        let (of_peer, own) = self.view.window_scale;
        Negotiated {
            what: format!("{whose}'s window scale"),
            requested: "as its receive buffer needs".into(),
            granted: format!("a shift of {own} for windows it offers"),
            effective: format!("{own}, and {of_peer} for those it is offered"),
            cause: "said in the SYN, from the largest buffer there may be".into(),
        }
    }
}

/// Reason for the size of a buffer.
fn of_buffer(asked: Option<Bytes>, granted: Bytes, most: Bytes, kind: &str) -> String {
    let Some(asked) = asked else {
        return format!("it fits itself to the path, up to {most} (net.ipv4.tcp_{kind})");
    };
    if granted.as_u64() >= asked.as_u64().saturating_mul(2) {
        return "the kernel grants twice what is requested, half of it for its own bookkeeping"
            .into();
    }
    let limit = settings::read(&format!("net.core.{kind}_max")).unwrap_or_default();
    format!(
        "net.core.{kind}_max of this machine is {limit} B, and the kernel grants twice that; \
         `sysctl -w net.core.{kind}_max={}` allows it",
        asked.as_u64()
    )
}
