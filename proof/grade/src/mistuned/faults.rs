//! Wrong settings, and how to take them back.

/// Where a setting is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum At {
    /// The host that is examined.
    Here,
    /// The other host.
    Far,
    /// The program of the transfer: an option of `gigatcp test`.
    Program,
}

/// What the host must do for a setting to matter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// It sends.
    Send,
    /// It receives.
    Receive,
    /// Either.
    Both,
}

/// Sizes that limit a transfer over the path of a host.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Bytes in flight.
    pub window: f64,
    /// Rate in bit/s.
    pub rate: f64,
    /// Packets of a queue.
    pub packets: u64,
}

/// A wrong setting.
#[derive(Debug)]
pub struct Fault {
    /// Its name in tables.
    pub name: &'static str,
    /// What it sets: two of one object exclude each other.
    pub object: &'static str,
    /// Where.
    pub at: At,
    /// What the host must do for it.
    pub role: Role,
    /// Whether it limits a transfer of some seconds. Others come second.
    pub limits: bool,
    /// Options of the path that it needs.
    pub path: &'static [&'static str],
    /// The commands, or options of the program. `METRIC` is a metric of the route, `$CARD` the
    /// interface, `$RATE` the rate of the path.
    pub wrong: fn(&Sizes) -> String,
    /// The commands that take it back, or better options; empty for a metric.
    pub right: &'static str,
}

impl Fault {
    const fn new(
        name: &'static str,
        object: &'static str,
        role: Role,
        wrong: fn(&Sizes) -> String,
        right: &'static str,
    ) -> Self {
        Self {
            name,
            object,
            at: At::Here,
            role,
            limits: true,
            path: &[],
            wrong,
            right,
        }
    }

    /// One that a transfer of some seconds does not notice.
    const fn harmless(mut self) -> Self {
        self.limits = false;
        self
    }

    const fn at(mut self, at: At) -> Self {
        self.at = at;
        self
    }

    const fn over(mut self, path: &'static [&'static str]) -> Self {
        self.path = path;
        self
    }
}

/// Share of a receive buffer that becomes window.
const WINDOW_OF_BUFFER: f64 = 0.63;

/// The kernel's defaults.
const RMEM: &str =
    "sysctl -qw net.ipv4.tcp_moderate_rcvbuf=1 net.ipv4.tcp_rmem='4096 131072 6291456'";
const WMEM: &str = "sysctl -qw net.ipv4.tcp_wmem='4096 16384 4194304'";
const ROOT: &str = "tc qdisc del dev $CARD root 2>/dev/null || true";
const SCALING: [&str; 2] = [
    "sysctl -qw net.ipv4.tcp_window_scaling=0",
    "sysctl -qw net.ipv4.tcp_window_scaling=1",
];

fn receive_maximum(sizes: &Sizes) -> String {
    let max = (sizes.window / WINDOW_OF_BUFFER) as u64;
    format!(
        "sysctl -qw net.ipv4.tcp_rmem='4096 {} {max}'",
        max.min(131_072)
    )
}

fn send_maximum(sizes: &Sizes) -> String {
    format!(
        "sysctl -qw net.ipv4.tcp_wmem='4096 16384 {:.0}'",
        sizes.window
    )
}

fn sysctl(setting: &str) -> String {
    format!("sysctl -qw net.ipv4.{setting}")
}

