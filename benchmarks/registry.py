"""What the registry carries, in ratios of one run on one machine.

Registry, receivers and NATS are a process each; what publishing costs is the CPU time of the
publishing process alone, beside that of a loop of the bare NATS client with messages of the same
size to the same subjects, in alternation.
"""

import contextlib
import json
import os
import pathlib
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent / "target" / "release" / "examples"
SHAPES = [(1_000, 1), (10, 1_000)]
SEMANTICS = ["at_most_once", "at_least_once"]
ABREAST = 2
SECONDS = 3
SIZES = [1_000, 3_000, 10_000]
MOST_IN_A_MESSAGE = 1_000
FEW, MANY = 1_000, 100_000


def lines(example, *words):
    """What an example writes, a list of JSON values."""
    done = subprocess.run([EXAMPLES / example, *map(str, words)], stdout=subprocess.PIPE, check=True, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


@contextlib.contextmanager
def nats():
    """A NATS server with JetStream in a folder of its own; its address."""
    program = shutil.which("nats-server") or "/usr/sbin/nats-server"
    with tempfile.TemporaryDirectory() as folder, socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        child = subprocess.Popen([program, "-a", "127.0.0.1", "-p", str(port), "-js", "-sd", folder],
                                 stderr=subprocess.DEVNULL)
        try:
            for _ in range(200):
                with contextlib.suppress(OSError):
                    socket.create_connection(("127.0.0.1", port), 0.1).close()
                    break
                time.sleep(0.02)
            yield f"nats://127.0.0.1:{port}"
        finally:
            child.terminate()
            child.wait()


@contextlib.contextmanager
def receivers(servers, count, account):
    """So many receivers on NATS; held at the end against what senders were told."""
    child = subprocess.Popen([EXAMPLES / "deliveries", "listen", servers, str(count)],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        child.stdout.readline()
        yield
        child.stdin.close()
        account["received"] = json.loads(child.stdout.readline())["received"]
    finally:
        child.kill()
        child.wait()


def told(account, one, warm_up=0):
    """Adds what a sender was told; nothing may be but delivered."""
    others = {status: count for status, count in one["statuses"].items() if status != "delivered" and count}
    if others:
        print(f"  not delivered: {others}", file=sys.stderr)
    account["delivered"] = account.get("delivered", 0) + one["statuses"]["delivered"] + warm_up


def spread(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values), "each": values}


def carry(bus, shape, semantics):
    one = lines("deliveries", "carry", bus, *shape, semantics, ABREAST, SECONDS)[0]
    messages = one["multicasts"] * shape[0] * -(-shape[1] // MOST_IN_A_MESSAGE)
    return one, one["statuses"]["delivered"] / one["wall_s"], one["cpu_s"] / messages * 1e6


def measure_carrying(rounds):
    """Deliveries a second on both buses, and what a message costs its publisher beside the bare client."""
    rows = []
    for shape in SHAPES:
        for semantics in SEMANTICS:
            rates = [carry("embedded", shape, semantics)[1] for _ in range(rounds)]
            rows.append({"bus": "embedded", "shape": shape, "semantics": semantics, "rate": spread(rates)})
        with nats() as servers:
            account = {}
            with receivers(servers, shape[0], account):
                rows += [pairs(servers, shape, semantics, rounds, account) for semantics in SEMANTICS]
            for row in rows[-len(SEMANTICS):]:
                row["account"] = account
    return rows


def pairs(servers, shape, semantics, rounds, account):
    """The registry's bus and the bare client in turn, round by round."""
    rates, ours, bare, p95 = [], [], [], []
    size = carry(servers, shape, semantics)
    told(account, size[0])
    for turn in range(rounds):
        for who in ["ours", "bare"] if turn % 2 == 0 else ["bare", "ours"]:
            if who == "ours":
                one, rate, cost = carry(servers, shape, semantics)
                told(account, one)
                rates.append(rate)
                ours.append(cost)
                p95.append(one["p95_ms"])
            else:
                one = lines("deliveries", "bare", servers, shape[0], size[0]["message_bytes"], SECONDS)[0]
                bare.append(one["cpu_s"] / one["messages"] * 1e6)
        print(f"  {shape[0]} x {shape[1]} {semantics}: {rates[-1]:.0f}/s, "
              f"{ours[-1]:.2f} us, bare {bare[-1]:.2f} us", file=sys.stderr)
    return {
        "bus": "NATS", "shape": shape, "semantics": semantics, "rate": spread(rates), "p95_ms": spread(p95),
        "message_bytes": size[0]["message_bytes"], "ours_us": spread(ours), "bare_us": spread(bare),
        "share": spread([theirs / own for own, theirs in zip(ours, bare)]),
    }


def measure_fans(rounds):
    """Time of one multicast by its number of targets, on few receivers and on many."""
    rows = []
    # Ten thousand sockets are twice as many files, more than a process may have on many machines.
    for count in (10, SIZES[1]):
        rows.append(fan("embedded", count, rounds, {}))
        with nats() as servers:
            account = {}
            with receivers(servers, count, account):
                rows.append(fan(servers, count, rounds, account))
    return rows


def fan(bus, count, rounds, account):
    sizes = ",".join(map(str, SIZES))
    turns = [lines("deliveries", "fan", bus, count, "at_least_once", sizes, SECONDS)[0] for _ in range(rounds)]
    for turn in turns:
        for one in turn:
            told(account, one, one["targets"])
    per_target = [[one["median_ms"] * 1e3 / one["targets"] for one in turn] for turn in turns]
    return {
        "bus": "embedded" if bus == "embedded" else "NATS", "receivers": count,
        "targets": [{
            "targets": size, "median_ms": spread([turn[at]["median_ms"] for turn in turns]),
            "p95_ms": spread([turn[at]["p95_ms"] for turn in turns]),
            "us_per_target": spread([turn[at] for turn in per_target]),
        } for at, size in enumerate(SIZES)],
        "growth": spread([turn[-1] / turn[0] for turn in per_target]), "account": account,
    }


def measure_identities(rounds):
    turns = [lines("identities", "find", FEW, MANY, SECONDS)[0] for _ in range(rounds)]
    whole, bare = (lines("identities", role, MANY)[0]["bytes"] for role in ("bytes", "bytes-of-metadata"))
    return {
        "find": [{
            "identities": size, "median_us": spread([turn[at]["median_us"] for turn in turns]),
            "p99_us": spread([turn[at]["p99_us"] for turn in turns]),
        } for at, size in enumerate((FEW, MANY))],
        "find_ratio": spread([turn[1]["p99_us"] / turn[0]["p99_us"] for turn in turns]),
        "bytes_an_identity": round((whole - bare) / MANY),
    }


def measure(rounds):
    before = os.getloadavg()
    results = {
        "carrying": measure_carrying(rounds), "fans": measure_fans(rounds),
        "identities": measure_identities(rounds),
    }
    return {"load_before": before, **results, "load_after": os.getloadavg()}


def ranged(figures, digits=2):
    return f"{figures['median']:,.{digits}f} | {figures['min']:,.{digits}f} – {figures['max']:,.{digits}f}"


def page(results):
    load = [" ".join(f"{one:.2f}" for one in results[when]) for when in ("load_before", "load_after")]
    rows = results["carrying"]
    lines = ["", "## Registry", "",
             f"Load averages of the machine over 1, 5 and 15 minutes: {load[0]} before, {load[1]} after.", "",
             "### Deliveries a second", "",
             f"{ABREAST} multicasts to everybody at a time. On the embedded bus receivers are in the registry's process, "
             "on NATS in one of their own; each delivery is acknowledged by itself.", "",
             "| bus | receivers × identities | semantics | median | min – max |", "|---|---|---|---|---|"]
    lines += [f"| {row['bus']} | {row['shape'][0]:,} × {row['shape'][1]:,} | {row['semantics']} | "
              f"{ranged(row['rate'], 0)} |" for row in rows]
    lines += ["", "### Publishing beside the bare client", "",
              "CPU time of the publishing process for a message; the bare client publishes finished messages of the same size "
              "to the same subjects. For at_least_once, ours takes in as many acknowledgements.", "",
              "| receivers × identities | semantics | bytes | ours µs | bare µs | bare / ours, median | min – max | pairs |",
              "|---|---|---|---|---|---|---|---|"]
    lines += [f"| {row['shape'][0]:,} × {row['shape'][1]:,} | {row['semantics']} | {row['message_bytes']:,} | "
              f"{row['ours_us']['median']:.2f} | {row['bare_us']['median']:.2f} | {ranged(row['share'])} | "
              f"{len(row['share']['each'])} |" for row in rows if row["bus"] == "NATS"]
    lines += ["", "### One multicast, by its number of targets", "",
              "At least once, one after the other, to so many targets in turn.", "",
              "| bus | receivers | targets | median ms | p95 ms, median of rounds | greatest p95 | µs a target |",
              "|---|---|---|---|---|---|---|"]
    lines += [f"| {row['bus']} | {row['receivers']:,} | {one['targets']:,} | {one['median_ms']['median']:.2f} | "
              f"{one['p95_ms']['median']:.2f} | {one['p95_ms']['max']:.2f} | {one['us_per_target']['median']:.2f} |"
              for row in results["fans"] for one in row["targets"]]
    lines += ["", f"| bus | receivers | µs a target at {SIZES[-1]:,} : at {SIZES[0]:,}, median | min – max |", "|---|---|---|---|"]
    lines += [f"| {row['bus']} | {row['receivers']:,} | {ranged(row['growth'])} |" for row in results["fans"]]
    accounts = {(row["shape"][0] if "shape" in row else row["receivers"], "shape" in row): row["account"]
                for row in rows + results["fans"] if row["bus"] == "NATS"}
    lines += ["", "### Told and received over NATS", "", "| receivers | told delivered | received |", "|---|---|---|"]
    lines += [f"| {count:,} | {account['delivered']:,} | {account['received']:,} |"
              for (count, _), account in accounts.items()]
    identities = results["identities"]
    lines += ["", "### Identities, embedded store", "",
              "Enumerations of ten by an indexed field, in turn.", "",
              "| of | median µs | p99 µs, median of rounds | min – max |", "|---|---|---|---|"]
    lines += [f"| {one['identities']:,} | {one['median_us']['median']:.1f} | {ranged(one['p99_us'], 1)} |"
              for one in identities["find"]]
    lines += ["", f"p99 of {MANY:,} : of {FEW:,}: {identities['find_ratio']['median']:.2f} "
              f"({identities['find_ratio']['min']:.2f} – {identities['find_ratio']['max']:.2f}).", "",
              f"An identity takes {identities['bytes_an_identity']} bytes beside its metadata, "
              f"as a process grows that has {MANY:,}."]
    return lines
