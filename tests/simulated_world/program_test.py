"""program_test.py PROGRAM: the program that simulates takes a job and says in one sentence what is wrong with one."""
import json
import subprocess
import sys
from pathlib import Path

KEYS = [line.split('"')[1] for line in (Path(__file__).parents[2] / "simulated_world/machine.def").read_text().splitlines() if line.startswith("VALUE")]
MACHINE = "".join(f"machine.{key} {0 if key.startswith(('transport.kind', 'network.shared')) else 100}\n" for key in KEYS)
JOB = "nodes 2\nranks_per_node 3\ncollective alltoall\nalgorithm pairwise\nbytes 8\n"
BAD = {
    "": "are needed",
    JOB: "memory.core_bandwidth is missing",
    JOB + MACHINE + "nodes 0\n": "nodes '0' is no whole number",
    JOB + MACHINE + "bytes -8\n": "bytes '-8' is no whole number",
    JOB + MACHINE + "bytes 8k\n": "bytes '8k' is no whole number",
    JOB + MACHINE + "algorithm quick\n": "there is no algorithm 'quick' of alltoall",
    JOB + MACHINE + "collective scan\n": "the collective 'scan' cannot be simulated",
    JOB + MACHINE + "collective allreduce\nalgorithm ring\nbytes 7\n": "there is no algorithm 'pairwise' of allreduce",
    JOB + MACHINE + "placement nowhere\n": "the placement 'nowhere' is none of",
    JOB + MACHINE + "machine.speed 3\n": "'machine.speed 3' is no value of a machine",
    JOB + MACHINE + "machine.memory.copy fast\n": "'machine.memory.copy fast' is no value",
    JOB + MACHINE + "machine.adapters.count 0\n": "adapters.count must be at least 1",
    JOB + MACHINE + "machine.transport.kind 7\n": "transport.kind must be",
    JOB + MACHINE + "setting CROSSRAIL_SPEED=1\n": "the setting 'CROSSRAIL_SPEED=1' is unknown",
    JOB + MACHINE + "tuning /nowhere/table.csv\n": "/nowhere/table.csv is not there",
    JOB + MACHINE + "late 6 10\n": "the late rank does not exist",
    JOB + MACHINE + "choice peer 64\n": "choice 'peer 64' is no name, size and algorithm",
    JOB + MACHINE + "choice peer 64 quick\n": "there is no algorithm 'quick' of alltoall",
    JOB + MACHINE + "speed 3\n": "the key 'speed' is unknown",
    JOB + MACHINE + "nodes 70000\n": "more than 16384 ranks cannot be simulated",
}


def run(text):
    return subprocess.run([sys.argv[1]], input=text, capture_output=True, text=True, check=False, timeout=60)


def main():
    wrong = []
    for text, sentence in BAD.items():
        ran = run(text)
        if ran.returncode != 2 or sentence not in ran.stderr or ran.stderr.count("\n") != 1 or ran.stdout:
            wrong.append(f"expected '{sentence}', got status {ran.returncode}: {ran.stderr}{ran.stdout}")
    for placement in ("blocks", "cyclic", "random 7"):
        ran = run(JOB + MACHINE + f"placement {placement}\nlate 2 5\n")
        lines = [json.loads(line) for line in ran.stdout.splitlines()]
        if ran.returncode != 0 or len(lines) != 2 or not lines[0]["checked"] or lines[1] != {"progress": 1}:
            wrong.append(f"placement {placement}: status {ran.returncode}: {ran.stdout}{ran.stderr}")
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
