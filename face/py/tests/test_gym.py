import warnings

import pytest

import gigatcp

checker = pytest.importorskip("gymnasium.utils.env_checker", reason="gymnasium is not installed")


def test_the_checker_of_gymnasium_finds_nothing() -> None:
    from gigatcp.gym import PathEnv

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # An environment that is checked alone has no specification, and need not.
        warnings.filterwarnings("ignore", message=".*spec.*")
        checker.check_env(PathEnv(), skip_render_check=True)


def test_the_window_of_the_agent_is_the_window_of_the_flow() -> None:
    import numpy as np

    from gigatcp.gym import PathEnv

    env = PathEnv({"path": {"rate": "20 Mbit/s", "rtt": "40 ms"}, "flow": {"duration": "5 s"}})

    def last(power: float) -> list[float]:
        env.reset(seed=1)
        for _ in range(14):
            seen, _, _, _, _ = env.step(np.array([power], np.float32))
        return [float(value) for value in seen]

    small, large = last(-1.0), last(0.3)
    # One segment in flight is 0.015 of 100 kB; a window above the BDP fills the path and queues.
    assert small[0] < 0.05 and small[3] < 0.02
    assert large[0] > 0.8 and large[1] > 0.2 and large[3] > 1.0


def test_an_episode_ends_with_its_flow() -> None:
    from gigatcp.gym import PathEnv

    env = PathEnv({"path": {"rate": "20 Mbit/s", "rtt": "40 ms"}, "flow": {"bytes": "100 kB"}})
    env.reset(seed=1)
    ended = [env.step(env.action_space.sample())[2] for _ in range(1)]
    while not ended[-1] and len(ended) < 500:
        ended.append(env.step(env.action_space.sample())[2])
    assert ended[-1]
    assert gigatcp.__version__
