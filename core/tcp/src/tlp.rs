//! Tail loss probe: RFC 8985 section 7.
//!
//! When the last segments of a flight are lost, nothing sent later can reveal it. Instead of
//! waiting for the retransmission timer, one segment is sent after
//!
//! > PTO = 2 SRTT, plus the maximum ACK delay while only one segment is in flight; 1 s before the
//! > first RTT sample; never later than the retransmission timer
//!
//! It is new data if there is any and the peer's window allows it, else the last segment again.
//! The answer lets RACK find other losses. If the probe itself filled the only gap, that loss
//! would remain undetected. Section 7.4 therefore decides by the presence of a D-SACK.
//!
//! Only one probe at a time, and none without an RTT sample since the previous one, so that the
//! retransmission timer is not postponed indefinitely. No probe in recovery, or while anything is
//! SACKed: there the reordering timer and the retransmission timer apply (section 7.2). Only with
//! SACK.

use alloc::boxed::Box;

use gigatcp_units::{Duration, Instant};

/// PTO without an RTT sample.
const PTO_WITHOUT_SRTT: Duration = Duration::from_secs(1);

/// Probe whose result is not yet known.
#[derive(Clone, Copy, Debug)]
pub struct Probe {
    /// `TLP.end_seq`: SND.NXT when it left.
    pub end: u64,
    /// Start of the probe, if it was a retransmission (`TLP.is_retrans`).
    pub resent_from: Option<u64>,
    /// Octets in flight when it left, from which a loss reduces the window.
    pub flight_size: u64,
}

/// Facts about an acknowledgment that decide on a probe.
#[derive(Clone, Copy, Debug)]
pub struct ProbeAck {
    /// SEG.ACK.
    pub ack: u64,
    /// End of the duplicate it reports (RFC 2883), if any.
    pub duplicate_end: Option<u64>,
    /// Whether it acknowledges nothing new and has no SACK block and no window change.
    pub bare_duplicate: bool,
}

/// State of tail loss probes.
#[derive(Clone, Default, Debug)]
pub struct TailLossProbe {
    outstanding: Option<Box<Probe>>,
    /// Whether an RTT was sampled since the last probe.
    sampled: bool,
    due: bool,
}

impl TailLossProbe {
    /// Whether the timer may be set. No probe is outstanding, and an RTT was sampled since the
    /// last (section 7.3).
    #[inline]
    pub fn may_probe(&self) -> bool {
        self.outstanding.is_none() && self.sampled
    }

    /// Notes an RTT sample.
    #[inline]
    pub fn on_rtt_sample(&mut self) {
        self.sampled = true;
    }

    /// Makes a probe due after the timer expired.
    pub fn on_timeout(&mut self) {
        self.due = true;
    }

    /// Whether a probe is due.
    #[inline]
    pub fn is_due(&self) -> bool {
        self.due
    }

    /// Notes that the probe left.
    pub fn on_probe(&mut self, probe: Probe) {
        debug_assert!(
            self.outstanding.is_none(),
            "a second probe leaves before the account of {:?} (RFC 8985 section 7.3)",
            self.outstanding
        );
        debug_assert!(
            probe.resent_from.is_none_or(|from| from < probe.end),
            "{probe:?} repeats nothing"
        );
        self.outstanding = Some(Box::new(probe));
        self.sampled = false;
        self.due = false;
    }

    /// Cancels the probe, if no data is outstanding or recovery has begun.
    pub fn cancel(&mut self) {
        self.outstanding = None;
        self.due = false;
    }

    /// Whether the result of a probe is outstanding.
    #[inline]
    pub fn is_outstanding(&self) -> bool {
        self.outstanding.is_some()
    }

    /// Whether an outstanding probe was a retransmission that ends at `end`.
    pub fn is_probe_end(&self, end: u64) -> bool {
        let probe = self.outstanding.as_ref();
        probe.is_some_and(|probe| probe.resent_from.is_some() && probe.end == end)
    }

    /// Probe if it repaired an undetected loss (section 7.4.2). The congestion control must then be
    /// informed.
    pub fn on_ack(&mut self, ack: &ProbeAck) -> Option<Probe> {
        let probe = **self.outstanding.as_ref()?;
        if ack.ack < probe.end {
            return None;
        }
        let resent = probe.resent_from.is_some();
        let original_arrived = !resent || ack.duplicate_end == Some(probe.end);
        if original_arrived {
            // New data repairs nothing. A retransmission reported as a duplicate shows that the
            // original arrived.
            self.outstanding = None;
        } else if ack.ack > probe.end {
            // Data sent after the probe was acknowledged and no duplicate was reported: the probe
            // filled a gap.
            self.outstanding = None;
            return Some(probe);
        } else if ack.bare_duplicate {
            // A receiver without D-SACK reports the duplicate this way.
            self.outstanding = None;
        }
        None
    }
}

/// Time a probe waits beyond 2 SRTT.
#[derive(Clone, Copy, Debug)]
pub struct Delays {
    /// With only one segment in flight: maximum ACK delay.
    pub acknowledgment: Duration,
    /// With several segments in flight.
    pub slack: Duration,
}

