//! A connection behind its socket: what the application wrote and read, held-back data, and
//! what leaves with its IP header.
//!
//! The application writes the bytes of the stream itself ([`crate::data`]), so held-back data
//! needs no memory except a count.

use alloc::boxed::Box;
use alloc::vec::Vec;

use gigatcp_tcp::connection::Failure;
use gigatcp_tcp::events::State;
use gigatcp_tcp::{Connection, Profile, SocketOption};
use gigatcp_units::{Duration, Instant};
use gigatcp_wire::IcmpKind;
use gigatcp_wire::bytes::Bytes;

use super::error_queue::ErrorQueue;
use super::socket_options::SocketOptions;
use super::times::Times;
use crate::data;

/// Time that corked data waits (Linux `tcp(7)`, TCP_CORK).
const CORK_TIME: Duration = Duration::from_millis(200);

/// A connection and its state outside the engine.
#[derive(Debug)]
pub struct Conn {
    pub tcp: Box<Connection<Bytes>>,
    pub local_port: u16,
    pub remote_port: u16,
    /// An application has it: not before `accept`, not after `close`.
    pub is_owned: bool,
    /// `TCP_CORK`.
    pub cork: bool,
    /// `SO_SNDBUF` requested after the connection began.
    pub late_send_buffer: Option<u64>,
    /// Bytes written, held ones included.
    pub written: u32,
    /// Bytes read.
    pub read: u32,
    /// Bytes written that are corked.
    pub held: u32,
    /// Latest time at which corked bytes leave.
    pub uncork_at: Instant,
    /// TOS of outgoing packets without its ECN bits.
    pub tos: u8,
    pub ttl: u8,
    pub dont_fragment: bool,
    /// The failure was reported to the application.
    pub is_failure_reported: bool,
    /// Whether errors are FreeBSD's.
    pub as_freebsd: bool,
    /// Urgent data arrived.
    pub has_urgent: bool,
    /// The outcome of a fast open is in the cache.
    pub fast_open_learned: bool,
    /// `shutdown(SHUT_RD)`.
    pub is_read_shutdown: bool,
    /// Another connection of the same ports has taken its place.
    pub is_replaced: bool,
    pub errors: ErrorQueue,
    pub times: Times,
    /// The send buffer counts packets with their overhead.
    pub counts_packets: bool,
}

impl Conn {
    pub fn is_closed(&self) -> bool {
        self.tcp.state() == State::Closed || self.is_replaced
    }

    /// Accepts up to `len` bytes from the application and returns their number.
    pub fn feed(&mut self, now: Instant, len: usize, more: bool, as_linux: bool) -> usize {
        let accepted = len.min(self.room());
        self.tcp.set_write_blocked(accepted < len);
        self.held += accepted as u32;
        self.written = self.written.wrapping_add(accepted as u32);
        if !self.cork && !more {
            self.release_held();
            return accepted;
        }
        // Whole segments leave, the rest waits for more.
        let smss = u64::from(self.tcp.info().smss.max(1));
        let unsent = self.tcp.unsent();
        let whole = (unsent + u64::from(self.held)) / smss * smss;
        self.release(whole.saturating_sub(unsent) as u32);
        if self.held == 0 {
            self.uncork_at = Instant::FAR_FUTURE;
        } else if self.uncork_at == Instant::FAR_FUTURE {
            // Linux releases corked data when its retransmission timer checks whether the
            // window has opened; its manual says 200 ms.
            let wait = match as_linux {
                true => self.tcp.info().rto,
                false => CORK_TIME,
            };
            self.uncork_at = now + wait;
        }
        accepted
    }

    /// Accepts bytes of which the last is urgent, after those held back.
    pub fn feed_urgent(&mut self, len: usize) -> usize {
        self.release_held();
        let octets = data::octets(1_u32.wrapping_add(self.written), len);
        let accepted = self.tcp.write_urgent(octets).unwrap_or(0);
        self.written = self.written.wrapping_add(accepted as u32);
        accepted
    }

    /// Hands all held-back bytes to the engine.
    pub fn release_held(&mut self) {
        self.uncork_at = Instant::FAR_FUTURE;
        self.release(self.held);
    }

    /// Hands `n` of the held-back bytes to the engine.
    fn release(&mut self, n: u32) {
        debug_assert!(
            n <= self.held,
            "no more is handed over than is held back: {n} of {}",
            self.held
        );
        if n == 0 {
            return;
        }
        let offset = 1_u32.wrapping_add(self.written).wrapping_sub(self.held);
        let octets = data::octets(offset, n as usize);
        self.held -= self.tcp.write(octets).unwrap_or(0) as u32;
    }

