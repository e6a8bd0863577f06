"""Denies system calls to a command, as a container's seccomp profile does: deny.py NAME[,NAME...] COMMAND...

The name `new` stands for the system calls that Linux 4.18 does not know, and for the seal F_SEAL_FUTURE_WRITE; they fail
as they do there.
"""

import ctypes
import os
import platform
import struct
import sys

NUMBERS = {
    "x86_64": {"fcntl": 72, "timerfd_create": 283, "sched_setattr": 314, "sched_setaffinity": 203},
    "aarch64": {"fcntl": 25, "timerfd_create": 85, "sched_setattr": 274, "sched_setaffinity": 122},
}
LOAD, EQUALS, AT_LEAST, HAS_BITS, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
ALLOW, EPERM, EINVAL, ENOSYS = 0x7FFF0000, 0x00050001, 0x00050016, 0x00050026
# Places of what a filter reads: number of the call, its second and third argument.
NUMBER, SECOND, THIRD = 0, 24, 32
ADD_SEALS, FUTURE_WRITE = 1033, 0x10
# From Linux 5.1 on, a new call has the same number on every machine; 4.19 and 4.20 had none.
FIRST_NEW = 424
NO_NEW_PRIVILEGES, SECCOMP, FILTER = 38, 22, 2

numbers = NUMBERS[platform.machine()]
rules = [(LOAD, 0, 0, NUMBER)]
for name in sys.argv[1].split(","):
    if name == "new":
        rules += [(AT_LEAST, 0, 1, FIRST_NEW), (RETURN, 0, 0, ENOSYS)]
        rules += [(EQUALS, 0, 5, numbers["fcntl"]), (LOAD, 0, 0, SECOND), (EQUALS, 0, 3, ADD_SEALS)]
        rules += [(LOAD, 0, 0, THIRD), (HAS_BITS, 0, 1, FUTURE_WRITE), (RETURN, 0, 0, EINVAL)]
        rules += [(LOAD, 0, 0, NUMBER)]
    else:
        rules += [(EQUALS, 0, 1, numbers[name]), (RETURN, 0, 0, EPERM)]
rules.append((RETURN, 0, 0, ALLOW))
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *rule) for rule in rules))
program = struct.pack("HxxxxxxP", len(rules), ctypes.addressof(code))
libc = ctypes.CDLL(None, use_errno=True)
for call in ((NO_NEW_PRIVILEGES, 1, 0, 0, 0), (SECCOMP, FILTER, program, 0, 0)):
    if libc.prctl(*call) != 0:
        sys.exit(f"prctl: {os.strerror(ctypes.get_errno())}")
os.execvp(sys.argv[2], sys.argv[2:])
