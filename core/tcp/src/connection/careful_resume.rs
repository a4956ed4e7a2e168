//! Careful Resume: a window from what an earlier connection over the same path had.
//!
//! RFC 9959. The application saves [`Connection::path_to_save`] of one connection (Observe) and
//! passes it to [`Connection::resume`] of a later one to the same host. No connection resumes
//! otherwise, and one that does not has a pointer for it.
//!
//! | phase | cwnd | ends |
//! |---|---|---|
//! | Reconnaissance | the control's | once the initial window is acknowledged and data waits: by the jump |
//! | Unvalidated | `jump_cwnd`, paced over one RTT | when data sent in it is acknowledged, the window is full, or an RTT has passed |
//! | Validating | what was in flight, then the control's growth | when all data sent in Unvalidated is acknowledged |
//! | Safe Retreat | at most `PipeSize`/2 | likewise; ssthresh is then at most Beta·`PipeSize` |
//! | Normal | the control's | |
//!
//! ```text
//! jump_cwnd = saved_cwnd / 2                                             (1)
//! saved_rtt / 2 < current_rtt <= 10·saved_rtt, or no jump                (2)
//! ```
//!
//! It jumps once the sender has more than its window lets it send. `PipeSize` is that window, and
//! what has been delivered since. Congestion in Reconnaissance ends it without a jump; in
//! Unvalidated and Validating it leads to Safe Retreat, after which there is nothing to save, and so
//! does an RTT that becomes too small for (2) in Unvalidated. A timeout ends the resume. If no more
//! than `PipeSize` is in flight at the end of Unvalidated (the application had less to send), cwnd
//! becomes `PipeSize`.
//!
//! Choices: Beta is 1/2, the smallest of the controls (Reno's). The RTT of (2) is the minimum RTT of the
//! connection. The end of Unvalidated is found at an ACK: while none arrives, nothing would change
//! but the window's growth, which needs an ACK too. A window in slow start is saved as half of it,
//! since it may be an overshoot (section 4.1).
//!
//! Out of scope: the lifetime of saved parameters, their use by one connection at a time and
//! `max_jump` are the application's, which passes them; controls with a rate of their own ignore
//! the window set here.

use alloc::boxed::Box;

use gigatcp_units::{Bytes, Duration, Instant, Rate};
use gigatcp_wire::Payload;

use super::Connection;
use crate::congestion::{CongestionKind, WindowBounds};
use crate::events::{CwndCause, State};
use crate::scoreboard::Revealed;

/// Parameters of a path, saved for later connections over it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SavedPath {
    /// Congestion window, `saved_cwnd`; half of it in slow start, where it may be an overshoot.
    pub cwnd: Bytes,
    /// Minimum RTT, `saved_rtt`.
    pub min_rtt: Duration,
}

/// A connection that was asked to resume.
#[derive(Clone, Copy, Debug)]
pub(super) struct Resume {
    saved: SavedPath,
    /// The window before the jump, and the octets delivered since.
    pipe_size: u64,
    phase: ResumePhase,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ResumePhase {
    Reconnaissance,
    Unvalidated(Jump),
    Validating {
        /// End of the data sent in Unvalidated.
        end: u64,
    },
    SafeRetreat {
        end: u64,
        /// Maximum cwnd until `end` is acknowledged.
        cwnd: Bytes,
    },
    Normal,
    /// Normal, after congestion or on another path: there is nothing to save.
    Retreated,
}

/// The window after the jump.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Jump {
    /// Start of the data sent in it.
    from: u64,
    cwnd: Bytes,
    /// One RTT after the jump.
    until: Instant,
    /// The profile's pacing, restored afterwards.
    pacing: (bool, Option<Rate>),
}

impl<P: Payload> Connection<P> {
    /// Resumes from the parameters of an earlier connection to the same host (RFC 9959).
    ///
    /// To be called before data is written. They are used once the initial window is acknowledged
    /// at an RTT like the saved one. A second call changes nothing.
    pub fn resume(&mut self, saved: SavedPath) {
        if self.resume.is_some() {
            return;
        }
        self.resume = Some(Box::new(Resume {
            saved,
            pipe_size: 0,
            phase: ResumePhase::Reconnaissance,
        }));
    }

    /// Parameters of the path for [`Connection::resume`]; `None` without an RTT, before data was
    /// acknowledged, and after a resume that met congestion.
    #[must_use]
    pub fn path_to_save(&self) -> Option<SavedPath> {
        let is_clean = self
            .resume
            .as_deref()
            .is_none_or(|resume| resume.phase == ResumePhase::Normal);
        let has_sent = self.snd.una > 1 && self.state != State::Closed;
        let (cwnd, ssthresh) = (self.congestion.cwnd(), self.congestion.ssthresh());
        let divisor = if cwnd < ssthresh { 2 } else { 1 };
        (is_clean && has_sent).then_some(SavedPath {
            cwnd: Bytes::new(cwnd.as_u64() / divisor),
            min_rtt: self.min_rtt.value()?,
        })
    }

    /// Advances a resume after an acknowledgment.
    pub(super) fn follow_resume(&mut self, now: Instant, revealed: &Revealed) {
        let Some(mut resume) = self.resume.take() else {
            return;
        };
        let delivered = revealed.acked - revealed.acked_after_sack + revealed.sacked;
        resume.pipe_size += delivered;
        resume.phase = match resume.phase {
            ResumePhase::Reconnaissance => self.reconnoitre(now, &mut resume),
            ResumePhase::Unvalidated(jump) => self.hold_jump(now, &resume, jump),
            ResumePhase::Validating { end } if self.snd.una >= end => ResumePhase::Normal,
            ResumePhase::SafeRetreat { end, cwnd } => {
                self.hold_retreat(now, resume.pipe_size, end, cwnd)
            }
            phase => phase,
        };
        self.resume = Some(resume);
    }

