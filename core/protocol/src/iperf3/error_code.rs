//! Error numbers of iperf3 (`iperf_api.h`), with their names.

use core::fmt;

/// An error number that follows SERVER_ERROR.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ErrorCode(pub i32);

/// Numbers that an end can receive: name and meaning.
#[rustfmt::skip]
const KNOWN: [(i32, &str, &str); 43] = [
    (6, "IENUMSTREAMS", "too many streams"),
    (7, "IEBLOCKSIZE", "block size too large"),
    (8, "IEBUFSIZE", "socket buffer size too large"),
    (10, "IEMSS", "maximum segment size too large"),
    (15, "IEBURST", "burst too large"),
    (18, "IENOSCTP", "SCTP is not supported"),
    (20, "IEUDPBLOCKSIZE", "block size of UDP is invalid"),
    (25, "IEREVERSEBIDIR", "reverse and bidirectional exclude each other"),
    (27, "IETOTALRATE", "total rate is larger than the server's limit"),
    (37, "IEMAXSERVERTESTDURATIONEXCEEDED", "test is longer than the server's limit"),
    (104, "IEACCEPT", "the connection cannot be accepted"),
    (106, "IERECVCOOKIE", "the cookie cannot be received"),
    (107, "IECTRLWRITE", "the control connection cannot be written"),
    (108, "IECTRLREAD", "the control connection cannot be read"),
    (109, "IECTRLCLOSE", "the control connection was closed"),
    (110, "IEMESSAGE", "an unknown message was received"),
    (111, "IESENDMESSAGE", "a message cannot be sent"),
    (112, "IERECVMESSAGE", "a message cannot be received"),
    (114, "IERECVPARAMS", "parameters cannot be received"),
    (115, "IEPACKAGERESULTS", "results cannot be packaged"),
    (116, "IESENDRESULTS", "results cannot be sent"),
    (117, "IERECVRESULTS", "results cannot be received"),
    (119, "IECLIENTTERM", "the client has terminated"),
    (120, "IESERVERTERM", "the server has terminated"),
    (121, "IEACCESSDENIED", "the server is busy running a test"),
    (122, "IESETNODELAY", "TCP_NODELAY cannot be set"),
    (123, "IESETMSS", "the maximum segment size cannot be set"),
    (124, "IESETBUF", "the socket buffer size cannot be set"),
    (134, "IESETCONGESTION", "the congestion control cannot be set"),
    (140, "IESETPACING", "the pacing rate cannot be set"),
    (141, "IESETBUF2", "the socket buffer is not as large as requested"),
    (142, "IEAUTHTEST", "test authorization failed"),
    (144, "IENOMSG", "no data came for too long"),
    (160, "IESERVERTESTDURATIONEXPIRED", "the server ended a test that was too long"),
    (200, "IECREATESTREAM", "a stream cannot be created"),
    (201, "IEINITSTREAM", "a stream cannot be initialized"),
    (202, "IESTREAMLISTEN", "the server cannot listen for streams"),
    (203, "IESTREAMCONNECT", "a stream cannot be connected"),
    (204, "IESTREAMACCEPT", "a stream cannot be accepted"),
    (205, "IESTREAMWRITE", "a stream cannot be written"),
    (206, "IESTREAMREAD", "a stream cannot be read"),
    (207, "IESTREAMCLOSE", "a stream was closed"),
    (208, "IESTREAMID", "a stream has an invalid id"),
];

impl ErrorCode {
    /// Block size too large.
    pub const BLOCK_SIZE: Self = Self(7);
    /// Socket buffer too large.
    pub const BUFFER_SIZE: Self = Self(8);
    /// Too many streams.
    pub const NUM_STREAMS: Self = Self(6);
    /// SCTP is not supported.
    pub const NO_SCTP: Self = Self(18);
    /// A datagram's size is invalid.
    pub const UDP_BLOCK_SIZE: Self = Self(20);
    /// The total rate exceeds the server's limit.
    pub const TOTAL_RATE: Self = Self(27);
    /// The test exceeds the server's maximum duration.
    pub const MAX_SERVER_DURATION: Self = Self(37);
    /// The control connection was lost.
    pub const CONTROL_CLOSED: Self = Self(109);
    /// The server is busy, or the client may not test now.
    pub const ACCESS_DENIED: Self = Self(121);
    /// No data came for too long.
    pub const NO_DATA: Self = Self(144);
    /// The parameters are invalid.
    pub const RECEIVE_PARAMETERS: Self = Self(114);
    /// Wrong name or password.
    pub const AUTHORIZATION: Self = Self(142);
    /// The server ended a test that was too long.
    pub const DURATION_EXPIRED: Self = Self(160);
    /// A stream cannot be set up.
    pub const INIT_STREAM: Self = Self(201);
    /// A stream cannot be accepted.
    pub const STREAM_ACCEPT: Self = Self(204);

    fn entry(self) -> Option<&'static (i32, &'static str, &'static str)> {
        KNOWN.iter().find(|(number, ..)| *number == self.0)
    }

    /// Returns iperf3's name; `None` if the number is unknown.
    pub fn name(self) -> Option<&'static str> {
        self.entry().map(|(_, name, _)| *name)
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.entry() {
            Some((number, name, text)) => write!(f, "{text} ({name} {number})"),
            None => write!(f, "error {} of iperf3", self.0),
        }
    }
}
