"""Sweeps on Ray: `gigatcp.sweep(plan, over, executor=RayExecutor)`."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

import ray


class RayExecutor(Executor):
    """Runs each call as a task of Ray. A call whose worker dies fails, so `sweep` counts the worker."""

    def __init__(self, **options: Any) -> None:
        """`options` are those of `ray.remote`, as `num_cpus`."""
        if not ray.is_initialized():
            ray.init(include_dashboard=False, log_to_driver=False)
        self._options = {"max_retries": 0, **options}

    @property
    def num_workers(self) -> int:
        """CPUs of the cluster."""
        resources: Any = ray.cluster_resources
        return max(1, int(resources().get("CPU", 1)))

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Submits a call."""
        future: Future[Any] = ray.remote(**self._options)(fn).remote(*args, **kwargs).future()
        return future
