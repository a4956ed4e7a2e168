//! Answers from a recording of `gigatcp watch --record`, for an interval of it (`--at`).

use std::path::Path;
use std::time::{Duration as StdDuration, SystemTime};

use chrono::{DateTime, Local, NaiveTime, TimeDelta};
use gigatcp_analyze::reports::{Report, Reported};
use gigatcp_meter::filter::Filter;
use gigatcp_meter::watch::recording::{Interval, ReadError, Recorded, Recording, Selection};
use gigatcp_report::why::json::Document;
use gigatcp_units::Duration;
use gigatcp_why::counters::End;

use super::{Arguments, reported};
use crate::commands::Outcome;
use crate::failure::Failure;
use crate::output;

pub(super) use gigatcp_meter::watch::recording::is_recording;

/// Default length of the interval.
const LENGTH: Duration = Duration::from_secs(60);

/// Prints what limited the connections of an interval.
pub(super) fn run(at: &str, arguments: &Arguments) -> Result<Outcome, Failure> {
    let [place] = &arguments.files[..] else {
        return Err(Failure::new("--at reads one recording")
            .effect("nothing was explained")
            .hint("name one directory of `gigatcp watch --record`"));
    };
    let length = arguments.duration.unwrap_or(LENGTH);
    let interval = interval(at, length, Local::now())?;
    let filter = arguments.peer.as_deref().map_or(Ok(Filter::Any), peer)?;
    let failed = |error| cannot(place, &error);
    let recording = Recording::open(place).map_err(failed)?;
    let selection = recording.explain(interval, &filter).map_err(failed)?;
    if selection.samples == 0 && selection.connections.is_empty() {
        return Err(nothing(place, interval, &recording));
    }
    let report = report(interval, selection, arguments.peer.as_deref());
    if arguments.json {
        let found = [reported::json(place, &report, arguments.verbose)];
        output::print_json(&Document::new(&found, Vec::new()))?;
    } else if arguments.summary {
        output::print(&reported::summary(place, &report))?;
    } else {
        let detail = (arguments.all, arguments.verbose);
        output::print(&reported::text(place, &report, detail.0, detail.1))?;
    }
    Ok(Outcome::Done)
}

/// The error for a recording that is named without a time.
pub(super) fn without_time(place: &Path) -> Failure {
    let covered = Recording::open(place).and_then(|recording| recording.covered());
    let failure = Failure::new(format!(
        "{} is a recording of `gigatcp watch`: --at says which time to explain",
        place.display()
    ))
    .effect("nothing was explained");
    with_hint(failure, covered)
}

fn nothing(place: &Path, interval: Interval, recording: &Recording) -> Failure {
    let failure = Failure::new(format!(
        "{} has nothing from {} to {}",
        place.display(),
        printed(interval.from),
        printed(interval.to)
    ))
    .effect("nothing was explained");
    with_hint(failure, recording.covered())
}

fn with_hint(failure: Failure, covered: Result<Interval, ReadError>) -> Failure {
    match covered {
        Ok(covered) => {
            let [from, to] = [covered.from, covered.to].map(printed);
            let example = from.rsplit_once(' ').map_or("", |(_, time)| time);
            failure.hint(format!(
                "it covers {from} to {to}: as in `gigatcp why --at {example}`"
            ))
        }
        Err(_) => failure.hint("no file of it can be read"),
    }
}

fn cannot(place: &Path, error: &ReadError) -> Failure {
    let name = place.display();
    let failure = Failure::new(format!("cannot explain {name}: {error}"));
    failure
        .effect("nothing was explained")
        .hint("--at needs a directory of `gigatcp watch --record`")
}

/// The interval that begins at a time of the last 24 hours (HH:MM or HH:MM:SS, local) or at an instant
/// of RFC 3339.
fn interval(text: &str, length: Duration, now: DateTime<Local>) -> Result<Interval, Failure> {
    let wrong = |what: &str| {
        Failure::new(format!("--at {text}: {what}"))
            .effect("nothing was explained")
            .hint("as in `--at 14:05`, `--at 14:05:30` or `--at 2026-11-27T14:05:00+01:00`")
    };
    let begin: DateTime<Local> = if let Ok(at) = DateTime::parse_from_rfc3339(text) {
        at.into()
    } else {
        let time = ["%H:%M", "%H:%M:%S"]
            .iter()
            .find_map(|form| NaiveTime::parse_from_str(text, form).ok())
            .ok_or_else(|| wrong("it is neither a time of the day nor an instant of RFC 3339"))?;
        latest(time, now).ok_or_else(|| wrong("that time was skipped when the clocks changed"))?
    };
    let from = SystemTime::from(begin);
    if begin > now {
        return Err(wrong("it is in the future"));
    }
    let to = from + StdDuration::from(length);
    Ok(Interval { from, to })
}

