"""CPU of the generator per unary call of gRPC, beside ghz and beside a plain request of HTTP/2 with the same bytes: messages
of 64 bytes, 5 connections of 10 streams.

The server is Python's grpcio, which gives each message back; it is slower than both generators, so that only the processor
time of a call is compared, and not how many there are in a second.
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import edge
import mail

CONNECTIONS, STREAMS = 5, 10
TEXT = "x" * 62
PROTO = """syntax = "proto3";
package bench;
message Message { string text = 1; }
service Echo { rpc Echo(Message) returns (Message); }
"""
SERVER = """
import asyncio, sys, grpc

async def main():
    async def echo(message, context):
        return message
    server = grpc.aio.server()
    method = grpc.unary_unary_rpc_method_handler(echo)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("bench.Echo", {"Echo": method}),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    print(port, flush=True)
    await server.wait_for_termination()

asyncio.run(main())
"""
LOAD = """title = "Calls"
[target]
url = "http://127.0.0.1:{port}"
[load]
connections = {connections}
streams = {streams}
operations = {calls}
warm_up = "0s"
workers = 1
steady_state = "reported"
[[operation]]
name = "echo"
{operation}
"""
CALL = 'grpc = {{ method = "bench.Echo/Echo", message = {{ text = "{text}" }}, proto = "echo.proto" }}'
PLAIN = ('http2 = { path = "/bench.Echo/Echo", method = "POST", body_file = "call.bin", '
         'header = { content-type = "application/grpc", te = "trailers" } }')
# A frame of gRPC with a message whose first field is the text.
FRAME = b"\0" + (len(TEXT) + 2).to_bytes(4, "big") + b"\x0a" + bytes([len(TEXT)]) + TEXT.encode()
BUDGET_GHZ, BUDGET_PLAIN = 0.5, 1.5


def run_ours(bench, folder, port, calls, operation):
    text = LOAD.format(port=port, connections=CONNECTIONS, streams=STREAMS, calls=calls, operation=operation)
    trial, cpu, _ = bench.run_trial(text, folder)
    assert trial["accounting"]["succeeded"] == calls, trial["accounting"]
    return cpu / calls * 1e6


def run_ghz(bench, folder, port, calls):
    command = ["ghz", "--insecure", "--proto", folder / "echo.proto", "--call", "bench.Echo/Echo",
               "-d", json.dumps({"text": TEXT}), "-c", str(CONNECTIONS * STREAMS), "--connections", str(CONNECTIONS),
               "-n", str(calls), "--cpus", "1", "-O", "json", f"127.0.0.1:{port}"]
    report, cpu, _ = bench.run_counted(command)
    seen = json.loads(report)["statusCodeDistribution"]
    assert seen == {"OK": calls}, seen
    return cpu / calls * 1e6


def measure(bench, rounds, calls=40_000):
    if shutil.which("ghz") is None:
        print("  grpc: ghz is missing", file=sys.stderr)
        return None
    python = bench.HERE.parent / ".venv" / "bin" / "python"
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        (folder / "echo.proto").write_text(PROTO)
        (folder / "call.bin").write_bytes(FRAME)
        # Not beside this file, which has the name of what it imports.
        (folder / "server.py").write_text(SERVER)
        command = [python, folder / "server.py"]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=bench.pinned(bench.SERVER))
        try:
            port = int(child.stdout.readline())
            run_ghz(bench, folder, port, calls // 10)
            rows = {}
            same, other = CALL.format(text=TEXT), CALL.format(text="{{sequence}}" + "x" * 56)
            ours = lambda operation: lambda: run_ours(bench, folder, port, calls, operation)
            ghz = lambda: run_ghz(bench, folder, port, calls)
            for name, one, two in [("the same message / ghz", ours(same), ghz),
                                   ("a message with a placeholder / ghz", ours(other), ghz),
                                   ("the same message / plain HTTP/2", ours(same), ours(PLAIN))]:
                pairs = mail.pairs_of(rounds, one, two)
                rows[name] = mail.told(pairs, "µs a call")
                print(f"  grpc, {name}: CPU {rows[name]['ratio_median']:.3f}", file=sys.stderr)
        finally:
            child.terminate()
            child.wait()
    return rows


def page(rows):
    lines = ["", "## gRPC beside ghz and plain HTTP/2", "",
             f"Unary calls of 64 bytes to grpcio, {CONNECTIONS} connections of {STREAMS} streams; user and system time of the whole "
             f"process. Budgets: {BUDGET_GHZ} of ghz, {BUDGET_PLAIN} of the plain request.", "", *edge.head("peer")]
    return lines + [edge.line(name, row) for name, row in rows.items()]
