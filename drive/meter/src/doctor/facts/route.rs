//! The route to a destination, its metrics, and the cached metrics of the peer.

use serde::{Deserialize, Serialize};

use crate::doctor::shell::word;

/// A route, as `ip route get` and `ip route get fibmatch` show it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Route {
    /// Arguments of `ip route` without metrics, quoted for a shell; empty if the route has several
    /// hops, or attributes that a command made of this would lose.
    pub spec: String,
    /// The interface.
    pub device: String,
    /// The source address.
    pub source: Option<String>,
    /// Metrics that the route sets.
    pub metrics: RouteMetrics,
    /// The path MTU that was learned for the destination.
    pub path_mtu_bytes: Option<u64>,
}

/// Metrics of a route; `None`: unset.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RouteMetrics {
    /// Clamp of the receive window.
    pub window_bytes: Option<u64>,
    /// MTU.
    pub mtu_bytes: Option<u64>,
    /// MSS that is announced to peers.
    pub advmss_bytes: Option<u64>,
    /// Initial congestion window.
    pub initcwnd_segments: Option<u64>,
    /// Initial receive window.
    pub initrwnd_segments: Option<u64>,
    /// Clamp of the congestion window; in effect only if it is locked.
    pub cwnd_segments: Option<u64>,
    /// Initial slow-start threshold; in effect only if it is locked.
    pub ssthresh_segments: Option<u64>,
    /// Congestion control.
    pub congctl: Option<String>,
    /// Lower bound of the retransmission timeout.
    pub rto_min_ms: Option<u64>,
    /// Bits of the metrics that are locked, by their numbers (`RTAX_*`).
    pub locks: u64,
}

impl RouteMetrics {
    /// Number of the cwnd clamp (`RTAX_CWND`).
    pub const CWND: u32 = 7;

    /// Whether the metric with this number is locked.
    pub fn is_locked(&self, number: u32) -> bool {
        self.locks >> number & 1 == 1
    }

    /// Applies to these metrics the changes from `read` to `changed`.
    pub fn apply(&mut self, read: &Self, changed: &Self) {
        // Lists every field: a missing one does not compile.
        macro_rules! take {
            ($($field:ident)+) => {
                let Self { $($field),+ } = self;
                $(if read.$field != changed.$field {
                    $field.clone_from(&changed.$field);
                })+
            };
        }
        take!(
            window_bytes mtu_bytes advmss_bytes initcwnd_segments initrwnd_segments
            cwnd_segments ssthresh_segments congctl rto_min_ms locks
        );
    }

    /// Metrics as arguments of `ip route`.
    pub fn words(&self) -> String {
        let number = |name: &str, lock: u32, value: Option<u64>| {
            let lock = if self.is_locked(lock) { "lock " } else { "" };
            value.map(|value| format!(" {name} {lock}{value}"))
        };
        let control = self
            .congctl
            .as_ref()
            .map(|name| format!(" congctl {}", word(name)));
        // `ip route` locks it implicitly, and has no word for that.
        let rto_min = self.rto_min_ms.map(|millis| format!(" rto_min {millis}ms"));
        let all = [
            number("mtu", 2, self.mtu_bytes),
            number("window", 3, self.window_bytes),
            number("ssthresh", 6, self.ssthresh_segments),
            number("cwnd", Self::CWND, self.cwnd_segments),
            number("advmss", 8, self.advmss_bytes),
            number("initcwnd", 11, self.initcwnd_segments),
            rto_min,
            number("initrwnd", 14, self.initrwnd_segments),
            control,
        ];
        all.into_iter().flatten().collect()
    }
}

impl Route {
    /// Command that gives the route `metrics` and no others.
    pub fn replace(&self, metrics: &RouteMetrics) -> String {
        let mut command = String::from("ip route replace ");
        command.push_str(&self.spec);
        command.push_str(&metrics.words());
        command
    }

    /// Command that restores the route as it was read.
    pub fn restore(&self) -> String {
        self.replace(&self.metrics)
    }
}

/// Metrics that the kernel cached for a peer (`ip tcp_metrics show`).
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PeerMetrics {
    /// Smoothed RTT of earlier connections.
    pub rtt_us: Option<u64>,
    /// Initial slow-start threshold of connections.
    pub ssthresh_segments: Option<u64>,
    /// Congestion window of earlier connections.
    pub cwnd_segments: Option<u64>,
}
