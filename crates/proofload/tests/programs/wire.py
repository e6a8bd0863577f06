"""A slow, lossy wire between two network namespaces: packets come 20 ms later, and 1 % never.

The namespace in which it is started has 10.77.0.1. It makes another one, which has 10.77.0.2 and is its own afterwards
(`nsenter --net=/proc/PID/ns/net`), and prints `ready`. It needs the rights of root in its namespace of users.
"""

import ctypes
import fcntl
import heapq
import os
import random
import select
import struct
import subprocess
import time

DELAY = 0.020
LOSS = 0.01
SEED = 7

TUNSETIFF = 0x400454CA
IFF_TUN, IFF_NO_PI = 0x0001, 0x1000
CLONE_NEWNET = 0x40000000


def end(address):
    """An end of the wire in the current namespace: packets of IP."""
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH14x", b"wire", IFF_TUN | IFF_NO_PI))
    for command in [
        "link set lo up",
        f"address add {address}/24 dev wire",
        "link set wire mtu 1400 up",
    ]:
        subprocess.run(["ip", *command.split()], check=True)
    return device


def relay(ends):
    """Passes packets on until it is killed."""
    others = dict(zip(ends, reversed(ends)))
    drawn = random.Random(SEED)
    waiting, number = [], 0
    while True:
        patience = max(0, waiting[0][0] - time.monotonic()) if waiting else None
        for device in select.select(ends, [], [], patience)[0]:
            packet = os.read(device, 65536)
            if drawn.random() >= LOSS:
                number += 1
                due = time.monotonic() + DELAY
                heapq.heappush(waiting, (due, number, others[device], packet))
        while waiting and waiting[0][0] <= time.monotonic():
            _, _, device, packet = heapq.heappop(waiting)
            try:
                os.write(device, packet)
            except OSError:
                pass  # a full queue drops it, as on any wire


ends = [end("10.77.0.1")]
if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET) != 0:
    raise OSError(ctypes.get_errno(), "no other network namespace")
ends.append(end("10.77.0.2"))
print("ready", flush=True)
relay(ends)