/// Every wrong setting.
pub const FAULTS: &[Fault] = &[
    Fault::new(
        "tcp_rmem maximum",
        "tcp_rmem",
        Role::Receive,
        receive_maximum,
        RMEM,
    ),
    Fault::new(
        "tcp_moderate_rcvbuf",
        "tcp_rmem",
        Role::Receive,
        |sizes| {
            let default = (sizes.window / WINDOW_OF_BUFFER) as u64;
            sysctl(&format!(
                "tcp_moderate_rcvbuf=0 net.ipv4.tcp_rmem='4096 {default} 6291456'"
            ))
        },
        RMEM,
    ),
    Fault::new(
        "route window",
        "window",
        Role::Receive,
        |sizes| format!("METRIC window {:.0}", sizes.window),
        "",
    ),
    Fault::new(
        "route advmss",
        "size",
        Role::Receive,
        |_| "METRIC advmss 536".into(),
        "",
    ),
    Fault::new(
        "tcp_wmem maximum",
        "tcp_wmem",
        Role::Send,
        send_maximum,
        WMEM,
    ),
    Fault::new(
        "tbf",
        "qdisc",
        Role::Send,
        |sizes| {
            format!(
                "tc qdisc replace dev $CARD root tbf rate {:.0}bit burst 30k latency 100ms",
                sizes.rate
            )
        },
        ROOT,
    ),
    Fault::new(
        "htb and a short pfifo",
        "qdisc",
        Role::Send,
        |sizes| {
            format!(
                "tc qdisc replace dev $CARD root handle 1: htb default 10 && tc class add dev $CARD parent 1: \
         classid 1:10 htb rate $RATE && tc qdisc add dev $CARD parent 1:10 pfifo limit {}",
                sizes.packets
            )
        },
        ROOT,
    ),
    Fault::new(
        "route cwnd",
        "cwnd",
        Role::Send,
        |sizes| format!("METRIC cwnd lock {:.0}", sizes.window / 1448.0),
        "",
    ),
    Fault::new(
        "route mtu",
        "size",
        Role::Send,
        |_| "METRIC mtu 600".into(),
        "",
    ),
    Fault::new(
        "route ssthresh",
        "ssthresh",
        Role::Send,
        |sizes| {
            format!(
                "METRIC ssthresh lock {:.0}",
                sizes.window / 8.0 / 1448.0 + 2.0
            )
        },
        "",
    ),
    Fault::new(
        "reno with losses",
        "control",
        Role::Send,
        |_| "METRIC congctl reno".into(),
        "METRIC congctl bbr",
    )
    .over(&["--loss", "0.001"]),
    Fault::new(
        "cubic with losses",
        "control",
        Role::Send,
        |_| "METRIC congctl cubic".into(),
        "METRIC congctl bbr",
    )
    .over(&["--loss", "0.003"]),
    Fault::new(
        "tcp_window_scaling",
        "scaling",
        Role::Both,
        |_| SCALING[0].into(),
        SCALING[1],
    ),
    Fault::new(
        "interface MTU",
        "size",
        Role::Both,
        |_| "ip link set $CARD mtu 576".into(),
        "ip link set $CARD mtu 1500",
    ),
    // At the other host.
    Fault::new(
        "far tcp_rmem maximum",
        "far",
        Role::Send,
        receive_maximum,
        RMEM,
    )
    .at(At::Far),
    Fault::new(
        "far tcp_wmem maximum",
        "far",
        Role::Receive,
        send_maximum,
        WMEM,
    )
    .at(At::Far),
    Fault::new(
        "far tcp_window_scaling",
        "scaling",
        Role::Both,
        |_| SCALING[0].into(),
        SCALING[1],
    )
    .at(At::Far),
    // In the program.
    Fault::new(
        "socket buffers",
        "program",
        Role::Both,
        |sizes| format!("-w {:.0}", sizes.window / 2.0),
        "",
    )
    .at(At::Program),
    Fault::new(
        "control of the socket",
        "program",
        Role::Send,
        |_| "-C reno".into(),
        "-C bbr",
    )
    .at(At::Program)
    .over(&["--loss", "0.001"]),
    // What a transfer of some seconds does not notice.
    Fault::new(
        "tcp_sack",
        "sack",
        Role::Both,
        |_| sysctl("tcp_sack=0"),
        "sysctl -qw net.ipv4.tcp_sack=1",
    )
    .harmless()
    .over(&["--loss", "0.0002"]),
    Fault::new(
        "tcp_timestamps",
        "timestamps",
        Role::Both,
        |_| sysctl("tcp_timestamps=0"),
        "sysctl -qw net.ipv4.tcp_timestamps=1",
    )
    .harmless(),
    Fault::new(
        "tcp_ecn",
        "ecn",
        Role::Both,
        |_| sysctl("tcp_ecn=0"),
        "sysctl -qw net.ipv4.tcp_ecn=2",
    )
    .harmless(),
    Fault::new(
        "route initcwnd",
        "initcwnd",
        Role::Send,
        |_| "METRIC initcwnd 2".into(),
        "",
    )
    .harmless(),
    Fault::new(
        "route rto_min",
        "rto_min",
        Role::Send,
        |_| "METRIC rto_min 1s".into(),
        "",
    )
    .harmless(),
    Fault::new(
        "tcp_notsent_lowat",
        "lowat",
        Role::Send,
        |_| sysctl("tcp_notsent_lowat=4096"),
        "sysctl -qw net.ipv4.tcp_notsent_lowat=4294967295",
    )
    .harmless(),
    Fault::new(
        "tcp_limit_output_bytes",
        "output",
        Role::Send,
        |_| sysctl("tcp_limit_output_bytes=16384"),
        "sysctl -qw net.ipv4.tcp_limit_output_bytes=4194304",
    )
    .harmless(),
    Fault::new(
        "tcp_no_metrics_save",
        "metrics",
        Role::Send,
        |_| sysctl("tcp_no_metrics_save=1"),
        "sysctl -qw net.ipv4.tcp_no_metrics_save=0",
    )
    .harmless(),
    Fault::new(
        "tcp_slow_start_after_idle",
        "idle",
        Role::Send,
        |_| sysctl("tcp_slow_start_after_idle=1"),
        "",
    )
    .harmless(),
    Fault::new(
        "tcp_mtu_probing",
        "probing",
        Role::Send,
        |_| sysctl("tcp_mtu_probing=2"),
        "sysctl -qw net.ipv4.tcp_mtu_probing=0",
    )
    .harmless(),
    Fault::new(
        "segmentation offloads",
        "offloads",
        Role::Send,
        |_| "ethtool -K $CARD tso off gso off".into(),
        "ethtool -K $CARD tso on gso on",
    )
    .harmless(),
    Fault::new(
        "tcp_adv_win_scale",
        "share",
        Role::Receive,
        |_| sysctl("tcp_adv_win_scale=-2"),
        "sysctl -qw net.ipv4.tcp_adv_win_scale=1",
    )
    .harmless(),
    Fault::new(
        "route initrwnd",
        "initrwnd",
        Role::Receive,
        |_| "METRIC initrwnd 2".into(),
        "",
    )
    .harmless(),
];
