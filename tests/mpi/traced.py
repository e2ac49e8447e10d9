#!/usr/bin/env python3
"""Traces of traced_calls.c by the command line: whole ones, of several nodes, of threads, with few events, of jobs that are killed or stopped.

    traced.py CROSSRAIL PROGRAM
"""
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

RANKS = 2
BYTES = {"MPI_Alltoall": 12 * RANKS, "MPI_Alltoallw": 4 * sum(range(1, RANKS + 1)), "MPI_Alltoallv": 4 * sum(range(1, RANKS + 1)), "MPI_Allreduce": 40,
         "MPI_Allgather": 16, "MPI_Reduce_scatter_block": 16 * RANKS, "MPI_Ialltoall": 7 * RANKS, "MPI_Alltoall_init": 9 * RANKS}
COUNTS = {"MPI_Alltoall": 20, "MPI_Alltoallv": 1, "MPI_Alltoallw": 1, "MPI_Allreduce": 12, "MPI_Allgather": 1, "MPI_Reduce_scatter_block": 1,
          "MPI_Ialltoall": 10, "MPI_Alltoall_init": 1}
LAST_BYTES = 4000 * RANKS  # It is of the call for which the others wait.


def start(words, **environment):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, **environment}, timeout=200)
    print("+", " ".join(words), environment, done.stdout, f"(exit {done.returncode})", sep="\n", flush=True)
    return done.returncode, done.stdout


def traced(crossrail, program, folder, *how, **environment):
    """(exit code, what was said, the trace)."""
    file = Path(folder) / "trace.json"
    file.unlink(missing_ok=True)
    code, said = start([crossrail, "run", "-n", str(RANKS), "--trace", str(file), "--", program, *how], **environment)
    assert not [one for one in Path(folder).iterdir() if one != file], list(Path(folder).iterdir())
    return code, said, json.loads(file.read_text())


def slices(trace, rank):
    return [one for one in trace["traceEvents"] if one["ph"] == "X" and one["pid"] == rank]


def check_nesting(trace):
    """On every thread a slice lies in another one or beside it; ends of asynchronous ones follow their begins, the inner ones' first."""
    open_slices, open_others = {}, {}
    for one in trace["traceEvents"]:
        if one["ph"] == "X":
            stack = open_slices.setdefault((one["pid"], one["tid"]), [])
            began, ended = round(1000 * one["ts"]), round(1000 * (one["ts"] + one["dur"]))
            while stack and stack[-1] <= began:
                stack.pop()
            assert began <= ended and (not stack or ended <= stack[-1]), one
            stack.append(ended)
        elif one["ph"] in "be":
            stack = open_others.setdefault((one["pid"], one["cat"], one["id"]), [])
            if one["ph"] == "b":
                stack.append((one["name"], one["ts"]))
            else:
                name, began = stack.pop()
                assert (name, True) == (one["name"], began <= one["ts"]), one
    assert not any(open_others.values()), open_others


def inside(trace, outer):
    """The slices within this one, on its thread."""
    return [one for one in slices(trace, outer["pid"]) if one["tid"] == outer["tid"] and one is not outer and outer["ts"] <= one["ts"]
            and one["ts"] + one["dur"] <= outer["ts"] + outer["dur"] + 0.001]


def check_calls(trace, rank):
    calls = [one for one in slices(trace, rank) if one["cat"] == "mpi"]
    found = Counter(one["name"] for one in calls if (one["args"].get("bytes"), one["args"].get("communicator_size")) == (BYTES.get(one["name"]), RANKS))
    has_init = any(one["name"] == "MPI_Alltoall_init" for one in calls)
    assert found == {name: count for name, count in COUNTS.items() if has_init or name != "MPI_Alltoall_init"}, found
    assert [one["args"]["algorithm"] for one in calls if one["name"] == "MPI_Barrier"] == ["native"]
    assert sum(one["name"] == "MPI_Wait" for one in calls) == 10 + 3 * has_init
    carried = [one for one in calls if one["args"].get("algorithm", "native") not in ("native", "error") and one["name"] in BYTES and not one["name"].startswith("MPI_I")
               and not one["name"].endswith("_init")]
    assert sum(one["name"] == "MPI_Alltoall" for one in carried) > 10, carried
    for one in carried:
        assert [part["name"] for part in inside(trace, one) if part["cat"] == "phase"][-1] == one["args"]["algorithm"], one
    assert all(one["args"]["native_because"] for one in calls if one["args"].get("algorithm") == "native" and one["name"] == "MPI_Allreduce")
    check_pending(trace, rank, has_init)


def check_pending(trace, rank, has_init):
    begins = [one for one in trace["traceEvents"] if one["ph"] == "b" and one["pid"] == rank and one["cat"] == "pending" and one["name"].startswith("MPI_")]
    sizes = Counter((one["name"], one["args"]["bytes"], one["args"]["communicator_size"]) for one in begins)
    expected = {("MPI_Ialltoall", 7 * RANKS, RANKS): 10, **({("MPI_Alltoall_init", 9 * RANKS, RANKS): 3} if has_init else {})}
    assert sizes == expected, sizes
    assert all(one["args"]["algorithm"] and "unfinished" not in one["args"] for one in begins), begins
    started = [one["args"].get("algorithm", "") == "native" for one in slices(trace, rank) if one["name"] == "MPI_Ialltoall"]
    assert started == [one["args"]["algorithm"] == "native" for one in begins if one["name"] == "MPI_Ialltoall"], (started, begins)


def check_waiting(trace):
    """Rank 0 came 50 ms late to the last call."""
    last = [one for one in slices(trace, 1) if one["name"] == "MPI_Alltoall" and one["args"]["bytes"] == LAST_BYTES][0]
    waits = [one for one in inside(trace, last) if one["cat"] == "wait"]
    assert last["dur"] > 20_000 and sum(one["dur"] for one in waits) > 0.8 * last["dur"], (last, waits)