/// The last instant, not after `now`, at which the clock showed this time.
fn latest(time: NaiveTime, now: DateTime<Local>) -> Option<DateTime<Local>> {
    let days = [0, 1].map(|days| now.date_naive() - TimeDelta::days(days));
    let instants = days.into_iter().flat_map(|day| {
        let local = day.and_time(time).and_local_timezone(Local);
        [local.latest(), local.earliest()]
    });
    instants.flatten().find(|instant| *instant <= now)
}

/// The filter of `--peer`: a place is that of the peer; everything else is a filter as `watch` has it.
fn peer(text: &str) -> Result<Filter, Failure> {
    let resolve = crate::values::addresses;
    let is_place = !text.starts_with(':') && !text.contains([' ', '(']);
    let of_peer = is_place.then(|| Filter::parse(&format!("dst {text}"), &resolve).ok());
    of_peer.flatten().map_or_else(
        || Filter::parse(text, &resolve).map_err(|what| {
            Failure::new(format!("--peer cannot be read: {what}"))
                .effect("nothing was explained")
                .hint("as in `--peer 192.0.2.7`, `--peer 10.0.0.0/8`, `--peer www.example.org` or `--peer proc:nginx`")
        }),
        Ok,
    )
}

fn report(interval: Interval, selection: Selection, peer: Option<&str>) -> Report {
    let [from, to] = [interval.from, interval.to].map(printed);
    let mut notes = Vec::new();
    let whom = peer.map_or_else(String::new, |peer| format!(" with {peer}"));
    if selection.connections.is_empty() {
        notes.push(format!(
            "it was recorded from {from} to {to}, but no data moved or waited{whom}"
        ));
    }
    if selection.more > 0 {
        notes.push(format!(
            "{} smaller connections are not explained",
            selection.more
        ));
    }
    if selection.short > 0 {
        notes.push(format!(
            "{} connections ended within a sample and before 10 kB: they were only counted",
            selection.short
        ));
    }
    let damaged = selection.damaged.iter().map(|path| {
        format!(
            "{} ends in a part that is not whole, as after a crash; all before it was read",
            path.display()
        )
    });
    notes.extend(damaged);
    Report {
        source: "gigatcp watch",
        connections: selection.connections.into_iter().map(reported_of).collect(),
        failed: None,
        datagrams: None,
        notes,
    }
}

fn reported_of(connection: Recorded) -> Reported {
    let (from, to, end) = match connection.role {
        End::Sender => (connection.local, connection.peer, "sender"),
        End::Receiver => (connection.peer, connection.local, "receiver"),
    };
    let owner = connection.owner;
    Reported {
        ends: format!("{from} -> {to}"),
        captured: format!(
            "recorded from the counters of the {end} ({})",
            output::counted(connection.readings as u64, "reading")
        ),
        owner: owner.map_or_else(String::new, |owner| {
            format!("{} (process {})", owner.name, owner.id)
        }),
        sets_buffers: false,
        diagnosis: connection.diagnosis,
    }
}

fn printed(at: SystemTime) -> String {
    DateTime::<Local>::from(at)
        .format("%Y-%m-%d %H:%M:%S")
        .to_string()
}

#[cfg(test)]
mod tests {
    use chrono::{NaiveDate, TimeZone};

    use super::*;

    fn begin(text: &str) -> Result<DateTime<Local>, String> {
        let day = NaiveDate::from_ymd_opt(2026, 7, 15).unwrap();
        let now = Local
            .from_local_datetime(&day.and_hms_opt(9, 30, 0).unwrap())
            .unwrap();
        interval(text, LENGTH, now)
            .map(|interval| interval.from.into())
            .map_err(|failure| failure.text())
    }

    #[test]
    fn time_of_the_day_is_the_last_one_before_now() {
        let printed = |text| begin(text).unwrap().naive_local().to_string();
        assert_eq!(printed("09:05"), "2026-07-15 09:05:00");
        assert_eq!(printed("9:30:00"), "2026-07-15 09:30:00");
        assert_eq!(printed("14:05:30"), "2026-07-14 14:05:30");
    }

    #[test]
    fn instant_of_rfc_3339_is_taken_as_it_is() {
        let at = begin("2026-07-01T12:00:00Z").unwrap();
        assert_eq!(at.timestamp(), 1_782_907_200);
    }

    #[test]
    fn text_that_is_no_time_of_the_past_is_refused_with_an_example() {
        for text in ["", "25:00", "lunch", "14", "2026-07-16T00:00:00Z"] {
            let error = begin(text).unwrap_err();
            assert!(error.contains("as in `--at 14:05`"), "{error}");
        }
    }
}
