"""A trial of what ranks of a node do with each other: one process holds memory, another one reaches for it.

Ranks are siblings, so a parent reading its child would prove nothing: this starts two children. The file is also
the program of those children: `neighbours.py hold`, `neighbours.py reach PID ADDRESS DESCRIPTOR`.
"""

import ctypes
import errno
import os
import subprocess
import sys
from dataclasses import dataclass

PATTERN = b"crossrail reaches its neighbour!"


@dataclass
class Trial:
    """What the second child could do; empty texts mean success, others are the system's words."""

    single_copy: str
    memfd: str


class Span(ctypes.Structure):
    """struct iovec."""

    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


def hold() -> None:
    """Prints 'PID ADDRESS DESCRIPTOR' of memory with PATTERN in it and waits until stdin closes."""
    memory = ctypes.create_string_buffer(PATTERN)
    descriptor = os.memfd_create("crossrail")
    os.write(descriptor, PATTERN)
    print(os.getpid(), ctypes.addressof(memory), descriptor, flush=True)
    sys.stdin.read()


def read_memory(pid: int, address: int) -> str:
    """Reads PATTERN from another process with process_vm_readv; returns '' or what went wrong."""
    library = ctypes.CDLL(None, use_errno=True)
    library.process_vm_readv.restype = ctypes.c_ssize_t
    library.process_vm_readv.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_ulong, ctypes.c_void_p, ctypes.c_ulong, ctypes.c_ulong]
    mine = ctypes.create_string_buffer(len(PATTERN))
    here, there = Span(ctypes.addressof(mine), len(PATTERN)), Span(address, len(PATTERN))
    count = library.process_vm_readv(pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
    if count < 0:
        return os.strerror(ctypes.get_errno() or errno.EIO)
    return "" if mine.raw == PATTERN else "it read other bytes than were there"


def open_memfd(pid: int, descriptor: int) -> str:
    """Opens another process's memfd through /proc; returns '' or what went wrong."""
    try:
        with open(f"/proc/{pid}/fd/{descriptor}", "rb") as file:
            return "" if file.read() == PATTERN else "it holds other bytes than were written"
    except OSError as error:
        return error.strerror or str(error)


def try_neighbours() -> Trial:
    """Starts both children; a child that dies gives a Trial that says so."""
    holder = subprocess.Popen([sys.executable, __file__, "hold"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        words = holder.stdout.readline().split()
        done = subprocess.run([sys.executable, __file__, "reach", *words], stdout=subprocess.PIPE, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return Trial("the trial did not finish", "the trial did not finish")
    finally:
        holder.stdin.close()
        holder.wait()
        holder.stdout.close()
    answers = done.stdout.split("\n")
    return Trial(answers[0], answers[1]) if len(answers) > 1 else Trial("the trial ended early", "the trial ended early")


if __name__ == "__main__":
    if sys.argv[1] == "hold":
        hold()
    else:
        process, place, handle = (int(word) for word in sys.argv[2:5])
        print(read_memory(process, place))
        print(open_memfd(process, handle))
