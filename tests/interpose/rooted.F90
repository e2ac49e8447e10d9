! MPI_Gather, MPI_Scatter and their v forms by mpif.h, by 'use mpi' (-DUSE_MODULE) or by mpi_f08 (-DUSE_F08), in all forms. On ranks that are not
! the root the arguments of its row are numbers that mean nothing.
#ifdef MPI_TEST_openmpi4
#define GATHER_INIT MPIX_GATHER_INIT
#define SCATTERV_INIT MPIX_SCATTERV_INIT
#else
#define GATHER_INIT MPI_GATHER_INIT
#define SCATTERV_INIT MPI_SCATTERV_INIT
#endif
! MPICH 4.0 itself copies the root's own block when a persistent call is made, and moves nothing where it is started once more.
#ifdef MPI_TEST_mpich4
#define STARTS 1
#else
#define STARTS 3
#endif
#ifdef USE_F08
#define COMM type(MPI_Comm)
#define REQUEST type(MPI_Request)
#define DATATYPE type(MPI_Datatype)
#else
#define COMM integer
#define REQUEST integer
#define DATATYPE integer
#endif
program rooted
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
  integer, parameter :: most = 30
  integer :: rank, ranks, code, wrong, again, root
  COMM :: comm

  wrong = 0
  call MPI_INIT(code)
  call MPI_COMM_RANK(MPI_COMM_WORLD, rank, code)
  call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, code)
  call MPI_COMM_SPLIT(MPI_COMM_WORLD, 0, -rank, comm, code)
  do again = 1, 10
    do root = 0, ranks - 1
      call gathers(MPI_COMM_WORLD)
      call gathers(comm)
      call scatters(MPI_COMM_WORLD)
      call scatters(comm)
    end do
  end do
  call MPI_COMM_FREE(comm, code)
  call MPI_FINALIZE(code)
  if (wrong > 0) then
    print '(a,i0,a,i0)', 'rank ', rank, ' received wrong numbers: ', wrong
    stop 1
  end if
  print '(a)', 'PASS'
contains
  pure integer function number(from, i)
    integer, intent(in) :: from, i
    number = from * 1000 + i
  end function number

  ! Of the v forms.
  pure integer function length(of_rank)
    integer, intent(in) :: of_rank
    length = 1 + mod(of_rank * 7, most)
  end function length

  subroutine expect(right)
    logical, intent(in) :: right
    if (.not. right .or. code /= MPI_SUCCESS) wrong = wrong + 1
  end subroutine expect

  ! What only the root's arguments are to be taken for.
  subroutine choose(me, count, its_type, counts, places)
    integer, intent(in) :: me
    integer, intent(out) :: count, counts(ranks), places(ranks)
    DATATYPE, intent(out) :: its_type
    integer :: i
    count = most
    its_type = MPI_INTEGER
    counts = [(length(i - 1), i = 1, ranks)]
    places = [((i - 1) * most, i = 1, ranks)]
    if (me == root) return
    count = -12345
#ifdef USE_F08
    its_type%MPI_VAL = 1999999999
#else
    its_type = 1999999999
