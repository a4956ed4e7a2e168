//! Host settings that a namespace can make wrong.

use gigatcp_emulate::Side;
use gigatcp_units::Rate;

use super::bed::Link;

/// Method to make a setting wrong.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Name in tables.
    pub name: &'static str,
    /// Changed object. Two settings of one object exclude each other.
    pub object: &'static str,
    /// Host whose setting it is.
    pub side: Side,
    /// Whether a rule gives a ceiling for it.
    pub has_ceiling: bool,
    /// Builds the command. If the setting bounds the rate, `share` of the path rate remains.
    command: fn(&Link, f64) -> String,
}

impl Setting {
    /// Returns the command that makes it wrong (`ROUTE` and `CARD` as in [`super::Bed::shell`]).
    #[must_use]
    pub fn command(&self, link: &Link, share: f64) -> String {
        (self.command)(link, share)
    }
}

/// Name of a setting, and name of its object.
type Words = (&'static str, &'static str);

const fn bounds((name, object): Words, side: Side, command: fn(&Link, f64) -> String) -> Setting {
    Setting {
        name,
        object,
        side,
        has_ceiling: true,
        command,
    }
}

const fn takes_time(
    (name, object): Words,
    side: Side,
    command: fn(&Link, f64) -> String,
) -> Setting {
    Setting {
        name,
        object,
        side,
        has_ceiling: false,
        command,
    }
}

/// Octets in flight at `share` of the rate.
fn window(link: &Link, share: f64) -> u64 {
    (link.rate.as_bps() as f64 / 8.0 * link.rtt.as_secs_f64() * share) as u64
}

/// Receive buffer with about that window.
fn buffer(link: &Link, share: f64) -> u64 {
    (window(link, share) as f64 / 0.63) as u64
}

fn shaped(link: &Link, share: f64) -> Rate {
    Rate::from_bps((link.rate.as_bps() as f64 * share) as u64)
}

/// All settings except `tcp_sack`, as no formula predicts the cost of missing SACK.
pub const SETTINGS: [Setting; 20] = [
    bounds(
        ("tcp_rmem maximum", "tcp_rmem"),
        Side::Server,
        |link, share| {
            let max = buffer(link, share);
            format!(
                "sysctl -w net.ipv4.tcp_rmem='4096 {} {max}'",
                max.min(131_072)
            )
        },
    ),
    bounds(
        ("tcp_moderate_rcvbuf", "tcp_rmem"),
        Side::Server,
        |link, share| {
            let default = buffer(link, share);
            let max = default.max(6_291_456);
            format!(
                "sysctl -w net.ipv4.tcp_moderate_rcvbuf=0 net.ipv4.tcp_rmem='4096 {default} {max}'"
            )
        },
    ),
    bounds(
        ("route window", "route window"),
        Side::Server,
        |link, share| format!("ROUTE window {}", window(link, share)),
    ),
    bounds(
        ("tcp_window_scaling", "tcp_window_scaling"),
        Side::Server,
        |_, _| "sysctl -w net.ipv4.tcp_window_scaling=0".into(),
    ),
    bounds(
        ("route advmss", "route advmss"),
        Side::Server,
        |_, share| format!("ROUTE advmss {}", 300 + (share * 600.0) as u64),
    ),
    takes_time(
        ("route initrwnd", "route initrwnd"),
        Side::Server,
        |_, share| format!("ROUTE initrwnd {}", 2 + (share * 4.0) as u64),
    ),
    takes_time(("tcp_rmem default", "tcp_rmem"), Side::Server, |_, _| {
        "sysctl -w net.ipv4.tcp_rmem='4096 8192 6291456'".into()
    }),
    takes_time(("gro", "gro"), Side::Server, |_, _| {
        "ethtool -K CARD gro off".into()
    }),
    takes_time(
        ("tcp_adv_win_scale", "tcp_adv_win_scale"),
        Side::Server,
        |_, _| "sysctl -w net.ipv4.tcp_adv_win_scale=-2".into(),
    ),
    bounds(
        ("tcp_wmem maximum", "tcp_wmem maximum"),
        Side::Client,
        |link, share| {
            format!(
                "sysctl -w net.ipv4.tcp_wmem='4096 16384 {}'",
                window(link, share)
            )
        },
    ),
    bounds(("tbf", "qdisc"), Side::Client, |link, share| {
        let rate = shaped(link, share).as_bps();
        format!("tc qdisc replace dev CARD root tbf rate {rate}bit burst 30k latency 100ms")
    }),
    bounds(
        ("htb and pfifo of one packet", "qdisc"),
        Side::Client,
        |link, _| {
            let rate = link.rate.as_bps();
            format!(
                "tc qdisc replace dev CARD root handle 1: htb default 10 && \
             tc class add dev CARD parent 1: classid 1:10 htb rate {rate}bit && \
             tc qdisc add dev CARD parent 1:10 pfifo limit 1"
            )
        },
    ),
    bounds(("route mtu", "route mtu"), Side::Client, |_, share| {
        format!("ROUTE mtu {}", 600 + (share * 600.0) as u64)
    }),
    bounds(
        (
            "window scaling of the sender",
            "window scaling of the sender",
        ),
        Side::Client,
        |_, _| "sysctl -w net.ipv4.tcp_window_scaling=0".into(),
    ),
    takes_time(
        ("route initcwnd", "route initcwnd"),
        Side::Client,
        |_, share| format!("ROUTE initcwnd {}", 2 + (share * 4.0) as u64),
    ),
    takes_time(("route rto_min", "route rto_min"), Side::Client, |_, _| {
        "ROUTE rto_min 1s".into()
    }),
    takes_time(("route congctl", "route congctl"), Side::Client, |_, _| {
        "ROUTE congctl reno".into()
    }),
    takes_time(
        ("tcp_timestamps", "tcp_timestamps"),
        Side::Client,
        |_, _| "sysctl -w net.ipv4.tcp_timestamps=0".into(),
    ),
    takes_time(("tso and gso", "tso and gso"), Side::Client, |_, _| {
        "ethtool -K CARD tso off gso off".into()
    }),
    takes_time(
        ("tcp_limit_output_bytes", "tcp_limit_output_bytes"),
        Side::Client,
        |_, _| "sysctl -w net.ipv4.tcp_limit_output_bytes=20000".into(),
    ),
];
