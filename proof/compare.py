#!/usr/bin/env python3
"""What `gigatcp compare` finds: false alarms of equal commands, and injected regressions.

    cargo build --release -p gigatcp
    cargo build --release -p gigatcp-interop --example regressions
    proof/compare.py equal 30 >> runs.jsonl      30 comparisons of a command with itself, 60 s each
    proof/compare.py regressions [FAULT]...      each fault once, or those named, within 10 minutes

Needs root. The programs are those of $GIGATCP and $REGRESSIONS, by default of target/release. Each line
of standard output is the JSON of a comparison; `proof/interop/tests/compare_false_alarms.rs` draws from
the stored runs of `equal` again.
"""

import json
import os
import subprocess
import sys
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
GIGATCP = os.environ.get("GIGATCP", f"{TOP}/target/release/gigatcp")
PROGRAM = os.environ.get("REGRESSIONS", f"{TOP}/target/release/examples/regressions")
SERVER = f"ip route add 10.85.0.0/16 dev path0; exec {PROGRAM} serve"
PATHS = ["wan", "lossy", "lte", "wifi", "policer", "lan"]

# Fault, path, transfer without it, with it, and the change of goodput that was expected, in percent:
# before the first run, except for RTO and no SACK, which were tried on other paths first
# (results/compare.txt) and whose expectations here were stated after those runs.
FAULTS = [
    ("RTO of 3 s, no TLP", "rate=20 Mbit/s delay=20 ms loss=0.02", "ask 40", "fixed-rto", -60),
    ("delayed ACK of 200 ms", "wifi", "get 500000", "delayed-ack", -80),
    ("no SACK", "rate=20 Mbit/s delay=20 ms loss_burst=0.01:10", "put 1000000", "no-sack", -40),
    ("initial window of 2", "wan", "put 100000", "iw2", -42),
    ("receive buffer of 32 KiB", "wan", "get 1000000", "small-buffer", -75),
    ("Nagle", "lan", "ask 20", "nagle", -90),
    ("no pacing", "policer", "put 2000000", "no-pacing", -15),
    ("MSS of 536", "lossy", "put 1000000", "small-mss", -55),
    ("Reno in place of BBR", "lossy", "put 1000000 bbr", "reno", -60),
    ("BBR in place of CUBIC", "rate=50 Mbit/s delay=62500 us queue=400 kB", "put 2000000", "bbr", -10),
]


def compare(old, new, *options):
    """The JSON of a comparison, and its exit status."""
    words = [GIGATCP, "compare", old, new, "--json", *options]
    ended = subprocess.run(words, stdout=subprocess.PIPE, check=False)
    if ended.returncode not in (0, 1):
        sys.exit(f"compare ended with {ended.returncode}: {' '.join(words)}")
    return json.loads(ended.stdout), ended.returncode


def equal(count, first):
    """False alarms of a command compared with itself."""
    command = f"{GIGATCP} test $GIGATCP_SERVER --no-probe -t 1"
    alarms = 0
    for seed in range(first, first + count):
        path = PATHS[seed % len(PATHS)]
        answer, status = compare(
            command, command, "--server", f"exec {GIGATCP} server", "--paths", path,
            "--within", "60s", "--seed", str(seed),
        )
        alarms += status
        print(json.dumps(answer), flush=True)
        found = answer["paths"][0]
        print(f"{path}, seed {seed}: {found['verdict']} after {found['pairs']} pairs", file=sys.stderr)
    print(f"{alarms} false alarms of {count}", file=sys.stderr)


def regressions(faults):
    """Each fault, compared within 10 minutes."""
    found = 0
    for name, path, transfer, fault, expected in faults:
        began = time.monotonic()
        # The last word of a transfer may be the control of OLD.
        what = " ".join(transfer.split()[:2])
        answer, status = compare(
            f"{PROGRAM} {transfer}", f"{PROGRAM} {what} {fault}", "--server", SERVER,
            "--paths", path, "--within", "10min", "--timeout", "8s",
        )
        took = time.monotonic() - began
        found += status
        print(json.dumps(answer), flush=True)
        measured = answer["paths"][0]
        change = 100 * measured["change"]
        print(
            f"{name}: {measured['verdict']}, {change:+.0f} % (expected {expected:+} %), "
            f"{measured['pairs']} pairs, {took:.0f} s",
            file=sys.stderr,
        )
    print(f"{found} of {len(faults)} found", file=sys.stderr)


if __name__ == "__main__":
    if sys.argv[1:2] == ["equal"]:
        equal(int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    elif sys.argv[1:2] == ["regressions"]:
        regressions([fault for fault in FAULTS if fault[3] in sys.argv[2:] or not sys.argv[2:]])
    else:
        sys.exit(__doc__)
