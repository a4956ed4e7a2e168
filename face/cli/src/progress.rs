//! Progress of a run on stderr: bars on a terminal, otherwise occasional lines.
//!
//! Progress is simulated time. Worlds of one series share a bar.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use gigatcp_plan::record::{FlowRecord, SeriesRecord, combined_rate};
use gigatcp_report::group::by_key;
use gigatcp_report::number;
use gigatcp_run::Progress;
use gigatcp_run::run::TaskProgress;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use crate::output;

/// Interval between updates.
const STEP: Duration = Duration::from_millis(100);

/// Maximum number of series with a bar of their own: a terminal has few lines.
const MOST_BARS: usize = 12;

/// Unit of the bars in nanoseconds: bars that count nanoseconds of many worlds could overflow.
const GRAIN_NS: u64 = 1_000;

/// Runs `work` and draws its progress meanwhile.
pub(crate) fn draw_while<T: Send>(progress: &Progress, work: impl FnOnce() -> T) -> T {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let painter = scope.spawn(|| paint(progress, &done));
        // Dropped if `work` panics too; otherwise the painter would wait indefinitely.
        let ending = Ending {
            done: &done,
            painter: painter.thread().clone(),
        };
        let result = work();
        drop(ending);
        result
    })
}

/// Stops the painter when it is dropped.
struct Ending<'a> {
    done: &'a AtomicBool,
    painter: thread::Thread,
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.done.store(true, Ordering::Relaxed);
        self.painter.unpark();
    }
}

fn paint(progress: &Progress, done: &AtomicBool) {
    let bars = Bars::of(progress);
    while !done.load(Ordering::Relaxed) {
        bars.draw();
        thread::park_timeout(STEP);
    }
    bars.clear();
}

/// The bars, with the tasks that each shows.
struct Bars<'a> {
    bars: Vec<(ProgressBar, Vec<&'a TaskProgress>)>,
}

impl<'a> Bars<'a> {
    fn of(progress: &'a Progress) -> Self {
        let tasks = progress.tasks().iter();
        let mut groups = by_key(tasks.map(|task| (&*task.series, task)));
        if groups.len() > MOST_BARS {
            groups = vec![("all series", progress.tasks().iter().collect())];
        }
        let longest = groups.iter().map(|(name, _)| name.chars().count()).max();
        let style = style(longest.unwrap_or(0));
        let screen = MultiProgress::new();
        let bars = groups.into_iter().map(|(name, tasks)| {
            let length = tasks.iter().map(|task| task.end_ns / GRAIN_NS).sum();
            let bar = ProgressBar::new(length);
            let bar = screen.add(bar.with_prefix(name.to_owned()).with_style(style.clone()));
            (bar, tasks)
        });
        Self {
            bars: bars.collect(),
        }
    }

    fn draw(&self) {
        for (bar, tasks) in &self.bars {
            let simulated = tasks.iter().map(|task| simulated_ns(task) / GRAIN_NS);
            bar.set_position(simulated.sum());
            let ended = tasks.iter().filter(|task| has_ended(task)).count();
            bar.set_message(if tasks.len() == 1 {
                String::new()
            } else {
                format!("{ended} of {} runs", tasks.len())
            });
        }
    }

    fn clear(&self) {
        for (bar, _) in &self.bars {
            bar.finish_and_clear();
        }
    }
}

fn has_ended(task: &TaskProgress) -> bool {
    task.done.load(Ordering::Relaxed)
}

/// Simulated time so far; the full time for a world that ended early.
fn simulated_ns(task: &TaskProgress) -> u64 {
    if has_ended(task) {
        return task.end_ns;
    }
    task.now_ns.load(Ordering::Relaxed).min(task.end_ns)
}

/// A line that fits 80 columns with names of up to `name` letters.
fn style(name: usize) -> ProgressStyle {
    const LONGEST: usize = 32;
    let width = name.min(LONGEST);
    let template = format!("{{prefix:{width}}}  [{{bar:24}}] {{percent:>3}} %  {{msg}}");
    ProgressStyle::with_template(&template)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("=> ")
}

/// Maximum time without a line while worlds end.
const SILENCE: Duration = Duration::from_secs(10);
/// Number of parts of the whole whose completion is printed.
const PARTS: usize = 10;

/// Prints progress lines if no bars can be drawn. A line is printed when a tenth of all worlds is
/// completed, or 10 s after the last line. With up to ten worlds each has a line, and the last
/// always.
#[derive(Debug)]
pub(crate) struct Lines {
    said: Mutex<Said>,
    total: usize,
    repeats: u32,
}

#[derive(Debug)]
struct Said {
    ended: usize,
    last: Instant,
}

impl Lines {
    /// Starts with no world ended; the series of `progress` run `repeats` times each.
    pub(crate) fn of(progress: &Progress, repeats: u32) -> Self {
        Self {
            said: Mutex::new(Said {
                ended: 0,
                last: Instant::now(),
            }),
            total: progress.tasks().len(),
            repeats,
        }
    }

    /// Counts a world that has ended, and prints a line if one is due.
    pub(crate) fn say(&self, record: &SeriesRecord) {
        // A thread that panics reports that itself.
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.ended += 1;
        let ended = said.ended;
        if !is_told(ended, self.total, said.last.elapsed()) {
            return;
        }
        said.last = Instant::now();
        let which = if self.repeats > 1 {
            format!(", repeat {}, seed {}", record.repeat + 1, record.seed)
        } else {
            String::new()
        };
        let how = if record.partial { "cut short" } else { "done" };
        let goodput = combined_rate(record.flows.iter().map(FlowRecord::span));
        // If all flows come and go, the table shows their completion times.
        let goodput = match record.flows.is_empty() {
            true => String::new(),
            false => format!(": {}", number::rate(goodput)),
        };
        output::say(&format!(
            "[{ended}/{}] {}{which} {how}{goodput}",
            self.total, record.name,
        ));
    }
}

/// Whether a line is due for world number `ended` of `total`. `silent` is the time since the last
/// line.
fn is_told(ended: usize, total: usize, silent: Duration) -> bool {
    let parts = |ended: usize| ended * PARTS / total.max(1);
    parts(ended) > parts(ended - 1) || silent >= SILENCE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_sweep_is_told_in_tenths_and_a_short_one_world_by_world() {
        let told = |total: usize| -> Vec<usize> {
            let ended = 1..=total;
            ended
                .filter(|ended| is_told(*ended, total, Duration::ZERO))
                .collect()
        };
        assert_eq!(told(1040).len(), 10);
        assert_eq!(told(1040).last(), Some(&1040));
        assert_eq!(told(10).len(), 10);
        assert_eq!(told(3), [1, 2, 3]);
    }

    #[test]
    fn nothing_is_silent_for_longer_than_ten_seconds() {
        assert!(!is_told(1, 1000, Duration::from_secs(9)));
        assert!(is_told(1, 1000, SILENCE));
    }
}
