"""The demo's job: a real program, run without and with crossrail, its printed results compared.

The job is Quantum ESPRESSO's pw.x on eight silicon atoms; where there is none, examples/transpose.c.
"""

import os
import re
import shutil
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Dict, List, Optional

from crossrail.errors import CliError
from crossrail.flavours import find_flavour
from crossrail.job_folder import job_folder
from crossrail.launchers import Job, command_line, find_launcher, own_settings, preload_value
from crossrail.places import data_folder, preload_library
from crossrail.report.call_reports import JobReport, read_folder
from crossrail.supervise import Interruptions, supervise

PSEUDOPOTENTIAL = "Si.pz-vbc.UPF"
ENERGY = re.compile(r"^!?\s+total energy\s+=.*Ry", re.MULTILINE)
SCATTER = re.compile(r"^\s+fft_scatt\w*\s*:.*?([\d.]+)s WALL", re.MULTILINE)
SPECTRUM = re.compile(r"^round .*|^right: .*", re.MULTILINE)


@dataclass
class Subject:
    """The program shown: what it is called, its words, its environment, and what of its output must agree."""

    title: str
    words: List[str]
    results: re.Pattern
    environment: Dict[str, str] = field(default_factory=dict)
    exchange: Optional[re.Pattern] = None  # lines of its own clock for the exchange, in seconds
    power_of_two: bool = False  # runs on 2, 4, 8, ... ranks only


@dataclass
class Outcome:
    """One run: exit code, wall time, the lines that must agree, the program's own clock, the report (if carried)."""

    code: int
    wall_s: float
    results: List[str]
    exchange_s: Optional[float]
    printed: str
    report: Optional[JobReport] = None


def pseudopotential_folder(program: str) -> Optional[str]:
    """Where the pseudopotential is: ESPRESSO_PSEUDO, or share/espresso/pseudo beside the program; None if nowhere."""
    prefix = Path(program).resolve().parent.parent
    for folder in (os.environ.get("ESPRESSO_PSEUDO", ""), prefix / "share/espresso/pseudo", "/usr/share/espresso/pseudo"):
        if folder and (Path(folder) / PSEUDOPOTENTIAL).is_file():
            return str(folder)
    return None


def espresso() -> Optional[Subject]:
    """pw.x with the silicon input, or None when it, its MPI, its input or the pseudopotential is missing."""
    program = shutil.which("pw.x")
    data = data_folder()
    pseudo = pseudopotential_folder(program) if program else None
    if not (program and data and pseudo and find_flavour(program)):
        return None
    environment = {"ESPRESSO_PSEUDO": pseudo, "OMP_NUM_THREADS": "1"}
    words = [program, "-in", str(data / "examples/quantum_espresso/silicon.in")]
    return Subject("Quantum ESPRESSO pw.x, 8 silicon atoms", words, ENERGY, environment, SCATTER)


def transposition(folder: Path) -> Subject:
    """examples/transpose.c, compiled into `folder`; raises CliError when there is no mpicc or it fails."""
    data, compiler = data_folder(), shutil.which("mpicc")
    if not (data and compiler):
        raise CliError("The demo needs either pw.x (apt install quantum-espresso quantum-espresso-data) or mpicc.")
    program = folder / "transpose"
    done = subprocess.run([compiler, "-O2", str(data / "examples/transpose.c"), "-o", str(program), "-lm"], check=False)
    if done.returncode:
        raise CliError("examples/transpose.c does not compile; see above.")
    return Subject("examples/transpose.c, a distributed 2-D Fourier transform", [str(program)], SPECTRUM, power_of_two=True)


def seconds_of(pattern: Optional[re.Pattern], text: str) -> Optional[float]:
    """The sum of the seconds a pattern finds, None without a match."""
    found = pattern.findall(text) if pattern else []
    return sum(float(seconds) for seconds in found) if found else None


def play(subject: Subject, ranks: int, carried: bool) -> Outcome:
    """Runs the subject once; with `carried`, crossrail is preloaded, counts the calls and records them. Raises CliError if it cannot start, KeyboardInterrupt if the user stops it."""
    found = find_flavour(subject.words[0])
    if not found:
        raise CliError(f"'{subject.words[0]}' loads no MPI library.")
    launcher = find_launcher(found.flavour, found.library)
    with job_folder(launcher, []) as folder:
        own = {}
        if carried:
            own = {**own_settings(), "LD_PRELOAD": preload_value(preload_library(found.flavour)), "CROSSRAIL_REPORT": str(folder),
                   "CROSSRAIL_RECORD": "1"}
        job = Job(launcher, ranks, subject.words, [], own)
        with open(folder / "printed", "w+", encoding="utf-8", errors="replace") as file:
            start = time.perf_counter()
            with Interruptions() as interruptions:
                code = supervise(command_line(job), {**subject.environment, "ESPRESSO_TMPDIR": str(folder / "scratch")}, file)
                interruptions.stop_if_any()
            wall_s = time.perf_counter() - start
            file.seek(0)
            printed = file.read()
        report = read_folder(folder) if carried else None
    return Outcome(code, wall_s, subject.results.findall(printed), seconds_of(subject.exchange, printed), printed, report)


def same_results(outcomes: List[Outcome]) -> bool:
    """Whether all runs ended well and printed the same results, at least one, to the last digit."""
    first = outcomes[0].results
    return bool(first) and all(outcome.code == 0 and outcome.results == first for outcome in outcomes)
