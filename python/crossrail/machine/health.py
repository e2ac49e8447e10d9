"""What `crossrail doctor` looks at. Every check returns findings: one line what is, one line what to do."""

import ctypes.util
import os
import shutil
import tempfile
from pathlib import Path
from typing import List, Optional

from crossrail import core
from crossrail.errors import CliError
from crossrail.launchers import core_count, recognise
from crossrail.machine import orphans
from crossrail.machine.finding import BROKEN, NOTE, OK, Finding
from crossrail.machine.gpu_health import check_gpus
from crossrail.machine.nccl_health import check_nccl
from crossrail.machine.neighbours import try_neighbours
from crossrail.places import FLAVOURS, built_flavours, how_to_get, library_folders
from crossrail.settings_text import set_words, wrong_words
from crossrail.sizes import format_size

WITH_MPI = "with the development files of that MPI at hand"
SMALL_SHM = 256 << 20


def check_libraries() -> List[Finding]:
    """The core library, and one to preload for at least one flavour."""
    try:
        findings = [Finding(OK, f"libcrossrail {core.version()} loads")]
    except CliError as error:
        findings = [Finding(BROKEN, str(error))]
    built = built_flavours()
    if built:
        findings.append(Finding(OK, f"built for: {', '.join(built)}"))
        missing = [flavour for flavour in FLAVOURS if flavour not in built]
        if missing:
            findings.append(Finding(NOTE, f"not built for: {', '.join(missing)}",
                                    f"Should you need it, {how_to_get(WITH_MPI)}."))
    else:
        findings.append(Finding(BROKEN, f"no library to preload in {library_folders()[0]}", f"To get one, {how_to_get(WITH_MPI)}."))
    return findings


def check_launchers() -> List[Finding]:
    """Which mpirun is on PATH, and whether its flavour is built."""
    findings = []
    for name in ("mpirun", "mpirun.openmpi", "mpiexec.hydra", "srun"):
        path = shutil.which(name)
        launcher = recognise(path) if path else None
        if not launcher:
            continue
        flavour = {"openmpi": "openmpi", "hydra": "mpich"}.get(launcher.family)
        if flavour and flavour not in built_flavours():
            findings.append(Finding(NOTE, f"{path} is of the flavour {flavour}, for which nothing is built",
                                    f"To use it, {how_to_get(WITH_MPI)}."))
        else:
            findings.append(Finding(OK, f"{path}: {flavour or launcher.family}"))
    return findings or [Finding(BROKEN, "no mpirun, mpiexec or srun on PATH", "Install Open MPI or MPICH, or load its module.")]


def check_shared_memory(folder: Path = Path("/dev/shm")) -> List[Finding]:
    """Size and writability of /dev/shm, which is only the second choice after memfd."""
    second = "crossrail itself prefers memfd, which needs no /dev/shm; the MPI library may need it."
    if not folder.is_dir():
        return [Finding(NOTE, f"{folder} is missing", second)]
    usage = shutil.disk_usage(folder)
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        return [Finding(NOTE, f"{folder} is not writable: {error.strerror}", second)]
    if usage.free < SMALL_SHM:
        return [Finding(NOTE, f"{folder} has only {format_size(usage.free)} free", f"In a container: --shm-size=1g. {second}")]
    return [Finding(OK, f"{folder}: {format_size(usage.free)} free")]


def check_orphans() -> List[Finding]:
    """Segments in /dev/shm whose job has ended."""
    found = orphans.find()
    if not found:
        return []
    size = format_size(sum(one.stat().st_size for one in found if one.exists()))
    return [Finding(NOTE, f"/dev/shm has {len(found)} file{'s' if len(found) > 1 else ''} of ended jobs ({size})", "'crossrail doctor --clean' removes them.")]


def remove_orphans() -> List[Finding]:
    """Removes them; a finding for each."""
    findings = []
    for path in orphans.find():
        try:
            path.unlink()
            findings.append(Finding(OK, f"removed {path}"))
        except OSError as error:
            findings.append(Finding(NOTE, f"{path} cannot be removed: {error.strerror}"))
    return findings


