"""A finished run: what its `summary.json` says (durations in nanoseconds), and its windows."""

from __future__ import annotations

import importlib
import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, is_dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional, Union, cast, get_args, get_origin, get_type_hints

from . import hlog
from .hlog import Window

if TYPE_CHECKING:
    import pandas  # type: ignore[import-not-found, import-untyped, unused-ignore]

FORMAT = "proofload-summary/1"
TIMES = ("response_time", "service_time", "first_event", "gap")


class NotARun(ValueError):
    """The folder is not that of a finished run, or one of its files is damaged (no unit)."""


class NotFound(KeyError):
    """There is no such quantile or operation; the sentence lists those that there are (no unit)."""

    def __str__(self) -> str:
        """The sentence, without the quotes of a KeyError."""
        return str(self.args[0])


# `_built` fills these classes from fields with the same names in the summary. Python 3.9 evaluates no `int | None`.


@dataclass(frozen=True)
class Quantile:
    """One quantile with its 95 % interval, in nanoseconds; what cannot be claimed is None."""

    q: float
    observed_ns: Optional[int]
    low_ns: Optional[int]
    high_ns: Optional[int]
    support: float
    grade: str


@dataclass(frozen=True)
class Distribution:
    """Times of the whole measure phase, in nanoseconds."""

    count: int
    min_ns: int
    mean_ns: int
    max_ns: int
    stdev_ns: int
    quantiles: tuple[Quantile, ...]

    def quantile(self, q: float) -> Quantile:
        """The quantile of this fraction, such as 0.99 (nanoseconds); NotFound if the summary does not have it."""
        for one in self.quantiles:
            if math.isclose(one.q, q, rel_tol=0, abs_tol=1e-9):
                return one
        raise NotFound(f"there is no quantile {q}; choose one of {[one.q for one in self.quantiles]}")


@dataclass(frozen=True)
class Operation:
    """One operation of a trial: counts, and times of the operations that succeeded (nanoseconds)."""

    name: str
    planned: int
    succeeded: int
    failed: int
    abandoned: int
    failures: Mapping[str, int]
    response_time: Distribution
    service_time: Distribution


@dataclass(frozen=True)
class Trial:
    """One execution of an arm; `total` counts all operations, `rates` are per second, `phases` are in nanoseconds."""

    index: int
    arm: str
    validity: str
    reasons: tuple[str, ...]
    counts_for: str
    operations: tuple[Operation, ...] = field(repr=False)
    total: Operation = field(repr=False)
    rates: Mapping[str, float]
    phases: Mapping[str, int]
    folder: Path

    def windows(self, operation: str | None = None, time: str = "response_time") -> tuple[Window, ...]:
        """Windows (nanoseconds) of an operation or a journey, or of all operations; one without values is absent."""
        if time not in TIMES:
            raise ValueError(f"`time` must be one of {list(TIMES)} (got {time!r})")
        known = {one.name for one in self.operations}
        names = set(known)

        def wanted(name: str, of: str) -> bool:
            names.add(name)
            return of == time and (name == operation or (operation is None and name in known))

        path = self.folder / "windows.hlog"
        try:
            windows = hlog.read(path, wanted)
        except OSError as error:
            raise NotARun(f"{path} cannot be read ({error.strerror}); copy the whole run folder") from error
        except ValueError as error:
            raise NotARun(f"{path}, {error}; copy the run folder again") from error
        if operation not in names | {None}:
            raise NotFound(f"there is no operation {operation!r}; choose one of {sorted(names)}")
        return windows

    def frame(self, time: str = "response_time") -> pandas.DataFrame:
        """A DataFrame with one row per window and operation; its columns name their units (`_s`, `_ns`)."""
        columns = ["operation", "start_s", "length_s", "count", "p50_ns", "p95_ns", "p99_ns", "max_ns"]
        rows = []
        for one in self.windows(time=time):
            values, span_s = one.histogram, (one.start_ns / 1e9, one.length_ns / 1e9)
            quantiles = [values.quantile(q) if values.count else math.nan for q in (0.5, 0.95, 0.99)]
            rows.append((one.operation, *span_s, values.count, *quantiles, values.max_ns))
        return cast("pandas.DataFrame", _pandas().DataFrame(rows, columns=columns))


@dataclass(frozen=True)
class Arm:
    """One combination of levels, with its trials in order of execution (durations in nanoseconds)."""

    name: str
    factors: Mapping[str, Any]
    trials: tuple[Trial, ...]


@dataclass(frozen=True)
class Verdict:
    """The result `pass`, `measured`, `fail`, `inconclusive` or `invalid`, and sentences that say why (no unit)."""

    result: str
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Criterion:
    """A judged criterion; its figures have the unit of the criterion: nanoseconds, per second, ratio or count."""

    text: str
    arm: str
    operation: str
    result: str
    observed: Optional[float]
    low: Optional[float]
    high: Optional[float]


