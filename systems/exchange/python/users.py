#!/usr/bin/env python3
"""Asks a producer for user records over shared memory, and judges what comes.

  python3 systems/exchange/python/users.py CHANNEL users|bytes NUMBER [EXCHANGES]

CHANNEL is the path that the producer's ready line has under listening.channel. Each answer must have
the nonce that was asked with, and the CRC-32 that came beside it. The channel's client is
foundation/shm-channel/python/shm_channel.py; nothing but Python's standard library is needed.
"""

import json
import pathlib
import secrets
import sys
import zlib

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "foundation" / "shm-channel" / "python"))

import shm_channel  # noqa: E402

CRC32 = 1
LARGEST = 16 << 20


def ask(client, what, number, nonce):
    """One exchange: the users that came."""
    room = min(number if what == "bytes" else number * 2560, LARGEST)
    request = f"{what} {number} {nonce:016x}".encode()
    with client.call(request, room=max(room, 1), patience=5.0) as answer:
        kind, checksum = answer.checksum
        # In place; only reading it as JSON makes a copy.
        if kind != CRC32 or zlib.crc32(answer.payload) != checksum:
            raise ValueError("the checksum is that of other bytes")
        payload = json.loads(bytes(answer.payload))
    if payload["nonce"] != f"{nonce:016x}":
        raise ValueError("not the nonce that was asked with")
    return payload["users"]


def main(path, what, number, exchanges=1):
    number, counts = int(number), set()
    with shm_channel.Client(path) as client:
        for _ in range(int(exchanges)):
            counts.add(len(ask(client, what, number, secrets.randbits(64))))
    print(f"{exchanges} answers with {', '.join(map(str, sorted(counts)))} users each")


if __name__ == "__main__":
    if not 4 <= len(sys.argv) <= 5:
        sys.exit(__doc__)
    try:
        main(*sys.argv[1:])
    except (OSError, ValueError, shm_channel.ChannelError) as error:
        sys.exit(f"error: {error}")
