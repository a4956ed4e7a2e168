//! Result of a diagnosis: the limits of a connection.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use gigatcp_flows::Side;
use gigatcp_units::grammar::human_duration;
use gigatcp_units::{Bytes, Duration, Instant, Rate};

use crate::CapturePoint;
use crate::account::{Account, Attributed, Scored, Span};
use crate::calibration::{as_found, confidence, leading};
use crate::capture_pair::CapturePair;
use crate::causes::{CAUSES, Cause, Evidence, counted, place, verb};
use crate::chain;
use crate::cost::Cost;
use crate::cut::Cut;
use crate::facts::Facts;
use crate::icmp_errors::IcmpErrors;
use crate::limits::{self, Limit, Quantities};
use crate::measures::{Capacity, Measures, rate};
use crate::next_limit::{NextLimit, path_rate};
use crate::outcome::Outcome;

/// Minimum confidence for a sure diagnosis. Below it the diagnosis names two causes.
pub const MIN_CONFIDENCE: f64 = 0.8;

/// A cause that was found.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The cause.
    pub cause: &'static Cause,
    /// The limit with its decisive figure, after "limited by".
    pub subject: String,
    /// The finding in a sentence.
    pub finding: String,
    /// Evidence in the capture.
    pub evidence: Vec<Evidence>,
    /// The change, with figures for this path.
    pub fix: String,
    /// Probability that it is correct, 0 to 1, as calibrated on captures of kernels; of the first, that
    /// it is the first one.
    pub confidence: f64,
    /// Mean probability over its time, before calibration.
    pub probability: f64,
    /// Whether it is worth reporting however little time it took.
    pub is_note: bool,
    /// Time of the connection that was attributed to it.
    pub time: Duration,
    /// That time as a fraction of the connection.
    pub share: f64,
    /// Its cost over the whole connection.
    pub cost: Cost,
}

/// What other connections between the same hosts carried in one direction meanwhile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shared {
    /// Their number.
    pub connections: u64,
    /// Their rate over the duration of this one, of payload.
    pub rate: Rate,
}

/// Diagnosis of one direction of a connection.
#[derive(Clone, Debug)]
pub struct Diagnosis {
    /// The side that sent.
    pub sender: Side,
    /// Capture point.
    pub capture_point: CapturePoint,
    /// Beginning of the connection in the capture.
    pub start: Instant,
    /// The connection's time in the capture.
    pub duration: Duration,
    /// Bytes acknowledged.
    pub delivered: Bytes,
    /// Their rate over the duration.
    pub throughput: Rate,
    /// Capacity of the path, as far as the capture shows it.
    pub capacity: Capacity,
    /// Payload rate of the bottleneck, if a saturated link or close packets show it.
    pub bottleneck: Option<Rate>,
    /// Minimum RTT of the path.
    pub min_rtt: Duration,
    /// The kind of answer, decided by rule.
    pub outcome: Outcome,
    /// Verdicts: those that took time, the longest first, then the notes.
    pub verdicts: Vec<Verdict>,
    /// Alternative to the most probable cause, if that is unsure.
    pub alternative: Option<&'static Cause>,
    /// The next limit if the primary cause is lifted, if the capture shows it.
    pub next: Option<NextLimit>,
    /// Known limits other than the primary cause, the lowest first.
    pub limits: Vec<Limit>,
    /// Quantities that the limits follow from.
    pub quantities: Quantities,
    /// Time whose cause the capture does not show.
    pub unknown: Duration,
    /// The whole duration in intervals of one cause each.
    pub spans: Vec<Span>,
    /// The reset that ended it, if data was in flight.
    pub cut: Option<Cut>,
    /// From the trigger of the first cause to its effect, in sentences: what TCP did with it.
    pub chain: Vec<String>,
    /// ICMP errors about segments of the sender, then of the receiver, one entry for each kind.
    pub icmp_errors: Vec<IcmpErrors>,
    /// Whether the window began small again after pauses.
    pub is_restarted: bool,
    /// Other connections of the capture on the same path.
    pub shared: Option<Shared>,
    /// Those that send the other way, where the ACKs go.
    pub against: Option<Shared>,
    /// Time that the client waited for the address of the server right before its SYN.
    pub lookup: Option<Duration>,
    /// Contribution of a second capture of the connection, in a sentence.
    pub joined: Option<String>,
}

