"""Sweeps: in process on all cores, or through any executor of `concurrent.futures`.

An executor gets bundles of cells, at least 50 ms of work each, and returns rows of the store,
each with its checksum. A worker runs the same code as a sweep in process, so a row does not
depend on where it was computed.
"""

from __future__ import annotations

import hashlib
import math
import os
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from dataclasses import dataclass, field
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from . import _native
from ._native import Error, Table

Unit = tuple[int, int]
Work = Callable[[str, str, list[Unit]], tuple[str, float]]

BUNDLE = 0.05
"""Minimum work of a bundle, in seconds."""

TRIES = 3
"""Number of workers that die on a cell before it is left out."""


@cache
def version() -> str:
    """Version and fingerprint of this program: results of other builds are not reused."""
    path = _native.__file__
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=8))
    return f"{_native.__version__}-{digest.hexdigest()}"


def work(question: str, program: str, units: list[Unit]) -> tuple[str, float]:
    """Runs a bundle in a worker; returns its rows and the seconds it took."""
    if program != version():
        raise Error(
            f"the sweep is of version {program}, and this worker of version {version()}\n"
            "  effect: nothing was run\n  hint: install the same wheel on all machines"
        )
    began = time.perf_counter()
    rows = _native.run_bundle(question, program, units)
    return rows, time.perf_counter() - began


@dataclass
class SweepResult:
    """A sweep that has run: its tables and their directory."""

    native: _native.Sweep = field(repr=False)
    complete: bool
    """Whether every cell has its rows."""
    known: int
    """Runs that were stored before."""
    ran: int
    """Runs of this call."""
    workers_lost: int = 0
    """Workers that died; their cells ran elsewhere."""
    left_out: list[Unit] = field(default_factory=list)
    """Cells and repetitions that repeatedly killed their worker."""
    last_loss: str | None = field(default=None, repr=False)
    """What the executor said when the last worker died."""

    def _repr_html_(self) -> str:
        """The first rows of its cells, for a notebook."""
        state = "complete" if self.complete else "not complete"
        counts = f"{state}: {self.ran} runs, {self.known} stored before, {self.workers_lost} workers lost"
        return f"{self.cells._repr_html_()}<p>{counts}; tables in {escape(str(self.directory))}</p>"

    @property
    def cells(self) -> Table:
        """One row for each repetition of a cell."""
        return self.native.table("cells")

    @property
    def flows(self) -> Table:
        """One row for each connection."""
        return self.native.table("flows")

    @property
    def hops(self) -> Table:
        """One row for each path element."""
        return self.native.table("hops")

    @property
    def intervals(self) -> Table:
        """One row for each interval, with `keep=["intervals"]`."""
        return self.native.table("intervals")

    @property
    def samples(self) -> Table:
        """One row for each sample of a sender, with `keep=["samples"]`."""
        return self.native.table("samples")

    @property
    def factors(self) -> list[str]:
        """Names of the factors: columns of every table."""
        return self.native.factors

    @property
    def directory(self) -> Path:
        """Directory of the tables; `gigatcp show` prints them."""
        return self.native.directory


def sweep(
    plan: Any,
    over: Mapping[str, Any] | Iterable[str] = (),
    *,
    repeat: int | None = None,
    executor: Executor | Callable[[], Executor] | None = None,
    jobs: int | None = None,
    exclude: Sequence[str] = (),
    design: str | None = None,
    order: str | None = None,
    batches: int | None = None,
    draw: Sequence[str] = (),
    metric: str | None = None,
    until: float | None = None,
    most: int | None = None,
    seed: int | None = None,
    series: Sequence[str] | None = None,
    keep: Sequence[str] = (),
    out: str | os.PathLike[str] = "runs",
) -> SweepResult:
    """Runs a plan over axes. Results in the store of `out` are not run again.

    `over` is a dictionary of keys and levels, `{"path.rtt": ["10 ms", "40 ms"]}`, or axes in
    the syntax of `gigatcp sweep --over`. The other arguments are as there. Without an
    `executor`, cells run on `jobs` threads of this process [all cores]. `executor` is an
    executor, or a function that returns one. Ctrl-C loses only the cells that are running.
    """
    native = _native.Sweep(
        plan,
        version(),
        Path(out),
        over=_axes(over),
        exclude=list(exclude),
        design=design,
        order=order,
        repeat=repeat,
        batches=batches,
        draw=list(draw),
        metric=metric,
        until=until,
        most=most,
        seed=seed,
        series=None if series is None else list(series),
        keep=list(keep),
    )
    if executor is None:
        complete = native.run(jobs or os.cpu_count() or 1)
        known, ran, _ = native.counts
        result = SweepResult(native, complete, known, ran)
    else:
        result = run_on(native, executor)
    native.write_tables()
    return result


def _axes(over: Mapping[str, Any] | Iterable[str]) -> list[str]:
    if isinstance(over, str):
        return [over]
    if not isinstance(over, Mapping):
        return list(over)
    return [f"{key}={_levels(levels)}" for key, levels in over.items()]


def _levels(levels: Any) -> str:
    if isinstance(levels, str):
        return levels
    return ",".join(_level(level) for level in levels)


def _level(level: Any) -> str:
    text = str(level).lower() if isinstance(level, bool) else str(level)
    return f'"{text}"' if "," in text else text


@dataclass
class _Bundle:
    units: list[Unit]
    deaths: int = 0


