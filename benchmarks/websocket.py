"""CPU of the generator per message that is asked over a socket, beside a plain request of HTTP/1.1; and the memory of open
sockets.

One server of Node answers both on one port: a request with its body, a message with the message. 50 connections carry one
operation each, of 64 bytes.
"""

import pathlib
import subprocess
import sys
import tempfile

import edge
import mail

CONNECTIONS = 50
BYTES = 64
FEW, MANY = 100, 9_000
BUDGET_CPU, BUDGET_KIB = 1.3, 16
SERVER = """
const http = require("http");
const { WebSocketServer } = require("ws");
const server = http.createServer((request, response) => {
  const parts = [];
  request.on("data", (part) => parts.push(part));
  request.on("end", () => response.end(Buffer.concat(parts)));
});
server.keepAliveTimeout = 0;
const sockets = new WebSocketServer({ server, perMessageDeflate: false });
sockets.on("connection", (socket) => socket.on("message", (data, isBinary) => socket.send(data, { binary: isBinary })));
server.listen(0, "127.0.0.1", 4096, () => console.log(server.address().port));
"""
LOAD = """title = "Messages"
[target]
url = "http://127.0.0.1:{port}"
[load]
connections = {connections}
operations = {operations}
warm_up = "0s"
workers = 1
steady_state = "reported"
[[operation]]
name = "one"
{operation}
"""
TEXT = "{{sequence}} " + "x" * (BYTES - 8)
ASK = f'websocket = {{ path = "/", body = "{TEXT}", answer = "{{{{sequence}}}} x" }}'
POST = f'http = {{ path = "/", method = "POST", body = "{TEXT}" }}'


def run(bench, port, operation, operations, connections=CONNECTIONS):
    """CPU in µs an operation, and bytes of memory at most."""
    text = LOAD.format(port=port, connections=connections, operations=operations, operation=operation)
    trial, cpu, memory = bench.run_trial(text)
    assert trial["accounting"]["succeeded"] == operations, trial["accounting"]
    return cpu / operations * 1e6, memory


def measure(bench, rounds, operations=200_000):
    with tempfile.TemporaryDirectory() as scratch:
        program = pathlib.Path(scratch, "server.js")
        program.write_text(SERVER)
        command = ["node", program]
        modules = bench.HERE.parent / ".node" / "node_modules"
        environment = {**bench.os.environ, "NODE_PATH": str(modules)}
        child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment,
                                 preexec_fn=bench.pinned(bench.SERVER))
        try:
            port = int(child.stdout.readline())
            run(bench, port, POST, operations // 10)
            pairs = mail.pairs_of(rounds, lambda: run(bench, port, ASK, operations)[0],
                                  lambda: run(bench, port, POST, operations)[0])
            row = mail.told(pairs, "µs an operation")
            print(f"  a message beside a request: {row['ratio_median']:.3f}", file=sys.stderr)
            kib = []
            for _ in range(min(rounds, 3)):
                few, many = (run(bench, port, ASK, 5 * count, count)[1] for count in (FEW, MANY))
                kib.append((many - few) / (MANY - FEW) / 1024)
                print(f"  an open socket: {kib[-1]:.2f} KiB", file=sys.stderr)
        finally:
            child.terminate()
            child.wait()
    return {"cpu": row, "kib": kib}


def page(found):
    kib = sorted(found["kib"])
    return ["", "## WebSocket beside HTTP/1.1", "",
            f"Messages of {BYTES} bytes and their answers, beside requests with such a body; {CONNECTIONS} connections with one "
            f"operation each, one server for both; user and system time of the whole process. Budget {BUDGET_CPU}.", "",
            *edge.head("HTTP/1.1"), edge.line("asked", found["cpu"]), "",
            f"Memory of an open socket, {MANY} beside {FEW}: {kib[len(kib) // 2]:.1f} KiB ({kib[0]:.1f} – {kib[-1]:.1f}; "
            f"budget {BUDGET_KIB})."]
