//! Names and numbers of the socket interface that scripts use.
//!
//! Numbers are Linux's, whose `tcp_info` the scripts' assertions are about.

/// Names that assertions on `tcp_info` use, from `linux/tcp.h`: states,
/// recovery phases, options.
pub const TCP_INFO: &[(&str, i64)] = &[
    ("TCP_ESTABLISHED", 1),
    ("TCP_SYN_SENT", 2),
    ("TCP_SYN_RECV", 3),
    ("TCP_FIN_WAIT1", 4),
    ("TCP_FIN_WAIT2", 5),
    ("TCP_TIME_WAIT", 6),
    ("TCP_CLOSE", 7),
    ("TCP_CLOSE_WAIT", 8),
    ("TCP_LAST_ACK", 9),
    ("TCP_LISTEN", 10),
    ("TCP_CLOSING", 11),
    ("TCP_CA_Open", 0),
    ("TCP_CA_Disorder", 1),
    ("TCP_CA_CWR", 2),
    ("TCP_CA_Recovery", 3),
    ("TCP_CA_Loss", 4),
    ("TCPI_OPT_TIMESTAMPS", 1),
    ("TCPI_OPT_SACK", 2),
    ("TCPI_OPT_WSCALE", 4),
    ("TCPI_OPT_ECN", 8),
    ("TCPI_OPT_ECN_SEEN", 16),
    ("TCPI_OPT_SYN_DATA", 32),
    ("TCPI_OPT_USEC_TS", 64),
];

/// Errors: name, number, and what `strerror` says.
pub const ERRORS: &[(&str, i64, &str)] = &[
    ("EPERM", 1, "Operation not permitted"),
    ("EBADF", 9, "Bad file descriptor"),
    ("EAGAIN", 11, "Resource temporarily unavailable"),
    ("EINVAL", 22, "Invalid argument"),
    ("EPIPE", 32, "Broken pipe"),
    ("ENOPROTOOPT", 92, "Protocol not available"),
    ("EOPNOTSUPP", 95, "Operation not supported"),
    ("EADDRINUSE", 98, "Address already in use"),
    ("ENETUNREACH", 101, "Network is unreachable"),
    ("ECONNABORTED", 103, "Software caused connection abort"),
    ("ECONNRESET", 104, "Connection reset by peer"),
    ("ENOBUFS", 105, "No buffer space available"),
    ("EISCONN", 106, "Transport endpoint is already connected"),
    ("ENOTCONN", 107, "Transport endpoint is not connected"),
    ("ETIMEDOUT", 110, "Connection timed out"),
    ("ECONNREFUSED", 111, "Connection refused"),
    ("EHOSTUNREACH", 113, "No route to host"),
    ("EALREADY", 114, "Operation already in progress"),
    ("EINPROGRESS", 115, "Operation now in progress"),
];

/// Flags of `fcntl` and `socket`.
pub mod open {
    /// Reading and writing.
    pub const O_RDWR: i64 = 2;
    /// Calls do not block.
    pub const O_NONBLOCK: i64 = 0o4000;
}
