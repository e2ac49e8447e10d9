"""What the size of a call is the size of: the calls of MPI count different things."""

OF_CALL = {"allreduce": "the elements of one rank", "allgather": "the block of one rank", "reduce_scatter_block": "the block each rank gets",
           "allgatherv": "the block of one rank, the mean of a call", "reduce_scatter": "the block each rank gets, the mean of a call",
           **dict.fromkeys(("gather", "gatherv", "scatter", "scatterv"), "the block of one rank"),
           "alltoallv": "from one rank to one other, the mean of a call", "alltoallw": "from one rank to one other, the mean of a call"}
OF_OTHERS = "from one rank to one other"
AXIS_OF = {"allreduce": "bytes of the elements of one rank", "allgather": "bytes of the block of one rank", "reduce_scatter_block": "bytes of the block each rank gets",
           "allgatherv": "bytes of the block of one rank, in the mean", "reduce_scatter": "bytes of the block each rank gets, in the mean",
           **dict.fromkeys(("gather", "gatherv", "scatter", "scatterv"), "bytes of the block of one rank"),
           "alltoallv": "bytes from each rank to each other, in the mean", "alltoallw": "bytes from each rank to each other, in the mean"}
AXIS_OF_OTHERS = "bytes from each rank to each other"


def blocking(call: str) -> str:
    """The blocking form's name in small letters: 'MPI_Iallreduce', 'allreduce_init' -> 'allreduce'."""
    name = call.lower().removeprefix("mpi_").removesuffix("_init")
    return name[1:] if name.startswith("i") and name[1:] in ("alltoall", *OF_CALL) else name


def size_words(call: str) -> str:
    """What the bytes in a report are: 'the elements of one rank'."""
    return OF_CALL.get(blocking(call), OF_OTHERS)


def size_axis(call: str) -> str:
    """The title of a chart's axis of sizes."""
    return AXIS_OF.get(blocking(call), AXIS_OF_OTHERS)
