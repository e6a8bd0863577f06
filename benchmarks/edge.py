"""The edge beside its peers: origin and proxy beside nginx, the HTTP/2 driver beside h2load; casts, and late answers."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
from urllib.request import Request, urlopen

import front
import mail

WARM_UP, SECONDS = 1, 3
KIB = 1024
# Bodies of answers by their names in recipes.
SIZES = {"10kb": 10 * KIB, "300kb": 300 * KIB}
CONNECTIONS = (16, 64)
# Of HTTP/2: connections, and requests under way on each.
LINES, STREAMS = 5, 10
FIXED_RATE, FIXED_SECONDS = 10_000, 10
LATE_RATE, LATE_SECONDS, LATE_WAIT = 500, 10, 0.005
# A word of a configuration of nginx may have 4,096 bytes.
WORD = 3_000

FRAME = """
daemon off; worker_processes 1; pid {dir}/nginx.pid; error_log {dir}/error.log crit;
events {{ worker_connections 1024; }}
http {{ access_log off; keepalive_requests 1000000000; sendfile on; open_file_cache max=100 inactive=1h;
  open_file_cache_valid 1h; default_type text/html; client_body_temp_path {dir}/body; proxy_temp_path {dir}/proxy;
  fastcgi_temp_path {dir}/fastcgi; uwsgi_temp_path {dir}/uwsgi; scgi_temp_path {dir}/scgi;
  {inside} }}
"""
# Files in memory; what a cache may keep, so that it can be the upstream of proxies.
FILES = """server {{ listen 127.0.0.1:{port}; root {dir};
  location / {{ add_header Cache-Control "public, max-age=3600"; }} }}"""
# The same bytes out of the configuration itself, without a file.
RETURN = """server {{ listen 127.0.0.1:{port};
  location / {{ {words} add_header Cache-Control "max-age=0, private, must-revalidate"; return 200 "{all}"; }} }}"""
# The same headers as ours sets; no answer is ever written to a file on its way.
PROXY = """upstream behind {{ server 127.0.0.1:{upstream}; keepalive 256; keepalive_requests 1000000000; }}
  {cache}
  server {{ listen 127.0.0.1:{port};
    location / {{ proxy_pass http://behind; proxy_http_version 1.1; proxy_set_header Connection ""; {cached}
      proxy_max_temp_file_size 0; proxy_set_header Host $http_host; proxy_set_header X-Forwarded-For $remote_addr;
      proxy_set_header X-Forwarded-Proto $scheme; proxy_set_header X-Forwarded-Host $http_host;
      proxy_set_header Forwarded "for=$remote_addr;proto=$scheme"; proxy_set_header Via "1.1 nginx";
      add_header Via "1.1 nginx"; add_header X-Cache $upstream_cache_status; }} }}"""
CACHE = "proxy_cache_path {dir}/cache levels=1:2 keys_zone=kept:10m max_size=256m inactive=1h use_temp_path=off;"
HTTP2 = 'server {{ listen 127.0.0.1:{port} http2; location / {{ return 200 "hello\\n"; }} }}'

EXPERIMENT = """
title = "HTTP/2"
question = "What does a request cost the one who sends it?"
[target]
url = "{url}"
[load]
connections = {lines}
streams = {streams}
{load}
warm_up = "0s"
workers = 1
[[operation]]
name = "one"
http2 = {{ path = "/" }}
"""

# Sleeps so long, so many times, and says how late it woke.
SLEEPER = """
import json, sys, time
wait, count = float(sys.argv[1]), int(sys.argv[2])
def late():
    begun = time.monotonic_ns()
    time.sleep(wait)
    return (time.monotonic_ns() - begun) / 1e3 - wait * 1e6