impl Diagnosis {
    pub(crate) fn of(mut m: Measures<'_>) -> Self {
        let mut spans: Vec<Span> = Vec::new();
        let (account, outcome) = {
            let facts = Facts::of(&m);
            let account = Scored::of(&facts).attribute(|slice| match spans.last_mut() {
                Some(last) if last.cause == slice.cause => last.length += slice.length,
                _ => spans.push(slice),
            });
            let outcome = Outcome::of(&facts, &account);
            (account, outcome)
        };
        m.capacity = Capacity::attributed(&m, &full_link(&account));
        let next = NextLimit::of(&m, &account);
        m.next_rate = next.map(|next| next.rate.as_bps() as f64 / 8.0);
        let quantities = Quantities::of(&m);
        let first = account.most().map(|first| CAUSES[first]);
        let delivered: u64 = m.rounds.iter().map(|round| round.acked).sum();
        let mut diagnosis = Self {
            sender: m.side,
            capture_point: m.view,
            start: m.start,
            duration: m.duration,
            delivered: Bytes::new(delivered),
            throughput: rate(m.mean_rate()),
            capacity: m.capacity,
            bottleneck: path_rate(&m).map(rate),
            min_rtt: m.base,
            outcome,
            verdicts: verdicts(&m, &account, next),
            alternative: alternative(&account),
            next,
            limits: limits::others(&m, first, next, &quantities),
            quantities,
            unknown: account.unknown,
            spans,
            cut: Cut::of(&m),
            chain: Vec::new(),
            icmp_errors: [m.side, m.side.other()]
                .map(|side| m.icmp_errors[side as usize])
                .concat(),
            is_restarted: m.restarts.are_repeated(),
            shared: None,
            against: None,
            lookup: None,
            joined: m.pair.map(|pair| joined(pair.between)),
        };
        diagnosis.chain = match diagnosis.headline() {
            Some(first) => chain::of(&m, first),
            None => Vec::new(),
        };
        debug_assert_eq!(
            diagnosis.contradictions(),
            Vec::<String>::new(),
            "a diagnosis agrees with itself"
        );
        diagnosis
    }

    /// Adds how long the client waited for the address of the server right before its SYN, if that was
    /// a tenth of the connection's time. If it was longer than all of it, that is the answer, unless the
    /// connection had a trouble of its own.
    pub fn add_lookup(&mut self, waited: Duration) {
        const MIN_WAITED: Duration = Duration::from_millis(200);
        let took = match self.outcome {
            Outcome::Idle { took, .. } => took,
            _ => self.duration,
        };
        if waited < MIN_WAITED || waited * 10 < took {
            return;
        }
        self.lookup = Some(waited);
        let is_sound = match self.outcome {
            Outcome::Idle { .. } | Outcome::SlowStart => true,
            Outcome::Limited | Outcome::TooShort { .. } => self.verdicts.iter().all(|verdict| {
                let cause = verdict.cause;
                let is_trouble = cause.is_loss || cause.is_reaction || cause.delivers_nothing;
                !is_trouble || verdict.time.is_zero()
            }),
            _ => false,
        };
        if waited >= took && is_sound && self.delivered > Bytes::ZERO {
            self.outcome = Outcome::NameLookup { waited, took };
        }
    }

    /// Adds what a second capture of the connection says by itself, where the two cannot be compared
    /// packet by packet. If it names another cause, this one is unsure.
    #[must_use]
    pub fn joined_with(mut self, other: &Self) -> Self {
        let Some(said) = other.headline().filter(|_| !other.is_unsure()) else {
            self.joined = Some("The other capture does not show a cause.".into());
            return self;
        };
        let found = &said.finding;
        let is_same = self.headline().map(|first| first.cause.id) == Some(said.cause.id);
        self.joined = Some(if is_same || self.is_unsure() {
            format!("The other capture adds: {found}")
        } else {
            self.alternative = Some(said.cause);
            for verdict in &mut self.verdicts {
                verdict.confidence = verdict.confidence.min(0.5);
            }
            format!("The other capture contradicts this: {found}")
        });
        self
    }