    /// Number of bytes that the application may write now.
    pub fn room(&self) -> usize {
        let (capacity, space) = (self.tcp.send_capacity(), self.tcp.send_space());
        let space = match self.late_send_buffer {
            // The engine itself bounds a buffer that counts packets.
            Some(limit) if !self.counts_packets => {
                space.saturating_sub(capacity.saturating_sub(limit))
            }
            _ => space,
        };
        usize::try_from(space.saturating_sub(u64::from(self.held))).unwrap_or(usize::MAX)
    }

    /// Reads up to `max` bytes, or to an urgent mark.
    ///
    /// # Errors
    /// The offset of a byte that is not of the stream.
    pub fn take(&mut self, now: Instant, max: usize) -> Result<usize, usize> {
        let mut got = 0;
        while got < max
            && let Some(piece) = self.tcp.read(now, max - got)
        {
            let offset = 1_u32.wrapping_add(self.read);
            if let Some(at) = data::first_difference(offset, &piece) {
                // An urgent byte was taken out of line: the next one is in its place.
                let next = offset.wrapping_add(at as u32).wrapping_add(1);
                let is_aside = data::first_difference(next, &piece[at..]).is_none();
                if !self.has_urgent || !is_aside {
                    return Err(at);
                }
                self.read = self.read.wrapping_add(1);
            }
            got += piece.len();
            self.read = self.read.wrapping_add(piece.len() as u32);
            if self.tcp.is_at_urgent_mark() {
                break;
            }
        }
        Ok(got)
    }

    /// Events of `poll` and `epoll` that hold now, without their prefix.
    pub fn ready(&self) -> Vec<&'static str> {
        let state = self.tcp.state();
        // The peer's FIN is one whether or not everything before it was read.
        let has_fin = matches!(
            state,
            State::CloseWait | State::Closing | State::LastAck | State::TimeWait
        );
        let is_over = self.is_read_shutdown || has_fin || self.tcp.is_finished_reading();
        let may_write = matches!(state, State::Established | State::CloseWait);
        let has_failed = self.tcp.failure().is_some();
        let events = [
            ("IN", self.tcp.readable() > 0 || is_over),
            ("OUT", (may_write && self.room() > 0) || has_failed),
            (
                "ERR",
                (has_failed && !self.is_failure_reported) || self.errors.is_ready(),
            ),
            ("HUP", state == State::Closed),
            ("RDHUP", is_over),
            ("PRI", self.tcp.has_urgent_octet()),
        ];
        let ready = events.into_iter().filter(|(_, holds)| *holds);
        ready.map(|(event, _)| event).collect()
    }

    /// Failure as an error of a call, once.
    pub fn take_failure(&mut self) -> Option<&'static str> {
        let failure = self.tcp.failure()?;
        if core::mem::replace(&mut self.is_failure_reported, true) {
            return None;
        }
        Some(match failure {
            Failure::Refused => "ECONNREFUSED",
            Failure::Reset => "ECONNRESET",
            Failure::TimedOut => "ETIMEDOUT",
            Failure::Aborted => "ECONNABORTED",
            Failure::Unreachable if self.as_freebsd && self.has_hard_error() => "ECONNREFUSED",
            Failure::Unreachable => "EHOSTUNREACH",
        })
    }

    fn has_hard_error(&self) -> bool {
        self.tcp.info().soft_error.is_some_and(IcmpKind::is_hard)
    }

    pub fn set_keepalive_times(
        &mut self,
        now: Instant,
        options: &SocketOptions,
        profile: &Profile,
    ) {
        let (time, interval, probes) = options.keepalive_times(profile);
        self.tcp.set(
            now,
            SocketOption::KeepAliveTimes {
                idle: time,
                interval,
                probes,
            },
        );
    }

    /// Takes over the fields of the IP header.
    pub fn set_ip(&mut self, options: &SocketOptions) {
        self.tos = options.tos;
        self.ttl = options.ttl();
        self.dont_fragment = !options.may_fragment;
    }

    /// Reports acknowledged calls to the error queue.
    pub fn note_acknowledged(&mut self, at: Instant) {
        let is_closed = self.tcp.state() == State::Closed;
        let una = self.tcp.info().snd_una;
        self.errors.on_acknowledged(una, is_closed, at);
    }

    /// Reports calls whose last byte was sent to the error queue.
    pub fn note_sent(&mut self, at: Instant) {
        let info = self.tcp.info();
        let nxt = info.snd_una + info.flight_size.as_u64();
        self.errors.on_sent(nxt, at);
    }

    /// Starts or stops the clock of `tcpi_busy_time`.
    pub fn note_times(&mut self, now: Instant) {
        let in_flight = self.tcp.info().flight_size.as_u64();
        let is_open = self.tcp.info().snd_una > 0;
        self.times
            .set_busy(now, is_open && in_flight + self.tcp.unsent() > 0);
    }
}
