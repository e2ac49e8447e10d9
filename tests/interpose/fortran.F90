! MPI_Alltoall by mpif.h, or by 'use mpi' (-DUSE_MODULE): of several types, in place, with gaps, of nothing, on another communicator.
! MPI_Alltoallv and MPI_Alltoallw: blocks of all lengths, also none, in place, of several types.
program fortran
#ifdef USE_MODULE
  use mpi
  implicit none
#else
  implicit none
  include 'mpif.h'
#endif
  integer :: rank, ranks, code, wrong, comm

  wrong = 0
  call MPI_INIT(code)
  call MPI_COMM_RANK(MPI_COMM_WORLD, rank, code)
  call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, code)
  call MPI_COMM_SPLIT(MPI_COMM_WORLD, 0, -rank, comm, code)
  call integers(MPI_COMM_WORLD)
  call integers(comm)
  call complexes(MPI_COMM_WORLD)
  call in_place(MPI_COMM_WORLD)
  call with_gaps(MPI_COMM_WORLD)
  call by_counts(MPI_COMM_WORLD, .false.)
  call by_counts(comm, .false.)
  call by_counts(comm, .true.)
  call by_types(MPI_COMM_WORLD, .false.)
  call by_types(comm, .true.)
  call MPI_ALLTOALL(rank, 0, MPI_INTEGER, rank, 0, MPI_INTEGER, comm, code)
  if (code /= MPI_SUCCESS) wrong = wrong + 1
  call MPI_COMM_FREE(comm, code)
  call MPI_FINALIZE(code)
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

  subroutine integers(on)
    integer, intent(in) :: on
    integer :: send(7, 0:ranks - 1), recv(7, 0:ranks - 1), other, me, i
    call MPI_COMM_RANK(on, me, code)
    do other = 0, ranks - 1
      send(:, other) = [(number(me, other, i), i = 1, 7)]
    end do
    recv = -1
    call MPI_ALLTOALL(send, 7, MPI_INTEGER, recv, 7, MPI_INTEGER, on, code)
    if (code /= MPI_SUCCESS) wrong = wrong + 1
    do other = 0, ranks - 1
      if (any(recv(:, other) /= [(number(other, me, i), i = 1, 7)])) wrong = wrong + 1
    end do
  end subroutine integers

  subroutine complexes(on)
    integer, intent(in) :: on
    double complex :: send(500, 0:ranks - 1), recv(500, 0:ranks - 1)
    integer :: other, i
    do other = 0, ranks - 1
      send(:, other) = [(dcmplx(number(rank, other, i), -i), i = 1, 500)]
    end do
    call MPI_ALLTOALL(send, 500, MPI_DOUBLE_COMPLEX, recv, 500, MPI_DOUBLE_COMPLEX, on, code)
    do other = 0, ranks - 1
      if (any(recv(:, other) /= [(dcmplx(number(other, rank, i), -i), i = 1, 500)])) wrong = wrong + 1
    end do
  end subroutine complexes

  subroutine in_place(on)
    integer, intent(in) :: on
    double precision :: both(3, 0:ranks - 1)
    integer :: other, i
    do other = 0, ranks - 1
      both(:, other) = [(dble(number(rank, other, i)), i = 1, 3)]
    end do
    call MPI_ALLTOALL(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, both, 3, MPI_DOUBLE_PRECISION, on, code)
    if (code /= MPI_SUCCESS) wrong = wrong + 1
    do other = 0, ranks - 1
      if (any(both(:, other) /= [(dble(number(other, rank, i)), i = 1, 3)])) wrong = wrong + 1
    end do
  end subroutine in_place

  ! Every second real is sent, and received in a row.
  subroutine with_gaps(on)
    integer, intent(in) :: on
    real :: send(2, 5, 0:ranks - 1), recv(5, 0:ranks - 1)
    integer :: other, i, pairs, spaced
    do other = 0, ranks - 1
      send(1, :, other) = [(real(number(rank, other, i)), i = 1, 5)]
      send(2, :, other) = -5.0
    end do
    call MPI_TYPE_VECTOR(5, 1, 2, MPI_REAL, pairs, code)
    call MPI_TYPE_CREATE_RESIZED(pairs, 0_MPI_ADDRESS_KIND, 40_MPI_ADDRESS_KIND, spaced, code)
    call MPI_TYPE_COMMIT(spaced, code)
    call MPI_ALLTOALL(send, 1, spaced, recv, 5, MPI_REAL, on, code)
    if (code /= MPI_SUCCESS) wrong = wrong + 1
    call MPI_TYPE_FREE(spaced, code)
    call MPI_TYPE_FREE(pairs, code)
    do other = 0, ranks - 1
      if (any(recv(:, other) /= [(real(number(other, rank, i)), i = 1, 5)])) wrong = wrong + 1
    end do
  end subroutine with_gaps

  ! Elements from one to another; as many come back.
  pure integer function length(from, to)
    integer, intent(in) :: from, to
    length = mod(2 * (from + to), 5)
  end function length

  ! Blocks of 8, of which the first elements are used.
  subroutine by_counts(on, replace)
    integer, intent(in) :: on
    logical, intent(in) :: replace
    integer :: send(8, 0:ranks - 1), recv(8, 0:ranks - 1), counts(0:ranks - 1), places(0:ranks - 1), other, me, i
    call MPI_COMM_RANK(on, me, code)
    recv = -1
    do other = 0, ranks - 1
      counts(other) = length(me, other)
      places(other) = 8 * other
      send(:, other) = [(number(me, other, i), i = 1, 8)]
      if (replace) recv(:counts(other), other) = send(:counts(other), other)
    end do
    if (replace) then
      call MPI_ALLTOALLV(MPI_IN_PLACE, [-1], [-1], MPI_DATATYPE_NULL, recv, counts, places, MPI_INTEGER, on, code)
    else
      call MPI_ALLTOALLV(send, counts, places, MPI_INTEGER, recv, counts, places, MPI_INTEGER, on, code)
    end if
    if (code /= MPI_SUCCESS) wrong = wrong + 1
    do other = 0, ranks - 1
      if (any(recv(:counts(other), other) /= [(number(other, me, i), i = 1, counts(other))])) wrong = wrong + 1
      if (any(recv(counts(other) + 1:, other) /= -1)) wrong = wrong + 1
    end do
  end subroutine by_counts

  ! Sent in a row; odd ranks take every second element.
  subroutine by_types(on, replace)
    integer, intent(in) :: on
    logical, intent(in) :: replace
    integer :: send(16, 0:ranks - 1), recv(16, 0:ranks - 1), counts(0:ranks - 1), places(0:ranks - 1)
    integer :: plain(0:ranks - 1), types(0:ranks - 1), spaced, other, me, i, step
    call MPI_COMM_RANK(on, me, code)
    call MPI_TYPE_CREATE_RESIZED(MPI_INTEGER, 0_MPI_ADDRESS_KIND, 8_MPI_ADDRESS_KIND, spaced, code)
    call MPI_TYPE_COMMIT(spaced, code)
    recv = -1
    plain = MPI_INTEGER
    do other = 0, ranks - 1
      counts(other) = length(me, other)
      places(other) = 4 * 16 * other
      types(other) = merge(spaced, MPI_INTEGER, mod(other, 2) == 1)
      step = merge(2, 1, mod(other, 2) == 1)
      send(:, other) = [(number(me, other, i), i = 1, 16)]
      if (replace) recv(1:step * counts(other):step, other) = send(:counts(other), other)
    end do
    if (replace) then
      call MPI_ALLTOALLW(MPI_IN_PLACE, [-1], [-1], [-1], recv, counts, places, types, on, code)
    else
      call MPI_ALLTOALLW(send, counts, places, plain, recv, counts, places, types, on, code)
    end if
    if (code /= MPI_SUCCESS) wrong = wrong + 1
    call MPI_TYPE_FREE(spaced, code)
    do other = 0, ranks - 1
      step = merge(2, 1, mod(other, 2) == 1)
      if (any(recv(1:step * counts(other):step, other) /= [(number(other, me, i), i = 1, counts(other))])) wrong = wrong + 1
      if (step == 2 .and. any(recv(2::2, other) /= -1)) wrong = wrong + 1
      if (any(recv(step * counts(other) + 1:, other) /= -1)) wrong = wrong + 1
    end do
  end subroutine by_types
end program fortran
