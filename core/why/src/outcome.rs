//! Outcomes decided by rule before any limit is weighed: whether a capture can show one at all, and
//! whether there was anything to limit.

use alloc::format;
use alloc::string::String;

use gigatcp_flows::Direction;
use gigatcp_units::grammar::{human_bytes, human_duration};
use gigatcp_units::{Bytes, Duration};

use crate::account::Account;
use crate::causes::{CAUSES, counted};
use crate::facts::{Facts, MIN_DATA_PACKETS};
use crate::measures::Measures;
use crate::round::State;
use crate::verdict::percent;

/// Kind of answer that a connection has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The verdicts say what limited it.
    Limited,
    /// Only packets of one host are in the capture.
    OneDirection {
        /// Whether these are ACKs, and the data was sent by the other one.
        is_of_acks: bool,
    },
    /// Too few packets with data to infer a limit.
    TooShort {
        /// Packets with data.
        packets: u64,
    },
    /// The capture ends while the window still grows, as fast as slow start does.
    Growing,
    /// Data was sent and retransmitted, and none of it acknowledged, without anything that shows why.
    Undelivered {
        /// Retransmitted segments.
        segments: u64,
    },
    /// Nearly all that the sender sent, by its sequence numbers, never passed here or was acknowledged.
    NeverArrived {
        /// Bytes that did not.
        bytes: Bytes,
    },
    /// All packets have the same time: there is no rate.
    NoTime,
    /// As fast as a new connection can be: the initial window, doubled each RTT.
    SlowStart,
    /// All was delivered in a fraction of the time, and then the connection was idle.
    Idle {
        /// Time from the first packet to the last acknowledgment of data.
        took: Duration,
        /// Time after it.
        idle: Duration,
    },
    /// The client waited longer for the address of the server than the connection took.
    NameLookup {
        /// Time from the first question to the last answer.
        waited: Duration,
        /// Duration of the connection, without the idle time at its end.
        took: Duration,
    },
}

impl Outcome {
    pub(crate) fn of(facts: &Facts<'_, '_>, account: &Account) -> Self {
        let m = facts.m;
        if m.duration <= m.resolution {
            return Self::NoTime;
        }
        if let Some(bytes) = never_arrived(m) {
            return Self::NeverArrived { bytes };
        }
        let idle = trailing_idle(m);
        let took = m.duration.saturating_sub(idle);
        let is_idle = idle * 2 >= m.duration && idle >= Duration::from_secs(1);
        if is_idle && facts.delivered > 0 && (facts.is_slow_start || is_brief(facts, took)) {
            return Self::Idle { took, idle };
        }
        let packets = facts.data_packets;
        let is_decided = |index: usize| {
            let first = &account.causes[index];
            first.decided * 2 >= first.time
        };
        let is_setup = |index: usize| CAUSES[index].states == [State::Opening];
        let is_open = |index: usize| !is_decided(index) || facts.has_just_begun && is_setup(index);
        if (facts.is_cut_early || facts.has_just_begun) && account.most().is_none_or(is_open) {
            return Self::Growing;
        }
        let is_short = packets < MIN_DATA_PACKETS;
        if facts.is_slow_start && !(is_short && is_unanswered(m)) {
            return Self::SlowStart;
        }
        if is_short && !waits(m, account) {
            return Self::TooShort { packets };
        }
        let segments = facts.retransmitted;
        if facts.delivered == 0 && segments > 0 && !is_explained(account) {
            return Self::Undelivered { segments };
        }
        Self::Limited
    }

    /// Its name in records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Limited => "limited",
            Self::OneDirection { .. } => "one-direction",
            Self::TooShort { .. } | Self::Growing => "too-short",
            Self::Undelivered { .. } | Self::NeverArrived { .. } => "undelivered",
            Self::NoTime => "no-time",
            Self::SlowStart => "slow-start",
            Self::Idle { .. } => "idle",
            Self::NameLookup { .. } => "name-lookup",
        }
    }

    /// Whether nothing limited the connection; `None` if that is not decided by rule.
    #[must_use]
    pub const fn healthy(self) -> Option<bool> {
        match self {
            Self::SlowStart | Self::Idle { .. } => Some(true),
            Self::NameLookup { .. } => Some(false),
            _ => None,
        }
    }

    /// Whether verdicts say what limited it, as far as they can.
    pub(crate) const fn may_have_cause(self) -> bool {
        matches!(
            self,
            Self::Limited | Self::SlowStart | Self::OneDirection { .. }
        )
    }

    /// Whether the capture cannot show a limit.
    #[must_use]
    pub const fn is_unsure(self) -> bool {
        matches!(
            self,
            Self::OneDirection { .. }
                | Self::TooShort { .. }
                | Self::Growing
                | Self::Undelivered { .. }
                | Self::NeverArrived { .. }
                | Self::NoTime
        )
    }

    /// The change; `None` if the verdicts say it, or if nothing is to be changed.
    pub(crate) fn fix(self) -> Option<String> {
        /// Resolvers wait so long for a server, and ask the next one.
        const PATIENCE: Duration = Duration::from_millis(4_500);
        let Self::NameLookup { waited, .. } = self else {
            return None;
        };
        let likely = if waited >= PATIENCE {
            "; a name server that does not answer is waited for 5 s: put the one that answers first"
        } else {
            ""
        };
        Some(format!(
            "look at the client's resolver (resolvectl query NAME, dig NAME), or cache names{likely}"
        ))
    }

    /// The answer in a sentence; `None` if the verdicts say it.
    pub(crate) fn sentence(self, delivered: Bytes) -> Option<String> {
        let bytes = human_bytes(delivered);
        Some(match self {
            Self::Limited | Self::SlowStart | Self::OneDirection { .. } => return None,
            Self::TooShort { packets } => format!(
                "Unsure: {} with data are too few to show a limit; capture a longer transfer.",
                counted(packets, "packet")
            ),
            Self::Growing => {
                "Unsure: the capture ends while the window still grows, and no limit was reached; \
                              capture for longer."
                    .into()
            }
            Self::Undelivered { segments } => format!(
                "Unsure: a path that fails, or one that drops packets of this size; none of its \
                 data was acknowledged, and {} retransmitted. Capture for longer, or send small \
                 and large packets (ping -M do -s 1400).",
                counted(segments, "segment"),
            ),
            Self::NeverArrived { bytes } => format!(
                "Unsure: a path that fails, or one that drops packets of this size, before this \
                 capture: by its sequence numbers the sender sent {} that never arrived. A capture \
                 at the sender may decide.",
                human_bytes(bytes),
            ),
            Self::NoTime => format!(
                "Unsure: all packets have the same time, so {bytes} have no rate; capture with a \
                 finer clock."
            ),
            Self::Idle { took, idle } => format!(
                "Nothing limited it: {bytes} were delivered in {}, then the connection was idle \
                 for {}.",
                human_duration(took),
                human_duration(idle)
            ),
            Self::NameLookup { waited, took } => {
                let whole = waited.as_secs_f64() + took.as_secs_f64();
                format!(
                    "Limited by the lookup of the server's name ({}) for {} of the time from its \
                     first question on; the connection itself took {}.",
                    human_duration(waited),
                    percent(waited.as_secs_f64() / whole),
                    human_duration(took),
                )
            }
        })
    }
}

