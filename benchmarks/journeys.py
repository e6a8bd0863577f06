"""A journey of five GETs, each with a capture and a placeholder in a header: CPU of the generator per request.

In pairs beside k6, whose users perform the same in a script, and beside plain operations of our own.
"""

import json
import pathlib
import re
import shutil
import sys
import tempfile

import front

import pairs

STEPS = 5
# A request without the field is refused, and every answer has a new value for it.
SERVER = """server {{ listen 127.0.0.1:{port}; default_type application/json;
  if ($http_x_token = "") {{ return 400; }}
  location / {{ return 200 '{{"token":"$request_id"}}'; }} }}"""

LOAD = """[target]
url = "{url}"
[load]
operations = {operations}
connections = {connections}
workers = 1
warm_up = "0s"
"""
STEP = """[[operation]]
name = "get{step}"
http = {{ path = "/", header = {{ x-token = "{token}" }} }}
capture = {{ token = "$.token" }}
"""
JOURNEY = """[[journey]]
name = "visit"
connections = "{connections}"
steps = {steps}
"""
PLAIN = """[[operation]]
name = "get"
http = { path = "/", header = { x-token = "0123456789abcdef0123456789abcdef" } }
"""
K6 = """import http from 'k6/http';
export const options = {{ vus: {connections}, iterations: {journeys}, noVUConnectionReuse: {own} }};
export default function () {{
  let token = `${{__VU}}-${{__ITER}}`;
  for (let step = 0; step < {steps}; step += 1) {{
    token = http.get('{url}', {{ headers: {{ 'x-token': token }} }}).json('token');
  }}
}}
export function handleSummary(data) {{
  const {{ http_reqs, http_req_failed }} = data.metrics;
  return {{ stdout: JSON.stringify({{ requests: http_reqs.values.count, failed: http_req_failed.values.passes }}) }};
}}
"""


def run_file(bench, text, requests):
    with tempfile.TemporaryDirectory() as scratch:
        file = pathlib.Path(scratch) / "journeys.toml"
        file.write_text(text)
        printed, cpu, _ = bench.run_counted(
            [bench.PROOFLOAD, "run", file, "--out", f"{scratch}/run", "--quiet", "--json", "-"])
    accounting = json.loads(printed)["arms"][0]["trials"][0]["accounting"]
    assert accounting["succeeded"] == requests, accounting
    return cpu / requests * 1e6


def run_journeys(bench, url, journeys, own):
    text = LOAD.format(url=url, operations=journeys, connections=bench.CONNECTIONS)
    for step in range(STEPS):
        token = "{{token}}" if step == 0 else f"{{{{get{step - 1}.token}}}}"
        text += STEP.format(step=step, token=token)
    names = json.dumps([f"get{step}" for step in range(STEPS)])
    text += JOURNEY.format(connections="own" if own else "pool", steps=names)
    return run_file(bench, text, STEPS * journeys)


def run_plain(bench, url, journeys, _):
    requests = STEPS * journeys
    return run_file(bench, LOAD.format(url=url, operations=requests, connections=bench.CONNECTIONS) + PLAIN, requests)


def run_k6(bench, url, journeys, own):
    with tempfile.TemporaryDirectory() as scratch:
        script = pathlib.Path(scratch) / "journeys.js"
        script.write_text(K6.format(url=url, journeys=journeys, connections=bench.CONNECTIONS, steps=STEPS,
                                    own="true" if own else "false"))
        # Without its API server, and nothing is sent to its makers.
        printed, cpu, _ = bench.run_counted(
            ["k6", "run", "--quiet", "--no-usage-report", "--address", "", script])
    counted = json.loads(re.search(r'\{"requests".*?\}', printed).group(0))
    assert counted == {"requests": STEPS * journeys, "failed": 0}, counted
    return cpu / counted["requests"] * 1e6


def measure(bench, rounds, requests):
    """Our journeys and each peer in turn, round by round."""
    journeys = requests // STEPS // 4
    peers = [("plain operations", run_plain, False)]
    if shutil.which("k6"):
        peers += [("k6, connections kept", run_k6, False), ("k6, connections of each visit", run_k6, True)]
    else:
        print("  without Go there is no k6", file=sys.stderr)
    rows = {name: [] for name, *_ in peers}
    with front.Nginx(bench, bench.SERVER, SERVER) as nginx:
        url = f"http://127.0.0.1:{nginx.port}/"
        run_plain(bench, url, journeys // 4, False)  # warms nginx and the page cache
        for turn in range(rounds):
            for name, peer, own in peers:
                order = [("proofload", run_journeys), (name, peer)]
                pair = {who: run(bench, url, journeys, own)
                        for who, run in (order if turn % 2 == 0 else reversed(order))}
                rows[name].append((pair["proofload"], pair[name]))
                print(f"  round {turn + 1}: journeys {pair['proofload']:.2f} us, {name} {pair[name]:.2f} us",
                      file=sys.stderr)
    return {name: pairs.summarise(row) for name, row in rows.items()}


def page(found):
    return ["", "## Journeys", "",
            f"{STEPS} GETs, each with a captured value and a header with the one before; nginx with a new value in each "
            "answer; user and system time of the whole generator process per request, server and generator on a "
            "processor each, pairs in alternation.", "",
            *pairs.table("peer", "journeys", "peer", found)]