    /// Reconnaissance: jumps if the path is as it was.
    fn reconnoitre(&mut self, now: Instant, resume: &mut Resume) -> ResumePhase {
        let profile = &self.transport.profile;
        let initial_window = profile.congestion.initial_window.bytes(self.smss).as_u64();
        let saved = resume.saved;
        let jump_cwnd = Bytes::new(saved.cwnd.as_u64() / 2);
        if jump_cwnd <= self.congestion.cwnd() {
            return ResumePhase::Normal;
        }
        let is_confirmed = self.snd.una > initial_window;
        let (Some(current), Some(srtt), true) =
            (self.min_rtt.value(), self.rtt.srtt(), is_confirmed)
        else {
            return ResumePhase::Reconnaissance;
        };
        if is_too_small(current, saved.min_rtt) || current > saved.min_rtt * 10 {
            return ResumePhase::Normal;
        }
        let cwnd = self.congestion.cwnd().as_u64();
        if self.snd.flight_size() + self.unsent() <= cwnd {
            return ResumePhase::Reconnaissance;
        }
        resume.pipe_size = cwnd;
        let before = self.transport.profile.pacing;
        let rate = Rate::from_amount(jump_cwnd, srtt);
        let most = before.max_pacing_rate.unwrap_or(Rate::MAX);
        self.set_pacing((true, Some(rate.min(most))));
        self.congestion.set_cwnd(jump_cwnd);
        self.put_cwnd(now, CwndCause::Unvalidated);
        ResumePhase::Unvalidated(Jump {
            from: self.snd.nxt,
            cwnd: jump_cwnd,
            until: now + srtt,
            pacing: (before.enabled, before.max_pacing_rate),
        })
    }

    /// Unvalidated: the window stays at the jump, until its data is acknowledged or has left.
    fn hold_jump(&mut self, now: Instant, resume: &Resume, jump: Jump) -> ResumePhase {
        let min_rtt = self.min_rtt.value();
        if min_rtt.is_some_and(|current| is_too_small(current, resume.saved.min_rtt)) {
            self.set_pacing(jump.pacing);
            return self.enter_retreat(now, resume.pipe_size, self.snd.nxt);
        }
        let in_flight = self.snd.flight_size();
        let is_over =
            self.snd.una > jump.from || now >= jump.until || in_flight >= jump.cwnd.as_u64();
        if !is_over {
            self.congestion.set_cwnd(jump.cwnd);
            return ResumePhase::Unvalidated(jump);
        }
        self.set_pacing(jump.pacing);
        self.congestion
            .set_cwnd(Bytes::new(in_flight.max(resume.pipe_size)));
        self.put_cwnd(now, CwndCause::Unvalidated);
        if in_flight > resume.pipe_size {
            ResumePhase::Validating { end: self.snd.nxt }
        } else {
            ResumePhase::Normal
        }
    }

    /// Safe Retreat: the window stays low, until all data of the jump is acknowledged.
    fn hold_retreat(&mut self, now: Instant, pipe_size: u64, end: u64, cwnd: Bytes) -> ResumePhase {
        if self.congestion.cwnd() > cwnd {
            self.congestion.set_cwnd(cwnd);
        }
        if self.snd.una < end {
            return ResumePhase::SafeRetreat { end, cwnd };
        }
        let ssthresh = Bytes::new(pipe_size / 2);
        let bounds = WindowBounds {
            cwnd_at_most: self.congestion.cwnd(),
            ssthresh_at_least: ssthresh,
            ssthresh_at_most: ssthresh,
        };
        self.bound_window(now, &bounds);
        ResumePhase::Retreated
    }

    /// Reacts to congestion of `kind`, after the control has reduced its window.
    #[cold]
    pub(super) fn retreat(&mut self, now: Instant, kind: CongestionKind) {
        let Some(mut resume) = self.resume.take() else {
            return;
        };
        if let ResumePhase::Unvalidated(jump) = resume.phase {
            self.set_pacing(jump.pacing);
        }
        resume.phase = match resume.phase {
            ResumePhase::Reconnaissance | ResumePhase::Normal => ResumePhase::Normal,
            // Persistent congestion: the control alone decides (section 3.6).
            _ if kind == CongestionKind::Timeout => ResumePhase::Retreated,
            ResumePhase::Unvalidated(_) => self.enter_retreat(now, resume.pipe_size, self.snd.nxt),
            ResumePhase::Validating { end } => self.enter_retreat(now, resume.pipe_size, end),
            phase @ (ResumePhase::SafeRetreat { .. } | ResumePhase::Retreated) => phase,
        };
        self.resume = Some(resume);
    }

    /// Enters Safe Retreat, until the data before `end` is acknowledged.
    fn enter_retreat(&mut self, now: Instant, pipe_size: u64, end: u64) -> ResumePhase {
        let cwnd = Bytes::new(pipe_size / 2);
        let bounds = WindowBounds {
            cwnd_at_most: cwnd,
            ssthresh_at_least: Bytes::ZERO,
            ssthresh_at_most: cwnd,
        };
        self.bound_window(now, &bounds);
        ResumePhase::SafeRetreat { end, cwnd }
    }
}

/// Whether the saved window would be sent faster than it was (section 4.2.1).
fn is_too_small(current: Duration, saved: Duration) -> bool {
    current * 2 <= saved
}
