//! Fate of a connection whose data is not in the capture, or that carried none: decided by its counts
//! and ICMP errors alone.

use alloc::format;
use alloc::string::String;

use gigatcp_flows::{Connection, Direction, Endpoint, Side};
use gigatcp_units::grammar::{human_bytes, human_duration};
use gigatcp_units::{Bytes, Duration};

use crate::causes::counted;
use crate::icmp_errors::IcmpErrors;

/// Fate of a connection without data.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum NoDataKind {
    /// No SYN was answered.
    NeverAnswered,
    /// A reset answered the SYN.
    Refused,
    /// The SYN was answered, and the answer never acknowledged.
    HalfOpen,
    /// It was established and then reset.
    Reset,
    /// It was established, and neither side sent anything.
    Unused,
    /// Data was acknowledged that is not in the capture.
    AcksOnly,
    /// Its handshake, or one of its directions, is not in the capture.
    Unseen,
}

/// A connection without data.
#[derive(Clone, Copy, Debug)]
pub struct NoData<'a> {
    /// Its fate.
    pub kind: NoDataKind,
    /// The side that sent the SYN.
    pub client: Endpoint,
    /// The other side.
    pub server: Endpoint,
    /// Packets of the client: its SYNs, if they were never answered.
    pub client_packets: u64,
    /// Time from the first packet to the last.
    pub elapsed: Duration,
    /// Bytes that are acknowledged and not in the capture.
    pub acked: Bytes,
    /// Side that reset it.
    pub reset_by: Option<Side>,
    /// ICMP errors about the client's segments.
    pub icmp_errors: &'a [IcmpErrors],
}

impl<'a> NoData<'a> {
    /// `None` if the connection carried data.
    pub(crate) fn of(connection: &Connection, icmp_errors: &'a [IcmpErrors]) -> Option<Self> {
        let [client, server] = Side::BOTH.map(|side| connection.direction(side));
        if client.bytes() + server.bytes() > 0 {
            return None;
        }
        // SYNs and resets advertise no window that counts.
        let has_only_syns = client.windows().is_none();
        let reset_by = if server.has_reset() {
            Some(Side::Server)
        } else {
            client.has_reset().then_some(Side::Client)
        };
        let is_answered = server.packets() > 0;
        let unseen = [client, server]
            .into_iter()
            .find(|side| side.packets() == 0);
        let acked = unseen.map_or(0, acked_bytes);
        let kind = match (client.has_syn(), server.has_syn()) {
            _ if acked > 0 => NoDataKind::AcksOnly,
            (true, false) if !is_answered && has_only_syns => NoDataKind::NeverAnswered,
            (true, false) if server.has_reset() => NoDataKind::Refused,
            (true, true) if has_only_syns => NoDataKind::HalfOpen,
            (true, true) if reset_by.is_some() => NoDataKind::Reset,
            (true, true) => NoDataKind::Unused,
            _ => NoDataKind::Unseen,
        };
        Some(Self {
            kind,
            client: connection.endpoint(Side::Client),
            server: connection.endpoint(Side::Server),
            client_packets: client.packets(),
            elapsed: connection.elapsed(),
            acked: Bytes::new(acked),
            reset_by,
            icmp_errors,
        })
    }

    /// Its fate, in a sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        let elapsed = human_duration(self.elapsed);
        let sent = match self.client_packets {
            1 => String::from("1 SYN"),
            count => format!("{} over {elapsed}", counted(count, "SYN")),
        };
        let (client, server) = (self.client, self.server);
        let told = match self.kind {
            NoDataKind::NeverAnswered => format!("{server} never answered {client}: {sent}"),
            NoDataKind::Refused => {
                format!("{server} refused {client}: a reset answered the SYN")
            }
            NoDataKind::HalfOpen => format!(
                "{client} never acknowledged the SYN-ACK of {server}: half-open for {elapsed}"
            ),
            NoDataKind::Reset => {
                let by = match self.reset_by {
                    Some(Side::Server) => server,
                    _ => client,
                };
                format!("{client} and {server} sent no data; {by} reset it after {elapsed}")
            }
            NoDataKind::Unused => {
                format!("{client} and {server} shook hands; no data passed here in {elapsed}")
            }
            NoDataKind::AcksOnly => {
                let bytes = human_bytes(self.acked);
                format!(
                    "The capture lacks the data of {client} and {server}: {bytes} were acknowledged in \
                     {elapsed}; capture all packets of both directions"
                )
            }
            NoDataKind::Unseen => {
                format!("{client} and {server} sent no data; the capture lacks their handshake")
            }
        };
        let errors = self.icmp_errors.iter().map(IcmpErrors::in_words);
        errors.fold(told, |told, error| format!("{told}; {error}")) + "."
    }
}

impl NoDataKind {
    /// Its name in records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NeverAnswered => "never-answered",
            Self::Refused => "refused",
            Self::HalfOpen => "half-open",
            Self::Reset => "reset",
            Self::Unused => "unused",
            Self::AcksOnly => "acks-only",
            Self::Unseen => "handshake-unseen",
        }
    }

    /// Whether the connection failed: its client got none.
    #[must_use]
    pub const fn is_failure(self) -> bool {
        matches!(self, Self::NeverAnswered | Self::Refused | Self::HalfOpen)
    }

    /// Fate of one or several connections, in words that follow their number.
    #[must_use]
    pub const fn predicate(self, is_one: bool) -> &'static str {
        match (self, is_one) {
            (Self::NeverAnswered, true) => "was never answered",
            (Self::NeverAnswered, false) => "were never answered",
            (Self::Refused, true) => "was refused with a reset",
            (Self::Refused, false) => "were refused with a reset",
            (Self::HalfOpen, _) => "remained half-open: the SYN-ACK was never acknowledged",
            (Self::Reset, true) => "was reset before any data",
            (Self::Reset, false) => "were reset before any data",
            (Self::Unused, _) => "had a handshake and no data",
            (Self::AcksOnly, true) => {
                "shows no data that was acknowledged: capture all packets of both directions"
            }
            (Self::AcksOnly, false) => {
                "show no data that was acknowledged: capture all packets of both directions"
            }
            (Self::Unseen, _) => "carried no data",
        }
    }
}

/// Bytes of `side` that its peer acknowledged; a SYN and a FIN are one each.
fn acked_bytes(side: &Direction) -> u64 {
    const CONTROL: u64 = 2;
    let acked = side.acked_position().unwrap_or(0);
    acked.saturating_sub(side.first_position() + CONTROL)
}
