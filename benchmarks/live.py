"""What a run costs that is watched: dispatch lag and processor time with a screen and a browser, beside a run without.

The screen is a terminal of its own (a pty of 120 x 40), the browser a client that reads every frame and notes when each
second came. Server and viewers share the server's processor.
"""

import datetime
import fcntl
import json
import os
import pathlib
import pty
import re
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
import urllib.request

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
    """Notes when each second is first shown whole: what was due in it changes no more."""
    due = {}
    with urllib.request.urlopen(link + "events") as events:
        for line in events:
            if line.startswith(b"data: {"):
                now = time.time()
                for point in json.loads(line[6:])["points"]:
                    if due.get(point["t"]) != point["planned"]:
                        due[point["t"]], came[point["t"]] = point["planned"], now


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
    """One run: its dispatch lag, the processor time of its threads, and how late each second was shown."""
    with tempfile.TemporaryDirectory() as scratch:
        command = [bench.PROOFLOAD, "run", url, "--rate", f"{rate}/s", "--duration", f"{SECONDS}s", "--warm-up", "1s",
                   "--workers", "1", "--arrivals", "constant", "--out", f"{scratch}/run"]
        came = {}
        if is_watched:
            terminal = Terminal()

            def prepare():
                fcntl.ioctl(terminal.there, termios.TIOCSCTTY, 0)
                os.sched_setaffinity(0, bench.PROCESSORS)

            child = subprocess.Popen(
                [*command, "--live", "127.0.0.1:0"], stdin=terminal.there, stdout=subprocess.DEVNULL,
                stderr=terminal.there, start_new_session=True, preexec_fn=prepare)
            viewer = threading.Thread(target=follow, args=(terminal.link(), came))
            viewer.start()
        else:
            child = subprocess.Popen([*command, "--quiet"], stdout=subprocess.DEVNULL,
                                     preexec_fn=lambda: os.sched_setaffinity(0, bench.PROCESSORS))
        used = {}
        while child.poll() is None:
            used = threads(child.pid) or used
            time.sleep(0.1)
        if is_watched:
            viewer.join()
        trial = json.loads(pathlib.Path(f"{scratch}/run/summary.json").read_text())["arms"][0]["trials"][0]
        start = measure_start(pathlib.Path(f"{scratch}/run/trials/001/events.jsonl"))
        lag = {quantile["q"]: quantile["observed_ns"] for quantile in trial["generator"]["dispatch_lag"]["quantiles"]}
        return {
            "lag_p99_us": lag[0.99] / 1e3,
            # Of one processor, without the worker, whose time is that of the load.
            "beside_worker": sum(used for name, used in used.items() if not name.startswith("worker")) / SECONDS,
            "threads_s": used,
            "frames_ms": [round((at - start - second - 1) * 1e3, 1) for second, at in sorted(came.items())
                          if second < SECONDS - 1],
        }


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
    """For each rate, runs that are watched and not, in alternation."""
    found = []
    # The generator places itself; terminal and viewer are with the server.
    os.sched_setaffinity(0, {bench.SERVER})
    for rate in RATES:
        pairs = []
        server, address = bench.start_truth()
        try:
            for turn in range(rounds):
                order = [True, False] if turn % 2 == 0 else [False, True]
                pair = {watched: run(bench, f"http://{address}/", rate, watched) for watched in order}
                pairs.append({"watched": pair[True], "alone": pair[False]})
                print(f"  {rate}/s round {turn + 1}: dispatch lag p99 {pair[True]['lag_p99_us']:.1f} us watched, "
                      f"{pair[False]['lag_p99_us']:.1f} us not; beside the worker {pair[True]['beside_worker']:.2%}, "
                      f"{pair[False]['beside_worker']:.2%}; frames {max(pair[True]['frames_ms'], default=0):.0f} ms late",
                      file=sys.stderr)
        finally:
            server.terminate()
            server.wait()
        found.append({"rate": rate, "pairs": pairs})
    os.sched_setaffinity(0, bench.PROCESSORS)
    return found


def page(found):
    lines = ["", "## A run that is watched", "",
             "A screen of 120 x 40 and one browser, beside `--quiet`, in alternation. Processor time is that of all threads "
             "but the worker's, of one processor, and holds what stores the record. A frame is late by the time between the "
             "end of a second and the first frame that shows all that was due in it.", "",
             "| rate | dispatch lag p99, ratio median | min – max | processor watched | alone | frames late, median | most | pairs |",
             "|---|---|---|---|---|---|---|---|"]
    for one in found:
        pairs = one["pairs"]
        ratios = [pair["watched"]["lag_p99_us"] / pair["alone"]["lag_p99_us"] for pair in pairs]
        frames = [late for pair in pairs for late in pair["watched"]["frames_ms"]]
        used = [statistics.median(pair[who]["beside_worker"] for pair in pairs) for who in ("watched", "alone")]
        lines.append(f"| {one['rate']:,}/s | {statistics.median(ratios):.2f} | {min(ratios):.2f} – {max(ratios):.2f} | "
                     f"{used[0]:.2%} | {used[1]:.2%} | {statistics.median(frames):.0f} ms | {max(frames):.0f} ms | {len(pairs)} |")
    return lines
