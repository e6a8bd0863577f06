"""The front beside nginx's proxy_pass: CPU of the proxy per request, in pairs, before the same upstream."""

import json
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

import mail

SECONDS = 4
NGINX = shutil.which("nginx") or "/usr/sbin/nginx"
ANSWER = json.dumps({"results": [{"id": f"w-{place:05}", "score": 0.5, "metadata": {"city": "Toledo", "role": "Forklift",
                     "name": "A. Worker"}} for place in range(10)]})
QUERY = json.dumps({"query": "forklift operator with a certificate in Toledo", "k": 10, "use_playbook": False})
# Name, connections, method, bytes of the answer; the rest of a request is the query.
LOADS = [
    ("search, 10 connections", 10, "POST", len(ANSWER)),
    ("search, 50 connections", 50, "POST", len(ANSWER)),
    ("GET, 50 connections", 50, "GET", len(ANSWER)),
    ("GET of 100 KiB, 50 connections", 50, "GET", 100 << 10),
]

FRAME = """
daemon off; worker_processes 1; pid {dir}/nginx.pid; error_log {dir}/error.log crit;
events {{ worker_connections 1024; }}
http {{ access_log off; keepalive_requests 1000000000; client_body_temp_path {dir}/body;
  proxy_temp_path {dir}/proxy; fastcgi_temp_path {dir}/fastcgi; uwsgi_temp_path {dir}/uwsgi;
  scgi_temp_path {dir}/scgi;
  {inside} }}
"""
ORIGIN = """server {{ listen 127.0.0.1:{port}; root {dir};
  location / {{ default_type application/json; return 200 '{answer}'; }}
  location /large {{ try_files /large =404; }} }}"""
# The same headers as ours sets.
PROXY = """upstream behind {{ server 127.0.0.1:{upstream}; keepalive 256; keepalive_requests 1000000000; }}
  server {{ listen 127.0.0.1:{port};
    location / {{ proxy_pass http://behind; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_set_header Host $http_host; proxy_set_header X-Forwarded-For $remote_addr;
      proxy_set_header X-Forwarded-Proto $scheme;
      proxy_set_header X-Forwarded-Host $http_host; proxy_set_header Forwarded "for=$remote_addr;proto=$scheme";
      proxy_set_header Via "1.1 nginx"; add_header Via "1.1 nginx"; }} }}"""


def wait_for(port, who):
    for _ in range(200):
        try:
            socket.create_connection(("127.0.0.1", port), 0.1).close()
            return
        except OSError:
            time.sleep(0.02)
    sys.exit(f"error: {who} does not accept connections")


def worker_of(master):
    """nginx listens before it has its worker; those who look after a cache come later."""
    children = pathlib.Path(f"/proc/{master.pid}/task/{master.pid}/children")
    for _ in range(200):
        if found := children.read_text().split():
            return int(found[0])
        time.sleep(0.02)
    master.terminate()
    sys.exit("error: nginx has no worker")


class Nginx:
    """nginx with one worker on a processor: the upstream, or the proxy before it."""

    frame, files, place = FRAME, {"large": b"x" * (100 << 10)}, None

    def __init__(self, bench, processor, inside, **more):
        self.bench, self.processor, self.inside, self.more = bench, processor, inside, more

    def __enter__(self):
        self.dir = tempfile.TemporaryDirectory(dir=self.place)
        self.port = self.bench.free_port()
        folder = pathlib.Path(self.dir.name)
        folder.chmod(0o755)
        for name, content in self.files.items():
            (folder / name).write_bytes(content)
        inside = self.inside.format(dir=folder, port=self.port, **self.filled(folder))
        (folder / "nginx.conf").write_text(self.frame.format(dir=folder, inside=inside))
        self.child = subprocess.Popen([NGINX, "-c", folder / "nginx.conf", "-p", folder],
                                      preexec_fn=self.bench.pinned(self.processor))
        wait_for(self.port, "nginx")
        self.pid = worker_of(self.child)
        return self

    def filled(self, folder):
        return self.more

    def __exit__(self, *_):
        self.child.terminate()
        self.child.wait()
        self.dir.cleanup()


