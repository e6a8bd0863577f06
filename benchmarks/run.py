#!/usr/bin/env python3
"""How fast and how exact the instrument is, beside its peers, in one run on one machine.

Server and generator are pinned to a processor each. Generators alternate, so that a drift of the
machine hits all of them; what is reported is the ratio pair by pair, as median and spread.
Results go to benchmarks/results/<date>/: README.md for people, results.json for programs.
Each part is a file of its own, or a function here; `PARTS` lists them.

  benchmarks/run [--rounds 7] [--requests 400000] [--only PART] [--peer wrk] [--part origin]
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import brokers
import builds
import busy
import edge
import exchange
import fleet
import front
import grpc
import journeys
import live
import mail
import metrics
import pairs
import registry
import replay
import search
import streams
import traceparent
import websocket

HERE = pathlib.Path(__file__).resolve().parent
PROOFLOAD = HERE.parent / "target" / "release" / "proofload"
PROCESSORS = sorted(os.sched_getaffinity(0))
SERVER, GENERATOR = PROCESSORS[0], PROCESSORS[-1]
CONNECTIONS = 50
MESSAGES = 20_000

NGINX = """
daemon off; worker_processes 1; pid {dir}/nginx.pid; error_log {dir}/error.log crit;
events {{ worker_connections 1024; }}
http {{ access_log off; keepalive_requests 1000000000; client_body_temp_path {dir}/body;
  proxy_temp_path {dir}/proxy; fastcgi_temp_path {dir}/fastcgi; uwsgi_temp_path {dir}/uwsgi;
  scgi_temp_path {dir}/scgi;
  server {{ listen 127.0.0.1:{port}; location / {{ return 200 "hello\\n"; }} }} }}
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def pinned(processor):
    return lambda: os.sched_setaffinity(0, {processor})


def run_counted(command, processors=(GENERATOR,)):
    """Runs a command on the generator's processors; its output and its own CPU seconds and memory."""
    with tempfile.TemporaryFile() as out:
        child = subprocess.Popen(
            command, stdout=out, stderr=subprocess.STDOUT,
            preexec_fn=lambda: os.sched_setaffinity(0, set(processors)),
        )
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        text = out.read().decode(errors="replace")
    if child.returncode not in (0, 1, 3):
        sys.exit(f"error: {' '.join(map(str, command))} ended with {child.returncode}\n{text}")
    return text, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def run_trial(text, folder=None, processors=(GENERATOR,)):
    """Runs an experiment of one trial, whose files are in this folder; its summary, CPU seconds and memory."""
    with tempfile.TemporaryDirectory() as scratch:
        path = pathlib.Path(folder or scratch) / "file.toml"
        path.write_text(text)
        command = [PROOFLOAD, "run", path, "--out", f"{scratch}/run", "--quiet", "--json", "-"]
        report, cpu, memory = run_counted(command, processors)
    return json.loads(report)["arms"][0]["trials"][0], cpu, memory


class Nginx:
    """nginx with one worker on the server's processor, answering `return 200`."""

    def __init__(self, config=None, prepare=lambda folder: None):
        self.config, self.prepare = config or NGINX, prepare

    def __enter__(self):
        self.dir = tempfile.TemporaryDirectory()
        self.prepare(self.dir.name)
        self.port = free_port()
        config = pathlib.Path(self.dir.name) / "nginx.conf"
        config.write_text(self.config.format(dir=self.dir.name, port=self.port))
        program = shutil.which("nginx") or "/usr/sbin/nginx"
        self.child = subprocess.Popen(
            [program, "-c", config, "-p", self.dir.name], preexec_fn=pinned(SERVER)
        )
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", self.port), 0.1).close()
                return self
            except OSError:
                time.sleep(0.02)
        sys.exit("error: nginx does not accept connections")

    def __exit__(self, *_):
        self.child.terminate()
        self.child.wait()
        self.dir.cleanup()


