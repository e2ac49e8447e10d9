! MPI_Alltoall by mpi_f08: without ierror, in place, with gaps, on a duplicate, of two dimensions.
! MPI_Alltoallv and MPI_Alltoallw: blocks of all lengths, also none, in place, of several types.
program fortran_f08
  use mpi_f08
  implicit none
  integer :: rank, ranks, wrong
  type(MPI_Comm) :: comm

  wrong = 0
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call MPI_Comm_dup(MPI_COMM_WORLD, comm)
  call plain(MPI_COMM_WORLD)
  call plain(comm)
  call in_place(comm)
  call with_gaps(comm)
  call by_counts(MPI_COMM_WORLD, .false.)
  call by_counts(comm, .true.)
  call by_types(MPI_COMM_WORLD, .false.)
  call by_types(comm, .true.)
  call MPI_Comm_free(comm)
  call MPI_Finalize()
  if (wrong > 0) then
    print '(a,i0,a)', 'rank ', rank, ' received wrong numbers'
    stop 1
  end if
  print '(a)', 'PASS'
contains
  pure integer function number(from, to, i)
    integer, intent(in) :: from, to, i
    number = from * 100000 + to * 1000 + i
  end function number

  subroutine plain(on)
    type(MPI_Comm), intent(in) :: on
    integer :: send(7, 0:ranks - 1), recv(7, 0:ranks - 1), other, i, code
    do other = 0, ranks - 1
      send(:, other) = [(number(rank, other, i), i = 1, 7)]
    end do
    recv = -1
    call MPI_Alltoall(send, 7, MPI_INTEGER, recv, 7, MPI_INTEGER, on)
    do other = 0, ranks - 1
      if (any(recv(:, other) /= [(number(other, rank, i), i = 1, 7)])) wrong = wrong + 1
    end do
    code = -1
    call MPI_Alltoall(send, 0, MPI_INTEGER, recv, 0, MPI_INTEGER, on, code)
    if (code /= MPI_SUCCESS) wrong = wrong + 1
  end subroutine plain

  subroutine in_place(on)
    type(MPI_Comm), intent(in) :: on
    complex :: both(3, 0:ranks - 1)
    integer :: other, i
    do other = 0, ranks - 1
      both(:, other) = [(cmplx(number(rank, other, i), i), i = 1, 3)]
    end do
    call MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, both, 3, MPI_COMPLEX, on)
    do other = 0, ranks - 1
      if (any(both(:, other) /= [(cmplx(number(other, rank, i), i), i = 1, 3)])) wrong = wrong + 1
    end do
  end subroutine in_place

  subroutine with_gaps(on)
    type(MPI_Comm), intent(in) :: on
    double precision :: send(2, 5, 0:ranks - 1), recv(5, 0:ranks - 1)
    type(MPI_Datatype) :: pairs, spaced
    integer :: other, i
    do other = 0, ranks - 1
      send(1, :, other) = [(dble(number(rank, other, i)), i = 1, 5)]
      send(2, :, other) = -5.0d0
    end do
    call MPI_Type_vector(5, 1, 2, MPI_DOUBLE_PRECISION, pairs)
    call MPI_Type_create_resized(pairs, 0_MPI_ADDRESS_KIND, 80_MPI_ADDRESS_KIND, spaced)
    call MPI_Type_commit(spaced)
    call MPI_Alltoall(send, 1, spaced, recv, 5, MPI_DOUBLE_PRECISION, on)
    call MPI_Type_free(spaced)
    call MPI_Type_free(pairs)
    do other = 0, ranks - 1
      if (any(recv(:, other) /= [(dble(number(other, rank, i)), i = 1, 5)])) wrong = wrong + 1
    end do
  end subroutine with_gaps

  ! Elements from one to another; as many come back.
  pure integer function length(from, to)
    integer, intent(in) :: from, to
    length = mod(2 * (from + to), 5)
  end function length

  ! Blocks of 8, of which the first elements are used.
  subroutine by_counts(on, replace)
    type(MPI_Comm), intent(in) :: on
    logical, intent(in) :: replace
    integer :: send(8, 0:ranks - 1), recv(8, 0:ranks - 1), counts(0:ranks - 1), places(0:ranks - 1), other, i
    recv = -1
    do other = 0, ranks - 1
      counts(other) = length(rank, other)
      places(other) = 8 * other
      send(:, other) = [(number(rank, other, i), i = 1, 8)]
      if (replace) recv(:counts(other), other) = send(:counts(other), other)
    end do
    if (replace) then
      call MPI_Alltoallv(MPI_IN_PLACE, [-1], [-1], MPI_DATATYPE_NULL, recv, counts, places, MPI_INTEGER, on)
    else
      call MPI_Alltoallv(send, counts, places, MPI_INTEGER, recv, counts, places, MPI_INTEGER, on)
    end if
    do other = 0, ranks - 1
      if (any(recv(:counts(other), other) /= [(number(other, rank, i), i = 1, counts(other))])) wrong = wrong + 1
      if (any(recv(counts(other) + 1:, other) /= -1)) wrong = wrong + 1
    end do
  end subroutine by_counts

  ! Sent in a row; odd ranks' blocks are received with gaps.
  subroutine by_types(on, replace)
    type(MPI_Comm), intent(in) :: on
    logical, intent(in) :: replace
    integer :: send(16, 0:ranks - 1), recv(16, 0:ranks - 1), counts(0:ranks - 1), places(0:ranks - 1), other, i, step, code
    type(MPI_Datatype) :: plain_types(0:ranks - 1), types(0:ranks - 1), spaced
    call MPI_Type_create_resized(MPI_INTEGER, 0_MPI_ADDRESS_KIND, 8_MPI_ADDRESS_KIND, spaced)
    call MPI_Type_commit(spaced)
    recv = -1
    do other = 0, ranks - 1
      counts(other) = length(rank, other)
      places(other) = 4 * 16 * other
      plain_types(other) = MPI_INTEGER
      types(other) = MPI_INTEGER
      if (mod(other, 2) == 1) types(other) = spaced
      step = merge(2, 1, mod(other, 2) == 1)
      send(:, other) = [(number(rank, other, i), i = 1, 16)]
      if (replace) recv(1:step * counts(other):step, other) = send(:counts(other), other)
    end do
    code = -1
    if (replace) then
      call MPI_Alltoallw(MPI_IN_PLACE, [-1], [-1], plain_types, recv, counts, places, types, on, code)
    else
      call MPI_Alltoallw(send, counts, places, plain_types, recv, counts, places, types, on, code)
    end if
    if (code /= MPI_SUCCESS) wrong = wrong + 1
    call MPI_Type_free(spaced)
    do other = 0, ranks - 1
      step = merge(2, 1, mod(other, 2) == 1)
      if (any(recv(1:step * counts(other):step, other) /= [(number(other, rank, i), i = 1, counts(other))])) wrong = wrong + 1
      if (step == 2 .and. any(recv(2::2, other) /= -1)) wrong = wrong + 1
      if (any(recv(step * counts(other) + 1:, other) /= -1)) wrong = wrong + 1
    end do
  end subroutine by_types
end program fortran_f08
