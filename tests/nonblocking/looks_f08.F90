! What Fortran 2008 programs are told of requests: MPI_Request_get_status asked again and again, with nothing else
! called meanwhile, and the code of an exchange that fails, on a communicator whose errors are returned.
program looks_f08
  use mpi_f08
  implicit none
  integer, parameter :: rounds = 100, count = 50000
  integer :: round, ranks, rank, wrong
  integer, allocatable, asynchronous :: sent(:), received(:)

  call MPI_Init()
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  allocate(sent(ranks * count), received(ranks * count))
  wrong = 0
  sent = rank
  call MPI_Alltoall(sent, 1000, MPI_INTEGER, received, 1000, MPI_INTEGER, MPI_COMM_WORLD)
  do round = 1, rounds
    call look_until_ended()
  end do
  call fail()
  if (wrong == 0) write (*, '(a)') 'PASS'
  call MPI_Finalize()

contains

  subroutine look_until_ended()
    type(MPI_Request) :: request
    type(MPI_Status) :: status
    logical :: done
    integer :: from
    received = -1
    call MPI_Ialltoall(sent, count, MPI_INTEGER, received, count, MPI_INTEGER, MPI_COMM_WORLD, request)
    done = .false.
    do while (.not. done)
      call MPI_Request_get_status(request, done, status)
    end do
    call MPI_Wait(request, status)
    do from = 0, ranks - 1
      if (any(received(from * count + 1:(from + 1) * count) /= from)) wrong = wrong + 1
    end do
    if (wrong > 0) write (*, '(a,i0)') 'wrong numbers in round ', round
  end subroutine

  ! Errors of other communicators end the program.
  subroutine fail()
    type(MPI_Comm) :: own
    type(MPI_Request) :: request
    type(MPI_Status) :: status
    integer :: code, error_class
    call MPI_Comm_dup(MPI_COMM_WORLD, own)
    call MPI_Alltoall(sent, 10, MPI_INTEGER, received, 10, MPI_INTEGER, own)
    call MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN)
    call MPI_Ialltoall(sent, 100 + rank, MPI_INTEGER, received, 100 + rank, MPI_INTEGER, own, request)
    call MPI_Wait(request, status, code)
    error_class = MPI_SUCCESS
    if (code /= MPI_SUCCESS) call MPI_Error_class(code, error_class)
    if (error_class /= MPI_ERR_TRUNCATE) then
      wrong = wrong + 1
      write (*, '(a,i0)') 'an exchange of different sizes gives error class ', error_class
    end if
  end subroutine
end program
