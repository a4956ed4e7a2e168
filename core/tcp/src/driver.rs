//! Calls for drivers that store connections themselves.
//!
//! An [`Endpoint`](crate::Endpoint) makes them where they are needed, so that its programs do not.
//! Simulators, packet scripts and streams under locks of their own have no endpoint: they count the
//! memory of a host, know why an application does not write, and open connections with Fast Open
//! cookies or keys. [`DriverCalls`] is for them. The library `gigatcp-stack` leaves it out.

use gigatcp_units::{Bytes, Duration, Instant};
#[cfg(feature = "fast-open")]
use gigatcp_wire::FastOpenCookie;
use gigatcp_wire::{Payload, Segment, SeqNumber};

#[cfg(feature = "authentication")]
use crate::authentication::{KeyError, Keys, MasterKey};
use crate::connection::{Connection, Predecessor};
#[cfg(any(feature = "authentication", feature = "fast-open"))]
use crate::connection::{ConnectionConfig, Received};
use crate::events::{Limit, Phase};
#[cfg(feature = "fast-open")]
use crate::fast_open::{FastOpenOffer, FastOpenOutcome};
#[cfg(feature = "authentication")]
use crate::four_tuple::FourTuple;

/// Calls of a [`Connection`] for drivers that store connections themselves.
pub trait DriverCalls<P>: Sized {
    /// Recovery phase; cheap, unlike [`Connection::info`].
    fn phase(&self) -> Phase;

    /// Congestion window.
    fn cwnd(&self) -> Bytes;

    /// Smoothed round-trip time.
    fn srtt(&self) -> Option<Duration>;

    /// SND.UNA as a stream offset.
    fn snd_una(&self) -> u64;

    /// Window the peer advertises.
    fn snd_wnd(&self) -> Bytes;

    /// Segments sent and not cumulatively acknowledged.
    fn segments_in_flight(&self) -> u64;

    /// Octets that may be written now: the free space of the send buffer. With `not_sent_lowat`
    /// set, only while less than that is unsent (Linux `TCP_NOTSENT_LOWAT`). A remainder below one
    /// segment is rounded up to a segment: less could not leave while Nagle's algorithm waits for
    /// the rest. If packets count, the space ends with a packet. 0 if the connection accepts no
    /// more data.
    fn send_space(&self) -> u64;

    /// Octets written and not yet sent.
    fn unsent(&self) -> u64;

    /// Whether the peer has closed and everything it sent has been read.
    fn is_finished_reading(&self) -> bool;

    /// Capacity of the send buffer in octets.
    fn send_capacity(&self) -> u64;

    /// Octets received and not read, those beyond gaps included. This is the host memory the
    /// connection occupies.
    fn received_and_held(&self) -> u64;

    /// Octets in the send buffer, sent or not.
    fn send_queue(&self) -> u64;

    /// Octets in the receive buffer, in order or not.
    fn receive_queue(&self) -> u64;

    /// Sets whether the application has more to write than fits. [`Connection::write`] sets it
    /// itself; a driver that keeps data back in front of the connection calls this, and one that
    /// offers a call in parts, before each part but the first. It decides between the send buffer
    /// and the application as the limit.
    fn set_write_blocked(&mut self, blocked: bool);

    /// Makes a writer wait if the send buffer is full. If packets count, it waits until a third of
    /// the buffer is free. [`Connection::write`] and [`DriverCalls::set_write_blocked`] call this;
    /// so does a driver that never offers more than [`DriverCalls::send_space`].
    fn wait_for_send_space(&mut self);

    /// Lets acknowledgments wait for data of the application, which writes at once: none is quick,
    /// until one had to leave by its timer (Linux: a write that waits for the handshake;
    /// `TCP_QUICKACK` 0).
    fn set_interactive(&mut self);

    /// Sets the number of retransmissions after which an unanswered SYN fails (Linux `TCP_SYNCNT`).
    fn set_syn_retries(&mut self, retries: u32);

