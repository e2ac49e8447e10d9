! MPI_Allreduce by mpif.h, by 'use mpi' (-DUSE_MODULE) or by mpi_f08 (-DUSE_F08): types of Fortran's, in place, on another communicator;
! the nonblocking and the persistent form. The same of MPI_Allgather and MPI_Reduce_scatter_block.
#ifdef MPI_TEST_openmpi4
#define REDUCE_INIT MPIX_ALLREDUCE_INIT
#define GATHER_INIT MPIX_ALLGATHER_INIT
#define SCATTER_INIT MPIX_REDUCE_SCATTER_BLOCK_INIT
#else
#define REDUCE_INIT MPI_ALLREDUCE_INIT
#define GATHER_INIT MPI_ALLGATHER_INIT
#define SCATTER_INIT MPI_REDUCE_SCATTER_BLOCK_INIT
#endif
! MPICH 4.0 itself gathers wrongly when it starts a persistent call on two ranks once more.
#ifdef MPI_TEST_mpich4
#define STARTS 1
#else
#define STARTS 3
#endif
#ifdef USE_F08
#define COMM type(MPI_Comm)
#define REQUEST type(MPI_Request)
#else
#define COMM integer
#define REQUEST integer
#endif
program reductions
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
  COMM :: comm

  wrong = 0
  call MPI_INIT(code)
  call MPI_COMM_RANK(MPI_COMM_WORLD, rank, code)
  call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, code)
  call MPI_COMM_SPLIT(MPI_COMM_WORLD, 0, -rank, comm, code)
  do again = 1, 5
    call numbers(MPI_COMM_WORLD)
    call numbers(comm)
    call others(MPI_COMM_WORLD)
    call pending(comm)
    call gathered(comm)
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

  pure integer function total(i)
    integer, intent(in) :: i
    total = 1000 * (ranks * (ranks - 1) / 2) + ranks * i
  end function total

  subroutine expect(right)
    logical, intent(in) :: right
    if (.not. right .or. code /= MPI_SUCCESS) wrong = wrong + 1
  end subroutine expect

  subroutine numbers(on)
    COMM, intent(in) :: on
    integer :: whole(20), sums(20), me, i
    double precision :: sent(700), most(700)
    call MPI_COMM_RANK(on, me, code)
    whole = [(number(me, i), i = 1, 20)]
    sums = -1
    call MPI_ALLREDUCE(whole, sums, 20, MPI_INTEGER, MPI_SUM, on, code)
    call expect(all(sums == [(total(i), i = 1, 20)]))
    call MPI_ALLREDUCE(MPI_IN_PLACE, whole, 20, MPI_INTEGER, MPI_SUM, on, code)
    call expect(all(whole == sums))
    sent = [(dble(number(me, i)), i = 1, 700)]
    call MPI_ALLREDUCE(sent, most, 700, MPI_DOUBLE_PRECISION, MPI_MAX, on, code)
    call expect(all(most == [(dble(number(ranks - 1, i)), i = 1, 700)]))
    call MPI_ALLREDUCE(sent, most, 0, MPI_DOUBLE_PRECISION, MPI_MAX, on, code)
    call expect(.true.)
  end subroutine numbers

  subroutine others(on)
    COMM, intent(in) :: on
    logical :: mine(3), all_of(3), any_of(3)
    complex :: factor(2), product_of(2)
    real :: pairs(2, 4), places(2, 4)
    integer :: i
    mine = [.true., rank == 0, .false.]
    call MPI_ALLREDUCE(mine, all_of, 3, MPI_LOGICAL, MPI_LAND, on, code)
    call expect(all_of(1) .and. (all_of(2) .eqv. ranks == 1) .and. .not. all_of(3))
    call MPI_ALLREDUCE(mine, any_of, 3, MPI_LOGICAL, MPI_LOR, on, code)
    call expect(any_of(1) .and. any_of(2) .and. .not. any_of(3))
    factor = [(0.0, 1.0), (2.0, 0.0)]
    call MPI_ALLREDUCE(factor, product_of, 2, MPI_COMPLEX, MPI_PROD, on, code)
    call expect(product_of(1) == (0.0, 1.0)**ranks .and. product_of(2) == (2.0, 0.0)**ranks)
    do i = 1, 4
      pairs(:, i) = [real(mod(rank + i, ranks)), real(rank)]
    end do
    call MPI_ALLREDUCE(pairs, places, 4, MPI_2REAL, MPI_MAXLOC, on, code)
    call expect(all([(places(1, i) == real(ranks - 1) .and. nint(places(2, i)) == modulo(ranks - 1 - i, ranks), i = 1, 4)]))
  end subroutine others

  subroutine pending(on)
    COMM, intent(in) :: on
    integer, asynchronous :: sent(50), once(50), often(50)
    REQUEST :: one, kept
    integer :: me, i, round
    call MPI_COMM_RANK(on, me, code)
    sent = [(number(me, i), i = 1, 50)]
    call MPI_IALLREDUCE(sent, once, 50, MPI_INTEGER, MPI_SUM, on, one, code)
    call MPI_WAIT(one, MPI_STATUS_IGNORE, code)
    call expect(all(once == [(total(i), i = 1, 50)]))
    call REDUCE_INIT(sent, often, 50, MPI_INTEGER, MPI_SUM, on, MPI_INFO_NULL, kept, code)
    call expect(.true.)
    do round = 1, 3
      sent = [(number(me, i + round), i = 1, 50)]
      often = -1
      call MPI_START(kept, code)
      call MPI_WAIT(kept, MPI_STATUS_IGNORE, code)
      call expect(all(often == [(total(i + round), i = 1, 50)]))
    end do
    call MPI_REQUEST_FREE(kept, code)
  end subroutine pending

  ! Blocks of 30 numbers; one rank's have the number of their rank.
  logical function all_there(blocks)
    integer, intent(in) :: blocks(30, ranks)
    integer :: from, i
    all_there = all([((blocks(i, from) == number(from - 1, i), i = 1, 30), from = 1, ranks)])
  end function all_there

  subroutine gathered(on)
    COMM, intent(in) :: on
    integer, asynchronous :: mine(30), blocks(30, ranks)
    REQUEST :: one, kept
    integer :: me, i, round
    call MPI_COMM_RANK(on, me, code)
    mine = [(number(me, i), i = 1, 30)]
    do round = 1, 3
      blocks = -1
      call MPI_ALLGATHER(mine, 30, MPI_INTEGER, blocks, 30, MPI_INTEGER, on, code)
      call expect(all_there(blocks))
      blocks = -1
      blocks(:, me + 1) = mine
      call MPI_ALLGATHER(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, blocks, 30, MPI_INTEGER, on, code)
      call expect(all_there(blocks))
    end do
    blocks = -1
    call MPI_IALLGATHER(mine, 30, MPI_INTEGER, blocks, 30, MPI_INTEGER, on, one, code)
    call MPI_WAIT(one, MPI_STATUS_IGNORE, code)
    call expect(all_there(blocks))
    call GATHER_INIT(mine, 30, MPI_INTEGER, blocks, 30, MPI_INTEGER, on, MPI_INFO_NULL, kept, code)
    call expect(.true.)
    do round = 1, STARTS
      blocks = -1
      call MPI_START(kept, code)
      call MPI_WAIT(kept, MPI_STATUS_IGNORE, code)
      call expect(all_there(blocks))
    end do
    call MPI_REQUEST_FREE(kept, code)
  end subroutine gathered

  subroutine scattered(on)
    COMM, intent(in) :: on
    integer, asynchronous :: rows(30, ranks), mine(30)
    REQUEST :: one, kept
    integer :: me, i, round, to
    call MPI_COMM_RANK(on, me, code)
    rows = reshape([((number(me, i + 100 * to), i = 1, 30), to = 1, ranks)], [30, ranks])
    do round = 1, 3
      mine = -1
      call MPI_REDUCE_SCATTER_BLOCK(rows, mine, 30, MPI_INTEGER, MPI_SUM, on, code)
      call expect(all(mine == [(total(i + 100 * (me + 1)), i = 1, 30)]))
    end do
    mine = -1
    call MPI_IREDUCE_SCATTER_BLOCK(rows, mine, 30, MPI_INTEGER, MPI_SUM, on, one, code)
    call MPI_WAIT(one, MPI_STATUS_IGNORE, code)
    call expect(all(mine == [(total(i + 100 * (me + 1)), i = 1, 30)]))
    call SCATTER_INIT(rows, mine, 30, MPI_INTEGER, MPI_SUM, on, MPI_INFO_NULL, kept, code)
    call expect(.true.)
    do round = 1, 3
      mine = -1
      call MPI_START(kept, code)
      call MPI_WAIT(kept, MPI_STATUS_IGNORE, code)
      call expect(all(mine == [(total(i + 100 * (me + 1)), i = 1, 30)]))
    end do
    call MPI_REQUEST_FREE(kept, code)
    call MPI_REDUCE_SCATTER_BLOCK(MPI_IN_PLACE, rows, 30, MPI_INTEGER, MPI_SUM, on, code)
    call expect(all(rows(:, 1) == [(total(i + 100 * (me + 1)), i = 1, 30)]))
  end subroutine scattered
end program reductions
