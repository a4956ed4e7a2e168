//! Parses the texts of a link: queues, schedules, jitter, loss bursts.
//!
//! Each text consists of parts between commas. A plan and the command line share the syntax:
//! `fq_codel, 1000 packets, target 5 ms`.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::vec::Vec;
use core::ops::Range;

use gigatcp_path::queue::{self, Parameter, Settings};
use gigatcp_path::{
    AckFilter, GilbertElliott, Jitter, JitterLaw, Middlebox, QueueConfig, Schedule, Slot,
    WindowScale,
};
use gigatcp_units::grammar::ParseError;
use gigatcp_units::settings::{TextError, parts};
use gigatcp_units::{Bytes, Duration, Probability};

use crate::nearest::nearest;
use crate::quantity::{self, QueueLimit};

/// A queue as written.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Queue {
    /// The discipline and its settings.
    pub(crate) config: QueueConfig,
    /// Queue limit. `None`: the discipline's default.
    pub(crate) limit: Option<QueueLimit>,
}

/// Shifts the place of an error by the start of its part.
fn within(span: &Range<usize>, error: TextError) -> TextError {
    let at = span.start;
    TextError {
        span: at + error.span.start..at + error.span.end,
        ..error
    }
}

/// Reads a queue: limit, discipline and settings, all optional, and classes behind semicolons.
/// Examples: `1 BDP`, `fq_codel`, `codel, 1000 packets, target 5 ms`, `htb; rate 1 Mbit/s`.
pub(crate) fn queue(text: &str) -> Result<Queue, TextError> {
    let mut sections = sections(text);
    let (own, _) = sections.next().unwrap_or((text, 0..text.len()));
    let mut queue = queue_without_classes(own)?;
    let QueueConfig {
        discipline,
        classes,
        ..
    } = &mut queue.config;
    for (section, section_span) in sections {
        if discipline.class_parameters.is_empty() {
            let why = format!("`{}` has no classes", discipline.name);
            return Err(TextError::new(section, section_span, &why, "htb"));
        }
        let mut class = Settings::new();
        for (part, span) in parts(section) {
            let owner = format!("a class of {}", discipline.name);
            class
                .read(&owner, discipline.class_parameters, part, span)
                .map_err(|error| within(&section_span, error))?;
        }
        classes.push(class);
    }
    if !discipline.class_parameters.is_empty() && classes.is_empty() {
        let why = "without a class nothing is held back";
        let hint = format!("\"{}; rate 10 Mbit/s\"", discipline.name);
        return Err(TextError::new(own, 0..own.len(), why, hint));
    }
    check_conflicts(text, &queue.config)?;
    Ok(queue)
}

/// The parts of a queue's text between semicolons, with their locations.
fn sections(text: &str) -> impl Iterator<Item = (&str, Range<usize>)> {
    text.split(';').scan(0, |at, section| {
        let begin = *at;
        *at += section.len() + 1;
        Some((section, begin..begin + section.len()))
    })
}

/// Rejects settings that are mutually exclusive, where the first of them stands.
fn check_conflicts(text: &str, config: &QueueConfig) -> Result<(), TextError> {
    let Err(conflict) = (config.discipline.check)(config) else {
        return Ok(());
    };
    let whole = (text, 0..text.len());
    let (section, section_span) = sections(text).nth(conflict.section).unwrap_or(whole);
    let is_meant = |part: &str| {
        let word = part.split([' ', '=']).next().unwrap_or(part);
        conflict.names.contains(&word)
    };
    let at = parts(section).find(|(part, _)| is_meant(part));
    let (part, span) = at.unwrap_or((section, 0..section.len()));
    let names = match conflict.names {
        [name, other] if name == other => format!("`{name}`"),
        [name, other] => format!("`{name}` and `{other}`"),
    };
    let hint = format!("other values of {names}");
    let error = TextError::new(part, span, conflict.why, hint);
    Err(within(&section_span, error))
}