    /// Whether reading has made an acknowledgment due. A driver that does not poll for segments
    /// after every read polls when this is true.
    fn is_window_update_due(&self) -> bool;

    /// Discards data beyond gaps when the host is short of memory. The peer has to retransmit it,
    /// though it may have been SACKed (RFC 2018 section 8 allows it; FreeBSD `tcp_drain`, Linux
    /// `tcp_prune_ofo_queue`). Returns the octets discarded.
    fn renege(&mut self) -> u64;

    /// ABORT because data arrived after the application stopped reading (RFC 9293 section 3.6.1).
    /// The segment acknowledged `ack`: the reset is sent there, where a peer that missed some of
    /// our data expects it (RFC 5961 section 3.2).
    fn abort_answering(&mut self, now: Instant, ack: Option<SeqNumber>);

    /// Grows the buffer for data beyond a gap, if it counts packets. Call it once the application
    /// has the connection (Linux `tcp_data_queue_ofo`, not before `accept`).
    fn grow_for_gap(&mut self, now: Instant);

    /// Free space at which an application waiting to write is woken. It is the profile's low-water
    /// mark, or a third of the send buffer, or half of `not_sent_lowat`, as in Linux
    /// (`sk_stream_is_writeable`).
    fn send_wake_space(&self) -> u64;

    /// Sets whether more of the same application call follows the next write. Until then less than
    /// a segment waits (BSD `PRUS_MORETOCOME`, Linux `MSG_MORE`), unless it is half of the largest
    /// window.
    fn set_more_to_come(&mut self, more: bool);

    /// Notes that the first link accepts no more: the driver has stopped polling for segments.
    /// Holds until [`Connection::poll_transmit`] finds another limit.
    fn note_path_limit(&mut self, now: Instant);

    /// Sets the limit to report when no written data is left to send. [`Limit::Application`] (the
    /// default): the application has no more; [`Limit::HostCpu`]: it waits for the host's CPU.
    fn set_idle_limit(&mut self, limit: Limit);

    /// Returns the old state if `segment` may open a new connection on these sockets. The driver
    /// calls this before it passes the segment in, if an application listens there.
    fn gives_way_to(&self, segment: &Segment<P>) -> Option<Predecessor>;

    /// Returns the old state if a new *active* open on these sockets need not wait. The peer may
    /// still be in TIME-WAIT itself, but will see a newer timestamp (RFC 6191 section 2; Linux
    /// `tcp_tw_reuse`).
    fn gives_way_to_reconnect(&self, now: Instant) -> Option<Predecessor>;

    /// Octets left to read before the urgent mark; `None` if none lies ahead.
    fn urgent_ahead(&self) -> Option<u64>;

    /// Whether the last octet before the urgent mark is available (`POLLPRI`). It has arrived and
    /// was neither read nor removed.
    fn has_urgent_octet(&self) -> bool;

    /// User timeout in force; zero if none.
    fn user_timeout(&self) -> Duration;

    /// Whether the SYN that opened this connection had a valid cookie, with or without data.
    /// Written data may then leave before the handshake is complete.
    fn is_opened_fast(&self) -> bool;

    /// Result of an offered fast open, for the cookie cache. It is complete once the connection is
    /// established or closed.
    #[cfg(feature = "fast-open")]
    fn fast_open_outcome(&self) -> Option<FastOpenOutcome>;

    /// Makes this active open a fast one, if the profile has `fast_open_client`. Call it after
    /// [`Connection::connect`] and [`Connection::write`], before the first
    /// [`Connection::poll_transmit`]. Returns whether it took effect.
    #[cfg(feature = "fast-open")]
    fn offer_fast_open(&mut self, offer: &FastOpenOffer) -> bool;

    /// Opens passively by a SYN with a Fast Open option. `grant` goes out with the SYN-ACK.
    /// `take_text`: the SYN's cookie was valid, and its data is accepted immediately. `None` if
    /// `syn` has no SYN.
    #[cfg(feature = "fast-open")]
    fn accept_fast_open(
        now: Instant,
        config: &ConnectionConfig,
        syn: &Received<P>,
        grant: Option<FastOpenCookie>,
        take_text: bool,
    ) -> Option<Self>;

