"""Mail beside Postfix: our server beside smtp-sink, our driver beside smtp-source, in pairs."""

import json
import os
import pathlib
import re
import shutil
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import time

SESSIONS = 20
# What Debian's Postfix calls them, outside a user's path.
SINK = shutil.which("smtp-sink") or "/usr/sbin/smtp-sink"
SOURCE = shutil.which("smtp-source") or "/usr/sbin/smtp-source"
# Name, bytes of a message, messages at 1:1 of the asked number, kept open.
LOADS = [
    ("1 KiB, a connection each", 1024, 1.0, False),
    ("1 KiB, kept open", 1024, 1.0, True),
    ("100 KiB, a connection each", 102_400, 0.5, False),
    ("100 KiB, kept open", 102_400, 0.5, True),
]

EXPERIMENT = """
title = "Mail"
question = "What does a message cost the one who sends it?"
[target]
url = "smtp://127.0.0.1:{port}"
[load]
connections = {sessions}
operations = {messages}
new_connections = {each}
warm_up = "0s"
workers = 1
[[operation]]
name = "message"
smtp = {{ from = "a@client.example", to = "b@mail.example", size = "{size}B", reset = false }}
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def cpu_of(pid):
    """CPU seconds of a process so far, all its threads, from the scheduler's own count."""
    total = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        total += int((task / "schedstat").read_text().split()[0])
    return total / 1e9


def resident(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+) kB", status).group(1)) * 1024


class Server:
    """A server on the server's processor."""

    def __init__(self, kind, bench, more=()):
        self.kind, self.bench, self.more = kind, bench, more

    def __enter__(self):
        if self.kind == "smtp-sink":
            self.port = free_port()
            # As root it would refuse to keep its rights.
            rights = ["-u", "postfix"] if os.getuid() == 0 else []
            command = [SINK, *rights, f"127.0.0.1:{self.port}", "4096"]
            self.child = subprocess.Popen(command, preexec_fn=self.bench.pinned(self.bench.SERVER))
            self.wait()
        else:
            command = [self.bench.PROOFLOAD, "serve", "mail", "--listen", "127.0.0.1:0",
                       "--set", "store=discard", "--set", "threads=1", *self.more]
            self.child = subprocess.Popen(command, stdout=subprocess.PIPE,
                                          preexec_fn=self.bench.pinned(self.bench.SERVER))
            ready = json.loads(self.child.stdout.readline())
            self.port = int(ready["listening"]["smtp"].rsplit(":", 1)[1])
        return self

    def wait(self):
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", self.port), 0.1).close()
                return
            except OSError:
                time.sleep(0.02)
        sys.exit(f"error: {self.kind} does not accept connections")

    def __exit__(self, *_):
        self.child.terminate()
        self.child.wait()


def source(bench, port, size, messages, kept, sessions=SESSIONS):
    """smtp-source on the generator's processor; its CPU and wall seconds."""
    begun = time.monotonic()
    command = [SOURCE, *(["-d"] if kept else []), "-s", str(sessions), "-m", str(messages),
               "-l", str(size), "-f", "a@client.example", "-t", "b@mail.example", f"127.0.0.1:{port}"]
    _, cpu, _ = bench.run_counted(command)
    return cpu, time.monotonic() - begun


def drive(bench, port, size, messages, kept):
    """Our driver on the generator's processor; its CPU and wall seconds."""
    with tempfile.TemporaryDirectory() as scratch:
        file = pathlib.Path(scratch) / "mail.toml"
        file.write_text(EXPERIMENT.format(port=port, sessions=SESSIONS, messages=messages, size=size,
                                          each="false" if kept else "true"))
        begun = time.monotonic()
        text, cpu, _ = bench.run_counted([bench.PROOFLOAD, "run", file, "--out", f"{scratch}/run",
                                          "--quiet", "--json", "-"])
        took = time.monotonic() - begun
    accounting = json.loads(text)["arms"][0]["trials"][0]["accounting"]
    assert accounting["succeeded"] == messages, accounting
    return cpu, took


def pairs_of(rounds, one, other):
    """Both in turn, which one first changing from round to round."""
    pairs = []
    for turn in range(rounds):
        order = [("ours", one), ("theirs", other)]
        seen = {who: run() for who, run in (order if turn % 2 == 0 else reversed(order))}
        pairs.append((seen["ours"], seen["theirs"]))
    return pairs


def told(pairs, unit):
    ratios = sorted(ours / theirs for ours, theirs in pairs)
    return {
        "unit": unit, "ours": statistics.median(ours for ours, _ in pairs),
        "peer": statistics.median(theirs for _, theirs in pairs),
        "ratio_median": statistics.median(ratios), "ratio_min": ratios[0], "ratio_max": ratios[-1],
        "pairs": len(pairs),
    }


