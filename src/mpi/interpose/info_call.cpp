#include "mpi/interpose/info_call.h"

#include <atomic>

#include "mpi/communicator/communicators.h"
#include "mpi/communicator/info_keys.h"
#include "mpi/library/arguments.h"
#include "mpi/library/pmpi.h"

namespace crossrail::mpi {
namespace {

std::atomic<int> open_sessions{0};

}  // namespace

void info_given(Word64 comm, Word64 info) {
  if (find_functions() != nullptr) keep_info_keys(handle_from<MPI_Comm>(comm), handle_from<MPI_Info>(info));
}

void info_given_to_new(Word64 comm_address, Word64 info) {
  if (find_functions() != nullptr) keep_info_keys(*reinterpret_cast<MPI_Comm*>(comm_address), handle_from<MPI_Info>(info));
}

void copies_begin(Word64 comm, Word64 info) {
  if (find_functions() != nullptr) begin_copies_with(handle_from<MPI_Comm>(comm), handle_from<MPI_Info>(info));
}

void copies_end() {
  if (find_functions() != nullptr) end_copies();
}

void info_told(Word64 comm, Word64 info_address) {
  if (find_functions() != nullptr) tell_info_keys(handle_from<MPI_Comm>(comm), *reinterpret_cast<MPI_Info*>(info_address));
}

void* free_begins(Word64 comm_address) {
  return comm_address == 0 || find_functions() == nullptr ? nullptr : begin_to_free(*reinterpret_cast<MPI_Comm*>(comm_address));
}

void disconnect_begins(Word64 comm_address) {
  if (comm_address != 0 && find_functions() != nullptr) begin_to_disconnect(*reinterpret_cast<MPI_Comm*>(comm_address));
}

void free_ends(void* begun) {
  if (begun != nullptr) end_freeing(static_cast<Freeing*>(begun));
}

void session_began() { open_sessions.fetch_add(1); }

void session_ended() {
  if (open_sessions.fetch_sub(1) == 1 && find_functions() != nullptr && !mpi_is_up().ok()) mpi_is_over();
}

}  // namespace crossrail::mpi
