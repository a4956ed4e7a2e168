"""What several tests use."""

from pathlib import Path

import pytest

import gigatcp

TEXT = """
name = "small"
path = { rate = "50 Mbit/s", rtt = "20 ms", loss = "1e-3" }
flow = { bytes = "2 MB" }
"""


@pytest.fixture
def plan() -> gigatcp.Plan:
    return gigatcp.Plan(TEXT)


@pytest.fixture(scope="session")
def capture() -> Path:
    top = Path(__file__).resolve().parents[3]
    return top / "drive/analyze/tests/captures/transfer.txt"