/// Reads what precedes the classes of a queue.
fn queue_without_classes(text: &str) -> Result<Queue, TextError> {
    let mut config = QueueConfig::default();
    let mut limit = None;
    let is_named = parts(text)
        .find_map(|(part, _)| queue::find(part))
        .map(|entry| config.discipline = entry)
        .is_some();
    for (part, span) in parts(text) {
        if queue::find(part).is_some_and(|entry| entry.name == config.discipline.name) {
            continue;
        }
        let word = part.split([' ', '=']).next().unwrap_or(part);
        let begins_with_digit = part.starts_with(|c: char| c.is_ascii_digit() || c == '.');
        if begins_with_digit || part == "unlimited" {
            let read = quantity::queue_limit(part).map_err(|error| within(&span, error))?;
            if limit.replace(read).is_some() {
                let why = "the queue has a room already";
                return Err(TextError::new(part, span, why, "one room"));
            }
        } else if is_named && parameter(&config, word).is_some() {
            let discipline = config.discipline;
            config
                .settings
                .read(discipline.name, discipline.parameters, part, span)?;
        } else {
            return Err(no_such_part(&config, is_named, part, span));
        }
    }
    if !is_named && limit.is_none() {
        return Err(no_such_part(&config, false, text, 0..text.len()));
    }
    Ok(Queue { config, limit })
}

fn parameter(config: &QueueConfig, name: &str) -> Option<&'static Parameter> {
    let parameters = config.discipline.parameters;
    parameters.iter().find(|parameter| parameter.name == name)
}

/// Error for a part that is neither limit, discipline nor setting.
fn no_such_part(config: &QueueConfig, is_named: bool, part: &str, span: Range<usize>) -> TextError {
    let word = part.split([' ', '=']).next().unwrap_or(part);
    if is_named {
        let names = config
            .discipline
            .parameters
            .iter()
            .map(|parameter| parameter.name);
        let listed: Vec<&str> = names.clone().collect();
        let why = format!("`{}` has no such setting", config.discipline.name);
        let hint = match &listed[..] {
            [] => format!("`{}` has no settings but its room", config.discipline.name),
            listed => format!("one of {}, or a room as \"100 packets\"", listed.join(", ")),
        };
        return TextError {
            nearest: nearest(word, names).map(str::to_owned),
            ..TextError::new(part, span, &why, hint)
        };
    }
    let names = queue::REGISTRY.iter().map(|entry| entry.name);
    let listed: Vec<&str> = names.clone().collect();
    let hint = format!(
        "\"1 BDP\", \"100 packets\", \"2 MB\" or \"unlimited\", and a discipline: {}",
        listed.join(", ")
    );
    let why = "it is neither the room of a queue nor a discipline";
    TextError {
        nearest: nearest(word, names).map(str::to_owned),
        ..TextError::new(part, span, why, hint)
    }
}

/// Reads a schedule: `0 s: 10 Mbit/s, 20 s: 1 Mbit/s, every 40 s`.
pub(crate) fn schedule<V>(text: &str) -> Result<Schedule<V>, TextError>
where
    V: core::str::FromStr<Err = ParseError> + Copy,
{
    let hint = "moments and what holds from then on, as in \"10 s: 1 Mbit/s, 20 s: 5 Mbit/s\"";
    let mut schedule = Schedule {
        steps: Vec::new(),
        every: None,
    };
    for (part, span) in parts(text) {
        let at_part = |error: ParseError| TextError {
            span: span.clone(),
            ..TextError::from(error)
        };
        if let Some(every) = part.strip_prefix("every ") {
            schedule.every = Some(every.trim().parse().map_err(at_part)?);
            continue;
        }
        let Some((at, value)) = part.split_once(':') else {
            let why = "no colon between a moment and what holds from then on";
            return Err(TextError::new(part, span, why, hint));
        };
        let at: Duration = at.trim().parse().map_err(at_part)?;
        let value: V = value.trim().parse().map_err(at_part)?;
        if schedule.steps.last().is_some_and(|(last, _)| at <= *last) {
            let why = "it is not after the moment before it";
            return Err(TextError::new(part, span, why, "moments in their order"));
        }
        schedule.steps.push((at, value));
    }
    let last = schedule.steps.last().map(|(last, _)| *last);
    match (last, schedule.every) {
        (None, _) => {
            let why = "there is no moment in it";
            Err(TextError::new(text, 0..text.len(), why, hint))
        }
        (Some(last), Some(every)) if every <= last => {
            let why = format!("it begins anew after {every}, and its last moment is {last}");
            let hint = "a period longer than the last moment";
            Err(TextError::new(text, 0..text.len(), &why, hint))
        }
        _ => Ok(schedule),
    }
}