seen = sorted(late() for _ in range(count))
print(json.dumps({f"p{100 * q:g}_us": seen[int(q * count)] for q in (0.5, 0.99, 0.999)}))
"""


class Nginx(front.Nginx):
    """The same with files in memory."""

    frame, place = FRAME, "/dev/shm" if os.path.isdir("/dev/shm") else None

    def __init__(self, bench, processor, inside, files=None, **more):
        super().__init__(bench, processor, inside, **more)
        self.files = files or {}

    def filled(self, folder):
        return {name: text.replace("{dir}", str(folder)) if isinstance(text, str) else text
                for name, text in self.more.items()}


class Ours:
    """One of our systems with these settings, one thread, on a processor."""

    def __init__(self, bench, name, **settings):
        self.bench, self.name, self.settings = bench, name, settings

    def __enter__(self):
        sets = [f"--set={key}={value}" for key, value in {"threads": 1, **self.settings}.items()]
        command = [self.bench.PROOFLOAD, "serve", self.name, "--listen", "127.0.0.1:0", *sets]
        self.child = subprocess.Popen(command, stdout=subprocess.PIPE,
                                      preexec_fn=self.bench.pinned(self.bench.SERVER))
        ready = json.loads(self.child.stdout.readline())
        self.port = int(ready["listening"]["http"].rsplit(":", 1)[1])
        self.pid = self.child.pid
        return self

    def __exit__(self, *_):
        self.child.terminate()
        self.child.wait()


def recipe(size, wait=0):
    return json.dumps({"random_content": size, "stages": [{"at": 0, "status": 200, "latency": wait}]})


def got(port, path="/"):
    """Body and headers of an answer."""
    with urlopen(Request(f"http://127.0.0.1:{port}{path}")) as answer:
        return answer.read(), answer.headers


def wrk(bench, port, connections, path, seconds):
    """wrk on the generator's processor; requests that were answered with 200, and the seconds that it took."""
    text, _, _ = bench.run_counted(["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", f"http://127.0.0.1:{port}{path}"])
    assert "Non-2xx" not in text and "Socket errors" not in text, text
    count, took = re.search(r"(\d+) requests in ([\d.]+)s", text).groups()
    assert int(count) > 0, text
    return int(count), float(took)


def drive(bench, server, connections, path):
    """What a server does for wrk after a warm-up: µs of CPU a request, requests/s, and how busy it was."""
    wrk(bench, server.port, connections, path, WARM_UP)
    before, begun = mail.cpu_of(server.pid), time.monotonic()
    count, took = wrk(bench, server.port, connections, path, SECONDS)
    cpu, spent = mail.cpu_of(server.pid) - before, time.monotonic() - begun
    return {"cpu": cpu / count * 1e6, "rate": count / took, "busy": cpu / spent}


def beside(rounds, name, ours, theirs):
    """Both in turn, and what came of it."""
    pairs = mail.pairs_of(rounds, ours, theirs)
    units = {"rate": "requests/s", "cpu": "µs a request", "busy": "of a processor"}
    rows = {key: mail.told([(one[key], other[key]) for one, other in pairs], unit) for key, unit in units.items()}
    print(f"  edge, {name}: rate {rows['rate']['ratio_median']:.3f}, CPU {rows['cpu']['ratio_median']:.3f}, "
          f"busy {rows['busy']['ours']:.2f} and {rows['busy']['peer']:.2f}", file=sys.stderr)
    return rows


def returning(body):
    """What nginx answers out of its configuration."""
    parts = [body[at:at + WORD].decode() for at in range(0, len(body), WORD)]
    words = " ".join(f'set $p{number} "{part}";' for number, part in enumerate(parts))
    return {"words": words, "all": "".join(f"$p{number}" for number in range(len(parts)))}


def measure_origin(bench, rounds):
    """The origin beside nginx, which has the same bytes in a file in memory, and short ones also without a file."""
    rows = {}
    for size, length in SIZES.items():
        with Ours(bench, "origin", recipe=recipe(size)) as origin:
            body, _ = got(origin.port)
        assert len(body) == length, len(body)
        peers = {"file": ({"inside": FILES, "files": {"body": body}}, "/body")}
        if length <= 10 * KIB:
            peers["return"] = ({"inside": RETURN, **returning(body)}, "/")
        for connections in CONNECTIONS:
            for peer, (configuration, path) in peers.items():

                def ours():
                    with Ours(bench, "origin", recipe=recipe(size)) as origin:
                        return drive(bench, origin, connections, "/")

                def theirs():
                    with Nginx(bench, bench.SERVER, **configuration) as nginx:
                        assert got(nginx.port, path)[0] == body
                        return drive(bench, nginx, connections, path)

                name = f"{size}, {connections} connections, nginx by {peer}"
                rows[name] = beside(rounds, f"origin, {name}", ours, theirs)
    return rows


