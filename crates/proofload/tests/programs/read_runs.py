"""Compares what the wheel's reader reads in run folders with summary.json, with the `.hgrm` files, and with what the
foreign package `hdrhistogram` decodes: read_runs.py LIB RUN..., LIB being the folder `lib` of the environment that has
the wheel."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import pandas  # noqa: F401: the reader makes data frames with it
from hdrh.histogram import HdrHistogram

sys.path.insert(0, str(next(Path(sys.argv[1]).glob("python*/site-packages"))))

import proofload  # noqa: E402
from proofload import hlog  # noqa: E402

TIMES = ("response_time", "service_time", "first_event", "gap")
QUANTILES = (0.0001, 0.01, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1.0)


def compare_fields(mine, raw, skip=()):
    """Every field of a dataclass of the reader equals the one with its name in the summary."""
    for name, value in vars(mine).items():
        if name in skip:
            continue
        theirs = raw[name]
        if isinstance(value, tuple):
            assert len(value) == len(theirs), (name, value, theirs)
            for one, other in zip(value, theirs):
                compare_fields(one, other, skip) if hasattr(one, "__dict__") else same(name, one, other)
        elif hasattr(value, "__dict__"):
            compare_fields(value, theirs, skip)
        else:
            same(name, value, theirs)


def same(name, mine, theirs):
    assert mine == theirs, f"{name}: the reader has {mine!r}, the summary {theirs!r}"


def compare_histogram(mine, foreign):
    """Count, extremes, mean, values at percentiles and every bucket equal those of the foreign histogram."""
    assert mine.count == foreign.get_total_count()
    assert mine.min_ns == foreign.get_min_value()
    assert mine.max_ns == foreign.get_max_value()
    assert math.isclose(mine.mean_ns, foreign.get_mean_value(), rel_tol=1e-12)
    for q in QUANTILES if mine.count else ():
        # The foreign package rounds q·n to a rank where Proofload takes the next one, so it is asked by rank.
        rank = max(1, math.ceil(math.nextafter(q, -1.0) * mine.count))
        theirs = foreign.get_value_at_percentile(100 * rank / mine.count)
        assert mine.quantile(q) == theirs, (q, mine.quantile(q), theirs)
    recorded = [
        (foreign.get_lowest_equivalent_value(one.value_iterated_to), one.value_iterated_to, one.count_at_value_iterated_to)
        for one in foreign.get_recorded_iterator()
    ]
    assert mine.counts() == recorded


def foreign_windows(path):
    """Windows as the foreign package decodes them, by operation, time and start; parts of a window are added."""
    windows = {}
    for line in path.read_text().splitlines(keepends=True):
        if line.startswith("Tag=") and line.endswith("\n"):
            tag, start, _, _, text = line[len("Tag=") :].strip().split(",")
            compare_histogram(hlog.decode(text), HdrHistogram.decode(text))
            operation, _, time = tag.rpartition(".")
            key = (operation, time, round(float(start) * 1e9))
            if key in windows:
                windows[key].add(HdrHistogram.decode(text))
            else:
                windows[key] = HdrHistogram.decode(text)
    return windows


def bucket_of(histogram, q):
    upper = histogram.quantile(q)
    return next(one for one in histogram.counts() if one[1] == upper)


def compare_whole(whole, stated):
    """The sum of the windows agrees with a distribution of the summary to within a bucket."""
    assert whole.count == stated["count"], (whole.count, stated["count"])
    if not whole.count or stated["overflow"]:
        return
    first, last = whole.counts()[0], whole.counts()[-1]
    assert first[0] <= stated["min_ns"] <= first[1]
    assert last[0] <= stated["max_ns"] <= last[1]
    assert math.isclose(whole.mean_ns, stated["mean_ns"], rel_tol=1 / 128, abs_tol=1)
    for quantile in stated["quantiles"]:
        lower, upper, _ = bucket_of(whole, quantile["q"])
        assert lower <= quantile["observed_ns"] <= upper, (quantile, lower, upper)


def compare_spectrum(whole, path):
    """Each line of a `.hgrm` has as many values up to its own as the windows have, to within a bucket."""
    lines = [line.split() for line in path.read_text().splitlines() if line.strip() and line[0] != "#"]
    assert lines.pop(0)[0] == "Value"
    for value, percentile, cumulative, *_ in lines:
        value_ns = round(float(value) * 1e6)
        least = sum(count for _, upper, count in whole.counts() if upper <= value_ns)
        most = sum(count for lower, _, count in whole.counts() if lower <= value_ns)
        assert least <= int(cumulative) <= most, (path, value, percentile)
    assert (int(lines[-1][2]) if lines else 0) == whole.count


def compare_trial(trial, raw):
    foreign = foreign_windows(trial.folder / "windows.hlog")
    named = {one["name"]: one for one in raw["operations"]}
    named.update((one["whole"]["name"], one["whole"]) for one in raw.get("journeys", []))
    for name, stated in named.items():
        for time in TIMES:
            windows = trial.windows(name, time)
            theirs = {key: one for key, one in foreign.items() if key[:2] == (name, time)}
            assert [(one.operation, one.time, one.start_ns) for one in windows] == list(theirs)
            for window in windows:
                compare_histogram(window.histogram, theirs[name, time, window.start_ns])
            whole = proofload.Histogram.merge(one.histogram for one in windows)
            added = sum((one.histogram for one in windows), proofload.Histogram())
            assert whole == added
            together = HdrHistogram(1, 2**38 - 1, 2)
            for one in theirs.values():
                together.add(one)
            assert whole.count == together.get_total_count()
            if time in stated:
                compare_whole(whole, stated[time])
            elif time in stated["spans"]:
                compare_whole(whole, stated["spans"][time])
            if time == "response_time":
                compare_spectrum(whole, trial.folder / f"{name}.hgrm")
    own = [one for one in trial.windows() if one.operation in {each.name for each in trial.operations}]
    assert tuple(own) == trial.windows()
    compare_whole(proofload.Histogram.merge(one.histogram for one in own), raw["total"]["response_time"])
    frame = trial.frame()
    assert int(frame["count"].sum()) == raw["total"]["response_time"]["count"]
    assert list(frame["p99_ns"]) == [one.histogram.quantile(0.99) for one in own]
    assert list(frame["max_ns"]) == [one.histogram.max_ns for one in own]
    assert list(frame["start_s"]) == [one.start_ns / 1e9 for one in own]


def compare_frame(run, raw):
    frame = run.frame()
    expected = [(arm, trial, one) for arm in raw["arms"] for trial in arm["trials"] for one in trial["operations"]]
    assert len(frame) == len(expected)
    for (_, row), (arm, trial, one) in zip(frame.iterrows(), expected):
        assert (row["arm"], row["trial"], row["operation"]) == (arm["name"], trial["index"], one["name"])
        for count in ("planned", "succeeded", "failed", "abandoned"):
            assert row[count] == one[count]
        assert row["trial_goodput_per_s"] == trial["rates"]["goodput"]
        assert row["trial_completed_per_s"] == trial["rates"]["completed"]
        for quantile in one["response_time"]["quantiles"]:
            label = f"p{100 * quantile['q']:.10g}"
            for end, field in ("", "observed_ns"), ("_low", "low_ns"), ("_high", "high_ns"):
                value, stated = row[f"{label}{end}_ns"], quantile[field]
                assert math.isnan(value) if stated is None else value == stated
            assert row[f"{label}_grade"] == quantile["grade"]
    for arm in raw["arms"]:
        for trial in arm["trials"]:
            rows = frame[frame["trial"] == trial["index"]]
            for rate in ("offered", "started"):
                assert math.isclose(rows[f"{rate}_per_s"].sum(), trial["rates"][rate], rel_tol=1e-9), rate


def compare_run(folder):
    raw = json.loads((folder / "summary.json").read_text())
    run = proofload.load(folder)
    assert run.summary == raw and run.folder == folder
    same("title", run.title, raw["run"]["title"])
    compare_fields(run, raw, skip=("folder", "summary", "title", "arms"))
    assert [arm.name for arm in run.arms] == [arm["name"] for arm in raw["arms"]]
    for arm, stated in zip(run.arms, raw["arms"]):
        compare_fields(arm, stated, skip=("trials",))
        assert len(arm.trials) == len(stated["trials"])
        for trial, one in zip(arm.trials, stated["trials"]):
            compare_fields(trial, one, skip=("arm", "folder"))
            assert trial.arm == arm.name
            for quantile in one["total"]["response_time"]["quantiles"]:
                mine = trial.total.response_time.quantile(quantile["q"])
                assert (mine.observed_ns, mine.low_ns, mine.high_ns) == tuple(
                    quantile[key] for key in ("observed_ns", "low_ns", "high_ns")
                )
            compare_trial(trial, one)
    assert [trial.index for trial in run.trials] == sorted(trial.index for arm in run.arms for trial in arm.trials)
    compare_frame(run, raw)


def main():
    assert sys.argv[2:], "name at least one run folder"
    for argument in sys.argv[2:]:
        compare_run(Path(argument))
        print(f"{argument}: equal")


main()
