#!/usr/bin/env python3
"""How a cluster on this machine ends, and what it leaves behind: nothing, however it is ended.

    endings.py --mpi openmpi4 SCENARIO          a function of this file: interrupted, killed_leader, ...

Exit status: 0 as expected, 1 not, 77 cannot be tried here.
"""
import argparse
import re
import signal
import subprocess
import sys

from clusters import Cluster, Run, add_places, kill, network, usable_mpi

RANKS = r"rank (\d+) is process (\d+)\."
PAIRWISE = {"CROSSRAIL_ALLTOALL": "pairwise"}
WORDS = ["-H", "2", "-n", "4"]
# Open MPI notices a cut network by these within seconds; otherwise after minutes.
WATCHFUL = [word for name, value in (("time", 1), ("intvl", 1), ("probes", 2))
            for word in ("OPTION", f"oob_tcp_keepalive_{name}", str(value))]


def check(met, sentence):
    """A sentence for what is not met."""
    return [] if met else [sentence]


def endless(options, mpi, words=()):
    """A run in the middle of calls that would never end, and the processes of its ranks."""
    run = Run(options, mpi, [*WORDS, *words], ["endless", "20000"], PAIRWISE)
    ranks = {int(rank): int(process) for rank, process in run.until(RANKS, 4)}
    run.remember()
    return run, ranks


def killed_leader(options, mpi):
    """The lowest rank of the second host is killed in mid-call: the others end, and so does the job."""
    run, ranks = endless(options, mpi)
    starts = {process: network.start_of(process) for process in ranks.values()}
    kill(ranks[2])
    code = run.wait(30)
    alive = [process for process, start in starts.items() if network.start_of(process) == start]
    wrong = check(not alive, f"processes {alive} live")
    if code is None and mpi.by_prterun:
        print("prterun has not noticed that all ranks have ended, as happens now and then: it is ended")
        run.end()
    else:
        code = run.finish(100)
        wrong += check(code not in (None, 0), f"exit code {code}")
    return wrong + run.left_behind()


def terminated(options, mpi):
    """SIGTERM to crossrail ends the job and removes the cluster."""
    run, _ = endless(options, mpi)
    interfaces = [name for name in network.namespaces() if name in run.names]
    kill(run.job.pid, signal.SIGTERM)
    code = run.finish(60)
    return check(len(interfaces) == 3, f"namespaces {interfaces}") + check(code not in (None, 0), f"exit code {code}") + run.left_behind()


def interrupted(options, mpi):
    """So does Ctrl-C, which the terminal sends to all processes of its group."""
    run, _ = endless(options, mpi)
    subprocess.run(["kill", "-INT", "--", f"-{run.job.pid}"], check=True)
    code = run.finish(60)
    return check(code not in (None, 0), f"exit code {code}") + run.left_behind()


def cut(options, mpi):
    """The second host's cable is pulled in mid-call: Open MPI gives up and says so; MPICH waits on, and can be ended."""
    words = [word.replace("OPTION", "--prtemca" if mpi.by_prterun else "--mca") for word in WATCHFUL]
    run, _ = endless(options, mpi, words if mpi.is_openmpi else ())
    switch = next(name for name in run.names if name.endswith("switch"))
    subprocess.run(["ip", "-n", switch, "link", "set", "port2", "down"], check=True)
    if not mpi.is_openmpi:
        run.job.send_signal(signal.SIGTERM)
    code = run.finish(60)
    wrong = check(code is not None, "does not end")
    if mpi.is_openmpi:
        wrong += check("lost communication" in run.text, "nobody says that the network is lost")
    if not mpi.by_prterun:  # It returns 0 after a lost daemon.
        wrong += check(code != 0, "exit code 0")
    return wrong + run.left_behind()


def removed_later(options, mpi):
    """What a killed crossrail leaves is removed by the next one; a living cluster is left alone."""
    run, _ = endless(options, mpi)
    living, _ = endless(options, mpi)
    kill(run.job.pid)
    run.job.wait()
    wrong = check(len(run.names) == 3, f"a killed crossrail cannot clean up, but left {run.names}")
    with Cluster([1]):
        wrong += run.left_behind()
        wrong += check(len(living.names) == 3, f"a living cluster lost its hosts: {living.names}")
    kill(living.job.pid, signal.SIGTERM)
    living.finish(60)
    return wrong + living.left_behind()


def side_by_side(options, mpi):
    """Two clusters at the same time."""
    runs = [Run(options, mpi, WORDS, ["endless", "100", "300"], PAIRWISE) for _ in range(2)]
    codes = [run.finish(100) for run in runs]
    return check(codes == [0, 0], f"exit codes {codes}") + [line for run in runs for line in run.left_behind()]


def seconds(options, mpi, words):
    """How long a megabyte takes there and back."""
    run = Run(options, mpi, ["-H", "2", "-n", "2", "--native", *words], ["transfer", "2"])
    run.finish(100)
    found = re.search(r"took ([\d.]+) s", run.text)
    return float(found[1]) if found else -1.0


def bandwidth(options, mpi):
    """2 MiB each way, 34 million bits in all, need a third of a second at 100 mbit. A machine that is busy is slower, now and then."""
    limited = seconds(options, mpi, ["--bandwidth", "100mbit"])
    free = seconds(options, mpi, [])
    for _ in range(4):
        if 0 < free < 0.2:
            break
        free = seconds(options, mpi, [])
    return check(limited > 0.2, f"{limited} s at 100 mbit") + check(0 < free < 0.2, f"{free} s without a limit")


def exit_codes(options, mpi):
    """A bad option is a sentence with exit code 2; a program that does not exist one with 127, as a shell has it."""
    wrong = []
    for words, program, expected in ((["--per-host", "2,x"], "endless", 2), (["-H", "5", "-n", "4"], "endless", 2), (WORDS, "no_such_program", 127),
                                     ([*WORDS, "--bandwidth", "fast"], "endless", 2)):
        run = Run(options, mpi, words, [program, "1", "1"])
        code = run.finish(60)
        said = [line for line in run.text.splitlines() if line]
        wrong += check(code == expected and len(said) == 1 and said[0].startswith("crossrail: "), f"{words} {program}: {code}, {said}")
        wrong += run.left_behind()
    return wrong


SCENARIOS = (killed_leader, terminated, interrupted, cut, removed_later, side_by_side, bandwidth, exit_codes)


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    add_places(parser)
    parser.add_argument("scenario", choices=[one.__name__ for one in SCENARIOS])
    options = parser.parse_args(argv)
    mpi = usable_mpi(options)
    complaints = {one.__name__: one for one in SCENARIOS}[options.scenario](options, mpi)
    for complaint in complaints:
        print("FAILED:", complaint)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
