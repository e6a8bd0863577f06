"""Histograms over time: reads `windows.hlog`, an interval log of HdrHistogram, version 1.3 (nanoseconds)."""

from __future__ import annotations

import base64
import math
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path

OUTER = struct.Struct(">II")  # cookie, length of what follows
INNER = struct.Struct(">IIIIQQd")  # cookie, length of the counts, offset, digits, least and greatest value, ratio
COMPRESSED, PLAIN, WORD_SIZE = 0x1C849304, 0x1C849303, 0xF0
MOST_BYTES = 16 << 20  # of one decompressed histogram
MOST_DIGITS = 3  # Proofload writes 2; each further digit needs ten times the memory


@dataclass(frozen=True)
class Histogram:
    """Counts of times, in nanoseconds: `buckets` has (lowest, highest, count), ascending; none is empty."""

    buckets: tuple[tuple[int, int, int], ...] = ()

    @property
    def count(self) -> int:
        """Number of values."""
        return sum(count for _, _, count in self.buckets)

    @property
    def min_ns(self) -> int:
        """Lower end of the first bucket in nanoseconds; 0 if there are no values."""
        return self.buckets[0][0] if self.buckets else 0

    @property
    def max_ns(self) -> int:
        """Upper end of the last bucket in nanoseconds; 0 if there are no values."""
        return self.buckets[-1][1] if self.buckets else 0

    @property
    def mean_ns(self) -> float:
        """Mean in nanoseconds, from the middles of the buckets; 0 if there are no values."""
        total = sum((lower + (upper - lower + 1) // 2) * count for lower, upper, count in self.buckets)
        return total / self.count if self.buckets else 0.0

    def quantile(self, q: float) -> int:
        """Upper end of the bucket of the value with rank ⌈q·n⌉, in nanoseconds; ValueError if there are no values."""
        if not (0 <= q <= 1 and self.buckets):
            raise ValueError(f"a quantile needs values and must be in [0, 1] (got {q} of {self.count} values)")
        # One step lower, as in Proofload: 0.07·100 is a little over 7 in binary, and its rank is 7.
        rank = max(1, math.ceil(math.nextafter(q, -1.0) * self.count))
        ranks = accumulate(count for _, _, count in self.buckets)
        return next(upper for (_, upper, _), last in zip(self.buckets, ranks) if last >= rank)

    def counts(self) -> list[tuple[int, int, int]]:
        """Buckets as (lowest value, highest value, count), in nanoseconds, ascending; none is empty."""
        return list(self.buckets)

    def __add__(self, other: Histogram) -> Histogram:
        """The values of both, in nanoseconds."""
        return Histogram.merge((self, other))

    @staticmethod
    def merge(histograms: Iterable[Histogram]) -> Histogram:
        """The values of all of them, in nanoseconds; ValueError if their buckets overlap."""
        counts: dict[tuple[int, int], int] = {}
        for histogram in histograms:
            for lower, upper, count in histogram.buckets:
                counts[lower, upper] = counts.get((lower, upper), 0) + count
        buckets = sorted((lower, upper, count) for (lower, upper), count in counts.items())
        if any(before[1] >= after[0] for before, after in zip(buckets, buckets[1:])):
            raise ValueError("histograms with different buckets cannot be added")
        return Histogram(tuple(buckets))


@dataclass(frozen=True)
class Window:
    """Times of one operation in one window; `start_ns` counts from the start of the measure phase (nanoseconds)."""

    operation: str
    time: str
    start_ns: int
    length_ns: int
    histogram: Histogram


def read(path: Path, wanted: Callable[[str, str], bool]) -> tuple[Window, ...]:
    """Windows whose operation and time are wanted (nanoseconds); ValueError names the malformed line."""
    windows: dict[tuple[str, str, int], Window] = {}
    with path.open("rb") as file:
        # The writer may have been killed within the last line, and half a number is a number.
        for number, line in enumerate((line for line in file if line.endswith(b"\n")), 1):
            try:
                window = _window(line.decode("utf-8", "replace").rstrip("\r\n"), wanted)
                if window:
                    key = (window.operation, window.time, window.start_ns)
                    # A window comes twice if an operation was begun late: each line has a part.
                    part = windows[key].histogram if key in windows else Histogram()
                    windows[key] = replace(window, histogram=part + window.histogram)
            except (ValueError, zlib.error) as error:
                raise ValueError(f"line {number}: {error}") from error
    return tuple(windows.values())


def _window(line: str, wanted: Callable[[str, str], bool]) -> Window | None:
    if line[:1] in ("", "#", '"'):
        return None
    tag, _, rest = line[len("Tag=") :].partition(",") if line.startswith("Tag=") else ("", "", line)
    columns = rest.split(",")
    if len(columns) != 4:
        raise ValueError(f"expected start, length, greatest value and histogram, got {len(columns)} columns")
    try:
        start_ns, length_ns = (round(float(seconds) * 1e9) for seconds in columns[:2])
    except (OverflowError, ValueError):
        raise ValueError(f"expected start and length in seconds, got {columns[:2]!r:.80}") from None
    operation, _, time = tag.rpartition(".")
    return Window(operation, time, start_ns, length_ns, decode(columns[3])) if wanted(operation, time) else None


def decode(text: str) -> Histogram:
    """A histogram of nanoseconds from base64 of HdrHistogram's compressed V2 form; ValueError if it is malformed."""
    content = _decompressed(base64.b64decode(text, validate=True))
    cookie, length, offset, digits, least, greatest, _ = INNER.unpack(content[: INNER.size].ljust(INNER.size, b"\0"))
    counts = content[INNER.size :]
    if cookie & ~WORD_SIZE != PLAIN or length != len(counts) or offset or not least or not 1 <= digits <= MOST_DIGITS:
        raise ValueError(f"the histogram must be in V2 form, with 1 to {MOST_DIGITS} significant digits")
    half, unit = (2 * 10**digits - 1).bit_length() - 1, least.bit_length() - 1
    buckets = tuple((*_bounds(index, half, unit), count) for index, count in _counts(counts, 64 << half))
    if buckets and buckets[-1][0] > greatest:
        raise ValueError("the histogram has a value above the greatest that it allows")
    return Histogram(buckets)


def _decompressed(data: bytes) -> bytes:
    cookie, length = OUTER.unpack(data[: OUTER.size].ljust(OUTER.size, b"\0"))
    if cookie & ~WORD_SIZE != COMPRESSED or length != len(data) - OUTER.size:
        raise ValueError("the histogram is not in compressed V2 form, or is cut short")
    stream = zlib.decompressobj()
    content = stream.decompress(data[OUTER.size :], MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ValueError(f"the histogram has more than {MOST_BYTES} bytes when decompressed")
    if not stream.eof:
        raise ValueError("the compressed histogram ends too early")
    return content


def _counts(data: bytes, limit: int) -> Iterator[tuple[int, int]]:
    """Indices and counts of the buckets that are not empty; a negative number stands for that many empty ones."""
    index = 0
    for number in _numbers(data):
        if index >= limit:
            raise ValueError("the histogram has more buckets than its form allows")
        if number > 0:
            yield index, number
        index += max(1, -number)


def _numbers(data: bytes) -> Iterator[int]:
    """Numbers in ZigZag LEB128; a ninth byte has eight bits."""
    value = shift = 0
    for byte in data:
        value |= (byte if shift == 56 else byte & 0x7F) << shift
        shift += 7
        if byte < 0x80 or shift > 56:
            yield (value >> 1) ^ -(value & 1)
            value = shift = 0
    if shift:
        raise ValueError("the histogram ends within a number")


def _bounds(index: int, half: int, unit: int) -> tuple[int, int]:
    """Ends of a bucket: each value below 2^(half + 1) units has one, and each power of two above has 2^half."""
    power = max(0, (index >> half) - 1)
    lower = (index - (power << half)) << (power + unit)
    return lower, lower + (1 << (power + unit)) - 1
