"""Base class of congestion controls written in Python."""

from ._native import Ack, Config, Congestion


class CongestionControl:
    """A congestion control: the trait `Controller` of `core/tcp/src/congestion/mod.rs`.

    A control sets `cwnd` and `ssthresh`, in bytes. Both are read after each call, and so are
    `pacing_rate` (bit/s), `send_quantum` (bytes), `reduces_by_itself` and `is_scalable`. The
    engine detects losses and retransmits. These methods are optional:

    * `on_lost(lost)`: bytes were marked lost;
    * `on_established(now_ns, srtt_ns)`, `on_sent(sent)`, `on_recovery_end(now_ns)`;
    * `on_transmit_start(now_ns, last_sent_ns)`: data is sent and nothing was in flight;
    * `on_unvalidated(now_ns, bounds)`: the window was not validated (RFC 7661); without it
      `on_idle_restart` is called.

    Each end of a flow creates its own control. That of the receiver sees no data.
    """

    name = "python"

    ssthresh: float | None = None
    """Slow-start threshold; None while unset."""
    pacing_rate: float | None = None
    send_quantum: float | None = None
    reduces_by_itself: bool = False
    """Whether reductions are spread without proportional rate reduction (RFC 9937)."""
    is_scalable: bool = False

    before: tuple[int, int | None] | None = None
    """`cwnd` and `ssthresh` before the last congestion event; the engine sets it."""

    def __init__(self, config: Config) -> None:
        self.smss = config.smss_bytes
        self.cwnd: float = config.initial_window_bytes
        if config.initial_ssthresh:
            self.ssthresh = config.initial_ssthresh * self.smss

    @property
    def is_in_slow_start(self) -> bool:
        """Whether the window is below ssthresh."""
        return self.ssthresh is None or self.cwnd < self.ssthresh

    def on_ack(self, ack: Ack) -> None:
        """An ACK arrived, also in recovery (`ack.phase`)."""
        raise NotImplementedError(f"{type(self).__name__} has no on_ack")

    def on_congestion(self, event: Congestion) -> None:
        """A congestion event. After a timeout cwnd becomes one segment (RFC 5681)."""
        raise NotImplementedError(f"{type(self).__name__} has no on_congestion")

    def on_idle_restart(self, now_ns: int, restart_window: int) -> None:
        """Sending resumes after an idle time of more than one RTO (RFC 5681 section 4.1)."""
        self.cwnd = min(self.cwnd, restart_window)

    def on_smss_change(self, smss: int) -> None:
        """The maximum segment size changed."""
        self.smss = smss

    def undo(self, now_ns: int) -> None:
        """The last congestion event was spurious (D-SACK, Eifel, F-RTO)."""
        if self.before is not None:
            cwnd, ssthresh = self.before
            self.cwnd = max(self.cwnd, cwnd)
            if ssthresh is None or self.ssthresh is None:
                self.ssthresh = None
            else:
                self.ssthresh = max(self.ssthresh, ssthresh)
            self.before = None
