"""Runs beside other work: how many are valid and how many decide, beside two and four busy loops, as root and as a user
without privileges.

Loops are in sessions of their own, so the kernel gives each of them as much of the machine as all of a run together.
"""

import contextlib
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

LOOPS = (2, 4)
USERS = {
    "root": [],
    "a user without privileges": ["setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups",
                                  "--inh-caps=-all"],
}
PROGRAMS = ("proofload", "proofload-truth", "proofload-registry", "proofload-mail", "proofload-exchange")
MINUTE = """title = "a minute"
criteria = ["p99 < 50ms"]
[system]
serve = "truth"
set = { mode = "constant", service = "1ms" }
[load]
rate = "1000/s"
duration = "60s"
warm_up = "2s"
[[operation]]
name = "request"
http = { path = "/" }
"""
# What is run: how it is named on the page, and its arguments. A rehearsal decides nothing by design.
PARTS = {
    "minute": {"a minute at 1,000/s": ["minute.toml"]},
    "rehearsals": {f"rehearsal of {name}": [f"experiments/{name}.toml", "--quick"]
                   for name in ("registry", "mail", "exchange")},
}
RUNS = {what: arguments for part in PARTS.values() for what, arguments in part.items()}


@contextlib.contextmanager
def busy(count):
    """So many loops, ended with the block."""
    loops = [subprocess.Popen(["sh", "-c", "while :; do :; done"], start_new_session=True) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def run(scratch, user, arguments):
    """What one run says of itself."""
    with tempfile.TemporaryDirectory(dir=scratch) as out:
        os.chmod(out, 0o777)
        command = [*USERS[user], f"{scratch}/proofload", "run", *arguments, "--quiet", "--out", f"{out}/run"]
        code = subprocess.run(command, cwd=scratch, stdout=subprocess.DEVNULL).returncode
        if code not in (0, 1, 3):
            sys.exit(f"error: {command} ended with {code}")
        summary = json.loads(pathlib.Path(out, "run/summary.json").read_text())
    trials = [trial for arm in summary["arms"] for trial in arm["trials"]]
    lags = [quantile["observed_ns"] / 1e6 for trial in trials
            for quantile in trial["generator"]["dispatch_lag"]["quantiles"]
            if quantile["q"] == 0.99 and quantile["observed_ns"]]
    return {
        "validity": [trial["validity"] for trial in trials],
        "verdict": summary["verdict"]["result"],
        "criteria": [criterion["result"] for criterion in summary["criteria"]],
        "lag_p99_ms": max(lags, default=0),
        "findings": sorted({finding["code"] for finding in summary["findings"]}),
    }


def measure(bench, rounds, part):
    if os.geteuid() != 0:
        sys.exit("error: busy runs as root and as another user: start it as root")
    results = []
    with tempfile.TemporaryDirectory() as scratch:
        os.chmod(scratch, 0o755)
        for program in PROGRAMS:
            shutil.copy2(bench.PROOFLOAD.with_name(program), scratch)
        shutil.copytree(bench.HERE.parent / "experiments", f"{scratch}/experiments")
        pathlib.Path(scratch, "minute.toml").write_text(MINUTE)
        for turn in range(rounds):
            for loops in LOOPS:
                for user in USERS:
                    for what, arguments in (PARTS[part] if part else RUNS).items():
                        with busy(loops):
                            found = run(scratch, user, arguments)
                        results.append({"what": what, "loops": loops, "user": user, **found})
                        print(f"  round {turn + 1}: {results[-1]}", file=sys.stderr)
    return results


def share_of_valid(cell):
    trials = [validity for one in cell for validity in one["validity"]]
    return f"{sum(validity in ('valid', 'noted', 'overload') for validity in trials)} of {len(trials)}"


def share_of_decided(cell):
    return f"{sum(one['verdict'] in ('pass', 'fail') for one in cell)} of {len(cell)}"


def page(results):
    lines = ["", "## Beside busy loops", "",
             "Loops in sessions of their own. A rehearsal decides nothing by design; of its trials, the dispatch lag is "
             "that of the latest.", "",
             "| run | loops | as | valid trials | decided runs | dispatch lag p99, ms: median (least – greatest) |",
             "|---|---:|---|---:|---:|---:|"]
    for what in RUNS:
        for loops in LOOPS:
            for user in USERS:
                cell = [one for one in results if (one["what"], one["loops"], one["user"]) == (what, loops, user)]
                if not cell:
                    continue
                lags = [one["lag_p99_ms"] for one in cell]
                lines.append(f"| {what} | {loops} | {user} | {share_of_valid(cell)} | {share_of_decided(cell)} | "
                             f"{statistics.median(lags):.2f} ({min(lags):.2f} – {max(lags):.2f}) |")
    return lines
