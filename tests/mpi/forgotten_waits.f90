! As forgotten_waits.c, whose MPI_Finalize is another symbol here: rank 1 goes to it with a nonblocking collective under way.
program forgotten_waits
  use mpi
  implicit none
  integer, parameter :: most = 5000, limit = 8
  integer :: error, rank, ranks, request, call, i
  integer :: send(most * limit), seen(most * limit)
  integer, volatile :: recv(most * limit)
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  send = [(1000 * rank + i, i = 1, most * limit)]
  do call = 1, 12
    call MPI_Alltoall(send, most, MPI_INTEGER, seen, most, MPI_INTEGER, MPI_COMM_WORLD, error)
    call MPI_Ialltoall(send, most, MPI_INTEGER, recv, most, MPI_INTEGER, MPI_COMM_WORLD, request, error)
    call MPI_Wait(request, MPI_STATUS_IGNORE, error)
  end do
  recv = 0
  if (rank /= 1) call sleep(1)
  call MPI_Ialltoall(send, most, MPI_INTEGER, recv, most, MPI_INTEGER, MPI_COMM_WORLD, request, error)
  if (rank /= 1) call MPI_Wait(request, MPI_STATUS_IGNORE, error)
  if (rank == 1 .or. all(recv(1:most * ranks) == seen(1:most * ranks))) print '(a)', 'PASS'
  call MPI_Finalize(error)
end program
