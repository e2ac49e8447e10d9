#!/usr/bin/env python3
"""A real Slurm of two nodes, which are hosts on this machine: what `crossrail run` and `bench` do in its jobs.

    slurm.py --mpi openmpi4 ...

Exit status: 0 as expected, 1 not, 77 cannot be tried here.
"""
import argparse
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

from clusters import Cluster, TREE, add_places, launcher_environment, skip, usable_mpi

DAEMONS = ("munged", "slurmctld", "slurmd")
COMMANDS = ("srun", "sbatch", "sinfo")
CONFIGURATION = """ClusterName=test
SlurmctldHost={names[0]}({addresses[0]})
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmdPidFile={folder}/%n.pid
SlurmctldPidFile={folder}/controller.pid
SlurmctldLogFile={folder}/controller.log
SlurmdLogFile={folder}/%n.log
TmpFS={folder}/tmp.%n
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SwitchType=switch/none
{nodes}
PartitionName=all Nodes=ALL Default=YES MaxTime=10 State=UP OverSubscribe=YES
"""
# This is the shell of a job's first node. Its /tmp is no other node's, as /tmp is on real ones.
JOB = """#!/bin/sh
cd "$FOLDER/work" || exit
say() { echo "== $1"; shift; timeout 100 "$@"; echo "exit $?"; }
say srun "$COMMAND_LINE" run --launcher srun --mpi=pmix --report -- "$PROGRAMS/hosts" 2,2
say launcher "$COMMAND_LINE" run --launcher "$LAUNCHER" -n 4 --report -- "$PROGRAMS/hosts" 2,2
export CROSSRAIL_LOG=1
CROSSRAIL_ALLTOALL="pairwise processes=2"
say helpers_srun "$COMMAND_LINE" run --launcher srun --mpi=pmix -n 4 --helpers-per-gpu 1 -- "$PROGRAMS/long_messages" 7 12
say helpers_launcher "$COMMAND_LINE" run --launcher "$LAUNCHER" -n 4 --helpers-per-gpu 1 -- "$PROGRAMS/long_messages" 7 12
unset CROSSRAIL_LOG
CROSSRAIL_ALLTOALL=pairwise
say bench "$COMMAND_LINE" bench alltoall --mpi "$FLAVOUR" --launcher srun -n 4 --min 64 --max 128 --max-time 10 -- --mpi=pmix
say by_hand srun --mpi=pmix --export=ALL,LD_PRELOAD="$LIBRARY" "$PROGRAMS/hosts" 2,2
say left_behind find . -mindepth 1
echo "== end"
"""
# The rank and its helper process share every message of a plan that says so, from 128 KiB on; the program looks at all that has come.
HELPED = [("PASS", 4), ("helper processes: 1 a rank", 2), ("318732-byte blocks, 4 ranks on 2 nodes (2+2): pairwise, 2 processes a rank", 1)]
# Each part has to say this, at least so often.
EXPECTED = {
    "srun": [("PASS", 4), ("4 processes on 2 hosts", 1), ("pairwise", 1)],
    "launcher": [("PASS", 4), ("4 processes on 2 hosts", 1), ("pairwise", 1)],
    "helpers_srun": HELPED,
    "helpers_launcher": HELPED,
    "bench": [("4 ranks on 2 nodes", 1), ("Every byte received was checked and right", 1)],
    "by_hand": [("PASS", 4)],
    "left_behind": [],
}


def control_groups():
    """The plugin that slurmd loads in any case, and may not find by itself."""
    kind = "v2" if Path("/sys/fs/cgroup/cgroup.controllers").exists() else "v1"
    return f"CgroupPlugin=cgroup/{kind}\n" + ("IgnoreSystemd=yes\n" if kind == "v2" else "")


@contextmanager
def running(words, environment):
    """A daemon in the foreground, ended afterwards."""
    process = subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def configure(cluster, folder):
    """Writes Slurm's files; returns the environment in which its commands find them."""
    for part in ("state", "work", "spool", *(f"tmp.{host.name}" for host in cluster.hosts)):
        (folder / part).mkdir()
    nodes = "\n".join(f"NodeName={host.name} NodeAddr={host.address} CPUs=2 State=UNKNOWN" for host in cluster.hosts)
    places = {"names": [host.name for host in cluster.hosts], "addresses": [host.address for host in cluster.hosts]}
    (folder / "slurm.conf").write_text(CONFIGURATION.format(folder=folder, nodes=nodes, **places))
    (folder / "cgroup.conf").write_text(control_groups())
    key = folder / "munge.key"
    key.write_bytes(secrets.token_bytes(128))
    key.chmod(0o400)
    return {**os.environ, "SLURM_CONF": str(folder / "slurm.conf"), "PATH": f"/usr/sbin:/usr/bin:{os.environ['PATH']}"}


