"""CPU of the generator per request with trace ids, in pairs beside the same load without them.

`--traceparent` draws and renders an id for each request, and lists the slowest and the failed operations. The budget is
3 % of the CPU time.
"""

import json
import sys
import tempfile

import pairs

BUDGET = 1.03
SHARES = {"all": "--traceparent", "1 %": "--traceparent=1%"}


def run(bench, url, requests, *flags):
    with tempfile.TemporaryDirectory() as scratch:
        command = bench.proofload_command(url, requests, f"{scratch}/run")
        printed, cpu, _ = bench.run_counted([*command, *flags])
    trial = json.loads(printed)["arms"][0]["trials"][0]
    assert trial["accounting"]["succeeded"] == requests, trial["accounting"]
    assert (len(trial["traces"]["slowest"]) == 100) if flags else ("traces" not in trial), flags
    return cpu / requests * 1e6


def measure(bench, rounds, requests):
    """With ids and without them in turn, round by round."""
    rows = {name: [] for name in SHARES}
    with bench.Nginx() as nginx:
        url = f"http://127.0.0.1:{nginx.port}/"
        run(bench, url, requests // 4)  # warms nginx and the page cache
        for turn in range(rounds):
            for name, flag in SHARES.items():
                order = [("with", [flag]), ("without", [])]
                pair = {who: run(bench, url, requests, *flags)
                        for who, flags in (order if turn % 2 == 0 else reversed(order))}
                rows[name].append((pair["with"], pair["without"]))
                print(f"  round {turn + 1}: {name} with ids {pair['with']:.3f} us, without {pair['without']:.3f} us",
                      file=sys.stderr)
    return {name: pairs.summarise(row) for name, row in rows.items()}


def page(found):
    return ["", "## Trace ids", "",
            "The closed loop of *CPU per request* with and without `--traceparent`, in pairs; server and generator on a "
            f"processor each. Budget: {BUDGET:.2f} for all operations.", "",
            *pairs.table("operations with an id", "with", "without", found)]
