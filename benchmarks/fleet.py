"""What several machines that perform one run cost: the coordinator, and an agent beside a run of one machine.

Merging is measured without NATS, by an example of the fleet. Everything else is real, on this machine: nats-server, the
truth system and the coordinator share the server's processor, and agents share the generator's.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

# Agents and operations.
MERGED = [(8, 1), (8, 10), (1_000, 1), (1_000, 10)]
AGENTS = 8
# Of a pair, and of the coordinator's run: from 30 s on, windows have a second.
PAIRED_S, WATCHED_S = 15, 32
# Operations a second of all agents together, and of one machine in a pair.
TOGETHER, ALONE = 2_000, 4_000
TICKS = os.sysconf("SC_CLK_TCK")

FILE = """title = "fleet"
seed = 7
[target]
url = "http://{target}"
[load]
rate = "{rate}/s"
duration = "{seconds}s"
warm_up = "1s"
steady_state = "reported"
workers = 1
[[operation]]
http = {{ path = "/" }}
"""


def merging(bench, agents, operations):
    example = bench.PROOFLOAD.parent / "examples" / "merging"
    seconds = 20 if agents < 100 else 5
    text, _, _ = bench.run_counted([example, *map(str, (agents, operations, seconds))])
    return json.loads(text)


class Nats:
    """nats-server with JetStream on the server's processor."""

    def __init__(self, bench, scratch):
        self.url = f"nats://127.0.0.1:{(port := bench.free_port())}"
        program = shutil.which("nats-server") or "/usr/sbin/nats-server"
        self.child = subprocess.Popen(
            [program, "-a", "127.0.0.1", "-js", "-p", str(port), "-sd", f"{scratch}/nats"],
            stderr=subprocess.PIPE, text=True, preexec_fn=bench.pinned(bench.SERVER))
        for line in self.child.stderr:
            if "Server is ready" in line:
                break
        else:
            sys.exit("error: nats-server does not start")

    def end(self):
        self.child.terminate()
        self.child.stderr.close()
        self.child.wait()


def start(bench, scratch, processor, *words):
    return subprocess.Popen([bench.PROOFLOAD, *map(str, words)], cwd=scratch, stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL, preexec_fn=bench.pinned(processor))


def ended(child):
    """Processor seconds and peak memory of a child."""
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in (0, 1, 3):
        sys.exit(f"error: {child.args} ended with {child.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def spent(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def watch(child, events):
    """The share of a processor that it takes from the first window to the last."""
    samples = []
    while child.poll_pid() is None:
        time.sleep(0.25)
        if events.exists() and "window_closed" in (text := events.read_text()):
            if "trial_finished" in text:
                break
            samples.append((time.monotonic(), spent(child.pid)))
    (began, first), (over, last) = samples[0], samples[-1]
    return (last - first) / (over - began)


class Unreaped:
    """A child whose end is seen without taking its usage away."""

    def __init__(self, child):
        self.child, self.pid = child, child.pid

    def poll_pid(self):
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)


def run(bench, agents, rate, seconds):
    """A run over agents: its trial, what the coordinator took, and what each agent took."""
    with tempfile.TemporaryDirectory() as scratch:
        server, target = bench.start_truth()
        nats = Nats(bench, scratch)
        try:
            pathlib.Path(scratch, "x.toml").write_text(FILE.format(target=target, rate=rate, seconds=seconds))
            fleet = [start(bench, scratch, bench.GENERATOR, "agent", "--via", nats.url, "--name", f"load-{one}")
                     for one in range(agents)]
            own = start(bench, scratch, bench.SERVER, "run", "x.toml", "--quiet", "--out", "run",
                        "--agents", agents, "--via", nats.url)
            share = watch(Unreaped(own), pathlib.Path(scratch, "run/trials/001/events.jsonl"))
            cpu, memory = ended(own)
            used = [ended(agent) for agent in fleet]
            trial = json.loads(pathlib.Path(scratch, "run/summary.json").read_text())["arms"][0]["trials"][0]
        finally:
            nats.end()
            server.terminate()
            server.wait()
    return trial, {"share": share, "cpu_s": cpu, "memory": memory}, used


