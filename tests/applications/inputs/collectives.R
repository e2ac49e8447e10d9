# Calls the collectives of Rmpi and compares each result with what it must be. Rmpi has C functions named mpi_allreduce, mpi_gather and so on in a
# library of its own, which a preloaded library must not replace.
suppressMessages(library(Rmpi))
world <- 0
rank <- mpi.comm.rank(world)
ranks <- mpi.comm.size(world)
check <- function(what, got, wanted) if (!identical(as.numeric(got), as.numeric(wanted))) stop("rank ", rank, ": ", what, " is wrong")
everyone <- seq_len(ranks) - 1
counts <- everyone + 1
for (turn in 1:60) {
  at <- function(of) of * 1000 + turn
  check("allreduce", mpi.allreduce(at(rank), 2, "sum", world), sum(at(everyone)))
  check("allreduce of integers", mpi.allreduce(as.integer(at(rank)), 1, "max", world), max(at(everyone)))
  check("allgather", mpi.allgather(c(at(rank), turn), 2, double(2 * ranks), world), as.vector(rbind(at(everyone), turn)))
  check("allgatherv", mpi.allgatherv(rep(at(rank), rank + 1), 2, double(sum(counts)), counts, world), rep(at(everyone), counts))
  root <- turn %% ranks
  gathered <- mpi.gather(as.integer(at(rank)), 1, integer(ranks), root, world)
  if (rank == root) check("gather", gathered, at(everyone))
  gathered <- mpi.gatherv(rep(at(rank), rank + 1), 2, double(sum(counts)), counts, root, world)
  if (rank == root) check("gatherv", gathered, rep(at(everyone), counts))
  check("scatter", mpi.scatter(at(everyone), 2, double(1), root, world), at(rank))
  check("scatterv", mpi.scatterv(rep(at(everyone), counts), counts, 2, double(rank + 1), root, world), rep(at(rank), rank + 1))
  mpi.barrier(world)
}
cat("PASS\n")
invisible(mpi.finalize())