@dataclass(frozen=True)
class Finding:
    """What the analysis noticed; `severity` is `error`, `warning` or `info`, and the claim names its units."""

    code: str
    severity: str
    claim: str
    advice: str


@dataclass(frozen=True)
class Run:
    """A finished run (durations in nanoseconds); `summary` is the whole of `summary.json`."""

    folder: Path
    summary: Mapping[str, Any] = field(repr=False)
    title: str
    verdict: Verdict
    criteria: tuple[Criterion, ...]
    findings: tuple[Finding, ...]
    arms: tuple[Arm, ...] = field(repr=False)

    @property
    def trials(self) -> tuple[Trial, ...]:
        """The trials of all arms by number, which is the order of execution (durations in nanoseconds)."""
        return tuple(sorted((trial for arm in self.arms for trial in arm.trials), key=lambda trial: trial.index))

    def frame(self) -> pandas.DataFrame:
        """A DataFrame with one row per arm, trial and operation; its columns name their units (`_ns`, `_per_s`)."""
        rows = [_row(trial, each) for arm in self.arms for trial in arm.trials for each in trial.operations]
        return cast("pandas.DataFrame", _pandas().DataFrame(rows))


def load(folder: str | os.PathLike[str]) -> Run:
    """Reads the folder of a finished run (durations in nanoseconds); NotARun if it is not one."""
    path = Path(folder)
    try:
        raw: Any = json.loads((path / "summary.json").read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        raise NotARun(f"{path} has no summary.json; name the folder of a finished run") from None
    except (ValueError, RecursionError) as error:
        raise NotARun(f"summary.json in {path} is not JSON ({error}); copy the run folder again") from error
    found = raw.get("format") if isinstance(raw, dict) else None
    if found != FORMAT:
        advice = "install the version of proofload that wrote it"
        raise NotARun(f"summary.json in {path} has the format {found!r:.40}, not {FORMAT!r}; {advice}")
    try:
        known = {"folder": path, "summary": raw, "title": raw["run"]["title"], "arms": _located(path, raw["arms"])}
        return cast(Run, _built(Run, {**raw, **known}, "run"))
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise NotARun(f"summary.json in {path} is damaged ({reason}); copy the run folder again") from error


def _located(path: Path, arms: Any) -> list[Any]:
    """The arms, with what their trials do not say themselves; those of older versions all count for `judgement`."""

    def located(arm: Any, trial: Any) -> Any:
        folder = path / "trials" / f"{trial['index']:03}"
        return {"counts_for": "judgement", **trial, "arm": arm["name"], "folder": folder}

    return [{**arm, "trials": [located(arm, trial) for trial in arm["trials"]]} for arm in arms]


def _built(hint: Any, value: Any, name: str) -> Any:
    """The value as this type. Fields that the type lacks are ignored; absent ones are None or empty if they may be."""
    kind, inner = get_origin(hint) or hint, get_args(hint)
    if kind is Union:
        return None if value is None else _built(inner[0], value, name)
    if kind is tuple:
        return tuple(_built(inner[0], one, name) for one in _built(list, [] if value is None else value, name))
    if kind is Mapping:
        return _built(dict, {} if value is None else value, name)
    if isinstance(kind, type) and is_dataclass(kind):
        raw, hints = _built(dict, value, name), _hints(kind)
        return kind(**{one: _built(of, raw.get(one), one) for one, of in hints.items()})
    if kind is float and isinstance(value, int):
        return float(value)
    if not isinstance(value, kind):
        raise ValueError(f"`{name}` must be of type {kind.__name__}, got {value!r:.40}")
    return value


@lru_cache(maxsize=None)
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _row(trial: Trial, one: Operation) -> dict[str, Any]:
    """Rates as in the summary, which has those of operations that ended in time only for the whole trial."""
    seconds = trial.phases.get("measure_ns", 0) / 1e9 or math.inf  # without a measure phase, rates are 0
    started = one.succeeded + one.failed + one.abandoned
    row: dict[str, Any] = {"arm": trial.arm, "trial": trial.index, "operation": one.name}
    row.update(validity=trial.validity, counts_for=trial.counts_for)
    row.update(planned=one.planned, succeeded=one.succeeded, failed=one.failed, abandoned=one.abandoned)
    row.update(offered_per_s=one.planned / seconds, started_per_s=started / seconds)
    row.update({f"trial_{rate}_per_s": trial.rates.get(rate, math.nan) for rate in ("completed", "goodput")})
    for quantile in one.response_time.quantiles:
        label = f"p{100 * quantile.q:.10g}"
        ends = {"": quantile.observed_ns, "_low": quantile.low_ns, "_high": quantile.high_ns}
        row.update({f"{label}{end}_ns": math.nan if value is None else value for end, value in ends.items()})
        row[f"{label}_grade"] = quantile.grade
    return row


def _pandas() -> Any:
    try:
        return importlib.import_module("pandas")
    except ModuleNotFoundError as error:
        raise ImportError("a DataFrame needs pandas, which is not installed; run `pip install pandas`") from error