def measure_server(bench, rounds, messages):
    """CPU of the server per message and messages a second, driven by smtp-source."""
    rows = {}
    for name, size, share, kept in LOADS:
        count = int(messages * share)

        def run(kind):
            with Server(kind, bench) as server:
                source(bench, server.port, size, count // 10, kept)
                before = cpu_of(server.child.pid)
                _, took = source(bench, server.port, size, count, kept)
                return (cpu_of(server.child.pid) - before) / count * 1e6, count / took

        both = pairs_of(rounds, lambda: run("ours"), lambda: run("smtp-sink"))
        rows[name] = {
            "cpu": told([(ours[0], theirs[0]) for ours, theirs in both], "µs a message"),
            "rate": told([(ours[1], theirs[1]) for ours, theirs in both], "messages/s"),
        }
        print(f"  server, {name}: CPU {rows[name]['cpu']['ratio_median']:.3f}, "
              f"rate {rows[name]['rate']['ratio_median']:.3f}", file=sys.stderr)
    return rows


def measure_driver(bench, rounds, messages):
    """CPU of the whole generator process per message, into smtp-sink."""
    rows = {}
    with Server("smtp-sink", bench) as sink:
        for name, size, share, kept in LOADS:
            count = int(messages * share)
            both = pairs_of(
                rounds,
                lambda: drive(bench, sink.port, size, count, kept)[0] / count * 1e6,
                lambda: source(bench, sink.port, size, count, kept)[0] / count * 1e6,
            )
            rows[name] = told(both, "µs a message")
            print(f"  driver, {name}: CPU {rows[name]['ratio_median']:.3f}", file=sys.stderr)
    return rows


def greet(connection):
    file = connection.makefile("rb")
    assert file.readline().startswith(b"220")
    connection.sendall(b"EHLO client.example\r\n")
    while file.readline()[3:4] == b"-":
        pass
    return file


def hold(port, count, secure):
    """So many sessions that have said EHLO, over TLS if asked, and then nothing."""
    held = []
    context = ssl._create_unverified_context()
    for _ in range(count):
        connection = socket.create_connection(("127.0.0.1", port))
        file = greet(connection)
        if secure:
            connection.sendall(b"STARTTLS\r\n")
            assert file.readline().startswith(b"220")
            connection = context.wrap_socket(connection)
            connection.sendall(b"EHLO client.example\r\n")
            connection.recv(4096)
        held.append(connection)
    return held


def measure_memory(bench):
    """Resident bytes a connection with 1,000 of them open, and whether all are served at once."""
    rows = {}
    for name, secure in (("plain", False), ("TLS", True)):
        more = ["--set", "tls=starttls", "--set", "max_connections=2000"]
        with Server("ours", bench, more) as server:
            for one in hold(server.port, 10, secure):
                one.close()
            before = resident(server.child.pid)
            held = hold(server.port, 1000, secure)
            rows[name] = (resident(server.child.pid) - before) / len(held)
            for one in held:
                one.close()
    with Server("ours", bench, ["--set", "max_connections=2000"]) as server:
        source(bench, server.port, 1024, 20_000, False, sessions=1000)
    return rows


def measure(bench, rounds, messages):
    return {
        "server": measure_server(bench, rounds, messages),
        "driver": measure_driver(bench, rounds, messages),
        "bytes_a_connection": measure_memory(bench),
    }


def page(results):
    head = ["| load | | ours | peer | ratio median | ratio min – max | pairs |", "|---|---|---|---|---|---|---|"]

    def line(name, row):
        return (f"| {name} | {row['unit']} | {row['ours']:.1f} | {row['peer']:.1f} | {row['ratio_median']:.3f} | "
                f"{row['ratio_min']:.3f} – {row['ratio_max']:.3f} | {row['pairs']} |")

    lines = ["", "## Mail: the server beside smtp-sink", "",
             f"Driven by smtp-source, {SESSIONS} sessions; store `discard`, one thread; server and generator on a processor each.", "", *head]
    for name, both in results["server"].items():
        lines += [line(name, both["cpu"]), line(name, both["rate"])]
    lines += ["", "## Mail: the driver beside smtp-source", "",
              f"Into smtp-sink, {SESSIONS} connections, every phase stamped; user and system time of the whole process.", "", *head]
    lines += [line(name, row) for name, row in results["driver"].items()]
    lines += ["", "## Mail: memory of a connection", "", "With 1,000 sessions open at a time, after EHLO.", "",
              "| | KiB a connection |", "|---|---|"]
    lines += [f"| {name} | {size / 1024:.1f} |" for name, size in results["bytes_a_connection"].items()]
    return lines
