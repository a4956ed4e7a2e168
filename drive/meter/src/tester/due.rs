//! Readings that the thread of a stream takes itself, between two calls on its socket.
//!
//! `getsockopt` locks the socket. A second thread that reads it during a write of 128 KiB waits
//! for the lock, then the writer waits for the reader: at 50 Gbit/s and a reading each 10 ms that
//! costs 4 to 5 % of the rate. A thread that waits inside a call does not answer; its socket is
//! unlocked then, and the thread that collects the readings reads it.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use gigatcp_why::counters::Reading;

use super::connection::Connection;
use crate::Sampler;

/// A reading that is requested of a stream's thread, and its answer.
#[derive(Debug, Default)]
pub(super) struct DueReading {
    is_due: AtomicBool,
    taken: Mutex<Option<(Instant, Reading)>>,
}

impl DueReading {
    /// Takes the reading if one is due: called by the stream's thread before each block.
    #[inline]
    pub(super) fn answer(&self, connection: &dyn Connection, sampler: &Sampler) {
        if self.is_due.load(Ordering::Acquire) {
            self.take(connection, sampler);
        }
    }

    #[cold]
    fn take(&self, connection: &dyn Connection, sampler: &Sampler) {
        // Held while the socket is read: readings are in the order of their moments.
        let mut taken = self.taken();
        let now = Instant::now();
        *taken = connection
            .reading(sampler, gigatcp_units::Instant::ZERO)
            .ok()
            .map(|reading| (now, reading));
        self.is_due.store(false, Ordering::Release);
    }

    /// Returns the reading that the thread took since the last call, or takes one now, with its
    /// moment; requests the next one.
    pub(super) fn collect(
        &self,
        connection: &dyn Connection,
        sampler: &Sampler,
    ) -> io::Result<(Instant, Reading)> {
        let mut taken = self.taken();
        let reading = taken.take().map_or_else(
            || {
                let now = Instant::now();
                let reading = connection.reading(sampler, gigatcp_units::Instant::ZERO)?;
                Ok((now, reading))
            },
            Ok,
        );
        self.is_due.store(true, Ordering::Release);
        reading
    }

    /// Drops an answer: the next call of [`Self::collect`] reads the socket.
    pub(super) fn withdraw(&self) {
        self.is_due.store(false, Ordering::Release);
        *self.taken() = None;
    }

    fn taken(&self) -> MutexGuard<'_, Option<(Instant, Reading)>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn a_thread_that_answers_saves_the_collector_the_call_and_one_that_waits_does_not() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (_peer, _) = listener.accept().unwrap();
        let (due, sampler) = (DueReading::default(), Sampler::default());
        let sent = |(_, reading): (Instant, Reading)| reading.bytes_sent.unwrap().as_u64();

        due.answer(&stream, &sampler);
        stream.write_all(&[1; 100]).unwrap();
        // Nothing was due, so nothing was taken before the write.
        assert_eq!(sent(due.collect(&stream, &sampler).unwrap()), 100);

        due.answer(&stream, &sampler);
        stream.write_all(&[1; 100]).unwrap();
        assert_eq!(sent(due.collect(&stream, &sampler).unwrap()), 100);

        stream.write_all(&[1; 100]).unwrap();
        due.answer(&stream, &sampler);
        due.withdraw();
        stream.write_all(&[1; 100]).unwrap();
        assert_eq!(sent(due.collect(&stream, &sampler).unwrap()), 400);
    }
}
