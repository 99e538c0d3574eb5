"""
How fast a Ulyssix packet of 5,000 time-tagged samples is decoded.

Run with ``python -m benchmarks.bench_ulyssix_decode``. The limit beside each figure is numpy's
copy of the two columns of 5,000 samples where they lie in a datagram, measured in turn with it:
what any decoder that delivers contiguous arrays has to do. Even counts are those of parameters of
one rate; uneven ones have to be walked one by one.
"""

from collections.abc import Callable
from functools import partial
import sys
from timeit import timeit

import numpy as np
from numpy.typing import NDArray

from xplane_bridge.protocols import ulyssix

SAMPLES = 5_000
PARAMETERS = (1, 10, 50, 500)
ROUNDS = 200
CALLS = 20

SHARE_OF_LIMIT = 0.5  # to be reached with even counts up to 50 parameters
RATE = 20e6  # samples/s to be reached always

FIRST_SAMPLE = 45  # its offset: header 5, payload header 36, count 4
SAMPLE = np.dtype([('value', '<f4'), ('time', '<f8')])


def packet(parameters: int, even: bool) -> bytes:
    """Return a datagram of SAMPLES samples; uneven counts differ by 2 from their neighbours'."""
    each = SAMPLES // parameters
    counts = [each + (0 if even else (-1) ** index) for index in range(parameters)]
    time = ulyssix.PacketTime(45, 12, 34, 56, 789012, ulyssix.WordOrder.FIRST_WORD_HIGH)
    values = [np.arange(count, dtype=np.float32) for count in counts]
    times = [3846896.789012 + 0.001 * np.arange(count) for count in counts]
    return ulyssix.encode(ulyssix.data_packet(1, SAMPLES, time, values, times))


def copy_columns(datagram: bytes) -> tuple[object, object]:
    """Copy both columns of a datagram with one parameter and no names: the limit."""
    samples = np.frombuffer(datagram, SAMPLE, SAMPLES, FIRST_SAMPLE)
    return samples['value'].copy(), samples['time'].copy()


def rounds_in_turn(*calls: Callable[[], object]) -> NDArray[np.float64]:
    """
    Time the calls in turn, so that a change of the machine's pace meets all of them alike.

    Returns seconds a call, shape (calls, ROUNDS).
    """
    rounds = [[timeit(call, number=CALLS) / CALLS for call in calls] for _ in range(ROUNDS)]
    return np.array(rounds).T


def main() -> int:
    """Print the figures; return 1 if a goal was missed."""
    missed = False
    single = packet(1, even=True)
    print(f'Ulyssix decode, {SAMPLES} samples (float32, float64) a packet, medians')
    print('parameters  counts   decode us  limit us  share of limit  M samples/s')
    for parameters in PARAMETERS:
        for even in (True, False) if parameters > 1 else (True,):
            decode, limit = rounds_in_turn(
                partial(ulyssix.decode, packet(parameters, even)),
                partial(copy_columns, single),
            )
            share = float(np.median(limit / decode))
            decode_us, limit_us = 1e6 * np.median(decode), 1e6 * np.median(limit)
            rate = 1e6 * SAMPLES / decode_us
            short = rate < RATE or (even and parameters <= 50 and share < SHARE_OF_LIMIT)
            missed |= short
            print(
                f'{parameters:10d}  {"even" if even else "uneven":6s}  {decode_us:10.1f}'
                f'  {limit_us:8.1f}  {share:14.2f}  {rate / 1e6:11.0f}'
                f'{"  goal missed" if short else ""}'
            )
    return int(missed)


if __name__ == '__main__':
    sys.exit(main())