def proofload_command(url, requests, out):
    return [
        PROOFLOAD, "run", url, "--requests", str(requests), "--connections", str(CONNECTIONS),
        "--workers", "1", "--warm-up", "0s", "--out", out, "--quiet", "--json", "-",
    ]


def run_proofload(url, requests):
    with tempfile.TemporaryDirectory() as scratch:
        text, cpu, memory = run_counted(proofload_command(url, requests, f"{scratch}/run"))
    summary = json.loads(text)
    accounting = summary["arms"][0]["trials"][0]["accounting"]
    assert accounting["succeeded"] == requests, accounting
    return cpu, requests, memory


def run_wrk(url, requests):
    seconds = max(2, round(requests / 80_000))
    text, cpu, memory = run_counted(["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", url])
    return cpu, int(re.search(r"(\d+) requests in", text).group(1)), memory


def run_h2load(url, requests):
    text, cpu, memory = run_counted(
        ["h2load", "--h1", "-t1", "-c", str(CONNECTIONS), "-n", str(requests), url]
    )
    return cpu, int(re.search(r"(\d+) succeeded", text).group(1)), memory


def run_ab(url, requests):
    text, cpu, memory = run_counted(["ab", "-q", "-k", "-c", str(CONNECTIONS), "-n", str(requests), url])
    return cpu, int(re.search(r"Complete requests:\s+(\d+)", text).group(1)), memory


def run_oha(url, requests):
    _, cpu, memory = run_counted(["oha", "--no-tui", "-c", str(CONNECTIONS), "-n", str(requests), url])
    return cpu, requests, memory


def epoll_runner(scratch):
    program = f"{scratch}/epoll_loop"
    subprocess.run(["cc", "-O2", "-o", program, HERE / "epoll_loop.c"], check=True)

    def run(url, requests):
        host, port = re.match(r"http://([^:]+):(\d+)", url).groups()
        text, cpu, memory = run_counted([program, host, port, str(CONNECTIONS), str(requests)])
        return cpu, json.loads(text)["requests"], memory

    return run