class Ours:
    """Our front, one thread, on a processor."""

    def __init__(self, bench, processor, upstream):
        self.bench, self.processor, self.upstream = bench, processor, upstream

    def __enter__(self):
        command = [self.bench.PROOFLOAD, "serve", "search-front", "--listen", "127.0.0.1:0",
                   "--set", f"upstream=http://127.0.0.1:{self.upstream}"]
        self.child = subprocess.Popen(command, stdout=subprocess.PIPE,
                                      preexec_fn=self.bench.pinned(self.processor))
        ready = json.loads(self.child.stdout.readline())
        self.port = int(ready["listening"]["http"].rsplit(":", 1)[1])
        self.pid = self.child.pid
        return self

    def __exit__(self, *_):
        self.child.terminate()
        self.child.wait()


def drive(bench, port, connections, method, size, scratch):
    """wrk on the generator's processor; the requests that were answered with 200."""
    script = pathlib.Path(scratch) / f"{method}.lua"
    body = f"wrk.body = {json.dumps(QUERY)}" if method == "POST" else ""
    script.write_text(f'wrk.method = "{method}"\nwrk.headers["Content-Type"] = "application/json"\n{body}\n')
    path = "/large" if size == 100 << 10 else "/v1/matrix/search"
    text, _, _ = bench.run_counted(["wrk", "-t1", f"-c{connections}", f"-d{SECONDS}s", "-s", script,
                                    f"http://127.0.0.1:{port}{path}"])
    assert "Non-2xx" not in text and "Socket errors" not in text, text
    count = int(re.search(r"(\d+) requests in", text).group(1))
    assert count > 0, text
    return count


def places(bench):
    """Processors of upstream, proxy and generator: one each where there are three."""
    first, last = bench.PROCESSORS[0], bench.PROCESSORS[-1]
    return (first, bench.PROCESSORS[len(bench.PROCESSORS) // 2], last)


def measure(bench, rounds):
    """CPU of the proxy per request and requests a second, each proxy in turn before the same upstream."""
    upstream_at, proxy_at, _ = places(bench)
    rows = {}
    with tempfile.TemporaryDirectory() as scratch, \
            Nginx(bench, upstream_at, ORIGIN, answer=ANSWER) as origin:
        proxies = {
            "ours": lambda: Ours(bench, proxy_at, origin.port),
            "nginx": lambda: Nginx(bench, proxy_at, PROXY, upstream=origin.port),
        }
        for name, connections, method, size in LOADS:

            def run(who):
                with proxies[who]() as proxy:
                    drive(bench, proxy.port, connections, method, size, scratch)
                    before, begun = mail.cpu_of(proxy.pid), time.monotonic()
                    count = drive(bench, proxy.port, connections, method, size, scratch)
                    cpu, took = mail.cpu_of(proxy.pid) - before, time.monotonic() - begun
                    return cpu / count * 1e6, count / took

            both = mail.pairs_of(rounds, lambda: run("ours"), lambda: run("nginx"))
            rows[name] = {
                "cpu": mail.told([(ours[0], theirs[0]) for ours, theirs in both], "µs a request"),
                "rate": mail.told([(ours[1], theirs[1]) for ours, theirs in both], "requests/s"),
            }
            print(f"  front, {name}: CPU {rows[name]['cpu']['ratio_median']:.3f}, "
                  f"rate {rows[name]['rate']['ratio_median']:.3f}", file=sys.stderr)
    return rows


def page(results):
    lines = ["", "## Front: beside nginx's proxy_pass", "",
             "Before nginx as the upstream, driven by wrk, a warm-up before each; one thread or worker; connections to the "
             "upstream kept; the same headers added. Upstream, proxy and generator on a processor each.", "",
             "| load | | ours | nginx | ratio median | ratio min – max | pairs |", "|---|---|---|---|---|---|---|"]
    for name, both in results.items():
        for row in both.values():
            lines.append(f"| {name} | {row['unit']} | {row['ours']:.1f} | {row['peer']:.1f} | {row['ratio_median']:.3f} | "
                         f"{row['ratio_min']:.3f} – {row['ratio_max']:.3f} | {row['pairs']} |")
    return lines
