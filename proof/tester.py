#!/usr/bin/env python3
"""UDP, the flight recorder and ndt7, measured as root in namespaces of its own.

`proof/tester.py target/release/gigatcp [NDT_SERVER]`, where `cargo xtask proof --ndt7` builds the server.

* UDP: 1 Gbit/s of 1460 bytes over the loopback, alternating with iperf3. Expected: at most iperf3's CPU time a GB.
* Recorder: 1,000 sockets, a tenth of them busy. Expected: at most 1 % of a core, and 64 MB a day.
* ndt7: M-Lab's server over an emulated path, in both directions. Expected: the path's rate, within 10 %.
"""

import json
import os
import re
import resource
import socket
import subprocess
import sys
import tempfile
import time

MSS, LINK = 1448, 1538
PORT = 5299


def spawn(*command):
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def cpu_of_children(action):
    """Result of an action, and the CPU seconds of the processes that it waits for."""

    def total():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    before = total()
    result = action()
    return result, total() - before


def wait_until_served():
    listening = re.compile(rf":{PORT:04X} [0-9A-F:]+ 0A ")
    while not any(listening.search(open(f"/proc/self/net/{table}").read()) for table in ("tcp", "tcp6")):
        time.sleep(0.05)
    time.sleep(0.2)


def udp_once(server, client):
    """CPU seconds of both ends for a GB that arrived, and the percentage lost, by the client's JSON."""

    def both():
        serving = spawn(*server, "-p", str(PORT), "-1")
        wait_until_served()
        done = subprocess.run([*client, "-p", str(PORT), "-u", "-b", "1G", "-l", "1460", "-t", "5", "-J"], stdout=subprocess.PIPE)
        serving.wait(timeout=30)
        return json.loads(done.stdout)["end"]["sum"]

    end, seconds = cpu_of_children(both)
    arrived = end["bytes"] / 1e9 * (1 - end["lost_percent"] / 100)
    return seconds / arrived, end["lost_percent"]


def udp(command):
    ours = ([command, "server"], [command, "test", "127.0.0.1", "--no-probe"])
    stock = (["iperf3", "-s"], ["iperf3", "-c", "127.0.0.1"])
    for run in range(3):
        for name, (server, client) in (("gigatcp", ours), ("iperf3", stock)):
            cost, lost = udp_once(server, client)
            print(f"UDP, run {run + 1}, {name}: {cost:.2f} CPU s a GB that arrived, both ends, {lost:.2f} % lost", flush=True)


def recorder(command, sockets=1000, seconds=60):
    listener = socket.create_server(("127.0.0.1", 0), backlog=sockets)
    pairs = [(socket.create_connection(listener.getsockname()), listener.accept()[0]) for _ in range(sockets // 2)]
    busy = pairs[: len(pairs) // 10]
    with tempfile.TemporaryDirectory() as directory:
        place = os.path.join(directory, "recording")
        arguments = [command, "watch", "--record", place, "--count", str(seconds), "--interval", "1s"]
        recording = subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True)
        while recording.poll() is None:
            for sender, receiver in busy:
                sender.sendall(bytes(20_000))
                receiver.recv(1 << 16)
            time.sleep(0.05)
        said = recording.stderr.read().strip().splitlines()[-1]
        size = sum(os.path.getsize(os.path.join(place, name)) for name in os.listdir(place))
    print(f"recorder, {sockets} sockets, {len(busy)} transfers, {seconds} s: {size / 1e3:.0f} kB, {size * 86400 / seconds / 1e6:.1f} MB a day")
    print(f"  {said}", flush=True)


OPTIONS = {
    "ndt7_addr_cleartext": ":4444",
    "datadir": "data",
    "cert": "cert.pem",
    "key": "key.pem",
    **{
        name: "127.0.0.1:0"
        for name in ("ndt7_addr", "ndt5_addr", "ndt5_ws_addr", "ndt5_wss_addr", "prometheusx.listen-address", "health_addr")
    },
}
CERTIFICATE = "openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost -keyout key.pem -out cert.pem"


def ndt7(command, server):
    serve = " ".join([server, *(f"-{name} {value}" for name, value in OPTIONS.items())])
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run(CERTIFICATE.split(), cwd=directory, check=True, stderr=subprocess.DEVNULL)
        for rate, rtt in ((20, 20), (100, 40), (200, 10)):
            for direction in ("", "-R"):
                test = f"sleep 2; {command} test --ndt7 ws://$GIGATCP_SERVER:4444 --format json {direction}"
                path = ["--rate", f"{rate}M", "--rtt", f"{rtt}ms", "--server", serve]
                run = [command, "emulate", "--quiet", *path, "--", "sh", "-c", test]
                done = subprocess.run(run, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
                answer = json.loads(done.stdout)
                total = answer["streams"][0]["total"]
                mbps = total["bytes"] * 8e-6 / answer["measured_s"]
                error = mbps / (rate * MSS / LINK) - 1
                print(f"ndt7 {direction or 'sent'}, {rate} Mbit/s, {rtt} ms: {mbps:.1f} Mbit/s, {error:+.1%}", flush=True)


def main():
    command = os.path.abspath(sys.argv[1])
    udp(command)
    recorder(command)
    if len(sys.argv) > 2:
        ndt7(command, os.path.abspath(sys.argv[2]))


if __name__ == "__main__":
    main()
