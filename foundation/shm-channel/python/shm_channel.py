"""A client of a shared-memory channel, with Python's standard library alone.

It follows LAYOUT.md and is held against the same vectors as the Rust crate. Linux on x86-64: that
machine keeps the order of stores and of loads, which Python has no means to ask for elsewhere.

    with Client("/run/user/1000/users.shm") as client:
        with client.call(b"request", room=65536, patience=1.0) as answer:
            print(bytes(answer.payload))
"""

import ctypes
import fcntl
import os
import platform
import select
import socket
import struct
import time

VERSION = 1
MAGIC = b"SHMCHAN\0"
GREETING = 64
PAGE, LINE, ENTRY = 4096, 64, 64
MASK = 0xFFFFFFFF
AWAKE, ON_FUTEX = 0, 1
ANSWERED, TOO_LARGE, REFUSED = 0, 1, 2
TIMED = 1
NAP = 0.020

FUTEX_WAIT, FUTEX_WAKE_OP = 0, 5
# Add 1 to the second word, then wake on the first: the one atomic addition that Python can have.
ADD_ONE = 1 << 28 | 1 << 12
SYS_FUTEX = 202
PROT_READ, PROT_WRITE, MAP_SHARED = 1, 2, 1
F_GET_SEALS, F_SEAL_SHRINK = 1034, 2

OUTCOMES = {
    1: "another version of the layout",
    2: "as many clients as there may be",
    3: "another user",
    4: "the hello was not understood",
    5: "the producer could not take us in",
}


class ChannelError(Exception):
    """What a channel's call ends in when there is no answer."""


class Refused(ChannelError):
    """The producer did not let us in, or its handler refused."""


class TooLarge(ChannelError):
    """A payload for which there is no room."""


class NoSlot(ChannelError):
    """Answers are held, or requests under way, in all slots."""


class Deadline(ChannelError):
    """No answer in time."""


class Gone(ChannelError):
    """The producer is gone; connect anew."""


class Damaged(ChannelError):
    """Shared memory says what nobody may write there; connect anew."""