def yama_scope() -> Optional[str]:
    """/proc/sys/kernel/yama/ptrace_scope, None where the kernel has no Yama."""
    try:
        return Path("/proc/sys/kernel/yama/ptrace_scope").read_text().strip()
    except OSError:
        return None


def check_neighbours() -> List[Finding]:
    """Whether two processes can share a memfd and read each other's memory."""
    trial = try_neighbours()
    findings = []
    if trial.memfd:
        findings.append(Finding(NOTE, f"processes cannot open each other's memfd: {trial.memfd}",
                                "/proc is locked down; crossrail shares memory through /dev/shm instead."))
    else:
        findings.append(Finding(OK, "processes share memory through memfd and /proc"))
    scope = yama_scope()
    seen = "no Yama in this kernel" if scope is None else f"ptrace_scope {scope}"
    if trial.single_copy:
        advice = ("sysctl kernel.yama.ptrace_scope=0 allows it." if scope not in (None, "0")
                  else "In a container: --cap-add SYS_PTRACE, or a seccomp profile that allows it.")
        findings.append(Finding(NOTE, f"process_vm_readv between processes fails: {trial.single_copy} ({seen})",
                                f"Large blocks are then copied twice (node_shared). {advice}"))
    else:
        findings.append(Finding(OK, f"process_vm_readv works between processes ({seen})"))
    return findings


def quota_cores(text: str) -> Optional[float]:
    """Cores from a cgroup's cpu.max, '200000 100000' -> 2.0; None for 'max 100000'."""
    quota, _, period = text.strip().partition(" ")
    return None if quota == "max" or not period else int(quota) / int(period)


def check_cores() -> List[Finding]:
    """Cores this process may use against those of the machine and a container's quota."""
    usable, all_cores = core_count(), os.cpu_count() or 1
    findings = [Finding(OK, f"{usable} of {all_cores} processors usable")]
    try:
        quota = quota_cores(Path("/sys/fs/cgroup/cpu.max").read_text())
    except (OSError, ValueError):
        quota = None
    if quota is not None and quota < usable:
        findings.append(Finding(NOTE, f"a cgroup limits this to {quota:g} cores of time",
                                f"Use at most {max(1, int(quota))} ranks, or raise the container's limit."))
    return findings


def check_hwloc() -> List[Finding]:
    """Whether hwloc is there; only `info` needs it."""
    try:
        core.machine()
        return [Finding(OK, "hwloc sees the machine")]
    except CliError as error:
        installed = ctypes.util.find_library("hwloc")
        return [Finding(NOTE, str(error), "" if installed else "apt install libhwloc15; only 'crossrail info' needs it.")]


def check_preload() -> List[Finding]:
    """Whether the environment already preloads something."""
    findings = []
    before = os.environ.get("LD_PRELOAD")
    if before:
        findings.append(Finding(NOTE, f"LD_PRELOAD is already set: {before}", "crossrail is added after it; it reaches mpirun as well."))
    return findings


def check_settings() -> List[Finding]:
    """What environment and files set, from where, and what of it makes no sense."""
    if not not_broken():
        return []
    given = core.settings_given()
    findings = [Finding(OK, f"settings are read from {path}") for path in given["files"]]
    if set_words(given):
        findings.append(Finding(NOTE, f"settings: {', '.join(set_words(given))}", "'crossrail list --settings' explains them."))
    return findings + [Finding(BROKEN, sentence, "'crossrail list --settings' tells what there is.") for sentence in wrong_words(given)]


def not_broken() -> bool:
    """Whether the core library can be asked."""
    try:
        core.load()
        return True
    except CliError:
        return False


def examine() -> List[Finding]:
    """All checks, in the order they are read best."""
    checks = (check_libraries, check_launchers, check_shared_memory, check_orphans, check_neighbours, check_cores, check_hwloc, check_gpus, check_nccl, check_preload,
              check_settings)
    return [finding for check in checks for finding in check()]
