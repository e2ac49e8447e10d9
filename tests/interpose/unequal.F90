! MPI_Allgatherv and MPI_Reduce_scatter by mpif.h, by 'use mpi' (-DUSE_MODULE) or by mpi_f08 (-DUSE_F08): blocks of several lengths, in place,
! the nonblocking and the persistent form.
#ifdef MPI_TEST_openmpi4
#define GATHER_INIT MPIX_ALLGATHERV_INIT
#define SCATTER_INIT MPIX_REDUCE_SCATTER_INIT
#else
#define GATHER_INIT MPI_ALLGATHERV_INIT
#define SCATTER_INIT MPI_REDUCE_SCATTER_INIT
#endif
#ifdef USE_F08
#define COMM type(MPI_Comm)
#define REQUEST type(MPI_Request)
#else
#define COMM integer
#define REQUEST integer
#endif
program unequal
#ifdef USE_F08
  use mpi_f08
#ifdef MPI_TEST_openmpi4
  use mpi_f08_ext
#endif
  implicit none
#elif defined(USE_MODULE)
  use mpi
  implicit none
#else
  implicit none
  include 'mpif.h'
#endif
  integer :: rank, ranks, code, wrong, again
  integer, allocatable, asynchronous :: counts(:), places(:)
  COMM :: comm

  wrong = 0
  call MPI_INIT(code)
  call MPI_COMM_RANK(MPI_COMM_WORLD, rank, code)
  call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, code)
  call MPI_COMM_SPLIT(MPI_COMM_WORLD, 0, -rank, comm, code)
  allocate(counts(ranks), places(ranks))
  do again = 1, 5
    call gathered(MPI_COMM_WORLD)
    call gathered(comm)
    call scattered(MPI_COMM_WORLD)
    call scattered(comm)
  end do
  call MPI_COMM_FREE(comm, code)
  call MPI_FINALIZE(code)
  if (wrong > 0) then
    print '(a,i0,a)', 'rank ', rank, ' received wrong numbers'
    stop 1
  end if
  print '(a)', 'PASS'
contains
  pure integer function number(from, i)
    integer, intent(in) :: from, i
    number = from * 1000 + i
  end function number

  subroutine expect(right)
    logical, intent(in) :: right
    if (.not. right .or. code /= MPI_SUCCESS) wrong = wrong + 1
  end subroutine expect

  ! Block b has 20 b numbers, the first one none, with `gap` numbers between two.
  subroutine lay_out(gap)
    integer, intent(in) :: gap
    integer :: b
    do b = 1, ranks
      counts(b) = 20 * (b - 1)
      places(b) = gap * b + 20 * ((b - 1) * (b - 2)) / 2
    end do
  end subroutine lay_out

  logical function all_there(blocks)
    integer, intent(in) :: blocks(:)
    integer :: from, i, known(size(blocks))
    known = -1
    do from = 1, ranks
      do i = 1, counts(from)
        known(places(from) + i) = number(from - 1, i)
      end do
    end do
    all_there = all(blocks == known)
  end function all_there

  subroutine gathered(on)
    COMM, intent(in) :: on
    integer, asynchronous :: mine(20 * ranks), blocks(20 * ranks * ranks + 3 * ranks + 3)
    REQUEST :: one, kept
    integer :: me, i, round
    call MPI_COMM_RANK(on, me, code)
    call lay_out(3)
    mine = [(number(me, i), i = 1, 20 * ranks)]
    do round = 1, 3
      blocks = -1
      call MPI_ALLGATHERV(mine, counts(me + 1), MPI_INTEGER, blocks, counts, places, MPI_INTEGER, on, code)
      call expect(all_there(blocks))
      blocks = -1
      blocks(places(me + 1) + 1:places(me + 1) + counts(me + 1)) = mine(1:counts(me + 1))
      call MPI_ALLGATHERV(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, blocks, counts, places, MPI_INTEGER, on, code)
      call expect(all_there(blocks))
    end do
    blocks = -1
    call MPI_IALLGATHERV(mine, counts(me + 1), MPI_INTEGER, blocks, counts, places, MPI_INTEGER, on, one, code)
    call MPI_WAIT(one, MPI_STATUS_IGNORE, code)
    call expect(all_there(blocks))
    call GATHER_INIT(mine, counts(me + 1), MPI_INTEGER, blocks, counts, places, MPI_INTEGER, on, MPI_INFO_NULL, kept, code)
    call expect(.true.)
    do round = 1, 3
      blocks = -1
      call MPI_START(kept, code)
      call MPI_WAIT(kept, MPI_STATUS_IGNORE, code)
      call expect(all_there(blocks))
    end do
    call MPI_REQUEST_FREE(kept, code)
  end subroutine gathered

  logical function sums_there(sums, me)
    integer, intent(in) :: sums(:), me
    integer :: i
    sums_there = all([(sums(i) == 1000 * (ranks * (ranks - 1) / 2) + ranks * (places(me + 1) + i), i = 1, counts(me + 1))])
    sums_there = sums_there .and. all(sums(counts(me + 1) + 1:) == -1)
  end function sums_there

  subroutine scattered(on)
    COMM, intent(in) :: on
    integer, asynchronous :: rows(20 * ranks * ranks), mine(20 * ranks)
    REQUEST :: one, kept
    integer :: me, i, round
    call MPI_COMM_RANK(on, me, code)
    call lay_out(0)
    rows = [(number(me, i), i = 1, size(rows))]
    do round = 1, 3
      mine = -1
      call MPI_REDUCE_SCATTER(rows, mine, counts, MPI_INTEGER, MPI_SUM, on, code)
      call expect(sums_there(mine, me))
    end do
    mine = -1
    call MPI_IREDUCE_SCATTER(rows, mine, counts, MPI_INTEGER, MPI_SUM, on, one, code)
    call MPI_WAIT(one, MPI_STATUS_IGNORE, code)
    call expect(sums_there(mine, me))
    call SCATTER_INIT(rows, mine, counts, MPI_INTEGER, MPI_SUM, on, MPI_INFO_NULL, kept, code)
    call expect(.true.)
    do round = 1, 3
      mine = -1
      call MPI_START(kept, code)
      call MPI_WAIT(kept, MPI_STATUS_IGNORE, code)
      call expect(sums_there(mine, me))
    end do
    call MPI_REQUEST_FREE(kept, code)
    mine = -1
    call MPI_REDUCE_SCATTER(MPI_IN_PLACE, rows, counts, MPI_INTEGER, MPI_SUM, on, code)
    mine(1:counts(me + 1)) = rows(1:counts(me + 1))
    call expect(sums_there(mine, me))
  end subroutine scattered
end program unequal