def alone(bench, rate):
    with tempfile.TemporaryDirectory() as scratch:
        server, target = bench.start_truth()
        try:
            pathlib.Path(scratch, "x.toml").write_text(FILE.format(target=target, rate=rate, seconds=PAIRED_S))
            cpu, _ = ended(start(bench, scratch, bench.GENERATOR, "run", "x.toml", "--quiet", "--out", "run"))
            trial = json.loads(pathlib.Path(scratch, "run/summary.json").read_text())["arms"][0]["trials"][0]
        finally:
            server.terminate()
            server.wait()
    return trial, cpu


def side(generator, started, cpu):
    lag = {one["q"]: one["observed_ns"] / 1e3 for one in generator["dispatch_lag"]["quantiles"] if one["observed_ns"]}
    return {"us": cpu / started * 1e6, "worker_us": generator["cpu_ns"] / started / 1e3,
            "lag_p50_us": lag.get(0.5), "lag_p99_us": lag.get(0.99)}


def pair(bench, turn):
    found = {}
    for who in ("agent", "alone") if turn % 2 == 0 else ("alone", "agent"):
        if who == "agent":
            trial, _, [(cpu, _)] = run(bench, 1, ALONE, PAIRED_S)
        else:
            trial, cpu = alone(bench, ALONE)
        found[who] = side(trial["generator"], trial["accounting"]["started"], cpu)
    return found


def measure(bench, rounds):
    results = {"merging": [], "coordinator": [], "pairs": []}
    for agents, operations in MERGED:
        rows = [merging(bench, agents, operations) for _ in range(min(rounds, 3))]
        results["merging"].append(rows)
        print(f"  merging {agents} agents, {operations} operations: "
              f"{[round(100 * row['processor_share'], 2) for row in rows]} %", file=sys.stderr)
    for _ in range(min(rounds, 3)):
        trial, own, _ = run(bench, AGENTS, TOGETHER, WATCHED_S)
        started = trial["accounting"]["started"]
        results["coordinator"].append({**own, "started": started})
        print(f"  coordinator of {AGENTS}: {100 * own['share']:.2f} %", file=sys.stderr)
    for turn in range(rounds):
        results["pairs"].append(pair(bench, turn))
        print(f"  round {turn + 1}: {results['pairs'][-1]}", file=sys.stderr)
    return results


def span(values, form):
    low, high = format(min(values), form), format(max(values), form)
    return low if low == high else f"{low} – {high}"


def middle(values):
    return sorted(values)[len(values) // 2]


def page(results):
    lines = ["", "## Fleet", "",
             "Reading and merging the reports of agents, without NATS: one window a second of each, 2,000 operations a "
             "second of each, whose times are log-normal around 5 ms.", "",
             "| agents | operations | share of a processor, % | bytes a second and agent | peak memory, MiB |",
             "|---:|---:|---:|---:|---:|"]
    for rows in results["merging"]:
        lines.append(f"| {rows[0]['agents']} | {rows[0]['operations']} | "
                     f"{span([100 * row['processor_share'] for row in rows], '.2f')} | "
                     f"{rows[0]['bytes_per_agent_second']:,} | "
                     f"{max(row['peak_resident_bytes'] for row in rows) / 2**20:.0f} |")
    rows = results["coordinator"]
    lines += ["", f"A run over {AGENTS} agents at {TOGETHER:,}/s: the coordinator's share of a processor from the first "
              "window to the last, and its memory.", "", "| runs | share, % | peak memory, MiB |", "|---:|---:|---:|",
              f"| {len(rows)} | {span([100 * row['share'] for row in rows], '.2f')} | "
              f"{max(row['memory'] for row in rows) / 2**20:.0f} |"]
    lines += ["", f"One agent beside a run without agents at {ALONE:,}/s, in pairs in alternation: the whole process's time "
              "per request, that of its workers, and its dispatch lag.", "",
              "| figure | agent µs | alone µs | ratio median | ratio min – max | pairs |", "|---|---:|---:|---:|---:|---:|"]
    for key, name in [("us", "processor time"), ("worker_us", "processor time in the measure phase"),
                      ("lag_p50_us", "dispatch lag p50"), ("lag_p99_us", "dispatch lag p99")]:
        sides = {who: [one[who][key] for one in results["pairs"]] for who in ("agent", "alone")}
        ratios = [ours / theirs for ours, theirs in zip(sides["agent"], sides["alone"])]
        lines.append(f"| {name} | {middle(sides['agent']):.2f} | {middle(sides['alone']):.2f} | {middle(ratios):.3f} | "
                     f"{span(ratios, '.3f')} | {len(ratios)} |")
    return lines
