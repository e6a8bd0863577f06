"""CPU of the generator per event of a stream.

*Parsed* is what finding, counting and timing an event costs beside reading its bytes: a file of events from nginx, read as
a stream and as a plain body, in pairs. *Paced* is everything that an event costs when each comes alone: 1,000 streams of
50 events a second from `truth`, with the lateness of the generator meanwhile. Arrivals are Poisson: at a constant rate, the
gaps would be a multiple of the distance between arrivals, and the events of 250 streams would meet each arrival.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import time

EVENTS = 1000
EVENT = b'data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{"content":"token of a text"}}],"n":"xxxxxx"}\n\n'
BUDGET_US = 2.0
BUDGET_LAG_MS = 1.0
NGINX = """
daemon off; worker_processes 1; pid {dir}/nginx.pid; error_log {dir}/error.log crit;
events {{ worker_connections 1024; }}
http {{ access_log off; keepalive_requests 1000000000; sendfile on; default_type text/event-stream;
  client_body_temp_path {dir}/body; proxy_temp_path {dir}/proxy; fastcgi_temp_path {dir}/fastcgi;
  uwsgi_temp_path {dir}/uwsgi; scgi_temp_path {dir}/scgi;
  server {{ listen 127.0.0.1:{port}; root {dir}/www; }} }}
"""
PARSED = """title = "Parsed"
[target]
url = "{url}"
[load]
connections = 10
operations = {operations}
warm_up = "0s"
workers = 1
steady_state = "reported"
[[operation]]
name = "read"
http = {{ path = "/events" {stream} }}
"""
STREAM = ', stream = { format = "sse", event = "$.choices[0].delta.content" }'
PACED = """title = "Paced"
[target]
url = "{url}"
[load]
rate = "200/s"
duration = "20s"
warm_up = "6s"
connections = 2000
workers = 1
steady_state = "reported"
[[operation]]
name = "chat"
http = {{ path = "/", method = "POST", json = {{ stream = true }} {stream} }}
"""


def parsed(bench, rounds, operations):
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        www = pathlib.Path(folder, "www")
        www.mkdir()
        # nginx's worker is nobody.
        pathlib.Path(folder).chmod(0o755)
        (www / "events").write_bytes(EVENT * EVENTS)
        port = bench.free_port()
        config = pathlib.Path(folder, "nginx.conf")
        config.write_text(NGINX.format(dir=folder, port=port))
        child = subprocess.Popen(["/usr/sbin/nginx", "-c", config, "-p", folder], preexec_fn=bench.pinned(bench.SERVER))
        try:
            time.sleep(0.5)
            for turn in range(rounds):
                cpu = {}
                kinds = [("stream", STREAM), ("body", "")]
                for kind, stream in kinds if turn % 2 == 0 else reversed(kinds):
                    file = PARSED.format(url=f"http://127.0.0.1:{port}", operations=operations, stream=stream)
                    trial, cpu[kind], _ = bench.run_trial(file)
                    assert trial["accounting"]["succeeded"] == operations, trial["accounting"]
                    if stream:
                        assert trial["operations"][0]["items"]["events"]["sum"] == operations * EVENTS
                rows.append((cpu["stream"] - cpu["body"]) / operations / EVENTS * 1e6)
                print(f"  round {turn + 1}: {rows[-1]:.3f} us an event", file=sys.stderr)
        finally:
            child.terminate()
            child.wait()
    return rows


def paced(bench, rounds):
    rows = []
    truth = bench.PROOFLOAD.parent / "proofload-truth"
    settings = ["mode=tokens", "rate=100000/s", "prefill=constant", "tokens=250", "gap=20ms"]
    command = [truth, "truth", "--listen", "127.0.0.1:0"] + [part for one in settings for part in ("--set", one)]
    for turn in range(rounds):
        child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=bench.pinned(bench.SERVER))
        try:
            address = json.loads(child.stdout.readline())["listening"]["http"]
            # Lag is that of a worker with a processor of its own, which leaves the server's to the instrument's other threads.
            text = PACED.format(url=f"http://{address}", stream=STREAM)
            trial, cpu, _ = bench.run_trial(text, processors=bench.PROCESSORS)
        finally:
            child.terminate()
            child.wait()
        events = trial["operations"][0]["items"]["events"]["sum"]
        lag = next(one["observed_ns"] for one in trial["generator"]["dispatch_lag"]["quantiles"] if one["q"] == 0.99)
        # The warm-up has events, too: 26 of 20 seconds.
        rows.append((cpu / (events * 26 / 20) * 1e6, lag / 1e6, trial["in_flight"]["mean"]))
        print(f"  round {turn + 1}: {rows[-1][0]:.3f} us an event, lag p99 {rows[-1][1]:.3f} ms", file=sys.stderr)
    return rows


def measure(bench, rounds):
    return {"parsed": parsed(bench, rounds, 2000), "paced": paced(bench, rounds)}


def spread(values):
    values = sorted(values)
    return f"{values[len(values) // 2]:.2f} ({values[0]:.2f} – {values[-1]:.2f})"


def page(found):
    cost, lag, streams = zip(*found["paced"])
    return ["", "## Streams", "",
            f"CPU of the generator per event of {len(EVENT)} bytes with a JSONPath of names and indices. *Parsed*: beside reading "
            "the same bytes as a body. *Paced*: all of it, where each event comes alone.", "",
            "| what | µs an event | budget | rounds |", "|---|---|---|---|",
            f"| parsed | {spread(found['parsed'])} | {BUDGET_US} | {len(found['parsed'])} |",
            f"| paced, {sum(streams) / len(streams):.0f} streams of 50 events/s | {spread(cost)} | | {len(cost)} |", "",
            f"Dispatch lag p99 of the paced load: {spread(lag)} ms (budget {BUDGET_LAG_MS} ms)."]
