"""Has a shim written: write_shim.py LIBRARY NCCL SHIM."""

import ctypes
import sys


def main(library, real, shim):
    write = ctypes.CDLL(library).crossrail_nccl_write_shim
    write.restype = ctypes.c_char_p
    problem = write(real.encode(), shim.encode())
    if problem is not None:
        sys.exit(problem.decode())


if __name__ == "__main__":
    main(*sys.argv[1:])