def start(stack, cluster, folder, environment):
    """All daemons; returns whether the nodes came up and run jobs."""
    files = {"socket": "munge.socket", "key-file": "munge.key", "pid-file": "munge.pid", "seed-file": "munge.seed", "log-file": "munge.log"}
    stack.enter_context(running(["munged", "--foreground", "--force", *(f"--{what}={folder / name}" for what, name in files.items())], environment))
    # Each host has files of its own: what daemons keep, and /tmp, unless the tree lies there.
    inside = f"mount -t tmpfs tmpfs {folder}/spool; " + ("" if str(TREE).startswith("/tmp/") else "mount -t tmpfs tmpfs /tmp; ")
    for number, host in enumerate(cluster.hosts):
        if number == 0:
            stack.enter_context(running([*cluster.entering(host), "slurmctld", "-D"], environment))
        daemon = [*cluster.entering(host), "sh", "-c", f'{inside}exec slurmd -D -N "$0"', host.name]
        stack.enter_context(running(daemon, environment))
    until = time.monotonic() + 30
    while time.monotonic() < until:
        seen = subprocess.run([*cluster.entering(cluster.hosts[0]), "sinfo", "-h", "-t", "idle", "-o", "%D"], env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, check=False)
        if seen.stdout.strip() == str(len(cluster.hosts)):
            return runs_jobs(cluster, environment)
        time.sleep(0.3)
    return False


def runs_jobs(cluster, environment):
    """Whether this Slurm works at all, which is no matter of crossrail's."""
    words = [*cluster.entering(cluster.hosts[0]), "srun", "--mpi=pmix", "-N", str(len(cluster.hosts)), "true"]
    try:
        return subprocess.run(words, env=environment, timeout=60, check=False).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def say_logs(folder):
    """The ends of the daemons' logs, for who has to find out."""
    for log in sorted(folder.glob("*.log")):
        print(f"-- {log.name}", *log.read_text(errors="replace").splitlines()[-8:], sep="\n")


def run_job(options, mpi, cluster, folder, environment):
    """What the job has printed, by parts."""
    job = folder / "job.sh"
    job.write_text(JOB)
    inside = {**environment, **launcher_environment(mpi, several_hosts=True), "FOLDER": str(folder), "COMMAND_LINE": str(TREE / "crossrail"), "LAUNCHER": mpi.launcher,
              "PROGRAMS": str(Path(options.programs).resolve() / mpi.build), "FLAVOUR": mpi.flavour, "CROSSRAIL_LIBRARY_DIR": options.libraries,
              "LIBRARY": str(Path(options.libraries) / f"libcrossrail_mpi_{mpi.flavour}.so"), "CROSSRAIL_ALLTOALL": "pairwise",
              "CROSSRAIL_OPEN_AFTER": "0", "COLUMNS": "200"}
    output = folder / "job.out"
    words = [*cluster.entering(cluster.hosts[0]), "sbatch", "-N", "2", "--ntasks-per-node=2", "-o", str(output), str(job)]
    subprocess.run(words, env=inside, timeout=60, check=True)
    until, said = time.monotonic() + options.within, ""
    while "== end" not in said and time.monotonic() < until:  # sbatch --wait asks seldom.
        time.sleep(0.2)
        said = output.read_text(errors="replace") if output.exists() else ""
    print(said)
    parts = [part.partition("\n") for part in said.split("== ")[1:]]
    return {name: text for name, _, text in parts}


def complaints(parts):
    """What is not as expected."""
    found = []
    for name, texts in EXPECTED.items():
        said = parts.get(name, "")
        if "exit 0" not in said:
            found.append(f"{name}: it did not end well")
        found += [f"{name}: '{text}' was said {said.count(text)} times, not {least}" for text, least in texts if said.count(text) < least]
    if parts.get("left_behind", "").strip() != "exit 0":
        found.append(f"left behind in the current folder: {parts.get('left_behind')}")
    if "end" not in parts:
        found.append("the job has not ended")
    return found


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    add_places(parser)
    parser.add_argument("--within", type=float, default=300, help="seconds after which the job has failed")
    options = parser.parse_args(argv)
    mpi = usable_mpi(options)
    missing = [name for name in (*DAEMONS, *COMMANDS) if not shutil.which(name, path=f"/usr/sbin:{os.environ['PATH']}")]
    if missing:
        skip(f"{', '.join(missing)} are not installed (Debian: slurmctld slurmd slurm-client munge)")
    folder = Path(tempfile.mkdtemp(prefix="slurm.", dir="/var/tmp"))  # Names of sockets are short.
    try:
        with Cluster([2, 2]) as cluster, ExitStack() as stack:
            environment = configure(cluster, folder)
            if not start(stack, cluster, folder, environment):
                say_logs(folder)
                skip(f"Slurm does not work on {socket.gethostname()}: see the logs above")
            found = complaints(run_job(options, mpi, cluster, folder, environment))
            if found:
                say_logs(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    for complaint in found:
        print("FAILED:", complaint)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
