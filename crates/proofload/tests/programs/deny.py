"""Denies system calls to a command, as a container's seccomp profile does: deny.py NAME[,NAME...] COMMAND...

The name `new` stands for all that Linux 4.18 does not know; they fail as they do there.
"""

import ctypes
import os
import platform
import struct
import sys

NUMBERS = {
    "x86_64": {"timerfd_create": 283, "sched_setattr": 314, "sched_setaffinity": 203},
    "aarch64": {"timerfd_create": 85, "sched_setattr": 274, "sched_setaffinity": 122},
}
LOAD_NUMBER, EQUALS, AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06
ALLOW, EPERM, ENOSYS = 0x7FFF0000, 0x00050001, 0x00050026
# From Linux 5.1 on, a new call has the same number on every machine; 4.19 and 4.20 had none.
FIRST_NEW = 424
NO_NEW_PRIVILEGES, SECCOMP, FILTER = 38, 22, 2

numbers = NUMBERS[platform.machine()]
rules = [struct.pack("HBBI", LOAD_NUMBER, 0, 0, 0)]
for name in sys.argv[1].split(","):
    test, answer = (AT_LEAST, ENOSYS) if name == "new" else (EQUALS, EPERM)
    rules += [struct.pack("HBBI", test, 0, 1, numbers.get(name, FIRST_NEW)), struct.pack("HBBI", RETURN, 0, 0, answer)]
rules.append(struct.pack("HBBI", RETURN, 0, 0, ALLOW))
code = ctypes.create_string_buffer(b"".join(rules))
program = struct.pack("HxxxxxxP", len(rules), ctypes.addressof(code))
libc = ctypes.CDLL(None, use_errno=True)
for call in ((NO_NEW_PRIVILEGES, 1, 0, 0, 0), (SECCOMP, FILTER, program, 0, 0)):
    if libc.prctl(*call) != 0:
        sys.exit(f"prctl: {os.strerror(ctypes.get_errno())}")
os.execvp(sys.argv[2], sys.argv[2:])
