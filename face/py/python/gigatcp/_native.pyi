"""Types of the compiled module."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, final

T = TypeVar("T")
_Changes = str | Sequence[str] | Mapping[str, Any]

__version__: str

class Error(ValueError):
    """An error with its cause, effect and hint."""

class PlanError(Error):
    """A plan that cannot run."""

    diagnostics: list[Diagnostic]

@final
class Diagnostic:
    """An error or warning about a plan and its position; lines and columns count from 1."""

    severity: str
    message: str
    source: str
    line: int
    column: int
    end_line: int
    end_column: int
    label: str
    effect: str | None
    nearest: str | None
    hint: str | None

@final
class Plan:
    """A checked plan. It is immutable; `set` returns another one."""

    def __new__(
        cls,
        source: str | os.PathLike[str] | Mapping[str, Any] | None = None,
        *,
        set: _Changes | None = None,
        **keys: Any,
    ) -> Plan: ...
    def set(self, changes: _Changes) -> Plan: ...
    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def seed(self) -> int: ...
    @property
    def series(self) -> list[str]: ...
    @property
    def flows(self) -> list[str]: ...
    @property
    def text(self) -> str: ...
    @property
    def changes_made(self) -> list[str]: ...
    @property
    def warnings(self) -> list[Diagnostic]: ...

@final
class Table:
    """A table of results in Arrow record batches, through the PyCapsule interface."""

    @property
    def columns(self) -> list[str]: ...
    @property
    def meanings(self) -> dict[str, tuple[str, str]]: ...
    def __len__(self) -> int: ...
    def _repr_html_(self) -> str: ...
    def __getitem__(self, name: str) -> list[Any]: ...
    def to_pydict(self) -> dict[str, list[Any]]: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class Run:
    """Results of a run."""

    @property
    def record(self) -> dict[str, Any]: ...
    @property
    def summary(self) -> Table: ...
    @property
    def flows(self) -> Table: ...
    @property
    def intervals(self) -> Table: ...
    @property
    def hops(self) -> Table: ...
    @property
    def samples(self) -> Table: ...
    @property
    def partial(self) -> bool: ...
    def html(self) -> str: ...
    def _repr_html_(self) -> str: ...

_Control = Callable[[Config], Any] | Mapping[str, Callable[[Config], Any]]

def run(
    plan: Any,
    *,
    series: Sequence[str] | None = None,
    seed: int | None = None,
    repeat: int | None = None,
    why: bool = False,
    jobs: int | None = None,
    control: _Control | None = None,
) -> Run:
    """Runs a plan in virtual time: every series and repeat, on all cores."""

def theory(
    rate: str,
    rtt: str,
    mss: int | str,
    *,
    iw: int = 10,
    delayed_ack: bool = False,
    constant: float = 0.7,
    loss: Sequence[str] = (),
    window: Sequence[str] = (),
    data: Sequence[str] = (),
) -> dict[str, Any]:
    """Returns the figures of a path by published equations."""

@final
class Evidence:
    """A fact in a capture."""

    packet: int | None
    at_ns: int | None
    text: str

@final
class Gain:
    """What a connection would reach without its cause."""

    bps: int
    times: float
    at_least: bool

@final
class Limit:
    """A limit of a connection."""

    cause: str
    bps: int
    at_least: bool
    evidence: str

@final
class Verdict:
    """A cause that was found, with its evidence."""

    cause: str
    name: str
    subject: str
    finding: str
    confidence: float
    cost_bps: int
    cost_at_least: bool
    evidence: list[Evidence]
    fix: str | None
    time_ns: int
    share: float
    is_note: bool

@final
class Connection:
    """A connection and its diagnosis."""

    number: int
    capture: int
    sender: str
    receiver: str
    sentence: str
    cause: str | None
    alternative: str | None
    confidence: float | None
    share: float | None
    unsure: bool
    healthy: bool | None
    could_be: str
    gain: Gain | None
    limits: list[Limit]
    chain: list[str]
    evidence: list[Evidence]
    fix: str | None
    shares: list[tuple[str, float]]
    notes: list[str]
    between: str | None
    outcome: str
    capture_point: str
    start_ns: int
    duration_ns: int
    delivered_bytes: int
    throughput_bps: int
    capacity_bps: int
    min_rtt_ns: int
    unknown_ns: int
    verdicts: list[Verdict]
    spans: list[tuple[int, int, str | None]]
    def _repr_html_(self) -> str: ...

@final
class Analysis:
    """Connections and packets of captures."""

    packet_count: int
    notes: list[str]
    @property
    def connections(self) -> list[Connection]: ...
    def packets(self, capture: int = 0) -> Table: ...
    def samples(self, capture: int = 0) -> Table: ...
    def _repr_html_(self) -> str: ...

def analyze(
    capture: str | os.PathLike[str] | bytes,
    *more: str | os.PathLike[str] | bytes,
    threads: int | None = None,
) -> Analysis:
    """Diagnoses the connections of captures."""

@final
class Config:
    """Initial values of a control."""

    smss_bytes: int
    initial_window_bytes: int
    initial_ssthresh: int | None
    seed: int

@final
class Ack:
    """Information of an arriving ACK."""

    now_ns: int
    acked_bytes: int
    sacked_bytes: int
    delivered_bytes: int
    total_delivered_bytes: int
    lost_bytes: int
    ce_marked_bytes: int
    phase: str
    prior_in_flight_bytes: int
    in_flight_bytes: int
    cwnd_limited: bool
    rtt_ns: int | None
    srtt_ns: int | None
    min_rtt_ns: int | None
    round_end: bool
    delivery_rate_bps: int | None
    app_limited: bool

@final
class Congestion:
    """A congestion event: `kind` is loss, ecn or timeout."""

    now_ns: int
    kind: str
    flight_size_bytes: int
    pipe_bytes: int

@final
class Lost:
    """Bytes of one transmission that were marked lost."""

    now_ns: int
    bytes: int
    tx_in_flight_bytes: int
    is_retransmission: bool

@final
class Sent:
    """Data that is being sent."""

    now_ns: int
    bytes: int
    in_flight_bytes: int
    app_limited: bool

@final
class WindowBounds:
    """Bounds for a window that was not validated (RFC 7661)."""

    cwnd_at_most_bytes: int
    ssthresh_at_least_bytes: int
    ssthresh_at_most_bytes: int

@final
class World:
    """A simulation in virtual time that advances step by step."""

    def __new__(
        cls,
        plan: Any,
        *,
        series: str | None = None,
        seed: int | None = None,
        control: _Control | None = None,
    ) -> World: ...
    def advance(self, until: str | float | None = None) -> bool: ...
    @property
    def now(self) -> float: ...
    @property
    def now_ns(self) -> int: ...
    @property
    def flows(self) -> list[str]: ...
    def flow(self, flow: int | str | None = None) -> dict[str, Any]: ...
    @property
    def hops(self) -> dict[str, dict[str, Any]]: ...
    def change(self, *changes: str) -> None: ...
    def result(self) -> Run: ...

@final
class Sweep:
    """A sweep over a plan, with the store of its rows. Created by `gigatcp.sweep`."""

    def __new__(
        cls,
        plan: Any,
        version: str,
        out: Path,
        *,
        over: list[str],
        exclude: list[str],
        design: str | None,
        order: str | None,
        repeat: int | None,
        batches: int | None,
        draw: list[str],
        metric: str | None,
        until: float | None,
        most: int | None,
        seed: int | None,
        series: list[str] | None,
        keep: list[str],
    ) -> Sweep: ...
    def run(self, threads: int) -> bool: ...
    @property
    def question(self) -> str: ...
    def advance(self) -> bool: ...
    def pending(self, most: int) -> list[tuple[int, int]]: ...
    def absorb(self, rows: str) -> int: ...
    def finish(self) -> None: ...
    def write_tables(self) -> int: ...
    def table(self, name: str) -> Table: ...
    @property
    def factors(self) -> list[str]: ...
    @property
    def count(self) -> int: ...
    @property
    def directory(self) -> Path: ...
    @property
    def counts(self) -> tuple[int, int, int]: ...

def run_bundle(question: str, version: str, units: list[tuple[int, int]]) -> str:
    """Runs repetitions of the cells of a sweep and returns their rows."""

@final
class Emulation:
    """A path that carries packets of real programs until it is stopped."""

    def __new__(
        cls, plan: Any, *, series: str | None = None, seed: int | None = None
    ) -> Emulation: ...
    def address(self, at: str) -> tuple[str, str]: ...
    def call(self, at: str, function: Callable[[], T]) -> T: ...
    def change(self, plan: Any, *, series: str | None = None) -> None: ...
    @property
    def counters(self) -> dict[str, dict[str, dict[str, int]]]: ...
    def stop(self) -> None: ...
