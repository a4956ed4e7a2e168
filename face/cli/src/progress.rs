//! Progress of a run on stderr: bars on a terminal, else a line per world.
//!
//! Simulated time is what is counted. Worlds of one series share a bar.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use gigatcp_record::SeriesRecord;
use gigatcp_report::number;
use gigatcp_sweep::Progress;
use gigatcp_sweep::run::TaskProgress;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use crate::output;

/// Time between two looks at the worlds.
const STEP: Duration = Duration::from_millis(100);

/// More series than this share one bar: a terminal has so many lines.
const MOST_BARS: usize = 12;

/// Bars count microseconds: nanoseconds of very many worlds could overflow.
const GRAIN_NS: u64 = 1_000;

/// Runs `work` while its progress is drawn.
pub(crate) fn draw_while<T: Send>(progress: &Progress, work: impl FnOnce() -> T) -> T {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let painter = scope.spawn(|| paint(progress, &done));
        // Also when the work ends in a panic, or the painter would wait for
        // ever.
        let ending = Ending {
            done: &done,
            painter: painter.thread().clone(),
        };
        let result = work();
        drop(ending);
        result
    })
}

/// Tells the painter that there is nothing left to draw.
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

/// The bars, and whose progress each shows.
struct Bars<'a> {
    bars: Vec<(ProgressBar, Vec<&'a TaskProgress>)>,
}

impl<'a> Bars<'a> {
    fn of(progress: &'a Progress) -> Self {
        let mut groups: Vec<(&str, Vec<&TaskProgress>)> = Vec::new();
        for task in progress.tasks() {
            match groups.last_mut() {
                Some((name, tasks)) if *name == task.series => tasks.push(task),
                _ => groups.push((&task.series, vec![task])),
            }
        }
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

/// Simulated time so far; a world that ended early is through.
fn simulated_ns(task: &TaskProgress) -> u64 {
    if has_ended(task) {
        return task.end_ns;
    }
    task.now_ns.load(Ordering::Relaxed).min(task.end_ns)
}

/// A line that fits 80 columns with names of up to `name` letters.
fn style(name: usize) -> ProgressStyle {
    const LONGEST: usize = 32;
    let name = name.min(LONGEST);
    let template = format!("{{prefix:{name}}}  [{{bar:24}}] {{percent:>3}} %  {{msg}}");
    ProgressStyle::with_template(&template)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("=> ")
}

/// Says which worlds have ended, where no bars can be drawn.
#[derive(Debug)]
pub(crate) struct Lines {
    ended: AtomicUsize,
    total: usize,
    repeats: u32,
}

impl Lines {
    /// Nothing has ended of `progress`, whose series run `repeats` times each.
    pub(crate) fn of(progress: &Progress, repeats: u32) -> Self {
        Self {
            ended: AtomicUsize::new(0),
            total: progress.tasks().len(),
            repeats,
        }
    }

    /// A world has ended.
    pub(crate) fn say(&self, record: &SeriesRecord) {
        let ended = self.ended.fetch_add(1, Ordering::Relaxed) + 1;
        let which = if self.repeats > 1 {
            format!(", repeat {}, seed {}", record.repeat + 1, record.seed)
        } else {
            String::new()
        };
        let how = if record.partial { "cut short" } else { "done" };
        let goodput: f64 = record.flows.iter().map(|flow| flow.goodput_bps).sum();
        output::say(&format!(
            "[{ended}/{}] {}{which} {how}: {}",
            self.total,
            record.name,
            number::rate(goodput)
        ));
    }
}
