"""What metrics of a run cost: processor time of a run that is scraped each second, and of one that writes to Prometheus,
beside one that does neither, in pairs.

Truth system, scraper and receiver share the server's processor.
"""

import http.server
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import urllib.request

SECONDS, RATE, OPERATIONS = 20, 1_000, 10
ACCEPT = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"
# Of a processor.
BUDGET = 0.01

HEAD = """title = "metrics"
seed = 7
[target]
url = "http://{target}"
[load]
rate = "{rate}/s"
duration = "{seconds}s"
warm_up = "1s"
steady_state = "reported"
workers = 1
"""
OPERATION = """[[operation]]
name = "operation-{number}"
http = {{ path = "/{number}" }}
"""


class Scraper(threading.Thread):
    """Asks for the metrics each second until they are gone."""

    def __init__(self, address):
        super().__init__(daemon=True)
        self.request = urllib.request.Request(f"http://{address}/metrics", headers={"accept": ACCEPT})
        self.over = threading.Event()
        self.sizes = []

    def run(self):
        while not self.over.wait(1):
            try:
                self.sizes.append(len(urllib.request.urlopen(self.request, timeout=1).read()))
            except OSError:
                pass


class Receiver(http.server.BaseHTTPRequestHandler):
    """Takes what is written to it."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.server.sizes.append(len(self.rfile.read(int(self.headers["content-length"]))))
        self.send_response(204)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def run(bench, target, flags):
    """Processor seconds of a run, and its trial."""
    with tempfile.TemporaryDirectory() as scratch:
        text = HEAD.format(target=target, rate=RATE, seconds=SECONDS)
        text += "".join(OPERATION.format(number=number) for number in range(OPERATIONS))
        pathlib.Path(scratch, "x.toml").write_text(text)
        child = subprocess.Popen([bench.PROOFLOAD, "run", "x.toml", "--quiet", "--out", "run", *flags], cwd=scratch,
                                 stdout=subprocess.DEVNULL, preexec_fn=bench.pinned(bench.GENERATOR))
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode not in (0, 1, 3):
            sys.exit(f"error: {child.args} ended with {child.returncode}")
        trial = json.loads(pathlib.Path(scratch, "run/summary.json").read_text())["arms"][0]["trials"][0]
    return usage.ru_utime + usage.ru_stime, trial


def scraped(bench, target):
    address = f"127.0.0.1:{bench.free_port()}"
    scraper = Scraper(address)
    scraper.start()
    cpu, trial = run(bench, target, ["--live", address])
    scraper.over.set()
    scraper.join()
    return cpu, trial, scraper.sizes


def written(bench, target):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    server.sizes = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    cpu, trial = run(bench, target, ["--remote-write", f"http://127.0.0.1:{server.server_port}/"])
    server.shutdown()
    return cpu, trial, server.sizes


def lag(trial):
    quantiles = trial["generator"]["dispatch_lag"]["quantiles"]
    return next((one["observed_ns"] / 1e3 for one in quantiles if one["q"] == 0.99 and one["observed_ns"]), None)


def measure(bench, rounds):
    results = []
    for turn in range(rounds):
        server, target = bench.start_truth()
        try:
            found = {}
            for who in ("none", "scraped", "written") if turn % 2 == 0 else ("written", "scraped", "none"):
                if who == "none":
                    (cpu, trial), sizes = run(bench, target, []), []
                else:
                    cpu, trial, sizes = (scraped if who == "scraped" else written)(bench, target)
                found[who] = {"cpu_s": cpu, "lag_p99_us": lag(trial), "requests": len(sizes),
                              "bytes": max(sizes, default=0)}
        finally:
            server.terminate()
            server.wait()
        results.append(found)
        print(f"  round {turn + 1}: {found}", file=sys.stderr)
    return results


def page(results):
    lines = ["", "## Metrics", "",
             f"Runs of {SECONDS} s with {OPERATIONS} operations, {RATE:,} requests a second in all. The share of a "
             f"processor is what a run takes more than the one of its round without metrics (budget: {BUDGET:.0%}).", "",
             "| run | share of a processor, %: median (least – greatest) | requests | bytes, at most | dispatch lag p99, µs |",
             "|---|---:|---:|---:|---:|"]
    for who in ("none", "scraped", "written"):
        shares = sorted(100 * (one[who]["cpu_s"] - one["none"]["cpu_s"]) / SECONDS for one in results)
        lags = sorted(one[who]["lag_p99_us"] or 0 for one in results)
        lines.append(f"| {who} | {shares[len(shares) // 2]:.2f} ({shares[0]:.2f} – {shares[-1]:.2f}) | "
                     f"{max(one[who]['requests'] for one in results)} | {max(one[who]['bytes'] for one in results):,} | "
                     f"{lags[len(lags) // 2]:.0f} |")
    return lines
