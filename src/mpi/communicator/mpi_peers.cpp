#include "mpi/communicator/mpi_peers.h"

#include <algorithm>

#include "base/random.h"
#include "mpi/communicator/communicators.h"
#include "mpi/communicator/mpi_exchange.h"
#include "mpi/communicator/private_communicators.h"
#include "mpi/library/pmpi.h"
#include "transport/process_memory.h"

namespace crossrail::mpi {
namespace {

// It makes errors on the private communicator come back as codes. It is a handler of our own because the headers of the standard ABI do not agree on
// the value of MPI_ERRORS_RETURN.
void stay_silent(MPI_Comm*, int*, ...) {}

Status return_errors(MPI_Comm comm) {
  MPI_Errhandler handler;
  CROSSRAIL_TRY(from_mpi(pmpi().Comm_create_errhandler(stay_silent, &handler), "MPI_Comm_create_errhandler"));
  const int code = pmpi().Comm_set_errhandler(comm, handler);
  (void)pmpi().Errhandler_free(&handler);
  return from_mpi(code, "MPI_Comm_set_errhandler");
}

// A split copies none of the user's attributes, while a dup would call their copy
// functions. If MPI has no communicator left, the program does not hear of it.
Status split(MPI_Comm user, int rank, MPI_Comm& made) {
  MPI_Errhandler its, silent;
  const bool created = pmpi().Comm_create_errhandler(stay_silent, &silent) == MPI_SUCCESS;
  const bool known = created && pmpi().Comm_get_errhandler(user, &its) == MPI_SUCCESS;
  if (known) (void)pmpi().Comm_set_errhandler(user, silent);
  const int code = pmpi().Comm_split(user, 0, rank, &made);  // The other ranks are in the split too.
  if (known) {
    (void)pmpi().Comm_set_errhandler(user, its);
    (void)pmpi().Errhandler_free(&its);
  }
  if (created) (void)pmpi().Errhandler_free(&silent);
  return from_mpi(code, "MPI_Comm_split");
}

// In a program that uses only sessions there is no world to compare with.
bool holds_whole_program(int size) {
  int initialized = 0, world_size = 0;
  (void)pmpi().Initialized(&initialized);
  return initialized != 0 && pmpi().Comm_size(handles().comm_world, &world_size) == MPI_SUCCESS && size == world_size;
}

}  // namespace

MpiPeers::MpiPeers(MPI_Comm user_comm, int own_rank, const std::vector<Location>& all, CommonNumber number)
    : user(user_comm), rank(own_rank), size_(static_cast<int>(all.size())), common_(common_space(all, number)), number_(std::move(number)) {
  const Location& mine = all[own_rank];
  for (int other = 0; other < size_; ++other) {
    const Location& its = all[other];
    if (its.machine == mine.machine && its.pid_space == mine.pid_space) neighbours_.push_back({other, its.pid});
  }
  neighbours_.shrink_to_fit();
}

MpiPeers::~MpiPeers() {
  if (notices == nullptr) return;
  if (finalizing()) {
    (void)notices.release();  // MPI may still be sending from its memory.
    return;
  }
  close_later(std::move(notices));
}

Status MpiPeers::open_messages() {
  if (messages_open()) return {};
  if (common_.box == nullptr) return make_private_communicator();
  close_private_communicators();  // This limits the number of open communicators: as many may be freed as are made.
  open_on(std::move(common_));
  return {};
}

void MpiPeers::open_on(MessageSpace space) {
  notices = std::make_unique<ErrorNotices>(ErrorNotices::Place{std::move(space), std::move(number_), rank, size()});
  opened_messages(*notices);
}

Status MpiPeers::make_private_communicator() {
  MpiExchange exchange(user, size(), 0);
  CommonCommunicator& common = CommonCommunicator::of_process();
  std::uint64_t name = random_word();
  const bool claims = holds_whole_program(size_) && common.claim();
  bool becomes_common = claims;
  const MpiExchange::End asked = exchange.ask(room_for_private_communicator(), becomes_common, name);
  all_know_of_failure = exchange.is_over();
  MPI_Comm made = handles().comm_null;
  MpiExchange::End end = MpiExchange::End::refused;
  if (!exchange.is_over()) {
    Status opened = split(user, rank, made);
    if (opened.ok()) opened = return_errors(made);
    end = exchange.finish(opened.ok() && asked == MpiExchange::End::agreed);
    all_know_of_failure = end == MpiExchange::End::refused;
  }
  const bool settles = claims && becomes_common && end == MpiExchange::End::agreed;
  if (claims && !settles) common.unclaim();
  if (end != MpiExchange::End::agreed) {
    // If the others may believe that it is open, they send on it, and it has to stay.
    if (made != handles().comm_null && all_know_of_failure) (void)pmpi().Comm_free(&made);
    return failed(all_know_of_failure ? Code::unsupported : Code::system,
                  "MPI cannot make another communicator for crossrail's messages, or CROSSRAIL_PRIVATE_COMMUNICATORS does not allow it");
  }
  open_on(private_space(settles ? common.settle(made, name, rank) : std::make_shared<NoticeBox>(made), name));
  return {};
}

bool MpiPeers::alive(int other) const {
  const int process = process_of(other);
  return process < 0 || process_alive(process);
}

int MpiPeers::process_of(int other) const {
  const auto at = std::lower_bound(neighbours_.begin(), neighbours_.end(), other, [](const Neighbour& one, int wanted) { return one.rank < wanted; });
  return at == neighbours_.end() || at->rank != other ? -1 : at->process;
}

}  // namespace crossrail::mpi
