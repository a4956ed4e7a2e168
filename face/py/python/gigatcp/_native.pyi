"""Types of the compiled module."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, final

T = TypeVar("T")
_Changes = str | Sequence[str] | Mapping[str, Any]

__version__: str

class Error(ValueError):
    """What cannot be done, why, and what to do instead."""

class PlanError(Error):
    """A plan that cannot run."""

    diagnostics: list[Diagnostic]

@final
class Diagnostic:
    """One thing that is wrong with a plan, and where; lines and columns count from 1."""

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
    """A checked plan. It does not change; `set` makes another one."""

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
    def __getitem__(self, name: str) -> list[Any]: ...
    def to_pydict(self) -> dict[str, list[Any]]: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class Run:
    """What a run found out."""

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
    """Returns what the literature expects of a path."""

@final
class Evidence:
    """Where in a capture it shows."""

    packet: int | None
    at_ns: int | None
    text: str

@final
class Verdict:
    """A cause that was found, with what it rests on."""

    cause: str
    name: str
    subject: str
    finding: str
    confidence: float
    cost_bps: int
    cost_at_least: bool
    evidence: list[Evidence]
    fix: str
    time_ns: int
    share: float
    is_note: bool

@final
class Connection:
    """What limited a connection."""

    number: int
    capture: int
    sender: str
    receiver: str
    sentence: str
    limited_by: str
    primary_cause: str | None
    capture_point: str
    start_ns: int
    duration_ns: int
    delivered_bytes: int
    throughput_bps: int
    capacity_bps: int
    min_rtt_ns: int
    unknown_ns: int
    unsure: bool
    alternative: str | None
    verdicts: list[Verdict]
    spans: list[tuple[int, int, str | None]]

@final
class Analysis:
    """What captures show."""

    packet_count: int
    notes: list[str]
    @property
    def connections(self) -> list[Connection]: ...
    def packets(self, capture: int = 0) -> Table: ...
    def samples(self, capture: int = 0) -> Table: ...

def analyze(
    capture: str | os.PathLike[str] | bytes,
    *more: str | os.PathLike[str] | bytes,
    threads: int | None = None,
) -> Analysis:
    """Reads captures and says what limited their connections."""

@final
class Config:
    """What a control starts with."""

    smss_bytes: int
    initial_window_bytes: int
    initial_ssthresh: int | None
    seed: int

@final
class Ack:
    """What a control learns from an arriving ACK."""

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
    """Data that leaves."""

    now_ns: int
    bytes: int
    in_flight_bytes: int
    app_limited: bool

@final
class WindowBounds:
    """Bounds for a window that was not in use (RFC 7661)."""

    cwnd_at_most_bytes: int
    ssthresh_at_least_bytes: int
    ssthresh_at_most_bytes: int

@final
class World:
    """A world of virtual time that goes on when it is told to."""

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
    """A question about a plan with the store of its rows; `gigatcp.sweep` makes and runs it."""

    def __new__(
        cls,
        plan: Any,
        version: str,
        out: Path,
        *,
        over: list[str],
        exclude: list[str],
        ablate: list[str],
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
    """Runs repetitions of the cells of a question and returns their rows."""

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
