"""Holds shm_channel.py against vectors.json, and against a producer if its path is given.

    python3 check.py ../vectors.json [SOCKET]
"""

import json
import sys
import time
import zlib

import shm_channel as channel


def vectors(path):
    with open(path, encoding="utf-8") as file:
        known = json.load(file)
    for case in known["geometries"]:
        shape = channel.Geometry(case["slots"], case["request_room"], case["answer_room"])
        for name in ("rooms", "requests_length", "answers_length"):
            assert getattr(shape, name) == case[name], (case, name)
        for slot, request, answer in case["slots_at"]:
            assert (shape.request_at(slot), shape.answer_at(slot)) == (request, answer), case
        for request, answer, run in case["runs"]:
            assert shape.run(request, answer) == run, case
    for case in known["hellos"]:
        assert channel.hello(case["version"]).hex() == case["hex"], case
    for case in known["welcomes"]:
        try:
            shape, generation, client = channel.read_welcome(bytes.fromhex(case["hex"]))
        except channel.ChannelError:
            assert "slots" not in case, case
            continue
        found = [shape.slots, shape.request_room, shape.answer_room, generation, client]
        names = ["slots", "request_room", "answer_room", "generation", "client"]
        assert found == [case[name] for name in names], case
    for case in known["entries"]:
        fields = [case[name] for name in ("slot", "sequence", "length", "code", "kind", "checksum")]
        fields += case.get("times", [0, 0])
        data = channel.entry(case["n"], *fields)
        assert data.hex() == case["hex"], case
        assert channel.look(data, case["n"], 64) == tuple(fields), case
        before = (case["n"] - 64) & channel.MASK
        assert channel.look(channel.entry(before, *fields), case["n"], 64) is None, case
        wrong = channel.entry((case["n"] + 1) & channel.MASK, *fields)
        try:
            channel.look(wrong, case["n"], 64)
            raise AssertionError("a wrong stamp was taken")
        except channel.Damaged:
            pass
    return sum(len(cases) for cases in known.values())


def exchanges(path):
    """The producer answers a request with itself, `count` times over; see tests/channel/python.rs."""
    with channel.Client(path) as client:
        room = client.geometry.answer_room
        for number in range(300):
            request = f"{number}:{'x' * number}".encode()
            times = 1 + number % 7
            with client.call(bytes([times]) + request, len(request) * times, 10.0) as answer:
                assert answer.payload == request * times, number
                kind, value = answer.checksum
                assert (kind, value) == (1, zlib.crc32(request * times)), number
        before = time.monotonic_ns()
        with client.call(b"\x01timed", 0, 10.0, timed=True) as answer:
            assert before <= answer.times[0] <= answer.times[1] <= time.monotonic_ns(), answer.times
        with client.call(b"\x01not timed", 0, 10.0) as answer:
            assert answer.times is None
        large = b"y" * room
        with client.call(bytes([3]) + large, 3 * room, 10.0) as answer:
            assert bytes(answer.payload) == large * 3
        held = [client.call(b"\x01held", 0, 10.0) for _ in range(client.geometry.slots)]
        try:
            client.submit(b"\x01no slot is left")
            raise AssertionError("a slot was lent twice")
        except channel.NoSlot:
            pass
        assert all(answer.payload == b"held" for answer in held)
        for answer in held:
            answer.close()
        try:
            client.call(b"\x02" + large, 1, 10.0)
            raise AssertionError("an answer larger than its room")
        except channel.TooLarge:
            pass
        try:
            client.call(b"\x00", 0, 10.0)
            raise AssertionError("a refusal was taken for an answer")
        except channel.Refused as error:
            assert str(error) == "refused: 7", error
        return 300


if __name__ == "__main__":
    print("vectors", vectors(sys.argv[1]))
    if len(sys.argv) > 2:
        print("exchanges", exchanges(sys.argv[2]))
