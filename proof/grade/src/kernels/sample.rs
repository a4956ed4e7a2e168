//! Samples of `tcp_info` at both ends while a case runs.

use std::os::fd::RawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::diag::{Connection, Diag};

/// Columns of a series, after the time.
pub const COLUMNS: [&str; 31] = [
    "unread",
    "unacknowledged",
    "tcpi_ca_state",
    "tcpi_backoff",
    "tcpi_delivery_rate_app_limited",
    "tcpi_snd_mss",
    "tcpi_unacked",
    "tcpi_lost",
    "tcpi_rtt",
    "tcpi_min_rtt",
    "tcpi_snd_ssthresh",
    "tcpi_snd_cwnd",
    "tcpi_total_retrans",
    "tcpi_pacing_rate",
    "tcpi_bytes_acked",
    "tcpi_bytes_received",
    "tcpi_bytes_sent",
    "tcpi_bytes_retrans",
    "tcpi_notsent_bytes",
    "tcpi_delivery_rate",
    "tcpi_busy_time",
    "tcpi_rwnd_limited",
    "tcpi_sndbuf_limited",
    "tcpi_delivered_ce",
    "tcpi_dsack_dups",
    "tcpi_reord_seen",
    "tcpi_snd_wnd",
    "tcpi_rcv_space",
    "tcpi_total_rto",
    "tcpi_total_rto_time",
    "tcpi_rto",
];

/// Samples of one end of the graded connection.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Ports: local, remote.
    pub ports: [u16; 2],
    /// Names of the columns; the first is the time in us since the first data.
    pub columns: Vec<String>,
    /// One row per sample.
    pub rows: Vec<Vec<i64>>,
}

impl Series {
    /// A column's position.
    pub fn column(&self, name: &str) -> usize {
        let found = self.columns.iter().position(|column| column == name);
        found.unwrap_or(0)
    }

    /// Last value of a column.
    pub fn last(&self, name: &str) -> i64 {
        let at = self.column(name);
        self.rows.last().map_or(0, |row| row[at])
    }

    /// Removes rows of a closed connection, whose counters the kernel has released.
    pub fn clean(&mut self) {
        let sent = self.column("tcpi_bytes_sent");
        let received = self.column("tcpi_bytes_received");
        let mut most = 0;
        self.rows.retain(|row| {
            let moved = row[sent] + row[received];
            most = most.max(moved);
            moved >= most
        });
    }

    /// Thins rows to about 100 ms apart; the last one stays.
    pub fn thin(&mut self) {
        let mut kept: Vec<Vec<i64>> = Vec::new();
        let last = self.rows.last().cloned();
        for row in std::mem::take(&mut self.rows) {
            if kept
                .last()
                .is_none_or(|before| row[0] - before[0] >= 95_000)
            {
                kept.push(row);
            }
        }
        if kept.last() != last.as_ref() {
            kept.extend(last);
        }
        self.rows = kept;
    }
}

/// All connections of a host at one monotonic time.
pub type Moment = (u64, Vec<Connection>);

/// Thread that samples a host.
#[derive(Debug)]
pub struct Sampler {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Vec<Moment>>>,
}

/// Monotonic time.
pub fn now_ns() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` outlives the call.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Moves the calling thread into a namespace and raises its priority.
fn enter(namespace: RawFd) -> bool {
    // SAFETY: plain integers; only the calling thread is moved.
    unsafe {
        libc::setpriority(libc::PRIO_PROCESS, 0, -16);
        libc::setns(namespace, libc::CLONE_NEWNET) == 0
    }
}

impl Sampler {
    /// Starts sampling the host of `namespace`, once per `every`.
    pub fn start(namespace: RawFd, every: Duration) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            let mut moments = Vec::new();
            if !enter(namespace) {
                return moments;
            }
            let Ok(diag) = Diag::open() else {
                return moments;
            };
            while !stopped.load(Ordering::Relaxed) {
                if let Ok(found) = diag.connections() {
                    moments.push((now_ns(), found));
                }
                thread::sleep(every);
            }
            moments
        });
        Self {
            stop,
            thread: Some(thread),
        }
    }

    /// Ends sampling and returns the samples.
    pub fn finish(mut self) -> Vec<Moment> {
        self.stop.store(true, Ordering::Relaxed);
        let thread = self.thread.take();
        thread
            .and_then(|thread| thread.join().ok())
            .unwrap_or_default()
    }
}

/// Ports of the connection that moved the most bytes.
pub fn largest(moments: &[Moment], word: &str) -> Option<[u16; 2]> {
    let all = moments.iter().flat_map(|(_, found)| found);
    let best = all.max_by_key(|connection| connection.word(word))?;
    (best.word(word) > 0).then_some(best.ports)
}

/// Samples of one connection, timed from `origin`.
pub fn series(moments: &[Moment], ports: [u16; 2], origin: u64) -> Series {
    let mut columns = vec!["us".to_owned()];
    columns.extend(COLUMNS.iter().map(|name| (*name).to_owned()));
    let row = |at: u64, one: &Connection| {
        let mut row = vec![(at as i64 - origin as i64) / 1000];
        row.push(i64::from(one.unread));
        row.push(i64::from(one.unacknowledged));
        row.extend(COLUMNS[2..].iter().map(|name| one.word(name)));
        row
    };
    let rows = moments
        .iter()
        .filter_map(|(at, sockets)| {
            let socket = sockets.iter().find(|socket| socket.ports == ports)?;
            Some(row(*at, socket))
        })
        .collect();
    Series {
        ports,
        columns,
        rows,
    }
}
