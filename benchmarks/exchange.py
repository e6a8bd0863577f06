"""The three ways of the exchange beside each other, on answers of several sizes, and the channel alone."""

import json
import subprocess
import sys

# Bytes of an answer, and exchanges of each way in a round.
SIZES = {1 << 10: 40_000, 64 << 10: 20_000, 256 << 10: 20_000, 1 << 20: 5_000, 16 << 20: 400}
MILLION = 1_000_000
CLIENTS = 64
# Exchanges over the channel alone, of small answers; fewer of large ones.
CHANNEL = 50_000


def example(bench, name, *words):
    command = [bench.PROOFLOAD.parent / "examples" / name, *map(str, words)]
    out = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    return [json.loads(line) for line in out.splitlines()]


def measure(bench, rounds):
    results = {"sizes": {}}
    for size, exchanges in SIZES.items():
        results["sizes"][str(size)] = []
        for turn in range(min(rounds, 3)):
            lines = example(bench, "ways", "measure", "--size", size, "--exchanges", exchanges,
                            "--processors", f"{bench.GENERATOR},{bench.SERVER}", "--json")
            results["sizes"][str(size)].append({line["way"]: line for line in lines})
        print(f"  exchange, {size} bytes", file=sys.stderr)
    results["channel"] = {
        part: [example(bench, "round_trip", *words, CHANNEL, f"{bench.GENERATOR},{bench.SERVER}")
               for turn in range(min(rounds, 3))]
        for part, words in {"turns": [], "stream": ["stream"]}.items()
    }
    print("  exchange, the channel alone", file=sys.stderr)
    results["soak"] = example(bench, "ways", "soak", "--exchanges", MILLION, "--clients", CLIENTS)[0]
    return results


def span(values, form):
    low, high = format(min(values), form), format(max(values), form)
    return low if low == high else f"{low} – {high}"


def channel(rounds, keys, columns):
    """A line of a table for each line that the example wrote, over all rounds."""
    for lines in zip(*rounds):
        cells = [format(lines[0][key], form) for key, form in keys]
        for key, form, by in columns:
            known = [line[key] / by for line in lines if key in line]
            cells.append(span(known, form) if known else "–")
        yield f"| {' | '.join(cells)} |"


def channel_page(results):
    lines = ["", "The channel alone, without its answers being made or judged: a request has 64 bytes, and of its answer the "
             "nonce is looked at, or all bytes are added up. *There* and *back* are from the request to the producer's worker that found it, and from its answer to the "
             "client that saw it, as both stamped it on one clock.", "",
             "| answer, B | way | read | p50 µs | × Unix socket | there p50 µs | back p50 µs |",
             "|---:|---|---|---:|---:|---:|---:|"]
    lines += channel(results["turns"], [("answer_bytes", ","), ("way", ""), ("read", "")], [
        ("p50_ns", ".2f", 1e3), ("p50_of_unix", ".3f", 1), ("there_p50_ns", ".2f", 1e3), ("back_p50_ns", ".2f", 1e3)])
    lines += ["", "Several requests under way at once, all bytes of each answer added up:", "",
              "| answer, B | way | under way | exchanges/s | MB/s | × Unix socket | p50 µs |",
              "|---:|---|---:|---:|---:|---:|---:|"]
    lines += channel(results["stream"], [("answer_bytes", ","), ("way", ""), ("depth", "")], [
        ("per_second", ".0f", 1), ("bytes_per_second", ".0f", 1e6), ("per_second_of_unix", ".2f", 1), ("p50_ns", ".1f", 1e3)])
    return lines


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
    lines += channel_page(results["channel"])
    soak = results["soak"]
    lines += ["", f"{soak['exchanges']:,} exchanges from {soak['clients']} clients over {soak['way']} in "
              f"{soak['seconds']:.0f} s: {', '.join(f'{count:,} {kind}' for kind, count in soak['ended'].items())}."]
    return lines
