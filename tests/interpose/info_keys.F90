! Info keys of crossrail's, given and told in Fortran. On three ranks two other algorithms are the usual ones.
program info_keys
#ifdef USE_F08
  use mpi_f08
#elif defined(USE_MODULE)
  use mpi
#endif
  implicit none
#if !defined(USE_F08) && !defined(USE_MODULE)
  include 'mpif.h'
#endif
#ifdef USE_F08
#define COMM type(MPI_Comm)
#define INFO type(MPI_Info)
#define REQUEST type(MPI_Request)
#else
#define COMM integer
#define INFO integer
#define REQUEST integer
#endif
  integer, parameter :: calls = 6
  COMM :: set, with, split, copy
  INFO :: info
  REQUEST :: request
  integer :: code, size, rank, wrong = 0
  integer, allocatable :: sent(:), received(:)

  call MPI_Init(code)
  call MPI_Comm_size(MPI_COMM_WORLD, size, code)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
  allocate(sent(size), received(size))
  call MPI_Info_create(info, code)
  call MPI_Info_set(info, 'crossrail_alltoall', 'bruck', code)
  call MPI_Comm_dup(MPI_COMM_WORLD, set, code)
  call expect(set, .false.)
  call MPI_Comm_set_info(set, info, code)
  call expect(set, .true.)
  call MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, with, code)
  call expect(with, .true.)
  call MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, info, split, code)
  call expect(split, .true.)
#ifdef MPI_TEST_mpich4
  call MPI_Comm_idup_with_info(with, info, copy, request, code)
  call MPI_Wait(request, MPI_STATUS_IGNORE, code)
  call expect(copy, .true.)
  call exchange(copy)
#else
  call exchange(set)
#endif
  call exchange(set)
  call exchange(with)
  call exchange(split)
  if (wrong == 0) print '(a)', 'PASS'
  call MPI_Finalize(code)
  if (wrong /= 0) stop 1

contains

  subroutine exchange(comm)
    COMM, intent(in) :: comm
    integer :: one, call_number
    do call_number = 1, calls
      sent = [(1000 * rank + one + call_number, one = 0, size - 1)]
      call MPI_Alltoall(sent, 1, MPI_INTEGER, received, 1, MPI_INTEGER, comm, code)
      if (any(received /= [(1000 * one + rank + call_number, one = 0, size - 1)])) wrong = wrong + 1
    end do
  end subroutine

  subroutine expect(comm, given)
    COMM, intent(in) :: comm
    logical, intent(in) :: given
    INFO :: told
    logical :: there
    character(len=32) :: value
    call MPI_Comm_get_info(comm, told, code)
    call MPI_Info_get(told, 'crossrail_alltoall', 32, value, there, code)
    if (there .neqv. given) wrong = wrong + 1
    if (there .and. value /= 'bruck') wrong = wrong + 1
    call MPI_Info_free(told, code)
  end subroutine
end program
