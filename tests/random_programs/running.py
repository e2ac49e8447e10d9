"""Programs run under an MPI, with crossrail and without, and what came of it."""
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "mpi"))
import judge  # noqa: E402
from mpis import all_mpis, launcher_environment  # noqa: E402

from text import program_text  # noqa: E402

# The MPI libraries themselves do this wrong with legal programs, which are made without it. types_of_unequal_sizes:
# MPI_Allgatherv chooses by the size of this rank's own datatype how blocks travel, and ranks that choose differently
# wait for ever. own_block_alone: in MPI_Gather and MPI_Scatter a rank receives the blocks of others by the type of its
# own, which therefore must have room for them between its elements. gaps_in_trees: in both calls blocks are passed on
# as bytes, of which a part that ends within an element with gaps is not unpacked (over UCX). allgatherv_alone:
# displacements of MPI_Allgatherv are ignored where there is one rank. persistent_gather: copies are made when the
# request is, not at its starts. typed_between_groups: the counts of MPI_Scatterv and MPI_Gatherv are taken for those of
# the other group's type, too. communicators_of_threads: threads that make some at the same time wait for each other,
# since of those under way on a rank the one of the oldest parent goes first, and ranks differ in what is under way; the
# one that crossrail makes for messages counts, too.
AVOIDED = {
    "openmpi4": {"displacements_alone", "freed_types", "in_place", "freed_communicator", "typed_between_groups", "gather_between_groups",
                 "typed_on_grids", "complex", "put_of_some", "communicators_of_threads", "types_of_unequal_sizes", "own_block_alone"},
    "openmpi5": {"displacements_alone", "freed_types", "in_place", "freed_communicator", "typed_between_groups",
                 "gather_between_groups", "complex", "communicators_of_threads", "types_of_unequal_sizes", "own_block_alone"},
    # Its progress cannot be hooked, so nobody would bring back what persistent calls got copies of.
    "mpich4": {"typed_in_place", "in_place", "inactive", "put", "group", "gather_between_groups", "persistent_gather", "persistent_on_devices",
               "gaps_in_trees", "allgatherv_alone"},
    # crossrail does this wrong: at MPI_THREAD_MULTIPLE, MPICH 5 frees such a communicator's record while it holds its
    # lock. A persistent call over messages may wait for ever for one that was sent (its first start, then MPI_Waitall).
    "mpich5": {"inactive", "gather_between_groups"},
}


# They do these reductions wrong, unless numbers are small: 8 and 16 bits are added up to the largest and no further
# (Open MPI, with AVX), unsigned numbers are compared as signed ones. tests/mpi/reduction_types.c finds that out by
# MPI_Reduce_local.
SHORT = "SIGNED_CHAR SHORT UNSIGNED_CHAR UNSIGNED_SHORT INT8_T INT16_T UINT8_T UINT16_T INTEGER1 INTEGER2"
UNSIGNED = "UNSIGNED_CHAR UNSIGNED_SHORT UNSIGNED UNSIGNED_LONG UNSIGNED_LONG_LONG UINT8_T UINT16_T UINT32_T UINT64_T"
WITH_SMALL_NUMBERS = {"openmpi4": {"sum": SHORT, "minimum": "UNSIGNED_LONG OFFSET", "maximum": "UNSIGNED_LONG OFFSET"},
                      "openmpi5": {"sum": SHORT, "minimum": "OFFSET", "maximum": "OFFSET"},
                      "mpich4": {"minimum": UNSIGNED, "maximum": UNSIGNED}}
for its_mpi, operations in WITH_SMALL_NUMBERS.items():
    AVOIDED[its_mpi] |= {f"{operation} of {name}" for operation, names in operations.items() for name in names.split()}


@dataclass
class Outcome:
    text: str
    right: bool
    program: int = -1  # It is the seed of the one that went wrong.
    kind: str = ""  # It is wrong, hang, crash or error.
    carried: dict = field(default_factory=dict)  # They count calls, by name.
    native: dict = field(default_factory=dict)
    algorithms: dict = field(default_factory=dict)


