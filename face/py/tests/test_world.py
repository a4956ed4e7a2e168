import pytest

import gigatcp
from gigatcp import Plan, World


def test_steps_change_nothing(plan: Plan) -> None:
    world = World(plan, seed=5)
    while world.advance(world.now + 0.013):
        pass
    whole = gigatcp.run(plan, seed=5)
    stepped = world.result()
    assert stepped.summary["event_hash"] == whole.summary["event_hash"]
    assert stepped.record["series"] == whole.record["series"]


def test_a_flow_is_read_between_steps(plan: Plan) -> None:
    world = World(plan)
    assert world.flow()["state"] == "Closed" or world.flow()["delivered_bytes"] == 0
    world.advance("100 ms")
    assert world.now_ns == 100_000_000
    early = world.flow("flow")
    assert early["state"] == "Established"
    assert early["min_rtt_ns"] >= 20_000_000
    world.advance(0.2)
    late = world.flow(0)
    assert late["delivered_bytes"] > early["delivered_bytes"]
    with pytest.raises(gigatcp.Error, match="no flow"):
        world.flow("other")


def test_a_link_changes_while_a_world_runs(plan: Plan) -> None:
    plan = plan.set(["path.loss=0", "flow.bytes=30 MB"])

    def rate(world: World) -> float:
        before, began = world.flow()["delivered_bytes"], world.now
        world.advance(began + 1.0)
        return 8 * (world.flow()["delivered_bytes"] - before)

    world = World(plan)
    world.advance("0.5 s")
    fast = rate(world)
    world.change("path.rate=5 Mbit/s")
    # The queue that the fast link left, and what it drops, takes a while.
    world.advance(world.now + 3.0)
    slow = rate(world)
    assert fast > 40e6
    # Payload is 1448 of the 1538 bytes that a packet takes on an Ethernet, or a bit more.
    assert 4.5e6 < slow < 5e6
    assert {hop["rate_bps"] for hop in world.hops.values()} == {5_000_000}


def test_what_is_no_link_does_not_change(plan: Plan) -> None:
    world = World(plan)
    with pytest.raises(gigatcp.Error, match="changes no link"):
        world.change("flow.bytes=1 MB")
    with pytest.raises(gigatcp.PlanError):
        world.change("path.rate=fast")
    world.advance()
    with pytest.raises(gigatcp.Error, match="world is over"):
        world.result(), world.result()