/// Reads a varying delay: `2 ms`, `2 ms, normal, hold 10 ms, overtaking`.
pub(crate) fn jitter(text: &str) -> Result<Jitter, TextError> {
    let hint = "a time, and perhaps normal, pareto, paretonormal, overtaking, \"hold 10 ms\"";
    let mut spread = None;
    let mut jitter = Jitter {
        spread: Duration::ZERO,
        law: JitterLaw::Uniform,
        hold: Duration::ZERO,
        overtaking: false,
    };
    for (part, span) in parts(text) {
        let at_part = |error: ParseError| TextError {
            span: span.clone(),
            ..TextError::from(error)
        };
        match part {
            "uniform" => jitter.law = JitterLaw::Uniform,
            "normal" => jitter.law = JitterLaw::Normal,
            "pareto" => jitter.law = JitterLaw::Pareto,
            "paretonormal" => jitter.law = JitterLaw::ParetoNormal,
            "overtaking" => jitter.overtaking = true,
            _ => match part.strip_prefix("hold ") {
                Some(hold) => jitter.hold = hold.trim().parse().map_err(at_part)?,
                None if spread.is_none() => spread = Some(part.parse().map_err(at_part)?),
                None => {
                    let why = "it is none of the words that stand here";
                    return Err(TextError::new(part, span, why, hint));
                }
            },
        }
    }
    let missing = || TextError::new(text, 0..text.len(), "it has no time", hint);
    jitter.spread = spread.ok_or_else(missing)?;
    Ok(jitter)
}

/// Reads slots, as in `20 ms`, `10 ms..30 ms, packets 32, bytes 64 kB`, `20 ms, spread 5 ms, normal`.
pub(crate) fn slot(text: &str) -> Result<Slot, TextError> {
    let hint = "a time or \"10 ms..30 ms\", and perhaps \"spread 5 ms\", normal, pareto, \
                paretonormal, \"packets 32\", \"bytes 64 kB\"";
    let mut delay = None;
    let mut slot = Slot {
        delay: Duration::ZERO,
        spread: Duration::ZERO,
        law: JitterLaw::Uniform,
        packets: None,
        bytes: None,
    };
    for (part, span) in parts(text) {
        let at_part = |error: ParseError| TextError {
            span: span.clone(),
            ..TextError::from(error)
        };
        let wrong = |why: &str| TextError::new(part, span.clone(), why, hint);
        let (word, value) = part.split_once(' ').unwrap_or((part, ""));
        match word {
            "uniform" => slot.law = JitterLaw::Uniform,
            "normal" => slot.law = JitterLaw::Normal,
            "pareto" => slot.law = JitterLaw::Pareto,
            "paretonormal" => slot.law = JitterLaw::ParetoNormal,
            "spread" => slot.spread = value.trim().parse().map_err(at_part)?,
            "packets" => match value.trim().parse() {
                Ok(packets @ 1..) => slot.packets = Some(packets),
                _ => return Err(wrong("a slot takes 1 packet or more")),
            },
            "bytes" => {
                let bytes: Bytes = value.trim().parse().map_err(at_part)?;
                slot.bytes = Some(bytes);
            }
            _ if delay.is_some() => return Err(wrong("it is none of the words that stand here")),
            _ => {
                delay = Some(match part.split_once("..") {
                    None => part.parse().map_err(at_part)?,
                    Some((least, most)) => {
                        let least: Duration = least.trim().parse().map_err(at_part)?;
                        let most: Duration = most.trim().parse().map_err(at_part)?;
                        if most < least {
                            return Err(wrong("the longest time is shorter than the shortest"));
                        }
                        slot.spread = (most - least) / 2;
                        least + slot.spread
                    }
                });
            }
        }
    }
    let missing = || TextError::new(text, 0..text.len(), "it has no time", hint);
    slot.delay = delay.ok_or_else(missing)?;
    Ok(slot)
}

