#include "mpi/requests/tokens.h"

#include <mutex>
#include <vector>

#include "mpi/library/pmpi.h"

namespace crossrail::mpi {
namespace {

constexpr int kMostTags = 32768;  // MPI guarantees so many.

std::mutex tokens_mutex;
int tags_made = 0;
std::vector<int>& free_tags() {
  static auto& tags = *new std::vector<int>;
  return tags;
}

void stay_silent_of_tokens(MPI_Comm*, int*, ...) {}

// Returns a communicator of this process alone that returns errors as codes, or null if it could not be made.
MPI_Comm own_communicator() {
  static const MPI_Comm made = [] {
    MPI_Comm comm = handles().comm_null;
    MPI_Errhandler handler;
    if (pmpi().Comm_split(handles().comm_self, 0, 0, &comm) != MPI_SUCCESS) return handles().comm_null;
    if (pmpi().Comm_create_errhandler(stay_silent_of_tokens, &handler) != MPI_SUCCESS) return handles().comm_null;
    (void)pmpi().Comm_set_errhandler(comm, handler);
    (void)pmpi().Errhandler_free(&handler);
    return comm;
  }();
  return made;
}

}  // namespace

bool tokens_possible() {
  int initialized = 0;
  (void)pmpi().Initialized(&initialized);
  return initialized != 0 && own_communicator() != handles().comm_null;
}

int open_token(Token& token) {
  const std::lock_guard lock(tokens_mutex);
  if (!free_tags().empty()) {
    token.tag = free_tags().back();
    free_tags().pop_back();
  } else if (tags_made < kMostTags) {
    token.tag = tags_made++;
  } else {
    return MPI_ERR_NO_MEM;
  }
  const int code = pmpi().Recv_init(nullptr, 0, handles().byte, 0, token.tag, own_communicator(), &token.request);
  if (code == MPI_SUCCESS) return code;
  free_tags().push_back(token.tag);
  token.tag = -1;
  return code;
}

void drop_token(Token& token) {
  if (token.tag >= 0) (void)pmpi().Request_free(&token.request);
  close_token(token);
}

int start_token(Token& token) { return pmpi().Start(&token.request); }

// One byte is too much for a receive of zero bytes, which causes MPI_ERR_TRUNCATE.
void complete_token(const Token& token, int code) {
  static char byte = 0;
  MPI_Request sent;
  if (pmpi().Isend(&byte, code == MPI_SUCCESS ? 0 : 1, handles().byte, 0, token.tag, own_communicator(), &sent) == MPI_SUCCESS) {
    (void)pmpi().Request_free(&sent);
    return;
  }
  MPI_Request its = token.request;  // Without this end, the program would wait for ever.
  (void)pmpi().Cancel(&its);
}

void withdraw_token(Token& token) { (void)pmpi().Cancel(&token.request); }

void close_token(Token& token) {
  if (token.tag < 0) return;
  const std::lock_guard lock(tokens_mutex);
  free_tags().push_back(token.tag);
  token.tag = -1;
}

}  // namespace crossrail::mpi