    /// Opens actively with the first key of `keys`. `config` must have the ports of `tuple`.
    #[cfg(feature = "authentication")]
    fn connect_authenticated(
        now: Instant,
        config: &ConnectionConfig,
        tuple: &FourTuple,
        keys: &Keys<P>,
    ) -> Self;

    /// Opens passively by a SYN with a good code. `None` if `syn` has no SYN or no good code.
    #[cfg(feature = "authentication")]
    fn accept_authenticated(
        now: Instant,
        config: &ConnectionConfig,
        syn: &Received<P>,
        tuple: &FourTuple,
        keys: &Keys<P>,
    ) -> Option<Self>;

    /// Adds a key to a connection that is authenticated.
    ///
    /// # Errors
    /// [`KeyError::IdTaken`]; [`KeyError::Unknown`] where there are no keys.
    #[cfg(feature = "authentication")]
    fn add_key(&mut self, key: MasterKey) -> Result<(), KeyError>;

    /// Removes the key whose send KeyID is `send_id`.
    ///
    /// # Errors
    /// [`KeyError::InUse`] for the current key and for the one named to the peer
    /// as the next (RFC 5925 section 3.3); [`KeyError::Unknown`].
    #[cfg(feature = "authentication")]
    fn remove_key(&mut self, send_id: u8) -> Result<(), KeyError>;

    /// Requests that the peer send with the key of `receive_id`. The request goes out with the
    /// next segment.
    ///
    /// # Errors
    /// [`KeyError::Unknown`].
    #[cfg(feature = "authentication")]
    fn want_key(&mut self, receive_id: u8) -> Result<(), KeyError>;

    /// KeyIDs of the current send key and of the requested receive key. `None` if this connection
    /// is not authenticated.
    #[cfg(feature = "authentication")]
    fn keys_in_use(&self) -> Option<(u8, u8)>;
}

impl<P: Payload> DriverCalls<P> for Connection<P> {
    #[inline]
    fn phase(&self) -> Phase {
        Connection::phase(self)
    }

    #[inline]
    fn cwnd(&self) -> Bytes {
        Connection::cwnd(self)
    }

    #[inline]
    fn srtt(&self) -> Option<Duration> {
        Connection::srtt(self)
    }

    #[inline]
    fn snd_una(&self) -> u64 {
        Connection::snd_una(self)
    }

    #[inline]
    fn snd_wnd(&self) -> Bytes {
        Connection::snd_wnd(self)
    }

    #[inline]
    fn segments_in_flight(&self) -> u64 {
        Connection::segments_in_flight(self)
    }

    #[inline]
    fn send_space(&self) -> u64 {
        Connection::send_space(self)
    }

    #[inline]
    fn unsent(&self) -> u64 {
        Connection::unsent(self)
    }

    #[inline]
    fn is_finished_reading(&self) -> bool {
        Connection::is_finished_reading(self)
    }

    #[inline]
    fn send_capacity(&self) -> u64 {
        Connection::send_capacity(self)
    }

    #[inline]
    fn received_and_held(&self) -> u64 {
        Connection::received_and_held(self)
    }

    #[inline]
    fn send_queue(&self) -> u64 {
        Connection::send_queue(self)
    }

    #[inline]
    fn receive_queue(&self) -> u64 {
        Connection::receive_queue(self)
    }

    #[inline]
    fn set_write_blocked(&mut self, blocked: bool) {
        Connection::set_write_blocked(self, blocked)
    }

    #[inline]
    fn wait_for_send_space(&mut self) {
        Connection::wait_for_send_space(self)
    }

    fn set_interactive(&mut self) {
        Connection::set_interactive(self);
    }

    fn set_syn_retries(&mut self, retries: u32) {
        Connection::set_syn_retries(self, retries);
    }

