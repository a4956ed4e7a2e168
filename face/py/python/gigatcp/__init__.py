"""GigaTCP: simulates, emulates and diagnoses TCP connections.

    >>> import gigatcp
    >>> result = gigatcp.run({"path": {"rate": "100 Mbit/s", "rtt": "40 ms"}, "flow": {"duration": "5 s"}})
    >>> result.flows["goodput_bps"]

Tables are Arrow: `polars.DataFrame(result.flows)`, `pyarrow.table(result.flows)` and
`pandas.DataFrame.from_arrow(result.flows)` take them without a copy.
"""

from ._control import CongestionControl
from ._emulate import emulate
from ._native import (
    Ack,
    Analysis,
    Config,
    Congestion,
    Connection,
    Diagnostic,
    Error,
    Evidence,
    Gain,
    Limit,
    Lost,
    Plan,
    PlanError,
    Run,
    Sent,
    Table,
    Verdict,
    WindowBounds,
    World,
    __version__,
    analyze,
    run,
    theory,
)
from ._sweep import SweepResult, sweep

__all__ = [
    "Ack",
    "Analysis",
    "Config",
    "Congestion",
    "CongestionControl",
    "Connection",
    "Diagnostic",
    "Error",
    "Evidence",
    "Gain",
    "Limit",
    "Lost",
    "Plan",
    "PlanError",
    "Run",
    "Sent",
    "SweepResult",
    "Table",
    "Verdict",
    "WindowBounds",
    "World",
    "__version__",
    "analyze",
    "emulate",
    "run",
    "sweep",
    "theory",
]
