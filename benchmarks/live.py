"""What a run costs that is watched: dispatch lag and processor time with a screen and a browser, beside a run without.

The screen is a terminal of its own (a pty of 120 x 40), the browser a client that reads every frame and notes when each
second came. Server and viewers share the server's processor.
"""

import json
import os
import pty
import re
import struct
import fcntl
import subprocess
import sys
import tempfile
import termios
import threading
import time
import datetime
import urllib.request
import pathlib

RATES = [1_000, 20_000]
SECONDS = 10
TICKS = os.sysconf("SC_CLK_TCK")


class Terminal:
    """A terminal that takes everything, and keeps the last of it."""

    def __init__(self):
        self.here, self.there = pty.openpty()
        fcntl.ioctl(self.there, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        self.seen = b""
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        while True:
            try:
                more = os.read(self.here, 65536)
            except OSError:
                return
            self.seen = (self.seen + more)[-1_000_000:]

    def link(self):
        while not (found := re.search(rb"live at (http://\S+)", self.seen)):
            time.sleep(0.01)
        return found.group(1).decode()


def follow(link, came):
    """Notes when each second is first shown to be over."""
    with urllib.request.urlopen(link + "events") as events:
        for line in events:
            if line.startswith(b"data: {"):
                now = time.time()
                for point in json.loads(line[6:])["points"]:
                    if not point["open"]:
                        came.setdefault(point["t"], now)


def threads(pid):
    """Processor seconds by name of thread."""
    used = {}
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            text = (task / "stat").read_text()
        except OSError:
            continue
        name, rest = text[text.index("(") + 1:text.rindex(")")], text[text.rindex(")") + 2:].split()
        used[name] = used.get(name, 0) + (int(rest[11]) + int(rest[12])) / TICKS
    return used


def run(bench, url, rate, is_watched):
    with tempfile.TemporaryDirectory() as scratch:
        command = [bench.PROOFLOAD, "run", url, "--rate", f"{rate}/s", "--duration", f"{SECONDS}s", "--warm-up", "1s",
                   "--workers", "1", "--arrivals", "constant", "--out", f"{scratch}/run"]
        terminal, came = Terminal() if is_watched else None, {}
        child = subprocess.Popen(
            command + (["--live", "127.0.0.1:0"] if is_watched else ["--quiet"]),
            stdin=terminal.there if terminal else subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=terminal.there if terminal else subprocess.DEVNULL, start_new_session=True,
            preexec_fn=(lambda: own_terminal(bench, terminal)) if terminal else bench.pinned(bench.GENERATOR))
        if terminal:
            threading.Thread(target=follow, args=(terminal.link(), came), daemon=True).start()
        used = {}
        while child.poll() is None:
            used = threads(child.pid) or used
            time.sleep(0.2)
        trial = json.loads(pathlib.Path(f"{scratch}/run/summary.json").read_text())["arms"][0]["trials"][0]
        start = measure_start(pathlib.Path(f"{scratch}/run/trials/001/events.jsonl"))
        delays = [(at - start - second - 1) * 1e3 for second, at in came.items() if second < SECONDS - 1]
        lag = {f"p{q['q'] * 100:g}": q["observed_ns"] for q in trial["total"]["dispatch_lag"]["quantiles"]}
        return {"lag_us": lag["p99"] / 1e3, "threads": used, "frames_ms": delays}


def own_terminal(bench, terminal):
    fcntl.ioctl(terminal.there, termios.TIOCSCTTY, 0)
    bench.pinned(bench.GENERATOR)()


def measure_start(events):
    """Of the measure phase, by the wall clock."""
    dated = entered = None
    for line in events.read_text().splitlines():
        event = json.loads(line)
        if event["event"] == "dated":
            at = datetime.datetime.fromisoformat(event["wall_clock"].replace("Z", "+00:00")).timestamp()
            dated = at - event["at_ns"] / 1e9
    return dated


def measure(bench, rounds):
    found = []
    for rate in RATES:
        pairs = []
        with bench.Truth() as truth:
            for turn in range(rounds):
                order = [True, False] if turn % 2 == 0 else [False, True]
                pair = {watched: run(bench, truth.url, rate, watched) for watched in order}
                pairs.append(pair)
                print(f"  {rate}/s round {turn + 1}: dispatch lag p99 {pair[True]['lag_us']:.1f} us watched, "
                      f"{pair[False]['lag_us']:.1f} us not", file=sys.stderr)
        found.append({"rate": rate, "pairs": pairs})
    return found
