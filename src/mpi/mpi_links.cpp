#include "mpi/mpi_links.h"

#include <atomic>

#include "base/settings.h"
#include "device/device.h"
#include "mpi/pmpi.h"
#include "transport/process_memory.h"

namespace crossrail::mpi {
namespace {

constexpr std::size_t kMostMessageBytes = std::size_t{1} << 30;  // counts are int
constexpr int kTag = 0;

// MPI libraries have a limited number of communicators (MPICH about 2000): the program's come first.
std::atomic<std::uint64_t> private_count{0};

Status from_mpi(int code, const char* function) {
  if (code == MPI_SUCCESS) return {};
  return failure(Code::system, "%s returned error %d", function, code);
}

}  // namespace

MpiLinks::MpiLinks(MPI_Comm user, int rank, std::vector<Location> locations)
    : user_(user), private_(handles().comm_null), rank_(rank), locations_(std::move(locations)) {}

MpiLinks::~MpiLinks() {
  if (private_ == handles().comm_null) return;
  int finalized = 0;
  pmpi().Finalized(&finalized);
  if (finalized == 0) pmpi().Comm_free(&private_);
  --private_count;
}

Status MpiLinks::open_messages() {
  if (private_ != handles().comm_null) return {};
  Code worst = Code::ok;
  const bool room = private_count.load() < process_settings().private_communicators;
  CROSSRAIL_TRY(agree(room ? Code::ok : Code::unsupported, worst));
  if (worst != Code::ok) return failed(worst, "more communicators than CROSSRAIL_PRIVATE_COMMUNICATORS");
  // A split carries none of the user's attributes, whose copy functions would see a dup.
  CROSSRAIL_TRY(from_mpi(pmpi().Comm_split(user_, 0, rank_, &private_), "MPI_Comm_split"));
  ++private_count;
  requests_.reserve(2 * locations_.size());
  return {};
}

Status MpiLinks::post_send(int rank, const void* data, std::size_t bytes) {
  const auto* from = static_cast<const std::byte*>(data);
  do {
    const std::size_t part = bytes < kMostMessageBytes ? bytes : kMostMessageBytes;
    requests_.emplace_back();
    CROSSRAIL_TRY(from_mpi(
        pmpi().Isend(from, static_cast<int>(part), handles().byte, rank, kTag, private_, &requests_.back()), "MPI_Isend"));
    from += part;
    bytes -= part;
  } while (bytes > 0);
  return {};
}

Status MpiLinks::post_recv(int rank, void* data, std::size_t bytes) {
  auto* into = static_cast<std::byte*>(data);
  do {
    const std::size_t part = bytes < kMostMessageBytes ? bytes : kMostMessageBytes;
    requests_.emplace_back();
    CROSSRAIL_TRY(from_mpi(
        pmpi().Irecv(into, static_cast<int>(part), handles().byte, rank, kTag, private_, &requests_.back()), "MPI_Irecv"));
    into += part;
    bytes -= part;
  } while (bytes > 0);
  return {};
}

Status MpiLinks::wait_posted() {
  const int count = static_cast<int>(requests_.size());
  const int code = pmpi().Waitall(count, requests_.data(), MPI_STATUSES_IGNORE);
  requests_.clear();
  return from_mpi(code, "MPI_Waitall");
}

Status MpiLinks::agree(Code mine, Code& worst) {
  int code = static_cast<int>(mine);
  int largest = code;
  CROSSRAIL_TRY(from_mpi(pmpi().Allreduce(&code, &largest, 1, handles().whole_number, handles().maximum, user_), "MPI_Allreduce"));
  worst = static_cast<Code>(largest);
  return {};
}

bool MpiLinks::readable_by_peers(const void* address, std::size_t bytes) {
  if (!device::driver_present()) return true;
  // The kernel answers for our own pages as it would for a peer's call: the first and the last
  // byte stand for the rest, since such memory is mapped in one piece.
  const auto first = reinterpret_cast<std::uint64_t>(address);
  char byte = 0;
  return bytes == 0 || (read_process(locations_[rank_].pid, &byte, first, 1).ok() &&
                        read_process(locations_[rank_].pid, &byte, first + bytes - 1, 1).ok());
}

Status MpiLinks::read_peer(int rank, void* to, std::uint64_t address, std::size_t bytes) {
  return read_process(locations_[rank].pid, to, address, bytes);
}

void MpiLinks::progress() {
  int flag = 0;
  (void)pmpi().Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, user_, &flag, MPI_STATUS_IGNORE);
}

bool MpiLinks::alive(int rank) {
  if (locations_[rank].pid_space != locations_[rank_].pid_space) return true;  // its pid means nothing here
  return process_alive(locations_[rank].pid);
}

}  // namespace crossrail::mpi
