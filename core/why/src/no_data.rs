//! Fate of a connection that carried no data: decided by its counts and ICMP errors alone.

use alloc::format;
use alloc::string::String;

use gigatcp_flows::{Connection, Endpoint, Side};
use gigatcp_units::Duration;
use gigatcp_units::grammar::human_duration;

use crate::capture_context::shown_bytes;
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
    /// Side that reset it.
    pub reset_by: Option<Side>,
    /// ICMP errors about the client's segments.
    pub icmp_errors: &'a [IcmpErrors],
}

impl<'a> NoData<'a> {
    /// `None` if the connection carried data.
    pub(crate) fn of(connection: &Connection, icmp_errors: &'a [IcmpErrors]) -> Option<Self> {
        let [client, server] = Side::BOTH.map(|side| connection.direction(side));
        if Side::BOTH
            .iter()
            .any(|side| shown_bytes(connection, *side) > 0)
        {
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
        let kind = match (client.has_syn(), server.has_syn()) {
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
            (Self::Unseen, _) => "carried no data",
        }
    }
}
