"""Denies system calls to a command, as a container's seccomp profile does: deny.py NAME[,NAME...] COMMAND..."""

import ctypes
import os
import platform
import struct
import sys

NUMBERS = {
    "x86_64": {"timerfd_create": 283, "sched_setattr": 314, "sched_setaffinity": 203},
    "aarch64": {"timerfd_create": 85, "sched_setattr": 274, "sched_setaffinity": 122},
}
LOAD_NUMBER, EQUALS, RETURN = 0x20, 0x15, 0x06
ALLOW, EPERM = 0x7FFF0000, 0x00050001
NO_NEW_PRIVILEGES, SECCOMP, FILTER = 38, 22, 2

numbers = NUMBERS[platform.machine()]
rules = [struct.pack("HBBI", LOAD_NUMBER, 0, 0, 0)]
for name in sys.argv[1].split(","):
    rules += [struct.pack("HBBI", EQUALS, 0, 1, numbers[name]), struct.pack("HBBI", RETURN, 0, 0, EPERM)]
rules.append(struct.pack("HBBI", RETURN, 0, 0, ALLOW))
code = ctypes.create_string_buffer(b"".join(rules))
program = struct.pack("HxxxxxxP", len(rules), ctypes.addressof(code))
libc = ctypes.CDLL(None, use_errno=True)
for call in ((NO_NEW_PRIVILEGES, 1, 0, 0, 0), (SECCOMP, FILTER, program, 0, 0)):
    if libc.prctl(*call) != 0:
        sys.exit(f"prctl: {os.strerror(ctypes.get_errno())}")
os.execvp(sys.argv[2], sys.argv[2:])
