! Long MPI_Allreduce of a Fortran program, for tests of helper processes beside it.
program helped
  use mpi_f08
  implicit none
  integer, parameter :: count = 256 * 1024, calls = 14
  integer, allocatable :: mine(:), sums(:)
  integer :: rank, ranks, at, call, right
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  allocate(mine(count), sums(count))
  mine = [(at + rank, at = 1, count)]
  right = 0
  do call = 1, calls
    sums = -1
    call MPI_Allreduce(mine, sums, count, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    if (all(sums == [(ranks * at + ranks * (ranks - 1) / 2, at = 1, count)])) right = right + 1
  end do
  if (right == calls) print '(A)', 'PASS'
  call MPI_Finalize()
end program
