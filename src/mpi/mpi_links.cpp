#include "mpi/mpi_links.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/settings.h"
#include "device/device.h"
#include "mpi/communicators.h"
#include "mpi/counters.h"
#include "mpi/pmpi.h"
#include "transport/process_memory.h"

namespace crossrail::mpi {
namespace {

constexpr std::size_t kMostMessageBytes = std::size_t{1} << 30;  // counts are int
// Tags: the call, so that a message which nobody expected cannot be taken for one of a later call, and
// the channel; the bulletin's is 1. MPI promises tags up to 32767.
constexpr std::uint64_t kCallsInTags = 8000;
constexpr int kTagsACall = 4;
constexpr int kTagOf[] = {0, 2};
constexpr int kTestsBetweenYields = 1000;

// MPI libraries have a limited number of communicators (MPICH about 2000): the program's come first.
std::atomic<std::uint64_t> private_count{0};

Status from_mpi(int code, const char* function) {
  if (code == MPI_SUCCESS) return {};
  return failure(Code::system, "%s returned error %d", function, code);
}

// Errors on the private communicator come back as codes. A handler of our own, because the standard
// ABI's headers do not agree on the value of MPI_ERRORS_RETURN.
void stay_silent(MPI_Comm*, int*, ...) {}

Status return_errors(MPI_Comm comm) {
  MPI_Errhandler handler;
  CROSSRAIL_TRY(from_mpi(pmpi().Comm_create_errhandler(stay_silent, &handler), "MPI_Comm_create_errhandler"));
  const int code = pmpi().Comm_set_errhandler(comm, handler);
  (void)pmpi().Errhandler_free(&handler);
  return from_mpi(code, "MPI_Comm_set_errhandler");
}

}  // namespace

MpiLinks::MpiLinks(MPI_Comm user, int rank, std::vector<Location> locations, Waiting waiting)
    : user_(user), private_(handles().comm_null), rank_(rank), locations_(std::move(locations)), waiting_(waiting) {}

MpiLinks::~MpiLinks() {
  if (private_ == handles().comm_null || finalizing()) return;
  const bool keep = bulletin_ != nullptr && bulletin_->was_used();
  bulletin_.reset();
  if (keep) return;
  (void)pmpi().Comm_free(&private_);
  --private_count;
}

Status MpiLinks::open_messages() {
  if (private_ != handles().comm_null) return {};
  int room = private_count.load() < process_settings().private_communicators ? 0 : 1, worst = 1;
  CROSSRAIL_TRY(from_mpi(pmpi().Allreduce(&room, &worst, 1, handles().whole_number, handles().maximum, user_), "MPI_Allreduce"));
  if (worst != 0) return failed(Code::unsupported, "more communicators than CROSSRAIL_PRIVATE_COMMUNICATORS");
  // A split carries none of the user's attributes, whose copy functions would see a dup.
  CROSSRAIL_TRY(from_mpi(pmpi().Comm_split(user_, 0, rank_, &private_), "MPI_Comm_split"));
  ++private_count;
  CROSSRAIL_TRY(return_errors(private_));
  const std::size_t size = locations_.size();
  bulletin_ = std::make_unique<Bulletin>(private_, rank_, static_cast<int>(size));
  requests_.reserve(2 * size);
  posted_.reserve(2 * size);
  statuses_.resize(2 * size);
  return {};
}

Status MpiLinks::post_send(int rank, const void* data, std::size_t bytes, Channel channel) {
  const auto* from = static_cast<const std::byte*>(data);
  const int tag = call_tag_ + kTagOf[static_cast<int>(channel)];
  int number = 0;
  do {
    const int part = static_cast<int>(std::min(bytes, kMostMessageBytes));
    requests_.push_back(handles().request_null);
    posted_.push_back({-1, rank, number++});
    CROSSRAIL_TRY(from_mpi(pmpi().Isend(from, part, handles().byte, rank, tag, private_, &requests_.back()), "MPI_Isend"));
    from += part;
    bytes -= static_cast<std::size_t>(part);
  } while (bytes > 0);
  return {};
}

Status MpiLinks::post_recv(int rank, void* data, std::size_t bytes, Channel channel) {
  auto* into = static_cast<std::byte*>(data);
  const int tag = call_tag_ + kTagOf[static_cast<int>(channel)];
  int number = 0;
  do {
    const int part = static_cast<int>(std::min(bytes, kMostMessageBytes));
    requests_.push_back(handles().request_null);
    posted_.push_back({part, rank, number++});
    CROSSRAIL_TRY(from_mpi(pmpi().Irecv(into, part, handles().byte, rank, tag, private_, &requests_.back()), "MPI_Irecv"));
    into += part;
    bytes -= static_cast<std::size_t>(part);
  } while (bytes > 0);
  return {};
}

// A collective (no posted_ says more) awaits everybody.
bool MpiLinks::awaits(int peer) const {
  if (posted_.empty()) return true;
  for (std::size_t one = 0; one < posted_.size(); ++one) {
    if (posted_[one].peer == peer && requests_[one] != handles().request_null) return true;
  }
  return false;
}

Status MpiLinks::look_around() {
  if (board_ != nullptr) CROSSRAIL_TRY(board_->look());
  CROSSRAIL_TRY(look());
  for (int peer = 0; peer < static_cast<int>(locations_.size()); ++peer) {
    if (awaits(peer) && !alive(peer)) return failure(Code::peer_lost, "rank %d has ended while rank %d waits for it", peer, rank_);
  }
  return {};
}

Status MpiLinks::wait_requests(Span span) {
  if (statuses_.size() < requests_.size()) statuses_.resize(requests_.size());
  const int count = static_cast<int>(span.end - span.first);
  const int tests_between_yields = waiting_.oversubscribed ? 1 : kTestsBetweenYields;
  const std::int64_t patience_ns = static_cast<std::int64_t>(waiting_.patience_ms) * 1'000'000;
  std::int64_t looked = 0;
  Status trouble;
  for (int tests = 1;; ++tests) {
    int done = 0;
    const int code = pmpi().Testall(count, &requests_[span.first], &done, &statuses_[span.first]);
    if (code != MPI_SUCCESS) return failed(Code::mismatch, "a message was longer than this rank's blocks");
    if (done != 0) return {};
    if (!trouble.ok()) return trouble;  // and what it had sent before has not completed our wait
    if (tests % tests_between_yields != 0) continue;
    sched_yield();
    const std::int64_t now = now_ns();
    if (looked == 0) looked = now;
    if (now - looked < patience_ns / 2) continue;
    looked = now;
    trouble = look_around();
  }
}

Status MpiLinks::check_sizes(Span span) {
  for (std::size_t one = span.first; one < span.end; ++one) {
    if (posted_[one].expected_bytes < 0) continue;
    int bytes = 0;
    (void)pmpi().Get_count(&statuses_[one], handles().byte, &bytes);
    if (bytes == posted_[one].expected_bytes) {
      posted_[one].expected_bytes = -1;  // a later test would find its status empty
      continue;
    }
    return failure(Code::mismatch, "rank %d has sent %d bytes, rank %d expects %d", posted_[one].peer, bytes, rank_,
                   posted_[one].expected_bytes);
  }
  return {};
}

// After an error: nothing more may arrive in the user's memory.
void MpiLinks::give_up() {
  for (std::size_t one = 0; one < requests_.size(); ++one) {
    if (requests_[one] == handles().request_null) continue;
    if (posted_[one].expected_bytes >= 0) (void)pmpi().Cancel(&requests_[one]);
    (void)pmpi().Request_free(&requests_[one]);
  }
}

Status MpiLinks::finish(Span span) {
  if (span.first == span.end) return {};
  Status status = wait_requests(span);
  if (status.ok()) status = check_sizes(span);
  if (!status.ok()) give_up();
  return status;
}

Status MpiLinks::wait_for(Ticket ticket) {
  return finish({ticket - static_cast<std::size_t>(posted_[ticket].part), ticket + 1});
}

Status MpiLinks::wait_posted() {
  const Status status = finish({0, requests_.size()});
  requests_.clear();
  posted_.clear();
  return status;
}

Status MpiLinks::share(std::size_t bytes, NodeMemory& memory) {
  if (memory.bytes >= bytes) return {};
  auto grown = std::make_unique<SharedMemory>();
  Status mine;
  static_assert(sizeof(SharedMemoryAddress) <= NodeBoard::kMailboxBytes);
  SharedMemoryAddress address{};
  if (board_->node_rank() == 0) {
    mine = grown->create(segment_kind_.c_str(), bytes + kCacheLineBytes);
    if (mine.ok()) address = grown->address();
    std::memcpy(board_->mailbox(), &address, sizeof address);
  }
  Code worst = Code::ok;
  CROSSRAIL_TRY(board_->agree(mine.code, worst));
  if (worst == Code::ok && board_->node_rank() != 0) {
    std::memcpy(&address, board_->mailbox(), sizeof address);
    mine = grown->attach(address);
  }
  CROSSRAIL_TRY(board_->agree(std::max(mine.code, worst), worst));
  grown->seal();
  if (worst != Code::ok) return mine.ok() ? failed(worst, "the node's memory could not be shared") : mine;
  node_memory_ = std::move(grown);
  // Its first bytes are SharedMemory's.
  memory = {node_memory_->data() + kCacheLineBytes, node_memory_->bytes() - kCacheLineBytes, 0};
  return {};
}

Status MpiLinks::agree(Code mine, Code& worst) {
  CROSSRAIL_TRY(open_messages());
  agreement_[0] = agreement_[1] = static_cast<int>(mine);
  requests_.emplace_back();
  CROSSRAIL_TRY(from_mpi(pmpi().Iallreduce(&agreement_[0], &agreement_[1], 1, handles().whole_number,
                                           handles().maximum, private_, &requests_.back()), "MPI_Iallreduce"));
  const Status status = wait_requests({0, requests_.size()});
  // A collective cannot be cancelled: after an error its request is left to it.
  requests_.clear();
  CROSSRAIL_TRY(status);
  worst = static_cast<Code>(agreement_[1]);
  return {};
}

Status MpiLinks::offer(const void* data, std::size_t bytes, std::uint64_t& address) {
  address = reinterpret_cast<std::uint64_t>(data);
  if (bytes == 0 || !device::driver_present()) return {};
  // The kernel answers for our own pages as it would for a peer's call: the first and the last
  // byte stand for the rest, since such memory is mapped in one piece.
  char byte = 0;
  const int self = locations_[rank_].pid;
  if (read_process(self, &byte, address, 1).ok() && read_process(self, &byte, address + bytes - 1, 1).ok()) return {};
  CROSSRAIL_TRY(offered_.reserve(bytes));
  std::memcpy(offered_.memory.get(), data, bytes);
  address = reinterpret_cast<std::uint64_t>(offered_.memory.get());
  return {};
}

Status MpiLinks::read_peer(int rank, void* to, std::uint64_t address, std::size_t bytes) {
  return read_process(locations_[rank].pid, to, address, bytes);
}

void MpiLinks::enter(std::uint64_t shape_hash, std::uint64_t block_bytes) {
  call_tag_ = kTagsACall * static_cast<int>(++call_ % kCallsInTags);
  if (bulletin_ != nullptr) bulletin_->enter(shape_hash, block_bytes);
}

Status MpiLinks::look() { return bulletin_ == nullptr ? Status{} : bulletin_->look(); }

void MpiLinks::announce(Code code) {
  if (bulletin_ != nullptr) bulletin_->announce(code);
}

void MpiLinks::progress() {
  int flag = 0;
  (void)pmpi().Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, user_, &flag, MPI_STATUS_IGNORE);
}

bool MpiLinks::alive(int rank) {
  const Location& its = locations_[rank];
  const Location& mine = locations_[rank_];
  if (its.machine != mine.machine || its.pid_space != mine.pid_space) return true;  // its pid means nothing here
  return process_alive(locations_[rank].pid);
}

}  // namespace crossrail::mpi
