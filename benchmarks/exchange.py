"""The three ways of the exchange beside each other, on answers of several sizes."""

import json
import subprocess
import sys

# Bytes of an answer, and exchanges of each way in a round.
SIZES = {1 << 10: 40_000, 64 << 10: 20_000, 256 << 10: 20_000, 1 << 20: 5_000, 16 << 20: 400}
MILLION = 1_000_000
CLIENTS = 64


def example(bench, *words):
    command = [bench.PROOFLOAD.parent / "examples" / "ways", *map(str, words)]
    out = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    return [json.loads(line) for line in out.splitlines()]


def measure(bench, rounds):
    results = {"sizes": {}}
    for size, exchanges in SIZES.items():
        results["sizes"][str(size)] = []
        for turn in range(min(rounds, 3)):
            lines = example(bench, "measure", "--size", size, "--exchanges", exchanges,
                            "--processors", f"{bench.GENERATOR},{bench.SERVER}", "--json")
            results["sizes"][str(size)].append({line["way"]: line for line in lines})
        print(f"  exchange, {size} bytes", file=sys.stderr)
    results["soak"] = example(bench, "soak", "--exchanges", MILLION, "--clients", CLIENTS)[0]
    return results


def span(values, form):
    low, high = format(min(values), form), format(max(values), form)
    return low if low == high else f"{low} – {high}"


def page(results):
    lines = ["", "## Exchange: three ways", "",
             "Client and producer a process each, pinned to a processor each; prepared answers, nonce and checksum of each "
             "checked, for which all bytes are read. Least and most of the rounds.", "",
             "| answer | way | exchanges/s | × HTTP | × Unix socket | p50 µs | judging alone, µs |",
             "|---:|---|---:|---:|---:|---:|---:|"]
    for size, rounds in results["sizes"].items():
        for way in rounds[0]:
            rows = [one[way] for one in rounds]
            column = lambda name, form, by=1: span([row[name] / by for row in rows], form)
            lines.append(f"| {int(size):,} B | {way} | {column('per_second', '.0f')} | {column('per_second_of_http', '.2f')} | "
                         f"{column('per_second_of_unix', '.2f')} | {column('p50_ns', '.1f', 1e3)} | "
                         f"{column('judging_ns', '.1f', 1e3)} |")
    soak = results["soak"]
    lines += ["", f"{soak['exchanges']:,} exchanges from {soak['clients']} clients over {soak['way']} in "
              f"{soak['seconds']:.0f} s: {', '.join(f'{count:,} {kind}' for kind, count in soak['ended'].items())}."]
    return lines