class Runner:
    """An MPI, and where its parts are."""

    def __init__(self, options):
        build = Path(options.build)
        self.mpi = all_mpis(options.wheels or build / "wheels")[options.mpi]
        self.libraries, self.programs = build, build / "tests/mpi/programs"
        self.interpreter = self.programs / self.mpi.build / "random_programs"
        self.seconds, self.avoided = options.seconds, AVOIDED.get(options.mpi, set())
        self.driver = {"none": None, "gpu": "libcuda.so.1"}.get(options.devices, self.programs / "host_device/libcuda.so.1")
        if options.devices == "simulated":
            self.libraries = self.driver.parent

    def absent(self):
        if self.mpi.absent():
            return self.mpi.absent()
        if not self.interpreter.exists():
            return f"{self.interpreter} is not built"
        if not (self.libraries / f"libcrossrail_mpi_{self.mpi.flavour}.so").exists():
            return f"{self.libraries} has no library of crossrail for {self.mpi.name}"
        return None

    def _preloads(self, carried):
        found = [] if self.mpi.yields else [str(self.programs / "yield.so")]
        if carried:
            found.append(str(self.libraries / f"libcrossrail_mpi_{self.mpi.flavour}.so"))
        return found

    def _command(self, words, ranks, carried, report):
        settings = [f"CROSSRAIL_REPORT={report}"] if carried else []
        if self._preloads(carried):
            settings.append("LD_PRELOAD=" + ":".join(self._preloads(carried)))
        return [self.mpi.launcher, *self.mpi.launcher_args, "-n", str(ranks), "env", *settings, *words]

    def run_words(self, words, ranks, carried, limit):
        """Any program; (text, exit status or None, reports)."""
        with tempfile.TemporaryDirectory(prefix="crossrail_random.") as folder:
            job = subprocess.Popen(self._command(words, ranks, carried, folder), env=launcher_environment(self.mpi), text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, errors="replace",
                                   start_new_session=True)
            status = None
            try:
                text, _ = job.communicate(timeout=limit)
                status = job.returncode
            except subprocess.TimeoutExpired:
                judge.end_job(job.pid)
                text, _ = job.communicate()
            return text, status, judge.read_reports(folder)

    def _options(self, job):
        """Of the interpreter. Without crossrail there are no devices: what lies there lies on the heap."""
        found = ["careful"] if "inactive" in self.avoided else []
        if job is not None:
            found.append(f"driver={self.driver}")
            if job["without"] >= 0:
                found.append(f"driverless={job['without']}")
        return found

    def run(self, programs, level, carried=True, seconds=None):
        """Programs of one number of ranks, one after the other."""
        ranks = programs[0]["ranks"]
        seconds = seconds or self.seconds
        job = programs[0].get("devices") if carried and self.driver else None
        settings = [f"HOST_DEVICE_SHARED={job['shared']}", f"HOST_DEVICE_CONCURRENT={programs[0]['seed'] % 2}"] if job else []
        with tempfile.NamedTemporaryFile("w", prefix="crossrail_programs.", delete=False) as file:
            file.write("".join(program_text(program) for program in programs))
        try:
            words = [*settings, str(self.interpreter), file.name, level, str(seconds), *self._options(job)]
            text, status, reports = self.run_words(words, ranks, carried, seconds + 10 + 3 * len(programs))
        finally:
            os.unlink(file.name)
        return judged(text, status, reports, ranks)


def judged(text, status, reports, ranks):
    if status == 0 and len(re.findall("PASS", text)) == ranks:
        return Outcome(text, True, carried=_counted(reports, "carried"), native=_counted(reports, "native"), algorithms=_by_algorithm(reports))
    kind = "error"
    if status is None or re.search(r"^HANG", text, re.M):
        kind = "hang"
    if re.search(r"[Ss]egmentation|signal 11|signal 6|signal 7|Bus error|exit signal|SIGSEGV|EXIT CODE: (?:139|11)\b", text):
        kind = "crash"
    if "WRONG" in text:
        kind = "wrong"
    began = re.findall(r"^BEGIN (\d+)", text, re.M)
    found = re.findall(r"FOUND (\d+)", text)
    return Outcome(text, False, int((found or began or ["-1"])[-1]), kind)


def _counted(reports, what):
    total = {}
    for report in reports:
        for call in report["calls"]:
            total[call["name"]] = total.get(call["name"], 0) + call[what]
    return total


def _by_algorithm(reports):
    total = {}
    for call in (call for report in reports for call in report["calls"]):
        for name, count in call["algorithms"].items():
            total[name] = total.get(name, 0) + count
    return total