def measure_cpu(rounds, requests, only):
    """CPU of the generator process per request: proofload and each peer in turn, round by round."""
    with tempfile.TemporaryDirectory() as scratch, Nginx() as nginx:
        url = f"http://127.0.0.1:{nginx.port}/"
        peers = {"epoll loop": epoll_runner(scratch), "wrk": run_wrk, "h2load": run_h2load, "ab": run_ab}
        if shutil.which("oha"):
            peers["oha"] = run_oha
        peers = {name: peer for name, peer in peers.items() if only in (None, name)}
        run_proofload(url, requests // 4)  # warms nginx and the page cache
        rows = {name: [] for name in peers}
        for turn in range(rounds):
            for name, peer in peers.items():
                order = [("proofload", run_proofload), (name, peer)]
                pair = {}
                for who, run in order if turn % 2 == 0 else reversed(order):
                    cpu, count, _ = run(url, requests)
                    pair[who] = cpu / count * 1e6
                rows[name].append((pair["proofload"], pair[name]))
                print(f"  round {turn + 1}: proofload {pair['proofload']:.2f} us, "
                      f"{name} {pair[name]:.2f} us", file=sys.stderr)
    return {name: pairs.summarise(row) for name, row in rows.items()}


def start_truth():
    server = subprocess.Popen(
        [PROOFLOAD, "serve", "truth", "--listen", "127.0.0.1:0", "--set", "mode=none"],
        stdout=subprocess.PIPE, preexec_fn=pinned(SERVER),
    )
    return server, json.loads(server.stdout.readline())["listening"]["http"]


def measure_schedule(rate, rounds):
    """How exactly a constant rate is kept, as the server saw it.

    The generator places itself: its worker on the last processor, what stores windows elsewhere.
    """
    from urllib.request import urlopen

    seen = []
    for _ in range(rounds):
        server, address = start_truth()
        try:
            with tempfile.TemporaryDirectory() as scratch:
                run_counted([
                    PROOFLOAD, "run", f"http://{address}/", "--rate", f"{rate}/s", "--arrivals", "constant",
                    "--duration", "10s", "--warm-up", "0s", "--workers", "1", "--out", f"{scratch}/run", "--quiet",
                ], PROCESSORS)
            with urlopen(f"http://{address}/truth/report?rate={rate}") as answer:
                seen.append(json.load(answer))
        finally:
            server.terminate()
            server.wait()
    return {
        "rate": rate,
        "p50_us": [round(one["schedule_error_ns"]["p50"] / 1e3, 1) for one in seen],
        "p99_us": [round(one["schedule_error_ns"]["p99"] / 1e3, 1) for one in seen],
        "received": [one["received"] for one in seen],
        "started_rate": [one["started_rate"] for one in seen],
    }


def measure_memory(counts):
    with Nginx() as nginx:
        url = f"http://127.0.0.1:{nginx.port}/"
        return {str(count): run_proofload(url, count)[2] for count in counts}


def version(command, pattern=r"[\d.]+"):
    # What a part does not need may not be there.
    if not shutil.which(command[0]):
        return "none"
    text = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout
    found = re.search(pattern, text)
    return found.group(0) if found else "?"


def machine():
    cpu = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if "model name" in line), "?")
    return {
        "cpu": cpu, "processors": len(PROCESSORS), "kernel": platform.release(),
        "proofload": version([PROOFLOAD, "--version"]),
        "commit": subprocess.run(["git", "-C", HERE, "rev-parse", "--short", "HEAD"],
                                 capture_output=True, text=True).stdout.strip(),
        "nginx": version([shutil.which("nginx") or "/usr/sbin/nginx", "-v"], r"nginx/[\d.]+"),
        "wrk": version(["wrk", "-v"], r"wrk \S+"), "h2load": version(["h2load", "--version"], r"nghttp2/[\d.]+"),
        "ab": version(["ab", "-V"], r"Version [\d.]+"), "k6": version(["k6", "version"], r"k6 v[\d.]+"),
        "redis-benchmark": version(["redis-benchmark", "--version"], r"[\d.]+\d"), "nats": version(["nats", "--version"], r"[\d.]+\d"),
        "postfix": version([shutil.which("postconf") or "/usr/sbin/postconf", "-h", "mail_version"], r"[\d.]+\d"),
        "nats-server": version([shutil.which("nats-server") or "/usr/sbin/nats-server", "--version"], r"[\d.]+\d"),
    }


def cpu_page(results):
    return ["## CPU per request", "",
            f"Closed loop, {CONNECTIONS} connections, nginx `return 200`; user and system time of the whole generator process; "
            "server and generator on a processor each, pairs in alternation.", "",
            *pairs.table("peer", "proofload", "peer", results)]


def schedule_page(results):
    return ["", "## Schedule error as the server saw it", "",
            "| rate | p50 µs, each run | p99 µs, each run | received, each run | started rate, each run |", "|---|---|---|---|---|",
            *(f"| {row['rate']}/s | {row['p50_us']} | {row['p99_us']} | {row['received']} | "
              f"{[round(rate, 2) for rate in row['started_rate']]} |" for row in results)]


def memory_page(results):
    return ["", "## Peak memory", "", "| operations | peak resident MiB |", "|---|---|",
            *(f"| {count} | {memory / 2**20:.1f} |" for count, memory in results.items())]


