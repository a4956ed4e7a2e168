import pytest

import gigatcp
from gigatcp import Ack, Config, Congestion, CongestionControl, Plan


class Reno(CongestionControl):
    """RFC 5681 and RFC 3465, without what Linux adds."""

    name = "reno-of-python"

    def on_ack(self, ack: Ack) -> None:
        if not ack.cwnd_limited or ack.phase in ("recovery", "loss"):
            return
        if self.is_in_slow_start:
            self.cwnd += ack.acked_bytes
        else:
            self.cwnd += self.smss * ack.acked_bytes / self.cwnd

    def on_congestion(self, event: Congestion) -> None:
        self.ssthresh = max(event.flight_size_bytes / 2, 2 * self.smss)
        self.cwnd = self.smss if event.kind == "timeout" else self.ssthresh


def steady(plan: Plan) -> Plan:
    return plan.set(["flow.bytes=20 MB", "path.loss=5e-4", "duration=60 s"])


def test_reno_in_python_does_what_reno_of_the_engine_does(plan: Plan) -> None:
    plan = steady(plan)
    seeds = {"repeat": 4}
    own = gigatcp.run(plan, control=Reno, **seeds)
    engine = gigatcp.run(plan.set("flow.congestion_control=reno"), **seeds)
    mean = lambda run: sum(run.flows["goodput_bps"]) / 4
    assert mean(own) == pytest.approx(mean(engine), rel=0.1)
    assert set(own.flows["congestion_control"]) == {"reno-of-python"}
    assert sum(own.flows["loss_events"]) > 10


def test_controls_are_chosen_by_flow() -> None:
    plan = Plan(
        path={"rate": "20 Mbit/s", "rtt": "20 ms"},
        flow=[{"name": "a", "duration": "2 s"}, {"name": "b", "duration": "2 s"}],
    )
    run = gigatcp.run(plan, control={"b": Reno})
    assert run.flows["congestion_control"] == ["cubic", "reno-of-python"]
    with pytest.raises(gigatcp.Error, match="no flow is called `c`"):
        gigatcp.run(plan, control={"c": Reno})


def test_the_engine_hears_pacing_and_the_control_hears_what_it_has_methods_for(plan: Plan) -> None:
    heard: set[str] = set()

    class Paced(Reno):
        def __init__(self, config: Config) -> None:
            super().__init__(config)
            self.pacing_rate = 4e6

        def on_established(self, now_ns: int, srtt_ns: int | None) -> None:
            heard.add("established")

        def on_sent(self, sent: gigatcp.Sent) -> None:
            heard.add("sent")

        def on_lost(self, lost: gigatcp.Lost) -> None:
            heard.add("lost")

    run = gigatcp.run(plan.set("path.loss=1e-2"), control=Paced)
    assert 3e6 < run.flows["goodput_bps"][0] < 4.1e6
    assert heard == {"established", "sent", "lost"}


def test_an_exception_of_a_control_ends_the_run(plan: Plan) -> None:
    class Broken(Reno):
        def on_congestion(self, event: Congestion) -> None:
            raise ZeroDivisionError("so it goes")

    with pytest.raises(ZeroDivisionError, match="so it goes"):
        gigatcp.run(plan.set("path.loss=1e-2"), control=Broken)
    with pytest.raises(NotImplementedError):
        gigatcp.run(plan, control=CongestionControl)
    assert gigatcp.run(plan, control=Reno).flows["bytes"] == [2_000_000]


def test_places_of_controls_are_given_back(plan: Plan) -> None:
    for _ in range(70):
        gigatcp.World(plan, control=Reno)
    worlds = []
    with pytest.raises(gigatcp.Error, match="32 controls"):
        for _ in range(33):
            worlds.append(gigatcp.World(plan, control=Reno))
