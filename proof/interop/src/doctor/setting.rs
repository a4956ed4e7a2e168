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

/// A row per setting: host, ceiling, name, object, command. The object is given if it has another
/// name.
macro_rules! settings {
    ($($side:ident, $ceiling:ident, $name:literal $(of $object:literal)? => $command:expr;)+) => {
        &[$(Setting {
            name: $name,
            object: settings!(@object $name $($object)?),
            side: Side::$side,
            has_ceiling: settings!(@$ceiling),
            command: $command,
        }),+]
    };
    (@object $name:literal) => { $name };
    (@object $name:literal $object:literal) => { $object };
    (@ceiling) => { true };
    (@none) => { false };
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
pub const SETTINGS: &[Setting] = settings! {
    Server, ceiling, "tcp_rmem maximum" of "tcp_rmem" => |link, share| {
        let max = buffer(link, share);
        format!(
            "sysctl -w net.ipv4.tcp_rmem='4096 {} {max}'",
            max.min(131_072)
        )
    };
    Server, ceiling, "tcp_moderate_rcvbuf" of "tcp_rmem" => |link, share| {
        let default = buffer(link, share);
        let max = default.max(6_291_456);
        format!(
            "sysctl -w net.ipv4.tcp_moderate_rcvbuf=0 net.ipv4.tcp_rmem='4096 {default} {max}'"
        )
    };
    Server, ceiling, "route window" =>
        |link, share| format!("ROUTE window {}", window(link, share));
    Server, ceiling, "tcp_window_scaling" =>
        |_, _| "sysctl -w net.ipv4.tcp_window_scaling=0".into();
    Server, ceiling, "route advmss" =>
        |_, share| format!("ROUTE advmss {}", 300 + (share * 600.0) as u64);
    Server, none, "route initrwnd" =>
        |_, share| format!("ROUTE initrwnd {}", 2 + (share * 4.0) as u64);
    Server, none, "tcp_rmem default" of "tcp_rmem" =>
        |_, _| "sysctl -w net.ipv4.tcp_rmem='4096 8192 6291456'".into();
    Server, none, "gro" => |_, _| "ethtool -K CARD gro off".into();
    Server, none, "tcp_adv_win_scale" => |_, _| "sysctl -w net.ipv4.tcp_adv_win_scale=-2".into();
    Client, ceiling, "tcp_wmem maximum" =>
        |link, share| format!("sysctl -w net.ipv4.tcp_wmem='4096 16384 {}'", window(link, share));
    Client, ceiling, "tbf" of "qdisc" => |link, share| {
        let rate = shaped(link, share).as_bps();
        format!("tc qdisc replace dev CARD root tbf rate {rate}bit burst 30k latency 100ms")
    };
    Client, ceiling, "htb and pfifo of one packet" of "qdisc" => |link, _| {
        let rate = link.rate.as_bps();
        format!(
            "tc qdisc replace dev CARD root handle 1: htb default 10 && \
         tc class add dev CARD parent 1: classid 1:10 htb rate {rate}bit && \
         tc qdisc add dev CARD parent 1:10 pfifo limit 1"
        )
    };
    Client, ceiling, "route mtu" =>
        |_, share| format!("ROUTE mtu {}", 600 + (share * 600.0) as u64);
    Client, ceiling, "window scaling of the sender" =>
        |_, _| "sysctl -w net.ipv4.tcp_window_scaling=0".into();
    Client, none, "route initcwnd" =>
        |_, share| format!("ROUTE initcwnd {}", 2 + (share * 4.0) as u64);
    Client, none, "route rto_min" => |_, _| "ROUTE rto_min 1s".into();
    Client, none, "route congctl" => |_, _| "ROUTE congctl reno".into();
    Client, none, "tcp_timestamps" => |_, _| "sysctl -w net.ipv4.tcp_timestamps=0".into();
    Client, none, "tso and gso" => |_, _| "ethtool -K CARD tso off gso off".into();
    Client, none, "tcp_limit_output_bytes" =>
        |_, _| "sysctl -w net.ipv4.tcp_limit_output_bytes=20000".into();
};
