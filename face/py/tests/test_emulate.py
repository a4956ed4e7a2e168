import os
import socket
import threading
import time
from pathlib import Path

import pytest

import gigatcp

is_allowed = os.geteuid() == 0 and Path("/dev/net/tun").exists() if hasattr(os, "geteuid") else False
pytestmark = pytest.mark.skipif(not is_allowed, reason="network namespaces need root and /dev/net/tun")


def delivered(counters: dict) -> int:
    return sum(hop["delivered_packets"] for hop in counters["forward"].values())


def test_programs_meet_over_the_path_and_nowhere_else() -> None:
    try:
        path = gigatcp.emulate(rate="100 Mbit/s", rtt="40 ms").__enter__()
    except gigatcp.Error as error:
        pytest.skip(f"no namespaces here: {error}")
    with path:
        address = (path.address("server"), 5001)
        listener = path.call("server", lambda: socket.create_server(address))
        thread = threading.Thread(target=lambda: listener.accept()[0].sendall(b"hello"))
        thread.start()
        began = time.monotonic()
        client = path.call("client", lambda: socket.create_connection(address, timeout=5))
        connected = time.monotonic() - began
        assert client.recv(5) == b"hello"
        thread.join()
        client.close()
        listener.close()
        done = path.run("client", ["cat", "/proc/net/dev"], capture_output=True, text=True)
        assert "eth0" not in done.stdout
        # SYN, its ACK and the ACK of the data; counters are published a moment later.
        until = time.monotonic() + 5
        counters = path.counters
        while delivered(counters) < 3 and time.monotonic() < until:
            time.sleep(0.01)
            counters = path.counters
        path.change(rtt="10 ms")
        with pytest.raises(OSError):
            path.call("server", lambda: socket.create_connection((path.address("client"), 9), timeout=5))
    assert connected >= 0.04
    assert all(hop["dropped_packets"] == 0 for way in counters.values() for hop in way.values())
    assert delivered(counters) >= 3
    with pytest.raises(gigatcp.Error, match="has been stopped"):
        path.counters
