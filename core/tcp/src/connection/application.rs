//! User calls: RFC 9293 section 3.9.1.

use gigatcp_units::Instant;
use gigatcp_wire::{Payload, PayloadOctets, SeqNumber};

use super::{Connection, Failure, ReadError, Reset, WriteError};
use crate::events::State;

impl<P: Payload> Connection<P> {
    /// SEND: writes as much of `payload` as fits into the send buffer. Returns the number of
    /// octets written; the caller keeps the rest. Writing is allowed from SYN-SENT on; data waits
    /// for the handshake.
    ///
    /// # Errors
    /// [`WriteError::Full`] if not one octet fits; the others if nothing
    /// will ever be sent.
    pub fn write(&mut self, payload: P) -> Result<usize, WriteError> {
        if !self.may_write() {
            return Err(self.why_not_written());
        }
        if self.buffers.send_memory.is_some() {
            self.note_app_limit_of_write();
        }
        let offered = payload.len();
        let room = self.take_send_space(offered as u64);
        let accepted = self.send_buffer.write(payload, room);
        self.set_write_blocked(accepted < offered);
        if accepted == 0 && offered > 0 {
            return Err(WriteError::Full);
        }
        Ok(accepted)
    }

    /// Notes whether the application was the limit until now. Linux looks when a write begins, not
    /// while one waits for space. A write after one that did not fit continues it, unless nothing
    /// was in flight any more: then it was not space that was missing.
    #[inline(never)]
    fn note_app_limit_of_write(&mut self) {
        let continues = self.limiting.write_blocked && self.board.in_flight() > 0;
        if !continues && self.unsent() < u64::from(self.smss) && !self.board.has_lost() {
            self.note_app_limit();
        }
    }

    #[cold]
    fn why_not_written(&self) -> WriteError {
        self.failure.map_or(WriteError::Closed, WriteError::Failed)
    }

    /// Whether a connection exists and this side has not closed it.
    #[inline]
    pub(super) fn may_write(&self) -> bool {
        let is_open = matches!(
            self.state,
            State::SynSent | State::SynReceived | State::Established | State::CloseWait
        );
        is_open && !self.closing.fin_wanted
    }

    /// Capacity of the send buffer in octets.
    #[inline]
    #[doc(hidden)]
    pub fn send_capacity(&self) -> u64 {
        self.send_buffer.capacity()
    }

    /// Octets written and not yet sent.
    #[inline]
    #[doc(hidden)]
    pub fn unsent(&self) -> u64 {
        self.send_buffer.end().saturating_sub(self.snd.nxt.max(1))
    }

    /// Sets whether the application has more to write than fits. [`Connection::write`] sets it
    /// itself; a driver that keeps data back in front of the connection calls this, and one that
    /// offers a call in parts, before each part but the first. It decides between the send buffer
    /// and the application as the limit.
    #[doc(hidden)]
    pub fn set_write_blocked(&mut self, blocked: bool) {
        self.limiting.write_blocked = blocked;
        if blocked {
            self.wait_for_send_space();
        }
    }

    /// Lets acknowledgments wait for data of the application, which writes at once: none is quick,
    /// until one had to leave by its timer (Linux: a write that waits for the handshake;
    /// `TCP_QUICKACK` 0).
    #[doc(hidden)]
    pub fn set_interactive(&mut self) {
        self.ack.set_interactive();
    }

    /// Makes a writer wait if the send buffer is full. If packets count, it waits until a third of
    /// the buffer is free. [`Connection::write`] and [`Connection::set_write_blocked`] call this;
    /// so does a driver that never offers more than [`Connection::send_space`].
    #[doc(hidden)]
    pub fn wait_for_send_space(&mut self) {
        if self.send_space() == 0
            && let Some(memory) = &mut self.buffers.send_memory
        {
            memory.on_blocked();
        }
    }

    /// RECEIVE: returns up to `max` octets in order, in one piece that shares its memory. `None`
    /// if nothing is readable, whether or not the peer may send more:
    /// [`Connection::read_into`] distinguishes the two. The window this opens is advertised once the
    /// increase is worth a segment.
    pub fn read(&mut self, now: Instant, max: usize) -> Option<P> {
        let max = if self.urgent.is_ahead() {
            self.up_to_mark(max)
        } else {
            max
        };
        let piece = self.receive_buffer.read(max);
        if let Some(piece) = &piece {
            self.on_read(now, piece.len() as u64);
        }
        piece
    }

    /// Updates the window after the application has read `octets`.
    #[inline]
    fn on_read(&mut self, now: Instant, octets: u64) {
        self.urgent.on_read(octets);
        self.release_read();
        if self.transport.profile.acknowledgments.ack_waits_for_reader {
            self.ack.on_read(self.ack_every(now));
        }
        if self.transport.profile.acknowledgments.ack_of_push && self.received_and_held() == 0 {
            self.ack.on_all_read();
        }
        let receiving = matches!(
            self.state,
            State::Established | State::FinWait1 | State::FinWait2
        );
        if receiving {
            self.adjust_receive_buffer(now);
            self.demand_window_update();
        }
    }

    /// Readable pieces without consuming them (`MSG_PEEK`).
    pub fn peek(&self) -> impl Iterator<Item = &P> {
        self.receive_buffer.ready()
    }