    /// The verdict with most time, if that is at least the unknown time. Below [`MIN_CONFIDENCE`] the
    /// answer is unsure, unless a smaller one leads.
    #[must_use]
    pub fn primary(&self) -> Option<&Verdict> {
        let is_most = |first: &&Verdict| !first.time.is_zero() && first.time >= self.unknown;
        self.verdicts.first().filter(is_most)
    }

    /// Whether the primary cause is too uncertain to be called one.
    #[must_use]
    pub fn is_unsure(&self) -> bool {
        match self.outcome {
            Outcome::SlowStart => false,
            Outcome::Limited | Outcome::OneDirection { .. } => self.primary().is_none_or(|first| {
                first.confidence < MIN_CONFIDENCE && self.mendable(first).is_none()
            }),
            decided => decided.is_unsure(),
        }
    }

    /// First thing to examine: the primary cause, or a certain fault. The fault takes precedence if
    /// the primary cause is unsure. `None` if a rule decided otherwise.
    #[must_use]
    pub fn headline(&self) -> Option<&Verdict> {
        if !self.outcome.may_have_cause() {
            return None;
        }
        let is_certain = |verdict: &&Verdict| {
            verdict.cause.is_fault && verdict.is_note && verdict.confidence >= 0.85
        };
        if self.outcome == Outcome::SlowStart {
            return self.startup();
        }
        match self.primary() {
            Some(first) if !self.is_unsure() => Some(self.mendable(first).unwrap_or(first)),
            unsure => self.verdicts.iter().find(is_certain).or(unsure),
        }
    }

    /// What a connection that was as fast as slow start is waited for: the growth of its window, if
    /// that took a fair part of the time.
    fn startup(&self) -> Option<&Verdict> {
        const MIN_SHARE: f64 = 0.2;
        let mut verdicts = self.verdicts.iter();
        verdicts.find(|verdict| {
            let is_growth = verdict.cause.id == "cwnd-growth-limited";
            is_growth && verdict.share >= MIN_SHARE && verdict.confidence >= MIN_CONFIDENCE
        })
    }

    /// The cause that a host or its application can remove, if the larger one is a saturated path,
    /// or the client's pauses after which the window began small again, and this one is certain and
    /// took a fair part of the time. From counters, which often leave
    /// the larger one unsure, a pause leads as well.
    fn mendable(&self, first: &Verdict) -> Option<&Verdict> {
        let is_paused = self.is_restarted && first.cause.is_idle_by_wish;
        let leads = |verdict: &&Verdict| {
            let from = if is_paused {
                verdict.cause.leads_over_pauses_from
            } else {
                verdict.cause.leads_from
            };
            from.is_some_and(|fraction| {
                let share = verdict.share - self.trailing_share(verdict);
                share >= fraction * first.share && verdict.confidence >= MIN_CONFIDENCE
            })
        };
        let is_path = first.cause.is_path;
        let is_of_counters = self.capture_point == CapturePoint::Counters;
        let is_doubted = is_of_counters && first.confidence < DOUBTED;
        let is_least =
            |verdict: &&Verdict| is_path || is_paused || is_doubted && verdict.cause.is_pause;
        self.verdicts.iter().filter(is_least).find(leads)
    }

    /// Share of the time that a cause took at the very end, when nothing was transferred any more.
    fn trailing_share(&self, verdict: &Verdict) -> f64 {
        let last = self.spans.iter().rev().take_while(|span| {
            span.cause
                .is_some_and(|cause| CAUSES[cause].id == verdict.cause.id)
        });
        let trailing = last.fold(Duration::ZERO, |sum, span| sum + span.length);
        trailing.as_secs_f64() / self.duration.as_secs_f64().max(1e-9)
    }

    /// Formats the fractions of the time by cause, in a line.
    #[must_use]
    pub fn limited_by(&self) -> String {
        let mut parts: Vec<String> = self
            .verdicts
            .iter()
            .filter(|verdict| verdict.share >= 0.0005)
            .map(|verdict| format!("{} {}", verdict.cause.id, percent(verdict.share)))
            .collect();
        let unknown = self.unknown.as_secs_f64() / self.duration.as_secs_f64().max(1e-9);
        if unknown >= 0.0005 || parts.is_empty() {
            parts.push(format!("unknown {}", percent(unknown)));
        }
        parts.join(", ")
    }
}