def measure_proxy(bench, rounds):
    """The proxy beside nginx before the same upstream, an nginx on the generator's processor: out of the cache, and past it."""
    files = {size: os.urandom(length // 2).hex().encode() for size, length in SIZES.items()}
    kept = {"cache": CACHE, "cached": "proxy_cache kept;"}
    cases = [("hit", "10kb", connections, {}, kept) for connections in CONNECTIONS]
    cases += [("miss", size, 16, {"cache_bust": "always"}, {"cache": "", "cached": ""}) for size in SIZES]
    rows = {}
    with Nginx(bench, bench.GENERATOR, FILES, files) as upstream:
        for case, size, connections, settings, configuration in cases:

            def run(server):
                with server as proxy:
                    body, headers = got(proxy.port, f"/{size}")
                    # What was just fetched may not be kept yet.
                    while case == "hit" and headers["x-cache"].lower() != "hit":
                        body, headers = got(proxy.port, f"/{size}")
                    assert body == files[size]
                    assert case == "hit" or headers["x-cache"] in (None, "bust"), headers
                    return drive(bench, proxy, connections, f"/{size}")

            ours = lambda: Ours(bench, "proxy", upstream=f"http://127.0.0.1:{upstream.port}", **settings)
            theirs = lambda: Nginx(bench, bench.SERVER, PROXY, upstream=upstream.port, **configuration)
            name = f"{case}, {size}, {connections} connections"
            rows[name] = beside(rounds, f"proxy, {name}", lambda: run(ours()), lambda: run(theirs()))
    return rows


def run_ours(bench, url, load, count):
    """CPU seconds of the whole process."""
    with tempfile.TemporaryDirectory() as scratch:
        file = pathlib.Path(scratch) / "http2.toml"
        file.write_text(EXPERIMENT.format(url=url, lines=LINES, streams=STREAMS, load=load))
        text, cpu, _ = bench.run_counted([bench.PROOFLOAD, "run", file, "--out", f"{scratch}/run", "--quiet", "--json", "-"])
    accounting = json.loads(text)["arms"][0]["trials"][0]["accounting"]
    assert accounting["succeeded"] == count, accounting
    return cpu / count * 1e6


def run_h2load(bench, url, *load):
    text, cpu, _ = bench.run_counted(["h2load", "-t1", f"-c{LINES}", f"-m{STREAMS}", *load, url])
    count, failed = map(int, re.search(r"(\d+) succeeded, (\d+) failed", text).groups())
    assert count > 0 and failed == 0, text
    return cpu / count * 1e6


def measure_http2(bench, rounds, requests):
    """CPU of the whole generator a request, into nginx in the clear; as fast as it goes, and at one rate."""
    total = FIXED_RATE * FIXED_SECONDS
    rows = {}
    with Nginx(bench, bench.SERVER, HTTP2) as nginx:
        url = f"http://127.0.0.1:{nginx.port}/"
        # nginx would otherwise be slower for whoever comes first.
        run_h2load(bench, url, f"-n{requests // 10}")
        closed = mail.pairs_of(
            rounds,
            lambda: run_ours(bench, url, f"operations = {requests}", requests),
            lambda: run_h2load(bench, url, f"-n{requests}"),
        )
        rows[f"closed, {requests:,} requests"] = mail.told(closed, "µs a request")
        at_a_rate = f'rate = "{FIXED_RATE}/s"\narrivals = "constant"\nduration = "{FIXED_SECONDS}s"'
        fixed = mail.pairs_of(
            min(rounds, 3),
            lambda: run_ours(bench, url, at_a_rate, total),
            lambda: run_h2load(bench, url, f"--rps={FIXED_RATE // LINES}", f"-D{FIXED_SECONDS}"),
        )
        # h2load's --rps wakes a hundred times a second at most and sends what is due since; ours wakes for each.
        rows[f"{FIXED_RATE:,}/s, ours each at its instant, h2load's every 10 ms together"] = mail.told(fixed, "µs a request")
    for name, row in rows.items():
        print(f"  edge, HTTP/2, {name}: CPU {row['ratio_median']:.3f}", file=sys.stderr)
    return rows


def measure_casts(bench, rounds):
    """Casts a second from one process to the monitor in another, a processor each; waiting for room in place of dropping."""
    seen = []
    for _ in range(rounds):
        command = [bench.PROOFLOAD.parent / "examples" / "casts", "--threads", "1", "--bytes", "100", "--waiting"]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=bench.pinned(bench.GENERATOR))
        monitor = int(re.search(r"monitor (\d+)", child.stdout.readline()).group(1))
        for task in pathlib.Path(f"/proc/{monitor}/task").iterdir():
            os.sched_setaffinity(int(task.name), {bench.SERVER})
        text, _ = child.communicate()
        assert child.returncode == 0 and "cast = received + dropped: true" in text, text
        received, rate = re.search(r"received\s+(\d+)\s+(\d+)/s", text).groups()
        dropped = re.search(r"dropped\s+(\d+)", text).group(1)
        seen.append({"received": int(received), "rate": int(rate), "dropped": int(dropped)})
        print(f"  edge, casts: {int(rate):,}/s", file=sys.stderr)
    return seen


def slept(bench):
    """How late a process wakes that does nothing but sleep, as long and as many seconds on the same processor."""
    command = [sys.executable, "-c", SLEEPER, str(LATE_WAIT), str(int(LATE_SECONDS / LATE_WAIT))]
    return json.loads(subprocess.check_output(command, preexec_fn=bench.pinned(bench.SERVER)))


def measure_late(bench, rounds):
    """How late answers are given that wait 5 ms, by the origin's own word, and how late the machine wakes anybody."""
    seen = []
    for _ in range(rounds):
        alone = slept(bench)
        with Ours(bench, "origin", recipe=recipe("10kb", f"{LATE_WAIT * 1e3:g}ms")) as origin, tempfile.TemporaryDirectory() as scratch:
            bench.run_counted([
                bench.PROOFLOAD, "run", f"http://127.0.0.1:{origin.port}/", "--rate", f"{LATE_RATE}/s", "--arrivals",
                "constant", "--duration", f"{LATE_SECONDS}s", "--warm-up", "0s", "--workers", "1", "--out",
                f"{scratch}/run", "--quiet",
            ])
            text = got(origin.port, "/metrics")[0].decode()
        late = dict(re.findall(r'origin_late_seconds\{quantile="([\d.]+)"\} (\S+)', text))
        count = int(re.search(r"origin_late_seconds_count (\d+)", text).group(1))
        assert count == LATE_RATE * LATE_SECONDS, count
        ours = {f"p{float(at) * 100:g}_us": float(late[at]) * 1e6 for at in ("0.5", "0.99", "0.999")}
        seen.append({"answers": count, "ours": ours, "sleep": alone})
        print(f"  edge, late: {seen[-1]}", file=sys.stderr)
    return seen


def measure(bench, rounds, requests, part=None):
    """All of it, or one part of it."""
    parts = {
        "origin": lambda: measure_origin(bench, rounds),
        "proxy": lambda: measure_proxy(bench, rounds),
        "http2": lambda: measure_http2(bench, rounds, requests),
        "casts": lambda: measure_casts(bench, min(rounds, 3)),
        "late": lambda: measure_late(bench, min(rounds, 3)),
    }
    return {name: run() for name, run in parts.items() if part in (None, name)}


HEAD = ["| load | | ours | {peer} | ratio median | ratio min – max | pairs |", "|---|---|---:|---:|---:|---|---:|"]


def line(name, row):
    form = ".2f" if row["ours"] < 100 else ".0f"
    return (f"| {name} | {row['unit']} | {row['ours']:{form}} | {row['peer']:{form}} | {row['ratio_median']:.3f} | "
            f"{row['ratio_min']:.3f} – {row['ratio_max']:.3f} | {row['pairs']} |")


def head(peer):
    return [HEAD[0].format(peer=peer), HEAD[1]]


def servers(title, text, rows):
    lines = ["", f"## {title}", "", text, "", *head("nginx")]
    return lines + [line(name, row) for name, all_of_it in rows.items() for row in all_of_it.values()]


def page(results):
    lines = []
    if "origin" in results:
        lines += servers("Edge: the origin beside nginx",
                         "A recipe of random content without a wait, one thread; nginx with one worker has the same bytes in a "
                         "file in memory (`sendfile`, `open_file_cache`), and short ones also in its configuration (`return`). "
                         "Driven by wrk after a warm-up; server and generator on a processor each.", results["origin"])
    if "proxy" in results:
        lines += servers("Edge: the proxy beside nginx",
                         "One thread or worker before the same upstream, an nginx that shares the generator's processor; "
                         "connections to it kept, the same headers added. *hit*: `proxy_cache` in memory beside the cache; "
                         "*miss*: `proxy_pass` beside `cache_bust=always`.", results["proxy"])
    if "http2" in results:
        lines += ["", "## Edge: the HTTP/2 driver beside h2load", "",
                  f"{LINES} connections of {STREAMS} streams into nginx in the clear, `return 200`; user and system time of the whole "
                  "process.", "", *head("h2load")]
        lines += [line(name, row) for name, row in results["http2"].items()]
    if "casts" in results:
        lines += ["", "## Edge: casts", "", "100 bytes each, over TCP from one process to the monitor in another, a processor each; "
                  "whoever casts waits for room.", "", "| received | casts/s | dropped |", "|---:|---:|---:|"]
        lines += [f"| {one['received']:,} | {one['rate']:,} | {one['dropped']:,} |" for one in results["casts"]]
    if "late" in results:
        lines += ["", "## Edge: how late the origin answers", "",
                  f"Waits of {LATE_WAIT * 1e3:g} ms, {LATE_RATE}/s at a constant rate for {LATE_SECONDS} s, each run; by "
                  "`origin_late_seconds`. *Sleep*: before it, a process that only sleeps as long, again and again, on the same "
                  "processor (`clock_nanosleep` with the kernel's slack of 50 µs): how late this machine wakes anybody.", "",
                  "| answers | p50 µs | p99 µs | p99.9 µs | sleep: p50 µs | p99 µs | p99.9 µs |", "|---:|---:|---:|---:|---:|---:|---:|"]
        for one in results["late"]:
            times = [f"{side[at]:.1f}" for side in (one["ours"], one["sleep"]) for at in ("p50_us", "p99_us", "p99.9_us")]
            lines.append(f"| {one['answers']:,} | {' | '.join(times)} |")
    return lines
