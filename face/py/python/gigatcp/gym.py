"""A Gymnasium environment: an agent sets the congestion window of a flow.

    pip install gigatcp[gym]

    >>> from gigatcp.gym import PathEnv
    >>> env = PathEnv({"path": {"rate": "20 Mbit/s", "rtt": "40 ms"}, "flow": {"duration": "60 s"}})
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from . import _native
from ._control import CongestionControl
from ._native import Ack, Config, Congestion, Plan, World

Observation = NDArray[np.float32]

PLAN = {"path": {"rate": "20 Mbit/s", "rtt": "40 ms"}, "flow": {"duration": "60 s"}}
"""Default plan of an environment."""


class _Held(CongestionControl):
    """A window that only the agent moves; a timeout does not reduce it."""

    name = "agent"

    def on_ack(self, ack: Ack) -> None:
        pass

    def on_congestion(self, event: Congestion) -> None:
        pass

    def on_idle_restart(self, now_ns: int, restart_window: int) -> None:
        pass


class PathEnv(gymnasium.Env[Observation, NDArray[np.float32]]):
    """One flow over the path of a plan; its window is the agent's.

    * action: one number from -1 to 1; the window is multiplied by 2 to that power.
    * observation: goodput as a share of the rate; queueing delay, in minimum RTTs; share of
      segments retransmitted; bytes in flight in BDPs. Each is of the last step, at most 100.
    * reward: goodput share - `delay_weight` * queueing delay - `loss_weight` * retransmitted share.

    A step is one RTT of the empty path unless `step` (seconds) says otherwise. An episode ends
    with the flow and is cut after `max_steps`.
    """

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(
        self,
        plan: Any = None,
        *,
        step: float | None = None,
        max_steps: int = 500,
        delay_weight: float = 0.2,
        loss_weight: float = 2.0,
    ) -> None:
        self.observation_space = gymnasium.spaces.Box(0.0, 100.0, (4,), np.float32)
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)
        self._plan = plan if isinstance(plan, Plan) else Plan(plan or PLAN)
        self._weights = (delay_weight, loss_weight)
        self._max_steps = max_steps
        self._agents: list[_Held] = []
        hops = World(self._plan).hops.values()
        self._rate = min(hop["rate_bps"] or 1e12 for hop in hops)
        self._rtt = sum(hop["one_way_delay_ns"] for hop in hops) / 1e9
        self._step = step or max(self._rtt, 0.001)
        self._world: World | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        super().reset(seed=seed)
        self._agents = []
        self._steps = 0
        seed = int(self.np_random.integers(2**31))
        self._world = World(self._plan, seed=seed, control=self._make)
        self._last = (0, 0, 0)
        # The handshake takes an RTT, and the first window another.
        self._world.advance(2.0 * self._step)
        return self._observe(self._world), {}

    def _make(self, config: Config) -> _Held:
        agent = _Held(config)
        self._agents.append(agent)
        return agent

    def step(
        self, action: NDArray[np.float32]
    ) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        if self._world is None:
            raise _native.Error("the environment has not begun\n  hint: call reset() first")
        power = float(np.clip(action[0], -1.0, 1.0))
        for agent in self._agents:
            # 2 GiB exceed the BDP of any path here, and the largest TCP window.
            agent.cwnd = min(max(agent.cwnd * 2.0**power, agent.smss), 2.0**31)
        goes_on = self._world.advance(self._world.now + self._step)
        self._steps += 1
        seen = self._observe(self._world)
        goodput, delay, lost, _ = (float(value) for value in seen)
        reward = goodput - self._weights[0] * delay - self._weights[1] * lost
        is_cut = goes_on and self._steps >= self._max_steps
        return seen, reward, not goes_on, is_cut, {"now": self._world.now}

    def _observe(self, world: World) -> Observation:
        flow = world.flow(0)
        now = (flow["delivered_bytes"], flow.get("segments_sent", 0), flow.get("retransmitted_segments", 0))
        delivered, sent, again = (new - old for new, old in zip(now, self._last))
        self._last = now
        srtt, least = flow.get("srtt_ns"), flow.get("min_rtt_ns")
        values = [
            8.0 * delivered / (self._rate * self._step),
            (srtt - least) / least if srtt and least else 0.0,
            again / sent if sent else 0.0,
            8.0 * flow.get("flight_bytes", 0) / (self._rate * max(self._rtt, 1e-6)),
        ]
        return np.clip(np.array(values, np.float32), 0.0, 100.0)
