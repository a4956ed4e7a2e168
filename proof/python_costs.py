#!/usr/bin/env python3
"""Measures what Python costs: a sweep in CPU time of its worlds, and a control written in Python in time of an ACK.

Goals, shown and never enforced: 1.05 times the worlds (10,000 cells; the few cells here have the opening of the store
in them), and 60 us an ACK. `cargo xtask python`, then `target/python/bin/python proof/python_costs.py`.
"""

import statistics
import tempfile
import time
from pathlib import Path

import gigatcp
from gigatcp import Ack, Congestion, CongestionControl, _sweep

PLAN = """
name = "costs"
path = { rate = "50 Mbit/s", rtt = "20 ms", loss = "5e-4" }
flow = { bytes = "5 MB" }
"""
CELLS, REPETITIONS, ROUNDS = 10, 4, 5


class Reno(CongestionControl):
    """RFC 5681."""

    name = "reno-of-python"

    def on_ack(self, ack: Ack) -> None:
        self.cwnd += ack.acked_bytes if self.is_in_slow_start else self.smss * ack.acked_bytes / self.cwnd

    def on_congestion(self, event: Congestion) -> None:
        self.ssthresh = max(event.flight_size_bytes / 2, 2 * self.smss)
        self.cwnd = self.smss if event.kind == "timeout" else self.ssthresh


def sweep_over_worlds(out: Path) -> float:
    """CPU time of a sweep, divided by that of its worlds alone."""
    units = [(cell, repetition) for cell in range(CELLS) for repetition in range(REPETITIONS)]
    began = time.process_time()
    axes = {"path.loss": f"1e-5..1e-3 log {CELLS}"}
    result = gigatcp.sweep(gigatcp.Plan(PLAN), axes, repeat=REPETITIONS, jobs=1, out=out)
    between = time.process_time()
    gigatcp._native.run_bundle(result.native.question, _sweep.version(), units)
    return (between - began) / (time.process_time() - between)


def microseconds_an_ack() -> float:
    began = time.process_time()
    run = gigatcp.run(gigatcp.Plan(PLAN).set("flow.bytes=20 MB"), control=Reno)
    return (time.process_time() - began) * 1e6 / run.flows["acks_sent"][0]


def printed(name: str, figures: list[float]) -> None:
    low, middle, high = min(figures), statistics.median(figures), max(figures)
    print(f"{name}: median {middle:.2f} ({low:.2f} to {high:.2f})")


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        outs = [Path(directory) / str(number) for number in range(ROUNDS)]
        printed("sweep, CPU time in that of its worlds (goal 1.05)", [sweep_over_worlds(out) for out in outs])
    printed("control in Python, us an ACK (goal 60)", [microseconds_an_ack() for _ in range(ROUNDS)])


if __name__ == "__main__":
    main()