/// Time at which the probe leaves: `TLP_calc_PTO` of section 7.2. `FAR_FUTURE`: never, as the
/// retransmission timer is overdue.
pub fn probe_at(
    now: Instant,
    srtt: Option<Duration>,
    one_segment: bool,
    delays: Delays,
    retransmit_at: Instant,
) -> Instant {
    // An overdue retransmission timer expires before any probe (a host that served another timer
    // late). A probe would put it off by a whole RTO.
    if retransmit_at < now {
        return Instant::FAR_FUTURE;
    }
    let pto = match srtt {
        Some(srtt) if one_segment => srtt * 2 + delays.acknowledgment,
        Some(srtt) => srtt * 2 + delays.slack,
        None => PTO_WITHOUT_SRTT,
    };
    let at = (now + pto).min(retransmit_at);
    debug_assert!(
        at >= now,
        "a loss probe at {at:?} is set at {now:?}, the retransmission timer to {retransmit_at:?}"
    );
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn probing(resent_from: Option<u64>) -> TailLossProbe {
        let mut tlp = TailLossProbe::default();
        tlp.on_rtt_sample();
        assert!(tlp.may_probe());
        tlp.on_probe(Probe {
            end: 1000,
            resent_from,
            flight_size: 500,
        });
        assert!(!tlp.may_probe());
        tlp
    }

    fn ack(ack: u64, duplicate_end: Option<u64>, bare_duplicate: bool) -> ProbeAck {
        ProbeAck {
            ack,
            duplicate_end,
            bare_duplicate,
        }
    }

    #[test]
    fn the_probe_waits_two_round_trips_and_never_longer_than_the_timer() {
        let srtt = Some(Duration::from_millis(50));
        let delay = Duration::from_millis(200);
        let delays = Delays {
            acknowledgment: delay,
            slack: Duration::ZERO,
        };
        let wait = |srtt, one| probe_at(at(10), srtt, one, delays, at(5000));
        assert_eq!(wait(srtt, false), at(110));
        assert_eq!(wait(srtt, true), at(310));
        assert_eq!(wait(None, false), at(1010));
        assert_eq!(probe_at(at(10), srtt, true, delays, at(250)), at(250));
        let slow = Delays {
            slack: Duration::from_millis(2),
            ..delays
        };
        assert_eq!(probe_at(at(10), srtt, false, slow, at(5000)), at(112));
        assert_eq!(probe_at(at(10), srtt, true, slow, at(5000)), at(310));
    }

    #[test]
    fn probe_beside_an_overdue_retransmission_timer_is_not_set() {
        let delays = Delays {
            acknowledgment: Duration::from_millis(200),
            slack: Duration::ZERO,
        };
        let srtt = Some(Duration::from_millis(50));
        let at_timer = |now| probe_at(now, srtt, true, delays, at(250));
        assert_eq!(at_timer(at(250)), at(250));
        assert_eq!(at_timer(at(251)), Instant::FAR_FUTURE);
    }

    #[test]
    fn a_probe_of_new_data_repairs_nothing() {
        let mut tlp = probing(None);
        assert!(tlp.on_ack(&ack(999, None, false)).is_none());
        assert!(tlp.is_outstanding());
        assert!(tlp.on_ack(&ack(1000, None, false)).is_none());
        assert!(!tlp.is_outstanding());
    }

    #[test]
    fn it_is_remembered_how_far_the_probe_went_and_whether_it_was_a_retransmission() {
        // RFC 8985 section 7.1: TLP.end_seq and TLP.is_retrans. The same acknowledgments mean a
        // repaired loss for a retransmission and none for new data.
        for (resent_from, repairs) in [(Some(900), true), (None, false)] {
            let mut tlp = probing(resent_from);
            for before in [1, 900, 999] {
                assert!(tlp.on_ack(&ack(before, None, false)).is_none());
                assert!(tlp.is_outstanding(), "{before} is before the end");
            }
            let first = tlp.on_ack(&ack(1000, None, false));
            let second = tlp.on_ack(&ack(1100, None, false));
            assert_eq!((first.is_some(), second.is_some()), (false, repairs));
            assert!(!tlp.is_outstanding());
        }
    }

    #[test]
    fn a_reported_duplicate_shows_that_nothing_was_lost() {
        let mut tlp = probing(Some(900));
        assert!(tlp.on_ack(&ack(1000, None, false)).is_none());
        assert!(tlp.is_outstanding(), "the report may still come");
        assert!(tlp.on_ack(&ack(1000, Some(1000), false)).is_none());
        assert!(!tlp.is_outstanding());
    }

    #[test]
    fn without_a_report_before_later_data_is_acknowledged_a_loss_was_repaired() {
        let mut tlp = probing(Some(900));
        assert!(tlp.on_ack(&ack(1000, None, false)).is_none());
        let repaired = tlp.on_ack(&ack(1100, None, false)).unwrap();
        assert_eq!(repaired.flight_size, 500);
        assert!(tlp.on_ack(&ack(1200, None, false)).is_none(), "once");
    }

    #[test]
    fn a_bare_duplicate_is_the_report_of_a_receiver_without_dsack() {
        let mut tlp = probing(Some(900));
        tlp.on_ack(&ack(1000, None, false));
        assert!(tlp.on_ack(&ack(1000, None, true)).is_none());
        assert!(!tlp.is_outstanding());
    }
}
