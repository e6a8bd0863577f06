"""What the search service's index carries, beside other libraries on the same vectors."""

import json
import math
import os
import pathlib
import subprocess
import statistics
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
PEERS = ("hnswlib", "usearch")
ROWS = 100_000
RECALLS = (0.95, 0.99)
KINDS = {
    "clustered": "a thousand centres with noise around them",
    "uniform": "directions without any structure, the hard case",
}


def lines_of(command):
    out = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    return [json.loads(line) for line in out.splitlines()]


def ours(bench, *words):
    return lines_of([bench.PROOFLOAD.parent / "examples" / "vectors", *map(str, words)])


def part(lines, name):
    return [line for line in lines if line["part"] == name]


def rate_at(lines, recall):
    """Queries a second and core at a recall, between the widths that lie around it; None beyond them."""
    points = sorted((line["recall"], line["queries_per_s_a_core"]) for line in part(lines, "search"))
    for (low, fast), (high, slow) in zip(points, points[1:]):
        if low <= recall <= high and high > low:
            share = (recall - low) / (high - low)
            return math.exp(math.log(fast) * (1 - share) + math.log(slow) * share)
    return None


def measure_kind(bench, kind, rounds):
    """Our index and each peer in turn, which one is first changing from round to round."""
    runs = {name: [] for name in ("ours", *PEERS)}
    python = os.environ.get("SEARCH_PEERS_PYTHON", sys.executable)
    for turn in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            runs["ours"].append(ours(bench, "search", kind, ROWS, folder))
            build = part(runs["ours"][-1], "build")[0]
            shape = [str(build[name]) for name in ("dimension", "m", "ef_construction")]
            for name in PEERS if turn % 2 == 0 else reversed(PEERS):
                runs[name].append(lines_of([python, HERE / "search_peers.py", name, folder, *shape]))
        print(f"  index, {kind}, round {turn + 1} of {rounds}", file=sys.stderr)
    return {"runs": runs, "ratios": ratios(runs)}


def ratios(runs):
    rows = []
    for recall in RECALLS:
        own = [rate_at(run, recall) for run in runs["ours"]]
        for name in PEERS:
            pairs = [(one, rate_at(run, recall)) for one, run in zip(own, runs[name])]
            both = sorted(one / other for one, other in pairs if one and other)
            if both:
                rows.append({"recall": recall, "peer": name, "ratio_median": statistics.median(both),
                             "ratio_min": both[0], "ratio_max": both[-1], "pairs": len(both)})
    return rows


def measure(bench, rounds):
    rounds = min(rounds, 3)
    with tempfile.TemporaryDirectory(dir=HERE) as folder:
        disk = ours(bench, "disk", "clustered", ROWS, folder)
    print("  index, disk", file=sys.stderr)
    return {"index": {
        "kinds": {kind: measure_kind(bench, kind, rounds) for kind in KINDS},
        "mixed": ours(bench, "mixed", "clustered", ROWS, 20),
        "disk": disk,
    }}


def median(runs, name, what, **where):
    found = [line[what] for run in runs for line in part(run, name)
             if all(line.get(key) == value for key, value in where.items())]
    return statistics.median(found) if found else None


def page_of_kind(kind, results):
    runs = results["runs"]
    lines = ["", f"### {kind}: {KINDS[kind]}", "", "| | rows/s | rows/s a core |", "|---|---|---|"]
    lines += [f"| {name} | {median(run, 'build', 'rows_per_s'):.0f} | {median(run, 'build', 'rows_per_s_a_core'):.0f} |"
              for name, run in runs.items()]
    lines += ["", "| ef | " + " | ".join(f"{name}: recall@10, queries/s a core" for name in runs) + " |",
              "|---|" + "---|" * len(runs)]
    for ef in sorted({line["ef"] for line in part(runs["ours"][0], "search")}):
        cells = []
        for run in runs.values():
            recall = median(run, "search", "recall", ef=ef)
            rate = median(run, "search", "queries_per_s_a_core", ef=ef)
            cells.append("" if recall is None else f"{recall:.4f}, {rate:.0f}")
        lines.append(f"| {ef} | " + " | ".join(cells) + " |")
    lines += ["", "At equal recall, between the widths around it:", "",
              "| recall@10 | peer | ours / peer, median | min – max | pairs |", "|---|---|---|---|---|"]
    lines += [f"| {row['recall']} | {row['peer']} | {row['ratio_median']:.3f} | {row['ratio_min']:.3f} – "
              f"{row['ratio_max']:.3f} | {row['pairs']} |" for row in results["ratios"]]
    lines += ["", "| filter admits | queries/s a core |", "|---|---|"]
    for share in sorted({line["share"] for line in part(runs["ours"][0], "filtered")}, reverse=True):
        rate = median(runs["ours"], "filtered", "queries_per_s_a_core", share=share)
        lines.append(f"| {share:.0%} | {rate:.0f} |")
    return lines


def page(results):
    index = results["index"]
    lines = ["", "## Search: the index", "",
             f"{ROWS} vectors of 256 dimensions and 2,000 queries from a seed; the same to each; one thread searches. "
             "A core's rates are by processor time, medians of the rounds."]
    for kind, one in index["kinds"].items():
        lines += page_of_kind(kind, one)
    mixed = index["mixed"][0]
    lines += ["", "### Reads beside writes", "",
              f"One reader; a row replaced for each four reads ({mixed['writes']} in all).", "",
              "| | p50 µs | p99 µs | reads |", "|---|---|---|---|"]
    lines += [f"| {name} | {mixed[f'{name}_us']['p50']:.0f} | {mixed[f'{name}_us']['p99']:.0f} | {mixed[f'reads_{name}']} |"
              for name in ("alone", "beside")]
    lines += ["", "### The disk", "", "| what | |", "|---|---|"]
    for line in index["disk"]:
        if line["part"] == "durable":
            lines.append(f"| rows/s acknowledged, {line['rows_a_batch']} a batch, {line['writers']} writers | {line['rows_per_s']:.0f} |")
        elif line["part"] == "start":
            with_it = "with" if line["snapshot"] else "without"
            lines.append(f"| start, s, {line['rows']} rows, {with_it} a snapshot | {line['seconds']:.1f} |")
        else:
            lines.append(f"| snapshot, s, {line['bytes'] / 2**20:.0f} MiB | {line['seconds']:.1f} |")
    return lines
