"""An emulated path in real time, as a context manager."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

from . import _native
from ._native import Error, Plan

T = TypeVar("T")


class emulate:
    """Carries packets of real programs over the path of a plan, on Linux.

    The path connects two network namespaces, `client` and `server`, which reach nothing else.
    Requires root, or CAP_NET_ADMIN in a user namespace.

        with gigatcp.emulate(rate="100 Mbit/s", rtt="40 ms") as path:
            with path.popen("server", ["iperf3", "-s", "-1"]):
                path.run("client", ["iperf3", "-c", path.address("server")])

    Of a plan, path, links and MTUs are used. Without one, keywords are keys of `path`.
    """

    def __init__(
        self,
        plan: Any = None,
        *,
        series: str | None = None,
        seed: int | None = None,
        **path: Any,
    ) -> None:
        if plan is not None and path:
            raise TypeError("a plan, or keys of a path, but not both")
        self._plan = Plan(_of_path(path)) if plan is None else plan
        self._path = path
        self._series = series
        self._seed = seed
        self._native: _native.Emulation | None = None

    def __enter__(self) -> Self:
        make = getattr(_native, "Emulation", None)
        if make is None:
            raise Error("there are no network namespaces on this system\n  hint: run it on Linux")
        self._native = make(self._plan, series=self._series, seed=self._seed)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._running().stop()

    def _running(self) -> _native.Emulation:
        if self._native is None:
            raise Error("the path has not begun\n  hint: with gigatcp.emulate(...) as path:")
        return self._native

    def address(self, at: str, version: int = 4) -> str:
        """Returns the address of an end, `client` or `server`."""
        v4, v6 = self._running().address(at)
        return v4 if version == 4 else v6

    def call(self, at: str, function: Callable[[], T]) -> T:
        """Calls a function inside an end; sockets that it creates stay there."""
        result: T = self._running().call(at, function)
        return result

    def popen(self, at: str, args: Sequence[str] | str, **keywords: Any) -> subprocess.Popen[Any]:
        """Starts a process inside an end, as `subprocess.Popen` does."""
        return self.call(at, lambda: subprocess.Popen(args, **keywords))

    def run(
        self, at: str, args: Sequence[str] | str, **keywords: Any
    ) -> subprocess.CompletedProcess[Any]:
        """Runs a process inside an end, as `subprocess.run` does."""
        return self.call(at, lambda: subprocess.run(args, **keywords))

    def change(self, plan: Any = None, **path: Any) -> None:
        """Changes the path while packets cross it: to that of a plan, or keys of `path`."""
        if plan is None:
            self._path = self._path | path
            plan = Plan(_of_path(self._path))
        self._running().change(plan, series=self._series)

    @property
    def counters(self) -> dict[str, dict[str, dict[str, int]]]:
        """Counters of each hop, by direction and name."""
        return self._running().counters


def _of_path(path: dict[str, Any]) -> dict[str, Any]:
    # A plan requires a flow; programs send the traffic of an emulated path.
    return {"name": "path", "path": path, "flow": {"duration": "1 s"}}