# Each part: what measures it, by what was asked, and what shows it.
BENCH = sys.modules[__name__]
PARTS = {
    "cpu": (lambda asked: measure_cpu(asked.rounds, asked.requests, asked.peer), cpu_page),
    "schedule": (lambda asked: [measure_schedule(1_000, 3), measure_schedule(20_000, 3)], schedule_page),
    "memory": (lambda asked: measure_memory([100_000, 10_000_000]), memory_page),
    "journeys": (lambda asked: journeys.measure(BENCH, asked.rounds, asked.requests), journeys.page),
    "streams": (lambda asked: streams.measure(BENCH, asked.rounds), streams.page),
    "brokers": (lambda asked: brokers.measure(BENCH, asked.rounds, asked.requests), brokers.page),
    "grpc": (lambda asked: grpc.measure(BENCH, asked.rounds), grpc.page),
    "websocket": (lambda asked: websocket.measure(BENCH, asked.rounds), websocket.page),
    "traceparent": (lambda asked: traceparent.measure(BENCH, asked.rounds, asked.requests), traceparent.page),
    "registry": (lambda asked: registry.measure(asked.rounds), registry.page),
    "mail": (lambda asked: mail.measure(BENCH, asked.rounds, MESSAGES), mail.page),
    "front": (lambda asked: front.measure(BENCH, asked.rounds), front.page),
    "search": (lambda asked: search.measure(BENCH, asked.rounds), search.page),
    "exchange": (lambda asked: exchange.measure(BENCH, asked.rounds), exchange.page),
    "edge": (lambda asked: edge.measure(BENCH, asked.rounds, asked.requests, asked.part), edge.page),
    "fleet": (lambda asked: fleet.measure(BENCH, asked.rounds), fleet.page),
    "live": (lambda asked: live.measure(BENCH, asked.rounds), live.page),
    "metrics": (lambda asked: metrics.measure(BENCH, asked.rounds), metrics.page),
    "replay": (lambda asked: replay.measure(BENCH, asked.rounds), replay.page),
    "builds": (lambda asked: builds.measure(BENCH, asked.rounds, asked.requests), builds.page),
    "busy": (lambda asked: busy.measure(BENCH, asked.rounds, asked.part), busy.page),
}
# A round of it takes nine minutes.
ONLY_BY_NAME = {"busy"}


def page(results):
    lines = ["# How fast and how exact", "", f"Date: {results['date']}.", ""]
    lines += [f"- {key}: {value}" for key, value in results["machine"].items()]
    lines += ["", f"Command: `benchmarks/run {' '.join(results['arguments'])}`", ""]
    for name, (_, shown) in PARTS.items():
        # A part without its peer, which nobody could install, measures nothing.
        if results.get(name):
            lines += shown(results[name])
    return "\n".join(lines) + "\n"


def told(arguments):
    """The arguments without where the result goes, which is nobody else's business."""
    at = arguments.index("--out") if "--out" in arguments else len(arguments)
    return arguments[:at] + arguments[at + 2:]


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=7)
    options.add_argument("--requests", type=int, default=400_000)
    options.add_argument("--only", choices=PARTS)
    options.add_argument("--peer", help="only this one, such as wrk or \"epoll loop\"")
    options.add_argument("--part", choices=["origin", "proxy", "http2", "casts", "late", *busy.PARTS], help="only this one of the edge, or of busy")
    options.add_argument("--out", type=pathlib.Path)
    asked = options.parse_args()
    # Whatever ends this ends servers and loops that it started.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if len(PROCESSORS) < 2:
        sys.exit("error: two processors are needed, one for the server and one for the generator")
    results = {"date": datetime.date.today().isoformat(), "machine": machine(), "arguments": told(sys.argv[1:])}
    for name, (measure, _) in PARTS.items():
        if asked.only == name or asked.only is None and name not in ONLY_BY_NAME:
            results[name] = measure(asked)
    out = asked.out or HERE / "results" / results["date"]
    out.mkdir(parents=True, exist_ok=True)
    (out / "results.json").write_text(json.dumps(results, indent=2) + "\n")
    (out / "README.md").write_text(page(results))
    print(page(results))


if __name__ == "__main__":
    main()
