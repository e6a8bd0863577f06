"""CPU of the generator per command to Redis and per message to NATS, beside the brokers' own benchmarks.

Equal in a pair: connections, operations under way, and bytes of a value. Not equal: the client of `nats bench pub` collects
messages, some 300 of them in a write, and waits for no answer; ours waits until the server has read each, or has read the
last of 300 that leave together. The budget holds where both do the same work.
"""

import contextlib
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import pairs

CONNECTIONS = 4
STREAMS = 8
BYTES = 100
BUDGET = 1.2
FILE = """title = "Brokers"
[target]
url = "{url}"
[load]
connections = {connections}
streams = {streams}
operations = {operations}
warm_up = "0s"
workers = 1
steady_state = "reported"
[[operation]]
name = "one"
{operation}
"""
SET = 'redis = ["SET", "key:{{random 0..9999}}", "{{bytes 100B}}"]'
GET = 'redis = ["GET", "key:{{random 0..9999}}"]'
PUBLISH = 'nats = { publish = "bench", payload = "{{bytes 100B}}" }'
COPIES = 300
TOGETHER = PUBLISH.replace(" }", f", copies = {COPIES} }}")
STORE = 'nats = { jetstream = "bench.stored", payload = "{{bytes 100B}}" }'
# Name, what is under way on each of how many connections, and how many times the operations asked for: what a start and a
# report cost is not a cost of commands, and shows where these are cheap.
SHAPES = [("alone", 32, 1, 1), ("pipelined", CONNECTIONS, STREAMS, 5)]


def ours(bench, url, operation, shape, operations):
    _, connections, streams, times = shape
    operations *= times
    text = FILE.format(url=url, connections=connections, streams=streams, operations=operations, operation=operation)
    trial, cpu, _ = bench.run_trial(text)
    assert trial["accounting"]["succeeded"] == operations, trial["accounting"]
    return cpu / operations * 1e6


@contextlib.contextmanager
def served(bench, program, flags):
    """A server on its processor and a free port."""
    found = shutil.which(program) or f"/usr/sbin/{program}"
    with tempfile.TemporaryDirectory() as folder:
        port = bench.free_port()
        command = [found, *(flag.format(port=port, dir=folder) for flag in flags)]
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=bench.pinned(bench.SERVER))
        try:
            for _ in range(200):
                with contextlib.suppress(OSError):
                    bench.socket.create_connection(("127.0.0.1", port), 0.1).close()
                    break
                time.sleep(0.02)
            yield port
        finally:
            child.terminate()
            child.wait()


def redis_benchmark(bench, port, test, shape, operations):
    _, connections, streams, times = shape
    operations *= times
    command = ["redis-benchmark", "-p", port, "-t", test, "-n", operations, "-c", connections, "-P", streams, "-d", BYTES,
               "-r", 10000, "-q"]
    _, cpu, _ = bench.run_counted([str(word) for word in command])
    return cpu / operations * 1e6


def nats_bench(bench, nats, url, shape, operations):
    _, connections, _, times = shape
    operations *= times
    # Its messages are spread over its clients, which are its connections.
    command = [nats, "--server", url, "bench", "pub", "bench", "--msgs", operations, "--size", BYTES, "--clients", connections,
               "--no-progress"]
    _, cpu, _ = bench.run_counted([str(word) for word in command])
    return cpu / operations * 1e6


def nats_stored(bench, nats, url, shape, operations):
    _, connections, _, times = shape
    operations *= times
    command = [nats, "--server", url, "bench", "js", "pub", "sync", "bench.stored", "--stream", "bench", "--msgs", operations,
               "--size", BYTES, "--clients", connections, "--no-progress"]
    _, cpu, _ = bench.run_counted([str(word) for word in command])
    return cpu / operations * 1e6


def in_turn(bench, name, rounds, mine, theirs):
    rows = []
    for turn in range(rounds + 1):
        pair = {}
        both = [("ours", mine), ("peer", theirs)]
        for who, run in both if turn % 2 == 0 else reversed(both):
            pair[who] = run()
        # The first round warms both up.
        if turn > 0:
            rows.append((pair["ours"], pair["peer"]))
            print(f"  {name}: {pair['ours']:.2f} us, peer {pair['peer']:.2f} us", file=sys.stderr)
    return pairs.summarise(rows)


def measure(bench, rounds, operations):
    found = {}
    with served(bench, "redis-server", ["--bind", "127.0.0.1", "--port", "{port}", "--dir", "{dir}", "--save", "", "--appendonly", "no"]) as port:
        for shape in SHAPES:
            for test, operation in [("set", SET), ("get", GET)]:
                name = f"Redis {test.upper()}, {shape[0]}"
                found[name] = in_turn(bench, name, rounds,
                                      lambda: ours(bench, f"redis://127.0.0.1:{port}", operation, shape, operations),
                                      lambda: redis_benchmark(bench, port, test, shape, operations))
    nats = shutil.which("nats") or shutil.which("nats", path=str(pathlib.Path.home() / "go" / "bin"))
    if not nats:
        print("  no `nats` (go install github.com/nats-io/natscli/nats@latest): NATS is left out", file=sys.stderr)
        return found
    with served(bench, "nats-server", ["-a", "127.0.0.1", "-p", "{port}", "-js", "-sd", "{dir}"]) as port:
        url = f"nats://127.0.0.1:{port}"
        subprocess.run([nats, "--server", url, "stream", "add", "bench", "--subjects", "bench.stored", "--storage", "memory",
                        "--max-msgs", "1000", "--defaults"], check=True, stdout=subprocess.DEVNULL)
        for shape in SHAPES:
            name = f"NATS publish, {shape[0]}"
            found[name] = in_turn(bench, name, rounds, lambda: ours(bench, url, PUBLISH, shape, operations),
                                  lambda: nats_bench(bench, nats, url, shape, operations))
        # As many messages for both, in operations of several.
        together = ("together", CONNECTIONS, 1, 5)
        operations_of_several = max(1, operations // COPIES)
        name = f"NATS publish, {COPIES} together"
        found[name] = in_turn(bench, name, rounds,
                              lambda: ours(bench, url, TOGETHER, together, operations_of_several) / COPIES,
                              lambda: nats_bench(bench, nats, url, together, operations_of_several * COPIES))
        name = f"JetStream publish, {SHAPES[0][0]}"
        few = operations // 4
        found[name] = in_turn(bench, name, rounds, lambda: ours(bench, url, STORE, SHAPES[0], few),
                              lambda: nats_stored(bench, nats, url, SHAPES[0], few))
    return found


def budget(name):
    waits_for_each = name in [f"NATS publish, {shape[0]}" for shape in SHAPES]
    return "other work" if waits_for_each else BUDGET


def page(found):
    shapes = "; ".join(f"*{name}*: {connections} connections with {streams} under way on each" for name, connections, streams, _ in SHAPES)
    return ["", "## Brokers", "",
            f"CPU of the whole generator process per operation with values of {BYTES} bytes, beside `redis-benchmark` and `nats bench`; "
            f"server and generator on a processor each, pairs in alternation. {shapes}. `nats bench pub` collects messages and waits for no answer, ours waits until the server has read each, or the last of {COPIES} together.", "",
            "| what | proofload µs | peer µs | ratio median | ratio min – max | budget | pairs |", "|---|---|---|---|---|---|---|",
            *(f"| {name} | {row['proofload_us']:.2f} | {row['peer_us']:.2f} | {row['ratio_median']:.3f} | "
              f"{row['ratio_min']:.3f} – {row['ratio_max']:.3f} | {budget(name)} | {row['pairs']} |" for name, row in found.items())]
