//! Opening of a connection: SYNs, Fast Open, SYN cookies.

/// Condition under which a listener answers SYNs with SYN cookies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SynCookies {
    /// Never.
    Off,
    /// While its backlog is full.
    WhenFull,
    /// Always.
    Always,
}

/// Next Fast Open of a client after a server ignored its request for a cookie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IgnoredRequest {
    /// The same request again.
    Repeat,
    /// Once a request by the experimental option, which servers of before RFC 7413 know, then the
    /// same again (Linux).
    Experiment,
    /// None for 15 minutes (FreeBSD, `net.inet.tcp.fastopen.path_disable_time`).
    Abstain,
}

impl IgnoredRequest {
    /// Every choice.
    pub(crate) const ALL: [Self; 3] = [Self::Repeat, Self::Experiment, Self::Abstain];

    /// Name in plans.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Repeat => "repeat",
            Self::Experiment => "experiment",
            Self::Abstain => "abstain",
        }
    }
}

/// Opening of a connection: SYNs, Fast Open, SYN cookies.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct Opening {
    /// Retransmissions of a SYN before giving up. R2 for it must be at least 3
    /// minutes (RFC 9293 MUST-23): from a timeout of 1 s, seven take 247 s. Linux
    /// takes six (`tcp_syn_retries`), 127 s.
    pub syn_retries: u32,
    /// Number of SYN timeouts before the timeout doubles. RFC 6298
    /// section 5.5 has none; Linux four (`tcp_syn_linear_timeouts`).
    pub syn_linear_timeouts: u32,
    /// Data and FIN on a SYN are kept until the connection is established (RFC 9293 section
    /// 3.10.7.2). Without, the peer has to retransmit them.
    pub syn_text: bool,
    /// Data and FIN on a SYN-ACK are accepted (RFC 9293 section 3.10.7.3). Without, only after a SYN
    /// with Fast Open (RFC 7413 section 4.2).
    pub syn_ack_text: bool,
    /// A listener answers no SYN-ACK (FreeBSD `tcp_input`). RFC 9293 section 3.10.7.2 has it reset.
    pub listener_ignores_syn_ack: bool,
    /// Fast Open of active opens, RFC 7413, with a cookie or a request for one.
    pub fast_open_client: bool,
    /// A listener grants and accepts Fast Open cookies, RFC 7413.
    pub fast_open_server: bool,
    /// Fast Open needs no cookie (Linux `tcp_fastopen` 0x200 and 0x4). A listener accepts data on
    /// any SYN; a client sends it without a cookie. For private networks: by RFC 7413 section 2
    /// the cookie proves that the client owns its address.
    pub fast_open_without_cookie: bool,
    /// Next Fast Open of a client after a server ignored its request for a cookie.
    pub ignored_request: IgnoredRequest,
    /// Condition under which a listener uses SYN cookies, RFC 4987 section 3.6.
    pub syn_cookies: SynCookies,
    /// The ACK of a SYN-ACK carries no data (BSD `tcp_input`). It leaves before the application
    /// learns of the connection. Without, it carries data that was written early.
    pub handshake_ack_alone: bool,
    /// Window update of a listener's connection once open, if the SYN-ACK could not express it.
    /// BSD `tcp_input`: the ACK of everything outstanding calls `tcp_output`, which compares the
    /// windows. Without, the update comes with the ACK of the first data.
    pub update_after_open: bool,
    /// A connection of an [`Endpoint`](crate::Endpoint) begins with what earlier ones to the same
    /// address have measured: RTT, ssthresh, path MTU (RFC 9040). A simulation has no such memory,
    /// so plans cannot set it. Linux has it on (`tcp_no_metrics_save` = 0), without ssthresh
    /// (`tcp_no_ssthresh_metrics_save` = 1); no profile here does, so that runs do not depend on
    /// the order of their connections.
    pub shares_path_metrics: bool,
    /// Largest MSS that a SYN cookie over IPv4 encodes; 0: 8960 (Linux: 1460).
    pub cookie_mss_max: u32,
}