    /// RECEIVE into the caller's memory: returns the number of octets written to `buffer`. `Ok(0)`
    /// is the end of the stream: the peer has closed, and everything it sent was read (or `buffer`
    /// is empty).
    ///
    /// # Errors
    /// [`ReadError::Empty`] if nothing has arrived yet; [`ReadError::Failed`] after
    /// the last octet of a connection that failed.
    pub fn read_into(&mut self, now: Instant, buffer: &mut [u8]) -> Result<usize, ReadError>
    where
        P: PayloadOctets,
    {
        let mut filled = 0;
        while filled < buffer.len()
            && let Some(piece) = self.read(now, buffer.len() - filled)
        {
            piece.write_to(&mut buffer[filled..filled + piece.len()]);
            filled += piece.len();
        }
        if filled > 0 || buffer.is_empty() {
            return Ok(filled);
        }
        self.end_of_stream().map(|()| 0)
    }

    /// Whether the peer has closed, for a caller that found no data.
    ///
    /// # Errors
    /// As [`Connection::read_into`].
    pub(crate) fn end_of_stream(&self) -> Result<(), ReadError> {
        match self.failure {
            Some(failure) => Err(ReadError::Failed(failure)),
            None if self.is_finished_reading() => Ok(()),
            None => Err(ReadError::Empty),
        }
    }

    /// Releases the memory of packets that have been read.
    #[inline]
    pub(super) fn release_read(&mut self) {
        let read = self.rcv.nxt.saturating_sub(self.receive_buffer.readable());
        self.window.on_read(read);
    }

    /// Requests an acknowledgment if the window has opened far enough.
    #[inline]
    pub(super) fn demand_window_update(&mut self) {
        let now_open = self.rcv.advertised_edge.saturating_sub(self.rcv.nxt);
        if self
            .window
            .is_update_due(now_open, || self.window_on_wire())
        {
            self.ack.demand();
        }
    }

    /// Whether reading has made an acknowledgment due. A driver that does not poll for segments
    /// after every read polls when this is true.
    #[inline]
    #[doc(hidden)]
    pub fn is_window_update_due(&self) -> bool {
        self.ack.is_due()
    }

    /// Octets available for reading.
    #[inline]
    pub fn readable(&self) -> u64 {
        self.receive_buffer.readable()
    }

    /// Octets received and not read, those beyond gaps included. This is the host memory the
    /// connection occupies.
    #[doc(hidden)]
    pub fn received_and_held(&self) -> u64 {
        self.receive_buffer.readable() + self.receive_buffer.held()
    }

    /// Whether the peer has closed and everything it sent has been read.
    #[doc(hidden)]
    pub fn is_finished_reading(&self) -> bool {
        let no_more = matches!(
            self.state,
            State::CloseWait | State::Closing | State::LastAck | State::TimeWait | State::Closed
        );
        no_more && self.receive_buffer.readable() == 0
    }

    /// Discards data beyond gaps when the host is short of memory. The peer has to retransmit it,
    /// though it may have been SACKed (RFC 2018 section 8 allows it; FreeBSD `tcp_drain`, Linux
    /// `tcp_prune_ofo_queue`). Returns the octets discarded.
    #[doc(hidden)]
    pub fn renege(&mut self) -> u64 {
        self.receive_buffer.drop_held()
    }

    /// Ends a record: no segment spans this point of the stream (Linux `MSG_EOR`).
    pub fn end_record(&mut self) {
        self.send_buffer.end_record();
    }

    /// CLOSE: ends writing; a FIN follows the written data. Reading continues until the peer
    /// closes too.
    pub fn shutdown(&mut self, now: Instant) {
        if self.closing.fin_wanted {
            return;
        }
        match self.state {
            State::SynSent | State::Listen => self.set_state(now, State::Closed),
            // In SYN-RECEIVED the FIN waits for the handshake.
            State::SynReceived => self.closing.fin_wanted = true,
            State::Established => {
                self.closing.fin_wanted = true;
                self.set_state(now, State::FinWait1);
            }
            State::CloseWait => {
                self.closing.fin_wanted = true;
                self.set_state(now, State::LastAck);
            }
            _ => {}
        }
        self.limiting.write_blocked = false;
    }

    /// ABORT because data arrived after the application stopped reading (RFC 9293 section 3.6.1).
    /// The segment acknowledged `ack`: the reset is sent there, where a peer that missed some of
    /// our data expects it (RFC 5961 section 3.2).
    #[doc(hidden)]
    pub fn abort_answering(&mut self, now: Instant, ack: Option<SeqNumber>) {
        self.abort(now);
        if let (Some(reset), Some(seq)) = (&mut self.closing.reset_due, ack) {
            *reset = Reset { seq, ack: None };
        }
    }

    /// ABORT: ends the connection immediately. A RST informs the peer in the states of RFC 9293
    /// section 3.10.5.
    pub fn abort(&mut self, now: Instant) {
        let tell = matches!(
            self.state,
            State::SynReceived
                | State::Established
                | State::FinWait1
                | State::FinWait2
                | State::CloseWait
        );
        if tell {
            self.closing.reset_due = Some(Reset {
                seq: self.snd.on_wire(self.snd.acceptable()),
                ack: Some(self.rcv.on_wire(self.rcv.nxt)),
            });
        }
        if self.state != State::Closed {
            self.fail(now, Failure::Aborted);
        }
    }
}
