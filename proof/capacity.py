#!/usr/bin/env python3
"""Checks the capacity that packet trains measure, on paths whose rate is known.

40 paths of `gigatcp emulate`, in both directions, and 12 of tbf over veth, as root:
`proof/capacity.py target/release/gigatcp`. Expected: a rate is found on 80 % of them, within 10 % of the truth on 90 % of those.
"""

import json
import subprocess
import sys

MSS, ETHERNET, LINK = 1448, 1514, 1538
EMULATED = [(rate, rtt) for rate in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000) for rtt in (1, 20, 80, 200)]
SHAPED = [(rate, burst) for rate in (5, 20, 100, 500) for burst in ("5k", "32k", "128k")]

VETH = """
ip netns add ca; ip netns add cb; ip link add va netns ca type veth peer name vb netns cb
ip -n ca addr add 10.98.0.1/24 dev va; ip -n cb addr add 10.98.0.2/24 dev vb
ip -n ca link set va up; ip -n cb link set vb up
ip netns exec ca tc qdisc add dev va root tbf rate {rate}mbit burst {burst} latency 60ms
ip netns exec cb {command} server > /dev/null 2>&1 & server=$!
sleep 0.7
ip netns exec ca {command} test 10.98.0.2 -t 1 --format json
kill $server; ip netns del ca; ip netns del cb
"""


def measured(arguments):
    """The capacity in a test's JSON; None if it was not found."""
    run = subprocess.run(arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=60)
    return json.loads(run.stdout)["path_capacity"]


def emulated(command, rate, rtt, direction=""):
    test = f"sleep 0.7; {command} test $GIGATCP_SERVER -t 1 --format json {direction}"
    path = ["--rate", f"{rate}M", "--rtt", f"{rtt}ms", "--server", f"{command} server"]
    return measured([command, "emulate", "--quiet", *path, "--", "bash", "-c", test])


def reverse(command, rate, rtt):
    return emulated(command, rate, rtt, "-R")


def shaped(command, rate, burst):
    return measured(["bash", "-c", VETH.format(rate=rate, burst=burst, command=command)])


def main():
    command = sys.argv[1]
    paths = [(f"emulate {rate} Mbit/s, {rtt} ms", rate * MSS / LINK, emulated, rate, rtt) for rate, rtt in EMULATED]
    paths += [(f"{name}, from the server", truth, reverse, *path) for name, truth, _, *path in paths]
    paths += [(f"tbf {rate} Mbit/s, {burst}", rate * MSS / ETHERNET, shaped, rate, burst) for rate, burst in SHAPED]
    found = within = 0
    for name, truth, run, rate, other in paths:
        capacity = run(command, rate, other)
        if capacity is None:
            print(f"{name}: not found", flush=True)
            continue
        error = capacity["bps"] / 1e6 / truth - 1
        share = capacity["bytes"] * 8 / (truth * 1e6 * 10)
        found += 1
        within += abs(error) <= 0.1
        print(f"{name}: {error:+.1%}, {share:.2%} of the bytes of 10 s", flush=True)
    print(f"{len(paths)} paths, {found} found, {within} within 10 %")


if __name__ == "__main__":
    main()
