//! Bidirectional transfer between engine and kernel, and its checks.
//!
//! The received octets must equal the sent octets, by SHA-256 at both ends. Each side must learn
//! how the other ended.

use std::io::{self, ErrorKind, Read};
use std::net::SocketAddr;
use std::sync::Barrier;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use gigatcp_emulate::{EmulatorError, Snapshot};
use gigatcp_linux::SetupError;
use gigatcp_live::Options;

use crate::case::{Case, Ending, Opener};
use crate::end::End;
use crate::octets::{Source, digest, digest_of};
use crate::testbed::Testbed;

const PORT: u16 = 5001;
/// Timeout of any operation, long enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(180);
/// Octets that the aborting end reads before.
const BEFORE_ABORT: usize = 2_000;

/// Result of a transfer that did not fail.
#[derive(Debug)]
pub enum Done {
    /// All checks passed.
    Passed {
        /// Duration.
        took: Duration,
        /// Compared octets.
        compared: u64,
        /// Counters of the path.
        path: Box<Snapshot>,
    },
    /// Skipped, as the kernel lacks a requirement.
    Skipped(String),
}

/// Reason why a transfer failed or was not possible.
#[derive(Debug)]
pub enum Trouble {
    /// Failed setup.
    Setup(SetupError),
    /// Failed check.
    Failed(String),
}

impl From<EmulatorError> for Trouble {
    fn from(error: EmulatorError) -> Self {
        match error {
            EmulatorError::Setup(error) => Self::Setup(error),
            other => Self::Failed(other.to_string()),
        }
    }
}

/// Runs the transfer.
///
/// # Errors
/// [`Trouble`].
pub fn run(case: &Case) -> Result<Done, Trouble> {
    let began = Instant::now();
    let testbed = Testbed::new(&case.testbed())?;
    let known = testbed
        .kernel_controls()
        .map_err(|error| failed("controls", &error))?;
    let wanted = case.kernel_control;
    if !known.iter().any(|name| name == wanted) {
        let what = format!("the kernel has no {wanted} here: `modprobe tcp_{wanted}`");
        return Ok(Done::Skipped(what));
    }
    let ends = open(&testbed, case).map_err(|error| failed("opening", &error))?;
    let compared = exchange(case, ends).map_err(Trouble::Failed)?;
    match testbed.stack.settle(PATIENCE) {
        Ok(true) => {}
        Ok(false) => {
            let counters = testbed.stack.counters();
            return Err(Trouble::Failed(format!("it does not end: {counters:?}")));
        }
        Err(error) => return Err(failed("settling", &error)),
    }
    let path = Box::new(testbed.finish().map_err(Trouble::Failed)?);
    Ok(Done::Passed {
        took: began.elapsed(),
        compared,
        path,
    })
}

fn failed(what: &str, error: &io::Error) -> Trouble {
    Trouble::Failed(format!("{what}: {error}"))
}

/// Opens a connection, and returns the ends of engine and kernel.
fn open(testbed: &Testbed, case: &Case) -> io::Result<[End; 2]> {
    let mut options = Options::default().with_congestion(case.engine_control)?;
    if let Some((receive, send)) = case.engine_buffers() {
        options.receive_buffer = Some(receive);
        options.send_buffer = Some(send);
    }
    let control = case.kernel_control;
    let ends = match case.opener {
        Opener::Engine => {
            let at: SocketAddr = (Testbed::kernel_address(case.is_v6), PORT).into();
            let listener = testbed.kernel_listens(at, control)?;
            let ours = testbed.stack.connect_timeout(at, &options, PATIENCE)?;
            [End::Engine(ours), End::Kernel(listener.accept()?.0)]
        }
        Opener::Kernel => {
            let at: SocketAddr = (Testbed::engine_address(case.is_v6), PORT).into();
            let listener = testbed.stack.listen(at, &options)?;
            let theirs = testbed.kernel_connects(at, control, PATIENCE)?;
            [End::Engine(listener.accept()?.0), End::Kernel(theirs)]
        }
    };
    ends.iter().try_for_each(|end| end.set_patience(PATIENCE))?;
    Ok(ends)
}

/// Runs the transfer of a case. Returns the number of compared octets, or the failed check.
pub(crate) fn exchange(case: &Case, ends: [End; 2]) -> Result<u64, String> {
    let octets = |side: usize| Source::first(2 * case.seed + side as u64, case.sizes[side]);
    let [ours, theirs] = [0, 1].map(octets);
    let [engine, kernel] = ends;
    let meeting = Barrier::new(2);
    let side = |end, writes, expects, when| Side {
        end,
        writes,
        expects,
        when,
    };
    let in_order = |engine_closes, kernel_closes| {
        let sides = [
            side(&engine, &ours[..], &theirs[..], engine_closes),
            side(&kernel, &theirs[..], &ours[..], kernel_closes),
        ];
        thread::scope(|scope| {
            let done = sides
                .map(|side| scope.spawn(move || side.play()))
                .map(|side| {
                    let done = side.join();
                    done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                });
            both(done)
        })
    };
    match case.ending {
        Ending::EachByItself => in_order(When::Written, When::Written),
        Ending::AtOnce => in_order(When::Together(&meeting), When::Together(&meeting)),
        Ending::EngineHalf => in_order(When::Written, When::Second),
        Ending::KernelHalf => in_order(When::Second, When::Written),
        Ending::EngineAborts => abort(engine, &kernel, &ours),
        Ending::KernelAborts => abort(kernel, &engine, &theirs),
    }
}