def check_whole(crossrail, program, folder):
    code, said, trace = traced(crossrail, program, folder)
    assert code == 0 and f"The trace of {RANKS} ranks" in said and "ui.perfetto.dev" in said, said
    names = [one["args"]["name"] for one in trace["traceEvents"] if one["name"] == "process_name"]
    assert [name.split(" (")[0] for name in names] == ["rank 0", "rank 1"] and os.uname().nodename in names[0], names
    check_nesting(trace)
    for rank in range(RANKS):
        check_calls(trace, rank)
        assert {"open communicator", "plan"} <= {one["name"] for one in slices(trace, rank)}
    check_waiting(trace)
    processes = trace["otherData"]["processes"]
    assert trace["otherData"]["events_dropped"] == 0 and len({one["clock_offset_ns"] for one in processes}) == 1, trace["otherData"]


def check_nodes(crossrail, program, folder):
    code, _, trace = traced(crossrail, program, folder, CROSSRAIL_NODES="0,1", CROSSRAIL_ALLTOALL="pairwise")
    assert code == 0
    check_nesting(trace)
    for rank in range(RANKS):
        messages = [one for one in trace["traceEvents"] if one["ph"] == "b" and one["cat"] == "message" and one["pid"] == rank]
        found = Counter((one["name"], one["args"]["peer"], one["args"]["bytes"]) for one in messages)
        assert all(found[way, 1 - rank, 12] > 10 and found[way, 1 - rank, 4000] == 1 for way in ("send", "receive")), found
        assert not any("unfinished" in one["args"] for one in messages), messages
        calls = Counter(one["name"] for one in slices(trace, rank) if one["args"].get("algorithm") == "pairwise")
        assert calls["MPI_Alltoall"] > 10, calls


def check_threads(crossrail, program, folder):
    code, _, trace = traced(crossrail, program, folder, "threads")
    assert code == 0
    check_nesting(trace)
    for rank in range(RANKS):
        of_threads = [one for one in slices(trace, rank) if one["name"] == "MPI_Alltoall" and one["args"].get("bytes") == 20 * RANKS]
        # Without MPI_THREAD_MULTIPLE there are none.
        assert len(of_threads) in (0, 1500) and len({one["tid"] for one in of_threads}) in (0, 3), len(of_threads)


def check_few(crossrail, program, folder):
    code, said, trace = traced(crossrail, program, folder, CROSSRAIL_TRACE_EVENTS="64")
    assert code == 0 and "had to make room" in said, said
    check_nesting(trace)
    for process in trace["otherData"]["processes"]:
        kept = [one for one in trace["traceEvents"] if one["pid"] == process["rank"] and one["ph"] in "Xb"]
        assert len(kept) == process["events"] <= 64 and process["events_dropped"] > 0, process
        assert any(one["args"].get("bytes") == LAST_BYTES for one in kept), "the latest are not there"


def check_killed(crossrail, program, folder):
    code, _, trace = traced(crossrail, program, folder, "killed")
    assert code != 0
    check_nesting(trace)
    for rank in range(RANKS):
        check_calls(trace, rank)
    # Rank 1 waits for rank 0 until it is ended, too, or finds out.
    last = [one for one in slices(trace, 1) if one["args"].get("unfinished") or one["args"].get("algorithm") == "error"]
    assert last and last[0]["name"] == "MPI_Alltoall" and last[0]["dur"] > 20_000, last


def check_stopped(crossrail, program, folder):
    """Ctrl-C, which goes to all processes of the terminal's group."""
    file = Path(folder) / "trace.json"
    words = [crossrail, "run", "-n", str(RANKS), "--trace", str(file), "--", program, "endless"]
    job = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
    said = ""
    while "waiting" not in said:
        line = job.stdout.readline()
        assert line, said
        said += line
    os.killpg(job.pid, signal.SIGINT)
    said += job.communicate(timeout=60)[0]
    print("+", " ".join(words), said, f"(exit {job.returncode})", sep="\n", flush=True)
    assert "The trace of 2 ranks" in said
    trace = json.loads(file.read_text())
    check_nesting(trace)
    assert any(one["name"] == "MPI_Alltoall" and one["args"].get("bytes") == LAST_BYTES for one in slices(trace, 0))


def check_refused(crossrail, program, folder):
    for file in (folder, f"{folder}/none/trace.json"):
        code, said = start([crossrail, "run", "-n", str(RANKS), "--trace", file, "--", program])
        assert code == 2 and "PASS" not in said and said.splitlines()[-1].startswith("crossrail: "), (code, said)


def check_by_environment(crossrail, program, folder):
    """Without --trace: a folder, of which 'crossrail trace' makes a file."""
    parts, file = Path(folder) / "parts", Path(folder) / "made.json"
    parts.mkdir()
    assert start([crossrail, "run", "-n", str(RANKS), "--", program], CROSSRAIL_TRACE=str(parts))[0] == 0
    assert len(list(parts.glob("*.trace"))) == RANKS, list(parts.iterdir())
    code, said = start([crossrail, "trace", str(parts), str(file)])
    assert code == 0 and f"The trace of {RANKS} ranks" in said, said
    check_calls(json.loads(file.read_text()), 0)


def main(crossrail, program):
    for check in (check_whole, check_nodes, check_threads, check_few, check_killed, check_stopped, check_refused, check_by_environment):
        with tempfile.TemporaryDirectory(prefix="crossrail_test.") as folder:
            print(f"== {check.__name__}", flush=True)
            check(crossrail, program, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
