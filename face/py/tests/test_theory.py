import pytest

import gigatcp


def test_the_window_is_rate_times_rtt() -> None:
    found = gigatcp.theory("10 Gbit/s", "80 ms", 8948, loss=["1e-5"], window=["64 KiB"])
    assert found["rate_bps"] == 10**10
    assert found["window"]["bdp_bytes"] == 100_000_000
    assert found["with_window"][0]["rate_bps"] == pytest.approx(65536 * 8 / 0.08, abs=1)
    assert found["at_loss"][0]["loss_probability"] == 1e-5


def test_a_wrong_quantity_is_named_with_a_hint() -> None:
    with pytest.raises(gigatcp.Error, match=r'rtt="80".*\n.*effect.*\n.*hint'):
        gigatcp.theory("10 Gbit/s", "80", 1448)
