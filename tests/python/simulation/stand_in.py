"""A program in place of crossrail_simulate: it writes down what it was asked, and answers with made-up times.

The names of algorithms tell what else it does: 'unfit' does not fit, 'broken' answers nonsense, 'wrong' has wrong data, 'refused' is refused from 4
nodes on, 'killed' ends by a signal, and 'slow' waits after its first answer.
"""

import json
import os
import signal
import sys
import time


def answer(**words):
    """Writes a line."""
    print(json.dumps(words), flush=True)


def result(name, size, asked):
    """Writes what an algorithm takes: the more nodes the longer, datagrams a half of it, and twice as much with a slow cache."""
    nodes, kind, miss = (float(asked[key][0]) for key in ("nodes", "machine.transport.kind", "machine.adapters.miss"))
    slow = {"auto": 1.0, "bruck": 4.0}.get(name, 2.0) * (0.5 if kind == 1 else 1.0) * (2.0 if miss > 100 else 1.0)
    answer(algorithm=name, chosen=asked.get("chosen", "matrix" if name == "auto" else name.split()[0]), bytes=size, time_us=slow * nodes * (10 + size / 8), first_us=900.0,
           checked=size <= int(asked["check_up_to"][0]), sends=nodes - 1, queue_pairs=nodes - 1, sent_bytes=25088, staged_bytes=3211264,
           node_bytes=3261440, missed=int(miss), rank_bytes=204800, messages=16256, wall_s=3.2)


def act(name, size, asked):
    """Does what the name of an algorithm says."""
    if name == "unfit":
        answer(algorithm=name, bytes=size, error="it needs more node memory than CROSSRAIL_SCRATCH allows")
    elif name == "broken":
        print('{"algorithm": 3}', flush=True)
    elif name == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    elif name == "refused" and int(asked["nodes"][0]) >= 4:
        sys.exit(refuse())
    else:
        result(name, size, asked)
    if name == "slow":
        time.sleep(60)


def refuse():
    """Says why, and returns the exit code."""
    print("crossrail_simulate: there is no memory for so many ranks", file=sys.stderr)
    return 2


def main():
    """Reads the job and answers."""
    asked = {}
    for line in sys.stdin:
        key, _, value = line.rstrip("\n").partition(" ")
        asked.setdefault(key, []).append(value)
    with open(os.environ["STAND_IN_LOG"], "a") as log:
        log.write(json.dumps(asked) + "\n")
    answer(progress=0.25)
    choices = [choice.split(" ", 2) for choice in asked.get("choice", [])]
    for size in map(int, asked["bytes"]):
        for name in asked.get("algorithm", []):
            act(name, size, asked)
        for name in dict.fromkeys(choice[0] for choice in choices):
            taken = [algorithm for one, up_to, algorithm in choices if one == name and (up_to == "*" or size <= int(up_to))]
            if taken:
                result(name, size, {**asked, "chosen": taken[0].split()[0]})
    if "wrong" in asked.get("algorithm", []):
        print("crossrail_simulate: rank 3 has wrong data from rank 1", file=sys.stderr)
        return 1
    answer(progress=1.0)
    return 0


if __name__ == "__main__":
    sys.exit(main())