class _Pool:
    """An executor that is replaced when it breaks."""

    def __init__(self, executor: Executor | Callable[[], Executor]) -> None:
        self._make: Callable[[], Executor] | None = None
        made: Any = executor
        if not hasattr(executor, "submit"):
            self._make = made
            made = made()
        self.executor: Executor = made
        self._is_ours = self._make is not None

    def renew(self) -> None:
        broken, ours = self.executor, self._is_ours
        if self._make is not None:
            self.executor = self._make()
        elif isinstance(broken, ProcessPoolExecutor):
            state: Any = broken
            self.executor = ProcessPoolExecutor(
                state._max_workers, state._mp_context, state._initializer, state._initargs
            )
        else:
            raise Error(
                f"{type(broken).__name__} is broken\n"
                "  effect: cells that had run are stored\n"
                "  hint: pass a function that makes one: executor=lambda: ..."
            )
        self._is_ours = True
        if ours:
            broken.shutdown(wait=False)

    def close(self) -> None:
        if self._is_ours:
            self.executor.shutdown()

    def deaths(self) -> int | None:
        """Workers that died so far, if the executor knows: dask runs their tasks again by itself."""
        client: Any = getattr(self.executor, "_client", None)
        if not hasattr(client, "get_events"):
            return None
        events: list[dict[str, Any]] = [event for _, event in client.get_events("all")]
        removed = [event for event in events if event.get("action") == "remove-worker"]
        return len([event for event in removed if not event.get("expected")])

    def width(self) -> int:
        """Number of workers; a large number if the executor does not report it."""
        for name in ("_max_workers", "num_workers", "max_workers"):
            number = getattr(self.executor, name, None)
            if isinstance(number, int):
                return number
        return 64


def run_on(
    native: _native.Sweep,
    executor: Executor | Callable[[], Executor],
    task: Work = work,
) -> SweepResult:
    """Runs what has no row through an executor."""
    result = SweepResult(native, True, 0, 0)
    pool = _Pool(executor)
    died_before = pool.deaths()
    try:
        while native.advance():
            left_out = len(result.left_out)
            _Round(native, pool, task, result).run()
            if len(result.left_out) > left_out:
                # The cells of a later round may depend on rows that are missing.
                break
    finally:
        native.finish()
        if died_before is not None:
            result.workers_lost = (pool.deaths() or 0) - died_before
        pool.close()
    if result.left_out:
        result.complete = False
        warnings.warn(
            f"{len(result.left_out)} cells were left out: each lost {TRIES} workers"
            + (f"; the last: {result.last_loss}" if result.last_loss else ""),
            stacklevel=3,
        )
    result.known = native.counts[0]
    return result


class _Round:
    """Repetitions of cells, handed out in bundles."""

    def __init__(
        self, native: _native.Sweep, pool: _Pool, task: Work, result: SweepResult
    ) -> None:
        self._native = native
        self._pool = pool
        self._task = task
        self._result = result
        self._question = native.question
        self._flying: dict[Future[tuple[str, float]], _Bundle] = {}
        self._again: deque[_Bundle] = deque()
        self._suspects: deque[_Bundle] = deque()
        self._seconds = 0.0
        self._done = 0

    def run(self) -> None:
        try:
            while True:
                while len(self._flying) < 2 * self._pool.width():
                    if self._again:
                        self._submit(self._again.popleft())
                    elif units := self._native.pending(self._size()):
                        self._submit(_Bundle(units))
                    else:
                        break
                if not self._flying:
                    if not self._suspects:
                        return
                    # Alone, so that the cell that kills the worker is known.
                    self._submit(self._suspects.popleft())
                self._land()
        except BaseException:
            for future in self._flying:
                future.cancel()
            raise

    def _size(self) -> int:
        """Units of a bundle: one until it is known how long they take."""
        if self._seconds <= 0.0:
            return 1
        return max(1, math.ceil(BUNDLE * self._done / self._seconds))

    def _submit(self, bundle: _Bundle) -> None:
        try:
            future = self._pool.executor.submit(
                self._task, self._question, version(), bundle.units
            )
        except BrokenExecutor:
            self._again.append(bundle)
            self._renew()
            return
        self._flying[future] = bundle

    def _land(self) -> None:
        """Takes what has come back."""
        done, _ = wait(self._flying, return_when=FIRST_COMPLETED)
        is_broken = False
        for future in done:
            bundle = self._flying.pop(future)
            try:
                rows, seconds = future.result()
            except Error:
                raise
            except BrokenExecutor:
                is_broken = True
                self._died(bundle)
            except Exception as error:  # whatever an executor says when a worker is gone
                self._result.workers_lost += 1
                self._result.last_loss = f"{type(error).__name__}: {error}"
                self._died(bundle)
            else:
                self._take(bundle, rows, seconds)
        if is_broken:
            self._renew()

    def _take(self, bundle: _Bundle, rows: str, seconds: float) -> None:
        count = self._native.absorb(rows)
        self._result.ran += count
        self._seconds += seconds
        self._done += len(bundle.units)
        if count < len(bundle.units):
            # Rows with a wrong checksum count as missing.
            self._died(bundle)

    def _renew(self) -> None:
        """All that flies over a broken pool is lost, and one worker is to blame."""
        self._result.workers_lost += 1
        for bundle in self._flying.values():
            self._died(bundle)
        self._flying.clear()
        self._pool.renew()

    def _died(self, bundle: _Bundle) -> None:
        deaths = bundle.deaths + 1
        if deaths < TRIES - 1:
            self._again.append(_Bundle(bundle.units, deaths))
        elif deaths >= TRIES and len(bundle.units) == 1:
            self._result.left_out.extend(bundle.units)
        else:
            # One cell at a time: two more deaths are caused by this cell.
            singles = (_Bundle([unit], TRIES - 1) for unit in bundle.units)
            self._suspects.extend(singles)