/// Sum of both results, or all errors.
fn both(done: [Result<u64, String>; 2]) -> Result<u64, String> {
    match done {
        [Ok(one), Ok(other)] => Ok(one + other),
        [Err(one), Err(other)] => Err(format!("{one}; {other}")),
        [Err(what), Ok(_)] | [Ok(_), Err(what)] => Err(what),
    }
}

/// Time at which a side writes and closes.
#[derive(Clone, Copy)]
pub(crate) enum When<'a> {
    /// Writes immediately, and closes afterwards.
    Written,
    /// Writes immediately, and closes together with the other side.
    Together(&'a Barrier),
    /// Writes and closes after the other side has closed.
    Second,
}

/// Task of one side.
pub(crate) struct Side<'a> {
    pub(crate) end: &'a End,
    pub(crate) writes: &'a [u8],
    pub(crate) expects: &'a [u8],
    pub(crate) when: When<'a>,
}

impl Side<'_> {
    /// Runs both directions. Returns the number of compared octets.
    pub(crate) fn play(&self) -> Result<u64, String> {
        let name = self.end.name();
        let (tell, told) = channel();
        thread::scope(|scope| {
            let writing = scope.spawn(move || self.write(&told));
            let read = self.read(&tell);
            let written = writing
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                .map_err(|error| format!("{name} writes: {error}"));
            both([written.map(|()| 0), read])
        })
    }

    fn write(&self, told: &Receiver<()>) -> io::Result<()> {
        if let When::Second = self.when {
            // A failed read reports its own error.
            let _ = told.recv();
        }
        let written = self.end.write_all_octets(self.writes);
        if let When::Together(meeting) = self.when {
            meeting.wait();
        }
        written?;
        self.end.close_write()
    }

    fn read(&self, tell: &Sender<()>) -> Result<u64, String> {
        let (len, sum, error) = digest_of(self.end);
        let _ = tell.send(());
        let name = self.end.name();
        let wanted = self.expects.len() as u64;
        match error {
            Some(error) => {
                let state = self.end.state();
                Err(format!(
                    "{name} reads {len} of {wanted} octets: {error}{state}"
                ))
            }
            None if len != wanted => Err(format!("{name} reads {len} of {wanted} octets")),
            None if sum != digest(self.expects) => Err(format!("{name} reads other octets")),
            None => Ok(len),
        }
    }
}

/// Tests an abort. `first` writes its octets, reads a little and aborts; `other` writes until it
/// learns of it. Returns the number of compared octets.
fn abort(first: End, other: &End, octets: &[u8]) -> Result<u64, String> {
    let (name, aborts) = (other.name(), first.name());
    thread::scope(|scope| {
        let writing = scope.spawn(|| {
            loop {
                if let Err(error) = other.write_all_octets(&[7; 10_000]) {
                    break error;
                }
            }
        });
        let reading = scope.spawn(|| read_until_reset(other));
        let written = first.write_all_octets(octets);
        let heard = (&first).read_exact(&mut [0; BEFORE_ABORT]);
        let done = written.and(heard).and_then(|()| first.abort());
        let (read, last) = reading
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let writes = writing
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        done.map_err(|error| format!("{aborts} cannot abort: {error}"))?;
        if !octets.starts_with(&read) {
            return Err(format!("{name} reads other octets before the reset"));
        }
        // A kernel socket reports the reset to one caller, and the end of the connection to the
        // other.
        let [reads, writes] = [last, Some(writes.kind())];
        let is_reset = |kind| kind == Some(ErrorKind::ConnectionReset);
        let is_sound = (is_reset(reads) || reads.is_none())
            && (is_reset(writes) || writes == Some(ErrorKind::BrokenPipe))
            && (is_reset(reads) || is_reset(writes));
        if !is_sound {
            let what = format!("reading {reads:?}, writing {writes:?}");
            return Err(format!("{aborts} aborts, and {name} learns: {what}"));
        }
        Ok(read.len() as u64)
    })
}

/// Reads until an error, and returns the octets and the error. `None` after a normal end.
fn read_until_reset(mut end: &End) -> (Vec<u8>, Option<ErrorKind>) {
    let mut all = Vec::new();
    let last = end.read_to_end(&mut all).err();
    (all, last.map(|error| error.kind()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    /// Two ends of one connection over the loopback.
    fn pair() -> [End; 2] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        [End::Kernel(one), End::Kernel(listener.accept().unwrap().0)]
    }

    /// Result of the second end, which expects `expects`, if the first writes `writes`.
    fn judged(writes: &[u8], expects: &[u8]) -> Result<u64, String> {
        let [one, other] = pair();
        one.write_all_octets(writes).unwrap();
        one.close_write().unwrap();
        let side = Side {
            end: &other,
            writes: &[],
            expects,
            when: When::Written,
        };
        side.play()
    }

    #[test]
    fn an_octet_that_differs_or_is_missing_is_noticed() {
        assert_eq!(judged(b"gigatcp", b"gigatcp"), Ok(7));
        let differs = judged(b"gigatcp", b"gigatcq").unwrap_err();
        assert!(differs.contains("other octets"), "{differs}");
        let missing = judged(b"gigatc", b"gigatcp").unwrap_err();
        assert!(missing.contains("6 of 7"), "{missing}");
    }
}
