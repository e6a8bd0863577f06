"""What a long replay costs: peak memory and dispatch lag of a replay of 100,000 and of ten million instants, beside a
planned rate with the same instants, in rounds.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

SECONDS, RATE = 20, 5_000
LENGTHS = (100_000, 10_000_000)

EXPERIMENT = """title = "replay"
seed = 7
[target]
url = "http://{target}"
[load]
{arrivals}
duration = "{seconds}s"
warm_up = "0s"
steady_state = "reported"
workers = 1
[[operation]]
name = "request"
targets = {{ file = "paths.txt" }}
"""


def files(scratch):
    """A list of each length; every instant names one of a thousand requests."""
    pathlib.Path(scratch, "paths.txt").write_text("".join(f"GET /{path}\n" for path in range(1_000)))
    for length in LENGTHS:
        with open(pathlib.Path(scratch, f"{length}.csv"), "w") as lines:
            lines.write("offset_ns,request\n")
            lines.writelines(f"{index * 10**9 // RATE},{index * 31 % 1_000 + 1}\n" for index in range(length))


def run(bench, target, scratch, arrivals):
    """Peak memory of a run in MiB, and its dispatch lag in µs."""
    text = EXPERIMENT.format(target=target, arrivals=arrivals, seconds=SECONDS)
    pathlib.Path(scratch, "x.toml").write_text(text)
    with tempfile.TemporaryDirectory(dir=scratch) as out:
        child = subprocess.Popen([bench.PROOFLOAD, "run", "x.toml", "--quiet", "--out", f"{out}/run"], cwd=scratch,
                                 stdout=subprocess.DEVNULL, preexec_fn=bench.pinned(bench.GENERATOR))
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode not in (0, 1, 3):
            sys.exit(f"error: {child.args} ended with {child.returncode}")
        trial = json.loads(pathlib.Path(out, "run/summary.json").read_text())["arms"][0]["trials"][0]
    quantiles = trial["generator"]["dispatch_lag"]["quantiles"]
    lag = next((one["observed_ns"] / 1e3 for one in quantiles if one["q"] == 0.99 and one["observed_ns"]), 0)
    return {"mib": usage.ru_maxrss / 1024, "lag_p99_us": lag}


def measure(bench, rounds):
    results = []
    with tempfile.TemporaryDirectory() as scratch:
        files(scratch)
        loads = {"planned rate": f'rate = "{RATE}/s"\narrivals = "constant"'}
        loads |= {f"replay of {length:,}": f'replay = "{length}.csv"' for length in LENGTHS}
        for turn in range(rounds):
            server, target = bench.start_truth()
            try:
                order = list(loads) if turn % 2 == 0 else list(reversed(loads))
                found = {who: run(bench, target, scratch, loads[who]) for who in order}
            finally:
                server.terminate()
                server.wait()
            results.append(found)
            print(f"  round {turn + 1}: {found}", file=sys.stderr)
    return results


def page(results):
    lines = ["", "## Replay", "",
             f"Runs of {SECONDS} s at {RATE:,}/s, cut from lists of different lengths; median (least – greatest).", "",
             "| load | peak memory, MiB | dispatch lag p99, µs |", "|---|---:|---:|"]
    for who in results[0]:
        cells = []
        for key in ("mib", "lag_p99_us"):
            found = sorted(one[who][key] for one in results)
            cells.append(f"{found[len(found) // 2]:.0f} ({found[0]:.0f} – {found[-1]:.0f})")
        lines.append(f"| {who} | {' | '.join(cells)} |")
    return lines
