import signal
import threading
import time

import pytest

import gigatcp
from gigatcp import Plan

pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")


def test_tables_reach_pyarrow_without_a_copy(plan: Plan) -> None:
    flows = gigatcp.run(plan).flows
    tables = [pyarrow.table(flows) for _ in range(2)]
    addresses = [
        table["goodput_bps"].chunk(0).buffers()[1].address for table in tables
    ]
    assert addresses[0] == addresses[1]
    assert tables[0]["bytes"].to_pylist() == flows["bytes"] == [2_000_000]
    field = tables[0].schema.field("goodput_bps")
    assert field.metadata[b"unit"] == b"bit/s"


def test_polars_and_pandas_take_tables(plan: Plan) -> None:
    polars = pytest.importorskip("polars", reason="polars is not installed")
    result = gigatcp.run(plan, repeat=3)
    frame = polars.DataFrame(result.flows)
    assert frame["seed"].to_list() == [plan.seed, plan.seed + 1, plan.seed + 2]
    assert polars.DataFrame(result.samples).height == len(result.samples) > 10
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    if not hasattr(pandas.DataFrame, "from_arrow"):
        pytest.skip("this pandas has no DataFrame.from_arrow")
    assert pandas.DataFrame.from_arrow(result.hops)["hop"].tolist() == result.hops["hop"]


def test_record_page_and_tables_say_the_same(plan: Plan) -> None:
    result = gigatcp.run(plan)
    (series,) = result.record["series"]
    (flow,) = series["flows"]
    assert result.record["schema"] == "gigatcp.run/5"
    assert result.flows["goodput_bps"] == [flow["goodput_bps"]]
    assert len(result.intervals) == len(flow["intervals"])
    assert result.html().lower().startswith("<!doctype html>")
    assert result._repr_html_().startswith("<iframe")
    assert "bit/s, path-saturated for" in repr(result)
    assert "Mbit/s" in str(result)


def test_a_run_is_repeated_to_the_bit_on_any_number_of_threads(plan: Plan) -> None:
    one = gigatcp.run(plan, repeat=4, jobs=1).summary["event_hash"]
    many = gigatcp.run(plan, repeat=4, jobs=4).summary["event_hash"]
    assert one == many
    assert len(set(one)) == 4


def test_python_goes_on_while_worlds_run(plan: Plan) -> None:
    ticks: list[float] = []
    is_over = threading.Event()

    def tick() -> None:
        while not is_over.wait(0.001):
            ticks.append(time.monotonic())

    thread = threading.Thread(target=tick)
    thread.start()
    began = time.monotonic()
    gigatcp.run(plan.set("flow.bytes=100 MB"))
    ended = time.monotonic()
    is_over.set()
    thread.join()
    assert sum(began < at < ended for at in ticks) > 3


def test_a_signal_ends_a_run(plan: Plan) -> None:
    long = plan.set(["flow.bytes=100 GB", "duration=10000 s"])
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    began = time.process_time()
    with pytest.raises(KeyboardInterrupt):
        gigatcp.run(long)
    assert time.process_time() - began < 10


def test_a_kernel_is_refused_in_virtual_time(plan: Plan) -> None:
    with pytest.raises(gigatcp.Error, match="kernel.*\n.*nothing was run.*\n.*hint"):
        gigatcp.run(plan.set("sender.stack=kernel"))
