#!/usr/bin/env python3
"""Traces of calls on device memory, of a device that is made of host memory: when it did what it was asked, beside when the host saw that.

    traced_devices.py CROSSRAIL PROGRAM
"""
import sys
import tempfile

import traced

RANKS = traced.RANKS


def asked_and_done(trace, rank):
    """(what was asked of the device, by the id of its slice: [began, ended, arguments]; what it did)."""
    asked = {}
    for one in trace["traceEvents"]:
        if one["pid"] == rank and one.get("cat") == "device":
            if one["ph"] == "b":
                asked[one["id"]] = [one["ts"], None, one["args"]]
            else:
                asked[one["id"]][1] = one["ts"]
    return asked, [one for one in traced.slices(trace, rank) if one["cat"] == "on device"]


def check_rank(trace, rank, names):
    tracks = {one["tid"]: one["args"]["name"] for one in trace["traceEvents"] if one["name"] == "thread_name" and one["pid"] == rank}
    asked, done = asked_and_done(trace, rank)
    assert len(asked) == len(done) == len({one["args"]["asked"] for one in done}) > 10, (len(asked), len(done))
    assert {one["name"] for one in done} >= names, {one["name"] for one in done}
    for one in done:
        began, ended, args = asked[one["args"]["asked"]]
        assert began - 0.001 <= one["ts"] <= ended and one["dur"] >= 0, (one, began, ended)
        assert args["device_us"] == one["dur"] and args.get("bytes") == one["args"].get("bytes"), (one, args)
        assert tracks[one["tid"]].startswith(f"rank {rank} GPU"), tracks


def check(crossrail, program, names, *arguments, **environment):
    with tempfile.TemporaryDirectory(prefix="crossrail_test.") as folder:
        code, _, trace = traced.traced(crossrail, program, folder, *arguments, **environment)
        assert code == 0
        traced.check_nesting(trace)
        for rank in range(RANKS):
            check_rank(trace, rank, names)


def main(crossrail, program):
    check(crossrail, program, {"exchange"}, "7", "60", CROSSRAIL_ALLTOALL="ipc_kernel_push")
    check(crossrail, program, {"packets"}, "7", "60", "20", CROSSRAIL_ALLTOALL="packet")
    check(crossrail, program, {"copies"}, "7", "60", CROSSRAIL_ALLTOALL="ipc_kernel_pull")
    if "openmpi" in program:  # Elsewhere nobody would advance such calls.
        check(crossrail, program, {"exchange"}, "8", "60", "5000", "pending")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
