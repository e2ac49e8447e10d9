! Every blocking collective in which all ranks wait opens a communicator for nonblocking calls, from Fortran, too: by mpif.h, 'use mpi'
! (-DUSE_MODULE) and 'use mpi_f08' (-DUSE_F08). The second MPI_IALLTOALL on each communicator can be carried.
#ifdef USE_F08
#define COMM_TYPE type(MPI_Comm)
#define REQUEST_TYPE type(MPI_Request)
#else
#define COMM_TYPE integer
#define REQUEST_TYPE integer
#endif
program openers
#ifdef USE_F08
  use mpi_f08
  implicit none
#elif defined(USE_MODULE)
  use mpi
  implicit none
#else
  implicit none
  include 'mpif.h'
#endif
  integer, parameter :: ways = 7
  integer :: way, rank, code, wrong
  COMM_TYPE :: comm

  wrong = 0
  call MPI_INIT(code)
  call MPI_COMM_RANK(MPI_COMM_WORLD, rank, code)
  do way = 1, ways
    call MPI_COMM_SPLIT(MPI_COMM_WORLD, 0, -rank, comm, code)
    call exchange(comm)
    call open_by(way, comm)
    call exchange(comm)
    call MPI_COMM_FREE(comm, code)
  end do
  call MPI_FINALIZE(code)
  if (wrong > 0) then
    print '(a,i0,a)', 'rank ', rank, ' received wrong numbers'
    stop 1
  end if
  print '(a)', 'PASS'
contains
  subroutine open_by(way, on)
    integer, intent(in) :: way
    COMM_TYPE, intent(in) :: on
    integer :: mine, theirs, ranks
    integer, allocatable :: all(:)
    COMM_TYPE :: made
    call MPI_COMM_SIZE(on, ranks, code)
    allocate(all(ranks))
    mine = 3
    select case (way)
    case (1)
      call MPI_BARRIER(on, code)
    case (2)
      call MPI_BCAST(mine, 1, MPI_INTEGER, 0, on, code)
    case (3)
      call MPI_REDUCE(mine, theirs, 1, MPI_INTEGER, MPI_SUM, 0, on, code)
    case (4)
      call MPI_ALLGATHER(mine, 1, MPI_INTEGER, all, 1, MPI_INTEGER, on, code)
      if (any(all /= 3)) wrong = wrong + 1
    case (5)
      call MPI_ALLREDUCE(mine, theirs, 1, MPI_INTEGER, MPI_SUM, on, code)
      if (theirs /= 3 * ranks) wrong = wrong + 1
    case (6)
      call MPI_COMM_DUP(on, made, code)
      call MPI_COMM_FREE(made, code)
    case (7)
      call MPI_COMM_SPLIT(on, 0, 0, made, code)
      call MPI_COMM_FREE(made, code)
    end select
    if (code /= MPI_SUCCESS) wrong = wrong + 1
  end subroutine open_by

  subroutine exchange(on)
    COMM_TYPE, intent(in) :: on
    integer, allocatable, asynchronous :: send(:), recv(:)
    integer :: ranks, me, other
    REQUEST_TYPE :: request
    call MPI_COMM_SIZE(on, ranks, code)
    call MPI_COMM_RANK(on, me, code)
    allocate(send(ranks), recv(ranks))
    send = [(100 * me + other, other = 0, ranks - 1)]
    recv = -1
    call MPI_IALLTOALL(send, 1, MPI_INTEGER, recv, 1, MPI_INTEGER, on, request, code)
    call MPI_WAIT(request, MPI_STATUS_IGNORE, code)
    if (any(recv /= [(100 * other + me, other = 0, ranks - 1)])) wrong = wrong + 1
  end subroutine exchange
end program openers
