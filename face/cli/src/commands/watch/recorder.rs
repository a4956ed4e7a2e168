//! The recording of a watch (`--record`), and the line about it.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use gigatcp_meter::watch::Watch;
use gigatcp_meter::watch::recording::{BYTES_PER_DAY, Cost, MAX_TOTAL, Recorder, Refused};
use gigatcp_units::grammar::{human_bytes, human_duration};
use gigatcp_units::{Duration, Instant};

use super::live::now;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output::{self, counted};

/// Time between two lines about the cost, where no table is refreshed.
const LINE_EVERY: Duration = Duration::from_secs(3600);

/// Time of a recording from which the bytes of a day are extrapolated.
const MIN_FOR_DAY: Duration = Duration::from_secs(60);

/// A recording in progress.
pub(super) struct Recording {
    place: PathBuf,
    recorder: Recorder,
    next_line: Instant,
    /// Whether the last sample could not be recorded.
    fails: bool,
}

impl Recording {
    /// Begins to record the samples of a watch, taken every `interval`.
    pub fn begin(place: &Path, interval: Duration, interrupt: &Interrupt) -> Result<Self, Failure> {
        let at = now();
        let recorder = Recorder::open(place, interval, at).map_err(|why| refused(place, &why))?;
        // A second signal ends the program at once; what is recorded stays.
        interrupt.committing(|| Ok::<_, Failure>(place.to_owned()))?;
        output::say(&format!(
            "recording to {}: at most {} a day, {} in all; then the oldest files are removed",
            place.display(),
            human_bytes(BYTES_PER_DAY),
            human_bytes(MAX_TOTAL)
        ));
        Ok(Self {
            place: place.to_owned(),
            recorder,
            next_line: at + LINE_EVERY,
            fails: false,
        })
    }

    /// Records the last sample. A disk that is full must not end the watch.
    pub fn add(&mut self, watch: &Watch, at: Instant) {
        if self.recorder.is_paused(at) {
            return;
        }
        let age = std::time::Duration::from(now().saturating_since(at));
        let added = self.recorder.sample(watch, at, SystemTime::now() - age);
        if let Err(error) = &added
            && !self.fails
        {
            let action = format!("record in {}", self.place.display());
            Failure::io(&action, error)
                .effect("the watch goes on; recording is tried again every 10 s")
                .warn();
        }
        self.fails = added.is_err();
    }

    /// The line about the cost, if it is due.
    pub fn say_hourly(&mut self, at: Instant) {
        if at >= self.next_line {
            self.next_line = at + LINE_EVERY;
            output::say(&self.line());
        }
    }

    /// Where it records and what that costs.
    pub fn line(&self) -> String {
        line("recording to", &self.place, &self.recorder.cost())
    }

    /// Writes what waits, and prints the cost.
    pub fn finish(self, watch: &Watch) -> Result<(), Failure> {
        if self.fails {
            let text = format!(
                "the last samples are not recorded in {}",
                self.place.display()
            );
            return Err(Failure::new(text));
        }
        let failed = |error| Failure::at("record in", &self.place, &error);
        let cost = self.recorder.finish(watch).map_err(failed)?;
        output::say(&line("recorded to", &self.place, &cost));
        Ok(())
    }
}

fn line(verb: &str, place: &Path, cost: &Cost) -> String {
    // The first samples, with the names of all connections, are not as those of a day.
    let per_day = if cost.time < MIN_FOR_DAY {
        String::new()
    } else {
        format!(" ({} a day)", human_bytes(cost.bytes_per_day()))
    };
    format!(
        "{verb} {}: {}, {} in {}{per_day}, {:.1} % of a core",
        place.display(),
        counted(cost.connections, "connection"),
        human_bytes(cost.written),
        human_duration(cost.time),
        cost.cpu_share() * 100.0
    )
}

fn refused(place: &Path, why: &Refused) -> Failure {
    let name = place.display();
    let failure =
        Failure::new(format!("cannot record in {name}: {why}")).effect("nothing is recorded");
    match why {
        Refused::Taken => failure.hint("name another directory, or end that one first"),
        Refused::Writable { .. } => failure.hint(format!(
            "addresses are private: name a directory that does not exist yet, or `chmod 700 {name}`"
        )),
        Refused::Foreign { .. } => failure.hint("name a directory of your own"),
        Refused::System(_) => failure.hint("name a directory; one that is missing is made"),
    }
}
