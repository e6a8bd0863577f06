"""The build that `make dist` ships beside the release build: CPU of the generator per request, in pairs."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

import pairs

BUDGET = 1.03
CONNECTIONS = 16
SHIPPED = f"target/{os.uname().machine}-unknown-linux-musl/dist/proofload"

# What is sent, and to which of the two servers.
CASES = {
    "HTTP/1.1": ("http", 'http = { path = "/" }'),
    "HTTP/1.1 over TLS": ("https", 'http = { path = "/" }'),
    "HTTP/2 over TLS": ("https", 'http2 = { path = "/" }'),
}

EXPERIMENT = """title = "builds"
[target]
url = "{url}"
insecure = true
[load]
connections = {connections}
operations = {requests}
warm_up = "0s"
steady_state = "reported"
workers = 1
[[operation]]
name = "request"
{operation}
"""

TLS = 'server {{ listen 127.0.0.1:{port} ssl http2; ssl_certificate {dir}/cert.pem; ssl_certificate_key {dir}/key.pem; location / {{ return 200 "hello\\n"; }} }}'


def configured(bench, tls_port):
    """nginx with a second server, over TLS, whose certificate is made before it starts."""
    head, _, tail = bench.NGINX.rpartition("}}")
    tls = TLS.replace("{port}", str(tls_port))
    return f"{head}{tls} }}}}{tail}"


def certificate(folder):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days",
                    "2", "-subj", "/CN=127.0.0.1", "-keyout", f"{folder}/key.pem", "-out", f"{folder}/cert.pem"],
                   check=True, stderr=subprocess.DEVNULL)


def run(bench, program, text, requests):
    """Microseconds of processor time per request."""
    with tempfile.TemporaryDirectory() as scratch:
        path = pathlib.Path(scratch, "file.toml")
        path.write_text(text)
        printed, cpu, _ = bench.run_counted([program, "run", path, "--out", f"{scratch}/run", "--quiet", "--json", "-"])
    accounting = json.loads(printed)["arms"][0]["trials"][0]["accounting"]
    assert accounting["succeeded"] == requests, accounting
    return cpu / requests * 1e6


def measure(bench, rounds, requests):
    shipped = bench.HERE.parent / SHIPPED
    if not shipped.exists():
        print(f"builds: left out, {SHIPPED} does not exist; `make dist` builds it", file=sys.stderr)
        return {}
    tls_port = bench.free_port()
    rows = {name: [] for name in CASES}
    with bench.Nginx(configured(bench, tls_port), certificate) as nginx:
        urls = {"http": f"http://127.0.0.1:{nginx.port}", "https": f"https://127.0.0.1:{tls_port}"}
        for turn in range(rounds + 1):
            for name, (scheme, operation) in CASES.items():
                text = EXPERIMENT.format(url=urls[scheme], operation=operation, connections=CONNECTIONS, requests=requests)
                order = [("shipped", shipped), ("release", bench.PROOFLOAD)]
                pair = {who: run(bench, program, text, requests)
                        for who, program in (order if turn % 2 == 0 else reversed(order))}
                if turn == 0:
                    continue  # warms nginx and the page cache
                rows[name].append((pair["shipped"], pair["release"]))
                print(f"  round {turn}: {name} shipped {pair['shipped']:.3f} us, release {pair['release']:.3f} us",
                      file=sys.stderr)
    return {name: pairs.summarise(row) for name, row in rows.items()}


def page(found):
    if not found:
        return []
    return ["", "## The shipped build", "",
            f"The build of `make dist` (musl, linked statically) beside the release build, {CONNECTIONS} connections, in "
            f"pairs; server and generator on a processor each. Budget: {BUDGET:.2f}.", "",
            *pairs.table("load", "shipped", "release", found)]
