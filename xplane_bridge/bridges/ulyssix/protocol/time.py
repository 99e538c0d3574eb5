# Copyright 2026 xplane_bridge contributors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""
The packet's time: binary-coded decimal, in either order of its two 32-bit words.

docs/wire/ulyssix.md, section 2, rows 3 to 5 and 20. One word is the date 0DDDHHMM, the other the
clock SSmmmuuu, one decimal digit per nibble. The document's table and its appendix disagree about
which of them is sent first.
"""

from dataclasses import dataclass
import enum

# The appendix prints the factors of days and hours ten times too small (row 4).
MICROS_PER_SECOND = 1_000_000
MICROS_PER_MINUTE = 60 * MICROS_PER_SECOND
MICROS_PER_HOUR = 60 * MICROS_PER_MINUTE
MICROS_PER_DAY = 24 * MICROS_PER_HOUR


class WordOrder(enum.Enum):
    """Which of the two 32-bit words comes first on the wire."""

    FIRST_WORD_HIGH = 'first_word_high'  # date, then clock: the appendix's shifts
    TRUE_U64 = 'true_u64'  # clock, then date: the table's nibble numbers


@dataclass(frozen=True, slots=True)
class PacketTime:
    """
    The time of the first data point, as one word order reads it.

    doy is the day of the year, 1..366, 1 January being 1; second runs to 60 for a leap second.
    There is no year and no time zone.
    """

    doy: int
    hour: int
    minute: int
    second: int
    microsecond: int
    word_order: WordOrder


def decode_bcd(raw: bytes, word_order: WordOrder | None = None) -> tuple[PacketTime, ...]:
    """
    Read the eight bytes of a packet's time.

    Returns the valid readings: none, one, or (for 0.87 % of all times) one for each word order,
    `FIRST_WORD_HIGH` first. With word_order only that reading is tried. The bytes alone cannot
    decide between two readings: keep the order of a packet that had one.
    """
    digits = raw[::-1].hex()
    if not digits.isdecimal():
        return ()
    high, low = divmod(int(digits), 100_000_000)
    readings: tuple[PacketTime, ...] = ()
    if word_order is not WordOrder.TRUE_U64:
        readings += _read_words(low, high, WordOrder.FIRST_WORD_HIGH)
    if word_order is not WordOrder.FIRST_WORD_HIGH:
        readings += _read_words(high, low, WordOrder.TRUE_U64)
    return readings


def _read_words(date: int, clock: int, word_order: WordOrder) -> tuple[PacketTime, ...]:
    doy, hour_minute = divmod(date, 10_000)
    if not 1 <= doy <= 366:
        return ()
    hour, minute = divmod(hour_minute, 100)
    second, microsecond = divmod(clock, MICROS_PER_SECOND)
    if hour > 23 or minute > 59 or second > 60:
        return ()
    return (PacketTime(doy, hour, minute, second, microsecond, word_order),)


def encode_bcd(time: PacketTime) -> bytes:
    """
    Return the eight bytes of a packet's time, in its own word order.

    Raises ValueError for a time that does not exist.
    """
    for name, low, high in (
        ('doy', 1, 366),
        ('hour', 0, 23),
        ('minute', 0, 59),
        ('second', 0, 60),
        ('microsecond', 0, MICROS_PER_SECOND - 1),
    ):
        value = getattr(time, name)
        if not low <= value <= high:
            raise ValueError(f'{name} is {value}, expected {low} to {high}')
    date = bytes.fromhex(f'{time.doy:04d}{time.hour:02d}{time.minute:02d}')[::-1]
    clock = bytes.fromhex(f'{time.second:02d}{time.microsecond:06d}')[::-1]
    if WordOrder(time.word_order) is WordOrder.FIRST_WORD_HIGH:
        return date + clock
    return clock + date


def micros_since_jan1(
    day: int, hour: int, minute: int, second: int, microsecond: int, day_base: int = 1
) -> int:
    """
    Return microseconds since 1 January 00:00.

    day_base is the number of 1 January: 1 as IRIG counts (the proposed reading), 0 as the appendix
    multiplies. Raises ValueError for another day_base.
    """
    if day_base not in (0, 1):
        raise ValueError(f'day_base is {day_base}, expected 0 or 1')
    return (
        (day - day_base) * MICROS_PER_DAY
        + hour * MICROS_PER_HOUR
        + minute * MICROS_PER_MINUTE
        + second * MICROS_PER_SECOND
        + microsecond
    )