/// Reads loss bursts, as in `0.01:4`. The values are the share of packets lost and the mean burst
/// length.
pub(crate) fn bursts(text: &str) -> Result<GilbertElliott, TextError> {
    let hint = "share of packets lost and mean burst, as in \"0.01:4\" or \"1 %: 4\"";
    let wrong = |why: &str| TextError::new(text, 0..text.len(), why, hint);
    let (loss, burst) = text
        .split_once(':')
        .ok_or_else(|| wrong("no colon in it"))?;
    let loss: Probability = loss.trim().parse().map_err(TextError::from)?;
    let burst: f64 = burst
        .trim()
        .parse()
        .map_err(|_| wrong("the mean burst is no number"))?;
    let why = "a burst is 1 packet or more, and between bursts there is one that is not lost";
    GilbertElliott::of_bursts(loss, burst).ok_or_else(|| wrong(why))
}

/// MSS of the smallest MTU, 68 bytes.
const MIN_MSS: u16 = 28;

/// Reads the changes of a middlebox to SYN segments: `mss 1400, window_scale 7, no sack`.
pub(crate) fn middlebox(text: &str) -> Result<Middlebox, TextError> {
    const WORDS: [&str; 6] = [
        "mss",
        "window_scale",
        "no window_scale",
        "no sack",
        "no timestamps",
        "no ecn",
    ];
    let hint = "parts as mss 1400, window_scale 7, no window_scale, no sack, no timestamps, no ecn";
    let mut middlebox = Middlebox::default();
    for (part, span) in parts(text) {
        let wrong = |why: &str| TextError::new(part, span.clone(), why, hint);
        match part {
            "no window_scale" => middlebox.window_scale = WindowScale::Clear,
            "no sack" => middlebox.clears_sack = true,
            "no timestamps" => middlebox.clears_timestamps = true,
            "no ecn" => middlebox.clears_ecn = true,
            _ => match part.split_once(' ').map(|(name, to)| (name, to.trim())) {
                Some(("mss", most)) => match most.parse() {
                    Ok(most @ MIN_MSS..) => middlebox.mss = Some(most),
                    _ => return Err(wrong("an MSS is from 28 to 65535 bytes")),
                },
                Some(("window_scale", most)) => match most.parse() {
                    Ok(most @ 0..=14) => middlebox.window_scale = WindowScale::Clamp(most),
                    _ => return Err(wrong("a shift is from 0 to 14 (RFC 7323 section 2.3)")),
                },
                _ => {
                    return Err(TextError {
                        nearest: nearest(part, WORDS).map(str::to_owned),
                        ..wrong("a middlebox has no action of that name")
                    });
                }
            },
        }
    }
    Ok(middlebox)
}

