//! Names and numbers of the socket interface that scripts use.
//!
//! Numbers are Linux's: the assertions of the scripts use its `tcp_info`.

/// Names that assertions on `tcp_info` use, from `linux/tcp.h`: states,
/// recovery phases, options.
pub const TCP_INFO: &[(&str, i64)] = &[
    // An unset `ssthresh`.
    ("TCP_INFINITE_SSTHRESH", 0x7fff_ffff),
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
    // FreeBSD's names for the same.
    ("TCPI_ESTABLISHED", 1),
    ("TCPI_SYN_SENT", 2),
    ("TCPI_SYN_RECEIVED", 3),
    ("TCPI_FIN_WAIT_1", 4),
    ("TCPI_FIN_WAIT_2", 5),
    ("TCPI_TIME_WAIT", 6),
    ("TCPI_CLOSED", 7),
    ("TCPI_CLOSE_WAIT", 8),
    ("TCPI_LAST_ACK", 9),
    ("TCPI_LISTEN", 10),
    ("TCPI_CLOSING", 11),
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

/// Errors that end a connection: name, and number in Linux and in FreeBSD.
pub const FAILURES: [(&str, i64, i64); 5] = [
    ("ECONNABORTED", 103, 53),
    ("ECONNRESET", 104, 54),
    ("ETIMEDOUT", 110, 60),
    ("ECONNREFUSED", 111, 61),
    ("EHOSTUNREACH", 113, 65),
];

/// `O_RDWR` of `fcntl`: open for reading and writing.
pub const O_RDWR: i64 = 2;
/// `O_NONBLOCK` of `fcntl`: calls do not block.
pub const O_NONBLOCK: i64 = 0o4000;

/// Flags of calls by name: those of `send` and `recv`, of `socket`, `poll` and
/// `epoll`.
const FLAGS: &[(&str, i64)] = &[
    ("MSG_OOB", 0x1),
    ("MSG_PEEK", 0x2),
    ("MSG_DONTROUTE", 0x4),
    ("MSG_CTRUNC", 0x8),
    ("MSG_TRUNC", 0x20),
    ("MSG_DONTWAIT", 0x40),
    ("MSG_EOR", 0x80),
    ("MSG_WAITALL", 0x100),
    ("MSG_ERRQUEUE", 0x2000),
    ("MSG_NOSIGNAL", 0x4000),
    ("MSG_MORE", 0x8000),
    ("MSG_ZEROCOPY", 0x0400_0000),
    ("MSG_FASTOPEN", 0x2000_0000),
    ("SOCK_STREAM", 0x1),
    ("SOCK_NONBLOCK", 0o4000),
    ("SOCK_CLOEXEC", 0o2_000_000),
    ("POLLIN", 0x1),
    ("POLLPRI", 0x2),
    ("POLLOUT", 0x4),
    ("POLLERR", 0x8),
    ("POLLHUP", 0x10),
    ("POLLRDHUP", 0x2000),
    ("EPOLLIN", 0x1),
    ("EPOLLPRI", 0x2),
    ("EPOLLOUT", 0x4),
    ("EPOLLERR", 0x8),
    ("EPOLLHUP", 0x10),
    ("EPOLLRDHUP", 0x2000),
    ("EPOLLONESHOT", 0x4000_0000),
    ("EPOLLET", 0x8000_0000),
];

/// Whether the flag `word` is set in a number of a script.
pub fn is_set(number: i64, word: &str) -> bool {
    let flag = FLAGS.iter().find(|(name, _)| *name == word);
    flag.is_some_and(|(_, bits)| number & bits == *bits)
}

/// Bits of `number` that are not flags of `send` and `recv`.
pub fn unknown_message_flags(number: i64) -> i64 {
    let known = FLAGS.iter().filter(|(name, _)| name.starts_with("MSG_"));
    known.fold(number, |left, (_, bits)| left & !bits)
}
