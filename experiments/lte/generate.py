#!/usr/bin/env python3
"""Writes lte.trace: 60 s of a cell whose rate fades, in mahimahi's format.

The model, also in README.md. Each millisecond is one LTE subframe. The logarithm of
the rate is a first-order autoregression: median 4.4 Mbit/s, standard deviation 0.7,
correlation time 1.5 s. In each millisecond a Poisson number of opportunities of 1504
bytes arises at that rate. Handovers come every 20 s on average, never in the first
5 s, and stop the link for 0.4 to 1.4 s.

    python3 generate.py > lte.trace
"""

import math
import random

MEDIAN_BPS = 4.4e6
SIGMA = 0.7
CORRELATION_MS = 1500.0
HANDOVER_EVERY_MS = 20_000.0
LENGTH_MS = 60_000
OPPORTUNITY_BITS = 1504 * 8
SEED = 4


def poisson(draw, mean):
    """Knuth's method: small means only."""
    product, count = draw.random(), 0
    while product > math.exp(-mean):
        product *= draw.random()
        count += 1
    return count


def main():
    draw = random.Random(SEED)
    keep = math.exp(-1.0 / CORRELATION_MS)
    fading = 0.0
    silent_until = 0.0
    handover = 5000.0 + draw.expovariate(1.0 / HANDOVER_EVERY_MS)
    for ms in range(1, LENGTH_MS + 1):
        fading = keep * fading + math.sqrt(1.0 - keep * keep) * draw.gauss(0.0, 1.0)
        if ms >= handover:
            silent_until = ms + draw.uniform(400.0, 1400.0)
            handover = silent_until + draw.expovariate(1.0 / HANDOVER_EVERY_MS)
        if ms < silent_until:
            continue
        rate = MEDIAN_BPS * math.exp(SIGMA * fading)
        for _ in range(poisson(draw, rate / 1000.0 / OPPORTUNITY_BITS)):
            print(ms)


if __name__ == "__main__":
    main()