class Geometry:
    """Where everything lies."""

    def __init__(self, slots, request_room, answer_room):
        self.slots, self.request_room, self.answer_room = slots, request_room, answer_room
        self.rooms = PAGE + _round(slots * ENTRY, PAGE)
        self.requests_length = _round(self.request_at(slots), PAGE)
        self.answers_length = _round(self.answer_at(slots), PAGE)

    def request_at(self, slot):
        return self.rooms + slot * self.request_room

    def answer_at(self, slot):
        return self.rooms + slot * self.answer_room

    def run(self, request, answer):
        """How many neighbouring slots have room for both."""
        run = max(-(-request // self.request_room), -(-answer // self.answer_room), 1)
        if run > self.slots:
            raise TooLarge(f"{max(request, answer)} bytes are more than all slots have")
        return run


def _round(length, to):
    return -(-length // to) * to


def hello(version=VERSION):
    """The client's first message."""
    return struct.pack("<8sI52x", MAGIC, version)


def read_welcome(data):
    """The geometry, generation and number that a producer's answer gives us."""
    if len(data) != GREETING or data[:8] != MAGIC:
        raise ChannelError("this is no producer of a shared-memory channel")
    version, outcome, slots, _, request, answer, generation, client = struct.unpack_from(
        "<IIIIQQQQ", data, 8
    )
    if outcome:
        raise Refused(OUTCOMES.get(outcome, "an unknown outcome"))
    if version != VERSION:
        raise ChannelError(f"the producer has version {version} of the layout, we have {VERSION}")
    return Geometry(slots, request, answer), generation, client


def entry(n, slot, sequence, length, code, kind=0, checksum=0, first=0, second=0):
    """The 64 bytes of message number n of a ring; `first` of a submission is TIMED where times are
    asked for, both of its completion are those times."""
    stamp = (n + 1) & MASK
    fields = stamp, slot, sequence, length, code, kind, checksum, first, second
    return struct.pack("<IIQQIIQQQ8x", *fields)


def look(data, n, slots):
    """Message number n if these 64 bytes are it, as a tuple; None if it is not there yet."""
    fields = struct.unpack_from("<IIQQIIQQQ", data)
    fresh = (n + 1) & MASK
    if fields[0] == fresh:
        return fields[1:]
    if fields[0] == (fresh - slots) & MASK or (fields[0] == 0 and n < slots):
        return None
    raise Damaged("the stamp of a completion")


_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [
    ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long,
]  # fmt: skip
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


class _Timespec(ctypes.Structure):
    _fields_ = [("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long)]


class _Mapping:
    """A region, by address: words of it are read and written whole."""

    def __init__(self, descriptor, length, writable):
        if os.fstat(descriptor).st_size < length:
            raise Damaged("the length of a region")
        if not fcntl.fcntl(descriptor, F_GET_SEALS) & F_SEAL_SHRINK:
            raise Damaged("a region could become shorter")
        protection = PROT_READ | (PROT_WRITE if writable else 0)
        self.length = length
        self.address = _libc.mmap(None, length, protection, MAP_SHARED, descriptor, 0)
        if self.address in (None, ctypes.c_void_p(-1).value):
            raise OSError(ctypes.get_errno(), "mapping a region")

    def word(self, at):
        return ctypes.c_uint32.from_address(self.address + at)

    def copy(self, at, length):
        return ctypes.string_at(self.address + at, length)

    def write(self, at, data):
        ctypes.memmove(self.address + at, data, len(data))

    def view(self, at, length):
        array = (ctypes.c_ubyte * length).from_address(self.address + at)
        return memoryview(array).cast("B").toreadonly()

    def close(self):
        if self.address:
            _libc.munmap(self.address, self.length)
            self.address = None


class Answer:
    """An answer, read where it lies. Close it (or use `with`) to give its slots back; `payload`
    must not be looked at after that. `times`, where they were asked for, are the two instants at
    which the producer took the request up and had its answer ready, on time.monotonic_ns()."""

    def __init__(self, client, slot, slots, payload, checksum, times):
        self._client, self._slot, self._slots = client, slot, slots
        self.payload, self.checksum, self.times = payload, checksum, times

    def close(self):
        if self._client is not None:
            self._client._give(self._slot, self._slots)
            self._client = self.payload = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Client:
    """One client of a producer, for one thread."""

    def __init__(self, path, patience=5.0):
        if platform.machine() != "x86_64" or platform.system() != "Linux":
            raise ChannelError("this client needs Linux on x86-64, which keeps the order of stores")
        self._mappings = []
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        self._socket.settimeout(patience)
        try:
            self._socket.connect(path)
            self._greet()
        except BaseException:
            self.close()
            raise
        self._free = [True] * self.geometry.slots
        self._flights = {}
        self._next = self._due = self._latest = 0
        self._poll = select.poll()
        self._poll.register(self._socket, select.POLLRDHUP)

    def _greet(self):
        try:
            self._socket.sendall(hello())
        except (BrokenPipeError, ConnectionResetError):
            pass  # Refused at once: what it said can still be read.
        data, passed, _, _ = socket.recv_fds(self._socket, GREETING, 4)
        try:
            self.geometry, self.generation, self.number = read_welcome(data)
            if len(passed) != 4:
                raise Damaged("the descriptors of a welcome")
            requests, answers, bell, _ = passed
            lengths = self.geometry.requests_length, self.geometry.answers_length, PAGE
            for descriptor, length, writable in zip(
                (requests, answers, bell), lengths, (True, False, True)
            ):
                self._mappings.append(_Mapping(descriptor, length, writable))
            self._requests, self._answers, self._bell = self._mappings
        finally:
            for descriptor in passed:
                os.close(descriptor)

    def call(self, request, room=0, patience=1.0, timed=False):
        """Sends a request and waits for its answer."""
        ticket = self.submit(request, room, timed)
        until = time.monotonic() + patience
        while True:
            done = self._take()
            if done is None:
                if not self._wait(until):
                    for flight in self._flights.values():
                        flight[2] |= flight[0] == ticket
                    raise Deadline("no answer in time")
            elif done[0] == ticket:
                return self._outcome(*done[1:])

    def submit(self, request, room=0, timed=False):
        """Sends a request and does not wait; its number."""
        slots = self.geometry.run(len(request), room)
        slot = self._free_run(slots)
        while slot is None:
            if self._take() is None:
                raise NoSlot(f"no {slots} neighbouring slots are free")
            slot = self._free_run(slots)
        self._free[slot : slot + slots] = [False] * slots
        self._latest += 1
        self._flights[slot] = [self._latest, slots, False]
        self._requests.write(self.geometry.request_at(slot), bytes(request))
        at = PAGE + (self._next % self.geometry.slots) * ENTRY
        wish = TIMED if timed else 0
        data = entry(self._next, slot, self._latest, len(request), slots, first=wish)
        self._requests.write(at + 4, data[4:])
        self._requests.word(at).value = (self._next + 1) & MASK
        self._next = (self._next + 1) & MASK
        # Always, and by the kernel: a look at whether the worker sleeps would need a fence.
        self._futex(self._bell.address, FUTEX_WAKE_OP, 1, 0, self._bell.address, ADD_ONE)
        return self._latest

    def _free_run(self, slots):
        for slot in range(self.geometry.slots - slots + 1):
            if all(self._free[slot : slot + slots]):
                return slot
        return None

    def _give(self, slot, slots):
        self._free[slot : slot + slots] = [True] * slots

    def _at(self):
        return PAGE + (self._due % self.geometry.slots) * ENTRY

    def _take(self):
        """The next completion as (ticket, slot, slots, message); what was abandoned is given back."""
        while True:
            # The stamp as one word; only then the rest.
            stamp = self._answers.word(self._at()).value
            if stamp != (self._due + 1) & MASK:
                look(struct.pack("<I60x", stamp), self._due, self.geometry.slots)
                return None
            message = look(self._answers.copy(self._at(), ENTRY), self._due, self.geometry.slots)
            slot, sequence, length, code = message[:4]
            ticket, slots, abandoned = self._flights.get(slot, (None, 0, False))
            if ticket != sequence:
                raise Damaged("a completion of another request")
            if code == ANSWERED and length > slots * self.geometry.answer_room:
                raise Damaged("the length of a completion")
            self._due = (self._due + 1) & MASK
            del self._flights[slot]
            if not abandoned:
                return ticket, slot, slots, message
            self._give(slot, slots)

    def _outcome(self, slot, slots, message):
        length, code, kind, checksum, taken_at, ready_at = message[2:]
        if code == ANSWERED:
            payload = self._answers.view(self.geometry.answer_at(slot), length)
            times = (taken_at, ready_at) if ready_at else None
            return Answer(self, slot, slots, payload, (kind, checksum) if kind else None, times)
        self._give(slot, slots)
        if code == TOO_LARGE:
            raise TooLarge(f"{length} bytes are needed")
        if code == REFUSED:
            raise Refused(f"refused: {length}")
        raise Damaged("the outcome of a completion")

    def _wait(self, until):
        """Sleeps until the next completion's stamp changes; False when the time is over."""
        said, word = self._requests.word(0), self._answers.word(self._at())
        left = until - time.monotonic()
        said.value = ON_FUTEX
        seen = word.value
        if seen != (self._due + 1) & MASK:
            # The kernel's own look at the word comes after a full barrier.
            nap = _Timespec(0, int(max(0.0, min(left, NAP)) * 1e9))
            self._futex(self._answers.address + self._at(), FUTEX_WAIT, seen, ctypes.byref(nap), 0, 0)
        said.value = AWAKE
        if word.value == (self._due + 1) & MASK:
            return True
        if self._poll.poll(0) and word.value != (self._due + 1) & MASK:
            raise Gone("the producer is gone")
        return left > 0

    @staticmethod
    def _futex(address, operation, value, third, other, last):
        third = third if not isinstance(third, int) else ctypes.c_long(third)
        _libc.syscall(
            ctypes.c_long(SYS_FUTEX), ctypes.c_void_p(address), ctypes.c_long(operation),
            ctypes.c_long(value), third, ctypes.c_void_p(other), ctypes.c_long(last),
        )  # fmt: skip

    def close(self):
        """Ends it; answers must not be looked at after that."""
        self._socket.close()
        for mapping in self._mappings:
            mapping.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
