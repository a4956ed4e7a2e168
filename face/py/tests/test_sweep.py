import os
import subprocess
import sys
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

import gigatcp
from gigatcp import Plan, _sweep

OVER = {"path.rtt": ["10 ms", "20 ms"], "flow.congestion_control": ["cubic", "reno"]}
REPEAT = 3


def pool(workers: int = 2) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(workers, mp_context=get_context("forkserver"))


def columns(result: gigatcp.SweepResult) -> dict[str, dict[str, list[Any]]]:
    return {
        name: result.native.table(name).to_pydict()
        for name in ("cells", "flows", "hops")
    }


@pytest.fixture(scope="module")
def small() -> Plan:
    from conftest import TEXT

    return Plan(TEXT).set("flow.bytes=1 MB")


@pytest.fixture(scope="module")
def in_process(small: Plan, tmp_path_factory: pytest.TempPathFactory) -> gigatcp.SweepResult:
    out = tmp_path_factory.mktemp("in-process")
    return gigatcp.sweep(small, OVER, repeat=REPEAT, out=out)


def test_a_cell_is_the_same_run_alone(small: Plan, in_process: gigatcp.SweepResult) -> None:
    assert in_process.complete and in_process.ran == len(in_process.cells) == 12
    assert in_process.factors == list(OVER)
    cells = in_process.cells.to_pydict()
    for row in range(12):
        alone = small.set({key: cells[key][row] for key in OVER})
        run = gigatcp.run(alone, seed=cells["seed"][row])
        assert run.summary["event_hash"] == [cells["event_hash"][row]]
        assert run.summary["goodput_bps"] == [cells["goodput_bps"][row]]


def test_an_invalid_level_raises_before_anything_runs(small: Plan, tmp_path: Path) -> None:
    with pytest.raises(gigatcp.Error, match="nope"):
        gigatcp.sweep(small, {"flow.congestion_control": ["cubic", "nope"]}, out=tmp_path)
    assert not any(tmp_path.iterdir())


def test_the_same_question_again_runs_nothing(small: Plan, tmp_path: Path) -> None:
    first = gigatcp.sweep(small, {"path.rtt": ["10 ms", "20 ms"]}, out=tmp_path)
    again = gigatcp.sweep(small, {"path.rtt": ["10 ms", "20 ms"]}, out=tmp_path)
    more = gigatcp.sweep(small, {"path.rtt": ["10 ms", "20 ms", "30 ms"]}, out=tmp_path)
    assert (first.known, first.ran) == (0, 2)
    assert (again.known, again.ran) == (2, 0)
    assert (more.known, more.ran) == (2, 1)
    with pool() as executor:
        through = gigatcp.sweep(
            small, {"path.rtt": ["10 ms", "20 ms", "40 ms"]}, out=tmp_path, executor=executor
        )
    assert (through.known, through.ran) == (2, 1)
    files = {file.name.split(".")[0] for file in through.directory.iterdir()}
    assert {"sweep", "plan", "cells", "flows", "hops", "columns"} <= files


def check(small: Plan, executor: Executor, out: Path, wanted: gigatcp.SweepResult) -> None:
    through = gigatcp.sweep(small, OVER, repeat=REPEAT, out=out, executor=executor)
    assert through.complete and through.ran == 12 and through.workers_lost == 0
    assert columns(through) == columns(wanted)


def test_processes_give_the_same_rows(
    small: Plan, in_process: gigatcp.SweepResult, tmp_path: Path
) -> None:
    with pool() as executor:
        check(small, executor, tmp_path, in_process)
    with ThreadPoolExecutor(2) as executor:
        check(small, executor, tmp_path / "threads", in_process)


def test_dask_gives_the_same_rows(
    small: Plan, in_process: gigatcp.SweepResult, tmp_path: Path
) -> None:
    distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            check(small, client.get_executor(), tmp_path, in_process)


