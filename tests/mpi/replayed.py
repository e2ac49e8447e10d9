#!/usr/bin/env python3
"""Records recorded_calls.c by the command line and replays it: as it is, cut short on one rank, and with an MPI library that errs.

    replayed.py CROSSRAIL PROGRAM WRONG_ALLTOALL
"""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

RANKS = 4
CALLS = {"alltoall": 102, "ialltoall": 20, "alltoallv": 1, "alltoallw": 1, "allreduce": 100}  # They are each form's.


def start(words, **environment):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, **environment}, timeout=200)
    print("+", " ".join(words), done.stdout, f"(exit {done.returncode})", sep="\n", flush=True)
    return done.returncode


def replay(crossrail, file, **environment):
    """(exit code, what it wrote)."""
    output = file.with_suffix(".replayed")
    code = start([crossrail, "replay", str(file), "--turns", "1", "--no-gaps", "--output", str(output)], **environment)
    return code, json.loads(output.read_text())


def calls(replayed):
    return {name: count for name, count in zip(replayed["names"], replayed["calls"]) if count}


def main(crossrail, program, wrong_library):
    with tempfile.TemporaryDirectory(prefix="crossrail_test.") as folder:
        file = Path(folder) / "calls.json"
        assert start([crossrail, "run", "-n", str(RANKS), "--record", str(file), "--", program]) == 0
        code, whole = replay(crossrail, file)
        assert code == 0 and (whole["different"], whole["failed"]) == (0, 0), whole
        assert calls(whole) == {name: RANKS * count for name, count in CALLS.items()}, calls(whole)
        assert whole["defined_calls"] == RANKS * (sum(CALLS.values()) - CALLS["allreduce"])
        assert not any(whole["native_wrong"] + whole["crossrail_wrong"]), whole
        assert whole["checked_calls"] == RANKS * sum(CALLS.values())

        code, wrong = replay(crossrail, file, LD_PRELOAD=wrong_library)
        assert code == 1 and wrong["different"] == RANKS * CALLS["alltoall"], (code, wrong["different"])
        assert dict(zip(wrong["names"], wrong["native_wrong"]))["alltoall"] == RANKS * CALLS["alltoall"], wrong
        assert not any(wrong["crossrail_wrong"]), wrong

        recording = json.loads(file.read_text())
        del recording["processes"][1]["sequence"][1:]  # It is cut as if it had been killed; all others have gone on.
        file.write_text(json.dumps(recording))
        code, cut = replay(crossrail, file)
        # Rank 1 has no call on the last communicator, and the calls on the world end with its last one there.
        assert code == 0 and calls(cut) == {"alltoall": RANKS * 100, "allreduce": RANKS * 100}, (code, calls(cut))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
