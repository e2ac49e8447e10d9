// The program tests MPI_Allgather and MPI_Reduce_scatter_block on device memory, blocking, nonblocking and in a stream's order
// (crossrail_allgather_on_stream, crossrail_reduce_scatter_block_on_stream; captured, too). Results are compared with the definition: the blocks of
// all ranks, gathered in host memory. Calls are in place and not, with all kinds of memory, odd addresses, and short and long blocks.

#include "device_exchange.h"

#include <crossrail/crossrail.h>
#include <dlfcn.h>

namespace {

using namespace device_test;

enum class Form { blocking, nonblocking, stream, graph };
constexpr const char* kForms[] = {"blocking", "nonblocking", "stream's", "captured"};

decltype(&crossrail_allgather_on_stream) gather_on_stream = nullptr;
decltype(&crossrail_reduce_scatter_block_on_stream) scatter_on_stream = nullptr;
cudaStream_t stream = nullptr;

struct Case {
  bool gathers;
  Form form;
  Kind from, to;
  bool in_place;
  int count;          // They are the ints of a block.
  std::size_t shift;  // It is the shift of the addresses, in ints.
};

std::vector<int> numbers(int of_rank, std::uint64_t seed, std::size_t many) {
  std::vector<int> row(many);
  for (std::size_t place = 0; place < many; ++place) row[place] = static_cast<int>(mix(seed * 1000003 + static_cast<unsigned>(of_rank) * 7919 + place));
  return row;
}

// Returns what this rank has after the call. Sums wrap.
std::vector<int> expected(const Case& one, std::uint64_t seed) {
  const auto block = static_cast<std::size_t>(one.count), row = block * static_cast<std::size_t>(size);
  std::vector<int> all(one.gathers ? row : block, 0);
  for (int from = 0; from < size; ++from) {
    const std::vector<int> its = numbers(from, seed, one.gathers ? block : row);
    for (std::size_t place = 0; place < block; ++place) {
      if (one.gathers) all[static_cast<std::size_t>(from) * block + place] = its[place];
      else all[place] = static_cast<int>(static_cast<unsigned>(all[place]) + static_cast<unsigned>(its[static_cast<std::size_t>(rank) * block + place]));
    }
  }
  return all;
}

int enqueue(const Case& one, const void* from, void* to) {
  return one.gathers ? gather_on_stream(from, one.count, MPI_INT, to, one.count, MPI_INT, MPI_COMM_WORLD, stream)
                     : scatter_on_stream(from, to, one.count, MPI_INT, MPI_SUM, MPI_COMM_WORLD, stream);
}

int call_in_stream(const Case& one, const void* from, void* to) {
  if (one.form == Form::stream) {
    const int code = enqueue(one, from, to);
    require(cudaStreamSynchronize(stream), "the stream");
    return code;
  }
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t ready = nullptr;
  require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture");
  const int code = enqueue(one, from, to);
  require(cudaStreamEndCapture(stream, &graph), "end of capture");
  require(cudaGraphInstantiate(&ready, graph, 0), "instantiate");
  for (int launch = 0; launch < 3; ++launch) require(cudaGraphLaunch(ready, stream), "launch");
  require(cudaStreamSynchronize(stream), "the stream");
  require(cudaGraphExecDestroy(ready), "destroy");
  require(cudaGraphDestroy(graph), "destroy");
  return code;
}

int call(const Case& one, const void* from, void* to) {
  if (one.form == Form::stream || one.form == Form::graph) return call_in_stream(one, from, to);
  MPI_Request request = MPI_REQUEST_NULL;
  int code = MPI_SUCCESS;
  if (one.form == Form::blocking) {
    return one.gathers ? MPI_Allgather(from, one.count, MPI_INT, to, one.count, MPI_INT, MPI_COMM_WORLD)
                       : MPI_Reduce_scatter_block(from, to, one.count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  }
  code = one.gathers ? MPI_Iallgather(from, one.count, MPI_INT, to, one.count, MPI_INT, MPI_COMM_WORLD, &request)
                     : MPI_Ireduce_scatter_block(from, to, one.count, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  return code != MPI_SUCCESS ? code : MPI_Wait(&request, MPI_STATUS_IGNORE);
}

void put(std::vector<unsigned char>& image, std::size_t at, const std::vector<int>& row) {
  if (!row.empty()) std::memcpy(image.data() + at * sizeof(int), row.data(), row.size() * sizeof(int));
}

void run_case(const Case& one, std::uint64_t seed) {
  const auto block = static_cast<std::size_t>(one.count), row = block * static_cast<std::size_t>(size), shift = one.shift;
  const std::vector<int> mine = numbers(rank, seed, one.gathers ? block : row);
  const std::size_t received = one.gathers || one.in_place ? row : block;
  Memory send((mine.size() + shift) * sizeof(int), one.from), recv((received + shift) * sizeof(int), one.to);
  std::vector<unsigned char> sent((mine.size() + shift) * sizeof(int), 0x5A), image((received + shift) * sizeof(int), 0xC3);
  if (sent.empty()) sent.resize(1);  // There is no memory of no bytes.
  if (image.empty()) image.resize(1);
  put(sent, shift, mine);
  send.write(sent);
  if (one.in_place) put(image, shift + (one.gathers ? static_cast<std::size_t>(rank) * block : 0), mine);
  recv.write(image);
  const void* const from = one.in_place ? MPI_IN_PLACE : static_cast<int*>(send.address) + shift;
  const int code = call(one, from, static_cast<int*>(recv.address) + shift);
  carried_by = last_algorithm();
  const std::vector<int> right = expected(one, seed);
  put(image, shift, right);
  const std::vector<unsigned char> got = recv.read();
  if (code != MPI_SUCCESS || got != image || send.read() != sent) {
    complain("%s %s of %d ints from %s to %s%s at %zu: code %d, by %s", kForms[static_cast<int>(one.form)], one.gathers ? "allgather" : "reduce_scatter_block",
             one.count, name_of(one.from), name_of(one.to), one.in_place ? " in place" : "", shift, code, carried_by.c_str());
  }
}

void all_counts() {
  std::uint64_t seed = 0;
  for (const bool gathers : {true, false}) {
    for (const int count : {0, 1, 3, 17, 255, 1000, 4099, 50'000, 1 << 20}) {
      for (const bool in_place : {false, true}) {
        for (int again = 0; again < 4; ++again) {
          ++seed;
          run_case({gathers, seed % 3 == 0 ? Form::nonblocking : Form::blocking, Kind::device, Kind::device, in_place, count, seed % 5}, seed);
        }
      }
    }
  }
}

void all_kinds_of_memory() {
  std::uint64_t seed = 5000;
  for (const Kind from : kKinds) {
    for (const Kind to : kKinds) {
      for (const bool gathers : {true, false}) {
        ++seed;
        // Ranks may have their blocks anywhere.
        const Kind mine = rank == static_cast<int>(seed) % size ? to : from;
        for (int again = 0; again < 3; ++again) run_case({gathers, Form::blocking, mine, to, again == 2, static_cast<int>(1 + mix(seed) % 20'000), 0}, seed);
      }
    }
  }
}

// The calls use one buffer again and again. Nothing of the call before may be seen.
void again_and_again() {
  Memory send(4096 * sizeof(int), Kind::device), recv(4096 * sizeof(int) * static_cast<std::size_t>(size), Kind::device);
  for (std::uint64_t seed = 20'000; seed < 20'300; ++seed) {
    const Case one{true, Form::blocking, Kind::device, Kind::device, false, static_cast<int>(1 + seed % 1024), 0};
    std::vector<unsigned char> sent(4096 * sizeof(int));
    put(sent, 0, numbers(rank, seed, static_cast<std::size_t>(one.count)));
    send.write(sent);
    const int code = call(one, send.address, recv.address);
    const std::vector<int> right = expected(one, seed);
    const std::vector<unsigned char> got = recv.read();
    if (code != MPI_SUCCESS || std::memcmp(got.data(), right.data(), right.size() * sizeof(int)) != 0) complain("call %lu", static_cast<unsigned long>(seed));
  }
}

// Kernels of all ranks run at the same time, and all are on one node; no reduction is in place.
void in_streams() {
  if (!kernels_run_at_once() || gather_on_stream == nullptr || std::getenv("CROSSRAIL_NODES") != nullptr) return;
  require(cudaStreamCreate(&stream), "a stream");
  std::uint64_t seed = 30'000;
  for (const bool gathers : {true, false}) {
    for (const int count : {0, 1, 17, 1000, 4099, 50'000, 1 << 20}) {
      for (const Form form : {Form::stream, Form::graph, Form::stream}) {
        ++seed;
        run_case({gathers, form, Kind::device, Kind::device, gathers && seed % 2 == 0, count, seed % 5}, seed);
        MPI_Barrier(MPI_COMM_WORLD);
      }
    }
  }
  int* row = nullptr;
  require(cudaMalloc(reinterpret_cast<void**>(&row), sizeof(int) * 100 * static_cast<std::size_t>(size)), "cudaMalloc");
  if (scatter_on_stream(MPI_IN_PLACE, row, 100, MPI_INT, MPI_SUM, MPI_COMM_WORLD, stream) == MPI_SUCCESS) complain("a reduction in place is not refused");
  require(cudaFree(row), "cudaFree");
  require(cudaStreamDestroy(stream), "a stream");
}

void expect_algorithm(bool gathers, const char* on_one_node) {
  run_case({gathers, Form::blocking, Kind::device, Kind::device, false, 1000, 0}, 1);
  // With a rank on each of two nodes (two_nodes.sh) there are no lanes.
  const char* const on_nodes = size > 2 ? "multi_lane" : "native";
  const char* const wanted = std::getenv("CROSSRAIL_NODES") != nullptr ? on_nodes : on_one_node;
  if (crossrail_is_here() && carried_by != wanted) complain("carried by %s, not %s", carried_by.c_str(), wanted);
}

}  // namespace

int main(int argc, char** argv) {
  if (!start(&argc, &argv)) return kSkip;
  for (int call_number = 0; call_number < 10; ++call_number) MPI_Allreduce(MPI_IN_PLACE, &devices, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  all_counts();
  all_kinds_of_memory();
  again_and_again();
  gather_on_stream = reinterpret_cast<decltype(gather_on_stream)>(dlsym(RTLD_DEFAULT, "crossrail_allgather_on_stream"));
  scatter_on_stream = reinterpret_cast<decltype(scatter_on_stream)>(dlsym(RTLD_DEFAULT, "crossrail_reduce_scatter_block_on_stream"));
  in_streams();
  expect_algorithm(true, "ipc_push");
  expect_algorithm(false, "ipc_pull");
  return finish("device_gatherings");
}