/// Reads an ACK filter: `queue`, or `every 4`.
pub(crate) fn ack_filter(text: &str) -> Result<AckFilter, TextError> {
    let trimmed = text.trim();
    if trimmed == "queue" {
        return Ok(AckFilter::Queue);
    }
    let hint = "\"queue\", or \"every 4\" for every fourth ACK of a run";
    let wrong = |why: &str| TextError::new(trimmed, 0..trimmed.len(), why, hint);
    let count = trimmed
        .strip_prefix("every ")
        .ok_or_else(|| wrong("it is no ACK filter"))?;
    match count.trim().parse() {
        Ok(n @ 1..) => Ok(AckFilter::Every(n)),
        _ => Err(wrong("every how many?")),
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use gigatcp_units::{Bytes, Rate};

    use super::*;

    #[test]
    fn a_queue_is_a_room_a_discipline_or_both() {
        let plain = queue("100 packets").unwrap();
        assert_eq!(plain.limit, Some(QueueLimit::Packets(100)));
        assert_eq!(plain.config, QueueConfig::default());
        let fq = queue("fq_codel").unwrap();
        assert_eq!((fq.config.discipline.name, fq.limit), ("fq_codel", None));
        let both = queue("codel,1000 packets, target 20 ms , ecn").unwrap();
        assert_eq!(both.limit, Some(QueueLimit::Packets(1000)));
        let set: Vec<&str> = both
            .config
            .settings
            .iter()
            .map(|setting| setting.name)
            .collect();
        assert_eq!(set, ["target", "ecn"]);
        let room = queue("2 MB, codel").unwrap();
        assert_eq!(room.limit, Some(QueueLimit::Bytes(Bytes::new(2_000_000))));
    }

    #[test]
    fn a_queue_that_cannot_be_is_refused_where_it_is_wrong() {
        let wrong = |text: &str| queue(text).unwrap_err();
        let typo = wrong("fq_codle");
        assert_eq!(typo.nearest.as_deref(), Some("fq_codel"));
        let typo = wrong("codel, tarket 5 ms");
        assert_eq!(
            (typo.nearest.as_deref(), typo.span),
            (Some("target"), 7..18)
        );
        assert!(wrong("codel, target 5").why.contains("takes a time"));
        assert!(wrong("codel, target 0 s").why.contains("is from"));
        assert!(wrong("1 BDP, 2 BDP").why.contains("already"));
        assert!(wrong("codel; rate 1 Mbit/s").why.contains("no classes"));
        assert!(wrong("fifo, ecn").hint.contains("no settings"));
        assert!(wrong("").hint.contains("fq_codel"));
        assert!(wrong("red, codel").why.contains("no such setting"));
        let crossed = wrong("red, min 20, maxp 0.1");
        assert!(crossed.why.contains("not above `min`"), "{}", crossed.why);
        assert_eq!(crossed.span, 5..11);
        assert_eq!(wrong("red, min 5, max 5").span, 5..10);
    }

    #[test]
    fn queue_with_classes_has_a_section_for_each() {
        let text = "htb, 100 packets, srchost; rate 10 Mbit/s; parent 1, rate 4 Mbit/s, prio 1";
        let read = queue(text).unwrap();
        assert_eq!(read.limit, Some(QueueLimit::Packets(100)));
        let names = |class: &Settings| class.iter().map(|setting| setting.name).collect::<Vec<_>>();
        let set: Vec<Vec<&str>> = read.config.classes.iter().map(names).collect();
        assert_eq!(set, [vec!["rate"], vec!["parent", "rate", "prio"]]);
    }

    #[test]
    fn class_that_cannot_be_is_refused_where_it_is_wrong() {
        let wrong = |text: &str| queue(text).unwrap_err();
        assert!(wrong("htb").hint.contains("htb; rate"));
        let typo = wrong("htb; rate 1 Mbit/s; parent 1, rat 1 Mbit/s");
        assert_eq!((typo.nearest.as_deref(), typo.span), (Some("rate"), 30..42));
        let later = wrong("htb; rate 1 Mbit/s, parent 2; rate 1 Mbit/s");
        assert!(later.why.contains("earlier class"), "{}", later.why);
        assert_eq!(later.span, 20..28);
        assert!(wrong("htb; prio 1").why.contains("has a `rate`"));
        let low = wrong("htb; rate 2 Mbit/s, ceil 1 Mbit/s");
        assert!(low.why.contains("below its `rate`"), "{}", low.why);
        let all = wrong("htb; rate 1 Mbit/s, dscp 0; rate 1 Mbit/s, dscp 8");
        assert!(all.why.contains("without `dscp`"), "{}", all.why);
        let inner = wrong("htb; rate 1 Mbit/s, dscp 8; parent 1, rate 1 Mbit/s");
        assert!(inner.why.contains("no packets"), "{}", inner.why);
        let same = wrong("htb; rate 1 Mbit/s, dscp 8; rate 1 Mbit/s, dscp 8; rate 1 Mbit/s");
        assert!(same.why.contains("one class"), "{}", same.why);
        let both = wrong("htb, srchost, dsthost; rate 1 Mbit/s");
        assert!(both.why.contains("not both"), "{}", both.why);
        let turn = wrong("htb; rate 1 Mbit/s, quantum 2 kB; parent 1, rate 1 Mbit/s");
        assert!(turn.why.contains("no `quantum`"), "{}", turn.why);
        let order = wrong("htb; rate 1 Mbit/s, prio 1; parent 1, rate 1 Mbit/s");
        assert!(order.why.contains("no `prio`"), "{}", order.why);
        let deep: alloc::string::String = (1..9)
            .map(|n| format!("; parent {n}, rate 1 Mbit/s"))
            .collect();
        let deep = wrong(&format!("htb; rate 1 Mbit/s{deep}"));
        assert!(deep.why.contains("8 levels"), "{}", deep.why);
    }

    #[test]
    fn schedules_are_moments_in_their_order() {
        let read = schedule::<Rate>("0 s: 10 Mbit/s, 20 s: 1 Mbit/s, every 40 s").unwrap();
        assert_eq!(
            read.steps[1],
            (Duration::from_secs(20), Rate::from_bps(1_000_000))
        );
        assert_eq!(read.every, Some(Duration::from_secs(40)));
        let wrong = |text: &str| schedule::<Duration>(text).unwrap_err();
        assert!(wrong("5 s: 1 ms, 5 s: 2 ms").why.contains("not after"));
        assert!(wrong("5 s").why.contains("colon"));
        assert!(wrong("every 5 s").why.contains("no moment"));
        assert!(wrong("5 s: 1 ms, every 5 s").why.contains("begins anew"));
        assert_eq!(wrong("1 s: 1 ms, 5 s: 2 m").span, 11..19);
    }

    #[test]
    fn jitter_has_a_spread_and_perhaps_more() {
        let plain = jitter("2 ms").unwrap();
        assert!(!plain.overtaking && plain.law == JitterLaw::Uniform);
        let all = jitter("2 ms, normal, overtaking, hold 1 s").unwrap();
        assert!(all.overtaking && all.law == JitterLaw::Normal);
        let long_tailed = jitter("2 ms, paretonormal").unwrap();
        assert!(long_tailed.law == JitterLaw::ParetoNormal);
        assert_eq!(all.hold, Duration::from_secs(1));
        assert!(jitter("normal").unwrap_err().why.contains("no time"));
        assert!(jitter("1 ms, wild").unwrap_err().why.contains("none of"));
    }

    #[test]
    fn slot_has_a_time_a_distribution_and_what_it_takes() {
        let ms = Duration::from_millis;
        let plain = slot("20 ms").unwrap();
        assert_eq!((plain.delay, plain.spread), (ms(20), Duration::ZERO));
        let between = slot("10 ms..30 ms, packets 32, bytes 64 kB").unwrap();
        assert_eq!((between.delay, between.spread), (ms(20), ms(10)));
        assert_eq!(between.packets, Some(32));
        assert_eq!(between.bytes, Some(Bytes::new(64_000)));
        let drawn = slot("20 ms, spread 5 ms, paretonormal").unwrap();
        assert_eq!((drawn.law, drawn.spread), (JitterLaw::ParetoNormal, ms(5)));
        assert!(slot("packets 3").unwrap_err().why.contains("no time"));
        assert!(
            slot("5 ms, packets 0")
                .unwrap_err()
                .why
                .contains("1 packet")
        );
        assert!(slot("9 ms..5 ms").unwrap_err().why.contains("shorter"));
        assert_eq!(slot("5 ms, wild").unwrap_err().span, 6..10);
    }

    #[test]
    fn a_middlebox_clears_and_clamps_what_it_names() {
        let all = middlebox("mss 1360, no window_scale, no sack, no timestamps, no ecn").unwrap();
        let expected = Middlebox {
            mss: Some(1360),
            window_scale: WindowScale::Clear,
            clears_sack: true,
            clears_timestamps: true,
            clears_ecn: true,
        };
        assert_eq!(all, expected);
        let clamped = middlebox("window_scale 2").unwrap();
        assert_eq!(clamped.window_scale, WindowScale::Clamp(2));
        let wrong = |text| middlebox(text).unwrap_err();
        assert_eq!(
            wrong("mss 1400, no sak").nearest.as_deref(),
            Some("no sack")
        );
        assert_eq!(wrong("mss 1400, no sak").span, 10..16);
        assert!(wrong("window_scale 15").why.contains("0 to 14"));
        assert!(wrong("mss 27").why.contains("from 28"));
        assert_eq!(middlebox("mss 28").unwrap().mss, Some(28));
        assert!(wrong("").why.contains("of that name"));
    }

    #[test]
    fn an_ack_filter_works_in_a_queue_or_counts() {
        assert_eq!(ack_filter("queue"), Ok(AckFilter::Queue));
        assert_eq!(ack_filter("every 4"), Ok(AckFilter::Every(4)));
        let why = |text| ack_filter(text).unwrap_err().why;
        assert!(why("every 0").contains("how many"), "{}", why("every 0"));
        assert!(why("ever 4").contains("no ACK filter"));
    }

    #[test]
    fn bursts_have_a_share_and_a_mean_length() {
        let chain = bursts("1 %: 4").unwrap();
        assert!((chain.mean_loss() - 0.01).abs() < 1e-12);
        assert_eq!(chain.to_good.as_f64(), 0.25);
        assert!(bursts("0.01").is_err() && bursts("0.01:0.5").is_err());
    }
}
