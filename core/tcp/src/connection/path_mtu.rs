//! Following the path MTU: RFC 1191, 8201, 4821, 8899; RFC 9293 section 3.7.2.
//!
//! SMSS follows the estimate of `crate::path_mtu`. When it falls, too large segments in flight are
//! retransmitted immediately in smaller ones. The scoreboard holds octets, not segments, so
//! nothing has to be split. This is not congestion: cwnd keeps its octets (RFC 8201 section 5.4,
//! Linux `tcp_simple_retransmit`). Nor is the loss of a probe, as long as nothing else was lost
//! with it (RFC 4821 section 7.5).
//!
//! A probe leaves only outside recovery and if enough data follows it for immediate loss
//! detection. Until cwnd has space for it new data waits, for less than a round trip.

use gigatcp_units::{Bytes, Instant};
use gigatcp_wire::{Flags, Payload, RouterRequest, Segment};

use super::Connection;
use super::ecn::OPTION_ROOM;
use crate::congestion::{CongestionKind, WindowBounds};
use crate::events::{CwndCause, Event, EventMask, LossVerdict, PathMtuCause, SendReason};
use crate::recovery::LossDetection;
use crate::space::{Length, Usable};

/// Maximum octets of options in a header.
const MOST_OPTIONS: u32 = 40;

/// Octets of the padded timestamps option in every segment (RFC 7323 appendix A).
const TIMESTAMPS_LEN: u32 = 12;

/// Effect of the path MTU search on new data.
pub(super) enum ProbeDecision<P> {
    /// New data may leave.
    Go,
    /// Nothing new may leave until cwnd has room for a probe.
    Wait,
    /// This probe leaves first.
    Probe(Segment<P>),
}

impl<P: Payload> Connection<P> {
    /// Largest packet in octets that both hosts take.
    pub(crate) fn packet_limit(&self) -> u32 {
        self.mss_limit + self.path.headers()
    }

    /// Octets of data and options in packets of `mtu` octets.
    pub(super) fn mss_of(&self, mtu: u32) -> u32 {
        let least = self.transport.profile.path_mtu.mss_min;
        let mss = mtu.saturating_sub(self.path.headers()).max(least);
        mss.min(self.mss_limit)
    }

    /// SMSS for packets of `mtu` octets. By RFC 9293 MUST-16, less the options of every data
    /// segment (RFC 6691). Never less than `mss_min` leaves space for, and a multiple of
    /// `smss_multiple` if it reaches one.
    pub(super) fn smss_of(&self, mtu: u32) -> u32 {
        let mss = self.mss_of(mtu);
        let stamps = u32::from(self.timestamps.is_some()) * TIMESTAMPS_LEN;
        let codes = self.authentication_room() as u32;
        let counters = u32::from(self.ecn.makes_room()) * OPTION_ROOM as u32;
        let start = u32::from(self.quick_start.has_room()) * RouterRequest::OPTION_LEN as u32;
        let routers = self.routers.room().max(start);
        let options = stamps + codes + counters + routers;
        let smss = mss.saturating_sub(options).max(1);
        self.transport.profile.whole_buffers(smss)
    }

    /// Updates SMSS and congestion control after the options of data segments changed.
    #[cold]
    pub(super) fn follow_segment_size(&mut self, now: Instant) {
        let smss = self.smss_of(self.path.current());
        if smss == self.smss {
            return;
        }
        let initial = self.transport.profile.congestion.initial_window;
        let is_fresh = self.snd.nxt <= 1 && self.congestion.cwnd() == initial.bytes(self.smss);
        self.smss = smss;
        if is_fresh {
            // Nothing has left: the initial window counts segments of the new size.
            self.start_congestion_control(now);
            return;
        }
        self.congestion.on_smss_change(smss);
        self.put_cwnd(now, CwndCause::PathMtu);
    }

    /// Updates SMSS and congestion control after the MTU estimate changed.
    fn follow_path_mtu(&mut self, now: Instant, cause: PathMtuCause) {
        let mtu = self.path.current();
        let smss = self.smss_of(mtu);
        let event = Event::PathMtuChanged { mtu, smss, cause };
        self.outbox.put(EventMask::CHANGES, now, event);
        self.follow_segment_size(now);
    }

