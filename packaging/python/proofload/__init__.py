"""Reads run folders of Proofload: the verdict, quantiles with their intervals, histograms over time (nanoseconds)."""

from __future__ import annotations

from .hlog import Histogram, Window
from .run import Arm, Criterion, Distribution, Finding, NotARun, NotFound, Operation, Quantile
from .run import Run, Trial, Verdict, load

__all__ = ["Arm", "Criterion", "Distribution", "Finding", "Histogram", "NotARun", "NotFound", "Operation", "Quantile"]
__all__ += ["Run", "Trial", "Verdict", "Window", "load"]
