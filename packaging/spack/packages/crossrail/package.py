# SPDX-License-Identifier: BSD-3-Clause
"""spack repo add packaging/spack; spack install crossrail ^openmpi

Sources come from the clone of the repository in which this file lies.
"""

from pathlib import Path

from spack.package import *

try:
    from spack_repo.builtin.build_systems.cmake import CMakePackage
except ModuleNotFoundError:  # before Spack 1.0 it is one of spack.package
    pass


class Crossrail(CMakePackage):
    """Makes MPI_Alltoall, its v and w forms and MPI_Allreduce of unmodified programs faster: a library to preload under
    Open MPI, MPICH and its relatives, and a command line."""

    homepage = f"file://{Path(__file__).resolve().parents[4]}"
    git = homepage

    license("BSD-3-Clause")

    version("main", branch="main")

    variant("bench", default=True, description="Install the bench programs")
    variant("cuda", default=False, description="Take over calls on memory of NVIDIA's GPUs")
    variant("rocm", default=False, description="Take over calls on memory of AMD's GPUs")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("ninja", type="build")
    depends_on("python@3.9:", type=("build", "run"))
    depends_on("py-typer@0.7:", type=("build", "run"))
    depends_on("py-rich@12:", type=("build", "run"))
    depends_on("py-tomli@1.1:", type="run", when="^python@:3.10")
    depends_on("mpi")
    depends_on("hwloc@2:")
    depends_on("boost+context", type="build")
    depends_on("cuda", when="+cuda")
    depends_on("hip", when="+rocm")

    generator("ninja")

    def cmake_args(self):
        spec = self.spec
        openmpi = spec.satisfies("^[virtuals=mpi] openmpi")
        args = [
            self.define("CROSSRAIL_TESTS", False),
            self.define("CMAKE_UNITY_BUILD", True),
            self.define_from_variant("CROSSRAIL_BENCH", "bench"),
            self.define("CROSSRAIL_MPICC", spec["mpi"].mpicc),
            # Only for the MPI of this installation, whatever else lies on the machine.
            self.define("CROSSRAIL_MPICH_INCLUDE" if openmpi else "CROSSRAIL_OPENMPI_INCLUDE", False),
            self.define("CROSSRAIL_HWLOC_INCLUDE", spec["hwloc"].prefix.include),
            self.define("CROSSRAIL_CUDA_INCLUDE", spec["cuda"].prefix.include if spec.satisfies("+cuda") else False),
            self.define("CROSSRAIL_HIP_INCLUDE", spec["hip"].prefix.include if spec.satisfies("+rocm") else False),
        ]
        if not spec.satisfies("^[virtuals=mpi] mpich@5:"):
            args.append(self.define("CROSSRAIL_ABI_INCLUDE", False))
        return args
