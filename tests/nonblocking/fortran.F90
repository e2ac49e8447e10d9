! MPI_Ialltoall, MPI_Ialltoallv and MPI_Ialltoallw by mpif.h, or by 'use mpi' (-DUSE_MODULE): also in place, of several types, on
! another communicator, many outstanding; completed by Wait, Waitall and Testsome. The persistent forms.
#ifdef MPI_TEST_openmpi4
#define PLAIN_INIT MPIX_ALLTOALL_INIT
#define VECTOR_INIT MPIX_ALLTOALLV_INIT
#define TYPES_INIT MPIX_ALLTOALLW_INIT
#else
#define PLAIN_INIT MPI_ALLTOALL_INIT
#define VECTOR_INIT MPI_ALLTOALLV_INIT
#define TYPES_INIT MPI_ALLTOALLW_INIT
#endif
program fortran
#ifdef USE_MODULE
  use mpi
  implicit none
#else
  implicit none
  include 'mpif.h'
#endif
  integer, parameter :: most = 12
  integer :: rank, ranks, code, wrong, comm

  wrong = 0
  call MPI_INIT(code)
  call MPI_COMM_RANK(MPI_COMM_WORLD, rank, code)
  call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, code)
  call MPI_COMM_SPLIT(MPI_COMM_WORLD, 0, -rank, comm, code)
  call outstanding(MPI_COMM_WORLD, .false.)
  call outstanding(comm, .true.)
  ! crossrail opens a communicator in a blocking collective.
  call MPI_BARRIER(comm, code)
  call outstanding(comm, .true.)
  call in_place(comm)
  call by_counts(comm)
  if (types_work()) call by_types(comm)
  call persistent(comm)
  call MPI_COMM_FREE(comm, code)
  call MPI_FINALIZE(code)
  if (wrong > 0) then
    print '(a,i0,a)', 'rank ', rank, ' received wrong numbers'
    stop 1
  end if
  print '(a)', 'PASS'
contains
  ! Open MPI 4.1 itself forgets the types of MPI_IALLTOALLW before the end, and ends in a segmentation fault.
  logical function types_work()
#ifdef MPI_TEST_openmpi4
    integer :: status
    call get_environment_variable('NONBLOCKING_CARRIED', status=status)
    types_work = status == 0
#else
    types_work = .true.
