"""Has a front written: write_front.py LIBRARY NCCL FRONT."""

import ctypes
import sys


def main(library, real, front):
    write = ctypes.CDLL(library).crossrail_nccl_write_front
    write.restype = ctypes.c_char_p
    problem = write(real.encode(), front.encode())
    if problem is not None:
        sys.exit(problem.decode())


if __name__ == "__main__":
    main(*sys.argv[1:])
