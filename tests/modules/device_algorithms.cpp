// The program tests every algorithm for device memory by its name, and crossrail's own choice. Blocks have many sizes, are in place or not, and have
// buffers off their alignment, twice in a row. It says what really carried.
//
//   device_algorithms [NAME...]      default: all

#include <map>

#include "device_exchange.h"

namespace {

using namespace device_test;

constexpr std::size_t kMiB = 1 << 20;
constexpr std::size_t kBlockBytes[] = {0, 1, 7, 16, 100, 4096, 4099, 65536, kMiB + 3, 5 * kMiB};
constexpr std::pair<std::size_t, std::size_t> kShifts[] = {{0, 0}, {4, 8}, {1, 0}, {3, 6}};
constexpr const char* kNames[] = {"auto", "packet", "ll128", "ipc_kernel_push", "ipc_kernel_pull", "ipc_copy_push", "ipc_copy_pull", "hybrid"};
using Tally = std::map<std::string, int>;

std::uint64_t rounds;

void note(Tally& tally, int code, const char* name) {
  if (code != MPI_SUCCESS)
    complain("%s: error %d", name, code);
  else
    ++tally[last_algorithm()];
}

// There are two pairs of buffers. Both are exchanged before either is looked at, then with other data again.
void run_case(const Call& call, const char* name, Tally& tally) {
  Exchange one(call), other(call);
  for (int again = 0; again < 2; ++again) {
    one.fill(++rounds);
    other.fill(++rounds);
    note(tally, one.run(), name);
    note(tally, other.run(), name);
    one.check(name);
    other.check(name);
  }
}

// Kernels of such ranks may not wait for each other.
bool share_devices() { return size > devices; }
// Elsewhere, 128 bytes that are written at once may arrive in pieces.
bool links_break_lines() {
  for (int peer = 1; peer < devices; ++peer) {
    int atomic = 0;
    if (cudaDeviceGetP2PAttribute(&atomic, cudaDevP2PAttrNativeAtomicSupported, 0, peer) != cudaSuccess || atomic == 0) return true;
  }
  return false;
}
bool may_be_refused(const char* name) {
  if (std::strcmp(name, "packet") == 0) return share_devices();
  return std::strcmp(name, "ll128") == 0 && (share_devices() || links_break_lines());
}

void run_algorithm(const char* name) {
  force_algorithm(std::strcmp(name, "auto") == 0 ? "" : name);
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  Tally all;
  std::string story;
  for (const std::size_t bytes : kBlockBytes) {
    Tally tally;
    for (const auto& [send_shift, recv_shift] : kShifts) {
      for (const bool in_place : {false, true}) {
        run_case({bytes, Kind::device, Kind::device, in_place, send_shift, recv_shift, comm}, name, tally);
      }
    }
    story.append(" ").append(std::to_string(bytes)).append(":");
    for (const auto& [carried, calls] : tally) {
      all[carried] += calls;
      story.append(story.back() == ':' ? "" : ",").append(carried);
    }
  }
  MPI_Comm_free(&comm);
  if (rank == 0) std::printf("%s carried by%s\n", name, story.c_str());
  const bool own_choice = std::strcmp(name, "auto") == 0;
  if (crossrail_is_here() && !own_choice && !may_be_refused(name) && all[name] == 0) complain("%s carried nothing", name);
}

}  // namespace

int main(int argc, char** argv) {
  if (!start(&argc, &argv)) return kSkip;
  for (int i = 1; i < argc; ++i) run_algorithm(argv[i]);
  for (const char* name : kNames) {
    if (argc == 1) run_algorithm(name);
  }
  return finish("device_algorithms");
}