#endif
  end function types_work

  pure integer function number(from, to, i)
    integer, intent(in) :: from, to, i
    number = from * 100000 + to * 1000 + i
  end function number

  ! Elements from one to another; as many come back.
  pure integer function length(from, to)
    integer, intent(in) :: from, to
    length = mod(2 * (from + to), 5)
  end function length

  ! Several at once, completed together or a few at a time.
  subroutine outstanding(on, by_testsome)
    integer, intent(in) :: on
    logical, intent(in) :: by_testsome
    integer, asynchronous :: send(7, 0:ranks - 1, most), recv(7, 0:ranks - 1, most)
    integer :: requests(most), statuses(MPI_STATUS_SIZE, most), indices(most), other, me, i, k, ended, done
    call MPI_COMM_RANK(on, me, code)
    recv = -1
    do k = 1, most
      do other = 0, ranks - 1
        send(:, other, k) = [(number(me, other, i + 10 * k), i = 1, 7)]
      end do
      call MPI_IALLTOALL(send(1, 0, k), 7, MPI_INTEGER, recv(1, 0, k), 7, MPI_INTEGER, on, requests(k), code)
      if (code /= MPI_SUCCESS) wrong = wrong + 1
    end do
    if (by_testsome) then
      ended = 0
      do while (ended < most)
        call MPI_TESTSOME(most, requests, done, indices, statuses, code)
        if (done /= MPI_UNDEFINED) ended = ended + done
      end do
    else
      call MPI_WAITALL(most, requests, statuses, code)
    end if
    if (code /= MPI_SUCCESS .or. any(requests /= MPI_REQUEST_NULL)) wrong = wrong + 1
    do k = 1, most
      do other = 0, ranks - 1
        if (any(recv(:, other, k) /= [(number(other, me, i + 10 * k), i = 1, 7)])) wrong = wrong + 1
      end do
    end do
  end subroutine outstanding

  subroutine in_place(on)
    integer, intent(in) :: on
    double precision, asynchronous :: both(3, 0:ranks - 1)
    integer :: other, i, me, request
    call MPI_COMM_RANK(on, me, code)
    do other = 0, ranks - 1
      both(:, other) = [(dble(number(me, other, i)), i = 1, 3)]
    end do
    call MPI_IALLTOALL(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, both, 3, MPI_DOUBLE_PRECISION, on, request, code)
    if (code /= MPI_SUCCESS) wrong = wrong + 1
    call MPI_WAIT(request, MPI_STATUS_IGNORE, code)
    do other = 0, ranks - 1
      if (any(both(:, other) /= [(dble(number(other, me, i)), i = 1, 3)])) wrong = wrong + 1
    end do
  end subroutine in_place

  ! Blocks of 8, of which the first elements are used.
  subroutine by_counts(on)
    integer, intent(in) :: on
    integer, asynchronous :: send(8, 0:ranks - 1), recv(8, 0:ranks - 1), counts(0:ranks - 1), places(0:ranks - 1)
    integer :: other, me, i, request
    call MPI_COMM_RANK(on, me, code)
    recv = -1
    do other = 0, ranks - 1
      counts(other) = length(me, other)
      places(other) = 8 * other
      send(:, other) = [(number(me, other, i), i = 1, 8)]
    end do
    call MPI_IALLTOALLV(send, counts, places, MPI_INTEGER, recv, counts, places, MPI_INTEGER, on, request, code)
    if (code /= MPI_SUCCESS) wrong = wrong + 1
    call MPI_WAIT(request, MPI_STATUS_IGNORE, code)
    do other = 0, ranks - 1
      if (any(recv(:counts(other), other) /= [(number(other, me, i), i = 1, counts(other))])) wrong = wrong + 1
      if (any(recv(counts(other) + 1:, other) /= -1)) wrong = wrong + 1
    end do
  end subroutine by_counts

  ! Sent in a row; from odd ranks every second element is taken. The type is freed before the end.
  subroutine by_types(on)
    integer, intent(in) :: on
    integer, asynchronous :: send(16, 0:ranks - 1), recv(16, 0:ranks - 1), counts(0:ranks - 1), places(0:ranks - 1)
    integer, asynchronous :: plain(0:ranks - 1), types(0:ranks - 1)
    integer :: spaced, other, me, i, step, request
    call MPI_COMM_RANK(on, me, code)
    call MPI_TYPE_CREATE_RESIZED(MPI_INTEGER, 0_MPI_ADDRESS_KIND, 8_MPI_ADDRESS_KIND, spaced, code)
    call MPI_TYPE_COMMIT(spaced, code)
    recv = -1
    plain = MPI_INTEGER
    do other = 0, ranks - 1
      counts(other) = length(me, other)
      places(other) = 4 * 16 * other
      types(other) = merge(spaced, MPI_INTEGER, mod(other, 2) == 1)
      send(:, other) = [(number(me, other, i), i = 1, 16)]
    end do
    call MPI_IALLTOALLW(send, counts, places, plain, recv, counts, places, types, on, request, code)
    if (code /= MPI_SUCCESS) wrong = wrong + 1
    call MPI_TYPE_FREE(spaced, code)
    call MPI_WAIT(request, MPI_STATUS_IGNORE, code)
    do other = 0, ranks - 1
      step = merge(2, 1, mod(other, 2) == 1)
      if (any(recv(1:step * counts(other):step, other) /= [(number(other, me, i), i = 1, counts(other))])) wrong = wrong + 1
      if (step == 2 .and. any(recv(2::2, other) /= -1)) wrong = wrong + 1
      if (any(recv(step * counts(other) + 1:, other) /= -1)) wrong = wrong + 1
    end do
  end subroutine by_types

  ! The three forms, started one by one and together with messages to the rank itself.
  subroutine persistent(on)
    integer, intent(in) :: on
    integer, asynchronous :: send(5, 0:ranks - 1), recv(5, 0:ranks - 1, 3), counts(0:ranks - 1), places(0:ranks - 1)
    integer, asynchronous :: byte_places(0:ranks - 1), types(0:ranks - 1), given, taken
    integer :: requests(5), other, me, i, k, round
    call MPI_COMM_RANK(on, me, code)
    counts = 5
    places = [(5 * i, i = 0, ranks - 1)]
    byte_places = 4 * places
    types = MPI_INTEGER
    call PLAIN_INIT(send, 5, MPI_INTEGER, recv(1, 0, 1), 5, MPI_INTEGER, on, MPI_INFO_NULL, requests(1), code)
    call VECTOR_INIT(send, counts, places, MPI_INTEGER, recv(1, 0, 2), counts, places, MPI_INTEGER, on, MPI_INFO_NULL, &
                     requests(2), code)
    if (types_work()) then
      call TYPES_INIT(send, counts, byte_places, types, recv(1, 0, 3), counts, byte_places, types, on, MPI_INFO_NULL, &
                      requests(3), code)
    else
      call PLAIN_INIT(send, 5, MPI_INTEGER, recv(1, 0, 3), 5, MPI_INTEGER, on, MPI_INFO_NULL, requests(3), code)
    end if
    if (code /= MPI_SUCCESS) wrong = wrong + 1
    call MPI_SEND_INIT(given, 1, MPI_INTEGER, me, 3, on, requests(4), code)
    call MPI_RECV_INIT(taken, 1, MPI_INTEGER, me, 3, on, requests(5), code)
    do round = 1, 20
      recv = -1
      given = round
      do other = 0, ranks - 1
        send(:, other) = [(number(me, other, i + round), i = 1, 5)]
      end do
      do k = 1, 3
        call MPI_START(requests(k), code)
        if (code /= MPI_SUCCESS) wrong = wrong + 1
      end do
      call MPI_STARTALL(2, requests(4:5), code)
      call MPI_WAITALL(5, requests, MPI_STATUSES_IGNORE, code)
      if (code /= MPI_SUCCESS .or. taken /= round) wrong = wrong + 1
      do k = 1, 3
        do other = 0, ranks - 1
          if (any(recv(:, other, k) /= [(number(other, me, i + round), i = 1, 5)])) wrong = wrong + 1
        end do
      end do
    end do
    do k = 1, 5
      call MPI_REQUEST_FREE(requests(k), code)
    end do
    if (any(requests /= MPI_REQUEST_NULL)) wrong = wrong + 1
  end subroutine persistent
end program fortran