def test_a_worker_of_dask_that_dies_is_counted(
    small: Plan,
    in_process: gigatcp.SweepResult,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
    monkeypatch.setenv("GIGATCP_TEST_MARK", str(tmp_path / "mark"))
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            result = _sweep.run_on(native(small, tmp_path), client.get_executor(), dies_once)
            assert result.complete and result.workers_lost == 1
            again = gigatcp.sweep(small, OVER, repeat=REPEAT, out=tmp_path, executor=client.get_executor())
            assert again.workers_lost == 0
    assert columns(result) == columns(in_process)


def test_ray_gives_the_same_rows_and_counts_a_worker_that_dies(
    small: Plan,
    in_process: gigatcp.SweepResult,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("ray", reason="ray is not installed")
    from gigatcp.ray import RayExecutor

    monkeypatch.setenv("GIGATCP_TEST_MARK", str(tmp_path / "mark"))
    # Workers import `dies_once` from here.
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    with RayExecutor() as executor:
        check(small, executor, tmp_path / "rows", in_process)
        result = _sweep.run_on(native(small, tmp_path), executor, dies_once)
    assert result.complete and result.workers_lost == 1
    assert columns(result) == columns(in_process)


MPI = """
import sys
from mpi4py.futures import MPIPoolExecutor
import gigatcp

if __name__ == "__main__":
    plan, out = gigatcp.Plan(sys.argv[1]), sys.argv[2]
    with MPIPoolExecutor() as executor:
        result = gigatcp.sweep(plan, {over}, repeat={repeat}, out=out, executor=executor)
    assert result.complete and result.ran == 12 and result.workers_lost == 0
"""


def test_mpi_gives_the_same_rows(
    small: Plan, in_process: gigatcp.SweepResult, tmp_path: Path
) -> None:
    pytest.importorskip("mpi4py", reason="mpi4py is not installed")
    mpiexec = Path(sys.executable).with_name("mpiexec")
    if not mpiexec.exists():
        pytest.skip("mpiexec of the wheel mpich is not installed")
    script, plan = tmp_path / "script.py", tmp_path / "plan.toml"
    script.write_text(MPI.format(over=OVER, repeat=REPEAT))
    plan.write_text(small.text.replace("2 MB", "1 MB"))
    words = [mpiexec, "-n", "3", sys.executable, "-m", "mpi4py.futures", script, plan, tmp_path]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    # What they have stored is all that the same question wants here.
    through = gigatcp.sweep(Plan(plan), OVER, repeat=REPEAT, out=tmp_path)
    assert (through.known, through.ran) == (12, 0)
    assert columns(through) == columns(in_process)


def dies_once(question: str, program: str, units: list[_sweep.Unit]) -> tuple[str, float]:
    """A worker that is killed the first time."""
    mark = Path(os.environ["GIGATCP_TEST_MARK"])
    if not mark.exists():
        mark.touch()
        os._exit(9)
    return _sweep.work(question, program, units)


def dies_at_cell_1(question: str, program: str, units: list[_sweep.Unit]) -> tuple[str, float]:
    """A worker that one cell always takes with it."""
    if any(cell == 1 for cell, _ in units):
        os._exit(9)
    return _sweep.work(question, program, units)


def native(small: Plan, out: Path, repeat: int = REPEAT) -> Any:
    none = dict.fromkeys(["design", "order", "batches", "metric", "until", "most", "seed", "series"])
    over = [f"{key}={','.join(levels)}" for key, levels in OVER.items()]
    return gigatcp._native.Sweep(
        small,
        _sweep.version(),
        out,
        over=over,
        exclude=[],
        draw=[],
        keep=[],
        repeat=repeat,
        **none,
    )


def test_a_worker_that_dies_is_counted_and_its_cells_run_elsewhere(
    small: Plan,
    in_process: gigatcp.SweepResult,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GIGATCP_TEST_MARK", str(tmp_path / "mark"))
    fork = ProcessPoolExecutor(2, mp_context=get_context("fork"))
    result = _sweep.run_on(native(small, tmp_path), fork, dies_once)
    assert result.complete and result.ran == 12
    assert result.workers_lost == 1
    assert columns(result) == columns(in_process)


def test_a_cell_that_takes_every_worker_with_it_is_left_out_and_named(
    small: Plan, tmp_path: Path
) -> None:
    fork = ProcessPoolExecutor(2, mp_context=get_context("fork"))
    with pytest.warns(UserWarning, match="1 cells were left out"):
        result = _sweep.run_on(native(small, tmp_path, repeat=1), fork, dies_at_cell_1)
    assert not result.complete
    assert result.left_out == [(1, 0)]
    assert result.ran == 3
    # Nothing of it is stored: the next call runs it.
    again = gigatcp.sweep(small, OVER, repeat=1, out=tmp_path)
    assert (again.known, again.ran, again.complete) == (3, 1, True)


def test_bundles_have_at_least_fifty_milliseconds_of_work(small: Plan, tmp_path: Path) -> None:
    sizes: list[int] = []

    def slow(question: str, program: str, units: list[_sweep.Unit]) -> tuple[str, float]:
        sizes.append(len(units))
        return _sweep.work(question, program, units)[0], 0.004 * len(units)

    with ThreadPoolExecutor(1) as executor:
        _sweep.run_on(native(small, tmp_path, repeat=20), executor, slow)
    assert sum(sizes) == 80
    # The first ones say how long a cell takes, the last one has what is left.
    assert sizes[0] == 1 and all(size == 13 for size in sizes[2:-1]) and len(sizes) < 10


def test_repetitions_until_an_interval_is_narrow_do_not_depend_on_the_executor(
    small: Plan, tmp_path: Path
) -> None:
    words = {"until": 0.05, "most": 12, "over": {"path.loss": ["1e-2", "1e-3"]}}
    alone = gigatcp.sweep(small, out=tmp_path / "a", **words)
    with ThreadPoolExecutor(2) as executor:
        through = gigatcp.sweep(small, out=tmp_path / "b", executor=executor, **words)
    assert columns(alone) == columns(through)
    assert len(alone.cells) > 10


def test_a_worker_of_another_build_is_refused(small: Plan, tmp_path: Path) -> None:
    sweep = native(small, tmp_path)
    with pytest.raises(gigatcp.Error, match="worker of version"):
        _sweep.work(sweep.question, "0.0.0-0", [(0, 0)])
    with pytest.raises(gigatcp.Error, match="worker of version"):
        gigatcp._native.run_bundle(sweep.question, "0.0.0-0", [(0, 0)])


def test_a_row_that_was_spoilt_on_its_way_is_not_stored(small: Plan, tmp_path: Path) -> None:
    sweep = native(small, tmp_path)
    assert sweep.advance()
    units = sweep.pending(2)
    rows = gigatcp._native.run_bundle(sweep.question, _sweep.version(), units)
    first, second = rows.splitlines(keepends=True)
    assert sweep.absorb(first + second.replace('"packets":', '"packetz":')) == 1
    assert sweep.absorb(second[:-1]) == 0
    sweep.finish()
    assert len(sweep.table("cells")) == 1


def test_a_wrong_axis_is_said_with_its_place(small: Plan) -> None:
    with pytest.raises(gigatcp.PlanError, match="path.rtt"):
        gigatcp.sweep(small, {"path.rtt": "10 ms..fast log 3"})
    with pytest.raises(gigatcp.Error, match="no metric is called `goodness`"):
        gigatcp.sweep(small, {"path.rtt": ["1 ms"]}, metric="goodness")