#endif
    counts = -7
    places = 1999999999
  end subroutine choose

  subroutine gathers(on)
    COMM, intent(in) :: on
    integer, asynchronous :: mine(most), blocks(most, ranks), counts(ranks), places(ranks)
    integer :: me, count, i, round
    DATATYPE :: its_type
    REQUEST :: one, kept
    call MPI_COMM_RANK(on, me, code)
    call choose(me, count, its_type, counts, places)
    mine = [(number(me, i), i = 1, most)]
    blocks = -1
    call MPI_GATHER(mine, most, MPI_INTEGER, blocks, count, its_type, root, on, code)
    call expect(gathered(blocks, me, .false.))
    if (me == root) then
      blocks = -1
      blocks(:, me + 1) = mine
      call MPI_GATHER(MPI_IN_PLACE, -5, MPI_DATATYPE_NULL, blocks, count, its_type, root, on, code)
    else
      call MPI_GATHER(mine, most, MPI_INTEGER, blocks, count, its_type, root, on, code)
    end if
    call expect(gathered(blocks, me, .false.))
    blocks = -1
    call MPI_GATHERV(mine, length(me), MPI_INTEGER, blocks, counts, places, its_type, root, on, code)
    call expect(gathered(blocks, me, .true.))
    blocks = -1
    call MPI_IGATHER(mine, most, MPI_INTEGER, blocks, count, its_type, root, on, one, code)
    call MPI_WAIT(one, MPI_STATUS_IGNORE, code)
    call expect(gathered(blocks, me, .false.))
    blocks = -1
    call GATHER_INIT(mine, most, MPI_INTEGER, blocks, count, its_type, root, on, MPI_INFO_NULL, kept, code)
    call expect(.true.)
    do round = 1, STARTS
      if (STARTS > 1) blocks = -1
      call MPI_START(kept, code)
      call MPI_WAIT(kept, MPI_STATUS_IGNORE, code)
      call expect(gathered(blocks, me, .false.))
    end do
    call MPI_REQUEST_FREE(kept, code)
  end subroutine gathers

  logical function gathered(blocks, me, counted)
    integer, intent(in) :: blocks(most, ranks), me
    logical, intent(in) :: counted
    integer :: from, i, long
    gathered = .true.
    do from = 1, ranks
      long = most
      if (counted) long = length(from - 1)
      if (me /= root) long = 0
      gathered = gathered .and. all([(blocks(i, from) == number(from - 1, i), i = 1, long)])
      if (counted .or. me /= root) gathered = gathered .and. all(blocks(long + 1:, from) == -1)
    end do
  end function gathered

  subroutine scatters(on)
    COMM, intent(in) :: on
    integer, asynchronous :: blocks(most, ranks), mine(most), counts(ranks), places(ranks)
    integer :: me, count, i, to, round
    DATATYPE :: its_type
    REQUEST :: one, kept
    call MPI_COMM_RANK(on, me, code)
    call choose(me, count, its_type, counts, places)
    blocks = reshape([((number(to - 1, i), i = 1, most), to = 1, ranks)], [most, ranks])
    if (me /= root) blocks = -3
    mine = -1
    call MPI_SCATTER(blocks, count, its_type, mine, most, MPI_INTEGER, root, on, code)
    call expect(all(mine == [(number(me, i), i = 1, most)]))
    mine = -1
    if (me == root) then
      call MPI_SCATTER(blocks, count, its_type, MPI_IN_PLACE, -5, MPI_DATATYPE_NULL, root, on, code)
      call expect(all(mine == -1))
    else
      call MPI_SCATTER(blocks, count, its_type, mine, most, MPI_INTEGER, root, on, code)
      call expect(all(mine == [(number(me, i), i = 1, most)]))
    end if
    mine = -1
    call MPI_SCATTERV(blocks, counts, places, its_type, mine, length(me), MPI_INTEGER, root, on, code)
    call expect(all(mine(:length(me)) == [(number(me, i), i = 1, length(me))]) .and. all(mine(length(me) + 1:) == -1))
    mine = -1
    call MPI_ISCATTERV(blocks, counts, places, its_type, mine, length(me), MPI_INTEGER, root, on, one, code)
    call MPI_WAIT(one, MPI_STATUS_IGNORE, code)
    call expect(all(mine(:length(me)) == [(number(me, i), i = 1, length(me))]))
    call SCATTERV_INIT(blocks, counts, places, its_type, mine, length(me), MPI_INTEGER, root, on, MPI_INFO_NULL, kept, code)
    call expect(.true.)
    do round = 1, STARTS
      mine = -1
      call MPI_START(kept, code)
      call MPI_WAIT(kept, MPI_STATUS_IGNORE, code)
      call expect(all(mine(:length(me)) == [(number(me, i), i = 1, length(me))]))
    end do
    call MPI_REQUEST_FREE(kept, code)
  end subroutine scatters
end program rooted