fn verdicts(m: &Measures<'_>, account: &Account, next: Option<NextLimit>) -> Vec<Verdict> {
    let first = account.most().map(|first| CAUSES[first].id);
    let duration = m.duration.as_secs_f64().max(1e-9);
    let mut verdicts: Vec<Verdict> = CAUSES
        .iter()
        .zip(&account.causes)
        .filter(|(_, attributed)| !attributed.is_nothing())
        .map(|(cause, attributed)| {
            let told = (cause.explain)(m, attributed);
            let share = attributed.time.as_secs_f64() / duration;
            let probability = attributed.probability();
            Verdict {
                cause,
                subject: told.subject,
                finding: told.finding,
                evidence: told.evidence,
                fix: told.fix,
                confidence: if attributed.time.is_zero() {
                    probability
                } else {
                    as_found(confidence(m, attributed))
                },
                probability,
                is_note: attributed.note.is_some(),
                time: attributed.time,
                share,
                cost: Cost::of(
                    m,
                    cause,
                    attributed,
                    next.filter(|_| Some(cause.id) == first),
                ),
            }
        })
        .collect();
    verdicts.sort_by_key(|verdict| core::cmp::Reverse(verdict.time));
    if let Some(first) = verdicts.first_mut().filter(|first| !first.time.is_zero())
        && let Some(cause) = account.most()
    {
        first.confidence = leading(m, account, cause);
    }
    verdicts
}

/// Attributions to a permanently busy link or local queue.
fn full_link(account: &Account) -> Vec<&Attributed> {
    let causes = CAUSES.iter().zip(&account.causes);
    let links = causes.filter(|(cause, _)| cause.is_busy_link);
    links.map(|(_, attributed)| attributed).collect()
}

/// Confidence of a larger cause below which a pause that is certain leads, from counters.
const DOUBTED: f64 = 0.6;

/// Minimum time of an alternative, as a fraction of that of the first cause.
const MIN_ALTERNATIVE: f64 = 0.02;

/// Cause that the first one cannot be told from here, or else the second most probable one over the
/// whole time.
fn alternative(account: &Account) -> Option<&'static Cause> {
    let most = account.most()?;
    let twin = CAUSES[most]
        .twin
        .filter(|_| !account.causes[most].is_observable);
    if let Some(twin) = twin.and_then(place) {
        return Some(CAUSES[twin]);
    }
    let expected = account.expected.iter().enumerate();
    let least = MIN_ALTERNATIVE * account.causes[most].time.as_secs_f64();
    let others = expected.filter(|(index, time)| *index != most && **time > least);
    let second = others.max_by(|(_, a), (_, b)| a.total_cmp(b));
    second.map(|(index, _)| CAUSES[index])
}

/// Describes the path between two captures.
fn joined(between: &CapturePair) -> String {
    let (data, lost) = between.data();
    let about = if between.bytes().is_sampled {
        "about "
    } else {
        ""
    };
    let (acks, lost_acks) = between.acknowledgments();
    let (forward, reverse) = between.queues();
    let queue = |queue: Duration, what: &str| {
        (!queue.is_zero()).then(|| format!("up to {} to the {what}", human_duration(queue)))
    };
    let queues = [queue(forward, "data"), queue(reverse, "ACKs")];
    let queues: Vec<String> = queues.into_iter().flatten().collect();
    let queues = if queues.is_empty() {
        String::from("no queue between them")
    } else {
        format!("queues between them added {}", queues.join(" and "))
    };
    format!(
        "Seen in both captures: of {about}{} with data {about}{lost} {} lost between them, of {} \
         {lost_acks}; {queues}.",
        counted(data, "segment"),
        verb(lost, "was", "were"),
        counted(acks, "ACK"),
    )
}

/// Formats a fraction as percent.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent > 99.95 || (9.95..99.0).contains(&percent) {
        format!("{percent:.0} %")
    } else {
        format!("{percent:.1} %")
    }
}