/// Bytes of a side that never passed here and were never acknowledged, by the sequence number of a later
/// packet, if they are five times what arrived, and two segments or more.
fn never_arrived(m: &Measures<'_>) -> Option<Bytes> {
    let sides = [m.data(), m.receiver()];
    let arrived: u64 = sides.iter().map(|side| side.unique_bytes()).sum();
    let least = arrived.saturating_mul(5).max(2 * m.mss().max(536));
    let mut missing = sides.into_iter().map(Direction::missing_bytes);
    missing.find(|bytes| *bytes >= least).map(Bytes::new)
}

/// Whether it ends with a request: the peer sent nothing, and neither side closed. What comes after
/// that may never have passed here.
fn is_unanswered(m: &Measures<'_>) -> bool {
    let sides = [m.data(), m.receiver()];
    let is_closed = sides.iter().any(|side| side.has_fin() || side.has_reset());
    !is_closed && m.receiver().data_packets() == 0
}

/// Time at the end with nothing in flight.
pub(crate) fn trailing_idle(m: &Measures<'_>) -> Duration {
    let mut idle = Duration::ZERO;
    for round in m.rounds.iter().rev() {
        idle += round.spent_in(State::Idle) + round.spent_in(State::Closing);
        if round.acked > 0 || round.sent > 0 {
            break;
        }
    }
    idle
}

/// Whether the active part is not worth a diagnosis of its own: under a second, and without a loss.
fn is_brief(facts: &Facts<'_, '_>, took: Duration) -> bool {
    took < Duration::from_secs(1) && facts.retransmitted == 0
}

/// Whether the cause of most of the time is one that nothing delivered does not contradict.
fn is_explained(account: &Account) -> bool {
    account
        .most()
        .is_some_and(|index| CAUSES[index].delivers_nothing)
}

/// Whether most of the time is one that few packets show: of an application, a closed window, or a
/// retransmission timer.
fn waits(m: &Measures<'_>, account: &Account) -> bool {
    let is_long = m.duration >= Duration::from_millis(200);
    is_long
        && account
            .most()
            .is_some_and(|index| CAUSES[index].shows_in_few_packets)
}

#[cfg(test)]
mod tests {
    use gigatcp_flows::Side::{Client, Server};
    use gigatcp_wire::Flags;

    use super::*;
    use crate::conversation::Conversation;

    #[test]
    fn bytes_that_only_sequence_numbers_show_never_arrived() {
        let of = |later: u32, acked: u32| {
            let mut all = Conversation::opened(20, 40_000);
            all.say(50_000, Client, 1, 1, 37);
            all.say(50_020, Server, 1, 38, 0);
            all.say(8_000_000, Server, 1, acked, 0).flags = Flags::ACK | Flags::FIN;
            all.say(8_040_000, Client, later, 2, 0);
            let diagnosis = all.watched().diagnose(0).expect("37 bytes");
            (diagnosis.outcome, diagnosis.is_unsure())
        };
        let bytes = Bytes::new(15_891);
        let lost = (Outcome::NeverArrived { bytes }, true);
        assert_eq!(of(15_929, 38), lost);
        assert_ne!(of(38, 38), lost);
        // Acknowledged: the capture missed it.
        assert_ne!(of(15_929, 15_929), lost);
    }

    #[test]
    fn capture_that_ends_while_the_window_grows_shows_no_limit() {
        let of = |is_whole: bool| {
            let mut all = Conversation::opened(40_000, 20);
            let mut sent = 0;
            for (round, segments) in [10, 20, 40, 80].into_iter().enumerate() {
                let start = 40_100 + 40_100 * round as u64;
                for segment in 0..segments {
                    all.say(
                        start + u64::from(segment),
                        Client,
                        1 + 1000 * (sent + segment),
                        1,
                        1000,
                    );
                }
                sent += segments;
                if is_whole || round < 3 {
                    all.say(start + 40_050, Server, 1, 1 + 1000 * sent, 0);
                }
            }
            all.watched().diagnose(0).expect("data").outcome
        };
        assert_eq!(
            (of(false), of(true)),
            (Outcome::Growing, Outcome::SlowStart)
        );
    }
}