    #[inline]
    fn is_window_update_due(&self) -> bool {
        Connection::is_window_update_due(self)
    }

    #[inline]
    fn renege(&mut self) -> u64 {
        Connection::renege(self)
    }

    #[inline]
    fn abort_answering(&mut self, now: Instant, ack: Option<SeqNumber>) {
        Connection::abort_answering(self, now, ack)
    }

    #[inline]
    fn grow_for_gap(&mut self, now: Instant) {
        Connection::grow_for_gap(self, now)
    }

    #[inline]
    fn send_wake_space(&self) -> u64 {
        Connection::send_wake_space(self)
    }

    #[inline]
    fn set_more_to_come(&mut self, more: bool) {
        Connection::set_more_to_come(self, more)
    }

    #[inline]
    fn note_path_limit(&mut self, now: Instant) {
        Connection::note_path_limit(self, now)
    }

    #[inline]
    fn set_idle_limit(&mut self, limit: Limit) {
        Connection::set_idle_limit(self, limit)
    }

    #[inline]
    fn gives_way_to(&self, segment: &Segment<P>) -> Option<Predecessor> {
        Connection::gives_way_to(self, segment)
    }

    #[inline]
    fn gives_way_to_reconnect(&self, now: Instant) -> Option<Predecessor> {
        Connection::gives_way_to_reconnect(self, now)
    }

    #[inline]
    fn urgent_ahead(&self) -> Option<u64> {
        Connection::urgent_ahead(self)
    }

    #[inline]
    fn has_urgent_octet(&self) -> bool {
        Connection::has_urgent_octet(self)
    }

    #[inline]
    fn user_timeout(&self) -> Duration {
        Connection::user_timeout(self)
    }

    #[inline]
    fn is_opened_fast(&self) -> bool {
        Connection::is_opened_fast(self)
    }

    #[cfg(feature = "fast-open")]
    #[inline]
    fn fast_open_outcome(&self) -> Option<FastOpenOutcome> {
        Connection::fast_open_outcome(self)
    }

    #[cfg(feature = "fast-open")]
    #[inline]
    fn offer_fast_open(&mut self, offer: &FastOpenOffer) -> bool {
        Connection::offer_fast_open(self, offer)
    }

    #[cfg(feature = "fast-open")]
    #[inline]
    fn accept_fast_open(
        now: Instant,
        config: &ConnectionConfig,
        syn: &Received<P>,
        grant: Option<FastOpenCookie>,
        take_text: bool,
    ) -> Option<Self> {
        Connection::accept_fast_open(now, config, syn, grant, take_text)
    }

    #[cfg(feature = "authentication")]
    #[inline]
    fn connect_authenticated(
        now: Instant,
        config: &ConnectionConfig,
        tuple: &FourTuple,
        keys: &Keys<P>,
    ) -> Self {
        Connection::connect_authenticated(now, config, tuple, keys)
    }

    #[cfg(feature = "authentication")]
    #[inline]
    fn accept_authenticated(
        now: Instant,
        config: &ConnectionConfig,
        syn: &Received<P>,
        tuple: &FourTuple,
        keys: &Keys<P>,
    ) -> Option<Self> {
        Connection::accept_authenticated(now, config, syn, tuple, keys)
    }

    #[cfg(feature = "authentication")]
    #[inline]
    fn add_key(&mut self, key: MasterKey) -> Result<(), KeyError> {
        Connection::add_key(self, key)
    }

    #[cfg(feature = "authentication")]
    #[inline]
    fn remove_key(&mut self, send_id: u8) -> Result<(), KeyError> {
        Connection::remove_key(self, send_id)
    }

    #[cfg(feature = "authentication")]
    #[inline]
    fn want_key(&mut self, receive_id: u8) -> Result<(), KeyError> {
        Connection::want_key(self, receive_id)
    }

    #[cfg(feature = "authentication")]
    #[inline]
    fn keys_in_use(&self) -> Option<(u8, u8)> {
        Connection::keys_in_use(self)
    }
}
