"""mpirun and its relatives: which one belongs to a flavour, and the command line that starts the ranks."""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Dict, List, Optional

from crossrail.errors import CliError

NAMES = {
    "openmpi": ("mpirun", "mpirun.openmpi", "mpiexec", "mpiexec.openmpi"),
    "hydra": ("mpirun", "mpiexec.hydra", "mpirun.mpich", "mpiexec", "mpiexec.mpich"),
}
FAMILY_OF_FLAVOUR = {"openmpi": ("openmpi",), "mpich": ("hydra",), "abi": ("hydra", "openmpi")}
MOST_RANKS = (1 << 31) - 1  # MPI counts them in an int
PLACEMENT = ("--oversubscribe", "-oversubscribe", "--map-by", "-map-by", "--hostfile", "-hostfile", "--host", "-host", "-H")


@dataclass
class Launcher:
    """A launcher's path and its family: openmpi, hydra or srun."""

    path: str
    family: str


@dataclass
class Job:
    """What to start: `ranks` None leaves the number to the launcher; `environment` is set in the ranks only; `flavour` of MPI, where it matters."""

    launcher: Launcher
    ranks: Optional[int]
    program: List[str]
    launcher_words: List[str] = field(default_factory=list)
    environment: Dict[str, str] = field(default_factory=dict)
    flavour: str = ""


def family_from_version(text: str) -> Optional[str]:
    """The family that `LAUNCHER --version` tells: 'mpirun (Open MPI) 4.1.4' -> openmpi."""
    if "Open MPI" in text or "OpenRTE" in text or "prte" in text.lower():
        return "openmpi"
    if "HYDRA" in text or "Intel(R) MPI" in text or "MPICH" in text or "MVAPICH" in text:
        return "hydra"
    return "srun" if re.match(r"slurm", text, re.IGNORECASE) else None


def recognise(path: str) -> Optional[Launcher]:
    """The launcher at `path`, or None when it does not say who it is."""
    try:
        done = subprocess.run([path, "--version"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    family = family_from_version(done.stdout.decode(errors="replace"))
    return Launcher(path, family) if family else None


def folders_beside(library: Optional[str]) -> List[str]:
    """The bin folders of the installation an MPI library belongs to: /opt/mpi/lib/libmpi.so.40 -> /opt/mpi/bin."""
    if not library:
        return []
    folder = Path(library).resolve().parent
    return [str(parent / "bin") for parent in (folder, *list(folder.parents)[:2]) if (parent / "bin").is_dir()]


def find_launcher(flavour: str, library: Optional[str] = None) -> Launcher:
    """The launcher of `flavour`: next to `library` first, then on PATH. Raises CliError when there is none."""
    for family in FAMILY_OF_FLAVOUR[flavour]:
        for search in [*folders_beside(library), None]:
            for name in NAMES[family]:
                path = shutil.which(name, path=search)
                launcher = recognise(path) if path else None
                if launcher and launcher.family == family:
                    return launcher
    raise CliError(f"No mpirun of the flavour {flavour} is found on PATH; name one with --launcher PATH.")


def named_launcher(name: str) -> Launcher:
    """The launcher a user named (path or name on PATH); raises CliError when it is none."""
    path = shutil.which(name)
    if not path:
        raise CliError(f"The launcher '{name}' is not found.")
    launcher = recognise(path)
    if not launcher:
        raise CliError(f"'{path} --version' names neither Open MPI nor MPICH's Hydra, Intel MPI or Slurm.")
    return launcher


def absent_launcher(name: Optional[str], flavour: str) -> Launcher:
    """For a command that is shown only: the launcher of this name as it will be elsewhere, `mpirun` where there is no name."""
    name = name or "mpirun"
    base = os.path.basename(name)
    if base == "srun":
        return Launcher(name, "srun")
    hydra = base.endswith((".hydra", ".mpich"))
    return Launcher(name, "hydra" if hydra else "openmpi" if base.endswith(".openmpi") else FAMILY_OF_FLAVOUR[flavour][0])


def check_launcher(launcher: Launcher, flavour: str, reason: str) -> None:
    """Raises CliError for a launcher that belongs to another MPI: it would start every rank as a job of its own."""
    if {flavour, launcher.family} in ({"openmpi", "hydra"}, {"mpich", "openmpi"}):
        raise CliError(f"'{launcher.path}' cannot start a program of the flavour {flavour} ({reason}).")


def flavour_on_path() -> Optional[str]:
    """The flavour of the `mpirun` on PATH, or None."""
    path = shutil.which("mpirun") or shutil.which("mpiexec")
    launcher = recognise(path) if path else None
    return {"openmpi": "openmpi", "hydra": "mpich"}.get(launcher.family) if launcher else None


def core_count() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0))


def own_settings() -> Dict[str, str]:
    """The CROSSRAIL_ variables of this environment, which ranks on other nodes need as well."""
    return {name: value for name, value in os.environ.items() if name.startswith("CROSSRAIL") and name != "CROSSRAIL_LIBRARY_DIR"}


def preload_value(library: Path) -> str:
    """LD_PRELOAD with crossrail last: sanitizers and the user's own tools have to come first."""
    before = os.environ.get("LD_PRELOAD", "").strip()
    return f"{before}:{library}" if before else str(library)


def openmpi_words(job: Job) -> List[str]:
    """Open MPI's options: ranks, root, oversubscription, environment of the ranks."""
    words = [] if job.ranks is None else ["-n", str(job.ranks)]
    if os.geteuid() == 0 and "--allow-run-as-root" not in job.launcher_words:
        words.append("--allow-run-as-root")
    placed = any(word in PLACEMENT for word in job.launcher_words)
    if job.ranks is not None and job.ranks > core_count() and not placed:
        words.append("--oversubscribe")
    for name, value in job.environment.items():
        words += ["-x", f"{name}={value}"]
    return words


def hydra_words(job: Job) -> List[str]:
    """The options of MPICH's Hydra and of Intel MPI."""
    words = [] if job.ranks is None else ["-n", str(job.ranks)]
    for name, value in job.environment.items():
        words += ["-genv", name, value]
    return words


def srun_words(job: Job) -> List[str]:
    """Slurm's options. Raises CliError where a value has a comma, which srun takes for the next variable."""
    words = [] if job.ranks is None else ["-n", str(job.ranks)]
    # --export=ALL passes on what is exported here already.
    wanted = {name: value for name, value in job.environment.items() if os.environ.get(name) != value}
    for name, value in wanted.items():
        if "," in value:
            raise CliError(f"srun cannot pass {name}={value}: it has a comma. Export it before 'crossrail run'.")
    exports = [f"{name}={value}" for name, value in wanted.items()]
    return words + (["--export=" + ",".join(["ALL", *exports])] if job.environment else [])


def command_line(job: Job) -> List[str]:
    """The words that start the job. LD_PRELOAD is set for the ranks only, never for the launcher."""
    words_of = {"openmpi": openmpi_words, "hydra": hydra_words, "srun": srun_words}[job.launcher.family]
    return [job.launcher.path, *words_of(job), *job.launcher_words, *job.program]