    /// Processes "packet too big" with MTU `told` for the segment at `seq`. Returns whether it is
    /// accepted. A SYN with data is treated like any other segment (RFC 1191 section 3) and
    /// retransmitted without the data.
    pub(super) fn handle_too_big(&mut self, now: Instant, seq: u64, told: u32) -> bool {
        if !self.transport.profile.path_mtu.pmtud {
            return false;
        }
        let is_syn = seq == 0;
        // RFC 5927 section 7.1: a segment never larger than the reported MTU cannot have been too
        // large.
        let options = if is_syn { MOST_OPTIONS } else { TIMESTAMPS_LEN };
        let headers = u64::from(self.path.headers() + options);
        let at_most = self.board.sent_at_once(seq).map(|len| len + headers);
        if at_most.is_some_and(|at_most| at_most <= u64::from(told)) {
            return false;
        }
        let places = (self.snd.una, seq);
        if self
            .path
            .on_too_big(now, &self.transport.profile, told, places)
            .is_none()
        {
            return false;
        }
        self.follow_path_mtu(now, PathMtuCause::Icmp);
        if is_syn {
            self.handshake.syn_due = true;
        } else {
            self.resegment(now, seq);
        }
        true
    }

    /// Retransmits everything in flight from `seq` on, without congestion.
    fn resegment(&mut self, now: Instant, seq: u64) {
        let from = self.recovery.phase();
        let octets = self.board.mark_lost_from(seq);
        if octets == 0 {
            return;
        }
        self.recovery.on_resegmentation(self.snd.una..self.snd.nxt);
        let lost = LossDetection {
            lost: Some((seq, octets, LossVerdict::TooBig)),
            ..LossDetection::default()
        };
        self.put_lost(now, &lost);
        self.put_phase(now, from);
        self.timers.retransmit_at = now + self.rtt.rto();
    }

    /// Raises an old estimate, or sends a probe, if due. The probe precedes `unsent` octets of new
    /// data.
    pub(super) fn poll_path_mtu(
        &mut self,
        now: Instant,
        Length(unsent): Length,
        Usable { allowance, window }: Usable,
    ) -> ProbeDecision<P> {
        if !self.transport.profile.path_mtu.plpmtud {
            self.age_path_mtu(now);
            return ProbeDecision::Go;
        }
        if !self.recovery.is_quiet() {
            return ProbeDecision::Go;
        }
        let Some(mtu) = self.path.next_probe(now, &self.transport.profile) else {
            return ProbeDecision::Go;
        };
        let len = u64::from(self.smss_of(mtu));
        let smss = u64::from(self.smss);
        // Enough segments behind the probe that SACK or duplicate acknowledgments reveal its loss,
        // not the timer.
        let needed = len + (u64::from(self.transport.profile.recovery.dup_thresh) + 1) * smss;
        let cwnd = self.congestion.cwnd().as_u64();
        if len <= smss || unsent.min(window).min(cwnd) < needed {
            return ProbeDecision::Go;
        }
        if allowance < len {
            return if self.board.pipe() > 0 {
                ProbeDecision::Wait
            } else {
                ProbeDecision::Go
            };
        }
        ProbeDecision::Probe(self.send_probe(now, len, mtu))
    }

    fn send_probe(&mut self, now: Instant, len: u64, mtu: u32) -> Segment<P> {
        let octets = self.snd.nxt..self.snd.nxt + len;
        self.snd.nxt = octets.end;
        self.board.on_transmit(now, octets.end);
        self.path.on_probe_sent(octets.clone(), mtu);
        self.counters.path_mtu_probes += 1;
        let mut segment = self.send(now, octets, Flags::ACK, SendReason::PathMtuProbe);
        segment.segment_size = len as u16;
        if self.routers.room() > 0 || self.quick_start.has_room() {
            // Keeps the packet size without an option that this segment lacks: it must not be
            // smaller than what its arrival proves.
            let packet = self.path.headers() + segment.options.wire_len() as u32 + len as u32;
            let unused = mtu.saturating_sub(packet);
            segment.options.add_padding(unused as usize);
        }
        segment
    }

