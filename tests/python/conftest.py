"""What libcrossrail.so tells of the collectives, made up: tests need no library."""

import os

import pytest

os.environ.pop("COLUMNS", None)  # Output is compared line by line, whatever the tester's terminal.

from crossrail import core  # noqa: E402

COLLECTIVES = [
    {"name": "alltoall", "mpi": ["MPI_Alltoall", "MPI_Ialltoall", "MPI_Alltoall_init"], "counts": "block", "reduces": False,
     "setting": "CROSSRAIL_ALLTOALL"},
    {"name": "alltoallv", "mpi": ["MPI_Alltoallv", "MPI_Alltoallw", "MPI_Ialltoallv", "MPI_Ialltoallw", "MPI_Alltoallv_init", "MPI_Alltoallw_init"],
     "counts": "vector", "reduces": False, "setting": "CROSSRAIL_ALLTOALLV"},
    {"name": "allreduce", "mpi": ["MPI_Allreduce", "MPI_Iallreduce", "MPI_Allreduce_init"], "counts": "elements", "reduces": True,
     "setting": "CROSSRAIL_ALLREDUCE"},
]


@pytest.fixture(autouse=True)
def collective_rows(monkeypatch):
    """The rows; a test may put others in their place."""
    monkeypatch.setattr(core, "collective_rows", lambda: COLLECTIVES)
    return COLLECTIVES
