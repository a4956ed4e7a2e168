//! Opening a connection: SYNs, Fast Open, a listener's cookies.

/// When a listener answers a SYN with a cookie and forgets it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SynCookies {
    /// Never.
    Off,
    /// While its backlog is full.
    WhenFull,
    /// Always.
    Always,
}

/// Opening a connection: SYNs, Fast Open, a listener's cookies.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct Opening {
    /// Retransmissions of a SYN before giving up. R2 for it must be at least 3
    /// minutes (RFC 9293 MUST-23): from a timeout of 1 s, seven take 247 s. Linux
    /// takes six (`tcp_syn_retries`), 127 s.
    pub syn_retries: u32,
    /// So many timeouts of a SYN pass before the timeout doubles. RFC 6298
    /// section 5.5 has none; Linux four (`tcp_syn_linear_timeouts`).
    pub syn_linear_timeouts: u32,
    /// Text and FIN on a SYN are kept until the connection is established, and
    /// those of a SYN-ACK taken (RFC 9293 section 3.10.7.2 and 3.10.7.3);
    /// otherwise the peer has to send them again.
    pub syn_text: bool,
    /// An active open may be a fast one, RFC 7413, where it is given a cookie
    /// or asks for one.
    pub fast_open_client: bool,
    /// A listener grants and takes Fast Open cookies, RFC 7413.
    pub fast_open_server: bool,
    /// A fast open needs no cookie: a listener takes text on any SYN, a client
    /// sends it without having one (Linux `tcp_fastopen` 0x200 and 0x4). For
    /// networks of one's own: RFC 7413 section 2 has the cookie show that the
    /// client's address is its own.
    pub fast_open_without_cookie: bool,
    /// When a listener answers with SYN cookies, RFC 4987 section 3.6.
    pub syn_cookies: SynCookies,
    /// The acknowledgment of a SYN-ACK leaves without data: it leaves before the
    /// application learns of the connection (BSD `tcp_input`). Without, data that
    /// was written early rides on it.
    pub handshake_ack_alone: bool,
    /// A listener's end updates its window as soon as the connection is open, if
    /// the SYN-ACK could not express it (BSD `tcp_input`: the acknowledgment of
    /// everything outstanding calls `tcp_output`, which compares the windows).
    /// Without: with the acknowledgment of the first data.
    pub update_after_open: bool,
    /// Largest MSS that a cookie over IPv4 stands for; 0: 8960 (Linux: 1460).
    pub cookie_mss_max: u32,
}