    /// Raises an old estimate (RFC 1191 section 6.3). It waits until cwnd holds two of the larger
    /// segments.
    fn age_path_mtu(&mut self, now: Instant) {
        let smss = u64::from(self.smss_of(self.path.aged()));
        if self.congestion.cwnd().as_u64() >= 2 * smss {
            self.path.age(now);
            self.follow_path_mtu(now, PathMtuCause::Aged);
        }
    }

    /// Processes the acknowledgment of the probe's end. If any of it was retransmitted, it is
    /// unknown which transmission arrived.
    pub(super) fn on_probe_covered(&mut self, now: Instant, retransmitted: bool) {
        if retransmitted {
            self.path.forget_probe();
        } else if self.path.on_probe_acknowledged().is_some() {
            self.follow_path_mtu(now, PathMtuCause::Probe);
        }
    }

    /// Removes the congestion from a loss of the probe alone: it was too big.
    #[cold]
    pub(super) fn excuse_probe(&mut self, now: Instant, detection: LossDetection) -> LossDetection {
        let Some(probe) = self.path.probe() else {
            return detection;
        };
        let (first, octets) = detection.lost.map_or((0, 0), |(seq, len, _)| (seq, len));
        let is_alone = detection.congestion == Some(CongestionKind::Loss)
            && probe.start == self.snd.una
            && probe.start == first
            && first + octets <= probe.end;
        if !is_alone {
            self.path.forget_probe();
            return detection;
        }
        self.counters.path_mtu_probes_lost += 1;
        self.path.on_probe_lost(&self.transport.profile);
        let from = self.recovery.phase();
        self.board.forgive_newly_lost();
        self.board.mark_lost_within(probe);
        self.recovery.on_probe_lost(self.snd.una..self.snd.nxt);
        self.eifel.stop();
        self.put_phase(now, from);
        LossDetection {
            congestion: None,
            ..detection
        }
    }

    /// Sets cwnd to the loss window, one segment of the new size. See RFC 5681 section 3.1.
    fn lower_loss_window(&mut self, now: Instant) {
        let bounds = WindowBounds {
            cwnd_at_most: Bytes::new(u64::from(self.smss)),
            ssthresh_at_least: Bytes::ZERO,
            ssthresh_at_most: Bytes::MAX,
        };
        self.congestion.on_unvalidated(now, &bounds);
        self.put_cwnd(now, CwndCause::PathMtu);
    }

    /// Processes a retransmission timeout. The probe is lost with the rest. Repeated losses of
    /// large segments indicate a black hole (RFC 4821 section 7.7, RFC 8899 section 4.3).
    pub(super) fn on_timeout_of_path(&mut self, now: Instant) {
        if self.path.probe_start() == Some(self.snd.una) {
            self.counters.path_mtu_probes_lost += 1;
            self.path.on_probe_lost(&self.transport.profile);
        }
        self.path.forget_probe();
        if let Some((_, seq)) = self
            .path
            .on_timeout(now, &self.transport.profile, self.snd.una)
        {
            self.follow_path_mtu(now, PathMtuCause::Icmp);
            self.resegment(now, seq);
        }
        let again_and_again = self
            .timers
            .timeouts_in_a_row
            .is_multiple_of(self.transport.profile.path_mtu.black_hole_timeouts);
        if !self.transport.profile.path_mtu.plpmtud || !again_and_again {
            return;
        }
        // A smaller size helps only segments larger than it.
        let vanished = u64::from(self.smss).min(self.snd.flight_size());
        let helps = |mtu: &u32| u64::from(self.smss_of(*mtu)) < vanished;
        if let Some(mtu) = self.path.falls(&self.transport.profile).find(helps) {
            self.path.on_black_hole(now, mtu);
            self.follow_path_mtu(now, PathMtuCause::BlackHole);
            self.lower_loss_window(now);
        }
    }
}
